//! What a verb of `tamis store` answers: text for people, lines for programs.

use tamis_report::json::Version;
use tamis_report::json::store::StoreLine;

/// What a verb answers.
#[derive(Debug)]
pub struct Answer {
    /// For people, with its ends of lines.
    pub text: String,
    /// The same for programs.
    pub lines: Vec<StoreLine>,
    /// Whether something is wrong.
    pub wrong: bool,
}

impl Answer {
    pub(crate) fn of(text: String, line: StoreLine) -> Self {
        Self { text, lines: vec![line], wrong: false }
    }
}

/// A line of which only the action is known.
pub(crate) fn line(action: &str) -> StoreLine {
    StoreLine { version: Version, action: action.to_owned(), ..StoreLine::default() }
}
