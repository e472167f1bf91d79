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

use crate::glob::NameGlobs;

/// A group of variables that do not count, and why.
#[derive(Debug, Clone, Copy)]
pub struct DefaultGroup {
    pub what: &'static str,
    pub why: &'static str,
    pub patterns: &'static [&'static str],
}

/// The variables that do not count unless the settings say so.
pub const DEFAULT_IGNORED: &[DefaultGroup] = &[
    DefaultGroup {
        what: "shell bookkeeping",
        why: "written by every shell for itself; the folder of a test is part of its identity",
        patterns: &[
            "_",
            "SHLVL",
            "PWD",
            "OLDPWD",
            "HISTCONTROL",
            "HISTFILE",
            "HISTFILESIZE",
            "HISTIGNORE",
            "HISTSIZE",
            "HISTTIMEFORMAT",
            "PS1",
            "PS2",
            "RPS1",
            "PROMPT",
            "RPROMPT",
            "PROMPT_COMMAND",
            "MAIL",
            "MAILCHECK",
            "LS_COLORS",
            "LESSOPEN",
            "LESSCLOSE",
            "DIRENV_*",
            "STARSHIP_*",
            "ATUIN_*",
            "POWERLINE_*",
            "P9K_*",
        ],
    },
    DefaultGroup {
        what: "terminal",
        why: "differs from window to window; `count = [\"TERM\"]` for tests of terminal output",
        patterns: &[
            "TERM",
            "TERM_PROGRAM",
            "TERM_PROGRAM_VERSION",
            "TERM_SESSION_ID",
            "TERMINFO",
            "TERMINFO_DIRS",
            "COLORTERM",
            "COLORFGBG",
            "COLUMNS",
            "LINES",
            "WINDOWID",
            "WINDOWPATH",
            "VTE_VERSION",
            "GPG_TTY",
            "TTY",
            "LC_TERMINAL",
            "LC_TERMINAL_VERSION",
            "TMUX",
            "TMUX_*",
            "STY",
            "WINDOW",
            "ZELLIJ",
            "ZELLIJ_*",
            "KONSOLE_*",
            "GNOME_TERMINAL_*",
            "KITTY_*",
            "ALACRITTY_*",
            "WEZTERM_*",
            "GHOSTTY_*",
            "ITERM_*",
            "TILIX_ID",
            "TERMINATOR_UUID",
            "WT_SESSION",
            "WT_PROFILE_ID",
            "WSL_INTEROP",
            "SHELL_SESSION_ID",
        ],
    },
    DefaultGroup {
        what: "desktop and login session",
        why: "new with every login",
        patterns: &[
            "XDG_SESSION_*",
            "XDG_SEAT",
            "XDG_SEAT_PATH",
            "XDG_VTNR",
            "XDG_CURRENT_DESKTOP",
            "XDG_MENU_PREFIX",
            "XDG_RUNTIME_DIR",
            "XDG_ACTIVATION_TOKEN",
            "XDG_GREETER_DATA_DIR",
            "XAUTHORITY",
            "XMODIFIERS",
            "GTK_IM_MODULE",
            "QT_IM_MODULE",
            "CLUTTER_IM_MODULE",
            "DBUS_SESSION_BUS_ADDRESS",
            "DBUS_STARTER_*",
            "DESKTOP_SESSION",
            "DESKTOP_STARTUP_ID",
            "DESKTOP_AUTOSTART_ID",
            "SESSION_MANAGER",
            "GDMSESSION",
            "GDM_LANG",
            "GNOME_DESKTOP_SESSION_ID",
            "GNOME_KEYRING_*",
            "GNOME_SETUP_DISPLAY",
            "GNOME_SHELL_SESSION_MODE",
            "GIO_LAUNCHED_DESKTOP_FILE",
            "GIO_LAUNCHED_DESKTOP_FILE_PID",
            "KDE_SESSION_*",
            "KDE_FULL_SESSION",
            "KDE_APPLICATIONS_AS_SCOPE",
            "I3SOCK",
            "SWAYSOCK",
            "HYPRLAND_INSTANCE_SIGNATURE",
            "NIRI_SOCKET",
            "INVOCATION_ID",
            "JOURNAL_STREAM",
            "MANAGERPID",
            "MANAGERPIDFDID",
            "SYSTEMD_EXEC_PID",
            "SSH_*",
            "GPG_AGENT_INFO",
            "KRB5CCNAME",
            "SUDO_COMMAND",
        ],
    },
    DefaultGroup {
        what: "editors and development environments",
        why: "set in the terminal inside an editor",
        patterns: &[
            "VSCODE_*",
            "GIT_ASKPASS",
            "CURSOR_TRACE_ID",
            "ZED_TERM",
            "IDEA_INITIAL_DIRECTORY",
            "JETBRAINS_*",
            "TERMINAL_EMULATOR",
            "INTELLIJ_TERMINAL_*",
            "INSIDE_EMACS",
            "NVIM",
            "NVIM_*",
            "VIM",
            "VIMRUNTIME",
            "MYVIMRC",
        ],
    },
    DefaultGroup {
        what: "machine and temp folders",
        why: "new with every container or job; temp folders are no input either",
        patterns: &[
            "HOSTNAME",
            "HOST",
            "TMPDIR",
            "TMP",
            "TEMP",
            "TEMPDIR",
            "NIX_BUILD_TOP",
            "TRACEPARENT",
            "TRACESTATE",
        ],
    },
    DefaultGroup {
        what: "make and its job server",
        why: "pipes and depth of the calling make; variables given to make are in the environment themselves",
        patterns: &[
            "MAKEFLAGS",
            "MFLAGS",
            "GNUMAKEFLAGS",
            "MAKELEVEL",
            "MAKE_TERMOUT",
            "MAKE_TERMERR",
            "CARGO_MAKEFLAGS",
            "RUST_RECURSION_COUNT",
        ],
    },
    DefaultGroup {
        what: "GitHub Actions",
        why: "new with every run; GITHUB_ACTIONS, GITHUB_REPOSITORY, RUNNER_OS, RUNNER_ARCH count",
        patterns: &[
            "GITHUB_ACTION",
            "GITHUB_ACTION_*",
            "GITHUB_ACTOR",
            "GITHUB_ACTOR_ID",
            "GITHUB_BASE_REF",
            "GITHUB_ENV",
            "GITHUB_EVENT_*",
            "GITHUB_HEAD_REF",
            "GITHUB_JOB",
            "GITHUB_OUTPUT",
            "GITHUB_PATH",
            "GITHUB_REF",
            "GITHUB_REF_*",
            "GITHUB_RETENTION_DAYS",
            "GITHUB_RUN_*",
            "GITHUB_SHA",
            "GITHUB_STATE",
            "GITHUB_STEP_SUMMARY",
            "GITHUB_TOKEN",
            "GITHUB_TRIGGERING_ACTOR",
            "GITHUB_WORKFLOW",
            "GITHUB_WORKFLOW_*",
            "ACTIONS_*",
            "RUNNER_NAME",
            "RUNNER_TEMP",
            "RUNNER_TRACKING_ID",
            "RUNNER_WORKSPACE",
            "RUNNER_PERFLOG",
            "ImageVersion",
        ],
    },
    DefaultGroup {
        what: "GitLab CI and Woodpecker",
        why: "new with every pipeline; CI_NODE_INDEX, CI_NODE_TOTAL, CI_PROJECT_* count",
        patterns: &[
            "CI_JOB_*",
            "CI_PIPELINE_*",
            "CI_COMMIT_*",
            "CI_BUILD_*",
            "CI_RUNNER_*",
            "CI_CONCURRENT_*",
            "CI_MERGE_REQUEST_*",
            "CI_EXTERNAL_PULL_REQUEST_*",
            "CI_OPEN_MERGE_REQUESTS",
            "CI_REPOSITORY_URL",
            "CI_REGISTRY_PASSWORD",
            "CI_DEPENDENCY_PROXY_*",
            "CI_TRIGGER_*",
            "CI_DEPLOY_PASSWORD",
            "CI_STEP_*",
            "CI_WORKFLOW_*",
            "CI_PREV_*",
            "GITLAB_USER_*",
        ],
    },
    DefaultGroup {
        what: "Jenkins and TeamCity",
        why: "new with every build",
        patterns: &[
            "BUILD_NUMBER",
            "BUILD_ID",
            "BUILD_TAG",
            "BUILD_URL",
            "BUILD_DISPLAY_NAME",
            "BUILD_TIMESTAMP",
            "BUILD_VCS_NUMBER",
            "BUILD_VCS_NUMBER_*",
            "JOB_NAME",
            "JOB_BASE_NAME",
            "JOB_URL",
            "JOB_DISPLAY_URL",
            "RUN_DISPLAY_URL",
            "RUN_*_DISPLAY_URL",
            "EXECUTOR_NUMBER",
            "NODE_NAME",
            "NODE_LABELS",
            "STAGE_NAME",
            "HUDSON_COOKIE",
            "HUDSON_SERVER_COOKIE",
            "JENKINS_NODE_COOKIE",
            "JENKINS_SERVER_COOKIE",
            "BRANCH_NAME",
            "CHANGE_*",
            "GIT_COMMIT",
            "GIT_BRANCH",
            "GIT_LOCAL_BRANCH",
            "GIT_PREVIOUS_COMMIT",
            "GIT_PREVIOUS_SUCCESSFUL_COMMIT",
            "WORKSPACE_TMP",
            "TEAMCITY_BUILD_PROPERTIES_FILE",
        ],
    },
    DefaultGroup {
        what: "Azure Pipelines",
        why: "new with every run",
        patterns: &[
            "BUILD_BUILDID",
            "BUILD_BUILDNUMBER",
            "BUILD_BUILDURI",
            "BUILD_CONTAINERID",
            "BUILD_QUEUEDBY",
            "BUILD_QUEUEDBYID",
            "BUILD_REASON",
            "BUILD_REQUESTEDFOR",
            "BUILD_REQUESTEDFOREMAIL",
            "BUILD_REQUESTEDFORID",
            "BUILD_SOURCEBRANCH",
            "BUILD_SOURCEBRANCHNAME",
            "BUILD_SOURCEVERSION",
            "BUILD_SOURCEVERSIONAUTHOR",
            "BUILD_SOURCEVERSIONMESSAGE",
            "SYSTEM_ACCESSTOKEN",
            "SYSTEM_JOB*",
            "SYSTEM_PHASE*",
            "SYSTEM_PIPELINESTARTTIME",
            "SYSTEM_PLANID",
            "SYSTEM_PULLREQUEST_*",
            "SYSTEM_STAGE*",
            "SYSTEM_TASK*",
            "SYSTEM_TIMELINEID",
            "AGENT_ID",
            "AGENT_JOB*",
            "AGENT_MACHINENAME",
            "AGENT_NAME",
            "AGENT_TEMPDIRECTORY",
        ],
    },
    DefaultGroup {
        what: "other CI systems",
        why: "new with every build; shard numbers such as CIRCLE_NODE_INDEX count",
        patterns: &[
            "CIRCLE_BRANCH",
            "CIRCLE_BUILD_*",
            "CIRCLE_COMPARE_URL",
            "CIRCLE_INTERNAL_*",
            "CIRCLE_JOB",
            "CIRCLE_OIDC_TOKEN",
            "CIRCLE_OIDC_TOKEN_*",
            "CIRCLE_PIPELINE_*",
            "CIRCLE_PREVIOUS_BUILD_NUM",
            "CIRCLE_PR_*",
            "CIRCLE_PULL_REQUEST",
            "CIRCLE_PULL_REQUESTS",
            "CIRCLE_SHA1",
            "CIRCLE_TAG",
            "CIRCLE_USERNAME",
            "CIRCLE_WORKFLOW_*",
            "TRAVIS_BRANCH",
            "TRAVIS_BUILD_*",
            "TRAVIS_COMMIT",
            "TRAVIS_COMMIT_*",
            "TRAVIS_EVENT_TYPE",
            "TRAVIS_JOB_*",
            "TRAVIS_PULL_REQUEST",
            "TRAVIS_PULL_REQUEST_*",
            "TRAVIS_TAG",
            "TRAVIS_TIMER_*",
            "BUILDKITE_AGENT_*",
            "BUILDKITE_BRANCH",
            "BUILDKITE_BUILD_*",
            "BUILDKITE_COMMIT",
            "BUILDKITE_JOB_*",
            "BUILDKITE_MESSAGE",
            "BUILDKITE_PULL_REQUEST",
            "BUILDKITE_PULL_REQUEST_*",
            "BUILDKITE_RETRY_COUNT",
            "BUILDKITE_STEP_*",
            "BUILDKITE_TAG",
            "BITBUCKET_BRANCH",
            "BITBUCKET_BUILD_NUMBER",
            "BITBUCKET_COMMIT",
            "BITBUCKET_PIPELINE_UUID",
            "BITBUCKET_PR_*",
            "BITBUCKET_STEP_*",
            "BITBUCKET_TAG",
            "DRONE_BRANCH",
            "DRONE_BUILD_*",
            "DRONE_COMMIT",
            "DRONE_COMMIT_*",
            "DRONE_PULL_REQUEST",
            "DRONE_STAGE_*",
            "DRONE_STEP_*",
            "DRONE_TAG",
            "APPVEYOR_BUILD_*",
            "APPVEYOR_JOB_*",
            "APPVEYOR_PULL_REQUEST_*",
            "APPVEYOR_REPO_BRANCH",
            "APPVEYOR_REPO_COMMIT",
            "APPVEYOR_REPO_COMMIT_*",
            "APPVEYOR_REPO_TAG",
            "APPVEYOR_REPO_TAG_*",
        ],
    },
    DefaultGroup {
        what: "tamis itself",
        why: "options of tamis, not of the test",
        patterns: &["TAMIS_*"],
    },
];

/// Says which variables count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentPolicy {
    /// The default list and the user's additions.
    ignore: NameGlobs,
    count: NameGlobs,
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
        match (NameGlobs::new(ignore), NameGlobs::new(count)) {
            (Ok(ignore), Ok(count)) => Self { ignore, count },
            _ => Self { ignore: NameGlobs::default(), count: NameGlobs::default() },
        }
    }

    /// Whether the variable is an input.
    pub fn counts(&self, name: &[u8]) -> bool {
        self.count.matches_whole(name) || !self.ignore.matches_whole(name)
    }

    /// The patterns of variables that do not count, defaults included.
    pub fn ignored(&self) -> &[String] {
        self.ignore.patterns()
    }

    /// The patterns of variables that count in any case.
    pub fn counted(&self) -> &[String] {
        self.count.patterns()
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
            vec!["BUILD_*".into(), "X?".into()],
            vec!["TERM".into(), "BUILD_TYPE".into()],
        );
        assert!(policy.counts(b"TERM"));
        assert!(policy.counts(b"BUILD_TYPE"));
        assert!(!policy.counts(b"BUILD_DATE"));
        assert!(!policy.counts(b"X1"));
        assert!(policy.counts(b"X12"));
        assert!(!policy.counts(b"SHLVL"));
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
