//! Go: packages of a module or of a workspace, as `go list` reports them.
//!
//! The unit is the package, which is what `go test` takes. `go.mod`, `go.sum` and `go.work` are not
//! judged: a change of one concerns all packages, those of `go.mod` the packages of its module.

use crate::BuildError;
use crate::files::Files;
use crate::model::{BuildTool, EdgeKind, Graph, Module, folder_of, join};
use serde::Deserialize;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Package {
    import_path: String,
    dir: String,
    name: String,
    imports: Vec<String>,
    test_imports: Vec<String>,
    #[serde(rename = "XTestImports")]
    x_test_imports: Vec<String>,
    embed_files: Vec<String>,
    error: Option<Failure>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Failure {
    err: String,
}

/// The packages of the build that a folder belongs to; `top` is the top folder on disk.
pub fn read(files: &dyn Files, top: &Path, root: &str) -> Result<Graph, BuildError> {
    let folder = folder_of(root);
    let modules = modules(files, root);
    let patterns: Vec<String> = modules
        .iter()
        .map(|module| match module == folder {
            true => "./...".to_owned(),
            false => format!("./{}/...", relative(module, folder)),
        })
        .collect();
    let output = Command::new("go")
        .args([
            "list",
            "-e",
            "-json=ImportPath,Dir,Name,Imports,TestImports,XTestImports,EmbedFiles,Error",
        ])
        .args(&patterns)
        .current_dir(top.join(folder))
        .env("GOPROXY", "off")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| {
            BuildError(format!("go cannot be started ({e}); install it, or put it on the PATH"))
        })?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(BuildError(format!("go list: {}", why.trim())));
    }
    let packages = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Package>();
    let packages: Vec<Package> = packages
        .collect::<Result<_, _>>()
        .map_err(|e| BuildError(format!("go list printed something else than packages: {e}")))?;
    Ok(graph(packages, top, folder, &modules))
}

fn graph(packages: Vec<Package>, top: &Path, folder: &str, modules: &[String]) -> Graph {
    let mut graph = Graph::new(BuildTool::Go);
    let place = |dir: &str| -> Option<String> {
        join(".", Path::new(dir).strip_prefix(top).ok()?.to_str()?)
    };
    let packages: Vec<(String, Package)> =
        packages.into_iter().filter_map(|p| Some((place(&p.dir)?, p))).collect();
    let numbers: HashMap<&str, usize> =
        packages.iter().enumerate().map(|(n, (_, p))| (p.import_path.as_str(), n)).collect();
    for (place, package) in &packages {
        graph.modules.push(Module {
            name: package.import_path.clone(),
            definition: join(place, "*.go").unwrap_or_default(),
            packaging: if package.name == "main" { "main".into() } else { "package".into() },
            test_folders: join(place, "testdata").into_iter().collect(),
            resource_folders: package.embed_files.iter().filter_map(|f| join(place, f)).collect(),
            folder: place.clone(),
            ..Module::default()
        });
    }
    for (from, (_, package)) in packages.iter().enumerate() {
        if let Some(failure) = &package.error {
            graph.notes.push(format!("{}: {}", package.import_path, failure.err.trim()));
        }
        let lists = [
            (&package.imports, EdgeKind::Uses),
            (&package.test_imports, EdgeKind::UsesInTests),
            (&package.x_test_imports, EdgeKind::UsesInTests),
        ];
        for (list, kind) in lists {
            for to in list.iter().filter_map(|name| numbers.get(name.as_str())) {
                graph.add_edge(from, *to, kind);
            }
        }
    }
    let of_all = ["go.work", "go.work.sum"].iter().filter_map(|f| join(folder, f));
    let of_modules =
        modules.iter().flat_map(|m| ["go.mod", "go.sum"].into_iter().filter_map(|f| join(m, f)));
    graph.global.extend(of_all.chain(of_modules));
    graph
}

/// The `go.work` or `go.mod` that a folder belongs to.
pub fn root_of(files: &dyn Files, folder: &str) -> Option<String> {
    let mut own = None;
    let mut at = Some(folder.to_owned());
    while let Some(here) = at {
        let path = |name: &str| join(&here, name).filter(|p| files.is_file(p));
        if let Some(work) = path("go.work") {
            return Some(work);
        }
        own = own.or_else(|| path("go.mod"));
        at = (here != ".").then(|| folder_of(&here).to_owned());
    }
    own
}

/// The folders of the modules: those that a `go.work` uses, or that of the `go.mod`.
fn modules(files: &dyn Files, root: &str) -> Vec<String> {
    let folder = folder_of(root);
    if !root.ends_with("go.work") {
        return vec![folder.to_owned()];
    }
    let text = files.read(root).unwrap_or_default();
    uses(&String::from_utf8_lossy(&text)).iter().filter_map(|used| join(folder, used)).collect()
}

fn uses(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or(line).trim();
        if line == "use (" {
            inside = true;
        } else if line == ")" {
            inside = false;
        } else if let Some(one) = line.strip_prefix("use ").or(inside.then_some(line)) {
            found.extend(
                Some(one.trim().trim_matches(['"', '`']).to_owned()).filter(|o| !o.is_empty()),
            );
        }
    }
    found
}

fn relative(path: &str, folder: &str) -> String {
    path.strip_prefix(folder).map_or(path, |p| p.trim_start_matches('/')).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Tree;

    fn write(top: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let file = top.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
    }

    #[test]
    fn folders_that_a_workspace_uses() {
        let text = "go 1.21\nuse ./one // x\nuse (\n  ./two\n  \"./three\"\n)\nreplace x => ./no\n";
        assert_eq!(uses(text), ["./one", "./two", "./three"]);
    }

    #[test]
    fn packages_of_a_module() {
        if !tamis_testkit::need("go") {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        write(
            &top,
            &[
                ("go.mod", "module ex.org/m\n\ngo 1.18\n"),
                ("a/a.go", "package a\n"),
                ("b/b.go", "package b\nimport _ \"ex.org/m/a\"\n"),
                ("c/c.go", "package c\n"),
                (
                    "c/c_test.go",
                    "package c_test\nimport (\n\t_ \"ex.org/m/a\"\n\t\"testing\"\n)\nfunc TestX(t *testing.T) {}\n",
                ),
            ],
        );
        let tree = Tree::new(&top);
        assert_eq!(root_of(&tree, "b").as_deref(), Some("go.mod"));
        let graph = read(&tree, &top, "go.mod").unwrap();
        assert_eq!(
            graph.described(),
            ["ex.org/m/b Uses ex.org/m/a", "ex.org/m/c UsesInTests ex.org/m/a"]
        );
        assert!(graph.global.contains("go.mod"));
    }

    #[test]
    fn packages_of_a_workspace() {
        if !tamis_testkit::need("go") {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        write(
            &top,
            &[
                ("go.work", "go 1.18\nuse (\n\t./x\n\t./y\n)\n"),
                ("x/go.mod", "module ex.org/x\n\ngo 1.18\n"),
                ("x/x.go", "package x\n"),
                ("y/go.mod", "module ex.org/y\n\ngo 1.18\n"),
                ("y/y.go", "package y\nimport _ \"ex.org/x\"\n"),
            ],
        );
        let tree = Tree::new(&top);
        assert_eq!(root_of(&tree, "y").as_deref(), Some("go.work"));
        let graph = read(&tree, &top, "go.work").unwrap();
        assert_eq!(graph.described(), ["ex.org/y Uses ex.org/x"]);
    }
}
