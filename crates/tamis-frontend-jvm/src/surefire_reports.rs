//! What failed test classes reported, from the reports that build tools write (JUnit XML as Surefire,
//! Failsafe, Gradle and Ant write it). Reports under other names are not found; a message is all that is lost.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Larger reports are not read.
const LARGEST: u64 = 16 << 20;

/// The failures of a test class, from a report that was written since `began`.
pub fn failures(folders: &[PathBuf], class: &str, began: SystemTime) -> Option<Vec<u8>> {
    let name = format!("TEST-{class}.xml");
    folders.iter().find_map(|folder| read(&folder.join(&name), began, &|_| true))
}

/// The names of the tests of a class that failed, by the same report; none where there is no report.
pub(crate) fn failed(folders: &[PathBuf], class: &str, began: SystemTime) -> Vec<String> {
    let name = format!("TEST-{class}.xml");
    let xml = folders.iter().find_map(|folder| written_since(&folder.join(&name), began));
    xml.map(|xml| failed_in(&xml)).unwrap_or_default()
}

/// The same of one test method, with all its invocations.
pub(crate) fn failures_of_method(
    folders: &[PathBuf],
    class: &str,
    method: &str,
    began: SystemTime,
) -> Option<Vec<u8>> {
    let name = format!("TEST-{class}.xml");
    let is_it = |test: &str| identifier(test) == identifier(method);
    folders.iter().find_map(|folder| read(&folder.join(&name), began, &is_it))
}

/// The method's own name: `half` of `half()`, `half(int)[1]` and `half{int}[2]`.
fn identifier(test: &str) -> &str {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    &test[..test.find(|c: char| !is_part(c)).unwrap_or(test.len())]
}

fn read(file: &Path, began: SystemTime, wanted: &dyn Fn(&str) -> bool) -> Option<Vec<u8>> {
    let text = failures_in(&written_since(file, began)?, wanted)?;
    (!text.is_empty()).then(|| text.into_bytes())
}

fn written_since(file: &Path, began: SystemTime) -> Option<String> {
    let meta = std::fs::metadata(file).ok()?;
    if meta.len() > LARGEST || meta.modified().ok()? < began {
        return None;
    }
    std::fs::read_to_string(file).ok()
}

/// What stands for a failure in a test's element.
const FAILURES: [&str; 4] = ["failure", "error", "flakyFailure", "flakyError"];

fn failed_in(xml: &str) -> Vec<String> {
    let Ok(document) = roxmltree::Document::parse(xml) else { return Vec::new() };
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
    let failed = cases.filter(|case| {
        case.children().any(|node| FAILURES[..2].iter().any(|tag| node.has_tag_name(*tag)))
    });
    let names: BTreeSet<&str> = failed.filter_map(|case| case.attribute("name")).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// One paragraph for each test that failed: its name, then what the report says.
fn failures_in(xml: &str, wanted: &dyn Fn(&str) -> bool) -> Option<String> {
    let document = roxmltree::Document::parse(xml).ok()?;
    let mut text = String::new();
    let is_wanted = |case: &roxmltree::Node<'_, '_>| case.attribute("name").is_none_or(wanted);
    let cases = document.descendants().filter(|n| n.has_tag_name("testcase"));
    for case in cases.filter(is_wanted) {
        let failures = case.children().filter(|n| FAILURES.iter().any(|tag| n.has_tag_name(*tag)));
        for failure in failures {
            let text_of = failure.text().map(str::trim).filter(|t| !t.is_empty());
            let why = text_of.or(failure.attribute("message")).unwrap_or("it did not pass");
            let name = case.attribute("name").unwrap_or("(no name)");
            text.push_str(&format!("{name}: {why}\n"));
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_a_report() {
        let xml = r#"<testsuite><testcase name="good"/><testcase name="bad"><failure
            message="expected 1" type="E">E: expected 1
 at A.bad</failure></testcase><testcase name="broken"><error message="no file"/></testcase></testsuite>"#;
        let expected = "bad: E: expected 1\n at A.bad\nbroken: no file\n";
        assert_eq!(failures_in(xml, &|_| true).as_deref(), Some(expected));
        assert_eq!(failed_in(xml), ["bad", "broken"]);
        let one = failures_in(xml, &|name| name == "broken");
        assert_eq!(one.as_deref(), Some("broken: no file\n"));
        assert_eq!(failures_in("<no", &|_| true), None);
    }

    #[test]
    fn methods_by_their_own_names() {
        for test in ["half", "half()", "half(int)[1]", "half{int}[2]", "half[3]"] {
            assert_eq!(identifier(test), "half");
        }
        assert_ne!(identifier("halfway"), "half");
    }

    #[test]
    fn reports_of_earlier_runs_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let xml = "<testsuite><testcase name='x'><failure>no</failure></testcase></testsuite>";
        std::fs::write(folder.path().join("TEST-a.B.xml"), xml).unwrap();
        let folders = [folder.path().to_path_buf()];
        assert!(failures(&folders, "a.B", SystemTime::UNIX_EPOCH).is_some());
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        assert!(failures(&folders, "a.B", later).is_none());
        assert!(failures(&folders, "a.C", SystemTime::UNIX_EPOCH).is_none());
    }
}
