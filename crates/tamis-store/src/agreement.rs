//! Property: whatever was appended, indexed, collected and forgotten, both ways to the evidence say
//! the same as a reference that knows neither ids nor bitmaps nor an index.

use crate::evidence::Way;
use crate::{GcPolicy, Store};
use proptest::prelude::*;
use std::num::NonZeroUsize;
use tamis_core::decide::{Candidate, Cause, Decision};
use tamis_core::record::{Access, Detail, Observed, RecordId, Run, Taint};
use tamis_core::{Hash, Outcome, PortablePath, Question, Scheme, TestKey, Value};

const QUESTIONS: usize = 12;
const TESTS: usize = 4;

/// The answer to each question.
type World = Vec<u8>;

#[derive(Debug, Clone)]
struct Plan {
    test: usize,
    world: World,
    /// Question, and the answer that the test left where it changed it.
    looks: Vec<(usize, Option<u8>)>,
    /// A look that contradicts the world, as a race would give.
    odd: Option<(usize, u8)>,
    outcome: Outcome,
    tainted: bool,
    flaky: bool,
}

#[derive(Debug, Clone)]
enum Step {
    Append(Plan),
    Index,
    Collect(usize),
    Forget(usize),
    Compare(World),
}

fn world() -> impl Strategy<Value = World> {
    // Mostly the same answers, so that many records hold.
    proptest::collection::vec(prop_oneof![6 => Just(0_u8), 1 => 1..3_u8], QUESTIONS)
}

fn plan() -> impl Strategy<Value = Plan> {
    let look = (0..QUESTIONS, proptest::option::weighted(0.1, 0..3_u8));
    let outcome = prop_oneof![4 => Just(Outcome::Passed), 1 => Just(Outcome::Failed(1))];
    (
        0..TESTS,
        world(),
        proptest::collection::vec(look, 0..6),
        proptest::option::weighted(0.05, (0..QUESTIONS, 0..3_u8)),
        outcome,
        proptest::bool::weighted(0.15),
        proptest::bool::weighted(0.05),
    )
        .prop_map(|(test, world, looks, odd, outcome, tainted, flaky)| Plan {
            test,
            world,
            looks,
            odd,
            outcome,
            tainted,
            flaky,
        })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => plan().prop_map(Step::Append),
        4 => Just(Step::Index),
        1 => (1..4_usize).prop_map(Step::Collect),
        1 => (0..TESTS).prop_map(Step::Forget),
        4 => world().prop_map(Step::Compare),
    ]
}

fn key(test: usize) -> TestKey {
    TestKey::item("s", format!("t{test}"), ".")
}

fn question(n: usize) -> Question {
    match n {
        0 => Question::Rules,
        1 => Question::Variable(b"V".to_vec()),
        n => Question::Path(PortablePath::from_stored(format!("f{}", n / 2)), scheme(n)),
    }
}

fn scheme(n: usize) -> Scheme {
    if n.is_multiple_of(2) { Scheme::Raw } else { Scheme::Command(Hash(n as u128)) }
}

fn answer(n: u8) -> Value {
    if n == 0 { Value::Absent } else { Value::Text(Hash(n.into())) }
}

fn answer_in(world: &World, asked: &Question) -> Value {
    (0..QUESTIONS).find(|&n| question(n) == *asked).map_or(Value::Pipe, |n| answer(world[n]))
}

impl Plan {
    fn taints(&self) -> Vec<Taint> {
        let flaky = self.flaky.then_some(Taint::Flaky { failed: 1, runs: 2 });
        self.tainted.then_some(Taint::StandardInput).into_iter().chain(flaky).collect()
    }

    fn run(&self) -> Run {
        let look = |q: usize, before: u8, after: Option<u8>| Observed {
            question: question(q),
            before: answer(before),
            after: after.map(answer),
            access: Access::READ,
            program: format!("p{}", q % 3).into(),
            detail: Detail::None,
        };
        let mut observed: Vec<Observed> =
            self.looks.iter().map(|&(q, after)| look(q, self.world[q], after)).collect();
        observed.extend(self.odd.map(|(q, value)| look(q, value, None)));
        Run {
            test: key(self.test),
            outcome: self.outcome,
            started_ms: 5,
            wall_us: 6,
            cpu_us: 7,
            engine: "e".into(),
            observed,
            taints: self.taints(),
            notes: Vec::new(),
            left_behind: Vec::new(),
        }
    }
}

/// Whether a run's outcome is proven in this world, by the definition.
fn holds(run: &Run, world: &World) -> bool {
    let agrees = |value: fn(&Observed) -> Value| {
        run.observed.iter().all(|o| value(o) == answer_in(world, &o.question))
    };
    // An observation without `after` counts as unchanged; two of one question may contradict.
    !run.observed.is_empty() && (agrees(|o| o.before) || agrees(|o| o.after.unwrap_or(o.before)))
}

/// How many answers differ from the world, from the nearer of the two states of a run.
fn distance(run: &Run, world: &World) -> usize {
    let differing = |value: fn(&Observed) -> Value| {
        let mut found: Vec<(&Question, Value)> = Vec::new();
        for o in run.observed.iter().filter(|o| value(o) != answer_in(world, &o.question)) {
            if !found.contains(&(&o.question, value(o))) {
                found.push((&o.question, value(o)));
            }
        }
        found.len()
    };
    differing(|o| o.before).min(differing(|o| o.after.unwrap_or(o.before)))
}

/// Whether a run that did not pass was certainly in another state than this.
fn is_elsewhere(run: &Run, world: &World) -> bool {
    let flaky = run.taints.iter().any(|taint| matches!(taint, Taint::Flaky { .. }));
    let incomplete = !run.taints.is_empty() && !run.outcome.passed();
    incomplete && !flaky && distance(run, world) > 0
}

/// What is decided, by the definition.
fn reference(records: &[&(RecordId, Run)], world: &World) -> Result<Option<RecordId>, Box<Cause>> {
    for (id, run) in records {
        match (run.taints.is_empty(), run.outcome.passed()) {
            (true, passes) if holds(run, world) => {
                return if passes {
                    Ok(Some(*id))
                } else {
                    Err(Box::new(Cause::DidNotPass(*id, run.outcome)))
                };
            }
            (false, false) if !is_elsewhere(run, world) => {
                return Err(Box::new(Cause::DidNotPass(*id, run.outcome)));
            }
            _ => {}
        }
    }
    let Some(newest) = records.first() else { return Err(Box::new(Cause::New)) };
    let telling = records.iter().find(|(_, run)| !is_elsewhere(run, world)).unwrap_or(newest);
    let (newest, run) = telling;
    if !run.taints.is_empty() {
        return Err(Box::new(Cause::Incomplete(*newest)));
    }
    let complete = records.iter().filter(|(_, run)| run.taints.is_empty());
    let far = complete.map(|(id, run)| (distance(run, world), *id)).filter(|(far, _)| *far > 0);
    let nearest = far.min_by_key(|(far, _)| *far).map_or(*newest, |(_, id)| id);
    Err(Box::new(Cause::Changed(nearest)))
}

fn compare(store: &Store, records: &[(RecordId, Run)], world: &World) -> Result<(), TestCaseError> {
    let tests: Vec<TestKey> = (0..TESTS).map(key).collect();
    let ask = |q: &[Question]| q.iter().map(|q| answer_in(world, q)).collect();
    for way in [None, Some(Way::FromProofs), Some(Way::FromAnswers)] {
        let evidence = store.evidence_by(way, &tests, &|_| true, &ask).unwrap();
        for (n, test) in tests.iter().enumerate() {
            let mine: Vec<_> = records.iter().rev().filter(|(_, run)| run.test == *test).collect();
            let got = evidence.candidates(n);
            let ids = |c: &[Candidate]| c.iter().map(|c| c.record).collect::<Vec<_>>();
            prop_assert_eq!(ids(got), mine.iter().map(|(id, _)| *id).collect::<Vec<_>>());

            let decision = evidence.decide(n, &Default::default());
            // Which of two proofs it was is not part of the reference.
            let skips = |d: &Decision| match d {
                Decision::Skip { record, .. } => Ok(Some(*record)),
                Decision::OutOfReach => Ok(None),
                Decision::Run(cause) => Err(Box::new(cause.clone())),
            };
            prop_assert_eq!(skips(&decision), reference(&mine, world), "{:?}, test {}", way, n);

            if let Decision::Run(Cause::Changed(id)) = decision {
                let first = evidence.first_difference(id).unwrap();
                if let Some((asked, was, is)) = first {
                    prop_assert_eq!(is, answer_in(world, &asked));
                    prop_assert_ne!(was, is);
                } else {
                    let run = &mine.iter().find(|(i, _)| *i == id).unwrap().1;
                    prop_assert!(run.observed.is_empty());
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn both_ways_agree_with_the_definition(
        steps in proptest::collection::vec(step(), 1..60),
        last in world(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(dir.path()).unwrap();
        store.set_keep_per_test(NonZeroUsize::new(1000).unwrap());
        let mut records: Vec<(RecordId, Run)> = Vec::new();
        for step in steps.into_iter().chain([Step::Compare(last)]) {
            match step {
                Step::Append(plan) => {
                    let run = plan.run();
                    records.push((store.append(&run).unwrap(), run));
                }
                Step::Index => store.index_now().unwrap(),
                Step::Collect(keep) => {
                    let keep_per_test = NonZeroUsize::new(keep);
                    let policy = GcPolicy { keep_per_test, ..GcPolicy::default() };
                    store.collect_garbage(&policy).unwrap();
                    let newer = |at: usize| {
                        records[at + 1..].iter().filter(|(_, r)| r.test == records[at].1.test).count()
                    };
                    let kept: Vec<bool> = (0..records.len()).map(|at| newer(at) < keep).collect();
                    let mut kept = kept.into_iter();
                    records.retain(|_| kept.next().unwrap());
                }
                Step::Forget(test) => {
                    store.forget(&key(test)).unwrap();
                    records.retain(|(_, run)| run.test != key(test));
                }
                Step::Compare(world) => compare(&store, &records, &world)?,
            }
        }
    }
}
