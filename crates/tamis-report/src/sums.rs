//! What all calls took and saved together, in words: for `status`.

use crate::human;
use crate::json::status::{SavingsLine, TimesLine};
use crate::phases::PhaseTimes;
use std::fmt::Write as _;
use std::time::Duration;

/// Weeks that are listed.
const MOST_WEEKS: usize = 6;

/// What all calls saved together, and in the last weeks.
pub fn savings(line: &SavingsLine) -> String {
    let figures = |saved: f64, calls: u64| {
        let saved = Duration::try_from_secs_f64(saved).unwrap_or_default();
        format!("{} in {}", human::duration(saved), human::counted(calls, "call", "calls"))
    };
    let since = human::ago(line.since_ms);
    if line.calls == 0 {
        return format!("saved     nothing since the first run, {since}\n");
    }
    let total = figures(line.saved_seconds, line.calls);
    let mut text = format!("saved     {total} since the first run, {since}\n");
    for week in line.weeks.iter().rev().take(MOST_WEEKS) {
        let _ = writeln!(text, "  {}  {}", week.week, figures(week.saved_seconds, week.calls));
    }
    let older = line.weeks.len().saturating_sub(MOST_WEEKS) as u64;
    if older > 0 {
        let weeks = human::counted(older, "older week", "older weeks");
        let _ = writeln!(text, "  ... and {weeks}");
    }
    text
}

/// What all calls took together, by phase.
pub fn times(line: &TimesLine) -> String {
    let times = PhaseTimes::from(line.phases);
    let (total, calls) = (times.total(), human::counted(line.calls, "call", "calls"));
    format!("took      {} in {calls}: {}\n", human::duration(total), times.text())
}
