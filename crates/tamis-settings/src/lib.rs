//! `tamis.toml`: the settings of a project.
//!
//! One file at the project's root, found from any folder below it. Everything in it is optional;
//! no file at all means the defaults. It is read completely before anything is reported, so that a
//! user sees every problem at once, each with file, line, column and what was probably meant. A
//! file with a problem gives no settings at all: a rule that was silently dropped could let a test
//! be skipped.
//!
//! | module | what |
//! | --- | --- |
//! | [`settings`] | the typed settings, every key explained |
//! | [`environment`] | which environment variables count as input |
//! | [`paths`] | which paths count as input, and how their fingerprint is taken |
//! | [`condition`] | the small expressions of `if` in a rule |
//! | [`file_glob`] | the files that `run-all-on` means |
//! | [`tools`] | what everyday tools write down for themselves |
//! | [`items`] | the items of a suite that are written as globs |
//! | [`modules`] | what a project says about changed and affected modules |
//! | [`remote`] | the store that a team shares |
//! | [`init`] | a first `tamis.toml` for a project |

pub mod condition;
pub mod environment;
pub mod file_glob;
mod glob;
pub mod init;
pub mod items;
pub mod modules;
mod name_filter;
mod parse;
pub mod paths;
mod problem;
mod reader;
pub mod remote;
pub mod settings;
pub mod tools;
mod units;
mod words;

pub use environment::EnvironmentPolicy;
pub use file_glob::FileGlob;
pub use glob::NameGlobs;
pub use init::init;
pub use modules::ModuleSettings;
pub use name_filter::{NameFilter, Names};
pub use parse::parse;
pub use paths::{Ignored, PathRules, Places, RuleAnswer};
pub use problem::{LoadError, Problem, Problems};
pub use remote::{Push, Remote, TrustedKey};
pub use settings::{
    Contact, Each, Engine, Everywhere, Flaky, Item, Jvm, Keep, Python, Rule, Settings, Suite,
    Treatment,
};
pub use units::duration;

use std::path::{Path, PathBuf};

/// The name of the settings file.
pub const FILE_NAME: &str = "tamis.toml";

/// The settings file of the project that `start` (a folder) belongs to: in that folder or in the
/// nearest folder above it.
pub fn find(start: &Path) -> Option<PathBuf> {
    start.ancestors().map(|folder| folder.join(FILE_NAME)).find(|file| file.is_file())
}

/// Reads a settings file.
pub fn load(file: &Path) -> Result<Settings, LoadError> {
    let bytes = std::fs::read(file)
        .map_err(|source| LoadError::Unreadable { file: file.to_path_buf(), source })?;
    Ok(parse(&bytes, file)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_from_below_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        let file = folder.path().join(FILE_NAME);
        std::fs::write(&file, "[tamis]\njobs = 3\n").unwrap();
        assert_eq!(find(&deep).as_deref(), Some(file.as_path()));
        assert_eq!(load(&file).unwrap().jobs.map(usize::from), Some(3));
        // A folder of that name is no settings file.
        std::fs::create_dir(deep.join(FILE_NAME)).unwrap();
        assert_eq!(find(&deep).as_deref(), Some(file.as_path()));
    }

    #[test]
    fn an_unreadable_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = load(&folder.path().join("tamis.toml")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read /") && error.contains("tamis.toml: "), "{error}");
    }
}
