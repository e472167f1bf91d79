//! What help says besides the list of options: the overview, and for each verb what it is good for.

/// What `tamis help` and `tamis --help` print.
pub(super) const OVERVIEW: &str = include_str!("overview.txt");

pub(super) const RUN: &str = "\
tamis runs the command and notes which files, folders, programs and variables it
reads. Next time it checks whether any of those changed. If none did, and the
command had passed, the command is skipped. What it prints and its exit code stay
as they are. The first run always happens; the second one can be skipped.

  tamis ./check.sh              the same as `tamis run ./check.sh`
  tamis mvn test                Maven, Gradle, Ant, go test: a test at a time
  tamis                         the suites of tamis.toml (`tamis init` writes one)
  tamis --only parser           of the suites, tests with parser in their name
  tamis --only FooTest mvn test one test class
  tamis --all ./check.sh        whatever the records say
  tamis --failed                what did not pass the last time
  tamis run -- status           a program that has the name of a verb

Options of tamis stand before the command; everything behind it is the command's.
Exit code: the command's own; of suites 1 if a test failed (`tamis help exit-codes`).";

pub(super) const SELECT: &str = "\
  tamis select                  the suites: run or skip, and the reason, test by test
  tamis select mvn test         the same for the tests inside a command
  tamis select --plain          only the names of tests that would run
  tamis select --quiet          prints nothing; exit code 1 if anything would run";

pub(super) const SHARDS: &str = "\
  tamis shards --plan 8 mvn test                     how many machines are worth it, and what each gets
  tamis shards --plan 8 --json mvn test              the same for a matrix of CI jobs
  tamis shards --plan 8 --write plan.json mvn test   and then on each machine:
  tamis --shard 3/8 --plan plan.json mvn test";

pub(super) const RECORD: &str = "\
For instance every night, or after a change that tamis cannot see (a database).

  tamis record ./check.sh
  tamis record                  all suites";

pub(super) const WHY: &str = "\
  tamis why ./check.sh          a command as you typed it
  tamis why FooTest             a part of a name that no other test has
  tamis why FooTest --json      for programs; --json shows every difference";

pub(super) const WHY_NOT: &str = "\
Inputs of the project are listed; those elsewhere are counted by folder.

  tamis why-not ./check.sh
  tamis why-not ./check.sh --filter config     only inputs with config in their name
  tamis why-not ./check.sh --all               every input";

pub(super) const DEPS: &str = "\
Inputs of the project are listed; those elsewhere are counted by folder.

  tamis deps ./check.sh
  tamis deps ./check.sh --filter .json    only inputs with .json in their name
  tamis deps ./check.sh --all             every input
  tamis deps ./check.sh --plain           every path on a line, for programs";

pub(super) const STATUS: &str = "\
  tamis status                  every test, its last result, and what would happen now
  tamis status --only api       tests with api in their name
  tamis status --failed         tests that did not pass when they last ran";

pub(super) const HISTORY: &str = "\
  tamis history                 all tests
  tamis history ./check.sh      one test: when it ran, how it ended, how long it took";

pub(super) const REPORT: &str = "\
The page is one file that needs no network, for instance as an artifact of a CI job:
what ran and why, what failed, what was skipped on which proof, what was saved.

  tamis report                  tamis-report/index.html, summary.md and comment.md
  tamis report --open           and show it
  tamis report -o public        in another folder";

pub(super) const FORGET: &str = "\
  tamis forget ./check.sh";

pub(super) const CLEAN: &str = "\
  tamis clean                   everything runs next time
  tamis clean --old             only what is old; nothing runs because of that";

pub(super) const DOCTOR: &str = "\
Run it when tamis says that it cannot observe, or when a test runs each time.
Exit code 1 if there is a problem.";

pub(super) const INIT: &str = "\
It looks for the tests of shell, Python, Go, Rust, C and C++, Java and JavaScript
projects, here and in the folders below, and writes one suite for each. Read the
file, change what you like, then run `tamis`.

  tamis init                    write tamis.toml in this folder
  tamis init --print            only show it";

pub(super) const MODULES: &str = "\
  tamis modules --since main            what differs from the branch main
  tamis --select modules --since main mvn test      run the tests of those modules";

pub(super) const AUDIT: &str = "\
  tamis --shadow mvn test       everything runs; says what would have been skipped
  tamis --audit 5% mvn test     a twentieth of what may be skipped runs all the same
  tamis audit                   what was checked so far, and what that proves
  tamis audit --resolve         acknowledge the misses; skipping is on again";

pub(super) const REPLAY: &str = "\
Each commit is checked out into a work tree of its own, all tests run there, and
tamis says what it would have skipped. Exit code 3 if one of these failed.

  tamis replay --last 50 -- mvn -q test       the last 50 commits, oldest first
  tamis replay v1.2..main --setup 'pip install -e .' -- pytest
  tamis replay --last 200 --estimate -- pytest     run only what is selected
  tamis replay --resume                       go on after Ctrl-C
  tamis replay --report result.md             the last result; also .csv, .json";
