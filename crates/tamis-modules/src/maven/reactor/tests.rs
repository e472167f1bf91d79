use super::*;
use crate::affected::{Affected, Change, Rules, affected};
use crate::files::Held;
use crate::model::Part;
use std::collections::BTreeSet;

/// Poms by their path, with a repository of its own.
struct Build {
    files: Held,
    around: Surroundings,
    _repository: tempfile::TempDir,
}

impl Build {
    fn new(poms: &[(&str, &str)]) -> Self {
        let repository = tempfile::tempdir().unwrap();
        let around =
            Surroundings { repository: repository.path().to_path_buf(), ..Surroundings::default() };
        let files = poms.iter().map(|(path, pom)| ((*path).to_owned(), pom.as_bytes().to_vec()));
        Self { files: Held(files.collect()), around, _repository: repository }
    }

    /// Puts a pom into the repository.
    fn release(&self, name: &str, content: &str) {
        let parts: Vec<&str> = name.split(':').collect();
        let folder =
            self.around.repository.join(parts[0].replace('.', "/")).join(parts[1]).join(parts[2]);
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "<project><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{content}</project>",
            parts[0], parts[1], parts[2]
        );
        std::fs::write(folder.join(format!("{}-{}.pom", parts[1], parts[2])), text).unwrap();
    }

    fn graph(&self) -> Graph {
        read(&self.files, "pom.xml", &self.around, true).unwrap()
    }

    /// The affected modules after these files were replaced.
    fn after(&self, edits: &[(&str, &str)]) -> (Graph, Affected) {
        let mut files = self.files.clone();
        for (path, text) in edits {
            match text.is_empty() {
                true => files.0.remove(*path),
                false => files.0.insert((*path).to_owned(), text.as_bytes().to_vec()),
            };
        }
        let (before, now) = (self.graph(), read(&files, "pom.xml", &self.around, true).unwrap());
        let changed: BTreeSet<String> = edits.iter().map(|(p, _)| (*p).to_owned()).collect();
        let folders = BTreeSet::new();
        let change =
            Change { files: &changed, folders: &folders, before: Ok(&before), reader: &|_| None };
        let answer = affected(&now, &change, &Rules::default());
        (now, answer)
    }

    /// The same, as short names; `?` for tests alone.
    fn names(&self, edits: &[(&str, &str)]) -> Vec<String> {
        let (graph, answer) = self.after(edits);
        let name =
            |n: usize| graph.modules[n].name.rsplit(':').next().unwrap_or_default().to_owned();
        let mark = |part| if part == Part::Tests { "?" } else { "" };
        answer.modules.iter().map(|m| name(m.module) + mark(m.part)).collect()
    }
}

/// `a` uses `b`, as `a -kind-> b`.
fn edges(graph: &Graph) -> Vec<String> {
    let short = |n: usize| graph.modules[n].name.rsplit(':').next().unwrap_or_default().to_owned();
    let edges = graph.edges.iter().filter(|e| e.kind != EdgeKind::Parent);
    edges.map(|e| format!("{} {:?} {}", short(e.from), e.kind, short(e.to))).collect()
}

const HEAD: &str = "<groupId>g</groupId><artifactId>root</artifactId><version>1</version><packaging>pom</packaging>";

fn root(modules: &[&str], more: &str) -> String {
    let modules: String = modules.iter().map(|m| format!("<module>{m}</module>")).collect();
    format!("<project>{HEAD}<modules>{modules}</modules>{more}</project>")
}

fn module(name: &str, more: &str) -> String {
    format!(
        "<project><parent><groupId>g</groupId><artifactId>root</artifactId><version>1</version></parent>
         <artifactId>{name}</artifactId>{more}</project>"
    )
}

fn needs(list: &[(&str, &str)]) -> String {
    let one = |(name, more): &(&str, &str)| {
        let (group, artifact) = name.split_once(':').unwrap();
        format!(
            "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>{more}</dependency>"
        )
    };
    format!("<dependencies>{}</dependencies>", list.iter().map(one).collect::<String>())
}

const SAME: &str = "<version>${project.version}</version>";

#[test]
fn modules_edges_and_folders() {
    let build = Build::new(&[
        ("pom.xml", &root(&["core", "app"], "")),
        ("core/pom.xml", &module("core", "")),
        (
            "app/pom.xml",
            &module("app", &needs(&[("g:core", SAME), ("x:y", "<version>3</version>")])),
        ),
    ]);
    let graph = build.graph();
    let names: Vec<_> =
        graph.modules.iter().map(|m| (m.name.as_str(), m.folder.as_str())).collect();
    assert_eq!(names, [("g:root", "."), ("g:core", "core"), ("g:app", "app")]);
    assert_eq!(edges(&graph), ["app Uses core"]);
    let parents = graph.edges.iter().filter(|e| e.kind == EdgeKind::Parent).count();
    assert_eq!(parents, 2);
    assert_eq!(graph.modules[2].version, "1");
    assert_eq!(graph.modules[2].resolution["dependency x:y"], "3 (compile)");
    assert_eq!(graph.modules[2].resolution["dependency g:core"], "module (compile)");
    assert!(graph.global.contains(".mvn/jvm.config"));
}

#[test]
fn kinds_of_use() {
    let build = Build::new(&[
        ("pom.xml", &root(&["a", "b"], "")),
        ("a/pom.xml", &module("a", "")),
        (
            "b/pom.xml",
            &module(
                "b",
                &needs(&[
                    ("g:a", "<version>1</version><scope>test</scope>"),
                    ("g:a", "<version>1</version><type>test-jar</type>"),
                    (
                        "g:a",
                        "<version>1</version><classifier>tests</classifier><scope>test</scope>",
                    ),
                ]),
            ),
        ),
    ]);
    let expected = ["b UsesInTests a", "b UsesTests a", "b UsesTestsInTests a"];
    assert_eq!(edges(&build.graph()), expected);
}

#[test]
fn another_version_is_not_the_module() {
    let of = |version: &str| {
        let build = Build::new(&[
            ("pom.xml", &root(&["a", "b"], "")),
            ("a/pom.xml", &module("a", "")),
            ("b/pom.xml", &module("b", &needs(&[("g:a", version)]))),
        ]);
        !edges(&build.graph()).is_empty()
    };
    assert!(of("<version>1</version>") && of("<version>[0,2)</version>"));
    assert!(!of("<version>0.9</version>"));
}

#[test]
fn plugins_extensions_their_libraries_and_processors() {
    let plugin =
        |inside: &str| format!("<build><plugins><plugin>{inside}</plugin></plugins></build>");
    let of = |more: &str| {
        let build = Build::new(&[
            ("pom.xml", &root(&["p", "b"], "")),
            ("p/pom.xml", &module("p", "<packaging>maven-plugin</packaging>")),
            ("b/pom.xml", &module("b", more)),
        ]);
        edges(&build.graph())
    };
    let expected = ["b BuildsWith p"];
    assert_eq!(
        of(&plugin("<groupId>g</groupId><artifactId>p</artifactId><version>1</version>")),
        expected
    );
    assert_eq!(
        of(&plugin(&format!(
            "<groupId>x</groupId><artifactId>y</artifactId>{}",
            needs(&[("g:p", SAME)])
        ))),
        expected
    );
    let processor = "<artifactId>maven-compiler-plugin</artifactId><configuration><annotationProcessorPaths>
        <path><groupId>g</groupId><artifactId>p</artifactId><version>${project.version}</version></path>
        </annotationProcessorPaths></configuration>";
    assert_eq!(of(&plugin(processor)), expected);
    let extension = "<build><extensions><extension><groupId>g</groupId><artifactId>p</artifactId>
        <version>1</version></extension></extensions></build>";
    assert_eq!(of(extension), expected);
    // Managed and not used: no edge. Managed for what always takes part: an edge.
    let managed = |name: &str| {
        format!(
            "<build><pluginManagement><plugins><plugin><artifactId>{name}</artifactId>{}</plugin></plugins></pluginManagement></build>",
            needs(&[("g:p", "<version>1</version>")])
        )
    };
    assert!(of(&managed("maven-checkstyle-plugin")).is_empty());
    assert_eq!(of(&managed("maven-surefire-plugin")), expected);
}

#[test]
fn poms_named_by_file_shared_folders_and_nesting() {
    let build = Build::new(&[
        ("pom.xml", &root(&["a", "a/other.xml", "deep/er", "../up"], "")),
        ("a/pom.xml", &module("a", "")),
        (
            "a/other.xml",
            &module("other", "").replace(
                "<version>1</version></parent>",
                "<version>1</version><relativePath>..</relativePath></parent>",
            ),
        ),
        (
            "deep/er/pom.xml",
            &module("er", "<packaging>pom</packaging><modules><module>x</module></modules>")
                .replace("</parent>", "<relativePath>../../pom.xml</relativePath></parent>"),
        ),
        ("deep/er/x/pom.xml", &module("x", "").replace("root", "er")),
    ]);
    let graph = build.graph();
    let folders: Vec<_> = graph.modules.iter().map(|m| m.folder.as_str()).collect();
    assert_eq!(folders, [".", "a", "a", "deep/er", "deep/er/x"]);
    assert!(graph.notes[0].contains("../up"), "{:?}", graph.notes);
    assert_eq!(build.names(&[("a/src/main/java/A.java", "x")]), ["a", "other"]);
    assert_eq!(build.names(&[("deep/er/file", "x")]), ["er", "x"], "those that inherit");
}

#[test]
fn profiles_that_are_on_bring_modules_and_dependencies() {
    let profile = format!(
        "<profiles><profile><id>more</id><modules><module>b</module></modules></profile>
         <profile><id>usual</id><activation><activeByDefault>true</activeByDefault></activation>
         {}</profile></profiles>",
        needs(&[("x:y", "<version>1</version>")])
    );
    let mut build = Build::new(&[
        ("pom.xml", &root(&["a"], &profile)),
        ("a/pom.xml", &module("a", "")),
        ("b/pom.xml", &module("b", "")),
    ]);
    let graph = build.graph();
    assert_eq!(graph.modules.len(), 2);
    assert!(graph.modules[1].resolution.contains_key("dependency x:y"), "inherited from a profile");
    build.around.profiles_on.push("more".into());
    let graph = build.graph();
    assert_eq!(graph.modules.len(), 3);
    assert!(!graph.modules[1].resolution.contains_key("dependency x:y"));
}

#[test]
fn parents_in_the_repository_and_nowhere() {
    let child = "<project><parent><groupId>o</groupId><artifactId>p</artifactId><version>2</version></parent>
        <artifactId>c</artifactId><dependencies><dependency><groupId>x</groupId><artifactId>y</artifactId></dependency></dependencies></project>";
    let build = Build::new(&[("pom.xml", child)]);
    let graph = build.graph();
    assert_eq!(graph.modules[0].name, "o:c");
    assert_eq!(graph.modules[0].resolution["pom o:p, which is not here"], "2");
    build.release(
        "o:p:2",
        &format!(
            "<packaging>pom</packaging><dependencyManagement>{}</dependencyManagement>",
            needs(&[("x:y", "<version>${v}</version><scope>test</scope>")])
        ),
    );
    let graph = build.graph();
    assert_eq!(graph.modules[0].resolution["dependency x:y"], "${v} (test)");
    assert!(!graph.modules[0].resolution.contains_key("pom o:p, which is not here"));
    // Another version of a parent that is not here is another thing.
    let build = Build::new(&[("pom.xml", child)]);
    assert_eq!(
        build.names(&[("pom.xml", &child.replace("<version>2</version>", "<version>3</version>"))]),
        ["c"]
    );
}

#[test]
fn a_parent_outside_the_reactor_counts_for_its_children() {
    let parent = |version: &str| {
        format!(
            "<project><groupId>g</groupId><artifactId>shared</artifactId><version>5</version><packaging>pom</packaging>{}</project>",
            needs(&[("x:y", &format!("<version>{version}</version>"))])
        )
    };
    let child = "<project><parent><groupId>g</groupId><artifactId>shared</artifactId><version>5</version>
        <relativePath>../shared/pom.xml</relativePath></parent><artifactId>a</artifactId></project>";
    let build = Build::new(&[
        ("pom.xml", &root(&["a", "b"], "")),
        ("a/pom.xml", child),
        ("b/pom.xml", &module("b", "")),
        ("shared/pom.xml", &parent("1")),
    ]);
    assert_eq!(build.graph().modules.len(), 3);
    assert_eq!(build.names(&[("shared/pom.xml", &parent("2"))]), ["a"]);
    assert!(build.names(&[("shared/pom.xml", &format!("{}<!-- x -->", parent("1")))]).is_empty());
}

#[test]
fn pom_edits_that_change_nothing() {
    let app = |more: &str| module("app", &format!("{more}{}", needs(&[("g:core", SAME)])));
    let build = Build::new(&[
        ("pom.xml", &root(&["core", "app"], "")),
        ("core/pom.xml", &module("core", "")),
        ("app/pom.xml", &app("")),
    ]);
    for edit in [
        "<!-- comment -->",
        "<name>n</name><description>d</description><url>u</url>",
        "<licenses><license><name>l</name></license></licenses><scm><tag>t</tag></scm>",
        "<build><pluginManagement><plugins><plugin><artifactId>maven-site-thing</artifactId><version>9</version></plugin></plugins></pluginManagement></build>",
        "<profiles><profile><id>off</id><properties><x>1</x></properties></profile></profiles>",
        "<reporting><plugins/></reporting>",
    ] {
        assert!(build.names(&[("app/pom.xml", &app(edit))]).is_empty(), "{edit}");
    }
    assert_eq!(build.names(&[("app/pom.xml", &app("<packaging>war</packaging>"))]), ["app"]);
    assert_eq!(build.names(&[("app/pom.xml", &app("<properties><x>1</x></properties>"))]), ["app"]);
}

#[test]
fn a_bump_of_the_own_version_changes_nothing() {
    let poms = |version: &str| {
        let at = |text: String| {
            text.replace("<version>1</version>", &format!("<version>{version}</version>"))
        };
        [
            ("pom.xml", at(root(&["core", "app", "bom"], ""))),
            (
                "core/pom.xml",
                at(module("core", "<build><finalName>core-${project.version}</finalName></build>")),
            ),
            (
                "bom/pom.xml",
                at(module(
                    "bom",
                    &format!(
                        "<packaging>pom</packaging><dependencyManagement>{}</dependencyManagement>",
                        needs(&[("g:core", SAME)])
                    ),
                )),
            ),
            (
                "app/pom.xml",
                at(module(
                    "app",
                    &format!(
                        "{}<dependencyManagement>{}</dependencyManagement>",
                        needs(&[("g:core", "")]),
                        needs(&[(
                            "g:bom",
                            "<version>${project.version}</version><type>pom</type><scope>import</scope>"
                        )])
                    ),
                )),
            ),
        ]
    };
    let before = poms("1");
    let before: Vec<(&str, &str)> = before.iter().map(|(p, t)| (*p, t.as_str())).collect();
    let after = poms("2");
    let after: Vec<(&str, &str)> = after.iter().map(|(p, t)| (*p, t.as_str())).collect();
    let build = Build::new(&before);
    let graph = build.graph();
    assert!(edges(&graph).contains(&"app Uses core".to_owned()), "{:?}", edges(&graph));
    assert!(edges(&graph).contains(&"app Imports bom".to_owned()));
    assert!(build.names(&after).is_empty(), "{:?}", build.after(&after).1);
    // With a library that happens to have the same version, it is a change of that library alone.
    let with = |version: &str, text: &str| {
        text.replace(
            "<artifactId>core</artifactId><build>",
            &format!(
                "<artifactId>core</artifactId>{}<build>",
                needs(&[("x:y", &format!("<version>{version}</version>"))])
            ),
        )
    };
    let old: Vec<(&str, String)> = before.iter().map(|(p, t)| (*p, with("1", t))).collect();
    let new: Vec<(&str, String)> = after.iter().map(|(p, t)| (*p, with("2", t))).collect();
    let build = Build::new(&old.iter().map(|(p, t)| (*p, t.as_str())).collect::<Vec<_>>());
    let new: Vec<(&str, &str)> = new.iter().map(|(p, t)| (*p, t.as_str())).collect();
    assert_eq!(build.names(&new), ["core", "app"]);
}

#[test]
fn revision_properties_are_versions_too() {
    let poms = |revision: &str| {
        let head = "<groupId>g</groupId><artifactId>root</artifactId><version>${revision}</version><packaging>pom</packaging>";
        let child = |name: &str, more: &str| {
            format!(
                "<project><parent><groupId>g</groupId><artifactId>root</artifactId><version>${{revision}}</version></parent><artifactId>{name}</artifactId>{more}</project>"
            )
        };
        [
            (
                "pom.xml",
                format!(
                    "<project>{head}<properties><revision>{revision}</revision></properties><modules><module>a</module><module>b</module></modules></project>"
                ),
            ),
            ("a/pom.xml", child("a", "")),
            ("b/pom.xml", child("b", &needs(&[("g:a", "<version>${revision}</version>")]))),
        ]
    };
    let before = poms("1.0-SNAPSHOT");
    let build = Build::new(&before.iter().map(|(p, t)| (*p, t.as_str())).collect::<Vec<_>>());
    assert_eq!(edges(&build.graph()), ["b Uses a"]);
    assert_eq!(build.graph().modules[2].version, "1.0-SNAPSHOT");
    let after = poms("1.0");
    assert!(
        build.names(&after.iter().map(|(p, t)| (*p, t.as_str())).collect::<Vec<_>>()).is_empty()
    );
}

#[test]
fn a_managed_version_counts_where_it_is_used() {
    let parent = |version: &str| {
        root(
            &["a", "b", "c"],
            &format!(
                "<properties><y.version>{version}</y.version></properties><dependencyManagement>{}</dependencyManagement>",
                needs(&[("x:y", "<version>${y.version}</version>")])
            ),
        )
    };
    let build = Build::new(&[
        ("pom.xml", &parent("1")),
        ("a/pom.xml", &module("a", &needs(&[("x:y", "")]))),
        ("b/pom.xml", &module("b", &needs(&[("x:y", "<version>7</version>")]))),
        ("c/pom.xml", &module("c", &needs(&[("g:a", SAME)]))),
    ]);
    build.release("x:y:1", "");
    build.release("x:y:2", "");
    build.release("x:y:7", "");
    // `c` gets the library through `a`: its own version for it is managed as well.
    assert_eq!(build.names(&[("pom.xml", &parent("2"))]), ["a", "c"]);
    let (_, answer) = build.after(&[("pom.xml", &parent("2"))]);
    assert_eq!(
        answer.modules[0].reasons[0].to_string(),
        "dependency x:y is 2 (compile), was 1 (compile)"
    );
    assert_eq!(answer.modules[1].reasons[0].to_string(), "managed x:y is 2, was 1");
}

#[test]
fn managed_versions_below_libraries_count_too() {
    let parent = |version: &str| {
        let managed = needs(&[("x:deep", &format!("<version>{version}</version>"))]);
        root(&["a", "b", "c"], &format!("<dependencyManagement>{managed}</dependencyManagement>"))
    };
    let build = Build::new(&[
        ("pom.xml", &parent("1")),
        ("a/pom.xml", &module("a", &needs(&[("x:lib", "<version>1</version>")]))),
        ("b/pom.xml", &module("b", &needs(&[("x:other", "<version>1</version>")]))),
        ("c/pom.xml", &module("c", "")),
    ]);
    // Where poms are not here, what they lead to is not known: it counts.
    assert_eq!(build.names(&[("pom.xml", &parent("2"))]), ["a", "b"]);
    build.release("x:lib:1", &needs(&[("x:deep", "<version>0</version>")]));
    build.release("x:deep:0", "");
    build.release("x:deep:1", "");
    build.release("x:deep:2", "");
    build.release("x:other:1", &needs(&[("x:none", "<version>1</version><scope>test</scope>")]));
    assert_eq!(build.names(&[("pom.xml", &parent("2"))]), ["a"]);
}

#[test]
fn imported_version_lists() {
    let bom = |version: &str| {
        let managed = needs(&[
            ("x:y", &format!("<version>{version}</version>")),
            ("x:z", "<version>1</version>"),
        ]);
        module(
            "bom",
            &format!(
                "<packaging>pom</packaging><dependencyManagement>{managed}</dependencyManagement>"
            ),
        )
    };
    let import = |name: &str| {
        format!(
            "<dependencyManagement>{}</dependencyManagement>",
            needs(&[(name, "<version>1</version><type>pom</type><scope>import</scope>")])
        )
    };
    let build = Build::new(&[
        ("pom.xml", &root(&["bom", "a", "b", "c"], "")),
        ("bom/pom.xml", &bom("1")),
        ("a/pom.xml", &module("a", &format!("{}{}", import("g:bom"), needs(&[("x:y", "")])))),
        ("b/pom.xml", &module("b", &format!("{}{}", import("g:bom"), needs(&[("x:z", "")])))),
        ("c/pom.xml", &module("c", &format!("{}{}", import("o:list"), needs(&[("o:thing", "")])))),
    ]);
    for name in ["x:y:1", "x:y:2", "x:z:1", "o:thing:4"] {
        build.release(name, "");
    }
    let graph = build.graph();
    let c = graph.find("g:c").unwrap();
    assert_eq!(graph.modules[c].resolution["pom o:list, which is not here"], "1");
    build.release(
        "o:list:1",
        &format!(
            "<packaging>pom</packaging><dependencyManagement>{}</dependencyManagement>",
            needs(&[("o:thing", "<version>4</version>")])
        ),
    );
    let graph = build.graph();
    assert_eq!(graph.modules[c].resolution["dependency o:thing"], "4 (compile)");
    assert_eq!(build.names(&[("bom/pom.xml", &bom("2"))]), ["a"], "only who uses what changed");
}

#[test]
fn filtered_resources_see_properties_and_the_version() {
    let poms = |version: &str, value: &str| {
        let at = |text: String| {
            text.replace("<version>1</version>", &format!("<version>{version}</version>"))
        };
        let filter = "<build><resources><resource><directory>src/main/resources</directory><filtering>true</filtering></resource></resources></build>";
        [
            (
                "pom.xml",
                at(root(
                    &["a", "b"],
                    &format!(
                        "<properties><x.version>{value}</x.version></properties>{}",
                        "<dependencyManagement>".to_owned()
                            + &needs(&[("x:none", "<version>${x.version}</version>")])
                            + "</dependencyManagement>"
                    ),
                )),
            ),
            ("a/pom.xml", at(module("a", filter))),
            ("b/pom.xml", at(module("b", ""))),
        ]
    };
    let with = |resource: &str| {
        let before = poms("1", "1");
        let mut all: Vec<(&str, &str)> = before.iter().map(|(p, t)| (*p, t.as_str())).collect();
        all.push(("a/src/main/resources/x.properties", resource));
        Build::new(&all)
    };
    let edit = |build: &Build, version: &str, value: &str| {
        let after = poms(version, value);
        build.names(&after.iter().map(|(p, t)| (*p, t.as_str())).collect::<Vec<_>>())
    };
    let plain = with("nothing");
    assert!(edit(&plain, "2", "1").is_empty() && edit(&plain, "1", "2").is_empty());
    assert_eq!(edit(&with("v=${project.version}"), "2", "1"), ["a"]);
    assert_eq!(edit(&with("v=@project.version@"), "2", "1"), ["a"]);
    assert_eq!(edit(&with("x=${x.version}"), "1", "2"), ["a"]);
}

#[test]
fn plugin_edits_count_where_the_plugin_takes_part() {
    let parent = |inside: &str| {
        root(
            &["a", "b"],
            &format!(
                "<build><pluginManagement><plugins><plugin><groupId>x</groupId><artifactId>tool</artifactId>{inside}</plugin></plugins></pluginManagement></build>"
            ),
        )
    };
    let uses = "<build><plugins><plugin><groupId>x</groupId><artifactId>tool</artifactId></plugin></plugins></build>";
    let build = Build::new(&[
        ("pom.xml", &parent("<version>1</version>")),
        ("a/pom.xml", &module("a", uses)),
        ("b/pom.xml", &module("b", "")),
    ]);
    let (_, answer) = build.after(&[("pom.xml", &parent("<version>2</version>"))]);
    assert_eq!(answer.modules.len(), 1);
    assert_eq!(answer.modules[0].reasons[0].to_string(), "plugin x:tool is 2, was 1");
    let configured = parent("<version>1</version><configuration><level>3</level></configuration>");
    assert_eq!(build.names(&[("pom.xml", &configured)]), ["a"]);
}

#[test]
fn surefire_concerns_tests_alone() {
    let app = |line: &str| {
        module(
            "a",
            &format!(
                "<build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><configuration><argLine>{line}</argLine></configuration></plugin></plugins></build>"
            ),
        )
    };
    let build = Build::new(&[
        ("pom.xml", &root(&["a", "b"], "")),
        ("a/pom.xml", &app("-Da")),
        ("b/pom.xml", &module("b", &needs(&[("g:a", SAME)]))),
    ]);
    assert_eq!(build.names(&[("a/pom.xml", &app("-Db"))]), ["a?"]);
}

#[test]
fn modules_come_and_go() {
    let build = Build::new(&[
        ("pom.xml", &root(&["a", "b"], "")),
        ("a/pom.xml", &module("a", "")),
        ("b/pom.xml", &module("b", "")),
    ]);
    let new = [("pom.xml", root(&["a", "b", "c"], "")), ("c/pom.xml", module("c", ""))];
    let new: Vec<(&str, &str)> = new.iter().map(|(p, t)| (*p, t.as_str())).collect();
    assert_eq!(build.names(&new), ["c"]);
    assert!(build.names(&[("pom.xml", &root(&["a"], "")), ("b/pom.xml", "")]).is_empty());
    // A file of the module that is gone now belongs to the folder above.
    let gone =
        [("pom.xml", root(&["a"], "")), ("b/pom.xml", String::new()), ("b/x", String::new())];
    let gone: Vec<(&str, &str)> = gone.iter().map(|(p, t)| (*p, t.as_str())).collect();
    assert_eq!(build.names(&gone), ["root?"]);
    assert_eq!(build.names(&[("pom.xml", &root(&["b", "a"], ""))]), Vec::<String>::new(), "order");
}

#[test]
fn a_dependency_on_a_module_that_went_to_a_repository() {
    let app =
        |version: &str| module("b", &needs(&[("g:a", &format!("<version>{version}</version>"))]));
    let build = Build::new(&[
        ("pom.xml", &root(&["a", "b"], "")),
        ("a/pom.xml", &module("a", "")),
        ("b/pom.xml", &app("1")),
    ]);
    let (_, answer) = build.after(&[("b/pom.xml", &app("0.9"))]);
    assert_eq!(
        answer.modules[0].reasons[0].to_string(),
        "dependency g:a is 0.9 (compile), was module (compile)"
    );
}

#[test]
fn other_poms_are_files_like_any_other() {
    let build = Build::new(&[
        ("pom.xml", &root(&["a"], "")),
        ("a/pom.xml", &module("a", "")),
        ("a/src/test/it/pom.xml", "<project/>"),
    ]);
    assert_eq!(build.names(&[("a/src/test/it/pom.xml", "<project><x/></project>")]), ["a?"]);
}

#[test]
fn the_topmost_pom_that_names_a_module_is_the_root() {
    let build = Build::new(&[
        ("pom.xml", &root(&["x", "mid"], "")),
        ("x/pom.xml", &module("x", "")),
        (
            "mid/pom.xml",
            &module("mid", "<packaging>pom</packaging><modules><module>low</module></modules>"),
        ),
        ("mid/low/pom.xml", &module("low", "").replace("root", "mid")),
        (
            "alone/pom.xml",
            "<project><groupId>q</groupId><artifactId>q</artifactId><version>1</version></project>",
        ),
    ]);
    let of = |pom: &str| root_of(&build.files, pom, &build.around);
    assert_eq!(of("mid/low/pom.xml"), "pom.xml");
    assert_eq!(of("mid/pom.xml"), "pom.xml");
    assert_eq!(of("alone/pom.xml"), "alone/pom.xml");
    assert_eq!(of("pom.xml"), "pom.xml");
}

#[test]
fn broken_poms_are_named() {
    let build = Build::new(&[("pom.xml", &root(&["a"], "")), ("a/pom.xml", "<project>")]);
    let error = read(&build.files, "pom.xml", &build.around, false).unwrap_err().to_string();
    assert!(error.starts_with("a/pom.xml cannot be read"), "{error}");
    let circle = "<project><parent><groupId>g</groupId><artifactId>p</artifactId><version>1</version><relativePath>b.xml</relativePath></parent><artifactId>p</artifactId></project>";
    let build = Build::new(&[("pom.xml", circle), ("b.xml", &circle.replace("b.xml", "pom.xml"))]);
    let _ = read(&build.files, "pom.xml", &build.around, true);
}

#[test]
fn test_and_resource_folders_as_the_pom_names_them() {
    let more = "<build><testSourceDirectory>tests</testSourceDirectory><resources><resource><directory>${project.basedir}/conf</directory></resource></resources></build>";
    let build = Build::new(&[("pom.xml", &root(&["a"], "")), ("a/pom.xml", &module("a", more))]);
    let graph = build.graph();
    assert_eq!(graph.modules[1].test_folders, ["a/tests"]);
    assert!(graph.modules[1].resource_folders.contains(&"a/conf".to_owned()));
    assert_eq!(build.names(&[("a/tests/T.java", "x")]), ["a?"]);
    assert_eq!(build.names(&[("a/src/test/T.java", "x")]), ["a"], "not a test folder any more");
}

#[test]
fn properties_that_are_not_used_count_only_where_a_plugin_may_read_them() {
    let poms = |properties: &str, build: &str| {
        let root = root(&["a"], &format!("<properties>{properties}</properties>"));
        [("pom.xml", root), ("a/pom.xml", module("a", build))]
    };
    let affected = |before: &str, now: &str, build: &str| {
        let (before, now) = (poms(before, build), poms(now, build));
        let build = Build::new(&before.iter().map(|(p, t)| (*p, t.as_str())).collect::<Vec<_>>());
        build.names(&now.iter().map(|(p, t)| (*p, t.as_str())).collect::<Vec<_>>())
    };
    let none: [String; 0] = [];
    assert_eq!(affected("<my.note>1</my.note>", "<my.note>2</my.note>", ""), none);
    // Parameters of plugins.
    for name in ["argLine", "maven.compiler.release", "surefire.timeout", "jar.finalName"] {
        let (before, now) = (format!("<{name}>1</{name}>"), format!("<{name}>2</{name}>"));
        assert_eq!(affected(&before, &now, ""), ["root", "a"], "{name}");
    }
    // A plugin that may read any property, and a use of it.
    let ant = "<build><plugins><plugin><artifactId>maven-antrun-plugin</artifactId></plugin></plugins></build>";
    assert!(
        affected("<my.note>1</my.note>", "<my.note>2</my.note>", ant).contains(&"a".to_owned())
    );
    let used = "<build><finalName>${my.note}</finalName></build>";
    assert!(
        affected("<my.note>1</my.note>", "<my.note>2</my.note>", used).contains(&"a".to_owned())
    );
}
