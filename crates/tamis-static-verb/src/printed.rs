//! What the verbs of `tamis static` print.

use crate::View;
use crate::values;
use crate::words::SelectArguments;
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use tamis_report::json::static_graph::{DiffLine, EdgeLine, ImpactedLine, SelectionLine};
use tamis_report::json::{Line, Version};
use tamis_report::style::Role;
use tamis_select_static::render::{self, Detail};
use tamis_select_static::sessions::{Selection, of_module};
use tamis_select_static::{Session, Sessions, explain};

/// A heading per module, where there is more than one.
pub(crate) fn heading(count: usize, module: &str, out: &mut impl Write) -> Result<()> {
    if count > 1 {
        writeln!(out, "{module}:")?;
    }
    Ok(())
}

pub(crate) fn diff(sessions: &mut Sessions, view: &View<'_>, out: &mut impl Write) -> Result<i32> {
    each(sessions, view, out, "nothing to compare with: no finished run is known", |session| {
        let changes = session.diff();
        let known = changes.is_some();
        let changes = changes.unwrap_or_default();
        let text = changes.iter().map(|c| format!("{}  ({})\n", c.name, c.change)).collect();
        let (module, version) = (session.module.clone(), Version);
        let changes = changes.into_iter().map(values::changed).collect();
        let line = Line::StaticDiff(DiffLine { version, module, known, changes });
        Answer { known, line, text }
    })
}

pub(crate) fn impacted(
    sessions: &mut Sessions,
    view: &View<'_>,
    out: &mut impl Write,
) -> Result<i32> {
    each(sessions, view, out, "everything: no finished run is known", |session| {
        let types = session.impacted();
        let known = types.is_some();
        let types = types.unwrap_or_default();
        let text = types.iter().map(|name| format!("{name}\n")).collect();
        let (module, version) = (session.module.clone(), Version);
        let (types, methods) = (Some(types), None);
        let line = Line::StaticImpacted(ImpactedLine { version, module, known, types, methods });
        Answer { known, line, text }
    })
}

/// What is answered about one module.
struct Answer {
    /// Whether there is an earlier state to compare with.
    known: bool,
    line: Line,
    text: String,
}

/// Writes the answer about each module, as a line of JSON or as text; `unknown` where nothing was compared.
fn each(
    sessions: &mut Sessions,
    view: &View<'_>,
    out: &mut impl Write,
    unknown: &str,
    mut answer: impl FnMut(&mut Session) -> Answer,
) -> Result<i32> {
    let count = sessions.each.len();
    for session in &mut sessions.each {
        let Answer { known, line, text } = answer(session);
        if view.json {
            line.write(out)?;
            continue;
        }
        heading(count, &session.module, out)?;
        if !known {
            writeln!(out, "{unknown}")?;
        }
        write!(out, "{text}")?;
    }
    Ok(0)
}

pub(crate) fn selection(
    selection: &Selection,
    count: usize,
    arguments: &SelectArguments,
    view: &View<'_>,
    out: &mut impl Write,
) -> Result<()> {
    let Selection { module, tests, notes } = selection;
    if view.json {
        let (module, notes) = (module.clone(), notes.clone());
        let tests = tests.iter().cloned().map(values::selected).collect();
        Line::StaticSelection(SelectionLine { version: Version, module, tests, notes })
            .write(out)?;
    } else if arguments.plain {
        render::plain(tests, out)?;
    } else if !view.quiet {
        heading(count, module, out)?;
        for test in tests.iter().filter(|test| arguments.explain || test.run.is_some()) {
            let (word, why) = match &test.run {
                Some(reason) => (view.style.paint(Role::Strong, "run "), explain::line(reason)),
                None => (
                    view.style.paint(Role::Faint, "skip"),
                    "nothing that it can reach changed".into(),
                ),
            };
            write!(out, "{word}  {}", test.name)?;
            if arguments.explain {
                write!(out, "  {}", view.style.paint(Role::Faint, &format!("({why})")))?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Lists of tests, changes and the graph, in files.
pub(crate) fn artifacts(
    sessions: &mut Sessions,
    selections: &[Selection],
    detail: Detail,
    folder: &Path,
) -> Result<()> {
    for (session, selection) in sessions.each.iter_mut().zip(selections) {
        let to = of_module(folder, &session.module);
        render::artifacts(session, &selection.tests, detail, &to)
            .with_context(|| format!("{} could not be written", folder.display()))?;
    }
    Ok(())
}

/// Why tests are selected, most frequent reason first.
pub(crate) fn grouped(selections: &[Selection]) -> String {
    const MOST: usize = 8;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for reason in selections.iter().flat_map(|s| &s.tests).filter_map(|test| test.run.as_ref()) {
        *counts.entry(explain::what(reason)).or_default() += 1;
    }
    let mut reasons: Vec<(String, usize)> = counts.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let column = reasons.first().map_or(0, |(_, count)| count.to_string().len());
    let shown = reasons.iter().take(MOST);
    let mut text: String = shown.map(|(why, n)| format!("  {n:>column$}  {why}\n")).collect();
    if reasons.len() > MOST {
        text += &format!("  ... and {} more reasons\n", reasons.len() - MOST);
    }
    text
}

pub(crate) fn graph(
    sessions: &Sessions,
    view: &View<'_>,
    dot: bool,
    out: &mut impl Write,
) -> Result<i32> {
    for session in &sessions.each {
        let graph = session.graph([]);
        if view.json {
            render::for_each_edge(session, &graph, |from, to, kind| {
                Line::StaticEdge(EdgeLine { version: Version, from, to, kind }).write(out)
            })?;
        } else if dot {
            render::graph_dot(session, &graph, out)?;
        } else {
            let (nodes, edges) = (session.definitions.nodes().count(), graph.graph.edges());
            writeln!(out, "{}: {nodes} types and files, {edges} edges", session.module)?;
        }
    }
    Ok(0)
}
