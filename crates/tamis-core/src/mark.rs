//! Boundaries between units in the stream of a tracer: paths that do not exist, which a process looks at.

use std::fmt;

/// A unit of tests of one process begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub pid: u32,
    pub test: u32,
    pub begins: bool,
}

/// Stands before every mark; the token of the run follows, so that runs inside runs keep apart.
pub const PREFIX: &str = "/.tamis-mark/";

impl Mark {
    /// No unit has this number: time outside of units begins anew, and what was before does not count.
    pub const OUTSIDE: u32 = 0;

    pub fn outside_anew(pid: u32) -> Self {
        Self { pid, test: Self::OUTSIDE, begins: false }
    }

    /// The path that the process looks at.
    pub fn path(self, token: &str) -> String {
        let kind = if self.begins { 'b' } else { 'e' };
        format!("{PREFIX}{token}/{}/{kind}/{}", self.pid, self.test)
    }

    /// The marks that a path is, under this token, in the order in which they are taken: a unit begins, or it ends, or
    /// (`n`) it begins and in the same moment the one with the number before it ends.
    pub fn parse(path: &[u8], token: &str) -> Option<(Self, Option<Self>)> {
        let rest = path.strip_prefix(PREFIX.as_bytes())?.strip_prefix(token.as_bytes())?;
        let mut parts = std::str::from_utf8(rest).ok()?.strip_prefix('/')?.split('/');
        let pid = parts.next()?.parse().ok()?;
        let kind = parts.next()?;
        let test: u32 = parts.next()?.parse().ok()?;
        let mark = |test, begins| Self { pid, test, begins };
        let marks = match kind {
            "b" => (mark(test, true), None),
            "e" => (mark(test, false), None),
            "n" => (mark(test, true), Some(mark(test.checked_sub(1)?, false))),
            _ => return None,
        };
        parts.next().is_none().then_some(marks)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.begins { "begins" } else { "ends" };
        write!(f, "test {} of process {} {verb}", self.test, self.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_back_under_their_token_only() {
        let mark = Mark { pid: 17, test: 3, begins: true };
        let path = mark.path("abc");
        assert_eq!(Mark::parse(path.as_bytes(), "abc"), Some((mark, None)));
        let before = Mark { test: 2, begins: false, ..mark };
        assert_eq!(Mark::parse(b"/.tamis-mark/abc/17/n/3", "abc"), Some((mark, Some(before))));
        assert_eq!(Mark::parse(path.as_bytes(), "ab"), None);
        assert_eq!(Mark::parse(b"/.tamis-mark/abc/17/x/3", "abc"), None);
        assert_eq!(Mark::parse(b"/.tamis-mark/abc/17/b/3/4", "abc"), None);
        assert_eq!(Mark::parse(b"/etc/passwd", "abc"), None);
    }
}
