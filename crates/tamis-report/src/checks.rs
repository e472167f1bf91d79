//! What `--shadow` and `--audit` found, in words, and how much a number of checks proves.

use crate::checked::{Checked, Miss, OpenMiss};
use crate::human;
use crate::json::replay::AuditLine;
use crate::model::RunReport;
use crate::style::{Role, Style};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

/// Misses that are shown in a summary.
const MOST_MISSES: usize = 20;

/// `shadow: would have skipped 212 of 230 (saving 3 min 10 s); of these 0 failed`.
pub fn headline(report: &RunReport, checked: &Checked) -> String {
    let n = |count: usize| human::number(count as u64);
    let skippable = Duration::try_from_secs_f64(checked.skippable_seconds).unwrap_or_default();
    let mut line = match checked.seed {
        None => {
            let (skippable, tests) = (n(checked.skippable), n(report.tests.len()));
            format!("{}: would have skipped {skippable} of {tests}", checked.check)
        }
        Some(seed) => {
            let (ran, skippable) = (n(checked.checked), n(checked.skippable));
            format!(
                "{}: {ran} of {skippable} that may be skipped ran all the same (seed {seed})",
                checked.check
            )
        }
    };
    if checked.seed.is_none() && !skippable.is_zero() {
        line += &format!(" (saving {})", human::duration(skippable));
    }
    if checked.checked > 0 {
        line += &format!("; of these {} failed", n(checked.missed.len()));
    }
    if checked.flaky > 0 {
        line += &format!(", {} flaky", n(checked.flaky));
    }
    line
}

/// The headline, and each miss with its evidence.
pub fn summary(
    report: &RunReport,
    checked: &Checked,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{} {}", style.paint(Role::Strong, "tamis:"), headline(report, checked))?;
    if checked.missed.is_empty() {
        return Ok(());
    }
    for miss in checked.missed.iter().take(MOST_MISSES) {
        write!(out, "{}", miss_text(miss, style))?;
    }
    let left = checked.missed.len().saturating_sub(MOST_MISSES) as u64;
    if left > 0 {
        writeln!(out, "  ... and {}", human::counted(left, "more miss", "more misses"))?;
    }
    let next = match checked.check.as_str() {
        "audit" => {
            "skipping is off from now on: `tamis audit` tells more, `tamis audit --resolve` turns it on"
        }
        _ => "kept in the store: `tamis audit` shows it, `tamis audit --resolve` acknowledges it",
    };
    writeln!(out, "  {}", style.paint(Role::Bad, next))
}

/// A miss with its evidence, some lines.
pub fn miss_text(miss: &Miss, style: Style) -> String {
    let name = human::one_line(&miss.test);
    let what =
        format!("MISS {name} {} and would have been skipped", human::one_line(&miss.outcome));
    let mut text = format!("  {}\n", style.paint(Role::Bad, &what));
    let _ = writeln!(text, "    believed: {}", human::one_line(&miss.believed));
    for besides in &miss.besides {
        let _ = writeln!(text, "    looked at besides: {}", human::one_line(besides));
    }
    for file in &miss.changed {
        let _ = writeln!(text, "    changed: {}", human::one_line(file));
    }
    let message = miss.message.as_deref().and_then(|m| crate::excerpt::headline(m.as_bytes()));
    if let Some(message) = message {
        let _ = writeln!(text, "    said: {}", human::cut(&human::one_line(&message), 160));
    }
    text
}

/// What `tamis audit` shows.
pub fn audit_text(audit: &AuditLine, style: Style) -> String {
    let mut text = String::new();
    let Some(since) = audit.since_ms else {
        text += "nothing was checked yet; `tamis --shadow COMMAND` or `tamis --audit 5% COMMAND` does\n";
        return text + &open_text(&audit.open, style);
    };
    let _ = writeln!(
        text,
        "checked   {} of {} that could have been skipped, in {} since {}",
        human::counted(audit.checked, "run", "runs"),
        human::counted(audit.checked_tests, "test", "tests"),
        human::counted(audit.calls, "call", "calls"),
        human::ago(since)
    );
    let flaky = match audit.flaky {
        0 => String::new(),
        n => format!(" ({} more failed and then passed: flaky)", human::number(n)),
    };
    let _ = writeln!(text, "missed    {}{flaky}", human::number(audit.missed));
    let _ = writeln!(
        text,
        "proves    more misses than {} of what is skipped are excluded with 95% certainty",
        percent(audit.excluded_percent)
    );
    let skipping = match audit.tripped {
        true => style.paint(Role::Bad, "off: everything runs until `tamis audit --resolve`"),
        false => "on".into(),
    };
    let _ = writeln!(text, "skipping  {skipping}");
    text + &open_text(&audit.open, style)
}

/// The misses that are not acknowledged yet; nothing where there are none.
pub fn open_text(open: &[OpenMiss], style: Style) -> String {
    if open.is_empty() {
        return String::new();
    }
    let count = human::counted(open.len() as u64, "miss", "misses");
    let mut text = style
        .paint(Role::Bad, &format!("misses    {count}, `tamis audit --resolve` acknowledges"))
        + "\n";
    for OpenMiss { when_ms, tamis, check, miss } in open.iter().take(MOST_MISSES) {
        text += &miss_text(miss, style);
        let _ = writeln!(text, "    found {} by --{check}, tamis {tamis}", human::ago(*when_ms));
    }
    let left = open.len().saturating_sub(MOST_MISSES) as u64;
    if left > 0 {
        let _ = writeln!(text, "  ... and {}", human::counted(left, "more miss", "more misses"));
    }
    text
}

/// `1.2%`, with as many digits as say something.
pub fn percent(percent: f64) -> String {
    match percent {
        p if p <= 0.0 => "0%".into(),
        p if p >= 10.0 => format!("{p:.0}%"),
        p if p >= 1.0 => format!("{p:.1}%"),
        p if p >= 0.1 => format!("{p:.2}%"),
        p => format!("{p:.3}%"),
    }
}

/// The highest rate of misses that `missed` of `checked` do not exclude with 95% certainty: the upper bound of
/// Clopper and Pearson, one-sided.
pub fn excluded_rate(checked: u64, missed: u64) -> f64 {
    if checked == 0 || missed >= checked {
        return 1.0;
    }
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if at_most(checked, missed, middle) > 0.05 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The probability of at most so many misses at this rate.
fn at_most(checked: u64, missed: u64, rate: f64) -> f64 {
    let n = checked as f64;
    let mut term = n * (-rate).ln_1p();
    let mut sum = term.exp();
    for k in 0..missed {
        let k = k as f64;
        term += ((n - k) / (k + 1.0)).ln() + rate.ln() - (-rate).ln_1p();
        sum += term.exp();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn rates_that_are_excluded() {
        let near = |checked, missed, expected: f64| {
            let rate = excluded_rate(checked, missed);
            assert!((rate - expected).abs() < expected * 0.01, "{checked} {missed}: {rate}");
        };
        // The rule of three, and tables of Clopper and Pearson.
        near(1_000_000, 0, 2.995_73e-6);
        near(59, 0, 0.0495);
        near(1, 0, 0.95);
        near(100, 1, 0.0466);
        near(100, 5, 0.1023);
        assert!((excluded_rate(0, 0) - 1.0).abs() < 1e-9);
        assert!((excluded_rate(3, 3) - 1.0).abs() < 1e-9);
    }

    fn checked() -> Checked {
        Checked {
            check: "shadow".into(),
            skippable: 5,
            checked: 5,
            skippable_seconds: 190.0,
            ..Checked::default()
        }
    }

    #[test]
    fn a_shadow_says_what_would_have_been_saved() {
        let report = samples::mixed();
        let line = headline(&report, &checked());
        assert_eq!(
            line,
            "shadow: would have skipped 5 of 6 (saving 3 min 10 s); of these 0 failed"
        );
        let none = Checked { check: "shadow".into(), ..Checked::default() };
        assert_eq!(headline(&report, &none), "shadow: would have skipped 0 of 6");
        let audit =
            Checked { check: "audit".into(), seed: Some(7), checked: 2, flaky: 1, ..checked() };
        assert_eq!(
            headline(&report, &audit),
            "audit: 2 of 5 that may be skipped ran all the same (seed 7); of these 0 failed, 1 flaky"
        );
    }

    #[test]
    fn a_miss_is_shown_with_its_evidence() {
        let miss = Miss {
            test: "shell::a.sh".into(),
            outcome: "failed with exit code 1".into(),
            believed: "nothing it looked at has changed (record #12, 17 inputs)".into(),
            record: Some(12),
            message: Some("+ check\nerror: expected 1\n".into()),
            besides: vec!["data/new.txt".into()],
            changed: Vec::new(),
        };
        let report = samples::mixed();
        let mut out = Vec::new();
        let found = Checked { missed: vec![miss], ..checked() };
        summary(&report, &found, Style::plain(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for part in [
            "of these 1 failed",
            "  MISS shell::a.sh failed with exit code 1 and would have been skipped\n",
            "    believed: nothing it looked at has changed (record #12, 17 inputs)\n",
            "    looked at besides: data/new.txt\n",
            "    said: error: expected 1\n",
            "`tamis audit --resolve` acknowledges it",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
