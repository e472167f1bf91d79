//! What the commands work with: the project, the front ends, resolved options and the reporters.

use crate::args::Options;
use crate::terminal;
use anyhow::Result;
use std::path::PathBuf;
use std::sync::Arc;
use tamis_frontend_go::GoFrontend;
use tamis_frontend_jvm::JvmFrontend;
use tamis_frontend_python::PytestFrontend;
use tamis_project::Project;
use tamis_report::Reporters;
use tamis_report::event::Reporter;
use tamis_report::phases::Timeline;
use tamis_report::reporters::{JsonReporter, JunitReporter, MarkdownReporter, TerminalReporter};
use tamis_runner::shards::{FixedBy, Sharding};
use tamis_runner::{Call, RunOptions};
use tamis_session::Frontends;

#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) project: Project,
    frontends: Frontends,
    options: RunOptions,
    reporters: Reporters,
    times: Timeline,
}

impl Context {
    /// For verbs that answer on standard output.
    pub(crate) fn new(options: &Options) -> Result<Self> {
        Self::with(options, vec![Box::new(messages(options))])
    }

    /// For verbs that run tests: with all reports that the user asks for.
    pub(crate) fn for_runs(options: &Options) -> Result<Self> {
        let mut reporters: Vec<Box<dyn Reporter>> = Vec::new();
        if options.common.json {
            reporters.push(Box::new(JsonReporter { out: Box::new(std::io::stdout()) }));
        }
        reporters.push(Box::new(messages(options)));
        if let Some(file) = &options.running.junit {
            reporters.push(Box::new(JunitReporter { file: file.clone() }));
        }
        if let Some(file) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|f| !f.is_empty()) {
            reporters.push(Box::new(MarkdownReporter { file: PathBuf::from(file) }));
        }
        Self::with(options, reporters)
    }

    fn with(options: &Options, reporters: Vec<Box<dyn Reporter>>) -> Result<Self> {
        let times = Timeline::new();
        let mut project = Project::find(options.common.store.as_deref())?;
        let reporters = Reporters::new(reporters);
        project.believed = tamis_shared::believed(&project, &reporters);
        let mut run_options = options.run_options()?;
        run_options.which.shard = sharding(options, &project)?;
        tamis_shared::pull_before(&project, options.common.offline, &reporters);
        Ok(Self {
            frontends: frontends(
                project.settings.python.functions || options.selecting.in_files(),
                options.selecting.by_files(),
            ),
            project,
            options: run_options,
            reporters,
            times,
        })
    }

    pub(crate) fn call(&self) -> Call<'_> {
        Call {
            project: &self.project,
            frontends: &self.frontends,
            options: &self.options,
            reporters: &self.reporters,
            times: &self.times,
            check: None,
        }
    }
}

/// The part of this machine, and how it and the others come to the same split.
fn sharding(options: &Options, project: &Project) -> Result<Option<Arc<Sharding>>> {
    let Some(shard) = options.selecting.shard else { return Ok(None) };
    let by = match &options.selecting.plan {
        Some(file) => Sharding::file(file, shard).map_err(anyhow::Error::msg)?,
        None => match tamis_shared::fix(project, options.common.offline) {
            Some(fix) => FixedBy::Shared(fix),
            None => FixedBy::Records,
        },
    };
    Ok(Some(Arc::new(Sharding::new(shard, tamis_shared::ci_run(), by))))
}

/// The front ends of this tamis. Tests inside pytest are distinguished unless the project wants it otherwise, and the call
/// does not ask for it.
pub(crate) fn frontends(claims_pytest: bool, by_files: bool) -> Frontends {
    let pytest = PytestFrontend { claims: claims_pytest, by_files };
    Frontends::new(vec![Box::new(JvmFrontend), Box::new(GoFrontend), Box::new(pytest)])
}

fn messages(options: &Options) -> TerminalReporter {
    let stdout = || -> Box<dyn std::io::Write + Send> { Box::new(std::io::stdout()) };
    let outputs = if options.common.json { Box::new(std::io::stderr()) } else { stdout() };
    let style = terminal::style(options);
    let mut reporter =
        TerminalReporter::new(Box::new(std::io::stderr()), outputs, style, terminal::size);
    reporter.quiet = options.common.quiet;
    reporter
}
