//! The one way through a class file: fingerprint and references together.

use crate::annotation::SetHash;
use crate::class::ClassFile;
use crate::constants::Constants;
use crate::fingerprint::{Fingerprint, Memory, Walk};
use crate::pool::Tag;
use crate::reader::{Malformed, Reader};
use crate::references::References;

/// Analyses class files one after the other; keeps its memory between them.
#[derive(Debug, Default)]
pub struct Analyser {
    hashes: Vec<u64>,
    memory: Memory,
    scanned: Vec<bool>,
}

/// What one class file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analysis<'a> {
    pub fingerprint: Fingerprint<'a>,
    pub references: References<'a>,
}

impl Analyser {
    pub fn analyse<'a>(&mut self, class: &ClassFile<'a>) -> Result<Analysis<'a>, Malformed> {
        let bootstraps = class.attributes.find(&class.pool, b"BootstrapMethods")?.map(|a| a.data);
        let constants = Constants::new(&class.pool, bootstraps, &mut self.hashes)?;
        self.memory.clear(&class.pool);
        let mut references = References::default();
        // Most classes have about as many of each.
        references.uses.reserve(class.pool.len() / 8);
        references.types.reserve(class.pool.len() / 4);
        let mut walk = Walk {
            class,
            constants,
            references,
            memory: &mut self.memory,
            bodies: Vec::with_capacity(class.methods.len()),
            parts: Vec::with_capacity(class.fields.len() + class.methods.len()),
            own_attributes: SetHash::default(),
            frames: Vec::new(),
        };
        let fingerprint = walk.fingerprint()?;
        let Walk { mut constants, mut references, frames, .. } = walk;
        references.inherits.extend(class.super_name);
        references.inherits.extend(&class.interfaces);
        from_pool(class, &mut constants, &frames, &mut self.scanned, &mut references)?;
        Ok(Analysis { fingerprint, references })
    }
}

/// The references that the constant pool itself holds.
fn from_pool<'a>(
    class: &ClassFile<'a>,
    constants: &mut Constants<'a, '_>,
    frames: &[Reader<'a>],
    scanned: &mut Vec<bool>,
    references: &mut References<'a>,
) -> Result<(), Malformed> {
    let pool = &class.pool;
    let mut unused = Vec::new();
    scanned.clear();
    scanned.resize(pool.len(), false);
    for (index, tag) in pool.entries() {
        match tag {
            Tag::Class => {
                let name = pool.class_name(index)?;
                let own = || {
                    name == class.name
                        || class.super_name == Some(name)
                        || class.interfaces.contains(&name)
                };
                if constants.was_used(index) || own() {
                    references.class_constant(name);
                } else {
                    unused.push(index);
                }
            }
            Tag::String => references.texts.push(pool.text_of(index, tag)?),
            Tag::MethodType => references.types.push(pool.text_of(index, tag)?),
            Tag::NameAndType => {
                let (_, descriptor) = pool.pair(index, tag)?;
                // Many members share a descriptor.
                if scanned
                    .get_mut(usize::from(descriptor))
                    .is_some_and(|s| !std::mem::replace(s, true))
                {
                    references.types.push(pool.utf8(descriptor)?);
                }
            }
            Tag::Method | Tag::InterfaceMethod => {
                let (owner, name_and_type) = pool.pair(index, tag)?;
                let (name, _) = pool.pair(name_and_type, Tag::NameAndType)?;
                references.looks_up_names |= match pool.utf8(name)? {
                    b"loadClass" => true,
                    b"forName" => pool.class_name(owner)? == b"java/lang/Class",
                    b"findClass" => {
                        pool.class_name(owner)? == b"java/lang/invoke/MethodHandles$Lookup"
                    }
                    _ => false,
                };
            }
            _ => {}
        }
    }
    if !unused.is_empty() {
        // Frames and the table of nested classes do not count for the fingerprint, but they are
        // ordinary uses of a class.
        mark_silent_uses(class, frames, constants)?;
        for index in unused {
            let name = pool.class_name(index)?;
            if constants.was_used(index) || name.first() == Some(&b'[') {
                references.class_constant(name);
            } else {
                references.inlined.push(name);
            }
        }
    }
    Ok(())
}

fn mark_silent_uses<'a>(
    class: &ClassFile<'a>,
    frames: &[Reader<'a>],
    constants: &mut Constants<'a, '_>,
) -> Result<(), Malformed> {
    if let Some(attribute) = class.attributes.find(&class.pool, b"InnerClasses")? {
        let mut data = attribute.data;
        for _ in 0..data.u2()? {
            let (inner, outer) = (data.u2()?, data.u2()?);
            data.take(4)?;
            constants.mark(inner);
            constants.mark(outer);
        }
    }
    frames.iter().try_for_each(|table| mark_frames(*table, constants))
}

fn mark_frames(mut data: Reader<'_>, constants: &mut Constants<'_, '_>) -> Result<(), Malformed> {
    fn types(
        data: &mut Reader<'_>,
        count: u16,
        constants: &mut Constants<'_, '_>,
    ) -> Result<(), Malformed> {
        for _ in 0..count {
            match data.u1()? {
                0..=6 => {}
                7 => constants.mark(data.u2()?),
                8 => {
                    data.u2()?;
                }
                _ => return data.fail("unknown type in a stack map frame"),
            }
        }
        Ok(())
    }
    for _ in 0..data.u2()? {
        match data.u1()? {
            0..=63 => {}
            64..=127 => types(&mut data, 1, constants)?,
            247 => {
                data.u2()?;
                types(&mut data, 1, constants)?;
            }
            248..=251 => {
                data.u2()?;
            }
            kind @ 252..=254 => {
                data.u2()?;
                types(&mut data, u16::from(kind - 251), constants)?;
            }
            255 => {
                data.u2()?;
                for _ in 0..2 {
                    let count = data.u2()?;
                    types(&mut data, count, constants)?;
                }
            }
            _ => return data.fail("unknown kind of stack map frame"),
        }
    }
    Ok(())
}
