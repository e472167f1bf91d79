//! Tests that the call graphs select for changes, for `bench/calls/table4`.
//!
//! ```text
//! call_table [--jdk HOME] --graph NAME [--changes class|method] --tests FILE --change FOLDER... ENTRY... -- LIBRARY...
//! ```
//! FILE names the test classes, one a line. Each FOLDER has the class files of one change, which replace those of
//! the entries. One graph of the old revision serves all changes; a line `selected <tab> FOLDER <tab> TEST` is
//! printed for each test that reaches one.

use std::path::{Path, PathBuf};
use tamis_callgraph::{
    Algorithm, AnalysisOptions, Author, Changes, MethodId, Program, Root, Universe, build,
};

fn main() {
    let (mut jdk, mut tests, mut algorithm) = (None, None, None);
    let (mut changes, mut behind) = (Changes::Class, false);
    let (mut entries, mut libraries, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--jdk" => jdk = arguments.next().map(PathBuf::from),
            "--tests" => tests = arguments.next(),
            "--graph" => {
                let name = arguments.next().unwrap_or_default();
                algorithm = Algorithm::ALL.into_iter().find(|a| a.name() == name);
            }
            "--changes" => {
                let method = arguments.next().is_some_and(|how| how == "method");
                changes = if method { Changes::Method } else { Changes::Class };
            }
            "--change" => changed.extend(arguments.next().map(PathBuf::from)),
            "--" => behind = true,
            _ if behind => libraries.push(PathBuf::from(argument)),
            _ => entries.push(PathBuf::from(argument)),
        }
    }
    let (Some(tests), Some(algorithm)) = (tests, algorithm) else {
        eprintln!("--tests FILE and --graph cha|rta|0-cfa|0-1-cfa are needed");
        std::process::exit(2)
    };
    let tests = std::fs::read_to_string(&tests).unwrap_or_else(|e| {
        eprintln!("{tests}: {e}");
        std::process::exit(2)
    });
    let mut universe = Universe::new();
    for (all, origin) in [(&entries, Author::Project), (&libraries, Author::Library)] {
        let all: Vec<&Path> = all.iter().map(PathBuf::as_path).collect();
        universe.add_entries(&all, origin, 17);
    }
    if let Some(home) = &jdk {
        universe.add_jdk(home);
    }
    let mut program = Program::new(&universe);
    let mut roots: Vec<(&str, Vec<Root>)> = Vec::new();
    for test in tests.lines() {
        roots.push((test, program.roots_of(test.replace('.', "/").as_bytes())));
    }
    let all: Vec<Root> = roots.iter().flat_map(|(_, roots)| roots).copied().collect();
    let graph = build(&mut program, &all, AnalysisOptions::new(algorithm));
    for folder in &changed {
        let mut new = Universe::new();
        new.add_entry(folder, Author::Project, 17);
        let mut methods: Vec<MethodId> = graph.unreadable.clone();
        for name in new.own_names() {
            let bytes = new.find(name).map(|(bytes, _)| bytes);
            let old = universe.find(name).map(|(bytes, _)| bytes);
            if bytes != old {
                methods.extend(program.changed_by(name, bytes, changes));
            }
        }
        let callers = graph.callers(&methods);
        for (test, roots) in &roots {
            if roots.iter().any(|root| callers.contains(root.method)) {
                println!("selected\t{}\t{test}", folder.display());
            }
        }
    }
}
