//! XML without comments, the order of attributes and the blanks between elements.
//!
//! Does not count: comments; the order of attributes and the kind of their quotes; `<a/>` or `<a></a>`;
//! blanks inside of tags; whether a character is written as itself, as a reference or in CDATA; `\r\n` or
//! `\n`; a byte order mark. Entities that the document defines are resolved.
//!
//! Blanks are dropped where an element holds other elements and nothing else; in an element
//! without elements (`<sep> </sep>`), beside other text, below `xml:space="preserve"`, and where
//! they are written as a reference or CDATA they count. Processing instructions count wherever they stand,
//! and so do prefixes. The XML declaration counts by its bytes. So does a document type declaration, with all
//! that stands before the root element.

use roxmltree::{Document, Node, NodeType, ParsingOptions};
use tamis_core::{Hash, Hasher};

const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

pub(super) fn hash(bytes: &[u8]) -> Option<Hash> {
    let source = std::str::from_utf8(bytes).ok()?;
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(source, options).ok()?;
    let root = document.root_element();
    let mut writer = Writer { hasher: Hasher::new(), text: String::new() };
    let prolog = source.get(..root.range().start)?;
    if prolog.contains("<!DOCTYPE") {
        writer.put(b'!', prolog.as_bytes());
    } else if let Some(declaration) = declaration(prolog) {
        writer.put(b'?', declaration.as_bytes());
    }
    for node in document.root().children() {
        match node.is_element() {
            true => writer.tree(source, node),
            false => writer.instruction(node),
        }
    }
    Some(writer.hasher.finish())
}

/// `<?xml version="1.0"`, which parsers do not hand out.
fn declaration(prolog: &str) -> Option<&str> {
    let prolog = prolog.trim_start_matches('\u{feff}');
    let after = prolog.strip_prefix("<?xml")?;
    let is_it = after.starts_with([' ', '\t', '\r', '\n']);
    prolog.split_once("?>").filter(|_| is_it).map(|(declaration, _)| declaration)
}

/// The name of an element with its prefix, as it is written.
fn written_name<'s>(source: &'s str, element: Node) -> &'s str {
    let tag = source.get(element.range().start..).and_then(|tag| tag.strip_prefix('<'));
    let ends = [' ', '\t', '\r', '\n', '/', '>'];
    tag.and_then(|tag| tag.split(ends).next()).unwrap_or_default()
}

/// An element whose end has not been reached.
struct Open<'a> {
    element: Node<'a, 'a>,
    /// `xml:space="preserve"` is in force.
    preserve: bool,
    /// Its text is only there to part its elements.
    drop_text: bool,
}

impl<'a> Open<'a> {
    fn new(source: &str, element: Node<'a, 'a>, preserve_above: bool) -> Self {
        let preserve = match element.attribute((XML_NAMESPACE, "space")) {
            Some("preserve") => true,
            Some("default") => false,
            _ => preserve_above,
        };
        let drop_text = !preserve
            && element.children().any(|n| n.is_element())
            && element.children().filter(Node::is_text).all(|n| is_blank(source, n));
        Self { element, preserve, drop_text }
    }
}

/// Whether a text node is blank, and written so: not as a reference or CDATA.
fn is_blank(source: &str, node: Node) -> bool {
    let blank = |text: &str| text.bytes().all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'));
    let text = node.text().unwrap_or_default();
    // The range of a node that was put together from several pieces may be that of one piece.
    blank(text) && source.get(node.range()).is_some_and(|s| blank(s) && s.len() >= text.len())
}

struct Writer {
    hasher: Hasher,
    /// Text since the last tag: comments do not part it.
    text: String,
}

impl Writer {
    fn put(&mut self, what: u8, bytes: &[u8]) {
        self.hasher.update(&[what]);
        self.hasher.update(&(bytes.len() as u64).to_le_bytes());
        self.hasher.update(bytes);
    }

    /// Not recursive: a document may be nested deeper than the stack.
    fn tree(&mut self, source: &str, root: Node) {
        self.start(source, root);
        let mut open = vec![Open::new(source, root, false)];
        let mut next = root.first_child();
        while let Some(inner) = open.last() {
            let Some(node) = next else {
                self.flush_text();
                self.hasher.update(b"/");
                next = inner.element.next_sibling();
                open.pop();
                continue;
            };
            if node.is_element() {
                self.flush_text();
                self.start(source, node);
                let preserve = inner.preserve;
                open.push(Open::new(source, node, preserve));
                next = node.first_child();
            } else {
                if node.node_type() == NodeType::Text && !inner.drop_text {
                    self.text.push_str(node.text().unwrap_or_default());
                }
                self.instruction(node);
                next = node.next_sibling();
            }
        }
    }

    fn flush_text(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.put(b't', text.as_bytes());
        }
    }

    /// The node, if it is a processing instruction.
    fn instruction(&mut self, node: Node) {
        if let Some(instruction) = node.pi() {
            self.flush_text();
            self.put(b'i', instruction.target.as_bytes());
            self.put(b'v', instruction.value.unwrap_or_default().as_bytes());
        }
    }

    fn start(&mut self, source: &str, element: Node) {
        let name = element.tag_name();
        self.put(b'w', written_name(source, element).as_bytes());
        self.put(b'<', name.namespace().unwrap_or_default().as_bytes());
        self.put(b':', name.name().as_bytes());
        // Prefixes count where they are declared: values may use them.
        let declared = |node: Node| {
            let mut all: Vec<(Option<String>, String)> = node
                .namespaces()
                .map(|n| (n.name().map(str::to_owned), n.uri().to_owned()))
                .collect();
            all.sort_unstable();
            all
        };
        let same_as_above =
            element.parent().is_some_and(|p| p.namespaces().eq(element.namespaces()));
        if !same_as_above {
            for (prefix, uri) in declared(element) {
                self.put(b'p', prefix.unwrap_or_default().as_bytes());
                self.put(b'u', uri.as_bytes());
            }
        }
        let written = |range: std::ops::Range<usize>| source.get(range).unwrap_or_default();
        let mut attributes: Vec<(&str, &str, &str, &str)> = element
            .attributes()
            .map(|a| {
                (a.namespace().unwrap_or_default(), a.name(), written(a.range_qname()), a.value())
            })
            .collect();
        attributes.sort_unstable();
        for (namespace, name, written, value) in attributes {
            self.put(b'w', written.as_bytes());
            self.put(b'n', namespace.as_bytes());
            self.put(b'a', name.as_bytes());
            self.put(b'=', value.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        let parse =
            |text: &str| hash(text.as_bytes()).unwrap_or_else(|| panic!("does not parse: {text}"));
        parse(a) == parse(b)
    }

    #[test]
    fn comments_order_and_indentation_do_not_count() {
        assert!(same(
            "<p>\n  <!-- why -->\n  <a x='1' y=\"2\"/>\n</p>\n<!-- end -->",
            "<p><a  y='2' x='1' ></a></p>"
        ));
        assert!(same("\u{feff}<?xml version='1.0'?><a/>", "<?xml version='1.0'?>\n<!-- c --><a/>"));
        assert!(same("<p>\n <?do it?>\n <a/></p>", "<p><?do it?><!-- why --><a/></p>"));
        assert!(same("<a>foo<!-- c -->bar</a>", "<a>foobar</a>"));
        assert!(same("<a>x &lt; &#65;</a>", "<a><![CDATA[x < A]]></a>"));
        assert!(same("<a>x\r\ny</a>", "<a>x\ny</a>"));
    }

    #[test]
    fn content_counts() {
        for (a, b) in [
            ("<a>x</a>", "<a>y</a>"),
            ("<a>x</a>", "<a> x</a>"),
            ("<a> </a>", "<a></a>"),
            ("<p>x <b/> </p>", "<p>x <b/></p>"),
            ("<p xml:space='preserve'> <b/></p>", "<p xml:space='preserve'><b/></p>"),
            ("<p xml:space='preserve'><q> <b/></q></p>", "<p xml:space='preserve'><q><b/></q></p>"),
            ("<p>&#32;<b/></p>", "<p><b/></p>"),
            ("<p><![CDATA[ ]]><b/></p>", "<p><b/></p>"),
            ("<p> &#32; <b/></p>", "<p><b/></p>"),
            ("<p> <![CDATA[ ]]> <b/></p>", "<p><b/></p>"),
            ("<a><b/><c/></a>", "<a><c/><b/></a>"),
            ("<a><b/><c/></a>", "<a><b><c/></b></a>"),
            ("<a x='1'/>", "<a x='2'/>"),
            ("<a x='1'/>", "<a y='1'/>"),
            ("<a xmlns='u'/>", "<a xmlns='v'/>"),
            ("<a xmlns:p='u' t='p:x'/>", "<a xmlns:q='u' t='p:x'/>"),
            (
                "<?xml version='1.0' encoding='UTF-8'?><a/>",
                "<?xml version='1.0' encoding='ISO-8859-1'?><a/>",
            ),
            (
                "<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>",
                "<!DOCTYPE a [<!ENTITY e 'y'>]><a>&e;</a>",
            ),
            ("<!DOCTYPE a SYSTEM 'x.dtd'><a/>", "<!DOCTYPE a SYSTEM 'y.dtd'><a/>"),
        ] {
            assert!(!same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn processing_instructions_count_wherever_they_stand() {
        for (a, b) in [
            ("<?style a?><r/>", "<?style b?><r/>"),
            ("<?style a?><r/>", "<r/>"),
            ("<?xml-stylesheet href='a'?><r/>", "<?xml-stylesheet href='b'?><r/>"),
            ("<?xml version='1.0'?><?x a?><r/>", "<?xml version='1.0'?><?x b?><r/>"),
            ("<r><?x a?></r>", "<r><?x b?></r>"),
            ("<r><?x a?></r>", "<r><?y a?></r>"),
            ("<r><?x?></r>", "<r/>"),
            ("<r><b/><?x a?><c/></r>", "<r><?x a?><b/><c/></r>"),
            ("<r>te<?x?>xt</r>", "<r>text</r>"),
            ("<r>te<?x?>xt</r>", "<r>tex<?x?>t</r>"),
            ("<r/><?x a?>", "<r/><?x b?>"),
            ("<r/><?x a?>", "<?x a?><r/>"),
            ("<!DOCTYPE r><r/><?x a?>", "<!DOCTYPE r><r/>"),
        ] {
            assert!(!same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn prefixes_count() {
        let with = |inner: &str| format!("<r xmlns:p='u' xmlns:q='u'>{inner}</r>");
        assert!(!same(&with("<p:a/>"), &with("<q:a/>")));
        assert!(!same(&with("<a p:x='1'/>"), &with("<a q:x='1'/>")));
        assert!(same(&with("<p:a/>"), &with("<p:a></p:a>")));
    }

    #[test]
    fn comments_do_not_count_below_a_document_type() {
        let head = "<!DOCTYPE hibernate-mapping PUBLIC \"-//H//EN\" \"http://h/m.dtd\">";
        assert!(same(&format!("{head}<a><!-- c --><b/></a>"), &format!("{head}<a>\n<b/></a>")));
    }

    #[test]
    fn only_well_formed_documents_parse() {
        for text in [
            "",
            "<a>",
            "<a></b>",
            "<a/><b/>",
            "<a x='1' x='2'/>",
            "<a>&nope;</a>",
            "<a><!-- -- --></a>",
            "text",
            "<p:a/>",
            "<a>\u{1}</a>",
            "<a x=1/>",
        ] {
            assert_eq!(hash(text.as_bytes()), None, "{text}");
        }
        assert_eq!(hash(b"<a>\xe9</a>"), None);
    }

    #[test]
    fn deep_nesting_and_entity_bombs_end() {
        let deep = format!("{}{}", "<a>".repeat(200_000), "</a>".repeat(200_000));
        assert_eq!(hash(deep.as_bytes()), hash(deep.as_bytes()));
        let mut bomb = String::from("<!DOCTYPE a [<!ENTITY e0 'x'>");
        for i in 1..40 {
            bomb.push_str(&format!("<!ENTITY e{i} '&e{};&e{};'>", i - 1, i - 1));
        }
        bomb.push_str("]><a>&e39;</a>");
        assert_eq!(hash(bomb.as_bytes()), None);
    }
}
