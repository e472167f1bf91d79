//! What one pom comes to: profiles put in, parents inherited, expressions replaced, versions imported
//! and managed, plugins completed.

use super::Surroundings;
use super::element::Element;
use super::interpolate::Values;
use super::merge::{self, dependency_key, plugin_key};
use super::profile;
use crate::files::Files;
use crate::model::{folder_of, join};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// Where a pom is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PomPlace {
    /// In the project, by its path.
    Project(String),
    /// In the local repository, by group, artifact and version.
    Repository(String, String, String),
}

/// A pom with its profiles and everything that it inherits, expressions not replaced.
#[derive(Debug)]
pub(crate) struct Assembled {
    pub(crate) model: Element,
    /// Poms of the project that were read for it, itself first.
    pub(crate) lineage: Vec<String>,
    /// The parent that is part of the project.
    pub(crate) parent: Option<String>,
    /// Parents that are nowhere, by their coordinates.
    pub(crate) missing: Vec<(String, String)>,
}

/// A dependency with everything that was managed for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) key: String,
    pub(crate) group: String,
    pub(crate) artifact: String,
    pub(crate) kind: String,
    pub(crate) classifier: String,
    pub(crate) version: String,
    pub(crate) scope: String,
    pub(crate) optional: bool,
    /// Exclusions and the like, in words.
    pub(crate) more: String,
}

/// What a pom comes to.
#[derive(Debug)]
pub(crate) struct Effective {
    pub(crate) group: String,
    pub(crate) artifact: String,
    pub(crate) version: String,
    pub(crate) packaging: String,
    pub(crate) dependencies: Vec<Dependency>,
    /// Own ones first; the first of a key counts.
    pub(crate) managed: BTreeMap<String, Dependency>,
    /// Version lists that it imports, by group, artifact and version.
    pub(crate) imports: Vec<(String, String, String)>,
    /// Those that are nowhere.
    pub(crate) missing: Vec<(String, String)>,
    /// Plugins that take part, completed by what is managed.
    pub(crate) plugins: Vec<Element>,
    /// The model with expressions replaced; the own version stays an expression.
    pub(crate) model: Element,
    pub(crate) assembled: Rc<Assembled>,
}

/// Plugins that take part although no pom names them, and those that do for packaging `pom`.
const OF_LIFECYCLE: &[&str] = &[
    "maven-clean-plugin",
    "maven-install-plugin",
    "maven-deploy-plugin",
    "maven-site-plugin",
    "maven-resources-plugin",
    "maven-compiler-plugin",
    "maven-surefire-plugin",
    "maven-jar-plugin",
    "maven-war-plugin",
    "maven-ear-plugin",
    "maven-ejb-plugin",
    "maven-rar-plugin",
    "maven-plugin-plugin",
];
const OF_POMS: usize = 4;

/// Parents of parents, imports of imports: deeper is a circle.
const MOST_DEPTH: usize = 32;

/// Reads poms and keeps what it read.
pub(crate) struct Poms<'f> {
    files: &'f dyn Files,
    pub(crate) around: &'f Surroundings,
    /// `group:artifact` to path, for poms that the reactor knows.
    pub(crate) known: BTreeMap<String, String>,
    raw: RefCell<HashMap<PomPlace, Option<Rc<Element>>>>,
    assembled: RefCell<HashMap<PomPlace, Option<Rc<Assembled>>>>,
    effective: RefCell<HashMap<PomPlace, Option<Rc<Effective>>>>,
    /// Poms of the project that were looked for, whether they are there or not.
    pub(crate) looked_at: RefCell<BTreeSet<String>>,
    /// What is wrong with poms of the project.
    pub(crate) broken: RefCell<BTreeMap<String, String>>,
}

impl<'f> Poms<'f> {
    pub(crate) fn new(files: &'f dyn Files, around: &'f Surroundings) -> Self {
        Self {
            files,
            around,
            known: BTreeMap::new(),
            raw: RefCell::default(),
            assembled: RefCell::default(),
            effective: RefCell::default(),
            looked_at: RefCell::default(),
            broken: RefCell::default(),
        }
    }

    /// A pom with its profiles put in.
    pub(crate) fn own(&self, place: &PomPlace) -> Option<Rc<Element>> {
        if let Some(known) = self.raw.borrow().get(place) {
            return known.clone();
        }
        let read = self.read(place).map(Rc::new);
        self.raw.borrow_mut().insert(place.clone(), read.clone());
        read
    }

    fn read(&self, place: &PomPlace) -> Option<Element> {
        let bytes = match place {
            PomPlace::Project(path) => {
                self.looked_at.borrow_mut().insert(path.clone());
                self.files.read(path)
            }
            PomPlace::Repository(group, artifact, version) => {
                let safe =
                    |part: &str| !part.is_empty() && !part.contains(['/', '\\', '$', '[', '(']);
                if !(safe(group) && safe(artifact) && safe(version)) {
                    return None;
                }
                let folder = self.around.repository.join(group.replace('.', "/"));
                let file = format!("{artifact}-{version}.pom");
                std::fs::read(folder.join(artifact).join(version).join(file)).ok()
            }
        };
        let mut model = match Element::parse(&bytes?) {
            Ok(model) => model,
            Err(why) => {
                if let PomPlace::Project(path) = place {
                    self.broken.borrow_mut().insert(path.clone(), why);
                }
                return None;
            }
        };
        let has = |path: &str| match place {
            PomPlace::Project(pom) => match join(folder_of(pom), path) {
                Some(path) => self.files.is_file(&path) || self.files.is_folder(&path),
                None => std::path::Path::new(path).exists(),
            },
            PomPlace::Repository(..) => {
                std::path::Path::new(path).is_absolute() && std::path::Path::new(path).exists()
            }
        };
        let profiles: Vec<Element> =
            profile::active(&model, self.around, &has).into_iter().cloned().collect();
        for profile in &profiles {
            merge::inject(&mut model, profile);
        }
        model.remove("profiles");
        Some(model)
    }

    pub(crate) fn assembled(&self, place: &PomPlace) -> Option<Rc<Assembled>> {
        self.assemble(place, 0)
    }

    fn assemble(&self, place: &PomPlace, depth: usize) -> Option<Rc<Assembled>> {
        if let Some(known) = self.assembled.borrow().get(place) {
            return known.clone();
        }
        let made = self.make(place, depth).map(Rc::new);
        self.assembled.borrow_mut().insert(place.clone(), made.clone());
        made
    }

    fn make(&self, place: &PomPlace, depth: usize) -> Option<Assembled> {
        if depth > MOST_DEPTH {
            return None;
        }
        let mut model = Element::clone(&*self.own(place)?);
        let mut lineage: Vec<String> = match place {
            PomPlace::Project(path) => vec![path.clone()],
            PomPlace::Repository(..) => Vec::new(),
        };
        let (mut parent_path, mut missing) = (None, Vec::new());
        if let Some(parent) = model.child("parent").cloned() {
            let found = self.parent_place(place, &parent);
            match found.as_ref().and_then(|p| Some((p, self.assemble(p, depth + 1)?))) {
                Some((place, above)) => {
                    merge::inherit(&mut model, &above.model);
                    lineage.extend(above.lineage.iter().cloned());
                    missing.extend(above.missing.iter().cloned());
                    if let PomPlace::Project(path) = place {
                        parent_path = Some(path.clone());
                    }
                }
                None => {
                    for name in ["groupId", "version"] {
                        if let (None, Some(text)) = (model.text_of(name), parent.text_of(name)) {
                            let text = text.to_owned();
                            model.make(name).text = text;
                        }
                    }
                    let text = |name| parent.text_of(name).unwrap_or_default().to_owned();
                    let name = format!("{}:{}", text("groupId"), text("artifactId"));
                    missing.push((name, text("version")));
                }
            }
        }
        Some(Assembled { model, lineage, parent: parent_path, missing })
    }

    /// Where a parent is: beside the pom, among the modules, in the repository.
    fn parent_place(&self, place: &PomPlace, parent: &Element) -> Option<PomPlace> {
        let group = parent.text_of("groupId")?;
        let artifact = parent.text_of("artifactId")?;
        let version = parent.text_of("version").unwrap_or_default();
        if let PomPlace::Project(pom) = place {
            let relative = match parent.child("relativePath") {
                Some(path) => Some(path.text.as_str()).filter(|t| !t.is_empty()),
                None => Some("../pom.xml"),
            };
            let beside = relative.and_then(|r| join(folder_of(pom), r)).map(|path| {
                match self.files.is_folder(&path) {
                    true => join(&path, "pom.xml").unwrap_or(path),
                    false => path,
                }
            });
            let known = self.known.get(&format!("{group}:{artifact}")).cloned();
            for path in beside.into_iter().chain(known) {
                if path != *pom && self.is_pom_of(&path, group, artifact, version) {
                    return Some(PomPlace::Project(path));
                }
            }
        }
        let user = &self.around.user;
        let values = Values { model: parent, user, keep_version: false };
        let version = values.text(version);
        Some(PomPlace::Repository(group.to_owned(), artifact.to_owned(), version))
    }

    /// Whether the pom at a path has these coordinates; versions that are expressions are taken as
    /// they are meant.
    fn is_pom_of(&self, path: &str, group: &str, artifact: &str, version: &str) -> bool {
        let Some(model) = self.own(&PomPlace::Project(path.to_owned())) else { return false };
        let own = |name: &str| {
            model.text_of(name).or_else(|| model.child("parent").and_then(|p| p.text_of(name)))
        };
        let its = own("version").unwrap_or_default();
        own("groupId") == Some(group)
            && model.text_of("artifactId") == Some(artifact)
            && (its == version || its.contains("${") || version.contains("${"))
    }

    pub(crate) fn effective(&self, place: &PomPlace) -> Option<Rc<Effective>> {
        self.effective_at(place, 0)
    }

    fn effective_at(&self, place: &PomPlace, depth: usize) -> Option<Rc<Effective>> {
        if depth > MOST_DEPTH {
            return None;
        }
        if let Some(known) = self.effective.borrow().get(place) {
            return known.clone();
        }
        let made = self.resolve(place, depth).map(Rc::new);
        self.effective.borrow_mut().insert(place.clone(), made.clone());
        made
    }

    fn resolve(&self, place: &PomPlace, depth: usize) -> Option<Effective> {
        let assembled = self.assembled(place)?;
        let in_project = matches!(place, PomPlace::Project(_));
        let nothing = BTreeMap::new();
        let user = if in_project { &self.around.user } else { &nothing };
        let values = Values { model: &assembled.model, user, keep_version: in_project };
        let own = |name: &str| values.real(assembled.model.text_of(name).unwrap_or_default());
        let mut model = assembled.model.clone();
        model.texts(&mut |text| {
            if text.contains("${") {
                *text = values.text(text);
            }
        });
        let mut managed = BTreeMap::new();
        let (mut imports, mut missing) = (Vec::new(), Vec::new());
        let listed = model.at(&["dependencyManagement", "dependencies"]);
        for element in listed.map(|l| l.children.as_slice()).unwrap_or_default() {
            let Some(one) = dependency(element, &values) else { continue };
            if one.scope == "import" && one.kind == "pom" {
                imports.push((one.group, one.artifact, one.version));
            } else {
                managed.entry(one.key.clone()).or_insert(one);
            }
        }
        for (group, artifact, version) in &imports {
            match self.list(group, artifact, version, depth) {
                Some(list) => {
                    for (key, one) in &list.managed {
                        managed.entry(key.clone()).or_insert_with(|| one.clone());
                    }
                    missing.extend(list.missing.iter().cloned());
                }
                None => missing.push((format!("{group}:{artifact}"), version.clone())),
            }
        }
        let dependencies = model.list("dependencies").iter();
        let dependencies = dependencies
            .filter_map(|e| Some(complete(dependency(e, &values)?, &managed)))
            .collect();
        let packaging = model.text_of("packaging").unwrap_or("jar").to_owned();
        Some(Effective {
            group: own("groupId"),
            artifact: own("artifactId"),
            version: own("version"),
            plugins: plugins(&model, &packaging),
            packaging,
            dependencies,
            managed,
            imports,
            missing,
            model,
            assembled,
        })
    }

    /// An imported version list.
    fn list(
        &self,
        group: &str,
        artifact: &str,
        version: &str,
        depth: usize,
    ) -> Option<Rc<Effective>> {
        let known =
            self.known.get(&format!("{group}:{artifact}")).map(|p| PomPlace::Project(p.clone()));
        let in_project = known.and_then(|place| self.effective_at(&place, depth + 1));
        in_project.filter(|e| e.version == version).or_else(|| {
            let place = PomPlace::Repository(group.into(), artifact.into(), version.into());
            self.effective_at(&place, depth + 1)
        })
    }
}

fn dependency(element: &Element, values: &Values<'_>) -> Option<Dependency> {
    let text = |name: &str| values.real(element.text_of(name).unwrap_or_default());
    let mut exclusions: Vec<String> = element
        .list("exclusions")
        .iter()
        .map(|e| {
            let part = |name: &str| e.text_of(name).unwrap_or("*").to_owned();
            format!(" without {}:{}", part("groupId"), part("artifactId"))
        })
        .collect();
    exclusions.sort();
    let system = element.text_of("systemPath").map(|p| format!(" at {p}")).unwrap_or_default();
    Some(Dependency {
        key: dependency_key(element)?,
        group: text("groupId"),
        artifact: text("artifactId"),
        kind: element.text_of("type").unwrap_or("jar").to_owned(),
        classifier: text("classifier"),
        version: text("version"),
        scope: text("scope"),
        optional: element.text_of("optional") == Some("true"),
        more: exclusions.concat() + &system,
    })
}

/// A dependency with what is managed for it.
fn complete(mut dependency: Dependency, managed: &BTreeMap<String, Dependency>) -> Dependency {
    if let Some(managed) = managed.get(&dependency.key) {
        if dependency.version.is_empty() {
            dependency.version.clone_from(&managed.version);
        }
        if dependency.scope.is_empty() {
            dependency.scope.clone_from(&managed.scope);
        }
        if dependency.more.is_empty() {
            dependency.more.clone_from(&managed.more);
        }
        dependency.optional |= managed.optional;
    }
    if dependency.scope.is_empty() {
        dependency.scope = "compile".into();
    }
    dependency
}

/// The plugins that take part in a build.
fn plugins(model: &Element, packaging: &str) -> Vec<Element> {
    let managed = model.at(&["build", "pluginManagement", "plugins"]);
    let managed = managed.map(|m| m.children.as_slice()).unwrap_or_default();
    let find = |key: &Option<String>| managed.iter().find(|m| plugin_key(m) == *key);
    let named = model.at(&["build", "plugins"]).map(|p| p.children.clone()).unwrap_or_default();
    let mut all: Vec<Element> = Vec::new();
    for mut plugin in named {
        if let Some(managed) = find(&plugin_key(&plugin)) {
            merge::merge_plugin(&mut plugin, managed);
        }
        all.push(plugin);
    }
    let count = if packaging == "pom" { OF_POMS } else { OF_LIFECYCLE.len() };
    for name in &OF_LIFECYCLE[..count] {
        let key = Some(format!("org.apache.maven.plugins:{name}"));
        if !all.iter().any(|p| plugin_key(p) == key) {
            all.extend(find(&key).cloned());
        }
    }
    all
}
