//! `tamis doctor`: can tamis observe here, and which tests have habits that one wants to hear of.

use crate::args::Options;
use crate::commands::doctor_jvm;
use crate::commands::why::some_of;
use crate::terminal;
use anyhow::Result;
use std::fmt::Write as _;
use tamis_project::{Project, cache_folder};
use tamis_report::exit;

pub(crate) fn doctor(options: &Options) -> Result<i32> {
    let mut text = format!("tamis {}\n", env!("CARGO_PKG_VERSION"));
    if let Ok(kernel) = std::fs::read_to_string("/proc/sys/kernel/osrelease") {
        let _ = writeln!(text, "kernel    {}", kernel.trim());
    }
    let mut well = check_engines(&mut text);
    well &= doctor_jvm::check(&mut text);
    let project = match Project::find(options.common.store.as_deref()) {
        Ok(project) => project,
        Err(error) => {
            let _ = writeln!(text, "PROBLEM   {error:#}");
            terminal::print(&text);
            return Ok(exit::FAILED);
        }
    };
    let _ = writeln!(text, "project   {}", project.root().display());
    let settings = match &project.settings_file {
        Some(file) => format!("{}: no mistakes", file.display()),
        None => "none (defaults)".into(),
    };
    let _ = writeln!(text, "settings  {settings}");
    well &= check_store(&project, &mut text);
    if let Some(cache) = cache_folder() {
        let _ = writeln!(text, "cache     {}", cache.display());
    }
    well &= check_habits(&project, &mut text)?;
    if well {
        let _ = writeln!(text, "no problems found");
    }
    terminal::print(&text);
    Ok(if well { exit::SUCCESS } else { exit::FAILED })
}

fn check_engines(text: &mut String) -> bool {
    let mut chosen = false;
    for engine in tamis_trace::choose::engines() {
        let state = match &engine.available {
            Ok(()) if chosen => "works".into(),
            Ok(()) => {
                chosen = true;
                "works, used by default".into()
            }
            Err(why) => format!("does not work here: {why}"),
        };
        let _ = writeln!(text, "engine    {}: {state}", engine.name);
    }
    if !chosen {
        let _ = writeln!(text, "PROBLEM   no engine works: tamis cannot run anything here");
    }
    chosen
}

/// Whether records can be read and written.
fn check_store(project: &Project, text: &mut String) -> bool {
    let store = match project.existing_store(&terminal::Messages) {
        Ok(Some(store)) => store,
        Ok(None) => {
            let _ = writeln!(text, "store     not made yet");
            return true;
        }
        Err(error) => {
            let _ = writeln!(text, "PROBLEM   {error:#}");
            return false;
        }
    };
    let folder = store.dir().display();
    let probe = store.dir().join(".writable");
    match std::fs::write(&probe, "") {
        Ok(()) => {
            let _ = std::fs::remove_file(&probe);
            let _ = writeln!(text, "store     {folder}: can be read and written");
            true
        }
        Err(error) => {
            let _ = writeln!(text, "PROBLEM   {folder} cannot be written: {error}");
            false
        }
    }
}

/// Names tests that leave files behind, read each other's leavings, or cannot be observed. False
/// where results can depend on the order of tests.
fn check_habits(project: &Project, text: &mut String) -> Result<bool> {
    let Some(store) = project.existing_store(&terminal::Messages)? else { return Ok(true) };
    let mut well = true;
    for reader in store.readers_of_leftovers()? {
        well = false;
        let _ = writeln!(
            text,
            "PROBLEM   {} looks at {}, which {} left behind: its result may depend on the order",
            reader.reader, reader.path, reader.writer
        );
    }
    for (test, paths) in store.left_behind()? {
        let _ = writeln!(text, "habit     {test} leaves behind {}", some_of(&paths));
    }
    for test in store.tests()? {
        for taint in &test.last.taints {
            let _ = writeln!(text, "habit     {} runs every time: {taint}", test.key);
        }
        for note in &test.last.notes {
            let _ = writeln!(text, "habit     {} {note}", test.key);
        }
    }
    Ok(well)
}
