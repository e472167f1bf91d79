//! The binary: arguments to settings to commands.

mod again;
mod args;
mod cases;
mod commands;
mod engine;
mod execute;
mod failures;
mod jvm;
mod log;
mod modules;
mod plan;
mod project;
mod reason;
mod run;
mod sparse;
mod stdin;
mod terminal;
mod words;
mod world;

use args::{Arguments, Verb};
use clap::Parser;

/// The exit code for a mistake in the call, the settings or the surroundings.
const MISTAKE: i32 = 2;

fn main() {
    let arguments = Arguments::parse();
    let code = match dispatch(arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("tamis: {error:#}");
            MISTAKE
        }
    };
    std::process::exit(code);
}

fn dispatch(arguments: Arguments) -> anyhow::Result<i32> {
    log::start()?;
    let options = &arguments.options().map_err(anyhow::Error::msg)?;
    match arguments.verb {
        None => commands::run::suites(options, false),
        Some(Verb::Command(words)) => commands::run::command(options, &words, false),
        Some(Verb::Run(command)) => commands::run::either(options, &command.command.words, false),
        Some(Verb::Record(command)) => commands::run::either(options, &command.command.words, true),
        Some(Verb::Select(select)) => commands::select::select(options, &select),
        Some(Verb::Why(name)) => commands::why::why(options, &name.name),
        Some(Verb::WhyNot(name)) => commands::why::why_not(options, &name.name),
        Some(Verb::Deps(deps)) => commands::deps::deps(options, &deps),
        Some(Verb::Status) => commands::status::status(options),
        Some(Verb::History(name)) => commands::status::history(options, &name.name),
        Some(Verb::Forget(name)) => commands::clean::forget(options, &name.name),
        Some(Verb::Clean(clean)) => commands::clean::clean(options, clean.old),
        Some(Verb::Doctor) => commands::doctor::doctor(options),
        Some(Verb::Init(init)) => commands::init::init(init.print),
        Some(Verb::Modules(arguments)) => commands::modules::modules(options, &arguments),
        Some(Verb::Static(arguments)) => commands::static_select::run(options, &arguments),
    }
}
