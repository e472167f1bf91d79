//! `tamis report`: what it writes, and that it is about the last runs whatever came between.

use std::fs;
use tamis_report::exit::MISTAKE;
use tamis_report::kept::KeptRun;
use tamis_store::Store;
use tamis_testkit::Project;

fn project() -> Project {
    let mut project = Project::with(&[
        ("tamis.toml", "[[suite]]\nname = \"shell\"\neach = \"tests/*.sh\"\nrun = \"sh {}\"\n"),
        ("tests/one.sh", "cat data/one\n"),
        (
            "tests/two.sh",
            "cat data/two; grep -q 2 data/two || { echo \"Error: no <2> here\"; exit 1; }\n",
        ),
        ("data/one", "1\n"),
        ("data/two", "2\n"),
        ("check.sh", "#!/bin/sh\ncat data/one\n"),
    ]);
    let store = project.beside("records");
    project.set("TAMIS_STORE", &store);
    project
}

/// The runs that are kept, newest first: what was called, and ran, failed and skipped tests.
fn kept(project: &Project) -> Vec<(String, [u64; 3])> {
    let (store, _) = Store::open(&project.beside("records")).expect("a store");
    let mut runs: Vec<KeptRun> =
        store.last_runs().iter().map(|bytes| KeptRun::from_bytes(bytes).expect("a run")).collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.called.at_ms));
    let figures = |run: &KeptRun| [run.figures.ran, run.figures.failed, run.figures.skipped];
    let name = |run: &KeptRun| {
        [std::slice::from_ref(&run.called.name), run.called.options.as_slice()].concat().join(" ")
    };
    runs.iter().map(|run| (name(run), figures(run))).collect()
}

#[test]
fn nothing_is_recorded_yet() {
    let project = project();
    let got = project.tamis(&["report"]);
    assert_eq!(got.code, MISTAKE);
    assert!(got.stderr.contains("nothing is recorded for this project yet"), "{}", got.stderr);
    assert!(!project.path("tamis-report").exists());
}

#[test]
fn each_call_has_its_last_run_and_a_part_does_not_replace_the_whole() {
    let project = project();
    let suites = "the suites of tamis.toml";
    project.tamis::<&str>(&[]);
    assert_eq!(kept(&project), [(suites.into(), [2, 0, 0])]);
    project.write("data/two", "3\n");
    // With JUnit's report, what a test prints is collected also where it runs alone.
    assert_eq!(project.tamis(&["--junit", "../junit.xml"]).code, 1);
    project.tamis(&["--only", "one"]);
    project.tamis(&["./check.sh"]);
    // Questions are no runs.
    for words in [&["select"][..], &["status"], &["why", "shell::tests/one.sh"], &["report"]] {
        project.tamis(words);
    }
    let expected = [
        ("./check.sh".to_owned(), [1, 0, 0]),
        (format!("{suites} --only one"), [0, 0, 1]),
        (suites.to_owned(), [1, 1, 1]),
    ];
    assert_eq!(kept(&project), expected);
    let summary = fs::read_to_string(project.path("tamis-report/summary.md")).expect("Markdown");
    for part in [
        "### ❌ 1 of 1 test that ran failed",
        "1 of 2 tests ran · 1 skipped with proof",
        "- **shell::tests/two.sh**: Error: no &lt;2&gt; here",
        "| data/two changed | 1 |",
        "### ⚠️ Nothing had to run; 1 still failing",
        "(index.html)",
    ] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    let comment = fs::read_to_string(project.path("tamis-report/comment.md")).expect("Markdown");
    assert!(comment.contains("./check.sh: 1 of 1 test ran"), "{comment}");
    // Forgetting a test takes nothing from the run that was.
    project.tamis(&["forget", "shell::tests/one.sh"]);
    assert_eq!(kept(&project).last(), Some(&(suites.to_owned(), [1, 1, 1])));
    project.tamis(&["clean"]);
    assert_eq!(kept(&project), []);
}

#[test]
fn the_page_knows_no_place_of_this_machine() {
    let project = project();
    project.tamis::<&str>(&[]);
    let out = project.beside("out");
    let got = project.tamis(&[
        "--json",
        "report",
        "-o",
        out.to_str().expect("text"),
        "--link",
        "https://ci.example/1",
    ]);
    assert_eq!(got.code, 0, "{}", got.stderr);
    let line = &got.lines()[0];
    assert_eq!(
        (line["event"].as_str(), line["tests"].as_u64(), line["runs"].as_u64()),
        (Some("report"), Some(2), Some(1))
    );
    let page = fs::read_to_string(out.join("index.html")).expect("a page");
    assert!(
        page.contains("<h1>All 2 tests that ran passed</h1>"),
        "{}",
        &page[..2_000.min(page.len())]
    );
    assert!(page.contains("default-src 'none'"), "it may open no connection");
    let base = project.beside("");
    assert!(
        !page.contains(base.to_str().expect("text")),
        "the page names a folder of this machine"
    );
    assert!(
        fs::read_to_string(out.join("summary.md"))
            .expect("Markdown")
            .contains("(https://ci.example/1)")
    );
}

#[test]
fn what_cannot_be_written_or_shown_is_reported() {
    let mut project = project();
    project.tamis::<&str>(&[]);
    let got = project.tamis(&["report", "-o", "data/one"]);
    assert_eq!(got.code, MISTAKE);
    assert!(got.stderr.contains("the report cannot be written to data/one"), "{}", got.stderr);
    assert_eq!(project.tamis(&["--all", "report"]).code, MISTAKE);
    // Nothing to show it with: the page is there all the same.
    let tamis_alone = project.beside("empty");
    fs::create_dir_all(&tamis_alone).expect("a folder");
    project.set("PATH", tamis_alone.as_os_str());
    let got = project.tamis(&["report", "--open"]);
    assert_eq!((got.code, got.text().as_str()), (0, "tamis-report/index.html\n"), "{}", got.stderr);
    assert!(got.stderr.contains("there is no xdg-open here; open "), "{}", got.stderr);
}
