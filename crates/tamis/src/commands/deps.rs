//! `tamis deps`: the inputs of a test by kind.

use crate::args::{DepsArguments, Options};
use crate::terminal;
use anyhow::{Context as _, Result};
use std::fmt::Write as _;
use tamis_core::TestKey;
use tamis_core::record::Observed;
use tamis_project::Project;
use tamis_report::inputs::{Kind, Shown};
use tamis_report::json::deps::InputLine;
use tamis_report::json::{Line, Version};
use tamis_report::records;
use tamis_runner::cases;

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
    let shown = Shown { all: arguments.shown.all, words: &arguments.shown.filter };
    let all = record.run.observed.iter().filter(|o| shown.concerns(o));
    let mut inputs: Vec<(Kind, &Observed)> = all.map(|o| (Kind::of(o), o)).collect();
    inputs.sort_by(|a, b| (a.0, &a.1.question).cmp(&(b.0, &b.1.question)));
    let text = if options.common.json {
        as_json(&key, &inputs)?
    } else if arguments.plain {
        let read = inputs.iter().filter(|(kind, _)| *kind != Kind::Written);
        let paths = read.filter_map(|(_, o)| o.question.path());
        paths.map(|path| format!("{path}\n")).collect()
    } else {
        let inputs: Vec<&Observed> = inputs.iter().map(|(_, o)| *o).collect();
        records::inputs_of(&key, id, &record.run, &inputs, shown)
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
            kind: kind.name(),
            input: o.question.to_string(),
            value: o.before.to_string(),
            access: o.access.to_string(),
            program: o.program.to_string(),
        });
        let _ = writeln!(text, "{}", line.text()?);
    }
    Ok(text)
}
