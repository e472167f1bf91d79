//! Classes and files that strings name.

use super::{CHUNK, EdgeKinds};
use crate::definitions::{Definitions, Origin};
use crate::graph::EdgeKind;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use tamis_classpath::block::List;
use tamis_classpath::names::{NameId, NameSet};

/// Fewer characters than this in a string say nothing about a class name.
const SHORTEST_PART: usize = 3;

/// What the strings of classes name.
pub(super) struct Texts<'a> {
    /// Classes and resources that a string names exactly.
    pub(super) named: FxHashMap<NameId, Vec<(NameId, EdgeKind)>>,
    /// Classes that a part of a longer string names. Files that are mentioned do not count as named: a message that
    /// mentions a file says nothing about who reads it.
    pub(super) mentioned: FxHashMap<NameId, NameId>,
    /// Classes of whose name a string is a part.
    pub(super) parts: FxHashMap<NameId, Vec<NameId>>,
    pub(super) named_resources: FxHashSet<NameId>,
    definitions: &'a Definitions,
}

/// What is known of a string before it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TextOf {
    NoClass,
    Class,
    /// A class that looks up classes by name.
    Lookup,
}

impl<'a> Texts<'a> {
    pub(super) fn new(definitions: &'a Definitions, known: &NameSet, kinds: EdgeKinds) -> Self {
        let mut owner = vec![TextOf::NoClass; definitions.names.len()];
        for node in definitions.nodes() {
            let Some(class) = definitions.class(node) else { continue };
            let kind = if class.facts.looks_up_names { TextOf::Lookup } else { TextOf::Class };
            for text in class.ids(List::Texts) {
                if let Some(owner) = owner.get_mut(text as usize) {
                    *owner = kind.max(*owner);
                }
            }
        }
        let texts_of = |wanted: TextOf| -> Vec<NameId> {
            let all = (0..).zip(&owner).filter(|(_, owner)| **owner >= wanted);
            all.map(|(text, _)| text).collect()
        };
        let resources = ResourceKeys::new(definitions, known);
        let named: Vec<(NameId, Targets)> = texts_of(TextOf::Class)
            .par_chunks(CHUNK)
            .flat_map_iter(|texts| {
                let find = |&text| Some((text, exact(definitions, text, known, &resources)?));
                texts.iter().filter_map(find).collect::<Vec<_>>()
            })
            .collect();
        let mut texts = Self {
            named: FxHashMap::default(),
            mentioned: mentioned(definitions, known),
            parts: FxHashMap::default(),
            named_resources: FxHashSet::default(),
            definitions,
        };
        for (text, targets) in named {
            texts.named_resources.extend(targets.iter().filter(|t| t.2).map(|t| t.0));
            texts.named.insert(text, targets.into_iter().map(|(to, kind, _)| (to, kind)).collect());
        }
        if kinds.contains(EdgeKind::NameParts) {
            texts.find_parts(&texts_of(TextOf::Lookup), known);
        }
        texts
    }

    /// Strings of classes that look up names, as parts of the names of project classes.
    ///
    /// A part consists of whole words of the name, so only the names that hold its rarest word are
    /// compared.
    fn find_parts(&mut self, of_lookups: &[NameId], known: &NameSet) {
        let parts: Vec<(NameId, String)> = of_lookups
            .iter()
            .map(|&text| (text, self.definitions.names.display(text)))
            .filter(|(_, part)| part.len() >= SHORTEST_PART)
            .collect();
        if parts.is_empty() {
            return;
        }
        let names: Vec<(NameId, String)> = known
            .members()
            .iter()
            .filter(|&&n| self.definitions.origin(n) != Some(Origin::Library))
            .filter(|&&n| self.definitions.names.get(n).first() != Some(&b'/'))
            .map(|&n| (n, self.definitions.names.display(n)))
            .collect();
        let mut holders: FxHashMap<&str, Vec<u32>> =
            parts.iter().flat_map(|(_, part)| words(part)).map(|w| (w, Vec::new())).collect();
        for (i, (_, name)) in names.iter().enumerate() {
            for word in words(name) {
                if let Some(list) = holders.get_mut(word)
                    && list.last() != Some(&(i as u32))
                {
                    list.push(i as u32);
                }
            }
        }
        for (text, part) in &parts {
            let Some(few) = words(part).filter_map(|w| holders.get(w)).min_by_key(|l| l.len())
            else {
                continue;
            };
            let within: Vec<NameId> = few
                .iter()
                .map(|&i| &names[i as usize])
                .filter(|(_, name)| is_part(name, part))
                .map(|(id, _)| *id)
                .collect();
            if !within.is_empty() {
                self.parts.insert(*text, within);
            }
        }
    }
}

/// The class that a text names: as a whole (`p.Thing`, `p/Thing`, `p/Thing.class`), or without its last word, which is
/// a member then (`p.Thing.method`), or a class inside of it, which it uses.
fn class_named(definitions: &Definitions, text: NameId, known: &NameSet) -> Option<NameId> {
    let bytes = definitions.names.get(text);
    // The table holds each text once: the string and the name are the same entry.
    if !bytes.contains(&b'.') {
        return Some(text).filter(|&class| known.contains(class));
    }
    let bytes = bytes.strip_suffix(b".class").unwrap_or(bytes);
    let find = |name: &[u8]| {
        let internal: Vec<u8> = name.iter().map(|&b| if b == b'.' { b'/' } else { b }).collect();
        definitions.names.find(&internal).filter(|&class| known.contains(class))
    };
    let without_last = || bytes.iter().rposition(|&b| b == b'.').map(|dot| &bytes[..dot]);
    find(bytes).or_else(|| find(without_last()?))
}

fn mentioned(definitions: &Definitions, known: &NameSet) -> FxHashMap<NameId, NameId> {
    let mut texts: FxHashSet<NameId> = FxHashSet::default();
    for class in definitions.nodes().filter_map(|node| definitions.class(node)) {
        texts.extend(class.ids(List::Mentioned));
    }
    let named = |text| Some((text, class_named(definitions, text, known)?));
    texts.into_iter().filter_map(named).collect()
}

/// A node that a string names, how, and whether it is a file that is named itself.
type Targets = Vec<(NameId, EdgeKind, bool)>;

fn exact(
    definitions: &Definitions,
    text: NameId,
    known: &NameSet,
    resources: &ResourceKeys,
) -> Option<Targets> {
    let bytes = definitions.names.get(text);
    let class = class_named(definitions, text, known);
    let mut targets: Targets =
        class.map(|class| (class, EdgeKind::NamedInString, false)).into_iter().collect();
    targets.extend(resources.find(bytes).iter().map(|&(r, own)| (r, EdgeKind::Resource, own)));
    (!targets.is_empty()).then_some(targets)
}

/// The words of a name: `a`, `Field`, `Integrator`, `2` of `a.FieldIntegrator2`.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let mut before = rest.chars().next()?;
        let end = rest
            .char_indices()
            .skip(1)
            .find(|&(_, c)| starts_word(std::mem::replace(&mut before, c), c))
            .map_or(rest.len(), |(at, _)| at);
        let (word, tail) = rest.split_at(end);
        rest = tail;
        Some(word)
    })
}

/// Whether a word starts between these two characters.
fn starts_word(before: char, after: char) -> bool {
    after.is_uppercase()
        || !after.is_alphanumeric()
        || !before.is_alphanumeric()
        || (after.is_numeric() && !before.is_numeric())
}

/// Whether `part` stands in `name` as whole words: `Integrator` in `a.FieldIntegrator`, not `rat`.
fn is_part(name: &str, part: &str) -> bool {
    let (Some(first), Some(last)) = (part.chars().next(), part.chars().next_back()) else {
        return false;
    };
    name.match_indices(part).any(|(at, _)| {
        let before = name[..at].chars().next_back();
        let after = name[at + part.len()..].chars().next();
        before.is_none_or(|b| starts_word(b, first)) && after.is_none_or(|a| starts_word(last, a))
    })
}

/// Ways in which a program may name a resource: itself, or (false) only a folder that it is in. A
/// folder's name may be an accident, so it adds an edge but does not make the file a named one.
struct ResourceKeys {
    keys: FxHashMap<Vec<u8>, Vec<(NameId, bool)>>,
}

impl ResourceKeys {
    fn new(definitions: &Definitions, known: &NameSet) -> Self {
        let mut keys: FxHashMap<Vec<u8>, Vec<(NameId, bool)>> = FxHashMap::default();
        for &node in known.members() {
            let Some(path) = definitions.names.get(node).strip_prefix(b"/") else { continue };
            let mut add = |key: &[u8], itself: bool| {
                let list = keys.entry(key.to_vec()).or_default();
                if list.last().is_none_or(|last| last.0 != node) {
                    list.push((node, itself));
                }
            };
            let after_slash = |p: &[u8]| p.iter().rposition(|&b| b == b'/').map_or(0, |i| i + 1);
            let name = &path[after_slash(path)..];
            add(path, true);
            add(name, true);
            // Bundles: `messages` and `a.messages` for `a/messages_fr.properties`.
            if let Some(stem) = path.strip_suffix(b".properties") {
                let base = after_slash(stem);
                let cut =
                    stem[base..].iter().position(|&b| b == b'_').map_or(stem.len(), |i| base + i);
                for stem in [stem, &stem[..cut]] {
                    add(stem, true);
                    add(&stem[base..], true);
                    let dotted: Vec<u8> =
                        stem.iter().map(|&b| if b == b'/' { b'.' } else { b }).collect();
                    add(&dotted, true);
                }
            }
            // Folders that a program lists.
            let mut folder = path;
            while let Some(end) = folder.iter().rposition(|&b| b == b'/') {
                folder = &folder[..end];
                add(folder, false);
                add(&folder[after_slash(folder)..], false);
            }
        }
        Self { keys }
    }

    /// Also where the text is a longer path to it, as in `src/test/resources/conf/app.xml`.
    fn find(&self, text: &[u8]) -> &[(NameId, bool)] {
        if self.keys.is_empty() {
            return &[];
        }
        let mut rest = text.strip_suffix(b"/").unwrap_or(text);
        loop {
            if let Some(found) = self.keys.get(rest) {
                return found;
            }
            match rest.iter().position(|&b| b == b'/') {
                Some(slash) => rest = &rest[slash + 1..],
                None => return &[],
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_names_are_whole_words() {
        for (name, part) in [
            ("a.ClassicalFieldIntegrator", "Integrator"),
            ("a.ClassicalFieldIntegrator", "Field"),
            ("com.acme.plugins.One", "com.acme.plugins."),
            ("com.acme.plugins.One", "plugins"),
            ("a.Handler2", "Handler"),
            ("a.Outer$Inner", "Inner"),
            ("a.FooImpl", "Impl"),
        ] {
            assert!(is_part(name, part), "{part} in {name}");
        }
        for (name, part) in [
            ("a.Integrator", "rat"),
            ("a.Filename", "name"),
            ("a.Integrators", "Integrator"),
            ("a.Other", "Integrator"),
        ] {
            assert!(!is_part(name, part), "{part} not in {name}");
        }
    }

    #[test]
    fn words_of_names() {
        let all = |name| words(name).collect::<Vec<_>>();
        assert_eq!(all("a.FieldIntegrator2"), ["a", "Field", "Integrator", "2"]);
        assert_eq!(all("..x$Y_z"), ["x", "Y", "z"]);
        assert_eq!(all("été.Été"), ["été", "Été"]);
        assert!(all("._$").is_empty());
    }

    proptest::proptest! {
        /// The shortcut over the rarest word finds what a plain comparison finds.
        #[test]
        fn every_word_of_a_part_is_a_word_of_the_name(name in "[aB1.$]{0,8}", part in "[aB1.$]{1,4}") {
            if is_part(&name, &part) {
                let words_of_name: Vec<&str> = words(&name).collect();
                for word in words(&part) {
                    proptest::prop_assert!(words_of_name.contains(&word), "{word} of {part} in {name}");
                }
            }
        }
    }
}
