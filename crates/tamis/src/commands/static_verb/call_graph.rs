//! `tamis static ... --granularity method` and `tamis static callgraph`: call graphs instead of the graph of
//! types.

use super::printed::heading;
use crate::args::{GraphUnit, Options};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use std::collections::BTreeSet;
use std::io::Write;
use tamis_callgraph::{Algorithm, Changes};
use tamis_report::json::static_graph::{CallLine, ImpactedLine};
use tamis_report::json::{Line, Version};
use tamis_select_static::call_query::{self, CallAnswer, CallQuery};
use tamis_select_static::method_level::{self, MethodLevel};
use tamis_select_static::{Libraries, Sessions};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CallGraphName {
    /// Class hierarchy analysis
    Cha,
    /// Rapid type analysis
    Rta,
    /// Classes followed through variables and fields
    #[value(name = "0-cfa")]
    ZeroCfa,
    /// The same, objects told apart by where they are made
    #[value(name = "0-1-cfa")]
    ZeroOneCfa,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ChangesName {
    /// A changed class changes all of its methods
    Class,
    /// Only methods that differ, and those that another one is found instead of
    Method,
}

/// How a call graph is made.
#[derive(Debug, Clone, Args)]
pub(super) struct CallGraphOptions {
    /// With --granularity method: how receivers of calls are told [default: 0-cfa]
    #[arg(long, value_name = "NAME")]
    callgraph: Option<CallGraphName>,
    /// With --granularity method: objects made by reflection with constants (`X.class`, `Class.forName("x")`)
    /// count
    #[arg(long)]
    reflection: bool,
}

/// Which graph decides.
#[derive(Debug, Clone, Args)]
pub(super) struct LevelArguments {
    #[command(flatten)]
    pub(super) unit: GraphUnit,
    #[command(flatten)]
    graph: CallGraphOptions,
    /// With --granularity method: how finely changes are told [default: class]
    #[arg(long, value_name = "LEVEL")]
    changes: Option<ChangesName>,
}

#[derive(Debug, Args)]
pub(super) struct CallGraphArguments {
    /// What a class (com.acme.FooTest) or method (com.acme.Foo#bar) can run
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Who can run it; with --from a shortest way between both
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// For Graphviz; with --json one call a line
    #[arg(long)]
    dot: bool,
    #[command(flatten)]
    graph: CallGraphOptions,
}

impl CallGraphOptions {
    fn level(&self, libraries: Libraries) -> MethodLevel {
        MethodLevel {
            algorithm: match self.callgraph {
                Some(CallGraphName::Cha) => Algorithm::Cha,
                Some(CallGraphName::Rta) => Algorithm::Rta,
                Some(CallGraphName::ZeroCfa) | None => Algorithm::ZeroCfa,
                Some(CallGraphName::ZeroOneCfa) => Algorithm::ZeroOneCfa,
            },
            libraries: libraries == Libraries::Include,
            reflection: self.reflection,
            changes: Changes::Class,
        }
    }
}

impl LevelArguments {
    /// The method level if it is asked for. Options of it without it are a mistake of the call.
    pub(super) fn methods(&self, libraries: Libraries) -> Result<Option<MethodLevel>> {
        if !self.unit.calls() {
            if self.graph.callgraph.is_some() || self.graph.reflection || self.changes.is_some() {
                bail!("--callgraph, --reflection and --changes need --granularity method");
            }
            return Ok(None);
        }
        let changes = match self.changes {
            Some(ChangesName::Method) => Changes::Method,
            Some(ChangesName::Class) | None => Changes::Class,
        };
        Ok(Some(MethodLevel { changes, ..self.graph.level(libraries) }))
    }
}

/// The methods that can reach a change.
pub(super) fn impacted(
    sessions: &mut Sessions,
    level: &MethodLevel,
    options: &Options,
    out: &mut impl Write,
) -> Result<i32> {
    let (mut count, mut classes) = (0, BTreeSet::new());
    let modules = sessions.modules.len();
    for (session, module) in sessions.each.iter_mut().zip(&sessions.modules) {
        let found = method_level::impacted(session, module, level);
        let known = found.is_some();
        let methods = found.unwrap_or_default();
        count += methods.len();
        classes.extend(methods.iter().filter_map(|m| m.split('#').next().map(str::to_owned)));
        if options.common.json {
            let (module, version) = (session.module.clone(), Version);
            let methods = Some(methods);
            Line::StaticImpacted(ImpactedLine { version, module, known, types: None, methods })
                .write(out)?;
            continue;
        }
        heading(modules, &session.module, out)?;
        if !known {
            writeln!(out, "everything: no finished run was recorded with --granularity method")?;
        }
        for name in &methods {
            writeln!(out, "{name}")?;
        }
    }
    if !options.common.json {
        eprintln!("tamis: {count} methods of {} classes can reach a change", classes.len());
    }
    eprintln!("tamis: {}", method_level::WARNING);
    Ok(0)
}

/// `tamis static callgraph`.
pub(super) fn callgraph(
    sessions: &Sessions,
    libraries: Libraries,
    arguments: &CallGraphArguments,
    options: &Options,
    out: &mut impl Write,
) -> Result<i32> {
    let level = arguments.graph.level(libraries);
    let with_calls = arguments.dot || options.common.json;
    let query = CallQuery { from: arguments.from.clone(), to: arguments.to.clone(), with_calls };
    let mut found = false;
    for (session, module) in sessions.each.iter().zip(&sessions.modules) {
        let answer = call_query::ask(session, module, &level, &query);
        for problem in &answer.problems {
            eprintln!("tamis: {problem}");
        }
        found |= answer.found;
        if arguments.dot {
            dot(&answer, out)?;
        } else if options.common.json {
            for (from, to) in answer.calls {
                Line::StaticCall(CallLine { version: Version, from, to }).write(out)?;
            }
        } else if query.from.is_none() && query.to.is_none() {
            let CallAnswer { reached, edges, .. } = answer;
            let (module, tests, how) =
                (&session.module, session.tests.len(), level.algorithm.name());
            writeln!(
                out,
                "{module}: {reached} methods can run from {tests} test classes ({how}), {edges} edges"
            )?;
        } else {
            answer.methods.iter().try_for_each(|method| writeln!(out, "{method}"))?;
        }
    }
    if !found && !sessions.each.is_empty() {
        bail!("no method of that name can run from here; names look like com.acme.Foo#bar");
    }
    Ok(0)
}

fn dot(answer: &CallAnswer, out: &mut impl Write) -> Result<()> {
    writeln!(out, "digraph calls {{")?;
    for (from, to) in &answer.calls {
        writeln!(out, "  {from:?} -> {to:?};")?;
    }
    writeln!(out, "}}")?;
    Ok(())
}
