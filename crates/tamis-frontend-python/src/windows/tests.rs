use super::*;
use tamis_core::Value;
use tamis_core::record::{Access, Detail};

fn seen(path: &str, before: &str, after: Option<&str>) -> Observed {
    Observed {
        question: Question::Path(PortablePath::from_stored(path), Scheme::Raw),
        before: Value::text(before.as_bytes()),
        after: after.map(|after| Value::text(after.as_bytes())),
        access: Access::READ,
        program: "python".into(),
        detail: Detail::None,
    }
}

/// The windows of a process, and what they saw.
struct Seen {
    pool: Pool,
    windows: Windows,
}

impl Seen {
    fn together(&mut self, windows: &[u32]) -> Together {
        self.windows.together(&mut self.pool, windows, &[])
    }

    fn observed(&mut self, windows: &[u32]) -> Vec<Observed> {
        let numbers = self.together(windows).numbers;
        self.pool.observed(&numbers)
    }
}

fn windows(all: &[(u32, Observed)]) -> Seen {
    let mut seen = Seen { pool: Pool::default(), windows: Windows::default() };
    for (number, observed) in all {
        let observed = vec![observed.clone()];
        let observations = Observations { observed, ..Observations::default() };
        seen.windows.add(&mut seen.pool, *number, observations);
    }
    seen
}

#[test]
fn windows_that_are_asked_for_and_no_others() {
    let mut windows =
        windows(&[(1, seen("a", "1", None)), (2, seen("b", "1", None)), (3, seen("a", "1", None))]);
    let mut names = |which: &[u32]| windows.observed(which).len();
    assert_eq!((names(&[1]), names(&[1, 3]), names(&[1, 2, 3]), names(&[])), (1, 1, 2, 0));
    assert!(windows.together(&[1, 2, 3]).taints.is_empty());
}

#[test]
fn what_one_window_leaves_the_next_may_find() {
    let mut windows = windows(&[(1, seen("a", "1", Some("2"))), (2, seen("a", "2", None))]);
    // What was found out for one test does not change it for the next.
    for _ in 0..2 {
        let together = windows.together(&[1, 2]);
        assert!(together.taints.is_empty(), "{:?}", together.taints);
        assert_eq!(windows.observed(&[1, 2]), [seen("a", "1", Some("2"))]);
        assert_eq!(windows.observed(&[2]), [seen("a", "2", None)]);
    }
}

#[test]
fn a_file_that_changed_in_between_is_not_one_state() {
    let mut windows = windows(&[(1, seen("a", "1", None)), (3, seen("a", "2", None))]);
    let taint = Taint::Unstable(PortablePath::from_stored("a"));
    assert!(windows.together(&[1, 3]).taints.contains(&taint));
    assert!(windows.together(&[1, 3]).taints.contains(&taint), "for the next test as well");
}

#[test]
fn a_window_that_was_not_seen_is_a_taint() {
    let mut windows = windows(&[(1, seen("a", "1", None))]);
    assert_eq!(windows.together(&[1, 2]).taints.len(), 1);
}

#[test]
fn what_is_the_tools_own_is_forgotten_with_its_taints() {
    let mut windows =
        windows(&[(1, seen("a", "1", None)), (2, seen("a", "2", None)), (3, seen("b", "1", None))]);
    let is_own = |path: &PortablePath| *path == PortablePath::from_stored("a");
    windows.windows.forget(&windows.pool, is_own);
    let mut together = windows.together(&[1, 2, 3]);
    together.forget(is_own);
    assert_eq!(windows.pool.observed(&together.numbers), [seen("b", "1", None)]);
    assert!(together.taints.is_empty());
}

#[test]
fn names_that_only_the_search_for_distributions_saw_are_left_out_of_that_window() {
    let folder = PortablePath::from_stored("a");
    let listed = Observed {
        question: Question::Path(folder.clone(), Scheme::Listing),
        ..seen("a", "1", None)
    };
    let mut windows = windows(&[(1, listed.clone()), (2, listed), (3, seen("a", "1", None))]);
    windows.windows.leave_out_names(1, folder);
    assert!(windows.observed(&[1]).is_empty());
    assert_eq!(windows.observed(&[1, 2, 3]).len(), 2);
}

#[test]
fn facts_come_besides_the_windows() {
    let mut windows = windows(&[(1, seen("a", "1", None))]);
    let Seen { pool, windows } = &mut windows;
    let known = pool.number(seen("a", "1", None));
    let more = pool.number(seen("b", "1", None));
    assert_eq!(windows.together(pool, &[1], &[known, more]).numbers.len(), 2);
}
