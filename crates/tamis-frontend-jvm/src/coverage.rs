//! Whether a JVM of tests measures coverage.
//!
//! What a test class covers is not part of its record, so a report, or a gate that fails a build below some
//! percentage, would only be about the test classes that ran. Where coverage is measured all of them
//! run, and that is the reason they have. Nothing changed at all: the build is not started, and its
//! reports are still there.
//!
//! Known are JaCoCo as an agent and by instrumented classes, and other agents by their names. Not known:
//! tools that measure from outside of the JVM, or under another name.

use tamis_classpath::ClassIndex;

/// Parts of the names of agents that measure coverage.
const AGENTS: &[&str] =
    &["jacoco", "intellij-coverage", "coverage-agent", "kover", "cobertura", "clover"];

/// The method that JaCoCo adds to a class that it instruments beforehand.
const INSTRUMENTED: &str = "$jacocoInit()[Z";

/// What JaCoCo's runtime is called, for classes that were instrumented beforehand.
const RUNTIME: &str = "org.jacoco.agent.rt.RT";

/// What measures coverage, by the arguments of a JVM and its classes.
pub(crate) fn measured_by<'a>(
    arguments: impl IntoIterator<Item = &'a str>,
    index: &ClassIndex,
) -> Option<String> {
    arguments.into_iter().find_map(agent).or_else(|| {
        let is_there = index.find_dotted(RUNTIME).is_some();
        let instrumented = |class: &str| index.body(class, INSTRUMENTED).is_some();
        let any = is_there && index.project_classes().any(instrumented);
        any.then(|| "JaCoCo".to_owned())
    })
}

/// The variables in which a JVM finds arguments.
const VARIABLES: &[&str] = &["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

/// The arguments that every JVM finds in the environment.
pub(crate) fn of_environment() -> Vec<String> {
    VARIABLES.iter().filter_map(|name| std::env::var(name).ok()).collect()
}

fn agent(text: &str) -> Option<String> {
    let agents = text.split_whitespace().filter_map(|word| {
        let word = word.trim_matches(['"', '\'']);
        word.strip_prefix("-javaagent:").or_else(|| word.strip_prefix("-agentpath:"))
    });
    let mut jars = agents.map(|agent| agent.split('=').next().unwrap_or(agent).to_lowercase());
    let found = jars.find_map(|jar| AGENTS.iter().find(|name| jar.contains(*name)))?;
    Some(if *found == "jacoco" { "JaCoCo".to_owned() } else { format!("an agent ({found})") })
}

/// Why a test class runs where coverage is measured.
pub(crate) fn reason(by: &str) -> String {
    format!("{by} measures coverage, which is of all test classes or wrong")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_that_measure_coverage() {
        let jacoco = "-Xmx1g -javaagent:/m2/org/jacoco/org.jacoco.agent/0.8.12/\
                      org.jacoco.agent-0.8.12-runtime.jar=destfile=/p/target/jacoco.exec";
        assert_eq!(agent(jacoco).as_deref(), Some("JaCoCo"));
        assert_eq!(
            agent("\"-javaagent:/x/jacocoagent.jar=append=true\"").as_deref(),
            Some("JaCoCo")
        );
        assert!(agent("-javaagent:/x/intellij-coverage-agent-1.0.jar=x").is_some());
        for other in [
            "",
            "-Xmx1g -Djacoco.skip=true",
            "-javaagent:/x/mockito-core.jar",
            "-javaagent:/x/agent.jar=out=/p/jacoco.exec",
        ] {
            assert_eq!(agent(other), None, "{other}");
        }
    }
}
