//! A first `tamis.toml` for a project, by looking at what is there.
//!
//! Finds that give one test per file or package become suites. A find that is one command for
//! everything (make, cargo, Maven) becomes a suite when nothing finer was found for it, else it is
//! written as a comment, so that no test is in two suites. The text is a starting point for the
//! user to read: it says what was found and what the alternatives are. Nothing is run.

mod detect;

use detect::{Find, Grain};
use std::fmt::Write;
use std::path::Path;

/// The commented text of `tamis.toml` for the project at `root`.
pub fn init(root: &Path) -> String {
    let finds = detect::all(root);
    let mut text = String::from(HEAD);
    if finds.is_empty() {
        text.push_str(NOTHING_FOUND);
        return text;
    }
    let fine = finds.iter().any(|find| find.grain == Grain::PerItem);
    for find in &finds {
        let in_use = match find.grain {
            Grain::PerItem | Grain::Whole => true,
            Grain::WholeIfAlone => !fine,
        };
        text.push('\n');
        suite(find, in_use, &mut text);
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
    let _ = writeln!(text, "{mark}[[suite]]\n{mark}name = \"{}\"", find.name);
    if let Some(each) = &find.each {
        let _ = writeln!(text, "{mark}each = {each}");
    }
    let _ = writeln!(text, "{mark}run = \"{}\"", find.run);
}

const HEAD: &str = "\
# Settings of tamis, which runs only the tests that a change can affect.
# Every key is explained in docs/settings.md of tamis; everything is optional.

[tamis]
# store = \".tamis\"                # default: a folder in your cache
# jobs = 4                        # default: the number of cores
# ignore = [\"**/*.log\", \"docs/**\"] # paths that are no input of any test
";

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
