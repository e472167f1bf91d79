//! What tamis leaves behind, and what it finds: processes after a Ctrl-C, stores of other versions and
//! of other users.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tamis_testkit::{Project, wait_for};

/// Ends by its own will, and with success, when it is interrupted; its children do not.
const INTERRUPTED: &str = "#!/bin/sh
trap 'echo cleaned >cleaned; exit 0' INT
sleep 1000 & echo $! >>pids
setsid sleep 1001 & echo $! >>pids
while [ ! -s cleaned ]; do sleep 0.05; done
";

fn is_running(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn after_ctrl_c_no_process_and_no_record_is_left() {
    for engine in ["auto", "notify", "ptrace"] {
        let project = Project::with(&[("slow.sh", INTERRUPTED)]);
        let mut command = project.binary();
        command.args(["--engine", engine, "./slow.sh"]).process_group(0);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a start");
        let pids = || fs::read_to_string(project.path("pids")).unwrap_or_default();
        wait_for("its processes", || pids().lines().count() == 2);
        // SAFETY: signals the process group that this test has made, as a terminal does.
        assert_eq!(unsafe { libc::kill(-(child.id() as i32), libc::SIGINT) }, 0);
        let got = child.wait_with_output().expect("an end");
        let text = String::from_utf8_lossy(&got.stderr).into_owned();
        assert_eq!(got.status.code(), Some(130), "{engine}: {text}");
        assert!(project.path("cleaned").exists(), "{engine}: it had no time to clean up");
        assert!(!pids().lines().any(is_running), "{engine}: {}", pids());
        let records = project.tamis(&["--json", "history"]).lines().len();
        assert_eq!(records, 0, "{engine}: what was interrupted has not passed");
    }
}

/// All files below a folder with their bytes.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push((entry.path(), fs::read(entry.path()).expect("bytes"))),
        }
    }
    found.sort();
    found
}

#[test]
fn a_store_of_a_newer_tamis_is_refused_by_every_verb_and_not_touched() {
    let project = Project::with(&[
        ("tamis.toml", "[tamis]\nstore = \".records\"\n"),
        ("check.sh", "#!/bin/sh\ncat data\n"),
        ("data", "1\n"),
    ]);
    project.assert_ran(&["./check.sh"]);
    let database = project.path(".records/tamis.db");
    let mut bytes = fs::read(&database).expect("the store");
    bytes[60..64].copy_from_slice(&99_i32.to_be_bytes());
    fs::write(&database, bytes).expect("a newer version");
    let before = files(&project.path(".records"));
    let verbs: [&[&str]; 11] = [
        &["./check.sh"],
        &["--all", "./check.sh"],
        &["select", "./check.sh"],
        &["why", "./check.sh"],
        &["why-not", "./check.sh"],
        &["deps", "./check.sh"],
        &["status"],
        &["history"],
        &["forget", "./check.sh"],
        &["clean"],
        &["clean", "--old"],
    ];
    for words in verbs {
        let got = project.tamis(words);
        assert_eq!((got.code, got.text().as_str()), (125, ""), "{words:?}: {}", got.stderr);
        assert!(got.stderr.contains("newer tamis (format 99"), "{words:?}: {}", got.stderr);
        assert_eq!(got.stderr.lines().count(), 1, "{words:?}: {}", got.stderr);
    }
    let doctor = project.tamis(&["doctor"]);
    assert!(doctor.code == 1 && doctor.text().contains("format 99"), "{}", doctor.text());
    assert_eq!(files(&project.path(".records")), before);
}

#[test]
fn a_place_that_others_can_write_is_not_used_and_everything_runs() {
    let project = Project::with(&[("check.sh", "#!/bin/sh\necho ran\n")]);
    project.assert_ran(&["./check.sh"]);
    project.assert_skipped(&["./check.sh"]);
    let cache = project.beside("home/.cache");
    fs::set_permissions(&cache, Permissions::from_mode(0o777)).expect("chmod");
    for _ in 0..2 {
        let got = project.tamis(&["./check.sh"]);
        assert_eq!((got.code, got.text().as_str()), (0, "ran\n"), "{}", got.stderr);
        let about = got.stderr.lines().filter(|l| l.contains("can be written by other users"));
        assert_eq!(about.count(), 1, "{}", got.stderr);
        assert!(got.stderr.contains("--store"), "{}", got.stderr);
    }
    assert_eq!(project.tamis(&["status"]).code, 125);
    fs::set_permissions(&cache, Permissions::from_mode(0o700)).expect("chmod");
    project.assert_skipped(&["./check.sh"]);
}

#[test]
fn what_tamis_makes_is_for_the_user_alone_whatever_the_umask() {
    let project = Project::with(&[("check.sh", "#!/bin/sh\nls >/dev/null\n")]);
    let mut command = project.binary();
    // SAFETY: umask is safe between fork and exec.
    unsafe {
        command.arg("./check.sh").pre_exec(|| {
            libc::umask(0);
            Ok(())
        })
    };
    assert!(command.stderr(Stdio::null()).status().expect("an end").success());
    let mut folders = vec![project.beside("home/.cache/tamis")];
    while let Some(folder) = folders.pop() {
        assert_eq!(folder.metadata().expect("a folder").mode() & 0o777, 0o700, "{folder:?}");
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            match entry.path().is_dir() {
                true => folders.push(entry.path()),
                false => {
                    let mode = entry.metadata().expect("a file").mode() & 0o777;
                    assert_eq!(mode, 0o600, "{:?}", entry.path());
                }
            }
        }
    }
}
