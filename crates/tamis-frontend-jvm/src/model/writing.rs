//! Makes the records of test classes and methods from their two halves.

use super::{ClassReport, JvmModel, MethodReports, runner_scope};
use crate::configuration::counts_if_asked_for;
use crate::environment;
use crate::goal::GoalFacts;
use crate::methods;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tamis_core::record::{Observed, Run};
use tamis_core::{Outcome, PortablePath, Question, Taint, Unit};
use tamis_dynamic::{Answered, AskedNames, Depends, FactKind as Kind, outermost};
use tamis_jvm_wire::Verdict;
use tamis_observe::{Observations, Openings};
use tamis_session::{JoinedObservations, Ledger, Place, Seen, Services};
use tamis_settings::Jvm;

/// Behind it stands through what a method counts that others ran.
const THROUGH: &str = "java, through ";

/// So many classes without tests may be asked for alone.
const HELPERS: usize = 3;

impl JvmModel {
    /// Makes the records of a test class of which both halves are there.
    pub(super) fn both_known(
        &mut self,
        services: &mut Services<'_, '_>,
        pid: u32,
        (report, methods): (ClassReport, MethodReports),
        seen: Seen,
    ) {
        let ledger = &mut *services.ledger;
        let MethodReports { methods, between, partly } = methods;
        let about = ClassReport { depends: Depends::default(), ..report.clone() };
        if partly && report.verdict == Verdict::Passed {
            // It did not run as a whole.
            if let Some(&at) = self.goals[report.goal].units.get(&report.class) {
                ledger.report_mut(at).outcome = Some(Outcome::Passed);
                ledger.report_mut(at).span.length =
                    std::time::Duration::from_micros(report.wall_us);
            }
        } else {
            self.write(ledger, pid, report, &seen, None);
        }
        self.write_methods(ledger, pid, &about, methods, &between);
    }

    pub(super) fn write(
        &mut self,
        ledger: &mut Ledger<'_>,
        pid: u32,
        report: ClassReport,
        seen: &Seen,
        taint: Option<Taint>,
    ) {
        let facts = self.goals[report.goal].facts.clone();
        let unit = match &report.method {
            Some((name, _)) => methods::unit(name),
            None => Unit::Class(report.class.clone()),
        };
        let mut joined = JoinedObservations::default();
        joined.add(environment::counting(ledger.surroundings(), asked(&report)));
        joined.add(class_facts(&facts, &report, &seen.openings));
        joined.add(lines_that_count(&ledger.project().settings.jvm, &facts, &report));
        joined.add(seen.observations.observed.iter().cloned());
        self.add_outside(ledger, pid, &facts, &report, &mut joined);
        self.add_earlier(pid, &report, &mut joined);
        joined.taints.extend(self.goals[report.goal].taint_of(&report.class));
        joined.taints.extend(seen.observations.taints.iter().cloned());
        joined.taints.extend(report.depends.incomplete.clone().map(Taint::Unobserved));
        joined.forget(|path| self.is_tools_own(ledger.project(), &facts, path));
        joined.taints.extend(taint);
        let started = report.began.duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = Run {
            test: facts.key(unit),
            outcome: match report.verdict {
                Verdict::Passed => Outcome::Passed,
                Verdict::Failed => Outcome::Failed(1),
            },
            started_ms: started.as_millis() as u64,
            wall_us: report.wall_us,
            cpu_us: 0,
            engine: "jvm".into(),
            observed: joined.observed,
            taints: joined.taints.into_iter().collect(),
            notes: seen.observations.notes.clone(),
            left_behind: seen.observations.left_behind.clone(),
        };
        self.hand_over(ledger, &report, run);
    }

    fn hand_over(&mut self, ledger: &mut Ledger<'_>, report: &ClassReport, run: Run) {
        let goal = &mut self.goals[report.goal];
        let own = report.method.as_ref().and_then(|(name, _)| goal.methods.reports.remove(name));
        let place = match (goal.units.get(&report.class), &report.method) {
            (None, _) => Place::Nowhere,
            (Some(&at), None) => Place::At(at),
            (Some(&at), Some(_)) => Place::PartOf(at),
        };
        ledger.record(run, place, own, goal.retries);
    }

    /// What the JVM looked at outside of its tests.
    fn add_outside(
        &self,
        ledger: &Ledger<'_>,
        pid: u32,
        facts: &GoalFacts,
        report: &ClassReport,
        joined: &mut JoinedObservations,
    ) {
        let project = ledger.project();
        for piece in self.joiner.outside(pid) {
            let counts = |o: &&Observed| self.counts_outside(project, facts, report, o);
            joined.add(piece.observed.iter().filter(counts).cloned());
            let taints = piece.taints.iter().filter(|t| !runner_scope::is_channel(facts, t));
            joined.taints.extend(taints.cloned());
        }
        for piece in self.undecided.get(&pid).into_iter().flatten() {
            let counts = |o: &&Observed| !runner_scope::is_reported(project, facts, o);
            joined.add(piece.observed.iter().filter(counts).cloned());
            let taints = piece.taints.iter().filter(|t| !runner_scope::is_channel(facts, t));
            joined.taints.extend(taints.cloned());
        }
    }

    /// What earlier tests of the JVM looked at, where this one relies on them.
    fn add_earlier(&self, pid: u32, report: &ClassReport, joined: &mut JoinedObservations) {
        if report.depends.uses_bundles {
            let is_bundle = |o: &&Observed| {
                let path = o.question.path().map(PortablePath::as_bytes);
                path.is_some_and(|p| p.ends_with(b".properties"))
            };
            for earlier in self.joiner.files_of_host(pid) {
                joined.add(earlier.observed.iter().filter(is_bundle).cloned());
            }
        }
        for earlier in &report.depends.relies_on {
            if let Some(earlier) = self.joiner.files_of(pid, *earlier) {
                joined.add(earlier.observed.iter().cloned());
                joined.taints.extend(earlier.taints.iter().cloned());
            }
        }
    }

    /// Classes that look like tests by their names and have none: abstract ones, helpers. Whether a
    /// runner finds tests in them depends on them, their supertypes and the runner. Only where a JVM
    /// with our agent looked at them: in one without it, they may be tests that were not reported.
    pub(super) fn record_classes_without_tests(&mut self, ledger: &mut Ledger<'_>) {
        for number in 0..self.goals.len() {
            let goal = &mut self.goals[number];
            let proven = match goal.graph {
                Some(_) => goal.end.green,
                None => goal.end.well && ledger.options().collect,
            };
            if !(proven && goal.end.jvms_ended_well) {
                continue;
            }
            let silent: Vec<String> = goal
                .units
                .iter()
                .filter(|&(_, &at)| ledger.report(at).unfinished())
                .filter(|(class, _)| goal.end.looked_at.contains(*class))
                .filter(|(class, _)| !goal.end.ran_outside.contains(outermost(class)))
                .map(|(class, _)| class.clone())
                .collect();
            // A helper or two among tests are usual. Where many classes are asked for and no test is found in any, the
            // runner itself did not work, as with an engine that cannot discover.
            let nothing_ran = goal.units.values().all(|&at| ledger.report(at).outcome.is_none());
            if nothing_ran && silent.len() > HELPERS {
                let (scope, all) = (&goal.facts.scope, silent.len());
                ledger.remark(format!("{scope}: no test was found in any of {all} test classes"));
                continue;
            }
            if let Some(graph) = &mut goal.graph {
                for class in silent {
                    ledger.report_mut(goal.units[&class]).outcome = Some(Outcome::Passed);
                    graph.finished(&Unit::Class(class), true);
                }
                continue;
            }
            for class in silent {
                self.goals[number].left_out.silent.push(class.clone());
                let report = without_tests(&self.goals[number].facts, number, class);
                self.write(ledger, 0, report, &nothing_seen(), None);
            }
        }
    }
}

/// The report of a class in which a runner found no test.
fn without_tests(facts: &GoalFacts, goal: usize, class: String) -> ClassReport {
    let mut todo = vec![class.clone()];
    let mut names = BTreeSet::new();
    while let Some(name) = todo.pop() {
        if names.insert(name.clone()) {
            todo.extend(facts.index.header_names(&name));
        }
    }
    let whole = |name| Answered::new(&facts.index, &facts.id, Kind::Whole(name));
    let depends = Depends { facts: names.into_iter().map(whole).collect(), ..Depends::default() };
    let (verdict, began) = (Verdict::Passed, SystemTime::now());
    ClassReport { goal, class, method: None, began, depends, verdict, wall_us: 0, blind: true }
}

/// For a unit of which the tracer saw nothing.
pub(super) fn nothing_seen() -> Seen {
    Seen { observations: Arc::default(), openings: Openings::new() }
}

/// An input that was not looked at through the file system.
pub(super) fn given(question: Question, before: tamis_core::Value) -> Observed {
    Observed { program: "java".into(), ..tamis_project::given(question, before) }
}

/// What the JVM reported, as observations.
fn class_facts(facts: &GoalFacts, report: &ClassReport, openings: &Openings) -> Vec<Observed> {
    let because = &report.depends.because;
    let known = report.depends.facts.iter().map(|fact| {
        let observed = given(Question::Fact(Arc::clone(&fact.text)), fact.value);
        let through = because.get(&fact.text).map(|what| format!("{THROUGH}{what}").into());
        Observed { program: through.unwrap_or(observed.program.clone()), ..observed }
    });
    let mut observed: Vec<Observed> = known.collect();
    let mut add = |kind: Kind| {
        let (fact, value) = facts.fact(kind);
        observed.push(given(Question::Fact(fact.to_string().into()), value));
    };
    add(Kind::Configuration);
    match asked(report).filter(|asked| !asked.all_properties) {
        Some(asked) => {
            let names = asked.properties.iter().filter(|name| counts_if_asked_for(name));
            names.for_each(|name| add(Kind::Property(name.clone())));
        }
        None => add(Kind::Properties),
    }
    if facts.choices.contains_key(&report.class) {
        add(Kind::Choice(report.class.clone()));
    }
    for beside in report.method.iter().flat_map(|(_, beside)| beside) {
        add(Kind::Beside(beside.clone()));
    }
    if report.blind {
        add(Kind::Jars);
    }
    // Who looks at a class file without loading it depends on all of it.
    for (path, times) in openings {
        let class = facts.index.class_at(path);
        if let Some(class) = class.filter(|c| *times > 1 || !report.depends.loaded.contains(c)) {
            add(Kind::Whole(class));
        }
    }
    observed
}

/// Variables and system properties that were asked for before the test ended, if all that ask are seen.
fn asked(report: &ClassReport) -> Option<&AskedNames> {
    report.depends.asked.as_ref().filter(|_| !report.blind)
}

/// The lines of classes that count by the settings, of those that the test depends on.
fn lines_that_count(settings: &Jvm, facts: &GoalFacts, report: &ClassReport) -> Vec<Observed> {
    if settings.debug_info.patterns().is_empty() {
        return Vec::new();
    }
    let classes: BTreeSet<&str> = report
        .depends
        .facts
        .iter()
        .filter_map(|fact| match &fact.kind {
            Kind::Header(class) | Kind::Core(class) | Kind::Whole(class) | Kind::Body(class, _) => {
                Some(class.as_str())
            }
            _ => None,
        })
        .filter(|class| settings.counts_lines(class))
        .collect();
    let fact = |class: &str| facts.fact(Kind::Lines(class.to_owned()));
    let observed = classes.into_iter().map(fact);
    observed.map(|(fact, value)| given(Question::Fact(fact.to_string().into()), value)).collect()
}

/// What was looked at in several windows.
pub(super) fn joined(parts: &[&Seen]) -> Seen {
    let mut joined = JoinedObservations::default();
    let mut all = Observations::default();
    let mut openings = Openings::new();
    for seen in parts {
        let files = &seen.observations;
        joined.add(files.observed.iter().cloned());
        joined.taints.extend(files.taints.iter().cloned());
        all.notes.extend(files.notes.iter().cloned());
        all.left_behind.extend(files.left_behind.iter().cloned());
        for (path, times) in &seen.openings {
            *openings.entry(path.clone()).or_default() += times;
        }
    }
    all.observed = joined.observed;
    all.taints = joined.taints.into_iter().collect();
    all.notes.sort_unstable();
    all.notes.dedup();
    all.left_behind.sort_unstable();
    all.left_behind.dedup();
    Seen { observations: Arc::new(all), openings }
}
