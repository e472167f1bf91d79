//! JavaScript and TypeScript: the test script of package.json, file by file where its runner is known.
//!
//! The script's own options stay, its files are replaced by one file at a time. A script that does more
//! than start one known runner (pipes, several runners) is one test as a whole.

use super::detect::{Find, Grain, Place};
use super::files;

/// A test runner in a script, with what it is given.
struct Runner {
    name: &'static str,
    env: Vec<(String, String)>,
    options: Vec<String>,
    /// Files, folders and globs.
    places: Vec<String>,
}

pub(super) fn package_json(place: Place<'_>) -> Option<Find> {
    let package: serde_json::Value = serde_json::from_str(&place.text("package.json")?).ok()?;
    let script = package.get("scripts")?.get("test")?.as_str()?;
    // What `npm init` writes where there is no test.
    if script.contains("no test specified") {
        return None;
    }
    let program = program(place);
    let by_file = runner(script).and_then(|runner| by_file(place, runner));
    let find = by_file.unwrap_or_else(|| {
        let run = if program == "bun" { "bun run test".into() } else { format!("{program} test") };
        let comment = ["package.json has a test script: all its tests are one test."];
        Find::new("node", run, Grain::Whole).comment(&comment)
    });
    let installed = package.get("devDependencies").is_none()
        || place.folder.ancestors().any(|folder| folder.join("node_modules").is_dir());
    let install = format!("Install first: {program} install");
    Some(if installed { find } else { find.comment(&[&install]) })
}

/// The program that installs packages here.
fn program(place: Place<'_>) -> &'static str {
    let locks = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
    ];
    locks.iter().find(|(lock, _)| place.has(lock)).map_or("npm", |(_, program)| program)
}

/// Options of the runners that take the next word as their value.
const VALUED: [&str; 22] = [
    "-r",
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "-R",
    "--reporter",
    "-t",
    "--timeout",
    "-u",
    "--ui",
    "-c",
    "--config",
    "--extension",
    "-s",
    "--slow",
    "--file",
    "--test-reporter",
    "--test-reporter-destination",
    "--environment",
    "--project",
    "--testTimeout",
];

/// Options that make no sense for one file.
const LEFT_OUT: [&str; 6] = ["run", "--watch", "--coverage", "--recursive", "--ci", "--parallel"];

/// The one runner of a script.
fn runner(script: &str) -> Option<Runner> {
    if script.contains(['|', ';', '>', '<', '$', '`', '(']) {
        return None;
    }
    let parts: Vec<Vec<String>> = script.split("&&").map(shlex::split).collect::<Option<_>>()?;
    let mut found = parts.iter().filter_map(|words| of_words(words));
    let runner = found.next()?;
    found.next().is_none().then_some(runner)
}

fn of_words(words: &[String]) -> Option<Runner> {
    let at = words.iter().position(|word| {
        ["vitest", "jest", "mocha", "node"].contains(&word.rsplit('/').next().unwrap_or_default())
    })?;
    let before = words[..at].iter().filter_map(|word| word.split_once('='));
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let env = before.filter(|(name, _)| is_name(name));
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let (mut options, mut places) = (Vec::new(), Vec::new());
    let mut rest = words[at + 1..].iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            left_out if LEFT_OUT.contains(&left_out.split('=').next().unwrap_or_default()) => {}
            valued if VALUED.contains(&valued) => {
                options.push(word.clone());
                options.extend(rest.next().cloned());
            }
            option if option.starts_with('-') => options.push(word.clone()),
            _ => places.push(word.clone()),
        }
    }
    let name = match words[at].rsplit('/').next()? {
        "vitest" => "vitest",
        "jest" => "jest",
        "mocha" => "mocha",
        _ if options.iter().any(|option| option == "--test") => "node",
        _ => return None,
    };
    Some(Runner { name, env, options, places })
}

const ENDINGS: &str = "{js,cjs,mjs,jsx,ts,cts,mts,tsx}";

fn by_file(place: Place<'_>, runner: Runner) -> Option<Find> {
    let recursive = runner.name != "mocha";
    let mut patterns: Vec<String> =
        runner.places.iter().flat_map(|given| of_place(place, given, recursive)).collect();
    if patterns.is_empty() {
        patterns = usual(place, runner.name);
    }
    let up = place.folder.ancestors().take_while(|folder| folder.starts_with(place.root));
    let bin =
        |folder: &std::path::Path| folder.join("node_modules/.bin").join(runner.name).exists();
    let up = "../".repeat(up.map(bin).position(|there| there).unwrap_or(0));
    let own = runner.options.iter().map(|option| quoted_word(option));
    let options: String = own.map(|option| format!(" {option}")).collect();
    let run = match runner.name {
        "vitest" => format!("{up}node_modules/.bin/vitest run{options} {{}}"),
        "jest" => format!("{up}node_modules/.bin/jest{options} --no-cache --runTestsByPath {{}}"),
        "mocha" => format!("{up}node_modules/.bin/mocha{options} {{}}"),
        _ => format!("node{options} {{}}"),
    };
    let what = format!(
        "Test files of {}",
        if runner.name == "node" { "node --test" } else { runner.name }
    );
    let mut find = files::files(place, "node", &what, &patterns, |_| run)?;
    find.env = runner.env;
    if runner.name == "vitest" {
        find.own_state = Some("node_modules/.vite/**".into());
    }
    Some(find)
}

/// A word as `run` takes it.
fn quoted_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}

/// The patterns for a file, a folder or a glob that a script names.
fn of_place(place: Place<'_>, given: &str, recursive: bool) -> Vec<String> {
    let given = given.trim_start_matches("./").trim_end_matches('/');
    if place.folder.join(given).is_dir() {
        let deep = if recursive { "/**" } else { "" };
        return vec![format!("{given}{deep}/*.{ENDINGS}")];
    }
    vec![given.to_owned()]
}

/// Where a runner looks by itself.
fn usual(place: Place<'_>, runner: &str) -> Vec<String> {
    let spec = format!("*.{{test,spec}}.{ENDINGS}");
    if runner == "mocha" {
        return vec!["test/*.{js,cjs,mjs}".into()];
    }
    let mut patterns = vec![spec.clone()];
    let entries = std::fs::read_dir(place.folder).into_iter().flatten().flatten();
    let mut folders: Vec<String> = entries
        .filter(|e| e.path().is_dir())
        .filter_map(|e| e.file_name().into_string().ok())
        .collect();
    folders.retain(|name| {
        !name.starts_with('.') && !["node_modules", "dist"].contains(&name.as_str())
    });
    folders.sort();
    for folder in folders {
        match runner {
            "node" if folder == "test" => patterns.push(format!("test/**/*.{ENDINGS}")),
            _ => patterns.push(format!("{folder}/**/{spec}")),
        }
        if runner == "jest" {
            patterns.push(format!("{folder}/**/__tests__/**/*.{ENDINGS}"));
            if folder == "__tests__" {
                patterns.push(format!("__tests__/**/*.{ENDINGS}"));
            }
        }
    }
    patterns
}
