//! One state for all who decide by class files: runs of a build, which know how tests are run, and `tamis static`,
//! which knows at most what the build declares. First of all: attempts to make one of them skip wrongly because of
//! what the other wrote down.

#[allow(dead_code, reason = "not every file uses all of it")]
mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;
use support::{frameworks, settings};
use tamis_core::Hash;
use tamis_select_static::strategy::{self, Recorded};
use tamis_select_static::{
    Configuration, Reason, Session, StaticSettings, TestDecision, TestModule,
};
use tamis_testkit::jdk;

struct Project {
    classes: PathBuf,
    settings: StaticSettings,
    _folder: tempfile::TempDir,
}

const TESTS: [&str; 2] = ["ATest", "BTest"];

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Self {
            classes: folder.path().join("project/target/test-classes"),
            settings: settings(folder.path()),
            _folder: folder,
        };
        project.compile(1);
        project
    }

    fn compile(&self, value: u32) {
        let from = frameworks()
            .file("A.java", &format!("class A {{ int v() {{ return {value}; }} }}"))
            .file("ATest.java", "class ATest { @org.junit.Test public void t() { new A().v(); } }")
            .file("BTest.java", "class BTest { @org.junit.Test public void t() { } }")
            .compile(&jdk());
        for (name, bytes) in tamis_testkit::class_files(&from) {
            let to = self.classes.join(name);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::write(to, bytes).unwrap();
        }
    }

    fn module(&self, name: &str, configuration: Configuration) -> TestModule {
        let test_classes = vec![self.classes.clone()];
        TestModule {
            name: name.into(),
            key: TestModule::key_of(&self.settings.root, &test_classes),
            test_classes,
            configuration,
            ..TestModule::default()
        }
    }

    fn run(&self, execution: &str, seen: u128, declared: Option<u128>) -> TestModule {
        let execution = execution.to_owned();
        let (seen, declared) = (Some(Hash(seen)), declared.map(Hash));
        self.module("a run of the build", Configuration { execution, seen, declared })
    }

    /// As `tamis static` sees it.
    fn look(&self, declared: Option<u128>) -> TestModule {
        let declared = declared.map(Hash);
        self.module(".", Configuration { declared, ..Configuration::default() })
    }

    fn decide(&self, module: &TestModule) -> Vec<TestDecision> {
        let tests = TESTS.map(str::to_owned);
        strategy::decide(module, &tests, &self.settings, None).tests
    }

    fn selected(&self, module: &TestModule) -> Vec<String> {
        support::selected(&self.decide(module))
    }

    /// Runs what is selected; these do not pass.
    fn test(&self, module: &TestModule, failing: &[&str]) {
        let decided = strategy::decide(module, &TESTS.map(str::to_owned), &self.settings, None);
        let selected = support::selected(&decided.tests);
        let finished =
            selected.iter().map(|t| (t.clone(), !failing.contains(&t.as_str()))).collect();
        let outcome = strategy::record(module, &self.settings, decided.state, &finished, None);
        assert_eq!(outcome.unwrap(), Recorded::Written);
    }

    /// `tamis static record` with these.
    fn record(&self, module: &TestModule, finished: &[(&str, bool)]) {
        let finished: BTreeMap<String, bool> =
            finished.iter().map(|(test, passed)| ((*test).to_owned(), *passed)).collect();
        let mut session = Session::open(module, &self.settings);
        let decisions = session.select();
        assert!(session.record(&decisions, &finished).unwrap());
    }
}

#[test]
fn after_a_run_of_the_build_looking_at_it_knows_the_run() {
    let project = Project::new();
    let run = project.run("test", 1, Some(7));
    project.test(&run, &[]);
    assert!(project.selected(&project.look(Some(7))).is_empty());
    project.compile(2);
    assert_eq!(project.selected(&project.look(Some(7))), ["ATest"]);
    assert_eq!(project.selected(&run), ["ATest"]);
    project.test(&run, &["ATest"]);
    assert_eq!(project.selected(&project.look(Some(7))), ["ATest"], "it failed");
}

#[test]
fn a_run_does_not_believe_what_was_recorded_without_its_configuration() {
    let project = Project::new();
    project.record(&project.look(Some(7)), &[("ATest", true), ("BTest", true)]);
    assert!(project.selected(&project.look(Some(7))).is_empty());
    let run = project.run("test", 1, Some(7));
    assert_eq!(project.selected(&run), TESTS);
    assert_eq!(project.decide(&run)[0].run, Some(Reason::Configuration));
    project.test(&run, &[]);
    assert!(project.selected(&run).is_empty());
    assert!(project.selected(&project.look(Some(7))).is_empty());
}

#[test]
fn another_configuration_is_another_run() {
    let project = Project::new();
    project.test(&project.run("test", 1, Some(7)), &[]);
    assert_eq!(project.selected(&project.run("test", 2, Some(7))), TESTS);
    assert_eq!(project.selected(&project.look(Some(8))), TESTS, "the poms changed");
    assert_eq!(project.selected(&project.look(None)), TESTS, "nothing is known of the build");
}

#[test]
fn a_run_whose_declaration_is_not_known_proves_nothing_to_others() {
    let project = Project::new();
    let run = project.run("test", 1, None);
    project.test(&run, &[]);
    assert!(project.selected(&run).is_empty());
    assert_eq!(project.selected(&project.look(None)), TESTS);
    assert_eq!(project.selected(&project.look(Some(7))), TESTS);
}

#[test]
fn what_was_recorded_by_hand_holds_for_the_same_declaration_only() {
    let project = Project::new();
    project.record(&project.look(Some(7)), &[("ATest", true), ("BTest", true)]);
    assert!(project.selected(&project.look(Some(7))).is_empty());
    assert_eq!(project.selected(&project.look(Some(8))), TESTS);
    assert_eq!(project.selected(&project.look(None)), TESTS);
}

#[test]
fn carrying_a_proof_along_does_not_make_it_one_of_another_configuration() {
    let project = Project::new();
    project.test(&project.run("test", 1, Some(7)), &[]);
    project.compile(2);
    // BTest is not reached, and its proof moves on; ATest finished by hand.
    project.record(&project.look(Some(7)), &[("ATest", true)]);
    assert!(project.selected(&project.look(Some(7))).is_empty());
    assert_eq!(project.selected(&project.run("test", 2, Some(7))), TESTS);
    assert_eq!(project.selected(&project.run("test", 1, Some(7))), ["ATest"]);
}

#[test]
fn a_test_of_two_runs_must_be_proven_in_both() {
    let project = Project::new();
    let (first, second) = (project.run("test", 1, Some(7)), project.run("late", 2, Some(7)));
    project.test(&first, &["BTest"]);
    project.test(&second, &[]);
    assert_eq!(project.selected(&project.look(Some(7))), ["BTest"], "it fails in the first");
    assert_eq!(project.selected(&first), ["BTest"]);
    assert!(project.selected(&second).is_empty(), "each has its own proof");
    project.test(&first, &[]);
    assert!(project.selected(&project.look(Some(7))).is_empty());
    project.compile(2);
    project.test(&second, &[]);
    assert_eq!(project.selected(&project.look(Some(7))), ["ATest"], "the first did not run it");
}

#[test]
fn a_failure_recorded_by_hand_is_not_overlooked_by_a_run() {
    let project = Project::new();
    let run = project.run("test", 1, Some(7));
    project.test(&run, &[]);
    project.record(&project.look(Some(7)), &[("BTest", false)]);
    assert_eq!(project.selected(&run), ["BTest"]);
    assert_eq!(project.selected(&project.look(Some(7))), ["BTest"]);
    project.test(&run, &[]);
    assert!(project.selected(&run).is_empty());
    assert!(project.selected(&project.look(Some(7))).is_empty());
}

#[test]
fn other_test_classes_are_another_module() {
    let project = Project::new();
    let root = &project.settings.root;
    let key = |folder: &str| TestModule::key_of(root, &[root.join(folder)]);
    assert_eq!(key("a/target/test-classes"), "a/target/test-classes");
    assert_ne!(key("a/target/test-classes"), key("b/target/test-classes"));
}
