//! The property above all, for test classes: **none is skipped whose result would differ**.
//!
//! A generated project is edited at random: bodies, fields, constants, overrides, supertypes, annotations,
//! resources, services, classes that come and go. After each `tamis mvn test` all test classes are run
//! outside of tamis and Maven, from the classes that Maven compiled. A test class that was skipped must
//! give the result of the run whose record proves the skip.
//!
//! `TAMIS_PROPERTY_ROUNDS` and `TAMIS_SEED` make it longer or repeat a run.

use crate::generated::{Project, TESTS};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use tamis_testkit::maven::{Maven, has_artifacts};
use tamis_testkit::{copy_tree, for_each_seed, jdk, rounds};

struct World {
    maven: Maven,
    project: Project,
    /// The result of the run behind each record.
    results: HashMap<u64, String>,
    ran: usize,
    skipped: usize,
}

impl World {
    /// Builds, and gives the skipped test classes with the records that prove it.
    fn build(&mut self) -> BTreeMap<String, u64> {
        let words = self.maven.words(&["test", "-Dmaven.test.failure.ignore=true"]);
        let mut all = vec!["--json", "--no-command-skip"];
        all.extend(words.iter().map(String::as_str));
        let got = self.maven.tamis(&all);
        let build = self.maven.read_call(&got);
        assert_eq!(got.code, 0, "seed {}: {}\n{}", self.project.seed, got.stderr, build.log);
        assert_eq!(build.ran.len() + build.skipped.len(), TESTS, "{}\n{}", got.stderr, build.log);
        let status = self.maven.tamis(&["--json", "status"]);
        for line in status.lines() {
            let name = line["test"].as_str().unwrap_or_default();
            let name = name.rsplit("::").next().unwrap_or_default();
            if let (true, Some(record)) =
                (build.ran.contains_key(name), line["last"]["record"].as_u64())
            {
                self.results.insert(record, self.result("results", name));
            }
        }
        self.ran += build.ran.len();
        let proofs = got.events("decision").into_iter().filter_map(|line| {
            let name = line["name"].as_str()?.to_owned();
            (line["decision"] == "skip").then(|| (name, line["record"].as_u64().expect("a record")))
        });
        let proofs: BTreeMap<String, u64> = proofs.collect();
        self.skipped += proofs.len();
        proofs
    }

    fn result(&self, folder: &str, test: &str) -> String {
        let file = self.maven.path(folder).join(format!("{test}.txt"));
        fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
    }

    /// What every test class gives if it is run now.
    fn truth(&self) -> BTreeMap<String, String> {
        let names: Vec<String> = (0..TESTS).map(|n| format!("g.T{n}Test")).collect();
        self.maven.run_junit4("-Dout=truth", &names);
        let truth = names.iter().map(|name| (name.clone(), self.result("truth", name)));
        truth.collect()
    }

    /// The property, for the state of now.
    fn round(&mut self) {
        let proofs = self.build();
        let truth = self.truth();
        for (test, record) in &proofs {
            let did = self.results.get(record).unwrap_or_else(|| panic!("no record {record}"));
            assert_eq!(
                did,
                &truth[test],
                "seed {}: {test} was skipped by record {record}, but its result differs\n\
                 --- test\n{}\n--- edits\n{}\n--- project {}",
                self.project.seed,
                self.project.test_text(test),
                self.project.history.join("\n"),
                self.keep().display()
            );
        }
    }

    /// A copy of the project that outlives the test, to look at what went wrong.
    fn keep(&self) -> std::path::PathBuf {
        let kept = std::env::temp_dir().join(format!("tamis-property-{}", self.project.seed));
        let _ = fs::remove_dir_all(&kept);
        copy_tree(&self.maven.path(""), &kept);
        kept
    }
}

#[test]
fn no_test_class_is_skipped_whose_result_would_differ() {
    let needed = ["junit/junit/4.13.2", "org/apache/maven/plugins/maven-surefire-plugin/2.22.2"];
    if !has_artifacts(&needed) {
        return;
    }
    for_each_seed(0x7a31, rounds(4), 12, |seed, rounds| {
        let Some(maven) = Maven::empty(&jdk(), "generated") else { return };
        let project = Project::new(seed, 1);
        let results = HashMap::new();
        let mut world = World { maven, project, results, ran: 0, skipped: 0 };
        world.project.write(&world.maven);
        world.round();
        for round in 0..rounds {
            world.project.edit(round);
            world.project.write(&world.maven);
            world.round();
        }
        eprintln!("{} ran, {} were skipped", world.ran, world.skipped);
    });
}
