//! How tests are started: one value that all of them depend on, and what it is made of, so that a change can be
//! named.
//!
//! Texts are kept for one purpose only: to say what was there before. Long ones are cut, and those that may
//! have a secret in them are not kept at all.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tamis_core::{Hash, Value};
use tamis_project::Project;

/// More of a text is not shown.
const SHOWN: usize = 80;

/// Where one of these stands, the text is not kept.
const SECRETS: &[&str] =
    &["password", "passwd", "secret", "token", "credential", "apikey", "api.key"];

/// How parameters begin that hold what stands behind `-D` on the command line of a build.
const GIVEN: &str = "user:";

/// Properties that the JVM and the runner may look at unseen: these count for every test.
const NOT_ASKED_FOR: &[&str] = &[
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    "os.",
    "user.",
    "file.",
    "line.",
    "path.",
    "native.",
    "stdout.",
    "stderr.",
    "std",
    "awt.",
    "http.",
    "ftp.",
    "socks",
    "impl.",
    "https.",
    "networkaddress.",
    "surefire.",
    "failsafe.",
    "maven.",
    "unknown",
];

/// How many earlier ones are kept, to say what was there before.
const KEPT: usize = 8;

/// All that counts of how tests are started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Configuration {
    /// Of all parameters but properties that count for those alone who ask for them.
    pub(crate) value: Value,
    parameters: BTreeMap<String, Parameter>,
    /// Those of earlier runs, newest first.
    earlier: Vec<Earlier>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Earlier {
    value: Value,
    parameters: BTreeMap<String, Parameter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Parameter {
    hash: Hash,
    /// Its beginning, where it may be shown.
    text: Option<String>,
}

impl Configuration {
    /// Of parameters with their values, the identity of the JDK, and other things without a name.
    pub(crate) fn new<'p>(
        project: &Project,
        parameters: impl IntoIterator<Item = (&'p str, &'p str)>,
        jdk: &[u8],
        others: &[Vec<u8>],
    ) -> Self {
        let mut known = BTreeMap::new();
        for (name, value) in parameters {
            let value = project.paths.neutral_text(value.as_bytes());
            add(&mut known, name, &value);
        }
        add(&mut known, "the JDK", jdk);
        let others: Vec<&[u8]> = others.iter().map(Vec::as_slice).collect();
        if !others.is_empty() {
            let hash = Hash::of_parts(others);
            known.insert("module descriptors".to_owned(), Parameter { hash, text: None });
        }
        Self::of(known)
    }

    fn of(parameters: BTreeMap<String, Parameter>) -> Self {
        let value = digest(parameters.iter().filter(|(name, _)| property(name).is_none()));
        Self { value, parameters, earlier: Vec::new() }
    }

    /// Whether tests are started in the same way.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.parameters == other.parameters
    }

    /// With those of earlier runs, as the last one knew them.
    #[must_use]
    pub(crate) fn after(mut self, last: Self) -> Self {
        let is_new = !last.is_like(&self);
        let newest = is_new.then_some(Earlier { value: last.value, parameters: last.parameters });
        let all = newest.into_iter().chain(last.earlier);
        self.earlier = all.filter(|old| old.parameters != self.parameters).take(KEPT).collect();
        self
    }

    /// A property of the command line that counts for those who ask for it; `Absent` where it is not given.
    pub(crate) fn property(&self, name: &str) -> Value {
        given(&self.parameters, name).map_or(Value::Absent, |p| Value::Text(p.hash))
    }

    /// All of these.
    pub(crate) fn properties(&self) -> Value {
        properties(&self.parameters)
    }

    /// What is different from the last time for all tests, in words; nothing where nothing is.
    pub(crate) fn changed_since(&self, before: &Self) -> Option<String> {
        changes(&before.parameters, &self.parameters, |name| property(name).is_none())
    }

    /// And what is different for those who ask.
    pub(crate) fn properties_changed_since(&self, before: &Self) -> Option<String> {
        changes(&before.parameters, &self.parameters, |name| property(name).is_some())
    }

    /// What became of the value that all tests had.
    pub(crate) fn became(&self, was: Value) -> Option<String> {
        let old = self.earlier.iter().find(|old| old.value == was)?;
        changes(&old.parameters, &self.parameters, |name| property(name).is_none())
    }

    /// What became of a property.
    pub(crate) fn property_became(&self, name: &str, was: Value) -> Option<String> {
        let value = |p: &Parameter| Value::Text(p.hash);
        let old = self
            .earlier
            .iter()
            .find_map(|old| given(&old.parameters, name).filter(|p| value(p) == was));
        // Of a value that is not known any more there is nothing to report.
        if old.is_none() && was != Value::Absent {
            return None;
        }
        let new = given(&self.parameters, name);
        (old.is_some() || new.is_some()).then(|| change(&format!("-D{name}"), old, new))
    }

    /// What became of all properties.
    pub(crate) fn properties_became(&self, was: Value) -> Option<String> {
        let old = self.earlier.iter().find(|old| properties(&old.parameters) == was)?;
        changes(&old.parameters, &self.parameters, |name| property(name).is_some())
    }
}

/// Whether a property can count for those alone who ask for it.
pub(crate) fn counts_if_asked_for(name: &str) -> bool {
    !NOT_ASKED_FOR.iter().any(|start| name.starts_with(start))
}

/// The property that a parameter is, which counts for those alone who ask for it.
fn property(parameter: &str) -> Option<&str> {
    parameter.strip_prefix(GIVEN).filter(|name| counts_if_asked_for(name))
}

fn given<'p>(parameters: &'p BTreeMap<String, Parameter>, name: &str) -> Option<&'p Parameter> {
    parameters.get(&format!("{GIVEN}{name}")).filter(|_| counts_if_asked_for(name))
}

fn properties(parameters: &BTreeMap<String, Parameter>) -> Value {
    digest(parameters.iter().filter(|(name, _)| property(name).is_some()))
}

fn digest<'p>(parameters: impl Iterator<Item = (&'p String, &'p Parameter)>) -> Value {
    let parts = parameters
        .flat_map(|(name, p)| [name.as_bytes().to_vec(), p.hash.0.to_le_bytes().to_vec()]);
    let parts: Vec<Vec<u8>> = parts.collect();
    Value::Text(Hash::of_parts(parts.iter().map(Vec::as_slice)))
}

/// What is different among the parameters that are meant.
fn changes(
    before: &BTreeMap<String, Parameter>,
    now: &BTreeMap<String, Parameter>,
    is_meant: impl Fn(&str) -> bool,
) -> Option<String> {
    let names: std::collections::BTreeSet<&String> =
        now.keys().chain(before.keys()).filter(|name| is_meant(name)).collect();
    let changed = names.into_iter().filter_map(|name| {
        let (old, new) = (before.get(name), now.get(name));
        let shown = name.strip_prefix(GIVEN).map(|name| format!("-D{name}"));
        let shown = shown.as_deref().unwrap_or(name);
        (old.map(|p| p.hash) != new.map(|p| p.hash)).then(|| change(shown, old, new))
    });
    let changed: Vec<String> = changed.collect();
    match changed.as_slice() {
        [] => None,
        [a] => Some(a.clone()),
        [a, b] => Some(format!("{a}; {b}")),
        [a, b, more @ ..] => Some(format!("{a}; {b}; and {} more", more.len())),
    }
}

fn add(known: &mut BTreeMap<String, Parameter>, name: &str, value: &[u8]) {
    let text = String::from_utf8_lossy(value);
    let lower = format!("{name} {text}").to_lowercase();
    let is_secret = SECRETS.iter().any(|word| lower.contains(word));
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    let text = (!is_secret).then_some(shown);
    let mut hash = Hash::of(value);
    // A name that stands there twice: both count.
    if let Some(other) = known.get(name) {
        hash = Hash::of_parts([&other.hash.0.to_le_bytes()[..], &hash.0.to_le_bytes()]);
    }
    known.insert(name.to_owned(), Parameter { hash, text });
}

fn change(name: &str, old: Option<&Parameter>, new: Option<&Parameter>) -> String {
    let text = |p: Option<&Parameter>| p.and_then(|p| p.text.clone());
    match (old, new) {
        (None, _) => match text(new) {
            Some(new) => format!("{name} is {new:?} and was not there"),
            None => format!("{name} is new"),
        },
        (_, None) => match text(old) {
            Some(old) => format!("{name} was {old:?} and is gone"),
            None => format!("{name} is gone"),
        },
        _ => match (text(old), text(new)) {
            (Some(old), Some(new)) if old != new => format!("{name} was {old:?}, is {new:?}"),
            _ => format!("{name} is another one"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parameters: &[(&str, &str)]) -> Configuration {
        let mut known = BTreeMap::new();
        parameters.iter().for_each(|(name, value)| add(&mut known, name, value.as_bytes()));
        Configuration::of(known)
    }

    #[test]
    fn what_changed_is_named_with_old_and_new() {
        let before =
            of(&[("argLine", "-Xmx1g"), ("gone", "x"), ("same", "y"), ("db.password", "a")]);
        let changes = |parameters| of(parameters).changed_since(&before);
        let same = [("argLine", "-Xmx1g"), ("gone", "x"), ("same", "y"), ("db.password", "a")];
        assert_eq!(changes(&same), None);
        let one = [("argLine", "-Xmx2g"), ("gone", "x"), ("same", "y"), ("db.password", "a")];
        assert_eq!(changes(&one).as_deref(), Some("argLine was \"-Xmx1g\", is \"-Xmx2g\""));
        let secret = [("argLine", "-Xmx1g"), ("gone", "x"), ("same", "y"), ("db.password", "b")];
        assert_eq!(changes(&secret).as_deref(), Some("db.password is another one"));
        let many = [("argLine", "-Xmx1g"), ("new", "z")];
        assert_eq!(
            changes(&many).as_deref(),
            Some("db.password is gone; gone was \"x\" and is gone; and 2 more")
        );
    }

    /// A property of the command line counts for those who ask for it, other parameters for all.
    #[test]
    fn properties_count_by_themselves() {
        let one = of(&[
            ("argLine", "-Xmx1g"),
            ("user:colour", "red"),
            ("user:java.awt.headless", "true"),
        ]);
        let two = of(&[
            ("argLine", "-Xmx1g"),
            ("user:colour", "blue"),
            ("user:java.awt.headless", "true"),
        ]);
        let none = of(&[("argLine", "-Xmx1g"), ("user:java.awt.headless", "true")]);
        assert!(one.value == two.value && two.value == none.value && !one.is_like(&two));
        assert!(one.property("colour") != two.property("colour"));
        assert_eq!(none.property("colour"), Value::Absent);
        assert!(one.properties() != two.properties() && two.properties() != none.properties());
        let other = of(&[("argLine", "-Xmx1g"), ("user:java.awt.headless", "false")]);
        assert_ne!(other.value, none.value, "the JVM itself may look at it");
        assert_eq!(other.property("java.awt.headless"), Value::Absent);
        assert_eq!(two.changed_since(&one), None);
        let changed = two.properties_changed_since(&one);
        assert_eq!(changed.as_deref(), Some("-Dcolour was \"red\", is \"blue\""));
    }

    #[test]
    fn what_became_of_an_older_record_is_known() {
        let first = of(&[("argLine", "-Xmx1g"), ("user:colour", "red")]);
        let second = of(&[("argLine", "-Xmx2g")]).after(first.clone());
        let third = of(&[("argLine", "-Xmx3g"), ("user:colour", "blue")]).after(second.clone());
        assert_eq!(
            third.became(first.value).as_deref(),
            Some("argLine was \"-Xmx1g\", is \"-Xmx3g\"")
        );
        assert_eq!(
            third.became(second.value).as_deref(),
            Some("argLine was \"-Xmx2g\", is \"-Xmx3g\"")
        );
        assert_eq!(third.became(Value::text(b"older")), None);
        let red = first.property("colour");
        assert_eq!(
            third.property_became("colour", red).as_deref(),
            Some("-Dcolour was \"red\", is \"blue\"")
        );
        let absent = third.property_became("colour", Value::Absent);
        assert_eq!(absent.as_deref(), Some("-Dcolour is \"blue\" and was not there"));
        assert_eq!(third.property_became("colour", Value::text(b"?")), None);
        assert!(
            third.properties_became(first.properties()).is_some_and(|text| text.contains("red"))
        );
        let again = of(&[("argLine", "-Xmx3g"), ("user:colour", "blue")]).after(third);
        assert_eq!(again.earlier.len(), 2, "the same one is no earlier one");
    }

    #[test]
    fn long_texts_are_cut() {
        let (short, long) = ("x".repeat(SHOWN), "x".repeat(SHOWN + 9));
        let changes = of(&[("a", &long)]).changed_since(&of(&[("a", &short)]));
        assert_eq!(changes, Some(format!("a was \"{short}\", is \"{short}...\"")));
    }
}
