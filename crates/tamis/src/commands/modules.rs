//! `tamis modules`: changed and affected modules, each with its reasons.

use crate::args::{ModulesArguments, Options};
use crate::context::Context;
use crate::terminal;
use anyhow::Result;
use std::io::Write;
use tamis_modules::{Part, Reason};
use tamis_report::human;
use tamis_report::json::modules::{ExcludedLine, ModuleLine, ModuleReason, ModulesLine, ReadLine};
use tamis_report::json::{Line, Version};
use tamis_report::style::Role;
use tamis_runner::modules::{Asked, Found, text_words};
use tamis_settings::modules::When;

/// Reasons that are shown for one module.
const MOST_REASONS: usize = 5;

pub(crate) fn modules(options: &Options, arguments: &ModulesArguments) -> Result<i32> {
    let context = Context::new(options)?;
    let words = text_words(&arguments.command)?;
    let since = arguments.since.as_deref().or(options.selecting.since.as_deref());
    let alone = context.project.settings.modules.downstream == When::Never;
    let found = Found::new(context.call(), Asked { words: &words, since, alone })?;
    for note in &found.graph.notes {
        context.call().remark(note.clone());
    }
    if let Some(why) = &found.everything {
        context.call().remark(format!("{why}: everything counts"));
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    // A reader that has seen enough (`| head`) is no error.
    let _ = show(&found, options, arguments, &mut out).and_then(|()| out.flush());
    Ok(0)
}

fn show(
    found: &Found,
    options: &Options,
    arguments: &ModulesArguments,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let shown =
        (0..found.graph.modules.len()).filter(|&n| arguments.all || found.affected(n).is_some());
    if arguments.plain || arguments.names {
        for module in shown.map(|n| &found.graph.modules[n]) {
            writeln!(out, "{}", if arguments.plain { &module.folder } else { &module.name })?;
        }
        return Ok(());
    }
    if options.common.json {
        return json_lines(found, shown, out);
    }
    let style = terminal::output_style(options);
    for n in shown {
        let module = &found.graph.modules[n];
        let Some(affected) = found.affected(n) else {
            writeln!(out, "{}  {}", style.paint(Role::Faint, "same    "), module.name)?;
            continue;
        };
        let word = if affected.changed { "changed " } else { "affected" };
        let part = if affected.part == Part::Tests { "  (its tests alone)" } else { "" };
        writeln!(
            out,
            "{}  {}{}",
            style.paint(Role::Strong, word),
            module.name,
            style.paint(Role::Faint, part)
        )?;
        for reason in affected.reasons.iter().take(MOST_REASONS) {
            writeln!(out, "            {}", human::one_line(&reason.to_string()))?;
        }
        let more = affected.reasons.len().saturating_sub(MOST_REASONS);
        if more > 0 {
            writeln!(
                out,
                "            and {}",
                human::counted(more as u64, "more reason", "more reasons")
            )?;
        }
    }
    for (file, test) in &found.affected.read_by_tests {
        writeln!(
            out,
            "counts    {file}  {}",
            style.paint(Role::Faint, &format!("(read by {test})"))
        )?;
    }
    for excluded in &found.affected.excluded {
        let rule = style.paint(Role::Faint, &format!("({})", excluded.rule));
        writeln!(out, "excluded  {}  {rule}", excluded.file)?;
    }
    let all = human::counted(found.graph.modules.len() as u64, "module", "modules");
    let since = found.since.as_deref().unwrap_or("nothing");
    writeln!(out, "{} of {all} affected since {since}", found.affected.modules.len())
}

/// One object a line; see docs/json.md.
fn json_lines(
    found: &Found,
    shown: impl Iterator<Item = usize>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let head = ModulesLine {
        version: Version,
        tool: word(&found.graph.kind),
        modules: found.graph.modules.len(),
        affected: found.affected.modules.len(),
        since: found.since.clone(),
        commit: found.commit.clone(),
        everything: found.everything.clone(),
    };
    Line::Modules(head).write(out)?;
    for n in shown {
        module_line(found, n).write(out)?;
    }
    for (file, test) in &found.affected.read_by_tests {
        let (file, test) = (file.clone(), test.to_string());
        Line::Read(ReadLine { file, test }).write(out)?;
    }
    for excluded in &found.affected.excluded {
        let (file, rule) = (excluded.file.clone(), excluded.rule.clone());
        Line::Excluded(ExcludedLine { file, rule }).write(out)?;
    }
    Ok(())
}

fn module_line(found: &Found, n: usize) -> Line {
    let module = &found.graph.modules[n];
    let affected = found.affected(n);
    let reasons = affected.map(|a| a.reasons.as_slice()).unwrap_or_default();
    Line::Module(ModuleLine {
        name: module.name.clone(),
        folder: module.folder.clone(),
        definition: module.definition.clone(),
        packaging: module.packaging.clone(),
        affected: affected.is_some(),
        changed: affected.is_some_and(|a| a.changed),
        part: affected.map(|a| word(&a.part)),
        reasons: reasons.iter().map(module_reason).collect(),
    })
}

fn module_reason(reason: &Reason) -> ModuleReason {
    let text = reason.to_string();
    let of = |kind| ModuleReason { kind, text, ..ModuleReason::default() };
    let some = |value: &String| Some(value.clone());
    match reason {
        Reason::File { file } => ModuleReason { file: some(file), ..of("file") },
        Reason::Folder { folder } => ModuleReason { folder: some(folder), ..of("folder") },
        Reason::Global { file } => ModuleReason { file: some(file), ..of("global") },
        Reason::Outside { file } => ModuleReason { file: some(file), ..of("outside") },
        Reason::Resolution { what, was, is } => {
            let (was, is) = (was.clone(), is.clone());
            ModuleReason { what: some(what), was, is, ..of("resolution") }
        }
        Reason::Unjudged { why } => ModuleReason { why: some(why), ..of("unjudged") },
        Reason::New => of("new"),
        Reason::Removed { module } => ModuleReason { module: some(module), ..of("removed") },
        Reason::Uses { module, how } => {
            ModuleReason { module: some(module), how: Some(word(how)), ..of("uses") }
        }
        Reason::Forced { by } => ModuleReason { by: some(by), ..of("forced") },
        Reason::Everything { why } => ModuleReason { why: some(why), ..of("everything") },
        Reason::Failed { test } => ModuleReason { test: some(test), ..of("failed") },
        Reason::Forgotten { test } => ModuleReason { test: some(test), ..of("forgotten") },
    }
}

/// The word that a value without fields is in JSON.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
