//! `tamis forget`: a test runs next time, whatever is known of it.
//!
//! Its records are not all that could keep it from running, so more goes with them:
//!
//! * the records of its parts, and what proves the units that it is a part of;
//! * what proves the commands that run it: with their own records they would be skipped as a whole;
//! * of a command whose tests are distinguished, the records of the tests inside it: else it would be started
//!   and leave all of them out;
//! * what a front end keeps of it besides (`--select static`).
//!
//! Which command ran a unit is not recorded. So every command counts that runs units of the same tool: to forget
//! too much costs time, too little a promise. A mark stays until the test has a record again, for
//! `--select modules` and `hybrid`, and for the reason that is shown.

use crate::call::Call;
use crate::cases::{self, Case};
use crate::plan;
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;
use std::ffi::OsString;
use tamis_core::{Scope, TestKey, Tool};
use tamis_settings::NameGlobs;
use tamis_store::{Forgotten, Store};

/// What was forgotten of one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgottenTest {
    pub key: TestKey,
    pub records: usize,
    /// The test that was named, where this one only went with it.
    pub went_with: Option<TestKey>,
}

/// Forgets the tests that these words mean: one by its name, or all that a glob matches.
pub fn forget(call: Call<'_>, words: &[OsString]) -> Result<Vec<ForgottenTest>> {
    let store = call.existing_store()?.context("nothing is recorded for this project yet")?;
    let known = known_tests(call, &store)?;
    let named = named(call, words, &known)?;
    let suites = cases::of_suites(call).ok();
    let mut all: BTreeMap<TestKey, Option<TestKey>> = BTreeMap::new();
    let mut proofs: BTreeMap<TestKey, TestKey> = BTreeMap::new();
    for key in &named {
        for unit in inside(call, key, &known, suites.as_deref()) {
            all.entry(unit).or_insert_with(|| Some(key.clone()));
        }
        all.insert(key.clone(), None);
    }
    for (key, with) in &all {
        for around in around(call, key, &known, suites.as_deref()) {
            if !all.contains_key(&around) {
                let why = with.as_ref().unwrap_or(key).clone();
                proofs.entry(around).or_insert(why);
            }
        }
    }
    drop_all(call, &store, all, proofs)
}

/// Takes the records away, and leaves the marks.
fn drop_all(
    call: Call<'_>,
    store: &Store,
    all: BTreeMap<TestKey, Option<TestKey>>,
    proofs: BTreeMap<TestKey, TestKey>,
) -> Result<Vec<ForgottenTest>> {
    let around = proofs.iter().map(|(key, why)| (key, Some(why)));
    let marks = all.keys().map(|key| (key, None)).chain(around);
    let mark = |(key, inside): (&TestKey, Option<&TestKey>)| Forgotten {
        key: key.clone(),
        inside: inside.cloned(),
    };
    store.mark_forgotten(&marks.map(mark).collect::<Vec<_>>())?;
    let mut done = Vec::new();
    for (key, went_with) in all {
        let elsewhere = call.frontends.forget(call.project, store, &key)?;
        let records = store.forget(&key)? + elsewhere;
        done.push(ForgottenTest { key, records, went_with });
    }
    for (key, why) in proofs {
        let records = store.forget_proofs(&key)?;
        done.push(ForgottenTest { key, records, went_with: Some(why) });
    }
    // What was named comes first.
    done.sort_by_key(|test| test.went_with.is_some());
    Ok(done)
}

/// Everything that has a record, and what front ends know besides.
fn known_tests(call: Call<'_>, store: &Store) -> Result<Vec<TestKey>> {
    let mut known = plan::recorded(store)?;
    known.extend(call.frontends.remembered(call.project, store));
    known.sort();
    known.dedup();
    Ok(known)
}

fn named(call: Call<'_>, words: &[OsString], known: &[TestKey]) -> Result<Vec<TestKey>> {
    let wanted = cases::wanted_name(words);
    let is_glob = wanted.contains(['*', '?', '[', '{']);
    let is_name = |key: &TestKey| key.unit.name() == wanted || key.to_string() == wanted;
    if !is_glob || known.iter().any(is_name) {
        return Ok(vec![cases::find(&wanted, &call.project.relative_folder(), known)?]);
    }
    let globs = NameGlobs::new(vec![wanted.clone()]).map_err(anyhow::Error::msg)?;
    let matches = |key: &&TestKey| {
        let names = [key.unit.name(), key.unit.short_name(), key.to_string().into()];
        names.iter().any(|name| globs.matches(name.as_bytes()))
    };
    let found: Vec<TestKey> = known.iter().filter(matches).cloned().collect();
    if found.is_empty() {
        bail!("no test matches {wanted:?}; `tamis status` lists the tests");
    }
    Ok(found)
}

/// The units inside a test: the tests of a command, the parts of a unit.
fn inside(
    call: Call<'_>,
    key: &TestKey,
    known: &[TestKey],
    suites: Option<&[Case]>,
) -> Vec<TestKey> {
    if key.scope.tool().is_some() {
        let is_part = |other: &&TestKey| is_part_of(call, other, key);
        return known.iter().filter(is_part).cloned().collect();
    }
    let tools = tools_of(call, key, suites).unwrap_or_default();
    let is_inside = |other: &&TestKey| {
        other.scope.tool().is_some_and(|tool| tools.contains(tool))
            && (key.folder == "." || is_below(&other.folder, &key.folder))
    };
    known.iter().filter(is_inside).cloned().collect()
}

/// What runs a unit: the units that it is a part of, and the commands of its tool.
fn around(
    call: Call<'_>,
    key: &TestKey,
    known: &[TestKey],
    suites: Option<&[Case]>,
) -> Vec<TestKey> {
    let Some(tool) = key.scope.tool() else { return Vec::new() };
    let is_around = |other: &&TestKey| match other.scope {
        Scope::Tool(_) => is_part_of(call, key, other),
        // What cannot be found out may well run it.
        _ => tools_of(call, other, suites).is_none_or(|tools| tools.contains(tool)),
    };
    known.iter().filter(is_around).cloned().collect()
}

fn is_part_of(call: Call<'_>, part: &TestKey, whole: &TestKey) -> bool {
    part.scope == whole.scope
        && part.folder == whole.folder
        && call.frontends.wholes_of(part).contains(&whole.unit)
}

fn is_below(folder: &str, above: &str) -> bool {
    std::path::Path::new(folder).starts_with(above)
}

/// The tools whose units a command runs; `None` where that cannot be known.
fn tools_of(call: Call<'_>, key: &TestKey, suites: Option<&[Case]>) -> Option<Vec<Tool>> {
    let claim = match &key.scope {
        Scope::Suite(_) => {
            let case = suites?.iter().find(|case| case.key == *key)?;
            case.claim.clone()
        }
        _ => {
            let words = shlex::split(&key.unit.name())?;
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            cases::claimed(call, &words, &call.project.root().join(&key.folder), &[])
        }
    };
    Some(claim.map(|claim| claim.tools()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_below_others() {
        assert!(is_below("a/b", "a") && is_below("a", "a"));
        assert!(!is_below("ab", "a") && !is_below(".", "a"));
    }
}
