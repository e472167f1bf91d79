//! Cargo workspaces, read from their manifests: members, path dependencies, and what a package
//! inherits from the workspace.
//!
//! What is not seen: `[patch]` sections (a change of them concerns all packages), and which features or
//! targets a command builds; every dependency counts.

use crate::BuildError;
use crate::exclude::first_match;
use crate::files::Files;
use crate::model::{BuildTool, EdgeKind, Graph, Module, Resolution, folder_of, join};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Files in the root folder that concern every package.
const GLOBAL: &[&str] = &[
    "Cargo.lock",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".cargo/config.toml",
    ".cargo/config",
    "clippy.toml",
];

/// Parts of `[package]` that change nothing about what is built.
const DESCRIPTIVE: &[&str] = &[
    "version",
    "description",
    "documentation",
    "homepage",
    "repository",
    "keywords",
    "categories",
    "license",
    "license-file",
    "readme",
    "authors",
    "publish",
];

const DEPENDENCIES: &[(&str, EdgeKind)] = &[
    ("dependencies", EdgeKind::Uses),
    ("dev-dependencies", EdgeKind::UsesInTests),
    ("build-dependencies", EdgeKind::BuildsWith),
];

/// The packages of the workspace whose manifest this is.
pub fn read(files: &dyn Files, root: &str) -> Result<Graph, BuildError> {
    let workspace = manifest(files, root)?;
    let folder = folder_of(root);
    let mut graph = Graph::new(BuildTool::Cargo);
    let mut manifests: BTreeMap<String, Table> = BTreeMap::new();
    let mut open: Vec<String> = Vec::new();
    if workspace.contains_key("package") {
        open.push(root.to_owned());
    }
    let section = workspace.get("workspace").and_then(Value::as_table);
    let list = |key: &str| -> Vec<String> {
        let list = section.and_then(|s| s.get(key)).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let excluded: Vec<String> = list("exclude").iter().filter_map(|e| join(folder, e)).collect();
    for member in list("members") {
        for found in expand(files, folder, &member) {
            open.extend(join(&found, "Cargo.toml").filter(|m| files.is_file(m)));
        }
    }
    while let Some(path) = open.pop() {
        let is_excluded = excluded.iter().any(|e| crate::model::inside(&path, e));
        if manifests.contains_key(&path) || (is_excluded && path != root) {
            continue;
        }
        let table = manifest(files, &path)?;
        // Path dependencies below the workspace are members by themselves.
        for (_, dependency) in dependencies(&table) {
            let Some(target) = dependency.get("path").and_then(Value::as_str) else { continue };
            let target = join(folder_of(&path), target).and_then(|p| join(&p, "Cargo.toml"));
            let inside = |p: &String| crate::model::inside(p, folder) && files.is_file(p);
            open.extend(target.filter(inside));
        }
        manifests.insert(path, table);
    }
    for (path, table) in &manifests {
        let name = table.get("package").and_then(|p| p.get("name")).and_then(Value::as_str);
        let Some(name) = name else { continue };
        let folder = folder_of(path).to_owned();
        graph.modules.push(Module {
            name: name.to_owned(),
            version: String::new(),
            definition: path.clone(),
            packaging: if table.contains_key("lib") { "lib".into() } else { "package".into() },
            resolution: resolution(table, &workspace),
            test_folders: ["tests", "benches", "examples"]
                .iter()
                .filter_map(|t| join(&folder, t))
                .collect(),
            resource_folders: Vec::new(),
            unknown: None,
            folder,
            tasks: Vec::new(),
        });
        graph.definitions.insert(path.clone());
    }
    graph.definitions.insert(root.to_owned());
    graph.global.extend(GLOBAL.iter().filter_map(|file| join(folder, file)));
    for (path, table) in &manifests {
        let Some(from) = graph.modules.iter().position(|m| m.definition == *path) else { continue };
        for (kind, dependency) in named_dependencies(table, &workspace, folder_of(path), folder) {
            if let Some(to) = graph.modules.iter().position(|m| m.folder == dependency) {
                graph.add_edge(from, to, kind);
            }
        }
    }
    Ok(graph)
}

/// The manifest of the workspace that a folder belongs to.
pub fn root_of(files: &dyn Files, folder: &str) -> Option<String> {
    let mut own = None;
    let mut at = Some(folder.to_owned());
    while let Some(here) = at {
        let path = join(&here, "Cargo.toml").unwrap_or_default();
        if let Ok(table) = manifest(files, &path) {
            if table.contains_key("workspace") {
                return Some(path);
            }
            own.get_or_insert(path);
        }
        at = (here != ".").then(|| folder_of(&here).to_owned());
    }
    own
}

fn manifest(files: &dyn Files, path: &str) -> Result<Table, BuildError> {
    let bytes = files.read(path).ok_or_else(|| BuildError(format!("{path} cannot be read")))?;
    let text = String::from_utf8_lossy(&bytes);
    text.parse()
        .map_err(|e: toml::de::Error| BuildError(format!("{path} is no manifest: {}", e.message())))
}

/// The folders that a member pattern stands for.
fn expand(files: &dyn Files, folder: &str, pattern: &str) -> Vec<String> {
    let Some(pattern) = join(folder, pattern) else { return Vec::new() };
    let mut found = vec![".".to_owned()];
    for part in pattern.split('/').filter(|p| *p != ".") {
        let is_glob = part.contains(['*', '?', '[']);
        found = found
            .iter()
            .flat_map(|at| match is_glob {
                false => join(at, part).into_iter().collect::<Vec<_>>(),
                true => {
                    let patterns = [part.to_owned()];
                    let names = files.folders(at).into_iter();
                    let names =
                        names.filter(|n| first_match(&patterns, n).is_ok_and(|m| m.is_some()));
                    names.filter_map(|n| join(at, &n)).collect()
                }
            })
            .collect();
    }
    found.retain(|f| files.is_folder(f));
    found
}

/// Every table that holds dependencies, with what it means.
fn tables(table: &Table) -> Vec<(EdgeKind, &Table)> {
    let targets = table.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flatten().filter_map(|(_, t)| t.as_table());
    let mut found = Vec::new();
    for part in std::iter::once(table).chain(targets) {
        for (name, kind) in DEPENDENCIES {
            // Both spellings are allowed.
            for name in [(*name).to_owned(), name.replace('-', "_")] {
                found.extend(part.get(&name).and_then(Value::as_table).map(|t| (*kind, t)));
            }
        }
    }
    found
}

fn dependencies(table: &Table) -> Vec<(EdgeKind, &Value)> {
    let tables = tables(table).into_iter();
    tables.flat_map(|(kind, t)| t.iter().map(move |(_, value)| (kind, value))).collect()
}

/// The folders of path dependencies, also of those that the workspace names.
fn named_dependencies(
    table: &Table,
    workspace: &Table,
    folder: &str,
    root: &str,
) -> Vec<(EdgeKind, String)> {
    let shared = workspace.get("workspace").and_then(|w| w.get("dependencies"));
    let mut found = Vec::new();
    for (kind, table) in tables(table) {
        for (name, value) in table {
            let from_workspace = value.get("workspace").and_then(Value::as_bool) == Some(true);
            let (value, base) = match from_workspace {
                true => (shared.and_then(|s| s.get(name)), root),
                false => (Some(value), folder),
            };
            let path = value.and_then(|v| v.get("path")).and_then(Value::as_str);
            found.extend(path.and_then(|p| join(base, p)).map(|p| (kind, p)));
        }
    }
    found
}

/// What a manifest says, with what it takes from the workspace.
fn resolution(table: &Table, workspace: &Table) -> Resolution {
    let mut found = Resolution::new();
    let shared = workspace.get("workspace").and_then(Value::as_table);
    for (section, value) in table.iter().filter(|(name, _)| *name != "workspace") {
        let prefix = match section.replace('_', "-").as_str() {
            "dev-dependencies" => "test dependency".to_owned(),
            "dependencies" => "dependency".to_owned(),
            other => other.to_owned(),
        };
        let table = value.as_table();
        for (name, value) in table.into_iter().flatten() {
            if section == "package" && DESCRIPTIVE.contains(&name.as_str()) {
                continue;
            }
            let key = format!("{prefix} {name}");
            found.insert(key.clone(), value.to_string());
            let takes = value.get("workspace").and_then(Value::as_bool) == Some(true);
            let place = if section == "package" { "package" } else { "dependencies" };
            let given =
                shared.and_then(|s| s.get(place)).and_then(|t| t.get(name)).filter(|_| takes);
            if let Some(given) = given {
                found.insert(key, given.to_string());
            }
        }
        if table.is_none() {
            found.insert(prefix, value.to_string());
        }
    }
    if let Some(lints) = shared.and_then(|s| s.get("lints")).filter(|_| table.contains_key("lints"))
    {
        found.insert("lints of the workspace".into(), lints.to_string());
    }
    for global in ["profile", "patch", "replace"] {
        if let Some(value) = workspace.get(global) {
            found.insert(format!("{global} of the workspace"), value.to_string());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Held;

    fn graph(manifests: &[(&str, &str)]) -> Graph {
        read(&held(manifests), "Cargo.toml").unwrap()
    }

    fn held(manifests: &[(&str, &str)]) -> Held {
        let files = manifests.iter().map(|(p, t)| ((*p).to_owned(), t.as_bytes().to_vec()));
        Held(files.collect())
    }

    const WORKSPACE: &str = "[workspace]\nmembers=['crates/*', 'tool']\nexclude=['crates/old']\n\
        [workspace.dependencies]\ncore={path='crates/core'}\nserde='1'\n";

    fn manifests() -> Vec<(&'static str, &'static str)> {
        vec![
            ("Cargo.toml", WORKSPACE),
            (
                "crates/core/Cargo.toml",
                "[package]\nname='core'\nversion='1'\n[dependencies]\nserde={workspace=true}\n",
            ),
            (
                "crates/app/Cargo.toml",
                "[package]\nname='app'\nversion='1'\n[dependencies]\ncore={workspace=true}\n[dev_dependencies]\ntool={path='../../tool'}\n",
            ),
            ("crates/old/Cargo.toml", "[package]\nname='old'\nversion='1'\n"),
            (
                "tool/Cargo.toml",
                "[package]\nname='tool'\nversion='1'\n[target.'cfg(unix)'.build-dependencies]\ncore={path='../crates/core'}\n",
            ),
            ("crates/notes/readme", "x"),
        ]
    }

    #[test]
    fn members_and_edges() {
        let graph = graph(&manifests());
        let names: Vec<_> = graph.modules.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["app", "core", "tool"]);
        assert_eq!(
            graph.described(),
            ["app Uses core", "app UsesInTests tool", "tool BuildsWith core"]
        );
        assert!(graph.global.contains("Cargo.lock"));
    }

    #[test]
    fn one_package_with_its_path_dependencies() {
        let graph = graph(&[
            ("Cargo.toml", "[package]\nname='a'\n[dependencies]\nb={path='b'}\n"),
            ("b/Cargo.toml", "[package]\nname='b'\n"),
        ]);
        assert_eq!(graph.described(), ["a Uses b"]);
    }

    #[test]
    fn what_a_manifest_comes_to() {
        let base = graph(&manifests());
        let edited = |path: &str, from: &str, to: &str| {
            let list = manifests();
            let texts: Vec<(&str, String)> = list
                .iter()
                .map(|(p, t)| (*p, if *p == path { t.replace(from, to) } else { (*t).to_owned() }))
                .collect();
            let now = graph(&texts.iter().map(|(p, t)| (*p, t.as_str())).collect::<Vec<_>>());
            let different =
                now.modules.iter().zip(&base.modules).filter(|(a, b)| a.resolution != b.resolution);
            different.map(|(a, _)| a.name.clone()).collect::<Vec<_>>()
        };
        assert!(edited("crates/core/Cargo.toml", "version='1'", "version='2'\n# x").is_empty());
        assert_eq!(edited("Cargo.toml", "serde='1'", "serde='2'"), ["core"]);
        assert_eq!(
            edited("Cargo.toml", "serde='1'", "serde='1'\n[profile.dev]\ndebug=false"),
            ["app", "core", "tool"]
        );
        assert_eq!(edited("tool/Cargo.toml", "version='1'", "edition='2021'"), ["tool"]);
    }

    #[test]
    fn the_workspace_of_a_folder() {
        let files = held(&manifests());
        assert_eq!(root_of(&files, "crates/app").as_deref(), Some("Cargo.toml"));
        assert_eq!(
            root_of(&held(&[("a/Cargo.toml", "[package]\nname='a'")]), "a").as_deref(),
            Some("a/Cargo.toml")
        );
        assert_eq!(root_of(&held(&[]), "."), None);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let error = read(&held(&[("Cargo.toml", "[")]), "Cargo.toml").unwrap_err().to_string();
        assert!(error.starts_with("Cargo.toml is no manifest"), "{error}");
    }
}
