//! `tamis modules`, and affected modules handed to cargo, go and npm.

use serde_json::Value;
use tamis_report::exit::MISTAKE;
use tamis_testkit::{Ended, Project, ended, need};

/// A project in a repository with one commit.
fn committed(files: &[(&str, &str)]) -> Project {
    let project = Project::with(files);
    project.commit();
    project
}

fn plain(project: &Project) -> Vec<String> {
    let text = project.answer(&["modules", "--since", "HEAD", "--plain"]);
    text.lines().map(str::to_owned).collect()
}

fn pom(name: &str, more: &str) -> String {
    format!(
        "<project><parent><groupId>g</groupId><artifactId>root</artifactId><version>1</version></parent>\
         <artifactId>{name}</artifactId>{more}</project>"
    )
}

const ROOT: &str = "<project><groupId>g</groupId><artifactId>root</artifactId><version>1</version>\
    <packaging>pom</packaging><modules><module>a</module><module>b</module></modules></project>";

const USES_A: &str = "<dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId>\
    <version>${project.version}</version></dependency></dependencies>";

fn maven() -> Project {
    committed(&[
        ("pom.xml", ROOT),
        ("a/pom.xml", &pom("a", "")),
        ("a/src/main/java/A.java", "class A {}"),
        ("b/pom.xml", &pom("b", USES_A)),
        ("README.md", "x"),
    ])
}

#[test]
fn modules_with_reasons_in_every_form() {
    if !need("git") {
        return;
    }
    let project = maven();
    assert!(plain(&project).is_empty());
    project.write("a/src/main/java/A.java", "class A { int x; }");
    project.write("README.md", "y");
    project.write("b/new.json", "{}");
    assert_eq!(plain(&project), ["a", "b"]);
    let names = project.answer(&["modules", "--since", "main", "--names"]);
    assert_eq!(names, "g:a\ng:b\n");
    let text = project.answer(&["modules", "--since", "HEAD"]);
    for line in [
        "changed   g:a",
        "a/src/main/java/A.java changed",
        "changed   g:b",
        "depends on g:a",
        "excluded  README.md",
        "2 of 3 modules affected since HEAD",
    ] {
        assert!(text.contains(line), "{line:?} in {text}");
    }
    let got = project.tamis(&["--json", "modules", "--since", "HEAD", "--all"]);
    let modules: Vec<Value> = got.events("module");
    assert_eq!(modules.len(), 3);
    assert_eq!(modules[0]["affected"], false);
    assert_eq!(modules[1]["reasons"][0]["kind"], "file");
    assert_eq!(got.events("modules")[0]["tool"], "maven");
    assert_eq!(got.events("excluded")[0]["file"], "README.md");
    // From a folder below, and where `--since` stands before the verb.
    let below = ended(
        project.seen_from(&project.path("a/src")).args(["--since", "HEAD", "modules", "--plain"]),
    );
    assert_eq!(below.text(), "a\nb\n", "{}", below.stderr);
}

#[test]
fn a_pom_counts_by_what_it_comes_to() {
    if !need("git") {
        return;
    }
    let project = maven();
    let bumped = |text: &str| text.replace("<version>1</version>", "<version>2</version>");
    project.write("pom.xml", bumped(ROOT));
    project.write("a/pom.xml", bumped(&pom("a", "")));
    project.write("b/pom.xml", bumped(&pom("b", USES_A)));
    assert!(plain(&project).is_empty(), "a new version of the project itself");
    let with = |property: &str| {
        let more = format!("{USES_A}<properties>{property}</properties>");
        project.write("b/pom.xml", bumped(&pom("b", &more)));
    };
    with("<our.note>1</our.note>");
    assert!(plain(&project).is_empty(), "a property that is not used");
    with("<skipTests>true</skipTests>");
    assert_eq!(plain(&project), ["b"]);
    let text = project.answer(&["modules", "--since", "HEAD"]);
    assert!(text.contains("property skipTests is new (true)"), "{text}");
}

#[test]
fn what_git_cannot_say_makes_everything_count() {
    if !need("git") {
        return;
    }
    let everything = |got: Ended, why: &str| {
        assert_eq!(got.code, 0, "{}", got.stderr);
        assert!(
            got.stderr.contains(why) && got.stderr.contains("everything counts"),
            "{}",
            got.stderr
        );
        assert_eq!(got.text(), ".\na\nb\n");
    };
    let project = maven();
    everything(project.tamis(&["modules", "--since", "origin/x", "--plain"]), "git fetch");
    everything(project.tamis(&["modules", "--plain"]), "name a branch, tag or commit with --since");
    project.remove(".git");
    everything(project.tamis(&["modules", "--since", "HEAD", "--plain"]), "in no git repository");
    project.write("tamis.toml", "[modules]\nwithout-git = \"fail\"\n");
    let got = project.tamis(&["modules", "--since", "HEAD"]);
    assert_eq!(got.code, MISTAKE);
    assert!(got.stderr.contains("in no git repository"), "{}", got.stderr);
}

#[test]
fn the_store_in_the_work_tree_is_no_change() {
    if !need("git") {
        return;
    }
    let project = maven();
    project.write("records/tamis.db", "x");
    assert_eq!(plain(&project), [".", "a", "b"], "any other folder is");
    let words = ["--store", "records", "modules", "--since", "HEAD", "--plain"];
    assert_eq!(project.tamis(&words).text(), "");
}

#[test]
fn settings_of_the_project() {
    if !need("git") {
        return;
    }
    let project = maven();
    let with = |settings: &str, files: &[&str]| {
        project.write("tamis.toml", format!("[modules]\nsince = \"HEAD\"\n{settings}\n"));
        project.git(&["add", "tamis.toml"]);
        project.git(&["commit", "-q", "--allow-empty", "-m", "settings"]);
        for file in files {
            project.write(file, "changed");
        }
        let text = project.answer(&["modules", "--plain"]);
        project.git(&["checkout", "-q", "."]);
        project.git(&["clean", "-qfd"]);
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(with("", &["a/x.json"]), ["a", "b"]);
    assert_eq!(with("downstream = \"never\"", &["a/x.json"]), ["a"]);
    assert!(with("exclude = [\"**/*.json\"]", &["a/x.json"]).is_empty());
    assert!(with("untracked = false", &["a/x.json"]).is_empty());
    assert!(with("uncommitted = false", &["a/src/main/java/A.java"]).is_empty());
    assert_eq!(with("default-exclude = false", &["README.md"]), [".", "a", "b"]);
    assert_eq!(with("include = [\"b/**\"]", &["a/x.json", "b/x.json"]), ["b"]);
    assert_eq!(with("everything-if = [\"b/x*\"]", &["b/x.json"]), [".", "a", "b"]);
    assert_eq!(with("everything-if-unchanged = true", &[]), [".", "a", "b"]);
    assert_eq!(with("disable-if-branch = [\"ma*\"]", &[]), [".", "a", "b"]);
    assert_eq!(with("disable-if-since = [\"HEAD\"]", &[]), [".", "a", "b"]);
    assert_eq!(with("force = [\"b\"]", &[]), ["b"]);
    assert_eq!(with("force = [{ when = \"b\", modules = [\"root\"] }]", &["b/x.json"]), [".", "b"]);
    assert_eq!(with("leave-out-packaging = [\"jar\"]", &["a/x.json"]), ["a"]);
}

/// What a stand-in for a tool was called with.
fn handed(project: &Project, words: &[&str]) -> String {
    let mut all = vec!["--select", "modules", "--since", "HEAD"];
    all.extend(words);
    let got = project.tamis(&all);
    assert_eq!(got.code, 0, "{}", got.stderr);
    got.text()
}

/// A program of that name, first on the path, that prints its words.
fn stand_in(project: &mut Project, name: &str) {
    project.write(format!("../bin/{name}"), "#!/bin/sh\necho \"$@\"\n");
    let path = std::env::var("PATH").unwrap_or_default();
    let bin = project.beside("bin").display().to_string();
    project.set("PATH", format!("{bin}:{path}"));
}

#[test]
fn cargo_gets_packages() {
    if !need("git") {
        return;
    }
    let mut project = committed(&[
        ("Cargo.toml", "[workspace]\nmembers = ['a', 'b', 'c']\n"),
        ("a/Cargo.toml", "[package]\nname = 'a'\nversion = '1.0.0'\n"),
        ("a/src/lib.rs", ""),
        (
            "b/Cargo.toml",
            "[package]\nname = 'b'\nversion = '1.0.0'\n[dependencies]\na = { path = '../a' }\n",
        ),
        ("c/Cargo.toml", "[package]\nname = 'c'\nversion = '1.0.0'\n"),
    ]);
    stand_in(&mut project, "cargo");
    assert_eq!(handed(&project, &["cargo", "test"]), "");
    project.write("a/src/lib.rs", "// x");
    assert_eq!(handed(&project, &["cargo", "test", "--workspace"]), "test -p a -p b\n");
    project.write("a/Cargo.toml", "[package]\nname = 'a'\nversion = '2.0.0'\n");
    project.commit();
    project.write("c/Cargo.toml", "[package]\nname = 'c'\nversion = '2.0.0'\n");
    assert_eq!(handed(&project, &["cargo", "test"]), "", "a version alone");
    // Records decide about the command that comes of it.
    project.write("c/src/lib.rs", "// x");
    let hybrid = ["--select", "hybrid", "--since", "HEAD", "cargo", "test"];
    assert_eq!(project.tamis(&hybrid).text(), "test -p c\n");
    let again = project.tamis(&hybrid);
    assert!(again.text().is_empty() && again.stderr.contains("skipped"), "{again:?}");
    project.write("Cargo.lock", "# x");
    assert_eq!(handed(&project, &["cargo", "test"]), "test -p a -p b -p c\n");
}

#[test]
fn npm_gets_workspaces() {
    if !need("git") {
        return;
    }
    let mut project = committed(&[
        ("package.json", r#"{"name": "root", "workspaces": ["packages/*"]}"#),
        ("packages/a/package.json", r#"{"name": "a"}"#),
        ("packages/b/package.json", r#"{"name": "b", "dependencies": {"a": "*"}}"#),
        ("packages/c/package.json", r#"{"name": "c"}"#),
    ]);
    stand_in(&mut project, "npm");
    project.write("packages/a/index.js", "1");
    assert_eq!(handed(&project, &["npm", "test", "--workspaces"]), "test -w a -w b\n");
}

#[test]
fn go_gets_packages() {
    if !need("git") || !need("go") {
        return;
    }
    let test = "package a\nimport \"testing\"\nfunc TestX(t *testing.T) {}\n";
    let mut project = committed(&[
        ("go.mod", "module e.org/m\n\ngo 1.18\n"),
        ("a/a.go", "package a\n"),
        ("a/a_test.go", test),
        ("b/b.go", "package b\nimport _ \"e.org/m/a\"\n"),
        ("b/b_test.go", &test.replace("package a", "package b")),
        ("c/c.go", "package c\n"),
    ]);
    project.set("GOCACHE", project.beside("gocache").display().to_string());
    project.set("GOFLAGS", "-buildvcs=false");
    let go = |strategy: &str| {
        let got = project.tamis(&["--select", strategy, "--since", "HEAD", "go", "test", "./..."]);
        assert_eq!(got.code, 0, "{}{}", got.text(), got.stderr);
        got
    };
    assert!(go("modules").stderr.contains("no module that this command tests is affected"));
    project.write("b/b_test.go", test.replace("package a", "package b // x"));
    let text = go("modules").text();
    assert!(text.contains("e.org/m/b") && !text.contains("e.org/m/a"), "{text}");
    project.write("a/a.go", "package a // x\n");
    let text = go("hybrid").text();
    assert!(text.contains("e.org/m/a") && text.contains("e.org/m/b"), "{text}");
}

#[test]
fn mistakes_of_the_call() {
    let project = Project::with(&[("build.sh", "#!/bin/sh\n")]);
    for (words, expected) in [
        (&["--since", "HEAD", "./build.sh"][..], "--since needs --select modules"),
        (&["--select", "modules", "./build.sh"], "are for mvn, gradle, cargo, go, npm"),
        (&["--select", "hybrid"], "need a command"),
        (&["--engine", "hybrid", "./build.sh"], "old word: write --select hybrid"),
        (&["modules", "--since", "HEAD"], "no pom.xml, settings.gradle, Cargo.toml"),
        (&["select", "--since", "HEAD", "x"], "--since needs --select modules"),
    ] {
        let got = project.tamis(words);
        assert_eq!(got.code, MISTAKE, "{words:?}: {}", got.stderr);
        assert!(got.stderr.contains(expected), "{words:?}: {}", got.stderr);
    }
}

/// A Gradle that answers the question of the init script as the real one does, and writes down what it was given.
const GRADLE: &str = r#"#!/bin/sh
for word in "$@"; do
    case $word in -Dtamis.modules.answer=*) answer=${word#*=} ;; esac
done
if [ -z "$answer" ]; then echo "gradle $*" > told; exit 0; fi
echo asked >> ../asked
root=$(pwd -P)
{
    printf 'project\t:\t%s\t%s/build.gradle\ntasks\t:\thelp\n' "$root" "$root"
    for name in a b; do
        printf 'project\t:%s\t%s/%s\t%s/%s/build.gradle\n' $name "$root" $name "$root" $name
        printf 'tasks\t:%s\thelp test\n' $name
    done
    printf 'uses\t:b\tcompile\t:a\t\nend\n'
} > "$answer"
"#;

#[test]
fn gradle_is_asked_once_and_gets_tasks() {
    if !need("git") {
        return;
    }
    let project = committed(&[
        ("settings.gradle", "include 'a', 'b'"),
        ("build.gradle", ""),
        ("a/build.gradle", ""),
        ("b/build.gradle", "dependencies { compile project(':a') }"),
        ("b/src/main/java/B.java", "class B {}"),
        (".gitignore", "told\n"),
        ("gradlew", GRADLE),
    ]);
    let words = |strategy: &'static str| {
        ["--select", strategy, "--since", "HEAD", "./gradlew", "--offline", "test"]
    };
    let told = || std::fs::read_to_string(project.path("told")).unwrap_or_default();
    let nothing = project.tamis(&words("modules"));
    assert_eq!((nothing.code, told().as_str()), (0, ""), "{nothing:?}");
    project.write("b/src/main/java/B.java", "class B { int x; }");
    assert_eq!(plain(&project), ["b"]);
    let got = project.tamis(&words("modules"));
    assert_eq!(got.code, 0, "{got:?}");
    assert!(told().contains("--offline :b:test"), "{} {got:?}", told());
    // The answer was kept; a build script makes it be asked again.
    let asked = || std::fs::read_to_string(project.beside("asked")).unwrap_or_default();
    assert_eq!(asked().lines().count(), 1);
    project.write("a/build.gradle", "// changed");
    assert_eq!(plain(&project), ["a", "b"]);
    assert_eq!(asked().lines().count(), 2);
    // Where it cannot be asked, everything runs.
    project.write(
        "gradlew",
        "#!/bin/sh\ncase \"$*\" in *tamis*) exit 1 ;; esac\necho \"gradle $*\" > told\n",
    );
    let got = project.tamis(&words("hybrid"));
    assert!(
        got.stderr.contains("could not be asked") && got.stderr.contains("everything runs"),
        "{got:?}"
    );
    assert!(told().ends_with("--offline test\n"), "{}", told());
}

#[test]
fn why_names_changed_files_that_are_excluded() {
    if !need("git") {
        return;
    }
    let project = maven();
    project.write("check.sh", "#!/bin/sh\ntrue\n");
    project.write("tamis.toml", "[modules]\nsince = \"HEAD\"\n");
    project.assert_ran(&["./check.sh"]);
    project.write("README.md", "changed");
    let why = project.answer(&["why", "./check.sh"]);
    assert!(why.contains("excluded for modules: README.md ("), "{why}");
    let json = project.answer(&["--json", "why", "./check.sh"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["excluded"][0]["file"], "README.md", "{json}");
}
