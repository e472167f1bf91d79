//! XML of poms as a plain tree, and how two of them become one.

use roxmltree::{Document, Node, ParsingOptions};
use std::borrow::Cow;

/// An element. Text is trimmed; comments and the like are gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: Name,
    pub(crate) text: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) children: Vec<Element>,
}

/// A name of an element. A pom has thousands, and nearly all are among a few.
pub(crate) type Name = Cow<'static, str>;

/// In order. These need no memory of their own.
const USUAL: [&str; 44] = [
    "activation",
    "artifactId",
    "build",
    "classifier",
    "configuration",
    "dependencies",
    "dependency",
    "dependencyManagement",
    "description",
    "exclusion",
    "exclusions",
    "execution",
    "executions",
    "goal",
    "goals",
    "groupId",
    "id",
    "inherited",
    "modelVersion",
    "module",
    "modules",
    "name",
    "optional",
    "packaging",
    "parent",
    "phase",
    "plugin",
    "pluginManagement",
    "plugins",
    "profile",
    "profiles",
    "project",
    "properties",
    "relativePath",
    "repositories",
    "repository",
    "resource",
    "resources",
    "scope",
    "source",
    "target",
    "type",
    "url",
    "version",
];

pub(crate) fn name(text: &str) -> Name {
    match USUAL.binary_search(&text) {
        Ok(at) => Cow::Borrowed(USUAL[at]),
        Err(_) => Cow::Owned(text.to_owned()),
    }
}

/// Deeper than any pom; foreign bytes must not exhaust the stack.
const MOST_DEPTH: usize = 128;

impl Element {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        Self { name: self::name(name), text: text.into(), ..Self::default() }
    }

    /// Reads a document; the error says what is wrong with it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = decode(bytes);
        let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
        let document = Document::parse_with_options(&text, options).map_err(|e| e.to_string())?;
        read(document.root_element(), 0).ok_or_else(|| "elements are nested too deeply".into())
    }

    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|c| c.name == name)
    }

    pub(crate) fn child_mut(&mut self, name: &str) -> Option<&mut Self> {
        self.children.iter_mut().find(|c| c.name == name)
    }

    /// The child of that name, made where it is missing.
    pub(crate) fn make(&mut self, name: &str) -> &mut Self {
        let at = self.children.iter().position(|c| c.name == name).unwrap_or_else(|| {
            self.children.push(Self::new(name, ""));
            self.children.len() - 1
        });
        &mut self.children[at]
    }

    /// The text of a child that is not empty.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|c| c.text.as_str()).filter(|t| !t.is_empty())
    }

    /// The children of a child: `dependencies` gives each `dependency`.
    pub(crate) fn list(&self, name: &str) -> &[Self] {
        self.child(name).map_or(&[], |c| &c.children)
    }

    /// Follows names down.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |element, name| element.child(name))
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.children.retain(|c| c.name != name);
    }

    /// Does something to every text and attribute of the tree.
    pub(crate) fn texts(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.text);
        self.attributes.iter_mut().for_each(|(_, value)| change(value));
        for child in &mut self.children {
            child.texts(change);
        }
    }

    /// Takes over what this element does not say itself, as Maven does with configurations.
    pub(crate) fn take_over(&mut self, recessive: &Self) {
        if self.attribute("combine.self") == Some("override") {
            return;
        }
        for (name, value) in &recessive.attributes {
            if self.attribute(name).is_none() {
                self.attributes.push((name.clone(), value.clone()));
            }
        }
        if self.text.is_empty() && self.children.is_empty() {
            self.text.clone_from(&recessive.text);
        }
        if self.attribute("combine.children") == Some("append") {
            let own = std::mem::take(&mut self.children);
            self.children = recessive.children.iter().cloned().chain(own).collect();
            return;
        }
        let mut taken = vec![false; self.children.len()];
        for child in &recessive.children {
            let same = (0..taken.len()).find(|&n| !taken[n] && self.children[n].name == child.name);
            match same {
                Some(n) => {
                    taken[n] = true;
                    self.children[n].take_over(child);
                }
                None if self.children.iter().any(|c| c.name == child.name) => {}
                None => self.children.push(child.clone()),
            }
        }
    }
}

fn read(node: Node<'_, '_>, depth: usize) -> Option<Element> {
    if depth > MOST_DEPTH {
        return None;
    }
    let mut element = Element::new(node.tag_name().name(), "");
    let attributes = node.attributes();
    element.attributes = attributes.map(|a| (a.name().into(), a.value().into())).collect();
    for child in node.children() {
        if child.is_element() {
            element.children.push(read(child, depth + 1)?);
        } else if let Some(text) = child.text().filter(|_| child.is_text()) {
            element.text.push_str(text);
        }
    }
    let trimmed = element.text.trim();
    if trimmed.len() < element.text.len() {
        element.text = trimmed.to_owned();
    }
    Some(element)
}

/// UTF-8, or each byte a character: names in poms are ASCII, and what counts is that different bytes
/// stay different.
fn decode(bytes: &[u8]) -> String {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&b| char::from(b)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Element {
        Element::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn reads_what_counts() {
        let a = parse("<a x='1'><!-- no --><b> t </b><c/></a>");
        assert_eq!(a.text_of("b"), Some("t"));
        assert_eq!((a.text_of("c"), a.attribute("x")), (None, Some("1")));
        assert_eq!(parse("<a>x<![CDATA[<y>]]></a>").text, "x<y>");
        assert_eq!(parse("\u{feff}<a>b</a>").text, "b");
        let latin = Element::parse(b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe4</a>");
        assert_eq!(latin.unwrap().text, "ä");
        assert_eq!(parse("<!DOCTYPE a [<!ENTITY e 'v'>]><a>&e;</a>").text, "v");
        assert!(Element::parse(b"<a>").is_err() && Element::parse(b"").is_err());
    }

    #[test]
    fn usual_names_are_in_order_and_cost_nothing() {
        assert!(USUAL.is_sorted());
        assert!(matches!(name("groupId"), Cow::Borrowed("groupId")));
        assert_eq!(name("other"), Name::from("other".to_owned()));
    }

    #[test]
    fn deep_trees_are_refused() {
        let deep = format!("{}{}", "<a>".repeat(5000), "</a>".repeat(5000));
        assert!(Element::parse(deep.as_bytes()).is_err());
    }

    #[test]
    fn configurations_become_one() {
        let merged = |dominant: &str, recessive: &str| {
            let mut element = parse(dominant);
            element.take_over(&parse(recessive));
            element
        };
        assert_eq!(
            merged("<c><a>1</a></c>", "<c><a>2</a><b>3</b></c>"),
            parse("<c><a>1</a><b>3</b></c>")
        );
        let lists = merged("<c><l><i>1</i></l></c>", "<c><l><i>2</i><i>3</i></l></c>");
        assert_eq!(lists, parse("<c><l><i>1</i></l></c>"));
        let append =
            merged("<c><l combine.children='append'><i>1</i></l></c>", "<c><l><i>2</i></l></c>");
        assert_eq!(
            append.child("l").unwrap().children,
            [Element::new("i", "2"), Element::new("i", "1")]
        );
        let own = merged("<c combine.self='override'><a/></c>", "<c><b>3</b></c>");
        assert!(own.child("b").is_none());
        assert_eq!(merged("<c/>", "<c>t</c>").text, "t");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Element::parse(&bytes);
        }
    }
}
