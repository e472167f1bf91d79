//! `tamis go test`: the packages of a module are units, run by the real go.
//!
//! What ran is asked of two witnesses that know nothing of each other: the decisions of tamis, and the lines
//! that go itself prints for each package.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use tamis_testkit::{Decided, Ended, Project, need, wait_for};

const ALL: [&str; 3] = ["go", "test", "./..."];

const GO_MOD: &str = "module m\n\ngo 1.20\n";

/// `a` is built from `lib`, `b` reads a file, `c` has no tests, `lib` has its own.
const FILES: &[(&str, &str)] = &[
    ("go.mod", GO_MOD),
    ("README.md", "read me\n"),
    ("lib/lib.go", "package lib\n\nfunc Two() int { return 2 }\n"),
    (
        "lib/lib_test.go",
        "package lib\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal(\"not two\")\n\t}\n}\n",
    ),
    ("a/a.go", "package a\n\nimport \"m/lib\"\n\nfunc Four() int { return lib.Two() * 2 }\n"),
    (
        "a/a_test.go",
        "package a\n\nimport \"testing\"\n\nfunc TestFour(t *testing.T) {\n\tif Four() < 4 {\n\t\tt.Fatal(\"too few\")\n\t}\n}\n",
    ),
    (
        "b/b_test.go",
        "package b\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestData(t *testing.T) {\n\tif _, err := os.ReadFile(\"testdata/b.txt\"); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n",
    ),
    ("b/testdata/b.txt", "data\n"),
    ("c/c.go", "package c\n\nfunc C() {}\n"),
];

const PACKAGES: [&str; 4] = ["m/a", "m/b", "m/c", "m/lib"];

/// A Go module with its surroundings.
struct Module {
    project: Project,
}

/// One call, as tamis and as go see it.
struct Call {
    got: Ended,
    decided: BTreeMap<String, Decided>,
}

impl Module {
    fn new() -> Option<Self> {
        Self::of(FILES)
    }

    fn of(files: &[(&str, &str)]) -> Option<Self> {
        if !need("go") {
            return None;
        }
        let mut project = Project::with(files);
        let beside = project.beside("go-cache");
        // The standard library is compiled once for all tests.
        let all = beside.parent().and_then(|own| own.parent()).expect("a folder of all tests");
        project.set("GOCACHE", all.join("go-cache"));
        for (name, value) in [("GOFLAGS", "-mod=mod"), ("GOPROXY", "off"), ("GOTOOLCHAIN", "local")]
        {
            project.set(name, value);
        }
        Some(Self { project })
    }

    /// With more files.
    fn with(self, files: &[(&str, &str)]) -> Self {
        for (path, content) in files {
            self.project.write(path, content);
        }
        self
    }

    fn call(&self, options: &[&str], words: &[&str]) -> Call {
        let got = self.project.tamis(&[&["--json"], options, &["run", "--"], words].concat());
        let decided = packages(&got);
        Call { got, decided }
    }

    fn run(&self, words: &[&str]) -> Call {
        self.call(&[], words)
    }

    /// Runs everything, which passes, and is skipped as a whole then.
    fn settled(self) -> Self {
        self.run(&ALL).passed();
        self.run(&ALL).passed().ran("settled", &[]);
        self
    }

    /// What `tamis select` says.
    fn selected(&self, words: &[&str]) -> BTreeSet<String> {
        let got = self.project.tamis(&[&["--json", "select", "--"], words].concat());
        names(&packages(&got), true)
    }

    /// After a change: `select` names exactly these packages, the run agrees, and the next one has
    /// nothing to do.
    fn change_runs(&self, what: &str, expected: &[&str]) {
        let set: BTreeSet<String> = expected.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(self.selected(&ALL), set, "{what}: select");
        self.run(&ALL).passed().ran(what, expected);
        self.run(&ALL).passed().ran(&format!("{what}, again"), &[]);
    }
}

fn names(decided: &BTreeMap<String, Decided>, run: bool) -> BTreeSet<String> {
    decided.iter().filter(|(_, d)| d.runs == run).map(|(name, _)| name.clone()).collect()
}

/// The decisions about packages, without that about the command.
fn packages(got: &Ended) -> BTreeMap<String, Decided> {
    got.decisions().into_iter().filter(|(name, _)| !name.starts_with("go test")).collect()
}

impl Call {
    fn code(&self, code: i32) -> &Self {
        assert_eq!(self.got.code, code, "{}\n{:?}", self.got.stderr, self.decided);
        self
    }

    fn passed(&self) -> &Self {
        self.code(0)
    }

    /// The packages for which go printed a line of its own.
    fn printed(&self) -> BTreeSet<String> {
        let result = |line: &str| {
            let mut words = line.split_whitespace();
            let is_result = matches!(words.next()?, "ok" | "FAIL" | "?" | "---");
            words.next().filter(|word| is_result && !word.ends_with(':')).map(str::to_owned)
        };
        self.got.stderr.lines().filter_map(result).filter(|name| name.contains('/')).collect()
    }

    /// Exactly these packages ran, says tamis, and says go.
    fn ran(&self, what: &str, expected: &[&str]) -> &Self {
        let set: BTreeSet<String> = expected.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(
            names(&self.decided, true),
            set,
            "{what}: {:#?}\n{}",
            self.decided,
            self.got.stderr
        );
        assert_eq!(self.printed(), set, "{what}: what go says\n{}", self.got.stderr);
        self
    }

    fn prints(&self, text: &str) -> &Self {
        assert!(self.got.stderr.contains(text), "{text:?} is not in {}", self.got.stderr);
        self
    }
}

#[test]
fn the_first_run_is_that_of_go_and_the_second_does_not_start_it() {
    let Some(module) = Module::new() else { return };
    // What was written in the moment in which go was asked is asked about again.
    std::thread::sleep(std::time::Duration::from_millis(60));
    let first = module.run(&ALL);
    first
        .passed()
        .ran("first", &PACKAGES)
        .prints("?   \tm/c\t[no test files]")
        .prints("ok  \tm/a\t");
    // Every go counts that it was started. A script in its place would not do: what that starts is not
    // known, so go is asked each time.
    let counters = module.project.beside("home/.config/go/telemetry");
    assert!(counters.is_dir(), "nothing shows that go was started");
    std::fs::remove_dir_all(&counters).expect("a folder");
    module.run(&ALL).passed().ran("second", &[]);
    assert!(module.selected(&ALL).is_empty());
    assert!(!counters.exists(), "go was started");
}

#[test]
fn an_edit_runs_the_packages_that_are_made_of_it() {
    let Some(module) = Module::new().map(Module::settled) else { return };
    let project = &module.project;
    project.write("README.md", "another\n");
    module.change_runs("a text that is not read", &[]);
    project.replace("lib/lib.go", "{ return 2 }", "{ return 1 + 1 }");
    module.change_runs("a source that two are built from", &["m/a", "m/lib"]);
    project.replace("a/a.go", "* 2", "+ 2");
    module.change_runs("a source of one", &["m/a"]);
    project.replace("lib/lib_test.go", "not two", "no two");
    module.change_runs("a test is only in its own binary", &["m/lib"]);
    project.write("b/testdata/b.txt", "other data\n");
    module.change_runs("a file that a test reads", &["m/b"]);
    project.write("c/c.go", "package c\n\nfunc C() int { return 1 }\n");
    module.change_runs("a package without tests", &["m/c"]);
    project.write("b/testdata/unread.txt", "x\n");
    module.change_runs("a file that no test reads", &[]);
    project.write("go.mod", GO_MOD.replace("1.20", "1.19"));
    module.change_runs("the language of all", &PACKAGES);
}

#[test]
fn tests_and_packages_come_and_go() {
    let Some(module) = Module::new().map(Module::settled) else { return };
    let project = &module.project;
    project.write(
        "a/more_test.go",
        "package a\n\nimport \"testing\"\n\nfunc TestMore(t *testing.T) {}\n",
    );
    module.change_runs("a new file of tests", &["m/a"]);
    project.write(
        "c/c_test.go",
        "package c\n\nimport \"testing\"\n\nfunc TestC(t *testing.T) { C() }\n",
    );
    module.change_runs("the first tests of a package", &["m/c"]);
    project.write(
        "new/new_test.go",
        "package new\n\nimport \"testing\"\n\nfunc TestNew(t *testing.T) {}\n",
    );
    module.change_runs("a new package", &["m/new"]);
    project.remove("new");
    module.change_runs("a package less", &[]);
    project.remove("a/more_test.go");
    module.run(&ALL).passed();
    module.change_runs("as before", &[]);
}

#[test]
fn what_fails_stays_selected_until_it_is_mended() {
    let Some(module) = Module::new().map(Module::settled) else { return };
    let project = &module.project;
    project.replace("lib/lib_test.go", "!= 2", "!= 3");
    for round in ["red", "still red"] {
        let call = module.run(&ALL);
        call.code(1).ran(round, &["m/lib"]).prints("not two").prints("FAIL\tm/lib");
    }
    assert_eq!(module.selected(&ALL), BTreeSet::from(["m/lib".to_owned()]));
    project.write("README.md", "x\n");
    project.replace("a/a.go", "* 2", "+ 2");
    module.call(&["--failed"], &ALL).code(1).ran("only what failed", &["m/lib"]);
    project.replace("lib/lib_test.go", "!= 3", "!= 2");
    // Taken back: a record proves that it would pass now.
    module.call(&["--failed"], &ALL).passed().ran("mended", &[]);
    module.change_runs("what was not asked for", &["m/a"]);
}

#[test]
fn a_package_that_does_not_compile_fails_and_the_others_are_recorded() {
    let Some(module) = Module::new() else { return };
    let project = &module.project;
    project.replace("lib/lib_test.go", "Two() != 2", "Three() != 2");
    module.run(&ALL).code(1).ran("broken", &PACKAGES).prints("FAIL\tm/lib [build failed]");
    module.run(&ALL).code(1).ran("only the broken one", &["m/c", "m/lib"]);
    project.replace("lib/lib_test.go", "Three() != 2", "Two() != 2");
    module.run(&ALL).passed();
    module.run(&ALL).passed().ran("mended", &[]);
}

#[test]
fn other_flags_are_another_run_and_other_package_lists_are_not() {
    let tagged =
        "//go:build extra\n\npackage b\n\nimport \"testing\"\n\nfunc TestExtra(t *testing.T) {}\n";
    let Some(module) = Module::new() else { return };
    let module = module.with(&[("b/extra_test.go", tagged)]);
    module.run(&["go", "test", "./a"]).passed().ran("one", &["m/a"]);
    module.run(&ALL).passed().ran("the others", &["m/b", "m/c", "m/lib"]);
    module.run(&["go", "test", "./lib", "./a"]).passed().ran("known", &[]);
    let four = ["go", "test", "-run", "Four", "./..."];
    module.run(&four).passed().ran("some tests", &PACKAGES);
    module.run(&four).passed().ran("some tests, again", &[]);
    let tags = ["go", "test", "-tags", "extra", "./..."];
    module.run(&tags).passed().ran("tags", &PACKAGES);
    module.project.replace("b/extra_test.go", "TestExtra", "TestOther");
    module.run(&tags).passed().ran("a file of the tag", &["m/b"]);
    module.run(&ALL).passed().ran("which others do not have", &[]);
    let once = ["go", "test", "-count=1", "./..."];
    module.run(&once).passed().ran("without the cache of go", &PACKAGES);
    module.run(&once).passed().ran("which is not used here", &[]);
    // What other flags recorded is of no interest to a command.
    module.project.write("b/testdata/b.txt", "other data\n");
    assert_eq!(module.selected(&["go", "test", "./a"]), BTreeSet::new());
    assert_eq!(module.selected(&ALL), BTreeSet::from(["m/b".to_owned()]));
    module.run(&["go", "test", "./a"]).passed().ran("not asked for", &[]);
}

#[test]
fn a_failing_package_that_is_deleted_fails_no_more() {
    let Some(module) = Module::new().map(Module::settled) else { return };
    let bad =
        "package bad\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Fatal(\"bad\") }\n";
    module.project.write("bad/bad_test.go", bad);
    module.run(&ALL).code(1).ran("bad", &["m/bad"]);
    module.run(&["go", "test", "./a"]).ran("another list", &[]);
    module.project.remove("bad");
    module.run(&ALL).passed().ran("gone", &[]);
    module.call(&["--failed"], &ALL).passed().ran("nothing failed", &[]);
}

/// A package of one test, which does this.
fn test_of(package: &str, imports: &str, body: &str) -> String {
    let imports: String = imports.split(' ').map(|name| format!("\t{name:?}\n")).collect();
    format!(
        "package {package}\n\nimport (\n{imports})\n\nfunc TestIt(t *testing.T) {{\n\t{body}\n}}\n"
    )
}

#[test]
fn what_a_test_looks_at_while_it_runs_counts() {
    let Some(mut module) = Module::new() else { return };
    let missing = test_of(
        "d",
        "os testing",
        "if _, err := os.Stat(\"../absent\"); err == nil {\n\t\tt.Log(\"there\")\n\t}",
    );
    let variable = test_of("e", "os testing", "t.Log(os.Getenv(\"FLAVOUR\"))");
    let child = test_of(
        "f",
        "os/exec testing",
        "if err := exec.Command(\"cat\", \"../data.txt\").Run(); err != nil {\n\t\tt.Fatal(err)\n\t}",
    );
    let folder = test_of(
        "g",
        "os testing",
        "if _, err := os.ReadDir(\"../listed\"); err != nil {\n\t\tt.Fatal(err)\n\t}",
    );
    module = module.with(&[
        ("d/d_test.go", &missing),
        ("e/e_test.go", &variable),
        ("f/f_test.go", &child),
        ("g/g_test.go", &folder),
        ("data.txt", "data\n"),
        ("listed/one", "1\n"),
    ]);
    let mut module = module.settled();
    module.project.write("absent", "here now\n");
    module.change_runs("a file that was looked for", &["m/d"]);
    module.project.write("data.txt", "other\n");
    module.change_runs("a file that a child reads", &["m/f"]);
    module.project.write("listed/two", "2\n");
    module.change_runs("a folder that is listed", &["m/g"]);
    module.project.set("FLAVOUR", "sweet");
    let call = module.run(&ALL);
    assert!(names(&call.passed().decided, true).contains("m/e"), "{:?}", call.decided);
    module.run(&ALL).passed().ran("the same variable", &[]);
}

#[test]
fn what_a_test_binary_is_built_from_counts_however_it_gets_in() {
    let Some(module) = Module::new() else { return };
    let external = test_of("d_test", "m/only testing", "only.Only()");
    let embed = "package e\n\nimport _ \"embed\"\n\n//go:embed text.txt\nvar Text string\n";
    let module = module.with(&[
        ("only/only.go", "package only\n\nfunc Only() {}\n"),
        ("d/d.go", "package d\n"),
        ("d/d_test.go", &external),
        ("e/text.txt", "embedded\n"),
        ("e/e.go", embed),
        ("e/e_test.go", &test_of("e", "testing", "t.Log(Text)")),
        ("user/user_test.go", &test_of("user", "m/e testing", "t.Log(e.Text)")),
    ]);
    let module = module.settled();
    module.project.write("only/only.go", "package only\n\nfunc Only() int { return 1 }\n");
    module.change_runs("what only an external test imports", &["m/d", "m/only"]);
    module.project.write("e/text.txt", "other\n");
    module.change_runs("an embedded file", &["m/e", "m/user"]);
    module.project.write("only/only_windows.go", "package only\n\nfunc Windows() {}\n");
    module.change_runs("a file that is not built here", &[]);
    module.project.write("d/other_linux.go", "package d\n\nfunc Here() {}\n");
    module.change_runs("a file that is", &["m/d"]);
}

#[test]
fn verbs_agree_with_the_run() {
    let Some(module) = Module::new().map(Module::settled) else { return };
    module.project.replace("a/a.go", "* 2", "+ 2");
    let why = module.project.answer(&["why", "m/a"]);
    assert!(why.contains("m/a") && !why.contains("would not run"), "{why}");
    let why_not = module.project.answer(&["why-not", "m/b"]);
    assert!(why_not.contains("may be skipped"), "{why_not}");
    assert!(module.project.answer(&["why-not", "m/a"]).contains("may not be skipped"));
    let status = module.project.answer(&["status"]);
    assert!(status.contains("2 would run, 3 would be skipped"), "{status}");
    module.call(&["--only", "m/b"], &ALL).passed().ran("not asked for", &[]);
    module.call(&["--all", "--only", "m/b"], &ALL).passed().ran("asked for", &["m/b"]);
    module.change_runs("left for later", &["m/a"]);
}

#[test]
fn a_workspace_of_two_modules() {
    let one = test_of("one", "m/two testing", "two.Two()");
    let files = [
        ("go.work", "go 1.20\n\nuse (\n\t./one\n\t./two\n)\n"),
        ("one/go.mod", "module m/one\n\ngo 1.20\n"),
        ("one/one_test.go", &one),
        ("two/go.mod", "module m/two\n\ngo 1.20\n"),
        ("two/two.go", "package two\n\nfunc Two() {}\n"),
        ("two/two_test.go", &test_of("two", "testing", "Two()")),
    ];
    let Some(mut module) = Module::of(&files) else { return };
    module.project.set("GOFLAGS", "");
    let both = ["go", "test", "./one/...", "./two/..."];
    module.run(&both).passed().ran("first", &["m/one", "m/two"]);
    module.run(&both).passed().ran("second", &[]);
    module.project.replace("two/two_test.go", "Two()", "Two(); Two()");
    module.run(&both).passed().ran("a test of one", &["m/two"]);
    module.project.replace("two/two.go", "Two() {}", "Two() { println() }");
    module.run(&both).passed().ran("a source of both", &["m/one", "m/two"]);
}

/// Waits as long as there is a file.
const HOLD: &str = "for {\n\t\tif _, err := os.Stat(\"../hold\"); err != nil {\n\t\t\treturn\n\t\t}\n\t\ttime.Sleep(10 * time.Millisecond)\n\t}";

#[test]
fn a_killed_tamis_loses_the_package_in_flight_and_no_other() {
    let Some(module) = Module::new() else { return };
    let module = module
        .with(&[("z/z_test.go", &test_of("z", "os testing time", HOLD)), ("hold", "")])
        .with(&[("c/c_test.go", &test_of("c", "testing", "C()"))]);
    let mut tamis = module.project.binary();
    tamis.args(["--engine", "notify", "go", "test", "-p=1", "./..."]);
    let mut tamis = tamis.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let words = ["go", "test", "-p=1", "./..."];
    let in_flight = BTreeSet::from(["m/z".to_owned()]);
    wait_for("the records of the others", || module.selected(&words) == in_flight);
    tamis.kill().expect("it runs");
    tamis.wait().expect("its end");
    module.project.remove("hold");
    module.run(&words).passed().ran("after the kill", &["m/z"]);
    module.run(&words).passed().ran("then", &[]);
}

#[test]
fn a_source_that_changes_while_go_runs_proves_nothing() {
    let edit = "if os.Remove(\"../trigger\") == nil {\n\t\tif err := os.WriteFile(\"../z/z.go\", []byte(\"package z\\n\\nfunc Z() int { return 2 }\\n\"), 0o644); err != nil {\n\t\t\tt.Fatal(err)\n\t\t}\n\t}";
    let Some(module) = Module::new() else { return };
    let module = module.with(&[
        ("aa/aa_test.go", &test_of("aa", "os testing", edit)),
        ("z/z.go", "package z\n\nfunc Z() int { return 1 }\n"),
        ("z/z_test.go", &test_of("z", "testing", "Z()")),
        ("trigger", ""),
    ]);
    module.run(&ALL).passed();
    assert!(module.project.read("z/z.go").contains("return 2"), "it was not edited");
    let again = module.run(&ALL);
    assert!(names(&again.passed().decided, true).contains("m/z"), "{:#?}", again.decided);
    assert!(names(&again.decided, false).contains("m/b"), "{:#?}", again.decided);
    module.run(&ALL).passed();
    module.run(&ALL).passed().ran("settled", &[]);
}

#[test]
fn the_keys_of_a_suite_reach_the_packages_inside_its_command() {
    let suite =
        "[[suite]]\nname = \"go\"\nrun = \"go test ./...\"\nrun-all-on = [\"schema.sql\"]\n";
    let files = [("tamis.toml", suite), ("schema.sql", "1\n")];
    let Some(module) = Module::new().map(|module| module.with(&files)) else { return };
    let project = &module.project;
    let ran = || {
        let got = project.tamis(&["--json"]);
        assert_eq!(got.code, 0, "{}", got.stderr);
        names(&packages(&got), true)
    };
    let all: BTreeSet<String> = PACKAGES.map(str::to_owned).into();
    assert_eq!(ran(), all);
    assert_eq!(ran(), BTreeSet::new());
    project.write("schema.sql", "2\n");
    assert_eq!(ran(), all, "a file that counts for every test of the suite");
    project.write("tamis.toml", format!("{suite}always-run = [\"*\"]\n"));
    assert_eq!(ran(), all, "the suite is never skipped, nor is what is in it");
    assert_eq!(ran(), all);
}

/// Tests, skipped ones, and those that ran, by the last line of JSON.
fn counts(got: &Ended) -> [u64; 3] {
    let last = &got.events("summary")[0];
    ["tests", "skipped", "ran"].map(|name| last[name].as_u64().unwrap())
}

#[test]
fn a_suite_counts_the_packages_inside_its_command_in_every_state() {
    let suite = "[[suite]]\nname = \"go\"\nrun = \"go test ./...\"\n";
    let Some(module) = Module::new().map(|module| module.with(&[("tamis.toml", suite)])) else {
        return;
    };
    let project = &module.project;
    let all = PACKAGES.len() as u64;
    assert_eq!(counts(&project.tamis(&["--json"])), [all, 0, all]);
    let got = project.tamis(&["--json"]);
    assert_eq!(counts(&got), [all, all, 0]);
    let [select, junit] = [["select"].as_slice(), &["--junit", "j.xml"]].map(|w| project.tamis(w));
    let select = select.text() + &select.stderr;
    assert!(select.contains(&format!("{all} would be skipped")), "{select}");
    assert!(junit.stderr.contains(&format!("{all} skipped")), "{}", junit.stderr);
    let junit = std::fs::read_to_string(project.path("j.xml")).unwrap();
    assert_eq!(junit.matches("<skipped").count() as u64, all, "{junit}");
}

#[test]
fn a_failing_package_shows_its_own_message() {
    let Some(module) = Module::new() else { return };
    let failing = test_of("b", "testing", "t.Fatal(\"b is not right\")");
    module.project.write("b/extra_test.go", failing);
    module.project.write("z/z.go", "package z\n\nfunc Z() { missing() }\n");
    let got = module.project.tamis(&ALL);
    assert_eq!(got.code, 1);
    let summary = got.stderr.split("\n  failed:\n").nth(1).unwrap_or_default();
    assert!(summary.contains(": b is not right\n"), "{}", got.stderr);
    assert!(summary.contains("undefined: missing"), "{}", got.stderr);
}

#[test]
fn a_run_that_go_may_answer_from_its_cache_proves_nothing() {
    let Some(module) = Module::new() else { return };
    let words = ["go", "test", "-coverprofile=cover.out", "./..."];
    for _ in 0..2 {
        let got = module.project.tamis(&[&["run", "--"], &words[..]].concat());
        assert_eq!(got.code, 0, "{}", got.stderr);
        assert!(got.stderr.contains("as one command"), "{}", got.stderr);
        assert!(!got.stderr.contains("skipped"), "{}", got.stderr);
    }
}
