//! What edited sources can change before anybody compiles them.
//!
//! Class files are found by their `SourceFile` and package; constants, which the compiler copies into
//! other classes, by the sources that mention them. Where that is not enough (build files, other
//! languages than Java, generated sources, annotation processors) nothing is known before the build
//! has run, and every test of the module may be affected. The result is an upper bound, never a proof.
//!
//! Not seen: a call that the compiler binds to another overload because a type that its source does not
//! mention got another supertype.

use crate::sources::{self, Edit, Edited};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use tamis_classfile::{ClassFile, flags, mutf8};
use tamis_core::PortablePath;
use tamis_dynamic::{FactKind, outermost};

/// What is to be built.
#[derive(Debug, Default)]
pub(crate) struct Unbuilt {
    /// Why nothing is known of any class.
    whole: Option<String>,
    /// Outermost classes, with the source that may change them.
    classes: BTreeMap<String, String>,
    /// Packages in which classes may appear.
    packages: BTreeMap<String, String>,
    /// Files beside the classes, with the file that they are made of.
    files: BTreeMap<PathBuf, String>,
    portable: BTreeMap<PortablePath, String>,
    /// How many sources are not built, and one of them.
    edited: Option<(usize, String)>,
}

/// Where to look.
#[derive(Debug)]
pub(crate) struct Place<'p> {
    pub(crate) root: &'p Path,
    pub(crate) modules: &'p BTreeSet<PathBuf>,
    pub(crate) class_path: &'p [PathBuf],
    /// Whether annotation processors are on the class path.
    pub(crate) processors: bool,
}

impl Unbuilt {
    /// Nothing is known of any class.
    pub(crate) fn wholly(why: String) -> Self {
        Self { whole: Some(why), ..Self::default() }
    }

    pub(crate) fn of(place: &Place<'_>, edits: &[Edited]) -> Self {
        let mut unbuilt = Self::default();
        let first = edits.first().map(|edit| shown(place.root, &edit.path));
        unbuilt.edited = first.map(|first| (edits.len(), first));
        let mut waiting = Vec::new();
        for edit in edits {
            let ending = edit.path.extension().and_then(OsStr::to_str).unwrap_or_default();
            match ending {
                _ if sources::is_build_file(&edit.path) => unbuilt.give_up(place, edit),
                "java" if place.processors => unbuilt.give_up(place, edit),
                "java" => waiting.push(edit.clone()),
                "kt" | "kts" | "groovy" | "scala" | "aj" | "clj" => unbuilt.give_up(place, edit),
                _ => unbuilt.resource(place, edit),
            }
        }
        unbuilt.java(place, waiting);
        unbuilt
    }

    fn give_up(&mut self, place: &Place<'_>, edit: &Edited) {
        self.whole.get_or_insert_with(|| words(place.root, edit));
    }

    /// Classes of edited sources, and of those that copied their constants.
    fn java(&mut self, place: &Place<'_>, mut waiting: Vec<Edited>) {
        if waiting.is_empty() || self.whole.is_some() {
            return;
        }
        let sources = Sources::read(place);
        let mut done: BTreeSet<PathBuf> = BTreeSet::new();
        while let Some(edit) = waiting.pop() {
            if !done.insert(edit.path.clone()) {
                continue;
            }
            let why = words(place.root, &edit);
            let made = made_of(place, &edit.path);
            let names =
                if edit.kind == Edit::New { sources.types(&edit.path) } else { made.constants };
            let is_unknown = made.classes.is_empty() && edit.kind != Edit::New;
            let shadows =
                edit.kind == Edit::New && sources.mention(&names, &edit.path).next().is_some();
            if is_unknown || shadows {
                return self.give_up(place, &edit);
            }
            for package in packages(&edit.path) {
                self.packages.entry(package).or_insert_with(|| why.clone());
            }
            for class in made.classes {
                self.classes.entry(class).or_insert_with(|| why.clone());
            }
            if edit.kind != Edit::New {
                let copies = sources.mention(&names, &edit.path).map(Path::to_path_buf);
                waiting.extend(copies.map(|path| Edited { path, kind: Edit::Changed }));
            }
        }
    }

    /// A file that the build copies beside the classes.
    fn resource(&mut self, place: &Place<'_>, edit: &Edited) {
        let why = words(place.root, edit);
        let folders = place.class_path.iter().filter(|e| e.starts_with(place.root) && e.is_dir());
        let mut found = Vec::new();
        for folder in folders {
            let below = suffixes(&edit.path).into_iter();
            found.extend(below.map(|below| folder.join(below)).find(|file| file.is_file()));
        }
        let is_usual = edit.path.iter().any(|part| part == "resources");
        if found.is_empty() && is_usual && edit.kind != Edit::Gone {
            found = self.new_resource(place, &edit.path);
        }
        if found.is_empty() {
            return self.give_up(place, edit);
        }
        for file in found {
            if edit.kind != Edit::Changed {
                let above = file.ancestors().skip(1).take_while(|f| f.starts_with(place.root));
                let above: Vec<PathBuf> = above.map(Path::to_path_buf).collect();
                above.into_iter().for_each(|f| drop(self.files.insert(f, why.clone())));
            }
            self.files.insert(file, why.clone());
        }
    }

    /// Where a resource that is new will be: beside the classes of its module.
    fn new_resource(&self, place: &Place<'_>, path: &Path) -> Vec<PathBuf> {
        let parts: Vec<&OsStr> = path.iter().collect();
        let Some(at) = parts.iter().rposition(|part| *part == "resources") else {
            return Vec::new();
        };
        let below: PathBuf = parts[at + 1..].iter().collect();
        let folders = place.class_path.iter().filter(|e| e.starts_with(place.root) && e.is_dir());
        folders.map(|folder| folder.join(&below)).collect()
    }

    /// Why the answer about a class, or how the tests are started, is not known.
    pub(crate) fn fact(&self, kind: &FactKind, is_there: bool) -> Option<String> {
        let class = match kind {
            FactKind::Header(class)
            | FactKind::Core(class)
            | FactKind::Member(class, _)
            | FactKind::Overrides(class, _)
            | FactKind::Lines(class)
            | FactKind::Place(class)
            | FactKind::Body(class, _) => class,
            FactKind::Configuration | FactKind::Property(_) | FactKind::Properties => {
                return self.whole.as_ref().map(|why| unknown(why));
            }
            _ => return None,
        };
        if let Some(why) = &self.whole {
            return Some(unknown(why));
        }
        let package = class.rsplit_once('.').map_or("", |(package, _)| package);
        let appears = || self.packages.get(package).filter(|_| !is_there);
        let why = self.classes.get(outermost(class)).or_else(appears)?;
        Some(format!("may be affected: {why} and is not compiled yet"))
    }

    /// The paths as records have them.
    pub(crate) fn in_portable_form(mut self, portable: impl Fn(&Path) -> PortablePath) -> Self {
        self.portable = self.files.iter().map(|(f, why)| (portable(f), why.clone())).collect();
        self
    }

    pub(crate) fn file(&self, path: &PortablePath) -> Option<String> {
        let why = self.portable.get(path)?;
        Some(format!("may be affected: {why} and is not copied yet"))
    }

    /// One line for people, where something is not built.
    pub(crate) fn remark(&self) -> Option<String> {
        if let Some(why) = &self.whole {
            return Some(format!("{}; a run compiles first and then decides", unknown(why)));
        }
        let (count, first) = self.edited.as_ref()?;
        let more = if *count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        Some(format!(
            "not compiled yet: {first}{more}; the tests that may be affected are an upper bound, a run \
             compiles first and then decides"
        ))
    }
}

fn unknown(why: &str) -> String {
    format!("not known before compiling: {why}")
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn words(root: &Path, edit: &Edited) -> String {
    let path = shown(root, &edit.path);
    match edit.kind {
        Edit::New => format!("{path} is new"),
        Edit::Changed => format!("{path} changed"),
        Edit::Gone => format!("{path} is gone"),
    }
}

/// What is left of a path when folders are taken from its front, longest first.
fn suffixes(path: &Path) -> Vec<PathBuf> {
    let parts: Vec<&OsStr> = path.iter().skip(1).collect();
    (0..parts.len()).map(|from| parts[from..].iter().collect()).collect()
}

/// The packages that a source in this place can be in.
fn packages(source: &Path) -> Vec<String> {
    let folder = source.parent().unwrap_or(Path::new(""));
    let mut all: Vec<String> =
        suffixes(folder).iter().map(|suffix| suffix.to_string_lossy().replace('/', ".")).collect();
    all.push(String::new());
    all
}

/// What a compiler made of a source.
#[derive(Debug, Default)]
struct Made {
    /// Outermost classes.
    classes: BTreeSet<String>,
    /// Names of constants that are copied into other classes.
    constants: BTreeSet<String>,
}

fn made_of(place: &Place<'_>, source: &Path) -> Made {
    let mut made = Made::default();
    let folders = place.class_path.iter().filter(|e| e.starts_with(place.root) && e.is_dir());
    let in_packages = suffixes(source.parent().unwrap_or(Path::new("")));
    for folder in folders {
        let packages = in_packages.iter().map(|suffix| folder.join(suffix));
        for package in packages.chain([folder.clone()]).filter(|package| package.is_dir()) {
            let files = std::fs::read_dir(package).into_iter().flatten().flatten();
            let classes =
                files.map(|f| f.path()).filter(|f| f.extension() == Some(OsStr::new("class")));
            for bytes in classes.filter_map(|file| std::fs::read(file).ok()) {
                add_class(&bytes, source, &mut made);
            }
        }
    }
    made
}

/// Adds a class if it comes from this source.
fn add_class(bytes: &[u8], source: &Path, made: &mut Made) -> Option<()> {
    let class = ClassFile::parse(bytes).ok()?;
    let file = attribute(&class, b"SourceFile")?;
    let file = class.pool.utf8(u16::from_be_bytes(file.try_into().ok()?)).ok()?;
    if Some(&*mutf8::decode(file)) != source.file_name().and_then(OsStr::to_str) {
        return None;
    }
    let name = mutf8::decode(class.name).replace('/', ".");
    made.classes.insert(outermost(&name).to_owned());
    for field in class.fields.iter().filter(|field| field.access & flags::PRIVATE == 0) {
        let mut attributes = field.attributes.iter(&class.pool).flatten();
        if attributes.any(|attribute| attribute.name == b"ConstantValue") {
            made.constants.insert(mutf8::decode(field.name).into_owned());
        }
    }
    Some(())
}

fn attribute<'a>(class: &ClassFile<'a>, name: &[u8]) -> Option<&'a [u8]> {
    let mut attributes = class.attributes.iter(&class.pool).flatten();
    attributes.find(|attribute| attribute.name == name).map(|attribute| attribute.bytes())
}

/// The words of all Java sources.
#[derive(Debug)]
struct Sources(Vec<(PathBuf, BTreeSet<String>)>);

impl Sources {
    fn read(place: &Place<'_>) -> Self {
        let files = sources::java_sources(place.root, place.modules, place.class_path);
        let words = |path: PathBuf| {
            let text = std::fs::read(&path).unwrap_or_default();
            (path, identifiers(&String::from_utf8_lossy(&text)))
        };
        Self(files.into_iter().map(words).collect())
    }

    /// The other sources in which one of these names stands.
    fn mention<'s>(
        &'s self,
        names: &'s BTreeSet<String>,
        but: &'s Path,
    ) -> impl Iterator<Item = &'s Path> {
        let others = self.0.iter().filter(move |(path, _)| path != but);
        others.filter(|(_, words)| !words.is_disjoint(names)).map(|(path, _)| path.as_path())
    }

    /// The types that a source may declare: its name, and what stands behind a word for types.
    fn types(&self, source: &Path) -> BTreeSet<String> {
        let text = std::fs::read_to_string(source).unwrap_or_default();
        let words: Vec<&str> = split(&text).collect();
        let declares = |word: &str| ["class", "interface", "enum", "record"].contains(&word);
        let declared = words.windows(2).filter(|pair| declares(pair[0])).map(|pair| pair[1]);
        let own = source.file_stem().and_then(OsStr::to_str);
        declared.chain(own).map(str::to_owned).collect()
    }
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.split(move |c| !is_part(c)).filter(|word| !word.is_empty())
}

fn identifiers(text: &str) -> BTreeSet<String> {
    split(text).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(path: &str, kind: Edit) -> Edited {
        Edited { path: path.into(), kind }
    }

    fn of(root: &Path, class_path: &[PathBuf], processors: bool, edits: &[Edited]) -> Unbuilt {
        let modules = BTreeSet::from([root.to_path_buf()]);
        Unbuilt::of(&Place { root, modules: &modules, class_path, processors }, edits)
    }

    #[test]
    fn what_no_class_can_be_found_for_is_not_known() {
        let root = tempfile::tempdir().unwrap();
        let header = FactKind::Header("p.A".into());
        for path in
            ["pom.xml", "src/main/kotlin/A.kt", "src/main/proto/a.proto", "src/main/java/p/A.java"]
        {
            let path = root.path().join(path);
            let edits = [Edited { path, kind: Edit::Changed }];
            let unbuilt = of(root.path(), &[], false, &edits);
            let why = unbuilt.fact(&header, true).unwrap();
            assert!(why.starts_with("not known before compiling: "), "{why}");
            assert!(unbuilt.fact(&FactKind::Configuration, true).is_some());
            assert!(unbuilt.remark().is_some());
        }
        assert!(of(root.path(), &[], false, &[]).fact(&header, true).is_none());
    }

    #[test]
    fn a_new_source_matters_where_its_name_stands_or_its_package_was_looked_into() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("src/main/java/p");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("Fresh.java"), "package p; class Fresh {} interface More {}")
            .unwrap();
        let fresh = [Edited { path: folder.join("Fresh.java"), kind: Edit::New }];
        let unbuilt = of(root.path(), &[], false, &fresh);
        assert!(unbuilt.fact(&FactKind::Header("p.Other".into()), true).is_none());
        assert!(unbuilt.fact(&FactKind::Header("p.Fresh".into()), false).is_some());
        assert!(unbuilt.fact(&FactKind::Header("q.Fresh".into()), false).is_none());
        std::fs::write(folder.join("Uses.java"), "package p; class Uses { More m; }").unwrap();
        let unbuilt = of(root.path(), &[], false, &fresh);
        assert!(unbuilt.fact(&FactKind::Header("p.Other".into()), true).is_some());
    }

    #[test]
    fn a_resource_is_its_copy_beside_the_classes() {
        let root = tempfile::tempdir().unwrap();
        let classes = root.path().join("target/classes");
        std::fs::create_dir_all(classes.join("conf")).unwrap();
        std::fs::write(classes.join("conf/a.txt"), "").unwrap();
        let path = root.path().join("src/main/resources/conf/a.txt");
        let changed = [Edited { path, kind: Edit::Changed }];
        let portable = |path: &Path| PortablePath::from_stored(&*path.to_string_lossy());
        let class_path = [classes.clone()];
        let unbuilt = of(root.path(), &class_path, false, &changed).in_portable_form(portable);
        assert!(unbuilt.file(&portable(&classes.join("conf/a.txt"))).is_some());
        assert!(unbuilt.file(&portable(&classes.join("conf"))).is_none());
        assert!(unbuilt.fact(&FactKind::Configuration, true).is_none());
        let path = root.path().join("src/main/resources/conf/b.txt");
        let new = [Edited { path, kind: Edit::New }];
        let unbuilt = of(root.path(), &class_path, false, &new).in_portable_form(portable);
        assert!(unbuilt.file(&portable(&classes.join("conf/b.txt"))).is_some());
        assert!(unbuilt.file(&portable(&classes.join("conf"))).is_some());
    }

    #[test]
    fn with_processors_any_java_source_can_change_any_class() {
        let edits = [edit("/p/src/main/java/p/A.java", Edit::Changed)];
        let unbuilt = of(Path::new("/p"), &[], true, &edits);
        assert!(unbuilt.fact(&FactKind::Body("q.B".into(), "m()V".into()), true).is_some());
    }
}
