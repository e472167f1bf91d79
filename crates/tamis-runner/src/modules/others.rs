//! Affected modules handed to cargo, go, npm, pnpm and yarn, as their own filters.
//!
//! What the user's words cover stays the limit: packages that they name, or the folder they stand in.
//! Words that are not understood leave the command as it is, if anything at all is affected.

use crate::modules::Found;
use std::collections::BTreeSet;
use tamis_modules::affected::is_called;
use tamis_modules::model::{inside, join};
use tamis_modules::{BuildTool as Kind, Graph};
use tamis_project::Project;

/// The words with the affected modules in them; `None` where nothing is to be tested.
pub(super) fn hand(found: &Found, project: &Project, given: &[String]) -> Option<Vec<String>> {
    let folder = found.tree.relative(&project.folder).unwrap_or_else(|| ".".into());
    let affected: BTreeSet<usize> = found.affected.modules.iter().map(|m| m.module).collect();
    let call =
        Call { graph: &found.graph, affected: &affected, folder: &folder, root: &found.root };
    match found.graph.kind {
        Kind::Cargo => call.cargo(given),
        Kind::Go => call.go(given),
        Kind::Gradle => call.gradle(given),
        _ => match given.first().map(String::as_str) {
            Some("pnpm") => call.pnpm(given),
            Some("yarn") => call.yarn(given),
            _ => call.npm(given),
        },
    }
}

struct Call<'a> {
    graph: &'a Graph,
    affected: &'a BTreeSet<usize>,
    /// Where the user is, and the definition of the whole build.
    folder: &'a str,
    root: &'a str,
}

/// Words without some options, and the values of those that take one.
struct Taken {
    rest: Vec<String>,
    values: Vec<String>,
    /// An option without a value was there.
    flag: bool,
}

/// Takes options out of the words that stand before `--`.
fn take(words: &[String], with_value: &[&str], flags: &[&str]) -> Taken {
    let mut taken = Taken { rest: Vec::new(), values: Vec::new(), flag: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            taken.rest.push(word.clone());
            taken.rest.extend(words.cloned());
            break;
        }
        let glued = word.split_once('=').filter(|(name, _)| with_value.contains(name));
        if let Some((_, value)) = glued {
            taken.values.push(value.to_owned());
        } else if with_value.contains(&word.as_str()) {
            taken.values.extend(words.next().cloned());
        } else if flags.contains(&word.as_str()) {
            taken.flag = true;
        } else {
            taken.rest.push(word.clone());
        }
    }
    taken
}

impl Call<'_> {
    fn names(&self, modules: impl IntoIterator<Item = usize>) -> Vec<String> {
        modules.into_iter().map(|n| self.graph.modules[n].name.clone()).collect()
    }

    /// The affected modules among those that are covered, if there are any.
    fn narrowed(&self, covered: &BTreeSet<usize>) -> Option<BTreeSet<usize>> {
        let both: BTreeSet<usize> = covered.intersection(self.affected).copied().collect();
        (!both.is_empty()).then_some(both)
    }

    fn all(&self) -> BTreeSet<usize> {
        (0..self.graph.modules.len()).collect()
    }

    fn called(&self, names: &[String]) -> BTreeSet<usize> {
        let is = |n: usize| names.iter().any(|name| is_called(self.graph, n, name));
        self.all().into_iter().filter(|&n| is(n)).collect()
    }

    /// The module that the user stands in; all of them above the modules.
    fn here(&self) -> BTreeSet<usize> {
        let owners: BTreeSet<usize> = self.graph.owners(self.folder).into_iter().collect();
        if owners.is_empty() { self.all() } else { owners }
    }

    /// `cargo test`: `-p` for each package.
    fn cargo(&self, given: &[String]) -> Option<Vec<String>> {
        let taken = take(given, &["-p", "--package"], &["--workspace", "--all"]);
        let excluded = take(&taken.rest, &["--exclude"], &[]);
        let mut covered = match (taken.values.is_empty(), taken.flag) {
            (false, _) => self.called(&taken.values),
            (true, true) => self.all(),
            (true, false) => self.here(),
        };
        let unwanted = self.called(&excluded.values);
        covered.retain(|n| !unwanted.contains(n));
        let chosen = self.narrowed(&covered)?;
        let options = self.names(chosen).into_iter().flat_map(|name| ["-p".to_owned(), name]);
        let options: Vec<String> = options.collect();
        let mut words = excluded.rest;
        let end = words.iter().position(|w| w == "--").unwrap_or(words.len());
        words.splice(end..end, options);
        Some(words)
    }

    /// `go test ./...`: the patterns become packages.
    fn go(&self, given: &[String]) -> Option<Vec<String>> {
        let end = given.iter().position(|w| w == "-args").unwrap_or(given.len());
        let mut covered = BTreeSet::new();
        let mut words = Vec::new();
        let mut place = None;
        for word in &given[..end] {
            match self.matching(word) {
                Some(found) => {
                    covered.extend(found);
                    place.get_or_insert(words.len());
                }
                None => words.push(word.clone()),
            }
        }
        if place.is_none() {
            // No pattern: the package of this folder.
            covered = self.here();
            place = Some(words.len());
        }
        let names = self.names(self.narrowed(&covered)?);
        let place = place.unwrap_or(words.len());
        words.splice(place..place, names);
        words.extend_from_slice(&given[end..]);
        Some(words)
    }

    /// `gradle test`: `:a:test` for each affected project that has such a task. What the projects need is
    /// built by Gradle itself.
    fn gradle(&self, given: &[String]) -> Option<Vec<String>> {
        // Other builds, and options that belong to the task before them.
        const NOT_UNDERSTOOD: &[&str] = &[
            "-p",
            "--project-dir",
            "-b",
            "--build-file",
            "-c",
            "--settings-file",
            "--include-build",
            "--tests",
        ];
        const WITH_VALUE: &[&str] = &[
            "-x",
            "--exclude-task",
            "-I",
            "--init-script",
            "-g",
            "--gradle-user-home",
            "-P",
            "-D",
            "--max-workers",
            "--console",
            "--priority",
            "--warning-mode",
            "--project-cache-dir",
        ];
        let words = given.get(1..).unwrap_or_default();
        let is_other = |word: &String| {
            NOT_UNDERSTOOD.iter().any(|o| word == o || word.starts_with(&format!("{o}=")))
        };
        if self.affected.is_empty() {
            return None;
        }
        if words.iter().any(is_other) {
            return Some(given.to_vec());
        }
        // A bare task is for the project of this folder and those below it.
        let covered = |n: &usize| inside(&self.graph.modules[*n].folder, self.folder);
        let mut handed = vec![given[0].clone()];
        let mut any = false;
        let mut is_value = false;
        for word in words {
            if is_value || word.starts_with('-') {
                is_value = !is_value && WITH_VALUE.contains(&word.as_str());
                handed.push(word.clone());
                continue;
            }
            let (projects, task): (Vec<usize>, &str) = match word.rsplit_once(':') {
                Some((project, task)) => {
                    let project = if project.is_empty() { ":" } else { project };
                    let named = self.affected.iter().copied();
                    let is = |n: &usize| {
                        let name = &self.graph.modules[*n].name;
                        name == project || name.trim_start_matches(':') == project
                    };
                    (named.filter(is).collect(), task)
                }
                None => (self.affected.iter().copied().filter(covered).collect(), word),
            };
            for n in projects {
                let module = &self.graph.modules[n];
                if module.tasks.iter().any(|known| known == task) {
                    handed.push(format!("{}:{task}", module.name.trim_end_matches(':')));
                    any = true;
                }
            }
        }
        any.then_some(handed)
    }

    /// The packages that a pattern stands for; `None` where the word is no pattern.
    fn matching(&self, word: &str) -> Option<BTreeSet<usize>> {
        let (start, deep) = match word.strip_suffix("...") {
            Some(start) => (start.trim_end_matches('/'), true),
            None => (word, false),
        };
        let modules = || self.all().into_iter();
        if start.starts_with('.') {
            let folder = join(self.folder, start)?;
            let is = |n: &usize| {
                let place = &self.graph.modules[*n].folder;
                if deep { inside(place, &folder) } else { *place == folder }
            };
            return Some(modules().filter(is).collect());
        }
        let is = |n: &usize| {
            let name = &self.graph.modules[*n].name;
            if deep { inside(name, start) } else { name == start }
        };
        let found: BTreeSet<usize> = modules().filter(is).collect();
        (!found.is_empty()).then_some(found)
    }

    /// `npm test --workspaces`: `-w` for each. Without it, the script of this folder is one test.
    fn npm(&self, given: &[String]) -> Option<Vec<String>> {
        let taken = take(given, &["-w", "--workspace"], &["-ws", "--workspaces"]);
        let covered = match (taken.values.is_empty(), taken.flag) {
            (false, _) => self.called(&taken.values),
            (true, true) => {
                let root = |n: &usize| self.graph.modules[*n].definition != self.root;
                self.all().into_iter().filter(root).collect()
            }
            (true, false) => return self.script(given),
        };
        let names = self.names(self.narrowed(&covered)?);
        let mut words = taken.rest;
        let end = words.iter().position(|w| w == "--").unwrap_or(words.len());
        words.splice(end..end, names.into_iter().flat_map(|name| ["-w".to_owned(), name]));
        Some(words)
    }

    /// `pnpm -r test`: `--filter` for each.
    fn pnpm(&self, given: &[String]) -> Option<Vec<String>> {
        let taken = take(given, &["--filter", "-F"], &["-r", "--recursive"]);
        // Filters have a language of their own; what they choose is not narrowed.
        if !taken.values.is_empty() || !taken.flag {
            return self.script(given);
        }
        let names = self.names(self.narrowed(&self.all())?);
        let mut words = taken.rest;
        words.splice(1..1, names.into_iter().flat_map(|name| ["--filter".to_owned(), name]));
        Some(words)
    }

    /// `yarn workspaces foreach ... run test`: `--include` for each.
    fn yarn(&self, given: &[String]) -> Option<Vec<String>> {
        let foreach = given.iter().position(|w| w == "foreach");
        let Some(at) = foreach.filter(|_| given.iter().all(|w| w != "--include")) else {
            return self.script(given);
        };
        let names = self.names(self.narrowed(&self.all())?);
        let mut words = given.to_vec();
        words.splice(at + 1..at + 1, names.into_iter().flat_map(|n| ["--include".to_owned(), n]));
        Some(words)
    }

    /// A script that is one test: of the root, which may start anything, or of one workspace.
    fn script(&self, given: &[String]) -> Option<Vec<String>> {
        let here = self.here();
        let is_root = here.iter().any(|&n| self.graph.modules[n].definition == self.root);
        let covered = if is_root { self.all() } else { here };
        self.narrowed(&covered).map(|_| given.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_modules::Module;

    fn graph(kind: Kind, modules: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::new(kind);
        for (name, folder) in modules {
            let definition = join(folder, "package.json").unwrap();
            let (name, folder) = ((*name).to_owned(), (*folder).to_owned());
            graph.modules.push(Module { name, folder, definition, ..Module::default() });
        }
        graph
    }

    fn handed(graph: &Graph, affected: &[usize], folder: &str, words: &str) -> Option<String> {
        let affected: BTreeSet<usize> = affected.iter().copied().collect();
        let call = Call { graph, affected: &affected, folder, root: "package.json" };
        let given: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let words = match (graph.kind, given[0].as_str()) {
            (Kind::Cargo, _) => call.cargo(&given),
            (Kind::Go, _) => call.go(&given),
            (Kind::Gradle, _) => call.gradle(&given),
            (_, "pnpm") => call.pnpm(&given),
            (_, "yarn") => call.yarn(&given),
            _ => call.npm(&given),
        };
        words.map(|w| w.join(" "))
    }

    #[test]
    fn packages_of_cargo() {
        let g = graph(Kind::Cargo, &[("a", "crates/a"), ("b", "crates/b"), ("c", "crates/c")]);
        let of =
            |affected: &[usize], folder: &str, words: &str| handed(&g, affected, folder, words);
        assert_eq!(of(&[0, 2], ".", "cargo test").unwrap(), "cargo test -p a -p c");
        assert_eq!(
            of(&[1], ".", "cargo test --workspace -q -- x").unwrap(),
            "cargo test -q -p b -- x"
        );
        assert_eq!(of(&[0, 1], ".", "cargo test -p b --package=c").unwrap(), "cargo test -p b");
        assert_eq!(
            of(&[0, 1], ".", "cargo test --workspace --exclude a").unwrap(),
            "cargo test -p b"
        );
        assert_eq!(of(&[0, 1], "crates/b/src", "cargo test").unwrap(), "cargo test -p b");
        assert_eq!(of(&[0], "crates/b", "cargo test"), None);
        assert_eq!(of(&[], ".", "cargo test"), None);
    }

    #[test]
    fn packages_of_go() {
        let g = graph(Kind::Go, &[("e.org/m", "."), ("e.org/m/a", "a"), ("e.org/m/a/b", "a/b")]);
        let of =
            |affected: &[usize], folder: &str, words: &str| handed(&g, affected, folder, words);
        assert_eq!(
            of(&[1, 2], ".", "go test -race ./... -count 1").unwrap(),
            "go test -race e.org/m/a e.org/m/a/b -count 1"
        );
        assert_eq!(of(&[0, 2], ".", "go test ./a/...").unwrap(), "go test e.org/m/a/b");
        assert_eq!(of(&[0, 1, 2], ".", "go test ./a").unwrap(), "go test e.org/m/a");
        assert_eq!(of(&[0, 1, 2], "a", "go test").unwrap(), "go test e.org/m/a");
        assert_eq!(of(&[0, 2], ".", "go test e.org/m/a/...").unwrap(), "go test e.org/m/a/b");
        assert_eq!(of(&[0, 2], "a", "go test ../...").unwrap(), "go test e.org/m e.org/m/a/b");
        assert_eq!(
            of(&[1], ".", "go test ./... -args ./...").unwrap(),
            "go test e.org/m/a -args ./..."
        );
        assert_eq!(of(&[0], ".", "go test ./a/..."), None);
    }

    #[test]
    fn tasks_of_gradle() {
        let mut g = graph(Kind::Gradle, &[(":", "."), (":a", "a"), (":a:b", "a/b"), (":c", "c")]);
        for n in 1..4 {
            g.modules[n].tasks = vec!["test".into(), "clean".into()];
        }
        let of =
            |affected: &[usize], folder: &str, words: &str| handed(&g, affected, folder, words);
        assert_eq!(of(&[0, 1, 2], ".", "gradle test").unwrap(), "gradle :a:test :a:b:test");
        assert_eq!(
            of(&[3], ".", "gradle -x lint --offline clean test").unwrap(),
            "gradle -x lint --offline :c:clean :c:test"
        );
        assert_eq!(of(&[2, 3], "a", "./gradlew test").unwrap(), "./gradlew :a:b:test");
        assert_eq!(of(&[1, 3], ".", "gradle :a:test c:test").unwrap(), "gradle :a:test :c:test");
        assert_eq!(of(&[1], ".", "gradle :c:test"), None);
        assert_eq!(of(&[0], ".", "gradle test"), None, "the root has no such task");
        // Not understood: as it is, where anything is affected.
        assert_eq!(of(&[1], ".", "gradle test --tests A").unwrap(), "gradle test --tests A");
        assert_eq!(of(&[], ".", "gradle test --tests A"), None);
    }

    #[test]
    fn workspaces_of_npm() {
        let g = graph(Kind::Npm, &[("root", "."), ("a", "packages/a"), ("@x/b", "packages/b")]);
        let of =
            |affected: &[usize], folder: &str, words: &str| handed(&g, affected, folder, words);
        assert_eq!(of(&[0, 2], ".", "npm test --workspaces").unwrap(), "npm test -w @x/b");
        assert_eq!(
            of(&[1], ".", "npm run check -ws -- --fast").unwrap(),
            "npm run check -w a -- --fast"
        );
        assert_eq!(of(&[1], ".", "npm test -w a -w packages/b").unwrap(), "npm test -w a");
        assert_eq!(of(&[1], ".", "npm test -w packages/b"), None);
        // The root's own script may start anything.
        assert_eq!(of(&[1], ".", "npm test").unwrap(), "npm test");
        assert_eq!(of(&[1], "packages/b", "npm test"), None);
        assert_eq!(of(&[1, 2], ".", "pnpm -r test").unwrap(), "pnpm --filter a --filter @x/b test");
        assert_eq!(of(&[1], ".", "pnpm --filter ...a test").unwrap(), "pnpm --filter ...a test");
        assert_eq!(
            of(&[1], ".", "yarn workspaces foreach -A run test").unwrap(),
            "yarn workspaces foreach --include a -A run test"
        );
        assert_eq!(of(&[], ".", "yarn test"), None);
    }
}
