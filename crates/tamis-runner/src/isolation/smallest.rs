//! As few tests as are enough for something to happen behind them.
//!
//! What happens behind all of them, and not behind none, happens at some point of the way between: the shortest
//! beginning of the list behind which it happens ends with a test that is needed. With that one fixed, the rest is
//! searched in the same way until the fixed ones are enough. One test that is alone to blame costs as many tries as the
//! length of the list has binary digits, and two. What is not found: another set that would be enough as well.

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Smallest<T> {
    /// None of these can be left out.
    These(Vec<T>),
    /// These are enough; whether fewer are was not tried to the end.
    Enough(Vec<T>),
    /// It does not happen behind all of them.
    Never,
    /// It was not tried whether it happens.
    NotTried,
}

/// Searches with at most `most` tries. `happens` gives nothing where a try came to no end.
pub(crate) fn smallest<T: Clone>(
    all: &[T],
    most: usize,
    happens: &mut dyn FnMut(&[T]) -> Option<bool>,
) -> Smallest<T> {
    let mut tries = 0;
    let mut probe = |set: &[T]| {
        tries += 1;
        if tries > most { None } else { happens(set) }
    };
    match probe(all) {
        Some(true) => {}
        Some(false) => return Smallest::Never,
        None => return Smallest::NotTried,
    }
    // Behind the first `end` and the needed ones it happens.
    let (mut end, mut needed) = (all.len(), Vec::new());
    loop {
        if end == 0 {
            return Smallest::These(needed);
        }
        if !needed.is_empty() {
            match probe(&needed) {
                Some(true) => return Smallest::These(needed),
                Some(false) => {}
                None => return Smallest::Enough([&all[..end], &needed].concat()),
            }
        }
        let (mut too_few, mut enough) = (0, end);
        while enough - too_few > 1 {
            let middle = too_few + (enough - too_few) / 2;
            match probe(&[&all[..middle], &needed].concat()) {
                Some(true) => enough = middle,
                Some(false) => too_few = middle,
                None => return Smallest::Enough([&all[..enough], &needed].concat()),
            }
        }
        needed.insert(0, all[enough - 1].clone());
        end = enough - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn search(all: usize, needs: &[usize], most: usize) -> (Smallest<usize>, usize) {
        let all: Vec<usize> = (0..all).collect();
        let mut tries = 0;
        let found = smallest(&all, most, &mut |set| {
            tries += 1;
            Some(needs.iter().all(|need| set.contains(need)))
        });
        (found, tries)
    }

    #[test]
    fn one_of_many_costs_few_tries() {
        let (found, tries) = search(200, &[137], 100);
        assert_eq!(found, Smallest::These(vec![137]));
        assert!(tries <= 10, "{tries}");
        assert_eq!(search(1, &[0], 100), (Smallest::These(vec![0]), 1));
    }

    #[test]
    fn what_does_not_happen_is_not_searched_for() {
        assert_eq!(search(9, &[99], 100), (Smallest::Never, 1));
    }

    #[test]
    fn where_tries_run_out_what_is_known_is_enough() {
        let (found, tries) = search(64, &[3], 3);
        assert_eq!((found, tries), (Smallest::Enough((0..16).collect()), 3));
        assert_eq!(smallest(&[1], 9, &mut |_| None), Smallest::NotTried);
    }

    proptest! {
        #[test]
        fn all_that_is_needed_is_found_in_its_order(
            all in 1_usize..60,
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..5),
        ) {
            let needs: std::collections::BTreeSet<usize> = picks.iter().map(|p| p.index(all)).collect();
            let needs: Vec<usize> = needs.into_iter().collect();
            prop_assert_eq!(search(all, &needs, 1_000).0, Smallest::These(needs));
        }
    }
}
