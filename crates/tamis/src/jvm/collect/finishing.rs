//! The end of a session: what is still to be recorded, said, and relied on.

use super::{Collected, Collector, writing};
use crate::failures;
use crate::jvm::by_graph::ByGraph;
use crate::jvm::said;
use std::collections::BTreeSet;
use tamis_core::record::Observed;
use tamis_core::{Question, Taint};
use tamis_observe::{ClassFiles, Observations};

impl Collector<'_> {
    /// Everything was told. What has only one half by now was not observed completely.
    pub(super) fn finish(mut self) -> Collected {
        for ((pid, _), half) in std::mem::take(&mut self.halves) {
            if let (Some((said, _)), None) = (half.said, half.seen) {
                let taint =
                    Taint::Unobserved("the tracer did not see where it began and ended".into());
                self.write(pid, said, &Observations::default(), &ClassFiles::new(), Some(taint));
            }
        }
        self.record_classes_without_tests();
        self.write_records();
        self.add_messages();
        self.tell_of_missing_agents();
        self.tell_undivided();
        for goal in &self.goals {
            if let Some(why) = goal.graph.as_ref().and_then(ByGraph::record) {
                self.say(&format!("{}: {why}", goal.facts.scope));
            }
        }
        let mut files: Vec<_> = Vec::new();
        let goals = self.goals.iter().filter(|g| g.refusal.is_none());
        let paths: BTreeSet<_> = goals.flat_map(|goal| goal.facts.index.paths()).collect();
        for (path, is_folder) in paths {
            add_files(path, is_folder, &mut files);
        }
        files.sort_unstable();
        files.dedup();
        let answers = self.project.fingerprinter.answer_many(&files);
        for ((path, scheme), answer) in files.iter().zip(answers) {
            let question = Question::Path(self.project.paths.to_portable(path), *scheme);
            let observed = writing::given(question, answer.value);
            self.collected.relied_on.push(Observed { detail: answer.detail, ..observed });
        }
        let mut at = 0..;
        let dissolved = &self.dissolved;
        self.collected.reports.retain(|_| !at.next().is_some_and(|n| dissolved.contains(&n)));
        self.collected
    }

    /// What the test classes that did not pass said.
    fn add_messages(&mut self) {
        for goal in &self.goals {
            for (class, &report) in &goal.units {
                let report = &mut self.collected.reports[report];
                if report.failed() {
                    report.output = said::failures(&goal.reports, class, self.began);
                }
                // What passes at the second try keeps what it said at the first.
                let again = self.wishes.again.as_ref().is_some_and(|a| a.failed(&report.key));
                if report.outcome.is_some() && (report.failed() || !again) {
                    failures::keep(self.store.as_ref(), report);
                }
            }
        }
    }

    fn tell_of_missing_agents(&self) {
        for goal in self.goals.iter().filter(|g| g.refusal.is_none() && g.jvms == 0) {
            let unfinished = goal.units.values().any(|&n| self.collected.reports[n].unfinished());
            if unfinished && goal.ended_well {
                self.say(&format!(
                    "{}: the agent did not start in the JVM of its tests: none is recorded, and all \
                     run again; `tamis doctor` checks the agent",
                    goal.facts.scope
                ));
            }
        }
    }
}

/// All files and folders of an entry of the classpath.
fn add_files(
    path: &std::path::Path,
    is_folder: bool,
    files: &mut Vec<(std::path::PathBuf, tamis_core::Scheme)>,
) {
    if !is_folder {
        files.push((path.to_path_buf(), tamis_core::Scheme::Raw));
        return;
    }
    files.push((path.to_path_buf(), tamis_core::Scheme::Listing));
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|t| t.is_dir());
        add_files(&entry.path(), is_folder, files);
    }
}
