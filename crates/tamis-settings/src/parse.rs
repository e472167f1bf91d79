//! From the text of `tamis.toml` to [`Settings`], or to everything that is wrong with it.
//!
//! A file whose TOML is broken is reported for that alone: what could be read around a broken line
//! would lead to complaints about keys that are there.

use crate::condition::Condition;
use crate::environment::EnvironmentPolicy;
use crate::glob::{self, NameGlobs};
use crate::modules;
use crate::problem::Problems;
use crate::reader::{Found, Section, Text, Value, as_text, type_name};
use crate::remote;
use crate::settings::{
    Contact, Each, Engine, Item, Jvm, Keep, Python, Rule, Settings, Suite, Treatment,
};
use crate::tools::{self, ToolSettings};
use std::collections::BTreeMap;
use std::path::{Component, Path};
use tamis_core::Scheme;
use toml::de::{DeTable, DeValue};

const TAMIS: &str = "[tamis]";
const ENVIRONMENT: &str = "[tamis.environment]";
const TOOL_STATE: &str = "[tamis.tool-state]";
const JVM: &str = "[jvm]";
const PYTHON: &str = "[python]";
const RULE: &str = "[[rule]]";
const SUITE: &str = "[[suite]]";

const TAMIS_KEYS: [&str; 17] = [
    "store",
    "engine",
    "jobs",
    "keep-records",
    "max-age",
    "max-size",
    "rerun-failed",
    "flaky-ok",
    "network",
    "services",
    "allow-services",
    "ignore",
    "default-ignore",
    "default-rules",
    "always-run",
    "run-all-on",
    "shadow",
];
const MOST_RERUNS: u32 = 6;
const CONDITION: &str = "if = \"name ends-with '.log' and not program = 'logrotate'\"";
const SUITE_KEYS: [&str; 7] =
    ["each", "run", "timeout", "env", "always-run", "run-all-on", "allow-empty"];

/// Reads settings; `file` is only for messages.
pub fn parse(bytes: &[u8], file: &Path) -> Result<Settings, Problems> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let good = String::from_utf8_lossy(bytes);
            let at = error.valid_up_to();
            let message = "this is no UTF-8; save the file as UTF-8".to_owned();
            return Err(Problems::new(file, &good, vec![(at..at + 1, message)]));
        }
    };
    let (tree, broken) = DeTable::parse_recoverable(text);
    if !broken.is_empty() {
        let found = broken
            .iter()
            .map(|error| (error.span().unwrap_or(0..0), error.message().replace('\n', ", ")))
            .collect();
        return Err(Problems::new(file, text, found));
    }
    let found = Found::default();
    let settings = read(tree.get_ref(), tree.span(), &found);
    match found.into_inner() {
        problems if problems.is_empty() => Ok(settings),
        problems => Err(Problems::new(file, text, problems)),
    }
}

fn read<'t>(tree: &'t DeTable<'t>, span: std::ops::Range<usize>, found: &'t Found) -> Settings {
    let mut top = Section::new("the file", tree, span, found);
    let mut settings = Settings::default();
    if let Some(section) = table(&mut top, "tamis", TAMIS, found) {
        read_tamis(section, &mut settings, found);
    }
    if let Some(section) = table(&mut top, "jvm", JVM, found) {
        settings.jvm = read_jvm(section);
    }
    if let Some(section) = table(&mut top, "python", PYTHON, found) {
        settings.python = read_python(section);
    }
    if let Some(section) = table(&mut top, "remote", remote::REMOTE, found) {
        settings.remote = remote::read(section, found);
    }
    if let Some(value) = top.value("modules") {
        match value.get_ref() {
            DeValue::Table(table) => {
                settings.modules = modules::read(table, value.span(), found);
            }
            other => {
                let is = type_name(other);
                let message = format!("`modules` must be a table {}, not {is}", modules::MODULES);
                found.add(value.span(), message);
            }
        }
    }
    for section in tables(&mut top, "rule", RULE, found) {
        settings.rules.extend(read_rule(section, found));
    }
    for section in tables(&mut top, "suite", SUITE, found) {
        read_suite(section, &mut settings.suites, found);
    }
    top.finish(|key| {
        if TAMIS_KEYS.contains(&key) {
            Some("[tamis]; put it below that line")
        } else if key == "environment" {
            Some("[tamis], as [tamis.environment]")
        } else if key == "tool-state" {
            Some("[tamis], as [tamis.tool-state]")
        } else if SUITE_KEYS.contains(&key) {
            Some("a [[suite]]; put it below such a line")
        } else {
            None
        }
    });
    settings
}

/// A table that may be there once.
fn table<'t>(
    top: &mut Section<'t>,
    key: &'static str,
    title: &'static str,
    found: &'t Found,
) -> Option<Section<'t>> {
    let value = top.value(key)?;
    match value.get_ref() {
        DeValue::Table(table) => Some(Section::new(title, table, value.span(), found)),
        other => {
            let message = format!("`{key}` must be a table {title}, not {}", type_name(other));
            found.add(value.span(), message);
            None
        }
    }
}

fn read_always_run(section: &mut Section<'_>, example: &str) -> NameGlobs {
    NameGlobs::new(section.globs("always-run", example)).unwrap_or_else(|error| {
        section.missing(format!("`always-run`: {error}"));
        NameGlobs::default()
    })
}

fn read_run_all_on(section: &mut Section<'_>) -> Vec<String> {
    let patterns = section.strings("run-all-on", "run-all-on = [\"Makefile\", \"conf/**\"]");
    patterns.into_iter().filter_map(|p| path_glob(section, "run-all-on", p)).collect()
}

fn read_jvm(mut section: Section<'_>) -> Jvm {
    let always_run = read_always_run(&mut section, "always-run = [\"*SmokeTest\"]");
    let tags = section.strings("always-run-tags", "always-run-tags = [\"smoke\"]");
    let always_run_tags = tags.iter().map(|tag| tag.text.to_owned()).collect();
    let debug_info = read_debug_info(&mut section);
    section.finish(|_| None);
    Jvm { always_run, always_run_tags, debug_info }
}

/// One word for all classes, or globs on their names.
fn read_debug_info(section: &mut Section<'_>) -> NameGlobs {
    const EXAMPLE: &str = "debug-info = \"counts\"";
    let Some(value) = section.value("debug-info") else { return NameGlobs::default() };
    let (texts, is_list) = section.string_or_list("debug-info", value, EXAMPLE);
    let patterns = match texts.as_slice() {
        [word] if !is_list && word.text == "counts" => vec!["*".to_owned()],
        [word] if !is_list => {
            let message = format!(
                "`debug-info` cannot be \"{}\": it is \"counts\", or a list of globs on names of classes",
                word.text
            );
            section.problem(word.span(), message);
            Vec::new()
        }
        globs => globs.iter().filter_map(|glob| section.glob("debug-info", *glob)).collect(),
    };
    // Each was checked.
    NameGlobs::new(patterns).unwrap_or_default()
}

fn read_python(mut section: Section<'_>) -> Python {
    let functions = section.boolean("functions").unwrap_or(Python::default().functions);
    section.finish(|_| None);
    Python { functions }
}

/// The tables of an array of tables.
fn tables<'t>(
    top: &mut Section<'t>,
    key: &'static str,
    title: &'static str,
    found: &'t Found,
) -> Vec<Section<'t>> {
    let Some(value) = top.value(key) else {
        return Vec::new();
    };
    let items = match value.get_ref() {
        DeValue::Array(items) => items,
        DeValue::Table(_) => {
            let message = format!("write {title}, with two brackets: there may be several");
            found.add(value.span(), message);
            return Vec::new();
        }
        other => {
            found.add(
                value.span(),
                format!("`{key}` must be a table {title}, not {}", type_name(other)),
            );
            return Vec::new();
        }
    };
    let mut sections = Vec::new();
    for item in items {
        match item.get_ref() {
            DeValue::Table(table) => {
                sections.push(Section::new(title, table, item.span(), found));
            }
            other => found.add(
                item.span(),
                format!("`{key}` must hold tables {title}, not {}", type_name(other)),
            ),
        }
    }
    sections
}

fn read_tamis<'t>(mut section: Section<'t>, settings: &mut Settings, found: &'t Found) {
    if let Some(store) = section.string("store", "store = \".tamis\"") {
        match store.text {
            "" | "." | "./" | "/" | "~" | "~/" => section.problem(
                store.span(),
                "`store` must be a folder of its own; for example: store = \".tamis\"",
            ),
            text => settings.store = Some(text.to_owned()),
        }
    }
    let engines = [
        ("auto", Engine::Auto),
        ("notify", Engine::Notify),
        ("patch", Engine::Patch),
        ("ebpf", Engine::Ebpf),
        ("ptrace", Engine::Ptrace),
    ];
    settings.engine = section.choice("engine", &engines).unwrap_or(settings.engine);
    settings.jobs = section.count("jobs", "jobs = 4");
    let keep = Keep::default();
    settings.keep = Keep {
        records: section.count("keep-records", "keep-records = 16").unwrap_or(keep.records),
        max_age: section.duration("max-age", "max-age = \"90d\"").unwrap_or(keep.max_age),
        max_size: section.size("max-size", "max-size = \"1GiB\"").unwrap_or(keep.max_size),
    };
    if let Some(value) = section.value("rerun-failed") {
        let number = match value.get_ref() {
            DeValue::Integer(number) => number.to_string().parse::<u32>().ok(),
            _ => None,
        };
        match number.filter(|n| *n <= MOST_RERUNS) {
            Some(number) => settings.flaky.rerun_failed = number,
            None => section.problem(
                value.span(),
                format!("`rerun-failed` is a number from 0 to {MOST_RERUNS}; for example: rerun-failed = 2"),
            ),
        }
    }
    settings.everywhere.shadow = section.boolean("shadow").unwrap_or_default();
    settings.flaky.ok = section.boolean("flaky-ok").unwrap_or(settings.flaky.ok);
    let contacts =
        [("warn", Contact::Warn), ("always-run", Contact::AlwaysRun), ("ignore", Contact::Ignore)];
    settings.network = section.choice("network", &contacts).unwrap_or(settings.network);
    settings.services = section.choice("services", &contacts).unwrap_or(settings.services);
    let example = "allow-services = [\"localhost:5432\", \"/run/foo.sock\"]";
    for service in section.strings("allow-services", example) {
        if is_service(service.text) {
            settings.allow_services.push(service.text.to_owned());
        } else {
            let message = format!(
                "`{}` is neither host:port nor the path of a socket; for example: {example}",
                service.text
            );
            section.problem(service.span(), message);
        }
    }
    for pattern in section.strings("ignore", "ignore = [\"**/*.log\", \"docs/**\"]") {
        settings.ignore.extend(path_glob(&section, "ignore", pattern));
    }
    let default_ignore = section.boolean("default-ignore");
    settings.built_in.ignore = default_ignore.unwrap_or(settings.built_in.ignore);
    let default_rules = section.boolean("default-rules");
    settings.built_in.rules = default_rules.unwrap_or(settings.built_in.rules);
    settings.everywhere.always_run = read_always_run(&mut section, "always-run = [\"*SmokeTest\"]");
    settings.everywhere.run_all_on = read_run_all_on(&mut section);
    if let Some(inner) = inner_table(&mut section, "environment", ENVIRONMENT, found) {
        settings.environment = read_environment(inner);
    }
    if let Some(inner) = inner_table(&mut section, "tool-state", TOOL_STATE, found) {
        settings.tools = read_tools(inner);
    }
    section.finish(|key| SUITE_KEYS.contains(&key).then_some(SUITE));
}

/// A table inside [tamis].
fn inner_table<'t>(
    section: &mut Section<'t>,
    key: &'static str,
    title: &'static str,
    found: &'t Found,
) -> Option<Section<'t>> {
    let value = section.value(key)?;
    match value.get_ref() {
        DeValue::Table(table) => Some(Section::new(title, table, value.span(), found)),
        other => {
            let is = type_name(other);
            let message = format!(
                "`{key}` must be a table, not {is}; for example: {title} with ignore = [\"BUILD_*\"]"
            );
            section.problem(value.span(), message);
            None
        }
    }
}

/// `host:port`, `[::1]:port` or an absolute path.
fn is_service(text: &str) -> bool {
    if text.starts_with('/') || text.starts_with('@') {
        return text.len() > 1;
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let bare_v6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
    !host.is_empty() && !bare_v6 && port.parse::<u16>().is_ok()
}

fn read_environment(mut section: Section<'_>) -> EnvironmentPolicy {
    let ignore = section.globs("ignore", "ignore = [\"BUILD_*\"]");
    let count = section.globs("count", "count = [\"TERM\"]");
    let has_only = section.has("only");
    let only = section.globs("only", "only = [\"PATH\", \"LANG\", \"ACME_*\"]");
    section.finish(|_| None);
    EnvironmentPolicy::new(ignore, count).with_only(has_only.then_some(only))
}

fn read_tools(mut section: Section<'_>) -> ToolSettings {
    let default = section.boolean("default").unwrap_or(true);
    let mut except = Vec::new();
    for name in section.strings("except", "except = [\"npm\"]") {
        if tools::names().any(|known| known == name.text) {
            except.push(name.text.to_owned());
        } else {
            let hint = "`tamis help tool-state` lists the names";
            section.problem(name.span(), format!("`{}` is not in the list; {hint}", name.text));
        }
    }
    let example = "ignore = [\"~/.acme/log\"]";
    let mut ignore = Vec::new();
    for pattern in section.strings("ignore", example) {
        if pattern.text.starts_with(['/', '~']) {
            ignore.extend(path_glob(&section, "ignore", pattern));
        } else {
            let hint = format!("files of the project are for `ignore` of {TAMIS}");
            let message = format!(
                "`{}` must begin with / or ~/; for example: {example}; {hint}",
                pattern.text
            );
            section.problem(pattern.span(), message);
        }
    }
    section.finish(|_| None);
    ToolSettings { default, except, ignore }
}

/// A glob on paths, which may be anchored at the root, above it, at home or at `/`.
fn path_glob<'t>(section: &Section<'t>, key: &str, pattern: Text<'t>) -> Option<String> {
    let text = pattern.text;
    if text.starts_with('!') {
        section.problem(
            pattern.span(),
            format!("`{text}` in `{key}`: exceptions are written as a [[rule]] with as = \"raw\""),
        );
        return None;
    }
    let everything = matches!(text, "." | "./" | "/" | "~" | "~/")
        || key == "ignore" && text.split('/').all(|part| matches!(part, "" | "." | "*" | "**"));
    if everything && !text.is_empty() {
        let whole = "that is everything; name what is meant";
        section.problem(pattern.span(), format!("`{text}` in `{key}`: {whole}"));
        return None;
    }
    section.glob(key, pattern)
}

fn read_rule<'t>(mut section: Section<'t>, found: &'t Found) -> Option<Rule> {
    let path_example = "path = \"**/*.xml\"";
    let path = section.string("path", path_example);
    let path = path.and_then(|path| path_glob(&section, "path", path));
    if !section.has("path") {
        section.missing(format!("a rule needs a `path`; for example: {path_example}"));
    }
    let program = section.string("program", "program = \"xmllint\"");
    let program = program.and_then(|program| section.glob("program", program));
    let condition = section.string("if", CONDITION).and_then(|text| {
        let parsed = Condition::parse(text.text);
        let report =
            |why| section.problem(text.span(), format!("`if`: {why}; for example: {CONDITION}"));
        parsed.map_err(report).ok()
    });
    let treatment = match section.value("as") {
        Some(value) => read_treatment(&section, value, found),
        None => {
            section.missing("a rule needs `as`; for example: as = \"xml\"");
            None
        }
    };
    section.finish(|_| None);
    Some(Rule { path: path?, program, condition, treatment: treatment? })
}

fn read_treatment<'t>(
    section: &Section<'t>,
    value: &'t Value<'t>,
    found: &'t Found,
) -> Option<Treatment> {
    let example = "as = { command = [\"./fingerprint.sh\", \"{}\"] }";
    if let DeValue::Table(table) = value.get_ref() {
        return read_user_code(Section::new("`as`", table, value.span(), found), example);
    }
    let known = [
        ("raw", Treatment::As(Scheme::Raw)),
        ("ignore", Treatment::Ignore),
        ("listing", Treatment::As(Scheme::Listing)),
        ("xml", Treatment::As(Scheme::Xml)),
        ("json", Treatment::As(Scheme::Json)),
        ("toml", Treatment::As(Scheme::Toml)),
        ("text", Treatment::As(Scheme::Text)),
        ("class", Treatment::As(Scheme::Class)),
    ];
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let Some(text) = as_text(value) else {
        let is = type_name(value.get_ref());
        let message = format!(
            "`as` must be one of {} or a command, not {is}; for example: {example}",
            names.join(", ")
        );
        section.problem(value.span(), message);
        return None;
    };
    let treatment = known.iter().find(|(name, _)| *name == text.text);
    if treatment.is_none() {
        let message = format!(
            "`as` cannot be \"{}\" (one of: {}, or {{ command = [...] }}){}",
            text.text,
            names.join(", "),
            crate::reader::did_you_mean(text.text, &names)
        );
        section.problem(text.span(), message);
    }
    treatment.map(|(_, treatment)| treatment.clone())
}

/// `{ command = [...] }` or `{ ignore-if = [...] }`.
fn read_user_code(mut section: Section<'_>, example: &str) -> Option<Treatment> {
    let filter_example = "as = { ignore-if = [\"grep\", \"-q\", \"GENERATED\", \"{}\"] }";
    let (command, filter) = (section.value("command"), section.value("ignore-if"));
    let treatment = match (command, filter) {
        (Some(command), None) => {
            section.command("command", command, example).map(Treatment::Command)
        }
        (None, Some(filter)) => {
            section.command("ignore-if", filter, filter_example).map(Treatment::IgnoreIf)
        }
        (None, None) => {
            section
                .missing(format!("`as` needs a `command` or `ignore-if`; for example: {example}"));
            None
        }
        (Some(_), Some(filter)) => {
            let message = "`as` has either a `command` or `ignore-if`; write two rules";
            section.problem(filter.span(), message);
            None
        }
    };
    section.finish(|_| None);
    treatment
}

fn read_suite<'t>(mut section: Section<'t>, suites: &mut Vec<Suite>, found: &'t Found) {
    let name = section.string("name", "name = \"shell\"");
    if !section.has("name") {
        section.missing("a suite needs a `name`; for example: name = \"shell\"");
    }
    if let Some(name) = name {
        if name.text.is_empty() || name.text.contains("::") || name.text.contains(char::is_control)
        {
            let message = "`name` must be text without `::` and control characters; for example: name = \"shell\"";
            section.problem(name.span(), message);
        } else if suites.iter().any(|suite| suite.name == name.text) {
            let message = format!("there is already a suite named \"{}\"", name.text);
            section.problem(name.span(), message);
        }
    }
    let each_value = section.value("each");
    let each = each_value.and_then(|value| read_each(&section, value, found));
    let run_value = section.value("run");
    let run_example =
        if each_value.is_some() { "run = \"bash {}\"" } else { "run = \"make test\"" };
    if run_value.is_none() {
        section.missing(format!("a suite needs `run`, its command; for example: {run_example}"));
    }
    let run = run_value.and_then(|value| section.command("run", value, run_example));
    if let (Some(value), Some(run)) = (run_value, &run) {
        let placed = run.iter().any(|word| word.contains("{}"));
        if each_value.is_some() && !placed {
            let message = format!(
                "`run` has no {{}} for the item, so every test would be the same; for example: {run_example}"
            );
            section.problem(value.span(), message);
        } else if each_value.is_none() && placed {
            let message = "`run` has a {} for the item, but there is no `each`; for example: each = \"tests/*.sh\"";
            section.problem(value.span(), message);
        }
    }
    let folder = section.string("folder", "folder = \"sub\"");
    let folder = folder.map_or_else(|| ".".to_owned(), |folder| read_folder(&section, folder));
    let jobs = section.count("jobs", "jobs = 2");
    let timeout = section.duration("timeout", "timeout = \"5m\"");
    let env = section.value("env").map(|value| read_env(&section, value)).unwrap_or_default();
    let always_run = read_always_run(&mut section, "always-run = [\"net_*\"]");
    let run_all_on = read_run_all_on(&mut section);
    let allow_empty = section.boolean("allow-empty").unwrap_or_default();
    section.finish(|key| TAMIS_KEYS.contains(&key).then_some(TAMIS));
    // A suite that has problems is kept as far as it is known, so that a second one of the same
    // name is found; settings with problems are never handed out.
    if let Some(name) = name {
        suites.push(Suite {
            name: name.text.to_owned(),
            each: each.unwrap_or(Each::Once),
            run: run.unwrap_or_default(),
            folder,
            jobs,
            timeout,
            env,
            always_run,
            run_all_on,
            allow_empty,
        });
    }
}

fn read_each<'t>(section: &Section<'t>, value: &'t Value<'t>, found: &'t Found) -> Option<Each> {
    let example = "each = \"tests/*.sh\"";
    if let DeValue::Table(table) = value.get_ref() {
        let example = "each = { command = \"ls tests\" }";
        let mut inner = Section::new("`each`", table, value.span(), found);
        let command = inner.value("command");
        if command.is_none() {
            inner.missing(format!("`each` needs a `command`; for example: {example}"));
        }
        let words = command.and_then(|command| inner.command("command", command, example));
        let keys = inner.value("json").and_then(|value| match as_text(value) {
            Some(keys) if !keys.text.is_empty() => Some(keys.text.to_owned()),
            _ => {
                let message = "`json` is the way to the names; for example: json = \"tests.name\"";
                inner.problem(value.span(), message);
                None
            }
        });
        inner.finish(|_| None);
        return words.map(|words| match keys {
            Some(keys) => Each::Json(words, keys),
            None => Each::Command(words),
        });
    }
    if !matches!(value.get_ref(), DeValue::String(_) | DeValue::Array(_)) {
        let is = type_name(value.get_ref());
        let message = format!(
            "`each` must be a glob, a list of globs or names, or {{ command = \"...\" }}, not {is}; for example: {example}"
        );
        section.problem(value.span(), message);
        return None;
    }
    if value.get_ref().as_array().is_some_and(|array| array.is_empty()) {
        section.problem(
            value.span(),
            format!("`each` is empty, the suite would have no test; for example: {example}"),
        );
        return None;
    }
    let (texts, _) = section.string_or_list("each", value, example);
    let mut items = Vec::new();
    for text in texts {
        if text.text.trim().is_empty() {
            section.problem(text.span(), format!("empty item in `each`; for example: {example}"));
        } else if !glob::is_pattern(text.text) {
            items.push(Item::Name(text.text.to_owned()));
        } else if text.text.starts_with(['/', '~']) || text.text.split('/').any(|p| p == "..") {
            let message = "globs of `each` stay inside the suite's `folder`; set `folder` or list names instead";
            section.problem(text.span(), message);
        } else {
            items.extend(section.glob("each", text).map(Item::Glob));
        }
    }
    Some(Each::Items(items))
}

/// The folder in its shortest form, `.` for the root.
fn read_folder(section: &Section<'_>, folder: Text<'_>) -> String {
    let mut parts = Vec::new();
    for component in Path::new(folder.text).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                let message = "`folder` must be below the root and relative to it; for example: folder = \"sub\"";
                section.problem(folder.span(), message);
                break;
            }
        }
    }
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

fn read_env<'t>(section: &Section<'t>, value: &'t Value<'t>) -> BTreeMap<String, String> {
    let example = "env = { LANG = \"C\" }";
    let mut env = BTreeMap::new();
    let DeValue::Table(table) = value.get_ref() else {
        let is = type_name(value.get_ref());
        let message = format!("`env` must be a table of strings, not {is}; for example: {example}");
        section.problem(value.span(), message);
        return env;
    };
    for (name, value) in table {
        let text = name.get_ref().as_ref();
        if text.is_empty() || text.contains(['=', '\0']) {
            section.problem(name.span(), format!("`{text}` cannot be the name of a variable"));
        }
        match as_text(value) {
            Some(value) if !value.text.contains('\0') => {
                env.insert(text.to_owned(), value.text.to_owned());
            }
            Some(value) => {
                section.problem(value.span(), format!("the value of `{text}` holds a NUL"));
            }
            None => {
                let is = type_name(value.get_ref());
                let message =
                    format!("variable `{text}` must be a string, not {is}; for example: {example}");
                section.problem(value.span(), message);
            }
        }
    }
    env
}

#[cfg(test)]
mod tests;
