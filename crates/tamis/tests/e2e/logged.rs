//! `TAMIS_LOG` answers "why was this file not seen?" (docs/debugging.md), and is silent unless asked.

use tamis_report::exit::MISTAKE;
use tamis_testkit::{Project, ended};

/// Reads a file, one that a rule ignores, and one that it made itself.
fn project() -> Project {
    Project::with(&[
        ("tamis.toml", "[tamis]\nignore = [\"generated/\"]\n"),
        ("a", "1\n"),
        ("generated/list", "1\n"),
        (
            "check.sh",
            "#!/bin/sh\ncat a generated/list\nmkdir out && echo x > out/log\ncat out/log\n",
        ),
    ])
}

#[test]
fn why_a_file_was_not_seen() {
    let mut project = project();
    project.set("TAMIS_LOG", "debug");
    let got = project.tamis(&["./check.sh"]);
    assert_eq!(got.code, 0, "{}", got.stderr);
    let says = |path: &str, what: &str| {
        let path = project.path(path).display().to_string();
        let is_logged = got.stderr.lines().any(|line| line.contains(&path) && line.contains(what));
        assert!(is_logged, "{path}: {what}\n{}", got.stderr);
    };
    says("a", "seen path=");
    says("generated/list", "rule: `ignore` of tamis.toml");
    says("generated/list", "not seen: a rule ignores it");
    says("out/log", "not seen: the test made it itself");
    assert!(got.stderr.contains("engine: asked for by name"), "{}", got.stderr);
    assert!(!got.stderr.contains('\u{1b}'), "no colours but on a terminal");
    assert_eq!(got.text(), "1\n1\nx\n", "what the test prints is left alone");
}

#[test]
fn nothing_is_logged_unless_asked_for() {
    let mut project = project();
    assert!(!project.tamis(&["./check.sh"]).stderr.contains("seen"));
    // That it is on is no change of the environment.
    project.set("TAMIS_LOG", "error");
    project.remove("out");
    project.assert_skipped(&["./check.sh"]);
    project.set("TAMIS_LOG", "tamis=loud");
    let wrong = ended(project.binary().arg("./check.sh"));
    assert_eq!(wrong.code, MISTAKE, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("TAMIS_LOG=tamis=loud"), "{}", wrong.stderr);
}
