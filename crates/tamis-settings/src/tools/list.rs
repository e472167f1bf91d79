//! The built-in lists: tools' own state, and the looks of tools that decide nothing, each entry with its
//! reason. The same lists are in `docs/settings.md` and in `tamis help tool-state`; tests compare them.

/// What one tool writes down for itself.
#[derive(Debug, Clone, Copy)]
pub struct ToolState {
    /// By this name it is switched off (`except`).
    pub name: &'static str,
    /// Why it cannot decide an outcome.
    pub why: &'static str,
    /// Files, or folders with everything in them. `${NAME:-place}` is the value of a variable, or the
    /// place where that is not set.
    pub paths: &'static [&'static str],
}

/// What belongs here: state that a tool only writes for itself, or that it takes for nothing but to
/// ask again, to report about itself, or to be quicker. What does not: caches from which a tool takes
/// answers that nothing else shows (fontconfig's, because a font that is new shows only there; the
/// last failures of pytest, by which `--lf` chooses; results of `vitest`, by which it sorts;
/// `lastKnownGood.json` of corepack, which names the version that runs), locks that can be held,
/// and settings.
pub const TOOL_STATE: &[ToolState] = &[
    ToolState {
        name: "go-telemetry",
        why: "counters of how often go itself is used",
        paths: &["${XDG_CONFIG_HOME:-~/.config}/go/telemetry"],
    },
    ToolState {
        name: "go-cache",
        why: "when go last cleared its cache",
        paths: &[
            "${GOCACHE:-${XDG_CACHE_HOME:-~/.cache}/go-build}/trim.txt",
            "${GOCACHE:-${XDG_CACHE_HOME:-~/.cache}/go-build}/testexpire.txt",
            "${GOCACHE:-${XDG_CACHE_HOME:-~/.cache}/go-build}/log.txt",
        ],
    },
    ToolState {
        name: "npm",
        why: "logs of every call, and when npm last looked for a newer npm",
        paths: &[
            "${npm_config_cache:-~/.npm}/_logs",
            "${npm_config_cache:-~/.npm}/_update-notifier-last-checked",
            "${npm_config_cache:-~/.npm}/anonymous-cli-metrics.json",
        ],
    },
    ToolState {
        name: "yarn",
        why: "counters that yarn reports about itself",
        paths: &["${YARN_GLOBAL_FOLDER:-~/.yarn/berry}/telemetry.json"],
    },
    ToolState {
        name: "pnpm",
        why: "when pnpm last looked for a newer pnpm",
        paths: &["${XDG_STATE_HOME:-~/.local/state}/pnpm/pnpm-state.json", "~/.pnpm-state.json"],
    },
    ToolState {
        name: "update-notifier",
        why: "when a program in JavaScript last looked for a newer version of itself",
        paths: &["${XDG_CONFIG_HOME:-~/.config}/configstore/update-notifier-*.json"],
    },
    ToolState {
        name: "js-telemetry",
        why: "counters that Next.js, Turborepo and Astro report about themselves",
        paths: &[
            "${XDG_CONFIG_HOME:-~/.config}/nextjs-nodejs",
            "${XDG_CONFIG_HOME:-~/.config}/turborepo/telemetry.json",
            "${XDG_CONFIG_HOME:-~/.config}/astro/config.json",
        ],
    },
    ToolState {
        name: "node-compile-cache",
        why: "byte code that node checks against its source by itself",
        paths: &["${NODE_COMPILE_CACHE}"],
    },
    ToolState {
        name: "bun",
        why: "byte code that bun checks against its source by itself",
        paths: &["${BUN_INSTALL:-~/.bun}/install/cache/@t@"],
    },
    ToolState {
        name: "deno",
        why: "when deno last looked for a newer deno, and what it checks against sources by itself",
        paths: &[
            "${DENO_DIR:-${XDG_CACHE_HOME:-~/.cache}/deno}/latest.txt",
            "${DENO_DIR:-${XDG_CACHE_HOME:-~/.cache}/deno}/*_cache_v*",
        ],
    },
    ToolState {
        name: "hsperfdata",
        why: "counters of JVMs that run at the same time",
        paths: &["/tmp/hsperfdata_*"],
    },
    ToolState {
        name: "java-preferences",
        why: "lock and time of the last change of preferences; these themselves count",
        paths: &["~/.java/.userPrefs/.user.lock.*", "~/.java/.userPrefs/.userRootModFile.*"],
    },
    ToolState {
        name: "gradle",
        why: "logs and addresses of daemons, which file was used when, messages shown once",
        paths: &[
            "${GRADLE_USER_HOME:-~/.gradle}/daemon",
            "${GRADLE_USER_HOME:-~/.gradle}/caches/journal-1",
            "${GRADLE_USER_HOME:-~/.gradle}/caches/**/gc.properties",
            "${GRADLE_USER_HOME:-~/.gradle}/notifications",
            "${GRADLE_USER_HOME:-~/.gradle}/.tmp",
        ],
    },
    ToolState {
        name: "kotlin",
        why: "addresses of daemons of the compiler",
        paths: &["${XDG_DATA_HOME:-~/.local/share}/kotlin/daemon", "~/.kotlin/daemon"],
    },
    ToolState {
        name: "maven-daemon",
        why: "logs and addresses of daemons",
        paths: &["~/.m2/mvnd/registry", "~/.m2/mvnd/**/*.log"],
    },
    ToolState {
        name: "pip",
        why: "when pip last looked for a newer pip",
        paths: &["${PIP_CACHE_DIR:-${XDG_CACHE_HOME:-~/.cache}/pip}/selfcheck"],
    },
    ToolState {
        name: "ipython",
        why: "the history of what was typed",
        paths: &["${IPYTHONDIR:-~/.ipython}/profile_*/history.sqlite*"],
    },
    ToolState {
        name: "cargo",
        why: "which download was used when, and empty files that are only locked",
        paths: &[
            "${CARGO_HOME:-~/.cargo}/.global-cache*",
            "${CARGO_HOME:-~/.cargo}/.package-cache*",
        ],
    },
    ToolState {
        name: "rustup",
        why: "what was downloaded last, and unfinished downloads",
        paths: &[
            "${RUSTUP_HOME:-~/.rustup}/update-hashes",
            "${RUSTUP_HOME:-~/.rustup}/downloads",
            "${RUSTUP_HOME:-~/.rustup}/tmp",
        ],
    },
    ToolState {
        name: "ccache",
        why: "counters of hits and misses, its own locks and unfinished files",
        paths: &[
            "${CCACHE_DIR:-${XDG_CACHE_HOME:-~/.cache}/ccache}/**/stats",
            "${CCACHE_DIR:-${XDG_CACHE_HOME:-~/.cache}/ccache}/{lock,tmp}",
            "~/.ccache/**/stats",
            "~/.ccache/{lock,tmp}",
        ],
    },
    ToolState {
        name: "dotnet",
        why: "what dotnet reports about itself, and that its welcome was shown",
        paths: &[
            "${DOTNET_CLI_HOME:-~}/.dotnet/TelemetryStorageService",
            "${DOTNET_CLI_HOME:-~}/.dotnet/*entinel",
        ],
    },
    ToolState {
        name: "rubygems",
        why: "when gem last looked for a newer gem",
        paths: &["${XDG_STATE_HOME:-~/.local/state}/gem/last_update_check"],
    },
    ToolState {
        name: "dart",
        why: "what Dart and Flutter report about themselves",
        paths: &["~/.dart-tool/dart-flutter-telemetry*"],
    },
    ToolState {
        name: "terraform",
        why: "when terraform last looked for a newer terraform",
        paths: &["~/.terraform.d/checkpoint_cache", "~/.terraform.d/checkpoint_signature"],
    },
    ToolState {
        name: "gcloud",
        why: "logs of every call, and when gcloud last looked for a newer gcloud",
        paths: &[
            "${CLOUDSDK_CONFIG:-~/.config/gcloud}/logs",
            "${CLOUDSDK_CONFIG:-~/.config/gcloud}/.last_*",
        ],
    },
    ToolState {
        name: "gh",
        why: "when gh last looked for a newer gh",
        paths: &["${XDG_STATE_HOME:-~/.local/state}/gh/state.yml"],
    },
    ToolState {
        name: "mesa",
        why: "compiled shaders, which the driver checks against their source by itself",
        paths: &["${XDG_CACHE_HOME:-~/.cache}/mesa_shader_cache*"],
    },
];

/// A tool that walks through folders and looks at each entry (`lstat`) only to know what kind of thing
/// it is, and whether it can be executed.
#[derive(Debug, Clone, Copy)]
pub struct ToolLook {
    /// By this name it is switched off (`except`).
    pub name: &'static str,
    /// Why the size and time that come with such a look cannot decide an outcome.
    pub why: &'static str,
    /// The file name of the program.
    pub program: &'static str,
    /// A file in the folder above that of the program, by which it is known to be this tool.
    pub beside: &'static str,
    /// Endings of files that count by their content all the same.
    pub except: &'static [&'static str],
}

/// What belongs here: tools whose source shows that they take nothing else from such a look, whatever
/// they are called for. What does not: programs that run other people's code (node, python), and those
/// for which a time decides what is built (cargo, make, ninja).
pub const TOOL_LOOKS: &[ToolLook] = &[ToolLook {
    name: "go-listing",
    why: "go lists folders so; where size and time decide, it follows links as well, or looks at a source",
    program: "go",
    beside: "VERSION",
    except: &[
        "go", "c", "cc", "cpp", "cxx", "m", "h", "hh", "hpp", "hxx", "f", "F", "for", "f90", "s",
        "S", "sx", "swig", "swigcxx", "syso", "mod", "sum", "work",
    ],
}];
