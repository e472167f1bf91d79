//! What a library's class calls, where its name alone says too much.
//!
//! Many classes of libraries name groups of threads only to hand them on when they make a thread. Such a
//! class gets nothing that a test left, other than one that calls a method of them: listing them, asking for a
//! name. So for this one shelf the class is read. What cannot be read can call anything.

use crate::shelves::{Shelves, asked_by, asked_with, set_by};
use std::path::Path;
use tamis_classfile::{ClassFile, Tag};
use tamis_classpath::ClassIndex;
use tamis_classpath::jar::{EntryReader, Jar};

/// The shelves that a library's class can get something from; `uses` are all classes that it names.
pub(crate) fn asks(index: &ClassIndex, class: &str, uses: &[String]) -> Shelves {
    let names = uses.iter().map(|name| name.replace('.', "/"));
    let by_name = names.fold(0, |all, name| all | asked_with(name.as_bytes()));
    let threads = set_by(b"java/lang/Thread", b"start");
    if by_name & threads == 0 {
        return by_name;
    }
    let path = index.find_dotted(class).map(|found| found.path);
    match path.and_then(|path| of_all_releases(path, class)) {
        Some(called) => by_name & !threads | called & threads,
        None => by_name,
    }
}

/// What the class calls, in all versions of it that a jar has.
fn of_all_releases(jar: &Path, class: &str) -> Option<Shelves> {
    let bytes = std::fs::read(jar).ok()?;
    let jar = Jar::open(&bytes).ok()?;
    let file = format!("{}.class", class.replace('.', "/"));
    let versioned = format!("/{file}");
    let is_it = |path: &[u8]| {
        path == file.as_bytes()
            || path.starts_with(b"META-INF/versions/") && path.ends_with(versioned.as_bytes())
    };
    let mut reader = EntryReader::default();
    let mut found = None;
    for entry in jar.entries().iter().filter(|entry| is_it(&entry.path)) {
        found = Some(found.unwrap_or(0) | called(reader.read(&jar, entry).ok()?)?);
    }
    found
}

/// What the methods that a class file names get something from; one that extends a group of threads can
/// call it by its own name.
fn called(bytes: &[u8]) -> Option<Shelves> {
    let file = ClassFile::parse(bytes).ok()?;
    let mut found = file.super_name.map_or(0, asked_with);
    for (at, tag) in file.pool.entries() {
        if matches!(tag, Tag::Method | Tag::InterfaceMethod) {
            let member = file.pool.member(at).ok()?;
            if member.name != b"<init>" {
                found |= asked_by(member.class, member.name);
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_testkit::{Sources, class_files, jdk};

    fn asks_for_threads(body: &str) -> bool {
        let source = format!("class A {body}");
        let folder = Sources::new().files(&[("A.java", &source)]).compile(&jdk());
        let files = class_files(&folder);
        let (_, bytes) = files.iter().find(|(name, _)| format!("{name:?}").contains("A")).unwrap();
        called(bytes).unwrap() & set_by(b"java/lang/Thread", b"start") != 0
    }

    #[test]
    fn groups_of_threads_that_are_handed_on_are_not_asked() {
        assert!(!asks_for_threads(
            "{ Thread of(ThreadGroup g, Runnable r) { return new Thread(g, r); } }"
        ));
        assert!(!asks_for_threads("{ ThreadGroup g = new ThreadGroup(\"a\"); }"));
    }

    #[test]
    fn who_calls_them_asks() {
        for body in [
            "{ int all(ThreadGroup g) { return g.activeCount(); } }",
            "{ String name(ThreadGroup g) { return g.getName(); } }",
            "{ Object g() { return Thread.currentThread().getThreadGroup(); } }",
            "{ Object all() { return Thread.getAllStackTraces(); } }",
            "{ java.util.function.Supplier<String> of(ThreadGroup g) { return g::getName; } }",
            "extends ThreadGroup { A() { super(\"a\"); } int all() { return activeCount(); } }",
        ] {
            assert!(asks_for_threads(body), "{body}");
        }
    }

    #[test]
    fn what_cannot_be_read_can_call_anything() {
        assert_eq!(called(b"no class file"), None);
        assert_eq!(of_all_releases(Path::new("/no/such.jar"), "a.B"), None);
    }
}
