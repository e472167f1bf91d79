//! Reasons in words, for people.
//!
//! A reason has two parts: *what* changed, the same text for all tests that reach it, so that summaries can
//! group by it, and the *way* from a test to it, in short names and with the middle of long ones left out.
//! Machines get all steps with full names.

use crate::diff::Change;
use crate::select::{Reason, Step};

/// Steps of a way that are shown from its start when it is too long to be shown whole; one more from its end.
const SHOWN_FROM_START: usize = 2;
/// Methods of a changed class that are named.
const NAMED: usize = 3;

/// Why a test runs, without the way to it.
pub fn what(reason: &Reason) -> String {
    in_words(reason, |name| name)
}

fn in_words<'r>(reason: &'r Reason, shown: impl Fn(&'r str) -> &'r str) -> String {
    match reason {
        Reason::New => "no finished run of it is known".into(),
        Reason::Requested => "all tests were asked for".into(),
        Reason::DidNotPass => "it did not pass last time".into(),
        Reason::Reaches { path, change } => reached(path, change, shown),
        Reason::Environment => {
            "the JDK, the options of the JVM or a file of run-all-on changed".into()
        }
        Reason::Unknown { why } => format!("not everything is known: {why}"),
        Reason::OtherRules => "its last run was judged by weaker rules".into(),
        Reason::Configuration => {
            "it ran with a configuration that is not known to be the one of now".into()
        }
    }
}

/// The way to the change: `FooTest#a -> Bar#b -> ... 3 more ... -> Baz#c`. None where there is none to tell:
/// the test itself changed, or nothing that is reached did.
pub fn way(reason: &Reason) -> Option<String> {
    match reason {
        Reason::Reaches { path, .. } if path.len() > 1 => Some(short(path)),
        _ => None,
    }
}

/// All steps of the way, with full names.
pub fn steps(reason: &Reason) -> Vec<String> {
    match reason {
        Reason::Reaches { path, .. } => path.iter().map(|step| step.name.clone()).collect(),
        _ => Vec::new(),
    }
}

/// What changed and the way to it on one line, in short names.
pub fn line(reason: &Reason) -> String {
    let what = in_words(reason, simple);
    match way(reason) {
        Some(way) => format!("{what}: {way}"),
        None => what,
    }
}

fn reached<'r>(path: &'r [Step], change: &Change, shown: impl Fn(&'r str) -> &'r str) -> String {
    let Some(last) = path.last() else { return format!("something changed ({change})") };
    let (class, method) = match last.name.split_once('#') {
        Some((class, method)) => (shown(class), Some(method)),
        None => (shown(&last.name), None),
    };
    let name = shown(without_descriptor(&last.name));
    match change {
        _ if path.len() == 1 && method.is_none() => "its own class changed".into(),
        Change::Methods(list) if list.len() == 1 && method == list.first().map(String::as_str) => {
            format!("{name} changed")
        }
        Change::Added => format!("{class} was added"),
        Change::Removed => format!("{class} was removed"),
        Change::Content => format!("{class} changed"),
        Change::Overridden => format!("calls of {name} run another method now"),
        Change::Unreadable(why) => format!("{name} cannot be read: {why}"),
        Change::Header(list) => format!("{class} changed in {}", parts(Some("its header"), list)),
        Change::Methods(list) => format!("{class} changed in {}", parts(None, list)),
        Change::OnlyOrder | Change::OnlyDebug => format!("{class} changed ({change})"),
    }
}

/// `its header, a, b and 3 more`.
fn parts(head: Option<&str>, methods: &[String]) -> String {
    let mut names: Vec<&str> = methods.iter().map(|name| without_descriptor(name)).collect();
    names.dedup();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let mut all: Vec<String> = head.into_iter().chain(names).map(str::to_owned).collect();
    if more > 0 {
        all.push(format!("{more} more"));
    }
    let last = all.pop().unwrap_or_default();
    if all.is_empty() { last } else { format!("{} and {last}", all.join(", ")) }
}

/// Plain use and calls are not named, every other kind of step is.
fn short(steps: &[Step]) -> String {
    let name = |step: &Step| simple(without_descriptor(&step.name)).to_owned();
    let arrow = |step: &Step| match step.by {
        None => String::new(),
        Some("uses" | "calls") => " -> ".to_owned(),
        Some(kind) => format!(" -{kind}-> "),
    };
    let left_out = steps.len().saturating_sub(SHOWN_FROM_START + 1);
    let mut out = String::new();
    for (at, step) in steps.iter().enumerate() {
        match at {
            // To leave out a single step would not make it shorter.
            SHOWN_FROM_START if left_out > 1 => out += &format!("... {left_out} more ... -> "),
            _ if left_out > 1 && at > SHOWN_FROM_START && at + 1 < steps.len() => {}
            _ => out += &(name(step) + &arrow(step)),
        }
    }
    out
}

/// `com.acme.Bar#baz(I)V` without what follows the name.
fn without_descriptor(name: &str) -> &str {
    name.split('(').next().unwrap_or(name)
}

/// A class or method without its package; a file as it is.
fn simple(name: &str) -> &str {
    if name.contains('/') {
        return name;
    }
    let class = name.split('#').next().unwrap_or(name);
    match class.rfind('.') {
        Some(dot) => &name[dot + 1..],
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reaches(names: &[&str], by: &'static str, change: Change) -> Reason {
        let step = |(at, name): (usize, &&str)| Step {
            name: (*name).to_owned(),
            by: (at + 1 < names.len()).then_some(by),
        };
        Reason::Reaches { path: names.iter().enumerate().map(step).collect(), change }
    }

    fn methods(names: &[&str]) -> Change {
        Change::Methods(names.iter().map(|n| (*n).to_owned()).collect())
    }

    #[test]
    fn a_changed_method_and_a_short_way_to_it() {
        let change = methods(&["c(I)V"]);
        let reason =
            reaches(&["p.FooTest#a()V", "p.q.Bar$In#b()V", "p.Baz#c(I)V"], "calls", change);
        assert_eq!(line(&reason), "Baz#c changed: FooTest#a -> Bar$In#b -> Baz#c");
        assert_eq!(what(&reason), "p.Baz#c changed");
        assert_eq!(steps(&reason), ["p.FooTest#a()V", "p.q.Bar$In#b()V", "p.Baz#c(I)V"]);
    }

    #[test]
    fn the_middle_of_a_long_way_is_left_out() {
        let names = ["p.T#a()V", "p.B#b()V", "p.C#c()V", "p.D#d()V", "p.E#e()V"];
        let way_of = |n: usize| way(&reaches(&names[..n], "calls", Change::Removed)).unwrap();
        assert_eq!(way_of(5), "T#a -> B#b -> ... 2 more ... -> E#e");
        assert_eq!(way_of(4), "T#a -> B#b -> C#c -> D#d");
        assert_eq!(way_of(2), "T#a -> B#b");
    }

    #[test]
    fn a_class_of_which_another_method_is_reached() {
        let reason = reaches(&["T#a()V", "p.B#b()V"], "calls", methods(&["x()V", "x(I)V", "y()V"]));
        assert_eq!(what(&reason), "p.B changed in x and y");
        let many = methods(&["a()V", "b()V", "c()V", "d()V", "e()V"]);
        assert_eq!(
            what(&reaches(&["T", "p.B"], "uses", many)),
            "p.B changed in a, b, c and 2 more"
        );
        assert_eq!(
            what(&reaches(&["T", "B"], "uses", Change::Header(Vec::new()))),
            "B changed in its header"
        );
        let both = Change::Header(vec!["a()V".into()]);
        assert_eq!(what(&reaches(&["T", "B"], "uses", both)), "B changed in its header and a");
    }

    #[test]
    fn kinds_of_use_and_files_keep_their_names() {
        let reason = reaches(&["p.T", "p.B"], "inherits", Change::Added);
        assert_eq!(line(&reason), "B was added: T -inherits-> B");
        let reason = reaches(&["p.T", "q/test.properties"], "resource", Change::Content);
        assert_eq!(line(&reason), "q/test.properties changed: T -resource-> q/test.properties");
    }

    #[test]
    fn tests_that_changed_themselves_are_one_group() {
        for name in ["p.ATest", "p.BTest"] {
            assert_eq!(what(&reaches(&[name], "uses", Change::Added)), "its own class changed");
        }
        let method = reaches(&["p.ATest#a()V"], "calls", Change::Overridden);
        assert_eq!(line(&method), "calls of ATest#a run another method now");
    }
}
