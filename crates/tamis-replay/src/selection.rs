//! What a strategy selected in a revision, against what ended how.

use crate::call::{Reported, Test};
use std::collections::{HashMap, HashSet};
use tamis_report::checked::Miss;
use tamis_report::json::replay::Selection;

/// Changed files that are named in a miss.
const MOST_FILES: usize = 20;

/// How a test was selected although nothing that it looked at was different.
const NEEDLESS: [&str; 4] = ["incomplete", "always-run", "unbuilt", "effect"];

/// How tests ended in the revision before: whether they passed.
pub(crate) type Before = HashMap<String, bool>;

/// What a run that takes its own decision selected, and what it would have missed.
pub(crate) fn of_run(strategy: &str, reported: &Reported, changed: &[String]) -> Selection {
    let selected = |test: &Test| test.selected;
    let mut found = of(strategy, reported, &selected);
    let missed =
        reported.checked.as_ref().map(|checked| checked.missed.clone()).unwrap_or_default();
    found.missed = missed.into_iter().map(|miss| with_change(miss, changed)).collect();
    let needless = |test: &&Test| test.selected && NEEDLESS.contains(&test.cause.as_str());
    found.needless = reported.tests.iter().filter(needless).map(|test| test.name.clone()).collect();
    found
}

/// What a decision beside the run selected: a miss is a test that ended otherwise than before and is not
/// selected; needless is what the records let be skipped.
pub(crate) fn of_names(
    strategy: &str,
    reported: &Reported,
    names: &HashSet<String>,
    before: &Before,
    changed: &[String],
) -> Selection {
    let selected = |test: &Test| names.contains(&test.name);
    let mut found = of(strategy, reported, &selected);
    for test in &reported.tests {
        let failed = test.passed == Some(false) && !test.flaky;
        // Whoever leaves a test out says by that that it would end as before.
        let then = before.get(&test.name).copied();
        let outcome = match test.passed {
            Some(false) if failed && then != Some(false) => Some("failed"),
            Some(true) if then == Some(false) => Some("passed (it had failed before)"),
            _ => None,
        };
        if let Some(outcome) = outcome.filter(|_| !selected(test)) {
            let believed = format!("--select {strategy}: no change reaches it");
            let (test, outcome) = (test.name.clone(), outcome.into());
            let miss = Miss { test, outcome, believed, ..Miss::default() };
            found.missed.push(with_change(miss, changed));
        }
        if selected(test) && !test.selected {
            found.needless.push(test.name.clone());
        }
    }
    found
}

fn with_change(mut miss: Miss, changed: &[String]) -> Miss {
    miss.changed = changed.iter().take(MOST_FILES).cloned().collect();
    miss
}

/// The numbers and times. Times of what is selected are a part of those of all: by the tests' own times, and the
/// command around them where it has to start.
fn of(strategy: &str, reported: &Reported, selected: &dyn Fn(&Test) -> bool) -> Selection {
    let phases = reported.phases;
    let chosen: Vec<&Test> = reported.tests.iter().filter(|test| selected(test)).collect();
    // What was skipped in an estimate would have taken what its record says.
    let time = |test: &Test| if test.passed.is_some() { test.seconds } else { test.saved };
    let sum = |tests: &mut dyn Iterator<Item = &Test>| tests.map(time).sum::<f64>();
    let (of_chosen, of_all) = (sum(&mut chosen.iter().copied()), sum(&mut reported.tests.iter()));
    let share = match of_all > 0.0 {
        true => of_chosen / of_all,
        false => chosen.len() as f64 / (reported.tests.len().max(1)) as f64,
    };
    // A command that is skipped as a whole builds nothing either.
    let starts = !chosen.is_empty() || reported.whole.as_ref().is_some_and(|whole| whole.selected);
    let build = if starts { phases.build_seconds } else { 0.0 };
    let skipped: f64 =
        reported.tests.iter().filter(|test| test.passed.is_none()).map(|test| test.saved).sum();
    let selected_seconds = build + (phases.run_seconds + skipped) * share;
    let offline_seconds = phases.analyse_seconds + selected_seconds;
    let collect =
        if skipped > 0.0 { phases.collect_seconds } else { phases.collect_seconds * share };
    Selection {
        strategy: strategy.to_owned(),
        tests: reported.tests.len(),
        selected: chosen.len(),
        all_seconds: phases.build_seconds + phases.run_seconds + skipped,
        selected_seconds,
        offline_seconds,
        // Where nothing has to start, no engine has to be made.
        online_seconds: offline_seconds
            + if starts { collect + phases.overhead_seconds } else { 0.0 },
        phases,
        missed: Vec::new(),
        needless: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_report::phases::PhaseSeconds;

    fn test(name: &str, selected: bool, seconds: f64, passed: bool) -> Test {
        let cause = if selected { "changed" } else { "shadow" };
        let passed = Some(passed);
        Test {
            name: name.into(),
            selected,
            seconds,
            passed,
            cause: cause.into(),
            ..Test::default()
        }
    }

    fn reported() -> Reported {
        let phases = PhaseSeconds {
            analyse_seconds: 1.0,
            build_seconds: 10.0,
            run_seconds: 40.0,
            collect_seconds: 4.0,
            overhead_seconds: 2.0,
        };
        let tests = vec![
            test("a", true, 10.0, true),
            test("b", false, 25.0, false),
            test("c", false, 5.0, true),
        ];
        let whole = Some(test("mvn test", true, 50.0, true));
        Reported { tests, whole, phases, ..Reported::default() }
    }

    #[test]
    fn times_of_what_is_selected() {
        let found = of_run("records", &reported(), &[]);
        assert_eq!((found.tests, found.selected), (3, 1));
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        near(found.all_seconds, 50.0);
        near(found.selected_seconds, 10.0 + 10.0);
        near(found.offline_seconds, 21.0);
        near(found.online_seconds, 21.0 + 1.0 + 2.0);
    }

    #[test]
    fn nothing_is_built_where_the_whole_command_is_skipped() {
        let mut reported = reported();
        reported.tests.iter_mut().chain(&mut reported.whole).for_each(|test| test.selected = false);
        let found = of_run("records", &reported, &[]);
        assert!(found.selected_seconds.abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_new_failure_that_is_not_selected_is_missed() {
        let names: HashSet<String> = ["a", "c"].map(str::to_owned).into();
        let changed = vec!["src/x".to_owned()];
        let found = of_names("modules", &reported(), &names, &Before::new(), &changed);
        assert_eq!(found.missed.len(), 1);
        assert_eq!((found.missed[0].test.as_str(), &found.missed[0].changed), ("b", &changed));
        assert_eq!(found.needless, ["c"]);
        // One that failed before is a known failure.
        let before: Before = [("b".to_owned(), false)].into();
        assert_eq!(of_names("modules", &reported(), &names, &before, &[]).missed, []);
        // One that is repaired now would still be known as one.
        let before: Before = [("b".to_owned(), false), ("a".to_owned(), false)].into();
        let names: HashSet<String> = ["c".to_owned()].into();
        let missed = of_names("modules", &reported(), &names, &before, &[]).missed;
        assert_eq!(missed.iter().map(|m| m.test.as_str()).collect::<Vec<_>>(), ["a"]);
    }
}
