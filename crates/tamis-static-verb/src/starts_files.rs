//! `tamis static export` and `compare`: the files of STARTS.

use crate::View;
use crate::words::{CompareArguments, ExportArguments, ExportFormat};
use anyhow::{Context as _, Result, bail};
use std::io::Write;
use std::path::Path;
use tamis_report::json::static_graph::ComparisonLine;
use tamis_report::json::{Line, Version};
use tamis_select_static::Session;
use tamis_select_static::sessions::of_module;
use tamis_select_static::starts::{Dependencies, ZlcFormat};

pub(crate) fn export(sessions: &[Session], arguments: &ExportArguments) -> Result<i32> {
    let written = |path: &Path| format!("{} could not be written", path.display());
    for session in sessions {
        let dependencies = Dependencies::of(session);
        let to = match sessions.len() {
            1 => arguments.to.clone(),
            _ => of_module(&arguments.to, &session.module).join("deps.zlc"),
        };
        let format = match arguments.format {
            ExportFormat::Clz => {
                let folder = of_module(&arguments.to, &session.module);
                dependencies.write_clz(&folder).with_context(|| written(&folder))?;
                continue;
            }
            ExportFormat::Zlc => ZlcFormat::PlainText,
            ExportFormat::ZlcIndexed => ZlcFormat::Indexed,
        };
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder).with_context(|| written(folder))?;
        }
        std::fs::write(&to, dependencies.to_zlc(format)).with_context(|| written(&to))?;
    }
    Ok(0)
}

pub(crate) fn compare(
    sessions: &[Session],
    view: &View<'_>,
    arguments: &CompareArguments,
    out: &mut impl Write,
) -> Result<i32> {
    let path = &arguments.with;
    let read = || format!("{} could not be read", path.display());
    let theirs = if path.is_dir() {
        Dependencies::read_clz(path).with_context(read)?
    } else {
        Dependencies::parse_zlc(&std::fs::read_to_string(path).with_context(read)?)
            .with_context(read)?
    };
    let [session] = sessions else {
        bail!("a file of STARTS is about one module; change to the module's folder");
    };
    let differences = Dependencies::of(session).compare(&theirs);
    for difference in &differences {
        if view.json {
            let line = ComparisonLine {
                version: Version,
                name: difference.name.clone(),
                only_ours: difference.only_ours.clone(),
                only_theirs: difference.only_theirs.clone(),
            };
            Line::StaticComparison(line).write(out)?;
            continue;
        }
        writeln!(out, "{}", difference.name)?;
        for (side, tests) in [("tamis", &difference.only_ours), ("STARTS", &difference.only_theirs)]
        {
            if !tests.is_empty() {
                writeln!(out, "  only {side}: {}", tests.join(", "))?;
            }
        }
    }
    if !view.quiet && !view.json {
        view.note(&format!("{} types with different tests", differences.len()));
    }
    Ok(0)
}
