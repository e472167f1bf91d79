//! Engines that report calls afterwards: a listing that we hear of after the tree, or somebody
//! else, has changed the names.

use crate::stage::{bytes, observed, open};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tamis_core::{Question, Scheme, Taint, Value};
use tamis_observe::{Observations, Observer};
use tamis_trace::{Action, Event, Sink, Timing};

/// A call that ended at this time and is reported only now.
struct Late(u64);

impl Late {
    fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        // Time stamps of files are coarse: what comes after is distinguished.
        std::thread::sleep(Duration::from_millis(30));
        Self(u64::try_from(since.as_nanos()).unwrap())
    }

    fn tell(&self, observer: &mut Observer<'_>, action: Action<'_>) {
        let timing = Timing::After { time_ns: self.0, result: 0 };
        observer.event(Event { thread: std::process::id(), timing, action });
    }
}

fn make<'a>(path: &Path) -> Action<'a> {
    Action::MakeDirectory { path: bytes(path).into() }
}

/// What is observed of `play` in a folder with the files `a` and `b`.
fn seen(play: impl FnOnce(&mut Observer<'_>, &Path)) -> Observations {
    let prepare = |root: &Path| {
        fs::write(root.join("a"), "a").unwrap();
        fs::write(root.join("b"), "b").unwrap();
        std::thread::sleep(Duration::from_millis(30));
    };
    observed(prepare, play)
}

fn listing(of: &Observations) -> Option<Value> {
    let is = |q: &Question| matches!(q, Question::Path(_, Scheme::Listing));
    of.observed.iter().find(|o| is(&o.question)).map(|o| o.before)
}

fn a_and_b() -> Option<Value> {
    Some(tamis_fs::listing_value(&[(b"a".to_vec(), b'f'), (b"b".to_vec(), b'f')]))
}

/// The folder was looked at first, listed, and had changed by the time we heard of the listing.
fn stat_list_and(observer: &mut Observer<'_>, root: &Path, made: &[&str]) -> Late {
    let first = Late::now();
    first.tell(observer, Action::Stat { path: bytes(root).into(), follow: true });
    let listed = Late::now();
    for name in made {
        fs::create_dir(root.join(name)).unwrap();
    }
    listed.tell(observer, open(root));
    Late::now()
}

#[test]
fn what_the_tree_made_since_is_distinguished() {
    let seen = seen(|observer, root| {
        let made = stat_list_and(observer, root, &["one", "two"]);
        made.tell(observer, make(&root.join("one")));
        made.tell(observer, make(&root.join("two")));
    });
    assert!(seen.taints.is_empty(), "{:?}", seen.taints);
    assert_eq!(listing(&seen), a_and_b());
}

#[test]
fn a_folder_that_was_never_looked_at_before_is_distinguished_as_well() {
    let seen = seen(|observer, root| {
        let listed = Late::now();
        fs::create_dir(root.join("one")).unwrap();
        listed.tell(observer, open(root));
        Late::now().tell(observer, make(&root.join("one")));
    });
    assert!(seen.taints.is_empty(), "{:?}", seen.taints);
    assert_eq!(listing(&seen), a_and_b());
}

#[test]
fn what_somebody_else_made_or_removed_taints() {
    let unstable = |seen: &Observations| {
        let is = |t: &Taint| matches!(t, Taint::Unstable(_) | Taint::ChangedBeforeSeen(_));
        seen.taints.iter().any(is)
    };
    let made = seen(|observer, root| {
        let made = stat_list_and(observer, root, &["one", "foreign"]);
        made.tell(observer, make(&root.join("one")));
    });
    assert!(unstable(&made), "{made:?}");
    let removed = seen(|observer, root| {
        let made = stat_list_and(observer, root, &["one"]);
        made.tell(observer, make(&root.join("one")));
        fs::remove_file(root.join("b")).unwrap();
    });
    assert!(unstable(&removed), "{removed:?}");
    let nothing_own = seen(|observer, root| {
        stat_list_and(observer, root, &["foreign"]);
    });
    assert!(unstable(&nothing_own), "{nothing_own:?}");
}
