//! Chooses which of the tests that could be skipped run all the same ([`crate::checks`]).
//!
//! The plan decides as ever; then [`Checker`] turns some of its skips into runs, with the proof that was believed
//! ([`tamis_core::Cause::Checked`]): all of them for `--shadow`, a random share for `--audit`, in which what was
//! not checked for longest has the best chances. A command that would be skipped as a whole is started where tests
//! inside it are distinguished, since they are what is chosen among.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};
use tamis_core::{Cause, Check, Decision, Planned};
use tamis_session::{Plan, PlannedUnit};
use tamis_store::{LastChecked, Store};

/// Which of the tests that could be skipped run all the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CheckOption {
    Shadow,
    /// A share from 0 to 1, and the number that chooses.
    Audit {
        share: f64,
        seed: Option<u64>,
    },
}

/// Chooses what is checked in one call.
#[derive(Debug)]
pub struct Checker {
    option: CheckOption,
    seed: u64,
    now_ms: u64,
    last: OnceLock<LastChecked>,
}

impl Checker {
    pub(crate) fn new(option: CheckOption) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = match option {
            CheckOption::Audit { seed: Some(seed), .. } => seed,
            // Short enough to be typed again.
            _ => mix(now.as_nanos() as u64 ^ u64::from(std::process::id())) % 1_000_000_000,
        };
        Self { option, seed, now_ms: now.as_millis() as u64, last: OnceLock::new() }
    }

    /// When the call began to choose, in milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// The number that chose, where chance did.
    pub(crate) fn chance(&self) -> Option<u64> {
        matches!(self.option, CheckOption::Audit { .. }).then_some(self.seed)
    }

    pub(crate) fn check(&self) -> Check {
        match self.option {
            CheckOption::Shadow => Check::Shadow,
            CheckOption::Audit { .. } => Check::Audit,
        }
    }

    /// Tests that tamis starts itself, each with whether tests inside it are distinguished.
    pub(crate) fn cases<'p>(
        &self,
        store: Option<&Store>,
        cases: impl Iterator<Item = (bool, &'p mut Planned)>,
    ) {
        let mut others = Vec::new();
        for (has_units, planned) in cases {
            match has_units {
                true if planned.skips() => self.turn(planned),
                true => {}
                false => others.push(planned),
            }
        }
        self.choose(store, others);
    }

    /// The units of one scope, and their parts.
    pub(crate) fn units(&self, store: Option<&Store>, plan: &mut Plan) {
        let mut all = Vec::new();
        for unit in &mut plan.units {
            let PlannedUnit::Decided(planned, parts) = unit else { continue };
            match parts {
                Some(parts) if planned.decision.is_run() => all.extend(parts.parts.values_mut()),
                _ => all.push(planned.as_mut()),
            }
        }
        self.choose(store, all);
    }

    fn choose(&self, store: Option<&Store>, planned: Vec<&mut Planned>) {
        let mut skipped: Vec<&mut Planned> = planned.into_iter().filter(|p| p.skips()).collect();
        if let CheckOption::Audit { share, .. } = self.option {
            let last = self.last.get_or_init(|| store.map(Store::last_checked).unwrap_or_default());
            let number = |p: &Planned| mix(self.seed ^ mix(Store::check_id(&p.key)));
            // A share of few tests is a chance.
            let chance = skipped.iter().map(|p| number(p)).fold(0, |sum, n| mix(sum ^ n));
            let many = (skipped.len() as f64 * share + unit(chance)).floor() as usize;
            skipped.sort_by_cached_key(|planned| {
                let since = last.get(&Store::check_id(&planned.key)).copied();
                let weight = weight(self.now_ms, since);
                // The smallest of exponential variables: a choice by weights, without replacement.
                let place = -unit(number(planned)).ln() / weight;
                place.to_bits()
            });
            skipped.truncate(many);
        }
        skipped.into_iter().for_each(|planned| self.turn(planned));
    }

    fn turn(&self, planned: &mut Planned) {
        planned.decision = Decision::Run(Cause::Checked(self.check(), planned.decision.proof()));
    }
}

/// The longer a test was not checked, the better its chances; in hours.
fn weight(now_ms: u64, last_ms: Option<u64>) -> f64 {
    const NEVER: f64 = 24.0 * 365.0;
    last_ms
        .map_or(NEVER, |last| (now_ms.saturating_sub(last) as f64 / 3_600_000.0).clamp(1.0, NEVER))
}

/// A step of SplitMix64.
pub(crate) fn mix(n: u64) -> u64 {
    let mut n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// Above 0 and at most 1.
fn unit(n: u64) -> f64 {
    ((n >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::record::ProofId;
    use tamis_core::{RecordId, TestKey};

    fn skips(n: usize) -> Vec<Planned> {
        let skip = Decision::Skip { record: RecordId(1), proof: ProofId(1) };
        let key = |n| TestKey::item("s", format!("t{n}"), ".");
        (0..n).map(|n| Planned::new(key(n), skip.clone())).collect()
    }

    fn chosen(option: CheckOption, last: LastChecked, n: usize, seed: u64) -> Vec<bool> {
        let checker =
            Checker { option, seed, now_ms: 1_000 * 3_600_000, last: OnceLock::from(last) };
        let mut planned = skips(n);
        checker.choose(None, planned.iter_mut().collect());
        planned.iter().map(|p| p.decision.is_checked()).collect()
    }

    const TWENTIETH: CheckOption = CheckOption::Audit { share: 0.05, seed: None };

    #[test]
    fn a_shadow_takes_all_and_an_audit_its_share() {
        let all = chosen(CheckOption::Shadow, LastChecked::new(), 30, 1);
        assert!(all.iter().all(|chosen| *chosen));
        for seed in 0..50 {
            let many =
                chosen(TWENTIETH, LastChecked::new(), 400, seed).iter().filter(|c| **c).count();
            assert!((20..=21).contains(&many), "{many}");
        }
        assert!(chosen(TWENTIETH, LastChecked::new(), 0, 1).is_empty());
        let whole = CheckOption::Audit { share: 1.0, seed: None };
        assert!(chosen(whole, LastChecked::new(), 9, 3).iter().all(|chosen| *chosen));
    }

    #[test]
    fn a_share_of_one_test_is_a_chance() {
        let hits =
            (0..2_000).filter(|seed| chosen(TWENTIETH, LastChecked::new(), 1, *seed)[0]).count();
        assert!((60..=150).contains(&hits), "{hits}");
    }

    #[test]
    fn the_same_seed_chooses_the_same_and_another_seed_others() {
        let with = |seed| chosen(TWENTIETH, LastChecked::new(), 200, seed);
        assert_eq!(with(7), with(7));
        assert_ne!(with(7), with(8));
    }

    #[test]
    fn what_was_not_checked_for_longest_has_the_best_chances() {
        // The first half was checked an hour ago.
        let last = |n: usize| {
            (Store::check_id(&TestKey::item("s", format!("t{n}"), ".")), 999 * 3_600_000)
        };
        let (mut recent, mut others) = (0, 0);
        for seed in 0..40 {
            let chosen = chosen(TWENTIETH, (0..100).map(last).collect(), 200, seed);
            recent += chosen[..100].iter().filter(|c| **c).count();
            others += chosen[100..].iter().filter(|c| **c).count();
        }
        assert!(recent * 20 < others, "{recent} {others}");
    }

    #[test]
    fn what_runs_anyway_is_not_checked() {
        let mut planned = skips(2);
        planned[0].decision = Decision::Run(Cause::New);
        let option = CheckOption::Shadow;
        let checker = Checker { option, seed: 0, now_ms: 0, last: OnceLock::new() };
        checker.choose(None, planned.iter_mut().collect());
        assert_eq!(planned[0].decision, Decision::Run(Cause::New));
        let proof = Some((RecordId(1), ProofId(1)));
        assert_eq!(planned[1].decision, Decision::Run(Cause::Checked(Check::Shadow, proof)));
    }
}
