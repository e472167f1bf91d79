//! Hashes of constants that do not depend on where in the pool they stand.
//!
//! Each constant is hashed once, when something refers to it. A constant whose hash was never asked
//! for is one that nothing a program can see refers to; [`crate::references`] uses that.

use crate::pool::{ConstantPool, Tag};
use crate::reader::{Malformed, Reader};
use tamis_core::Hash;

/// Dynamic constants may take dynamic constants as arguments; a file can make that a circle.
const DEEPEST: u32 = 32;

#[derive(Debug)]
pub(crate) struct Constants<'a, 's> {
    pub(crate) pool: &'s ConstantPool<'a>,
    /// Hash per pool slot, 0 where not yet asked for.
    hashes: &'s mut Vec<u128>,
    /// Method handle and arguments of every bootstrap method.
    bootstraps: Vec<(u16, Reader<'a>)>,
    whole_pool: Option<Hash>,
}

impl<'a, 's> Constants<'a, 's> {
    pub(crate) fn new(
        pool: &'s ConstantPool<'a>,
        bootstrap_methods: Option<Reader<'a>>,
        hashes: &'s mut Vec<u128>,
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

    pub(crate) fn append(&mut self, index: u16, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let hash = self.hash(index, 0)?;
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
            out.extend_from_slice(&[0; 16]);
            return Ok(());
        }
        self.append(index, out)
    }

    fn hash(&mut self, index: u16, depth: u32) -> Result<u128, Malformed> {
        if let Some(&known) = self.hashes.get(usize::from(index))
            && known > 1
        {
            return Ok(known);
        }
        let hash = self.compute(index, depth)?.max(2);
        self.hashes[usize::from(index)] = hash;
        Ok(hash)
    }

    fn compute(&mut self, index: u16, depth: u32) -> Result<u128, Malformed> {
        let pool = self.pool;
        let Some(tag) = pool.tag(index) else {
            return Err(Malformed { at: 0, what: "reference to an unused constant" });
        };
        if depth > DEEPEST {
            return Err(Malformed { at: 0, what: "constants nested too deeply" });
        }
        let depth = depth + 1;
        let hash = match tag {
            Tag::Utf8 => tagged(tag, pool.utf8(index)?),
            Tag::Integer | Tag::Float | Tag::Long | Tag::Double => {
                tagged(tag, pool.number(index, tag)?)
            }
            Tag::Class | Tag::String | Tag::MethodType | Tag::Module | Tag::Package => {
                tagged(tag, pool.text_of(index, tag)?)
            }
            Tag::Field | Tag::Method | Tag::InterfaceMethod => {
                let (class, name_and_type) = pool.pair(index, tag)?;
                // Through the class constant itself, so that it counts as used.
                let class = self.hash(class, depth)?;
                combined(tag, class, self.hash(name_and_type, depth)?)
            }
            Tag::NameAndType => {
                let (name, descriptor) = pool.pair(index, tag)?;
                let name = Hash::of(pool.utf8(name)?).0;
                combined(tag, name, Hash::of(pool.utf8(descriptor)?).0)
            }
            Tag::MethodHandle => {
                let (kind, reference) = pool.method_handle(index)?;
                combined(tag, u128::from(kind), self.hash(reference, depth)?)
            }
            Tag::Dynamic | Tag::InvokeDynamic => {
                let (bootstrap, name_and_type) = pool.pair(index, tag)?;
                let bootstrap = self.bootstrap(bootstrap, depth)?;
                combined(tag, bootstrap, self.hash(name_and_type, depth)?)
            }
        };
        Ok(hash)
    }

    fn bootstrap(&mut self, number: u16, depth: u32) -> Result<u128, Malformed> {
        let Some(&(handle, mut arguments)) = self.bootstraps.get(usize::from(number)) else {
            return Err(Malformed { at: 0, what: "missing bootstrap method" });
        };
        let mut bytes = self.hash(handle, depth)?.to_le_bytes().to_vec();
        while !arguments.is_empty() {
            let argument = self.hash(arguments.u2()?, depth)?;
            bytes.extend_from_slice(&argument.to_le_bytes());
        }
        Ok(Hash::of(&bytes).0)
    }
}

fn tagged(tag: Tag, bytes: &[u8]) -> u128 {
    // The kind is mixed in behind the hash: no copy of the text is needed.
    Hash::of(bytes).0 ^ (u128::from(tag as u8) << 120 | u128::from(tag as u8)).wrapping_mul(MIX)
}

fn combined(tag: Tag, first: u128, second: u128) -> u128 {
    let mut bytes = [0; 33];
    bytes[0] = tag as u8;
    bytes[1..17].copy_from_slice(&first.to_le_bytes());
    bytes[17..].copy_from_slice(&second.to_le_bytes());
    Hash::of(&bytes).0
}

/// An odd number without pattern, to spread the kind over all bits.
const MIX: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
