//! What is worse than the rules today, and may not become worse: `scripts/house-baseline.txt`.
//!
//! A line is a rule, a name and a number, and a reason where it may stay so for good. What is not in
//! the file must keep the rules. What became better must be written back (`--write`), so that it
//! stays better.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Rule and name to a number.
pub(crate) type Numbers = BTreeMap<(String, String), usize>;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline {
    numbers: Numbers,
    reasons: BTreeMap<(String, String), String>,
    /// The comment at the beginning.
    head: String,
}

impl Baseline {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut baseline = Self::default();
        for line in text.lines() {
            if line.starts_with('#') {
                let _ = writeln!(baseline.head, "{line}");
                continue;
            }
            let mut words = line.split_whitespace();
            let Some(rule) = words.next() else { continue };
            let name = words.next().with_context(|| format!("a name in {line:?}"))?;
            let number = words.next().and_then(|n| n.parse().ok());
            let key = (rule.to_owned(), name.to_owned());
            baseline
                .numbers
                .insert(key.clone(), number.with_context(|| format!("a number in {line:?}"))?);
            let reason: Vec<&str> = words.collect();
            if !reason.is_empty() {
                baseline.reasons.insert(key, reason.join(" "));
            }
        }
        Ok(baseline)
    }

    /// What is worse than it may be.
    pub(crate) fn worse(&self, now: &Numbers) -> Vec<String> {
        let allowed = |key| self.numbers.get(key).copied().unwrap_or(0);
        let worse = now.iter().filter(|(key, number)| **number > allowed(key));
        worse
            .map(|(key, number)| format!("{} {} {number}, allowed {}", key.0, key.1, allowed(key)))
            .collect()
    }

    /// What is better than the file says.
    pub(crate) fn better(&self, now: &Numbers) -> Vec<String> {
        let is = |key| now.get(key).copied().unwrap_or(0);
        let better = self.numbers.iter().filter(|(key, number)| **number > is(key));
        better
            .map(|(key, number)| format!("{} {} {number}, now {}", key.0, key.1, is(key)))
            .collect()
    }

    /// The file with what became better; what became worse stays as it was.
    pub(crate) fn improved(&self, now: &Numbers) -> String {
        let mut text = self.head.clone();
        for (key, number) in &self.numbers {
            let number = now.get(key).copied().unwrap_or(0).min(*number);
            if number == 0 {
                continue;
            }
            let _ = write!(text, "{} {} {number}", key.0, key.1);
            let _ = match self.reasons.get(key) {
                Some(reason) => writeln!(text, " {reason}"),
                None => writeln!(text),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A head.\nfields A 14 a record\nfunction f 120\nlines tamis 900\n";

    fn numbers(lines: &[(&str, &str, usize)]) -> Numbers {
        lines.iter().map(|(r, n, c)| (((*r).into(), (*n).into()), *c)).collect()
    }

    #[test]
    fn what_is_as_it_was_is_neither_worse_nor_better() {
        let baseline = Baseline::parse(TEXT).expect("a baseline");
        let same = numbers(&[("fields", "A", 14), ("function", "f", 120), ("lines", "tamis", 900)]);
        assert_eq!((baseline.worse(&same), baseline.better(&same)), (vec![], vec![]));
        assert_eq!(baseline.improved(&same), TEXT);
    }

    #[test]
    fn new_and_larger_is_worse_and_is_never_written() {
        let baseline = Baseline::parse(TEXT).expect("a baseline");
        let now = numbers(&[
            ("fields", "A", 15),
            ("fields", "B", 13),
            ("function", "f", 120),
            ("lines", "tamis", 900),
        ]);
        assert_eq!(baseline.worse(&now), ["fields A 15, allowed 14", "fields B 13, allowed 0"]);
        assert_eq!(baseline.improved(&now), TEXT);
    }

    #[test]
    fn smaller_and_gone_is_better_and_is_written() {
        let baseline = Baseline::parse(TEXT).expect("a baseline");
        let now = numbers(&[("fields", "A", 13), ("lines", "tamis", 900)]);
        assert_eq!(baseline.better(&now), ["fields A 14, now 13", "function f 120, now 0"]);
        assert_eq!(baseline.improved(&now), "# A head.\nfields A 13 a record\nlines tamis 900\n");
    }

    #[test]
    fn a_line_without_a_number_is_an_error() {
        assert!(Baseline::parse("fields A many").is_err() && Baseline::parse("fields").is_err());
    }
}
