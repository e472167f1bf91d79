//! Workspaces of npm, yarn and pnpm, read from `package.json` and `pnpm-workspace.yaml`.
//!
//! A workspace uses another one where it names it among its dependencies, of whatever kind: what is
//! needed in tests and what is needed to build are not distinguished by these files. A change of a lock
//! file concerns all workspaces.

use crate::BuildError;
use crate::exclude::first_match;
use crate::files::Files;
use crate::model::{BuildTool, EdgeKind, Graph, Module, Resolution, folder_of, join};
use serde_json::Value;
use std::collections::BTreeMap;

const GLOBAL: &[&str] = &[
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".nvmrc",
    "tsconfig.json",
    "tsconfig.base.json",
];

const DEPENDENCIES: &[&str] =
    &["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];

/// Parts that change nothing about what is built or tested.
const DESCRIPTIVE: &[&str] = &[
    "version",
    "description",
    "keywords",
    "homepage",
    "bugs",
    "license",
    "author",
    "contributors",
    "funding",
    "repository",
    "workspaces",
    "private",
    "publishConfig",
];

/// The workspaces below this `package.json`, the root included.
pub fn read(files: &dyn Files, root: &str) -> Result<Graph, BuildError> {
    let top = package(files, root)?;
    let folder = folder_of(root);
    let mut graph = Graph::new(BuildTool::Npm);
    let mut packages: BTreeMap<String, Value> = BTreeMap::new();
    for place in places(files, folder, &top) {
        let path = join(&place, "package.json").unwrap_or_default();
        if files.is_file(&path) {
            packages.insert(path.clone(), package(files, &path)?);
        }
    }
    packages.insert(root.to_owned(), top);
    for (path, package) in &packages {
        let place = folder_of(path).to_owned();
        let name = package.get("name").and_then(Value::as_str);
        graph.modules.push(Module {
            name: name.map_or_else(|| place.clone(), str::to_owned),
            version: package.get("version").and_then(Value::as_str).unwrap_or_default().to_owned(),
            definition: path.clone(),
            packaging: "package".into(),
            resolution: resolution(package, &packages),
            test_folders: Vec::new(),
            resource_folders: Vec::new(),
            unknown: None,
            folder: place,
            tasks: Vec::new(),
        });
        graph.definitions.insert(path.clone());
    }
    let workspaces = join(folder, "pnpm-workspace.yaml").unwrap_or_default();
    graph.global.insert(workspaces);
    graph.global.extend(GLOBAL.iter().filter_map(|file| join(folder, file)));
    for (from, package) in packages.values().enumerate() {
        for name in DEPENDENCIES.iter().filter_map(|d| package.get(d)?.as_object()).flatten() {
            if let Some(to) = graph.find(name.0) {
                graph.add_edge(from, to, EdgeKind::Uses);
            }
        }
    }
    Ok(graph)
}

/// The `package.json` that names the workspace of a folder.
pub fn root_of(files: &dyn Files, folder: &str) -> Option<String> {
    let mut own = None;
    let mut at = Some(folder.to_owned());
    while let Some(here) = at {
        let path = join(&here, "package.json").unwrap_or_default();
        if let Ok(package) = package(files, &path) {
            let named = places(files, &here, &package);
            if here == folder || named.iter().any(|place| place == folder) {
                own = Some(path);
            }
        }
        at = (here != ".").then(|| folder_of(&here).to_owned());
    }
    own
}

fn package(files: &dyn Files, path: &str) -> Result<Value, BuildError> {
    let bytes = files.read(path).ok_or_else(|| BuildError(format!("{path} cannot be read")))?;
    serde_json::from_slice(&bytes).map_err(|e| BuildError(format!("{path} is no JSON: {e}")))
}

/// The folders of workspaces.
fn places(files: &dyn Files, folder: &str, package: &Value) -> Vec<String> {
    let listed = package.get("workspaces");
    let listed = listed.and_then(|w| w.as_array().or_else(|| w.get("packages")?.as_array()));
    let mut patterns: Vec<String> =
        listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    let yaml = join(folder, "pnpm-workspace.yaml").and_then(|p| files.read(&p));
    patterns.extend(yaml.map(|y| yaml_packages(&String::from_utf8_lossy(&y))).unwrap_or_default());
    let mut found: Vec<String> = Vec::new();
    for pattern in &patterns {
        match pattern.strip_prefix('!').map(|p| p.trim_start_matches("./").to_owned()) {
            Some(not) => {
                let not = [join(folder, not.trim_end_matches('/')).unwrap_or(not)];
                found.retain(|f| !first_match(&not, f).is_ok_and(|m| m.is_some()));
            }
            None => found.extend(expand(files, folder, pattern)),
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The list `packages:` of a YAML file in the simple form that pnpm writes.
fn yaml_packages(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.split(" #").next().unwrap_or(line).trim_end();
        if !line.starts_with([' ', '-', '\t']) && !line.is_empty() && !line.starts_with('#') {
            inside = line.starts_with("packages:");
            let rest = line.trim_start_matches("packages:").trim();
            if let Some(list) = rest.strip_prefix('[').filter(|_| inside) {
                let names = list.trim_end_matches(']').split(',');
                found.extend(names.map(|n| n.trim().trim_matches(['"', '\'']).to_owned()));
            }
        } else if let Some(name) = line.trim_start().strip_prefix("- ").filter(|_| inside) {
            found.push(name.trim().trim_matches(['"', '\'']).to_owned());
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

/// The folders that a pattern stands for; `**` goes any number of folders down.
fn expand(files: &dyn Files, folder: &str, pattern: &str) -> Vec<String> {
    let mut found = vec![folder.to_owned()];
    for part in pattern.split('/').filter(|p| !matches!(*p, "" | ".")) {
        found = found
            .iter()
            .flat_map(|at| match part {
                "**" => below(files, at, 0),
                _ if part.contains(['*', '?', '[', '{']) => {
                    let patterns = [part.to_owned()];
                    let names = files.folders(at).into_iter().filter(|n| n != "node_modules");
                    let names =
                        names.filter(|n| first_match(&patterns, n).is_ok_and(|m| m.is_some()));
                    names.filter_map(|n| join(at, &n)).collect()
                }
                _ => join(at, part).into_iter().collect(),
            })
            .collect();
    }
    found.retain(|f| files.is_file(&join(f, "package.json").unwrap_or_default()));
    found
}

fn below(files: &dyn Files, folder: &str, depth: usize) -> Vec<String> {
    let mut found = vec![folder.to_owned()];
    if depth < 16 {
        for name in files.folders(folder) {
            if name != "node_modules" && !name.starts_with('.') {
                found.extend(
                    join(folder, &name).into_iter().flat_map(|f| below(files, &f, depth + 1)),
                );
            }
        }
    }
    found
}

fn resolution(package: &Value, all: &BTreeMap<String, Value>) -> Resolution {
    let is_workspace =
        |name: &str| all.values().any(|p| p.get("name").and_then(Value::as_str) == Some(name));
    let mut found = Resolution::new();
    for (section, value) in package.as_object().into_iter().flatten() {
        if DESCRIPTIVE.contains(&section.as_str()) {
            continue;
        }
        match value.as_object() {
            Some(table) => {
                let is_dependency = DEPENDENCIES.contains(&section.as_str());
                for (name, value) in table {
                    // A workspace is a workspace, whatever its version.
                    let value = match is_dependency && is_workspace(name) {
                        true => "workspace".to_owned(),
                        false => value.to_string(),
                    };
                    found.insert(format!("{section} {name}"), value);
                }
            }
            None => drop(found.insert(section.clone(), value.to_string())),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Held;

    fn held(files: &[(&str, &str)]) -> Held {
        Held(files.iter().map(|(p, t)| ((*p).to_owned(), t.as_bytes().to_vec())).collect())
    }

    fn names(graph: &Graph) -> Vec<&str> {
        graph.modules.iter().map(|m| m.name.as_str()).collect()
    }

    #[test]
    fn workspaces_in_both_forms() {
        for list in [
            r#"["packages/*", "!packages/old", "tool"]"#,
            r#"{"packages": ["packages/*", "!packages/old", "./tool/"]}"#,
        ] {
            let root = format!(r#"{{"name": "root", "workspaces": {list}}}"#);
            let files = held(&[
                ("package.json", &root),
                ("packages/a/package.json", r#"{"name": "@x/a", "version": "1"}"#),
                ("packages/b/package.json", r#"{"name": "b", "devDependencies": {"@x/a": "^1"}}"#),
                ("packages/old/package.json", r#"{"name": "old"}"#),
                ("packages/none/x", ""),
                (
                    "tool/package.json",
                    r#"{"name": "tool", "dependencies": {"left-pad": "1", "b": "*"}}"#,
                ),
            ]);
            let graph = read(&files, "package.json").unwrap();
            assert_eq!(names(&graph), ["root", "@x/a", "b", "tool"], "{list}");
            let edges: Vec<_> = graph.edges.iter().map(|e| (e.from, e.to)).collect();
            assert_eq!(edges, [(2, 1), (3, 2)]);
            assert_eq!(root_of(&files, "packages/a").as_deref(), Some("package.json"));
            assert_eq!(
                root_of(&files, "packages/old").as_deref(),
                Some("packages/old/package.json")
            );
        }
    }

    #[test]
    fn workspaces_of_pnpm() {
        let yaml = "# all\npackages:\n  - 'apps/**'\n  - \"libs/*\" # those\nother:\n  - no\n";
        let files = held(&[
            ("package.json", "{}"),
            ("pnpm-workspace.yaml", yaml),
            ("apps/x/deep/package.json", r#"{"name": "deep"}"#),
            ("libs/l/package.json", r#"{"name": "l"}"#),
            ("libs/l/node_modules/m/package.json", r#"{"name": "m"}"#),
            ("no/package.json", r#"{"name": "no"}"#),
        ]);
        assert_eq!(names(&read(&files, "package.json").unwrap()), ["deep", "l", "."]);
        assert_eq!(yaml_packages("packages: ['a', \"b\"]\n"), ["a", "b"]);
    }

    #[test]
    fn versions_of_workspaces_do_not_count() {
        let of = |text: &str| {
            let files = held(&[
                ("package.json", r#"{"workspaces": ["a", "b"]}"#),
                ("a/package.json", r#"{"name": "a"}"#),
                ("b/package.json", text),
            ]);
            let graph = read(&files, "package.json").unwrap();
            graph.modules[graph.find("b").unwrap()].resolution.clone()
        };
        let base = of(r#"{"name": "b", "version": "1", "dependencies": {"a": "1", "x": "1"}}"#);
        assert_eq!(
            base,
            of(r#"{"version": "2", "name": "b", "dependencies": {"x": "1", "a": "2"}}"#)
        );
        assert_ne!(base, of(r#"{"name": "b", "dependencies": {"a": "1", "x": "2"}}"#));
        assert_ne!(
            base,
            of(r#"{"name": "b", "dependencies": {"a": "1", "x": "1"}, "scripts": {"test": "y"}}"#)
        );
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let error = read(&held(&[("package.json", "{")]), "package.json").unwrap_err().to_string();
        assert!(error.starts_with("package.json is no JSON"), "{error}");
    }
}
