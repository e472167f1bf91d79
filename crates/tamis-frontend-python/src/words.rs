//! Which command lines run pytest, and which may.
//!
//! A command whose words name pytest runs it. One that starts other programs (make, tox, a script) may, and
//! only then if the project has settings for pytest and the words speak of tests: any other command is none of
//! our business, and its environment stays as it is.

use std::ffi::OsString;
use std::path::Path;

/// Programs that start another one, or a module, which their later words name.
const STARTERS: [&str; 16] = [
    "uv",
    "uvx",
    "poetry",
    "pdm",
    "hatch",
    "pipenv",
    "rye",
    "pipx",
    "conda",
    "mamba",
    "micromamba",
    "coverage",
    "env",
    "nice",
    "timeout",
    "xvfb-run",
];

/// Whether these words run pytest, or may.
pub fn concerns_pytest(words: &[OsString]) -> bool {
    runs_pytest(words) || may_run_pytest(words)
}

/// Whether these words run pytest, as far as words show it.
pub(crate) fn runs_pytest(words: &[OsString]) -> bool {
    // Asked of every item of every suite: most programs are none of these.
    let first = words.first().and_then(|word| word.to_str()).map(name);
    if !first.is_some_and(|first| is_pytest(first) || is_python(first) || STARTERS.contains(&first))
    {
        return false;
    }
    let names: Vec<&str> = words.iter().filter_map(|word| word.to_str()).map(name).collect();
    let Some((first, rest)) = names.split_first() else { return false };
    if names.len() < words.len() {
        return false;
    }
    is_pytest(first)
        || (is_python(first) && is_module(rest))
        || (STARTERS.contains(first) && starts(rest))
}

/// Programs that run tests of many kinds, in most projects.
const TEST_RUNNERS: [&str; 2] = ["tox", "nox"];

/// Programs that run what a file of the project says under a name.
const TASK_RUNNERS: [&str; 12] = [
    "make", "gmake", "just", "task", "ninja", "invoke", "inv", "doit", "poe", "npm", "pnpm", "yarn",
];

const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];

/// Whether these words may start a program that runs pytest, in a project that has tests for it.
fn may_run_pytest(words: &[OsString]) -> bool {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let Some((first, rest)) = words.split_first() else { return false };
    let program = name(first);
    if TEST_RUNNERS.contains(&program) {
        return true;
    }
    if TASK_RUNNERS.contains(&program) {
        return rest.iter().any(|word| speaks_of_tests(word));
    }
    if is_python(program) || SHELLS.contains(&program) {
        // The script, not its arguments; not a module or a text.
        let script = rest.iter().find(|word| !word.starts_with('-'));
        let other = rest
            .iter()
            .take_while(|word| word.starts_with('-'))
            .any(|word| word.starts_with("-m") || word.starts_with("-c"));
        let is_tox = other && rest.iter().any(|word| TEST_RUNNERS.contains(word));
        return is_tox || (!other && script.is_some_and(|word| speaks_of_tests(word)));
    }
    if STARTERS.contains(&program) {
        return rest.iter().any(|word| TEST_RUNNERS.contains(word) || speaks_of_tests(word));
    }
    first.contains('/') && speaks_of_tests(program)
}

fn speaks_of_tests(word: &str) -> bool {
    let word = name(word).to_lowercase();
    ["test", "check", "cov"].iter().any(|part| word.contains(part))
}

/// Whether a folder has settings for pytest.
pub(crate) fn has_pytest(folder: &Path) -> bool {
    let says = |file: &str, text: &str| {
        std::fs::read_to_string(folder.join(file)).is_ok_and(|found| found.contains(text))
    };
    ["pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "conftest.py"]
        .iter()
        .chain(&["tests/conftest.py", "test/conftest.py"])
        .any(|file| folder.join(file).is_file())
        || says("pyproject.toml", "pytest")
        || says("tox.ini", "pytest")
        || says("setup.cfg", "pytest")
        || says("noxfile.py", "pytest")
}

fn name(word: &str) -> &str {
    Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word)
}

fn is_pytest(name: &str) -> bool {
    let rest = name.strip_prefix("pytest").or_else(|| name.strip_prefix("py.test"));
    rest.is_some_and(|rest| rest.is_empty() || is_version(rest.trim_start_matches('-')))
}

fn is_python(name: &str) -> bool {
    name.strip_prefix("python").is_some_and(|rest| rest.is_empty() || is_version(rest))
}

fn is_version(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// `-m pytest`, also behind other options of the interpreter, or by a module that starts it (`-m coverage run -m pytest`).
fn is_module(words: &[&str]) -> bool {
    if words.contains(&"-mpytest") {
        return true;
    }
    let Some(at) = words.iter().position(|word| *word == "-m") else { return false };
    let Some((module, rest)) = words[at + 1..].split_first() else { return false };
    is_pytest(module) || (STARTERS.contains(module) && starts(rest))
}

/// Whether a program that starts others starts pytest, by the words behind its own name.
fn starts(rest: &[&str]) -> bool {
    rest.iter().any(|word| is_pytest(word)) || is_module(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(text: &str) -> bool {
        runs_pytest(&text.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn pytest_by_itself_or_as_a_module() {
        for text in [
            "pytest",
            "py.test -x tests",
            "/v/bin/pytest -k a",
            "pytest-3 tests",
            "python -m pytest",
            "python3.12 -X dev -m pytest -n 4",
            "/v/bin/python3 -mpytest",
            "uv run pytest -q",
            "uv run --with x -m pytest",
            "poetry run python -m pytest",
            "coverage run -m pytest",
            "python -m coverage run --branch -m pytest -q",
            "python -m uv run pytest",
            "env A=1 pytest",
        ] {
            assert!(runs(text), "{text}");
        }
    }

    #[test]
    fn programs_that_may_run_pytest() {
        let may =
            |text: &str| may_run_pytest(&text.split(' ').map(OsString::from).collect::<Vec<_>>());
        for text in [
            "tox -e py312",
            "python -m tox",
            "nox",
            "make test",
            "make -j2 check",
            "just unit-tests",
            "./scripts/run_tests.sh",
            "bash -e scripts/test",
            "python runtests.py -v",
            "uv run tox",
            "hatch test",
            "poetry run test-all",
        ] {
            assert!(may(text), "{text}");
        }
        for text in [
            "make lint",
            "make",
            "python -m unittest",
            "python -c test",
            "python manage.py test",
            "bash build.sh test",
            "test -f x",
            "./build",
            "cargo test",
        ] {
            assert!(!may(text), "{text}");
        }
    }

    #[test]
    fn a_project_with_settings_for_pytest() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("pyproject.toml"), "[tool.ruff]\n").unwrap();
        assert!(!has_pytest(folder.path()));
        std::fs::write(folder.path().join("tox.ini"), "[testenv]\ncommands = pytest\n").unwrap();
        assert!(has_pytest(folder.path()));
    }

    #[test]
    fn other_commands() {
        for text in [
            "python tests.py",
            "python -m unittest",
            "python -m mine -m pytest",
            "make pytest",
            "pytest-watch",
            "cat pytest",
            "python -c pytest",
            "uv sync",
        ] {
            assert!(!runs(text), "{text}");
        }
    }
}
