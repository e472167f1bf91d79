//! `tamis static ... --granularity method` and `tamis static callgraph`: call graphs instead of the graph of
//! types.

use crate::View;
use crate::call_graph_words::CallGraphArguments;
use crate::printed::heading;
use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::io::Write;
use tamis_report::json::static_graph::{CallLine, ImpactedLine};
use tamis_report::json::{Line, Version};
use tamis_select_static::call_query::{self, CallAnswer, CallQuery};
use tamis_select_static::method_level::{self, MethodLevel};
use tamis_select_static::{Libraries, Sessions};

/// The methods that can reach a change.
pub(crate) fn impacted(
    sessions: &mut Sessions,
    level: &MethodLevel,
    view: &View<'_>,
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
        if view.json {
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
    if !view.json {
        view.note(&format!("{count} methods of {} classes can reach a change", classes.len()));
    }
    view.note(method_level::WARNING);
    Ok(0)
}

/// `tamis static callgraph`.
pub(crate) fn callgraph(
    sessions: &Sessions,
    libraries: Libraries,
    arguments: &CallGraphArguments,
    view: &View<'_>,
    out: &mut impl Write,
) -> Result<i32> {
    let level = arguments.graph.level(libraries);
    let with_calls = arguments.dot || view.json;
    let query = CallQuery { from: arguments.from.clone(), to: arguments.to.clone(), with_calls };
    let mut found = false;
    for (session, module) in sessions.each.iter().zip(&sessions.modules) {
        let answer = call_query::ask(session, module, &level, &query);
        for problem in &answer.problems {
            view.note(problem);
        }
        found |= answer.found;
        if arguments.dot {
            dot(&answer, out)?;
        } else if view.json {
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
