//! `--shadow` and `--audit`: tests that could be skipped run all the same, to see whether skipping them is right.
//!
//! The plan decides as ever; then [`Checker`] turns some of its skips into runs, with the proof that was believed
//! ([`tamis_core::Cause::Checked`]): all of them for `--shadow`, a random share for `--audit`, in which what was
//! not checked for longest has the best chances. A command that would be skipped as a whole is started where tests
//! inside it are distinguished, since they are what is chosen among.
//!
//! A test that fails although it could have been skipped, and fails again when it is tried again, is a *miss*. It is
//! kept in the store until `tamis audit --resolve`. One that an audit found turns skipping off for this version of
//! tamis. What is not seen: a failure that comes from outside of all that tamis observes (time, chance, the network)
//! is a miss as well; that is what a check is for.

use crate::call::Call;
use crate::cases::Case;
use anyhow::{Context as _, Result};
use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};
use tamis_core::{Cause, Check, Decision, Planned, Question, RecordId, TestKey, Value};
use tamis_report::json::replay::{AuditLine, Checked, Miss, OpenMiss};
use tamis_report::savings::wall;
use tamis_report::{RunReport, TestReport, checks, excerpt, reason};
use tamis_session::{Plan, PlannedUnit};
use tamis_store::{CheckNumbers, LastChecked, Store};

/// The version that a wire is tripped for.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How often a test that failed in a check is tried again before it is called a miss.
pub(crate) const TRIES: u32 = 2;

/// Inputs of a failed run that are named in a miss.
const MOST_BESIDES: usize = 10;

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
    /// What the call or the settings ask for.
    pub(crate) fn new(call: Call<'_>) -> Option<Self> {
        let by_settings = call.project.settings.everywhere.shadow.then_some(CheckOption::Shadow);
        let which = &call.options.which;
        let option = call.options.check.or(by_settings.filter(|_| !which.all && !which.failed))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = match option {
            CheckOption::Audit { seed: Some(seed), .. } => seed,
            // Short enough to be typed again.
            _ => mix(now.as_nanos() as u64 ^ u64::from(std::process::id())) % 1_000_000_000,
        };
        Some(Self { option, seed, now_ms: now.as_millis() as u64, last: OnceLock::new() })
    }

    fn check(&self) -> Check {
        match self.option {
            CheckOption::Shadow => Check::Shadow,
            CheckOption::Audit { .. } => Check::Audit,
        }
    }

    /// Tests that tamis starts itself.
    pub(crate) fn cases(&self, store: Option<&Store>, cases: &[Case], planned: &mut [Planned]) {
        let mut others = Vec::new();
        for (case, planned) in cases.iter().zip(planned) {
            match case.claim {
                Some(_) if planned.skips() => self.turn(planned),
                Some(_) => {}
                None => others.push(planned),
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
fn mix(n: u64) -> u64 {
    let mut n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// Above 0 and at most 1.
fn unit(n: u64) -> f64 {
    ((n >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
}

/// Where a miss was found, nothing is skipped.
pub(crate) fn where_tripped(
    store: Option<&Store>,
    planned: &mut dyn Iterator<Item = &mut Planned>,
) {
    if store.is_some_and(|store| store.is_tripped(VERSION)) {
        for planned in planned.filter(|planned| planned.skips()) {
            planned.decision = Decision::Run(Cause::Tripped);
        }
    }
}

/// Says that skipping is off, where it is.
pub(crate) fn say_tripped(call: Call<'_>, store: Option<&Store>) {
    if store.is_some_and(|store| store.is_tripped(VERSION)) {
        call.notices().warn(
            "skipping is off, everything runs: an audit found a test that would have been skipped and failed; \
             `tamis audit` tells more, `tamis audit --resolve` turns it on again"
                .into(),
        );
    }
}

/// What the run checked; keeps it in the store.
pub(crate) fn finish(call: Call<'_>, store: Option<&Store>, report: &RunReport) -> Option<Checked> {
    let checker = call.check?;
    // A command that would have been skipped hides all that is inside it.
    let around = report.around.as_ref().filter(|around| around.decision.is_checked());
    let is_checked = |test: &&TestReport| {
        test.decision.is_checked() || around.is_some() && test.decision.is_run()
    };
    let ended: Vec<&TestReport> =
        report.tests.iter().filter(is_checked).filter(|test| test.outcome.is_some()).collect();
    let (flaky, sure): (Vec<&TestReport>, Vec<&TestReport>) =
        ended.into_iter().partition(|test| test.flaky());
    let failed = sure.iter().filter(|test| test.failed());
    let missed: Vec<Miss> = failed.map(|test| miss(store, test, around)).collect();
    let skipped = report.tests.iter().filter(|test| test.skipped());
    let saved = match around {
        Some(around) => around.wall(),
        None => wall(sure.iter().map(|test| (test.span, test.wall()))),
    };
    let found = Checked {
        check: checker.check().to_string(),
        seed: matches!(checker.option, CheckOption::Audit { .. }).then_some(checker.seed),
        skippable: sure.len() + flaky.len() + skipped.count(),
        checked: sure.len(),
        skippable_seconds: tamis_report::json::seconds(saved),
        missed,
        flaky: flaky.len(),
    };
    if let Some(store) = store.filter(|store| store.read_only().is_none()) {
        keep(call, store, checker, &found, &sure);
    }
    Some(found)
}

fn keep(call: Call<'_>, store: &Store, checker: &Checker, found: &Checked, tests: &[&TestReport]) {
    let numbers = CheckNumbers {
        checked: tests.len() as u64,
        missed: found.missed.len() as u64,
        flaky: found.flaky as u64,
        ..CheckNumbers::default()
    };
    if numbers.checked + numbers.flaky > 0 {
        store.add_checks(checker.now_ms, numbers);
    }
    let keys: Vec<&TestKey> = tests.iter().map(|test| &test.key).collect();
    store.set_checked(checker.now_ms, &keys);
    for (n, miss) in found.missed.iter().enumerate() {
        let open = OpenMiss {
            when_ms: checker.now_ms,
            tamis: VERSION.into(),
            check: found.check.clone(),
            miss: miss.clone(),
        };
        let name = format!("{:015}-{n:05}", checker.now_ms);
        let bytes = serde_json::to_vec(&open).unwrap_or_default();
        if let Err(error) = store.add_miss(&name, &bytes) {
            call.notices().warn(format!("the miss could not be kept: {error}"));
        }
    }
    if !found.missed.is_empty()
        && checker.check() == Check::Audit
        && let Err(error) = store.trip(VERSION)
    {
        call.notices().warn(format!("skipping could not be turned off: {error}"));
    }
}

/// A miss with its evidence. What a command inside of which it is was believed by counts for it.
fn miss(store: Option<&Store>, test: &TestReport, around: Option<&TestReport>) -> Miss {
    let believed_by = if test.decision.is_checked() { test } else { around.unwrap_or(test) };
    let record = believed_by.decision.proof().map(|(record, _)| record);
    let outcome = test.outcome.map(|outcome| reason::outcome(&test.key, outcome));
    let believed = match std::ptr::eq(believed_by, test) {
        true => reason::believed(test),
        false => format!("{}: {}", believed_by.key, reason::believed(believed_by)),
    };
    let besides = store.zip(record).filter(|_| std::ptr::eq(believed_by, test));
    Miss {
        test: test.key.to_string(),
        outcome: outcome.unwrap_or_default(),
        believed,
        record: record.map(|record| record.0),
        message: test.output.as_deref().map(excerpt::excerpt).filter(|text| !text.is_empty()),
        besides: besides
            .and_then(|(s, record)| besides_of(s, &test.key, record))
            .unwrap_or_default(),
        changed: Vec::new(),
    }
}

/// What the failed run looked at and the record that was believed does not have, or has otherwise.
fn besides_of(store: &Store, key: &TestKey, believed: RecordId) -> Option<Vec<String>> {
    let newest = store.history(key).ok()?.first()?.id;
    if newest == believed {
        return None;
    }
    let (now, then) = (store.record(newest).ok()??, store.record(believed).ok()??);
    let mut known: HashMap<&Question, Vec<Value>> = HashMap::new();
    for observed in &then.run.observed {
        known
            .entry(&observed.question)
            .or_default()
            .extend([Some(observed.before), observed.after].into_iter().flatten());
    }
    let new = now.run.observed.iter().filter_map(|observed| match known.get(&observed.question) {
        None => Some((observed.question.to_string(), "not looked at then")),
        Some(values) if values.contains(&observed.before) => None,
        Some(_) => Some((observed.question.to_string(), "otherwise then")),
    });
    let mut new: Vec<(String, &str)> = new.collect();
    // What differs first, then the project's own files.
    new.sort_by_key(|(what, how)| (*how == "not looked at then", what.starts_with('/')));
    Some(new.into_iter().take(MOST_BESIDES).map(|(what, how)| format!("{what} ({how})")).collect())
}

/// What all checks of a project say together.
pub fn audit(store: Option<&Store>) -> AuditLine {
    let Some(store) = store else {
        return AuditLine { excluded_percent: 100.0, ..AuditLine::default() };
    };
    let numbers = store.checks();
    AuditLine {
        calls: numbers.calls,
        since_ms: numbers.since_ms,
        checked: numbers.checked,
        checked_tests: store.last_checked().len() as u64,
        missed: numbers.missed,
        flaky: numbers.flaky,
        excluded_percent: checks::excluded_rate(numbers.checked, numbers.missed) * 100.0,
        tripped: store.is_tripped(VERSION),
        open: store
            .misses()
            .iter()
            .filter_map(|bytes| serde_json::from_slice(bytes).ok())
            .collect(),
        ..AuditLine::default()
    }
}

/// Acknowledges all misses; how many there were, and whether skipping was off.
pub fn resolve(store: &Store) -> Result<(usize, bool)> {
    let found = (store.misses().len(), store.is_tripped(VERSION));
    let place = || format!("{} cannot be changed", store.dir().display());
    store.resolve_misses().with_context(place)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::record::ProofId;

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
