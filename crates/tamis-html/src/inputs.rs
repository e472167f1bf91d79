//! What tests looked at, and what an edit of it runs.
//!
//! Of each test the newest record counts. Its inputs inside the project are listed one by one, the others are
//! counted by folder. Sets are kept as differences of numbers, because tests have most of them in common.
//!
//! The price of an input is how many tests looked at its content, and how long they ran together. A fact that a front
//! end knows the source of counts for that source; a test that looked at several facts of one source counts once. A
//! command around tests that are distinguished, and a test class whose methods are, do not count beside these.

use crate::model::{Known, Sources};
use crate::sets::{Costs, Edited, Inputs, InputsOfTest};
use std::collections::{BTreeMap, HashMap, HashSet};
use tamis_core::record::ProofId;
use tamis_core::{Question, Scheme, TestKey, Unit, Value};
use tamis_report::inputs::line;
use tamis_report::reason;
use tamis_store::{Asked, StoreError};

const NONE: u32 = u32::MAX;

/// Where an observation belongs.
struct Places {
    /// By number of the observation: its question.
    question: HashMap<u32, u32>,
    /// By question: its place among the texts, or among the folders elsewhere.
    text: Vec<u32>,
    folder: Vec<u32>,
    /// By question: the source that an edit changes.
    source: Vec<u32>,
    /// By number of the observation: the sentence about what is different now.
    change: HashMap<u32, u32>,
}

/// Fills in the inputs of the tests; gives what they share.
pub(crate) fn of_tests(
    sources: &Sources<'_>,
    around: &[&TestKey],
    tests: &mut [Known],
) -> Result<(Inputs, Costs), StoreError> {
    let asked = sources.store.asked()?;
    let (mut inputs, mut folders, mut edited) = (Inputs::default(), Vec::new(), Vec::new());
    let mut places = Places {
        question: asked.observations.iter().map(|&(id, question, _)| (id, question)).collect(),
        text: vec![NONE; asked.questions.len()],
        folder: vec![NONE; asked.questions.len()],
        source: vec![NONE; asked.questions.len()],
        change: HashMap::new(),
    };
    name_inputs(&asked, &mut places, &mut inputs, &mut folders);
    name_sources(sources, &asked, &mut places, &mut edited);
    name_changes(sources, &asked, &mut places, &mut inputs);
    let counted = counted(around, tests);
    let mut costs = Costs::default();
    let by_proof: HashMap<ProofId, usize> = tests
        .iter()
        .enumerate()
        .filter_map(|(n, test)| Some((test.records.first()?.proof, n)))
        .collect();
    let mut elsewhere: HashMap<Vec<(u32, u32)>, u32> = HashMap::new();
    let mut seen = vec![NONE; edited.len()];
    sources.store.visit_proofs(&mut |proof, set| {
        let Some(&n) = by_proof.get(&proof) else { return };
        let us = tests[n].records.first().map_or(0, |record| record.summary.wall_us);
        if counted[n] {
            costs.tests += 1;
            costs.us += us;
        }
        let (mut own, mut others, mut changed) = (Vec::new(), BTreeMap::new(), Vec::new());
        for id in set {
            let Some(&question) = places.question.get(&id) else { continue };
            let question = question as usize;
            match (places.text[question], places.folder[question]) {
                (NONE, NONE) => {}
                (NONE, folder) => *others.entry(folder).or_insert(0_u32) += 1,
                (text, _) => own.push(text),
            }
            changed.extend(places.change.get(&id).copied());
            let source = places.source[question];
            if source != NONE && counted[n] && seen[source as usize] != n as u32 {
                seen[source as usize] = n as u32;
                let edited: &mut Edited = &mut edited[source as usize];
                edited.tests += 1;
                edited.us += us;
            }
        }
        own.sort_unstable();
        own.dedup();
        let others: Vec<(u32, u32)> = others.into_iter().collect();
        let next = elsewhere.len() as u32;
        let elsewhere = *elsewhere.entry(others).or_insert(next);
        tests[n].inputs = Some(InputsOfTest::of(&own, elsewhere, changed));
    })?;
    inputs.elsewhere = vec![Vec::new(); elsewhere.len()];
    for (list, place) in elsewhere {
        let name = |(folder, n): (u32, u32)| (folders[folder as usize].clone(), n);
        let mut list: Vec<(String, u32)> = list.into_iter().map(name).collect();
        list.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        inputs.elsewhere[place as usize] = list;
    }
    edited.retain(|edited| edited.tests > 0);
    edited.sort_by(|a, b| (b.us, b.tests, &a.path).cmp(&(a.us, a.tests, &b.path)));
    costs.edited = edited;
    Ok((inputs, costs))
}

/// Gives the project's own inputs a text each, and the others a folder.
fn name_inputs(asked: &Asked, places: &mut Places, inputs: &mut Inputs, folders: &mut Vec<String>) {
    let mut absent = vec![true; asked.questions.len()];
    for &(_, question, value) in &asked.observations {
        absent[question as usize] &= matches!(value, Value::Absent | Value::Barred);
    }
    let mut own: Vec<(String, usize)> = Vec::new();
    let mut known: HashMap<String, u32> = HashMap::new();
    for (n, question) in asked.questions.iter().enumerate() {
        let folder = match question {
            Question::Variable(_) | Question::VariableNames => Some("environment variables".into()),
            Question::Rules => Some("rules of observation".into()),
            Question::Path(path, _) if !path.in_project() => {
                Some(tamis_report::inputs::folder(path))
            }
            _ => None,
        };
        match folder {
            Some(folder) => {
                places.folder[n] = *known.entry(folder).or_insert_with_key(|folder| {
                    folders.push(folder.clone());
                    folders.len() as u32 - 1
                });
            }
            None if absent[n] && question.path().is_some() => {
                own.push((format!("{} (not there)", line(question)), n));
            }
            None => own.push((line(question), n)),
        }
    }
    // Files come before facts: a reader looks for files.
    let is_fact = |n: usize| asked.questions[n].path().is_none();
    own.sort_by(|a, b| (is_fact(a.1), &a.0).cmp(&(is_fact(b.1), &b.0)));
    for (text, n) in own {
        if inputs.texts.last() != Some(&text) {
            inputs.texts.push(text);
        }
        places.text[n] = inputs.texts.len() as u32 - 1;
    }
}

/// Gives what a person can edit a name.
fn name_sources(
    sources: &Sources<'_>,
    asked: &Asked,
    places: &mut Places,
    edited: &mut Vec<Edited>,
) {
    // A path that never held a file has no content to edit.
    let mut is_file = vec![false; asked.questions.len()];
    for &(_, question, value) in &asked.observations {
        is_file[question as usize] |= !matches!(
            value,
            Value::Absent | Value::Barred | Value::Directory | Value::Listing(_) | Value::Link(_)
        );
    }
    let mut known: HashMap<String, u32> = HashMap::new();
    for (n, question) in asked.questions.iter().enumerate() {
        let source = match question {
            Question::Path(path, scheme)
                if path.in_project() && is_file[n] && is_content(*scheme) =>
            {
                Some(path.to_string())
            }
            Question::Fact(fact) => (sources.source_of)(fact),
            _ => None,
        };
        let Some(source) = source else { continue };
        places.source[n] = *known.entry(source).or_insert_with_key(|path| {
            edited.push(Edited { path: path.clone(), tests: 0, us: 0 });
            edited.len() as u32 - 1
        });
    }
}

/// Whether an edit of a file changes the answer.
fn is_content(scheme: Scheme) -> bool {
    !matches!(
        scheme,
        Scheme::Kind
            | Scheme::Listing
            | Scheme::Place
            | Scheme::Attributes
            | Scheme::Rights
            | Scheme::Names
            | Scheme::Bytecode
    )
}

/// Asks about the project's files, and makes a sentence of each answer that is different now.
fn name_changes(sources: &Sources<'_>, asked: &Asked, places: &mut Places, inputs: &mut Inputs) {
    let is_own =
        |n: &usize| asked.questions[*n].path().is_some_and(tamis_core::PortablePath::in_project);
    let own: Vec<usize> = (0..asked.questions.len()).filter(is_own).collect();
    let questions: Vec<Question> = own.iter().map(|&n| asked.questions[n].clone()).collect();
    let answers: HashMap<usize, Value> = own.into_iter().zip((sources.ask)(&questions)).collect();
    let mut known: HashMap<String, u32> = HashMap::new();
    for &(id, question, was) in &asked.observations {
        let Some(&is) = answers.get(&(question as usize)).filter(|is| **is != was) else {
            continue;
        };
        let text = reason::difference(&asked.questions[question as usize], was, is);
        let place = *known.entry(text).or_insert_with_key(|text| {
            inputs.changes.push(text.clone());
            inputs.changes.len() as u32 - 1
        });
        places.change.insert(id, place);
    }
}

/// Which tests count for the price of inputs: see the head of this module.
fn counted(around: &[&TestKey], tests: &[Known]) -> Vec<bool> {
    let around: HashSet<&TestKey> = around.iter().copied().collect();
    let divided: HashSet<TestKey> = tests.iter().filter_map(|test| whole_of(&test.key)).collect();
    let counts = |key: &TestKey| !around.contains(key) && !divided.contains(key);
    tests.iter().map(|test| counts(&test.key)).collect()
}

/// The test class that a method is in.
fn whole_of(key: &TestKey) -> Option<TestKey> {
    let Unit::Method { class, .. } = &key.unit else { return None };
    Some(TestKey { unit: Unit::Class(class.clone()), ..key.clone() })
}
