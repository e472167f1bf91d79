//! Hashes of constants that do not depend on where in the pool they stand.
//!
//! Each constant is hashed once, when something refers to it. A constant whose hash was never asked
//! for is one that nothing a program can see refers to; [`crate::references`] uses that.
//!
//! 64 bits per constant are enough: what is compared is one constant with what stands at its place
//! in another version of the same class, not all constants with each other.

use crate::pool::{ConstantPool, Tag};
use crate::reader::{Malformed, Reader};
use tamis_core::Hash;
use xxhash_rust::xxh3::xxh3_64;

/// Dynamic constants may take dynamic constants as arguments; a file can make that a circle.
const DEEPEST: u32 = 32;

#[derive(Debug)]
pub(crate) struct Constants<'a, 's> {
    pub(crate) pool: &'s ConstantPool<'a>,
    /// Hash per pool slot: 0 where not yet asked for, 1 where only marked.
    hashes: &'s mut Vec<u64>,
    /// Method handle and arguments of every bootstrap method.
    bootstraps: Vec<(u16, Reader<'a>)>,
    whole_pool: Option<Hash>,
}

impl<'a, 's> Constants<'a, 's> {
    pub(crate) fn new(
        pool: &'s ConstantPool<'a>,
        bootstrap_methods: Option<Reader<'a>>,
        hashes: &'s mut Vec<u64>,
    ) -> Result<Self, Malformed> {
        hashes.clear();
        hashes.resize(pool.len(), 0);
        let mut bootstraps = Vec::new();
        if let Some(mut reader) = bootstrap_methods {
            for _ in 0..reader.u2()? {
                let handle = reader.u2()?;
                let len = usize::from(reader.u2()?) * 2;
                bootstraps.push((handle, reader.part(len)?));
            }
        }
        Ok(Self { pool, hashes, bootstraps, whole_pool: None })
    }

    pub(crate) fn was_used(&self, index: u16) -> bool {
        self.hashes.get(usize::from(index)).is_some_and(|&h| h != 0)
    }

    /// Marks a constant as one that something refers to.
    pub(crate) fn mark(&mut self, index: u16) {
        if let Some(slot) = self.hashes.get_mut(usize::from(index))
            && *slot == 0
        {
            *slot = 1;
        }
    }

    /// All constants in their order: for attributes that we cannot read and that may point anywhere.
    pub(crate) fn whole_pool(&mut self) -> Hash {
        *self.whole_pool.get_or_insert_with(|| Hash::of(self.pool.bytes()))
    }

    #[inline]
    pub(crate) fn append(&mut self, index: u16, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let hash = match self.hashes.get(usize::from(index)) {
            Some(&known) if known > 1 => known,
            _ => self.hash(index, 0)?,
        };
        out.extend_from_slice(&hash.to_le_bytes());
        Ok(())
    }

    /// As [`Constants::append`]; index 0 stands for "none".
    pub(crate) fn append_optional(
        &mut self,
        index: u16,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        if index == 0 {
            out.extend_from_slice(&[0; 8]);
            return Ok(());
        }
        self.append(index, out)
    }

    fn hash(&mut self, index: u16, depth: u32) -> Result<u64, Malformed> {
        if let Some(&known) = self.hashes.get(usize::from(index))
            && known > 1
        {
            return Ok(known);
        }
        let hash = self.compute(index, depth)?.max(2);
        self.hashes[usize::from(index)] = hash;
        Ok(hash)
    }

    fn compute(&mut self, index: u16, depth: u32) -> Result<u64, Malformed> {
        let pool = self.pool;
        let Some(tag) = pool.tag(index) else {
            return Err(Malformed { at: 0, what: "reference to an unused constant" });
        };
        if depth > DEEPEST {
            return Err(Malformed { at: 0, what: "constants nested too deeply" });
        }
        let depth = depth + 1;
        let hash = match tag {
            Tag::Utf8 => xxh3_64(pool.utf8(index)?),
            Tag::Integer | Tag::Float | Tag::Long | Tag::Double => {
                combined(tag, xxh3_64(pool.number(index, tag)?), 0)
            }
            Tag::Class | Tag::String | Tag::MethodType | Tag::Module | Tag::Package => {
                let text = pool.single(index, tag)?;
                combined(tag, self.text(text)?, 0)
            }
            Tag::Field | Tag::Method | Tag::InterfaceMethod => {
                let (class, name_and_type) = pool.pair(index, tag)?;
                // Through the class constant itself, so that it counts as used.
                let class = self.hash(class, depth)?;
                combined(tag, class, self.hash(name_and_type, depth)?)
            }
            Tag::NameAndType => {
                let (name, descriptor) = pool.pair(index, tag)?;
                combined(tag, self.text(name)?, self.text(descriptor)?)
            }
            Tag::MethodHandle => {
                let (kind, reference) = pool.method_handle(index)?;
                combined(tag, u64::from(kind), self.hash(reference, depth)?)
            }
            Tag::Dynamic | Tag::InvokeDynamic => {
                let (bootstrap, name_and_type) = pool.pair(index, tag)?;
                let bootstrap = self.bootstrap(bootstrap, depth)?;
                combined(tag, bootstrap, self.hash(name_and_type, depth)?)
            }
        };
        Ok(hash)
    }

    /// The hash of a constant that must be a text: many constants share one.
    fn text(&mut self, index: u16) -> Result<u64, Malformed> {
        let text = self.pool.utf8(index)?;
        let slot = &mut self.hashes[usize::from(index)];
        if *slot <= 1 {
            *slot = xxh3_64(text).max(2);
        }
        Ok(*slot)
    }

    fn bootstrap(&mut self, number: u16, depth: u32) -> Result<u64, Malformed> {
        let Some(&(handle, mut arguments)) = self.bootstraps.get(usize::from(number)) else {
            return Err(Malformed { at: 0, what: "missing bootstrap method" });
        };
        let mut bytes = self.hash(handle, depth)?.to_le_bytes().to_vec();
        while !arguments.is_empty() {
            let argument = self.hash(arguments.u2()?, depth)?;
            bytes.extend_from_slice(&argument.to_le_bytes());
        }
        Ok(xxh3_64(&bytes))
    }
}

fn combined(tag: Tag, first: u64, second: u64) -> u64 {
    let mut bytes = [0; 17];
    bytes[0] = tag as u8;
    bytes[1..9].copy_from_slice(&first.to_le_bytes());
    bytes[9..].copy_from_slice(&second.to_le_bytes());
    xxh3_64(&bytes)
}
