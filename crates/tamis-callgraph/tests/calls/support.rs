//! Compiles Java and asks who reaches what.

use std::collections::BTreeSet;
use std::path::PathBuf;
use tamis_callgraph::{
    Algorithm, AnalysisOptions, Author, CallGraph, Program, Root, Universe, build,
};
use tamis_testkit::{Sources, jdk};

/// Whether libraries and the JDK are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Libraries {
    Exclude,
    Include,
}

/// Compiled classes: the project's, and those of a library that it uses.
#[derive(Debug)]
pub(crate) struct Fixture {
    pub(crate) project: PathBuf,
    pub(crate) library: Option<PathBuf>,
}

impl Fixture {
    pub(crate) fn new(project: &[(&str, &str)], library: &[(&str, &str)]) -> Self {
        let library = (!library.is_empty()).then(|| Sources::new().files(library).compile(&jdk()));
        let mut project = Sources::new().files(project);
        if let Some(library) = &library {
            project = project.classpath(library);
        }
        Self { project: project.compile(&jdk()), library }
    }

    pub(crate) fn universe(&self, libraries: Libraries) -> Universe {
        let mut universe = Universe::new();
        universe.add_entry(&self.project, Author::Project, 17);
        if libraries == Libraries::Include {
            if let Some(library) = &self.library {
                universe.add_entry(library, Author::Library, 17);
            }
            universe.add_jdk(&jdk().home);
        }
        assert_eq!(universe.problems, Vec::<String>::new());
        universe
    }
}

/// A graph with the roots of each test.
pub(crate) struct Built<'u> {
    pub(crate) program: Program<'u>,
    pub(crate) graph: CallGraph,
    pub(crate) tests: Vec<(String, Vec<Root>)>,
}

pub(crate) fn built<'u>(
    universe: &'u Universe,
    tests: &[&str],
    options: AnalysisOptions,
) -> Built<'u> {
    let mut program = Program::new(universe);
    let tests: Vec<(String, Vec<Root>)> =
        tests.iter().map(|t| ((*t).to_owned(), program.roots_of(t.as_bytes()))).collect();
    let roots: Vec<Root> = tests.iter().flat_map(|(_, r)| r.clone()).collect();
    assert!(!roots.is_empty(), "no roots");
    let graph = build(&mut program, &roots, options);
    assert_eq!(program.problems, Vec::<String>::new());
    Built { program, graph, tests }
}

pub(crate) fn options(algorithm: Algorithm) -> AnalysisOptions {
    AnalysisOptions::new(algorithm)
}

impl Built<'_> {
    /// The tests that can reach a method of this class.
    pub(crate) fn selected(&self, changed: &str) -> BTreeSet<&str> {
        let methods: Vec<u32> = self.program.methods_of(changed.as_bytes()).collect();
        let callers = self.graph.callers(&methods);
        self.tests
            .iter()
            .filter(|(_, roots)| roots.iter().any(|r| callers.contains(r.method)))
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// The methods that a test can reach, as `Class#name`, of the project only.
    pub(crate) fn reached(&self, test: &str) -> BTreeSet<String> {
        let roots = &self.tests.iter().find(|t| t.0 == test).expect("such a test").1;
        let roots: Vec<u32> = roots.iter().map(|r| r.method).collect();
        self.graph
            .reachable(&roots)
            .into_iter()
            .filter(|&m| self.program.is_own(m) && self.program.is_in_file(m))
            .map(|m| {
                let name = self.program.method_display(m);
                name.split('(').next().unwrap_or_default().to_owned()
            })
            .collect()
    }
}
