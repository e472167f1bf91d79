//! The tests that are open, and what is reported at their boundaries.
//!
//! A test is one class. It is open from the first begin of its class to the matching end, on
//! whatever threads: a class that a runner enters again inside itself is the same test, deeper.
//! Several classes can be open; a window belongs to all of them. Classes of one *group* (TestNG)
//! end when that is reported, or together when the last run of the group ends. Where methods are distinguished, a class has
//! [`stretches`]. Some suites of JUnit 3 run the tests of a class one by one, thousands of them, with nothing
//! of the class around them: so such a class stays open until another one begins.

mod stretches;

pub(crate) use stretches::MethodBegins;

use std::time::Instant;
use stretches::OpenStretch;
use tamis_jvm_wire::{Began, Ended, FromJvm, Verdict};

#[derive(Debug, Default)]
pub(crate) struct Tests {
    /// Whether methods are distinguished.
    methods: bool,
    /// Whether a class of JUnit 3 stays open until another one begins.
    lingers: bool,
    last: u32,
    open: Vec<Open>,
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Open {
    id: u32,
    class: String,
    framework: String,
    /// Zero for one that only waits for the next test of its class.
    depth: u32,
    failed: bool,
    group: Option<String>,
    began: Instant,
    /// The one of now, where its methods are distinguished.
    stretch: Option<OpenStretch>,
}

#[derive(Debug)]
struct Group {
    framework: String,
    depth: u32,
}

/// One test to be opened or closed, as [`Tests`] says and carried out by the caller in this order:
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
    pub(crate) fn new(methods: bool, lingers: bool) -> Self {
        Self { methods, lingers: lingers && !methods, ..Self::default() }
    }

    pub(crate) fn open(&self) -> Vec<u32> {
        let stretch = |test: &Open| test.stretch.as_ref().map(|stretch| stretch.id);
        self.open.iter().flat_map(|test| [test.id].into_iter().chain(stretch(test))).collect()
    }

    pub(crate) fn is_outermost(&self, class: &str) -> bool {
        self.open.first().is_some_and(|test| test.class == class)
    }

    /// The id of the class's test, and the boundaries if it was not open.
    pub(crate) fn begin(&mut self, framework: &str, class: &str) -> (u32, Vec<Boundary>) {
        if let Some(test) = self.open.iter_mut().find(|test| test.class == class) {
            test.depth += 1;
            return (test.id, Vec::new());
        }
        let mut boundaries = self.settle(class);
        let started = self.start(framework, class, None);
        let id = started[0].test;
        boundaries.extend(started);
        (id, boundaries)
    }

    /// The begin of the class, and of its first stretch where it has any.
    fn start(&mut self, framework: &str, class: &str, group: Option<String>) -> Vec<Boundary> {
        let divides = self.methods && self.open.is_empty();
        let open = self.open();
        self.last += 1;
        let id = self.last;
        self.open.push(Open {
            id,
            class: class.to_owned(),
            framework: framework.to_owned(),
            depth: 1,
            failed: false,
            group,
            began: Instant::now(),
            stretch: None,
        });
        let began = Began {
            test: id,
            class: class.to_owned(),
            framework: framework.to_owned(),
            stretch: None,
        };
        let begins = Boundary { open, message: FromJvm::Began(began), test: id, begins: true };
        let mut boundaries = vec![begins];
        if divides {
            boundaries.extend(self.next_stretch(0, None));
        }
        boundaries
    }

    /// The boundaries, if this was the outermost level.
    pub(crate) fn end(&mut self, id: u32, failed: bool) -> Vec<Boundary> {
        let Some(at) = self.open.iter().position(|test| test.id == id) else { return Vec::new() };
        let test = &mut self.open[at];
        test.failed |= failed;
        test.depth = test.depth.saturating_sub(1);
        // Suites with names of their own, which look like those of classes, may be around it.
        let waits = self.lingers
            && self.open.iter().all(|test| test.framework == "junit3" && test.group.is_none());
        if self.open[at].depth > 0 || waits {
            return Vec::new();
        }
        self.close(at)
    }

    /// Ends the tests that wait for the next one of their class, where that is not this class.
    pub(crate) fn settle(&mut self, next: &str) -> Vec<Boundary> {
        let mut boundaries = Vec::new();
        let waits = |test: &Open| test.depth == 0 && test.class != next;
        while let Some(at) = self.open.iter().position(waits) {
            boundaries.extend(self.close(at));
        }
        boundaries
    }

    fn close(&mut self, at: usize) -> Vec<Boundary> {
        let id = self.open[at].id;
        let mut boundaries = Vec::new();
        let open = self.open();
        if let Some(stretch) = self.open[at].stretch.take() {
            boundaries.push(stretch.ends(open));
        }
        let open = self.open();
        let test = self.open.remove(at);
        let ended = Ended { test: id, verdict: verdict(test.failed), wall_us: micros(test.began) };
        boundaries.push(Boundary { open, message: FromJvm::Ended(ended), test: id, begins: false });
        boundaries
    }

    pub(crate) fn end_class(&mut self, class: &str, failed: bool) -> Vec<Boundary> {
        let id = self.open.iter().find(|test| test.class == class).map(|test| test.id);
        id.map(|id| self.end(id, failed)).unwrap_or_default()
    }

    /// Which of them failed is not known when several are open: all did.
    pub(crate) fn failed(&mut self) {
        for test in &mut self.open {
            test.failed = true;
            if let Some(stretch) = &mut test.stretch {
                stretch.failed = true;
            }
        }
    }

    /// A failure that is known to be one of this class; of all where it is not open.
    pub(crate) fn failed_in(&mut self, class: &str) {
        match self.open.iter_mut().find(|test| test.class == class) {
            Some(test) => {
                test.failed = true;
                test.stretch.iter_mut().for_each(|stretch| stretch.failed = true);
            }
            None => self.failed(),
        }
    }

    pub(crate) fn group_begin(&mut self, framework: &str) {
        match self.groups.iter_mut().find(|group| group.framework == framework) {
            Some(group) => group.depth += 1,
            None => self.groups.push(Group { framework: framework.to_owned(), depth: 1 }),
        }
    }

    /// A class of the group runs; it stays open until its end is reported, or the group ends.
    pub(crate) fn group_member(&mut self, framework: &str, class: &str) -> Vec<Boundary> {
        // Without a run around it nothing would close it.
        let is_around = self.groups.iter().any(|group| group.framework == framework);
        if !is_around || self.open.iter().any(|test| test.class == class) {
            return Vec::new();
        }
        let mut boundaries = self.settle(class);
        boundaries.extend(self.start(framework, class, Some(framework.to_owned())));
        boundaries
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
    pub(crate) fn next_orphan(&mut self) -> Vec<Boundary> {
        let over = |name: &String| self.groups.iter().all(|group| group.framework != *name);
        let orphan = self.open.iter().find(|test| test.group.as_ref().is_some_and(over));
        let id = orphan.map(|test| test.id);
        id.map(|id| self.end(id, false)).unwrap_or_default()
    }
}

fn verdict(failed: bool) -> Verdict {
    if failed { Verdict::Failed } else { Verdict::Passed }
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(mut boundaries: Vec<Boundary>) -> Option<Verdict> {
        match boundaries.pop()?.message {
            FromJvm::Ended(ended) => Some(ended.verdict),
            _ => None,
        }
    }

    fn before(boundaries: &[Boundary]) -> Option<Vec<u32>> {
        boundaries.first().map(|boundary| boundary.open.clone())
    }

    #[test]
    fn a_class_inside_itself_is_one_test() {
        let mut tests = Tests::default();
        let (one, boundaries) = tests.begin("junit4", "a.T");
        assert_eq!(before(&boundaries), Some(vec![]));
        assert_eq!(tests.begin("junit4", "a.T"), (one, vec![]));
        assert_eq!(tests.end(one, true), []);
        assert_eq!(verdict(tests.end(one, false)), Some(Verdict::Failed));
        assert_eq!(tests.end(one, false), []);
        assert_ne!(tests.begin("junit4", "a.T").0, one);
    }

    #[test]
    fn a_failure_counts_for_all_that_are_open_and_for_no_other() {
        let mut tests = Tests::default();
        let suite = tests.begin("junit4", "a.Suite").0;
        let one = tests.begin("junit4", "a.One").0;
        assert_eq!(verdict(tests.end(one, false)), Some(Verdict::Passed));
        let (two, boundaries) = tests.begin("junit4", "a.Two");
        assert_eq!(before(&boundaries), Some(vec![suite]));
        tests.failed();
        assert_eq!(verdict(tests.end(two, false)), Some(Verdict::Failed));
        assert_eq!(verdict(tests.end(suite, false)), Some(Verdict::Failed));
    }

    #[test]
    fn a_failure_in_a_group_belongs_to_its_class() {
        let mut tests = Tests::default();
        tests.group_begin("testng");
        let one = tests.group_member("testng", "a.One")[0].test;
        let two = tests.group_member("testng", "a.Two")[0].test;
        tests.failed_in("a.Two");
        tests.group_end("testng", false);
        let verdicts = [tests.next_orphan(), tests.next_orphan()].map(|ended| {
            let test = ended[0].test;
            (test, verdict(ended))
        });
        let expected = [(one, Some(Verdict::Passed)), (two, Some(Verdict::Failed))];
        assert_eq!(verdicts, expected);
        // What failed in a class that is not open cannot be attributed to it.
        let three = tests.begin("junit4", "a.Three").0;
        tests.failed_in("a.Four");
        assert_eq!(verdict(tests.end(three, false)), Some(Verdict::Failed));
    }

    #[test]
    fn a_group_ends_with_its_last_run() {
        let mut tests = Tests::default();
        assert_eq!(tests.group_member("testng", "a.T"), []);
        tests.group_begin("testng");
        tests.group_begin("testng");
        let one = tests.group_member("testng", "a.T")[0].test;
        assert_eq!(tests.group_member("testng", "a.T"), []);
        tests.group_end("testng", false);
        assert_eq!(tests.next_orphan(), []);
        tests.group_end("testng", false);
        assert_eq!(tests.next_orphan()[0].test, one);
        assert_eq!(tests.next_orphan(), []);
    }

    #[test]
    fn a_class_of_a_group_ends_when_that_is_reported_and_has_methods_while_it_is_alone() {
        let mut tests = Tests::new(true, true);
        tests.group_begin("testng");
        let begun = tests.group_member("testng", "a.One");
        assert_eq!(begun.len(), 2);
        let method = tests.method_begins("a.One#m");
        tests.failed_in("a.One");
        assert_eq!(verdict(tests.method_ends(method.id, false)), Some(Verdict::Failed));
        assert_eq!(verdict(tests.end_class("a.One", false)), Some(Verdict::Failed));
        assert_eq!(tests.open(), [0; 0]);
        tests.group_member("testng", "a.Two");
        assert_eq!(tests.group_member("testng", "a.Three").len(), 1);
        assert_eq!(verdict(tests.end_class("a.Two", false)), Some(Verdict::Passed));
        tests.group_end("testng", false);
        assert_eq!(verdict(tests.next_orphan()), Some(Verdict::Passed));
        assert_eq!(tests.next_orphan(), []);
    }

    #[test]
    fn an_end_by_name_takes_one_level() {
        let mut tests = Tests::default();
        let one = tests.begin("platform", "a.T").0;
        tests.begin("platform", "a.T");
        assert_eq!(tests.end_class("a.T", false), []);
        assert_eq!(tests.end_class("a.Other", true), []);
        assert_eq!(before(&tests.end(one, false)), Some(vec![one]));
    }

    #[test]
    fn a_class_whose_tests_come_one_by_one_is_one_test_where_it_may_wait() {
        let mut tests = Tests::new(false, true);
        let (id, first) = tests.begin("junit3", "a.A");
        assert_eq!(first.len(), 1);
        assert_eq!(tests.end(id, false), []);
        let (again, none) = tests.begin("junit3", "a.A");
        assert_eq!((again, none.len()), (id, 0));
        assert_eq!(tests.end(id, true), []);
        assert_eq!(tests.settle("a.A"), []);
        let (other, boundaries) = tests.begin("junit4", "a.B");
        assert!(other != id && boundaries.len() == 2);
        let FromJvm::Ended(ended) = &boundaries[0].message else { panic!("{boundaries:?}") };
        assert_eq!((ended.test, ended.verdict), (id, Verdict::Failed));
        assert_eq!(boundaries[0].open, [id]);
        assert_eq!(boundaries[1].open, [0; 0]);
        // One inside of another framework's, or of another framework, ends when it ends.
        let (inner, _) = tests.begin("junit3", "a.C");
        assert_eq!(tests.end(inner, false).len(), 1);
        assert_eq!(tests.end(other, false).len(), 1);
        // A suite with a name that is no class's is around them.
        let (suite, _) = tests.begin("junit3", "Suite");
        let (id, _) = tests.begin("junit3", "a.A");
        assert_eq!(tests.end(id, false), []);
        assert_eq!(tests.begin("junit3", "a.A"), (id, Vec::new()));
        assert_eq!(tests.end(id, false), []);
        assert_eq!(tests.begin("junit3", "a.B").1.len(), 2);
        assert_eq!(tests.end(suite, false), []);
        let mut tests = Tests::new(true, true);
        let (id, _) = tests.begin("junit3", "a.A");
        assert!(!tests.end(id, false).is_empty());
    }
}
