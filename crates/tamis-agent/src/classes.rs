//! The ids that the classes of this JVM and their methods got when they were loaded.
//!
//! A class is known by its name and its loader. Two loaders that cannot be distinguished make it
//! ambiguous: its ids are then not used again.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, PoisonError};
use xxhash_rust::xxh3::xxh3_64;

/// The ids of every class that has some, for the case that it is redefined, and of its methods, for the
/// case that one goes on from test to test.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    ids: Mutex<HashMap<(Vec<u8>, i32), Ids>>,
    /// The ids of methods by class, name and descriptor.
    methods: Mutex<HashMap<u64, Vec<u32>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ids {
    Known {
        first: u32,
        probes: u32,
    },
    /// Two classes have the same name and loaders that cannot be distinguished.
    Ambiguous,
}

impl Classes {
    pub(crate) fn remember(&self, class: (Vec<u8>, i32), first: u32, probes: u32) {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        match ids.entry(class) {
            Entry::Vacant(entry) => {
                entry.insert(Ids::Known { first, probes });
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

    /// The first id of a class that was seen before with as many methods.
    pub(crate) fn again(&self, class: &(Vec<u8>, i32), wanted: u32) -> Result<u32, String> {
        let ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        match ids.get(class) {
            Some(&Ids::Known { first, probes }) if probes == wanted => Ok(first),
            Some(Ids::Known { .. }) => Err("its methods changed".to_owned()),
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
        assert!(classes.again(&class, 3).is_err());
        classes.remember(class.clone(), 40, 3);
        assert_eq!(classes.again(&class, 3), Ok(40));
        assert!(classes.again(&class, 4).is_err());
        assert!(classes.again(&(b"a/B".to_vec(), 8), 3).is_err());
        classes.remember(class.clone(), 80, 3);
        assert!(classes.again(&class, 3).is_err());
    }
}
