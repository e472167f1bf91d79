//! The goals of earlier runs, kept beside the records, so that questions about classes can be
//! answered without starting the build: for `why`, `select`, `status`.

use crate::commands::JAVA;
use crate::configuration::Configuration;
use crate::coverage::Measured;
use crate::goal::{GoalFacts, caches};
use crate::sources;
use crate::unbuilt::{Place, Unbuilt};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;
use tamis_classpath::ClassIndex;
use tamis_core::{Hash, PortablePath, Silent, ToolScope, Value};
use tamis_project::Project;
use tamis_store::Store;

#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    version: u32,
    scope: ToolScope,
    folder: String,
    artifact: Option<String>,
    test_classes: Option<PortablePath>,
    words: Vec<String>,
    class_path: Vec<PortablePath>,
    configuration: Configuration,
    choices: BTreeMap<String, Value>,
    measured: Option<Measured>,
}

const VERSION: u32 = 6;

/// What goals are kept as, beside the records.
const KIND: &str = "goal";

/// Remembers a goal. Losing it costs explanations, not safety.
pub(crate) fn save(project: &Project, goal: &GoalFacts) -> Option<()> {
    let portable = |path: &PathBuf| project.paths.to_portable(path);
    let configuration = goal.configuration.clone();
    let configuration = match configuration_before(project, goal) {
        Some(before) => configuration.after(before),
        None => configuration,
    };
    let saved = Saved {
        version: VERSION,
        scope: goal.scope.clone(),
        folder: goal.folder.clone(),
        artifact: goal.artifact.clone(),
        test_classes: goal.test_classes.as_ref().map(portable),
        words: goal.words.clone(),
        class_path: goal.class_path.iter().map(portable).collect(),
        configuration,
        choices: (*goal.choices).clone(),
        measured: goal.measured.clone(),
    };
    let key = Hash::of_parts([goal.id.as_bytes(), goal.folder.as_bytes()]);
    let store = project.existing_store(&Silent).ok()??;
    store.keep(KIND, &key.to_string(), &serde_json::to_vec(&saved).ok()?).ok()
}

/// How the tests of a goal were started the last time.
pub(crate) fn configuration_before(project: &Project, goal: &GoalFacts) -> Option<Configuration> {
    let store = project.existing_store(&Silent).ok()??;
    let is_same = |known: &Saved| known.scope == goal.scope && known.folder == goal.folder;
    saved(&store).find(is_same).map(|known| known.configuration)
}

/// The goals of earlier runs with their classes of now.
pub(crate) fn load(project: &Project, store: &Store) -> Vec<GoalFacts> {
    let known = saved(store).map(|saved| facts(project, saved));
    known
        .map(|goal| GoalFacts { unbuilt: Arc::new(unbuilt(project, store, &goal)), ..goal })
        .collect()
}

fn saved(store: &Store) -> impl Iterator<Item = Saved> {
    let kept = store.kept(KIND).unwrap_or_default().into_iter();
    let saved = kept.filter_map(|(_, bytes)| serde_json::from_slice::<Saved>(&bytes).ok());
    saved.filter(|saved| saved.version == VERSION)
}

/// Where the test classes of a goal are, for who needs nothing else of it.
#[derive(Debug)]
pub(crate) struct GoalPlace {
    pub(crate) scope: ToolScope,
    pub(crate) folder: String,
    pub(crate) test_classes: PathBuf,
}

/// The goals of earlier runs that have a folder of test classes; no class is looked at.
pub(crate) fn places(project: &Project, store: &Store) -> Vec<GoalPlace> {
    let place = |saved: Saved| {
        let test_classes = project.paths.to_absolute(&saved.test_classes?);
        Some(GoalPlace { scope: saved.scope, folder: saved.folder, test_classes })
    };
    saved(store).filter_map(place).collect()
}

/// What of a goal's classes is not built yet.
fn unbuilt(project: &Project, store: &Store, goal: &GoalFacts) -> Unbuilt {
    // `java` builds nothing: its classes are what it runs.
    if goal.scope.tool == JAVA {
        return Unbuilt::default();
    }
    let gone = goal.test_classes.as_ref().filter(|folder| !folder.is_dir());
    if let Some(folder) = gone {
        let folder = folder.strip_prefix(project.root()).unwrap_or(folder).display();
        return Unbuilt::wholly(format!("{folder} is not there"));
    }
    let modules = sources::modules(project.root(), &goal.class_path);
    let Some(edits) = sources::edits(project, store, &modules, &goal.class_path) else {
        let why = "it is not known which sources its classes were made of";
        return Unbuilt::wholly(why.into());
    };
    let processors = goal.index.resource(PROCESSORS) != Value::Absent;
    let (root, class_path) = (project.root(), &goal.class_path[..]);
    let place = Place { root, modules: &modules, class_path, processors };
    Unbuilt::of(&place, &edits).in_portable_form(|path| project.paths.to_portable(path))
}

/// Keeps the sources from which a goal's classes were just made.
pub(crate) fn save_sources(
    project: &Project,
    goal: &GoalFacts,
    done: &mut BTreeSet<PathBuf>,
    began: SystemTime,
) {
    let modules = sources::modules(project.root(), &goal.class_path);
    let new: BTreeSet<PathBuf> = modules.difference(done).cloned().collect();
    let _ = sources::save(project, &new, &goal.class_path, began);
    done.extend(new);
}

/// Where processors of annotations name themselves.
const PROCESSORS: &str = "META-INF/services/javax.annotation.processing.Processor";

fn facts(project: &Project, saved: Saved) -> GoalFacts {
    let absolute = |path: &PortablePath| project.paths.to_absolute(path);
    let class_path: Vec<PathBuf> = saved.class_path.iter().map(absolute).collect();
    GoalFacts {
        id: saved.scope.id(),
        scope: saved.scope,
        folder: saved.folder,
        artifact: saved.artifact,
        test_classes: saved.test_classes.as_ref().map(absolute),
        words: saved.words,
        index: Arc::new(ClassIndex::load(&class_path, &caches(project))),
        class_path,
        configuration: saved.configuration,
        choices: Arc::new(saved.choices),
        measured: saved.measured,
        unbuilt: Arc::default(),
    }
}
