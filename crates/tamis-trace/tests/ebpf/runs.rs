//! Whole runs: endings, several at once, strangers, load.

use super::*;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tamis_trace::Ending;

#[test]
fn endings() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    assert_eq!(place.shell(engine, "exit 7").finish.ending, Ending::Exited(7));
    assert_eq!(place.shell(engine, "kill -9 $$").finish.ending, Ending::Signalled(9));
    let mut command = place.command(&["sh", "-c", "sleep 50 & sleep 60; true"]);
    command.timeout = Some(Duration::from_millis(200));
    let trace = run(engine, command);
    assert_eq!(trace.finish.ending, Ending::TimedOut);
    assert!(trace.finish.left_running.is_empty());
}

#[test]
fn the_user_can_stop_it() {
    let Some(engine) = engine() else { return };
    let stop = AtomicBool::new(false);
    let mut sink = |_: Event<'_>| stop.store(true, Ordering::Relaxed);
    let place = Place::new();
    let finish = engine.run(place.command(&["sleep", "60"]), &mut sink, &stop).unwrap();
    assert_eq!(finish.ending, Ending::Interrupted);
}

#[test]
fn runs_at_the_same_time_keep_apart() {
    let Some(engine) = engine() else { return };
    std::thread::scope(|scope| {
        for n in 0..6 {
            scope.spawn(move || {
                let place = Place::new();
                let mut script = String::new();
                for i in 0..100 {
                    script.push_str(&format!("test -e /apart/{n}/{i}\n"));
                }
                let trace = place.shell(engine, &script);
                let mine: Vec<&Seen> =
                    trace.events.iter().filter(|e| e.path.starts_with(b"/apart/")).collect();
                let prefix = format!("/apart/{n}/");
                assert_eq!(mine.len(), 100);
                assert!(mine.iter().all(|e| e.path.starts_with(prefix.as_bytes())));
                trace.is_complete();
            });
        }
    });
}

#[test]
fn strangers_do_not_leak_in() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // This process, which is the parent of the tree, is not in it.
                let _ = fs::metadata("/stranger/self");
                std::process::Command::new("test")
                    .args(["-e", "/stranger/child"])
                    .status()
                    .unwrap();
            }
        });
        let trace = place.shell(engine, "sleep 0.3; test -e /own");
        done.store(true, Ordering::Relaxed);
        trace.one("stat", "/own");
        assert!(!trace.events.iter().any(|e| e.path.starts_with(b"/stranger")));
        trace.is_complete();
    });
}

#[test]
fn a_storm_of_calls_is_seen_whole() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let Some(trace) = place.c(
        engine,
        r#"
        char name[64];
        for (int p = 0; p < 2; p++) if (!fork()) {
            for (int i = 0; i < 150000; i++) { sprintf(name, "/storm/%d/%d", p, i); access(name, R_OK); }
            _exit(0);
        }
        wait(0); wait(0);
        "#,
    ) else {
        return;
    };
    let count = trace.events.iter().filter(|e| e.path.starts_with(b"/storm/")).count();
    let lost = trace.blind().iter().any(|b| b.starts_with("Lost"));
    // A machine that is too busy to read may lose some, but never without saying so.
    assert!(count == 300_000 || lost, "{count} of 300000, {:?}", trace.blind());
}

#[test]
fn reads_of_standard_input_are_reported_when_asked() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let input = || {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"x\n").unwrap();
        reader
    };
    let blind_of = |script: &str, watch: bool| {
        let mut command = place.command(&["sh", "-c", script]);
        command.stdin = Some(input().into());
        command.watch_stdin = watch;
        let trace = run(engine, command);
        assert_eq!(trace.finish.ending, Ending::Exited(0));
        trace.blind()
    };
    assert_eq!(blind_of("read x; test $x = x", true), ["StandardInput"]);
    assert_eq!(blind_of("exec 3<&0 </dev/null; read x <&3", true), ["StandardInput"]);
    assert_eq!(blind_of("echo y | cat >/dev/null", true), Vec::<String>::new());
    assert_eq!(blind_of("read x; test $x = x", false), Vec::<String>::new());
}

#[test]
fn what_lives_on_is_named_and_no_longer_followed() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let later = place.join("later");
    let trace = place.shell(engine, "(sleep 3; test -e /too-late; echo >later) >/dev/null 2>&1 &");
    assert_eq!(trace.finish.ending, Ending::Exited(0));
    assert!(!trace.finish.left_running.is_empty());
    assert!(trace.all("stat", "/too-late").is_empty());
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while !later.exists() {
        assert!(std::time::Instant::now() < deadline, "the survivor could not go on");
        std::thread::sleep(Duration::from_millis(50));
    }
}
