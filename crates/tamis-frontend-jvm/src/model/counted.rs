//! What counts for a test, put together from numbers in the command's pool.
//!
//! Tests of one JVM share most of what counts for them: what was looked at outside of tests, the classes that all of
//! them use, the environment. Each of these is numbered once, and what one test adds to that is small.

use super::state::MethodBeside;
use super::writing::{class_facts, given, lines_that_count};
use super::{ClassReport, JvmModel, runner_scope};
use crate::environment;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use tamis_core::record::{Numbers, Observed};
use tamis_core::{PortablePath, Question, Taint};
use tamis_dynamic::{AskedNames, Depends};
use tamis_observe::Observations;
use tamis_session::{JoinedNumbers, Ledger, Pool, Seen};

/// Behind it stands through what a method counts that others ran.
const THROUGH: &str = "java, through ";

/// What has its numbers already.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    joined: JoinedNumbers,
    /// Facts, by the place of their texts in memory, which are kept so that no other text can have it.
    facts: FxHashMap<usize, (Arc<str>, u32)>,
    /// What was looked at in windows, by its place in memory, which is kept as well.
    files: FxHashMap<usize, Files>,
    /// Of these, what counts of files that are read before it is known who reports them, for a goal.
    undecided: FxHashMap<(usize, usize), Vec<u32>>,
    /// Of the environment, for the names that were asked for when the last test ended.
    environment: Option<(Option<AskedNames>, Vec<u32>)>,
    /// Which observations are about what tools write for themselves, as far as that was asked.
    own: Vec<Option<bool>>,
    /// For whom that was asked: how many such places were known, and whether Ant's files are among them.
    own_for: (usize, bool),
}

#[derive(Debug)]
struct Files {
    _kept: Arc<Observations>,
    numbers: Vec<u32>,
    /// Those that can be resource bundles.
    bundles: Vec<u32>,
}

impl Numbering {
    fn add_facts(&mut self, pool: &mut Pool, depends: &Depends) {
        let Self { facts, joined, .. } = self;
        for fact in depends.facts.iter() {
            let observed = || given(Question::Fact(Arc::clone(&fact.text)), fact.value);
            if let Some(what) = depends.because.get(&fact.text) {
                let program = format!("{THROUGH}{what}").into();
                let number = pool.number(Observed { program, ..observed() });
                joined.add(pool, [number]);
                continue;
            }
            let place = fact.text.as_ptr() as usize;
            let known = facts.entry(place);
            let known = known.or_insert_with(|| (Arc::clone(&fact.text), pool.number(observed())));
            if pool.at(known.1).before != fact.value {
                known.1 = pool.number(observed());
            }
            joined.add(pool, [known.1]);
        }
    }

    fn add_list(&mut self, pool: &mut Pool, list: Vec<Observed>) {
        for observed in list {
            let number = pool.number(observed);
            self.joined.add(pool, [number]);
        }
    }

    fn add_environment(&mut self, ledger: &mut Ledger<'_>, asked: Option<&AskedNames>) {
        if self.environment.as_ref().is_none_or(|(known, _)| known.as_ref() != asked) {
            let counting = environment::counting(ledger.surroundings(), asked);
            let numbers = counting.into_iter().map(|one| ledger.pool().number(one)).collect();
            self.environment = Some((asked.cloned(), numbers));
        }
        let numbers = self.environment.iter().flat_map(|(_, numbers)| numbers);
        self.joined.add(ledger.pool(), numbers.copied());
    }

    fn files<'f>(
        files: &'f mut FxHashMap<usize, Files>,
        pool: &mut Pool,
        seen: &Arc<Observations>,
    ) -> &'f Files {
        files.entry(Arc::as_ptr(seen) as usize).or_insert_with(|| {
            let numbers = seen.observed.iter().map(|one| pool.number(one.clone()));
            let numbers: Vec<u32> = numbers.collect();
            let is_bundle = |path: &PortablePath| path.as_bytes().ends_with(b".properties");
            let of_bundle = |n: &u32| pool.at(*n).question.path().is_some_and(is_bundle);
            let bundles = numbers.iter().copied().filter(of_bundle).collect();
            Files { _kept: Arc::clone(seen), numbers, bundles }
        })
    }

    /// All that was looked at there.
    fn add_files(&mut self, pool: &mut Pool, seen: &Arc<Observations>) {
        let files = Self::files(&mut self.files, pool, seen);
        self.joined.add(pool, files.numbers.iter().copied());
        self.joined.taints.extend(seen.taints.iter().cloned());
    }

    /// Of what was looked at there, what counts.
    fn add_counting(
        &mut self,
        pool: &mut Pool,
        seen: &Arc<Observations>,
        counts: impl Fn(&Observed) -> bool,
    ) {
        let files = Self::files(&mut self.files, pool, seen);
        let counting = files.numbers.iter().copied().filter(|&n| counts(pool.at(n)));
        let counting: Vec<u32> = counting.collect();
        self.joined.add(pool, counting);
    }

    /// The same, where what counts is always the same for a goal.
    fn add_undecided(
        &mut self,
        pool: &mut Pool,
        seen: &Arc<Observations>,
        goal: usize,
        counts: impl Fn(&Observed) -> bool,
    ) {
        let files = Self::files(&mut self.files, pool, seen);
        let counting = self.undecided.entry((Arc::as_ptr(seen) as usize, goal));
        let counting = counting.or_insert_with(|| {
            files.numbers.iter().copied().filter(|&n| counts(pool.at(n))).collect()
        });
        self.joined.add(pool, counting.iter().copied());
    }

    fn add_bundles(&mut self, pool: &mut Pool, seen: &Arc<Observations>) {
        let files = Self::files(&mut self.files, pool, seen);
        self.joined.add(pool, files.bundles.iter().copied());
    }

    /// What tools write for themselves is nothing to a test.
    fn forget(&mut self, pool: &Pool, own_for: (usize, bool), own: impl Fn(&PortablePath) -> bool) {
        if self.own_for != own_for {
            self.own.clear();
            self.own_for = own_for;
        }
        let known = &mut self.own;
        let is_own = |number: u32| {
            let at = number as usize;
            if at >= known.len() {
                known.resize(pool.all().len(), None);
            }
            *known[at].get_or_insert_with(|| pool.at(number).question.path().is_some_and(&own))
        };
        self.joined.forget(is_own, &own);
    }
}

impl JvmModel {
    /// All that counts for a test: what its JVM reported of it, and what was looked at in its windows, in theirs
    /// on whom it relies, and outside of tests.
    pub(super) fn counting(
        &mut self,
        ledger: &mut Ledger<'_>,
        pid: u32,
        report: &ClassReport,
        seen: &[&Seen],
    ) -> (Numbers, BTreeSet<Taint>) {
        let mut numbering = std::mem::take(&mut self.numbering);
        numbering.joined.begin();
        let (project, goal) = (ledger.project(), &self.goals[report.goal]);
        let facts = &goal.facts;
        numbering.add_environment(ledger, super::writing::asked(report));
        let pool = ledger.pool();
        numbering.add_facts(pool, &report.depends);
        numbering.add_list(pool, class_facts(facts, report, seen));
        let beside = report.method.iter().flat_map(MethodBeside::beside);
        numbering.joined.add(pool, beside);
        numbering.add_list(pool, lines_that_count(&project.settings.jvm, facts, report));
        for seen in seen {
            numbering.add_files(pool, &seen.observations);
        }
        self.add_outside(ledger, pid, report, &mut numbering);
        self.add_earlier(ledger.pool(), pid, report, &mut numbering);
        let taints = &mut numbering.joined.taints;
        taints.extend(goal.taint_of(&report.class));
        taints.extend(report.depends.incomplete.clone().map(Taint::Unobserved));
        let own_for = (self.covered.own_places(), runner_scope::is_ants(facts));
        let is_own = |path: &PortablePath| self.is_tools_own(project, facts, path);
        numbering.forget(ledger.pool(), own_for, is_own);
        let counted = (numbering.joined.numbers(), std::mem::take(&mut numbering.joined.taints));
        self.numbering = numbering;
        counted
    }

    /// What the JVM looked at outside of its tests.
    fn add_outside(
        &self,
        ledger: &mut Ledger<'_>,
        pid: u32,
        report: &ClassReport,
        numbering: &mut Numbering,
    ) {
        let (project, facts) = (ledger.project(), &self.goals[report.goal].facts);
        let pool = ledger.pool();
        let counts = |taint: &&Taint| !runner_scope::is_channel(facts, taint);
        for piece in self.joiner.outside(pid) {
            let is_for_it = |o: &Observed| self.counts_outside(project, facts, report, o);
            numbering.add_counting(pool, piece, is_for_it);
            numbering.joined.taints.extend(piece.taints.iter().filter(counts).cloned());
        }
        for piece in self.undecided.get(&pid).into_iter().flatten() {
            let is_for_it = |o: &Observed| !runner_scope::is_reported(project, facts, o);
            numbering.add_undecided(pool, piece, report.goal, is_for_it);
            numbering.joined.taints.extend(piece.taints.iter().filter(counts).cloned());
        }
    }

    /// What earlier tests of the JVM looked at, where this one relies on them.
    fn add_earlier(
        &self,
        pool: &mut Pool,
        pid: u32,
        report: &ClassReport,
        numbering: &mut Numbering,
    ) {
        if report.depends.uses_bundles {
            for earlier in self.joiner.files_of_host(pid) {
                numbering.add_bundles(pool, earlier);
            }
        }
        for earlier in &report.depends.relies_on {
            if let Some(earlier) = self.joiner.files_of(pid, *earlier) {
                numbering.add_files(pool, earlier);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::{Scheme, Value};
    use tamis_dynamic::Answered;

    fn looked_at(path: &str) -> Arc<Observations> {
        let question = Question::Path(PortablePath::from_stored(path), Scheme::Raw);
        let observed = vec![given(question, Value::Absent)];
        Arc::new(Observations { observed, ..Observations::default() })
    }

    /// The files of these windows that count.
    fn counted(
        (numbering, pool): &mut (Numbering, Pool),
        windows: &[Arc<Observations>],
        own_for: usize,
        own: &dyn Fn(&PortablePath) -> bool,
    ) -> Vec<String> {
        numbering.joined.begin();
        windows.iter().for_each(|seen| numbering.add_files(pool, seen));
        numbering.forget(pool, (own_for, false), own);
        let joined = pool.observed(&numbering.joined.numbers());
        joined.iter().filter_map(|o| Some(o.question.path()?.to_string())).collect()
    }

    #[test]
    fn what_tools_write_is_asked_again_when_more_of_them_are_known() {
        let mut known = (Numbering::default(), Pool::default());
        let windows = [looked_at("reports/a"), looked_at("data")];
        let is_report = |path: &PortablePath| path.as_bytes().starts_with(b"reports/");
        assert_eq!(counted(&mut known, &windows, 0, &|_| false), ["reports/a", "data"]);
        assert_eq!(counted(&mut known, &windows, 1, &is_report), ["data"]);
        assert_eq!(counted(&mut known, &windows, 1, &|_| panic!("it is known")), ["data"]);
    }

    /// One that went could leave its place in memory to another one, which would get its numbers.
    #[test]
    fn what_is_known_by_its_place_in_memory_stays() {
        let (mut numbering, mut pool) = (Numbering::default(), Pool::default());
        let window = looked_at("file");
        let seen = Arc::downgrade(&window);
        numbering.joined.begin();
        numbering.add_files(&mut pool, &window);
        drop(window);
        assert!(seen.upgrade().is_some());
        let text: Arc<str> = "mvn:core: class a.B".into();
        let fact = Arc::downgrade(&text);
        let kind = tamis_dynamic::FactKind::Header("a.B".into());
        let facts = [Answered { kind, text, value: Value::Absent }].into_iter().collect();
        numbering.add_facts(&mut pool, &Depends { facts, ..Depends::default() });
        assert!(fact.upgrade().is_some());
        assert_eq!(numbering.joined.numbers().len(), 2);
    }
}
