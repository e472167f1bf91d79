//! Whether a JVM of tests measures coverage, and by what.
//!
//! A report, or a gate that fails a build below some percentage, is about all test classes. Where JaCoCo
//! writes its data into a file that is known ([`Exec`]), what each test class covered is kept with its record
//! ([`crate::kept_coverage`]), and what skipped ones covered is added to that file. Where coverage is measured in
//! another way all test classes run, and that is the reason they have.
//!
//! Known are JaCoCo as an agent and by instrumented classes, and other agents by their names. Not known:
//! tools that measure from outside of the JVM, or under another name.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tamis_classpath::ClassIndex;
use tamis_core::Value;
use tamis_jvm_wire::Goal;

/// Parts of the names of agents that measure coverage.
const AGENTS: &[&str] =
    &["jacoco", "intellij-coverage", "coverage-agent", "kover", "cobertura", "clover"];

/// The method that JaCoCo adds to a class that it instruments beforehand: since Java 11 one that makes a dynamic
/// constant.
const INSTRUMENTED: [&str; 2] = [
    "$jacocoInit()[Z",
    "$jacocoInit(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/Class;)[Z",
];

/// What JaCoCo's runtime is called, for classes that were instrumented beforehand.
const RUNTIME: &str = "org.jacoco.agent.rt.RT";

/// Where its settings can be, besides system properties.
const SETTINGS: &str = "jacoco-agent.properties";

/// What measures coverage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) by: String,
    /// What skipped test classes covered can be added to what is measured.
    pub(crate) keeps: bool,
}

/// The file into which JaCoCo writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exec {
    pub(crate) file: PathBuf,
    /// It adds to what is there.
    pub(crate) appends: bool,
}

/// What measures coverage in the JVMs of a goal of Maven, and the file that it writes.
pub(crate) fn of_goal(goal: &Goal, index: &ClassIndex) -> Option<(Measured, Option<Exec>)> {
    let mut arguments = of_environment();
    arguments.extend(goal.configuration.iter().map(|(_, value)| value.clone()));
    let by = measured_by(arguments.iter().map(String::as_str), index)?;
    let folder = Path::new(value(goal, "workingDirectory").unwrap_or(&goal.folder));
    let exec = match agents(&arguments).as_slice() {
        [one] if one.is_jacoco() => exec_of_agent(&one.options, folder),
        [] if index.resource(SETTINGS) == Value::Absent => exec_of_properties(&arguments, folder),
        _ => None,
    };
    Some((Measured { by, keeps: exec.is_some() }, exec))
}

fn value<'g>(goal: &'g Goal, name: &str) -> Option<&'g str> {
    let found = goal.configuration.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
}

/// What measures coverage, by the arguments of a JVM and its classes.
pub(crate) fn measured_by<'a>(
    arguments: impl IntoIterator<Item = &'a str>,
    index: &ClassIndex,
) -> Option<String> {
    arguments.into_iter().flat_map(agents_in).next().map(|agent| agent.name()).or_else(|| {
        let is_there = index.find_dotted(RUNTIME).is_some();
        let instrumented =
            |class: &str| INSTRUMENTED.iter().any(|init| index.body(class, init).is_some());
        let any = is_there && index.project_classes().any(instrumented);
        any.then(|| "JaCoCo".to_owned())
    })
}

/// The variables in which a JVM finds arguments.
const VARIABLES: &[&str] = &["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

/// The arguments that every JVM finds in the environment.
fn of_environment() -> Vec<String> {
    VARIABLES.iter().filter_map(|name| std::env::var(name).ok()).collect()
}

/// An agent that measures coverage.
#[derive(Debug, PartialEq, Eq)]
struct Agent {
    kind: &'static str,
    /// What stands behind the first equals sign.
    options: String,
}

impl Agent {
    fn is_jacoco(&self) -> bool {
        self.kind == "jacoco"
    }

    fn name(&self) -> String {
        match self.kind {
            "jacoco" => "JaCoCo".to_owned(),
            other => format!("an agent ({other})"),
        }
    }
}

/// All of them, each once: some parameters of a goal are made of others.
fn agents(arguments: &[String]) -> Vec<Agent> {
    let mut found: Vec<Agent> = Vec::new();
    for agent in arguments.iter().flat_map(|text| agents_in(text)) {
        if !found.contains(&agent) {
            found.push(agent);
        }
    }
    found
}

fn agents_in(text: &str) -> Vec<Agent> {
    let words = words(text);
    let arguments = words.iter().filter_map(|word| {
        word.strip_prefix("-javaagent:").or_else(|| word.strip_prefix("-agentpath:"))
    });
    let agent = |argument: &str| {
        let (jar, options) = argument.split_once('=').unwrap_or((argument, ""));
        let jar = jar.to_lowercase();
        let kind = AGENTS.iter().find(|name| jar.contains(*name))?;
        Some(Agent { kind, options: options.to_owned() })
    };
    arguments.filter_map(agent).collect()
}

/// The words of a command line: blanks separate them outside of quotes, which may be anywhere in a word.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for sign in text.chars() {
        match quote {
            Some(open) if sign == open => quote = None,
            None if sign == '"' || sign == '\'' => quote = Some(sign),
            None if sign.is_whitespace() => words.push(std::mem::take(&mut word)),
            _ => word.push(sign),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The file that the options of JaCoCo's agent name; `None` where its data goes elsewhere, or nowhere.
fn exec_of_agent(options: &str, folder: &Path) -> Option<Exec> {
    let option = |name: &str| {
        let pairs = options.split(',').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next_back()
    };
    exec(option, folder)
}

/// The same for classes that were instrumented beforehand: these look at system properties.
fn exec_of_properties(arguments: &[String], folder: &Path) -> Option<Exec> {
    // Blanks and commas end a property where several stand in one text.
    if folder.to_str()?.contains([' ', ',', '}']) {
        return None;
    }
    let option = |name: &str| {
        let name = format!("jacoco-agent.{name}=");
        let of = |text: &'_ String| {
            let behind = text.find(&name).map(|at| text[at + name.len()..].to_owned())?;
            let end = behind.find([',', '}', ' ', '\n', '"', '\'']).unwrap_or(behind.len());
            Some(behind[..end].to_owned())
        };
        arguments.iter().find_map(of)
    };
    let known: Vec<(&str, Option<String>)> =
        ["output", "dumponexit", "append", "destfile"].map(|name| (name, option(name))).into();
    let value = |name: &str| known.iter().find(|(key, _)| *key == name)?.1.as_deref();
    exec(value, folder)
}

fn exec<'o>(option: impl Fn(&str) -> Option<&'o str>, folder: &Path) -> Option<Exec> {
    let is = |name: &str, usual: &str| option(name).is_none_or(|value| value == usual);
    if !is("output", "file") || !is("dumponexit", "true") {
        return None;
    }
    // Surefire puts the number of the fork in.
    let file = option("destfile").unwrap_or("jacoco.exec").replace("${surefire.forkNumber}", "1");
    if file.contains("${") || file.is_empty() {
        return None;
    }
    Some(Exec { file: folder.join(file), appends: is("append", "true") })
}

/// Why a test class runs where what it covers cannot be kept.
pub(crate) fn reason(by: &str) -> String {
    format!("{by} measures coverage, which is of all test classes or wrong")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(text: &str) -> Option<String> {
        agents_in(text).first().map(Agent::name)
    }

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

    #[test]
    fn the_file_of_an_agent() {
        let file = |options: &str| exec_of_agent(options, Path::new("/p"));
        let exec = |file: &str, appends| Some(Exec { file: file.into(), appends });
        assert_eq!(file("destfile=/p/a b/x.exec,includes=a.*"), exec("/p/a b/x.exec", true));
        assert_eq!(file(""), exec("/p/jacoco.exec", true));
        assert_eq!(file("destfile=t/x,append=false"), exec("/p/t/x", false));
        assert_eq!(file("destfile=t/${surefire.forkNumber}.exec"), exec("/p/t/1.exec", true));
        for elsewhere in ["output=tcpserver,port=1", "dumponexit=false", "destfile=${x}.exec"] {
            assert_eq!(file(elsewhere), None, "{elsewhere}");
        }
        let quoted = "\"-javaagent:/a b/jacocoagent.jar=destfile=/p/a b/x.exec\" -Xmx1g";
        assert_eq!(agents_in(quoted)[0].options, "destfile=/p/a b/x.exec");
    }

    #[test]
    fn the_file_of_instrumented_classes() {
        let file = |text: &str| exec_of_properties(&[text.to_owned()], Path::new("/p"));
        let exec = |file: &str, appends| Some(Exec { file: file.into(), appends });
        assert_eq!(file("{a=b, jacoco-agent.destfile=/p/t.exec}"), exec("/p/t.exec", true));
        assert_eq!(file("-Djacoco-agent.destfile=t.exec -Xmx1g"), exec("/p/t.exec", true));
        assert_eq!(file("{}"), exec("/p/jacoco.exec", true));
        assert_eq!(file("{jacoco-agent.output=none}"), None);
    }
}
