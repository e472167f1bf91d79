//! A set of look-ups as it travels.
//!
//! A class loader asks every jar of its path for every class, so names of entries come once with
//! all the jars that were asked for them, and each jar's path comes once.

use crate::Lookup;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lookups {
    /// Everything but [`Lookup::JarEntry`].
    plain: Vec<Lookup>,
    jars: Vec<String>,
    /// Names of entries, and indices of the jars that were asked for them.
    entries: Vec<(String, Vec<u32>)>,
}

impl Lookups {
    /// `entries` hold indices into `jars`; an index that is none is left out when read.
    pub fn new(plain: Vec<Lookup>, jars: Vec<String>, entries: Vec<(String, Vec<u32>)>) -> Self {
        Self { plain, jars, entries }
    }

    pub fn iter(&self) -> impl Iterator<Item = Lookup> + '_ {
        let in_jars = self.entries.iter().flat_map(|(entry, jars)| {
            let jars = jars.iter().filter_map(|&jar| self.jars.get(jar as usize));
            jars.map(|jar| Lookup::JarEntry { jar: jar.clone(), entry: entry.clone() })
        });
        self.plain.iter().cloned().chain(in_jars)
    }

    pub fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.entries.is_empty()
    }
}

impl FromIterator<Lookup> for Lookups {
    fn from_iter<I: IntoIterator<Item = Lookup>>(lookups: I) -> Self {
        let mut plain = Vec::new();
        let mut jars: Vec<String> = Vec::new();
        let mut entries: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for lookup in lookups {
            match lookup {
                Lookup::JarEntry { jar, entry } => {
                    let index = jars.iter().position(|known| *known == jar).unwrap_or_else(|| {
                        jars.push(jar);
                        jars.len() - 1
                    });
                    entries.entry(entry).or_default().push(index as u32);
                }
                other => plain.push(other),
            }
        }
        Self { plain, jars, entries: entries.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_come_back() {
        let entry =
            |jar: &str, entry: &str| Lookup::JarEntry { jar: jar.into(), entry: entry.into() };
        let mut all = vec![
            Lookup::Class("a.B".into()),
            entry("/one.jar", "a/B.class"),
            Lookup::AllVariables,
            entry("/two.jar", "a/B.class"),
            entry("/two.jar", "c"),
        ];
        let lookups: Lookups = all.iter().cloned().collect();
        let mut back: Vec<_> = lookups.iter().collect();
        all.sort();
        back.sort();
        assert_eq!(back, all);
        assert!(!lookups.is_empty() && Lookups::default().is_empty());
    }

    #[test]
    fn a_jar_that_is_not_there_is_left_out() {
        let lookups = Lookups::new(vec![], vec![], vec![("a".into(), vec![7])]);
        assert_eq!(lookups.iter().count(), 0);
    }
}
