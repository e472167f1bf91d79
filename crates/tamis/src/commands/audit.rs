//! `tamis audit`: what was checked by running tests that could have been skipped.

use crate::args::Options;
use crate::terminal;
use anyhow::Result;
use tamis_project::Project;
use tamis_report::human::counted;
use tamis_report::json::Line;
use tamis_runner::checks;

pub(crate) fn audit(options: &Options, resolve: bool) -> Result<i32> {
    let project = Project::find(options.common.store.as_deref())?;
    let store = project.existing_store(&terminal::Messages)?;
    if let Some(store) = store.as_ref().filter(|_| resolve) {
        let (misses, tripped) = checks::resolve(store)?;
        let on = if tripped { "; skipping is on again" } else { "" };
        let count = counted(misses as u64, "miss", "misses");
        terminal::note(&format!("acknowledged {count}{on}"));
    }
    let found = checks::audit(store.as_ref());
    if options.common.json {
        terminal::json(&Line::Audit(found))?;
    } else {
        let style = terminal::output_style(options);
        terminal::print(&tamis_report::checks::audit_text(&found, style));
    }
    Ok(0)
}
