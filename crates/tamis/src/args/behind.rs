//! Words that stand at another place than clap expects them.
//!
//! - Verbs that take a name take their options behind it, too: `tamis why X --json`. A name can be a
//!   command with options of its own (`pytest --json`), so a recorded test of just that name comes
//!   first, and with `--` all words are the name.
//! - Behind a command that is run, an option belongs to the command. It is refused only where the
//!   command's tool certainly has none of that name; else one line says what was taken for what.
//! - A first word that is almost a verb and no program is a slip.

use super::low::{Arguments, Verb};
use clap::{CommandFactory, Parser};
use std::ffi::{OsStr, OsString};
use tamis_report::nearest;

/// Parses the words of a call, the first of which is the program. `is_test` says whether a recorded test
/// has exactly this name.
pub(crate) fn parse(
    words: &[OsString],
    is_test: &dyn Fn(&Arguments, &[OsString]) -> bool,
) -> Result<Arguments, clap::Error> {
    let arguments = Arguments::try_parse_from(words)?;
    let Some((verb, name)) = arguments.verb.as_ref().and_then(named) else { return Ok(arguments) };
    let begin = words.len() - name.len();
    let options = options_of(Some(verb));
    let split = (1..name.len()).find(|at| options.are_all(&name[*at..]));
    let Some(at) = split.filter(|_| !words.iter().any(|word| word == "--")) else {
        return Ok(arguments);
    };
    if is_test(&arguments, name) {
        return Ok(arguments);
    }
    let before = words[..begin].iter().chain(&name[at..]).cloned();
    let name = name[..at].iter().cloned();
    Arguments::try_parse_from(before.chain([OsString::from("--")]).chain(name))
}

/// A verb that takes the name of a test, and the name.
fn named(verb: &Verb) -> Option<(&'static str, &[OsString])> {
    match verb {
        Verb::Why(why) => Some(("why", &why.name.name)),
        Verb::WhyNot(why) => Some(("why-not", &why.name.name)),
        Verb::Deps(deps) => Some(("deps", &deps.name.name)),
        Verb::History(name) => Some(("history", &name.name)),
        Verb::Forget(name) => Some(("forget", &name.name)),
        _ => None,
    }
}

/// Options by their long names, and whether they take a value.
struct Known(Vec<(String, bool)>);

/// The options of a verb, or those before a command.
fn options_of(verb: Option<&str>) -> Known {
    let mut command = Arguments::command();
    command.build();
    let command = match verb {
        Some(verb) => command.find_subcommand(verb),
        None => Some(&command),
    };
    let all = command.into_iter().flat_map(clap::Command::get_arguments);
    let known = all.filter_map(|option| {
        Some((format!("--{}", option.get_long()?), option.get_action().takes_values()))
    });
    Known(known.filter(|(name, _)| name != "--help" && name != "--version").collect())
}

impl Known {
    /// The option that a word is, whether it takes a value, and whether it has it in the same word.
    fn find(&self, word: &OsStr) -> Option<(&str, bool, bool)> {
        let word = word.to_str()?;
        let (name, inside) = word.split_once('=').map_or((word, false), |(name, _)| (name, true));
        let (name, takes) = self.0.iter().find(|(known, _)| known == name)?;
        (*takes || !inside).then_some((name, *takes, inside))
    }

    /// Whether these words are options with their values and nothing else.
    fn are_all(&self, words: &[OsString]) -> bool {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match self.find(word) {
                Some((_, true, false)) if words.next().is_none() => return false,
                Some(_) => {}
                None => return false,
            }
        }
        true
    }
}

/// An option of tamis behind a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misplaced {
    pub(crate) option: String,
    /// The command without it.
    pub(crate) command: Vec<OsString>,
    /// What to type where tamis is meant.
    pub(crate) instead: String,
}

impl Misplaced {
    /// Whether few commands have an option of this name.
    pub(crate) fn is_rare(&self) -> bool {
        let rare = ["--only", "--granularity", "--no-command-skip", "--flaky-ok", "--no-collect"];
        rare.contains(&self.option.as_str()) || self.option == "--collect-every"
    }
}

/// The first option behind a command that has the name of one of tamis's and for which `of_tamis` holds.
pub(crate) fn misplaced(words: &[OsString], of_tamis: &dyn Fn(&str) -> bool) -> Option<Misplaced> {
    let behind = words.iter().skip(1).take_while(|word| *word != "--");
    // Most commands have no such word, and clap need not be asked.
    if !behind.clone().any(|word| word.as_encoded_bytes().starts_with(b"--")) {
        return None;
    }
    let known = options_of(None);
    let mut found = behind.enumerate().filter_map(|(at, word)| Some((at + 1, known.find(word)?)));
    let (at, (option, takes, inside)) = found.find(|(_, (option, ..))| of_tamis(option))?;
    let end = (at + 1 + usize::from(takes && !inside)).min(words.len());
    let command: Vec<OsString> = [&words[..at], &words[end..]].concat();
    let line: Vec<&OsString> = words[at..end].iter().chain(&command).collect();
    let instead = format!("tamis {}", tamis_runner::words::join(&line));
    Some(Misplaced { option: option.to_owned(), command, instead })
}

/// Words that people know from other tools.
const ALSO: [(&str, &str); 4] =
    [("explain", "why"), ("reset", "clean"), ("log", "history"), ("dependencies", "deps")];

/// The verb that a first word may have been meant as, where no program has its name.
pub(crate) fn verb_meant(word: &OsStr) -> Option<String> {
    let text = word.to_str().filter(|text| !text.contains('/'))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join(text).is_file()) {
        return None;
    }
    if let Some((_, verb)) = ALSO.iter().find(|(known, _)| known == &text) {
        return Some((*verb).to_owned());
    }
    let command = Arguments::command();
    let verbs: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    nearest(text, verbs.iter().copied()).first().map(|verb| (*verb).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    /// The name and whether JSON is wanted, where these are the names of recorded tests.
    fn name(line: &str, tests: &[&str]) -> (String, bool) {
        let is_test =
            |_: &Arguments, name: &[OsString]| tests.iter().any(|test| words(test) == name);
        let arguments = parse(&words(&format!("tamis {line}")), &is_test).expect(line);
        let (_, name) = named(arguments.verb.as_ref().expect("a verb")).expect("a name");
        (name.join(OsStr::new(" ")).to_string_lossy().into_owned(), arguments.common.json)
    }

    #[test]
    fn options_of_a_verb_stand_anywhere() {
        for line in [
            "--json why X",
            "why --json X",
            "why X --json",
            "why X --select static --json",
            "why X --select=static --json",
            "deps X --plain --json --filter a",
            "why-not X --json --all",
            "history X --json",
            "forget X --json",
        ] {
            assert_eq!(name(line, &[]), ("X".into(), true), "{line}");
        }
    }

    #[test]
    fn a_name_with_options_of_its_own_stays_a_name() {
        let all = |line: &str, tests: &[&str]| name(line, tests);
        assert_eq!(all("why pytest --json", &["pytest --json"]), ("pytest --json".into(), false));
        assert_eq!(all("why -- pytest --json", &[]), ("pytest --json".into(), false));
        assert_eq!(all("why ./x --json --fast", &[]), ("./x --json --fast".into(), false));
        assert_eq!(all("why mvn -q test", &[]), ("mvn -q test".into(), false));
        assert_eq!(all("why x --select", &[]), ("x --select".into(), false));
        assert_eq!(all("why x --json=1", &[]), ("x --json=1".into(), false));
    }

    #[test]
    fn the_right_order() {
        let found = |line: &str| misplaced(&words(line), &|_| true).map(|m| m.instead);
        assert_eq!(found("mvn test --only X").unwrap(), "tamis --only X mvn test");
        assert_eq!(found("mvn --only=X test").unwrap(), "tamis --only=X mvn test");
        assert_eq!(found("./x --all a").unwrap(), "tamis --all ./x a");
        for line in ["go test -run X", "x -- --only y", "x only", "x --onlyy", "x --all=1", "x -q"]
        {
            assert_eq!(found(line), None, "{line}");
        }
        assert_eq!(misplaced(&words("x --json"), &|option| option != "--json"), None);
        let second = misplaced(&words("mvn --quiet test --all"), &|option| option != "--quiet");
        assert_eq!(second.unwrap().option, "--all");
    }

    #[test]
    fn slips_of_verbs() {
        let meant = |word: &str| verb_meant(OsStr::new(word));
        assert_eq!(meant("statsu").as_deref(), Some("status"));
        assert_eq!(meant("explain").as_deref(), Some("why"));
        // A program of that name runs; so does what is no slip of a verb, and then is not found.
        assert_eq!(meant("sh"), None);
        assert_eq!(meant("./statsu"), None);
        assert_eq!(meant("no-such-program"), None);
    }
}
