//! One module per verb.

pub(crate) mod audit;
pub(crate) mod clean;
pub(crate) mod deps;
pub(crate) mod doctor;
pub(crate) mod help;
pub(crate) mod init;
pub(crate) mod modules;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod select;
pub(crate) mod shards;
pub(crate) mod static_verb;
pub(crate) mod status;
pub(crate) mod why;

use crate::args::{Arguments, Options};
use crate::terminal;
use std::ffi::OsString;
use tamis_project::Project;
use tamis_report::{exit, json::Line};

/// `tamis store`.
pub(crate) fn store(
    options: &Options,
    words: &tamis_shared::StoreArguments,
) -> anyhow::Result<i32> {
    let mut project = Project::find(options.common.store.as_deref())?;
    let messages = &terminal::Messages;
    project.believed = tamis_shared::believed(&project, messages);
    let answer = tamis_shared::answer(&project, options.common.offline, words, messages)?;
    match options.common.json {
        true => answer.lines.into_iter().try_for_each(|line| terminal::json(&Line::Store(line)))?,
        false => terminal::print(&answer.text),
    }
    Ok(if answer.wrong { exit::FAILED } else { exit::SUCCESS })
}

/// Whether a test of this project has exactly these words as its name.
pub(crate) fn is_test(arguments: &Arguments, words: &[OsString]) -> bool {
    let project = Project::find(arguments.store());
    project.is_ok_and(|project| tamis_runner::cases::is_recorded(&project, words))
}
