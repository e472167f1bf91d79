//! What a module resolves to, as keys and values that can be compared.
//!
//! The classpath of a module follows from its dependencies, from the poms of these (which never change
//! in a repository) and from the versions that are managed for anything below them. So managed
//! versions count only for what can be reached; where a pom on the way is not here, all of them do.
//!
//! A property counts by itself unless its name says that it is a version and the poms use it: then its
//! effect stands where it is used. With filtered resources, it counts if one of those names it.

use super::effective::{Dependency, Effective, PomPlace, Poms};
use super::element::Element;
use super::interpolate::names;
use super::merge::{dependency_key, execution_key, plugin_key};
use super::reactor::{Reactor, real};
use crate::files::Files;
use crate::model::{Resolution, join};
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

/// The names of expressions in the filtered resources of a module.
#[derive(Debug, Default)]
pub(crate) struct Filtered(BTreeSet<String>);

impl Filtered {
    pub(crate) fn of(effective: &Effective, module: &str, files: &dyn Files) -> Self {
        let mut found = BTreeSet::new();
        for list in ["resources", "testResources"] {
            let resources = effective.model.at(&["build", list]).map(|e| e.children.as_slice());
            for resource in resources.unwrap_or_default() {
                if resource.text_of("filtering") != Some("true") {
                    continue;
                }
                let folder = resource.text_of("directory").unwrap_or_default();
                let folder =
                    folder.trim_start_matches("${project.basedir}").trim_start_matches('/');
                for file in join(module, folder).map(|f| files.below(&f)).unwrap_or_default() {
                    let content = files.read(&file).unwrap_or_default();
                    let text = String::from_utf8_lossy(&content);
                    found.extend(names(&text).map(str::to_owned));
                    let marked = text.split('@').skip(1).step_by(2);
                    found.extend(marked.filter(|n| n.len() < 80).map(str::to_owned));
                    // Which of the marks open and which close is not known.
                    let marked = text.split('@').skip(2).step_by(2);
                    found.extend(marked.filter(|n| n.len() < 80).map(str::to_owned));
                }
            }
        }
        Self(found)
    }

    fn uses_version(&self) -> bool {
        ["project.version", "pom.version", "version"].iter().any(|n| self.0.contains(*n))
    }
}

pub(crate) fn of(
    effective: &Effective,
    reactor: &Reactor,
    poms: &Poms<'_>,
    filtered: &Filtered,
) -> Resolution {
    let mut found = Resolution::new();
    found.insert("packaging".into(), effective.packaging.clone());
    let mut direct = HashSet::new();
    for dependency in &effective.dependencies {
        direct.insert(dependency.key.clone());
        let value = format!("{} ({})", shown(dependency, reactor), dependency.scope);
        found.insert(format!("dependency {}", dependency.key), value);
    }
    let reach = reach(effective, reactor, poms);
    for (key, managed) in &effective.managed {
        let name = format!("{}:{}", managed.group, managed.artifact);
        if !direct.contains(key) && reach.as_ref().is_none_or(|r| r.contains(&name)) {
            let mut value = shown(managed, reactor);
            if !managed.scope.is_empty() {
                value.push_str(&format!(" ({})", managed.scope));
            }
            found.insert(format!("managed {key}"), value);
        }
    }
    for (name, version) in effective.assembled.missing.iter().chain(&effective.missing) {
        found.insert(format!("pom {name}, which is not here"), real(effective, version));
    }
    for plugin in &effective.plugins {
        add_plugin(plugin, effective, reactor, &mut found);
    }
    add_build(effective, reactor, &mut found);
    add_properties(effective, reactor, filtered, &mut found);
    if filtered.uses_version() {
        found.insert("version in filtered resources".into(), effective.version.clone());
    }
    found
}

/// The version as it counts: a module is a module, whatever its version.
fn shown(dependency: &Dependency, reactor: &Reactor) -> String {
    let version = match reactor.of(dependency) {
        Some(_) => "module",
        None => &dependency.version,
    };
    let optional = if dependency.optional { " optional" } else { "" };
    format!("{version}{optional}{}", dependency.more)
}

/// `group:artifact` of everything that the dependencies lead to; `None` where a pom is not here.
fn reach(of: &Effective, reactor: &Reactor, poms: &Poms<'_>) -> Option<HashSet<String>> {
    let mut reached = HashSet::new();
    let mut seen = HashSet::new();
    let mut open: Vec<Dependency> = of.dependencies.clone();
    while let Some(dependency) = open.pop() {
        if dependency.scope == "system" {
            continue;
        }
        reached.insert(format!("{}:{}", dependency.group, dependency.artifact));
        let managed = of.managed.get(&dependency.key).map(|m| m.version.clone());
        for version in [Some(dependency.version.clone()), managed].into_iter().flatten() {
            if version.is_empty() {
                continue;
            }
            let key = (dependency.group.clone(), dependency.artifact.clone(), version);
            if !seen.insert(key.clone()) {
                continue;
            }
            let next: Rc<Effective> = match reactor.find(&key.0, &key.1, &key.2) {
                Some(module) => Rc::clone(&reactor.modules[module]),
                None => poms.effective(&PomPlace::Repository(key.0, key.1, key.2))?,
            };
            if !(next.missing.is_empty() && next.assembled.missing.is_empty()) {
                return None;
            }
            let further =
                |d: &&Dependency| !d.optional && !matches!(d.scope.as_str(), "test" | "provided");
            open.extend(next.dependencies.iter().filter(further).cloned());
        }
    }
    Some(reached)
}

fn add_plugin(plugin: &Element, of: &Effective, reactor: &Reactor, found: &mut Resolution) {
    let Some(key) = plugin_key(plugin) else { return };
    let (group, artifact) = key.split_once(':').unwrap_or(("", &key));
    let version = version_of(of, reactor, group, artifact, plugin.text_of("version"));
    found.insert(format!("plugin {key}"), version);
    for part in &plugin.children {
        match part.name.as_ref() {
            "groupId" | "artifactId" | "version" | "inherited" => {}
            "dependencies" => {
                for dependency in &part.children {
                    let Some(name) = dependency_key(dependency) else { continue };
                    let (group, rest) = name.split_once(':').unwrap_or(("", &name));
                    let artifact = rest.split(':').next().unwrap_or(rest);
                    let version = dependency.text_of("version");
                    let version = version_of(of, reactor, group, artifact, version);
                    found.insert(format!("plugin {key} dependency {name}"), version);
                }
            }
            "executions" => {
                for execution in &part.children {
                    let id = execution_key(execution).unwrap_or_default();
                    let name = format!("plugin {key} execution {id}");
                    found.insert(name.clone(), String::new());
                    for part in execution.children.iter().filter(|p| p.name != "id") {
                        flatten(&format!("{name} {}", part.name), part, found);
                    }
                }
            }
            name => flatten(&format!("plugin {key} {name}"), part, found),
        }
    }
}

fn version_of(
    of: &Effective,
    reactor: &Reactor,
    group: &str,
    artifact: &str,
    version: Option<&str>,
) -> String {
    let version = real(of, version.unwrap_or_default());
    match reactor.find(group, artifact, &version) {
        Some(_) => "module".into(),
        None => version,
    }
}

/// Parts of `build` by what they concern.
fn add_build(of: &Effective, reactor: &Reactor, found: &mut Resolution) {
    for part in of.model.child("build").map(|b| b.children.as_slice()).unwrap_or_default() {
        match part.name.as_ref() {
            "plugins" | "pluginManagement" | "defaultGoal" => {}
            "extensions" => {
                for extension in &part.children {
                    let text = |name: &str| extension.text_of(name).unwrap_or_default();
                    let (group, artifact) = (text("groupId"), text("artifactId"));
                    let version =
                        version_of(of, reactor, group, artifact, extension.text_of("version"));
                    found.insert(format!("extension {group}:{artifact}"), version);
                }
            }
            name if name.starts_with("test") => flatten(&format!("test build {name}"), part, found),
            name => flatten(&format!("build {name}"), part, found),
        }
    }
    for list in ["repositories", "pluginRepositories"] {
        for repository in of.model.list(list) {
            let id = repository.text_of("id").unwrap_or_default();
            flatten(&format!("repository {id}"), repository, found);
        }
    }
}

fn add_properties(of: &Effective, reactor: &Reactor, filtered: &Filtered, found: &mut Resolution) {
    let mut used = HashSet::new();
    let mut texts = of.assembled.model.clone();
    texts.texts(&mut |text| used.extend(names(text).map(str::to_owned)));
    let of_version: HashSet<String> = reactor
        .modules
        .iter()
        .flat_map(|m| m.assembled.model.text_of("version").into_iter().flat_map(names))
        .map(str::to_owned)
        .collect();
    let known_plugins = has_known_plugins_only(of);
    for property in of.model.list("properties") {
        let name = property.name.as_ref();
        let is_used = used.contains(name);
        let elsewhere = of_version.contains(name) || (is_version(name) && is_used);
        let unused = !is_used && known_plugins && !may_be_parameter(name);
        if filtered.0.contains(name) || !(elsewhere || unused) {
            let text = if filtered.0.contains(name) {
                real(of, &property.text)
            } else {
                property.text.clone()
            };
            found.insert(format!("property {name}"), text);
        }
    }
}

/// Plugins of which it is known that they read no properties but those that their parameters name.
const KNOWN_PLUGINS: &[&str] = &[
    "maven-clean-plugin",
    "maven-compiler-plugin",
    "maven-deploy-plugin",
    "maven-ear-plugin",
    "maven-ejb-plugin",
    "maven-failsafe-plugin",
    "maven-install-plugin",
    "maven-jar-plugin",
    "maven-resources-plugin",
    "maven-site-plugin",
    "maven-source-plugin",
    "maven-surefire-plugin",
    "maven-war-plugin",
];

/// Whether nothing takes part in a build that could look at any property: other plugins, extensions.
fn has_known_plugins_only(of: &Effective) -> bool {
    let known = |plugin: &Element| {
        let key = plugin_key(plugin).unwrap_or_default();
        let name = key.strip_prefix("org.apache.maven.plugins:");
        let extends =
            plugin.child("extensions").is_some() || plugin.child("dependencies").is_some();
        name.is_some_and(|name| KNOWN_PLUGINS.contains(&name)) && !extends
    };
    of.plugins.iter().all(known) && of.model.at(&["build", "extensions"]).is_none()
}

/// Whether a plugin of [`KNOWN_PLUGINS`], or Maven itself, may read a property of this name: their
/// parameters have plain names (`skipTests`, `argLine`) or begin in one of a few ways.
fn may_be_parameter(name: &str) -> bool {
    const STARTS: &[&str] = &[
        "archive",
        "clean",
        "deploy",
        "ear",
        "ejb",
        "failsafe",
        "generatePom",
        "install",
        "it",
        "jar",
        "java",
        "junit",
        "maven",
        "os",
        "project",
        "settings",
        "site",
        "source",
        "surefire",
        "sun",
        "test",
        "user",
        "war",
    ];
    match name.split_once('.') {
        Some((start, _)) => STARTS.contains(&start),
        None => !name.contains('-'),
    }
}

/// Names of properties that hold the version of something. Compilers of other languages take some of
/// those for themselves.
fn is_version(name: &str) -> bool {
    let of_compiler = name.starts_with("maven.compiler") || name.contains("compiler.");
    !of_compiler
        && (name.ends_with(".version")
            || name.ends_with("-version")
            || name.starts_with("version."))
}

/// Every text below an element, by the way to it.
fn flatten(prefix: &str, element: &Element, found: &mut Resolution) {
    let mut value = element.text.clone();
    for (name, text) in &element.attributes {
        value.push_str(&format!(" {name}={text}"));
    }
    if element.children.is_empty() || !value.is_empty() {
        found.insert(prefix.to_owned(), value);
    }
    for (n, child) in element.children.iter().enumerate() {
        let same = element.children.iter().filter(|c| c.name == child.name).count();
        let name = match same {
            1 => format!("{prefix}/{}", child.name),
            _ => format!("{prefix}/{}[{n}]", child.name),
        };
        flatten(&name, child, found);
    }
}
