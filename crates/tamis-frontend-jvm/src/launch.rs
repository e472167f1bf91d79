//! Commands that start a JVM without a build tool that tamis knows: how they get our agent.
//!
//! `java` gets it as its first argument, Ant by `ANT_OPTS`: nothing is printed, and the JVMs that tests
//! start have none. Gradle gets it by `JAVA_TOOL_OPTIONS`, which each JVM mentions in one line, and is
//! told not to use a daemon. Any other program gets it in the same way if the user names it in
//! `TAMIS_JVM_LAUNCHERS`.

use crate::commands::Launcher;
use std::ffi::OsString;
use tamis_session::Collected;

/// Programs that start JVMs with tests, as the user says.
pub const LAUNCHERS_VARIABLE: &str = "TAMIS_JVM_LAUNCHERS";

/// Whether the user says that a program starts JVMs with tests.
pub(crate) fn is_named(program: &str) -> bool {
    is_among(program, &std::env::var(LAUNCHERS_VARIABLE).unwrap_or_default())
}

fn is_among(program: &str, named: &str) -> bool {
    let names = named.split([':', ',', ' ']).filter(|name| !name.is_empty());
    names.map(|name| name.rsplit('/').next().unwrap_or(name)).any(|name| name == program)
}

/// Why what a command does is not seen, where that is known beforehand.
pub(crate) fn unseen(launcher: Launcher, words: &[OsString]) -> Option<String> {
    let by_daemon = launcher == Launcher::Gradle && words.iter().any(|word| word == "--daemon");
    by_daemon.then(|| "Gradle's daemon runs the tests outside of what tamis sees".to_owned())
}

/// The variable by which the agent comes into a launcher's JVMs: Ant's own JVM has it from there, and
/// hands it on to those that its tasks start. Gradle starts several JVMs before the one with the tests,
/// so all get it; so do those of programs that the user names.
pub(crate) fn variable(launcher: Launcher) -> Option<&'static str> {
    match launcher {
        Launcher::Maven => Some("MAVEN_OPTS"),
        Launcher::Ant => Some("ANT_OPTS"),
        Launcher::Gradle | Launcher::Other => Some("JAVA_TOOL_OPTIONS"),
        Launcher::Java => None,
    }
}

/// The environment with a text before what the user has in a variable.
pub(crate) fn put_first(
    name: &str,
    text: impl Into<OsString>,
    mut environment: Vec<(OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let mut value = text.into();
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
pub(crate) fn words(
    launcher: Launcher,
    argument: Option<&str>,
    mut words: Vec<OsString>,
) -> Vec<OsString> {
    if let (Launcher::Java, Some(argument)) = (launcher, argument) {
        words.insert(1, argument.into());
    }
    if launcher == Launcher::Gradle && unseen(launcher, &words).is_none() {
        // A daemon that is there already is not among the processes that are seen.
        words.insert(1, "--no-daemon".into());
    }
    words
}

/// No test class was distinguished: why, and what is done instead.
pub(crate) fn nothing_seen(
    launcher: Launcher,
    collected: &Collected,
    passed: bool,
) -> Option<String> {
    if launcher == Launcher::Maven {
        let text = "no test goal was seen in this build; it was observed as a whole";
        return passed.then(|| text.to_owned());
    }
    if collected.refused {
        // Reported already.
        return None;
    }
    Some(if collected.launched == 0 {
        "WARNING: the agent did not start in any JVM of this command (`tamis doctor` looks for the \
         cause); everything ran and was observed as a whole"
            .to_owned()
    } else {
        "no test runner that tamis knows was seen in this JVM; everything ran and was observed as a \
         whole"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let both = put_first("A", "x", vec![("A".into(), "y z".into())]);
        assert_eq!(both, [("A".into(), "x y z".into())]);
        assert_eq!(put_first("A", "x", Vec::new()), [("A".into(), "x".into())]);
    }
}
