//! `tamis report`: a page about the last runs, savings and inputs.

use crate::args::{Options, ReportArguments};
use crate::context::Context;
use crate::terminal;
use anyhow::{Context as _, Result};
use std::path::Path;
use std::process::{Command, Stdio};
use tamis_html::{Sources, link_of};
use tamis_report::json::report::ReportLine;
use tamis_report::json::{Line, Version};

pub(crate) fn report(options: &Options, arguments: &ReportArguments) -> Result<i32> {
    let context = Context::new(options)?;
    let call = context.call();
    let store = call.existing_store()?.context("nothing is recorded for this project yet")?;
    let planned = tamis_runner::plan::known(call, Some(&store))?;
    let world = call.world();
    let root = context.project.root();
    let report = tamis_html::gather(&Sources {
        store: &store,
        planned: &planned,
        ask: &|questions| world.ask(questions),
        source_of: &|fact| call.frontends.source_of(fact),
        project: root.file_name().map_or("/".into(), |name| name.to_string_lossy().into_owned()),
        now_ms: tamis_html::now_ms(),
    })?;
    // Losing this cache costs time only.
    let _ = context.project.fingerprinter.flush();
    let folder = &arguments.output;
    let link = arguments.link.clone();
    let link = link.unwrap_or_else(|| link_of(folder, root, &|name| std::env::var(name).ok()));
    let written = tamis_html::write_folder(&report, folder, &link)
        .with_context(|| format!("the report cannot be written to {}", folder.display()))?;
    let shown = |path: &Path| path.display().to_string();
    if options.common.json {
        terminal::json(&Line::Report(ReportLine {
            version: Version,
            html: shown(&written.html),
            summary: shown(&written.summary),
            comment: shown(&written.comment),
            tests: report.tests.len(),
            runs: report.runs.len(),
        }))?;
    } else {
        terminal::print(&format!("{}\n", written.html.display()));
    }
    if arguments.open {
        open(&written.html);
    }
    Ok(0)
}

/// Shows the page; that there is nothing to show it with is no failure of the report.
fn open(page: &Path) {
    let page = page.canonicalize().unwrap_or_else(|_| page.to_path_buf());
    let mut command = Command::new("xdg-open");
    command.arg(&page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let problem = match command.status() {
        Ok(status) if status.success() => return,
        Ok(status) => format!("xdg-open could not show it ({status})"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            "there is no xdg-open here".to_owned()
        }
        Err(error) => format!("xdg-open cannot be started ({error})"),
    };
    terminal::note(&format!("{problem}; open {} in a browser", page.display()));
}
