//! Which tests inside a build run, module by module.

use std::collections::BTreeMap;

/// What happens with the tests of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tests {
    /// None of them: the module is only built because others need it.
    None,
    /// All of them.
    All,
    /// Those that the records do not let be skipped.
    ByRecords,
}

/// The choice for a whole build.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    /// By `group:artifact`, with the reason.
    pub(crate) modules: BTreeMap<String, (Tests, String)>,
    /// For a module that is not in the list, which nobody foresaw.
    pub(crate) others: Tests,
    /// Properties for some modules alone: `group:artifact`, name, value.
    pub(crate) properties: Vec<(String, String, String)>,
}

impl Choice {
    /// What happens with the tests of an artifact, given as Maven tells it: `group:artifact:...`.
    pub(crate) fn of(&self, artifact: &str) -> (Tests, &str) {
        let name: Vec<&str> = artifact.split(':').take(2).collect();
        match self.modules.get(&name.join(":")) {
            Some((tests, why)) => (*tests, why),
            None => (self.others, "it is in no list of modules"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_by_the_artifact_that_maven_tells() {
        let modules = BTreeMap::from([("g:a".to_owned(), (Tests::None, "x".to_owned()))]);
        let choice = Choice { modules, others: Tests::All, properties: Vec::new() };
        assert_eq!(choice.of("g:a:jar:1.0"), (Tests::None, "x"));
        assert_eq!(choice.of("g:a"), (Tests::None, "x"));
        assert_eq!(choice.of("g:b:jar:1.0").0, Tests::All);
    }
}
