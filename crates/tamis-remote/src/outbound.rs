//! What of an observation leaves the machine.
//!
//! - Values are hashes already. Of variables that do not count between machines (a person's, and all whose names look like
//!   secrets) nothing leaves, neither name nor hash; so they do not count elsewhere.
//! - The set of all names of variables becomes the set of those that count between machines, as a fact that the other
//!   machine can answer. Where the names are not known any more, the set stays as it is, and hardly holds elsewhere.
//! - Files that say who the user is and what the machine is called (`/etc/passwd`, `/etc/hosts`) stay here.
//! - Programs and texts lose the folders of this machine: `{root}`, `{home}`.
//!
//! [`redact`] goes further, for showing a store to strangers: every name becomes a number.

use std::collections::HashMap;
use std::sync::Arc;
use tamis_core::record::{Detail, Observed};
use tamis_core::{Note, PathMap, PortablePath, Question, Scope, Taint, TestKey, Unit, Value};
use tamis_settings::Remote;
use tamis_settings::remote::NAMES_FACT;
use tamis_store::Shipment;

/// The form in which an observation travels; `None` for what does not.
pub fn translated(mut observed: Observed, remote: &Remote, paths: &PathMap) -> Option<Observed> {
    match &observed.question {
        Question::Variable(name) if !remote.counts_between_machines(name) => return None,
        Question::Path(path, _) if !remote.path_counts_between_machines(path) => return None,
        Question::VariableNames => {
            if let Detail::Names(names) = &observed.detail {
                let names = names.iter().map(Vec::as_slice);
                observed.before = Value::Text(remote.names_between_machines(names));
                observed.question = Question::Fact(NAMES_FACT.into());
            }
            // The names themselves stay here: some are secrets.
            observed.detail = Detail::None;
        }
        _ => {}
    }
    observed.program = Arc::from(neutral(&observed.program, paths));
    Some(observed)
}

fn neutral(text: &str, paths: &PathMap) -> String {
    String::from_utf8_lossy(&paths.neutral_text(text.as_bytes())).into_owned()
}

/// Takes the folders of this machine out of the texts of records.
pub fn without_places(shipment: &mut Shipment, paths: &PathMap) {
    for record in &mut shipment.records {
        let run = &mut record.run;
        run.taints
            .iter_mut()
            .for_each(|taint| for_text(taint, &mut |text| *text = neutral(text, paths)));
        run.notes
            .iter_mut()
            .for_each(|note| for_note(note, &mut |text| *text = neutral(text, paths)));
    }
}

fn for_text(taint: &mut Taint, change: &mut dyn FnMut(&mut String)) {
    match taint {
        Taint::IoUring(text)
        | Taint::ForeignArchitecture(text)
        | Taint::FileHandle(text)
        | Taint::Namespace(text)
        | Taint::Unresolved(text)
        | Taint::LeftRunning(text)
        | Taint::RunningService(text)
        | Taint::SecondTracer(text)
        | Taint::Engine(text)
        | Taint::Unobserved(text) => change(text),
        Taint::Unstable(_)
        | Taint::ChangedBeforeSeen(_)
        | Taint::ForeignPipe(_)
        | Taint::StandardInput
        | Taint::LostEvents(_)
        | Taint::FailedInside(_)
        | Taint::Flaky { .. } => {}
    }
}

fn for_note(note: &mut Note, change: &mut dyn FnMut(&mut String)) {
    match note {
        Note::TalksTo(text)
        | Note::PrivilegeLost(text)
        | Note::ReadsTemp(text)
        | Note::OtherWhenPassed(text) => change(text),
        Note::NotRunAgain => {}
    }
}

/// Replaces every name by a number: of tests, paths, variables, facts, programs, addresses. What is left is how many there are
/// of each, what looked alike, outcomes and durations.
pub fn redact(shipment: &mut Shipment) {
    let mut names = Names::default();
    for observed in &mut shipment.observations {
        observed.program = Arc::from(names.of("program", observed.program.as_bytes()));
        observed.detail = match &observed.detail {
            Detail::Size(size) => Detail::Size(*size),
            _ => Detail::None,
        };
        observed.question = match &observed.question {
            Question::Path(path, scheme) => Question::Path(names.path(path), *scheme),
            Question::Variable(name) => Question::Variable(names.of("variable", name).into_bytes()),
            Question::Glob(glob) => Question::Glob(names.of("glob", glob.as_bytes())),
            Question::Fact(fact) => Question::Fact(names.of("fact", fact.as_bytes()).into()),
            Question::VariableNames => Question::VariableNames,
            Question::Rules => Question::Rules,
        };
        observed.before = names.value(observed.before);
        observed.after = observed.after.map(|value| names.value(value));
    }
    for record in &mut shipment.records {
        let run = &mut record.run;
        run.test = names.test(&run.test);
        for taint in &mut run.taints {
            for_text(taint, &mut |text| *text = names.of("text", text.as_bytes()));
            match taint {
                Taint::Unstable(path)
                | Taint::ChangedBeforeSeen(path)
                | Taint::ForeignPipe(path) => {
                    *path = names.path(path);
                }
                _ => {}
            }
        }
        run.notes
            .iter_mut()
            .for_each(|note| for_note(note, &mut |text| *text = names.of("text", text.as_bytes())));
        run.left_behind = run.left_behind.iter().map(|path| names.path(path)).collect();
    }
    shipment.kept.clear();
}

/// Numbers for names, in the order in which they come.
#[derive(Default)]
struct Names(HashMap<(&'static str, Vec<u8>), usize>);

impl Names {
    fn number(&mut self, kind: &'static str, name: &[u8]) -> usize {
        let next = self.0.len() + 1;
        *self.0.entry((kind, name.to_vec())).or_insert(next)
    }

    fn of(&mut self, kind: &'static str, name: &[u8]) -> String {
        format!("{kind}-{}", self.number(kind, name))
    }

    /// Whether a path is in the project stays visible.
    fn path(&mut self, path: &PortablePath) -> PortablePath {
        let number = self.of("path", path.as_bytes());
        let anchor = match path.as_bytes().first() {
            Some(b'/') => "/",
            Some(b'~') => "~/",
            _ if path.in_project() => "",
            _ => "../",
        };
        PortablePath::from_stored(format!("{anchor}{number}"))
    }

    /// Hashes of what is short could be guessed: only which are equal is left.
    fn value(&mut self, value: Value) -> Value {
        let (tag, hash) = value.to_raw();
        let number = self.number("value", &hash.to_le_bytes()) as u128;
        Value::from_raw(tag, if hash == 0 { 0 } else { number }).unwrap_or(Value::Absent)
    }

    fn test(&mut self, key: &TestKey) -> TestKey {
        let name = |names: &mut Self, text: &str| names.of("test", text.as_bytes());
        let unit = match &key.unit {
            Unit::Command(text) => Unit::Command(name(self, text)),
            Unit::Item(text) => Unit::Item(name(self, text)),
            Unit::Class(text) => Unit::Class(name(self, text)),
            Unit::Package(text) => Unit::Package(name(self, text)),
            Unit::Method { class, method } => {
                Unit::Method { class: name(self, class), method: name(self, method) }
            }
        };
        let scope = match &key.scope {
            Scope::Command => Scope::Command,
            other => Scope::Suite(self.of("scope", other.to_stored().as_bytes())),
        };
        TestKey { scope, unit, folder: self.of("folder", key.folder.as_bytes()) }
    }
}
