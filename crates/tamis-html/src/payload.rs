//! The data of the page: columns in JSON, under deflate, in base64.
//!
//! One packet is read when the page opens: names, the runs, the sums. What only an open test needs, its history and
//! inputs, is in packets of [`PACKET`] tests each, which are read when one of them is opened; the texts of inputs are a
//! packet of their own. A page whose inputs would be larger than [`MOST_BYTES`] says of the last ones that they are left
//! out.

use crate::model::{Known, Report};
use crate::words;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use libdeflater::{CompressionLvl, Compressor};
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use tamis_core::{Cause, Decision, TestKey};
use tamis_report::kept::{KeptRun, KeptTest};
use tamis_report::reason;

/// Tests of a packet.
const PACKET: usize = 512;
/// Bytes of all packets of inputs.
const MOST_BYTES: usize = 48 << 20;
/// Sources that are listed, and drawn.
const MOST_SOURCES: usize = 4_000;
/// Tests of each list of habits.
const MOST_HABITS: usize = 500;
/// Runs of the chart.
const MOST_RUNS: usize = 2_000;

/// What a page carries, each in base64.
#[derive(Debug, Default)]
pub(crate) struct Payload {
    pub(crate) main: String,
    pub(crate) texts: String,
    pub(crate) packets: Vec<String>,
}

/// Texts by their places.
#[derive(Debug, Default)]
struct Texts {
    all: Vec<String>,
    places: HashMap<String, usize>,
}

impl Texts {
    fn place(&mut self, text: &str) -> usize {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        self.all.push(text.to_owned());
        self.places.insert(text.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }
}

/// Deflate without a header, in base64: what `DecompressionStream("deflate-raw")` reads.
pub(crate) fn packed(value: &impl Serialize) -> String {
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    let Ok(level) = CompressionLvl::new(6) else { return String::new() };
    let mut compressor = Compressor::new(level);
    let mut squeezed = vec![0; compressor.deflate_compress_bound(bytes.len())];
    let written = compressor.deflate_compress(&bytes, &mut squeezed).unwrap_or(0);
    STANDARD.encode(&squeezed[..written])
}

pub(crate) fn of(report: &Report) -> Payload {
    let places: HashMap<&TestKey, usize> =
        report.tests.iter().enumerate().map(|(n, test)| (&test.key, n)).collect();
    let mut texts = Texts::default();
    let tests = tests(report, &mut texts);
    let runs: Vec<Json> = report.runs.iter().map(|run| of_run(run, &places, &mut texts)).collect();
    let main = json!({
        "project": report.project,
        "made": report.made_ms,
        "tests": tests,
        "runs": runs,
        "time": over_time(report),
        "costs": costs(report),
        "habits": habits(report, &mut texts),
        "packet": PACKET,
        "texts": texts.all,
    });
    let inputs = &report.inputs;
    let shared = json!({
        "inputs": inputs.texts, "elsewhere": inputs.elsewhere, "changes": inputs.changes,
    });
    let (mut packets, mut bytes) = (Vec::new(), 0);
    for some in report.tests.chunks(PACKET) {
        let mut packet = packed(&some.iter().map(|test| details(test, true)).collect::<Vec<_>>());
        bytes += packet.len();
        if bytes > MOST_BYTES {
            packet = packed(&some.iter().map(|test| details(test, false)).collect::<Vec<_>>());
        }
        packets.push(packet);
    }
    Payload { main: packed(&main), texts: packed(&shared), packets }
}

/// The tests, column by column.
fn tests(report: &Report, texts: &mut Texts) -> Json {
    let all = &report.tests;
    let mut scopes = Texts::default();
    let column = |of: &mut dyn FnMut(&Known) -> i64| -> Vec<i64> { all.iter().map(of).collect() };
    let suite = column(&mut |test| scopes.place(&test.key.scope.to_string()) as i64);
    let when = column(&mut |test| test.records.first().map_or(0, |r| ms(r.summary.started_ms)));
    let us = column(&mut |test| test.records.first().map_or(0, |r| ms(r.summary.wall_us)));
    let now = column(&mut |test| test.now.as_ref().map_or(-1, |now| i64::from(now.runs)));
    let why = column(&mut |test| test.now.as_ref().map_or(-1, |now| texts.place(&now.why) as i64));
    // How its newest record ended: nothing, passed, did not pass, flaky.
    let ended = column(&mut |test| match test.records.first().map(|record| &record.summary) {
        None => 0,
        Some(record) if record.is_flaky() => 3,
        Some(record) => 1 + i64::from(!record.outcome.passed()),
    });
    let name: Vec<String> = all.iter().map(|test| test.key.unit.to_string()).collect();
    let mut folders = Texts::default();
    let folder: Vec<usize> = all.iter().map(|test| folders.place(&test.key.folder)).collect();
    json!({
        "suites": scopes.all, "suite": suite, "name": name, "folders": folders.all,
        "folder": folder, "when": when, "us": us, "now": now, "why": why, "ended": ended,
    })
}

fn ms(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// One run: columns for what all its tests have, entries by place for what few have.
fn of_run(run: &KeptRun, places: &HashMap<&TestKey, usize>, texts: &mut Texts) -> Json {
    let reasons: Vec<usize> = run.reasons.iter().map(|reason| texts.place(reason)).collect();
    let mut more = serde_json::Map::new();
    let [mut test, mut state, mut why, mut us, mut saved, mut record, mut inputs] =
        [const { Vec::<i64>::new() }; 7];
    for one in &run.tests {
        let Some(&place) = places.get(&one.key) else { continue };
        test.push(place as i64);
        state.push(i64::from(state_of(one)));
        why.push(reasons.get(one.reason as usize).map_or(-1, |place| *place as i64));
        us.push(ms(one.wall_us));
        saved.push(ms(one.saved_us));
        record.push(record_of(&one.decision).map_or(-1, i64::from));
        inputs.push(one.inputs.map_or(-1, ms));
        if let Some(known) = more_of(one) {
            more.insert((test.len() - 1).to_string(), known);
        }
    }
    let still: Vec<Json> = run
        .still_failing
        .iter()
        .filter_map(|(key, outcome)| {
            Some(json!([places.get(key)?, reason::outcome(key, *outcome)]))
        })
        .collect();
    json!({
        "at": run.called.at_ms, "name": run.called.name, "options": run.called.options,
        "figures": run.figures, "still": still,
        "phases": run.phases, "checked": run.checked,
        "verdict": words::verdict(run), "line": words::line(&run.figures), "mood": words::mood(run),
        "test": test, "state": state, "why": why, "us": us, "saved": saved,
        "record": record, "inputs": inputs, "more": more,
    })
}

/// Failed, not finished, flaky, passed, skipped: in the order in which they are shown.
fn state_of(test: &KeptTest) -> u8 {
    match test.outcome {
        _ if !test.decision.is_run() => 4,
        None => 1,
        Some(_) if test.flaky() => 2,
        Some(outcome) if outcome.passed() => 3,
        Some(_) => 0,
    }
}

fn record_of(decision: &Decision) -> Option<u32> {
    match decision {
        Decision::Skip { record, .. } => Some(record.0),
        Decision::Run(
            Cause::DidNotPass(record, _) | Cause::Incomplete(record) | Cause::Changed(record),
        ) => Some(record.0),
        _ => None,
    }
}

fn more_of(test: &KeptTest) -> Option<Json> {
    let mut known = serde_json::Map::new();
    if let Some(outcome) = test.outcome.filter(|outcome| !outcome.passed()) {
        known.insert("how".into(), json!(reason::outcome(&test.key, outcome)));
    }
    if test.failed_before > 0 {
        known.insert("before".into(), json!(test.failed_before));
    }
    if let Some(reruns) = test.reruns {
        known.insert("reruns".into(), json!(reruns));
    }
    if let Some(more) = &test.more {
        let lists = [("taints", &more.taints), ("notes", &more.notes), ("way", &more.way)];
        for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            known.insert(name.into(), json!(list));
        }
        if let Some(output) = &more.output {
            let headline = tamis_report::excerpt::headline(output.as_bytes());
            known.insert("failure".into(), json!(headline));
            known.insert("output".into(), json!(output));
        }
    }
    (!known.is_empty()).then_some(Json::Object(known))
}

/// What an open test shows: its records, and its inputs unless they are left out.
fn details(test: &Known, with_inputs: bool) -> Json {
    let records: Vec<Json> = test
        .records
        .iter()
        .map(|record| {
            let known = &record.summary;
            let passed = if known.outcome.passed() {
                Json::Null
            } else {
                json!(reason::outcome(&test.key, known.outcome))
            };
            let taints = tamis_core::taints::lines(&known.taints);
            json!([
                known.id.0,
                known.started_ms,
                known.wall_us,
                passed,
                known.inputs,
                u8::from(record.needless),
                taints,
            ])
        })
        .collect();
    let inputs = test.inputs.as_ref().map(|inputs| {
        let steps = if with_inputs { json!(inputs.steps()) } else { Json::Null };
        json!([steps, inputs.elsewhere, inputs.changed])
    });
    json!([records, inputs])
}

/// What was saved by day, and the figures of runs.
fn over_time(report: &Report) -> Json {
    let mut days: Vec<(u64, u64, u64)> = Vec::new();
    for (when, saved) in &report.saved {
        let (day, us) = (when / 86_400_000, u64::try_from(saved.as_micros()).unwrap_or(u64::MAX));
        match days.last_mut().filter(|(last, ..)| *last == day) {
            Some((_, sum, calls)) => {
                *sum = sum.saturating_add(us);
                *calls += u64::from(us > 0);
            }
            None => days.push((day, us, u64::from(us > 0))),
        }
    }
    let first = report.past.len().saturating_sub(MOST_RUNS);
    let mut names = Texts::default();
    let runs: Vec<Json> = report.past[first..]
        .iter()
        .map(|run| {
            let f = &run.figures;
            let flags = u8::from(f.interrupted) | u8::from(run.special) << 1;
            json!([
                run.at_ms,
                f.total,
                f.ran,
                f.failed,
                f.skipped,
                f.times.ran_us,
                f.times.left_out_us,
                f.times.saved_us,
                flags,
                names.place(&run.name),
            ])
        })
        .collect();
    json!({ "days": days, "runs": runs, "names": names.all, "left": first })
}

fn costs(report: &Report) -> Json {
    let costs = &report.costs;
    let edited: Vec<Json> = costs
        .edited
        .iter()
        .take(MOST_SOURCES)
        .map(|edited| json!([edited.path, edited.tests, edited.us]))
        .collect();
    let left = costs.edited.len().saturating_sub(MOST_SOURCES);
    json!({ "edited": edited, "tests": costs.tests, "us": costs.us, "left": left })
}

/// Tests that are flaky, that run every time, and that ran needlessly, with figures.
fn habits(report: &Report, texts: &mut Texts) -> Json {
    let mut flaky = Vec::new();
    let mut always = Vec::new();
    let mut needless = Vec::new();
    for (n, test) in report.tests.iter().enumerate() {
        let (records, of) = (&test.records, test.records.len());
        let failed = records.iter().filter(|record| record.summary.is_flaky()).count();
        if failed > 0 {
            flaky.push((failed, of, n));
        }
        if let Some(why) = runs_every_time(report, test) {
            let us = records.first().map_or(0, |record| record.summary.wall_us);
            always.push((us, texts.place(&why), n));
        }
        let again = records.iter().filter(|record| record.needless);
        let us: u64 = again.clone().map(|record| record.summary.wall_us).sum();
        let again = again.count();
        if again > 0 {
            needless.push((again, of, n, us));
        }
    }
    flaky.sort_by(|a, b| b.cmp(a));
    always.sort_by(|a, b| b.cmp(a));
    needless.sort_by_key(|one| std::cmp::Reverse((one.0, one.3)));
    let counts = json!([flaky.len(), always.len(), needless.len()]);
    flaky.truncate(MOST_HABITS);
    always.truncate(MOST_HABITS);
    needless.truncate(MOST_HABITS);
    json!({ "flaky": flaky, "always": always, "needless": needless, "counts": counts })
}

/// Why a test runs whatever changes: its newest record was not observed completely, or the settings say so.
fn runs_every_time(report: &Report, test: &Known) -> Option<String> {
    let by_record = test
        .records
        .first()
        .filter(|record| !record.summary.is_complete() && !record.summary.is_flaky());
    if let Some(record) = by_record {
        return Some(tamis_core::taints::lines(&record.summary.taints).join("; "));
    }
    report.always.get(&test.key).cloned()
}
