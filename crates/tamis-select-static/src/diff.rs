//! What changed between a snapshot and now.

use crate::definitions::Definitions;
use crate::state::{NodeState, Snapshot};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use tamis_classpath::names::NameId;
use tamis_core::Hash;

/// What is different in one type or file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "change", content = "detail")]
pub enum Change {
    Added,
    Removed,
    /// Flags, supertypes, members or attributes; and the methods whose bodies differ as well.
    Header(Vec<String>),
    /// Only the bodies of these methods.
    Methods(Vec<String>),
    /// Of a method: what it was found by finds another one now (an added override).
    Overridden,
    /// Members or annotations stand in another order; debug information moves with them.
    OnlyOrder,
    /// The file differs, but nothing that a program can see, nor the order of members.
    OnlyDebug,
    /// The content of a file that is no class.
    Content,
    /// It could not be understood, so it counts as changed.
    Unreadable(String),
}

impl Change {
    /// Whether tests can notice.
    pub fn counts(&self) -> bool {
        !matches!(self, Self::OnlyOrder | Self::OnlyDebug)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let methods = |list: &[String]| list.join(", ");
        match self {
            Self::Added => write!(f, "added"),
            Self::Removed => write!(f, "removed"),
            Self::Header(list) if list.is_empty() => write!(f, "header"),
            Self::Header(list) => write!(f, "header; methods {}", methods(list)),
            Self::Methods(list) => write!(f, "methods {}", methods(list)),
            Self::Overridden => write!(f, "another one is found now"),
            Self::OnlyOrder => write!(f, "only the order of members or annotations"),
            Self::OnlyDebug => write!(f, "only debug information"),
            Self::Content => write!(f, "content"),
            Self::Unreadable(why) => write!(f, "cannot be read: {why}"),
        }
    }
}

/// The changes of project types and files since `old`, by node. Names of `old` must have been
/// given ids of now: `ids[i]` is the id of the snapshot's name `i`.
pub fn project_changes(
    definitions: &Definitions,
    old: &Snapshot,
    ids: &[NameId],
    include_debug: bool,
) -> BTreeMap<NameId, Change> {
    let mut changes = BTreeMap::new();
    let mut before: BTreeMap<NameId, &NodeState> = BTreeMap::new();
    for node in &old.nodes {
        let id = ids.get(node.name as usize).copied().unwrap_or(NameId::MAX);
        before.insert(id, node);
        if !definitions.is_defined(id)
            || definitions.origin(id) == Some(crate::definitions::Origin::Library)
        {
            changes.insert(id, Change::Removed);
        }
    }
    for id in definitions.nodes() {
        if definitions.origin(id) == Some(crate::definitions::Origin::Library) {
            continue;
        }
        if let Some(why) = definitions.problem(id) {
            changes.insert(id, Change::Unreadable(why.into()));
            continue;
        }
        let change = match before.get(&id) {
            None => Some(Change::Added),
            Some(old) => changed_node(definitions, id, old, include_debug),
        };
        if let Some(change) = change {
            changes.insert(id, change);
        }
    }
    changes
}

fn changed_node(
    definitions: &Definitions,
    id: NameId,
    old: &NodeState,
    include_debug: bool,
) -> Option<Change> {
    if definitions.fingerprint(id) == Some(old.whole) {
        let facts = definitions.class(id)?.facts;
        return match (include_debug && facts.raw != old.raw, facts.members.order == old.order) {
            (false, _) => None,
            (true, true) => Some(Change::OnlyDebug),
            (true, false) => Some(Change::OnlyOrder),
        };
    }
    let Some(class) = definitions.class(id) else { return Some(Change::Content) };
    let methods = differing(&old.bodies, &class.facts.bodies());
    if class.facts.header == old.header {
        Some(Change::Methods(methods))
    } else {
        Some(Change::Header(methods))
    }
}

/// Methods whose bodies differ, in the form `name(descriptor)`.
fn differing(old: &[(String, Hash)], new: &[(String, Hash)]) -> Vec<String> {
    let old: BTreeMap<&str, Hash> = old.iter().map(|(m, h)| (m.as_str(), *h)).collect();
    let new: BTreeMap<&str, Hash> = new.iter().map(|(m, h)| (m.as_str(), *h)).collect();
    let mut out: Vec<String> = old
        .keys()
        .chain(new.keys())
        .filter(|m| old.get(*m) != new.get(*m))
        .map(|m| (*m).to_owned())
        .collect();
    out.sort();
    out.dedup();
    out
}
