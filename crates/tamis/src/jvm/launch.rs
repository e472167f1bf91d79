//! Commands that start a JVM without a build tool that tamis knows: how they get our agent.
//!
//! `java` gets it as its first argument, Ant by `ANT_OPTS`: nothing is printed, and the JVMs that tests
//! start have none.

use crate::jvm::collect::Collected;
use crate::jvm::is_maven;
use crate::jvm::session::Session;
use std::ffi::OsString;
use std::path::Path;

fn program(words: &[OsString]) -> Option<&str> {
    words.first().and_then(|w| Path::new(w).file_name()).and_then(|n| n.to_str())
}

pub(crate) fn is_java(words: &[OsString]) -> bool {
    program(words) == Some("java")
}

pub(crate) fn is_ant(words: &[OsString]) -> bool {
    program(words) == Some("ant")
}

/// The environment with the agent in it: Ant's own JVM has it from there, and hands it on to those that
/// its tasks start.
pub(crate) fn environment(
    session: &Session,
    words: &[OsString],
    environment: Vec<(OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    match session.launch_argument() {
        Some(argument) if is_ant(words) => put_first("ANT_OPTS", argument, environment),
        _ => environment,
    }
}

fn put_first(
    name: &str,
    argument: String,
    mut environment: Vec<(OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let mut value = OsString::from(argument);
    if let Some(at) = environment.iter().position(|(known, _)| known == name) {
        value.push(" ");
        value.push(environment.remove(at).1);
    }
    environment.push((name.into(), value));
    environment
}

/// Targets whose names say that they do something elsewhere.
pub(crate) fn ant_effect(words: &[OsString]) -> Option<String> {
    const EFFECTS: &[&str] = &["install", "deploy", "publish", "upload", "release"];
    let targets = words.iter().skip(1).filter_map(|word| word.to_str());
    let target = targets
        .filter(|t| !t.starts_with('-'))
        .find(|target| target.split(['-', '.', '_']).any(|part| EFFECTS.contains(&part)));
    target.map(|target| format!("what `{target}` does elsewhere is not known"))
}

/// The words with the agent in them.
pub(crate) fn words(session: &Session, words: &[OsString]) -> Vec<OsString> {
    let mut words = words.to_vec();
    if is_java(&words)
        && let Some(argument) = session.launch_argument()
    {
        words.insert(1, argument.into());
    }
    words
}

/// No test was told apart: says why, and what is done instead.
pub(crate) fn tell_nothing_seen(words: &[OsString], inside: &Collected, passed: bool) {
    if is_maven(words) {
        if passed {
            eprintln!("tamis: no test goal was seen in this build; it was observed as a whole");
        }
    } else if inside.refused {
        // Said already.
    } else if inside.launched == 0 {
        eprintln!(
            "tamis: WARNING: the agent did not start in any JVM of this command (`tamis doctor` \
             looks for the cause); everything ran and was observed as a whole"
        );
    } else {
        eprintln!(
            "tamis: no test runner that tamis knows was seen in this JVM; everything ran and was \
             observed as a whole"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_by_its_name() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(is_java(&words("java -jar x.jar")) && is_java(&words("/opt/jdk/bin/java A")));
        assert!(!is_java(&words("javac A.java")) && !is_java(&[]));
        assert!(is_ant(&words("ant test")) && !is_ant(&words("ants test")));
    }

    #[test]
    fn targets_with_effects_elsewhere() {
        let effect = |text: &str| {
            ant_effect(&text.split(' ').map(OsString::from).collect::<Vec<_>>()).is_some()
        };
        assert!(!effect("ant test") && !effect("ant -Dinstall=x check"));
        assert!(effect("ant test deploy-all") && effect("ant publish"));
    }

    #[test]
    fn what_the_user_has_set_stays() {
        let both = put_first("A", "x".into(), vec![("A".into(), "y z".into())]);
        assert_eq!(both, [("A".into(), "x y z".into())]);
        assert_eq!(put_first("A", "x".into(), Vec::new()), [("A".into(), "x".into())]);
    }
}
