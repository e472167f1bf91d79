//! deny.toml's licences, bans and sources are held against `cargo metadata`: for all crates that are
//! built for Linux, with those that only tests use.
//!
//! The rest of deny.toml (advisories) needs cargo-deny and its database.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

struct Package {
    name: String,
    licence: Option<String>,
    /// `None` for the crates of the workspace.
    source: Option<String>,
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Everything that is built for this kind of machine.
fn packages() -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut command = Command::new(cargo);
    command.args(["metadata", "--offline", "--format-version", "1", "--filter-platform", &target]);
    let output = command.current_dir(root()).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let nodes = metadata["resolve"]["nodes"].as_array().expect("nodes");
    let built: BTreeSet<&str> = nodes.iter().filter_map(|node| node["id"].as_str()).collect();
    let all = metadata["packages"].as_array().expect("packages").iter();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let package = |package: &Value| Package {
        name: text(&package["name"]).expect("a name"),
        licence: text(&package["license"]),
        source: text(&package["source"]),
    };
    all.filter(|p| p["id"].as_str().is_some_and(|id| built.contains(id))).map(package).collect()
}

/// The texts of an array in one section of deny.toml; of tables their names.
fn listed(settings: &str, section: &str, key: &str) -> BTreeSet<String> {
    let settings: toml::Table = settings.parse().expect("TOML");
    let entries = settings[section][key].as_array().expect("an array").iter();
    let text = |entry: &toml::Value| {
        let name = entry.get("name").unwrap_or(entry);
        name.as_str().expect("a name").to_owned()
    };
    entries.map(text).collect()
}

/// Whether an expression of SPDX (or of the older `A/B`) is fulfilled by allowed licences.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let text = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut at = 0;
    let fulfilled = either(&words, &mut at, allowed);
    fulfilled && at == words.len()
}

fn either(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut fulfilled = all(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        fulfilled |= all(words, at, allowed);
    }
    fulfilled
}

fn all(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut fulfilled = one(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        fulfilled &= one(words, at, allowed);
    }
    fulfilled
}

fn one(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let Some(word) = words.get(*at) else { return false };
    *at += 1;
    if *word == "(" {
        let fulfilled = either(words, at, allowed);
        let closed = words.get(*at) == Some(&")");
        *at += 1;
        return fulfilled && closed;
    }
    // With an exception it is another licence.
    if words.get(*at) == Some(&"WITH") {
        *at += 2;
        return false;
    }
    allowed.contains(*word)
}

#[test]
fn every_crate_has_an_allowed_licence_and_comes_from_where_it_may() {
    let settings = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let allowed = listed(&settings, "licenses", "allow");
    let banned = listed(&settings, "bans", "deny");
    let sources = listed(&settings, "sources", "allow-registry");
    let packages = packages();
    assert!(packages.len() > 50, "{}", packages.len());
    let mut faults = Vec::new();
    for Package { name, licence, source } in packages {
        if !licence.as_deref().is_some_and(|licence| is_allowed(licence, &allowed)) {
            faults.push(format!("{name}: the licence {licence:?} is not allowed"));
        }
        if banned.contains(&name) {
            faults.push(format!("{name} is banned"));
        }
        let known = |source: &str| {
            source.strip_prefix("registry+").is_some_and(|place| sources.contains(place))
        };
        if source.as_deref().is_some_and(|source| !known(source)) {
            faults.push(format!("{name} comes from {source:?}"));
        }
    }
    assert!(faults.is_empty(), "deny.toml:\n{}", faults.join("\n"));
}

#[test]
fn expressions_of_licences() {
    let allowed: BTreeSet<String> = ["MIT", "Zlib"].map(str::to_owned).into();
    for good in ["MIT", "Apache-2.0 OR MIT", "MIT/Apache-2.0", "(GPL-3.0 OR MIT) AND Zlib"] {
        assert!(is_allowed(good, &allowed), "{good}");
    }
    for bad in ["Apache-2.0", "MIT AND GPL-3.0", "MIT WITH x", "(MIT", "MIT Zlib", ""] {
        assert!(!is_allowed(bad, &allowed), "{bad}");
    }
}
