//! The rules of Jenkins' junit-10.xsd, for tests: which elements stand where, with which attributes.

use roxmltree::{Document, Node};

/// An element: what may be in it, which attributes it must have and which it may have.
struct Rule {
    name: &'static str,
    children: &'static [&'static str],
    required: &'static [&'static str],
    optional: &'static [&'static str],
    /// Whether text may be in it.
    text: bool,
}

const fn rule(name: &'static str) -> Rule {
    Rule { name, children: &[], required: &[], optional: &[], text: false }
}

/// Failed, skipped: a text with a message.
const fn ended(name: &'static str) -> Rule {
    Rule { optional: &["type", "message"], text: true, ..rule(name) }
}

/// Surefire's reruns.
const fn rerun(name: &'static str) -> Rule {
    let children = &["stackTrace", "system-out", "system-err"];
    Rule { children, required: &["type"], optional: &["message"], text: true, ..rule(name) }
}

const fn printed(name: &'static str) -> Rule {
    Rule { text: true, ..rule(name) }
}

const RULES: [Rule; 15] = [
    Rule {
        children: &["testsuite"],
        optional: &["name", "time", "tests", "failures", "errors"],
        ..rule("testsuites")
    },
    Rule {
        children: &["testsuite", "properties", "testcase", "system-out", "system-err"],
        required: &["name", "tests", "failures", "errors"],
        optional: &[
            "group",
            "time",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
            "file",
            "log",
            "url",
        ],
        ..rule("testsuite")
    },
    Rule {
        children: &[
            "skipped",
            "error",
            "failure",
            "rerunFailure",
            "rerunError",
            "flakyFailure",
            "flakyError",
            "system-out",
            "system-err",
        ],
        required: &["name"],
        optional: &["time", "classname", "group"],
        ..rule("testcase")
    },
    Rule { children: &["property"], ..rule("properties") },
    Rule { required: &["name", "value"], ..rule("property") },
    ended("skipped"),
    ended("error"),
    ended("failure"),
    rerun("rerunFailure"),
    rerun("rerunError"),
    rerun("flakyFailure"),
    rerun("flakyError"),
    printed("system-out"),
    printed("system-err"),
    printed("stackTrace"),
];

/// Whether a text is a document by the schema.
pub(super) fn check(xml: &str) -> Result<(), String> {
    let document = Document::parse(xml).map_err(|e| e.to_string())?;
    let root = document.root_element();
    if !["testsuites", "testsuite"].contains(&root.tag_name().name()) {
        return Err(format!("{root:?} is no root"));
    }
    root.descendants().filter(Node::is_element).try_for_each(element)
}

fn element(node: Node<'_, '_>) -> Result<(), String> {
    let name = node.tag_name().name();
    let rule = RULES.iter().find(|rule| rule.name == name).ok_or(format!("unknown: {name}"))?;
    for child in node.children().filter(Node::is_element) {
        let child = child.tag_name().name();
        if !rule.children.contains(&child) {
            return Err(format!("{child} in {name}"));
        }
    }
    let text = node.children().filter_map(|c| c.text().filter(|_| c.is_text())).collect::<String>();
    if !rule.text && !text.trim().is_empty() {
        return Err(format!("text in {name}: {text:?}"));
    }
    for required in rule.required {
        node.attribute(*required).ok_or(format!("{name} without {required}"))?;
    }
    for attribute in node.attributes() {
        let attribute = attribute.name();
        if !rule.required.contains(&attribute) && !rule.optional.contains(&attribute) {
            return Err(format!("{attribute} of {name}"));
        }
    }
    match node.attribute("time").filter(|_| name != "testcase") {
        Some(time) if !is_time(time) => Err(format!("time {time:?} of {name}")),
        _ => Ok(()),
    }
}

/// SUREFIRE_TIME, of which we write the part without thousands separators.
fn is_time(text: &str) -> bool {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    whole.chars().chain(part.chars()).all(|c| c.is_ascii_digit())
}
