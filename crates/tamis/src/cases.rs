//! The tests of a command line: one bare command, or the items of the suites.

use crate::modules::choice::Choice;
use crate::project::Project;
use crate::words;
use anyhow::{Context as _, Result, bail};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tamis_core::decide::Demand;
use tamis_core::record::{Detail, Observed};
use tamis_core::{Hash, Question, TestKey, Value};
use tamis_settings::{Each, Suite};

/// One test, ready to be decided about and run.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) key: TestKey,
    pub(crate) words: Vec<OsString>,
    pub(crate) folder: PathBuf,
    /// Variables that the suite sets.
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) demand: Demand,
    /// What the user wants of the tests inside it, where they can be told apart.
    pub(crate) inside: Demand,
    /// Which modules of a build run their tests, where that was chosen.
    pub(crate) choice: Option<Arc<Choice>>,
    /// Globs whose files count for this test, whether it looked at them or not.
    pub(crate) run_all_on: Vec<String>,
    /// How many tests of the same suite may run at once.
    pub(crate) suite_jobs: Option<usize>,
}

impl Case {
    /// The question that stands for how the test is started, and its answer now.
    pub(crate) fn start_fact(&self) -> (String, Value) {
        // The count tells the last words from the first variable.
        let count = self.words.len().to_le_bytes();
        let mut parts: Vec<&[u8]> = vec![&count];
        parts.extend(self.words.iter().map(|w| w.as_encoded_bytes()));
        for (name, value) in &self.variables {
            parts.push(name.as_encoded_bytes());
            parts.push(value.as_encoded_bytes());
        }
        (format!("the command of {}", self.key), Value::Text(Hash::of_parts(parts)))
    }

    /// What counts for this test without being looked at.
    pub(crate) fn given(&self, answer: impl Fn(&Question) -> Value) -> Vec<Observed> {
        let mut given = Vec::new();
        // A bare command is its words: with others it is another test.
        if !self.key.suite.is_empty() {
            let (fact, value) = self.start_fact();
            given.push((Question::Fact(fact.into()), value));
        }
        for glob in &self.run_all_on {
            let question = Question::Glob(glob.clone());
            let value = answer(&question);
            given.push((question, value));
        }
        given
            .into_iter()
            .map(|(question, before)| Observed {
                question,
                before,
                after: None,
                access: tamis_core::record::Access::default(),
                program: "tamis".into(),
                detail: Detail::None,
            })
            .collect()
    }
}

/// The name of a bare command.
pub(crate) fn command_name(words: &[OsString]) -> String {
    words::join(words)
}

pub(crate) fn command_key(project: &Project, words: &[OsString]) -> TestKey {
    TestKey { suite: String::new(), name: command_name(words), folder: project.relative_folder() }
}

/// A bare command as a test.
pub(crate) fn of_command(
    project: &Project,
    words: &[OsString],
    demand: Demand,
    timeout: Option<Duration>,
) -> Case {
    Case {
        key: command_key(project, words),
        words: words.to_vec(),
        folder: project.folder.clone(),
        variables: Vec::new(),
        timeout,
        inside: demand.clone(),
        demand,
        run_all_on: Vec::new(),
        suite_jobs: None,
        choice: None,
    }
}

/// A bare command as the store knows it; its words are not needed to decide about it.
pub(crate) fn of_recorded_command(project: &Project, key: TestKey) -> Case {
    Case {
        words: Vec::new(),
        folder: project.root().join(&key.folder),
        key,
        variables: Vec::new(),
        timeout: None,
        demand: Demand::None,
        inside: Demand::None,
        run_all_on: Vec::new(),
        suite_jobs: None,
        choice: None,
    }
}

/// A test class inside a build; only the build can start it.
pub(crate) fn of_test_class(project: &Project, key: &TestKey, demand: Demand) -> Case {
    Case { demand, ..of_recorded_command(project, key.clone()) }
}

/// The tests of all suites.
pub(crate) fn of_suites(
    project: &Project,
    demand: &Demand,
    timeout: Option<Duration>,
) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for suite in &project.settings.suites {
        let folder = project.root().join(&suite.folder);
        for item in items(suite, &folder)? {
            let key = TestKey {
                suite: suite.name.clone(),
                name: item.clone(),
                folder: suite.folder.clone(),
            };
            let always = suite.always_run.matching(item.as_bytes());
            cases.push(Case {
                key,
                words: suite.command_for(&item).into_iter().map(OsString::from).collect(),
                folder: folder.clone(),
                variables: suite.env.iter().map(|(n, v)| (n.into(), v.into())).collect(),
                timeout: timeout.or(suite.timeout),
                demand: match (demand, always) {
                    (Demand::None, Some(pattern)) => Demand::AlwaysRun(pattern.to_owned()),
                    (demand, _) => demand.clone(),
                },
                inside: demand.clone(),
                run_all_on: suite.run_all_on.clone(),
                suite_jobs: suite.jobs.map(usize::from),
                choice: None,
            });
        }
    }
    Ok(cases)
}

fn items(suite: &Suite, folder: &std::path::Path) -> Result<Vec<String>> {
    let items = match &suite.each {
        Each::Once => return Ok(vec![suite.single_name()]),
        Each::Items(items) => tamis_settings::items::expand(items, folder)
            .with_context(|| format!("suite {}", suite.name))?,
        Each::Command(words) => printed_lines(suite, words, folder)?,
    };
    if items.is_empty() {
        eprintln!("tamis: suite {} has no tests: `each` gives nothing", suite.name);
    }
    Ok(items)
}

/// The lines that the `each` command prints.
fn printed_lines(suite: &Suite, words: &[String], folder: &std::path::Path) -> Result<Vec<String>> {
    let what = || format!("suite {}: the `each` command {}", suite.name, words::join(words));
    let (program, rest) = words.split_first().with_context(what)?;
    let output = std::process::Command::new(program)
        .args(rest)
        .envs(&suite.env)
        .current_dir(folder)
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("{} cannot be started", what()))?;
    if !output.status.success() {
        bail!("{} ended with {}", what(), output.status);
    }
    let text = String::from_utf8(output.stdout)
        .with_context(|| format!("{} printed something that is no UTF-8", what()))?;
    let mut lines: Vec<String> =
        text.lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned).collect();
    let mut seen = std::collections::HashSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    Ok(lines)
}

/// Words given by the user as a text to find a test by.
pub(crate) fn wanted_name(words: &[OsString]) -> String {
    match words {
        [one] => one.to_str().map_or_else(|| command_name(words), str::to_owned),
        _ => command_name(words),
    }
}

/// The test that a user means: by its full name, by the command in this folder, or by a part of the
/// name that no other test has.
pub(crate) fn find<'k>(
    wanted: &str,
    folder: &str,
    keys: impl IntoIterator<Item = &'k TestKey>,
) -> Result<TestKey> {
    let keys: Vec<&TestKey> = keys.into_iter().collect();
    let exact: Vec<&&TestKey> =
        keys.iter().filter(|k| k.name == wanted || k.to_string() == wanted).collect();
    if let Some(here) = exact.iter().find(|k| k.folder == folder) {
        return Ok((**here).clone());
    }
    let mut found: Vec<&TestKey> = match exact[..] {
        [] => keys.into_iter().filter(|k| k.to_string().contains(wanted)).collect(),
        _ => exact.into_iter().copied().collect(),
    };
    // The name of a test class means the class, not one of its methods.
    let is_method = |key: &&TestKey| crate::jvm::methods::is_method(&key.name);
    if !found.iter().all(is_method) {
        found.retain(|key| !is_method(key));
    }
    // A method by the simple name of its class and its own.
    let ends = |key: &&TestKey| key.name.ends_with(wanted);
    if wanted.contains('#') && found.iter().any(ends) {
        found.retain(ends);
    }
    match found[..] {
        [] => bail!("no test is called {wanted:?}; `tamis status` lists the tests"),
        [one] => Ok(one.clone()),
        _ => {
            let mut names: Vec<String> = found.iter().map(|k| format!("  {k}")).collect();
            names.sort();
            let more = names.len().saturating_sub(10);
            names.truncate(10);
            if more > 0 {
                names.push(format!("  ... and {more} more"));
            }
            bail!(
                "{wanted:?} could be any of these tests; say more of the name:\n{}",
                names.join("\n")
            )
        }
    }
}

/// Whether a variable is one that the case sets itself.
pub(crate) fn sets(case: &Case, name: &OsStr) -> bool {
    case.variables.iter().any(|(n, _)| n == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(suite: &str, name: &str, folder: &str) -> TestKey {
        TestKey { suite: suite.into(), name: name.into(), folder: folder.into() }
    }

    #[test]
    fn words_and_variables_are_told_apart() {
        let case = |words: &[&str], variables: &[(&str, &str)]| Case {
            key: key("s", "x", "."),
            words: words.iter().map(OsString::from).collect(),
            folder: PathBuf::from("/"),
            variables: variables.iter().map(|(n, v)| (n.into(), v.into())).collect(),
            timeout: None,
            demand: Demand::None,
            inside: Demand::None,
            run_all_on: Vec::new(),
            suite_jobs: None,
            choice: None,
        };
        let by_words = case(&["sh", "A", "b"], &[]).start_fact();
        assert_ne!(by_words, case(&["sh"], &[("A", "b")]).start_fact());
        assert_eq!(by_words, case(&["sh", "A", "b"], &[]).start_fact());
    }

    #[test]
    fn names_may_be_shortened_where_unique() {
        let keys =
            [key("", "./check.sh", "."), key("s", "tests/a.sh", "."), key("s", "tests/b.sh", ".")];
        assert_eq!(find("a.sh", ".", &keys).unwrap(), keys[1]);
        assert_eq!(find("s::tests/b.sh", ".", &keys).unwrap(), keys[2]);
        assert_eq!(find("check", ".", &keys).unwrap(), keys[0]);
        let error = find("tests", ".", &keys).unwrap_err().to_string();
        assert!(error.contains("s::tests/a.sh") && error.contains("say more"), "{error}");
        assert!(find("none", ".", &keys).is_err());
    }

    #[test]
    fn classes_come_before_their_methods() {
        let keys =
            ["a.FooTest", "a.FooTest#bar", "a.FooTest#bars"].map(|name| key("mvn:x", name, "."));
        assert_eq!(find("FooTest", ".", &keys).unwrap(), keys[0]);
        assert_eq!(find("FooTest#bar", ".", &keys).unwrap(), keys[1]);
        assert_eq!(find("#bars", ".", &keys).unwrap(), keys[2]);
        assert!(find("FooTest#b", ".", &keys).is_err());
    }

    #[test]
    fn the_folder_decides_between_equal_commands() {
        let keys = [key("", "make", "a"), key("", "make", "b")];
        assert_eq!(find("make", "b", &keys).unwrap(), keys[1]);
        assert!(find("make", ".", &keys).is_err());
    }
}
