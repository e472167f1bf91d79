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
    match reason {
        Reason::New => "no finished run of it is known".into(),
        Reason::Requested => "all tests were asked for".into(),
        Reason::DidNotPass => "it did not pass last time".into(),
        Reason::Reaches { path, change } => reached(path, change),
        Reason::Environment => "the JDK or the options of the JVM changed".into(),
        Reason::Unknown { why } => format!("not everything is known: {why}"),
        Reason::OtherRules => "its last run was judged by weaker rules".into(),
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

/// What changed and the way to it on one line.
pub fn line(reason: &Reason) -> String {
    match way(reason) {
        Some(way) => format!("{}: {way}", what(reason)),
        None => what(reason),
    }
}

fn reached(path: &[Step], change: &Change) -> String {
    let Some(last) = path.last() else { return format!("something changed ({change})") };
    let (class, method) = match last.name.split_once('#') {
        Some((class, method)) => (class, Some(method)),
        None => (last.name.as_str(), None),
    };
    let method_name = || without_descriptor(&last.name);
    match change {
        _ if path.len() == 1 && method.is_none() => "its own class changed".into(),
        Change::Methods(list) if list.len() == 1 && method == list.first().map(String::as_str) => {
            format!("{} changed", method_name())
        }
        Change::Added => format!("{class} was added"),
        Change::Removed => format!("{class} was removed"),
        Change::Content => format!("{class} changed"),
        Change::Overridden => format!("calls of {} run another method now", method_name()),
        Change::Unreadable(why) => format!("{} cannot be read: {why}", method_name()),
        Change::Header(_) | Change::Methods(_) => {
            format!("{class} changed ({})", changed_methods(change).unwrap_or("header".into()))
        }
        Change::OnlyOrder | Change::OnlyDebug => format!("{class} changed ({change})"),
    }
}

/// The methods of a change by their names.
fn changed_methods(change: &Change) -> Option<String> {
    let (head, list) = match change {
        Change::Methods(list) => ("", list),
        Change::Header(list) => ("header; ", list),
        _ => return None,
    };
    let mut names: Vec<&str> = list.iter().map(|name| without_descriptor(name)).collect();
    names.dedup();
    let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => None,
        1 => Some(format!("{head}method {shown}")),
        n if n <= NAMED => Some(format!("{head}methods {shown}")),
        n => Some(format!("{head}methods {shown} and {} more", n - NAMED)),
    }
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
        assert_eq!(line(&reason), "p.Baz#c changed: FooTest#a -> Bar$In#b -> Baz#c");
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
        assert_eq!(what(&reason), "p.B changed (methods x, y)");
        let many = methods(&["a()V", "b()V", "c()V", "d()V", "e()V"]);
        assert_eq!(
            what(&reaches(&["T", "p.B"], "uses", many)),
            "p.B changed (methods a, b, c and 2 more)"
        );
        assert_eq!(
            what(&reaches(&["T", "B"], "uses", Change::Header(Vec::new()))),
            "B changed (header)"
        );
    }

    #[test]
    fn kinds_of_use_and_files_keep_their_names() {
        let reason = reaches(&["p.T", "p.B"], "inherits", Change::Added);
        assert_eq!(line(&reason), "p.B was added: T -inherits-> B");
        let reason = reaches(&["p.T", "q/test.properties"], "resource", Change::Content);
        assert_eq!(line(&reason), "q/test.properties changed: T -resource-> q/test.properties");
    }

    #[test]
    fn tests_that_changed_themselves_are_one_group() {
        for name in ["p.ATest", "p.BTest"] {
            assert_eq!(what(&reaches(&[name], "uses", Change::Added)), "its own class changed");
        }
        let method = reaches(&["p.ATest#a()V"], "calls", Change::Overridden);
        assert_eq!(line(&method), "calls of p.ATest#a run another method now");
    }
}
