//! What `--check-isolation` finds: tests that end otherwise without the tests that ran before them. The values, a part
//! of several reports, and the words.

use crate::excerpt;
use crate::human;
use crate::style::{Role, Style};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};

/// Findings that are shown in a summary.
const MOST_SHOWN: usize = 20;
/// Columns of a failure's message that are shown.
const WIDEST_MESSAGE: usize = 160;

/// What a run with `--check-isolation` looked at and found; a part of its summary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Isolation {
    /// The number that chose.
    pub seed: u64,
    /// Tests that ran behind others in one process: those that can depend on them.
    pub behind_others: usize,
    /// Those of them that were run in a process of their own, each by its full name.
    pub alone: Vec<String>,
    /// Tests that were chosen and could not be run alone, each with the reason, one line for people.
    pub not_alone: Vec<String>,
    /// Tests that ended now one way and now the other when they ran alone.
    pub flaky: Vec<String>,
    /// Tests that end otherwise alone than behind others.
    pub found: Vec<Found>,
    /// How often the command was started for that.
    pub calls: usize,
}

/// How a test ends otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// It fails alone and passes behind others.
    #[default]
    DependsOnOthers,
    /// It passes alone and fails behind others.
    DisturbedByOthers,
}

/// A test that ends otherwise alone than behind others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "NotIsolated")]
pub struct Found {
    /// The full name of the test.
    pub test: String,
    pub how: How,
    /// The tests in it that end otherwise, where its tool reports them.
    pub parts: Vec<String>,
    /// By what: as few of the tests before it as were found behind which it ends as behind all of them. None where that
    /// is not known.
    pub by: Vec<String>,
    /// Those of them whose code counts for it by its record: what they left was seen.
    pub by_record: Vec<String>,
    /// Why it is not known by what, or not exactly; one line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// What it printed when it failed, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Found {
    /// `fails alone (reads), passes behind a.WriterTest`.
    pub fn text(&self) -> String {
        let parts = match self.parts.as_slice() {
            [] => String::new(),
            parts => format!(" ({})", parts.join(", ")),
        };
        let others = match self.by.as_slice() {
            [] => "the tests before it".to_owned(),
            by => by.join(" and "),
        };
        match self.how {
            How::DependsOnOthers => format!("fails alone{parts}, passes behind {others}"),
            How::DisturbedByOthers => format!("passes alone, fails{parts} behind {others}"),
        }
    }
}

impl Isolation {
    fn count(&self, how: How) -> usize {
        self.found.iter().filter(|found| found.how == how).count()
    }

    /// `isolation: 10 of 28 that ran behind others ran alone as well (seed 7): 1 depends on others`.
    pub fn headline(&self) -> String {
        if self.behind_others == 0 {
            return "isolation: nothing to check, since no test ran in one process behind another one \
                    (what is skipped does not run; --all runs it)"
                .to_owned();
        }
        let n = |count: usize| human::number(count as u64);
        let found = [
            (self.count(How::DependsOnOthers), "depends on others", "depend on others"),
            (
                self.count(How::DisturbedByOthers),
                "is disturbed by others",
                "are disturbed by others",
            ),
            (self.flaky.len(), "is flaky alone", "are flaky alone"),
            (self.not_alone.len(), "could not be run alone", "could not be run alone"),
        ];
        let parts = found.iter().filter(|(count, ..)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, one, many)| {
                format!("{} {}", n(*count), if *count == 1 { one } else { many })
            })
            .collect();
        let result = match parts.as_slice() {
            [] => "each ended as it did behind others".to_owned(),
            parts => parts.join(", "),
        };
        let (alone, all) = (n(self.alone.len()), n(self.behind_others));
        let seed = self.seed;
        format!(
            "isolation: {alone} of {all} that ran behind others ran alone as well (seed {seed}): {result}"
        )
    }

    /// The headline, and each finding with its evidence.
    pub fn summary(&self, style: Style, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} {}", style.paint(Role::Strong, "tamis:"), self.headline())?;
        for found in self.found.iter().take(MOST_SHOWN) {
            let (name, what) = (human::one_line(&found.test), human::one_line(&found.text()));
            writeln!(out, "  {}", style.paint(Role::Bad, &format!("{name} {what}")))?;
            for other in &found.by_record {
                let other = human::one_line(other);
                writeln!(
                    out,
                    "    its record shows what {other} left: code of that counts for it"
                )?;
            }
            if let Some(why) = &found.unknown {
                writeln!(out, "    {}", human::one_line(why))?;
            }
            let message = found.message.as_deref();
            if let Some(message) = message.and_then(|m| excerpt::headline(m.as_bytes())) {
                let message = human::cut(&human::one_line(&message), WIDEST_MESSAGE);
                writeln!(out, "    said: {message}")?;
            }
        }
        let left = self.found.len().saturating_sub(MOST_SHOWN) as u64;
        if left > 0 {
            writeln!(out, "  ... and {} more", human::number(left))?;
        }
        for flaky in self.flaky.iter().take(MOST_SHOWN) {
            let name = human::one_line(flaky);
            writeln!(out, "  {name} is flaky: alone it ended now one way and now the other")?;
        }
        for why in self.not_alone.iter().take(MOST_SHOWN) {
            writeln!(out, "  {}", human::one_line(why))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(isolation: &Isolation) -> String {
        let mut out = Vec::new();
        isolation.summary(Style::plain(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_summary() {
        let found = Found {
            test: "mvn:a::p.ReaderTest".into(),
            parts: vec!["reads".into()],
            by: vec!["mvn:a::p.WriterTest".into()],
            by_record: vec!["mvn:a::p.WriterTest".into()],
            message: Some(
                "reads: java.lang.AssertionError: expected:<1> but was:<0>\n\tat p.ReaderTest\n"
                    .into(),
            ),
            ..Found::default()
        };
        let other = Found {
            test: "mvn:a::p.CleanTest".into(),
            how: How::DisturbedByOthers,
            unknown: Some("behind the same tests once more it passed".into()),
            ..Found::default()
        };
        let isolation = Isolation {
            seed: 7,
            behind_others: 28,
            alone: vec![String::new(); 10],
            not_alone: vec!["p.X did not end when it was run alone".into()],
            flaky: vec!["p.F".into()],
            found: vec![found, other],
            calls: 9,
        };
        assert_eq!(
            text(&isolation),
            "tamis: isolation: 10 of 28 that ran behind others ran alone as well (seed 7): \
             1 depends on others, 1 is disturbed by others, 1 is flaky alone, 1 could not be run alone
  mvn:a::p.ReaderTest fails alone (reads), passes behind mvn:a::p.WriterTest
    its record shows what mvn:a::p.WriterTest left: code of that counts for it
    said: reads: java.lang.AssertionError: expected:<1> but was:<0>
  mvn:a::p.CleanTest passes alone, fails behind the tests before it
    behind the same tests once more it passed
  p.F is flaky: alone it ended now one way and now the other
  p.X did not end when it was run alone
"
        );
        let well =
            Isolation { found: Vec::new(), flaky: Vec::new(), not_alone: Vec::new(), ..isolation };
        assert!(
            text(&well).ends_with("(seed 7): each ended as it did behind others\n"),
            "{}",
            text(&well)
        );
        assert!(
            text(&Isolation::default()).contains("no test ran in one process behind another one")
        );
    }
}
