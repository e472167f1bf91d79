//! `tamis static ... --granularity method` and `tamis static callgraph`: call graphs instead of the graph of
//! types.

use super::static_select::LibrariesWhen;
use crate::args::{GraphUnit, Options};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use std::collections::BTreeSet;
use std::io::Write;
use tamis_callgraph::{Algorithm, Changes, MethodId};
use tamis_report::json::static_graph::{CallLine, ImpactedLine};
use tamis_report::json::{Line, Version};
use tamis_select_static::methods::{self, Calls, MethodLevel};
use tamis_select_static::{Module, Session};

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
pub(super) struct GraphOptions {
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
    graph: GraphOptions,
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
    graph: GraphOptions,
}

impl GraphOptions {
    fn level(&self, libraries: LibrariesWhen) -> MethodLevel {
        MethodLevel {
            algorithm: match self.callgraph {
                Some(CallGraphName::Cha) => Algorithm::Cha,
                Some(CallGraphName::Rta) => Algorithm::Rta,
                Some(CallGraphName::ZeroCfa) | None => Algorithm::ZeroCfa,
                Some(CallGraphName::ZeroOneCfa) => Algorithm::ZeroOneCfa,
            },
            libraries: matches!(libraries, LibrariesWhen::Include),
            reflection: self.reflection,
            changes: Changes::Class,
        }
    }
}

impl LevelArguments {
    /// The method level if it is asked for. Options of it without it are a mistake of the call.
    pub(super) fn methods(&self, libraries: LibrariesWhen) -> Result<Option<MethodLevel>> {
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
    sessions: &mut [Session],
    modules: &[Module],
    level: &MethodLevel,
    options: &Options,
    out: &mut impl Write,
) -> Result<i32> {
    let (mut count, mut classes) = (0, BTreeSet::new());
    for (session, module) in sessions.iter_mut().zip(modules) {
        let found = methods::impacted(session, module, level);
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
        if modules.len() > 1 {
            writeln!(out, "{}:", session.module)?;
        }
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
    eprintln!("tamis: {}", methods::WARNING);
    Ok(0)
}

/// `tamis static callgraph`.
pub(super) fn callgraph(
    sessions: &[Session],
    modules: &[Module],
    libraries: LibrariesWhen,
    arguments: &CallGraphArguments,
    options: &Options,
    out: &mut impl Write,
) -> Result<i32> {
    let level = arguments.graph.level(libraries);
    let mut found = arguments.from.is_none() && arguments.to.is_none();
    for (session, module) in sessions.iter().zip(modules) {
        let universe = methods::universe_of_now(session, module, &level);
        let mut starts = session.test_names();
        if let Some(from) = &arguments.from {
            let class = from.split('#').next().unwrap_or(from).to_owned();
            if !starts.contains(&class) {
                starts.push(class);
            }
        }
        let calls = Calls::build(&universe, &starts, &level);
        for problem in &calls.program.problems {
            eprintln!("tamis: {problem}");
        }
        let wanted = |name: &Option<String>| -> Option<Vec<MethodId>> {
            name.as_ref().map(|name| matching(&calls, name))
        };
        let (from, to) = (wanted(&arguments.from), wanted(&arguments.to));
        found |= from.iter().chain(&to).all(|list| !list.is_empty());
        let methods: Vec<MethodId> = match (&from, &to) {
            (None, None) if !arguments.dot && !options.common.json => {
                writeln!(
                    out,
                    "{}: {} methods can run from {} test classes ({}), {} edges",
                    session.module,
                    calls.graph.reached().count(),
                    session.tests.len(),
                    level.algorithm.name(),
                    calls.graph.edge_count()
                )?;
                continue;
            }
            (None, None) => calls.graph.reached().collect(),
            (Some(from), None) => calls.graph.reachable(from),
            (None, Some(to)) => {
                let callers = calls.graph.callers(to);
                calls.graph.reached().filter(|&m| callers.contains(m)).collect()
            }
            (Some(from), Some(to)) => {
                let callers = calls.graph.callers(to);
                let paths = from.iter().map(|&m| callers.path(m, &calls.graph));
                paths.filter(|p| !p.is_empty()).min_by_key(Vec::len).unwrap_or_default()
            }
        };
        print(&calls, &methods, arguments, options, out)?;
    }
    if !found {
        bail!("no method of that name can run from here; names look like com.acme.Foo#bar");
    }
    Ok(0)
}

/// The methods that a name of a class or method stands for.
fn matching(calls: &Calls<'_>, name: &str) -> Vec<MethodId> {
    let (class, method) = match name.split_once('#') {
        Some((class, method)) => (class, Some(method)),
        None => (name, None),
    };
    let internal = class.replace('.', "/");
    calls
        .program
        .methods_of(internal.as_bytes())
        .filter(|&m| calls.graph.is_reached(m))
        .filter(|&m| {
            let shown = calls.program.method_display(m);
            let own = shown.split_once('#').map(|(_, own)| own).unwrap_or_default();
            method.is_none_or(|wanted| {
                own == wanted || own.split('(').next().is_some_and(|plain| plain == wanted)
            })
        })
        .collect()
}

fn print(
    calls: &Calls<'_>,
    methods: &[MethodId],
    arguments: &CallGraphArguments,
    options: &Options,
    out: &mut impl Write,
) -> Result<()> {
    let name = |m: MethodId| calls.program.method_display(m);
    let both = arguments.from.is_some() && arguments.to.is_some();
    if !arguments.dot && !options.common.json {
        for &method in methods.iter().filter(|&&m| calls.program.is_in_file(m)) {
            writeln!(out, "{}", name(method))?;
        }
        return Ok(());
    }
    let wanted: BTreeSet<MethodId> = methods.iter().copied().collect();
    let mut edges: Vec<(String, String)> = Vec::new();
    if both {
        edges.extend(methods.windows(2).map(|pair| (name(pair[0]), name(pair[1]))));
    } else {
        for &from in methods {
            let callees = calls.graph.callees(from).into_iter().filter(|to| wanted.contains(to));
            edges.extend(callees.map(|to| (name(from), name(to))));
        }
    }
    if arguments.dot {
        writeln!(out, "digraph calls {{")?;
        for (from, to) in &edges {
            writeln!(out, "  {from:?} -> {to:?};")?;
        }
        writeln!(out, "}}")?;
    } else {
        for (from, to) in edges {
            Line::StaticCall(CallLine { version: Version, from, to }).write(out)?;
        }
    }
    Ok(())
}
