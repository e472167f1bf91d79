//! The inputs of tests and what edits of them run, as values.

/// The inputs of all tests.
#[derive(Debug, Default)]
pub struct Inputs {
    /// Texts of the inputs inside the project, sorted.
    pub texts: Vec<String>,
    /// Counts of inputs elsewhere, by folder; each distinct list once.
    pub elsewhere: Vec<Vec<(String, u32)>>,
    /// Sentences about what is different now.
    pub changes: Vec<String>,
}

/// The inputs of one test.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct InputsOfTest {
    /// Places in [`Inputs::texts`], ascending, as differences to the one before in variable length.
    own: Vec<u8>,
    /// Its place in [`Inputs::elsewhere`].
    pub elsewhere: u32,
    /// Places in [`Inputs::changes`].
    pub changed: Vec<u32>,
}

impl InputsOfTest {
    pub(crate) fn of(places: &[u32], elsewhere: u32, changed: Vec<u32>) -> Self {
        let (mut own, mut before) = (Vec::with_capacity(places.len()), 0);
        for &place in places {
            let mut number = place - before;
            before = place;
            while number >= 0x80 {
                own.push((number & 0x7f) as u8 | 0x80);
                number >>= 7;
            }
            own.push(number as u8);
        }
        Self { own, elsewhere, changed }
    }

    /// Differences of places, the first one from zero.
    pub fn steps(&self) -> Vec<u32> {
        let (mut steps, mut number, mut shift) = (Vec::new(), 0, 0);
        for &byte in &self.own {
            number |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                steps.push(number);
                (number, shift) = (0, 0);
            } else {
                shift += 7;
            }
        }
        steps
    }
}

/// What edits run.
#[derive(Debug, Default)]
pub struct Costs {
    /// The dearest first.
    pub edited: Vec<Edited>,
    /// Tests that count, and how long they run together.
    pub tests: u64,
    pub us: u64,
}

/// A source, and what an edit of it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub path: String,
    pub tests: u64,
    pub us: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sets_come_back(mut places in prop::collection::vec(0..3_000_000_u32, 0..200)) {
            places.sort_unstable();
            places.dedup();
            let mut sum = 0;
            let steps = InputsOfTest::of(&places, 0, Vec::new()).steps();
            let back: Vec<u32> = steps.into_iter().map(|step| { sum += step; sum }).collect();
            prop_assert_eq!(back, places);
        }
    }
}
