use super::*;
use crate::affected::{Change, Rules, affected};
use crate::files::Held;
use std::collections::BTreeSet;

const ANSWER: &str = "\
project\t:\t/r\t/r/build.gradle
tasks\t:\thelp
project\t:a\t/r/a\t/r/a/build.gradle
tasks\t:a\thelp test
sources\t:a\tmain\t/r/a/src/main/java
sources\t:a\ttest\t/r/a/src/test/java
project\t:a:inner\t/r/a/inner\t/r/a/inner/build.gradle
tasks\t:a:inner\thelp test
project\t:b\t/r/b\t/r/b/build.gradle
tasks\t:b\thelp test
uses\t:b\tcompile\t:a\t
uses\t:b\ttestCompile\t:a:inner\t
project\t:c\t/r/c\t/r/c/build.gradle
tasks\t:c\thelp test
uses\t:c\ttestImplementation\t:a\ttestArtifacts
project\t:far\t/elsewhere\t/elsewhere/build.gradle
end
";

fn files() -> Held {
    let names = ["settings.gradle", "build.gradle", "a/build.gradle", "buildSrc/src/X.groovy"];
    Held(names.iter().map(|n| ((*n).to_owned(), n.as_bytes().to_vec())).collect())
}

fn build() -> Graph {
    graph(ANSWER, &files(), Path::new("/r"), ".").unwrap()
}

fn affected_by(file: &str) -> Vec<String> {
    let graph = build();
    let (files, folders) = (BTreeSet::from([file.to_owned()]), BTreeSet::new());
    let change =
        Change { files: &files, folders: &folders, before: Err("none"), reader: &|_| None };
    let found = affected(&graph, &change, &Rules::default());
    found.modules.iter().map(|m| graph.modules[m.module].name.clone()).collect()
}

#[test]
fn projects_and_how_they_use_each_other() {
    let graph = build();
    let names: Vec<&str> = graph.modules.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, [":", ":a", ":a:inner", ":b", ":c", "buildSrc"]);
    assert_eq!(
        graph.described().into_iter().filter(|e| !e.contains("buildSrc")).collect::<Vec<_>>(),
        [
            ":a Parent :",
            ":a:inner Parent :a",
            ":b Parent :",
            ":b Uses :a",
            ":b UsesInTests :a:inner",
            ":c Parent :",
            ":c UsesTestsInTests :a",
        ]
    );
    assert_eq!(
        (&graph.modules[0].tasks[..], graph.modules[1].tasks.len()),
        (&["help".into()][..], 2)
    );
    assert!(graph.notes[0].contains("outside of the repository"), "{:?}", graph.notes);
}

#[test]
fn what_a_change_leads_to() {
    // The tests of `:a`, which `:c` uses, run the code of `:a`.
    assert_eq!(affected_by("a/src/main/java/A.java"), [":a", ":b", ":c"]);
    assert_eq!(affected_by("a/src/test/java/ATest.java"), [":a", ":c"]);
    assert_eq!(affected_by("a/inner/x"), [":a:inner", ":b"]);
    // Build scripts may say something about the projects below.
    assert_eq!(affected_by("a/build.gradle"), [":a", ":a:inner", ":b", ":c"]);
    let all = [":", ":a", ":a:inner", ":b", ":c"];
    for file in ["gradle/common.gradle", "buildSrc/src/X.groovy", "settings.gradle"] {
        let names = affected_by(file);
        assert!(all.iter().all(|name| names.contains(&(*name).to_owned())), "{file}: {names:?}");
    }
}

#[test]
fn the_fingerprint_sees_build_logic_and_nothing_else() {
    let print = |files: &Held| fingerprint(files, Path::new("/r"), ".", Path::new("gradle"));
    let before = print(&files());
    for (file, counts) in [
        ("a/build.gradle", true),
        ("buildSrc/src/X.groovy", true),
        ("new/build.gradle.kts", true),
        ("gradle/libs.versions.toml", true),
        ("services/new/README", true),
        ("a/src/main/java/A.java", true), // a new folder
        ("a/notes.txt", false),
        ("build/x.gradle", false),
    ] {
        let mut files = files();
        files.0.insert(file.to_owned(), b"changed".to_vec());
        assert_eq!(print(&files) != before, counts, "{file}");
    }
}

#[test]
fn the_root_of_a_build() {
    let files = files();
    assert_eq!(root_of(&files, "a/src").as_deref(), Some("settings.gradle"));
    assert_eq!(root_of(&files, ".").as_deref(), Some("settings.gradle"));
    assert_eq!(root_of(&Held::default(), "a"), None);
}

#[test]
fn an_answer_without_projects_is_none() {
    assert!(graph("end\n", &files(), Path::new("/r"), ".").is_err());
}

#[test]
fn without_gradle_that_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let why = ask(folder.path(), Path::new("/nowhere/gradle")).unwrap_err().to_string();
    assert!(why.contains("cannot be started") && why.contains("wrapper"), "{why}");
}
