//! Answers questions about the world of now: files, variables, globs, settings, commands.

use crate::project::Project;
use crate::stdin::{self, Input};
use crate::variables_like;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tamis_core::record::{Access, Detail, Observed};
use tamis_core::{Hash, PortablePath, Question, Scheme, Value};
use tamis_settings::FileGlob;
use tamis_settings::remote::NAMES_FACT;

/// Answers questions about one scope of a tool: its classes, its packages.
pub trait ScopeFacts: std::fmt::Debug + Send + Sync {
    /// `None` for a fact of another scope.
    fn answer(&self, fact: &str) -> Option<Value>;

    /// What became of the answer that a record has to a fact of this scope, in words, where more is known than
    /// that it is another one.
    fn became(&self, _fact: &str, _was: Value) -> Option<String> {
        None
    }

    /// Whether a file that a build makes will be another one when it has run.
    fn is_unbuilt(&self, _: &PortablePath) -> bool {
        false
    }
}

/// Finds the scopes of earlier runs, when the first question about one is asked.
pub trait RestoreScopes: Sync {
    fn restore(&self, project: &Project) -> Vec<Arc<dyn ScopeFacts>>;
}

/// Where no question about a scope is asked.
#[derive(Debug, Clone, Copy)]
pub struct NoScopes;

impl RestoreScopes for NoScopes {
    fn restore(&self, _: &Project) -> Vec<Arc<dyn ScopeFacts>> {
        Vec::new()
    }
}

/// The world as one project sees it.
pub struct World<'a> {
    project: &'a Project,
    variables: HashMap<Vec<u8>, Vec<u8>>,
    facts: HashMap<String, Value>,
    restore: &'a dyn RestoreScopes,
    scopes: OnceLock<Vec<Arc<dyn ScopeFacts>>>,
}

impl std::fmt::Debug for World<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("project", &self.project.root()).finish_non_exhaustive()
    }
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
    /// The world of now; questions about tools go to the scopes of earlier runs.
    pub fn new(project: &'a Project, restore: &'a dyn RestoreScopes) -> Self {
        let variables = all_values(
            std::env::vars_os()
                .map(|(name, value)| (name.into_vec(), value.into_vec()))
                .filter(|(name, _)| project.settings.environment.counts(name)),
        );
        // SAFETY: geteuid has no precondition.
        let root = unsafe { libc::geteuid() } == 0;
        let root = Value::text(if root { b"yes" } else { b"no" });
        let facts = HashMap::from([(ROOT_FACT.to_owned(), root)]);
        Self { project, variables, facts, restore, scopes: OnceLock::new() }
    }

    /// With facts that the caller knows, such as how its tests are started.
    pub fn with_facts(mut self, facts: impl IntoIterator<Item = (String, Value)>) -> Self {
        self.facts.extend(facts);
        self
    }

    /// With what is on our own standard input, which bare commands inherit.
    pub fn with_standard_input(mut self) -> Self {
        let input = Input::of_ours().value(&self.project.fingerprinter);
        self.facts.insert(stdin::FACT.into(), input);
        self
    }

    /// The world with one scope as its tool reports it now, instead of those of earlier runs.
    pub fn with_scope(mut self, scope: Arc<dyn ScopeFacts>) -> Self {
        self.scopes = OnceLock::from(vec![scope]);
        self
    }

    pub fn project(&self) -> &'a Project {
        self.project
    }

    fn scope_fact(&self, fact: &str) -> Value {
        let scopes = self.scopes.get_or_init(|| self.restore.restore(self.project));
        scopes.iter().find_map(|scope| scope.answer(fact)).unwrap_or(Value::Absent)
    }

    /// One answer for each question.
    pub fn ask(&self, questions: &[Question]) -> Vec<Value> {
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
        let scopes = self.scopes.get().map(Vec::as_slice).unwrap_or_default();
        for ((n, path, _), value) in paths.into_iter().zip(found) {
            let is_unbuilt = scopes.iter().any(|scope| scope.is_unbuilt(path));
            values[n] = if is_unbuilt { Value::unbuilt() } else { value };
        }
        values
    }

    /// The answer to one question.
    pub fn answer(&self, question: &Question) -> Value {
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
            Question::Rules => Value::Text(self.project.rules_digest),
            Question::Fact(name) if **name == *NAMES_FACT => self.names_between_machines(),
            Question::Fact(name) => {
                let names = self.variables.keys().map(Vec::as_slice);
                if let Some(set) = variables_like::answer(name, names) {
                    return set;
                }
                let known = self.facts.get(&**name).copied();
                let of_machine = || tamis_observe::answer_fact(name, &self.project.paths);
                known.or_else(of_machine).unwrap_or_else(|| self.scope_fact(name))
            }
        }
    }

    /// More about an answer, for explanations.
    pub fn detail(&self, question: &Question) -> Detail {
        match question {
            Question::Path(path, scheme) => {
                let path = self.project.paths.to_absolute(path);
                self.project.fingerprinter.answer(&path, *scheme).detail
            }
            Question::VariableNames => Detail::Names(self.names()),
            _ => Detail::None,
        }
    }

    /// What became of an answer, in words, where more is known than that it is another one.
    pub fn became(&self, question: &Question, was: Value) -> Option<String> {
        let Question::Fact(fact) = question else { return None };
        let scopes = self.scopes.get_or_init(|| self.restore.restore(self.project));
        scopes.iter().find_map(|scope| scope.became(fact, was))
    }

    fn variable(&self, value: &[u8]) -> Value {
        Value::text(&self.project.paths.neutral_text(value))
    }

    fn names(&self) -> Vec<Vec<u8>> {
        let mut names: Vec<Vec<u8>> = self.variables.keys().cloned().collect();
        names.sort_unstable();
        names
    }

    /// What records from other machines have in the place of the set of all names. They come in files, too: then the lists
    /// are those that hold without `[remote]`.
    fn names_between_machines(&self) -> Value {
        let remote = self.project.settings.remote.clone();
        let remote = remote.unwrap_or_else(tamis_settings::Remote::for_files);
        let names = self.variables.keys().map(Vec::as_slice);
        Value::Text(remote.names_between_machines(names))
    }

    /// What counts for every test: the environment without what the test's own settings give
    /// (`own`), the rules, the user.
    pub fn surroundings(&self, own: &[(OsString, OsString)]) -> Vec<Observed> {
        let is_own = |name: &[u8]| own.iter().any(|(n, _)| n == OsStr::from_bytes(name));
        let mut questions: Vec<Question> =
            self.names().into_iter().filter(|n| !is_own(n)).map(Question::Variable).collect();
        questions.push(Question::VariableNames);
        questions.push(Question::Rules);
        questions.push(Question::Fact(ROOT_FACT.into()));
        let observed = |question: Question| {
            let detail = match &question {
                Question::VariableNames => self.detail(&question),
                _ => Detail::None,
            };
            let before = self.answer(&question);
            Observed { detail, ..given(question, before) }
        };
        questions.into_iter().map(observed).collect()
    }

    /// The globs whose files count for a test, whether it looked at them or not.
    pub fn globs(&self, globs: &[String]) -> Vec<Observed> {
        let questions = globs.iter().cloned().map(Question::Glob);
        questions.map(|question| given(question.clone(), self.answer(&question))).collect()
    }

    /// The names and contents of all files that match.
    fn glob(&self, glob: &str) -> Value {
        let Ok(meant) = FileGlob::new(glob, &self.project.paths) else {
            // The settings were checked: this is a record of another version.
            return Value::Absent;
        };
        let found = self.project.files_meant(&meant);
        // The content of a link is what it leads to.
        let content =
            |file: &PathBuf| (file.canonicalize().unwrap_or_else(|_| file.clone()), Scheme::Raw);
        let values = self.project.fingerprinter.values(&found, content);
        let mut parts = Vec::new();
        for (path, value) in found.iter().zip(&values) {
            let (tag, hash) = value.to_raw();
            parts.push(self.project.paths.to_portable(path).as_bytes().to_vec());
            parts.push([&[tag], hash.to_le_bytes().as_slice()].concat());
        }
        Value::Text(Hash::of_parts(parts.iter().map(Vec::as_slice)))
    }

    /// All files of `run-all-on`, of the project and of its suites, in one value; 0 where there are no such
    /// globs. For strategies that do not go by records.
    pub fn watched(&self) -> Hash {
        let globs = self.project.settings.all_run_all_on();
        if globs.is_empty() {
            return Hash(0);
        }
        let values = globs.iter().map(|glob| {
            let (tag, hash) = self.glob(glob).to_raw();
            [glob.as_bytes(), &[tag], &hash.to_le_bytes()].concat()
        });
        let values: Vec<Vec<u8>> = values.collect();
        Hash::of_parts(values.iter().map(Vec::as_slice))
    }
}

/// An input that counts without having been looked at through the file system.
pub fn given(question: Question, before: Value) -> Observed {
    Observed {
        question,
        before,
        after: None,
        access: Access::default(),
        program: "tamis".into(),
        detail: Detail::None,
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
