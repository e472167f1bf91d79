//! `tamis doctor`: can tamis observe here, and which tests have habits that one wants to hear of.

use crate::args::Options;
use crate::terminal;
use anyhow::Result;
use std::fmt::Write as _;
use tamis_project::Project;
use tamis_report::exit;
use tamis_report::json::Line;
use tamis_report::json::doctor::CheckLine;
use tamis_runner::doctor;

pub(crate) fn run(options: &Options) -> Result<i32> {
    let mut checks = vec![CheckLine::well("tamis", env!("CARGO_PKG_VERSION"))];
    if let Ok(kernel) = std::fs::read_to_string("/proc/sys/kernel/osrelease") {
        checks.push(CheckLine::well("kernel", kernel.trim()));
    }
    checks.extend(doctor::engines());
    checks.extend(tamis_frontend_jvm::doctor::check());
    match Project::find(options.common.store.as_deref()) {
        Ok(project) => checks.extend(doctor::of_project(&project, &terminal::Messages)?),
        Err(error) => checks.push(CheckLine::problem("project", format!("{error:#}"))),
    }
    let well = !checks.iter().any(|check| check.problem);
    show(options, checks, well)?;
    Ok(if well { exit::SUCCESS } else { exit::FAILED })
}

fn show(options: &Options, checks: Vec<CheckLine>, well: bool) -> Result<()> {
    let mut text = String::new();
    for check in checks {
        match options.common.json {
            true => writeln!(text, "{}", Line::Check(check).text()?)?,
            false => text += &check.shown(),
        }
    }
    if well && !options.common.json {
        text += "no problems found\n";
    }
    terminal::print(&text);
    Ok(())
}
