//! What the test programs of the binary share: how a call ended.

#[path = "schema.rs"]
pub(crate) mod schema;

use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// How a call of `tamis` ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

/// What tamis decided about one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) runs: bool,
    pub(crate) cause: String,
    pub(crate) reason: String,
}

impl Ended {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("text on standard output")
    }

    /// The JSON lines on standard output, which are as the published schema says.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let line = |line: &str| {
            let value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
            schema::assert_valid(&value);
            value
        };
        self.text().lines().map(line).collect()
    }

    /// The events of this kind.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        self.lines().into_iter().filter(|l| l["event"] == kind).collect()
    }

    pub(crate) fn decisions(&self) -> BTreeMap<String, Decided> {
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

/// Runs a prepared command to its end. A signal counts as 128 and its number.
pub(crate) fn ended(command: &mut Command) -> Ended {
    let output = command.output().expect("tamis starts");
    Ended {
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().or(output.status.signal().map(|s| 128 + s)).expect("an end"),
    }
}

/// Waits until something is so; a test that hangs is better than one that depends on time.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{what} did not happen within a minute");
}
