//! The ids that the classes of this JVM and their methods got when they were loaded.
//!
//! A class is known by its name and its loader. Two loaders that cannot be distinguished make it
//! ambiguous: its ids are then not used again.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use xxhash_rust::xxh3::xxh3_64;

/// The ids of every class that has some, for the case that it is redefined, and of its methods, for the
/// case that one goes on from test to test.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    ids: Mutex<HashMap<(Vec<u8>, i32), Ids>>,
    /// The ids of methods by class, name and descriptor.
    methods: Mutex<HashMap<u64, Vec<u32>>>,
}

/// The methods of a class that have ids, in the order of their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    first: u32,
    methods: Arc<[u64]>,
    /// Whether its probes are in the bytes from which a retransformation starts.
    pub(crate) is_early: bool,
}

impl Known {
    pub(crate) fn new(first: u32, signatures: &[Vec<u8>], is_early: bool) -> Self {
        let methods = signatures.iter().map(|signature| xxh3_64(signature)).collect();
        Self { first, methods, is_early }
    }

    /// The id of a method, by name and descriptor. Most are at the place where they were.
    pub(crate) fn id_of(&self, signature: &[u8], place: usize) -> Option<u32> {
        let hash = xxh3_64(signature);
        let at = match self.methods.get(place) {
            Some(&method) if method == hash => place,
            _ => self.methods.iter().position(|&method| method == hash)?,
        };
        self.first.checked_add(u32::try_from(at).ok()?)
    }

    /// The first id, and how many there are.
    pub(crate) fn ids(&self) -> (u32, u32) {
        (self.first, u32::try_from(self.methods.len()).unwrap_or(u32::MAX))
    }

    pub(crate) fn count(&self) -> usize {
        self.methods.len()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Ids {
    Known(Known),
    /// Two classes have the same name and loaders that cannot be distinguished.
    Ambiguous,
}

impl Classes {
    pub(crate) fn remember(&self, class: (Vec<u8>, i32), known: Known) {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        match ids.entry(class) {
            Entry::Vacant(entry) => {
                entry.insert(Ids::Known(known));
            }
            Entry::Occupied(mut entry) => {
                entry.insert(Ids::Ambiguous);
            }
        }
    }

    pub(crate) fn remember_methods(&self, name: &[u8], methods: &[Vec<u8>], first: u32) {
        let mut all = self.methods.lock().unwrap_or_else(PoisonError::into_inner);
        for (method, id) in methods.iter().zip(first..) {
            all.entry(method_key(name, method)).or_default().push(id);
        }
    }

    /// The ids of a method; of all classes with this name.
    pub(crate) fn ids_of(&self, class: &[u8], signature: &[u8]) -> Vec<u32> {
        let all = self.methods.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&method_key(class, signature)).cloned().unwrap_or_default()
    }

    /// The ids of a class that was seen before.
    pub(crate) fn again(&self, class: &(Vec<u8>, i32)) -> Result<Known, String> {
        let ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        match ids.get(class) {
            Some(Ids::Known(known)) => Ok(known.clone()),
            Some(Ids::Ambiguous) => Err("another class has its name".to_owned()),
            None => Err("it was not seen before".to_owned()),
        }
    }
}

fn method_key(class: &[u8], signature: &[u8]) -> u64 {
    xxh3_64(&[class, b".", signature].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redefined_class_keeps_its_ids_only_if_it_is_certain() {
        let classes = Classes::default();
        let class = (b"a/B".to_vec(), 7);
        assert!(classes.again(&class).is_err());
        let known = Known::new(40, &[b"a()V".to_vec(), b"b()V".to_vec()], false);
        classes.remember(class.clone(), known.clone());
        let again = classes.again(&class).unwrap();
        assert_eq!((again.id_of(b"b()V", 0), again.id_of(b"c()V", 1)), (Some(41), None));
        assert!(classes.again(&(b"a/B".to_vec(), 8)).is_err());
        classes.remember(class.clone(), known);
        assert!(classes.again(&class).is_err());
    }
}
