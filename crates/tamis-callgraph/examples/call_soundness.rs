//! Whether the methods that tests really ran are in the graphs from their roots, for `bench/calls/soundness`.
//!
//! ```text
//! call_soundness [--jdk HOME] [--only cha,rta,...] [--each] [--reflection] --ran FILE ENTRY... -- LIBRARY...
//! ```
//! FILE has a line `TEST <tab> CLASS#METHOD(DESCRIPTOR)` for each method that a test ran. Entries are the
//! project's folders and jars. One graph is made for all tests, as a selection does it; with `--each`
//! one for each test alone, which reaches less.
//!
//! Printed are a line per graph, and a line for each method that ran and is not reached. One that another
//! missing method of the same test can call `follows` that one; what is left is a `start`, whose
//! caller is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tamis_callgraph::{
    Algorithm, AnalysisOptions, Author, CallGraph, MethodId, Program, Root, Universe, build,
};

/// Methods by test, as `com.acme.Thing#run()V`.
type Ran = BTreeMap<String, BTreeSet<String>>;

struct Asked {
    algorithm: Algorithm,
    reflection: bool,
    each: bool,
}

fn internal(name: &str) -> Vec<u8> {
    name.replace('.', "/").into_bytes()
}

fn method(program: &mut Program<'_>, name: &str) -> Option<MethodId> {
    let (class, rest) = name.split_once('#')?;
    let at = rest.find('(')?;
    program.method_named(&internal(class), &rest.as_bytes()[..at], &rest.as_bytes()[at..])
}

fn read_ran(file: &Path) -> Ran {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| {
        eprintln!("{}: {e}", file.display());
        std::process::exit(2)
    });
    let mut ran = Ran::new();
    for (test, method) in text.lines().filter_map(|line| line.split_once('\t')) {
        ran.entry(test.to_owned()).or_default().insert(method.to_owned());
    }
    ran
}

/// What ran and is not reached, by test; the last number counts what was looked for.
fn missing(universe: &Universe, ran: &Ran, asked: &Asked) -> (Ran, usize) {
    let options =
        AnalysisOptions { reflection: asked.reflection, ..AnalysisOptions::new(asked.algorithm) };
    let (mut out, mut pairs) = (Ran::new(), 0);
    let groups: Vec<Vec<&String>> = match asked.each {
        true => ran.keys().map(|test| vec![test]).collect(),
        false => vec![ran.keys().collect()],
    };
    for tests in groups {
        let mut program = Program::new(universe);
        let roots: Vec<Vec<Root>> =
            tests.iter().map(|test| program.roots_of(&internal(test))).collect();
        let all: Vec<Root> = roots.iter().flatten().copied().collect();
        let graph = build(&mut program, &all, options);
        for (test, roots) in tests.into_iter().zip(roots) {
            let roots: Vec<MethodId> = roots.iter().map(|r| r.method).collect();
            let reached: BTreeSet<MethodId> = graph.reachable(&roots).into_iter().collect();
            for name in &ran[test] {
                pairs += 1;
                if method(&mut program, name).is_none_or(|m| !reached.contains(&m)) {
                    out.entry(test.clone()).or_default().insert(name.clone());
                }
            }
        }
    }
    (out, pairs)
}

/// Prints what is missing, told apart by whether something else that is missing can have called it.
fn print(universe: &Universe, missing: &Ran, asked: &Asked) {
    let mut program = Program::new(universe);
    let mut roots = Vec::new();
    let mut ids: BTreeMap<&String, MethodId> = BTreeMap::new();
    for name in missing.values().flatten() {
        if let Some(method) = method(&mut program, name) {
            roots.push(Root { method, class: program.class_of_method(method) });
            ids.insert(name, method);
        }
    }
    roots.sort_unstable();
    roots.dedup();
    let options =
        AnalysisOptions { reflection: asked.reflection, ..AnalysisOptions::new(Algorithm::Rta) };
    let graph: CallGraph = build(&mut program, &roots, options);
    let reach: BTreeMap<&String, BTreeSet<MethodId>> = ids
        .iter()
        .map(|(&name, &method)| (name, graph.reachable(&[method]).into_iter().collect()))
        .collect();
    let calls = |from: &String, to: &String| {
        ids.get(to).is_some_and(|id| reach.get(from).is_some_and(|all| all.contains(id)))
    };
    for (test, names) in missing {
        for name in names {
            // Of methods that can call each other the first one is the start.
            let caller = names.iter().find(|&other| {
                other != name && calls(other, name) && (!calls(name, other) || other < name)
            });
            let how = match caller {
                _ if !ids.contains_key(name) => "unknown".to_owned(),
                Some(caller) => format!("follows {caller}"),
                None => "start".to_owned(),
            };
            println!("missing\t{}\t{test}\t{name}\t{how}", asked.algorithm.name());
        }
    }
}

fn main() {
    let (mut jdk, mut ran, mut only) = (None, None, None);
    let (mut each, mut reflection, mut behind) = (false, false, false);
    let (mut entries, mut libraries) = (Vec::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--jdk" => jdk = arguments.next().map(PathBuf::from),
            "--ran" => ran = arguments.next().map(PathBuf::from),
            "--only" => only = arguments.next(),
            "--each" => each = true,
            "--reflection" => reflection = true,
            "--" => behind = true,
            _ if behind => libraries.push(PathBuf::from(argument)),
            _ => entries.push(PathBuf::from(argument)),
        }
    }
    let Some(ran) = ran.as_deref().map(read_ran) else {
        eprintln!("--ran FILE is needed: the methods that tests ran");
        std::process::exit(2)
    };
    let mut universe = Universe::new();
    let own: Vec<&Path> = entries.iter().map(PathBuf::as_path).collect();
    universe.add_entries(&own, Author::Project, 17);
    let others: Vec<&Path> = libraries.iter().map(PathBuf::as_path).collect();
    universe.add_entries(&others, Author::Library, 17);
    if let Some(home) = &jdk {
        universe.add_jdk(home);
    }
    for algorithm in Algorithm::ALL {
        if only.as_ref().is_some_and(|o| !o.split(',').any(|name| name == algorithm.name())) {
            continue;
        }
        let start = Instant::now();
        let asked = Asked { algorithm, reflection, each };
        let (missing, pairs) = missing(&universe, &ran, &asked);
        println!(
            "graph\t{}\t{} tests\t{pairs} methods that ran\t{} missing\t{:.1} s",
            algorithm.name(),
            ran.len(),
            missing.values().map(BTreeSet::len).sum::<usize>(),
            start.elapsed().as_secs_f64(),
        );
        print(&universe, &missing, &asked);
    }
}
