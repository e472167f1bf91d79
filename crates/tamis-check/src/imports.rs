//! Which top-level modules of a crate use which others, from paths that begin with `crate`, `super`
//! or `self`, in `use` and elsewhere, also inside of macros' arguments.
//!
//! What the root re-exports counts as a use of the module that it is from. Not seen: names that come
//! by a glob of the root (`pub use a::*`), and methods of foreign modules' types, whose types must
//! come from somewhere. The root's own uses do not count: it declares all modules.

use crate::tree::Module;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// Module to the modules that it uses.
pub(crate) type Graph = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn graph(modules: &[Module]) -> Graph {
    let tops = modules.iter().filter(|m| m.path.len() == 1).map(|m| m.path[0].clone());
    let mut graph: Graph = tops.map(|top| (top, BTreeSet::new())).collect();
    let tops: BTreeSet<String> = graph.keys().cloned().collect();
    let exported = exported(modules, &tops);
    for module in modules {
        let Some(top) = module.path.first() else { continue };
        let mut uses = Uses { module: &module.path, found: BTreeSet::new() };
        module.items.iter().for_each(|item| uses.visit_item(item));
        let names = uses.found.into_iter().filter_map(|name| match tops.contains(&name) {
            true => Some(name),
            false => exported.get(&name).cloned(),
        });
        let others: Vec<String> = names.filter(|name| name != top).collect();
        graph.entry(top.clone()).or_default().extend(others);
    }
    graph
}

/// What the root takes from its modules, by name.
fn exported(modules: &[Module], tops: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for item in modules.iter().filter(|m| m.path.is_empty()).flat_map(|m| &m.items) {
        let Item::Use(item) = item else { continue };
        for path in flat(&item.tree) {
            let from = path.names.iter().find(|name| !["crate", "self"].contains(&name.as_str()));
            if let Some(from) = from.filter(|from| tops.contains(*from)) {
                found.insert(path.name, from.clone());
            }
        }
    }
    found
}

/// One name that a `use` brings in.
struct Imported {
    names: Vec<String>,
    /// What it is called here.
    name: String,
}

fn flat(tree: &UseTree) -> Vec<Imported> {
    match tree {
        UseTree::Path(path) => {
            let mut inner = flat(&path.tree);
            inner.iter_mut().for_each(|one| one.names.insert(0, path.ident.to_string()));
            inner
        }
        UseTree::Name(name) => vec![Imported::of(&name.ident, &name.ident)],
        UseTree::Rename(rename) => vec![Imported::of(&rename.ident, &rename.rename)],
        UseTree::Glob(_) => vec![Imported { names: Vec::new(), name: "*".into() }],
        UseTree::Group(group) => group.items.iter().flat_map(flat).collect(),
    }
}

impl Imported {
    fn of(name: &impl ToString, here: &impl ToString) -> Self {
        Self { names: vec![name.to_string()], name: here.to_string() }
    }
}

/// Collects the first names of paths that lead through the root.
struct Uses<'m> {
    module: &'m [String],
    found: BTreeSet<String>,
}

impl Uses<'_> {
    fn path(&mut self, names: &[String]) {
        let Some(mut at) = start(self.module, names) else { return };
        let mut rest = names[1..].iter();
        for name in rest.by_ref() {
            if name == "super" {
                at.pop();
            } else {
                at.push(name.clone());
                break;
            }
        }
        self.found.extend(at.into_iter().next());
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let mut names: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Punct(p) if p.as_char() == ':' => colons += 1,
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.take(&mut names);
                    }
                    names.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Group(group) => {
                    self.take(&mut names);
                    self.tokens(group.stream());
                    colons = 0;
                }
                _ => {
                    self.take(&mut names);
                    colons = 0;
                }
            }
        }
        self.take(&mut names);
    }

    fn take(&mut self, names: &mut Vec<String>) {
        self.path(&std::mem::take(names));
    }
}

/// Where a path begins; `None` for one that does not begin in this crate by its looks.
fn start(module: &[String], names: &[String]) -> Option<Vec<String>> {
    match names.first()?.as_str() {
        "crate" => Some(Vec::new()),
        "self" if names.len() > 1 => Some(module.to_vec()),
        "super" => Some(module[..module.len().saturating_sub(1)].to_vec()),
        _ => None,
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        self.path(&names);
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for import in flat(&item.tree) {
            self.path(&import.names);
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    /// `pub(in crate::a)` uses nothing of `a`.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_item(&mut self, item: &'ast Item) {
        if !crate::tree::is_for_tests(crate::tree::attributes(item)) {
            visit::visit_item(self, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tests::krate;

    fn used(files: &[(&str, &str)]) -> Vec<String> {
        let folder = krate(files);
        let modules = crate::tree::modules(folder.path()).expect("it can be read");
        let lines = graph(&modules).into_iter().filter(|(_, uses)| !uses.is_empty());
        lines.map(|(name, uses)| format!("{name}: {}", Vec::from_iter(uses).join(" "))).collect()
    }

    #[test]
    fn uses_paths_and_arguments_of_macros_count() {
        let a = "use crate::b::{self, X}; fn f() { println!(\"{}\", vec![crate::c::g(1)]); }";
        let b = "fn f(x: super::c::T) -> self::Y { crate::d::run() }";
        let found = used(&[
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", a),
            ("b.rs", b),
            ("c.rs", ""),
            ("d.rs", "use super::a as b;"),
        ]);
        assert_eq!(found, ["a: b c", "b: c d", "d: a"]);
    }

    #[test]
    fn a_module_below_counts_for_the_one_at_the_top() {
        let deep = "use super::own; use super::super::b; use crate::a::own as o; pub(in crate::c) fn f() {}";
        let found = used(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "mod deep; mod own {}"),
            ("a/deep.rs", deep),
            ("b.rs", ""),
            ("c.rs", ""),
        ]);
        assert_eq!(found, ["a: b"]);
    }

    #[test]
    fn what_the_root_exports_is_from_a_module() {
        let root =
            "mod a; mod b; mod c; pub use b::Thing as Other; use crate::c::{K, self as see};";
        let found = used(&[
            ("lib.rs", root),
            ("a.rs", "use crate::{Other, Own}; fn f() { crate::K; }"),
            ("b.rs", "use super::see;"),
            ("c.rs", "use std::b; use b::x;"),
        ]);
        assert_eq!(found, ["a: b c", "b: c"]);
    }

    #[test]
    fn tests_do_not_count() {
        let a = "#[cfg(test)] mod tests { use crate::b; } #[cfg(test)] use crate::b;";
        assert!(used(&[("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", "")]).is_empty());
    }
}
