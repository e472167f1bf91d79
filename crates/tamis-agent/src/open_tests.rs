//! The tests that are open, and what is said at their boundaries.
//!
//! A test is one class. It is open from the first begin of its class to the matching end, on
//! whatever threads: a class that a runner enters again inside itself is the same test, deeper.
//! Several classes can be open; a window belongs to all of them. Classes of one *group* (TestNG)
//! end together when the last run of the group ends.

use std::time::Instant;
use tamis_wire::{Began, Ended, FromJvm, Verdict};

#[derive(Debug, Default)]
pub(crate) struct Tests {
    last: u32,
    open: Vec<Open>,
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Open {
    id: u32,
    class: String,
    depth: u32,
    failed: bool,
    group: Option<String>,
    began: Instant,
}

#[derive(Debug)]
struct Group {
    framework: String,
    depth: u32,
}

/// One test to be opened or closed, told by [`Tests`] and carried out by the caller in this order:
/// the window so far, the message, the mark.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Boundary {
    /// The tests that were open before.
    pub(crate) open: Vec<u32>,
    pub(crate) message: FromJvm,
    pub(crate) test: u32,
    pub(crate) begins: bool,
}

impl Tests {
    pub(crate) fn open(&self) -> Vec<u32> {
        self.open.iter().map(|test| test.id).collect()
    }

    /// The id of the class's test, and the boundary if it was not open.
    pub(crate) fn begin(&mut self, framework: &str, class: &str) -> (u32, Option<Boundary>) {
        if let Some(test) = self.open.iter_mut().find(|test| test.class == class) {
            test.depth += 1;
            return (test.id, None);
        }
        let boundary = self.start(framework, class, None);
        (boundary.test, Some(boundary))
    }

    fn start(&mut self, framework: &str, class: &str, group: Option<String>) -> Boundary {
        let open = self.open();
        self.last += 1;
        let id = self.last;
        self.open.push(Open {
            id,
            class: class.to_owned(),
            depth: 1,
            failed: false,
            group,
            began: Instant::now(),
        });
        let began = Began { test: id, class: class.to_owned(), framework: framework.to_owned() };
        Boundary { open, message: FromJvm::Began(began), test: id, begins: true }
    }

    /// The boundary, if this was the outermost level.
    pub(crate) fn end(&mut self, id: u32, failed: bool) -> Option<Boundary> {
        let at = self.open.iter().position(|test| test.id == id)?;
        let test = &mut self.open[at];
        test.failed |= failed;
        test.depth -= 1;
        if test.depth > 0 {
            return None;
        }
        let open = self.open();
        let test = self.open.remove(at);
        let ended = Ended {
            test: id,
            verdict: if test.failed { Verdict::Failed } else { Verdict::Passed },
            wall_us: u64::try_from(test.began.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        Some(Boundary { open, message: FromJvm::Ended(ended), test: id, begins: false })
    }

    pub(crate) fn end_class(&mut self, class: &str, failed: bool) -> Option<Boundary> {
        let id = self.open.iter().find(|test| test.class == class)?.id;
        self.end(id, failed)
    }

    /// Which of them failed cannot be told when several are open: all did.
    pub(crate) fn failed(&mut self) {
        for test in &mut self.open {
            test.failed = true;
        }
    }

    pub(crate) fn group_begin(&mut self, framework: &str) {
        match self.groups.iter_mut().find(|group| group.framework == framework) {
            Some(group) => group.depth += 1,
            None => self.groups.push(Group { framework: framework.to_owned(), depth: 1 }),
        }
    }

    /// A class of the group runs; it stays open until the group ends.
    pub(crate) fn group_member(&mut self, framework: &str, class: &str) -> Option<Boundary> {
        // Without a run around it nobody would close it.
        self.groups.iter().find(|group| group.framework == framework)?;
        if self.open.iter().any(|test| test.class == class) {
            return None;
        }
        Some(self.start(framework, class, Some(framework.to_owned())))
    }

    /// A run ends; the tests of a group without runs are then closed by [`Self::next_orphan`].
    pub(crate) fn group_end(&mut self, framework: &str, failed: bool) {
        if failed {
            self.failed();
        }
        if let Some(at) = self.groups.iter().position(|group| group.framework == framework) {
            self.groups[at].depth -= 1;
            if self.groups[at].depth == 0 {
                self.groups.remove(at);
            }
        }
    }

    /// Ends the next test whose group is over.
    pub(crate) fn next_orphan(&mut self) -> Option<Boundary> {
        let over = |name: &String| self.groups.iter().all(|group| group.framework != *name);
        let id = self.open.iter().find(|test| test.group.as_ref().is_some_and(over))?.id;
        self.end(id, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(boundary: Option<Boundary>) -> Option<Verdict> {
        match boundary?.message {
            FromJvm::Ended(ended) => Some(ended.verdict),
            _ => None,
        }
    }

    #[test]
    fn a_class_inside_itself_is_one_test() {
        let mut tests = Tests::default();
        let (one, boundary) = tests.begin("junit4", "a.T");
        assert_eq!(boundary.map(|b| b.open), Some(vec![]));
        assert_eq!(tests.begin("junit4", "a.T"), (one, None));
        assert_eq!(tests.end(one, true), None);
        assert_eq!(verdict(tests.end(one, false)), Some(Verdict::Failed));
        assert_eq!(tests.end(one, false), None);
        assert_ne!(tests.begin("junit4", "a.T").0, one);
    }

    #[test]
    fn a_failure_counts_for_all_that_are_open_and_for_no_other() {
        let mut tests = Tests::default();
        let suite = tests.begin("junit4", "a.Suite").0;
        let one = tests.begin("junit4", "a.One").0;
        assert_eq!(verdict(tests.end(one, false)), Some(Verdict::Passed));
        let (two, boundary) = tests.begin("junit4", "a.Two");
        assert_eq!(boundary.map(|b| b.open), Some(vec![suite]));
        tests.failed();
        assert_eq!(verdict(tests.end(two, false)), Some(Verdict::Failed));
        assert_eq!(verdict(tests.end(suite, false)), Some(Verdict::Failed));
    }

    #[test]
    fn a_group_ends_with_its_last_run() {
        let mut tests = Tests::default();
        assert_eq!(tests.group_member("testng", "a.T"), None);
        tests.group_begin("testng");
        tests.group_begin("testng");
        let one = tests.group_member("testng", "a.T").unwrap().test;
        assert_eq!(tests.group_member("testng", "a.T"), None);
        tests.group_end("testng", false);
        assert_eq!(tests.next_orphan(), None);
        tests.group_end("testng", false);
        assert_eq!(tests.next_orphan().map(|b| b.test), Some(one));
        assert_eq!(tests.next_orphan(), None);
    }

    #[test]
    fn an_end_by_name_takes_one_level() {
        let mut tests = Tests::default();
        let one = tests.begin("platform", "a.T").0;
        tests.begin("platform", "a.T");
        assert_eq!(tests.end_class("a.T", false), None);
        assert_eq!(tests.end_class("a.Other", true), None);
        assert_eq!(tests.end(one, false).map(|b| b.open), Some(vec![one]));
    }
}
