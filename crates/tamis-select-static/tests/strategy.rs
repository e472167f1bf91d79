//! The two calls of a runner: decide before, record after.

use std::collections::BTreeMap;
use std::path::PathBuf;
use tamis_classpath::Caches;
use tamis_select_static::strategy::{Recorded, decide, record};
use tamis_select_static::{EdgeKinds, Libraries, Reason, StaticSettings, TestDecision, TestModule};
use tamis_testkit::{Sources, jdk};

struct Project {
    _folder: tempfile::TempDir,
    classes: PathBuf,
    module: TestModule,
    settings: StaticSettings,
}

fn sources(value: u32) -> Sources {
    let annotation = "package org.junit; import java.lang.annotation.*; @Retention(RetentionPolicy.RUNTIME) public @interface Test {}";
    Sources::new()
        .file("org/junit/Test.java", annotation)
        .file("A.java", &format!("class A {{ int v() {{ return {value}; }} }}"))
        .file("ATest.java", "class ATest { @org.junit.Test public void t() { new A().v(); } }")
        .file("BTest.java", "class BTest { @org.junit.Test public void t() { } }")
        // The runner knows by other means that this one is a test.
        .file("Odd.java", "class Odd { A a; }")
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let classes = folder.path().join("project/target/test-classes");
        let project = Self {
            module: TestModule {
                name: ".".into(),
                test_classes: vec![classes.clone()],
                ..TestModule::default()
            },
            settings: StaticSettings {
                root: folder.path().join("project"),
                state: folder.path().join("state"),
                caches: Caches { folders: Some(folder.path().join("cache")), ..Caches::none() },
                kinds: EdgeKinds::ALL,
                libraries: Libraries::Auto,
                offline: false,
                watched: tamis_core::Hash(0),
            },
            classes,
            _folder: folder,
        };
        project.compile(1);
        project
    }

    fn compile(&self, value: u32) {
        let from = sources(value).compile(&jdk());
        for (name, bytes) in tamis_testkit::class_files(&from) {
            let to = self.classes.join(name);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::write(to, bytes).unwrap();
        }
    }

    fn decide(&self, tests: &[&str]) -> tamis_select_static::strategy::Decisions {
        let tests: Vec<String> = tests.iter().map(|t| (*t).to_owned()).collect();
        decide(&self.module, &tests, &self.settings, None)
    }

    /// Decides, and records that these finished.
    fn run(&self, tests: &[&str], finished: &[(&str, bool)]) -> Recorded {
        let state = self.decide(tests).state;
        let finished: BTreeMap<String, bool> =
            finished.iter().map(|(name, passed)| ((*name).to_owned(), *passed)).collect();
        record(&self.module, &self.settings, state, &finished, None).unwrap()
    }

    fn to_run(&self, tests: &[&str]) -> Vec<String> {
        let decisions = self.decide(tests).tests;
        decisions.into_iter().filter(|d| d.run.is_some()).map(|d| d.name).collect()
    }
}

const ALL: [&str; 3] = ["ATest", "BTest", "Odd"];

#[test]
fn only_tests_that_finished_are_proven() {
    let project = Project::new();
    assert_eq!(project.to_run(&ALL), ALL, "nothing is known yet");
    let outcome = project.run(&ALL, &[("ATest", true), ("BTest", false), ("Odd", true)]);
    assert_eq!(outcome, Recorded::Written);
    assert_eq!(project.to_run(&ALL), ["BTest"], "it failed");
    project.run(&ALL, &[("BTest", true)]);
    assert!(project.to_run(&ALL).is_empty());
    project.compile(2);
    assert_eq!(project.to_run(&ALL), ["ATest", "Odd"]);
    // Cut before the others finished.
    project.run(&ALL, &[("Odd", true)]);
    assert_eq!(project.to_run(&ALL), ["ATest"]);
    project.compile(1);
    assert_eq!(project.to_run(&ALL), ["Odd"], "ATest was proven in just this state");
}

#[test]
fn a_runner_that_asks_about_some_does_not_lose_the_others() {
    let project = Project::new();
    project.run(&ALL, &[("ATest", true), ("BTest", true), ("Odd", true)]);
    project.run(&["BTest"], &[("BTest", true)]);
    assert!(project.to_run(&ALL).is_empty());
}

#[test]
fn classes_that_change_during_the_run_prove_nothing() {
    let project = Project::new();
    let state = project.decide(&ALL).state;
    project.compile(2);
    let finished = BTreeMap::from([("ATest".to_owned(), true)]);
    let outcome = record(&project.module, &project.settings, state, &finished, None).unwrap();
    assert_eq!(outcome, Recorded::ClassesChanged);
    assert_eq!(project.to_run(&ALL), ALL);
}

#[test]
fn a_name_without_a_class_runs_and_answers_keep_their_order() {
    let project = Project::new();
    project.run(&ALL, &[("ATest", true), ("BTest", true)]);
    let decisions = project.decide(&["no.Such", "BTest", "ATest"]).tests;
    let names: Vec<&str> = decisions.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["no.Such", "BTest", "ATest"]);
    assert!(matches!(&decisions[0], TestDecision { run: Some(Reason::Unknown { .. }), .. }));
    assert!(decisions[1].run.is_none() && decisions[2].run.is_none());
}
