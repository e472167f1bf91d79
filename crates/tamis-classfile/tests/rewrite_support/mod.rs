//! Edits of whole classes and what must hold afterwards.

use tamis_classfile::rewrite::{Editor, Prefix, Refused, Wrap};
use tamis_classfile::{Attributes, ClassFile, ConstantPool, Member};

/// Marks every method that has code; `first` is the id of the first method.
pub(crate) fn mark_all(bytes: &[u8], owner: &str, first: u32) -> Result<Vec<u8>, Refused> {
    let mut editor = Editor::new(bytes)?;
    for method in 0..editor.class().methods.len() {
        let mark = Prefix::Mark { owner, field: "HITS", index: first + method as u32 };
        match editor.prefix(method, mark) {
            Ok(()) | Err(Refused::NoCode | Refused::TooLong) => {}
            Err(other) => return Err(other),
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
            Ok(()) | Err(Refused::NoCode) => {}
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
    let of_class = |c: &ClassFile<'_>| format!("{:?}", attributes(&c.attributes, &c.pool));
    assert_eq!(of_class(&before), of_class(&after), "{what}");
    let members = |all: &[Member<'_>], pool: &ConstantPool<'_>| -> Vec<String> {
        all.iter()
            .filter(|m| !m.name.ends_with(b"$tamis"))
            .map(|m| {
                let attributes = attributes(&m.attributes, pool);
                format!("{} {:?} {:?} {attributes:?}", m.access & !0x20, m.name, m.descriptor)
            })
            .collect()
    };
    assert_eq!(members(&before.fields, &before.pool), members(&after.fields, &after.pool));
    assert_eq!(members(&before.methods, &before.pool), members(&after.methods, &after.pool));
    for (index, tag) in before.pool.entries() {
        assert_eq!(after.pool.tag(index), Some(tag), "{what}");
    }
}
