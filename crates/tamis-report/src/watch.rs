//! What is shown of one command while it runs, on a terminal: a line at its bottom.
//!
//! It comes when the command has run for two seconds, and then once a second: the command, how many of the
//! tests inside it ended, how long it has run, and how long it may still take, by the records.

use crate::bottom::{Bottom, Size};
use crate::human;
use std::collections::HashMap;
use std::io::{self, Write};
use std::time::{Duration, Instant};
use tamis_core::{Step, TestKey};

/// A command that ends sooner needs no line.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often the line is drawn.
const REDRAW: Duration = Duration::from_millis(950);

#[derive(Debug)]
pub(crate) struct Watch {
    name: String,
    began: Instant,
    /// How long the command took when it last ran.
    expected: Option<Duration>,
    /// Tests inside that have to run, with how long each took; gone from here when they end.
    pending: HashMap<TestKey, Option<Duration>>,
    all: usize,
    failed: usize,
    bottom: Bottom,
    last_draw: Option<Instant>,
}

impl Watch {
    pub(crate) fn new(name: String, now: Instant, expected: Option<Duration>) -> Self {
        Self {
            name,
            began: now,
            expected,
            pending: HashMap::new(),
            all: 0,
            failed: 0,
            bottom: Bottom::default(),
            last_draw: None,
        }
    }

    pub(crate) fn step(&mut self, step: Step<'_>) {
        match step {
            Step::Decided(planned) if planned.decision.is_run() => {
                let newest = planned.evidence.newest.as_ref();
                let took = newest.map(|record| Duration::from_micros(record.wall_us));
                let new = self.pending.insert(planned.key.clone(), took).is_none();
                self.all += usize::from(new);
            }
            Step::Decided(_) => {}
            Step::Ended(key, passed) => {
                let known = self.pending.remove(key).is_some();
                self.failed += usize::from(known && !passed);
            }
        }
    }

    /// Draws the line if it is time.
    pub(crate) fn tick(
        &mut self,
        now: Instant,
        size: Option<Size>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Some(size) = size else { return self.bottom.end(out) };
        let early = |last: Instant| now.saturating_duration_since(last) < REDRAW;
        let elapsed = now.saturating_duration_since(self.began);
        if elapsed < PATIENCE || self.last_draw.is_some_and(early) {
            return Ok(());
        }
        self.last_draw = Some(now);
        self.bottom.draw(&self.line(elapsed), size, out)
    }

    /// Gives the terminal back.
    pub(crate) fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.bottom.end(out)
    }

    /// `tamis: 12 of 29 tests, 1 failed, 34 s, about 20 s left: mvn -q test`.
    fn line(&self, elapsed: Duration) -> String {
        let mut parts = Vec::new();
        if self.all > 0 {
            let done = human::number((self.all - self.pending.len()) as u64);
            parts.push(format!("{done} of {}", human::counted(self.all as u64, "test", "tests")));
        }
        if self.failed > 0 {
            parts.push(format!("{} failed", human::number(self.failed as u64)));
        }
        parts.push(human::elapsed(elapsed));
        let left = self.left(elapsed).filter(|left| *left >= Duration::from_secs(1));
        parts.extend(left.map(|left| format!("about {} left", human::elapsed(left))));
        format!("tamis: {}: {}", parts.join(", "), self.name)
    }

    /// How long it may still take: by the tests inside where all of these ran before, else as a whole.
    fn left(&self, elapsed: Duration) -> Option<Duration> {
        let inside = self.pending.values().copied().sum::<Option<Duration>>();
        let whole = self.expected.and_then(|expected| expected.checked_sub(elapsed));
        if self.all > 0 { inside } else { whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::{Cause, Decision, Planned};

    fn lines(watch: &mut Watch, at: Instant) -> String {
        let mut out = Vec::new();
        watch.tick(at, Some((80, 24)), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let begin = text.find("tamis:").unwrap_or(text.len());
        text[begin..].trim_end_matches("\u{1b}8").to_owned()
    }

    #[test]
    fn how_long_and_how_long_still() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut watch = Watch::new("./check.sh".into(), start, Some(Duration::from_secs(40)));
        assert_eq!(lines(&mut watch, at(1)), "", "too early");
        assert_eq!(lines(&mut watch, at(12)), "tamis: 12 s, about 28 s left: ./check.sh");
        assert_eq!(lines(&mut watch, at(12)), "", "drawn already");
        assert_eq!(lines(&mut watch, at(90)), "tamis: 1 min 30 s: ./check.sh");
        let mut out = Vec::new();
        watch.end(&mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("\u{1b}[r"));
    }

    #[test]
    fn the_tests_inside_are_counted() {
        let start = Instant::now();
        let mut watch = Watch::new("mvn -q test".into(), start, None);
        let keys = ["A", "B", "C"].map(|name| TestKey::item("s", name, "."));
        for key in &keys {
            let planned = Planned::new(key.clone(), Decision::Run(Cause::New));
            watch.step(Step::Decided(&planned));
        }
        watch.step(Step::Ended(&keys[0], false));
        watch.step(Step::Ended(&keys[1], true));
        let line = lines(&mut watch, start + Duration::from_secs(34));
        assert_eq!(line, "tamis: 2 of 3 tests, 1 failed, 34 s: mvn -q test");
    }

    #[test]
    fn nothing_where_there_is_no_terminal() {
        let (start, mut out) = (Instant::now(), Vec::new());
        let mut watch = Watch::new("x".into(), start, None);
        watch.tick(start + Duration::from_secs(60), None, &mut out).unwrap();
        watch.end(&mut out).unwrap();
        assert!(out.is_empty());
    }
}
