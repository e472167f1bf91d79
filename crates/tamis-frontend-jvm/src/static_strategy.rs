//! `tamis --select static mvn test`: the test classes of a goal by the graph of types alone.
//!
//! Nothing of what a test does is looked at but its outcome. The state moves on only for test classes
//! that finished, so a build that is stopped in the middle loses nothing.

use crate::goal::GoalFacts;
use crate::saved_goals::GoalPlace;
use anyhow::{Result, anyhow};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tamis_classpath::Caches;
use tamis_core::{Cause, Decision, Evidence, Hash, Planned, Scope, TestKey, Unit, Way};
use tamis_project::{NoScopes, Project, World};
use tamis_select_static::lock::Lock;
use tamis_select_static::state::State;
use tamis_select_static::strategy::{self, Recorded};
use tamis_select_static::{
    Configuration, EdgeKinds, Libraries, MethodLevel, StaticSettings, TestModule, explain, maven,
    method_level, run_surroundings,
};
use tamis_session::{GraphDecision, GraphStrategy};

/// One goal between its decision and its end.
#[derive(Debug)]
struct StaticStrategy {
    module: TestModule,
    settings: StaticSettings,
    /// A call graph decides instead of the graph of types.
    level: Option<MethodLevel>,
    state: Hash,
    /// Who finished, and whether it passed.
    finished: BTreeMap<String, bool>,
}

/// Decides about test classes.
pub(crate) fn decide(
    project: &Project,
    facts: &GoalFacts,
    units: &[TestKey],
    calls: bool,
) -> Result<GraphDecision> {
    let state = state_folder(project)?;
    let settings = StaticSettings {
        root: project.root().to_path_buf(),
        caches: Caches::of_user(Some(state.join("folders")), Arc::clone(&project.fingerprinter)),
        state,
        kinds: EdgeKinds::ALL,
        libraries: Libraries::Auto,
        offline: false,
        watched: World::new(project, &NoScopes).watched(),
    };
    let module = module(project, facts);
    let level = calls.then(MethodLevel::default);
    let classes: Vec<String> = units.iter().map(|key| key.unit.name().into_owned()).collect();
    let decisions = strategy::decide(&module, &classes, &settings, level.as_ref());
    let mut remarks: Vec<String> =
        decisions.notes.iter().map(|note| format!("{}: {note}", facts.scope)).collect();
    let planned: Vec<Planned> = decisions
        .tests
        .into_iter()
        .map(|test| {
            let key = facts.class_key(&test.name);
            let Some(reason) = &test.run else { return Planned::new(key, Decision::OutOfReach) };
            let decision = Decision::Run(Cause::ByGraph(explain::what(reason)));
            let way =
                explain::way(reason).map(|short| Way { short, steps: explain::steps(reason) });
            Planned { key, decision, evidence: Evidence { way, ..Evidence::default() } }
        })
        .collect();
    if calls && planned.iter().any(Planned::skips) {
        remarks.push(method_level::WARNING.to_owned());
    }
    let (state, finished) = (decisions.state, BTreeMap::new());
    let strategy = Box::new(StaticStrategy { module, settings, level, state, finished });
    Ok(GraphDecision { planned, strategy, remarks })
}

/// The goal as a module of the static strategy. Its state is that of `tamis static` for the same test
/// classes, which knows no configuration but what the poms declare.
fn module(project: &Project, facts: &GoalFacts) -> TestModule {
    let (tests, others): (Vec<_>, Vec<_>) =
        facts.class_path.iter().cloned().partition(|p| Some(p) == facts.test_classes.as_ref());
    let (_, seen) = facts.configuration.value.to_raw();
    let home = project.paths.home();
    TestModule {
        name: facts.scope.to_string(),
        key: TestModule::key_of(project.root(), &tests),
        test_classes: tests,
        classes: Vec::new(),
        classpath: others,
        environment: run_surroundings::environment(),
        configuration: Configuration {
            execution: facts.id.clone(),
            seen: Some(Hash(seen)),
            declared: maven::declared(project.root(), &facts.folder, home, &facts.words),
        },
        ..TestModule::default()
    }
}

/// The test classes that the static strategy has a state of, by the goals of earlier runs.
pub(crate) fn remembered(project: &Project, goals: Vec<GoalPlace>) -> Vec<TestKey> {
    let Ok(folder) = state_folder(project) else { return Vec::new() };
    let units = |goal: GoalPlace| {
        let tests = state_of(project, &folder, &goal).tests();
        let scope = Scope::Tool(goal.scope);
        let key = move |test| TestKey {
            scope: scope.clone(),
            unit: Unit::Class(test),
            folder: goal.folder.clone(),
        };
        tests.into_iter().map(key)
    };
    goals.into_iter().flat_map(units).collect()
}

/// Forgets a test class, in all executions of its module: they share one state.
pub(crate) fn forget(project: &Project, goals: Vec<GoalPlace>, key: &TestKey) -> Result<usize> {
    let (Unit::Class(class) | Unit::Method { class, .. }) = &key.unit else { return Ok(0) };
    let folder = state_folder(project)?;
    let is_its = |goal: &GoalPlace| {
        Scope::Tool(goal.scope.clone()) == key.scope && goal.folder == key.folder
    };
    if !folder.is_dir() {
        return Ok(0);
    }
    let _lock = Lock::take(&folder, || {})?;
    let mut forgotten = 0;
    for goal in goals.iter().filter(|goal| is_its(goal)) {
        forgotten += state_of(project, &folder, goal).forget(class)?;
    }
    Ok(forgotten)
}

fn state_of(project: &Project, folder: &Path, goal: &GoalPlace) -> State {
    let tests = std::slice::from_ref(&goal.test_classes);
    State::new(folder, &TestModule::key_of(project.root(), tests))
}

fn state_folder(project: &Project) -> Result<PathBuf> {
    let store = project.store_folder.as_ref();
    Ok(store.map_err(|why| anyhow!(why.clone()))?.join("static"))
}

impl GraphStrategy for StaticStrategy {
    fn finished(&mut self, unit: &Unit, passed: bool) {
        let known = self.finished.entry(unit.name().into_owned()).or_insert(true);
        *known &= passed;
    }

    fn record(&self) -> Option<String> {
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
