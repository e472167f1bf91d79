//! `tamis replay`: what would have been saved and missed in the history of this project.

use crate::args::Options;
use crate::{CommandTraits, terminal};
use anyhow::{Context as _, Result, anyhow};
use std::ffi::OsString;
use std::path::Path;
use tamis_frontend_python::concerns_pytest;
use tamis_project::{Project, cache_folder};
use tamis_replay::{Form, Language, Progress, ReplayArguments, Setting, last_result};
use tamis_report::json::Line;
use tamis_report::json::replay::Replayed;
use tamis_report::{exit, human, replay as shown};

pub(crate) fn replay(
    options: &Options,
    arguments: &ReplayArguments,
    traits: &dyn Fn(&[OsString]) -> CommandTraits,
) -> Result<i32> {
    let project = Project::find(options.common.store.as_deref())?;
    let form = arguments.report.as_deref().map(Form::of).transpose()?;
    let settings = project.settings_file.clone();
    let settings = settings.and_then(|file| std::fs::read(&file).ok().map(|text| (file, text)));
    let traits = traits(&arguments.command);
    let setting = Setting {
        tamis: std::env::current_exe().context("tamis cannot find itself")?,
        folder: project.folder.clone(),
        store: project.store_folder.clone().map_err(|why| anyhow!(why))?,
        cache: cache_folder(),
        settings,
        has_units: traits.units,
        faults: match traits {
            CommandTraits { graph: true, .. } => Some(Language::Jvm),
            _ if concerns_pytest(&arguments.command) => Some(Language::Python),
            _ => None,
        },
    };
    if arguments.only_shows() {
        return show(options, arguments, form, &last_result(&setting)?);
    }
    let tell = |progress: &Progress<'_>| tell(options, progress);
    let found = tamis_replay::replay(&setting, arguments, &tell)?;
    show(options, arguments, form, &found)
}

fn tell(options: &Options, progress: &Progress<'_>) {
    match progress {
        Progress::Remark(text) => terminal::say(options, text),
        Progress::Begins { replay, done } => {
            let all = human::counted(replay.revisions.len() as u64, "revision", "revisions");
            let so_far = if *done > 0 { format!(", {done} of them done") } else { String::new() };
            terminal::say(options, &format!("replaying {all}{so_far}"));
            if options.common.json {
                let _ = terminal::json(&Line::Replay((*replay).clone()));
            }
        }
        Progress::Ended { line, n, of, left } => {
            terminal::say(options, &shown::progress(line, *n, *of, *left));
            if options.common.json {
                let _ = terminal::json(&Line::Revision((*line).clone()));
            }
        }
    }
}

/// A page of its own, with curves over the revisions.
fn page(found: &Replayed) -> Result<String> {
    let folder = Path::new(&found.replay.folder).file_name();
    let current = std::env::current_dir().unwrap_or_default();
    let name = folder.or(current.file_name()).unwrap_or_default().to_string_lossy();
    let mut text = Vec::new();
    tamis_html::write_replay(&shown::json(found)?, &name, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The result in the forms that are asked for; exit code 3 where something was missed.
fn show(
    options: &Options,
    arguments: &ReplayArguments,
    form: Option<Form>,
    found: &Replayed,
) -> Result<i32> {
    if let (Some(file), Some(form)) = (&arguments.report, form) {
        let text = match form {
            Form::Html => page(found)?,
            Form::Markdown => shown::markdown(found),
            Form::Csv => shown::csv(found),
            Form::Json => shown::json(found)?,
        };
        std::fs::write(file, text)
            .with_context(|| format!("{} cannot be written", file.display()))?;
    }
    match (arguments.csv, options.common.json) {
        (true, _) => terminal::print(&shown::csv(found)),
        (_, true) => {
            for summary in &found.summaries {
                terminal::json(&Line::ReplaySummary(summary.clone()))?;
            }
        }
        _ => terminal::print(&shown::text(found, terminal::output_style(options))),
    }
    Ok(if shown::missed(found) > 0 { exit::FOUND } else { exit::SUCCESS })
}
