//! Times and sizes of call graphs, for `bench/calls`.
//!
//! ```text
//! call_figures [--jdk HOME] [--tests SUFFIX,...] [--names FOLDER [--each]] [--only cha,rta,...]
//!              [--order] [--follow-library-types] [--nothing-from-outside] ENTRY... -- LIBRARY...
//! ```
//! Entries are the project's folders and jars. Roots are the methods of all classes of the entries whose name
//! ends with SUFFIX (`Test`) and that are not abstract. With `--names` the names of all reached methods of the project are
//! written into one file per algorithm, all edges into another one, and the roots into a third; with `--each`
//! what the roots of each class alone reach into a fourth. With `--order` each graph is held against the one
//! before it: what it reaches more is listed, and makes the exit code 1.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use tamis_callgraph::{
    Algorithm, AnalysisOptions, Assumptions, Author, MethodId, Program, Root, Universe, build,
};
use tamis_classfile::{ClassFile, flags};

fn memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().split(' ').next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

/// Processor time of this process, which the load of the machine changes less than the clock.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name of the program: its state, ten numbers, and the ticks as user and in the kernel.
    let rest = text.rsplit(") ").next().unwrap_or_default();
    let ticks = rest.split(' ').skip(11).take(2).filter_map(|n| n.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

fn is_abstract(universe: &Universe, name: &[u8]) -> bool {
    let class = universe.find(name).and_then(|(bytes, _)| ClassFile::parse(bytes).ok());
    class.is_none_or(|class| class.is(flags::ABSTRACT | flags::INTERFACE))
}

fn main() -> ExitCode {
    let mut jdk: Option<PathBuf> = None;
    let (mut suffix, mut names, mut only) = ("Test".to_owned(), None, None);
    let (mut entries, mut libraries, mut behind) = (Vec::new(), Vec::new(), false);
    let (mut each, mut assumptions) = (false, Assumptions::default());
    let (mut order, mut coarser, mut in_order) = (false, None, true);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--jdk" => jdk = arguments.next().map(PathBuf::from),
            "--tests" => suffix = arguments.next().unwrap_or_default(),
            "--names" => names = arguments.next().map(PathBuf::from),
            "--each" => each = true,
            "--order" => order = true,
            "--follow-library-types" => assumptions.follow_library_types = true,
            "--nothing-from-outside" => assumptions.nothing_from_outside = true,
            "--only" => only = arguments.next(),
            "--" => behind = true,
            _ if behind => libraries.push(PathBuf::from(argument)),
            _ => entries.push(PathBuf::from(argument)),
        }
    }
    let paths = |list: &[PathBuf]| list.to_vec();
    for algorithm in Algorithm::ALL {
        if only.as_ref().is_some_and(|o| !o.split(',').any(|name| name == algorithm.name())) {
            continue;
        }
        let (start, began) = (Instant::now(), cpu_seconds());
        let mut universe = Universe::new();
        let own = paths(&entries);
        let own: Vec<&Path> = own.iter().map(PathBuf::as_path).collect();
        universe.add_entries(&own, Author::Project, 17);
        let others = paths(&libraries);
        let others: Vec<&Path> = others.iter().map(PathBuf::as_path).collect();
        universe.add_entries(&others, Author::Library, 17);
        if let Some(home) = &jdk {
            universe.add_jdk(home);
        }
        let read = start.elapsed();
        let mut program = Program::new(&universe);
        let tests: Vec<Vec<u8>> = universe
            .own_names()
            .into_iter()
            .filter(|n| suffix.split(',').any(|suffix| n.ends_with(suffix.as_bytes())))
            .filter(|n| !is_abstract(&universe, n))
            .map(<[u8]>::to_vec)
            .collect();
        let of_tests: Vec<Vec<Root>> = tests.iter().map(|test| program.roots_of(test)).collect();
        let roots: Vec<Root> = of_tests.iter().flatten().copied().collect();
        let options = AnalysisOptions { assumptions, ..AnalysisOptions::new(algorithm) };
        let graph = build(&mut program, &roots, options);
        let (all, cpu) = (start.elapsed(), cpu_seconds() - began);
        let reached = graph.reached().count();
        let own = graph.reached().filter(|&m| program.is_own(m)).count();
        println!(
            "{:8} {:7.3} s  cpu {cpu:.2} s (reading {:.3} s), {} classes, {} tests, {} roots: {reached} methods \
             reached, {own} of the project, {} edges; {} MiB, {} problems",
            algorithm.name(),
            all.as_secs_f64(),
            read.as_secs_f64(),
            universe.len(),
            tests.len(),
            roots.len(),
            graph.edge_count(),
            memory_mib(),
            program.problems.len(),
        );
        for problem in program.problems.iter().take(5) {
            eprintln!("{problem}");
        }
        if order {
            let here: BTreeSet<String> = graph.reached_names(&program).into_iter().collect();
            if let Some(coarser) = coarser.replace(here.clone()) {
                let more: Vec<&String> = here.difference(&coarser).collect();
                let left_out = coarser.len() + more.len() - here.len();
                println!(
                    "         reaches {} more and {left_out} fewer than the one before",
                    more.len()
                );
                more.iter().take(5).for_each(|method| println!("         more: {method}"));
                in_order &= more.is_empty();
            }
        }
        if let Some(folder) = &names {
            let mut text = String::new();
            for method in graph.reached().filter(|&m| program.is_own(m) && program.is_in_file(m)) {
                text.push_str(&program.method_display(method));
                text.push('\n');
            }
            let own_only = |m: &MethodId| program.is_own(*m) && program.is_in_file(*m);
            let mut alone = String::new();
            for (test, roots) in tests.iter().zip(&of_tests).filter(|_| each) {
                let test = String::from_utf8_lossy(test).replace('/', ".");
                let roots: Vec<MethodId> = roots.iter().map(|root| root.method).collect();
                for method in graph.reachable(&roots).into_iter().filter(own_only) {
                    alone.push_str(&format!("{test}\t{}\n", program.method_display(method)));
                }
            }
            let edges = graph.named_edges(&program);
            let edges: String = edges.iter().map(|(from, to)| format!("{from}\t{to}\n")).collect();
            let roots = roots.iter().map(|root| program.method_display(root.method) + "\n");
            let files =
                [("", text), (".edges", edges), (".roots", roots.collect()), (".tests", alone)];
            for (ending, text) in files {
                let file = folder.join(format!("{}{ending}", algorithm.name()));
                if let Err(error) = std::fs::write(file, text) {
                    eprintln!("{}: {error}", folder.display());
                }
            }
        }
    }
    if in_order { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
