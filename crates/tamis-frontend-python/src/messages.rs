//! What the plugin sends: one JSON text per payload.

use crate::kept_coverage::CoveredLines;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a process says that it is there.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Greeting {
    /// Why it is not watched.
    #[serde(default)]
    pub(crate) kept_out: Option<String>,
}

impl Greeting {
    pub(crate) fn read(payload: &[u8]) -> Self {
        serde_json::from_slice(payload).unwrap_or_default()
    }
}

/// A message of the plugin.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Message {
    Ask(Ask),
    Test(Box<TestEnded>),
    Window(WindowClosed),
    Back(AskedBack),
    Files(AskedFiles),
    Collected(CollectedFiles),
    Deselected {
        #[allow(dead_code)]
        deselected: bool,
    },
}

/// All tests that pytest would run: which of them need to?
#[derive(Debug, Deserialize)]
pub(crate) struct Ask {
    pub(crate) ask: Vec<String>,
    /// In which way they run.
    pub(crate) scope: String,
    /// Where the tests' ids begin, relative to the root.
    pub(crate) folder: String,
    /// Why all of them have to run.
    pub(crate) everything: Option<String>,
    /// How coverage is measured, where it is and can be kept.
    #[serde(default)]
    pub(crate) coverage: Option<AskedCoverage>,
    /// Which run of pytest asks: all workers of one have the same.
    pub(crate) run: String,
    /// How many test files were not imported, and how many there are.
    pub(crate) out: usize,
    pub(crate) of: usize,
}

/// A test leaves something that it did not leave when it was recorded: do those that were left out and can see it run?
#[derive(Debug, Deserialize)]
pub(crate) struct AskedBack {
    pub(crate) back: Vec<SeesLeft>,
    pub(crate) by: String,
}

/// A test that was left out, and what it can see.
#[derive(Debug, Deserialize)]
pub(crate) struct SeesLeft {
    pub(crate) test: String,
    pub(crate) left: String,
}

/// Before pytest collects: which files need not be imported?
#[derive(Debug, Deserialize)]
pub(crate) struct AskedFiles {
    /// By what pytest chooses among the tests that it collects.
    pub(crate) files: String,
    pub(crate) scope: String,
    pub(crate) folder: String,
}

/// The files that pytest imported to collect their tests.
#[derive(Debug, Deserialize)]
pub(crate) struct CollectedFiles {
    pub(crate) collected: Vec<CollectedFile>,
    pub(crate) selection: String,
    pub(crate) scope: String,
    pub(crate) folder: String,
    pub(crate) commons: CommonCode,
}

/// What was imported before the first file, or had effects when it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommonCode {
    pub(crate) modules: Vec<String>,
    /// Functions that ran meanwhile: file and qualified name of each.
    pub(crate) bodies: Vec<(String, String)>,
}

/// One file, and what pytest collected from it.
#[derive(Debug, Deserialize)]
pub(crate) struct CollectedFile {
    pub(crate) file: String,
    pub(crate) ids: Vec<String>,
    /// How many tests, with those that other options deselect.
    pub(crate) all: usize,
    pub(crate) module: String,
    /// The folder that is put on the path for it.
    pub(crate) path: String,
    /// What it imports: names, and what is taken of each.
    pub(crate) imports: Vec<(String, Vec<String>)>,
    /// Modules that its tests reach.
    pub(crate) names: Vec<String>,
    pub(crate) fixtures: Vec<String>,
    /// In which it was imported and collected itself.
    #[serde(deserialize_with = "numbers")]
    pub(crate) windows: Vec<u32>,
    /// What it did outside of itself.
    pub(crate) effects: Vec<String>,
}

/// How coverage is measured.
#[derive(Debug, Deserialize)]
pub(crate) struct AskedCoverage {
    /// What was kept with the same can be added.
    pub(crate) settings: String,
    /// The file that it writes.
    pub(crate) data: String,
}

/// What ran in a window of the process.
#[derive(Debug, Deserialize)]
pub(crate) struct WindowClosed {
    pub(crate) window: u32,
    /// The bodies that ran, by their numbers; as the bits of a number in base 16.
    #[serde(deserialize_with = "numbers")]
    pub(crate) bodies: Vec<u32>,
    /// Bodies that are new, with the numbers that follow those before: file and qualified name of each.
    #[serde(default)]
    pub(crate) new: Vec<(String, String)>,
    /// Sources that were read as data.
    #[serde(default)]
    pub(crate) read: Vec<String>,
    /// Folders that were listed only to find installed distributions and conftests.
    #[serde(default)]
    pub(crate) lists: Vec<String>,
    /// What coverage.py measured, by file.
    #[serde(default)]
    pub(crate) covered: BTreeMap<String, CoveredLines>,
}

/// A test ended: what it used.
#[derive(Debug, Deserialize)]
pub(crate) struct TestEnded {
    pub(crate) test: String,
    pub(crate) outcome: TestOutcome,
    pub(crate) time: TestTime,
    /// In the order in which they opened; as the bits of a number in base 16.
    #[serde(deserialize_with = "numbers")]
    pub(crate) windows: Vec<u32>,
    /// Lists of files that are new, with the numbers that follow those before.
    #[serde(default)]
    pub(crate) lists: Vec<Vec<String>>,
    /// The list of the modules that it can reach.
    pub(crate) modules: u32,
    /// The list of files that would count if they were there.
    pub(crate) looks: u32,
    /// What of these modules counts.
    pub(crate) counts: OfModules,
    pub(crate) incomplete: Option<String>,
    /// It forked: any function of these may have run in the copy.
    #[serde(default)]
    pub(crate) all: Vec<String>,
    /// What it covered, where that is measured.
    #[serde(default)]
    pub(crate) coverage: Option<TestCoverage>,
    /// What it left changed in the process.
    #[serde(default)]
    pub(crate) left: Vec<String>,
}

/// How a test ended.
#[derive(Debug, Deserialize)]
pub(crate) struct TestOutcome {
    pub(crate) passed: bool,
    /// What pytest shows of its failure.
    #[serde(default)]
    pub(crate) message: Option<String>,
}

/// How long a test ran and when it ended, in microseconds.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct TestTime {
    pub(crate) wall: u64,
    /// By the clock that only goes forward: messages wait for others.
    pub(crate) ended: u64,
}

/// What counts of the modules that a test can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OfModules {
    /// Their code without the bodies of functions; those that ran count by themselves.
    Parts,
    /// Besides, all their bytes: it asks on which lines code stands.
    Lines,
    /// The whole tree: functions were not watched.
    Whole,
}

/// What a test covered.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct TestCoverage {
    /// The windows in which it covered something; nothing where that is not known.
    #[serde(default, deserialize_with = "some_numbers")]
    pub(crate) windows: Option<Vec<u32>>,
    /// What it covers does not depend on others, nor theirs on it.
    pub(crate) alone: bool,
    /// Tests whose files it opened.
    pub(crate) met: Vec<String>,
}

fn some_numbers<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<u32>>, D::Error> {
    numbers(deserializer).map(Some)
}

/// The places of the bits that are set.
fn numbers<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let mut found = Vec::new();
    for (place, digit) in text.chars().rev().enumerate() {
        let digit = digit.to_digit(16).ok_or_else(|| serde::de::Error::custom("no number"))?;
        let set = (0..4).filter(|bit| digit & (1 << bit) != 0);
        found.extend(set.map(|bit| place as u32 * 4 + bit));
    }
    Ok(found)
}

impl Message {
    pub(crate) fn read(payload: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(payload).map_err(|e| format!("a message was not understood: {e}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_bits() {
        let of = |windows: &str| {
            let text = format!(
                r#"{{"test":"a","outcome":{{"passed":true}},"time":{{"wall":1,"ended":1}},"windows":"{windows}","modules":0,"looks":0,"counts":"parts","incomplete":null}}"#
            );
            match Message::read(text.as_bytes()) {
                Ok(Message::Test(test)) => Some(test.windows),
                _ => None,
            }
        };
        assert_eq!(of(""), Some(vec![]));
        assert_eq!(of("1000000000000000000001a"), Some(vec![1, 3, 4, 88]));
        assert_eq!(of("g"), None);
    }
}
