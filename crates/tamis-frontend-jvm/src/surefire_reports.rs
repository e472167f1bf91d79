//! What failed test classes reported, from the reports that build tools write (JUnit XML as Surefire,
//! Failsafe, Gradle and Ant write it). Reports under other names are not found; a message is all that is lost.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Larger reports are not read.
const LARGEST: u64 = 16 << 20;

/// The failures of a test class, from a report that was written since `began`.
pub fn failures(folders: &[PathBuf], class: &str, began: SystemTime) -> Option<Vec<u8>> {
    let name = format!("TEST-{class}.xml");
    folders.iter().find_map(|folder| read(&folder.join(&name), began))
}

fn read(file: &Path, began: SystemTime) -> Option<Vec<u8>> {
    let meta = std::fs::metadata(file).ok()?;
    if meta.len() > LARGEST || meta.modified().ok()? < began {
        return None;
    }
    let text = failures_in(&std::fs::read_to_string(file).ok()?)?;
    (!text.is_empty()).then(|| text.into_bytes())
}

/// One paragraph for each test that failed: its name, then what the report says.
fn failures_in(xml: &str) -> Option<String> {
    let document = roxmltree::Document::parse(xml).ok()?;
    let mut text = String::new();
    for case in document.descendants().filter(|n| n.has_tag_name("testcase")) {
        let failures = case.children().filter(|n| {
            ["failure", "error", "flakyFailure", "flakyError"].iter().any(|t| n.has_tag_name(*t))
        });
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
        assert_eq!(failures_in(xml).as_deref(), Some(expected));
        assert_eq!(failures_in("<no"), None);
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
