//! Makes the records of test classes and methods from their two halves.

use super::{ClassReport, JvmModel, MethodReports};
use crate::configuration::counts_if_asked_for;
use crate::goal::GoalFacts;
use crate::methods;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tamis_core::record::{Numbers, Observed, Run};
use tamis_core::{Outcome, Question, Taint, Unit};
use tamis_dynamic::{Answered, AskedNames, Depends, FactKind as Kind, outermost};
use tamis_jvm_wire::Verdict;
use tamis_observe::{Observations, Openings};
use tamis_session::{JoinedObservations, Ledger, Place, Seen, Services};
use tamis_settings::Jvm;

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
        let about = ClassReport {
            class: report.class.clone(),
            method: None,
            depends: Depends::default(),
            ..report
        };
        if methods.partly && report.verdict == Verdict::Passed {
            // It did not run as a whole.
            if let Some(&at) = self.goals[report.goal].units.get(&report.class) {
                ledger.report_mut(at).outcome = Some(Outcome::Passed);
                ledger.report_mut(at).span.length =
                    std::time::Duration::from_micros(report.wall_us);
            }
        } else {
            self.write(ledger, pid, report, &[&seen], None);
        }
        self.write_methods(ledger, pid, &about, methods);
    }

    pub(super) fn write(
        &mut self,
        ledger: &mut Ledger<'_>,
        pid: u32,
        report: ClassReport,
        seen: &[&Seen],
        taint: Option<Taint>,
    ) {
        let unit = match &report.method {
            Some(method) => methods::unit(&method.name),
            None => Unit::Class(report.class.clone()),
        };
        let (numbers, mut taints) = self.counting(ledger, pid, &report, seen);
        taints.extend(taint);
        let started = report.began.duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = Run {
            test: self.goals[report.goal].facts.key(unit),
            outcome: match report.verdict {
                Verdict::Passed => Outcome::Passed,
                Verdict::Failed => Outcome::Failed(1),
            },
            started_ms: started.as_millis() as u64,
            wall_us: report.wall_us,
            cpu_us: 0,
            engine: "jvm".into(),
            observed: Vec::new(),
            taints: taints.into_iter().collect(),
            notes: merged(seen, |files| &files.notes),
            left_behind: merged(seen, |files| &files.left_behind),
        };
        self.hand_over(ledger, &report, run, numbers);
    }

    fn hand_over(
        &mut self,
        ledger: &mut Ledger<'_>,
        report: &ClassReport,
        run: Run,
        numbers: Numbers,
    ) {
        let goal = &mut self.goals[report.goal];
        let method = report.method.as_ref();
        let own = method.and_then(|method| goal.methods.reports.remove(&method.name));
        let place = match (goal.units.get(&report.class), method) {
            (None, _) => Place::Nowhere,
            (Some(&at), None) => Place::At(at),
            (Some(&at), Some(_)) => Place::PartOf(at),
        };
        ledger.record_shared(run, numbers, place, own, goal.retries);
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
                self.write(ledger, 0, report, &[&nothing_seen()], None);
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

/// What the JVM reported besides what its test depends on, as observations.
pub(super) fn class_facts(
    facts: &GoalFacts,
    report: &ClassReport,
    seen: &[&Seen],
) -> Vec<Observed> {
    let mut observed: Vec<Observed> = Vec::new();
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
    if report.blind {
        add(Kind::Jars);
    }
    // Who looks at a class file without loading it depends on all of it.
    for (path, times) in openings(seen) {
        let class = facts.index.class_at(path);
        if let Some(class) = class.filter(|c| times > 1 || !report.depends.loaded.contains(c)) {
            add(Kind::Whole(class));
        }
    }
    observed
}

/// How often each counted file was opened in all of these windows.
fn openings<'s>(seen: &[&'s Seen]) -> HashMap<&'s [u8], u32> {
    let mut all: HashMap<&[u8], u32> = HashMap::new();
    for (path, times) in seen.iter().flat_map(|seen| &seen.openings) {
        *all.entry(path).or_default() += times;
    }
    all
}

/// Variables and system properties that were asked for before the test ended, if all that ask are seen.
pub(super) fn asked(report: &ClassReport) -> Option<&AskedNames> {
    report.depends.asked.as_ref().filter(|_| !report.blind)
}

/// The lines of classes that count by the settings, of those that the test depends on.
pub(super) fn lines_that_count(
    settings: &Jvm,
    facts: &GoalFacts,
    report: &ClassReport,
) -> Vec<Observed> {
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
    for files in parts.iter().map(|seen| &seen.observations) {
        joined.add(files.observed.iter().cloned());
        joined.taints.extend(files.taints.iter().cloned());
    }
    let observations = Observations {
        observed: joined.observed,
        taints: joined.taints.into_iter().collect(),
        notes: merged(parts, |files| &files.notes),
        left_behind: merged(parts, |files| &files.left_behind),
    };
    let openings = openings(parts).into_iter().map(|(path, times)| (path.to_vec(), times));
    Seen { observations: Arc::new(observations), openings: openings.collect() }
}

/// Something of several windows, without order.
fn merged<T: Clone + Ord>(parts: &[&Seen], what: impl Fn(&Observations) -> &Vec<T>) -> Vec<T> {
    let mut all: Vec<T> = parts.iter().flat_map(|seen| what(&seen.observations)).cloned().collect();
    all.sort_unstable();
    all.dedup();
    all
}
