//! The type graph of all that a classpath defines.
//!
//! Besides inheritance and use, which are always there, the edges that a plain reading of class
//! files misses; each kind can be switched off. Edges lead only to names that are, or were when a
//! test was last proven, defined on the classpath: `java/lang/String` is no node.

use crate::definitions::{Definitions, Origin};
mod texts;

use crate::graph::{Edge, EdgeKind, Graph};
use rayon::prelude::*;
use tamis_classpath::block::List;
use tamis_classpath::names::{NameId, NameSet};
use texts::Texts;

/// A set of kinds of edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeKinds(u16);

impl EdgeKinds {
    pub const ALL: EdgeKinds = EdgeKinds((1 << EdgeKind::ALL.len()) - 1);

    pub fn contains(self, kind: EdgeKind) -> bool {
        self.0 >> kind as u16 & 1 == 1
    }

    /// Without a kind; inheritance and use cannot be switched off.
    #[must_use]
    pub fn without(self, kind: EdgeKind) -> Self {
        match kind {
            EdgeKind::Inherits | EdgeKind::Uses => self,
            _ => Self(self.0 & !(1 << kind as u16)),
        }
    }

    pub fn bits(self) -> u16 {
        self.0
    }
}

/// The graph with its two virtual parts.
#[derive(Debug)]
pub struct TypeGraph {
    pub graph: Graph,
    /// Stands for everything that no class asks for and every test may see.
    pub everywhere: u32,
}

/// Builds the graph. `known` are the names that count as nodes, `tests` the test classes.
pub fn build(
    definitions: &Definitions,
    known: &NameSet,
    tests: &[NameId],
    kinds: EdgeKinds,
) -> TypeGraph {
    let everywhere = definitions.names.len() as u32;
    let texts = Texts::new(definitions, known, kinds);
    let new = || Builder { definitions, known, kinds, edges: Vec::new(), everywhere };
    let nodes: Vec<NameId> = definitions.nodes().collect();
    let mut parts: Vec<Vec<Edge>> = nodes
        .par_chunks(CHUNK)
        .map(|nodes| {
            let mut builder = new();
            let mut package = None;
            for &node in nodes {
                builder.class_edges(node, &texts, &mut package);
            }
            builder.edges
        })
        .collect();
    let mut builder = new();
    builder.service_edges();
    builder.suites(tests);
    builder.seen_everywhere(&texts, tests);
    parts.push(builder.edges);
    TypeGraph { graph: Graph::from_parts(everywhere as usize + 1, &parts), everywhere }
}

/// Nodes or strings that one worker takes at a time.
const CHUNK: usize = 1024;

struct Builder<'a> {
    definitions: &'a Definitions,
    known: &'a NameSet,
    kinds: EdgeKinds,
    edges: Vec<Edge>,
    everywhere: u32,
}

impl<'a> Builder<'a> {
    fn add(&mut self, from: NameId, to: NameId, kind: EdgeKind) {
        if self.kinds.contains(kind) && self.known.contains(to) {
            self.edges.push(Edge { from, to, kind });
        }
    }

    /// `package` is the package of the class before with its description: neighbours share it.
    fn class_edges(
        &mut self,
        node: NameId,
        texts: &Texts<'_>,
        package: &mut Option<(&'a [u8], Option<NameId>)>,
    ) {
        let Some(class) = self.definitions.class(node) else { return };
        let facts = class.facts;
        for (list, kind) in [
            (List::Inherits, EdgeKind::Inherits),
            (List::Uses, EdgeKind::Uses),
            (List::Inlined, EdgeKind::Inlined),
        ] {
            for to in class.ids(list) {
                self.add(node, to, kind);
            }
        }
        for text in class.ids(List::Mentioned) {
            if let Some(&to) = texts.mentioned.get(&text) {
                self.add(node, to, EdgeKind::NamedInString);
            }
        }
        for text in class.ids(List::Texts) {
            for &(to, kind) in texts.named.get(&text).into_iter().flatten() {
                self.add(node, to, kind);
            }
            if facts.looks_up_names {
                for &to in texts.parts.get(&text).into_iter().flatten() {
                    self.add(node, to, EdgeKind::NameParts);
                }
            }
        }
        for (service, providers) in &facts.provides {
            for provider in class.translated(providers) {
                self.add(class.id(*service), provider, EdgeKind::Service);
            }
        }
        let name = self.definitions.names.get(node);
        let Some(end) = name.iter().rposition(|&b| b == b'/') else { return };
        let prefix = &name[..=end];
        let info = match *package {
            Some((last, info)) if last == prefix => info,
            _ => {
                let info = self.definitions.names.find(&[prefix, b"package-info"].concat());
                *package = Some((prefix, info));
                info
            }
        };
        if let Some(info) = info {
            self.add(node, info, EdgeKind::Package);
        }
    }

    /// A service leads to its file, and the file to the providers.
    fn service_edges(&mut self) {
        let mut files: Vec<(NameId, Vec<u8>)> = Vec::new();
        for &node in self.known.members() {
            if let Some(service) =
                self.definitions.names.get(node).strip_prefix(b"/META-INF/services/")
            {
                files.push((
                    node,
                    service.iter().map(|&b| if b == b'.' { b'/' } else { b }).collect(),
                ));
            }
        }
        for (file, service) in files {
            if let Some(resource) = self.definitions.resource(file) {
                for provider in resource.providers() {
                    self.add(file, provider, EdgeKind::Service);
                }
            }
            match self.definitions.names.find(&service) {
                Some(service) if self.known.contains(service) => {
                    self.add(service, file, EdgeKind::Service);
                    // Where a library asks for its own service, no class of ours shows it.
                    if self.definitions.class(service).is_some_and(|s| s.origin == Origin::Library)
                        && self.definitions.origin(file) != Some(Origin::Library)
                    {
                        self.add_everywhere(file, EdgeKind::Service);
                    }
                }
                _ if self.definitions.origin(file) == Some(Origin::Library) => {}
                _ => self.add_everywhere(file, EdgeKind::Service),
            }
        }
    }

    fn add_everywhere(&mut self, to: NameId, kind: EdgeKind) {
        let from = self.everywhere;
        if self.kinds.contains(kind) {
            self.edges.push(Edge { from, to, kind });
        }
    }

    /// Suites that find their members by package, pattern or file depend on all tests.
    fn suites(&mut self, tests: &[NameId]) {
        const EXACT: [&[u8]; 2] = [b"Suite", b"SelectClasses"];
        for &suite in tests {
            let Some(class) = self.definitions.class(suite) else { continue };
            let searches = class.ids(List::ClassAnnotations).any(|a| {
                let name = self.definitions.names.get(a);
                name.strip_prefix(b"org/junit/platform/suite/api/")
                    .is_some_and(|n| !EXACT.contains(&n))
            });
            if searches {
                for &test in tests.iter().filter(|&&t| t != suite) {
                    self.add(suite, test, EdgeKind::NamedInString);
                }
            }
        }
    }

    /// Module descriptors, and resources that no class names.
    fn seen_everywhere(&mut self, texts: &Texts<'_>, tests: &[NameId]) {
        for &node in self.known.members() {
            let name = self.definitions.names.get(node);
            let library = self.definitions.origin(node) == Some(Origin::Library);
            let unnamed = name.first() == Some(&b'/')
                && !name.starts_with(b"/META-INF/services/")
                && !texts.named_resources.contains(&node);
            if unnamed {
                self.add_everywhere(node, EdgeKind::Resource);
            } else if name == b"module-info" && !library {
                self.add_everywhere(node, EdgeKind::Everywhere);
            }
        }
        for &test in tests {
            let to = self.everywhere;
            self.edges.push(Edge { from: test, to, kind: EdgeKind::Everywhere });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inheritance_and_use_stay() {
        let kinds = EdgeKind::ALL.iter().fold(EdgeKinds::ALL, |k, &kind| k.without(kind));
        assert!(kinds.contains(EdgeKind::Inherits) && kinds.contains(EdgeKind::Uses));
        assert!(!kinds.contains(EdgeKind::Service));
    }
}
