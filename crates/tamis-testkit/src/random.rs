//! The random generator of the property tests.
//!
//! Each of them has a fixed seed, so that a run tries what the last one tried; `TAMIS_SEED` gives
//! another one, and `TAMIS_PROPERTY_ROUNDS` more rounds. A test that fails prints the seed.

use std::fmt::Display;

/// splitmix64: small, and the same on every machine.
#[derive(Debug)]
pub struct Random {
    state: u64,
    seed: u64,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Self { state: seed, seed }
    }

    /// With the seed that `TAMIS_SEED` names, else this one.
    pub fn seeded(usual: u64) -> Self {
        Self::new(seed(usual))
    }

    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `n - 1`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.number() % n as u64) as usize
    }

    pub fn one<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.below(of.len())]
    }

    /// True once in `of` times.
    pub fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for at in (1..all.len()).rev() {
            all.swap(at, self.below(at + 1));
        }
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to repeat it: TAMIS_SEED={}", self.seed);
        }
    }
}

/// The seed that `TAMIS_SEED` names, else this one.
pub fn seed(usual: u64) -> u64 {
    variable("TAMIS_SEED").unwrap_or(usual)
}

/// How often a property is tried: `TAMIS_PROPERTY_ROUNDS`, else this often.
pub fn rounds(usual: u64) -> u64 {
    variable("TAMIS_PROPERTY_ROUNDS").unwrap_or(usual)
}

/// Tries a property `rounds` times, `most` times with one seed, then with the next one.
pub fn for_each_seed(usual: u64, rounds: u64, most: u64, mut try_one: impl FnMut(u64, u64)) {
    let (mut seed, mut left) = (seed(usual), rounds);
    while left > 0 {
        eprintln!("TAMIS_SEED={seed}");
        try_one(seed, left.min(most));
        left = left.saturating_sub(most);
        seed += 1;
    }
}

/// A number in the environment. A mistake in it fails: a seed that is not used repeats nothing.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(parsed(name, &text))
}

fn parsed(name: impl Display, text: &str) -> u64 {
    let digits = text.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16));
    digits.unwrap_or_else(|| text.parse()).unwrap_or_else(|e| panic!("{name}={text}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the published splitmix64.
    #[test]
    fn a_seed_gives_the_same_numbers_everywhere() {
        let mut random = Random::new(1_234_567);
        let first = [(); 3].map(|()| random.number());
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn a_shuffle_keeps_everything() {
        let mut all: Vec<u32> = (0..50).collect();
        Random::new(3).shuffle(&mut all);
        assert_ne!(all, (0..50).collect::<Vec<u32>>());
        all.sort_unstable();
        assert_eq!(all, (0..50).collect::<Vec<u32>>());
    }

    #[test]
    fn rounds_are_shared_out_to_seeds() {
        let mut tried = Vec::new();
        for_each_seed(5, 25, 10, |seed, rounds| tried.push((seed - super::seed(5), rounds)));
        assert_eq!(tried, [(0, 10), (1, 10), (2, 5)]);
    }

    #[test]
    fn seeds_are_decimal_or_hexadecimal() {
        assert_eq!((parsed("S", "17"), parsed("S", "0x11")), (17, 17));
        assert!(std::panic::catch_unwind(|| parsed("S", "x")).is_err());
    }
}
