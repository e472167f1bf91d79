//! Maps and sets by address.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Addresses are different already: a multiplication spreads them.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ByAddress(u64);

impl Hasher for ByAddress {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn write_usize(&mut self, number: usize) {
        self.0 = ((number >> 4) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

pub(crate) type Map<V> = HashMap<usize, V, BuildHasherDefault<ByAddress>>;
pub(crate) type Set = HashSet<usize, BuildHasherDefault<ByAddress>>;
