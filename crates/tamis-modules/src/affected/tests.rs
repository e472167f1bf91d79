use super::*;
use crate::model::{BuildTool, Module};
use proptest::prelude::*;

fn graph(names: &[&str], edges: &[(&str, &str, EdgeKind)]) -> Graph {
    let mut graph = Graph::new(BuildTool::Maven);
    for name in names {
        let folder = if *name == "root" { ".".to_owned() } else { (*name).to_owned() };
        graph.modules.push(Module {
            name: (*name).to_owned(),
            test_folders: vec![crate::model::join(&folder, "src/test").unwrap()],
            definition: crate::model::join(&folder, "pom.xml").unwrap(),
            packaging: "jar".into(),
            folder,
            ..Module::default()
        });
    }
    for (from, to, kind) in edges {
        let (from, to) = (graph.find(from).unwrap(), graph.find(to).unwrap());
        graph.add_edge(from, to, *kind);
    }
    graph.definitions = graph.modules.iter().map(|m| m.definition.clone()).collect();
    graph
}

fn set(files: &[&str]) -> BTreeSet<String> {
    files.iter().map(|f| (*f).to_owned()).collect()
}

fn answer(graph: &Graph, before: Result<&Graph, &str>, files: &[&str], rules: &Rules) -> Affected {
    let (files, folders) = (set(files), BTreeSet::new());
    let change = Change { files: &files, folders: &folders, before, reader: &|_| None };
    affected(graph, &change, rules)
}

/// Affected modules, those of which only the tests are with a `?`.
fn names(graph: &Graph, affected: &Affected) -> Vec<String> {
    let name = |m: &AffectedModule| {
        let mark = if m.part == Part::Tests { "?" } else { "" };
        format!("{}{mark}", graph.modules[m.module].name)
    };
    affected.modules.iter().map(name).collect()
}

fn of(graph: &Graph, files: &[&str]) -> Vec<String> {
    names(graph, &answer(graph, Ok(graph), files, &Rules::default()))
}

#[test]
fn nothing_changed() {
    assert!(of(&graph(&["root", "a"], &[]), &[]).is_empty());
}

#[test]
fn a_change_travels_to_all_users() {
    let g = graph(
        &["root", "a", "b", "c", "d"],
        &[("b", "a", EdgeKind::Uses), ("c", "b", EdgeKind::Uses)],
    );
    assert_eq!(of(&g, &["a/src/main/java/A.java"]), ["a", "b", "c"]);
    assert_eq!(of(&g, &["c/x"]), ["c"]);
    assert_eq!(of(&g, &["d/x", "b/x"]), ["b", "c", "d"]);
}

#[test]
fn tests_of_a_module_concern_no_other_one() {
    let g = graph(&["a", "b"], &[("b", "a", EdgeKind::Uses)]);
    assert_eq!(of(&g, &["a/src/test/java/ATest.java"]), ["a?"]);
    assert_eq!(of(&g, &["a/src/test/x", "a/src/main/x"]), ["a", "b"]);
}

#[test]
fn tests_of_go_stand_beside_the_code() {
    let mut g = graph(&["a", "b"], &[("b", "a", EdgeKind::Uses)]);
    g.kind = BuildTool::Go;
    assert_eq!(of(&g, &["a/x_test.go"]), ["a?"]);
    assert_eq!(of(&g, &["a/x.go"]), ["a", "b"]);
}

#[test]
fn users_of_a_test_jar_notice_changed_tests() {
    let g = graph(
        &["a", "b", "c", "d", "e"],
        &[
            ("b", "a", EdgeKind::UsesTestsInTests),
            ("c", "b", EdgeKind::Uses),
            ("d", "a", EdgeKind::UsesTests),
            ("e", "d", EdgeKind::Uses),
        ],
    );
    assert_eq!(of(&g, &["a/src/test/T.java"]), ["a?", "b?", "d", "e"]);
    // And so on along test jars.
    let g = graph(
        &["a", "b", "c"],
        &[("b", "a", EdgeKind::UsesTestsInTests), ("c", "b", EdgeKind::UsesTestsInTests)],
    );
    assert_eq!(of(&g, &["a/src/test/T.java"]), ["a?", "b?", "c?"]);
}

#[test]
fn use_in_tests_goes_no_further() {
    let g =
        graph(&["a", "b", "c"], &[("b", "a", EdgeKind::UsesInTests), ("c", "b", EdgeKind::Uses)]);
    assert_eq!(of(&g, &["a/x"]), ["a", "b?"]);
}

#[test]
fn two_ways_to_a_module_give_the_wider_part() {
    let g = graph(
        &["a", "b", "c", "d"],
        &[
            ("b", "a", EdgeKind::UsesInTests),
            ("c", "a", EdgeKind::Uses),
            ("b", "c", EdgeKind::Uses),
            ("d", "b", EdgeKind::Uses),
        ],
    );
    assert_eq!(of(&g, &["a/x"]), ["a", "b", "c", "d"]);
}

#[test]
fn plugins_concern_those_who_build_with_them() {
    let g =
        graph(&["p", "a", "b"], &[("a", "p", EdgeKind::BuildsWith), ("b", "a", EdgeKind::Uses)]);
    assert_eq!(of(&g, &["p/src/main/x"]), ["p", "a", "b"]);
}

#[test]
fn files_beside_a_parent_concern_all_who_inherit() {
    let g = graph(
        &["root", "a", "a/b", "c"],
        &[("a", "root", EdgeKind::Parent), ("a/b", "a", EdgeKind::Parent)],
    );
    assert_eq!(of(&g, &["settings.json"]), ["root", "a", "a/b"]);
    assert_eq!(of(&g, &["a/settings.json"]), ["a", "a/b"]);
    // A versions list has nothing but its definition.
    let g = graph(&["bom", "a"], &[("a", "bom", EdgeKind::Imports)]);
    assert_eq!(of(&g, &["bom/x"]), ["bom"]);
}

#[test]
fn a_cycle_ends() {
    let g = graph(&["a", "b"], &[("b", "a", EdgeKind::Uses), ("a", "b", EdgeKind::UsesInTests)]);
    assert_eq!(of(&g, &["a/x"]), ["a", "b"]);
}

#[test]
fn a_file_of_no_module_concerns_them_all() {
    let g = graph(&["a", "b"], &[]);
    let got = answer(&g, Ok(&g), &["scripts/run.sh"], &Rules::default());
    assert_eq!(names(&g, &got), ["a", "b"]);
    assert!(got.modules[0].reasons[0].to_string().contains("belongs to no module"));
}

#[test]
fn global_files_and_repositories_inside() {
    let mut g = graph(&["root", "a", "lib", "lib/x"], &[]);
    g.global.insert(".mvn/jvm.config".into());
    assert_eq!(of(&g, &[".mvn/jvm.config"]), ["root", "a", "lib", "lib/x"]);
    let folder = |folder: &str| {
        let (files, folders) = (BTreeSet::new(), set(&[folder]));
        let change = Change { files: &files, folders: &folders, before: Ok(&g), reader: &|_| None };
        names(&g, &affected(&g, &change, &Rules::default()))
    };
    assert_eq!(folder("lib"), ["lib", "lib/x"]);
    assert_eq!(folder("a/vendor"), ["a"]);
}

fn resolved(mut graph: Graph, name: &str, key: &str, value: &str) -> Graph {
    let n = graph.find(name).unwrap();
    graph.modules[n].resolution.insert(key.into(), value.into());
    graph
}

#[test]
fn a_definition_counts_by_what_it_comes_to() {
    let g = graph(
        &["root", "a", "b", "c"],
        &[("b", "a", EdgeKind::Uses), ("a", "root", EdgeKind::Parent)],
    );
    assert!(of(&g, &["pom.xml", "a/pom.xml"]).is_empty(), "comments, formatting, own version");
    let before = resolved(g.clone(), "a", "dependency x:y", "1.0 (compile)");
    let after = resolved(g.clone(), "a", "dependency x:y", "1.1 (compile)");
    let got = answer(&after, Ok(&before), &["pom.xml"], &Rules::default());
    assert_eq!(names(&after, &got), ["a", "b"]);
    let text = got.modules[0].reasons[0].to_string();
    assert_eq!(text, "dependency x:y is 1.1 (compile), was 1.0 (compile)");
    let got = answer(&g, Ok(&before), &["pom.xml"], &Rules::default());
    assert_eq!(got.modules[0].reasons[0].to_string(), "dependency x:y is gone");
    let got = answer(&before, Ok(&g), &["pom.xml"], &Rules::default());
    assert_eq!(got.modules[0].reasons[0].to_string(), "dependency x:y is new (1.0 (compile))");
}

#[test]
fn what_only_tests_are_given_concerns_only_tests() {
    let g = graph(&["a", "b"], &[("b", "a", EdgeKind::Uses)]);
    let change = |key: &str, was: &str, is: &str| {
        let (before, after) =
            (resolved(g.clone(), "a", key, was), resolved(g.clone(), "a", key, is));
        names(&after, &answer(&after, Ok(&before), &["a/pom.xml"], &Rules::default()))
    };
    assert_eq!(change("dependency junit:junit", "4.12 (test)", "4.13 (test)"), ["a?"]);
    assert_eq!(change("dependency x:y", "1 (test)", "1 (compile)"), ["a", "b"]);
    let surefire = "plugin org.apache.maven.plugins:maven-surefire-plugin configuration/argLine";
    assert_eq!(change(surefire, "-Da", "-Db"), ["a?"]);
    assert_eq!(change("property x", "1", "2"), ["a", "b"]);
}

#[test]
fn what_was_cannot_be_read() {
    let mut g = graph(&["a", "b"], &[]);
    let got = answer(&g, Err("too little history"), &["a/pom.xml"], &Rules::default());
    assert_eq!(names(&g, &got), ["a", "b"]);
    assert!(got.modules[1].reasons[0].to_string().contains("too little history"));
    // Without a changed definition nothing of before is needed.
    assert_eq!(names(&g, &answer(&g, Err("x"), &["b/x"], &Rules::default())), ["b"]);
    g.modules[1].unknown = Some("its parent is not here".into());
    assert_eq!(of(&g, &["a/pom.xml"]), ["b"]);
}

#[test]
fn new_and_removed_modules() {
    let before = graph(&["root", "a", "old"], &[("a", "root", EdgeKind::Parent)]);
    let now = graph(&["root", "a", "new"], &[("a", "root", EdgeKind::Parent)]);
    let files = ["pom.xml", "new/pom.xml", "new/x", "old/pom.xml", "old/x"];
    let got = answer(&now, Ok(&before), &files, &Rules::default());
    assert_eq!(names(&now, &got), ["root?", "new"]);
    assert_eq!(got.modules[0].reasons[0].to_string(), "old was removed");
}

#[test]
fn excluded_files_are_named_and_those_that_tests_read_are_not_excluded() {
    let g = graph(&["root", "a"], &[]);
    let rules = Rules { exclusions: Exclusions::new(true, &[], &[]).unwrap(), ..Rules::default() };
    let files = set(&["a/README.md", "a/words.txt"]);
    let reader = |file: &str| (file == "a/words.txt").then(|| "WordTest".to_owned());
    let folders = BTreeSet::new();
    let change = Change { files: &files, folders: &folders, before: Ok(&g), reader: &reader };
    let got = affected(&g, &change, &rules);
    assert_eq!(names(&g, &got), ["a"]);
    assert_eq!(got.excluded.len(), 1);
    assert_eq!(got.excluded[0].file, "a/README.md");
    assert_eq!(got.read_by_tests, [("a/words.txt".to_owned(), "WordTest".to_owned())]);
}

#[test]
fn forced_modules_run_and_no_other_one_does() {
    let g = graph(&["a", "b", "c"], &[("c", "b", EdgeKind::Uses), ("c", "b", EdgeKind::UsesTests)]);
    let force = |when: Option<&str>, modules: &[&str]| Rules {
        force: vec![Force {
            when: when.map(str::to_owned),
            modules: modules.iter().map(|m| (*m).to_owned()).collect(),
        }],
        ..Rules::default()
    };
    assert_eq!(names(&g, &answer(&g, Ok(&g), &[], &force(None, &["b"]))), ["b?"]);
    let when = force(Some("a"), &["b"]);
    assert!(answer(&g, Ok(&g), &["c/x"], &when).modules.iter().all(|m| m.module == 2));
    let got = answer(&g, Ok(&g), &["a/x"], &when);
    assert_eq!(names(&g, &got), ["a", "b?"]);
    assert_eq!(got.modules[1].reasons[0].to_string(), "forced by a change of a");
    assert_eq!(names(&g, &answer(&g, Ok(&g), &[], &force(None, &["*"]))), ["a?", "b?", "c?"]);
}

#[test]
fn names_of_modules() {
    let mut g = graph(&["core"], &[]);
    g.modules[0].name = "org.x:core".into();
    g.modules[0].folder = "libs/core".into();
    for name in ["org.x:core", "core", "libs/core", "co*", "libs/*", "*:core"] {
        assert!(is_called(&g, 0, name), "{name}");
    }
    for name in ["cor", "libs", "x:core", "["] {
        assert!(!is_called(&g, 0, name), "{name}");
    }
}

#[test]
fn how_far_and_what_is_left_out() {
    let mut g = graph(&["a", "b", "c"], &[("b", "a", EdgeKind::Uses), ("c", "a", EdgeKind::Uses)]);
    let rules = Rules { travel: Travel::Nowhere, ..Rules::default() };
    assert_eq!(names(&g, &answer(&g, Ok(&g), &["a/x"], &rules)), ["a"]);
    g.modules[1].packaging = "war".into();
    let rules = Rules { leave_out: vec!["war".into()], ..Rules::default() };
    assert_eq!(names(&g, &answer(&g, Ok(&g), &["a/x"], &rules)), ["a", "c"]);
    assert_eq!(names(&g, &answer(&g, Ok(&g), &["b/x"], &rules)), ["b"], "it changed itself");
    let rules = Rules { everything_if: vec!["ci/**".into()], ..Rules::default() };
    assert_eq!(names(&g, &answer(&g, Ok(&g), &["ci/x"], &rules)), ["a", "b", "c"]);
}

proptest! {
    /// More changed files never affect fewer modules.
    #[test]
    fn monotone(
        edges in proptest::collection::vec((0usize..6, 0usize..6, 0usize..6), 0..14),
        files in proptest::collection::vec((0usize..6, any::<bool>()), 1..6),
    ) {
        let all = ["a", "b", "c", "d", "e", "f"];
        let kinds = [
            EdgeKind::Parent,
            EdgeKind::Uses,
            EdgeKind::UsesInTests,
            EdgeKind::UsesTests,
            EdgeKind::UsesTestsInTests,
            EdgeKind::BuildsWith,
        ];
        let edges: Vec<_> = edges.iter().map(|&(f, t, k)| (all[f], all[t], kinds[k])).collect();
        let g = graph(&all, &edges);
        let paths: Vec<String> = files
            .iter()
            .map(|(n, test)| format!("{}/src/{}/x", all[*n], if *test { "test" } else { "main" }))
            .collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let whole = answer(&g, Ok(&g), &paths, &Rules::default());
        for n in 0..paths.len() {
            let one = answer(&g, Ok(&g), &paths[n..=n], &Rules::default());
            for module in &one.modules {
                let same = whole.modules.iter().find(|m| m.module == module.module);
                prop_assert!(same.is_some_and(|m| m.part >= module.part));
            }
        }
        // Every affected module that did not change itself leads to one that did.
        for module in &whole.modules {
            let through = module.reasons.iter().any(|r| matches!(r, Reason::Uses { .. }));
            prop_assert!(module.changed || through);
        }
    }
}
