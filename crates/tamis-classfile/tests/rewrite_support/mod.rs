//! Edits of whole classes and what must hold afterwards.

use tamis_classfile::rewrite::{EMPTY_FINALIZER, Editor, Prefix, Refused, Wrap};
use tamis_classfile::{Attributes, ClassFile, ConstantPool, Member};

const SYNCHRONIZED: u16 = 0x0020;

/// Marks every method that has code; `first` is the mark of the first method. Where a program starts,
/// the probe is called.
pub(crate) fn mark_all(bytes: &[u8], owner: &str, first: u32) -> Result<Vec<u8>, Refused> {
    let family = &format!("{owner}Marks");
    let mut editor = Editor::new(bytes)?;
    for method in 0..editor.class().methods.len() {
        let mark = Prefix::Mark { family, mark: first + method as u32 };
        match editor.prefix(method, mark) {
            Ok(()) | Err(Refused::NoCode | Refused::TooLong | EMPTY_FINALIZER) => {}
            Err(other) => return Err(other),
        }
        if editor.class().methods[method].name == b"main" {
            editor.prefix(method, Prefix::Call { owner, name: "started", arguments: &[] })?;
        }
    }
    editor.finish()
}

/// Wraps every method that can be.
pub(crate) fn wrap_all(bytes: &[u8], owner: &str) -> Result<Vec<u8>, Refused> {
    let mut editor = Editor::new(bytes)?;
    for method in 0..editor.class().methods.len() {
        if editor.class().methods[method].name.starts_with(b"<") {
            continue;
        }
        match editor.wrap(method, Wrap { owner, enter: "enter", leave: "leave", kind: "kind" }) {
            Ok(()) | Err(Refused::NoCode | EMPTY_FINALIZER) => {}
            Err(other) => return Err(other),
        }
    }
    editor.finish()
}

/// Attributes but the code of methods, with their bytes: constants keep their numbers.
fn attributes<'a>(all: &Attributes<'a>, pool: &ConstantPool<'a>) -> Vec<(&'a [u8], &'a [u8])> {
    all.iter(pool)
        .map(|a| a.expect("an attribute"))
        .filter(|a| a.name != b"Code")
        .map(|a| (a.name, a.bytes()))
        .collect()
}

/// Everything but code and new methods is what it was. `synchronized` moves to the original.
pub(crate) fn assert_same_but_code(before: &[u8], after: &[u8], what: &str) {
    let (before, after) = (
        ClassFile::parse(before).expect("a class"),
        ClassFile::parse(after).unwrap_or_else(|e| panic!("{what}: {e}")),
    );
    let head = |c: &ClassFile<'_>| (c.minor_version, c.major_version, c.access);
    assert_eq!(head(&before), head(&after), "{what}");
    assert_eq!(before.name, after.name, "{what}");
    assert_eq!(before.super_name, after.super_name, "{what}");
    assert_eq!(before.interfaces, after.interfaces, "{what}");
    assert!(
        attributes(&before.attributes, &before.pool) == attributes(&after.attributes, &after.pool),
        "{what}: attributes of the class"
    );
    assert_same_members(&before.fields, &before.pool, &after.fields, &after.pool, what);
    assert_same_members(&before.methods, &before.pool, &after.methods, &after.pool, what);
    for (index, tag) in before.pool.entries() {
        assert_eq!(after.pool.tag(index), Some(tag), "{what}");
    }
}

fn assert_same_members<'a, 'b>(
    before: &[Member<'a>],
    pool: &ConstantPool<'a>,
    after: &[Member<'b>],
    new_pool: &ConstantPool<'b>,
    what: &str,
) {
    let mut after = after.iter().filter(|m| !m.name.ends_with(b"$tamis"));
    for old in before {
        let new = after.next().unwrap_or_else(|| panic!("{what}: a member is missing"));
        assert_eq!((old.name, old.descriptor), (new.name, new.descriptor), "{what}");
        assert_eq!(old.access & !SYNCHRONIZED, new.access & !SYNCHRONIZED, "{what}");
        assert!(
            attributes(&old.attributes, pool) == attributes(&new.attributes, new_pool),
            "{what}: attributes of a member"
        );
    }
    assert_eq!(after.count(), 0, "{what}: no more members");
}
