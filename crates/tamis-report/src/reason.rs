//! Decisions and differences in words: the only place that makes sentences of them.

use crate::human;

use tamis_core::record::Detail;
use tamis_core::taints;
use tamis_core::{
    Cause, Decision, Difference, Evidence, Outcome, Question, RecordSummary, Scheme, TestKey, Value,
};

/// What happened to one input, as in "src/a.c changed".
pub fn difference(question: &Question, was: Value, is: Value) -> String {
    let what = question.to_string();
    match question {
        _ if is == Value::unbuilt() => format!("{what} is not known before compiling"),
        Question::Path(_, Scheme::Listing) if matches!(is, Value::Listing(_)) => {
            format!("{what} changed")
        }
        Question::Path(path, Scheme::Place) => match is {
            Value::File => format!("{path} can be written now"),
            Value::Directory => format!("{path} is a directory now"),
            _ => format!("{path} cannot be written any more"),
        },
        Question::Path(_, Scheme::Size | Scheme::Attributes | Scheme::Rights | Scheme::Names)
            if is != Value::Absent =>
        {
            format!("{what} changed")
        }
        Question::Path(path, Scheme::Command(_) | Scheme::Filter(_))
            if matches!(is, Value::Opaque(_)) =>
        {
            format!("the fingerprint of {path} cannot be taken as before")
        }
        Question::Path(path, Scheme::Command(_)) if matches!(is, Value::Content { .. }) => {
            format!("the fingerprint of {path} changed")
        }
        Question::Path(path, _) => format!("{path} {}", path_change(was, is)),
        Question::Variable(_) => match (was, is) {
            (Value::Absent, _) => format!("{what} is new"),
            (_, Value::Absent) => format!("{what} is gone"),
            _ => format!("{what} changed"),
        },
        Question::Glob(glob) => format!("a file matching {glob} changed (run-all-on)"),
        _ => format!("{what} changed"),
    }
}

fn path_change(was: Value, is: Value) -> &'static str {
    match (was, is) {
        (Value::Absent | Value::Barred, Value::Absent | Value::Barred) => {
            "is missing for another reason now"
        }
        (Value::Absent | Value::Barred, _) => "appeared",
        (_, Value::Absent) => "is gone",
        (_, Value::Barred) => "cannot be reached any more",
        (
            Value::Content { hash: old, executable: before },
            Value::Content { hash: new, executable: after },
        ) if old == new && before != after => {
            if after {
                "is executable now"
            } else {
                "is not executable any more"
            }
        }
        (Value::Content { .. } | Value::File, Value::Directory) => "is a directory now",
        (Value::Directory | Value::Listing(_), Value::Content { .. } | Value::File) => {
            "is a file now"
        }
        (_, Value::Link(_)) => "is another link now",
        (Value::Link(_), _) => "is no link any more",
        _ => "changed",
    }
}

/// A value in words, with what more is known of it.
pub fn value(value: Value, detail: &Detail) -> String {
    match (value, detail) {
        (Value::Content { .. }, Detail::Size(size)) => {
            format!("{value} ({})", human::counted(*size, "byte", "bytes"))
        }
        (Value::Listing(_), Detail::Names(names)) => {
            human::counted(names.len() as u64, "name", "names")
        }
        _ => value.to_string(),
    }
}

/// Names that came and went, for two listings whose names are known.
pub fn names_changed(was: &Detail, is: &Detail) -> Option<String> {
    let (Detail::Names(was), Detail::Names(is)) = (was, is) else { return None };
    let text = |sign: char, from: &[Vec<u8>], without: &[Vec<u8>]| {
        from.iter()
            .filter(|n| !without.contains(n))
            .map(|n| format!("{sign}{}", human::one_line(&String::from_utf8_lossy(n))))
            .collect::<Vec<_>>()
    };
    let mut changes = text('+', is, was);
    changes.extend(text('-', was, is));
    let more = changes.len().saturating_sub(8);
    changes.truncate(8);
    if more > 0 {
        changes.push(format!("and {more} more"));
    }
    (!changes.is_empty()).then(|| changes.join(" "))
}

/// How a test ended. A unit inside a command has no exit code of its own.
pub fn outcome(key: &TestKey, outcome: Outcome) -> String {
    match outcome {
        Outcome::Failed(_) if key.scope.tool().is_some() => "failed".into(),
        other => other.to_string(),
    }
}

/// Why a test runs or is skipped, one line.
pub fn decision(key: &TestKey, decision: &Decision, evidence: &Evidence) -> String {
    match decision {
        Decision::Skip { .. } => "nothing it looked at has changed".into(),
        Decision::OutOfReach => out_of_reach(evidence),
        Decision::Run(cause) => cause_text(key, cause, evidence),
    }
}

fn out_of_reach(evidence: &Evidence) -> String {
    evidence.out_of_reach.clone().unwrap_or_else(|| "it reaches no change".into())
}

/// Why it was believed that a test need not run, of one that runs to check that.
pub fn believed(proof: Option<&str>, reason: &str) -> String {
    match proof {
        Some(proof) => format!("nothing it looked at has changed ({proof})"),
        None => reason.to_owned(),
    }
}

/// What proves a skip: `record #12, 1,034 inputs`; of one that did not run here, with where it came from.
pub fn proof(record: &RecordSummary) -> String {
    let inputs = human::counted(u64::from(record.inputs), "input", "inputs");
    match record.origin.shown() {
        None => format!("record {}, {inputs}", record.id),
        Some(origin) => format!("record {} from {origin}, {inputs}", record.id),
    }
}

fn cause_text(key: &TestKey, cause: &Cause, evidence: &Evidence) -> String {
    let record = evidence.record.as_ref();
    match cause {
        Cause::New => "never run before".into(),
        Cause::NoStore => "there are no records to go by".into(),
        Cause::Requested => "asked for".into(),
        Cause::AlwaysRun(pattern) => format!("always-run says so ({pattern})"),
        Cause::Effect(what) | Cause::ByGraph(what) | Cause::Module(what) | Cause::Unbuilt(what) => {
            what.clone()
        }
        Cause::DidNotPass(_, how) => {
            let (outcome, when) = (outcome(key, *how), when(evidence));
            match record.is_some_and(RecordSummary::is_flaky) {
                true => format!("it was flaky {when}: it {outcome}, then passed"),
                false => format!("it {outcome} {when}"),
            }
        }
        Cause::Incomplete(_) => {
            let taint = record.and_then(|r| taints::lines(&r.taints).into_iter().next());
            match taint.or_else(|| evidence.refused.clone()) {
                Some(why) => format!("it was not completely observed last time: {why}"),
                None => "it was not completely observed last time".into(),
            }
        }
        Cause::Changed(_) => match &evidence.difference {
            Some(Difference { question, was, is }) => difference(question, *was, *is),
            None => "its record cannot be read completely".into(),
        },
        Cause::Forgotten(None) => "it was forgotten (`tamis forget`)".into(),
        Cause::Forgotten(Some(inside)) => format!("{inside} was forgotten (`tamis forget`)"),
        Cause::Checked(check, Some(_)) => format!("{check}: it could be skipped"),
        Cause::Checked(check, None) => {
            format!("{check}: it could be skipped ({})", out_of_reach(evidence))
        }
        Cause::Tripped => "a check found a wrong skip: everything runs (`tamis audit`)".into(),
    }
}

/// When a run that did not pass was: a newer one in another state may well have passed.
fn when(evidence: &Evidence) -> &'static str {
    let Some(record) = &evidence.record else { return "last time" };
    match &evidence.newest {
        Some(newest) if newest.id != record.id && record.taints.is_empty() => {
            "when it last ran in this state"
        }
        Some(newest) if newest.id != record.id => {
            "earlier, in a state that is not completely known"
        }
        _ => "last time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::{Hash, PortablePath};

    fn path(text: &str, scheme: Scheme) -> Question {
        Question::Path(PortablePath::from_stored(text), scheme)
    }

    fn content(text: &str, executable: bool) -> Value {
        Value::Content { hash: Hash::of(text.as_bytes()), executable }
    }

    #[test]
    fn differences_in_words() {
        let raw = path("src/a.c", Scheme::Raw);
        let (a, b) = (content("a", false), content("b", false));
        assert_eq!(difference(&raw, a, b), "src/a.c changed");
        assert_eq!(difference(&raw, a, Value::Absent), "src/a.c is gone");
        assert_eq!(difference(&raw, Value::Absent, a), "src/a.c appeared");
        assert_eq!(difference(&raw, a, content("a", true)), "src/a.c is executable now");
        assert_eq!(difference(&raw, a, Value::Directory), "src/a.c is a directory now");
        let names = path("d", Scheme::Listing);
        let (x, y) = (Value::Listing(Hash::of(b"x")), Value::Listing(Hash::of(b"y")));
        assert_eq!(difference(&names, x, y), "the names in d changed");
        assert_eq!(difference(&names, x, Value::Absent), "d is gone");
        let variable = Question::Variable(b"DEBUG".to_vec());
        assert_eq!(difference(&variable, Value::Absent, x), "variable DEBUG is new");
        assert_eq!(difference(&variable, x, Value::Absent), "variable DEBUG is gone");
        assert_eq!(difference(&variable, x, y), "variable DEBUG changed");
    }

    #[test]
    fn a_failure_is_the_last_time_only_where_it_was() {
        let record = |id: u32, taints: Vec<tamis_core::Taint>| RecordSummary {
            id: tamis_core::RecordId(id),
            outcome: tamis_core::Outcome::Failed(1),
            started_ms: 0,
            wall_us: 0,
            cpu_us: 0,
            engine: String::new(),
            inputs: 0,
            taints,
            notes: Vec::new(),
            origin: tamis_core::Origin::Here,
        };
        let text = |newest: u32, taints: Vec<tamis_core::Taint>| {
            let named = record(3, taints);
            let cause = Cause::DidNotPass(named.id, named.outcome);
            let newest = Some(record(newest, Vec::new()));
            let evidence = Evidence { newest, record: Some(named), ..Evidence::default() };
            decision(&crate::samples::key("s", "t"), &Decision::Run(cause), &evidence)
        };
        assert_eq!(text(3, Vec::new()), "it failed with exit code 1 last time");
        let in_this_state = "it failed with exit code 1 when it last ran in this state";
        assert_eq!(text(4, Vec::new()), in_this_state);
        let unknown = "it failed with exit code 1 earlier, in a state that is not completely known";
        assert_eq!(text(4, vec![tamis_core::Taint::StandardInput]), unknown);
    }

    #[test]
    fn what_was_forgotten_is_named() {
        let text = |inside| {
            decision(
                &crate::samples::key("s", "t"),
                &Decision::Run(Cause::Forgotten(inside)),
                &Evidence::default(),
            )
        };
        assert_eq!(text(None), "it was forgotten (`tamis forget`)");
        let inside = tamis_core::TestKey::item("s", "a", ".");
        assert_eq!(text(Some(inside)), "s::a was forgotten (`tamis forget`)");
    }

    #[test]
    fn names_that_came_and_went() {
        let list =
            |names: &[&str]| Detail::Names(names.iter().map(|n| n.as_bytes().to_vec()).collect());
        let text = names_changed(&list(&["a", "b"]), &list(&["b", "c"]));
        assert_eq!(text.as_deref(), Some("+c -a"));
        assert_eq!(names_changed(&list(&["a"]), &list(&["a"])), None);
    }
}
