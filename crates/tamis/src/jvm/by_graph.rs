//! `tamis --engine static mvn test`: the test classes of a goal by the graph of types alone.
//!
//! Nothing of what a test does is looked at but its outcome. The state moves on only for test classes
//! that finished, so a build that is stopped in the middle loses nothing.

use crate::jvm::goal::GoalFacts;
use crate::project::Project;
use std::collections::BTreeMap;
use std::sync::Arc;
use tamis_classpath::Caches;
use tamis_core::{Cause, Decision, Hash, TestKey};
use tamis_report::{TestReport, Way};
use tamis_select_static::strategy::{self, Recorded};
use tamis_select_static::{
    Configuration, EdgeKinds, Libraries, MethodLevel, StaticSettings, TestModule, explain, maven,
    run_surroundings,
};

/// One goal between its decision and its end.
#[derive(Debug)]
pub(crate) struct ByGraph {
    module: TestModule,
    settings: StaticSettings,
    /// A call graph decides instead of the graph of types.
    level: Option<MethodLevel>,
    state: Hash,
    /// Who finished, and whether it passed.
    finished: BTreeMap<String, bool>,
}

impl ByGraph {
    /// Decides about test classes; `words` are those of the command behind its program. `None` where there is no place for the state.
    pub(crate) fn decide(
        project: &Project,
        facts: &GoalFacts,
        test_classes: &str,
        classes: &[String],
        level: Option<MethodLevel>,
        words: &[String],
    ) -> Option<(Self, Vec<TestReport>)> {
        let state = project.store_folder.as_ref().ok()?.join("static");
        let settings = StaticSettings {
            root: project.root().to_path_buf(),
            caches: Caches::of_user(
                Some(state.join("folders")),
                Arc::clone(&project.fingerprinter),
            ),
            state,
            kinds: EdgeKinds::ALL,
            libraries: Libraries::Auto,
            offline: false,
        };
        let (tests, others): (Vec<_>, Vec<_>) =
            facts.class_path.iter().cloned().partition(|p| *p == *test_classes);
        let (_, seen) = facts.configuration.to_raw();
        let home = project.paths.home();
        let module = TestModule {
            name: facts.scope.clone(),
            // The state of `tamis static`, which knows no configuration but what the poms declare.
            key: TestModule::key_of(project.root(), &tests),
            test_classes: tests,
            classes: Vec::new(),
            classpath: others,
            environment: run_surroundings::environment(),
            configuration: Configuration {
                execution: facts.scope.clone(),
                seen: Some(Hash(seen)),
                declared: maven::declared(project.root(), &facts.folder, home, words),
            },
            ..TestModule::default()
        };
        let decisions = strategy::decide(&module, classes, &settings, level.as_ref());
        for note in &decisions.notes {
            eprintln!("tamis: {}: {note}", facts.scope);
        }
        let reports = decisions
            .tests
            .into_iter()
            .map(|test| {
                let key = TestKey {
                    suite: facts.scope.clone(),
                    name: test.name,
                    folder: facts.folder.clone(),
                };
                let Some(reason) = &test.run else {
                    return TestReport::new(key, Decision::OutOfReach, "it reaches no change");
                };
                let what = explain::what(reason);
                let decision = Decision::Run(Cause::ByGraph(what.clone()));
                let way =
                    explain::way(reason).map(|short| Way { short, steps: explain::steps(reason) });
                TestReport { way, ..TestReport::new(key, decision, what) }
            })
            .collect();
        let (state, finished) = (decisions.state, BTreeMap::new());
        let graph = Self { module, settings, level, state, finished };
        Some((graph, reports))
    }

    /// A test class finished. One that runs twice passes if both runs do.
    pub(crate) fn finished(&mut self, class: &str, passed: bool) {
        let known = self.finished.entry(class.to_owned()).or_insert(true);
        *known &= passed;
    }

    /// Moves the state on for all that finished; what stands in the way is said.
    pub(crate) fn record(&self) -> Option<String> {
        let level = self.level.as_ref();
        match strategy::record(&self.module, &self.settings, self.state, &self.finished, level) {
            Ok(Recorded::Written) => None,
            Ok(Recorded::ClassesChanged) => {
                Some("classes were compiled while the tests ran; nothing was recorded".into())
            }
            Ok(Recorded::Blind) => {
                Some("not everything on the classpath can be read; nothing was recorded".into())
            }
            Err(error) => Some(format!("the state could not be written: {error}")),
        }
    }
}
