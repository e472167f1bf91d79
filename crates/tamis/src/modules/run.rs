//! `tamis --engine modules COMMAND` and `tamis --engine hybrid COMMAND`.

use crate::args::{EngineName, Options};
use crate::cases::Case;
use crate::commands::run::{command_case, demand};
use crate::failures;
use crate::modules::choice::Tests;
use crate::modules::{Asked, Found, kind_of_program, maven, others, text_words};
use crate::project::Project;
use crate::run::{Shape, run};
use anyhow::{Context as _, Result, bail};
use std::ffi::OsString;
use std::sync::Arc;
use tamis_core::decide::Demand;
use tamis_modules::BuildTool as Kind;
use tamis_report::human;
use tamis_settings::modules::When;

/// Runs the tests of affected modules; gives the exit code.
pub(crate) fn command(options: &Options, words: &[OsString], in_any_case: bool) -> Result<i32> {
    let project = Project::find(options)?;
    let given = text_words(words)?;
    if given.first().is_none_or(|w| kind_of_program(w).is_none()) {
        bail!(
            "--engine modules and hybrid are for mvn, gradle, cargo, go, npm, pnpm and yarn commands"
        );
    }
    let alone = project.settings.modules.downstream == When::AsTold
        && !maven::words(&project, &tamis_modules::Tree::new(project.root()), &given)
            .also_make_dependents;
    let asked = Asked { words: &given, since: options.selecting.since.as_deref(), alone };
    let say = |what: &str| {
        if !options.common.quiet {
            eprintln!("tamis: {what}");
        }
    };
    let found = match Found::new(&project, asked) {
        // A build that only the tool itself can read, and does not.
        Err(why) if kind_of_program(&given[0]) == Some(Kind::Gradle) => {
            say(&format!("{why:#}: everything runs"));
            let demand = demand(options, in_any_case);
            let case = command_case(&project, options, words, demand)?;
            return run(&project, options, &[case], Shape::Command, &[]);
        }
        found => found?,
    };
    for note in &found.graph.notes {
        say(note);
    }
    if let Some(why) = &found.everything {
        say(&format!("{why}: everything counts"));
    }
    write_affected(&found, &project)?;
    let demand = demand(options, in_any_case);
    let by_records = options.running.engine == Some(EngineName::Hybrid) && demand == Demand::None;
    let case = match found.graph.kind {
        Kind::Maven => maven_case(&found, &project, options, &given, by_records, &say)?,
        _ => other_case(&found, &project, options, &given, by_records, &say)?,
    };
    match case {
        Some(case) => run(&project, options, &[case], Shape::Command, &[]),
        None => {
            let excluded = found.affected.excluded.len() as u64;
            let files = human::counted(excluded, "changed file that does", "changed files that do");
            let aside = if excluded > 0 { format!(" ({files} not count)") } else { String::new() };
            say(&format!(
                "no module that this command tests is affected since {}{aside}; `tamis modules` tells more",
                found.since.as_deref().unwrap_or("then")
            ));
            let failing = failures::of_tool(&project, words);
            run(&project, options, &[], Shape::Suites, &failing)
        }
    }
}

fn maven_case(
    found: &Found,
    project: &Project,
    options: &Options,
    given: &[String],
    by_records: bool,
    say: &dyn Fn(&str),
) -> Result<Option<Case>> {
    let tests = if by_records { Tests::ByRecords } else { Tests::All };
    let Some(handed) = maven::hand(found, project, given, tests)? else { return Ok(None) };
    for note in &handed.notes {
        say(note);
    }
    say(&format!(
        "{} built, {} of them tested, of {}",
        human::counted(handed.built as u64, "module", "modules"),
        handed.tested,
        found.graph.modules.len()
    ));
    let given: Vec<OsString> = given.iter().map(OsString::from).collect();
    let mut case = command_case(project, options, &given, Demand::None)?;
    // By the user's own words: the list of modules is another one after every change.
    case.words = handed.words.iter().map(OsString::from).collect();
    let modules = human::counted(handed.tested as u64, "module is", "modules are");
    case.demand = Demand::Module(format!("{modules} affected"));
    case.inside = demand(options, false);
    case.choice = Some(Arc::new(handed.choice));
    Ok(Some(case))
}

fn other_case(
    found: &Found,
    project: &Project,
    options: &Options,
    given: &[String],
    by_records: bool,
    say: &dyn Fn(&str),
) -> Result<Option<Case>> {
    let Some(words) = others::hand(found, project, given) else { return Ok(None) };
    say(&format!("running {}", words.join(" ")));
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let first = found.affected.modules.first().and_then(|m| m.reasons.first());
    let why =
        format!("a module is affected: {}", first.map(ToString::to_string).unwrap_or_default());
    let demand = if by_records { Demand::None } else { Demand::Module(why) };
    command_case(project, options, &words, demand).map(Some)
}

/// The folders of affected modules, for other tools.
fn write_affected(found: &Found, project: &Project) -> Result<()> {
    let Some(file) = &project.settings.modules.affected_file else { return Ok(()) };
    let path = project.root().join(file);
    let lines: String = found
        .affected
        .modules
        .iter()
        .map(|m| format!("{}\n", found.graph.modules[m.module].folder))
        .collect();
    path.parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&path, lines))
        .with_context(|| format!("affected-file {} cannot be written", path.display()))
}
