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
    Algorithm, AnalysisOptions, Assumptions, Author, CallGraph, MethodId, Program, Root, Universe,
    build,
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

/// What is asked for on the command line.
struct Options {
    jdk: Option<PathBuf>,
    suffix: String,
    names: Option<PathBuf>,
    each: bool,
    order: bool,
    only: Option<String>,
    assumptions: Assumptions,
    entries: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
}

fn options(mut arguments: impl Iterator<Item = String>) -> Options {
    let mut options = Options {
        jdk: None,
        suffix: "Test".to_owned(),
        names: None,
        each: false,
        order: false,
        only: None,
        assumptions: Assumptions::default(),
        entries: Vec::new(),
        libraries: Vec::new(),
    };
    let mut behind = false;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--jdk" => options.jdk = arguments.next().map(PathBuf::from),
            "--tests" => options.suffix = arguments.next().unwrap_or_default(),
            "--names" => options.names = arguments.next().map(PathBuf::from),
            "--each" => options.each = true,
            "--order" => options.order = true,
            "--follow-library-types" => options.assumptions.follow_library_types = true,
            "--nothing-from-outside" => options.assumptions.nothing_from_outside = true,
            "--only" => options.only = arguments.next(),
            "--" => behind = true,
            _ if behind => options.libraries.push(PathBuf::from(argument)),
            _ => options.entries.push(PathBuf::from(argument)),
        }
    }
    options
}

impl Options {
    fn wants(&self, algorithm: Algorithm) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| only.split(',').any(|name| name == algorithm.name()))
    }

    fn universe(&self) -> Universe {
        let mut universe = Universe::new();
        for (list, author) in [(&self.entries, Author::Project), (&self.libraries, Author::Library)]
        {
            let paths: Vec<&Path> = list.iter().map(PathBuf::as_path).collect();
            universe.add_entries(&paths, author, 17);
        }
        if let Some(home) = &self.jdk {
            universe.add_jdk(home);
        }
        universe
    }

    fn tests(&self, universe: &Universe) -> Vec<Vec<u8>> {
        let is_test = |name: &[u8]| {
            self.suffix.split(',').any(|suffix| name.ends_with(suffix.as_bytes()))
                && !is_abstract(universe, name)
        };
        let names = universe.own_names().into_iter();
        names.filter(|name| is_test(name)).map(<[u8]>::to_vec).collect()
    }
}

/// A graph with what it was built from.
struct Built<'u> {
    algorithm: Algorithm,
    program: Program<'u>,
    graph: CallGraph,
    /// Test classes with their roots.
    tests: Vec<(Vec<u8>, Vec<Root>)>,
}

impl Built<'_> {
    fn roots(&self) -> impl Iterator<Item = Root> {
        self.tests.iter().flat_map(|(_, roots)| roots).copied()
    }

    fn is_named(&self, method: MethodId) -> bool {
        self.program.is_own(method) && self.program.is_in_file(method)
    }

    /// Whether it reaches nothing that the graph before it does not reach.
    fn is_within(&self, coarser: &mut Option<BTreeSet<String>>) -> bool {
        let here: BTreeSet<String> = self.graph.reached_names(&self.program).into_iter().collect();
        let Some(coarser) = coarser.replace(here.clone()) else { return true };
        let more: Vec<&String> = here.difference(&coarser).collect();
        let left_out = coarser.len() + more.len() - here.len();
        println!("         reaches {} more and {left_out} fewer than the one before", more.len());
        more.iter().take(5).for_each(|method| println!("         more: {method}"));
        more.is_empty()
    }

    /// What the roots of each test class alone reach.
    fn reached_by_each(&self) -> String {
        let mut alone = String::new();
        for (test, roots) in &self.tests {
            let test = String::from_utf8_lossy(test).replace('/', ".");
            let roots: Vec<MethodId> = roots.iter().map(|root| root.method).collect();
            for method in self.graph.reachable(&roots).into_iter().filter(|&m| self.is_named(m)) {
                alone.push_str(&format!("{test}\t{}\n", self.program.method_display(method)));
            }
        }
        alone
    }

    fn write_names(&self, folder: &Path, each: bool) {
        let line = |method: MethodId| self.program.method_display(method) + "\n";
        let reached = self.graph.reached().filter(|&m| self.is_named(m));
        let edges = self.graph.named_edges(&self.program);
        let edges = edges.iter().map(|(from, to)| format!("{from}\t{to}\n"));
        let files = [
            ("", reached.map(line).collect()),
            (".edges", edges.collect()),
            (".roots", self.roots().map(|root| line(root.method)).collect()),
            (".tests", if each { self.reached_by_each() } else { String::new() }),
        ];
        for (ending, text) in files {
            let file = folder.join(format!("{}{ending}", self.algorithm.name()));
            if let Err(error) = std::fs::write(file, text) {
                eprintln!("{}: {error}", folder.display());
            }
        }
    }
}

/// Builds one graph and prints its figures; whether it keeps the order.
fn figures(
    algorithm: Algorithm,
    options: &Options,
    coarser: &mut Option<BTreeSet<String>>,
) -> bool {
    let (start, began) = (Instant::now(), cpu_seconds());
    let universe = options.universe();
    let read = start.elapsed();
    let mut program = Program::new(&universe);
    let tests = options.tests(&universe).into_iter();
    let tests: Vec<_> = tests.map(|test| (test.clone(), program.roots_of(&test))).collect();
    let roots: Vec<Root> = tests.iter().flat_map(|(_, roots)| roots).copied().collect();
    let how =
        AnalysisOptions { assumptions: options.assumptions, ..AnalysisOptions::new(algorithm) };
    let graph = build(&mut program, &roots, how);
    let (all, cpu) = (start.elapsed(), cpu_seconds() - began);
    println!(
        "{:8} {:7.3} s  cpu {cpu:.2} s (reading {:.3} s), {} classes, {} tests, {} roots: {} methods \
         reached, {} of the project, {} edges; {} MiB, {} problems",
        algorithm.name(),
        all.as_secs_f64(),
        read.as_secs_f64(),
        universe.len(),
        tests.len(),
        roots.len(),
        graph.reached().count(),
        graph.reached().filter(|&m| program.is_own(m)).count(),
        graph.edge_count(),
        memory_mib(),
        program.problems.len(),
    );
    program.problems.iter().take(5).for_each(|problem| eprintln!("{problem}"));
    let built = Built { algorithm, program, graph, tests };
    let in_order = !options.order || built.is_within(coarser);
    if let Some(folder) = &options.names {
        built.write_names(folder, options.each);
    }
    in_order
}

fn main() -> ExitCode {
    let options = options(std::env::args().skip(1));
    let (mut coarser, mut in_order) = (None, true);
    for algorithm in Algorithm::ALL.into_iter().filter(|&algorithm| options.wants(algorithm)) {
        in_order &= figures(algorithm, &options, &mut coarser);
    }
    if in_order { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
