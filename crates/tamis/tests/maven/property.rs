//! The property above all, for test classes: **none is skipped whose result would differ**.
//!
//! A generated project is edited at random: bodies, fields, constants, overrides, supertypes, annotations,
//! resources, services, classes that come and go. After each `tamis mvn test` all test classes are run
//! outside of tamis and Maven, from the classes that Maven compiled. A test class that was skipped must
//! give the result of the run whose record proves the skip.
//!
//! `TAMIS_PROPERTY_ROUNDS` and `TAMIS_PROPERTY_SEED` make it longer or repeat a run.

use crate::ended::ended;
use crate::generated::{Project, TESTS};
use crate::harness::{Maven, repository};
use std::collections::{BTreeMap, HashMap};
use std::fs;

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
        let build = self.maven.read(&got);
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
        let jars = [
            "junit/junit/4.13.2/junit-4.13.2.jar",
            "org/hamcrest/hamcrest-core/1.3/hamcrest-core-1.3.jar",
        ];
        let mut class_path = vec!["target/test-classes".into(), "target/classes".into()];
        class_path.extend(jars.map(|jar| repository().join(jar)));
        let names: Vec<String> = (0..TESTS).map(|n| format!("g.T{n}Test")).collect();
        let mut command = self.maven.command(self.maven.java());
        command.arg("-Dout=truth").arg("-XX:TieredStopAtLevel=1").arg("-cp");
        command.arg(std::env::join_paths(class_path).expect("a class path"));
        let got = ended(command.arg("org.junit.runner.JUnitCore").args(&names));
        assert!(got.code <= 1, "{got:?}");
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
        crate::tools::copy_tree(&self.maven.path(""), &kept);
        kept
    }
}

pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_test_class_is_skipped_whose_result_would_differ() {
    const ROUNDS_PER_PROJECT: u64 = 12;
    let rounds = number("TAMIS_PROPERTY_ROUNDS").unwrap_or(4);
    let mut seed = number("TAMIS_PROPERTY_SEED").unwrap_or(0x7a31);
    let needed = ["junit/junit/4.13.2", "org/apache/maven/plugins/maven-surefire-plugin/2.22.2"];
    if !needed.iter().all(|artifact| repository().join(artifact).is_dir()) {
        eprintln!("not tried: Maven's repository lacks artifacts; scripts/test fetches them");
        return;
    }
    let mut left = rounds;
    while left > 0 {
        eprintln!("TAMIS_PROPERTY_SEED={seed}");
        let Some(maven) = Maven::empty(&tamis_testjava::jdk(), "generated") else { return };
        let project = Project::new(seed, 1);
        let results = HashMap::new();
        let mut world = World { maven, project, results, ran: 0, skipped: 0 };
        world.project.write(&world.maven);
        world.round();
        for round in 0..left.min(ROUNDS_PER_PROJECT) {
            world.project.edit(round);
            world.project.write(&world.maven);
            world.round();
        }
        eprintln!("{} ran, {} were skipped", world.ran, world.skipped);
        left = left.saturating_sub(ROUNDS_PER_PROJECT);
        seed += 1;
    }
}
