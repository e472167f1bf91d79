//! The flags of `go test`, and the reading of one word as the go command reads it.
//!
//! The table is that of Go 1.26 (`cmd/go/internal/test/testflag.go`, `work.AddBuildFlags`). A flag that a
//! later Go adds is unknown here: then it is taken for one of the test binary, as an older Go does, and the
//! words after it are no packages. That reads `./...` behind it wrongly as an argument; see
//! [`Claim::Whole`](crate::Claim), which is chosen for unknown flags that are followed by what looks like
//! a package.

/// Whether a flag needs a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// `-race`, `-race=false`; never the next word.
    Switch,
    /// `-run x`, `-run=x`.
    Value,
}

/// What a flag concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concerns {
    /// What is built. Handed to `go list` as well.
    Build,
    /// What is built, and collected over several uses (`-gcflags`).
    BuildMany,
    /// How the test is instrumented and checked; `go list` does not know it.
    TestBuild,
    /// The test binary gets it, as `-test.NAME`.
    Test,
    /// Only how go works: how many at once, which output.
    Work,
    /// Packages cannot be handled one by one, for this reason.
    Whole(&'static str),
    /// As before, and the test binary gets it as well.
    WholeTest(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Flag {
    pub(crate) name: &'static str,
    pub(crate) takes: Takes,
    pub(crate) concerns: Concerns,
}

const fn switch(name: &'static str, concerns: Concerns) -> Flag {
    Flag { name, takes: Takes::Switch, concerns }
}

const fn value(name: &'static str, concerns: Concerns) -> Flag {
    Flag { name, takes: Takes::Value, concerns }
}

const PROFILE: &str = "writes one profile";
const DEBUG: &str = "reports how go itself works";

const FLAGS: &[Flag] = {
    use Concerns::{Build, BuildMany, Test, TestBuild, Whole, WholeTest, Work};
    &[
        switch("n", Whole("only prints the commands")),
        switch("x", Whole("prints the commands of the build")),
        value("C", Whole("is not the first flag")),
        switch("a", Work),
        value("p", Work),
        switch("asan", Build),
        value("asmflags", BuildMany),
        value("compiler", Build),
        value("buildmode", Build),
        switch("buildvcs", Build),
        value("gcflags", BuildMany),
        value("gccgoflags", BuildMany),
        value("mod", Build),
        switch("modcacherw", Work),
        value("modfile", Build),
        value("overlay", Whole("replaces files by others")),
        value("installsuffix", Build),
        value("ldflags", BuildMany),
        switch("linkshared", Whole("links with libraries that were built before")),
        switch("msan", Build),
        value("pgo", Build),
        value("pkgdir", Whole("takes packages from another folder")),
        switch("race", Build),
        value("tags", Build),
        value("toolexec", Whole("runs the compiler through another program")),
        switch("trimpath", Build),
        switch("work", Whole("keeps the work folder")),
        value("debug-actiongraph", Whole(DEBUG)),
        value("debug-runtime-trace", Whole(DEBUG)),
        value("debug-trace", Whole(DEBUG)),
        switch("c", Whole("only builds the test binary")),
        value("o", Whole("writes the test binary")),
        switch("cover", TestBuild),
        value("covermode", TestBuild),
        value("coverpkg", Whole("measures packages in the tests of others")),
        value("coverprofile", WholeTest("merges the coverage of all packages into one file")),
        value("exec", Whole("names a program that runs the test binaries")),
        switch("json", Work),
        value("vet", TestBuild),
        switch("artifacts", WholeTest("writes files beside the test results")),
        value("bench", Test),
        switch("benchmem", Test),
        value("benchtime", Test),
        value("blockprofile", WholeTest(PROFILE)),
        value("blockprofilerate", Test),
        value("count", Test),
        value("cpu", Test),
        value("cpuprofile", WholeTest(PROFILE)),
        switch("failfast", Test),
        value("fuzz", WholeTest("searches for inputs")),
        switch("fullpath", Test),
        value("list", WholeTest("lists the tests")),
        value("memprofile", WholeTest(PROFILE)),
        value("memprofilerate", Test),
        value("mutexprofile", WholeTest(PROFILE)),
        value("mutexprofilefraction", Test),
        value("outputdir", Test),
        value("parallel", Test),
        value("run", Test),
        switch("short", Test),
        value("skip", Test),
        value("timeout", Test),
        value("fuzztime", Test),
        value("fuzzminimizetime", Test),
        value("trace", WholeTest(PROFILE)),
        switch("v", Test),
        value("shuffle", Test),
    ]
};

impl Flag {
    /// The flag of this name, also with the prefix `test.` where the test binary gets it.
    pub(crate) fn find(name: &str) -> Option<&'static Flag> {
        let short = name.strip_prefix("test.");
        FLAGS.iter().find(|flag| flag.name == name || (short == Some(flag.name) && flag.for_test()))
    }

    pub(crate) fn for_test(&self) -> bool {
        matches!(self.concerns, Concerns::Test | Concerns::WholeTest(_))
    }
}

/// The first of some words, as the go command reads it (`cmdflag.ParseOne`).
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Word<'a> {
    /// A flag of `go test` with its value; `used` words belong to it.
    Known {
        name: &'static str,
        value: String,
        used: usize,
    },
    /// A flag of the test binary.
    Unknown {
        raw: &'a str,
        has_value: bool,
    },
    /// `--`.
    End,
    NoFlag(&'a str),
    /// `-h`, `-help`, `-?`.
    Help,
    /// The go command ends with a message about it.
    Wrong(String),
}

/// Reads the first word; `words` is not empty.
pub(crate) fn read<'a>(words: &'a [String]) -> Word<'a> {
    let raw = words[0].as_str();
    let single = match raw.strip_prefix("--") {
        Some("") => return Word::End,
        Some(_) => &raw[1..],
        None => raw,
    };
    if matches!(single, "-?" | "-h" | "-help") {
        return Word::Help;
    }
    let Some(named) = single.strip_prefix('-').filter(|n| !n.is_empty()) else {
        return Word::NoFlag(raw);
    };
    if named.starts_with(['-', '=']) {
        return Word::NoFlag(raw);
    }
    let (name, given) = match named.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (named, None),
    };
    match Flag::find(name) {
        Some(flag) => read_known(flag, given, words.get(1)),
        None => Word::Unknown { raw, has_value: given.is_some() },
    }
}

fn read_known<'a>(flag: &'static Flag, given: Option<&str>, next: Option<&'a String>) -> Word<'a> {
    let known = |value: &str, used| Word::Known { name: flag.name, value: value.to_owned(), used };
    match (flag.takes, given, next) {
        (Takes::Switch, None, _) => known("true", 1),
        (Takes::Switch, Some(value), _) => match switch_value(flag.name, value) {
            Some(value) => known(value, 1),
            None => Word::Wrong(format!("-{}={value} is no boolean value", flag.name)),
        },
        (Takes::Value, Some(value), _) => known(value, 1),
        (Takes::Value, None, Some(value)) => known(value, 2),
        (Takes::Value, None, None) => Word::Wrong(format!("-{} needs a value", flag.name)),
    }
}

/// The value of a switch, in one spelling; `-v` and `-buildvcs` have one value more.
fn switch_value<'a>(name: &str, value: &'a str) -> Option<&'a str> {
    match (name, value) {
        ("v", "test2json") | ("buildvcs", "auto") => Some(value),
        (_, "1" | "t" | "T" | "true" | "TRUE" | "True") => Some("true"),
        (_, "0" | "f" | "F" | "false" | "FALSE" | "False") => Some("false"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> (Option<(&'static str, String, usize)>, String) {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        match read(&words) {
            Word::Known { name, value, used } => (Some((name, value, used)), String::new()),
            other => (None, format!("{other:?}")),
        }
    }

    #[test]
    fn both_spellings_of_a_value() {
        for text in ["-run X", "--run X", "-run=X", "--run=X", "-test.run=X", "-test.run X"] {
            let (name, value, _) = first(text).0.unwrap();
            assert_eq!((name, value.as_str()), ("run", "X"), "{text}");
        }
        assert_eq!(first("-run=X y").0.unwrap().2, 1);
        assert_eq!(first("-run X y").0.unwrap().2, 2);
        assert_eq!(first("-run -v").0.unwrap().1, "-v");
        assert_eq!(first("-run= x").0.unwrap(), ("run", String::new(), 1));
    }

    #[test]
    fn a_switch_never_takes_the_next_word() {
        assert_eq!(first("-race ./...").0.unwrap(), ("race", "true".into(), 1));
        assert_eq!(first("-race=0").0.unwrap(), ("race", "false".into(), 1));
        assert_eq!(first("-v=test2json").0.unwrap().1, "test2json");
        assert_eq!(first("-buildvcs=auto").0.unwrap().1, "auto");
    }

    #[test]
    fn words_that_are_no_flags() {
        for text in ["./...", "-", "x", "---x", "-=x", "--=x", ""] {
            assert!(first(text).1.starts_with("NoFlag"), "{text}: {}", first(text).1);
        }
        assert_eq!(first("--").1, "End");
    }

    #[test]
    fn flags_of_the_test_binary() {
        for text in ["-custom", "--custom=1", "-test.race", "-args", "-test.tags=x"] {
            assert!(first(text).1.starts_with("Unknown"), "{text}");
        }
    }

    #[test]
    fn what_go_refuses() {
        assert!(first("-short=maybe").1.starts_with("Wrong"));
        assert!(first("-run").1.starts_with("Wrong"));
        for text in ["-h", "-help", "--help", "-?"] {
            assert_eq!(first(text).1, "Help");
        }
    }

    /// The flags that the installed go hands to test binaries, by its own source.
    fn flags_of_the_installed_go() -> Option<Vec<String>> {
        let output = std::process::Command::new("go").args(["env", "GOROOT"]).output().ok()?;
        let root = String::from_utf8(output.stdout).ok()?;
        let file = format!("{}/src/cmd/go/internal/test/flagdefs.go", root.trim());
        let text = std::fs::read_to_string(file).ok()?;
        let table = text.split("var passFlagToTest").nth(1)?.split("\n}").next()?;
        Some(table.split('"').skip(1).step_by(2).map(str::to_owned).collect())
    }

    #[test]
    fn the_table_has_the_flags_of_the_installed_go() {
        let Some(names) = flags_of_the_installed_go() else {
            eprintln!("not tried: the source of go is missing");
            return;
        };
        assert!(names.len() > 20, "{names:?}");
        for name in names {
            assert!(Flag::find(&name).is_some_and(Flag::for_test), "-{name}");
            assert!(Flag::find(&format!("test.{name}")).is_some(), "-test.{name}");
        }
    }

    #[test]
    fn no_name_is_in_the_table_twice() {
        let mut names: Vec<&str> = FLAGS.iter().map(|flag| flag.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
