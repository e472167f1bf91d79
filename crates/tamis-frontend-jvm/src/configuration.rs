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

/// All that counts of how tests are started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Configuration {
    pub(crate) value: Value,
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
        let parts = known
            .iter()
            .flat_map(|(name, p)| [name.as_bytes().to_vec(), p.hash.0.to_le_bytes().to_vec()]);
        let parts: Vec<Vec<u8>> = parts.collect();
        let value = Value::Text(Hash::of_parts(parts.iter().map(Vec::as_slice)));
        Self { value, parameters: known }
    }

    /// What is different from the last time, in words; nothing where nothing is.
    pub(crate) fn changed_since(&self, before: &Self) -> Option<String> {
        let names: std::collections::BTreeSet<&String> =
            self.parameters.keys().chain(before.parameters.keys()).collect();
        let changed = names.into_iter().filter_map(|name| {
            let (old, new) = (before.parameters.get(name), self.parameters.get(name));
            (old.map(|p| p.hash) != new.map(|p| p.hash)).then(|| change(name, old, new))
        });
        let changed: Vec<String> = changed.collect();
        match changed.as_slice() {
            [] => None,
            [a] => Some(a.clone()),
            [a, b] => Some(format!("{a}; {b}")),
            [a, b, more @ ..] => Some(format!("{a}; {b}; and {} more", more.len())),
        }
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
        Configuration { value: Value::Absent, parameters: known }
    }

    #[test]
    fn what_changed_is_named_with_old_and_new() {
        let before =
            of(&[("argLine", "-Xmx1g"), ("gone", "x"), ("same", "y"), ("db.password", "a")]);
        let told = |parameters| of(parameters).changed_since(&before);
        let same = [("argLine", "-Xmx1g"), ("gone", "x"), ("same", "y"), ("db.password", "a")];
        assert_eq!(told(&same), None);
        let one = [("argLine", "-Xmx2g"), ("gone", "x"), ("same", "y"), ("db.password", "a")];
        assert_eq!(told(&one).as_deref(), Some("argLine was \"-Xmx1g\", is \"-Xmx2g\""));
        let secret = [("argLine", "-Xmx1g"), ("gone", "x"), ("same", "y"), ("db.password", "b")];
        assert_eq!(told(&secret).as_deref(), Some("db.password is another one"));
        let many = [("argLine", "-Xmx1g"), ("new", "z")];
        assert_eq!(
            told(&many).as_deref(),
            Some("db.password is gone; gone was \"x\" and is gone; and 2 more")
        );
    }

    #[test]
    fn long_texts_are_cut() {
        let (short, long) = ("x".repeat(SHOWN), "x".repeat(SHOWN + 9));
        let told = of(&[("a", &long)]).changed_since(&of(&[("a", &short)]));
        assert_eq!(told, Some(format!("a was \"{short}\", is \"{short}...\"")));
    }
}
