//! A first `tamis.toml` for a project, by looking at what is there, in the folder itself and in those
//! below it that are projects of their own.
//!
//! Finds that give one test per file, package or binary become suites. A find that is one command for
//! everything (make) becomes a suite when nothing finer was found in its folder, else it is written as a
//! comment, so that no test is in two suites. The text is a starting point for the user to read: it
//! explains what was found and what the alternatives are. Nothing is run.
//!
//! Not seen: tests that only a build tool knows of, and folders more than three levels down.

mod builds;
mod detect;
mod files;
mod node;

use detect::{Find, Grain};
use std::fmt::Write;
use std::path::Path;

/// The commented text of `tamis.toml` for the project at `root`.
pub fn init(root: &Path) -> String {
    let projects = detect::projects(root);
    let finds: Vec<&Find> = projects.iter().flatten().collect();
    let mut text = String::from(HEAD);
    let mut ignored: Vec<String> = finds.iter().filter_map(|find| find.ignored()).collect();
    ignored.dedup();
    match ignored.as_slice() {
        [] => text.push_str(NO_IGNORE),
        some => {
            let quoted: Vec<String> = some.iter().map(|path| format!("\"{path}\"")).collect();
            let _ = writeln!(text, "ignore = [{}]", quoted.join(", "));
        }
    }
    if finds.is_empty() {
        text.push_str(NOTHING_FOUND);
    }
    for project in &projects {
        let fine = project.iter().any(|find| find.grain == Grain::PerItem);
        for find in project {
            let in_use = find.grain != Grain::WholeIfAlone || !fine;
            text.push('\n');
            suite(find, in_use, &mut text);
        }
    }
    text
}

fn suite(find: &Find, in_use: bool, text: &mut String) {
    let mark = if in_use { "" } else { "# " };
    for line in &find.comment {
        let _ = writeln!(text, "# {line}");
    }
    if !in_use {
        text.push_str(
            "# Not in use, because it would run tests of the suites above a second time:\n",
        );
    }
    let _ = writeln!(text, "{mark}[[suite]]\n{mark}name = \"{}\"", find.suite_name());
    if find.folder != "." {
        let _ = writeln!(text, "{mark}folder = \"{}\"", find.folder);
    }
    if let Some(each) = &find.each {
        let _ = writeln!(text, "{mark}each = {each}");
    }
    let _ = writeln!(text, "{mark}run = {}", quoted(&find.run));
    if !find.env.is_empty() {
        let pairs: Vec<String> =
            find.env.iter().map(|(name, value)| format!("{name} = {}", quoted(value))).collect();
        let _ = writeln!(text, "{mark}env = {{ {} }}", pairs.join(", "));
    }
    if find.one_at_a_time {
        let _ = writeln!(text, "{mark}jobs = 1");
    }
}

/// A text as TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

const HEAD: &str = "\
# Settings of tamis, which runs only the tests that a change can affect.
# Every key is explained in docs/settings.md of tamis; everything is optional.

[tamis]
# store = \".tamis\"                # default: a folder in your cache
# jobs = 4                        # default: the number of cores
";

const NO_IGNORE: &str =
    "# ignore = [\"**/*.log\", \"docs/**\"] # paths that are no input of any test\n";

const NOTHING_FOUND: &str = "
# No tests of a known kind were found here. An example to fill in: each file is one test.
# [[suite]]
# name = \"shell\"
# each = \"tests/*.sh\"             # or a list, or { command = \"ls tests\" }
# run = \"bash {}\"                 # no shell is started; or a list of words
# folder = \".\"                    # working directory
# jobs = 2
# timeout = \"5m\"
# env = { LANG = \"C\" }
# always-run = [\"net_*\"]          # items that are never skipped
# run-all-on = [\"Makefile\"]       # any change in these runs every test

# One command that is one test.
# [[suite]]
# name = \"check\"
# run = \"make check\"
";

#[cfg(test)]
mod tests;
