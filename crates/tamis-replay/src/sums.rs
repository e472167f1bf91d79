//! The sums of a replay, as the papers have them: shares, times, first-run overhead, break-even, and what is saved
//! if only every Nth run is recorded.
//!
//! Times with tamis are compared with those of the bare command. That one runs by itself only in the first
//! revision; in the others, what all tests take while they are observed is divided by how much slower
//! observing was there.

use crate::details::Details;
use std::collections::HashSet;
use tamis_report::json::Version;
use tamis_report::json::replay::{
    CollectEvery, Mutant, MutantState, MutantSums, ReplaySeconds, ReplaySummaryLine, Replayed,
    RevisionLine, RevisionState, Selection,
};

/// How seldom recording is simulated.
const EVERY: [usize; 4] = [2, 5, 10, 20];

pub(crate) fn summaries(found: &Replayed, details: &[Details]) -> Vec<ReplaySummaryLine> {
    let strategies = found.replay.strategies.iter().enumerate();
    strategies.map(|(n, name)| of_strategy(found, n, name, details)).collect()
}

fn of_strategy(found: &Replayed, n: usize, name: &str, details: &[Details]) -> ReplaySummaryLine {
    let ran: Vec<&RevisionLine> =
        found.revisions.iter().filter(|line| line.state == RevisionState::Ran).collect();
    let selections: Vec<&Selection> =
        ran.iter().filter_map(|line| line.selections.get(n)).collect();
    let (first, later) = match selections.split_first() {
        Some((first, later)) => (Some(*first), later),
        None => (None, &[] as &[&Selection]),
    };
    let slower = slower(found.replay.bare_seconds, first);
    let bare = |one: &Selection| one.all_seconds / slower;
    let mean = |of: &dyn Fn(&Selection) -> f64| match later.len() {
        0 => 0.0,
        many => later.iter().map(|one| of(one)).sum::<f64>() / many as f64,
    };
    let percent = |part: f64, all: f64| if all > 0.0 { part / all * 100.0 } else { 0.0 };
    let sum = |of: &dyn Fn(&Selection) -> f64| later.iter().map(|one| of(one)).sum::<f64>();
    let total = |of: &dyn Fn(&Selection) -> usize| later.iter().map(|one| of(one)).sum::<usize>();
    let overhead = found.replay.bare_seconds.zip(first).filter(|(bare, _)| *bare > 0.0);
    ReplaySummaryLine {
        version: Version,
        strategy: name.to_owned(),
        revisions: ran.len(),
        left_out: found.revisions.len() - ran.len(),
        tests: total(&|one| one.tests),
        selected: total(&|one| one.selected),
        selected_percent: mean(&|one| percent(one.selected as f64, one.tests as f64)),
        offline_percent: mean(&|one| percent(one.offline_seconds, bare(one))),
        online_percent: mean(&|one| percent(one.online_seconds, bare(one))),
        seconds: ReplaySeconds {
            all_seconds: sum(&bare),
            offline_seconds: sum(&|one| one.offline_seconds),
            online_seconds: sum(&|one| one.online_seconds),
        },
        missed: total(&|one| one.missed.len()),
        needless: total(&|one| one.needless.len()),
        failed: ran.iter().map(|line| line.failed.len()).sum(),
        flaky: ran.iter().map(|line| line.flaky.len()).sum(),
        first_run_overhead_percent: overhead
            .map(|(bare, first)| percent(first.online_seconds - bare, bare)),
        break_even: overhead.and_then(|(bare_first, first)| {
            break_even(
                first.online_seconds - bare_first,
                later.iter().map(|one| bare(one) - one.online_seconds),
            )
        }),
        every: if name == "records" { every(later, details, slower) } else { Vec::new() },
        mutants: (name == "records" && found.replay.mutants > 0).then(|| mutants(&ran)),
    }
}

/// What the faults of all revisions say together.
fn mutants(ran: &[&RevisionLine]) -> MutantSums {
    let all: Vec<&Mutant> = ran.iter().flat_map(|line| &line.mutants).collect();
    let judged = |one: &&&Mutant| matches!(one.state, MutantState::Killed | MutantState::Survived);
    let judged: Vec<&Mutant> = all.iter().filter(judged).copied().collect();
    let share = |one: &&Mutant| one.selected as f64 / one.tests.max(1) as f64 * 100.0;
    MutantSums {
        mutants: all.len(),
        mutants_left_out: all.len() - judged.len(),
        mutants_killed: judged.iter().filter(|one| one.state == MutantState::Killed).count(),
        mutants_failed_runs: judged.iter().map(|one| one.failed).sum(),
        mutants_missed: judged.iter().map(|one| one.missed.len()).sum(),
        mutants_selected_percent: match judged.len() {
            0 => 0.0,
            many => judged.iter().map(share).sum::<f64>() / many as f64,
        },
    }
}

/// By how much all tests are slower while they are observed.
fn slower(bare: Option<f64>, first: Option<&Selection>) -> f64 {
    match (bare, first) {
        (Some(bare), Some(first)) if bare > 0.0 && first.all_seconds > bare => {
            first.all_seconds / bare
        }
        _ => 1.0,
    }
}

/// After how many revisions a cost is earned back.
fn break_even(mut cost: f64, savings: impl Iterator<Item = f64>) -> Option<usize> {
    if cost <= 0.0 {
        return Some(0);
    }
    for (n, saving) in savings.enumerate() {
        cost -= saving;
        if cost <= 0.0 {
            return Some(n + 1);
        }
    }
    None
}

/// What is saved if only every Nth run is recorded: between two of them everything that was selected since
/// the last one is selected again, and nothing is collected.
fn every(later: &[&Selection], details: &[Details], slower: f64) -> Vec<CollectEvery> {
    let all: f64 = later.iter().map(|one| one.all_seconds / slower).sum();
    if all <= 0.0 || details.len() != later.len() + 1 {
        return Vec::new();
    }
    let saved = |n: usize| {
        let mut open: HashSet<&str> = HashSet::new();
        let mut time = 0.0;
        for (at, (one, details)) in later.iter().zip(&details[1..]).enumerate() {
            open.extend(
                details.tests.iter().filter(|test| test.selected).map(|test| test.name.as_str()),
            );
            let sum: f64 = details.tests.iter().map(|test| test.seconds).sum();
            let chosen = details.tests.iter().filter(|test| open.contains(test.name.as_str()));
            let share =
                if sum > 0.0 { chosen.map(|test| test.seconds).sum::<f64>() / sum } else { 1.0 };
            let phases = one.phases;
            let build = if open.is_empty() && one.selected_seconds <= 0.0 {
                0.0
            } else {
                phases.build_seconds
            };
            let records = (at + 1) % n == 0;
            let run = phases.run_seconds * share;
            time += phases.analyse_seconds + phases.overhead_seconds + build;
            // A run that is not observed is as quick as the bare one.
            time += if records { run + phases.collect_seconds * share } else { run / slower };
            if records {
                open.clear();
            }
        }
        (all - time) / all * 100.0
    };
    EVERY
        .iter()
        .filter(|n| **n <= later.len())
        .map(|n| CollectEvery { n: *n, saved_percent: saved(*n) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_earned_back() {
        assert_eq!(break_even(0.0, [].into_iter()), Some(0));
        assert_eq!(break_even(5.0, [2.0, -1.0, 4.0, 9.0].into_iter()), Some(3));
        assert_eq!(break_even(5.0, [2.0].into_iter()), None);
    }

    #[test]
    fn observing_is_never_quicker() {
        let first = Selection { all_seconds: 8.0, ..Selection::default() };
        assert!((slower(Some(10.0), Some(&first)) - 1.0).abs() < 1e-9);
        assert!((slower(Some(4.0), Some(&first)) - 2.0).abs() < 1e-9);
        assert!((slower(None, Some(&first)) - 1.0).abs() < 1e-9);
    }
}
