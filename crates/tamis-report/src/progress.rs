//! What is going on while tests run.
//!
//! On a terminal: one status line that is redrawn at most every 100 ms and erased before anything
//! else is written, plus a line for every test that did not pass. Elsewhere: one line for every
//! test that ended. The time is given by the caller, who also calls [`Progress::tick`] now and
//! then, so that the seconds go on while nothing ends.

use crate::human;
use crate::model::TestReport;
use crate::style::{Role, Style};
use crate::text::outcome_text;
use std::io::{self, Write};
use std::time::{Duration, Instant};
use tamis_core::{Outcome, TestKey};

/// The status line is not redrawn more often.
const REDRAW: Duration = Duration::from_millis(100);
/// A running test shows its time from here on.
const SLOW: Duration = Duration::from_secs(1);
/// Back to the first column and clear the line.
const ERASE: &[u8] = b"\r\x1b[2K";

/// The progress of one run.
#[derive(Debug)]
pub struct Progress {
    /// Columns of the terminal; `None` where lines are written.
    columns: Option<usize>,
    style: Style,
    total: usize,
    done: usize,
    failed: usize,
    /// In the order in which they started.
    running: Vec<(TestKey, Instant)>,
    drawn: bool,
    last_draw: Option<Instant>,
    /// How long all of it took when it last ran.
    expected: Option<Duration>,
    began: Option<Instant>,
}

impl Progress {
    /// A status line on a terminal with this many columns. `total` is how many tests will run.
    pub fn terminal(total: usize, columns: usize, style: Style) -> Self {
        Self { columns: Some(columns), ..Self::lines(total, style) }
    }

    /// A line for every test that ended.
    pub fn lines(total: usize, style: Style) -> Self {
        Self {
            columns: None,
            style,
            total,
            done: 0,
            failed: 0,
            running: Vec::new(),
            drawn: false,
            last_draw: None,
            expected: None,
            began: None,
        }
    }

    /// The same, with how long it took when it last ran.
    pub fn expecting(self, expected: Option<Duration>) -> Self {
        Self { expected, ..self }
    }

    /// The terminal has another width now.
    pub fn resize(&mut self, columns: usize) {
        self.columns = self.columns.map(|_| columns);
    }

    pub fn started(&mut self, key: &TestKey, now: Instant, out: &mut dyn Write) -> io::Result<()> {
        self.began.get_or_insert(now);
        self.running.push((key.clone(), now));
        self.tick(now, out)
    }

    pub fn finished(
        &mut self,
        test: &TestReport,
        now: Instant,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if let Some(at) = self.running.iter().position(|(key, _)| *key == test.key) {
            self.running.remove(at);
        }
        self.done += 1;
        self.failed += usize::from(test.failed());
        if self.columns.is_none() || test.failed() {
            self.erase(out)?;
            writeln!(out, "{}", ended(test, self.style))?;
        }
        self.tick(now, out)
    }

    /// Redraws the status line if it is time.
    pub fn tick(&mut self, now: Instant, out: &mut dyn Write) -> io::Result<()> {
        let Some(columns) = self.columns else {
            return Ok(());
        };
        let early = |last: Instant| now.saturating_duration_since(last) < REDRAW;
        if self.last_draw.is_some_and(early) {
            return Ok(());
        }
        // The last column stays free: writing there makes some terminals wrap.
        let line = human::cut(&self.status(now), columns.saturating_sub(1));
        out.write_all(ERASE)?;
        out.write_all(line.as_bytes())?;
        out.flush()?;
        self.last_draw = Some(now);
        self.drawn = true;
        Ok(())
    }

    /// Removes the status line. Must be called before anything else writes to the terminal.
    pub fn erase(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.drawn {
            out.write_all(ERASE)?;
            out.flush()?;
            self.drawn = false;
            // What was erased may come back at once.
            self.last_draw = None;
        }
        Ok(())
    }

    /// `[12/97] 1 failed, 2 running: a.sh (3 s), b.sh`.
    fn status(&self, now: Instant) -> String {
        let mut line = format!("[{}/{}]", self.done, self.total);
        if self.failed > 0 {
            line += &format!(" {} failed,", self.failed);
        }
        if let (Some(began), Some(expected)) = (self.began, self.expected) {
            line += &left(now.saturating_duration_since(began), expected);
        }
        line += &format!(" {} running", self.running.len());
        for (n, (key, start)) in self.running.iter().enumerate() {
            line += if n == 0 { ": " } else { ", " };
            line += &human::one_line(&key.unit.name());
            let time = now.saturating_duration_since(*start);
            if time >= SLOW {
                line += &format!(" ({})", human::elapsed(time));
            }
        }
        line
    }
}

/// ` 12 s, about 30 s left,`.
fn left(elapsed: Duration, expected: Duration) -> String {
    let time = human::elapsed(elapsed);
    match expected.checked_sub(elapsed).filter(|left| *left >= SLOW) {
        Some(left) => format!(" {time}, about {} left,", human::elapsed(left)),
        None => format!(" {time},"),
    }
}

/// `PASS shell::tests/a.sh 0.31 s`.
fn ended(test: &TestReport, style: Style) -> String {
    let (word, detail) = match test.outcome {
        Some(_) if test.flaky() => (style.paint(Role::Bad, "FLAKY"), Some(outcome_text(test))),
        Some(Outcome::Passed) => (style.paint(Role::Good, "PASS"), None),
        Some(Outcome::TimedOut) => (style.paint(Role::Bad, "TIME"), Some("timed out".to_owned())),
        Some(Outcome::Failed(code)) => {
            (style.paint(Role::Bad, "FAIL"), Some(format!("exit code {code}")))
        }
        Some(Outcome::Killed(signal)) => {
            (style.paint(Role::Bad, "FAIL"), Some(format!("signal {signal}")))
        }
        None => (style.paint(Role::Warning, "STOP"), Some("did not run to an end".to_owned())),
    };
    let name = human::one_line(&test.key.to_string());
    let mut line = format!("{word} {name} {}", human::duration(test.wall()));
    if let Some(detail) = detail {
        line += &format!(" ({detail})");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{key, ran};

    const E: &str = "\r\u{1b}[2K";

    fn written(out: &mut Vec<u8>) -> String {
        String::from_utf8(std::mem::take(out)).unwrap()
    }

    #[test]
    fn plain_lines() {
        let mut progress = Progress::lines(5, Style::plain());
        let (now, mut out) = (Instant::now(), Vec::new());
        progress.started(&key("shell", "tests/a.sh"), now, &mut out).unwrap();
        for outcome in [Outcome::Passed, Outcome::Failed(3), Outcome::Killed(11), Outcome::TimedOut]
        {
            let test = ran("shell", "tests/a.sh", "r", outcome);
            progress.finished(&test, now, &mut out).unwrap();
        }
        let mut stopped = ran("", "odd\nname", "r", Outcome::Passed);
        stopped.outcome = None;
        progress.finished(&stopped, now, &mut out).unwrap();
        progress.erase(&mut out).unwrap();
        let expected = "\
PASS shell::tests/a.sh 0.45 s
FAIL shell::tests/a.sh 0.45 s (exit code 3)
FAIL shell::tests/a.sh 0.45 s (signal 11)
TIME shell::tests/a.sh 0.45 s (timed out)
STOP odd\\nname 0 s (did not run to an end)
";
        assert_eq!(written(&mut out), expected);
    }

    #[test]
    fn a_status_line() {
        let mut progress = Progress::terminal(97, 80, Style::plain());
        let (start, mut out) = (Instant::now(), Vec::new());
        let at = |ms: u64| start + Duration::from_millis(ms);
        progress.started(&key("s", "a.sh"), at(0), &mut out).unwrap();
        assert_eq!(written(&mut out), format!("{E}[0/97] 1 running: a.sh"));
        // Too early for another one.
        progress.started(&key("s", "b.sh"), at(50), &mut out).unwrap();
        assert_eq!(written(&mut out), "");
        progress.tick(at(100), &mut out).unwrap();
        assert_eq!(written(&mut out), format!("{E}[0/97] 2 running: a.sh, b.sh"));
        progress.tick(at(3_050), &mut out).unwrap();
        assert_eq!(written(&mut out), format!("{E}[0/97] 2 running: a.sh (3 s), b.sh (3 s)"));
        // A pass is counted and leaves no line.
        progress.finished(&ran("s", "b.sh", "r", Outcome::Passed), at(3_200), &mut out).unwrap();
        assert_eq!(written(&mut out), format!("{E}[1/97] 1 running: a.sh (3 s)"));
        // A failure leaves one; the status comes back below it.
        let failed = ran("s", "a.sh", "r", Outcome::Failed(1));
        progress.finished(&failed, at(3_210), &mut out).unwrap();
        let expected =
            format!("{E}FAIL s::a.sh 0.45 s (exit code 1)\n{E}[2/97] 1 failed, 0 running");
        assert_eq!(written(&mut out), expected);
        progress.erase(&mut out).unwrap();
        assert_eq!(written(&mut out), E);
        progress.erase(&mut out).unwrap();
        assert_eq!(written(&mut out), "");
    }

    #[test]
    fn a_narrow_terminal() {
        let mut progress = Progress::terminal(9, 22, Style::plain());
        let (now, mut out) = (Instant::now(), Vec::new());
        progress.started(&key("s", "a-long-name.sh"), now, &mut out).unwrap();
        assert_eq!(written(&mut out), format!("{E}[0/9] 1 running: a-…"));
        progress.resize(5);
        progress.tick(now + REDRAW, &mut out).unwrap();
        assert_eq!(written(&mut out), format!("{E}[0…"));
    }
}
