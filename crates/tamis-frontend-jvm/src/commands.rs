//! Which commands start JVMs with tests, and what they do besides.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tamis_core::Tool;

pub const MAVEN: Tool = Tool::new("mvn");
pub const JAVA: Tool = Tool::new("java");
pub const ANT: Tool = Tool::new("ant");
pub const GRADLE: Tool = Tool::new("gradle");

/// How a command starts the JVMs of its tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher {
    Maven,
    Java,
    Ant,
    Gradle,
    /// A program that the user named.
    Other,
}

impl Launcher {
    /// The launcher that a command is.
    pub fn of(words: &[OsString]) -> Option<Self> {
        match program(words)? {
            "mvn" | "mvnw" => Some(Self::Maven),
            "java" => Some(Self::Java),
            "ant" => Some(Self::Ant),
            "gradle" | "gradlew" => Some(Self::Gradle),
            other => is_named(other).then_some(Self::Other),
        }
    }

    /// The tool whose tests it runs.
    pub fn tool(self) -> Tool {
        match self {
            Self::Maven => MAVEN,
            Self::Ant => ANT,
            Self::Gradle => GRADLE,
            Self::Java | Self::Other => JAVA,
        }
    }

    /// Whether what it makes has to be there still for it to be skipped.
    pub fn is_build(self) -> bool {
        self != Self::Java
    }
}

/// Whether a command compiles before it runs tests, so that its classes are made of the sources that
/// are there. Maven does in a phase of its life cycle, not with single goals.
pub(crate) fn compiles(launcher: Launcher, words: &[String]) -> bool {
    match launcher {
        Launcher::Java => false,
        Launcher::Maven => {
            let is_skipped = |word: &String| word.contains("maven.main.skip");
            !words.iter().any(is_skipped) && words.iter().any(|word| is_phase_with_tests(word))
        }
        _ => true,
    }
}

fn is_phase_with_tests(word: &str) -> bool {
    const PHASES: &[&str] = &[
        "test",
        "prepare-package",
        "package",
        "pre-integration-test",
        "integration-test",
        "post-integration-test",
        "verify",
        "install",
        "deploy",
        "site",
    ];
    PHASES.contains(&word)
}

/// Programs that start JVMs with tests, as the user says.
pub const LAUNCHERS_VARIABLE: &str = "TAMIS_JVM_LAUNCHERS";

/// Whether the user says that a program starts JVMs with tests.
fn is_named(program: &str) -> bool {
    is_among(program, &std::env::var(LAUNCHERS_VARIABLE).unwrap_or_default())
}

fn is_among(program: &str, named: &str) -> bool {
    let names = named.split([':', ',', ' ']).filter(|name| !name.is_empty());
    names.map(|name| name.rsplit('/').next().unwrap_or(name)).any(|name| name == program)
}

/// The name of a command's program.
pub(crate) fn program(words: &[OsString]) -> Option<&str> {
    words.first().and_then(|w| Path::new(w).file_name()).and_then(|n| n.to_str())
}

/// The folder of the build that the words name, where they name one.
pub(crate) fn other_folder(launcher: Launcher, words: &[OsString]) -> Option<PathBuf> {
    let files: &[&str] = match launcher {
        Launcher::Maven => &["-f", "--file"],
        Launcher::Ant => &["-f", "-file", "-buildfile"],
        Launcher::Gradle => &["-b", "--build-file"],
        Launcher::Java | Launcher::Other => return None,
    };
    if let Some(folder) = value_of(words, &["-p", "--project-dir"])
        && launcher == Launcher::Gradle
    {
        return Some(folder);
    }
    let named = value_of(words, files)?;
    // Maven takes a folder as well.
    let is_file = named.extension().is_some();
    let above = || named.parent().map(Path::to_path_buf).unwrap_or_default();
    Some(if is_file { above() } else { named.clone() })
}

/// The last value of an option: `-f x`, `-f=x`, `--file x`, `--file=x`.
fn value_of(words: &[OsString], names: &[&str]) -> Option<PathBuf> {
    let words: Vec<&str> = words.iter().skip(1).filter_map(|w| w.to_str()).collect();
    let value = |(at, word): (usize, &&str)| {
        if names.contains(word) {
            return words.get(at + 1).map(PathBuf::from);
        }
        let joined = names.iter().find_map(|name| word.strip_prefix(name)?.strip_prefix('='));
        joined.map(PathBuf::from)
    };
    words.iter().enumerate().filter_map(value).next_back()
}

/// What a build does elsewhere than in its own folders, if anything: it must not be skipped.
pub(crate) fn effect_elsewhere(launcher: Launcher, words: &[OsString]) -> Option<String> {
    match launcher {
        Launcher::Maven => maven_effect(words),
        Launcher::Ant | Launcher::Gradle => effect(words),
        Launcher::Java | Launcher::Other => None,
    }
}

/// Targets of Ant and tasks of Gradle whose names say that they do something elsewhere.
fn effect(words: &[OsString]) -> Option<String> {
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

fn maven_effect(words: &[OsString]) -> Option<String> {
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

    fn launcher(text: &str) -> Option<Launcher> {
        Launcher::of(&words(text))
    }

    #[test]
    fn builds_of_other_folders() {
        for (text, expected) in [
            ("mvn test", None),
            ("mvn -f x/pom.xml test", Some("x")),
            ("mvn --file=x test", Some("x")),
            ("mvn -f pom.xml test", Some("")),
            ("ant -buildfile a/build.xml", Some("a")),
            ("gradle -p sub/b test", Some("sub/b")),
            ("gradle -b c/build.gradle test", Some("c")),
            ("mvn -p x test", None),
            ("java -f x", None),
        ] {
            let found = other_folder(launcher(text).unwrap(), &words(text));
            assert_eq!(found, expected.map(PathBuf::from), "{text}");
        }
    }

    #[test]
    fn launchers_by_the_name_of_their_program() {
        for maven in ["mvn test", "./mvnw -q verify"] {
            assert_eq!(launcher(maven), Some(Launcher::Maven), "{maven}");
        }
        assert_eq!(launcher("java -jar x.jar"), Some(Launcher::Java));
        assert_eq!(launcher("/opt/jdk/bin/java A"), Some(Launcher::Java));
        assert_eq!(launcher("ant test"), Some(Launcher::Ant));
        assert_eq!(launcher("./gradlew test"), Some(Launcher::Gradle));
        for other in ["mvnd test", "make mvn", "javac A.java", "ants test"] {
            assert_eq!(launcher(other), None, "{other}");
        }
        assert_eq!(Launcher::of(&[]), None);
    }

    #[test]
    fn effects_elsewhere() {
        let effect = |text: &str| effect_elsewhere(Launcher::Maven, &words(text));
        for none in ["mvn test", "mvn -o -B clean verify", "mvn -Dx=a:b test", "mvn -pl :core test"]
        {
            assert_eq!(effect(none), None, "{none}");
        }
        for some in ["mvn install", "mvn -q deploy", "mvn dependency:copy"] {
            assert!(effect(some).is_some(), "{some}");
        }
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
}
