//! The tests of a command line: one bare command, or the items of the suites.

use crate::always_run;
use crate::call::Call;
use crate::words;
use anyhow::{Context as _, Result, anyhow, bail};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tamis_core::decide::Demand;
use tamis_core::record::Observed;
use tamis_core::{Hash, Question, TestKey, Value};
use tamis_project::{Project, World, given};
use tamis_session::{Choice, Claim, CommandContext, Invocation};
use tamis_settings::{Each, NameFilter, Suite};

/// One test, ready to be decided about and run.
#[derive(Debug, Clone)]
pub struct Case {
    pub key: TestKey,
    pub words: Vec<OsString>,
    pub folder: PathBuf,
    /// Variables that the suite sets.
    pub variables: Vec<(OsString, OsString)>,
    pub timeout: Option<Duration>,
    pub demand: Demand,
    /// What is wanted of the tests inside it, where a front end distinguishes them.
    pub inside: Demand,
    /// Which modules of a build run their tests, where that was chosen.
    pub choice: Option<Arc<Choice>>,
    /// Globs whose files count for this test, whether it looked at them or not.
    pub run_all_on: Vec<String>,
    /// How many tests of the same suite may run at once.
    pub suite_jobs: Option<usize>,
    /// The front end's part, where one distinguishes the tests inside the command.
    pub claim: Option<Arc<dyn Claim>>,
}

impl Case {
    /// The question that stands for how the test is started, and its answer now.
    pub fn start_fact(&self) -> (String, Value) {
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

    /// What counts for this test: its surroundings, how it is started, the globs of its suite.
    pub(crate) fn surroundings(&self, world: &World<'_>) -> Vec<Observed> {
        let mut observed = world.surroundings(&self.variables);
        // A bare command is its words: with others it is another test.
        if !self.key.is_command() {
            let (fact, value) = self.start_fact();
            observed.push(given(Question::Fact(fact.into()), value));
        }
        observed.extend(world.globs(&self.run_all_on));
        observed
    }

    /// The environment that the test gets.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        environment(&self.variables)
    }

    /// What the units inside it are given.
    pub(crate) fn context(&self) -> CommandContext {
        CommandContext {
            key: self.key.clone(),
            demand: self.inside.clone(),
            choice: self.choice.clone(),
            run_all_on: self.run_all_on.clone(),
        }
    }
}

/// The world as these tests see it.
pub(crate) fn world<'a>(call: Call<'a>, cases: &[Case]) -> World<'a> {
    let world = call.world().with_facts(cases.iter().map(Case::start_fact));
    match cases.iter().any(|case| case.key.is_command()) {
        true => world.with_standard_input(),
        false => world,
    }
}

/// The name of a bare command.
pub fn command_name(words: &[OsString]) -> String {
    words::join(words)
}

pub(crate) fn command_key(project: &Project, words: &[OsString]) -> TestKey {
    TestKey::command(command_name(words), project.relative_folder())
}

/// A bare command as a test. What the command does besides testing, or the user's wish, may keep it from
/// being skipped as a whole.
pub(crate) fn of_command(call: Call<'_>, words: &[OsString], demand: Demand) -> Case {
    let claim = claimed(call, words, &call.project.folder, &[]);
    let recorded = of_recorded(call.project, command_key(call.project, words));
    let inside = if demand == Demand::None { recorded.inside.clone() } else { demand };
    let demand = of_whole(call, claim.as_deref(), inside.clone());
    Case {
        words: words.to_vec(),
        folder: call.project.folder.clone(),
        timeout: call.options.timeout,
        demand,
        inside,
        claim,
        ..recorded
    }
}

/// What is wanted of a command as a whole, where this is wanted of all that is inside. What it does besides
/// testing, and tests in it that are never skipped, keep it from being skipped.
fn of_whole(call: Call<'_>, claim: Option<&dyn Claim>, inside: Demand) -> Demand {
    let (Some(claim), Demand::None) = (claim, &inside) else { return inside };
    if call.options.which.no_command_skip || call.options.is_static() {
        return Demand::Requested;
    }
    match always_run::demand_of_whole(&call.project.settings) {
        Demand::None => claim.demand(call.project),
        always => always,
    }
}

/// The front end's part of a command with these variables of its own.
fn claimed(
    call: Call<'_>,
    words: &[OsString],
    folder: &std::path::Path,
    variables: &[(OsString, OsString)],
) -> Option<Arc<dyn Claim>> {
    if !call.frontends.may_claim(words) {
        return None;
    }
    let invocation = Invocation {
        words: words.to_vec(),
        environment: environment(variables),
        folder: folder.to_path_buf(),
    };
    call.frontends.claim(&invocation).map(Arc::from)
}

/// Our own environment with these variables.
fn environment(variables: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let sets = |name: &OsStr| variables.iter().any(|(n, _)| n == name);
    let mut all: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| !sets(name)).collect();
    all.extend(variables.iter().cloned());
    all
}

/// A test as the store knows it; how it is started is not needed to decide about it.
pub fn of_recorded(project: &Project, key: TestKey) -> Case {
    let demand = always_run::demand(&project.settings, &key);
    Case {
        words: Vec::new(),
        folder: project.root().join(&key.folder),
        key,
        variables: Vec::new(),
        timeout: None,
        inside: demand.clone(),
        demand,
        run_all_on: project.settings.run_all_on.clone(),
        suite_jobs: None,
        choice: None,
        claim: None,
    }
}

/// The tests of all suites.
pub fn of_suites(call: Call<'_>) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for suite in &call.project.settings.suites {
        let folder = call.project.root().join(&suite.folder);
        for item in items(call, suite, &folder)? {
            cases.push(of_item(call, suite, &folder, &item));
        }
    }
    Ok(cases)
}

fn of_item(call: Call<'_>, suite: &Suite, folder: &std::path::Path, item: &str) -> Case {
    let words: Vec<OsString> = suite.command_for(item).into_iter().map(OsString::from).collect();
    let variables: Vec<(OsString, OsString)> =
        suite.env.iter().map(|(n, v)| (n.into(), v.into())).collect();
    let always = suite.always_run.matching(item.as_bytes());
    let recorded = of_recorded(call.project, TestKey::item(&suite.name, item, &suite.folder));
    let inside = match (call.options.demand(), always) {
        (Demand::None, Some(pattern)) => Demand::AlwaysRun(pattern.to_owned()),
        (Demand::None, None) => recorded.inside.clone(),
        (demand, _) => demand,
    };
    let claim = claimed(call, &words, folder, &variables);
    Case {
        demand: of_whole(call, claim.as_deref(), inside.clone()),
        claim,
        words,
        folder: folder.to_path_buf(),
        variables,
        timeout: call.options.timeout.or(suite.timeout),
        inside,
        run_all_on: [recorded.run_all_on.as_slice(), &suite.run_all_on].concat(),
        suite_jobs: suite.jobs.map(usize::from),
        ..recorded
    }
}

fn items(call: Call<'_>, suite: &Suite, folder: &std::path::Path) -> Result<Vec<String>> {
    let items = match &suite.each {
        Each::Once => return Ok(vec![suite.single_name()]),
        Each::Items(items) => tamis_settings::items::expand(items, folder)
            .with_context(|| format!("suite {}", suite.name))?,
        Each::Command(words) => {
            let text = printed(suite, words, folder)?;
            text.lines().map(|line| line.trim().to_owned()).collect()
        }
        Each::Json(words, keys) => {
            let text = printed(suite, words, folder)?;
            let names = tamis_settings::items::json_names(&text, keys);
            names.map_err(|why| anyhow!("{} {why}", each_command(suite, words)))?
        }
    };
    let mut seen = std::collections::HashSet::new();
    let items: Vec<String> =
        items.into_iter().filter(|item| !item.is_empty() && seen.insert(item.clone())).collect();
    if items.is_empty() {
        let text = format!("suite {} has no tests: `each` gives nothing", suite.name);
        call.notices().warn(text);
    }
    Ok(items)
}

fn each_command(suite: &Suite, words: &[String]) -> String {
    format!("suite {}: the `each` command {}", suite.name, words::join(words))
}

/// What the `each` command prints.
fn printed(suite: &Suite, words: &[String], folder: &std::path::Path) -> Result<String> {
    let what = || each_command(suite, words);
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
    String::from_utf8(output.stdout)
        .with_context(|| format!("{} printed something that is no UTF-8", what()))
}

/// Words given by the user as a text to find a test by.
pub fn wanted_name(words: &[OsString]) -> String {
    match words {
        [one] => one.to_str().map_or_else(|| command_name(words), str::to_owned),
        _ => command_name(words),
    }
}

/// Whether a test with records has exactly this name.
pub fn is_recorded(project: &Project, words: &[OsString]) -> bool {
    let Ok(Some(store)) = project.existing_store(&tamis_core::Silent) else { return false };
    let wanted = wanted_name(words);
    let named = |key: &TestKey| key.unit.name() == wanted || key.to_string() == wanted;
    store.tests().is_ok_and(|tests| tests.iter().any(|test| named(&test.key)))
}

/// The test that a user means: by its full name, by the command in this folder, or by a part of the
/// name that no other test has.
pub fn find<'k>(
    wanted: &str,
    folder: &str,
    keys: impl IntoIterator<Item = &'k TestKey>,
) -> Result<TestKey> {
    let keys: Vec<&TestKey> = keys.into_iter().collect();
    let exact: Vec<&&TestKey> =
        keys.iter().filter(|k| k.unit.name() == wanted || k.to_string() == wanted).collect();
    if let Some(here) = exact.iter().find(|k| k.folder == folder) {
        return Ok((**here).clone());
    }
    let all = keys.clone();
    let mut found: Vec<&TestKey> = match exact[..] {
        [] => keys.into_iter().filter(|k| k.to_string().contains(wanted)).collect(),
        _ => exact.into_iter().copied().collect(),
    };
    // The name of a test class means the class, not one of its methods.
    let is_method = |key: &&TestKey| key.unit.is_method();
    if !found.iter().all(is_method) {
        found.retain(|key| !is_method(key));
    }
    // A method by the simple name of its class and its own.
    let ends = |key: &&TestKey| key.unit.name().ends_with(wanted);
    if found.iter().all(is_method) && found.iter().any(ends) {
        found.retain(ends);
    }
    match found[..] {
        [] => bail!("no test is called {wanted:?}{}", hint(wanted, &all)),
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
                "{wanted:?} could be any of these tests; give more of the name:\n{}",
                names.join("\n")
            )
        }
    }
}

/// The names that somebody may have meant, or where all are listed.
pub(crate) fn hint(wanted: &str, keys: &[&TestKey]) -> String {
    let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
    match tamis_report::nearest(wanted, names.iter().map(String::as_str))[..] {
        [] if names.is_empty() => "; no test is recorded here yet".into(),
        [] => "; `tamis status` lists the tests".into(),
        [one] => format!("; did you mean {one}?"),
        ref several => format!("; did you mean one of these?\n  {}", several.join("\n  ")),
    }
}

/// What `--only` asks for in vain, and the names that may have been meant.
pub(crate) fn not_found(only: &NameFilter, keys: &[TestKey]) -> String {
    let keys: Vec<&TestKey> = keys.iter().collect();
    let texts = only.patterns().iter();
    let texts = texts.map(|text| format!("--only {text}{}", hint(text, &keys)));
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::{Scope, Unit};

    fn key(suite: &str, name: &str, folder: &str) -> TestKey {
        match suite {
            "" => TestKey::command(name, folder),
            _ => TestKey::item(suite, name, folder),
        }
    }

    #[test]
    fn words_and_variables_are_distinguished() {
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
            claim: None,
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
        assert!(error.contains("s::tests/a.sh") && error.contains("give more"), "{error}");
        assert!(find("none", ".", &keys).is_err());
    }

    #[test]
    fn classes_come_before_their_methods() {
        let class = "a.FooTest";
        let method = |name: &str| Unit::Method { class: class.into(), method: name.into() };
        let units = [Unit::Class(class.into()), method("bar"), method("bars")];
        let scope = Scope::Suite("x".into());
        let keys = units.map(|unit| TestKey { scope: scope.clone(), unit, folder: ".".into() });
        assert_eq!(find("FooTest", ".", &keys).unwrap(), keys[0]);
        assert_eq!(find("FooTest#bar", ".", &keys).unwrap(), keys[1]);
        assert_eq!(find("#bars", ".", &keys).unwrap(), keys[2]);
        assert!(find("FooTest#b", ".", &keys).is_err());
    }

    #[test]
    fn an_item_with_a_sign_in_its_name_is_an_item() {
        let keys = [key("cases", "t", "."), key("cases", "t#1", ".")];
        assert_eq!(find("t#1", ".", &keys).unwrap(), keys[1]);
        assert_eq!(find("t", ".", &keys).unwrap(), keys[0]);
        assert_eq!(find("#1", ".", &keys).unwrap(), keys[1]);
    }

    #[test]
    fn the_folder_decides_between_equal_commands() {
        let keys = [key("", "make", "a"), key("", "make", "b")];
        assert_eq!(find("make", "b", &keys).unwrap(), keys[1]);
        assert!(find("make", ".", &keys).is_err());
    }
}
