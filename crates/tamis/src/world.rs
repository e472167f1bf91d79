//! Answers questions about the world of now: files, variables, globs, settings, commands.

use crate::cases::Case;
use crate::jvm::goal::GoalFacts;
use crate::project::Project;
use crate::stdin::{self, Input};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::OnceLock;
use tamis_core::record::{Access, Detail, Observed};
use tamis_core::{Hash, PortablePath, Question, Scheme, Value};
use tamis_dynamic::Fact;
use tamis_settings::NameGlobs;

/// The world as one project sees it.
#[derive(Debug)]
pub(crate) struct World<'a> {
    project: &'a Project,
    variables: HashMap<Vec<u8>, Vec<u8>>,
    facts: HashMap<String, Value>,
    /// Test goals of builds, for questions about their classes; loaded when first asked.
    goals: OnceLock<Vec<GoalFacts>>,
}

/// Whether permissions hold for the user: tests often behave differently for root.
const ROOT_FACT: &str = "whether the tests run as root";

/// The values by name. A name can be there twice: some programs take the first, some the last.
fn all_values(pairs: impl Iterator<Item = (Vec<u8>, Vec<u8>)>) -> HashMap<Vec<u8>, Vec<u8>> {
    let mut variables: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    for (name, value) in pairs {
        match variables.get_mut(&name) {
            Some(all) => all.extend([&[0], value.as_slice()].concat()),
            None => drop(variables.insert(name, value)),
        }
    }
    variables
}

impl<'a> World<'a> {
    /// The world; `cases` are the tests whose commands are known now.
    pub(crate) fn new(project: &'a Project, cases: &[Case]) -> Self {
        let variables = all_values(
            std::env::vars_os()
                .map(|(name, value)| (name.into_vec(), value.into_vec()))
                .filter(|(name, _)| project.settings.environment.counts(name)),
        );
        let mut facts: HashMap<String, Value> = cases.iter().map(Case::start_fact).collect();
        // SAFETY: geteuid has no precondition.
        let root = unsafe { libc::geteuid() } == 0;
        facts.insert(ROOT_FACT.into(), Value::text(if root { b"yes" } else { b"no" }));
        if cases.iter().any(|case| case.key.suite.is_empty()) {
            let input = Input::of_ours().value(&project.fingerprinter);
            facts.insert(stdin::FACT.into(), input);
        }
        Self { project, variables, facts, goals: OnceLock::new() }
    }

    /// The world with the classes of one goal as the build gives them now.
    pub(crate) fn with_goal(mut self, goal: GoalFacts) -> Self {
        self.goals = OnceLock::from(vec![goal]);
        self
    }

    fn class_fact(&self, name: &str) -> Value {
        let Some(fact) = Fact::parse(name) else { return Value::Absent };
        let goals = self.goals.get_or_init(|| crate::jvm::saved::load(self.project));
        goals.iter().find_map(|goal| goal.answer(&fact)).unwrap_or(Value::Absent)
    }

    /// One answer for each question.
    pub(crate) fn ask(&self, questions: &[Question]) -> Vec<Value> {
        let mut values = vec![Value::Absent; questions.len()];
        let mut paths = Vec::with_capacity(questions.len());
        for (n, question) in questions.iter().enumerate() {
            match question {
                Question::Path(path, scheme) => paths.push((n, path, *scheme)),
                other => values[n] = self.answer(other),
            }
        }
        let absolute = |&(_, path, scheme): &(usize, &PortablePath, Scheme)| {
            (self.project.paths.to_absolute(path), scheme)
        };
        let found = self.project.fingerprinter.values(&paths, absolute);
        for ((n, ..), value) in paths.into_iter().zip(found) {
            values[n] = value;
        }
        values
    }

    /// The answer to one question.
    pub(crate) fn answer(&self, question: &Question) -> Value {
        match question {
            Question::Path(path, scheme) => {
                let path = self.project.paths.to_absolute(path);
                self.project.fingerprinter.answer(&path, *scheme).value
            }
            Question::Variable(name) => {
                self.variables.get(name).map_or(Value::Absent, |value| self.variable(value))
            }
            Question::VariableNames => {
                Value::Text(Hash::of_parts(self.names().iter().map(Vec::as_slice)))
            }
            Question::Glob(glob) => self.glob(glob),
            Question::Rules => Value::Text(self.project.settings.observation_digest()),
            Question::Fact(name) => {
                let known = self.facts.get(&**name).copied();
                let of_machine = || tamis_observe::answer_fact(name, &self.project.paths);
                known.or_else(of_machine).unwrap_or_else(|| self.class_fact(name))
            }
        }
    }

    /// More about an answer, for explanations.
    pub(crate) fn detail(&self, question: &Question) -> Detail {
        match question {
            Question::Path(path, scheme) => {
                let path = self.project.paths.to_absolute(path);
                self.project.fingerprinter.answer(&path, *scheme).detail
            }
            Question::VariableNames => Detail::Names(self.names()),
            _ => Detail::None,
        }
    }

    fn variable(&self, value: &[u8]) -> Value {
        Value::text(&self.project.paths.neutral_text(value))
    }

    fn names(&self) -> Vec<Vec<u8>> {
        let mut names: Vec<Vec<u8>> = self.variables.keys().cloned().collect();
        names.sort_unstable();
        names
    }

    /// What counts for every test: the environment, the rules, the user.
    pub(crate) fn surroundings(&self, case: &Case) -> Vec<Observed> {
        let mut questions: Vec<Question> = self
            .names()
            .into_iter()
            .filter(|name| !crate::cases::sets(case, OsStr::from_bytes(name)))
            .map(Question::Variable)
            .collect();
        questions.push(Question::VariableNames);
        questions.push(Question::Rules);
        questions.push(Question::Fact(ROOT_FACT.into()));
        let mut observed: Vec<Observed> = questions
            .into_iter()
            .map(|question| Observed {
                before: self.answer(&question),
                detail: match &question {
                    Question::VariableNames => self.detail(&question),
                    _ => Detail::None,
                },
                question,
                after: None,
                access: Access::default(),
                program: "tamis".into(),
            })
            .collect();
        observed.extend(case.given(|question| self.answer(question)));
        observed
    }

    /// The environment that the test gets.
    pub(crate) fn environment(case: &Case) -> Vec<(OsString, OsString)> {
        let mut environment: Vec<(OsString, OsString)> =
            std::env::vars_os().filter(|(name, _)| !crate::cases::sets(case, name)).collect();
        environment.extend(case.variables.iter().cloned());
        environment
    }

    /// The names and contents of all files below the root that match.
    fn glob(&self, glob: &str) -> Value {
        let Ok(globs) = NameGlobs::new(vec![glob.to_owned()]) else {
            // The settings were checked: this is a record of another version.
            return Value::Absent;
        };
        let root = self.project.root();
        let mut found = Vec::new();
        let walk = ignore::WalkBuilder::new(root)
            .standard_filters(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        for entry in walk.flatten() {
            let Ok(relative) = entry.path().strip_prefix(root) else { continue };
            let is_file = entry.file_type().is_some_and(|t| !t.is_dir());
            if is_file && globs.matches(relative.as_os_str().as_bytes()) {
                found.push((entry.path().to_path_buf(), Scheme::Raw));
            }
        }
        found.sort_unstable();
        let values = self.project.fingerprinter.values(&found, Clone::clone);
        let mut parts = Vec::new();
        for ((path, _), value) in found.iter().zip(&values) {
            let (tag, hash) = value.to_raw();
            let relative = path.strip_prefix(root).unwrap_or(path);
            parts.push(relative.as_os_str().as_bytes().to_vec());
            parts.push([&[tag], hash.to_le_bytes().as_slice()].concat());
        }
        Value::Text(Hash::of_parts(parts.iter().map(Vec::as_slice)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_there_twice_has_both_values() {
        let pair = |value: &str| (b"A".to_vec(), value.as_bytes().to_vec());
        let value =
            |pairs: [(Vec<u8>, Vec<u8>); 2]| all_values(pairs.into_iter())[&b"A"[..]].clone();
        assert_eq!(value([pair("1"), pair("2")]), b"1\x002");
        assert_ne!(value([pair("1"), pair("2")]), value([pair("2"), pair("1")]));
        assert_eq!(all_values([pair("1")].into_iter())[&b"A"[..]], b"1");
    }
}
