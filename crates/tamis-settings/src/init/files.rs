//! Tests that are files: shell scripts, TAP, Bats, Python.

use super::builds::by_itself;
use super::detect::{Find, Grain, Place};

/// The patterns as the value of `each`.
pub(super) fn each(patterns: &[String]) -> Option<String> {
    let quoted: Vec<String> = patterns.iter().map(|p| format!("\"{p}\"")).collect();
    match quoted.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

/// A find whose tests are the files of some patterns.
pub(super) fn files(
    place: Place<'_>,
    name: &'static str,
    what: &str,
    patterns: &[String],
    run: impl FnOnce(&[String]) -> String,
) -> Option<Find> {
    let (used, files) = place.matching(patterns);
    let number = match files.len() {
        0 => return None,
        1 => "1 file".to_owned(),
        n => format!("{n} files"),
    };
    let mut find = Find::new(name, run(&files), Grain::PerItem);
    find.comment = vec![format!("{what}: {number}, each is one test.")];
    find.each = each(&used);
    Some(find)
}

fn owned(patterns: &[&str]) -> Vec<String> {
    patterns.iter().map(|pattern| (*pattern).to_owned()).collect()
}

pub(super) fn shell(place: Place<'_>) -> Option<Find> {
    let patterns = owned(&["tests/*.sh", "test/*.sh"]);
    files(place, "shell", "Shell scripts", &patterns, |files| {
        let plain_sh = |file: &String| {
            place.text(file).is_some_and(|text| {
                let first = text.lines().next().unwrap_or_default();
                first.starts_with("#!") && first.trim_end().ends_with("/sh")
            })
        };
        if files.iter().all(plain_sh) { "sh {}".into() } else { "bash {}".into() }
    })
}

pub(super) fn tap(place: Place<'_>) -> Option<Find> {
    files(place, "tap", "Test scripts in t/", &owned(&["t/*.t"]), |_| "prove {}".into())
}

pub(super) fn bats(place: Place<'_>) -> Option<Find> {
    let mut patterns = vec!["*.bats".to_owned()];
    for folder in ["test", "tests", "spec"] {
        let own = format!("{folder}/*.bats");
        // As bats itself: what is further down is run where it is asked for, and else mostly what tests work on.
        let deep = place.matching(std::slice::from_ref(&own)).1.is_empty() || runs_deep(place);
        patterns.push(if deep { format!("{folder}/**/*.bats") } else { own });
    }
    let program = match (place.has("bin/bats"), place.asks_npm_for("bats")) {
        (true, _) => "bin/bats",
        (_, true) => "node_modules/.bin/bats",
        _ => "bats",
    };
    files(place, "bats", "Bats files", &patterns, |_| format!("{program} {{}}"))
}

/// Whether the project starts bats so that it looks into folders in folders.
fn runs_deep(place: Place<'_>) -> bool {
    let texts = ["package.json", "Makefile"].iter().filter_map(|file| place.text(file));
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).any(|line| {
        line.contains("bats ") && (line.contains(" -r") || line.contains(" --recursive"))
    })
}

/// Files that make a folder a Python project of its own.
const PYTHON: [&str; 6] =
    ["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "requirements.txt"];

pub(super) fn pytest(place: Place<'_>) -> Option<Find> {
    if place.folder != place.root && !PYTHON.iter().any(|file| place.has(file)) {
        return None;
    }
    let set_up = place.has("pytest.ini")
        || place.has("conftest.py")
        || place.text("pyproject.toml").is_some_and(|text| text.contains("pytest"))
        || place.text("setup.cfg").is_some_and(|text| text.contains("[tool:pytest]"))
        || place.text("tox.ini").is_some_and(|text| text.contains("pytest"));
    let folders =
        ["tests/**/test_*.py", "tests/**/*_test.py", "test/**/test_*.py", "test/**/*_test.py"];
    let near_code = ["test_*.py", "*_test.py", "src/**/test_*.py", "src/**/*_test.py"];
    let patterns = if set_up { [folders, near_code].concat() } else { folders.to_vec() };
    let patterns = owned(&patterns);
    let python = python(place);
    let (_, found) = place.matching(&patterns);
    if !set_up && only_unittest(place, &found) {
        let run = format!("{python} -m unittest {{}}");
        return files(place, "unittest", "Python test files", &patterns, |_| run);
    }
    let what = match found.len() {
        0 if !set_up => return None,
        0 => "pytest is set up, but no test_*.py was found in the usual places.".to_owned(),
        1 => "Python tests in 1 file.".to_owned(),
        n => format!("Python tests in {n} files."),
    };
    let mut run = format!("{python} -m pytest -q");
    // Settings of pytest say where its tests are.
    for folder in ["tests", "test"].into_iter().filter(|_| !set_up) {
        if found.iter().any(|file| std::path::Path::new(file).starts_with(folder)) {
            run += &format!(" {folder}");
        }
    }
    let find = Find::new("pytest", run, Grain::Whole).comment(&[&what]);
    Some(by_itself(find, &format!("{python} -m pytest"), "test function"))
}

/// The interpreter of a virtual environment in this folder or above, as seen from this folder.
fn python(place: Place<'_>) -> String {
    let above = place.folder.ancestors().take_while(|folder| folder.starts_with(place.root));
    for (up, folder) in above.enumerate() {
        for name in [".venv", "venv"] {
            let python = format!("{name}/bin/python");
            if folder.join(&python).exists() {
                return "../".repeat(up) + &python;
            }
        }
    }
    "python3".into()
}

/// Whether the files use Python's own unittest and nothing of pytest.
fn only_unittest(place: Place<'_>, files: &[String]) -> bool {
    let texts: Vec<String> = files.iter().take(50).filter_map(|file| place.text(file)).collect();
    texts.iter().any(|text| text.contains("unittest"))
        && !texts.iter().any(|text| text.contains("pytest"))
}
