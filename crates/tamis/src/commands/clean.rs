//! `tamis forget` and `tamis clean`.

use crate::args::Options;
use crate::terminal;
use anyhow::{Context as _, Result};
use std::ffi::OsString;
use tamis_project::Project;
use tamis_report::human::counted;
use tamis_runner::cases;
use tamis_runner::gc_policy;

pub(crate) fn forget(options: &Options, words: &[OsString]) -> Result<i32> {
    let project = Project::find(options.common.store.as_deref())?;
    let store = project
        .existing_store(&terminal::Messages)?
        .context("nothing is recorded for this project yet")?;
    let tests = store.tests()?;
    let wanted = cases::wanted_name(words);
    let key = cases::find(&wanted, &project.relative_folder(), tests.iter().map(|t| &t.key))?;
    let records = store.forget(&key)?;
    println!("forgot {key} ({}); it runs next time", counted(records as u64, "record", "records"));
    Ok(0)
}

pub(crate) fn clean(options: &Options, only_old: bool) -> Result<i32> {
    let project = Project::find(options.common.store.as_deref())?;
    let Some(store) = project.existing_store(&terminal::Messages)? else {
        println!("nothing is recorded for this project");
        return Ok(0);
    };
    if only_old {
        let report = store.collect_garbage(&gc_policy(&project))?;
        println!(
            "dropped {} and {}; the store went from {} to {} bytes",
            counted(report.records as u64, "record", "records"),
            counted(report.tests as u64, "test", "tests"),
            report.bytes_before,
            report.bytes_after
        );
        return Ok(0);
    }
    let mut records = 0;
    let tests = store.tests()?;
    for test in &tests {
        records += store.forget(&test.key)?;
    }
    store.collect_garbage(&tamis_store::GcPolicy::default())?;
    println!(
        "dropped {} of {} from {}",
        counted(records as u64, "record", "records"),
        counted(tests.len() as u64, "test", "tests"),
        store.dir().display()
    );
    Ok(0)
}
