//! Records: shared, copied, damaged, interrupted.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use tamis_testkit::{Project, ended, need, wait_for};

#[test]
fn two_at_once_in_one_folder() {
    let project = Project::with(&[(
        "tamis.toml",
        "[[suite]]\nname = \"s\"\neach = \"t/*.sh\"\nrun = \"sh {}\"\n",
    )]);
    for n in 0..10 {
        project.write(format!("t/{n}.sh"), format!("cat d/{n}\n"));
        project.write(format!("d/{n}"), "1\n");
    }
    let start = |words: &[&str]| -> Child {
        let mut command = project.binary();
        command.args(words).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().expect("tamis starts")
    };
    let both = [start(&[]), start(&[]), start(&["--all"])];
    for child in both {
        let got = child.wait_with_output().expect("an end");
        let printed = String::from_utf8_lossy(&got.stderr).into_owned();
        assert!(got.status.success() && !printed.contains("not recorded"), "{printed}");
    }
    assert!(project.ran().is_empty());
    project.write("d/3", "2\n");
    assert_eq!(project.ran(), ["t/3.sh"]);
}

fn slow_suite() -> Project {
    Project::with(&[
        (
            "tamis.toml",
            "[[suite]]\nname = \"s\"\neach = [\"1\", \"2\", \"3\", \"4\"]\nrun = \"sh run.sh {}\"\njobs = 1\n",
        ),
        // The third one waits for ever, and so does its child.
        ("run.sh", "if [ $1 = 3 ]; then echo $$ > pids; sh -c 'echo $$ >> pids; sleep 1000'; fi\n"),
    ])
}

fn start_and_wait_for_the_third(project: &Project) -> (Child, Vec<i32>) {
    let mut command = project.binary();
    command.args(["-j1"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().expect("tamis starts");
    let pids = || -> Vec<i32> {
        let text = fs::read_to_string(project.path("pids")).unwrap_or_default();
        text.lines().filter_map(|l| l.parse().ok()).collect()
    };
    wait_for("the third test", || pids().len() == 2);
    (child, pids())
}

fn is_running(pid: i32) -> bool {
    // A zombie that is not reaped yet does nothing any more.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: signals a child of ours that was not reaped yet.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn an_interruption_keeps_what_finished_and_ends_the_children() {
    let project = slow_suite();
    let (child, pids) = start_and_wait_for_the_third(&project);
    signal(&child, libc::SIGINT);
    let got = child.wait_with_output().expect("an end");
    let printed = String::from_utf8_lossy(&got.stderr).into_owned();
    assert_eq!(got.status.code(), Some(130), "{printed}");
    assert!(printed.contains("interrupted"), "{printed}");
    wait_for("the end of the children", || !pids.iter().any(|&pid| is_running(pid)));
    assert_eq!(project.selected(), ["3", "4"]);
}

#[test]
fn a_kill_loses_only_what_was_in_flight() {
    let project = slow_suite();
    let (mut child, pids) = start_and_wait_for_the_third(&project);
    // The third may run while the second is being written down.
    wait_for("two records", || project.tamis(&["--json", "history"]).lines().len() == 2);
    signal(&child, libc::SIGKILL);
    child.wait().expect("an end");
    assert_eq!(project.selected(), ["3", "4"]);
    wait_for("the end of the children", || !pids.iter().any(|&pid| is_running(pid)));
    project.write("run.sh", "true\n");
    assert_eq!(project.ran().len(), 4);
    assert!(project.ran().is_empty());
}

/// All files below a folder.
fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        if entry.file_type().expect("its kind").is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn damaged_records_run_everything_with_one_clear_line() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 4] = [
        ("all zero", |b| b.fill(0)),
        ("cut", |b| b.truncate(b.len() / 2)),
        ("empty", Vec::clear),
        ("noise in the middle", |b| {
            let from = b.len() / 3;
            let to = b.len() * 2 / 3;
            b[from..to].iter_mut().enumerate().for_each(|(n, x)| *x = (n * 31) as u8);
        }),
    ];
    for (what, damage) in damages {
        let project = Project::with(&[
            (
                "tamis.toml",
                "[tamis]\nstore = \".records\"\n[[suite]]\nname = \"s\"\neach = [\"a\", \"b\"]\nrun = \"cat {}\"\n",
            ),
            ("a", "1\n"),
            ("b", "2\n"),
        ]);
        assert_eq!(project.ran().len(), 2);
        assert!(project.ran().is_empty());
        for file in files(&project.path(".records")) {
            let mut bytes = fs::read(&file).expect("a file of the store");
            damage(&mut bytes);
            fs::write(&file, bytes).expect("damage");
        }
        let got = project.tamis(&["--json"]);
        assert_eq!(got.code, 0, "{what}: {}", got.stderr);
        assert_eq!(got.events("finished").len(), 2, "{what}: {}", got.stderr);
        let printed = got.stderr.lines().filter(|l| l.starts_with("tamis: the records")).count();
        if what != "empty" {
            assert_eq!(printed, 1, "{what}: {}", got.stderr);
        }
        assert!(!got.stderr.contains("panicked"), "{what}: {}", got.stderr);
        assert!(project.ran().is_empty(), "{what}: recorded again");
    }
}

#[test]
fn a_damaged_fingerprint_cache_is_no_trap() {
    let project = Project::with(&[("check.sh", "#!/bin/sh\ncat data\n"), ("data", "1\n")]);
    let check = ["./check.sh"];
    project.assert_ran(&check);
    project.assert_skipped(&check);
    let cache = project.beside("home/.cache/tamis/fingerprints");
    let whole = fs::read(&cache).expect("the cache");
    for size in [0, 1, whole.len() / 2, whole.len() - 1] {
        fs::write(&cache, &whole[..size]).expect("damage");
        project.assert_skipped(&check);
    }
    let noise: Vec<u8> = whole.iter().map(|b| b ^ 0x55).collect();
    fs::write(&cache, noise).expect("damage");
    project.assert_skipped(&check);
    project.write("data", "2\n");
    project.assert_ran(&check);
}

#[test]
fn a_store_that_cannot_be_written_runs_the_tests() {
    let project = Project::with(&[("check.sh", "#!/bin/sh\necho ran\n"), ("file", "")]);
    // A file where a folder must be: refused for everybody, root as well.
    for _ in 0..2 {
        let got = project.tamis(&["--store", "file/below", "./check.sh"]);
        assert_eq!((got.code, got.text().as_str()), (0, "ran\n"), "{}", got.stderr);
        assert!(got.stderr.contains("nothing is recorded"), "{}", got.stderr);
    }
    // SAFETY: geteuid has no precondition.
    if unsafe { libc::geteuid() } == 0 {
        tamis_testkit::not_here("root writes in a read-only folder");
        return;
    }
    fs::create_dir(project.path("locked")).expect("a folder");
    fs::set_permissions(project.path("locked"), fs::Permissions::from_mode(0o555)).expect("chmod");
    for _ in 0..2 {
        let got = project.tamis(&["--store", "locked/store", "./check.sh"]);
        assert_eq!((got.code, got.text().as_str()), (0, "ran\n"), "{}", got.stderr);
    }
}

#[test]
fn a_store_in_the_project_is_no_input() {
    let project = Project::with(&[
        ("tamis.toml", "[tamis]\nstore = \".records\"\n"),
        ("check.sh", "#!/bin/sh\nls -a . >/dev/null; find . -type f >/dev/null\n"),
    ]);
    project.assert_ran(&["./check.sh"]);
    project.assert_skipped(&["./check.sh"]);
    project.tamis(&["true"]);
    project.assert_skipped(&["./check.sh"]);
}

#[test]
fn a_copied_store_works_in_a_copied_project() {
    let project = Project::with(&[
        (
            "tamis.toml",
            "[tamis]\nstore = \".records\"\n[[suite]]\nname = \"s\"\neach = \"t/*.sh\"\nrun = \"sh {}\"\n",
        ),
        ("t/a.sh", "cat data\npwd > /dev/null\n[ -e ../nothing-here ]; true\n"),
        ("t/b.sh", "cat \"$PWD/data\"; ls \"$HOME\"; [ -e \"$HOME/.rc\" ] || echo none\n"),
        ("data", "1\n"),
    ]);
    assert_eq!(project.ran().len(), 2);
    let copy = project.copied();
    assert!(copy.ran().is_empty(), "{:?}", copy.select(&[]));
    copy.write("data", "2\n");
    assert_eq!(copy.ran().len(), 2);
    assert!(project.ran().is_empty(), "the first one has its own records");
}

#[test]
fn work_trees_of_one_repository_share_their_records() {
    if !need("git") {
        return;
    }
    let project = Project::with(&[("check.sh", "#!/bin/sh\ncat data\n"), ("data", "1\n")]);
    project.git(&["init", "-q", "-b", "main"]);
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "one"]);
    project.git(&["worktree", "add", "-q", "../tree", "-b", "other"]);
    project.assert_ran(&["./check.sh"]);
    let tree = project.beside("tree");
    let there = || ended(project.seen_from(&tree).args(["./check.sh"]));
    assert_eq!(there().text(), "", "skipped by the record of the main tree");
    fs::write(tree.join("data"), "2\n").expect("an edit");
    assert_eq!(there().text(), "2\n");
    project.assert_skipped(&["./check.sh"]);
    project.write("data", "2\n");
    project.assert_skipped(&["./check.sh"]);
}

#[test]
fn a_branch_and_back_again() {
    if !need("git") {
        return;
    }
    let project = Project::with(&[
        (
            "tamis.toml",
            "[[suite]]\nname = \"s\"\neach = [\"a\", \"b\", \"c\"]\nrun = \"sh -c 'cat {}; ls d'\"\n",
        ),
        ("a", "1"),
        ("b", "1"),
        ("c", "1"),
        ("d/x", ""),
    ]);
    project.git(&["init", "-q", "-b", "main"]);
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "one"]);
    assert_eq!(project.ran().len(), 3);
    project.git(&["checkout", "-qb", "other"]);
    assert!(project.ran().is_empty());
    project.write("a", "2");
    project.git(&["commit", "-qam", "two"]);
    assert_eq!(project.ran(), ["a"]);
    project.write("d/y", "");
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "three"]);
    assert_eq!(project.ran().len(), 3);
    for branch in ["main", "other", "main", "other"] {
        project.git(&["checkout", "-q", branch]);
        assert!(project.ran().is_empty(), "{branch} was tested before");
    }
}

#[test]
fn without_git_the_folder_is_the_project() {
    let mut project = Project::with(&[("check.sh", "#!/bin/sh\ncat data\n"), ("data", "1\n")]);
    project.set("PATH", "/nowhere");
    project.assert_ran(&["/bin/sh", "check.sh"]);
    project.set("PATH", "/usr/bin:/bin");
    project.assert_ran(&["/bin/sh", "check.sh"]);
    project.assert_skipped(&["/bin/sh", "check.sh"]);
    let shown = project.answer(&["status"]);
    assert!(
        shown.contains(project.path("").to_str().expect("text").trim_end_matches('/')),
        "{shown}"
    );
}
