//! The modules of a Maven build and how they use each other.

use super::Surroundings;
use super::effective::{Dependency, Effective, PomPlace, Poms};
use super::element::Element;
use super::interpolate::Values;
use super::merge::plugin_key;
use super::resolution::{self, Filtered};
use crate::BuildError;
use crate::files::Files;
use crate::model::{BuildTool, EdgeKind, Graph, Module, folder_of, join};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Files in the root folder that Maven looks at for the whole build.
const GLOBAL: &[&str] = &[
    ".mvn/extensions.xml",
    ".mvn/jvm.config",
    ".mvn/maven.config",
    ".mvn/wrapper/maven-wrapper.properties",
    "mvnw",
];

/// The modules of the build that starts with this pom, in the order in which poms name them. What
/// modules resolve to is worked out only where it is asked for: it costs much more than the graph.
pub fn read(
    files: &dyn Files,
    root: &str,
    around: &Surroundings,
    with_resolution: bool,
) -> Result<Graph, BuildError> {
    let mut poms = Poms::new(files, around);
    let mut graph = Graph::new(BuildTool::Maven);
    let Discovered { poms: paths, absent } = discover(&poms, files, root)?;
    let note = |a: &Absent| format!("{} names the module {}, which is not there", a.pom, a.module);
    graph.notes.extend(absent.iter().map(note));
    remember(&mut poms, &paths);
    let mut modules: Vec<Rc<Effective>> = Vec::new();
    for path in &paths {
        let place = PomPlace::Project(path.clone());
        modules.push(poms.effective(&place).ok_or_else(|| unreadable(&poms, path))?);
    }
    let reactor = Reactor::new(&modules);
    let mut names = HashSet::with_capacity(paths.len());
    for (path, effective) in paths.iter().zip(&modules) {
        let folder = folder_of(path).to_owned();
        let name = format!("{}:{}", effective.group, effective.artifact);
        if !names.insert(name.clone()) {
            graph.notes.push(format!("{name} is defined twice; {path} is left out of the graph"));
        }
        let mut resolution = BTreeMap::new();
        if with_resolution {
            let filtered = Filtered::of(effective, &folder, files);
            resolution = resolution::of(effective, &reactor, &poms, &filtered);
        }
        graph.modules.push(Module {
            name,
            version: effective.version.clone(),
            definition: path.clone(),
            packaging: effective.packaging.clone(),
            resolution,
            test_folders: test_folders(effective, &folder),
            resource_folders: resource_folders(effective, &folder),
            unknown: None,
            tasks: Vec::new(),
            folder,
        });
        graph.definitions.extend(effective.assembled.lineage.iter().cloned());
    }
    let places: HashMap<&str, usize> =
        paths.iter().enumerate().map(|(number, path)| (path.as_str(), number)).collect();
    for (number, effective) in modules.iter().enumerate() {
        add_edges(&mut graph, number, effective, &reactor, &places);
    }
    graph.definitions.extend(poms.looked_at.borrow().iter().cloned());
    graph.global.extend(GLOBAL.iter().filter_map(|file| join(folder_of(root), file)));
    Ok(graph)
}

/// The pom of the whole build that a pom belongs to: the topmost one above it that names it, directly
/// or through others.
pub fn root_of(files: &dyn Files, pom: &str, around: &Surroundings) -> String {
    let mut root = pom.to_owned();
    let mut folder = folder_of(pom).to_owned();
    while folder != "." {
        folder = folder_of(&folder).to_owned();
        let Some(above) = join(&folder, "pom.xml").filter(|p| files.is_file(p)) else { continue };
        let poms = Poms::new(files, around);
        let found = discover(&poms, files, &above);
        if found.is_ok_and(|found| found.poms.iter().any(|p| p == pom)) {
            root = above;
        }
    }
    root
}

pub(super) fn unreadable(poms: &Poms<'_>, path: &str) -> BuildError {
    match poms.broken.borrow().get(path) {
        Some(why) => BuildError(format!("{path} cannot be read: {why}")),
        None => BuildError(format!("{path} is missing, or inherits from itself")),
    }
}

/// Makes poms known by their coordinates, so that others find them as their parent.
pub(super) fn remember(poms: &mut Poms<'_>, paths: &[String]) {
    for path in paths {
        if let Some(name) = raw_name(poms, path) {
            poms.known.entry(name).or_insert_with(|| path.clone());
        }
    }
}

/// A module that a pom names and that is not there.
#[derive(Debug)]
pub(super) struct Absent {
    pub(super) pom: String,
    pub(super) module: String,
}

/// The poms of all modules, and the modules that have none.
#[derive(Debug, Default)]
pub(super) struct Discovered {
    pub(super) poms: Vec<String>,
    pub(super) absent: Vec<Absent>,
}

pub(super) fn discover(
    poms: &Poms<'_>,
    files: &dyn Files,
    root: &str,
) -> Result<Discovered, BuildError> {
    let mut found = Discovered::default();
    let mut seen = BTreeSet::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let model =
            poms.own(&PomPlace::Project(path.clone())).ok_or_else(|| unreadable(poms, &path))?;
        let listed = model.list("modules").iter().chain(model.list("subprojects"));
        let mut below = Vec::new();
        for module in listed {
            let name = module_name(poms, files, &path, &module.text);
            let pom = join(folder_of(&path), &name).map(|p| match files.is_folder(&p) {
                true => join(&p, "pom.xml").unwrap_or(p),
                false => p,
            });
            match pom.filter(|p| files.is_file(p)) {
                Some(pom) => below.push(pom),
                None => found.absent.push(Absent { pom: path.clone(), module: name }),
            }
        }
        found.poms.push(path);
        open.extend(below.into_iter().rev());
    }
    Ok(found)
}

/// The name of a module with its expressions replaced: by the pom itself, by what it inherits, by what is around.
fn module_name(poms: &Poms<'_>, files: &dyn Files, pom: &str, text: &str) -> String {
    if !text.contains("${") {
        return text.to_owned();
    }
    // With poms of their own: which parents can be found by their coordinates is not known yet, and must not be
    // remembered as if it were.
    let alone = Poms::new(files, poms.around);
    let Some(assembled) = alone.assembled(&PomPlace::Project(pom.to_owned())) else {
        return text.to_owned();
    };
    let values = Values { model: &assembled.model, user: &poms.around.user, keep_version: false };
    let name = poms.around.complete(&values.real(text));
    name.trim_start_matches("${project.basedir}/").to_owned()
}

fn raw_name(poms: &Poms<'_>, path: &str) -> Option<String> {
    let model = poms.own(&PomPlace::Project(path.to_owned()))?;
    let parent = || model.child("parent")?.text_of("groupId");
    let group = model.text_of("groupId").or_else(parent)?;
    Some(format!("{group}:{}", model.text_of("artifactId")?))
}

/// Modules by their coordinates.
#[derive(Debug)]
pub(crate) struct Reactor {
    by_name: HashMap<String, Vec<(usize, String)>>,
    pub(crate) modules: Vec<Rc<Effective>>,
}

impl Reactor {
    fn new(modules: &[Rc<Effective>]) -> Self {
        let mut by_name: HashMap<String, Vec<(usize, String)>> = HashMap::new();
        for (number, module) in modules.iter().enumerate() {
            let name = format!("{}:{}", module.group, module.artifact);
            by_name.entry(name).or_default().push((number, module.version.clone()));
        }
        Self { by_name, modules: modules.to_vec() }
    }

    /// The module that these coordinates stand for. Another version comes from a repository; a range,
    /// or no version, may well be the module.
    pub(crate) fn find(&self, group: &str, artifact: &str, version: &str) -> Option<usize> {
        let found = self.by_name.get(&format!("{group}:{artifact}"))?;
        let open = version.is_empty() || version.contains(['[', '(', ',', '$']);
        found.iter().find(|(_, v)| open || v == version).map(|(n, _)| *n)
    }

    pub(crate) fn of(&self, dependency: &Dependency) -> Option<usize> {
        self.find(&dependency.group, &dependency.artifact, &dependency.version)
    }
}

fn add_edges(
    graph: &mut Graph,
    from: usize,
    of: &Effective,
    reactor: &Reactor,
    places: &HashMap<&str, usize>,
) {
    if let Some(parent) = &of.assembled.parent
        && let Some(&to) = places.get(parent.as_str())
    {
        graph.add_edge(from, to, EdgeKind::Parent);
    }
    for dependency in of.dependencies.iter().filter(|d| d.scope != "system") {
        if let Some(to) = reactor.of(dependency) {
            graph.add_edge(from, to, edge_kind(dependency));
        }
    }
    for (group, artifact, version) in &of.imports {
        if let Some(to) = reactor.find(group, artifact, version) {
            graph.add_edge(from, to, EdgeKind::Imports);
        }
    }
    let real = |element: &Element, name: &str| real(of, element.text_of(name).unwrap_or_default());
    let mut tools: Vec<(String, String, String)> = Vec::new();
    for plugin in &of.plugins {
        if let Some((group, artifact)) =
            plugin_key(plugin).as_deref().and_then(|k| k.split_once(':'))
        {
            tools.push((group.to_owned(), artifact.to_owned(), real(plugin, "version")));
        }
        let processors = plugin.at(&["configuration", "annotationProcessorPaths"]);
        let processors = processors.map(|p| p.children.as_slice()).unwrap_or_default();
        for artifact in plugin.list("dependencies").iter().chain(processors) {
            tools.push((
                real(artifact, "groupId"),
                real(artifact, "artifactId"),
                real(artifact, "version"),
            ));
        }
    }
    let extensions = of.model.at(&["build", "extensions"]);
    for extension in extensions.map(|e| e.children.as_slice()).unwrap_or_default() {
        tools.push((
            real(extension, "groupId"),
            real(extension, "artifactId"),
            real(extension, "version"),
        ));
    }
    for (group, artifact, version) in tools {
        if let Some(to) = reactor.find(&group, &artifact, &version) {
            graph.add_edge(from, to, EdgeKind::BuildsWith);
        }
    }
}

/// A text of the model with the version of the project put in.
pub(crate) fn real(of: &Effective, text: &str) -> String {
    let user = BTreeMap::new();
    Values { model: &of.assembled.model, user: &user, keep_version: false }.real(text)
}

fn edge_kind(dependency: &Dependency) -> EdgeKind {
    let of_tests = dependency.kind == "test-jar" || dependency.classifier == "tests";
    match (of_tests, dependency.scope == "test") {
        (true, true) => EdgeKind::UsesTestsInTests,
        (true, false) => EdgeKind::UsesTests,
        (false, true) => EdgeKind::UsesInTests,
        (false, false) => EdgeKind::Uses,
    }
}

/// A folder of the model, as it is named there or by custom.
fn folder(of: &Effective, name: &str, usual: &str, module: &str) -> Option<String> {
    let named = of.model.at(&["build", name]).map(|e| e.text.as_str()).filter(|t| !t.is_empty());
    below(named.unwrap_or(usual), module)
}

fn below(path: &str, module: &str) -> Option<String> {
    join(module, path.trim_start_matches("${project.basedir}").trim_start_matches('/'))
}

fn test_folders(of: &Effective, module: &str) -> Vec<String> {
    let mut folders: Vec<String> = folder(of, "testSourceDirectory", "src/test/java", module)
        .into_iter()
        .chain(listed(of, "testResources", module))
        .collect();
    if of.model.at(&["build", "testSourceDirectory"]).is_none() {
        folders.extend(join(module, "src/test"));
    }
    // A folder that is also compiled or packed is not for tests alone.
    let main: Vec<String> = folder(of, "sourceDirectory", "src/main/java", module)
        .into_iter()
        .chain(listed(of, "resources", module))
        .collect();
    folders
        .retain(|f| !main.iter().any(|m| crate::model::inside(m, f) || crate::model::inside(f, m)));
    folders
}

fn resource_folders(of: &Effective, module: &str) -> Vec<String> {
    ["src/main", "src/test"]
        .iter()
        .filter_map(|usual| join(module, usual))
        .chain(listed(of, "resources", module))
        .chain(listed(of, "testResources", module))
        .collect()
}

fn listed(of: &Effective, name: &str, module: &str) -> Vec<String> {
    let resources =
        of.model.at(&["build", name]).map(|e| e.children.as_slice()).unwrap_or_default();
    resources.iter().filter_map(|r| below(r.text_of("directory")?, module)).collect()
}

#[cfg(test)]
mod tests;
