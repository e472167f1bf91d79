//! Numbers about the source: long functions, types with many fields, printing, lines.

use crate::tree::{Module, attributes, is_for_tests};
use anyhow::Result;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Signature};

/// Something that is counted, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) count: usize,
    pub(crate) file: PathBuf,
}

/// Functions of any kind that have more lines than `most`, in tests and examples, too.
pub(crate) fn long_functions(files: &[PathBuf], most: usize) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for file in files {
        let mut functions = Functions { file, found: Vec::new() };
        crate::tree::parse(file)?.iter().for_each(|item| functions.visit_item(item));
        found.extend(functions.found.into_iter().filter(|function| function.count > most));
    }
    Ok(found)
}

struct Functions<'f> {
    file: &'f Path,
    found: Vec<Found>,
}

impl Functions<'_> {
    fn function(&mut self, signature: &Signature, block: &Block) {
        let first = signature.fn_token.span().start().line;
        let last = block.brace_token.span.close().end().line;
        let (name, count) = (signature.ident.to_string(), last + 1 - first);
        self.found.push(Found { name, count, file: self.file.into() });
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.function(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

/// Structs with more fields than `most`.
pub(crate) fn large_structs(modules: &[Module], most: usize) -> Vec<Found> {
    let structs = modules.iter().flat_map(|module| {
        module.items.iter().filter_map(|item| match item {
            syn::Item::Struct(item) => Some(Found {
                name: item.ident.to_string(),
                count: item.fields.len(),
                file: module.file.clone(),
            }),
            _ => None,
        })
    });
    structs.filter(|found| found.count > most).collect()
}

/// Calls of `println!` and its like, by file.
pub(crate) fn prints(modules: &[Module]) -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    for module in modules {
        let mut prints = Prints { count: 0 };
        module.items.iter().for_each(|item| prints.visit_item(item));
        match all.iter_mut().find(|found| found.file == module.file) {
            Some(found) => found.count += prints.count,
            None => all.push(Found {
                name: "prints".into(),
                count: prints.count,
                file: module.file.clone(),
            }),
        }
    }
    all.retain(|found| found.count > 0);
    all
}

struct Prints {
    count: usize,
}

impl<'ast> Visit<'ast> for Prints {
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let printing = ["print", "println", "eprint", "eprintln", "dbg"];
        self.count += usize::from(printing.iter().any(|name| call.path.is_ident(name)));
        visit::visit_macro(self, call);
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }
}

/// All Rust files below a folder, sorted.
pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The lines of these files.
pub(crate) fn lines(files: &[PathBuf]) -> Result<usize> {
    files.iter().try_fold(0, |sum, file| Ok(sum + std::fs::read_to_string(file)?.lines().count()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{modules, tests::krate};

    #[test]
    fn functions_are_measured_from_fn_to_the_last_brace() {
        let text = "/// Text.\n#[inline]\npub fn a(\n    x: u8,\n) {\n    fn inner() {\n    }\n}\n\
                    trait T { fn b() {\n} fn c(); }\nimpl X { fn d() {\n\n} }\n#[test] fn e() {\n}\n";
        let folder = krate(&[("lib.rs", text)]);
        let files = rust_files(folder.path());
        let found = long_functions(&files, 0).expect("it can be read");
        let found: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.count)).collect();
        assert_eq!(found, [("a", 6), ("inner", 2), ("b", 2), ("d", 3), ("e", 2)]);
        assert!(long_functions(&files, 6).expect("it can be read").is_empty());
    }

    #[test]
    fn fields_are_counted_without_those_of_tests() {
        let text = "struct A { a: u8, b: u8 } struct B(u8, u8, u8); struct C; \
                    #[cfg(test)] struct D(u8, u8, u8, u8);";
        let folder = krate(&[("lib.rs", text)]);
        let all = modules(folder.path()).expect("it can be read");
        let found = large_structs(&all, 1);
        let found: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.count)).collect();
        assert_eq!(found, [("A", 2), ("B", 3)]);
    }

    #[test]
    fn prints_are_counted_by_file() {
        let text = "mod a; fn f() { println!(); if x { eprint!(\"y\"); } } \
                    #[cfg(test)] mod tests { fn f() { println!(); } } mod b { fn g() { dbg!(1); } }";
        let folder = krate(&[("lib.rs", text), ("a.rs", "fn f() { format!(\"print!\"); }")]);
        let found = prints(&modules(folder.path()).expect("it can be read"));
        assert_eq!(found.iter().map(|f| f.count).collect::<Vec<_>>(), [3]);
    }
}
