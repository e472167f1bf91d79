//! What is left of a tree: all of it where the command ended by itself, nothing after a stop.

use crate::common::{available, command, found, run};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use tamis_testkit::wait_for;
use tamis_trace::{Ending, Engine, Event, proc};

fn pids(file: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Runs a script in a folder of its own, and stops it when it has written the numbers of so many
/// processes. None of them is there afterwards.
fn stopped(engine: &dyn Engine, script: &str, processes: usize) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pids");
    let mut command = command(&["/bin/sh", "-c", script]);
    command.folder = dir.path().to_path_buf();
    let stop = AtomicBool::new(false);
    let ending = std::thread::scope(|scope| {
        let run = scope.spawn(|| engine.run(command, &mut |_: Event<'_>| {}, &stop).unwrap());
        wait_for("the processes", || pids(&file).len() == processes || run.is_finished());
        stop.store(true, Ordering::Relaxed);
        run.join().unwrap().ending
    });
    assert_eq!(ending, Ending::Interrupted, "{}: {script}", engine.name());
    let alive: Vec<u32> = pids(&file).into_iter().filter(|&pid| proc::is_alive(pid)).collect();
    assert_eq!(alive, Vec::<u32>::new(), "{}: {script}", engine.name());
}

#[test]
fn a_stop_leaves_nothing_of_the_tree() {
    let scripts = [
        ("echo $$ >>pids; exec sleep 60", 1),
        ("sleep 60 & echo $! >>pids; sleep 61 & echo $! >>pids; wait", 2),
        // In a session of its own, and without its parent.
        ("setsid sh -c 'echo $$ >>pids; exec sleep 60' & sleep 60", 1),
        ("(setsid sh -c 'echo $$ >>pids; exec sleep 60' &) ; sleep 60", 1),
        // Deaf to everything but SIGKILL, on two levels.
        ("trap '' INT TERM HUP; echo $$ >>pids; sh -c 'echo $$ >>pids; sleep 60; sleep 60'", 2),
        // Starts others on its way out.
        (
            "trap 'sleep 60 & echo $! >>pids; exit 0' TERM; echo $$ >>pids; while :; do sleep 0.1; done",
            1,
        ),
        // The command has ended, and what it left is still waited for.
        ("setsid sleep 60 & echo $! >>pids", 1),
    ];
    std::thread::scope(|scope| {
        for engine in available() {
            scope.spawn(move || {
                scripts.iter().for_each(|(script, n)| stopped(engine.as_ref(), script, *n));
            });
        }
    });
}

/// A program that threads and children go on working in, file by file, until it is asked to end.
const BUSY: &str = r#"
import os, threading, time, sys
def work(name):
    n = 0
    while n < 6000 and not os.path.exists("end"):
        n += 1
        with open(name + ".new", "w") as f: f.write(str(n))
        os.rename(name + ".new", name)
        if n % 20 == 0:
            pid = os.fork()
            if pid == 0:
                os.stat("/etc/hostname"); os._exit(0)
            os.waitpid(pid, 0)
        time.sleep(0.005)
if os.fork(): os._exit(0)
os.setsid()
for name in ("one", "two", "three"): threading.Thread(target=work, args=(name,)).start()
"#;

fn number(file: &Path) -> u32 {
    std::fs::read_to_string(file).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[test]
fn what_a_command_leaves_running_goes_on_with_all_its_threads() {
    let Some(python) = found("python3") else { return };
    for engine in available() {
        let dir = tempfile::tempdir().unwrap();
        let mut busy = command(&[&python, "-c", BUSY]);
        busy.folder = dir.path().to_path_buf();
        // Its threads may complain that the folder is gone in the end.
        busy.stderr = Some(std::fs::File::create("/dev/null").unwrap().into());
        let (finish, _) = run(engine.as_ref(), busy);
        assert_eq!(finish.ending, Ending::Exited(0));
        assert!(!finish.left_running.is_empty() && !finish.ended_survivors, "{finish:?}");
        let files = ["one", "two", "three"].map(|name| dir.path().join(name));
        let then = files.each_ref().map(|file| number(file));
        // Far enough that each has started a child since.
        let went_on = || files.iter().zip(then).all(|(file, then)| number(file) > then + 25);
        wait_for(&format!("progress after {}", engine.name()), went_on);
        std::fs::write(dir.path().join("end"), "").unwrap();
    }
}

#[test]
fn a_stopped_process_stays_stopped_until_it_is_continued() {
    let script = "sh -c 'echo $$ >pids; kill -STOP $$; cat /etc/hostname >after' >/dev/null 2>&1 &
                  while [ ! -s pids ]; do sleep 0.01; done";
    for engine in available() {
        let dir = tempfile::tempdir().unwrap();
        let mut stops = command(&["/bin/sh", "-c", script]);
        stops.folder = dir.path().to_path_buf();
        let (finish, _) = run(engine.as_ref(), stops);
        assert!(!finish.left_running.is_empty() && !finish.ended_survivors, "{finish:?}");
        let pid = pids(&dir.path().join("pids"))[0];
        assert!(proc::is_alive(pid) && !dir.path().join("after").exists(), "{}", engine.name());
        // SAFETY: continues a process of this test.
        unsafe { libc::kill(pid as libc::pid_t, libc::SIGCONT) };
        wait_for("it to go on", || dir.path().join("after").metadata().is_ok_and(|m| m.len() > 0));
    }
}
