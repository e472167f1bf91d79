//! The end of a command: what is still to be recorded, remarked, and relied on.

use super::{JvmModel, writing};
use crate::surefire_reports;
use std::collections::BTreeSet;
use tamis_core::record::Observed;
use tamis_core::{Question, Scope, Taint, Unit};
use tamis_session::{Ledger, Services};

impl JvmModel {
    /// Everything was reported. What has only one half by now was not observed completely.
    pub(super) fn finish_goals(&mut self, services: &mut Services<'_, '_>) {
        let ledger = &mut *services.ledger;
        for (pid, (report, _)) in self.joiner.without_files() {
            let taint = Taint::Unobserved("the tracer did not see where it began and ended".into());
            self.write(ledger, pid, report, &[&writing::nothing_seen()], Some(taint));
        }
        self.record_classes_without_tests(ledger);
        ledger.write_records();
        self.keep_with_records(ledger);
        self.add_messages(ledger);
        self.remark_missing_agents(ledger);
        self.remark_undivided(ledger);
        for goal in &self.goals {
            if let Some(why) = goal.graph.as_ref().and_then(|graph| graph.record()) {
                ledger.remark(format!("{}: {why}", goal.facts.scope));
            }
        }
        self.rely_on_class_paths(ledger);
    }

    /// With a class path that changed, the command has to be started.
    fn rely_on_class_paths(&self, ledger: &mut Ledger<'_>) {
        let mut files: Vec<_> = Vec::new();
        let goals = self.goals.iter().filter(|g| g.refusal.is_none());
        let paths: BTreeSet<_> = goals.flat_map(|goal| goal.facts.index.paths()).collect();
        for (path, is_folder) in paths {
            add_files(path, is_folder, &mut files);
        }
        files.sort_unstable();
        files.dedup();
        let project = ledger.project();
        let answers = project.fingerprinter.answer_many(&files);
        for ((path, scheme), answer) in files.iter().zip(answers) {
            let question = Question::Path(project.paths.to_portable(path), *scheme);
            let observed = writing::given(question, answer.value);
            ledger.collected.relied_on.push(Observed { detail: answer.detail, ..observed });
        }
    }

    /// What the test classes that did not pass reported.
    fn add_messages(&self, ledger: &mut Ledger<'_>) {
        for goal in &self.goals {
            for (class, &at) in &goal.units {
                if ledger.report(at).failed() {
                    let text = surefire_reports::failures(&goal.reports, class, self.began);
                    let parts = surefire_reports::failed(&goal.reports, class, self.began);
                    ledger.report_mut(at).output = text;
                    ledger.collected.failed_parts.insert(goal.facts.class_key(class), parts);
                }
                ledger.keep_message(at);
            }
        }
        self.add_messages_of_methods(ledger);
    }

    fn add_messages_of_methods(&self, ledger: &mut Ledger<'_>) {
        for at in 0..ledger.collected.reports.len() {
            let report = ledger.report(at);
            let Unit::Method { class, method } = &report.key.unit else { continue };
            let scope = &report.key.scope;
            let its = self.goals.iter().find(|g| Scope::Tool(g.facts.scope.clone()) == *scope);
            let Some(goal) = its else { continue };
            if report.failed() {
                let (folders, began) = (&goal.reports, self.began);
                let text = surefire_reports::failures_of_method(folders, class, method, began);
                ledger.report_mut(at).output = text;
            }
            ledger.keep_message(at);
        }
    }

    fn remark_missing_agents(&self, ledger: &Ledger<'_>) {
        for goal in self.goals.iter().filter(|g| g.refusal.is_none() && g.end.jvms == 0) {
            let unfinished = goal.units.values().any(|&n| ledger.report(n).unfinished());
            if unfinished && goal.end.well {
                ledger.remark(format!(
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
