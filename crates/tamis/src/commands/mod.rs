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
pub(crate) mod static_verb;
pub(crate) mod status;
pub(crate) mod why;

use crate::args::Arguments;
use std::ffi::OsString;
use tamis_project::Project;

/// Whether a test of this project has exactly these words as its name.
pub(crate) fn is_test(arguments: &Arguments, words: &[OsString]) -> bool {
    let project = Project::find(arguments.store());
    project.is_ok_and(|project| tamis_runner::cases::is_recorded(&project, words))
}
