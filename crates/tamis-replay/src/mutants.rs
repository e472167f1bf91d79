//! `--mutants`: faults that are put into a revision, one at a time, while all tests run. Every test that fails because of
//! one must have been selected.
//!
//! The decision is that of a run whose only change is the fault: it goes by the records that were just made of the
//! revision. Those stay as they are; each fault finds a copy of them.
//!
//! What is not judged: a fault that the build undoes by compiling the file again, and one by which the command takes
//! too long or fails beside its tests.

use crate::call::{Caller, Reported};
use crate::details::Details;
use crate::git::Git;
use crate::place::Place;
use anyhow::{Context as _, Result};
use std::collections::HashSet;
use std::path::Path;
use tamis_mutants::{Fault, Injected, Language, Touched, choose, faults_of_tree};
use tamis_report::checked::Miss;
use tamis_report::json::replay::{Mutant, MutantState};

/// How much longer a run with a fault may take than the one without, and what is added.
const TIMES: f64 = 3.0;
const AND_SECONDS: f64 = 60.0;

/// How many faults are put into each revision, and in which language.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) many: usize,
    pub(crate) language: Language,
}

/// What is needed to put faults into a revision.
#[derive(Debug)]
pub(crate) struct Faults<'a> {
    pub(crate) git: &'a Git,
    pub(crate) place: &'a Place,
    pub(crate) caller: &'a Caller,
    pub(crate) wanted: Wanted,
}

impl Faults<'_> {
    /// Puts them into a revision whose tests have just run. `before` is the commit that it is compared with.
    pub(crate) fn run(
        &self,
        before: Option<&str>,
        now: &Details,
        log: &Path,
    ) -> Result<Vec<Mutant>> {
        let wanted = self.wanted;
        let tree = self.place.tree();
        let all = faults_of_tree(&tree, &Git::tracked(&tree)?, wanted.language);
        let touched = match before {
            Some(before) => self.git.touched(before, &now.commit)?,
            None => Touched::default(),
        };
        let seconds: f64 = now.tests.iter().map(|test| test.seconds).sum();
        let limit = format!("{}s", (seconds * TIMES + AND_SECONDS).ceil());
        let options = ["--shadow", "--no-collect", "--timeout", &limit];
        let known: HashSet<&str> =
            now.tests.iter().filter(|t| t.passed == Some(false)).map(|t| t.name.as_str()).collect();
        let mut found = Vec::new();
        for (n, fault) in choose(all, &touched, wanted.many, &now.commit).iter().enumerate() {
            let store = self.place.copy_for_mutant()?;
            let problem = || format!("{} cannot be changed", fault.file.display());
            let injected = Injected::new(fault, n as u32).with_context(problem)?;
            let reported = self.caller.run(&options, &store, &log.with_extension("fault.log"))?;
            let is_there = injected.is_there();
            injected.restore().with_context(problem)?;
            found.push(judged(fault, touched.meets(fault), is_there, &reported, &known));
        }
        self.place.forget_mutant();
        Ok(found)
    }
}

/// What a run with a fault says. `known` failed without it.
fn judged(
    fault: &Fault,
    touched: bool,
    is_there: bool,
    reported: &Reported,
    known: &HashSet<&str>,
) -> Mutant {
    let failed = reported
        .tests
        .iter()
        .filter(|t| t.passed == Some(false) && !t.flaky && !known.contains(t.name.as_str()));
    let failed = failed.count();
    let missed = reported.checked.iter().flat_map(|checked| &checked.missed);
    let missed: Vec<Miss> =
        missed.filter(|miss| is_there && !known.contains(miss.test.as_str())).cloned().collect();
    let state = match () {
        () if !is_there => MutantState::Undone,
        () if failed > 0 || !missed.is_empty() => MutantState::Killed,
        () if reported.code != 0 && known.is_empty() || !reported.ended => MutantState::Broken,
        () => MutantState::Survived,
    };
    Mutant {
        file: fault.source.clone(),
        line: fault.line,
        place: fault.place.clone(),
        fault: fault.kind.to_string(),
        touched,
        state,
        tests: reported.tests.len(),
        selected: reported.tests.iter().filter(|test| test.selected).count(),
        failed: if is_there { failed } else { 0 },
        missed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Test;
    use tamis_mutants::{Kind, Lines};
    use tamis_report::checked::Checked;

    fn reported(tests: &[(&str, bool, bool)], missed: &[&str], code: i32) -> Reported {
        let test = |(name, selected, passed): &(&str, bool, bool)| Test {
            name: (*name).into(),
            selected: *selected,
            passed: Some(*passed),
            ..Test::default()
        };
        let miss = |name: &&str| Miss { test: (*name).into(), ..Miss::default() };
        Reported {
            tests: tests.iter().map(test).collect(),
            checked: Some(Checked {
                missed: missed.iter().map(miss).collect(),
                ..Checked::default()
            }),
            code,
            ended: true,
            ..Reported::default()
        }
    }

    fn state(reported: &Reported, is_there: bool) -> (MutantState, usize, usize) {
        let fault = Fault {
            kind: Kind::CallRemoved,
            place: "p".into(),
            line: 1,
            around: Lines::default(),
            at: 0..0,
            bytes: Vec::new(),
            file: "f".into(),
            source: "s".into(),
        };
        let found = judged(&fault, true, is_there, reported, &["old"].into());
        (found.state, found.failed, found.missed.len())
    }

    #[test]
    fn what_a_fault_says() {
        use MutantState::{Broken, Killed, Survived, Undone};
        let old = ("old", true, false);
        assert_eq!(
            state(&reported(&[("a", true, false), ("b", false, true), old], &[], 1), true),
            (Killed, 1, 0)
        );
        assert_eq!(state(&reported(&[("a", false, false)], &["a"], 1), true), (Killed, 1, 1));
        // What failed without the fault is not its work.
        assert_eq!(
            state(&reported(&[("a", true, true), old], &["old"], 1), true),
            (Survived, 0, 0)
        );
        assert_eq!(state(&reported(&[("a", false, false)], &["a"], 1), false), (Undone, 0, 0));
        let cut = Reported { ended: false, ..reported(&[], &[], 124) };
        assert_eq!(state(&cut, true), (Broken, 0, 0));
    }
}
