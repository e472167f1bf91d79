//! Questions to a call graph: what can a method run, who can run it, on which way.

use crate::definitions::TestModule;
use crate::method_level::{self, Calls, MethodLevel};
use crate::select::Session;
use std::collections::BTreeSet;
use tamis_callgraph::MethodId;

/// By class (`com.acme.FooTest`) or method (`com.acme.Foo#bar`, with or without descriptor).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallQuery {
    /// What it can run.
    pub from: Option<String>,
    /// Who can run it; with `from` a shortest way between both.
    pub to: Option<String>,
    /// Whether the calls between the methods are wanted, too.
    pub with_calls: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallAnswer {
    /// Whether the names of the query stand for something that can run.
    pub found: bool,
    /// The methods of class files.
    pub methods: Vec<String>,
    pub calls: Vec<(String, String)>,
    /// All that can run from the tests.
    pub reached: usize,
    pub edges: usize,
    /// What could not be understood.
    pub problems: Vec<String>,
}

/// Asks the call graph of a module, from its tests and from where the query starts.
pub fn ask(
    session: &Session,
    module: &TestModule,
    level: &MethodLevel,
    query: &CallQuery,
) -> CallAnswer {
    let universe = method_level::universe_of_now(session, module, level);
    let mut starts = session.test_names();
    if let Some(from) = &query.from {
        let class = from.split('#').next().unwrap_or(from).to_owned();
        if !starts.contains(&class) {
            starts.push(class);
        }
    }
    let calls = Calls::build(&universe, &starts, level);
    let wanted = |name: &Option<String>| name.as_ref().map(|name| matching(&calls, name));
    let (from, to) = (wanted(&query.from), wanted(&query.to));
    let methods = answer(&calls, from.as_deref(), to.as_deref());
    let is_way = from.is_some() && to.is_some();
    let shown = methods.iter().filter(|&&m| calls.program.is_in_file(m));
    CallAnswer {
        found: from.iter().chain(&to).all(|list| !list.is_empty()),
        methods: shown.map(|&m| calls.program.method_display(m)).collect(),
        calls: if query.with_calls { between(&calls, &methods, is_way) } else { Vec::new() },
        reached: calls.graph.reached().count(),
        edges: calls.graph.edge_count(),
        problems: calls.program.problems.clone(),
    }
}

fn answer(calls: &Calls<'_>, from: Option<&[MethodId]>, to: Option<&[MethodId]>) -> Vec<MethodId> {
    let graph = &calls.graph;
    match (from, to) {
        (None, None) => graph.reached().collect(),
        (Some(from), None) => graph.reachable(from),
        (None, Some(to)) => {
            let callers = graph.callers(to);
            graph.reached().filter(|&m| callers.contains(m)).collect()
        }
        (Some(from), Some(to)) => {
            let callers = graph.callers(to);
            let ways = from.iter().map(|&m| callers.path(m, graph));
            ways.filter(|way| !way.is_empty()).min_by_key(Vec::len).unwrap_or_default()
        }
    }
}

/// The methods that a name of a class or method stands for.
fn matching(calls: &Calls<'_>, name: &str) -> Vec<MethodId> {
    let (class, method) = match name.split_once('#') {
        Some((class, method)) => (class, Some(method)),
        None => (name, None),
    };
    let is_wanted = |&m: &MethodId| {
        let shown = calls.program.method_display(m);
        let own = shown.split_once('#').map(|(_, own)| own).unwrap_or_default();
        let plain = own.split('(').next();
        method.is_none_or(|wanted| own == wanted || plain == Some(wanted))
    };
    let methods = calls.program.methods_of(class.replace('.', "/").as_bytes());
    methods.filter(|&m| calls.graph.is_reached(m)).filter(is_wanted).collect()
}

/// The calls between methods; of a way only those along it.
fn between(calls: &Calls<'_>, methods: &[MethodId], is_way: bool) -> Vec<(String, String)> {
    let name = |m: MethodId| calls.program.method_display(m);
    if is_way {
        return methods.windows(2).map(|pair| (name(pair[0]), name(pair[1]))).collect();
    }
    let wanted: BTreeSet<MethodId> = methods.iter().copied().collect();
    let of = |&from: &MethodId| {
        let callees = calls.graph.callees(from).into_iter().filter(|to| wanted.contains(to));
        callees.map(|to| (name(from), name(to))).collect::<Vec<_>>()
    };
    methods.iter().flat_map(of).collect()
}
