//! Which tests a project has. One function per kind of project; each looks only at names and at
//! the text of a few files at the root.

use crate::items;
use crate::settings::Item;
use std::path::Path;

/// How much one test of a find covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grain {
    /// One test per file or package.
    PerItem,
    /// One command for everything of its kind.
    Whole,
    /// One command that probably runs what others run as well.
    WholeIfAlone,
}

/// Tests of one kind.
#[derive(Debug)]
pub(super) struct Find {
    pub(super) comment: Vec<String>,
    pub(super) name: &'static str,
    /// The value of `each` as TOML.
    pub(super) each: Option<String>,
    /// The value of `run`, without the quotes.
    pub(super) run: String,
    pub(super) grain: Grain,
}

impl Find {
    fn whole(name: &'static str, run: impl Into<String>, grain: Grain, comment: &[&str]) -> Self {
        let comment = comment.iter().map(|line| (*line).to_owned()).collect();
        Self { comment, name, each: None, run: run.into(), grain }
    }
}

/// All finds, finest first.
pub(super) fn all(root: &Path) -> Vec<Find> {
    let finders: [fn(&Path) -> Option<Find>; 12] =
        [shell, tap, bats, pytest, go, cargo, ctest, maven, gradle, package_json, make, meson];
    let mut finds: Vec<Find> = finders.iter().filter_map(|find| find(root)).collect();
    finds.sort_by_key(|find| find.grain != Grain::PerItem);
    finds
}

/// Those of the patterns that match files, with all files.
fn matching(root: &Path, patterns: &[&'static str]) -> (Vec<&'static str>, Vec<String>) {
    let mut used = Vec::new();
    let mut files = Vec::new();
    for pattern in patterns {
        let found = items::expand(&[Item::Glob((*pattern).to_owned())], root).unwrap_or_default();
        if !found.is_empty() {
            used.push(*pattern);
            files.extend(found);
        }
    }
    (used, files)
}

fn each(patterns: &[&str]) -> Option<String> {
    match patterns {
        [] => None,
        [one] => Some(format!("\"{one}\"")),
        many => {
            let quoted: Vec<String> = many.iter().map(|p| format!("\"{p}\"")).collect();
            Some(format!("[{}]", quoted.join(", ")))
        }
    }
}

/// A find whose tests are the files of some patterns.
fn files(
    root: &Path,
    name: &'static str,
    what: &str,
    patterns: &[&'static str],
    run: impl FnOnce(&[String]) -> String,
) -> Option<Find> {
    let (used, files) = matching(root, patterns);
    let number = match files.len() {
        0 => return None,
        1 => "1 file".to_owned(),
        n => format!("{n} files"),
    };
    let comment = vec![format!("{what}: {number}, each is one test.")];
    Some(Find { comment, name, each: each(&used), run: run(&files), grain: Grain::PerItem })
}

fn text_of(root: &Path, file: &str) -> Option<String> {
    let bytes = std::fs::read(root.join(file)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn has(root: &Path, file: &str) -> bool {
    root.join(file).is_file()
}

fn shell(root: &Path) -> Option<Find> {
    files(root, "shell", "Shell scripts", &["tests/*.sh", "test/*.sh"], |files| {
        let plain_sh = |file: &String| {
            text_of(root, file).is_some_and(|text| {
                let first = text.lines().next().unwrap_or_default();
                first.starts_with("#!") && first.trim_end().ends_with("/sh")
            })
        };
        if files.iter().all(plain_sh) { "sh {}".into() } else { "bash {}".into() }
    })
}

fn tap(root: &Path) -> Option<Find> {
    files(root, "tap", "Test scripts in t/", &["t/*.t"], |_| "prove {}".into())
}

fn bats(root: &Path) -> Option<Find> {
    let patterns = ["*.bats", "test/**/*.bats", "tests/**/*.bats", "spec/**/*.bats"];
    files(root, "bats", "Bats files", &patterns, |_| "bats {}".into())
}

fn pytest(root: &Path) -> Option<Find> {
    let set_up = has(root, "pytest.ini")
        || has(root, "conftest.py")
        || text_of(root, "pyproject.toml").is_some_and(|text| text.contains("pytest"))
        || text_of(root, "setup.cfg").is_some_and(|text| text.contains("[tool:pytest]"))
        || text_of(root, "tox.ini").is_some_and(|text| text.contains("pytest"));
    let folders =
        ["tests/**/test_*.py", "tests/**/*_test.py", "test/**/test_*.py", "test/**/*_test.py"];
    let near_code = ["test_*.py", "*_test.py", "src/**/test_*.py", "src/**/*_test.py"];
    let patterns = if set_up { [folders, near_code].concat() } else { folders.to_vec() };
    let run = "python3 -m pytest -q -p no:cacheprovider {}";
    if let Some(mut find) = files(root, "pytest", "Python test files", &patterns, |_| run.into()) {
        find.comment.extend([
            "Without pytest's cache, which all of them would read and write at the same time."
                .into(),
            "To run the whole suite as one test instead, remove `each` and the {}.".into(),
        ]);
        return Some(find);
    }
    set_up.then(|| {
        let comment = [
            "pytest is set up, but no test_*.py was found in the usual places: all tests are one.",
            "For one test per file: each = \"some/folder/**/test_*.py\" and a {} at the end of run.",
        ];
        Find::whole("pytest", "python3 -m pytest -q", Grain::Whole, &comment)
    })
}

fn go(root: &Path) -> Option<Find> {
    has(root, "go.mod").then(|| Find {
        comment: vec!["Go module: each package is one test.".into()],
        name: "go",
        each: Some("{ command = \"go list ./...\" }".into()),
        run: "go test {}".into(),
        grain: Grain::PerItem,
    })
}

fn cargo(root: &Path) -> Option<Find> {
    has(root, "Cargo.toml").then(|| {
        Find::whole("cargo", "cargo test", Grain::Whole, &["Cargo: all tests are one test."])
    })
}

fn ctest(root: &Path) -> Option<Find> {
    let text = text_of(root, "CMakeLists.txt")?.to_lowercase();
    (text.contains("enable_testing") || text.contains("include(ctest)")).then(|| {
        let comment = [
            "CMake with tests: all tests are one test, run in the folder build.",
            "Configure and build first: cmake -B build && cmake --build build",
        ];
        let run = "ctest --test-dir build --output-on-failure";
        Find::whole("ctest", run, Grain::Whole, &comment)
    })
}

fn maven(root: &Path) -> Option<Find> {
    has(root, "pom.xml").then(|| {
        let run = if has(root, "mvnw") { "./mvnw -q test" } else { "mvn -q test" };
        Find::whole("maven", run, Grain::Whole, &["Maven: all tests are one test."])
    })
}

fn gradle(root: &Path) -> Option<Find> {
    (has(root, "build.gradle") || has(root, "build.gradle.kts")).then(|| {
        let comment = [
            "Gradle: all tests are one test. Without its daemon, which would be a process that",
            "was already running and cannot be observed.",
        ];
        let program = if has(root, "gradlew") { "./gradlew" } else { "gradle" };
        Find::whole("gradle", format!("{program} --no-daemon test"), Grain::Whole, &comment)
    })
}

fn package_json(root: &Path) -> Option<Find> {
    let text = text_of(root, "package.json")?;
    let package: serde_json::Value = serde_json::from_str(&text).ok()?;
    let script = package.get("scripts")?.get("test")?.as_str()?;
    // What `npm init` writes where there is no test.
    if script.contains("no test specified") {
        return None;
    }
    let runners = [
        ("pnpm-lock.yaml", "pnpm test"),
        ("yarn.lock", "yarn test"),
        ("bun.lock", "bun run test"),
        ("bun.lockb", "bun run test"),
    ];
    let run = runners.iter().find(|(lock, _)| has(root, lock)).map_or("npm test", |(_, run)| run);
    let comment = ["package.json has a test script: all its tests are one test."];
    Some(Find::whole("node", run, Grain::Whole, &comment))
}

fn make(root: &Path) -> Option<Find> {
    let file = ["GNUmakefile", "makefile", "Makefile"].into_iter().find(|file| has(root, file))?;
    let text = text_of(root, file)?;
    let target = ["test", "check", "tests"].into_iter().find(|target| {
        text.lines().any(|line| {
            let names = line.split_once(':').filter(|(_, rest)| !rest.starts_with('='));
            names.is_some_and(|(names, _)| {
                !line.starts_with(['\t', '#', '.'])
                    && names.split_whitespace().any(|n| n == *target)
            })
        })
    })?;
    let comment = format!("{file} has the target {target}: all its tests are one test.");
    Some(Find::whole("make", format!("make {target}"), Grain::WholeIfAlone, &[&comment]))
}

fn meson(root: &Path) -> Option<Find> {
    let text = text_of(root, "meson.build")?;
    text.contains("test(").then(|| {
        let comment = [
            "Meson with tests: all tests are one test, run in the folder build.",
            "Configure first: meson setup build",
        ];
        Find::whole("meson", "meson test -C build", Grain::Whole, &comment)
    })
}
