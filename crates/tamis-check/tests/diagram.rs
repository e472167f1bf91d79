//! docs/architecture.md's diagram of crates is held against `cargo metadata`.
//!
//! The rule, which stands above the diagram: every crate has a place in it, and uses only crates that
//! come later. A line begins with one name, or with several and commas between them; what follows is
//! text. What only tests use (dev-dependencies) does not count.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The first `text` block below "## Crates": the names in it, in order.
fn diagram(page: &str) -> Vec<String> {
    let chapter = page.split_once("\n## Crates\n").expect("a chapter about crates").1;
    let block = chapter.split_once("```text\n").expect("a diagram").1;
    let block = block.split_once("\n```").expect("its end").0;
    block.lines().flat_map(names).collect()
}

/// The names at the beginning of a line.
fn names(line: &str) -> Vec<String> {
    let mut names = Vec::new();
    for word in line.split_whitespace() {
        let name = word.trim_end_matches(',');
        if name != "tamis" && !name.starts_with("tamis-") {
            break;
        }
        names.push(name.to_owned());
        if !word.ends_with(',') {
            break;
        }
    }
    names
}

/// What is wrong with a diagram of these crates and the crates that each uses.
fn faults(diagram: &[String], crates: &[(String, Vec<String>)]) -> Vec<String> {
    let place = |name: &String| diagram.iter().position(|other| other == name);
    let mut faults = Vec::new();
    for name in diagram {
        if !crates.iter().any(|(known, _)| known == name) {
            faults.push(format!("{name} is no crate"));
        }
    }
    for (name, uses) in crates {
        match diagram.iter().filter(|other| *other == name).count() {
            0 => faults.push(format!("{name} is missing")),
            1 => {}
            _ => faults.push(format!("{name} stands in it more than once")),
        }
        for used in uses.iter().filter(|used| place(used) <= place(name)) {
            faults.push(format!("{name} uses {used}, which does not stand below it"));
        }
    }
    faults
}

/// The crates of the workspace, with those of them that each uses.
fn crates(root: &Path) -> Vec<(String, Vec<String>)> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let output = command.current_dir(root).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let packages = metadata["packages"].as_array().expect("packages");
    let uses = |package: &Value| {
        let all = package["dependencies"].as_array().expect("dependencies").iter();
        let own = all.filter(|used| used["path"].is_string() && used["kind"] != "dev");
        own.map(|used| text(&used["name"])).collect()
    };
    packages.iter().map(|package| (text(&package["name"]), uses(package))).collect()
}

#[test]
fn the_diagram_shows_every_crate_above_what_it_uses() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/architecture.md")).expect("the page");
    let crates = crates(&root);
    assert!(crates.len() > 10, "{crates:?}");
    let faults = faults(&diagram(&page), &crates);
    assert!(faults.is_empty(), "docs/architecture.md, ## Crates:\n{}", faults.join("\n"));
}

#[test]
fn names_stand_at_the_beginning_of_lines() {
    let page = "# A\n\n## Crates\n\ntamis-none\n\n```text\ntamis   uses tamis-no\n  tamis-a, tamis-b, \
                tamis-c text, tamis-no\n    (tamis-no)\n```\ntamis-no\n```text\ntamis-no\n```\n";
    assert_eq!(diagram(page), ["tamis", "tamis-a", "tamis-b", "tamis-c"]);
}

#[test]
fn a_wrong_diagram_is_found() {
    let names =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let crates = [("a", "b c"), ("b", "c"), ("c", "")].map(|(n, u)| (n.to_owned(), names(u)));
    assert!(faults(&names("a b c"), &crates).is_empty());
    assert_eq!(faults(&names("b a c"), &crates), ["a uses b, which does not stand below it"]);
    assert_eq!(faults(&names("a b c b d"), &crates).len(), 2, "b twice, and d is no crate");
    assert!(faults(&names("a c"), &crates).contains(&"b is missing".to_owned()));
}
