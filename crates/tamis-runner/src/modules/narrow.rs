//! `--select modules` and `--select hybrid`: a command narrowed to the modules that a change can affect.

use super::{Asked, Found, kind_of_program, maven, others, text_words};
use crate::call::Call;
use crate::cases::{self, Case};
use crate::checks;
use anyhow::{Context as _, Result, bail};
use std::ffi::OsString;
use std::sync::Arc;
use tamis_core::decide::Demand;
use tamis_core::{Strategy, Tool};
use tamis_modules::BuildTool as Kind;
use tamis_project::Project;
use tamis_report::human;
use tamis_session::{Choice, ModuleTests};
use tamis_settings::modules::When;

/// What is left of a command.
#[derive(Debug)]
pub enum Narrowed {
    Case(Box<Case>),
    /// No module that it tests is affected; the tools whose units it runs.
    Nothing(Vec<Tool>),
}

/// The command with the tests of affected modules only.
pub fn narrowed(call: Call<'_>, words: &[OsString]) -> Result<Narrowed> {
    let project = call.project;
    let given = text_words(words)?;
    if given.first().is_none_or(|w| kind_of_program(w).is_none()) {
        bail!(
            "--select modules and hybrid are for mvn, gradle, cargo, go, npm, pnpm and yarn commands"
        );
    }
    if call.existing_store()?.is_some_and(|store| store.is_tripped(checks::VERSION)) {
        return Ok(Narrowed::Case(Box::new(cases::of_command(call, words, call.options.demand()))));
    }
    let alone = project.settings.modules.downstream == When::AsTold
        && !maven::words(project, &tamis_modules::Tree::new(project.root()), &given)
            .also_make_dependents;
    let asked = Asked { words: &given, since: call.options.which.since.as_deref(), alone };
    let demand = call.options.demand();
    let found = match Found::new(call, asked) {
        // A build that only the tool itself can read, and does not.
        Err(why) if kind_of_program(&given[0]) == Some(Kind::Gradle) => {
            call.remark(format!("{why:#}: everything runs"));
            return Ok(Narrowed::Case(Box::new(cases::of_command(call, words, demand))));
        }
        found => found?,
    };
    for note in &found.graph.notes {
        call.remark(note.clone());
    }
    if let Some(why) = &found.everything {
        call.remark(format!("{why}: everything counts"));
    }
    write_affected(&found, project)?;
    let by_records = call.options.strategy == Strategy::Hybrid && demand == Demand::None;
    let case = match found.graph.kind {
        Kind::Maven => maven_case(&found, call, &given, by_records)?,
        _ => other_case(&found, call, &given, by_records),
    };
    if let Some(case) = case {
        return Ok(Narrowed::Case(Box::new(case)));
    }
    let excluded = found.affected.excluded.len() as u64;
    let files = human::counted(excluded, "changed file that does", "changed files that do");
    let aside = if excluded > 0 { format!(" ({files} not count)") } else { String::new() };
    call.remark(format!(
        "no module that this command tests is affected since {}{aside}; `tamis modules` tells more",
        found.since.as_deref().unwrap_or("then")
    ));
    let claim = cases::of_command(call, words, Demand::None).claim;
    let tools = claim.map(|claim| claim.tools()).unwrap_or_default();
    Ok(Narrowed::Nothing(tools))
}

/// What is chosen for all modules of a Maven build, without a command that narrows it; `None` where the
/// strategy does not go by modules.
pub(crate) fn chosen_for_all(call: Call<'_>) -> Result<Option<Choice>> {
    let tests = match call.options.strategy {
        Strategy::Hybrid if !call.options.which.all => ModuleTests::ByRecords,
        Strategy::Modules | Strategy::Hybrid => ModuleTests::All,
        Strategy::Records | Strategy::Static { .. } => return Ok(None),
    };
    let since = call.options.which.since.as_deref();
    let found = Found::new(call, Asked { words: &[], since, alone: false })?;
    if found.graph.kind != Kind::Maven {
        bail!(
            "the modules of this build are chosen with a command: tamis select --select modules \
             COMMAND"
        );
    }
    let modules = found.graph.modules.iter().enumerate().map(|(n, module)| {
        let chosen = match found.affected(n) {
            Some(affected) => {
                let first = affected.reasons.first().map(ToString::to_string).unwrap_or_default();
                (tests, format!("its module is affected: {first}"))
            }
            None => (ModuleTests::None, "its module is not affected".to_owned()),
        };
        (module.name.clone(), chosen)
    });
    Ok(Some(Choice { modules: modules.collect(), others: tests, properties: Vec::new() }))
}

fn maven_case(
    found: &Found,
    call: Call<'_>,
    given: &[String],
    by_records: bool,
) -> Result<Option<Case>> {
    let tests = if by_records { ModuleTests::ByRecords } else { ModuleTests::All };
    let Some(handed) = maven::hand(found, call.project, given, tests)? else { return Ok(None) };
    for note in &handed.notes {
        call.remark(note.clone());
    }
    call.remark(format!(
        "{} built, {} of them tested, of {}",
        human::counted(handed.built as u64, "module", "modules"),
        handed.tested,
        found.graph.modules.len()
    ));
    let given: Vec<OsString> = given.iter().map(OsString::from).collect();
    let mut case = cases::of_command(call, &given, Demand::None);
    // By the user's own words: the list of modules is another one after every change.
    case.words = handed.words.iter().map(OsString::from).collect();
    let modules = human::counted(handed.tested as u64, "module is", "modules are");
    case.demand = Demand::Module(format!("{modules} affected"));
    if call.options.demand() != Demand::None {
        case.inside = call.options.demand();
    }
    case.choice = Some(Arc::new(handed.choice));
    Ok(Some(case))
}

fn other_case(found: &Found, call: Call<'_>, given: &[String], by_records: bool) -> Option<Case> {
    let words = others::hand(found, call.project, given)?;
    call.remark(format!("running {}", words.join(" ")));
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let first = found.affected.modules.first().and_then(|m| m.reasons.first());
    let why =
        format!("a module is affected: {}", first.map(ToString::to_string).unwrap_or_default());
    let demand = if by_records { Demand::None } else { Demand::Module(why) };
    Some(cases::of_command(call, &words, demand))
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
