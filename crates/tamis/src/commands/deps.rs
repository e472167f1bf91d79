//! `tamis deps`: the inputs of a test by kind.

use crate::args::{DepsArguments, Options};
use crate::terminal;
use anyhow::{Context as _, Result};
use std::fmt::Write as _;
use tamis_core::record::{Access, Observed, Run};
use tamis_core::{Question, RecordId, Scheme, TestKey, Value};
use tamis_project::Project;
use tamis_report::human;
use tamis_report::json::deps::InputLine;
use tamis_report::json::{Line, Version};
use tamis_runner::cases;

/// What kind of input something is, for a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    File,
    Directory,
    Absent,
    Program,
    Library,
    Link,
    Written,
    Environment,
    Other,
}

const KINDS: [(Kind, &str); 9] = [
    (Kind::File, "files"),
    (Kind::Directory, "directories"),
    (Kind::Absent, "absent"),
    (Kind::Program, "programs"),
    (Kind::Library, "libraries"),
    (Kind::Link, "links"),
    (Kind::Written, "places written to"),
    (Kind::Environment, "environment"),
    (Kind::Other, "other"),
];

fn kind(observed: &Observed) -> Kind {
    let path = match &observed.question {
        Question::Variable(_) | Question::VariableNames => return Kind::Environment,
        Question::Path(_, Scheme::Place) => return Kind::Written,
        Question::Path(path, _) => path,
        _ => return Kind::Other,
    };
    let name = path.as_bytes().rsplit(|&b| b == b'/').next().unwrap_or_default();
    match observed.before {
        Value::Absent | Value::Barred => Kind::Absent,
        Value::Directory | Value::Listing(_) => Kind::Directory,
        Value::Link(_) => Kind::Link,
        _ if observed.access.contains(Access::EXECUTE) => Kind::Program,
        _ if is_library(name) => Kind::Library,
        _ => Kind::File,
    }
}

/// `libc.so.6`, `_json.cpython-311-x86_64-linux-gnu.so`.
fn is_library(name: &[u8]) -> bool {
    name.ends_with(b".so") || name.windows(4).any(|w| w == b".so.")
}

pub(crate) fn deps(options: &Options, arguments: &DepsArguments) -> Result<i32> {
    let project = Project::find(options.common.store.as_deref())?;
    let store = project
        .existing_store(&terminal::Messages)?
        .context("nothing is recorded for this project yet")?;
    let tests = store.tests()?;
    let wanted = cases::wanted_name(&arguments.name.name);
    let key = cases::find(&wanted, &project.relative_folder(), tests.iter().map(|t| &t.key))?;
    let id = tests.iter().find(|t| t.key == key).map(|t| t.last.id).context("no record")?;
    let record = store.record(id)?.with_context(|| format!("record {id} cannot be read"))?;
    let mut inputs: Vec<(Kind, &Observed)> =
        record.run.observed.iter().map(|o| (kind(o), o)).collect();
    inputs.sort_by(|a, b| (a.0, &a.1.question).cmp(&(b.0, &b.1.question)));
    let text = if options.common.json {
        as_json(&key, &inputs)?
    } else if arguments.plain {
        let read = inputs.iter().filter(|(kind, _)| *kind != Kind::Written);
        let paths = read.filter_map(|(_, o)| o.question.path());
        paths.map(|path| format!("{path}\n")).collect()
    } else {
        as_text(&key, id, &record.run, &inputs)
    };
    terminal::print(&text);
    Ok(0)
}

fn as_json(key: &TestKey, inputs: &[(Kind, &Observed)]) -> Result<String> {
    let mut text = String::new();
    for (kind, o) in inputs {
        let line = Line::Input(InputLine {
            version: Version,
            test: key.to_string(),
            kind: KINDS.iter().find(|(k, _)| k == kind).map_or("other", |(_, name)| name),
            input: o.question.to_string(),
            value: o.before.to_string(),
            access: o.access.to_string(),
            program: o.program.to_string(),
        });
        let _ = writeln!(text, "{}", line.text()?);
    }
    Ok(text)
}

fn as_text(key: &TestKey, id: RecordId, run: &Run, inputs: &[(Kind, &Observed)]) -> String {
    let count = human::counted(inputs.len() as u64, "input", "inputs");
    let mut text = format!("{key}: {count} in record {id}\n");
    for (kind, name) in KINDS {
        let of_kind: Vec<&Observed> =
            inputs.iter().filter(|(k, _)| *k == kind).map(|(_, o)| *o).collect();
        if of_kind.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{name} ({})", human::number(of_kind.len() as u64));
        for observed in of_kind {
            let _ = writeln!(text, "  {}", shown(observed));
        }
    }
    for note in &run.notes {
        let _ = writeln!(text, "note: {note}");
    }
    for taint in tamis_core::taints::lines(&run.taints) {
        let _ = writeln!(text, "not completely observed: {taint}");
    }
    text
}

fn shown(observed: &Observed) -> String {
    match &observed.question {
        Question::Path(path, Scheme::Listing) => format!("{path} (its names)"),
        Question::Path(path, Scheme::Kind | Scheme::Raw | Scheme::Place) => path.to_string(),
        Question::Path(path, scheme) => format!("{path} (as {scheme})"),
        Question::Variable(name) => String::from_utf8_lossy(name).into_owned(),
        other => other.to_string(),
    }
}
