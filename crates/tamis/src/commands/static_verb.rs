//! `tamis static`: Java class files, without running anything ([`tamis_static_verb`]).

use crate::args::Options;
use crate::terminal;
use anyhow::Result;
use std::io::BufWriter;
use tamis_project::Project;
use tamis_static_verb::{StaticArguments, View};

pub(crate) fn run(options: &Options, arguments: &StaticArguments) -> Result<i32> {
    let project = Project::find(options.common.store.as_deref())?;
    let view = View {
        json: options.common.json,
        quiet: options.common.quiet,
        all: options.selecting.all,
        style: &terminal::output_style(options),
        notes: &terminal::note_block,
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    tamis_static_verb::run(&project, &view, arguments, &mut out)
}
