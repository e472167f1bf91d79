//! The modules of a crate, found as the compiler finds them: from its root, by `mod x;`.
//!
//! What is compiled for tests only is left out. Not followed: modules that macros declare.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, ItemMod};

/// One module with its items; inline modules are modules, too.
pub(crate) struct Module {
    /// From the root of the crate on, which is empty itself.
    pub(crate) path: Vec<String>,
    pub(crate) file: PathBuf,
    /// Without modules and without what is for tests.
    pub(crate) items: Vec<Item>,
}

/// All modules of the crate in this folder: its library, then its programs.
pub(crate) fn modules(folder: &Path) -> Result<Vec<Module>> {
    let mut found = Vec::new();
    for root in ["src/lib.rs", "src/main.rs"] {
        let file = folder.join(root);
        if file.is_file() {
            let items = parse(&file)?;
            add(&mut found, Vec::new(), &file, &folder.join("src"), items)?;
        }
    }
    Ok(found)
}

pub(crate) fn parse(file: &Path) -> Result<Vec<Item>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
    Ok(parsed.items)
}

/// `inside` is the folder of the files of modules below this one.
fn add(
    found: &mut Vec<Module>,
    path: Vec<String>,
    file: &Path,
    inside: &Path,
    items: Vec<Item>,
) -> Result<()> {
    let mut own = Vec::new();
    let mut below = Vec::new();
    for item in items.into_iter().filter(|item| !is_for_tests(attributes(item))) {
        match item {
            Item::Mod(module) => below.push(module),
            other => own.push(other),
        }
    }
    found.push(Module { path: path.clone(), file: file.into(), items: own });
    for module in below {
        let name = module.ident.to_string();
        let deeper = [path.as_slice(), std::slice::from_ref(&name)].concat();
        match &module.content {
            Some((_, items)) => add(found, deeper, file, &inside.join(&name), items.clone())?,
            None => {
                let file = file_of(&module, file, inside, &name)?;
                let items = parse(&file)?;
                add(found, deeper, &file, &inside.join(&name), items)?;
            }
        }
    }
    Ok(())
}

fn file_of(module: &ItemMod, parent: &Path, inside: &Path, name: &str) -> Result<PathBuf> {
    if let Some(given) = module.attrs.iter().find_map(path_attribute) {
        return Ok(parent.parent().unwrap_or(Path::new("")).join(given));
    }
    let places = [inside.join(format!("{name}.rs")), inside.join(name).join("mod.rs")];
    let found = places.iter().find(|place| place.is_file());
    let missing = || format!("no file of `mod {name};` in {}", parent.display());
    found.cloned().with_context(missing)
}

fn path_attribute(attribute: &Attribute) -> Option<String> {
    let named = attribute.meta.require_name_value().ok().filter(|m| m.path.is_ident("path"))?;
    match &named.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// `#[cfg(test)]`, `#[test]`, and `cfg(all(test, ...))`.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let inner = || attribute.meta.require_list().map(|list| list.tokens.to_string());
        let first = |text: String| text == "test" || text.replace(' ', "").starts_with("all(test,");
        path.is_ident("test") || path.is_ident("cfg") && inner().is_ok_and(first)
    })
}

pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A crate of these files; the folder goes with the value.
    pub(crate) fn krate(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let file = folder.path().join("src").join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, text).expect("a file");
        }
        folder
    }

    #[test]
    fn modules_are_found_in_files_folders_and_inline() {
        let folder = krate(&[
            ("lib.rs", "mod a; mod b; mod c { mod d; } #[path = \"x/other.rs\"] mod e;"),
            ("a.rs", "mod deep;"),
            ("a/deep.rs", ""),
            ("b/mod.rs", "mod deep;"),
            ("b/deep.rs", ""),
            ("c/d.rs", ""),
            ("x/other.rs", ""),
            ("undeclared.rs", "not even Rust"),
        ]);
        let found = modules(folder.path()).expect("it can be read");
        let paths: Vec<String> = found.iter().map(|m| m.path.join("::")).collect();
        assert_eq!(paths, ["", "a", "a::deep", "b", "b::deep", "c", "c::d", "e"]);
    }

    #[test]
    fn tests_are_left_out() {
        let folder = krate(&[(
            "lib.rs",
            "#[cfg(test)] mod tests; #[cfg(all(test, unix))] mod more; #[test] fn t() {} \
             #[cfg(unix)] fn kept() {} #[cfg(not(test))] fn kept_too() {}",
        )]);
        let found = modules(folder.path()).expect("it can be read");
        assert_eq!((found.len(), found[0].items.len()), (1, 2));
    }

    #[test]
    fn a_module_without_a_file_is_an_error() {
        let folder = krate(&[("main.rs", "mod gone;")]);
        let error = modules(folder.path()).err().expect("there is no file").to_string();
        assert!(error.contains("no file of `mod gone;`"), "{error}");
    }
}
