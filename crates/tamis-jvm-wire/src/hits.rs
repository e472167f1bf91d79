//! A set of probe ids as it travels: ascending, each as the distance to the one before.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Hits(Vec<u32>);

impl Hits {
    /// Takes ids in ascending order.
    pub fn from_sorted(ids: impl IntoIterator<Item = u32>) -> Self {
        let mut last = 0;
        Self(ids.into_iter().map(|id| id.wrapping_sub(std::mem::replace(&mut last, id))).collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().scan(0_u32, |last, &step| {
            *last = last.wrapping_add(step);
            Some(*last)
        })
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back() {
        let ids = [0, 1, 5, 70_000, u32::MAX];
        assert_eq!(Hits::from_sorted(ids).iter().collect::<Vec<_>>(), ids);
        assert!(Hits::default().is_empty());
    }
}
