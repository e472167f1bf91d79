//! The exit codes of tamis: one table, for the program, its help and `docs/cli.md`.
//!
//! A command's own codes pass through, so tamis's own lie where programs that start others (`env`,
//! `timeout`, `git bisect run`) have theirs. A command that itself ends with one of them cannot be
//! distinguished by the code alone; `--json` has its outcome.

/// Nothing failed, or nothing had to run.
pub const SUCCESS: i32 = 0;
/// A test of a suite failed; for verbs that answer a question, that there is something.
pub const FAILED: i32 = 1;
/// Tests passed, and what was looked for beside them was found: `replay` a test that would have been skipped and
/// failed, `--check-isolation` one that depends on others.
pub const FOUND: i32 = 3;
/// A suite has no test, and its settings do not allow that.
pub const EMPTY_SUITE: i32 = 123;
/// A command ran longer than `--timeout`.
pub const TIMED_OUT: i32 = 124;
/// A mistake in the call, the settings or the surroundings, or of tamis itself.
pub const MISTAKE: i32 = 125;
/// A command that was found and cannot be executed.
pub const NOT_EXECUTABLE: i32 = 126;
/// A command that was not found.
pub const NOT_FOUND: i32 = 127;
/// The first code of commands that a signal ended.
pub const SIGNAL: i32 = 128;
/// Ctrl-C, SIGTERM or SIGHUP ended the run.
pub const INTERRUPTED: i32 = 130;

/// Codes as they are shown, and their meanings.
pub fn rows() -> Vec<(String, &'static str)> {
    let own = "the command's own code, where it is none of the others; it passes through unchanged";
    let all = [
        (
            SUCCESS,
            "everything that ran passed, or nothing had to run; with --flaky-ok also flaky tests",
        ),
        (
            FAILED,
            "suites: a test failed or did not end; `select --quiet`: something would run; `doctor`: \
             there is a problem; `store pull`, `verify` and `status`: something is refused or cannot be read",
        ),
        (
            FOUND,
            "`replay`: a test that would have been skipped failed; `--check-isolation`: the command passed, and a \
             test depends on others",
        ),
        (
            EMPTY_SUITE,
            "a suite has no test: its `each` gives nothing, and allow-empty is not set; nothing was run",
        ),
        (TIMED_OUT, "the command ran longer than --timeout and was ended"),
        (
            MISTAKE,
            "a mistake in the call, in tamis.toml or in the surroundings; nothing was proven",
        ),
        (NOT_EXECUTABLE, "the command is there and cannot be executed"),
        (NOT_FOUND, "the command was not found"),
        (INTERRUPTED, "tamis was interrupted (Ctrl-C, SIGTERM, SIGHUP)"),
    ];
    let mut rows: Vec<_> = all.iter().map(|(code, what)| (code.to_string(), *what)).collect();
    rows.insert(2, ("N".into(), own));
    rows.push((format!("{SIGNAL}+S"), "the command was ended by signal S"));
    rows
}

/// The table for a terminal.
pub fn text() -> String {
    rows().iter().map(|(code, what)| format!("  {code:<6} {what}\n")).collect()
}

/// The table for a page.
pub fn markdown() -> String {
    let rows = rows().into_iter().map(|(code, what)| format!("| {code} | {what} |\n"));
    ["| code | meaning |\n| --- | --- |\n".to_owned()].into_iter().chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::Outcome;

    #[test]
    fn codes_of_outcomes_are_those_of_the_table() {
        assert_eq!(Outcome::Passed.exit_code(), SUCCESS);
        assert_eq!(Outcome::TimedOut.exit_code(), TIMED_OUT);
        assert_eq!(Outcome::Killed(2).exit_code(), INTERRUPTED);
        assert_eq!(Outcome::Killed(9).exit_code(), SIGNAL + 9);
    }

    #[test]
    fn no_code_means_two_things() {
        let mut codes: Vec<String> = rows().into_iter().map(|(code, _)| code).collect();
        let all = codes.len();
        codes.sort();
        codes.dedup();
        assert_eq!(codes.len(), all);
    }

    #[test]
    fn the_page_has_this_table() {
        assert!(include_str!("../../../docs/cli.md").contains(&markdown()), "{}", markdown());
    }
}
