//! One call of tamis in the work tree, and what it reported in JSON lines.

use anyhow::{Context as _, Result};
use serde_json::Value;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tamis_report::checked::Checked;
use tamis_report::exit;
use tamis_report::phases::PhaseSeconds;

/// What is called, and where.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) tamis: PathBuf,
    pub(crate) folder: PathBuf,
    /// The user's command; none for the suites.
    pub(crate) words: Vec<OsString>,
    /// Options for every run.
    pub(crate) options: Vec<OsString>,
}

/// A test, as a run reported it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Test {
    pub(crate) name: String,
    /// The plan lets it run for a reason.
    pub(crate) selected: bool,
    /// Why, in one word of `--json`.
    pub(crate) cause: String,
    pub(crate) seconds: f64,
    /// How long the run that proves a skip took.
    pub(crate) saved: f64,
    pub(crate) passed: Option<bool>,
    pub(crate) flaky: bool,
}

/// What a run reported.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reported {
    pub(crate) code: i32,
    /// The units inside the command, or the items of the suites, or the command itself.
    pub(crate) tests: Vec<Test>,
    /// The command around them, where there is one.
    pub(crate) whole: Option<Test>,
    pub(crate) phases: PhaseSeconds,
    pub(crate) checked: Option<Checked>,
    /// It came to its summary.
    pub(crate) ended: bool,
    /// The last line that tamis or the command printed.
    pub(crate) last_words: String,
}

impl Caller {
    /// A run with its reports; what tests print goes to the log.
    pub(crate) fn run(&self, options: &[&str], store: &Path, log: &Path) -> Result<Reported> {
        self.call(&[&["--json"], options].concat(), "run", store, log)
    }

    /// A decision alone.
    pub(crate) fn select(&self, options: &[&str], store: &Path, log: &Path) -> Result<Reported> {
        let mut words = vec!["--json"];
        words.extend(options);
        let bare = Self { options: Vec::new(), ..self.clone() };
        bare.call(&words, "select", store, log)
    }

    fn call(&self, options: &[&str], verb: &str, store: &Path, log: &Path) -> Result<Reported> {
        let mut command = Command::new(&self.tamis);
        command.arg("--store").arg(store).args(options).args(&self.options).arg(verb);
        if !self.words.is_empty() {
            command.arg("--").args(&self.words);
        }
        let output = in_folder(&mut command, &self.folder, log)?
            .stdout(Stdio::piped())
            .spawn()
            .and_then(std::process::Child::wait_with_output)
            .context("tamis cannot be started in the work tree")?;
        let mut reported = parse(&String::from_utf8_lossy(&output.stdout));
        reported.code = code(output.status);
        reported.last_words = last_line(log);
        Ok(reported)
    }

    /// The command by itself; how long it took, and its exit code.
    pub(crate) fn bare(&self, log: &Path) -> Result<Option<(Duration, i32)>> {
        let [program, words @ ..] = self.words.as_slice() else { return Ok(None) };
        let mut command = Command::new(program);
        let command = in_folder(command.args(words), &self.folder, log)?;
        let began = Instant::now();
        let status = match command.stdout(File::create("/dev/null")?).status() {
            Ok(status) => status,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Some((began.elapsed(), exit::NOT_FOUND)));
            }
            Err(error) => return Err(error).context("the command cannot be started"),
        };
        Ok(Some((began.elapsed(), code(status))))
    }
}

/// The user's words for a shell, in the work tree.
pub(crate) fn shell(line: &str, folder: &Path, log: &Path) -> Result<i32> {
    let mut command = Command::new("sh");
    let command = in_folder(command.args(["-c", line]), folder, log)?;
    let status = command.stdout(Stdio::null()).status().context("sh cannot be started")?;
    Ok(code(status))
}

/// With what every process of a replay has: nothing of this call, and an end with it.
fn in_folder<'c>(command: &'c mut Command, folder: &Path, log: &Path) -> Result<&'c mut Command> {
    if let Some(above) = log.parent() {
        tamis_private::make_folder(above).with_context(|| above.display().to_string())?;
    }
    let errors =
        File::create(log).with_context(|| format!("{} cannot be written", log.display()))?;
    for name in [
        "TAMIS_STORE",
        "TAMIS_SHADOW",
        "GITHUB_STEP_SUMMARY",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
    ] {
        command.env_remove(name);
    }
    command.current_dir(folder).stdin(Stdio::null()).stderr(errors);
    let ends = || {
        let signal = Some(rustix::process::Signal::TERM);
        rustix::process::set_parent_process_death_signal(signal).map_err(std::io::Error::from)
    };
    // SAFETY: between fork and exec only this one system call is made.
    Ok(unsafe { command.pre_exec(ends) })
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| exit::SIGNAL + status.signal().unwrap_or(0))
}

fn last_line(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    // What the time was spent on is no answer to why it failed.
    let mut lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    let line = lines.find(|line| !line.trim_start().starts_with("took ")).unwrap_or_default();
    line.trim().trim_start_matches("tamis: ").to_owned()
}

fn parse(lines: &str) -> Reported {
    let mut reported = Reported::default();
    let mut all: Vec<(bool, Test)> = Vec::new();
    for line in lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| line[name].as_f64().unwrap_or_default();
        match line["event"].as_str() {
            Some("decision") => {
                let cause = text("cause");
                let runs = line["decision"] == "run";
                let selected = runs && cause != "shadow";
                let (name, saved) = (text("test"), number("saved_seconds"));
                let test = Test { name, selected, cause, saved, ..Test::default() };
                all.push((text("suite").is_empty(), test));
            }
            Some("finished") => {
                let name = text("test");
                let Some((_, test)) = all.iter_mut().rev().find(|(_, test)| test.name == name)
                else {
                    continue;
                };
                test.seconds = number("seconds");
                test.passed = Some(line["outcome"] == "passed");
                test.flaky = line["flaky"] == true;
            }
            Some("summary") => {
                reported.ended = true;
                reported.phases =
                    serde_json::from_value(line["phases"].clone()).unwrap_or_default();
                reported.checked = serde_json::from_value(line["checked"].clone()).ok();
            }
            _ => {}
        }
    }
    let units = all.iter().any(|(is_command, _)| !is_command);
    for (is_command, test) in all {
        if is_command {
            reported.whole = Some(test.clone());
        }
        // The units inside say it better than the command around them.
        if !is_command || !units {
            reported.tests.push(test);
        }
    }
    reported
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_for_the_command_around_them() {
        let lines = r#"{"event":"start","version":1,"tests":1}
{"event":"decision","test":"mvn test","suite":"","decision":"run","cause":"shadow"}
{"event":"finished","test":"mvn test","suite":"","outcome":"passed","seconds":5.5}
{"event":"decision","test":"mvn:.::a.A","suite":"mvn:.","decision":"run","cause":"shadow"}
{"event":"finished","test":"mvn:.::a.A","suite":"mvn:.","outcome":"failed","seconds":1.5,"flaky":true}
{"event":"decision","test":"mvn:.::a.B","suite":"mvn:.","decision":"run","cause":"changed"}
{"event":"decision","test":"mvn:.::a.C","suite":"mvn:.","decision":"skip","saved_seconds":2.0}
not json
{"event":"summary","phases":{"analyse_seconds":0.5,"build_seconds":3.0,"run_seconds":2.0,"collect_seconds":0.1,"overhead_seconds":0.2}}"#;
        let reported = parse(lines);
        let names: Vec<&str> = reported.tests.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["mvn:.::a.A", "mvn:.::a.B", "mvn:.::a.C"]);
        let selected: Vec<bool> = reported.tests.iter().map(|test| test.selected).collect();
        assert_eq!(selected, [false, true, false]);
        assert!(reported.tests[0].flaky && reported.tests[0].passed == Some(false));
        assert_eq!(reported.whole.as_ref().map(|whole| whole.selected), Some(false));
        assert!((reported.phases.build_seconds - 3.0).abs() < 1e-9 && reported.checked.is_none());
        assert!((reported.tests[2].saved - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_command_alone_is_the_test() {
        let reported = parse(
            r#"{"event":"decision","test":"./t.sh","suite":"","decision":"run","cause":"new"}"#,
        );
        assert_eq!(reported.tests.len(), 1);
        assert!(reported.tests[0].selected);
    }
}
