//! The property above all, for test methods: **none is left out whose result would differ**. And what
//! methods are for: fewer of them run than by class.
//!
//! As in `property.rs`, with several methods in each test class. Each state is built twice, by method and
//! by class, with records of their own.

use crate::generated::{Project, TESTS};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use tamis_testkit::maven::{Maven, has_artifacts};
use tamis_testkit::{for_each_seed, jdk, rounds};

const METHODS: usize = 3;

struct World {
    maven: Maven,
    project: Project,
    /// The result of the run behind each record.
    results: HashMap<u64, String>,
    by_method: usize,
    by_class: usize,
}

impl World {
    /// How many methods run, and what was skipped with the records that prove it.
    fn build(&mut self, options: &[&str]) -> (usize, BTreeMap<String, u64>) {
        let words = self.maven.words(&["test", "-Dmaven.test.failure.ignore=true"]);
        let mut all = vec!["--json", "--no-command-skip"];
        all.extend(options);
        all.extend(words.iter().map(String::as_str));
        let got = self.maven.tamis(&all);
        let build = self.maven.read_call(&got);
        assert_eq!(got.code, 0, "seed {}: {}\n{}", self.project.seed, got.stderr, build.log);
        let count = |name: &String| if name.contains('#') { 1 } else { METHODS };
        let ran: usize = build.ran.keys().map(count).sum();
        let skipped: usize = build.skipped.iter().map(count).sum();
        assert_eq!(ran + skipped, TESTS * METHODS, "{build:?}\n{}", got.stderr);
        let proofs = got.events("decision").into_iter().filter_map(|line| {
            let name = line["name"].as_str()?.to_owned();
            (line["decision"] == "skip").then(|| (name, line["record"].as_u64().expect("a record")))
        });
        (ran, proofs.collect())
    }

    /// What every new record stands for.
    fn remember(&mut self) {
        let status = self.maven.tamis(&["--json", "status"]);
        for line in status.lines() {
            let name = line["test"].as_str().unwrap_or_default();
            let Some(record) = line["last"]["record"].as_u64() else { continue };
            if let Some((_, name)) = name.split_once("::")
                && !self.results.contains_key(&record)
            {
                self.results.insert(record, self.result("results", name));
            }
        }
    }

    /// What a test method wrote, or all of a test class.
    fn result(&self, folder: &str, test: &str) -> String {
        let start = format!("{test}{}", if test.contains('#') { '.' } else { '#' });
        let entries = fs::read_dir(self.maven.path(folder)).expect("results");
        let names = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.starts_with(&start)).collect();
        names.sort_unstable();
        assert!(!names.is_empty(), "{test} wrote nothing to {folder}");
        let read = |n: &String| fs::read_to_string(self.maven.path(folder).join(n)).expect("text");
        names.iter().map(|name| format!("{name}: {}\n", read(name))).collect()
    }

    /// Runs everything now.
    fn run_all(&self) {
        let names: Vec<String> = (0..TESTS).map(|n| format!("g.T{n}Test")).collect();
        self.maven.run_junit4("-Dout=truth", &names);
    }

    fn round(&mut self) {
        let (by_method, proofs) = self.build(&["--granularity", "method"]);
        self.remember();
        let (by_class, _) = self.build(&["--store", "../by-class"]);
        self.by_method += by_method;
        self.by_class += by_class;
        self.run_all();
        for (test, record) in &proofs {
            let did = self.results.get(record).unwrap_or_else(|| panic!("no record {record}"));
            assert_eq!(
                did,
                &self.result("truth", test),
                "seed {}: {test} was left out by record {record}, but its result differs\n\
                 --- test\n{}\n--- edits\n{}",
                self.project.seed,
                self.project.test_text(test.split('#').next().unwrap_or(test)),
                self.project.history.join("\n"),
            );
        }
    }
}

#[test]
fn no_test_method_is_left_out_whose_result_would_differ() {
    let needed = ["junit/junit/4.13.2", "org/apache/maven/plugins/maven-surefire-plugin/2.22.2"];
    if !has_artifacts(&needed) {
        return;
    }
    for_each_seed(0x3e7, rounds(4), 12, |seed, rounds| {
        let Some(maven) = Maven::empty(&jdk(), "methods") else { return };
        for folder in ["results", "truth"] {
            fs::create_dir_all(maven.path(folder)).expect("a folder");
        }
        let project = Project::new(seed, METHODS);
        let results = HashMap::new();
        let mut world = World { maven, project, results, by_method: 0, by_class: 0 };
        world.project.write(&world.maven);
        world.round();
        assert_eq!(world.by_method, TESTS * METHODS);
        for round in 0..rounds {
            world.project.edit(round);
            world.project.write(&world.maven);
            world.round();
        }
        eprintln!("{} methods ran by method, {} by class", world.by_method, world.by_class);
        assert!(world.by_method <= world.by_class, "{} {}", world.by_method, world.by_class);
        if rounds >= 4 {
            assert!(world.by_method < world.by_class, "{} {}", world.by_method, world.by_class);
        }
    });
}
