//! What every test of a JVM depends on besides its classpath, and what a test run left behind.

use roxmltree::Document;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The JDK (its `release` file) and the variables that give every JVM options.
pub fn environment() -> Vec<String> {
    let mut parts = vec![
        jdk_home()
            .and_then(|h| std::fs::read_to_string(h.join("release")).ok())
            .unwrap_or_default(),
    ];
    for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"] {
        parts.push(std::env::var(name).unwrap_or_default());
    }
    parts
}

/// The JDK that Maven and runners take: `JAVA_HOME`, else that of the `java` on the `PATH`.
pub fn jdk_home() -> Option<PathBuf> {
    if let Some(home) = std::env::var_os("JAVA_HOME").filter(|h| !h.is_empty()) {
        return Some(home.into());
    }
    std::env::split_paths(&std::env::var_os("PATH")?)
        .find_map(|folder| folder.join("java").canonicalize().ok())
        .and_then(|java| java.parent()?.parent().map(Path::to_path_buf))
}

/// The release of that JDK: 17 for `17.0.2`, 8 for `1.8.0`.
pub(crate) fn jdk_release() -> Option<u32> {
    let text = std::fs::read_to_string(jdk_home()?.join("release")).ok()?;
    let version = text.lines().find_map(|l| l.strip_prefix("JAVA_VERSION="))?.trim_matches('"');
    let version = version.strip_prefix("1.").unwrap_or(version);
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Test classes that finished, with whether they passed, out of Surefire's reports
/// (`TEST-*.xml`). Reports that are not newer than `newest_class_ns` are of an earlier state of the
/// classes and prove nothing. A report that cannot be read counts as a test that did not finish.
pub fn finished(folder: &Path, newest_class_ns: i64) -> io::Result<BTreeMap<String, bool>> {
    let mut tests: BTreeMap<String, bool> = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with("TEST-") || !name.ends_with(".xml") {
            continue;
        }
        let meta = entry.metadata()?;
        let written = meta.mtime().wrapping_mul(1_000_000_000).wrapping_add(meta.mtime_nsec());
        if written <= newest_class_ns {
            continue;
        }
        for (class, passed) in suite(&entry.path()).unwrap_or_default() {
            *tests.entry(class).or_insert(true) &= passed;
        }
    }
    Ok(tests)
}

/// The top-level classes of one report with whether all went well.
fn suite(report: &Path) -> Option<BTreeMap<String, bool>> {
    let text = std::fs::read_to_string(report).ok()?;
    let document = Document::parse(&text).ok()?;
    let root = document.root_element();
    let count = |name: &str| root.attribute(name).and_then(|v| v.parse::<u64>().ok());
    let passed = count("failures")? == 0 && count("errors")? == 0;
    let top = |name: &str| name.split('$').next().unwrap_or(name).to_owned();
    let mut classes = BTreeMap::from([(top(root.attribute("name")?), passed)]);
    for case in root.children().filter(|n| n.has_tag_name("testcase")) {
        if let Some(class) = case.attribute("classname") {
            classes.insert(top(class), passed);
        }
    }
    Some(classes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_say_who_finished() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(
            "TEST-a.Good.xml",
            "<testsuite name='a.Good' failures='0' errors='0'><testcase classname='a.Good$Inner'/></testsuite>",
        );
        write("TEST-a.Bad.xml", "<testsuite name='a.Bad' failures='1' errors='0'/>");
        write("TEST-a.Cut.xml", "<testsuite name='a.Cut' failures='0' err");
        write("a.Other.txt", "text");
        let expected = BTreeMap::from([("a.Bad".to_owned(), false), ("a.Good".to_owned(), true)]);
        assert_eq!(finished(folder.path(), 0).unwrap(), expected);
        assert!(finished(folder.path(), i64::MAX).unwrap().is_empty(), "older than the classes");
        assert!(finished(&folder.path().join("missing"), 0).is_err());
    }
}
