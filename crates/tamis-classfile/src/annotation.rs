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
    pub(crate) place: Place,
}

impl<'a> Annotations<'a, '_, '_> {
    /// `RuntimeVisibleAnnotations`.
    pub(crate) fn table(&mut self, reader: &mut Reader<'a>) -> Result<Hash, Malformed> {
        let mut hashes = Vec::new();
        for _ in 0..reader.u2()? {
            hashes.push(self.annotation(reader, 0)?);
        }
        Ok(of_set(hashes))
    }

    /// `RuntimeVisibleParameterAnnotations`: the order of parameters counts.
    pub(crate) fn parameters(&mut self, reader: &mut Reader<'a>) -> Result<Hash, Malformed> {
        let mut bytes = Vec::new();
        for _ in 0..reader.u1()? {
            bytes.extend_from_slice(&self.table(reader)?.0.to_le_bytes());
        }
        Ok(Hash::of(&bytes))
    }

    /// `RuntimeVisibleTypeAnnotations`.
    pub(crate) fn types(&mut self, reader: &mut Reader<'a>) -> Result<Hash, Malformed> {
        let mut hashes = Vec::new();
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
            hashes.push(Hash::of_parts([target, &annotation.0.to_le_bytes()]));
        }
        Ok(of_set(hashes))
    }

    /// `AnnotationDefault` and the values of other attributes.
    pub(crate) fn value(&mut self, reader: &mut Reader<'a>) -> Result<Hash, Malformed> {
        let mut bytes = Vec::new();
        self.element(reader, 0, &mut bytes)?;
        Ok(Hash::of(&bytes))
    }

    fn annotation(&mut self, reader: &mut Reader<'a>, depth: u32) -> Result<Hash, Malformed> {
        let descriptor = reader.u2()?;
        let text = self.constants.pool.utf8(descriptor)?;
        self.references.descriptor(text);
        if depth == 0
            && let Some(name) = text.strip_prefix(b"L").and_then(|t| t.strip_suffix(b";"))
        {
            self.references.annotations.push(AnnotationUse { place: self.place, name });
        }
        let mut elements = Vec::new();
        for _ in 0..reader.u2()? {
            let mut bytes = Vec::new();
            self.constants.append(reader.u2()?, &mut bytes)?;
            self.element(reader, depth, &mut bytes)?;
            elements.push(Hash::of(&bytes));
        }
        let mut bytes = Vec::new();
        self.constants.append(descriptor, &mut bytes)?;
        bytes.extend_from_slice(&of_set(elements).0.to_le_bytes());
        Ok(Hash::of(&bytes))
    }

    fn element(
        &mut self,
        reader: &mut Reader<'a>,
        depth: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        if depth > DEEPEST {
            return reader.fail("annotation nested too deeply");
        }
        let tag = reader.u1()?;
        out.push(tag);
        match tag {
            b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' => {
                self.constants.append(reader.u2()?, out)?;
            }
            b's' => {
                let index = reader.u2()?;
                self.references.texts.push(self.constants.pool.utf8(index)?);
                self.constants.append(index, out)?;
            }
            b'e' => {
                let index = reader.u2()?;
                self.references.descriptor(self.constants.pool.utf8(index)?);
                self.constants.append(index, out)?;
                self.constants.append(reader.u2()?, out)?;
            }
            b'c' => {
                let index = reader.u2()?;
                self.references.descriptor(self.constants.pool.utf8(index)?);
                self.constants.append(index, out)?;
            }
            b'@' => {
                let inner = self.annotation(reader, depth + 1)?;
                out.extend_from_slice(&inner.0.to_le_bytes());
            }
            b'[' => {
                let count = reader.u2()?;
                out.extend_from_slice(&count.to_le_bytes());
                for _ in 0..count {
                    self.element(reader, depth + 1, out)?;
                }
            }
            _ => return reader.fail("unknown kind of annotation value"),
        }
        Ok(())
    }
}

/// The hash of a set: the order in which its members came does not count.
pub(crate) fn of_set(mut hashes: Vec<Hash>) -> Hash {
    hashes.sort_unstable();
    let bytes: Vec<u8> = hashes.iter().flat_map(|h| h.0.to_le_bytes()).collect();
    Hash::of(&bytes)
}
