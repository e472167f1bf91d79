//! What was seen of a test class, by its methods.

use crate::seen::Seen;
use std::collections::BTreeMap;

/// A test class whose methods are being distinguished.
#[derive(Debug)]
pub(crate) struct Divided {
    /// Everything outside of its methods, with what was before it.
    pub(crate) shared: Seen,
    /// The one that runs: its number and name.
    pub(crate) open: Option<(u32, String, Seen)>,
    pub(crate) done: Vec<(u32, String, Seen)>,
    /// What of the JVM was not as at first when it began.
    pub(crate) globals: BTreeMap<String, i64>,
    /// What of the JVM one of its methods changed for another.
    pub(crate) unsettled: Option<String>,
}

impl Divided {
    /// Whom a stretch of time belongs to.
    pub(crate) fn part(&mut self, is_open: impl Fn(u32) -> bool) -> &mut Seen {
        match &mut self.open {
            Some((stretch, _, seen)) if is_open(*stretch) => seen,
            _ => &mut self.shared,
        }
    }
}
