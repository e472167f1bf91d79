//! `tamis static`: Java class files, without running anything.
//!
//! Only the words of the command line and what is printed; what the verbs do is in [`tamis_select_static`]. With
//! `--classes` or `--test-classes` the folders are taken as they are given, as one module; otherwise the project is
//! a Maven build and its poms tell the modules. Every verb works module by module; types of other modules and of
//! libraries are seen through each module's classpath.

mod call_graph;
mod call_graph_words;
mod graph_unit;
mod printed;
mod starts_files;
mod values;
mod view;
mod words;
mod worker;

pub use view::View;
pub use words::StaticArguments;

use crate::words::{PlaceArguments, RecordArguments, SelectArguments, StaticVerb};
use anyhow::{Context as _, Result};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tamis_classpath::Caches;
use tamis_project::{NoScopes, Project, World};
use tamis_report::json::static_graph::RecordedLine;
use tamis_report::json::{Line, Version};
use tamis_select_static::{Asked, MethodLevel, Sessions, StaticSettings, method_level, sessions};

/// Answers on `out`; gives the exit code.
pub fn run(
    project: &Project,
    view: &View<'_>,
    arguments: &StaticArguments,
    out: &mut impl Write,
) -> Result<i32> {
    let (places, verb) = (&arguments.places, &arguments.verb);
    let store = project.store_folder.as_ref().map_err(|why| anyhow::anyhow!(why.clone()))?;
    let settings = settings(project, places, &store.join("static"), verb.is_offline());
    let mut sessions = open(project, view, places, verb, &settings)?;
    sessions.notes().for_each(|text| view.note(text));
    let code = answer(&mut sessions, project, view, arguments, out)?;
    // A reader that has seen enough (`| head`) is no error.
    let _ = out.flush();
    if verb.is_offline() {
        let cannot = || format!("{} cannot be written to", settings.state.display());
        sessions.leave_behind().with_context(cannot)?;
        worker::start(store, places);
    } else {
        sessions.catch_up().context("the state could not be written")?;
    }
    // Only a cache.
    let _ = project.fingerprinter.flush();
    Ok(code)
}

fn settings(
    project: &Project,
    places: &PlaceArguments,
    state: &Path,
    offline: bool,
) -> StaticSettings {
    let files = Arc::clone(&project.fingerprinter);
    StaticSettings {
        root: project.root().to_path_buf(),
        caches: Caches::of_user(Some(state.join("folders")), files),
        state: state.to_path_buf(),
        kinds: places.kinds(),
        libraries: places.libraries(),
        offline,
        watched: World::new(project, &NoScopes).watched(),
    }
}

fn open(
    project: &Project,
    view: &View<'_>,
    places: &PlaceArguments,
    verb: &StaticVerb,
    settings: &StaticSettings,
) -> Result<Sessions> {
    if matches!(verb, StaticVerb::CatchUp) {
        worker::leave_the_terminal();
    }
    let waiting = || view.note("waiting for another tamis that works on the same state");
    let lock = sessions::lock(&settings.state, verb.access(), waiting)
        .with_context(|| format!("{} cannot be locked", settings.state.display()))?;
    let home = project.paths.home();
    let asked = Asked { root: project.root(), folder: &project.folder, home };
    let modules = places.places().modules(asked, &settings.state)?;
    Ok(Sessions::open(modules, settings.clone(), lock))
}

fn answer(
    sessions: &mut Sessions,
    project: &Project,
    view: &View<'_>,
    arguments: &StaticArguments,
    out: &mut impl Write,
) -> Result<i32> {
    let libraries = arguments.places.libraries();
    match &arguments.verb {
        StaticVerb::Diff => printed::diff(sessions, view, out),
        StaticVerb::Impacted(level) => match level.methods(libraries)? {
            None => printed::impacted(sessions, view, out),
            Some(level) => call_graph::impacted(sessions, &level, view, out),
        },
        StaticVerb::Select(arguments) => {
            let level = arguments.level.methods(libraries)?;
            select(sessions, view, arguments, level.as_ref(), out)
        }
        StaticVerb::Record(arguments) => record(sessions, arguments, view, project, out),
        StaticVerb::CatchUp => Ok(0),
        StaticVerb::Graph(arguments) => printed::graph(sessions, view, arguments.dot, out),
        StaticVerb::Callgraph(arguments) => {
            call_graph::callgraph(sessions, libraries, arguments, view, out)
        }
        StaticVerb::Export(arguments) => starts_files::export(&sessions.each, arguments),
        StaticVerb::Compare(arguments) => {
            starts_files::compare(&sessions.each, view, arguments, out)
        }
        StaticVerb::Clean => {
            sessions.clean().context("the state could not be removed")?;
            Ok(0)
        }
    }
}

fn select(
    sessions: &mut Sessions,
    view: &View<'_>,
    arguments: &SelectArguments,
    level: Option<&MethodLevel>,
    out: &mut impl Write,
) -> Result<i32> {
    let selections = sessions.select(view.all, level);
    for selection in &selections {
        printed::selection(selection, selections.len(), arguments, view, out)?;
    }
    if let Some(folder) = &arguments.artifacts {
        printed::artifacts(sessions, &selections, arguments.detail(), folder)?;
    }
    if arguments.update {
        // Before the state is touched the answer is out.
        out.flush().ok();
        let announced = sessions.announce(&selections, level.is_some());
        announced
            .context("the state could not be written")?
            .into_iter()
            .for_each(|text| view.note(text));
    }
    let all = selections.iter().map(|s| s.tests.len()).sum::<usize>();
    let run = selections.iter().flat_map(|s| &s.tests).filter(|t| t.run.is_some()).count();
    if !view.quiet && !view.json && !arguments.plain {
        view.note(&format!("{run} of {all} test classes are selected"));
        view.note_block(&printed::grouped(&selections));
    }
    if level.is_some() && run < all {
        view.note(method_level::WARNING);
    }
    Ok(i32::from(view.quiet && run > 0))
}

fn record(
    sessions: &mut Sessions,
    arguments: &RecordArguments,
    view: &View<'_>,
    project: &Project,
    out: &mut impl Write,
) -> Result<i32> {
    let finished = match &arguments.passed {
        Some(file) => sessions.passed(&names(file)?)?,
        None => sessions.reported(&arguments.reports, project.root())?,
    };
    finished.iter().flat_map(|module| &module.notes).for_each(|text| view.note(text));
    sessions
        .record(&finished, arguments.by_methods())?
        .into_iter()
        .for_each(|text| view.note(text));
    for module in finished.iter().filter(|_| !view.quiet) {
        let passed = module.tests.values().filter(|passed| **passed).count();
        let (name, all) = (&module.module, module.tests.len());
        if view.json {
            let (module, version) = (name.clone(), Version);
            Line::StaticRecorded(RecordedLine { version, module, finished: all, passed })
                .write(out)?;
            continue;
        }
        writeln!(out, "{name}: {all} finished, {passed} of them passed")?;
    }
    Ok(0)
}

/// The names in a file, one a line; `-` is the standard input.
fn names(file: &Path) -> Result<Vec<String>> {
    let text = match file.to_str() {
        Some("-") => std::io::read_to_string(std::io::stdin()),
        _ => std::fs::read_to_string(file),
    };
    let text = text.with_context(|| format!("{} could not be read", file.display()))?;
    Ok(text.lines().map(|l| l.trim().to_owned()).filter(|l| !l.is_empty()).collect())
}
