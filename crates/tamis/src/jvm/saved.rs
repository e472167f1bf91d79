//! The goals of earlier runs, kept beside the records, so that questions about classes can be
//! answered without starting the build: for `why`, `select`, `status`.

use crate::cases::{self, Case};
use crate::jvm::always::AlwaysRun;
use crate::jvm::goal::{GoalFacts, caches};
use crate::jvm::is_scope;
use crate::project::Project;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tamis_classpath::ClassIndex;
use tamis_core::decide::Demand;
use tamis_core::{Hash, PortablePath, TestKey, Value};
use tamis_store::Store;

#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    version: u32,
    scope: String,
    folder: String,
    class_path: Vec<PortablePath>,
    configuration: Value,
    #[serde(default)]
    choices: BTreeMap<String, Value>,
}

const VERSION: u32 = 1;

/// What goals are kept as, beside the records.
const KIND: &str = "goal";

/// Remembers a goal. Losing it costs explanations, not safety.
pub(crate) fn save(project: &Project, goal: &GoalFacts) -> Option<()> {
    let saved = Saved {
        version: VERSION,
        scope: goal.scope.clone(),
        folder: goal.folder.clone(),
        class_path: goal.class_path.iter().map(|p| project.paths.to_portable(p)).collect(),
        configuration: goal.configuration,
        choices: (*goal.choices).clone(),
    };
    let key = Hash::of_parts([goal.scope.as_bytes(), goal.folder.as_bytes()]);
    let store = project.existing_store().ok()??;
    store.keep(KIND, &key.to_string(), &serde_json::to_vec(&saved).ok()?).ok()
}

/// The goals of earlier runs with their classes of now.
pub(crate) fn load(project: &Project) -> Vec<GoalFacts> {
    let store = project.existing_store().ok().flatten();
    let kept = store.and_then(|store| store.kept(KIND).ok()).unwrap_or_default();
    let mut goals = Vec::new();
    for (_, bytes) in kept {
        let Ok(saved) = serde_json::from_slice::<Saved>(&bytes) else { continue };
        if saved.version != VERSION {
            continue;
        }
        let class_path: Vec<PathBuf> =
            saved.class_path.iter().map(|p| project.paths.to_absolute(p)).collect();
        goals.push(GoalFacts {
            scope: saved.scope,
            folder: saved.folder,
            index: Arc::new(ClassIndex::load(&class_path, &caches(project))),
            class_path,
            configuration: saved.configuration,
            choices: Arc::new(saved.choices),
        });
    }
    goals.sort_by(|a, b| (&a.scope, &a.folder).cmp(&(&b.scope, &b.folder)));
    goals
}

/// The test classes that earlier builds knew; what they use is taken as it is compiled now.
pub(crate) fn known_classes(
    project: &Project,
    store: Option<&Store>,
    demand: &Demand,
) -> Result<Vec<Case>> {
    let Some(store) = store else { return Ok(Vec::new()) };
    let always = AlwaysRun::new(project);
    let goals = if always.is_set() { load(project) } else { Vec::new() };
    let case = |key: &TestKey| {
        let goal = goals.iter().find(|g| g.scope == key.suite && g.folder == key.folder);
        let demand = goal.map_or(demand.clone(), |goal| always.or(demand, &key.name, goal));
        cases::of_test_class(project, key, demand)
    };
    let known = store.tests()?.into_iter().filter(|test| is_scope(&test.key.suite));
    Ok(known.map(|test| case(&test.key)).collect())
}
