//! Runtime-visible annotations: a hash that ignores their order, and what they refer to.

use crate::constants::Constants;
use crate::reader::{Malformed, Reader};
use crate::references::{AnnotationUse, Place, References};
use tamis_core::Hash;

/// Annotations hold annotations; real ones nest two or three deep.
const DEEPEST: u32 = 64;

/// Reads annotations and notes what they refer to.
#[derive(Debug)]
pub(crate) struct Annotations<'a, 'c, 's> {
    pub(crate) constants: &'c mut Constants<'a, 's>,
    pub(crate) references: &'c mut References<'a>,
    /// What is hashed stands at its end; what was there before is left alone.
    pub(crate) buffer: &'c mut Vec<u8>,
    pub(crate) place: Place,
}

/// The hash of a set: the order in which its members came does not count.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SetHash(u128);

impl SetHash {
    pub(crate) fn add(&mut self, member: Hash) {
        self.0 = self.0.wrapping_add(member.0);
    }

    pub(crate) fn append(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes());
    }
}

/// Hashes what stands behind `start` and removes it.
pub(crate) fn taken(buffer: &mut Vec<u8>, start: usize) -> Hash {
    let hash = Hash::of(buffer.get(start..).unwrap_or_default());
    buffer.truncate(start);
    hash
}

/// A text with its length, so that borders count.
pub(crate) fn text(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

impl<'a> Annotations<'a, '_, '_> {
    /// `RuntimeVisibleAnnotations`.
    pub(crate) fn table(&mut self, reader: &mut Reader<'a>) -> Result<(), Malformed> {
        let mut set = SetHash::default();
        for _ in 0..reader.u2()? {
            set.add(self.annotation(reader, 0)?);
        }
        set.append(self.buffer);
        Ok(())
    }

    /// `RuntimeVisibleParameterAnnotations`: the order of parameters counts.
    pub(crate) fn parameters(&mut self, reader: &mut Reader<'a>) -> Result<(), Malformed> {
        for _ in 0..reader.u1()? {
            self.table(reader)?;
        }
        Ok(())
    }

    /// `RuntimeVisibleTypeAnnotations`.
    pub(crate) fn types(&mut self, reader: &mut Reader<'a>) -> Result<(), Malformed> {
        let mut set = SetHash::default();
        for _ in 0..reader.u2()? {
            let start = *reader;
            let at = reader.position();
            let len = match reader.u1()? {
                0x00 | 0x01 | 0x16 => 1,
                0x10..=0x12 | 0x17 | 0x42..=0x46 => 2,
                0x13..=0x15 => 0,
                0x40 | 0x41 => usize::from(reader.u2()?) * 6,
                0x47..=0x4b => 3,
                _ => return Err(Malformed { at, what: "unknown target of a type annotation" }),
            };
            reader.take(len)?;
            let path = usize::from(reader.u1()?) * 2;
            reader.take(path)?;
            let target = start.rest().get(..reader.position() - at).unwrap_or_default();
            let annotation = self.annotation(reader, 0)?;
            let one = self.buffer.len();
            self.buffer.extend_from_slice(target);
            self.buffer.extend_from_slice(&annotation.0.to_le_bytes());
            set.add(taken(self.buffer, one));
        }
        set.append(self.buffer);
        Ok(())
    }

    /// `AnnotationDefault` and the values of other attributes.
    pub(crate) fn value(&mut self, reader: &mut Reader<'a>) -> Result<(), Malformed> {
        self.element(reader, 0)
    }

    fn annotation(&mut self, reader: &mut Reader<'a>, depth: u32) -> Result<Hash, Malformed> {
        let descriptor = reader.u2()?;
        let text = self.constants.pool.utf8(descriptor)?;
        self.references.types.push(text);
        if depth == 0
            && let Some(name) = text.strip_prefix(b"L").and_then(|t| t.strip_suffix(b";"))
        {
            self.references.annotations.push(AnnotationUse { place: self.place, name });
        }
        let start = self.buffer.len();
        self.constants.append(descriptor, self.buffer)?;
        let mut elements = SetHash::default();
        for _ in 0..reader.u2()? {
            let one = self.buffer.len();
            self.constants.append(reader.u2()?, self.buffer)?;
            self.element(reader, depth)?;
            elements.add(taken(self.buffer, one));
        }
        elements.append(self.buffer);
        Ok(taken(self.buffer, start))
    }

    /// Appends one value.
    fn element(&mut self, reader: &mut Reader<'a>, depth: u32) -> Result<(), Malformed> {
        if depth > DEEPEST {
            return reader.fail("annotation nested too deeply");
        }
        let tag = reader.u1()?;
        self.buffer.push(tag);
        match tag {
            b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' => {
                self.constants.append(reader.u2()?, self.buffer)?;
            }
            b's' => {
                let index = reader.u2()?;
                self.references.texts.push(self.constants.pool.utf8(index)?);
                self.constants.append(index, self.buffer)?;
            }
            b'e' => {
                let index = reader.u2()?;
                self.references.types.push(self.constants.pool.utf8(index)?);
                self.constants.append(index, self.buffer)?;
                self.constants.append(reader.u2()?, self.buffer)?;
            }
            b'c' => {
                let index = reader.u2()?;
                self.references.types.push(self.constants.pool.utf8(index)?);
                self.constants.append(index, self.buffer)?;
            }
            b'@' => {
                let inner = self.annotation(reader, depth + 1)?;
                self.buffer.extend_from_slice(&inner.0.to_le_bytes());
            }
            b'[' => {
                let count = reader.u2()?;
                self.buffer.extend_from_slice(&count.to_le_bytes());
                for _ in 0..count {
                    self.element(reader, depth + 1)?;
                }
            }
            _ => return reader.fail("unknown kind of annotation value"),
        }
        Ok(())
    }
}
