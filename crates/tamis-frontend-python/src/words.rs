//! Which command lines run pytest.

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

/// Whether these words run pytest, as far as words show it.
pub fn runs_pytest(words: &[OsString]) -> bool {
    let names: Vec<&str> = words.iter().filter_map(|word| word.to_str()).map(name).collect();
    let Some((first, rest)) = names.split_first() else { return false };
    if names.len() < words.len() {
        return false;
    }
    is_pytest(first)
        || (is_python(first) && is_module(rest))
        || (STARTERS.contains(first) && (rest.iter().any(|w| is_pytest(w)) || is_module(rest)))
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

/// `-m pytest`, also behind other options of the interpreter.
fn is_module(words: &[&str]) -> bool {
    let at = words.iter().position(|word| *word == "-m");
    at.and_then(|at| words.get(at + 1)).is_some_and(|module| is_pytest(module))
        || words.contains(&"-mpytest")
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
            "env A=1 pytest",
        ] {
            assert!(runs(text), "{text}");
        }
    }

    #[test]
    fn other_commands() {
        for text in [
            "python tests.py",
            "python -m unittest",
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
