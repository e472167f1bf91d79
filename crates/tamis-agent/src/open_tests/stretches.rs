//! Test methods: the time of a test class in stretches.
//!
//! From the begin of a test class to its end one stretch follows the other: a method, or the time between
//! methods. The next one begins before the last one ends, so that nothing falls into a gap. Only the
//! outermost open class is divided. Methods that run at the same time, or inside each other, cannot be
//! distinguished: the class is not divided from there on.

use super::{Boundary, Open, Tests, verdict};
use std::time::Instant;
use tamis_jvm_wire::{Began, Ended, FromJvm, Stretch};

#[derive(Debug)]
pub(super) struct OpenStretch {
    pub(super) id: u32,
    /// `a.FooTest#bar`; nothing for the time between methods.
    method: Option<String>,
    depth: u32,
    pub(super) failed: bool,
    began: Instant,
}

/// What has to be reported when a method begins.
#[derive(Debug, Default)]
pub(crate) struct MethodBegins {
    /// 0 where it is not distinguished.
    pub(crate) id: u32,
    pub(crate) boundaries: Vec<Boundary>,
    pub(crate) message: Option<FromJvm>,
}

impl OpenStretch {
    pub(super) fn ends(self, open: Vec<u32>) -> Boundary {
        let (test, began) = (self.id, self.began);
        let ended = Ended { test, verdict: verdict(self.failed), wall_us: super::micros(began) };
        Boundary { open, message: FromJvm::Ended(ended), test, begins: false }
    }
}

impl Tests {
    /// Begins another stretch of a class, then ends the last one.
    pub(super) fn next_stretch(&mut self, at: usize, method: Option<&str>) -> Vec<Boundary> {
        let open = self.open();
        self.last += 1;
        let id = self.last;
        let test = &mut self.open[at];
        let last = test.stretch.replace(OpenStretch {
            id,
            method: method.map(str::to_owned),
            depth: 1,
            failed: false,
            began: Instant::now(),
        });
        let stretch = Stretch { of: test.id, method: method.map(str::to_owned) };
        let began = Began {
            test: id,
            class: test.class.clone(),
            framework: String::new(),
            stretch: Some(stretch),
        };
        let message = FromJvm::Began(began);
        let mut boundaries = vec![Boundary { open: open.clone(), message, test: id, begins: true }];
        if let Some(last) = last {
            let both = open.into_iter().chain([id]).collect();
            boundaries.push(last.ends(both));
        }
        boundaries
    }

    pub(crate) fn method_begins(&mut self, key: &str) -> MethodBegins {
        let class = key.split('#').next().unwrap_or(key);
        let Some(at) = self.open.iter().position(|test| test.has_stretch_for(class)) else {
            return MethodBegins::default();
        };
        let test = &mut self.open[at];
        let Some(stretch) = &mut test.stretch else { return MethodBegins::default() };
        match &stretch.method {
            None => {
                let boundaries = self.next_stretch(at, Some(key));
                MethodBegins { id: self.last, boundaries, message: None }
            }
            Some(method) if method == key => {
                stretch.depth += 1;
                MethodBegins { id: stretch.id, ..MethodBegins::default() }
            }
            Some(_) => {
                let class = test.class.clone();
                let why = "its methods run at the same time".to_owned();
                let message = Some(FromJvm::Undivided { class, why });
                let open = self.open();
                let last = self.open[at].stretch.take();
                let boundaries = last.into_iter().map(|last| last.ends(open.clone())).collect();
                MethodBegins { id: 0, boundaries, message }
            }
        }
    }

    pub(crate) fn method_ends(&mut self, id: u32, failed: bool) -> Vec<Boundary> {
        let is_it = |test: &Open| test.stretch.as_ref().is_some_and(|stretch| stretch.id == id);
        let Some(at) = self.open.iter().position(is_it) else { return Vec::new() };
        let Some(stretch) = &mut self.open[at].stretch else { return Vec::new() };
        stretch.failed |= failed;
        stretch.depth -= 1;
        if stretch.depth > 0 {
            return Vec::new();
        }
        self.open[at].failed |= failed;
        self.next_stretch(at, None)
    }
}

impl Open {
    fn has_stretch_for(&self, class: &str) -> bool {
        let rest = class.strip_prefix(self.class.as_str());
        self.stretch.is_some() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('$'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_jvm_wire::Verdict;

    fn tests() -> Tests {
        Tests { methods: true, ..Tests::default() }
    }

    fn ended(boundaries: &[Boundary]) -> Vec<(u32, Verdict)> {
        let ended = |b: &Boundary| match &b.message {
            FromJvm::Ended(ended) => Some((ended.test, ended.verdict)),
            _ => None,
        };
        boundaries.iter().filter_map(ended).collect()
    }

    #[test]
    fn stretches_follow_each_other_without_a_gap() {
        let mut tests = tests();
        let (class, boundaries) = tests.begin("junit4", "a.T");
        assert_eq!(boundaries.len(), 2);
        let between = boundaries[1].test;
        let method = tests.method_begins("a.T#m");
        assert_eq!(method.boundaries[0].open, [class, between]);
        assert!(method.boundaries[0].begins && !method.boundaries[1].begins);
        assert_eq!(method.boundaries[1].open, [class, between, method.id]);
        assert_eq!(tests.open(), [class, method.id]);
        let after = tests.method_ends(method.id, true);
        assert_eq!(ended(&after), [(method.id, Verdict::Failed)]);
        let end = tests.end(class, false);
        assert_eq!(ended(&end), [(after[0].test, Verdict::Passed), (class, Verdict::Failed)]);
        assert!(tests.open().is_empty());
    }

    #[test]
    fn a_method_inside_itself_is_one_and_another_one_ends_the_division() {
        let mut tests = tests();
        tests.begin("junit4", "a.T");
        let one = tests.method_begins("a.T$In#m");
        assert_eq!(tests.method_begins("a.T$In#m").id, one.id);
        assert!(tests.method_ends(one.id, false).is_empty());
        let other = tests.method_begins("a.T#n");
        assert_eq!(other.id, 0);
        assert!(matches!(other.message, Some(FromJvm::Undivided { .. })));
        assert_eq!(ended(&other.boundaries), [(one.id, Verdict::Passed)]);
        assert_eq!(tests.method_begins("a.T#o").id, 0);
        assert!(tests.method_ends(one.id, false).is_empty());
    }

    #[test]
    fn only_the_outermost_class_is_divided() {
        let mut tests = tests();
        tests.begin("junit4", "a.Suite");
        let (_, boundaries) = tests.begin("junit4", "a.T");
        assert_eq!(boundaries.len(), 1);
        assert_eq!(tests.method_begins("a.T#m").id, 0);
        assert_eq!(tests.method_begins("a.Suites#m").id, 0);
    }

    #[test]
    fn a_failure_belongs_to_the_method_that_runs() {
        let mut tests = tests();
        let (class, _) = tests.begin("junit4", "a.T");
        let one = tests.method_begins("a.T#m");
        tests.failed();
        let after = tests.method_ends(one.id, false);
        assert_eq!(ended(&after), [(one.id, Verdict::Failed)]);
        let two = tests.method_begins("a.T#n");
        assert_eq!(ended(&tests.method_ends(two.id, false)), [(two.id, Verdict::Passed)]);
        assert_eq!(ended(&tests.end(class, false)).last(), Some(&(class, Verdict::Failed)));
    }
}
