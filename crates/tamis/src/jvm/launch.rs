//! Commands that start a JVM without a build tool that tamis knows: how they get our agent.
//!
//! `java` gets it as its first argument, Ant by `ANT_OPTS`: nothing is printed, and the JVMs that tests
//! start have none. Gradle gets it by `JAVA_TOOL_OPTIONS`, which each JVM mentions in one line, and is
//! told not to use a daemon. Any other program gets it in the same way if the user names it in
//! `TAMIS_JVM_LAUNCHERS`.

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

pub(crate) fn is_gradle(words: &[OsString]) -> bool {
    matches!(program(words), Some("gradle" | "gradlew"))
}

/// Programs that start JVMs with tests, as the user says.
const OTHERS: &str = "TAMIS_JVM_LAUNCHERS";

/// Whether the user says that a command starts JVMs with tests.
pub(crate) fn is_other(words: &[OsString]) -> bool {
    let named = std::env::var(OTHERS).unwrap_or_default();
    program(words).is_some_and(|program| is_among(program, &named))
}

fn is_among(program: &str, named: &str) -> bool {
    let names = named.split([':', ',', ' ']).filter(|name| !name.is_empty());
    names.map(|name| name.rsplit('/').next().unwrap_or(name)).any(|name| name == program)
}

/// Why what a command does is not seen, where that is known beforehand.
pub(crate) fn unseen(words: &[OsString]) -> Option<String> {
    let by_daemon = is_gradle(words) && words.iter().any(|word| word == "--daemon");
    by_daemon.then(|| "Gradle's daemon runs the tests outside of what tamis sees".to_owned())
}

/// The environment with the agent in it: Ant's own JVM has it from there, and hands it on to those that
/// its tasks start. Gradle starts several JVMs before the one with the tests, so all get it; so do those
/// of programs that the user names.
pub(crate) fn environment(
    session: &Session,
    words: &[OsString],
    environment: Vec<(OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    match session.launch_argument() {
        Some(argument) if is_ant(words) => put_first("ANT_OPTS", argument, environment),
        Some(argument) if is_gradle(words) || is_other(words) => {
            put_first("JAVA_TOOL_OPTIONS", argument, environment)
        }
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

/// Targets of Ant and tasks of Gradle whose names say that they do something elsewhere.
pub(crate) fn effect(words: &[OsString]) -> Option<String> {
    const EFFECTS: &[&str] = &["install", "deploy", "publish", "upload", "release"];
    let targets = words.iter().skip(1).filter_map(|word| word.to_str());
    let is_effect = |part: &str| {
        // Gradle writes `publishToMavenLocal`.
        let after = EFFECTS.iter().filter_map(|effect| part.strip_prefix(effect));
        after.into_iter().any(|rest| !rest.starts_with(char::is_lowercase))
    };
    let target = targets
        .filter(|target| !target.starts_with('-'))
        .find(|target| target.split(['-', '.', '_', ':']).any(is_effect));
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
    if is_gradle(&words) && unseen(&words).is_none() {
        // A daemon that is there already is not among the processes that are seen.
        words.insert(1, "--no-daemon".into());
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
    fn programs_that_the_user_names() {
        assert!(is_among("run.sh", "sbt:./ci/run.sh") && is_among("sbt", "sbt, lein"));
        assert!(!is_among("run", "run.sh") && !is_among("", "") && !is_among("", ": "));
    }

    #[test]
    fn targets_with_effects_elsewhere() {
        let has_effect =
            |text: &str| effect(&text.split(' ').map(OsString::from).collect::<Vec<_>>()).is_some();
        assert!(!has_effect("ant test") && !has_effect("ant -Dinstall=x check"));
        assert!(has_effect("ant test deploy-all") && has_effect("ant publish"));
        assert!(
            has_effect("gradle :core:publishToMavenLocal") && has_effect("gradle uploadArchives")
        );
        assert!(!has_effect("gradle installedTest") && !has_effect("gradle check"));
    }

    #[test]
    fn what_the_user_has_set_stays() {
        let both = put_first("A", "x".into(), vec![("A".into(), "y z".into())]);
        assert_eq!(both, [("A".into(), "x y z".into())]);
        assert_eq!(put_first("A", "x".into(), Vec::new()), [("A".into(), "x".into())]);
    }
}
