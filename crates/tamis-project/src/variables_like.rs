//! Sets of variables by their names: what may come to be there counts as well as what is there.
//!
//! The question is a fact that holds its own patterns, `the variables like LD_* *_proxy`, so that a record can be asked
//! again without knowing who wrote it. Only names; values are questions of their own.

use tamis_core::{Hash, Question, Value};

const BEGINNING: &str = "the variables like ";

/// The question which variables have names like these: `NAME`, `START*`, `*END`.
pub fn question(patterns: &[&str]) -> Question {
    Question::Fact(format!("{BEGINNING}{}", patterns.join(" ")).into())
}

/// Whether a name is like one of these.
pub fn is_like(name: &[u8], patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
        (Some(start), _) => name.starts_with(start.as_bytes()),
        (None, Some(end)) => name.ends_with(end.as_bytes()),
        (None, None) => name == pattern.as_bytes(),
    })
}

/// The answer, where these are the variables that count; `None` for another fact.
pub fn answer<'n>(fact: &str, names: impl Iterator<Item = &'n [u8]>) -> Option<Value> {
    let patterns: Vec<&str> = fact.strip_prefix(BEGINNING)?.split(' ').collect();
    let mut found: Vec<&[u8]> = names.filter(|name| is_like(name, &patterns)).collect();
    found.sort_unstable();
    Some(Value::Text(Hash::of_parts(found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_distinguished_by_the_names_that_are_meant() {
        let Question::Fact(fact) = question(&["LD_*", "*_proxy", "TZ"]) else { panic!("a fact") };
        let of = |names: &[&str]| answer(&fact, names.iter().map(|name| name.as_bytes()));
        assert_eq!(of(&["TZ", "LD_A"]), of(&["LD_A", "OTHER", "TZ", "TZX"]));
        assert_ne!(of(&["LD_A"]), of(&["LD_A", "TZ"]));
        assert_ne!(of(&["LD_A"]), of(&["LD_A", "http_proxy"]));
        assert_ne!(of(&[]), of(&["LD_"]));
        assert_eq!(answer("another fact", [].into_iter()), None);
    }
}
