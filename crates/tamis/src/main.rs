//! The binary: arguments to settings to commands.

mod args;
mod commands;
mod context;
mod log;
mod memory;
mod terminal;

use args::{Arguments, CommandTraits, Options, Verb};
use std::ffi::OsString;
use tamis_frontend_go::{SHIM_VERB, shim_process};
use tamis_project::Project;
use tamis_report::exit;
use tamis_session::{Ability, Invocation};

/// Deciding makes many small texts and sets, a quarter of its instructions with the C library's allocator, and more with
/// that of a static build.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    // Between go and a test binary tamis is nothing but that.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == SHIM_VERB) {
        std::process::exit(shim_process(&words.collect::<Vec<_>>()));
    }
    memory::prefer_small_pages();
    // A panic is a mistake of tamis, and no failed test; the hook has shown it.
    let code = std::panic::catch_unwind(run_or_explain).unwrap_or(exit::MISTAKE);
    std::process::exit(code);
}

fn run_or_explain() -> i32 {
    let words: Vec<OsString> = std::env::args_os().collect();
    let arguments = match args::parse(&words, &commands::is_test) {
        Ok(arguments) => arguments,
        Err(answer) => {
            // A reader that has seen enough of the help (`| head`) is no error.
            let _ = answer.print();
            return if answer.use_stderr() { exit::MISTAKE } else { exit::SUCCESS };
        }
    };
    dispatch(arguments).unwrap_or_else(|error| {
        terminal::note(&format!("{error:#}"));
        match error.is::<tamis_runner::cases::EmptySuites>() {
            true => exit::EMPTY_SUITE,
            false => exit::MISTAKE,
        }
    })
}

fn dispatch(arguments: Arguments) -> anyhow::Result<i32> {
    log::start()?;
    let options = &arguments.resolve(&traits)?;
    if let Some(advice) = &options.advice {
        terminal::say(options, advice);
    }
    advise(options, &arguments);
    match arguments.verb {
        None => commands::run::run(options, &[]),
        Some(Verb::Command(words)) => match args::verb_meant(&words[0]) {
            Some(verb) => {
                let word = words[0].display();
                terminal::note(&format!(
                    "no program is called {word}, and it is no verb of tamis; did you mean `tamis {verb}`?"
                ));
                Ok(exit::NOT_FOUND)
            }
            None => commands::run::run(options, &words),
        },
        Some(Verb::Run(command) | Verb::Record(command)) => {
            commands::run::run(options, &command.command.words)
        }
        Some(Verb::Shards(words)) => commands::shards::shards(options, &words),
        Some(Verb::Select(select)) => commands::select::select(options, &select),
        Some(Verb::Why(why)) => commands::why::why(options, &why.name.name),
        Some(Verb::WhyNot(why)) => commands::why::why_not(options, &why),
        Some(Verb::Deps(deps)) => commands::deps::deps(options, &deps),
        Some(Verb::Status(_)) => commands::status::status(options),
        Some(Verb::History(name)) => commands::status::history(options, &name.name),
        Some(Verb::Report(report)) => commands::report::report(options, &report),
        Some(Verb::Forget(name)) => commands::clean::forget(options, &name.name),
        Some(Verb::Clean(clean)) => commands::clean::clean(options, clean.old),
        Some(Verb::Replay(replay)) => commands::replay::replay(options, &replay, &traits),
        Some(Verb::Audit(audit)) => commands::audit::audit(options, audit.resolve),
        Some(Verb::Doctor) => commands::doctor::run(options),
        Some(Verb::Init(init)) => commands::init::init(init.print),
        Some(Verb::Modules(arguments)) => commands::modules::modules(options, &arguments),
        Some(Verb::Help(help)) => commands::help::help(&help.topic),
        Some(Verb::Completions(completions)) => commands::help::completions(completions.shell),
        Some(Verb::Man) => commands::help::man(),
        Some(Verb::Store(arguments)) => commands::store(options, &arguments),
        Some(Verb::Static(arguments)) => commands::static_verb::run(options, &arguments),
    }
}

/// One line about an option behind a command that runs for the first time, where tamis may have been meant.
fn advise(options: &Options, arguments: &Arguments) {
    let Some(words) = arguments.target() else { return };
    let Some(any) = args::misplaced(words, &|_| true) else { return };
    let rare = args::misplaced(words, &args::is_rare);
    let recorded = |words: &[OsString]| commands::is_test(arguments, words);
    let meant = rare.or_else(|| recorded(&any.command).then_some(any));
    if let Some(misplaced) = meant.filter(|_| !recorded(words)) {
        let (option, program) = (&misplaced.option, words[0].display());
        let instead = &misplaced.instead;
        terminal::say(
            options,
            &format!("{option} goes to {program}; where tamis is meant, write `{instead}`"),
        );
    }
}

/// What the options of a call have to know of a user's command.
fn traits(words: &[OsString]) -> CommandTraits {
    let invocation = Invocation {
        words: words.to_vec(),
        environment: std::env::vars_os().collect(),
        folder: std::env::current_dir().unwrap_or_default(),
    };
    let functions = || Project::find(None).is_ok_and(|found| found.settings.python.functions);
    let concerns_pytest = tamis_frontend_python::concerns_pytest(words);
    let claim = context::frontends(concerns_pytest, false).claim(&invocation);
    let Some(claim) = claim else { return CommandTraits::default() };
    CommandTraits {
        units: !claim.can(Ability::Files) || functions(),
        parts: claim.can(Ability::Parts),
        files: claim.can(Ability::Files),
        graph: claim.can(Ability::Static),
        misplaced: args::misplaced(words, &|option| claim.refuses(option)),
    }
}
