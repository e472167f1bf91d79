//! Cases x engines: whether tamis would skip a test where nothing changed, and after a change. The
//! same answer from every engine.
//!
//! `cargo test -p tamis-observe --test matrix -- --nocapture` prints it.

mod cases;
mod moves;
mod stage;
mod strange;
mod ways;

use cases::{Answer, CONNECTIONS, Case, FILES, OWN_SERVERS};
use moves::{KINDS, MOUNTS, MOVES, PLACES};
use stage::{LATE, Streams};
use std::fmt::Write;
use strange::{MEANWHILE, NAMES, PROC, RARE, WALKS};
use ways::WAYS;

const ENGINES: [&str; 5] = ["ebpf", LATE, "notify", "patch", "ptrace"];

/// What one engine says about a case, and why.
struct Cell {
    again: Answer,
    changed: Answer,
    why: String,
}

#[test]
fn connections() {
    check("connections", CONNECTIONS);
}

#[test]
fn own_servers() {
    check("the test's own servers", OWN_SERVERS);
}

#[test]
fn files() {
    check("files", FILES);
}

#[test]
fn ways() {
    check("ways to look", WAYS);
}

#[test]
fn moves() {
    check("names that the test moves", MOVES);
}

#[test]
fn places() {
    check("where a process stands, and what it holds", PLACES);
}

#[test]
fn kinds() {
    check("what is at a path", KINDS);
}

#[test]
fn names() {
    check("names", NAMES);
}

#[test]
fn ways_through_proc() {
    check("ways through /proc", PROC);
}

#[test]
fn meanwhile() {
    check("what somebody else changes meanwhile", MEANWHILE);
}

#[test]
fn walks() {
    check("tools that walk", WALKS);
}

#[test]
fn rare() {
    check("rare calls", RARE);
}

/// A path through a process that has mounts of its own leads elsewhere than it does for us.
#[test]
fn mounts_of_others() {
    let allowed = std::process::Command::new("unshare").args(["-rm", "true"]).status();
    if !allowed.is_ok_and(|done| done.success()) {
        return println!("not tried: this user may make no mount name space");
    }
    check("mounts of others", MOUNTS);
}

/// What a test asks about its standard streams counts if it shares them with tamis.
#[test]
fn streams() {
    let input = "whether standard input is a terminal";
    let terminal = "whether there is a terminal (/dev/tty)";
    for engine in ENGINES.into_iter().filter(|e| works(e)) {
        let inherited = |script| stage::facts(engine, script, Streams::Inherited);
        assert_eq!(inherited("[ -t 0 ]"), [input], "{engine}");
        assert_eq!(inherited("[ -p /dev/stdin ]"), ["the kind of standard input"], "{engine}");
        assert_eq!(inherited("cat /dev/tty || :"), [terminal], "{engine}");
        assert_eq!(inherited("[ -t 0 ] </dev/zero"), [""; 0], "{engine}: its own");
        assert_eq!(inherited("true"), [""; 0], "{engine}: nobody asks");
        let given = stage::facts(engine, "[ -t 0 ]; [ -p /dev/stdin ]", Streams::Given);
        assert_eq!(given, [""; 0], "{engine}: always the same");
    }
}

fn check(title: &str, cases: &[Case]) {
    let engines: Vec<&str> = ENGINES.into_iter().filter(|e| works(e)).collect();
    let columns: Vec<Vec<Cell>> = std::thread::scope(|scope| {
        let running: Vec<_> =
            engines.iter().map(|&engine| scope.spawn(move || column(engine, cases))).collect();
        running.into_iter().map(|thread| thread.join().expect("a case panicked")).collect()
    });
    let (text, wrong) = table(title, cases, &engines, &columns);
    print!("{text}");
    assert!(wrong.is_empty(), "{wrong}");
}

fn works(engine: &str) -> bool {
    let found = tamis_trace::choose::choose(if engine == LATE { "ebpf" } else { engine });
    if let Err(why) = &found {
        println!("not tried: {why}");
    }
    found.is_ok()
}

fn column(engine: &str, cases: &[Case]) -> Vec<Cell> {
    let only = std::env::var("CASE").unwrap_or_default();
    cases
        .iter()
        .map(|case| match case.name.contains(&only) {
            true => stage::play(engine, case),
            false => {
                let (again, changed) = (case.again.of(engine), case.changed.of(engine));
                Cell { again, changed, why: String::new() }
            }
        })
        .collect()
}

/// The matrix as text, and what is wrong in it.
fn table(title: &str, cases: &[Case], engines: &[&str], columns: &[Vec<Cell>]) -> (String, String) {
    let (mut text, mut wrong) = (String::new(), String::new());
    let word = |answer| if answer == Answer::Skip { "skip" } else { "run " };
    let _ = writeln!(text, "\n{title:76}{}", engines.map_join(|e| format!("{e:12}")));
    for (n, case) in cases.iter().enumerate() {
        let _ = write!(text, "{:76}", case.name);
        for (engine, column) in engines.iter().zip(columns) {
            let cell = &column[n];
            let right =
                case.again.allows(engine, cell.again) && case.changed.allows(engine, cell.changed);
            let mark = if right { ' ' } else { '!' };
            let _ = write!(text, "{} {}{mark}  ", word(cell.again), word(cell.changed));
            if !right {
                let _ = writeln!(wrong, "{engine}, {}: {}", case.name, cell.why);
            }
        }
        text.push('\n');
    }
    (text, wrong)
}

trait MapJoin<T> {
    fn map_join(&self, text: impl Fn(&T) -> String) -> String;
}

impl<T> MapJoin<T> for [T] {
    fn map_join(&self, text: impl Fn(&T) -> String) -> String {
        self.iter().map(text).collect::<Vec<_>>().join("")
    }
}
