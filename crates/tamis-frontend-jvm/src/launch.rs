//! Commands that start a JVM without a build tool that tamis knows: how they get our agent.
//!
//! `java` gets it as its first argument, Ant by `ANT_OPTS`: nothing is printed. The JVMs that tests start
//! get it from the agent of the JVM that starts them. Gradle gets it by `JAVA_TOOL_OPTIONS`, which each JVM mentions in one line, and is
//! asked not to use a daemon. Any other program gets it in the same way if the user names it in
//! `TAMIS_JVM_LAUNCHERS`.

use crate::commands::Launcher;
use std::ffi::OsString;
use tamis_session::Collected;

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
    fn what_the_user_has_set_stays() {
        let both = put_first("A", "x", vec![("A".into(), "y z".into())]);
        assert_eq!(both, [("A".into(), "x y z".into())]);
        assert_eq!(put_first("A", "x", Vec::new()), [("A".into(), "x".into())]);
    }
}
