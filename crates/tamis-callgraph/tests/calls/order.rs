//! On real libraries: what each analysis reaches contains what the next finer one reaches.

use crate::support::{Libraries, options};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tamis_callgraph::{Algorithm, Author, Program, Universe, build};
use tamis_testkit::{artifact, jdk};

/// The names of the methods that all public methods of a jar reach.
fn reached(universe: &Universe, algorithm: Algorithm) -> BTreeSet<String> {
    let mut program = Program::new(universe);
    let mut roots = Vec::new();
    for name in universe.own_names() {
        roots.extend(program.roots_of(name));
    }
    let graph = build(&mut program, &roots, options(algorithm));
    assert_eq!(program.problems, Vec::<String>::new());
    graph.reached_names(&program).into_iter().collect()
}

fn check(jar: &Path, libraries: Libraries) {
    let mut universe = Universe::new();
    universe.add_entry(jar, Author::Project, 17);
    if libraries == Libraries::Include {
        universe.add_jdk(&jdk().home);
    }
    let mut coarser: Option<BTreeSet<String>> = None;
    for algorithm in Algorithm::ALL {
        let here = reached(&universe, algorithm);
        assert!(here.len() > 100, "{algorithm:?} reaches only {}", here.len());
        if let Some(coarser) = coarser {
            let more: Vec<&String> = here.difference(&coarser).take(5).collect();
            assert!(more.is_empty(), "{}: {algorithm:?} reaches more: {more:?}", jar.display());
        }
        coarser = Some(here);
    }
}

/// Jars that tests may use; none where neither Maven nor a copy of them is there.
fn jars() -> Vec<PathBuf> {
    ["commons-cli:commons-cli:1.4", "org.apache.commons:commons-lang3:3.12.0", "junit:junit:4.13.2"]
        .iter()
        .filter_map(|coordinates| artifact(coordinates))
        .collect()
}

#[test]
fn each_analysis_contains_the_next() {
    for jar in jars() {
        check(&jar, Libraries::Exclude);
    }
}

#[test]
fn each_analysis_contains_the_next_with_the_jdk() {
    // The smallest one: in an unoptimised build the JDK takes its time.
    for jar in jars().into_iter().take(1) {
        check(&jar, Libraries::Include);
    }
}
