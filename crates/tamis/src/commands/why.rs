//! `tamis why` and `tamis why-not`: the decision about one test, with its evidence.

use crate::args::{Options, WhyNotArguments};
use crate::context::Context;
use crate::terminal;
use anyhow::Result;
use std::ffi::OsString;
use std::fmt::Write as _;
use tamis_core::record::{Observed, Run};
use tamis_core::{RecordId, Scope, TestKey, taints};
use tamis_modules::affected::Excluded;
use tamis_project::World;
use tamis_report::inputs::{Shown, elsewhere};
use tamis_report::json::Line;
use tamis_report::json::why::{ExcludedFile, InputDifference, ProvenInput, WhyLine, WhyNotLine};
use tamis_report::style::Role;
use tamis_report::{TestReport, human, reason};
use tamis_runner::doctor::some_of;
use tamis_runner::explain::{Explained, Proof};
use tamis_store::Difference;

pub(crate) fn why(options: &Options, words: &[OsString]) -> Result<i32> {
    let context = Context::new(options)?;
    let asked = Explained::find(context.call(), words)?;
    let style = terminal::output_style(options);
    let key = &asked.case.key;
    let report = TestReport::of(&asked.planned);
    let excluded = match key.scope {
        Scope::Suite(_) => Vec::new(),
        _ => tamis_runner::modules::excluded_changes(context.call()),
    };
    if report.skipped() {
        if options.common.json {
            let (test, excluded) = (key.to_string(), excluded_json(&excluded));
            terminal::json(&Line::Why(WhyLine { test, excluded, ..WhyLine::default() }))?;
        } else {
            let proof = report.proof.as_ref().map(|proof| format!(" ({proof})"));
            let head = format!(
                "{key} would not run now: {}{}\n",
                report.reason,
                proof.unwrap_or_default()
            );
            let more = format!("`tamis why-not {}` shows the proof\n", key.unit);
            terminal::print(&(head + &habits(&asked)? + &excluded_text(&excluded) + &more));
        }
        return Ok(0);
    }
    let differences = asked.differences()?;
    if options.common.json {
        let mut answer = why_json(&asked, &report, &differences);
        answer.excluded = excluded_json(&excluded);
        terminal::json(&Line::Why(answer))?;
        return Ok(0);
    }
    let reason = style.paint(Role::Strong, &report.reason);
    let mut text = format!("{key} would run now: {reason}\n");
    if let Some(record) = &asked.planned.evidence.record {
        let outcome = reason::outcome(key, record.outcome);
        let _ = writeln!(text, "  compared with record {}, which {outcome}", record.id);
        for taint in taints::by_kind(&record.taints) {
            let _ = writeln!(text, "  {}", tamis_report::records::taint_text(&taint));
        }
    }
    text += &differences_text(&differences, &asked.world);
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
        if let Some(became) = world.became(&observed.question, *was) {
            let _ = writeln!(text, "      {became}");
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
    // What counts without being looked at.
    if let Some((_, through)) = observed.program.split_once(", through ") {
        return Some(format!("through {through}"));
    }
    (!how.is_empty()).then(|| format!("{how} by {}", observed.program))
}

/// What the test leaves behind, and whose leavings it reads.
fn habits(asked: &Explained<'_>) -> Result<String> {
    let mut text = String::new();
    let leaves = asked.leaves()?;
    if !leaves.is_empty() {
        let _ = writeln!(text, "  leaves behind: {}", some_of(&leaves));
    }
    for reader in asked.reads_leftovers()? {
        let _ = writeln!(text, "  looks at {}, which {} left behind", reader.path, reader.writer);
    }
    Ok(text)
}

fn why_json(asked: &Explained<'_>, report: &TestReport, differences: &[Difference]) -> WhyLine {
    let difference = |d: &Difference| {
        let detail = asked.world.detail(&d.observed.question);
        InputDifference {
            input: d.observed.question.to_string(),
            what: reason::difference(&d.observed.question, d.was, d.is),
            was: reason::value(d.was, &d.observed.detail),
            is: reason::value(d.is, &detail),
            names: reason::names_changed(&d.observed.detail, &detail),
            parameters: asked.world.became(&d.observed.question, d.was),
            access: d.observed.access.to_string(),
            program: d.observed.program.to_string(),
        }
    };
    let newest = asked.planned.evidence.newest.as_ref();
    WhyLine {
        test: asked.case.key.to_string(),
        run: true,
        reason: Some(report.reason.clone()),
        record: newest.map(|n| n.id.0),
        taints: newest.map(|n| taints::lines(&n.taints)),
        differences: Some(differences.iter().map(difference).collect()),
        ..WhyLine::default()
    }
}

pub(crate) fn why_not(options: &Options, arguments: &WhyNotArguments) -> Result<i32> {
    let context = Context::new(options)?;
    let asked = Explained::find(context.call(), &arguments.name.name)?;
    let shown = Shown { all: arguments.shown.all, words: &arguments.shown.filter };
    let key = &asked.case.key;
    let Some(proof) = asked.proof()? else {
        let reason = TestReport::of(&asked.planned).reason;
        let run = asked.planned.decision.is_run();
        if options.common.json {
            let (test, reason) = (key.to_string(), Some(reason));
            let answer = WhyNotLine { test, run, reason, ..WhyNotLine::default() };
            terminal::json(&Line::WhyNot(answer))?;
        } else if run {
            let more = format!("`tamis why {}` shows what is different\n", key.unit);
            terminal::print(&format!("{key} may not be skipped: {reason}\n{more}"));
        } else {
            terminal::print(&format!("{key} may be skipped: {reason}\n"));
        }
        return Ok(0);
    };
    let Proof { record, stored, left } = &proof;
    let mut inputs: Vec<&Observed> =
        stored.run.observed.iter().filter(|o| shown.concerns(o)).collect();
    inputs.sort_by(|a, b| a.question.cmp(&b.question));
    if options.common.json {
        let input = |o: &Observed| ProvenInput {
            input: o.question.to_string(),
            value: proof.value(o).to_string(),
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
    let mut text = proof_head(key, *record, &stored.run, *left);
    let (own, others): (Vec<&Observed>, Vec<&Observed>) =
        inputs.into_iter().partition(|observed| shown.by_itself(observed));
    for observed in own {
        let own = *left && observed.after.is_some();
        let detail = if own { &tamis_core::record::Detail::None } else { &observed.detail };
        let value = reason::value(proof.value(observed), detail);
        let who = looked(observed).map_or_else(String::new, |w| format!("  ({w})"));
        let own = if own { "  as the test itself left it" } else { "" };
        let _ = writeln!(text, "  {}  {value}{own}{who}", observed.question);
    }
    text += &elsewhere(&others);
    terminal::print(&text);
    Ok(0)
}

fn proof_head(key: &TestKey, record: RecordId, run: &Run, left: bool) -> String {
    let inputs = human::counted(run.observed.len() as u64, "input", "inputs");
    let took = human::duration(std::time::Duration::from_micros(run.wall_us));
    let when = human::ago(run.started_ms);
    let state = if left { "left" } else { "found" };
    format!(
        "{key} may be skipped: record {record} proves it\n  it {} {when} in {took}, observed by \
         {}\n  its {inputs}, all in the state that it {state}:\n",
        run.outcome, run.engine
    )
}
