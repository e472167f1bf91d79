//! Classes whose only purpose is to be marked: static bytes, one per mark.
//!
//! A mark has a field of its own, not a place in an array: for the JVM's compiler all places of all
//! arrays of bytes are the same memory, so a store there stays where it is, in the middle of a loop,
//! and stands in the way of what the loop does with arrays of its own. A store to a field that
//! nothing else touches moves out.
//!
//! The JVM looks fields up one by one, so a class has few of them. They follow each other in the
//! order of their numbers; a reader that goes by addresses can make certain of it, as each can hold
//! its own number at first.

use crate::class::flags;
use crate::mutf8;
use crate::pool::Tag;

/// So that a byte can tell them apart.
pub const PER_CLASS: u32 = 256;

/// What the bytes hold before anything is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtFirst {
    Zero,
    /// Each its own number.
    Number,
}

/// The class with this mark, of a family of classes.
#[must_use]
pub fn class_name(family: &str, mark: u32) -> String {
    format!("{family}{}", mark / PER_CLASS)
}

/// The field of this mark.
#[must_use]
pub fn field_name(mark: u32) -> String {
    format!("p{:02x}", mark % PER_CLASS)
}

/// A class with all its fields; `name` like `com/acme/Marks0`.
#[must_use]
pub fn class_file(name: &str, at_first: AtFirst) -> Vec<u8> {
    const JAVA_5: u16 = 49;
    // Constants: the class, its super class, their names, the descriptor, the attribute, then for
    // each field its name and its number.
    const FIRST_FIELD: u16 = 7;
    let fields = PER_CLASS as u16;
    let mut out = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0];
    let u2 = |out: &mut Vec<u8>, n: u16| out.extend_from_slice(&n.to_be_bytes());
    let text = |out: &mut Vec<u8>, text: &str| {
        let text = mutf8::encode(text);
        out.push(Tag::Utf8 as u8);
        u2(out, text.len() as u16);
        out.extend_from_slice(&text);
    };
    u2(&mut out, JAVA_5);
    u2(&mut out, FIRST_FIELD + 2 * fields);
    out.extend_from_slice(&[Tag::Class as u8, 0, 3, Tag::Class as u8, 0, 4]);
    for constant in [name, "java/lang/Object", "B", "ConstantValue"] {
        text(&mut out, constant);
    }
    for field in 0..PER_CLASS {
        text(&mut out, &field_name(field));
        out.push(Tag::Integer as u8);
        out.extend_from_slice(&i32::from(field as u8 as i8).to_be_bytes());
    }
    u2(&mut out, flags::PUBLIC | flags::FINAL | flags::SUPER);
    // This class, its super class, no interfaces.
    out.extend_from_slice(&[0, 1, 0, 2, 0, 0]);
    u2(&mut out, fields);
    for field in 0..fields {
        let name = FIRST_FIELD + 2 * field;
        u2(&mut out, flags::PUBLIC | flags::STATIC);
        u2(&mut out, name);
        u2(&mut out, 5);
        match at_first {
            AtFirst::Zero => u2(&mut out, 0),
            AtFirst::Number => {
                out.extend_from_slice(&[0, 1, 0, 6, 0, 0, 0, 2]);
                u2(&mut out, name + 1);
            }
        }
    }
    // No methods, no attributes.
    out.extend_from_slice(&[0, 0, 0, 0]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClassFile;
    use std::collections::BTreeSet;

    #[test]
    fn a_class_has_a_byte_for_each_of_its_marks() {
        for at_first in [AtFirst::Zero, AtFirst::Number] {
            let bytes = class_file("a/Marks3", at_first);
            let class = ClassFile::parse(&bytes).unwrap();
            assert_eq!(class.name, b"a/Marks3");
            assert!(class.methods.is_empty());
            let names: Vec<_> = class.fields.iter().map(|f| mutf8::decode(f.name)).collect();
            assert_eq!(names, (768..1024).map(field_name).collect::<Vec<_>>());
            assert!(class.fields.iter().all(|field| field.descriptor == b"B"));
            let mut values = BTreeSet::new();
            for field in &class.fields {
                for attribute in field.attributes.iter(&class.pool) {
                    let attribute = attribute.unwrap();
                    assert_eq!(attribute.name, b"ConstantValue");
                    values.insert(attribute.bytes().to_vec());
                }
            }
            assert_eq!(values.len(), if at_first == AtFirst::Number { 256 } else { 0 });
        }
        assert_eq!(class_name("a/Marks", 1023), "a/Marks3");
        assert_eq!(class_name("a/Marks", 1024), "a/Marks4");
    }
}
