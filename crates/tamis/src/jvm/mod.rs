//! Test classes inside a build tool: `tamis mvn test`.
//!
//! The command itself is one test, as any other command: with nothing changed it is not even started.
//! Where it is, its JVMs get our agent (`MAVEN_OPTS` for Maven's own, the fork's arguments for those
//! that run tests; no build file is touched), and each test class is a test of its own:
//!
//! 1. Before a test goal starts its JVM, the agent in Maven tells the goal, its classpath and the test
//!    classes that it found ([`goal`]). tamis decides about each of them and answers which ones need
//!    not run; with none left, no JVM is started.
//! 2. The agent in the JVM of the tests tells which classes and methods each test class used
//!    ([`tamis_dynamic`]), the tracer which files ([`tamis_observe::Parted`]).
//! 3. As soon as both are known, the record of that test class is written ([`collect`]).
//!
//! Other launchers (`tamis java`, `tamis ant`, `tamis gradle`): the runner in the JVM asks itself, so that the
//! first step happens there ([`launch`], `collect/launched.rs`).
//!
//! What the command as a whole relied on then is what it looked at itself, and what the test classes
//! that were skipped had looked at.

pub(crate) mod always;
pub(crate) mod by_graph;
pub(crate) mod collect;
pub(crate) mod goal;
pub(crate) mod launch;
pub(crate) mod methods;
pub(crate) mod said;
pub(crate) mod saved;
pub(crate) mod session;

use std::ffi::OsString;
use std::path::Path;

/// Whether a command is Maven, whose tests can be told apart.
pub(crate) fn is_maven(words: &[OsString]) -> bool {
    let name = words.first().and_then(|w| Path::new(w).file_name()).and_then(|n| n.to_str());
    matches!(name, Some("mvn" | "mvnw"))
}

/// Whether a suite is made of the test classes of a build or a JVM.
pub(crate) fn is_scope(suite: &str) -> bool {
    ["mvn:", "java:", "ant:", "gradle:"].iter().any(|tool| suite.starts_with(tool))
}

/// How the suites of a command's test classes begin.
pub(crate) fn tool(words: &[OsString]) -> Option<&'static str> {
    match () {
        () if is_maven(words) => Some("mvn:"),
        () if launch::is_java(words) => Some("java:"),
        () if launch::is_ant(words) => Some("ant:"),
        () if launch::is_gradle(words) => Some("gradle:"),
        () if launch::is_other(words) => Some("java:"),
        () => None,
    }
}

/// Whether tests inside a command can be told apart.
pub(crate) fn has_agent(words: &[OsString]) -> bool {
    is_build(words) || launch::is_java(words)
}

/// Whether a command is a build: what it makes has to be there still for it to be skipped.
pub(crate) fn is_build(words: &[OsString]) -> bool {
    is_maven(words)
        || launch::is_ant(words)
        || launch::is_gradle(words)
        || (launch::is_other(words) && !launch::is_java(words))
}

/// What a build does elsewhere than in its own folders, if anything: it must not be skipped.
pub(crate) fn effect_elsewhere(words: &[OsString]) -> Option<String> {
    if launch::is_ant(words) || launch::is_gradle(words) {
        return launch::effect(words);
    }
    if !is_maven(words) {
        return None;
    }
    const PHASES: &[&str] = &["install", "deploy", "site-deploy"];
    // Options that take the next word, which may well hold a colon.
    const WITH_VALUE: &[&str] =
        &["-pl", "--projects", "-rf", "--resume-from", "-f", "--file", "-s", "-P"];
    let words: Vec<&str> = words.iter().skip(1).filter_map(|w| w.to_str()).collect();
    let is_value = |at: usize| at > 0 && WITH_VALUE.contains(&words[at - 1]);
    words.iter().enumerate().filter(|(at, _)| !is_value(*at)).find_map(|(_, word)| {
        let goal = !word.starts_with('-') && word.contains(':');
        (PHASES.contains(word) || goal)
            .then(|| format!("what `{word}` does elsewhere is not known"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn maven_by_its_name() {
        assert!(is_maven(&words("mvn test")) && is_maven(&words("./mvnw -q verify")));
        assert!(!is_maven(&words("mvnd test")) && !is_maven(&words("make mvn")));
    }

    #[test]
    fn effects_elsewhere() {
        for none in ["mvn test", "mvn -o -B clean verify", "mvn -Dx=a:b test", "mvn -pl :core test"]
        {
            assert_eq!(effect_elsewhere(&words(none)), None, "{none}");
        }
        for some in ["mvn install", "mvn -q deploy", "mvn dependency:copy"] {
            assert!(effect_elsewhere(&words(some)).is_some(), "{some}");
        }
    }
}
