//! What would be missing because test classes were skipped: their reports, and what they covered.
//!
//! It is kept with the records of those that run, and handed to the build at the end of a goal for those that
//! do not: the next goal may be the one that reads it.

use super::JvmModel;
use crate::coverage::Exec;
use crate::goal::GoalFacts;
use crate::jacoco::Cover;
use crate::kept_coverage::{KeptCover, concerns};
use crate::kept_reports::{self, ReportFile};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tamis_core::RecordId;
use tamis_dynamic::Depends;
use tamis_jvm_wire::{Covered, Goal, LeftFile, Mode};
use tamis_session::Ledger;
use tamis_store::{Store, WithRecord};

/// Of one goal.
#[derive(Debug)]
pub(super) struct LeftOut {
    began: SystemTime,
    /// Where its reports are, and what stands at the end of their names.
    reports: Option<(PathBuf, String)>,
    exec: Option<Exec>,
    /// Test classes that were skipped, and by which record.
    pub(super) skipped: Vec<(String, RecordId)>,
    /// The reports that it wrote.
    written: Vec<ReportFile>,
    covers: Vec<TestCover>,
    /// What was passed outside of tests, in the JVMs that ended in good order.
    outside: HashMap<u32, Cover>,
    /// Classes without tests.
    pub(super) silent: Vec<String>,
}

/// What a test class covered.
#[derive(Debug)]
struct TestCover {
    jvm: u32,
    class: String,
    /// Nothing if it is not known.
    cover: Option<Cover>,
    /// Test classes that left something which it met.
    left_by: BTreeSet<String>,
}

impl LeftOut {
    pub(super) fn nothing() -> Self {
        Self {
            began: SystemTime::now(),
            reports: None,
            exec: None,
            skipped: Vec::new(),
            written: Vec::new(),
            covers: Vec::new(),
            outside: HashMap::new(),
            silent: Vec::new(),
        }
    }

    pub(super) fn of(goal: &Goal, exec: Option<Exec>) -> Self {
        let value = |name: &str| {
            let mut values = goal.configuration.iter().filter(|(known, _)| known == name);
            values.next().map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let is_written = value("disableXmlReport") != "true";
        let folder = Some(value("reportsDirectory")).filter(|f| is_written && !f.is_empty());
        let reports = folder.map(|folder| (PathBuf::from(folder), value("reportNameSuffix")));
        Self { reports, exec, ..Self::nothing() }
    }

    /// The files that the goal would have written, had none of its `units` been skipped.
    fn files(&self, store: &Store, units: usize) -> Vec<LeftFile> {
        let mut files = Vec::new();
        if let Some((folder, _)) = &self.reports {
            let elsewhere = self.reported_elsewhere(folder);
            for (_, record) in self.skipped.iter().filter(|(class, _)| !elsewhere.contains(class)) {
                let kept = kept_reports::load(store, *record);
                for file in kept_reports::missing(folder, kept, *record) {
                    let path = folder.join(&file.name);
                    files.extend(left_file(&path, Mode::Replace, file.bytes));
                }
            }
        }
        if let Some(exec) = self.exec.as_ref().filter(|_| !self.skipped.is_empty()) {
            let mut cover = Cover::default();
            for (_, record) in &self.skipped {
                if let Some(kept) = KeptCover::load(store, *record) {
                    kept.add_to(&mut cover);
                }
            }
            let session = match self.skipped.len() {
                1 => "tamis: 1 skipped test class".to_owned(),
                n => format!("tamis: {n} skipped test classes"),
            };
            // Where a test class ran, its JVM has begun the file anew; where none did it is an older one.
            let ran = self.skipped.len() < units;
            let mode = if exec.appends || ran { Mode::Append } else { Mode::Replace };
            files.extend(left_file(&exec.file, mode, cover.to_file(&session)));
        }
        files
    }

    /// Skipped test classes about which a report that is there speaks under another name.
    fn reported_elsewhere(&self, folder: &Path) -> HashSet<String> {
        let names: HashSet<&str> = self.skipped.iter().map(|(class, _)| class.as_str()).collect();
        kept_reports::classes_in_joint_reports(folder, &names)
    }

    /// What each test class covered, to be kept.
    fn kept_covers(&self, facts: &GoalFacts, root: &Path) -> BTreeMap<String, KeptCover> {
        let mut by_class: BTreeMap<&str, Vec<&TestCover>> = BTreeMap::new();
        for cover in &self.covers {
            by_class.entry(&cover.class).or_default().push(cover);
        }
        let mut kept = BTreeMap::new();
        for (class, covers) in by_class {
            let mut together: BTreeSet<String> = BTreeSet::new();
            let mut joined = Some(Cover::default());
            for one in covers {
                together.extend(one.left_by.iter().cloned());
                joined = joined.zip(one.cover.as_ref()).map(|(mut joined, cover)| {
                    joined.merge(cover);
                    joined
                });
                match self.outside.get(&one.jvm) {
                    Some(outside) if concerns(facts, root, outside) => {
                        joined.iter_mut().for_each(|joined| joined.merge(outside));
                        let same = self.covers.iter().filter(|other| other.jvm == one.jvm);
                        together.extend(same.map(|other| other.class.clone()));
                    }
                    Some(_) => {}
                    None => joined = None,
                }
            }
            together.remove(class);
            if let Some(cover) = joined {
                kept.insert(class.to_owned(), KeptCover::new(facts, root, cover, together));
            }
        }
        for class in &self.silent {
            let nothing = KeptCover::new(facts, root, Cover::default(), BTreeSet::new());
            kept.entry(class.clone()).or_insert(nothing);
        }
        kept
    }
}

fn left_file(path: &Path, mode: Mode, bytes: Vec<u8>) -> Option<LeftFile> {
    Some(LeftFile { path: path.to_str()?.to_owned(), mode, bytes })
}

/// What JaCoCo counts in a JVM of tests.
#[derive(Debug, Default)]
pub(super) struct JvmCover {
    measures: bool,
    tests: HashMap<u32, Cover>,
    /// Tests of which it is not known.
    unknown: HashSet<u32>,
    initialisers: HashMap<u32, Cover>,
    pub(super) outside: Cover,
    /// Test classes that ended, by their numbers.
    ended: HashMap<u32, String>,
}

impl JvmCover {
    /// `open` are the test classes that were open.
    pub(super) fn covered(&mut self, open: &[u32], covered: &Covered) {
        self.measures = true;
        let Some(cover) = covered.data.as_deref().and_then(Cover::parse) else {
            self.unknown.extend(open);
            return;
        };
        for initialiser in &covered.initialisers {
            self.initialisers.entry(*initialiser).or_default().merge(&cover);
        }
        match open {
            [] => self.outside.merge(&cover),
            [one] => self.tests.entry(*one).or_default().merge(&cover),
            // Whose it is cannot be distinguished.
            several => self.unknown.extend(several),
        }
    }

    fn ended(&mut self, jvm: u32, test: u32, class: &str, depends: &Depends) -> Option<TestCover> {
        if !self.measures {
            return None;
        }
        self.ended.insert(test, class.to_owned());
        let mut cover = self.tests.remove(&test).unwrap_or_default();
        let known = depends.initialisers.iter().filter_map(|i| self.initialisers.get(i));
        known.for_each(|initialiser| cover.merge(initialiser));
        let names = depends.left_by.iter().filter_map(|test| self.ended.get(test));
        Some(TestCover {
            jvm,
            class: class.to_owned(),
            cover: (!self.unknown.contains(&test)).then_some(cover),
            left_by: names.cloned().collect(),
        })
    }
}

impl JvmModel {
    /// A goal ended: the files that it lacks.
    pub(super) fn files_left_out(&mut self, ledger: &Ledger<'_>, number: usize) -> Vec<LeftFile> {
        let goal = &mut self.goals[number];
        if goal.refusal.is_some() {
            return Vec::new();
        }
        if let Some((folder, _)) = &goal.left_out.reports {
            goal.left_out.written = kept_reports::written_since(folder, goal.left_out.began);
        }
        let units = goal.units.len();
        ledger.opened_store().map(|store| goal.left_out.files(store, units)).unwrap_or_default()
    }

    /// What a test class covered that ended.
    pub(super) fn note_cover(&mut self, pid: u32, test: u32, class: &str, depends: &Depends) {
        let Some(host) = self.jvms.hosts.get_mut(&pid) else { return };
        let cover = host.cover.ended(pid, test, class, depends);
        self.goals[host.goal].left_out.covers.extend(cover);
    }

    /// A JVM of tests ended in good order.
    pub(super) fn note_outside(&mut self, pid: u32, goal: usize, outside: Cover) {
        self.goals[goal].left_out.outside.insert(pid, outside);
    }

    /// Keeps reports and coverage with the records of the test classes that ran.
    pub(super) fn keep_with_records(&self, ledger: &Ledger<'_>) {
        if ledger.is_trial() {
            return;
        }
        let Some(store) = ledger.opened_store() else { return };
        let (mut reports, mut covers) = (Vec::new(), Vec::new());
        for goal in self.goals.iter().filter(|goal| goal.refusal.is_none()) {
            let record = |class: &str| ledger.passed_record(&goal.facts.class_key(class));
            if let Some((_, suffix)) = &goal.left_out.reports {
                for class in goal.units.keys() {
                    let Some(record) = record(class) else { continue };
                    let files = kept_reports::of_class(&goal.left_out.written, class, suffix);
                    let files = Some(files).filter(|files| !files.is_empty());
                    let bytes = files.and_then(kept_reports::to_bytes);
                    reports.extend(bytes.map(|bytes| (record, bytes)));
                }
            }
            if goal.left_out.exec.is_some() {
                let kept = goal.left_out.kept_covers(&goal.facts, ledger.project().root());
                for (class, cover) in kept {
                    let both = record(&class).zip(cover.to_bytes());
                    covers.extend(both);
                }
            }
        }
        // What is not kept is missing later: reports are not put back, and coverage makes its test class run.
        let _ = store.keep_with(WithRecord::Reports, &reports);
        let _ = store.keep_with(WithRecord::Coverage, &covers);
    }
}
