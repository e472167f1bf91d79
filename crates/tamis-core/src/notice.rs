//! One-line remarks for the user, from wherever they arise.
//!
//! Libraries never print. They hand a [`Notice`] to whoever shows it.

use crate::{Planned, TestKey};

/// How much a remark matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Left out with `--quiet`.
    Remark,
    /// Something does not work as the user expects: always shown.
    Warning,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub weight: Weight,
    pub text: String,
}

/// How far the tests inside a command are.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// It is decided about one of them.
    Decided(&'a Planned),
    /// One of them ended; whether it passed.
    Ended(&'a TestKey, bool),
}

/// Shows remarks.
pub trait Notices: Sync {
    fn notice(&self, notice: Notice);

    /// Shows how far the tests inside a command are.
    fn step(&self, _: Step<'_>) {}

    fn remark(&self, text: String) {
        self.notice(Notice { weight: Weight::Remark, text });
    }

    fn warn(&self, text: String) {
        self.notice(Notice { weight: Weight::Warning, text });
    }
}

impl std::fmt::Debug for dyn Notices + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Notices")
    }
}

/// Shows nothing: for a look that only explanations need.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Notices for Silent {
    fn notice(&self, _: Notice) {}
}
