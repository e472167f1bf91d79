//! One call of tamis with a command that runs test classes: what ran and what did not.

use crate::ended::Ended;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub struct Call {
    pub code: i32,
    /// Test class (or method) to why it ran.
    pub ran: BTreeMap<String, String>,
    pub skipped: BTreeSet<String>,
    /// Whether the command as a whole was needed.
    pub started: bool,
    /// Everything that runner and tamis printed.
    pub stderr: String,
    /// What Maven wrote, where it is Maven.
    pub log: String,
    /// What the tests themselves say ran (lines `ran: X`), sorted.
    pub said: Vec<String>,
    /// Whether the tests say it, so that it can be compared.
    pub(crate) tests_say: bool,
}

impl Call {
    /// What a call with `--json` gave. Decisions whose names begin with `program` are about the whole
    /// command.
    pub fn read(got: &Ended, program: &str) -> Self {
        let said =
            got.stderr.lines().filter_map(|line| Some(line.split_once("ran: ")?.1.to_owned()));
        let mut said: Vec<String> = said.collect();
        said.sort();
        let mut call = Self { code: got.code, stderr: got.stderr.clone(), said, ..Self::default() };
        for (name, decided) in got.decisions() {
            if name.starts_with(program) {
                call.started = decided.runs;
            } else if decided.runs {
                call.ran.insert(name, decided.reason);
            } else {
                call.skipped.insert(name);
            }
        }
        call
    }

    /// The simple names of the test classes that ran.
    pub fn names(&self) -> BTreeSet<&str> {
        self.ran.keys().map(|name| simple(name)).collect()
    }

    pub fn assert_passed(&self, round: &str) -> &Self {
        assert_eq!(self.code, 0, "{round}: {}\n{}", self.stderr, self.log);
        self
    }

    pub fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{}\n{}", self.stderr, self.log);
        self
    }

    /// Exactly these test classes ran, by what tamis says and, where they do, by what they say
    /// themselves.
    pub fn assert_ran(&self, round: &str, expected: &[&str]) -> &Self {
        let expected: BTreeSet<&str> = expected.iter().copied().collect();
        let more = self.ran.iter().filter(|(name, _)| !expected.contains(simple(name)));
        let more: Vec<_> = more.map(|(name, reason)| format!("{name}: {reason}")).collect();
        let ran = self.names();
        let fewer: Vec<_> = expected.iter().filter(|name| !ran.contains(*name)).collect();
        assert!(
            more.is_empty() && fewer.is_empty() && ran.len() == self.ran.len(),
            "{round}:\nwrongly skipped: {fewer:#?}\nneedlessly run: {more:#?}\n{}\n{}",
            self.stderr,
            self.log
        );
        if self.tests_say {
            let said: BTreeSet<&str> = self.said.iter().map(String::as_str).collect();
            assert_eq!(said, expected, "{round}: what the tests say\n{}", self.stderr);
        }
        self
    }
}

/// A class's name without its package.
pub fn simple(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(stderr: &str) -> Call {
        let decision = |name: &str, what: &str| {
            format!(
                "{{\"event\":\"decision\",\"test\":\"t\",\"suite\":\"s\",\"folder\":\".\",\"name\":\"{name}\",\"decision\":\"{what}\",\"reason\":\"r\"}}\n"
            )
        };
        let stdout =
            decision("run all", "run") + &decision("a.One", "run") + &decision("a.Two", "skip");
        let got = Ended { stdout: stdout.into_bytes(), stderr: stderr.into(), code: 0 };
        Call { tests_say: true, ..Call::read(&got, "run ") }
    }

    #[test]
    fn decisions_are_about_the_command_or_about_tests() {
        let call = call("ran: One\n[x] ran: One\n");
        assert!(call.started && call.skipped.contains("a.Two") && call.ran["a.One"] == "r");
        call.assert_passed("a round").assert_ran("a round", &["One"]);
    }

    #[test]
    fn wrong_expectations_fail() {
        let fails = |stderr: &'static str, expected: &'static [&'static str]| {
            std::panic::catch_unwind(|| {
                call(stderr).assert_ran("a round", expected);
            })
            .is_err()
        };
        assert!(fails("ran: One", &["One", "Two"]), "one that did not run");
        assert!(fails("ran: One", &[]), "one that ran");
        assert!(fails("", &["One"]), "the test does not say that it ran");
        assert!(!fails("ran: One", &["One"]));
    }
}
