//! Selection at method level, through the state: figure 1 of the study of static selection at both levels,
//! changes by class and by method, and what leads to "run it" because it is not known.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use support::settings;
use tamis_callgraph::{Algorithm, Changes};
use tamis_select_static::strategy::{self, Recorded};
use tamis_select_static::{MethodLevel, Reason, Session, TestDecision, TestModule, method_level};
use tamis_testkit::{Sources, jdk};

const TESTS: [(&str, &str); 3] = [
    (
        "T1.java",
        "public class T1 { @org.junit.Test public void t1() { lib.L l = new lib.L(); l.m1(); } }",
    ),
    (
        "T2.java",
        "public class T2 { @org.junit.Test public void t2() { lib.L l = new C1(); l.m1(); } }",
    ),
    (
        "T3.java",
        "public class T3 { @org.junit.Test public void t3() { C1 c = new C1(); c.m2(); } }",
    ),
];

const LIBRARY: &str =
    "package lib; public class L { public void m1() { } public void other() { } }";

/// A project whose classes are copied into it revision by revision.
struct Project {
    folder: tempfile::TempDir,
    library: PathBuf,
}

impl Project {
    fn new() -> Self {
        let library = support::frameworks().file("lib/L.java", LIBRARY).compile(&jdk());
        Self { folder: tempfile::tempdir().unwrap(), library }
    }

    fn compile(&self, c1: &str, c2: &str) {
        let main = Sources::new()
            .file("C1.java", c1)
            .file("C2.java", c2)
            .classpath(&self.library)
            .compile(&jdk());
        let tests = TESTS
            .iter()
            .fold(Sources::new(), |all, (name, text)| all.file(name, text))
            .classpath(&self.library)
            .classpath(&main)
            .compile(&jdk());
        self.put("classes", &main);
        self.put("tests", &tests);
    }

    fn put(&self, name: &str, classes: &Path) {
        let to = self.folder.path().join("project").join(name);
        std::fs::remove_dir_all(&to).ok();
        std::fs::create_dir_all(&to).unwrap();
        for (path, bytes) in tamis_testkit::class_files(classes) {
            std::fs::write(to.join(path), bytes).unwrap();
        }
    }

    fn module(&self) -> TestModule {
        let project = self.folder.path().join("project");
        TestModule {
            // A folder is of the project, as sources of another module would be.
            classpath: vec![self.library.clone()],
            ..support::module(&project.join("tests"), &[&project.join("classes")])
        }
    }

    fn session(&self) -> Session {
        Session::open(&self.module(), &settings(self.folder.path()))
    }

    /// All tests ran and passed.
    fn all_passed(&self) {
        let mut session = self.session();
        let finished: BTreeMap<String, bool> =
            session.test_names().into_iter().map(|name| (name, true)).collect();
        assert_eq!(finished.len(), 3);
        assert!(session.record_finished(&finished).unwrap());
        assert!(method_level::keep(&session, &self.module()).unwrap());
    }

    fn decisions(&self, level: &MethodLevel) -> Vec<TestDecision> {
        method_level::select(&mut self.session(), &self.module(), level)
    }

    fn selected(&self, level: &MethodLevel) -> Vec<String> {
        support::selected(&self.decisions(level))
    }
}

const C1: &str =
    "public class C1 extends lib.L { public void m1() { C2.m3(); } public void m2() { } }";
const C2: &str = "class C2 { static void m3() { } static void m4() { } }";
const C2_CHANGED: &str = "class C2 { static void m3() { m4(); } static void m4() { } }";

fn level(algorithm: Algorithm) -> MethodLevel {
    MethodLevel { algorithm, ..MethodLevel::default() }
}

#[test]
fn figure_1_at_both_levels() {
    let project = Project::new();
    project.compile(C1, C2);
    project.all_passed();
    assert!(project.selected(&level(Algorithm::Cha)).is_empty(), "nothing changed");
    project.compile(C1, C2_CHANGED);
    assert_eq!(project.selected(&level(Algorithm::Cha)), ["T1", "T2"]);
    assert_eq!(project.selected(&level(Algorithm::Rta)), ["T1", "T2"]);
    assert_eq!(project.selected(&level(Algorithm::ZeroCfa)), ["T2"]);
    assert_eq!(project.selected(&level(Algorithm::ZeroOneCfa)), ["T2"]);
    // Selecting wrote nothing: at class level the same proofs still count.
    assert_eq!(support::selected(&project.session().select()), ["T2", "T3"]);
}

#[test]
fn the_reason_is_a_way_through_methods() {
    let project = Project::new();
    project.compile(C1, C2);
    project.all_passed();
    project.compile(C1, C2_CHANGED);
    let decisions = project.decisions(&level(Algorithm::ZeroCfa));
    let Some(Reason::Reaches { path, change }) = &decisions[1].run else { panic!("{decisions:?}") };
    let names: Vec<&str> = path.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["T2#t2()V", "C1#m1()V", "C2#m3()V"]);
    assert!(change.to_string().contains("m3"), "{change}");
}

#[test]
fn changes_by_method_select_less() {
    let project = Project::new();
    project.compile(C1, C2);
    project.all_passed();
    // m2 alone: only T3 calls it. By class, everybody who makes a C1 is selected.
    let c1 = "public class C1 extends lib.L { public void m1() { C2.m3(); } public void m2() { other(); } }";
    project.compile(c1, C2);
    let by_class = level(Algorithm::ZeroCfa);
    let by_method = MethodLevel { changes: Changes::Method, ..by_class };
    assert_eq!(project.selected(&by_class), ["T2", "T3"]);
    assert_eq!(project.selected(&by_method), ["T3"]);
}

#[test]
fn a_removed_override_selects_who_ran_it() {
    let project = Project::new();
    project.compile(C1, C2);
    project.all_passed();
    project.compile("public class C1 extends lib.L { public void m2() { } }", C2);
    let by_method = MethodLevel { changes: Changes::Method, ..level(Algorithm::ZeroCfa) };
    assert_eq!(project.selected(&by_method), ["T2"]);
}

#[test]
fn an_added_override_selects_who_ran_the_inherited_method() {
    let project = Project::new();
    project.compile("public class C1 extends lib.L { public void m2() { } }", C2);
    project.all_passed();
    project.compile(C1, C2);
    let by_method = MethodLevel { changes: Changes::Method, ..level(Algorithm::ZeroCfa) };
    // T1 runs the inherited method too, on another object; the old graph has it once.
    assert_eq!(project.selected(&by_method), ["T1", "T2"]);
}

#[test]
fn without_kept_classes_everything_runs() {
    let project = Project::new();
    project.compile(C1, C2);
    let mut session = project.session();
    let finished = session.test_names().into_iter().map(|name| (name, true)).collect();
    assert!(session.record_finished(&finished).unwrap());
    project.compile(C1, C2_CHANGED);
    let decisions = project.decisions(&MethodLevel::default());
    assert_eq!(support::selected(&decisions), ["T1", "T2", "T3"]);
    assert!(matches!(&decisions[0].run, Some(Reason::Unknown { why }) if why.contains("kept")));
}

#[test]
fn proofs_that_the_class_level_carried_on_have_no_kept_classes() {
    let project = Project::new();
    project.compile(C1, C2);
    project.all_passed();
    project.compile(C1, C2_CHANGED);
    let mut session = project.session();
    let decisions = session.select();
    support::pass_all(&mut session, &decisions);
    project.compile(C1, C2);
    assert_eq!(project.selected(&MethodLevel::default()), ["T1", "T2", "T3"]);
}

#[test]
fn a_damaged_copy_of_the_classes_proves_nothing() {
    let project = Project::new();
    project.compile(C1, C2);
    project.all_passed();
    let folder = project.session().state_folder().to_path_buf();
    let mut damaged = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("classes-") {
            let mut bytes = std::fs::read(entry.path()).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(entry.path(), bytes).unwrap();
            damaged += 1;
        }
    }
    assert_eq!(damaged, 1);
    project.compile(C1, C2_CHANGED);
    assert_eq!(project.selected(&MethodLevel::default()), ["T1", "T2", "T3"]);
}

#[test]
fn a_test_that_changed_itself_runs() {
    let project = Project::new();
    project.compile(C1, C2);
    project.all_passed();
    let test = "public class T3 { @org.junit.Test public void t3() { C1 c = new C1(); c.m2(); }
                  @org.junit.Test public void another() { } }";
    let main = project.folder.path().join("project/classes");
    let tests = Sources::new().file("T3.java", test).classpath(&project.library).classpath(&main);
    let compiled = tests.compile(&jdk());
    let to = project.folder.path().join("project/tests/T3.class");
    std::fs::copy(compiled.join("T3.class"), to).unwrap();
    let by_method = MethodLevel { changes: Changes::Method, ..MethodLevel::default() };
    assert_eq!(project.selected(&by_method), ["T3"]);
}

#[test]
fn impacted_methods() {
    let project = Project::new();
    project.compile(C1, C2);
    let level = level(Algorithm::ZeroCfa);
    assert!(method_level::impacted(&mut project.session(), &project.module(), &level).is_none());
    project.all_passed();
    project.compile(C1, C2_CHANGED);
    let by_method = MethodLevel { changes: Changes::Method, ..level };
    let found =
        method_level::impacted(&mut project.session(), &project.module(), &by_method).unwrap();
    assert_eq!(found, ["C1#m1()V", "C2#m3()V", "T2#t2()V"]);
}

#[test]
fn a_runner_decides_and_records_at_method_level() {
    let project = Project::new();
    project.compile(C1, C2);
    let (module, settings) = (project.module(), settings(project.folder.path()));
    let tests: Vec<String> = ["T1", "T2", "T3"].map(str::to_owned).to_vec();
    let level = MethodLevel::default();
    let first = strategy::decide(&module, &tests, &settings, Some(&level));
    assert!(first.tests.iter().all(|t| t.run == Some(Reason::New)));
    let finished = tests.iter().map(|t| (t.clone(), true)).collect();
    let recorded = strategy::record(&module, &settings, first.state, &finished, Some(&level));
    assert_eq!(recorded.unwrap(), Recorded::Written);
    project.compile(C1, C2_CHANGED);
    let second = strategy::decide(&module, &tests, &settings, Some(&level));
    assert_eq!(support::selected(&second.tests), ["T2"]);
    // Only T2 ran; the others are still judged against the first revision.
    let finished = BTreeMap::from([("T2".to_owned(), true)]);
    let recorded = strategy::record(&module, &settings, second.state, &finished, Some(&level));
    assert_eq!(recorded.unwrap(), Recorded::Written);
    project.compile("public class C1 extends lib.L { public void m2() { } }", C2_CHANGED);
    let third = strategy::decide(&module, &tests, &settings, Some(&level));
    assert_eq!(support::selected(&third.tests), ["T2", "T3"]);
}
