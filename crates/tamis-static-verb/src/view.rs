//! How an answer is shown, and where remarks beside it go.

use tamis_report::style::Style;

/// What the options of a call say about answers.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// One line of JSON for each thing.
    pub json: bool,
    pub quiet: bool,
    /// All tests are asked for.
    pub all: bool,
    pub style: &'a Style,
    /// Takes whole lines that are no part of the answer.
    pub notes: &'a dyn Fn(&str),
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("json", &self.json).finish_non_exhaustive()
    }
}

impl View<'_> {
    /// One line of tamis's own.
    pub(crate) fn note(&self, text: &str) {
        (self.notes)(&format!("tamis: {text}\n"));
    }

    /// Lines as they are.
    pub(crate) fn note_block(&self, text: &str) {
        (self.notes)(text);
    }
}
