//! Sets of small numbers: sorted blocks of 64.
//!
//! Most sets of an analysis are tiny and a few hold almost everything; both are short lists of blocks
//! because numbers that belong together are given out together.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Set {
    places: Vec<u32>,
    bits: Vec<u64>,
}

impl Set {
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(crate) fn contains(&self, number: u32) -> bool {
        match self.places.binary_search(&(number / 64)) {
            Ok(at) => self.bits[at] & 1 << (number % 64) != 0,
            Err(_) => false,
        }
    }

    /// Whether it was not there yet.
    pub(crate) fn insert(&mut self, number: u32) -> bool {
        let bit = 1 << (number % 64);
        match self.places.binary_search(&(number / 64)) {
            Ok(at) => {
                let new = self.bits[at] & bit == 0;
                self.bits[at] |= bit;
                new
            }
            Err(at) => {
                self.places.insert(at, number / 64);
                self.bits.insert(at, bit);
                true
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.places.iter().zip(&self.bits).flat_map(|(&place, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                if left == 0 {
                    return None;
                }
                let bit = left.trailing_zeros();
                left &= left - 1;
                Some(place * 64 + bit)
            })
        })
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.bits.iter().map(|b| b.count_ones() as usize).sum()
    }

    /// What is in `other` and not here.
    pub(crate) fn missing_of(&self, other: &Self) -> Self {
        let mut out = Self::default();
        let mut at = 0;
        for (&place, &bits) in other.places.iter().zip(&other.bits) {
            at = self.advance(at, place);
            let here = if self.places.get(at) == Some(&place) { self.bits[at] } else { 0 };
            if bits & !here != 0 {
                out.places.push(place);
                out.bits.push(bits & !here);
            }
        }
        out
    }

    /// What is in both.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let (small, large) =
            if self.places.len() <= other.places.len() { (self, other) } else { (other, self) };
        let mut out = Self::default();
        let mut at = 0;
        for (&place, &bits) in small.places.iter().zip(&small.bits) {
            at = large.advance(at, place);
            if large.places.get(at) == Some(&place) && large.bits[at] & bits != 0 {
                out.places.push(place);
                out.bits.push(large.bits[at] & bits);
            }
        }
        out
    }

    /// The first place from `at` on that is not before `place`: near ones one by one, far ones by
    /// doubling steps.
    fn advance(&self, mut at: usize, place: u32) -> usize {
        let mut step = 1;
        while self.places.get(at + step).is_some_and(|&p| p < place) {
            at += step;
            step *= 2;
        }
        while self.places.get(at).is_some_and(|&p| p < place) {
            at += 1;
        }
        at
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let fits = {
            let mut at = 0;
            let mut fits = true;
            for (&place, &bits) in other.places.iter().zip(&other.bits) {
                at = self.advance(at, place);
                if self.places.get(at) == Some(&place) {
                    self.bits[at] |= bits;
                } else {
                    fits = false;
                }
            }
            fits
        };
        if fits {
            return;
        }
        let len = self.places.len() + other.places.len();
        let (mut places, mut bits) = (Vec::with_capacity(len), Vec::with_capacity(len));
        let (mut a, mut b) = (0, 0);
        while a < self.places.len() || b < other.places.len() {
            let (first, second) = (self.places.get(a), other.places.get(b));
            let place = match (first, second) {
                (Some(&first), Some(&second)) => first.min(second),
                (Some(&only), None) | (None, Some(&only)) => only,
                (None, None) => break,
            };
            let mut word = 0;
            if first == Some(&place) {
                word |= self.bits[a];
                a += 1;
            }
            if second == Some(&place) {
                word |= other.bits[b];
                b += 1;
            }
            places.push(place);
            bits.push(word);
        }
        self.places = places;
        self.bits = bits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn set(numbers: &BTreeSet<u32>) -> Set {
        let mut set = Set::default();
        for &number in numbers {
            assert!(set.insert(number));
            assert!(!set.insert(number));
        }
        set
    }

    proptest! {
        #[test]
        fn agrees_with_the_sets_of_the_library(
            a in proptest::collection::btree_set(0u32..3_000, 0..200),
            b in proptest::collection::btree_set(0u32..3_000, 0..200),
        ) {
            let (x, y) = (set(&a), set(&b));
            prop_assert_eq!(x.iter().collect::<BTreeSet<_>>(), a.clone());
            prop_assert_eq!(x.len(), a.len());
            let missing: BTreeSet<u32> = x.missing_of(&y).iter().collect();
            prop_assert_eq!(missing, &b - &a);
            prop_assert_eq!(x.and(&y).iter().collect::<BTreeSet<_>>(), &a & &b);
            let mut sum = x.clone();
            sum.add(&y);
            prop_assert_eq!(sum.iter().collect::<BTreeSet<_>>(), &a | &b);
            prop_assert!(b.iter().all(|&n| y.contains(n)));
            prop_assert_eq!(x.contains(7), a.contains(&7));
        }
    }
}
