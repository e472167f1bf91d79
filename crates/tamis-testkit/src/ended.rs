//! How a call of `tamis` ended: its streams, its JSON lines, its decisions.

use crate::schema;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

/// How a call of `tamis` ended.
#[derive(Debug)]
pub struct Ended {
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub code: i32,
}

/// What tamis decided about one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    pub runs: bool,
    pub cause: String,
    pub reason: String,
}

impl Ended {
    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("text on standard output")
    }

    /// The JSON lines on standard output, which are as the published schema says.
    pub fn lines(&self) -> Vec<Value> {
        let line = |line: &str| {
            let value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
            schema::assert_valid(&value);
            value
        };
        self.text().lines().map(line).collect()
    }

    /// The events of this kind.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        self.lines().into_iter().filter(|l| l["event"] == kind).collect()
    }

    pub fn decisions(&self) -> BTreeMap<String, Decided> {
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        // With the way to what changed, where a graph decided.
        let reason = |line: &Value| match line["way"].as_array() {
            None => text(&line["reason"]),
            Some(way) => {
                let steps: Vec<&str> = way.iter().filter_map(Value::as_str).collect();
                format!("{}: {}", text(&line["reason"]), steps.join(" -> "))
            }
        };
        self.events("decision")
            .iter()
            .map(|line| {
                let decided = Decided {
                    runs: line["decision"] == "run",
                    cause: text(&line["cause"]),
                    reason: reason(line),
                };
                (text(&line["name"]), decided)
            })
            .collect()
    }
}

impl From<Output> for Ended {
    /// A signal counts as 128 and its number.
    fn from(output: Output) -> Self {
        Self {
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code().or(output.status.signal().map(|s| 128 + s)).expect("an end"),
        }
    }
}

/// Runs a prepared command to its end.
///
/// A script that was just written may still be open for writing in a process that another test is about to start,
/// which has it until it runs its own program.
pub fn ended(command: &mut Command) -> Ended {
    let mut output = command.output();
    for _ in 0..200 {
        if !output.as_ref().is_err_and(|e| e.kind() == ErrorKind::ExecutableFileBusy) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
        output = command.output();
    }
    output.unwrap_or_else(|e| panic!("{:?} starts: {e}", command.get_program())).into()
}

/// Runs a prepared command and gives it these bytes through a pipe.
pub fn ended_with_input(command: &mut Command, input: &[u8]) -> Ended {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // Who does not read it closes the pipe.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("an end").into()
}

/// Waits until something is so; a test that hangs is better than one that depends on time.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{what} did not happen within a minute");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_gives_its_streams_and_its_end() {
        let got = ended(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]));
        assert_eq!((got.text().as_str(), got.stderr.as_str(), got.code), ("out\n", "err\n", 3));
        let killed = ended(Command::new("sh").args(["-c", "kill -9 $$"]));
        assert_eq!(killed.code, 137);
        assert_eq!(ended_with_input(&mut Command::new("cat"), b"x").text(), "x");
    }

    #[test]
    fn decisions_are_read_from_json_lines() {
        let line = r#"{"event":"decision","test":"s::t","suite":"s","name":"t","folder":".","decision":"run","cause":"changed","reason":"r","way":["a","b"]}"#;
        let other = r#"{"event":"read","file":"f","test":"s::t"}"#;
        let stdout = format!("{line}\n{other}\n").into_bytes();
        let got = Ended { stdout, stderr: String::new(), code: 0 };
        let decided = Decided { runs: true, cause: "changed".into(), reason: "r: a -> b".into() };
        assert_eq!(got.decisions(), BTreeMap::from([("t".to_owned(), decided)]));
        assert_eq!(got.events("read").len(), 1);
    }
}
