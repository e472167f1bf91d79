//! Answers as text and dot. Nothing is printed here: all functions write to what they are
//! given.

use crate::edges::TypeGraph;
use crate::select::{Session, TestDecision};
use std::io::{self, Write};
use std::path::Path;

/// One selected test a line.
pub fn plain(decisions: &[TestDecision], out: &mut dyn Write) -> io::Result<()> {
    for decision in decisions.iter().filter(|d| d.run.is_some()) {
        writeln!(out, "{}", decision.name)?;
    }
    Ok(())
}

/// Every edge of the graph: from, to, and how the one uses the other.
pub fn for_each_edge(
    session: &Session,
    graph: &TypeGraph,
    mut each: impl FnMut(String, String, &'static str) -> io::Result<()>,
) -> io::Result<()> {
    let name = |node: u32| match node == graph.everywhere {
        true => "(every test)".to_owned(),
        false => session.definitions.display(node),
    };
    for node in session.definitions.nodes().chain([graph.everywhere]) {
        for (to, kind) in graph.graph.targets(node) {
            each(name(node), name(to), kind.name())?;
        }
    }
    Ok(())
}

/// The graph for Graphviz; kinds other than plain use are labels.
pub fn graph_dot(session: &Session, graph: &TypeGraph, out: &mut dyn Write) -> io::Result<()> {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    writeln!(out, "digraph types {{")?;
    for_each_edge(session, graph, |from, to, kind| {
        let label = if kind == "uses" { String::new() } else { format!(" [label={kind}]") };
        writeln!(out, "  {} -> {}{label};", quoted(&from), quoted(&to))
    })?;
    writeln!(out, "}}")
}

/// How much is written into the folder of artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// All tests and the selected ones.
    Finer,
    /// Also the others, the changed types, the graph and the classpath's libraries.
    Finest,
}

/// Writes lists for people and other tools, one name a line: `all-tests`, `selected-tests`, and in
/// full detail `non-affected-tests`, `changed-classes`, `graph`, `jar-checksums`.
pub fn artifacts(
    session: &mut Session,
    decisions: &[TestDecision],
    detail: Detail,
    folder: &Path,
) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let write = |name: &str, lines: Vec<String>| {
        let text: String = lines.into_iter().map(|l| l + "\n").collect();
        std::fs::write(folder.join(name), text)
    };
    let names = |wanted: fn(&TestDecision) -> bool| {
        decisions.iter().filter(|d| wanted(d)).map(|d| d.name.clone()).collect::<Vec<_>>()
    };
    write("all-tests", names(|_| true))?;
    write("selected-tests", names(|d| d.run.is_some()))?;
    if detail < Detail::Finest {
        return Ok(());
    }
    write("non-affected-tests", names(|d| d.run.is_none()))?;
    let changes = session.diff().unwrap_or_default();
    write(
        "changed-classes",
        changes.into_iter().filter(|c| c.change.counts()).map(|c| c.name).collect(),
    )?;
    let graph = session.graph([]);
    let mut edges = Vec::new();
    for_each_edge(session, &graph, |from, to, kind| {
        edges.push(format!("{from} {to} {kind}"));
        Ok(())
    })?;
    write("graph", edges)?;
    write(
        "jar-checksums",
        session
            .definitions
            .libraries
            .iter()
            .map(|(p, h)| format!("{},{:032x}", p.display(), h.0))
            .collect(),
    )
}
