//! Which environment variables are an input of a test.
//!
//! Every variable counts, except for a list of those that differ from one terminal or one CI job
//! to the next and that practically no test looks at. If they counted, nothing would ever be
//! skipped in a new terminal. The list is kept to names whose value is bookkeeping of a shell, a
//! terminal, a desktop, an editor or a CI system. Whatever programs are known to act upon stays
//! counted: `PATH`, `HOME`, `LANG`, `LC_*`, `TZ`, `CI`, `USER`, `LD_*`, `PYTHON*`, `JAVA_*`,
//! `CARGO_*`, `DISPLAY`, `NO_COLOR`, the shard numbers of CI systems and all unknown names.
//!
//! What this does not see: that a program branches on an ignored variable all the same (a script
//! that behaves differently on a release branch by `GITHUB_REF`). `count` is for those.

mod defaults;

pub use defaults::{DEFAULT_IGNORED, DefaultGroup};

use crate::glob::{self, NameGlobs};

/// Patterns on the whole name of a variable. Nearly all are a plain name or the start of one, and
/// those need no matcher to be built: tamis reads its settings on every start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Names {
    patterns: Vec<String>,
    starts: Vec<Vec<u8>>,
    others: NameGlobs,
}

impl Names {
    fn new(patterns: Vec<String>) -> Result<Self, String> {
        let mut names = Self::default();
        let mut others = Vec::new();
        for pattern in &patterns {
            let start = pattern.strip_suffix('*');
            if glob::is_pattern(start.unwrap_or(pattern)) {
                others.push(pattern.clone());
            } else if let Some(start) = start {
                names.starts.push(start.into());
            }
        }
        names.others = NameGlobs::new(others)?;
        names.patterns = patterns;
        Ok(names)
    }

    fn matches(&self, name: &[u8]) -> bool {
        // As in every glob, `*` does not cross a slash.
        let starts_with = |start: &Vec<u8>| {
            name.strip_prefix(start.as_slice()).is_some_and(|rest| !rest.contains(&b'/'))
        };
        let is = |pattern: &String| pattern.as_bytes() == name && !glob::is_pattern(pattern);
        self.patterns.iter().any(is)
            || self.starts.iter().any(starts_with)
            || self.others.matches_whole(name)
    }
}

/// Says which variables count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentPolicy {
    /// The default list and the user's additions.
    ignore: Names,
    count: Names,
    /// Where this is there, no other variable counts.
    only: Option<Names>,
}

impl Default for EnvironmentPolicy {
    fn default() -> Self {
        Self::new(Vec::new(), Vec::new())
    }
}

impl EnvironmentPolicy {
    /// `ignore` is added to the default list, `count` is stronger than both. The globs must be
    /// valid; one that is not makes every variable count.
    pub fn new(ignore: Vec<String>, count: Vec<String>) -> Self {
        let defaults = DEFAULT_IGNORED.iter().flat_map(|group| group.patterns.iter());
        let ignore: Vec<String> = defaults.map(|p| (*p).to_owned()).chain(ignore).collect();
        match (Names::new(ignore), Names::new(count)) {
            (Ok(ignore), Ok(count)) => Self { ignore, count, only: None },
            _ => Self { ignore: Names::default(), count: Names::default(), only: None },
        }
    }

    /// The same where no variables but these, and those of `count`, count. A glob that is not valid
    /// changes nothing.
    #[must_use]
    pub fn with_only(mut self, only: Option<Vec<String>>) -> Self {
        self.only = only.and_then(|only| Names::new(only).ok());
        self
    }

    /// Whether the variable is an input.
    pub fn counts(&self, name: &[u8]) -> bool {
        self.count.matches(name)
            || match &self.only {
                Some(only) => only.matches(name),
                None => !self.ignore.matches(name),
            }
    }

    /// The patterns of variables that do not count, defaults included.
    pub fn ignored(&self) -> &[String] {
        &self.ignore.patterns
    }

    /// The patterns of the only variables that count, where the settings say so.
    pub fn only(&self) -> Option<&[String]> {
        self.only.as_ref().map(|only| only.patterns.as_slice())
    }

    /// The patterns of variables that count in any case.
    pub fn counted(&self) -> &[String] {
        &self.count.patterns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_noise_does_not_count() {
        let policy = EnvironmentPolicy::default();
        for name in [
            "_",
            "SHLVL",
            "PWD",
            "OLDPWD",
            "TERM",
            "COLUMNS",
            "LINES",
            "SSH_AUTH_SOCK",
            "SSH_TTY",
            "WINDOWID",
            "TERM_SESSION_ID",
            "VSCODE_IPC_HOOK_CLI",
            "TMUX",
            "TMUX_PANE",
            "GITHUB_RUN_ID",
            "GITHUB_SHA",
            "GITHUB_REF",
            "GITHUB_REF_NAME",
            "CI_JOB_ID",
            "CI_COMMIT_SHA",
            "BUILD_NUMBER",
            "RUNNER_TEMP",
            "MAKEFLAGS",
            "MAKELEVEL",
            "TAMIS_STORE",
            "HOSTNAME",
            "TMPDIR",
            "KITTY_WINDOW_ID",
            "RUN_TESTS_DISPLAY_URL",
            "DBUS_SESSION_BUS_ADDRESS",
            "XDG_SESSION_ID",
            "SYSTEM_JOBID",
            "CIRCLE_SHA1",
            "PYENV_DIR",
            "PYENV_HOOK_PATH",
            "RBENV_DIR",
        ] {
            assert!(!policy.counts(name.as_bytes()), "{name} should not count");
        }
    }

    #[test]
    fn what_programs_act_upon_counts() {
        let policy = EnvironmentPolicy::default();
        for name in [
            "PATH",
            "HOME",
            "LANG",
            "LC_ALL",
            "LC_TIME",
            "TZ",
            "CI",
            "USER",
            "LOGNAME",
            "SHELL",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "PYTHONPATH",
            "PYTHONHASHSEED",
            "JAVA_HOME",
            "JAVA_TOOL_OPTIONS",
            "CARGO_HOME",
            "CARGO_PKG_VERSION",
            "CARGO_MANIFEST_DIR",
            "RUSTFLAGS",
            "CC",
            "CFLAGS",
            "GOFLAGS",
            "NODE_OPTIONS",
            "NODE_ENV",
            "BUILD_TYPE",
            "DISPLAY",
            "WAYLAND_DISPLAY",
            "NO_COLOR",
            "FORCE_COLOR",
            "EDITOR",
            "PAGER",
            "GIT_DIR",
            "GIT_AUTHOR_NAME",
            "GITHUB_ACTIONS",
            "GITHUB_REPOSITORY",
            "RUNNER_OS",
            "CI_NODE_INDEX",
            "CIRCLE_NODE_INDEX",
            "SYSTEM_TOTALJOBSINPHASE",
            "XDG_CONFIG_HOME",
            "http_proxy",
            "BASH_ENV",
            "BASH_FUNC_x%%",
            "TERMS",
            "A_TERM",
            "SUDO_USER",
            "PYENV_VERSION",
            "PYENV_ROOT",
            "RBENV_VERSION",
            "MY_TAMIS_",
            "X/TERM",
            "",
        ] {
            assert!(policy.counts(name.as_bytes()), "{name} should count");
        }
        assert!(policy.counts(b"\xff\xfe"));
    }

    #[test]
    fn the_user_decides() {
        let policy = EnvironmentPolicy::new(
            vec!["BUILD_*".into(), "X?".into(), "*_TOKEN".into(), "Q[ab]*".into()],
            vec!["TERM".into(), "BUILD_TYPE".into()],
        );
        assert!(policy.counts(b"TERM"));
        assert!(policy.counts(b"BUILD_TYPE"));
        assert!(!policy.counts(b"BUILD_DATE"));
        assert!(!policy.counts(b"X1"));
        assert!(policy.counts(b"X12"));
        assert!(!policy.counts(b"MY_TOKEN"));
        assert!(!policy.counts(b"Qa_x"));
        assert!(policy.counts(b"Qc_x"));
        assert!(policy.counts(b"BUILD_/x"));
        assert!(!policy.counts(b"SHLVL"));
    }

    #[test]
    fn only_these_count() {
        let policy = EnvironmentPolicy::new(vec!["A_B".into()], vec!["C".into()])
            .with_only(Some(vec!["A_*".into(), "TERM".into()]));
        for (name, counts) in [
            ("A_X", true),
            ("A_B", true),
            ("TERM", true),
            ("C", true),
            ("PATH", false),
            ("D", false),
        ] {
            assert_eq!(policy.counts(name.as_bytes()), counts, "{name}");
        }
        let none = EnvironmentPolicy::default().with_only(Some(Vec::new()));
        assert!(!none.counts(b"PATH"));
        assert_eq!(EnvironmentPolicy::default().with_only(None), EnvironmentPolicy::default());
    }

    #[test]
    fn the_default_list_is_valid_and_has_no_name_twice() {
        let all: Vec<&str> = DEFAULT_IGNORED.iter().flat_map(|g| g.patterns).copied().collect();
        for pattern in &all {
            assert!(crate::glob::compile(pattern).is_ok(), "{pattern}");
            assert_eq!(all.iter().filter(|p| p == &pattern).count(), 1, "{pattern} twice");
        }
        assert_eq!(EnvironmentPolicy::default().ignored().len(), all.len());
    }
}
