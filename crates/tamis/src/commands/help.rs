//! `tamis help`, `tamis completions` and `tamis man`: the command line about itself.

use crate::args::{Arguments, EngineWord, Granularity, SelectName, Shell};
use crate::terminal;
use anyhow::{Result, bail};
use clap::{Command, CommandFactory, ValueEnum};
use tamis_report::exit;
use tamis_settings::tools::{TOOL_LOOKS, TOOL_STATE, ToolLook, ToolState};

/// A name and the text about it.
type Topic = (&'static str, fn() -> String);

/// Topics besides the verbs.
const TOPICS: [Topic; 5] = [
    ("options", options),
    ("exit-codes", exit_codes),
    ("engines", engines),
    ("strategies", strategies),
    ("tool-state", tool_state),
];

pub(crate) fn help(topic: &[String]) -> Result<i32> {
    terminal::print(&about(topic)?);
    Ok(exit::SUCCESS)
}

/// The help of a verb, of a topic, or of all.
pub(crate) fn about(topic: &[String]) -> Result<String> {
    if let [name] = topic
        && let Some((_, text)) = TOPICS.iter().find(|(topic, _)| topic == name)
    {
        return Ok(text());
    }
    let mut command = Arguments::command();
    command.build();
    let mut found = &mut command;
    for name in topic {
        let Some(inner) = found.find_subcommand_mut(name) else {
            let verbs = Arguments::command();
            let verbs = verbs.get_subcommands().map(Command::get_name);
            let names: Vec<&str> = TOPICS.iter().map(|(name, _)| *name).chain(verbs).collect();
            let near = tamis_report::nearest(name, names.iter().copied());
            let near = near.first().map(|near| format!("; did you mean `tamis help {near}`?"));
            let near = near.unwrap_or_else(|| "; `tamis help` lists them".into());
            bail!("no verb and no topic is called \"{name}\"{near}");
        };
        found = inner;
    }
    Ok(found.render_help().to_string())
}

/// The options that stand before a command.
fn options() -> String {
    let mut run = Arguments::command();
    run.build();
    let run = run.find_subcommand("run").cloned().unwrap_or_default();
    let run = run.help_template("{all-args}").override_usage("").after_help("");
    let text = run.mut_args(|argument| match argument.is_positional() {
        true => argument.hide(true),
        false => argument,
    });
    format!("Options of tamis stand before the command.\n\n{}", text.clone().render_help())
}

fn exit_codes() -> String {
    format!("The exit code of tamis:\n\n{}", exit::text())
}

fn engines() -> String {
    format!("--engine ENGINE: how processes are observed.\n\n{}", values::<EngineWord>())
}

fn strategies() -> String {
    format!(
        "--select STRATEGY: how tests are chosen.\n\n{}\n\
         --granularity UNIT: what is decided about.\n\n{}\n\
         With --select static, `method` can miss tests: its call graph sees neither reflection nor\n\
         calls that libraries make.\n",
        values::<SelectName>(),
        values::<Granularity>()
    )
}

fn tool_state() -> String {
    let entry = |entry: &ToolState| {
        let paths: String = entry.paths.iter().map(|path| format!("      {path}\n")).collect();
        format!("  {}: {}\n{paths}", entry.name, entry.why)
    };
    let look = |look: &ToolLook| format!("  {}: {}\n", look.name, look.why);
    let entries: String = TOOL_STATE.iter().map(entry).collect();
    let looks: String = TOOL_LOOKS.iter().map(look).collect();
    format!(
        "What everyday tools write down for themselves is no input of a test:\n\n{entries}\n\
         Tools that walk through folders and take from a look at an entry (lstat) only what it is:\n\n{looks}\n\
         [tamis.tool-state] in tamis.toml: except = [\"npm\"] lets an entry count, ignore = [\"~/.acme/log\"]\n\
         adds paths, default = false switches the list off.\n"
    )
}

/// The values of an option that are not old words, with their meaning.
fn values<V: ValueEnum>() -> String {
    let values = V::value_variants().iter().filter_map(V::to_possible_value);
    let shown = values.filter(|value| !value.is_hide_set());
    let line = |value: clap::builder::PossibleValue| {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        format!("  {:<8} {help}\n", value.get_name())
    };
    shown.map(line).collect()
}

pub(crate) fn completions(shell: Shell) -> Result<i32> {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "tamis", &mut text);
    terminal::print(&String::from_utf8_lossy(&text));
    Ok(exit::SUCCESS)
}

/// One page: the options of tamis, then each verb.
pub(crate) fn man() -> Result<i32> {
    let mut command = Arguments::command();
    command.build();
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        verb_section(verb, &mut page)?;
    }
    let mut page = String::from_utf8_lossy(&page).into_owned();
    page += &exit_section();
    terminal::print(&page);
    Ok(exit::SUCCESS)
}

/// A verb under a heading of its own.
fn verb_section(verb: &Command, page: &mut Vec<u8>) -> Result<()> {
    use std::io::Write;
    let man = clap_mangen::Man::new(verb.clone());
    let name = verb.get_bin_name().unwrap_or(verb.get_name());
    writeln!(page, ".SH \"{}\"", name.to_uppercase())?;
    let mut parts = Vec::new();
    man.render_description_section(&mut parts)?;
    man.render_options_section(&mut parts)?;
    let lines = String::from_utf8_lossy(&parts).into_owned();
    for line in lines.lines().filter(|line| !line.starts_with(".SH DESCRIPTION")) {
        writeln!(page, "{}", line.replacen(".SH", ".SS", 1))?;
    }
    Ok(())
}

fn exit_section() -> String {
    let lines: String = exit::rows()
        .iter()
        .map(|(code, what)| format!(".TP\n\\fB{code}\\fR\n{}\n", what.replace('-', "\\-")))
        .collect();
    format!(".SH \"EXIT STATUS\"\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(topic: &str) -> String {
        let words: Vec<String> = topic.split_whitespace().map(str::to_owned).collect();
        about(&words).expect(topic)
    }

    #[test]
    fn verbs_and_topics_have_help() {
        assert!(of("").contains("Examples:"));
        assert!(of("why").contains("NAME"));
        assert!(of("static select").contains("--explain"));
        assert!(of("exit-codes").contains("125"));
        assert!(of("engines").contains("ptrace") && !of("engines").contains("hybrid"));
        assert!(of("strategies").contains("hybrid"));
        assert!(of("tool-state").contains("go-telemetry: "));
        assert!(
            about(&["whatever".into()]).is_err() && about(&["why".into(), "x".into()]).is_err()
        );
    }

    #[test]
    fn old_words_are_in_no_help() {
        for topic in ["", "run", "static select", "static record", "static impacted"] {
            let text = of(topic);
            assert!(!text.contains("--level") && !text.contains("old word"), "{topic}: {text}");
        }
    }

    #[test]
    fn the_overview_names_every_verb_and_topic_and_fits_a_screen() {
        let text = of("");
        for verb in Arguments::command().get_subcommands() {
            assert!(text.contains(&format!("\n  {} ", verb.get_name())), "{}", verb.get_name());
        }
        assert!(TOPICS.iter().all(|(topic, _)| text.contains(topic)), "{text}");
        assert!(text.lines().count() <= 40 && text.lines().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn each_group_of_a_verbs_help_fits_a_screen() {
        let mut command = Arguments::command().term_width(80);
        command.build();
        for verb in command.get_subcommands() {
            let text = verb.clone().render_help().to_string();
            for group in text.split("\n\n") {
                assert!(group.lines().count() <= 24, "{}: {group}", verb.get_name());
            }
        }
    }

    /// Each help as it is printed, in a window of fixed width.
    #[test]
    fn help_of_all_verbs() {
        let mut command = Arguments::command().term_width(100);
        command.build();
        insta::assert_snapshot!("help", command.render_help());
        let mut pending = vec![(String::from("help"), command)];
        while let Some((name, command)) = pending.pop() {
            for verb in command.get_subcommands() {
                let (name, mut verb) = (format!("{name}-{}", verb.get_name()), verb.clone());
                insta::assert_snapshot!(name.clone(), verb.render_help());
                pending.push((name, verb));
            }
        }
        for (name, text) in TOPICS {
            insta::assert_snapshot!(format!("topic-{name}"), text());
        }
    }

    #[test]
    fn the_words_of_a_call_are_well_made() {
        Arguments::command().debug_assert();
    }
}
