//! Makes the records of test classes from their two halves.

use super::{Collector, GoalState, MethodsSaid, Said, key, launched};
use crate::again;
use crate::cases;
use crate::jvm::goal::GoalFacts;
use crate::world::World;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tamis_core::decide::Demand;
use tamis_core::record::{Access, Detail, Observed, Run};
use tamis_core::{Outcome, PortablePath, Question, Taint};
use tamis_dynamic::{Answered, Depends, Fact, FactKind as Kind, outermost};
use tamis_observe::{ClassFiles, Observations};
use tamis_report::{Reruns, TestReport};
use tamis_wire::Verdict;

/// Records that are written together.
const AT_ONCE: usize = 64;

impl Collector<'_> {
    /// Makes the record if both halves are there.
    pub(super) fn join(&mut self, pid: u32, test: u32) {
        let complete =
            self.halves.get(&(pid, test)).is_some_and(|h| h.said.is_some() && h.seen.is_some());
        if !complete {
            return;
        }
        let half = self.halves.remove(&(pid, test)).unwrap_or_default();
        if let (Some((said, methods)), Some((files, class_files))) = (half.said, half.seen) {
            let MethodsSaid { methods, between, partly } = methods;
            let about = Said { depends: Depends::default(), ..said.clone() };
            if partly && said.verdict == Verdict::Passed {
                // It did not run as a whole.
                self.report(said.goal, &said.class, Outcome::Passed, said.wall_us);
            } else {
                self.write(pid, said, &files, &class_files, None);
            }
            self.write_methods(pid, &about, methods, &between);
        }
    }

    pub(super) fn write(
        &mut self,
        pid: u32,
        said: Said,
        files: &Observations,
        class_files: &ClassFiles,
        taint: Option<Taint>,
    ) {
        let facts = self.goals[said.goal].facts.clone();
        let name = said.method.as_ref().map_or(&said.class, |(name, _)| name);
        let key = key(&facts, name);
        let case = cases::of_test_class(self.project, &key, Demand::None);
        let world = World::new(self.project, std::slice::from_ref(&case)).with_goal(facts.clone());
        let mut looked = Looked::default();
        looked.add(world.surroundings(&case));
        looked.add(class_facts(&facts, &said, class_files));
        looked.add(files.observed.iter().cloned());
        for piece in self.outside.get(&pid).into_iter().flatten() {
            let counts = |o: &&Observed| self.counts_outside(&facts, &said, o);
            looked.add(piece.observed.iter().filter(counts).cloned());
            let taints = piece.taints.iter().filter(|t| !launched::is_channel(&facts, t));
            looked.taints.extend(taints.cloned());
        }
        for piece in self.class_like.get(&pid).into_iter().flatten() {
            looked.add(piece.observed.iter().filter(|o| !self.is_told(&facts, o)).cloned());
            let taints = piece.taints.iter().filter(|t| !launched::is_channel(&facts, t));
            looked.taints.extend(taints.cloned());
        }
        looked.taints.extend(self.goals[said.goal].taint_of(&said.class));
        if said.depends.uses_bundles {
            let is_bundle = |o: &&Observed| {
                let path = o.question.path().map(PortablePath::as_bytes);
                path.is_some_and(|p| p.ends_with(b".properties"))
            };
            for (_, earlier) in self.files.iter().filter(|((host, _), _)| *host == pid) {
                looked.add(earlier.observed.iter().filter(is_bundle).cloned());
            }
        }
        for earlier in &said.depends.relies_on {
            if let Some(earlier) = self.files.get(&(pid, *earlier)) {
                looked.add(earlier.observed.iter().cloned());
                looked.taints.extend(earlier.taints.iter().cloned());
            }
        }
        looked.taints.extend(files.taints.iter().cloned());
        looked.taints.extend(said.depends.incomplete.map(Taint::Unobserved));
        looked.forget(|path| self.is_tools(&facts, path));
        looked.taints.extend(taint);
        let started = said.began.duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = Run {
            test: key.clone(),
            outcome: match said.verdict {
                Verdict::Passed => Outcome::Passed,
                Verdict::Failed => Outcome::Failed(1),
            },
            started_ms: started.as_millis() as u64,
            wall_us: said.wall_us,
            cpu_us: 0,
            engine: "jvm".into(),
            observed: looked.observed,
            taints: looked.taints.into_iter().collect(),
            notes: files.notes.clone(),
            left_behind: files.left_behind.clone(),
        };
        let run = match self.runs.remove(&key) {
            Some(earlier) => {
                let failed = u32::from(!run.outcome.passed());
                let first = Reruns { runs: 1, failed: u32::from(!earlier.outcome.passed()) };
                let counts = self.repeated.entry(key.clone()).or_insert(first);
                counts.runs += 1;
                counts.failed += failed;
                together(earlier, run)
            }
            None => run,
        };
        self.record(said.goal, &said.class, said.method.is_some(), &run);
        self.runs.insert(key, run);
    }

    fn report(&mut self, goal: usize, class: &str, outcome: Outcome, wall_us: u64) {
        let Some(&report) = self.goals[goal].units.get(class) else { return };
        let report = &mut self.collected.reports[report];
        report.outcome = Some(outcome);
        report.wall = Duration::from_micros(wall_us);
    }

    fn record(&mut self, goal: usize, class: &str, is_method: bool, run: &Run) {
        let mut written = run.clone();
        if let Some(again) = &self.wishes.again {
            again.mark(&mut written);
        }
        // A runner that tries again by itself shows the same.
        let repeated = self.repeated.get(&run.test).copied();
        let repeated = repeated.filter(|r| self.goals[goal].tries_again && r.failed < r.runs);
        if let Some(reruns) = repeated.filter(|_| !run.outcome.passed()) {
            again::mark_flaky(&mut written, run.outcome, reruns);
        }
        let Some(&of_class) = self.goals[goal].units.get(class) else {
            return self.unwritten.push((written, None));
        };
        self.dissolved.remove(&of_class);
        let mut at = of_class;
        if is_method {
            // What is said about a class that runs as a whole goes for each of its methods.
            let own = self.goals[goal].method_reports.remove(&run.test.name);
            let around = &self.collected.reports[of_class];
            let report = own.unwrap_or_else(|| {
                let reason = around.reason.clone();
                TestReport::new(run.test.clone(), around.decision.clone(), reason)
            });
            at = self.collected.reports.len();
            self.collected.reports.push(report);
            self.dissolved.insert(of_class);
        }
        let report = &mut self.collected.reports[at];
        report.outcome = Some(run.outcome);
        report.reruns = repeated.filter(|_| !run.outcome.passed());
        report.wall = Duration::from_micros(run.wall_us);
        report.inputs = self.store.as_ref().map(|_| run.observed.len() as u64);
        report.taints = run.taints.iter().map(ToString::to_string).collect();
        report.notes = run.notes.iter().map(ToString::to_string).collect();
        self.unwritten.push((written, Some(at)));
        if self.unwritten.len() >= AT_ONCE {
            self.write_records();
        }
    }

    /// Writes the records that wait. The store is read once for all of them: one by one, a build with
    /// hundreds of test classes would read it hundreds of times.
    pub(super) fn write_records(&mut self) {
        self.written = Instant::now();
        let (runs, reports): (Vec<Run>, Vec<Option<usize>>) = self.unwritten.drain(..).unzip();
        if runs.is_empty() {
            return;
        }
        if let Some(Err(error)) = self.store.as_ref().map(|store| store.append_many(&runs)) {
            let which = match runs.as_slice() {
                [one] => format!("{} was", one.test),
                many => format!("{} and {} more were", many[0].test, many.len() - 1),
            };
            self.say(&format!("{which} not recorded: {error}"));
            for report in reports.into_iter().flatten() {
                self.collected.reports[report].inputs = None;
            }
        }
    }

    /// Classes that look like tests by their names and have none: abstract ones, helpers. Whether a
    /// runner finds tests in them depends on them, their supertypes and the runner. Only where a JVM
    /// with our agent looked at them: in one without it, they may be tests that nobody told of.
    pub(super) fn record_classes_without_tests(&mut self) {
        for number in 0..self.goals.len() {
            let goal = &self.goals[number];
            let proven = match goal.graph {
                Some(_) => goal.ended_green,
                None => goal.ended_well && self.wishes.collect,
            };
            if !(proven && goal.jvms_ended_well) {
                continue;
            }
            let silent: Vec<String> = goal
                .units
                .iter()
                .filter(|&(_, &report)| self.collected.reports[report].unfinished())
                .filter(|(class, _)| goal.looked_at.contains(*class))
                .filter(|(class, _)| !goal.ran_outside.contains(outermost(class)))
                .map(|(class, _)| class.clone())
                .collect();
            let GoalState { graph, units, .. } = &mut self.goals[number];
            if let Some(graph) = graph {
                for class in silent {
                    graph.finished(&class, true);
                    self.collected.reports[units[&class]].outcome = Some(Outcome::Passed);
                }
                continue;
            }
            for class in silent {
                let GoalFacts { index, scope, .. } = &self.goals[number].facts;
                let mut todo = vec![class.clone()];
                let mut names = BTreeSet::new();
                while let Some(name) = todo.pop() {
                    if names.insert(name.clone()) {
                        todo.extend(index.header_names(&name));
                    }
                }
                let whole = |name| Answered::new(index, scope, Kind::Whole(name));
                let facts = names.into_iter().map(whole).collect();
                let depends = Depends { facts, ..Depends::default() };
                let (verdict, began) = (Verdict::Passed, SystemTime::now());
                let said = Said {
                    goal: number,
                    class,
                    method: None,
                    began,
                    depends,
                    verdict,
                    wall_us: 0,
                    blind: true,
                };
                self.write(0, said, &Observations::default(), &ClassFiles::new(), None);
            }
        }
    }
}

/// An input that nobody looked at through the file system.
pub(super) fn given(question: Question, before: tamis_core::Value) -> Observed {
    Observed {
        question,
        before,
        after: None,
        access: Access::default(),
        program: "java".into(),
        detail: Detail::None,
    }
}

/// What the JVM said, as observations.
fn class_facts(facts: &GoalFacts, said: &Said, class_files: &ClassFiles) -> Vec<Observed> {
    let known = said.depends.facts.iter();
    let mut observed: Vec<Observed> =
        known.map(|fact| given(Question::Fact(Arc::clone(&fact.text)), fact.value)).collect();
    let mut add = |kind: Kind| {
        let fact = Fact { scope: facts.scope.clone(), kind };
        let value = facts.answer(&fact).unwrap_or(tamis_core::Value::Absent);
        observed.push(given(Question::Fact(fact.to_string().into()), value));
    };
    add(Kind::Configuration);
    if facts.choices.contains_key(&said.class) {
        add(Kind::Choice(said.class.clone()));
    }
    for beside in said.method.iter().flat_map(|(_, beside)| beside) {
        add(Kind::Beside(beside.clone()));
    }
    if said.blind {
        add(Kind::Jars);
    }
    // Who looks at a class file without loading it depends on all of it.
    for (path, times) in class_files {
        let class = facts.index.class_at(path);
        if let Some(class) = class.filter(|c| *times > 1 || !said.depends.loaded.contains(c)) {
            add(Kind::Whole(class));
        }
    }
    observed
}

/// What was looked at in several stretches.
pub(super) fn joined(parts: &[&(Arc<Observations>, ClassFiles)]) -> (Observations, ClassFiles) {
    let mut looked = Looked::default();
    let mut all = Observations::default();
    let mut class_files = ClassFiles::new();
    for (files, classes) in parts {
        looked.add(files.observed.iter().cloned());
        looked.taints.extend(files.taints.iter().cloned());
        all.notes.extend(files.notes.iter().cloned());
        all.left_behind.extend(files.left_behind.iter().cloned());
        for (path, times) in classes {
            *class_files.entry(path.clone()).or_default() += times;
        }
    }
    all.observed = looked.observed;
    all.taints = looked.taints.into_iter().collect();
    all.notes.sort_unstable();
    all.notes.dedup();
    all.left_behind.sort_unstable();
    all.left_behind.dedup();
    (all, class_files)
}

/// Observations of several stretches as one.
#[derive(Default)]
struct Looked {
    observed: Vec<Observed>,
    places: FxHashMap<Question, usize>,
    taints: BTreeSet<Taint>,
}

impl Looked {
    /// What was seen of these paths does not count. Nothing is added any more.
    fn forget(&mut self, path: impl Fn(&PortablePath) -> bool) {
        self.observed.retain(|observed| !observed.question.path().is_some_and(&path));
        self.places.clear();
        self.taints.retain(|taint| {
            !matches!(taint, Taint::Unstable(at) | Taint::ChangedBeforeSeen(at) if path(at))
        });
    }

    fn add(&mut self, observed: impl IntoIterator<Item = Observed>) {
        for observed in observed {
            let Some(&place) = self.places.get(&observed.question) else {
                self.places.insert(observed.question.clone(), self.observed.len());
                self.observed.push(observed);
                continue;
            };
            let known = &mut self.observed[place];
            if known.before != observed.before {
                // Another test of the same JVM changed it in between: what counts is not one state.
                if let Question::Path(path, _) = &observed.question {
                    self.taints.insert(Taint::Unstable(path.clone()));
                }
            }
            known.after = observed.after.or(known.after);
            known.access = known.access.with(observed.access);
        }
    }
}

/// Two runs of one test class in one build.
fn together(earlier: Run, later: Run) -> Run {
    let mut looked = Looked::default();
    looked.add(earlier.observed);
    looked.add(later.observed);
    looked.taints.extend(earlier.taints.into_iter().chain(later.taints));
    let mut left_behind = earlier.left_behind;
    left_behind.extend(later.left_behind);
    left_behind.sort_unstable();
    left_behind.dedup();
    let mut notes = earlier.notes;
    notes.extend(later.notes);
    notes.sort_unstable();
    notes.dedup();
    Run {
        outcome: if earlier.outcome.passed() { later.outcome } else { earlier.outcome },
        wall_us: earlier.wall_us + later.wall_us,
        observed: looked.observed,
        taints: looked.taints.into_iter().collect(),
        notes,
        left_behind,
        ..later
    }
}
