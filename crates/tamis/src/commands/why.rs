//! `tamis why` and `tamis why-not`: the decision about one test, with its evidence.

use crate::args::Options;
use crate::cases::{self, Case};
use crate::jvm::methods;
use crate::jvm::saved::known_classes;
use crate::plan::{self, Planned};
use crate::project::Project;
use crate::reason;
use crate::terminal;
use crate::world::World;
use anyhow::{Result, bail};
use std::ffi::OsString;
use std::fmt::Write as _;
use tamis_core::decide::Demand;
use tamis_core::record::{Observed, Run};
use tamis_core::{Cause, Decision, RecordId, TestKey};
use tamis_modules::affected::Excluded;
use tamis_report::human;
use tamis_report::json::Line;
use tamis_report::json::why::{ExcludedFile, InputDifference, ProvenInput, WhyLine, WhyNotLine};
use tamis_report::style::Role;
use tamis_store::{Difference, Store};

/// A test that was found by name.
struct Asked {
    project: Project,
    store: Option<Store>,
    case: Case,
    /// Of a test method: its class, which comes first.
    class: Option<Case>,
}

/// The tests of the suites, and the commands and test classes that the store knows.
pub(crate) fn known_cases(project: &Project, store: Option<&Store>) -> Result<Vec<Case>> {
    let mut cases = cases::of_suites(project, &Demand::None, None)?;
    if let Some(store) = store {
        let commands = store.tests()?.into_iter().filter(|t| t.key.suite.is_empty());
        cases.extend(commands.map(|test| cases::of_recorded_command(project, test.key)));
        cases.extend(known_classes(project, Some(store), &Demand::None)?);
    }
    Ok(cases)
}

impl Asked {
    fn find(options: &Options, words: &[OsString]) -> Result<Self> {
        let project = Project::find(options)?;
        let store = project.existing_store()?;
        let known = known_cases(&project, store.as_ref())?;
        let wanted = cases::wanted_name(words);
        let key = cases::find(&wanted, &project.relative_folder(), known.iter().map(|c| &c.key))?;
        let classes = methods::classes_of(&key);
        let class = known.iter().find(|c| classes.contains(&c.key)).cloned();
        let case = known.into_iter().find(|c| c.key == key).expect("found among them");
        Ok(Self { project, store, case, class })
    }

    fn world(&self) -> World<'_> {
        let cases: Vec<Case> = self.class.iter().chain([&self.case]).cloned().collect();
        World::new(&self.project, &cases)
    }

    fn decide(&self, world: &World<'_>) -> Result<Planned> {
        let decide = |case: &Case| -> Result<Planned> {
            let cases = std::slice::from_ref(case);
            let mut planned = plan::decide(&self.project, self.store.as_ref(), world, cases)?;
            Ok(planned.remove(0))
        };
        let (Some(class), Some(store)) = (&self.class, &self.store) else {
            return decide(&self.case);
        };
        // What a run would decide: by the class where that is enough, or where its methods are not known.
        let of_class = decide(class)?;
        if !methods::may_divide(class, &of_class) {
            // Its own proof says more than that of its class.
            let own = decide(&self.case)?;
            let both = of_class.report.skipped() && own.report.skipped();
            return Ok(if both { own } else { of_class });
        }
        let mut plans = methods::plans(&self.project, store, None, &[(&class.key, &of_class)])?;
        let of_method = plans.get_mut(&class.key.name);
        let of_method = of_method.and_then(|plan| plan.methods.remove(&self.case.key.name));
        match of_method {
            Some(planned) => Ok(planned),
            None => decide(&self.case),
        }
    }
}

pub(crate) fn why(options: &Options, words: &[OsString]) -> Result<i32> {
    let asked = Asked::find(options, words)?;
    let world = asked.world();
    let planned = asked.decide(&world)?;
    let style = terminal::output_style(options);
    let key = &asked.case.key;
    let excluded = match crate::jvm::is_scope(&key.suite) || key.suite.is_empty() {
        true => crate::modules::excluded_changes(&asked.project),
        false => Vec::new(),
    };
    let Decision::Run(cause) = &planned.report.decision else {
        if options.common.json {
            let (test, excluded) = (key.to_string(), excluded_json(&excluded));
            terminal::json(&Line::Why(WhyLine { test, excluded, ..WhyLine::default() }))?;
        } else {
            let proof = planned.report.proof.as_deref().unwrap_or_default();
            let head = format!("{key} would not run now: {} ({proof})\n", planned.report.reason);
            let more = format!("`tamis why-not {}` shows the proof\n", key.name);
            terminal::print(&(head + &habits(&asked)? + &excluded_text(&excluded) + &more));
        }
        return Ok(0);
    };
    let differences = match (cause, &asked.store) {
        (Cause::Changed(record), Some(store)) => {
            store.differences(*record, &|questions| world.ask(questions))?
        }
        _ => Vec::new(),
    };
    if options.common.json {
        let mut answer = why_json(&asked, &planned, &differences, &world);
        answer.excluded = excluded_json(&excluded);
        terminal::json(&Line::Why(answer))?;
        return Ok(0);
    }
    let reason = style.paint(Role::Strong, &planned.report.reason);
    let mut text = format!("{key} would run now: {reason}\n");
    if let Cause::Changed(record) | Cause::Incomplete(record) | Cause::DidNotPass(record, _) = cause
        && let Some(newest) = planned.newest.as_ref().filter(|n| n.id == *record)
    {
        let _ = writeln!(text, "  compared with record {record}, which {}", newest.outcome);
        for taint in &newest.taints {
            let _ = writeln!(text, "  {}", crate::commands::status::taint_text(taint));
        }
    }
    text += &differences_text(&differences, &world);
    text += &habits(&asked)?;
    text += &excluded_text(&excluded);
    terminal::print(&text);
    Ok(0)
}

/// Changed files that do not count for modules; the records may well count them.
fn excluded_text(excluded: &[Excluded]) -> String {
    let line =
        |e: &Excluded| format!("  changed, and excluded for modules: {} ({})\n", e.file, e.rule);
    excluded.iter().map(line).collect()
}

fn excluded_json(excluded: &[Excluded]) -> Vec<ExcludedFile> {
    let files = excluded.iter();
    files.map(|e| ExcludedFile { file: e.file.clone(), rule: e.rule.clone() }).collect()
}

/// Differences that are shown one by one.
const MOST_SHOWN: usize = 50;

fn differences_text(differences: &[Difference], world: &World<'_>) -> String {
    let mut text = String::new();
    for Difference { observed, was, is, .. } in differences.iter().take(MOST_SHOWN) {
        let detail = world.detail(&observed.question);
        let _ = writeln!(text, "  {}", reason::difference(&observed.question, *was, *is));
        let _ = writeln!(text, "      was {}", reason::value(*was, &observed.detail));
        let _ = writeln!(text, "      is  {}", reason::value(*is, &detail));
        if let Some(names) = reason::names_changed(&observed.detail, &detail) {
            let _ = writeln!(text, "      {names}");
        }
        if let Some(who) = looked(observed) {
            let _ = writeln!(text, "      {who}");
        }
    }
    if differences.len() > MOST_SHOWN {
        let more = differences.len() - MOST_SHOWN;
        let _ = writeln!(text, "  ... and {more} more (--json shows all)");
    }
    text
}

/// Which process looked at an input, and how.
fn looked(observed: &Observed) -> Option<String> {
    let how = observed.access.to_string();
    (!how.is_empty()).then(|| format!("{how} by {}", observed.program))
}

/// What the test leaves behind, and whose leavings it reads.
fn habits(asked: &Asked) -> Result<String> {
    let mut text = String::new();
    let Some(store) = &asked.store else { return Ok(text) };
    let key = &asked.case.key;
    for (_, paths) in store.left_behind()?.into_iter().filter(|(k, _)| k == key) {
        let _ = writeln!(text, "  leaves behind: {}", some_of(&paths));
    }
    for reader in store.readers_of_leftovers()?.into_iter().filter(|r| r.reader == *key) {
        let _ = writeln!(text, "  looks at {}, which {} left behind", reader.path, reader.writer);
    }
    Ok(text)
}

/// The first few paths, and how many more there are.
pub(crate) fn some_of(paths: &[tamis_core::PortablePath]) -> String {
    let shown: Vec<String> = paths.iter().take(5).map(ToString::to_string).collect();
    match paths.len().saturating_sub(5) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn why_json(
    asked: &Asked,
    planned: &Planned,
    differences: &[Difference],
    world: &World<'_>,
) -> WhyLine {
    let difference = |d: &Difference| {
        let detail = world.detail(&d.observed.question);
        InputDifference {
            input: d.observed.question.to_string(),
            what: reason::difference(&d.observed.question, d.was, d.is),
            was: reason::value(d.was, &d.observed.detail),
            is: reason::value(d.is, &detail),
            names: reason::names_changed(&d.observed.detail, &detail),
            access: d.observed.access.to_string(),
            program: d.observed.program.to_string(),
        }
    };
    let newest = planned.newest.as_ref();
    WhyLine {
        test: asked.case.key.to_string(),
        run: true,
        reason: Some(planned.report.reason.clone()),
        record: newest.map(|n| n.id.0),
        taints: newest.map(|n| n.taints.iter().map(ToString::to_string).collect()),
        differences: Some(differences.iter().map(difference).collect()),
        ..WhyLine::default()
    }
}

pub(crate) fn why_not(options: &Options, words: &[OsString]) -> Result<i32> {
    let asked = Asked::find(options, words)?;
    let world = asked.world();
    let planned = asked.decide(&world)?;
    let key = &asked.case.key;
    let Decision::Skip { record, proof } = planned.report.decision else {
        let reason = &planned.report.reason;
        if options.common.json {
            let (test, reason) = (key.to_string(), Some(reason.clone()));
            let answer = WhyNotLine { test, run: true, reason, ..WhyNotLine::default() };
            terminal::json(&Line::WhyNot(answer))?;
        } else {
            let more = format!("`tamis why {}` tells more\n", key.name);
            terminal::print(&format!("{key} may not be skipped: {reason}\n{more}"));
        }
        return Ok(0);
    };
    let Some(stored) = asked.store.as_ref().map(|s| s.record(record)).transpose()?.flatten() else {
        bail!("record {record} cannot be read");
    };
    // The second proof is the state that the test left.
    let left = stored.proofs.first() != Some(&proof);
    let of = |o: &Observed| if left { o.after.unwrap_or(o.before) } else { o.before };
    let mut inputs: Vec<&Observed> = stored.run.observed.iter().collect();
    inputs.sort_by(|a, b| a.question.cmp(&b.question));
    if options.common.json {
        let input = |o: &Observed| ProvenInput {
            input: o.question.to_string(),
            value: of(o).to_string(),
            access: o.access.to_string(),
            program: o.program.to_string(),
        };
        let inputs = Some(inputs.into_iter().map(input).collect());
        let (test, record) = (key.to_string(), Some(record.0));
        terminal::json(&Line::WhyNot(WhyNotLine {
            test,
            record,
            inputs,
            ..WhyNotLine::default()
        }))?;
        return Ok(0);
    }
    let mut text = proof_head(key, record, &stored.run, left);
    for observed in inputs {
        let own = left && observed.after.is_some();
        let detail = if own { &tamis_core::record::Detail::None } else { &observed.detail };
        let value = reason::value(of(observed), detail);
        let who = looked(observed).map_or_else(String::new, |w| format!("  ({w})"));
        let own = if own { "  as the test itself left it" } else { "" };
        let _ = writeln!(text, "  {}  {value}{own}{who}", observed.question);
    }
    terminal::print(&text);
    Ok(0)
}

fn proof_head(key: &TestKey, record: RecordId, run: &Run, left: bool) -> String {
    let inputs = human::counted(run.observed.len() as u64, "input", "inputs");
    let took = human::duration(std::time::Duration::from_micros(run.wall_us));
    let when = crate::commands::status::when(run.started_ms);
    let state = if left { "left" } else { "found" };
    format!(
        "{key} may be skipped: record {record} proves it\n  it {} {when} in {took}, observed by \
         {}\n  its {inputs}, all in the state that it {state}:\n",
        run.outcome, run.engine
    )
}
