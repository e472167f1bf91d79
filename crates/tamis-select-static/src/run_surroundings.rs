//! What every test of a JVM depends on besides its classpath, and what a test run left behind.

use roxmltree::Document;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The JDK and the variables that give every JVM options.
pub fn environment() -> Vec<String> {
    let jdk = tamis_jdk::home().map(|home| tamis_jdk::identity(&home)).unwrap_or_default();
    let mut parts = vec![String::from_utf8_lossy(&jdk).into_owned()];
    for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"] {
        parts.push(std::env::var(name).unwrap_or_default());
    }
    parts
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
