//! Constants behind the last one of the original pool.

use super::Refused;
use crate::pool::Tag;
use crate::{marks, mutf8};
use std::collections::HashMap;

/// The pool's count is a 16-bit number and one more than the last index.
const MOST_CONSTANTS: usize = 65_535;

/// Appended constants. A constant that is asked for twice is written once.
#[derive(Debug)]
pub(super) struct NewConstants {
    bytes: Vec<u8>,
    count: usize,
    known: HashMap<Vec<u8>, u16>,
    /// The class of the last mark: most methods of a class are marked in the same one.
    marked: Option<(String, u32, u16)>,
}

impl NewConstants {
    /// `count` is the original pool's, the reserved entry included.
    pub(super) fn behind(count: usize) -> Self {
        Self { bytes: Vec::new(), count, known: HashMap::new(), marked: None }
    }

    /// The count for the class file.
    pub(super) fn count(&self) -> u16 {
        self.count as u16
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn append(&mut self, entry: &[u8]) -> Result<u16, Refused> {
        if self.count >= MOST_CONSTANTS {
            return Err(Refused::PoolFull);
        }
        let index = self.count as u16;
        self.bytes.extend_from_slice(entry);
        self.count += 1;
        Ok(index)
    }

    fn shared(&mut self, entry: Vec<u8>) -> Result<u16, Refused> {
        if let Some(&index) = self.known.get(&entry) {
            return Ok(index);
        }
        let index = self.append(&entry)?;
        self.known.insert(entry, index);
        Ok(index)
    }

    pub(super) fn utf8(&mut self, text: &str) -> Result<u16, Refused> {
        self.utf8_bytes(&mutf8::encode(text))
    }

    /// A text in the form of class files.
    pub(super) fn utf8_bytes(&mut self, text: &[u8]) -> Result<u16, Refused> {
        let Ok(len) = u16::try_from(text.len()) else {
            return Err(Refused::Unsupported("text longer than 65535 bytes"));
        };
        let mut entry = Vec::with_capacity(3 + text.len());
        entry.push(Tag::Utf8 as u8);
        entry.extend_from_slice(&len.to_be_bytes());
        entry.extend_from_slice(text);
        self.shared(entry)
    }

    fn one(&mut self, tag: Tag, text: u16) -> Result<u16, Refused> {
        let [high, low] = text.to_be_bytes();
        self.shared(vec![tag as u8, high, low])
    }

    fn two(&mut self, tag: Tag, first: u16, second: u16) -> Result<u16, Refused> {
        let ([a, b], [c, d]) = (first.to_be_bytes(), second.to_be_bytes());
        self.shared(vec![tag as u8, a, b, c, d])
    }

    pub(super) fn class(&mut self, name: &str) -> Result<u16, Refused> {
        let name = self.utf8(name)?;
        self.one(Tag::Class, name)
    }

    pub(super) fn string(&mut self, text: &str) -> Result<u16, Refused> {
        let text = self.utf8(text)?;
        self.one(Tag::String, text)
    }

    /// A member of a class that is already a constant, name and descriptor as well.
    pub(super) fn member_of(
        &mut self,
        tag: Tag,
        class: u16,
        name: u16,
        descriptor: u16,
    ) -> Result<u16, Refused> {
        let name_and_type = self.two(Tag::NameAndType, name, descriptor)?;
        self.two(tag, class, name_and_type)
    }

    pub(super) fn method(
        &mut self,
        owner: &str,
        name: &str,
        descriptor: &str,
    ) -> Result<u16, Refused> {
        let class = self.class(owner)?;
        let (name, descriptor) = (self.utf8(name)?, self.utf8(descriptor)?);
        self.member_of(Tag::Method, class, name, descriptor)
    }

    /// The field of a mark.
    pub(super) fn mark(&mut self, family: &str, mark: u32) -> Result<u16, Refused> {
        let number = mark / marks::PER_CLASS;
        let class = match &self.marked {
            Some((last, at, class)) if *at == number && last == family => *class,
            _ => {
                let class = self.class(&marks::class_name(family, mark))?;
                self.marked = Some((family.to_owned(), number, class));
                class
            }
        };
        let (name, descriptor) = (self.utf8(&marks::field_name(mark))?, self.utf8("B")?);
        self.member_of(Tag::Field, class, name, descriptor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_constants_are_written_once() {
        let mut constants = NewConstants::behind(10);
        let first = constants.method("a/B", "f", "()V").unwrap();
        let len = constants.bytes().len();
        assert_eq!(constants.method("a/B", "f", "()V"), Ok(first));
        assert_eq!((first, constants.count(), constants.bytes().len()), (15, 16, len));
        // Only the descriptor, the pair and the method itself are new.
        assert_eq!(constants.method("a/B", "f", "(I)V"), Ok(18));
        let mark = constants.mark("a/B", 7).unwrap();
        for other in [("a/B", 8), ("a/B", 7 + 256), ("a/C", 7)] {
            assert_ne!(constants.mark(other.0, other.1), Ok(mark), "{other:?}");
        }
        assert_eq!(constants.mark("a/B", 7), Ok(mark));
    }

    #[test]
    fn the_last_index_is_used_and_no_other() {
        let mut constants = NewConstants::behind(65_534);
        assert_eq!(constants.utf8("x"), Ok(65_534));
        assert_eq!(constants.utf8("y"), Err(Refused::PoolFull));
        assert_eq!(constants.utf8("x"), Ok(65_534));
        assert_eq!((constants.count(), constants.bytes().len()), (65_535, 4));
    }

    #[test]
    fn a_text_is_written_in_javas_form_and_has_a_limit() {
        let mut constants = NewConstants::behind(1);
        constants.utf8("a\0é").unwrap();
        assert_eq!(constants.bytes(), [1, 0, 5, b'a', 0xc0, 0x80, 0xc3, 0xa9]);
        assert!(constants.utf8(&"x".repeat(65_535)).is_ok());
        assert!(matches!(constants.utf8(&"x".repeat(65_536)), Err(Refused::Unsupported(_))));
    }
}
