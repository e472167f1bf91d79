//! The result of a replay, as a page of its own: curves and tables per revision.
//!
//! It is read from the lines of `tamis replay --json`, which are also the file that a replay keeps: one `replay`, a
//! `revision` for each revision, and a `replay-summary` for each strategy. A line that is written again takes the place
//! of the one before, and one that was cut off by a kill is left out.

use crate::page::{Headline, Shown, render};
use crate::payload::{Payload, packed};
use serde_json::{Value, json};
use std::io::{self, Write};
use tamis_report::human::counted;

/// The lines of a replay by their kind.
#[derive(Debug, Default)]
struct Lines {
    replay: Value,
    /// In the order of `replay.revisions`.
    revisions: Vec<Value>,
    summaries: Vec<Value>,
}

impl Lines {
    fn parse(text: &str) -> Self {
        let mut lines = Self::default();
        for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            match line["event"].as_str() {
                Some("replay") => lines.replay = line,
                Some("revision") => put(&mut lines.revisions, "commit", line),
                Some("replay-summary") => put(&mut lines.summaries, "strategy", line),
                _ => {}
            }
        }
        let order = lines.replay["revisions"].as_array().cloned().unwrap_or_default();
        let place = |line: &Value| order.iter().position(|commit| *commit == line["commit"]);
        lines.revisions.sort_by_key(place);
        lines
    }
}

fn put(lines: &mut Vec<Value>, name: &str, line: Value) {
    lines.retain(|known| known[name] != line[name]);
    lines.push(line);
}

/// Writes the page of a replay. `lines` is its result, `project` the name of the project's folder.
pub fn write_replay(lines: &str, project: &str, out: &mut dyn Write) -> io::Result<()> {
    let lines = Lines::parse(lines);
    if lines.replay.is_null() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "this is no result of a replay"));
    }
    let headline = headline(&lines);
    let Lines { replay, revisions, summaries } = lines;
    let main = json!({
        "project": project,
        "made": replay["began_ms"],
        "replay": { "replay": replay, "revisions": revisions, "summaries": summaries },
    });
    let payload = Payload { main: packed(&main), ..Payload::default() };
    render(&Shown { project, title: "replay", headline: &headline, payload: &payload }, out)
}

fn headline(lines: &Lines) -> Headline {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let length = |value: &Value| value.as_array().map_or(0, |all| all.len() as u64);
    let selections =
        lines.revisions.iter().flat_map(|line| line["selections"].as_array()).flatten();
    let mutants = lines.revisions.iter().flat_map(|line| line["mutants"].as_array()).flatten();
    let missed: u64 = selections.chain(mutants).map(|one| length(&one["missed"])).sum();
    let asked = length(&lines.replay["revisions"]);
    let ended = lines.revisions.len() as u64;
    let ran = lines.revisions.iter().filter(|line| line["state"] == "ran").count() as u64;
    let replayed = format!("{} replayed", counted(ran, "revision", "revisions"));
    let estimate = lines.replay["estimate"].as_bool().unwrap_or_default();
    let verdict = match (estimate, missed) {
        (true, _) => format!("{replayed} as an estimate: misses were not looked for"),
        // The first revision is only what the others are compared with.
        (false, 0) if ran < 2 && lines.replay["mutants"].is_null() => {
            format!("{replayed}: nothing could be compared")
        }
        (false, 0) => format!("{replayed}: no test was missed"),
        (false, n) => format!("{replayed}: {}", counted(n, "test was missed", "tests were missed")),
    };
    let mut line = text(&lines.replay["range"]);
    if ended > ran {
        line += &format!(" · {} could not be run", counted(ended - ran, "revision", "revisions"));
    }
    if asked > ended {
        line += &format!(" · {} still to come", counted(asked - ended, "revision", "revisions"));
    }
    Headline {
        verdict,
        mood: if missed > 0 { "bad" } else { "good" },
        called: text(&lines.replay["command"]),
        line,
        failures: Vec::new(),
        more_failures: 0,
    }
}
