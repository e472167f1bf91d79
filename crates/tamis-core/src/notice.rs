//! One-line remarks for the user, from wherever they arise.
//!
//! Libraries never print. They hand a [`Notice`] to whoever shows it.

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

/// Shows remarks.
pub trait Notices: Sync {
    fn notice(&self, notice: Notice);

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
