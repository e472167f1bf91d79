//! The reports that Surefire and Failsafe wrote about a test class, kept with its record.
//!
//! Where a test class is skipped its reports are put back as they were, so that whoever reads the folder finds
//! those of all test classes, also after `mvn clean`. Each says that it is from tamis and from which record: the
//! XML in a property, the text in its last line. What the record proves is what a run would report now, so it
//! also takes the place of a report of another state.
//!
//! A file belongs to a test class by its name (`TEST-a.FooTest.xml`, `a.FooTest.txt`, `a.FooTest-output.txt`, with
//! the suffix of the goal, and those of classes nested in it). Where a runner writes about several classes in one
//! file (TestNG), the parts are found by the class that each `testcase` names. Names by other rules, such as
//! phrases of JUnit 5, are not found.

use roxmltree::Document;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::Path;
use std::time::SystemTime;
use tamis_core::RecordId;
use tamis_dynamic::outermost;
use tamis_store::{Store, WithRecord};

const VERSION: u32 = 1;

/// Larger ones are not kept.
const LARGEST: u64 = 4 << 20;

/// One file, by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReportFile {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    version: u32,
    files: Vec<ReportFile>,
}

pub(crate) fn to_bytes(files: Vec<ReportFile>) -> Option<Vec<u8>> {
    tamis_wire::to_bytes(&Kept { version: VERSION, files }).ok()
}

pub(crate) fn load(store: &Store, record: RecordId) -> Vec<ReportFile> {
    let read = || {
        let bytes = store.kept_with(WithRecord::Reports, record).ok()??;
        let kept: Kept = tamis_wire::from_bytes(&bytes).ok()?;
        (kept.version == VERSION).then_some(kept.files)
    };
    read().unwrap_or_default()
}

/// The reports in a folder that were written since then.
pub(crate) fn written_since(folder: &Path, since: SystemTime) -> Vec<ReportFile> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_report =
            name.ends_with(".txt") || name.starts_with("TEST-") && name.ends_with(".xml");
        let is_new = |meta: &std::fs::Metadata| {
            meta.is_file() && meta.len() <= LARGEST && meta.modified().is_ok_and(|at| at >= since)
        };
        if is_report && entry.metadata().is_ok_and(|meta| is_new(&meta)) {
            files.extend(std::fs::read(entry.path()).ok().map(|bytes| ReportFile { name, bytes }));
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

/// The reports of one test class among those that a goal wrote.
pub(crate) fn of_class(files: &[ReportFile], class: &str, suffix: &str) -> Vec<ReportFile> {
    let own = files.iter().filter(|file| is_of(&file.name, class, suffix)).cloned();
    let own: Vec<ReportFile> = own.collect();
    if !own.is_empty() {
        return own;
    }
    let parts = files.iter().filter_map(|file| part_of(file, class));
    let name = format!("TEST-{class}.xml");
    parts.map(|bytes| ReportFile { name: name.clone(), bytes }).take(1).collect()
}

/// Whether a file of this name is about the class, or one nested in it.
fn is_of(name: &str, class: &str, suffix: &str) -> bool {
    let stem = match name.strip_suffix(".xml") {
        Some(xml) => xml.strip_prefix("TEST-"),
        None => name.strip_suffix(".txt").map(|text| text.strip_suffix("-output").unwrap_or(text)),
    };
    let Some(stem) = stem else { return false };
    let stem = match suffix {
        "" => stem,
        suffix => stem.strip_suffix(suffix).and_then(|s| s.strip_suffix('-')).unwrap_or(stem),
    };
    stem.strip_prefix(class).is_some_and(|rest| rest.is_empty() || rest.starts_with('$'))
}

/// What a report about several classes says about one of them, as a report of its own.
fn part_of(file: &ReportFile, class: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(&file.bytes).ok().filter(|_| file.name.ends_with(".xml"))?;
    if !text.contains(class) {
        return None;
    }
    let document = Document::parse(text).ok()?;
    let is_of = |case: &roxmltree::Node<'_, '_>| {
        case.has_tag_name("testcase")
            && case.attribute("classname").is_some_and(|name| outermost(name) == class)
    };
    let cases: Vec<_> = document.descendants().filter(is_of).collect();
    if cases.is_empty() {
        return None;
    }
    let count = |tag: &str| {
        let has = |case: &&roxmltree::Node<'_, '_>| case.children().any(|n| n.has_tag_name(tag));
        cases.iter().filter(has).count()
    };
    let time: f64 =
        cases.iter().filter_map(|case| case.attribute("time")?.parse::<f64>().ok()).sum();
    let mut report = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{class}\" time=\"{time:.3}\" \
         tests=\"{}\" errors=\"{}\" skipped=\"{}\" failures=\"{}\">\n",
        cases.len(),
        count("error"),
        count("skipped"),
        count("failure"),
    );
    for case in cases {
        report.push_str("  ");
        report.push_str(&text[case.range()]);
        report.push('\n');
    }
    report.push_str("</testsuite>\n");
    Some(report.into_bytes())
}

/// The reports of a skipped test class that its folder lacks.
pub(crate) fn missing(folder: &Path, kept: Vec<ReportFile>, record: RecordId) -> Vec<ReportFile> {
    let lacks = |file: ReportFile| {
        let there = std::fs::read(folder.join(&file.name)).ok();
        let marked = marked(&file, record)?;
        let is_there = there.is_some_and(|there| there == file.bytes || there == marked);
        (!is_there).then_some(ReportFile { bytes: marked, ..file })
    };
    kept.into_iter().filter_map(lacks).collect()
}

/// Those of the classes about which a report in the folder speaks that is called like none of them.
pub(crate) fn classes_in_joint_reports(folder: &Path, classes: &HashSet<&str>) -> HashSet<String> {
    let is_joint = |file: &ReportFile| {
        let class = file.name.strip_prefix("TEST-").and_then(|name| name.strip_suffix(".xml"));
        class.is_some_and(|class| !classes.contains(outermost(class)))
    };
    let mut found = HashSet::new();
    for file in written_since(folder, SystemTime::UNIX_EPOCH).iter().filter(|f| is_joint(f)) {
        let text = std::str::from_utf8(&file.bytes).unwrap_or_default();
        let Ok(document) = Document::parse(text) else { continue };
        let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
        let names = cases.filter_map(|case| case.attribute("classname")).map(outermost);
        found.extend(names.filter(|name| classes.contains(name)).map(str::to_owned));
    }
    found
}

/// With the mark that it is from a record; `None` for what is no report.
fn marked(file: &ReportFile, record: RecordId) -> Option<Vec<u8>> {
    let record = record.0;
    if !file.name.ends_with(".xml") {
        let line =
            format!("tamis: skipped, nothing it looked at has changed; from record #{record}\n");
        return Some([&file.bytes, line.as_bytes()].concat());
    }
    let text = std::str::from_utf8(&file.bytes).ok()?;
    let property = format!("<property name=\"tamis.record\" value=\"{record}\"/>");
    let (at, properties) = {
        let document = Document::parse(text).ok()?;
        let suite = document.descendants().find(|node| node.has_tag_name("testsuite"))?;
        let properties = suite.children().find(|node| node.has_tag_name("properties"));
        let start = |node: roxmltree::Node<'_, '_>| node.range().start;
        (start(suite), properties.map(start))
    };
    let (tag, around) = match properties {
        Some(properties) => (properties, false),
        None => (at, true),
    };
    let end = tag + end_of_tag(&text[tag..])?;
    let is_empty = text[..end].ends_with("/>");
    let name = if around { "testsuite" } else { "properties" };
    let mut new = text[..end].to_owned();
    if is_empty {
        new.truncate(end - 2);
        new.push('>');
    }
    new.push_str(&match around {
        true => format!("\n  <properties>\n    {property}\n  </properties>"),
        false => format!("\n    {property}"),
    });
    if is_empty {
        new.push_str(&format!("</{name}>"));
    }
    new.push_str(&text[end..]);
    Some(new.into_bytes())
}

/// Where a start tag ends: behind the first `>` outside of quotes.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, sign) in text.char_indices() {
        match quote {
            Some(open) if sign == open => quote = None,
            None if sign == '"' || sign == '\'' => quote = Some(sign),
            None if sign == '>' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> ReportFile {
        ReportFile { name: name.into(), bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn a_mark_goes_into_the_properties_of_the_suite() {
        let cases = [
            (
                "<testsuite a='>'><properties><property name='x' value='y'/></properties></testsuite>",
                2,
            ),
            ("<testsuite><properties/><testcase name='t'/></testsuite>", 1),
            ("<?xml version='1.0'?><testsuite name='a'><testcase name='t'/></testsuite>", 1),
            ("<testsuite name='a'/>", 1),
        ];
        for (xml, count) in cases {
            let new = marked(&file("TEST-a.xml", xml), RecordId(7)).unwrap();
            let new = String::from_utf8(new).unwrap();
            let document = Document::parse(&new).unwrap();
            let suite = document.root_element();
            let first = suite.children().find(roxmltree::Node::is_element).unwrap();
            assert!(first.has_tag_name("properties"), "{new}");
            let properties: Vec<_> =
                first.children().filter(|node| node.has_tag_name("property")).collect();
            assert_eq!(properties.len(), count, "{new}");
            assert_eq!(properties[0].attribute("name"), Some("tamis.record"));
            assert_eq!(properties[0].attribute("value"), Some("7"));
            let cases = |xml: &str| xml.matches("<testcase").count();
            assert_eq!(cases(&new), cases(xml));
        }
        assert_eq!(marked(&file("TEST-a.xml", "<testsuite"), RecordId(7)), None);
    }

    #[test]
    fn files_of_a_class_by_their_names() {
        let is = |name: &str, suffix: &str| is_of(name, "a.FooTest", suffix);
        for name in
            ["TEST-a.FooTest.xml", "a.FooTest.txt", "a.FooTest-output.txt", "TEST-a.FooTest$In.xml"]
        {
            assert!(is(name, ""), "{name}");
        }
        assert!(is("TEST-a.FooTest-jdk8.xml", "jdk8") && is("a.FooTest-jdk8.txt", "jdk8"));
        for name in
            ["TEST-a.FooTests.xml", "TEST-b.a.FooTest.xml", "a.FooTest.xml", "TEST-a.Foo.xml"]
        {
            assert!(!is(name, ""), "{name}");
        }
    }

    #[test]
    fn one_report_about_several_classes() {
        let all = file(
            "TEST-TestSuite.xml",
            "<testsuite name='TestSuite'><testcase name='x' classname='a.A' time='0.5'/>\
             <testcase name='y' classname='a.B' time='1'><skipped/></testcase>\
             <testcase name='z' classname='a.A' time='0.25'/></testsuite>",
        );
        let own = of_class(&[all], "a.A", "");
        assert_eq!(own.len(), 1);
        let text = String::from_utf8(own[0].bytes.clone()).unwrap();
        assert_eq!(own[0].name, "TEST-a.A.xml");
        assert!(text.contains("tests=\"2\"") && text.contains("time=\"0.750\""), "{text}");
        assert!(text.contains("name='z'") && !text.contains("name='y'"), "{text}");
        assert!(Document::parse(&text).is_ok());
    }

    #[test]
    fn what_is_there_already_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let kept = vec![file("TEST-a.xml", "<testsuite/>"), file("a.txt", "fine\n")];
        let all = missing(folder.path(), kept.clone(), RecordId(3));
        assert_eq!(all.len(), 2);
        assert!(all[1].bytes.ends_with(b"from record #3\n"));
        std::fs::write(folder.path().join("TEST-a.xml"), "<testsuite/>").unwrap();
        std::fs::write(folder.path().join("a.txt"), &all[1].bytes).unwrap();
        assert_eq!(missing(folder.path(), kept.clone(), RecordId(3)), []);
        // One of another state is not what this record says.
        std::fs::write(folder.path().join("TEST-a.xml"), "<testsuite errors='1'/>").unwrap();
        assert_eq!(missing(folder.path(), kept, RecordId(3)).len(), 1);
    }
}
