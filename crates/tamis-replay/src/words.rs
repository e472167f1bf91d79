//! The command line of `tamis replay`.

use anyhow::{Result, bail};
use clap::Args;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

const WHICH: &str = "Which revisions";

/// Which revisions.
#[derive(Debug, Clone, Default, Args)]
pub struct Revisions {
    /// Revisions in git's words, for instance v1.2..main; with A..B, A is the first
    #[arg(value_name = "RANGE", conflicts_with = "last")]
    pub range: Option<String>,
    /// The last N commits of this branch
    #[arg(long, value_name = "N", help_heading = WHICH)]
    pub last: Option<NonZeroUsize>,
    /// Only every Nth of them
    #[arg(long, value_name = "N", help_heading = WHICH)]
    pub every: Option<NonZeroUsize>,
    /// Only revisions that change a file that matches (may be repeated)
    #[arg(long, value_name = "GLOB", help_heading = WHICH)]
    pub only_changed: Vec<String>,
    /// All commits of a history with merges; without it, the first parent of each
    #[arg(long, help_heading = WHICH)]
    pub all_parents: bool,
}

#[derive(Debug, Clone, Default, Args)]
pub struct ReplayArguments {
    #[command(flatten)]
    pub revisions: Revisions,
    /// Run this first in the first revision, and wherever a file that names dependencies changes
    #[arg(long, value_name = "COMMAND")]
    pub setup: Option<String>,
    /// Remove in each revision also what git ignores: builds begin anew
    #[arg(long)]
    pub clean: bool,
    /// Run only what tamis selects: quicker, and misses are not found
    #[arg(long)]
    pub estimate: bool,
    /// Put N faults into each revision, one at a time: every test that then fails must have been selected (JVM:
    /// in class files; pytest: in sources)
    #[arg(long, value_name = "N", conflicts_with = "estimate")]
    pub mutants: Option<NonZeroUsize>,
    /// The ways of choosing to compare: records, static, modules, hybrid
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "records")]
    pub select: Vec<String>,
    /// Java: decide about each test class, or each test method: class or method
    #[arg(long, value_name = "UNIT")]
    pub granularity: Option<String>,
    /// How many tests run at once
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Go on with the last replay, where it was ended
    #[arg(long, conflicts_with_all = ["range", "last", "every", "only_changed", "all_parents", "setup", "clean", "estimate", "granularity", "mutants"])]
    pub resume: bool,
    /// Write the result to this file: .html, .md, .csv or .json by its name; alone, that of the last replay
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Print the result as a table of comma-separated values
    #[arg(long)]
    pub csv: bool,
    /// The command; without one, the suites of tamis.toml
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// What a result is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Html,
    Markdown,
    Csv,
    Json,
}

impl Form {
    /// By the ending of a file's name.
    pub fn of(file: &Path) -> Result<Self> {
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("html") => Ok(Self::Html),
            Some("md") => Ok(Self::Markdown),
            Some("csv") => Ok(Self::Csv),
            Some("json" | "jsonl") => Ok(Self::Json),
            _ => bail!("--report {}: end the name with .html, .md, .csv or .json", file.display()),
        }
    }
}

/// What `--select` can compare.
const STRATEGIES: [&str; 4] = ["records", "static", "modules", "hybrid"];

impl ReplayArguments {
    /// Whether only the last result is asked for.
    pub fn only_shows(&self) -> bool {
        let asks = self.report.is_some() || self.csv;
        let Revisions { range, last, .. } = &self.revisions;
        asks && !self.resume && range.is_none() && last.is_none() && self.command.is_empty()
    }

    /// The strategies, records first: they are what needlessness is judged by.
    pub(crate) fn strategies(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for name in &self.select {
            if !STRATEGIES.contains(&name.as_str()) {
                bail!("--select {name}: choose among {}", STRATEGIES.join(", "));
            }
            if !found.contains(name) {
                found.push(name.clone());
            }
        }
        if self.estimate && found != ["records"] {
            bail!("--estimate runs what one strategy selects: leave out --select");
        }
        found.sort_by_key(|name| STRATEGIES.iter().position(|known| known == name));
        Ok(found)
    }
}
