//! Which faults are tried: most of them in what a change touched, a few elsewhere, by a number that chooses, so that the same
//! revision gets the same faults again.

use crate::fault::{Fault, Lines};
use std::collections::HashMap;

/// One in so many faults is somewhere else than the change.
const ELSEWHERE: usize = 4;

/// Lines that a change touched, by the source.
#[derive(Debug, Clone, Default)]
pub struct Touched(pub HashMap<String, Vec<Lines>>);

impl Touched {
    /// How near a fault is to the change: 0 in a line or a function that changed, 1 in its file, 2 elsewhere.
    fn distance(&self, fault: &Fault) -> u8 {
        let Some(lines) = self.0.get(&fault.source) else { return 2 };
        let own = Lines { first: fault.line, last: fault.line };
        let near =
            |changed: &Lines| fault.line > 0 && (changed.meets(own) || changed.meets(fault.around));
        if lines.iter().any(near) { 0 } else { 1 }
    }

    /// Whether a fault is where the change is.
    pub fn meets(&self, fault: &Fault) -> bool {
        self.distance(fault) == 0
    }
}

/// Chooses so many faults, or all where there are no more. No two of them are in one place.
pub fn choose(all: Vec<Fault>, touched: &Touched, many: usize, seed: &str) -> Vec<Fault> {
    let mut state = seed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut drawn: Vec<(u8, u64, Fault)> =
        all.into_iter().map(|fault| (touched.distance(&fault), draw(), fault)).collect();
    drawn.sort_by_key(|(distance, number, _)| (*distance, *number));
    let mut elsewhere: Vec<Fault> = Vec::new();
    let mut near: Vec<Fault> = Vec::new();
    for (distance, _, fault) in drawn {
        if distance == 2 { elsewhere.push(fault) } else { near.push(fault) }
    }
    let few = (many / ELSEWHERE).max(many.saturating_sub(near.len())).min(elsewhere.len());
    near.truncate(many - few);
    elsewhere.truncate(few);
    near.extend(elsewhere);
    near
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Kind;
    use std::path::PathBuf;

    fn fault(source: &str, line: u32) -> Fault {
        Fault {
            kind: Kind::CallRemoved,
            place: "f".into(),
            line,
            around: Lines { first: line - line % 10, last: line - line % 10 + 9 },
            at: 0..1,
            bytes: Vec::new(),
            file: PathBuf::from(source),
            source: source.into(),
        }
    }

    #[test]
    fn most_are_where_the_change_is() {
        let all: Vec<Fault> =
            (10..60).flat_map(|line| [fault("a", line), fault("b", line)]).collect();
        let touched = Touched([("a".to_owned(), vec![Lines { first: 22, last: 22 }])].into());
        let chosen = choose(all.clone(), &touched, 8, "1f");
        assert_eq!(chosen.len(), 8);
        let near = chosen.iter().filter(|f| touched.meets(f)).count();
        assert_eq!((near, chosen.iter().filter(|f| f.source == "b").count()), (6, 2));
        assert!(chosen.iter().filter(|f| f.source == "a").all(|f| f.line / 10 == 2));
        assert_eq!(choose(all.clone(), &touched, 8, "1f"), chosen);
        assert_ne!(choose(all.clone(), &touched, 8, "20"), chosen);
        // Where the change has too few, others take their place.
        assert_eq!(choose(all.clone(), &Touched::default(), 8, "1f").len(), 8);
        assert_eq!(choose(all, &touched, 1_000, "1f").len(), 100);
        let touched_only = vec![fault("a", 22), fault("a", 23)];
        assert_eq!(choose(touched_only, &touched, 4, "1f").len(), 2);
        assert_eq!(choose(Vec::new(), &touched, 4, "1f").len(), 0);
    }
}
