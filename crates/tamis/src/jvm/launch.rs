//! Commands that start a JVM without a build tool that tamis knows: how they get our agent.
//!
//! `java` gets it as its first argument: nothing is printed, and the JVMs that tests start have none.

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
    }
}
