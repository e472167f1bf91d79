//! Maven itself is the judge: what `help:effective-pom` says about each module, and which modules `-am`
//! and `-amd` build, against what we read from the poms.
//!
//! On a reactor that uses every feature (`fixtures/maven-graph`), and on published multi-module projects,
//! whose poms are put together from the local repository. `scripts/test` fetches what is needed.

use roxmltree::{Document, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use tamis_modules::maven::{Surroundings, Words, read};
use tamis_modules::{EdgeKind, Graph, Tree};
use tamis_testkit::maven::{LACKS, repository};
use tamis_testkit::not_tried;

const HELP: &str = "org.apache.maven.plugins:maven-help-plugin:3.4.1:effective-pom";

/// What Maven prints; `None` where it is not here or lacks an artifact.
fn maven(folder: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("mvn")
        .args(["-o", "-B"])
        .arg(format!("-Dmaven.repo.local={}", repository().display()))
        .args(words)
        .current_dir(folder)
        .env("MAVEN_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else {
        not_tried("mvn");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let lacks = ["offline mode", "could not be resolved", "Non-resolvable", "resolve"];
        assert!(lacks.iter().any(|l| text.contains(l)), "mvn {words:?}: {text}");
        not_tried(LACKS);
        return None;
    }
    Some(text)
}

fn ours(folder: &Path, words: &[&str]) -> Graph {
    let mut around = Surroundings::of_user(None);
    around.repository = repository();
    let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
    Words::read(&words).add_to(&mut around);
    read(&Tree::new(folder), "pom.xml", &around, true).expect("poms that can be read")
}

fn child<'a>(node: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    node.children().find(|c| c.is_element() && c.tag_name().name() == name)
}

fn text<'a>(node: Node<'a, 'a>, name: &str) -> Option<&'a str> {
    child(node, name).and_then(|c| c.text()).map(str::trim).filter(|t| !t.is_empty())
}

fn list<'a>(node: Node<'a, 'a>, path: &[&str]) -> Vec<Node<'a, 'a>> {
    let found = path.iter().try_fold(node, |n, name| child(n, name));
    found.into_iter().flat_map(|n| n.children().filter(Node::is_element)).collect()
}

fn element_name(node: Node<'_, '_>) -> String {
    node.tag_name().name().to_owned()
}

/// The dependencies, plugins and properties of one effective pom, in our words.
fn effective(project: Node<'_, '_>, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for dependency in list(project, &["dependencies"]) {
        let get = |name: &str| text(dependency, name);
        let (group, artifact) = (get("groupId").unwrap(), get("artifactId").unwrap());
        let mut key = format!("dependency {group}:{artifact}");
        match (get("type").filter(|t| *t != "jar"), get("classifier")) {
            (None, None) => {}
            (kind, None) => key.push_str(&format!(":{}", kind.unwrap_or("jar"))),
            (kind, Some(c)) => key.push_str(&format!(":{}:{c}", kind.unwrap_or("jar"))),
        }
        let version = get("version").unwrap_or_default();
        let is_module = modules.contains(&format!("{group}:{artifact}:{version}"))
            || (version.starts_with('[')
                && modules.iter().any(|m| m.starts_with(&format!("{group}:{artifact}:"))));
        let mut value = if is_module { "module" } else { version }.to_owned();
        if get("optional") == Some("true") {
            value.push_str(" optional");
        }
        let mut exclusions: Vec<String> = list(dependency, &["exclusions"])
            .iter()
            .map(|e| {
                format!(
                    " without {}:{}",
                    text(*e, "groupId").unwrap(),
                    text(*e, "artifactId").unwrap()
                )
            })
            .collect();
        exclusions.sort();
        value.push_str(&exclusions.concat());
        found.insert(key, format!("{value} ({})", get("scope").unwrap_or("compile")));
    }
    for plugin in list(project, &["build", "plugins"]) {
        let group = text(plugin, "groupId").unwrap_or("org.apache.maven.plugins");
        let key = format!("plugin {group}:{}", text(plugin, "artifactId").unwrap());
        let version = text(plugin, "version").unwrap_or_default();
        found.insert(key.clone(), version.to_owned());
        for value in list(plugin, &["configuration"]) {
            flatten(&format!("{key} configuration/{}", element_name(value)), value, &mut found);
        }
    }
    for property in list(project, &["properties"]) {
        let value = property.text().unwrap_or_default().trim();
        found.insert(format!("property {}", element_name(property)), value.to_owned());
    }
    found
}

fn flatten(prefix: &str, node: Node<'_, '_>, found: &mut BTreeMap<String, String>) {
    let children: Vec<Node<'_, '_>> = node.children().filter(Node::is_element).collect();
    if children.is_empty() {
        found.insert(prefix.to_owned(), node.text().unwrap_or_default().trim().to_owned());
    }
    for (n, child) in children.iter().enumerate() {
        let name = element_name(*child);
        let same = children.iter().filter(|c| element_name(**c) == name).count();
        let key =
            if same == 1 { format!("{prefix}/{name}") } else { format!("{prefix}/{name}[{n}]") };
        flatten(&key, *child, found);
    }
}

/// Compares module by module; gives how many there were.
fn assert_same(folder: &Path, words: &[&str]) -> Option<usize> {
    let output = folder.join("effective.xml");
    let target = format!("-Doutput={}", output.display());
    let mut all = vec![HELP, target.as_str()];
    all.extend(words);
    maven(folder, &all)?;
    let xml = std::fs::read_to_string(&output).expect("what Maven wrote");
    let document = Document::parse(&xml).expect("XML");
    let root = document.root_element();
    let projects: Vec<Node<'_, '_>> = match root.tag_name().name() {
        "project" => vec![root],
        _ => root.children().filter(Node::is_element).collect(),
    };
    let graph = ours(folder, words);
    let name = |p: &Node<'_, '_>| {
        format!("{}:{}", text(*p, "groupId").unwrap(), text(*p, "artifactId").unwrap())
    };
    let theirs: BTreeSet<String> = projects.iter().map(name).collect();
    let own: BTreeSet<String> = graph.modules.iter().map(|m| m.name.clone()).collect();
    assert_eq!(own, theirs, "{}", folder.display());
    let modules: BTreeSet<String> =
        projects.iter().map(|p| format!("{}:{}", name(p), text(*p, "version").unwrap())).collect();
    for project in &projects {
        let module = &graph.modules[graph.find(&name(project)).unwrap()];
        assert_eq!(module.version, text(*project, "version").unwrap(), "{}", module.name);
        assert_eq!(
            module.packaging,
            text(*project, "packaging").unwrap_or("jar"),
            "{}",
            module.name
        );
        let expected = effective(*project, &modules);
        for (key, value) in &expected {
            let own = module.resolution.get(key);
            if key.starts_with("dependency ") {
                assert_eq!(own, Some(value), "{} {key}", module.name);
            } else if let Some(own) = own.filter(|own| !own.is_empty() && !own.contains("${")) {
                // A version that no pom names comes from Maven itself.
                assert_eq!(own, value, "{} {key}", module.name);
            }
        }
        for key in module
            .resolution
            .keys()
            .filter(|k| k.starts_with("dependency ") || k.starts_with("property "))
        {
            assert!(
                expected.contains_key(key),
                "{} has {key}, which Maven does not know",
                module.name
            );
        }
    }
    Some(projects.len())
}

/// The names of the modules that Maven says it builds.
fn built(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(|l| l.trim_start_matches("[INFO] ").trim());
    let heads =
        lines.filter_map(|l| l.strip_prefix('-')?.trim_matches('-').trim().strip_prefix('<'));
    heads.filter_map(|l| l.strip_suffix('>')).map(|l| l.trim().to_owned()).collect()
}

fn assert_same_edges(folder: &Path, modules: &[&str]) -> Option<()> {
    let mut graph = ours(folder, &[]);
    // Maven 3 resolves imports before it knows modules, and needs no order for them.
    graph.edges.retain(|edge| edge.kind != EdgeKind::Imports);
    for module in modules {
        let start = graph.find(module).unwrap_or_else(|| panic!("{module}"));
        for (option, closure) in
            [("-am", graph.upstream([start])), ("-amd", graph.downstream([start]))]
        {
            let output = maven(folder, &["-pl", module, option, "validate"])?;
            let own: BTreeSet<String> =
                closure.iter().map(|&n| graph.modules[n].name.clone()).collect();
            assert_eq!(own, built(&output), "{module} {option}");
        }
    }
    Some(())
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_reactor_with_every_feature() {
    let dir = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/maven-graph"), dir.path());
    let Some(modules) = assert_same(dir.path(), &[]) else { return };
    assert_eq!(modules, 11);
    assert_eq!(assert_same(dir.path(), &["-Pextra", "-Dtold=so"]), Some(12));
    assert_same_edges(dir.path(), &["graph:core", "graph:style", "graph:two", "graph:bom"]);
}

/// The poms of a published project as it stood in its repository: modules are folders of their own name.
/// Other modules than these (never published, like benchmarks) are left out.
fn published(
    group: &str,
    parent: &str,
    version: &str,
    modules: &[&str],
) -> Option<tempfile::TempDir> {
    let base = repository().join(group.replace('.', "/"));
    let read = |artifact: &str| {
        let file = base.join(artifact).join(version).join(format!("{artifact}-{version}.pom"));
        let text = std::fs::read_to_string(file).ok();
        if text.is_none() {
            not_tried(&format!("{group}:{artifact}:{version} (scripts/test fetches it)"));
        }
        text
    };
    let root = read(parent)?;
    let dir = tempfile::tempdir().unwrap();
    let document = Document::parse(&root).unwrap();
    let mut kept = root.clone();
    for module in list(document.root_element(), &["modules"]) {
        let name = module.text().unwrap_or_default().trim();
        if modules.contains(&name) {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
            std::fs::write(dir.path().join(name).join("pom.xml"), read(name)?).unwrap();
        } else {
            kept = kept.replace(&format!("<module>{name}</module>"), "");
        }
    }
    std::fs::write(dir.path().join("pom.xml"), kept).unwrap();
    Some(dir)
}

/// Compares a published project; the edges of the first of its modules.
fn assert_published(group: &str, parent: &str, version: &str, modules: &[&str]) {
    let Some(dir) = published(group, parent, version, modules) else { return };
    let Some(count) = assert_same(dir.path(), &[]) else { return };
    assert_eq!(count, modules.len() + 1);
    assert_same_edges(dir.path(), &[&format!("{group}:{}", modules[0])]);
}

#[test]
fn guava() {
    let modules = ["guava", "guava-bom", "guava-testlib"];
    assert_published("com.google.guava", "guava-parent", "32.1.2-jre", &modules);
}

#[test]
fn logback() {
    let modules = ["logback-core", "logback-classic", "logback-access"];
    assert_published("ch.qos.logback", "logback-parent", "1.4.11", &modules);
}

#[test]
fn metrics() {
    let modules = [
        "metrics-core",
        "metrics-bom",
        "metrics-annotation",
        "metrics-caffeine",
        "metrics-caffeine3",
        "metrics-collectd",
        "metrics-ehcache",
        "metrics-graphite",
        "metrics-healthchecks",
        "metrics-httpclient",
        "metrics-httpclient5",
        "metrics-httpasyncclient",
        "metrics-jakarta-servlet",
        "metrics-jakarta-servlets",
        "metrics-json",
        "metrics-jvm",
    ];
    assert_published("io.dropwizard.metrics", "metrics-parent", "4.2.19", &modules);
}
