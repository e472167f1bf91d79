//! Interned byte strings with small integer ids.
//!
//! All text stands in one buffer, so that a table is read from disk in one go; the index for
//! look-ups by text is only built when somebody looks up.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Id of a name within its table.
pub type NameId = u32;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Names {
    #[serde(with = "serde_bytes")]
    text: Vec<u8>,
    ends: Vec<u32>,
    /// Hash per name; as long as the table where there is an index, else empty.
    #[serde(skip)]
    hashes: Vec<u32>,
    /// Open addressing; 0 is free, otherwise id + 1. Empty until needed.
    #[serde(skip)]
    slots: Vec<u32>,
}

/// Hash of a name, for tables that are filled from each other.
fn hash(name: &[u8]) -> u32 {
    xxh3_64(name) as u32
}

impl Names {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text of a name. An id of another table gives an empty text.
    pub fn get(&self, id: NameId) -> &[u8] {
        let id = id as usize;
        let start = id.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        match (start, self.ends.get(id)) {
            (Some(start), Some(&end)) => {
                self.text.get(start as usize..end as usize).unwrap_or_default()
            }
            _ => &[],
        }
    }

    pub fn display(&self, id: NameId) -> String {
        dotted(self.get(id))
    }

    pub fn iter(&self) -> impl Iterator<Item = (NameId, &[u8])> {
        (0..self.ends.len() as u32).map(|id| (id, self.get(id)))
    }

    /// Makes room for that many names.
    fn grow(&mut self, names: usize) {
        let wanted = (names * 2).next_power_of_two().max(64);
        if self.slots.len() >= wanted {
            return;
        }
        for id in self.hashes.len()..self.ends.len() {
            self.hashes.push(hash(self.get(id as NameId)));
        }
        self.slots = vec![0; wanted];
        let mask = wanted - 1;
        for (id, &hash) in (1_u32..).zip(&self.hashes) {
            let mut slot = hash as usize & mask;
            // All names of a table differ, so there is nothing to compare.
            while self.slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = id;
        }
    }

    /// The slot that holds `name`, or the free one where it belongs.
    fn slot_of(&self, name: &[u8], hash: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return slot,
                id if self.hashes[id as usize - 1] == hash && self.get(id - 1) == name => {
                    return slot;
                }
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// The id of a name, a new one where it was not known.
    pub fn intern(&mut self, name: &[u8]) -> NameId {
        self.intern_hashed(name, hash(name))
    }

    fn intern_hashed(&mut self, name: &[u8], hash: u32) -> NameId {
        if self.slots.is_empty() || self.ends.len() * 2 >= self.slots.len() {
            self.grow(self.ends.len() * 2 + 32);
        }
        let slot = self.slot_of(name, hash);
        if self.slots[slot] == 0 {
            self.text.extend_from_slice(name);
            self.ends.push(self.text.len() as u32);
            self.hashes.push(hash);
            self.slots[slot] = self.ends.len() as u32;
        }
        self.slots[slot] - 1
    }

    /// The ids in this table of all names of another one, in their order.
    pub fn intern_all(&mut self, other: &Names) -> Vec<NameId> {
        if self.is_empty() {
            *self = other.clone();
            self.prepare();
            return (0..other.len() as NameId).collect();
        }
        let known = other.hashes.len() == other.len();
        (0..other.len() as NameId)
            .map(|id| {
                let name = other.get(id);
                let hash = if known { other.hashes[id as usize] } else { hash(name) };
                self.intern_hashed(name, hash)
            })
            .collect()
    }

    /// The id of a known name. Needs the index: call [`Names::prepare`] once before.
    pub fn find(&self, name: &[u8]) -> Option<NameId> {
        if self.slots.is_empty() {
            return self.iter().find(|(_, n)| *n == name).map(|(id, _)| id);
        }
        self.slots[self.slot_of(name, hash(name))].checked_sub(1)
    }

    /// Builds the index, so that [`Names::find`] is fast.
    pub fn prepare(&mut self) {
        self.grow(self.ends.len());
    }
}

/// A set of names of one table.
#[derive(Debug, Clone, Default)]
pub struct NameSet {
    is_in: Vec<bool>,
    members: Vec<NameId>,
}

impl NameSet {
    pub fn insert(&mut self, id: NameId) -> bool {
        let index = id as usize;
        if self.is_in.len() <= index {
            self.is_in.resize((index + 1).next_power_of_two(), false);
        }
        let new = !std::mem::replace(&mut self.is_in[index], true);
        if new {
            self.members.push(id);
        }
        new
    }

    pub fn contains(&self, id: NameId) -> bool {
        self.is_in.get(id as usize).is_some_and(|&i| i)
    }

    /// The members in the order in which they came.
    pub fn members(&self) -> &[NameId] {
        &self.members
    }
}

impl FromIterator<NameId> for NameSet {
    fn from_iter<I: IntoIterator<Item = NameId>>(ids: I) -> Self {
        let mut set = Self::default();
        for id in ids {
            set.insert(id);
        }
        set
    }
}

/// `com/acme/Thing` as people write it.
pub fn dotted(name: &[u8]) -> String {
    tamis_classfile::mutf8::decode(name).replace('/', ".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ids_are_stable_and_texts_come_back(words in prop::collection::vec("[a-c]{0,3}", 0..300)) {
            let mut names = Names::default();
            let ids: Vec<NameId> = words.iter().map(|w| names.intern(w.as_bytes())).collect();
            for (word, &id) in words.iter().zip(&ids) {
                prop_assert_eq!(names.get(id), word.as_bytes());
                prop_assert_eq!(names.intern(word.as_bytes()), id);
                prop_assert_eq!(names.find(word.as_bytes()), Some(id));
            }
            let bytes = postcard::to_allocvec(&names).unwrap();
            let mut back: Names = postcard::from_bytes(&bytes).unwrap();
            prop_assert_eq!(back.len(), names.len());
            back.prepare();
            for (word, &id) in words.iter().zip(&ids) {
                prop_assert_eq!(back.find(word.as_bytes()), Some(id));
            }
            prop_assert_eq!(back.find(b"never"), None);
        }
    }

    #[test]
    fn foreign_ids_give_nothing() {
        assert_eq!(Names::default().get(7), b"");
    }
}
