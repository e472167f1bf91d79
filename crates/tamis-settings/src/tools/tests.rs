//! What each entry of the list takes in, and what it leaves.

use super::*;
use crate::paths::{Ignored, PathRules, Places, RuleAnswer};
use std::collections::HashSet;
use tamis_core::PathMap;

fn expanded(pattern: &str, set: &[(&str, &str)]) -> Option<String> {
    let variable = |name: &str| {
        set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    expand(pattern, Some(Path::new("/home/ann")), &variable)
}

#[test]
fn variables_and_home() {
    let nested = "${GOCACHE:-${XDG_CACHE_HOME:-~/.cache}/go-build}/trim.txt";
    for (pattern, set, result) in [
        ("~/.npm/_logs", &[][..], Some("/home/ann/.npm/_logs")),
        ("${CARGO_HOME:-~/.cargo}/x", &[], Some("/home/ann/.cargo/x")),
        ("${CARGO_HOME:-~/.cargo}/x", &[("CARGO_HOME", "/c/")], Some("/c/x")),
        ("${CARGO_HOME:-~/.cargo}/x", &[("CARGO_HOME", "")], Some("/home/ann/.cargo/x")),
        ("${CARGO_HOME:-~/.cargo}/x", &[("CARGO_HOME", "rel")], Some("/home/ann/.cargo/x")),
        ("${CARGO_HOME:-~/.cargo}/x", &[("CARGO_HOME", "/")], Some("/home/ann/.cargo/x")),
        ("${CARGO_HOME:-~/.cargo}/x", &[("CARGO_HOME", "/a*")], Some("/a[*]/x")),
        (nested, &[], Some("/home/ann/.cache/go-build/trim.txt")),
        (nested, &[("XDG_CACHE_HOME", "/k")], Some("/k/go-build/trim.txt")),
        (nested, &[("XDG_CACHE_HOME", "/k"), ("GOCACHE", "/g")], Some("/g/trim.txt")),
        ("${NODE_COMPILE_CACHE}", &[], None),
        ("${NODE_COMPILE_CACHE}", &[("NODE_COMPILE_CACHE", "/n")], Some("/n")),
        ("/tmp/hsperfdata_*", &[], Some("/tmp/hsperfdata_*")),
        ("${X", &[], None),
    ] {
        assert_eq!(expanded(pattern, set).as_deref(), result, "{pattern} {set:?}");
    }
    assert_eq!(expand("~/.x", None, &|_| None), None, "without a home folder");
}

#[test]
fn the_list_is_well_made() {
    let all: HashSet<&str> = names().collect();
    assert_eq!(all.len(), names().count(), "a name twice");
    let all: HashSet<&&str> = TOOL_STATE.iter().flat_map(|entry| entry.paths).collect();
    let count: usize = TOOL_STATE.iter().map(|entry| entry.paths.len()).sum();
    assert_eq!(all.len(), count, "a path twice");
    for pattern in all {
        let set = [("NODE_COMPILE_CACHE", "/n")];
        let text = expanded(pattern, &set).unwrap_or_else(|| panic!("{pattern}"));
        assert!(glob::compile(&text).is_ok(), "{pattern}");
        // Nothing may take in a whole home folder, or what a tool keeps besides its state.
        let depth = glob::plain_start(&text).matches('/').count();
        assert!(depth >= 2 || text == "/n", "{pattern} takes in too much");
    }
}

#[test]
fn the_settings_choose() {
    let names = |tools: &ToolSettings| tools.entries().map(|e| e.name).collect::<Vec<_>>();
    assert_eq!(names(&ToolSettings::default()).len(), TOOL_STATE.len());
    let except = ToolSettings { except: vec!["npm".into()], ..ToolSettings::default() };
    assert!(!names(&except).contains(&"npm") && names(&except).contains(&"pip"));
    let own = ToolSettings { default: false, except: vec![], ignore: vec!["~/.a".into()] };
    assert_eq!(own.patterns(), ["~/.a"]);
}

fn rules(root: &str, toml: &str, set: &'static [(&'static str, &'static str)]) -> PathRules {
    let settings = crate::parse(toml.as_bytes(), Path::new("tamis.toml")).unwrap();
    let map = PathMap::new(root.into(), Some("/home/ann".into()));
    let variable = |name: &str| {
        set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    let places = Places::new(map, None, None).with_tools(&settings, &variable);
    PathRules::new(&settings, &places).unwrap()
}

fn ignored(rules: &PathRules, path: &str) -> bool {
    let path = Path::new(path);
    let answer = rules.scheme(path, Path::new("/bin/cat"));
    let tool = answer == RuleAnswer::Ignore(Ignored::Tool);
    assert!(!tool || rules.ignored_in_listing(path), "{path:?} in a listing");
    tool
}

/// For each entry paths that it takes in, and neighbours that count.
const CASES: &[(&str, &[&str], &[&str])] = &[
    (
        "go-telemetry",
        &["~/.config/go/telemetry", "~/.config/go/telemetry/local/go@go1.26-x.count"],
        &["~/.config/go/env", "~/.config/go", "~/.config/go/telemetryx"],
    ),
    (
        "go-cache",
        &["~/.cache/go-build/trim.txt", "~/.cache/go-build/testexpire.txt"],
        &["~/.cache/go-build/00/00ab-d", "~/.cache/go-build", "~/go/pkg/mod/x@v1/trim.txt"],
    ),
    (
        "npm",
        &["~/.npm/_logs/a-debug-0.log", "~/.npm/_logs", "~/.npm/_update-notifier-last-checked"],
        &["~/.npm/_cacache/index-v5/a", "~/.npmrc", "~/.npm/_npx/a/package.json", "~/.npm"],
    ),
    ("yarn", &["~/.yarn/berry/telemetry.json"], &["~/.yarnrc", "~/.yarn/berry/cache/a.zip"]),
    (
        "pnpm",
        &["~/.local/state/pnpm/pnpm-state.json", "~/.pnpm-state.json"],
        &["~/.config/pnpm/rc", "~/.local/share/pnpm/store/v3/files/00"],
    ),
    (
        "update-notifier",
        &["~/.config/configstore/update-notifier-mocha.json"],
        &["~/.config/configstore/firebase-tools.json"],
    ),
    (
        "js-telemetry",
        &["~/.config/nextjs-nodejs/config.json", "~/.config/turborepo/telemetry.json"],
        &["~/.config/turborepo/config.json"],
    ),
    ("node-compile-cache", &["/n/v22/a.cache"], &["/nn/a", "~/n/a"]),
    ("bun", &["~/.bun/install/cache/@t@/a.pile"], &["~/.bun/install/cache/a@1.0.0/index.js"]),
    (
        "deno",
        &["~/.cache/deno/latest.txt", "~/.cache/deno/v8_code_cache_v2-shm"],
        &["~/.cache/deno/remote/https/x", "~/.cache/deno/npm/registry/a"],
    ),
    ("hsperfdata", &["/tmp/hsperfdata_ann/4711", "/tmp/hsperfdata_ann"], &["~/hsperfdata_ann"]),
    (
        "java-preferences",
        &["~/.java/.userPrefs/.user.lock.ann", "~/.java/.userPrefs/.userRootModFile.ann"],
        &["~/.java/.userPrefs/com/acme/prefs.xml", "~/.java/.userPrefs"],
    ),
    (
        "gradle",
        &[
            "~/.gradle/daemon/8.5/daemon-1.out.log",
            "~/.gradle/caches/journal-1/file-access.bin",
            "~/.gradle/caches/8.5/gc.properties",
            "~/.gradle/caches/gc.properties",
        ],
        &[
            "~/.gradle/gradle.properties",
            "~/.gradle/init.d/a.gradle",
            "~/.gradle/caches/modules-2/a.jar",
        ],
    ),
    ("kotlin", &["~/.local/share/kotlin/daemon/a.run"], &["~/.kotlin/config"]),
    (
        "maven-daemon",
        &["~/.m2/mvnd/registry/1.0/registry.bin", "~/.m2/mvnd/1.0/daemon-1.log"],
        &["~/.m2/mvnd.properties", "~/.m2/settings.xml", "~/.m2/repository/a/a.log"],
    ),
    (
        "pip",
        &["~/.cache/pip/selfcheck/ab"],
        &["~/.cache/pip/wheels/a.whl", "~/.config/pip/pip.conf"],
    ),
    (
        "ipython",
        &[
            "~/.ipython/profile_default/history.sqlite",
            "~/.ipython/profile_default/history.sqlite-journal",
        ],
        &["~/.ipython/profile_default/startup/a.py"],
    ),
    (
        "cargo",
        &[
            "~/.cargo/.global-cache",
            "~/.cargo/.global-cache-journal",
            "~/.cargo/.package-cache-mutate",
        ],
        &["~/.cargo/config.toml", "~/.cargo/registry/src/a/lib.rs", "~/.cargo/.crates2.json"],
    ),
    (
        "rustup",
        &["~/.rustup/update-hashes/stable-x86_64", "~/.rustup/tmp/a", "~/.rustup/downloads/a"],
        &["~/.rustup/settings.toml", "~/.rustup/toolchains/stable/bin/rustc"],
    ),
    (
        "ccache",
        &[
            "~/.cache/ccache/0/stats",
            "~/.cache/ccache/0/1/stats",
            "~/.ccache/f/stats",
            "~/.cache/ccache/lock/a",
        ],
        &["~/.cache/ccache/0/1/abR", "~/.cache/ccache/ccache.conf", "~/.config/ccache/ccache.conf"],
    ),
    (
        "dotnet",
        &["~/.dotnet/TelemetryStorageService/a.trn", "~/.dotnet/8.0.100.dotnetFirstUseSentinel"],
        &["~/.dotnet/sdk/8.0.100/dotnet.dll", "~/.nuget/packages/a/a.dll"],
    ),
    ("rubygems", &["~/.local/state/gem/last_update_check"], &["~/.gem/credentials"]),
    ("dart", &["~/.dart-tool/dart-flutter-telemetry.log"], &["~/.dart-tool/package_config.json"]),
    (
        "terraform",
        &["~/.terraform.d/checkpoint_signature"],
        &["~/.terraform.d/credentials.tfrc.json", "~/.terraformrc"],
    ),
    (
        "gcloud",
        &["~/.config/gcloud/logs/2026/a.log", "~/.config/gcloud/.last_update_check.json"],
        &["~/.config/gcloud/properties", "~/.config/gcloud/credentials.db"],
    ),
    ("gh", &["~/.local/state/gh/state.yml"], &["~/.config/gh/hosts.yml"]),
    ("mesa", &["~/.cache/mesa_shader_cache/index"], &["~/.cache/mesa/a"]),
];

#[test]
fn each_entry_takes_in_state_and_leaves_the_rest() {
    let set: &[(&str, &str)] = &[("NODE_COMPILE_CACHE", "/n")];
    let on = rules("/home/ann/app", "", set);
    let home = |path: &str| path.replacen('~', "/home/ann", 1);
    for (name, inside, outside) in CASES {
        let toml = format!("[tamis.tool-state]\nexcept = ['{name}']");
        let off = rules("/home/ann/app", &toml, set);
        for path in inside.iter().map(|path| home(path)) {
            assert!(ignored(&on, &path), "{name}: {path}");
            assert!(!ignored(&off, &path), "{name} is switched off: {path}");
        }
        for path in outside.iter().map(|path| home(path)) {
            assert!(!ignored(&on, &path), "{name}: {path} counts");
        }
    }
    let mut cases: Vec<&str> = CASES.iter().map(|(name, ..)| *name).collect();
    let mut entries: Vec<&str> = TOOL_STATE.iter().map(|entry| entry.name).collect();
    cases.sort_unstable();
    entries.sort_unstable();
    assert_eq!(cases, entries, "each entry has its cases");
}

#[test]
fn a_walk_is_one_of_the_real_tool_and_never_of_a_source() {
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("bin/go");
    let on = rules("/home/ann/app", "", &[]);
    let readme = Path::new("/home/ann/app/README.md");
    assert!(!on.only_lists(readme, &go), "nothing says that it is go");
    std::fs::write(folder.path().join("VERSION"), "go1").unwrap();
    assert!(on.only_lists(readme, &go));
    assert!(on.only_lists(Path::new("/home/ann/app/testdata/x.json"), &go));
    for source in ["a.go", "a.s", "a.h", "go.mod", "x/a.syso"] {
        assert!(!on.only_lists(&Path::new("/home/ann/app").join(source), &go), "{source}");
    }
    assert!(!on.only_lists(readme, &folder.path().join("bin/cargo")));
    for off in ["default = false", "except = ['go-listing']"] {
        let off = rules("/home/ann/app", &format!("[tamis.tool-state]\n{off}"), &[]);
        assert!(!off.only_lists(readme, &go));
    }
}

#[test]
fn a_project_inside_of_it_and_the_users_rules_are_stronger() {
    let inside = rules("/home/ann/.npm/_logs/app", "", &[]);
    assert!(!ignored(&inside, "/home/ann/.npm/_logs/app/a.log"));
    assert!(ignored(&inside, "/home/ann/.npm/_logs/b.log"));
    let home = rules("/home/ann", "", &[]);
    assert!(ignored(&home, "/home/ann/.npm/_logs/b.log"));
    let own = rules("/home/ann/app", "[[rule]]\npath='~/.npm/_logs/**'\nas='raw'", &[]);
    assert!(!ignored(&own, "/home/ann/.npm/_logs/b.log"));
    let off = rules("/home/ann/app", "[tamis.tool-state]\ndefault = false", &[]);
    assert!(!ignored(&off, "/home/ann/.npm/_logs/b.log"));
    let more =
        rules("/home/ann/app", "[tamis.tool-state]\nignore = ['~/.acme/log', '/var/x']", &[]);
    assert!(ignored(&more, "/home/ann/.acme/log/a") && ignored(&more, "/var/x"));
    assert!(!ignored(&more, "/home/ann/.acme/logs") && !ignored(&more, "/home/ann/app/.acme/log"));
}

#[test]
fn a_lookalike_in_the_project_counts() {
    let rules = rules("/home/ann/app", "", &[]);
    for path in [".npm/_logs/a", "telemetry", "stats", ".ccache/0/stats", ".cargo/.global-cache"] {
        assert!(!ignored(&rules, &format!("/home/ann/app/{path}")), "{path}");
    }
}

#[test]
fn mistakes_in_the_settings_are_named() {
    let problem = |toml: &str| {
        let parsed = crate::parse(toml.as_bytes(), Path::new("tamis.toml"));
        parsed.unwrap_err().to_string()
    };
    let unknown = problem("[tamis.tool-state]\nexcept = ['nmp']");
    assert!(unknown.contains("`nmp` is not in the list"), "{unknown}");
    let relative = problem("[tamis.tool-state]\nignore = ['log']");
    assert!(relative.contains("must begin with / or ~/"), "{relative}");
    let everything = problem("[tamis.tool-state]\nignore = ['~/']");
    assert!(everything.contains("that is everything"), "{everything}");
    let misplaced = problem("[tool-state]\ndefault = false");
    assert!(misplaced.contains("[tamis.tool-state]"), "{misplaced}");
}
