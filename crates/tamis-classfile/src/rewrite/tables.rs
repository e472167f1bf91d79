//! A code attribute with a prefix and what runs before its last instruction: everything that holds a
//! position in the code is moved.

use super::{FIRST_WITH_FRAMES, LONGEST_CODE, Refused, frames};
use crate::class::{Attributes, ClassFile};
use crate::reader::{Malformed, Reader};

/// The code in front of a method.
#[derive(Debug, Clone, Default)]
pub(super) struct Prefixed {
    pub(super) code: Vec<u8>,
    /// The stack that it needs; the method's own is empty at its start.
    pub(super) stack: u16,
    /// Places in or right behind the prefix that are branched to, ascending. The local variables
    /// are there what they are at the start of the method.
    pub(super) joins: Vec<u32>,
    /// The constant `StackMapTable`, where there are joins.
    pub(super) frames_name: u16,
    /// Takes the place of the `return` that ends the code.
    pub(super) end: Vec<u8>,
    /// What that needs of the stack, on top of what is there.
    pub(super) end_stack: u16,
}

impl Prefixed {
    pub(super) fn is_empty(&self) -> bool {
        self.code.is_empty() && self.end.is_empty()
    }

    pub(super) fn shorten_to(&mut self, len: usize) {
        self.code.truncate(len);
        self.joins.retain(|&join| join as usize <= len);
    }
}

/// Appends the bytes of a code attribute, without its name and length.
pub(super) fn append_code<'a>(
    mut code: Reader<'a>,
    class: &ClassFile<'a>,
    prefix: &Prefixed,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let max_stack = code.u2()?.saturating_add(prefix.end_stack).max(prefix.stack);
    out.extend_from_slice(&max_stack.to_be_bytes());
    out.extend_from_slice(code.take(2)?); // max_locals
    let old_length = code.u4()? as usize;
    let instructions = code.take(old_length)?;
    let (instructions, length) = if prefix.end.is_empty() {
        (instructions, prefix.code.len() + old_length)
    } else {
        let before = &instructions[..old_length.saturating_sub(1)];
        (before, prefix.code.len() + before.len() + prefix.end.len())
    };
    let (true, Ok(by)) = (length <= LONGEST_CODE, u16::try_from(prefix.code.len())) else {
        return Err(Refused::TooLong);
    };
    out.extend_from_slice(&(length as u32).to_be_bytes());
    out.extend_from_slice(&prefix.code);
    out.extend_from_slice(instructions);
    out.extend_from_slice(&prefix.end);
    let handlers = code.u2()?;
    out.extend_from_slice(&handlers.to_be_bytes());
    for _ in 0..handlers {
        for _ in 0..3 {
            moved(&mut code, by, out)?;
        }
        out.extend_from_slice(code.take(2)?); // the type that is caught
    }
    let attributes = Attributes::parse(&mut code)?;
    code.end("bytes behind the end of a code attribute")?;
    append_attributes(attributes, class, prefix, by, out)
}

fn append_attributes<'a>(
    attributes: Attributes<'a>,
    class: &ClassFile<'a>,
    prefix: &Prefixed,
    by: u16,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let count_at = out.len();
    out.extend_from_slice(&[0; 2]);
    let mut count = 0_u16;
    let mut joins: &[u32] =
        if class.major_version >= FIRST_WITH_FRAMES { &prefix.joins } else { &[] };
    for attribute in attributes.indexed(&class.pool) {
        let (name_index, attribute) = attribute?;
        let start = out.len();
        out.extend_from_slice(&name_index.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        let mut data = attribute.data;
        let kept = match attribute.name {
            b"LineNumberTable" => lines(&mut data, by, out).map(|()| true)?,
            b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                variables(&mut data, by, out).map(|()| true)?
            }
            b"StackMapTable" => {
                frames::append(&mut data, by, joins, out)?;
                joins = &[];
                true
            }
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
                type_annotations(&mut data, by, out).is_ok()
            }
            b"StackMap" => {
                return Err(Refused::Unsupported("method with frames in the form of CLDC"));
            }
            _ => false,
        };
        if kept {
            end_attribute(start, out)?;
            count += 1;
        } else {
            out.truncate(start);
        }
    }
    if !joins.is_empty() {
        let start = out.len();
        out.extend_from_slice(&prefix.frames_name.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        frames::append_joins_only(joins, out)?;
        end_attribute(start, out)?;
        count = count.checked_add(1).ok_or(Refused::TooLong)?;
    }
    out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
    Ok(())
}

/// Fills in the length of an attribute that began at `start`.
pub(super) fn end_attribute(start: usize, out: &mut [u8]) -> Result<(), Refused> {
    let len = u32::try_from(out.len() - start - 6).map_err(|_| Refused::TooLong)?;
    out[start + 2..start + 6].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

/// Copies one position, moved.
fn moved(reader: &mut Reader<'_>, by: u16, out: &mut Vec<u8>) -> Result<(), Malformed> {
    let at = reader.position();
    let new = moved_position(reader.u2()?, by, at)?;
    out.extend_from_slice(&new.to_be_bytes());
    Ok(())
}

/// `at` is where the position stands in the file.
pub(super) fn moved_position(position: u16, by: u16, at: usize) -> Result<u16, Malformed> {
    position.checked_add(by).ok_or(Malformed { at, what: "position behind the end of the code" })
}

fn lines(data: &mut Reader<'_>, by: u16, out: &mut Vec<u8>) -> Result<(), Malformed> {
    let count = data.u2()?;
    out.extend_from_slice(&count.to_be_bytes());
    for _ in 0..count {
        let at = data.position();
        // The first line also covers the prefix: whatever is thrown there has a line number.
        let start = match data.u2()? {
            0 => 0,
            start => moved_position(start, by, at)?,
        };
        out.extend_from_slice(&start.to_be_bytes());
        out.extend_from_slice(data.take(2)?);
    }
    data.end("bytes behind the last line number")
}

fn variables(data: &mut Reader<'_>, by: u16, out: &mut Vec<u8>) -> Result<(), Malformed> {
    let count = data.u2()?;
    out.extend_from_slice(&count.to_be_bytes());
    for _ in 0..count {
        moved(data, by, out)?;
        out.extend_from_slice(data.take(8)?); // length, name, type, variable
    }
    data.end("bytes behind the last local variable")
}

/// Annotations of types in code, each with the place that it is about.
fn type_annotations(data: &mut Reader<'_>, by: u16, out: &mut Vec<u8>) -> Result<(), Malformed> {
    // The length stays, so all is copied at once and the positions are changed in the copy.
    let (base, from) = (data.position(), out.len());
    out.extend_from_slice(data.rest());
    let mut move_next = |data: &mut Reader<'_>| -> Result<(), Malformed> {
        let at = data.position();
        let new = moved_position(data.u2()?, by, at)?;
        let place = from + at - base;
        out[place..place + 2].copy_from_slice(&new.to_be_bytes());
        Ok(())
    };
    for _ in 0..data.u2()? {
        match data.u1()? {
            // Local variables: ranges of code.
            0x40 | 0x41 => {
                for _ in 0..data.u2()? {
                    move_next(data)?;
                    data.take(4)?;
                }
            }
            // The index of a handler.
            0x42 => drop(data.take(2)?),
            // An instruction.
            0x43..=0x46 => move_next(data)?,
            // An instruction and which of its type arguments.
            0x47..=0x4b => {
                move_next(data)?;
                data.take(1)?;
            }
            _ => return data.fail("unknown target of a type annotation in code"),
        }
        let path = usize::from(data.u1()?) * 2;
        data.take(path)?;
        skip_annotation(data, 0)?;
    }
    data.end("bytes behind the last type annotation")
}

/// Annotations hold annotations; real ones nest two or three deep.
const DEEPEST: u32 = 64;

fn skip_annotation(data: &mut Reader<'_>, depth: u32) -> Result<(), Malformed> {
    data.take(2)?; // type
    for _ in 0..data.u2()? {
        data.take(2)?; // name
        skip_value(data, depth)?;
    }
    Ok(())
}

fn skip_value(data: &mut Reader<'_>, depth: u32) -> Result<(), Malformed> {
    if depth > DEEPEST {
        return data.fail("annotation nested too deeply");
    }
    match data.u1()? {
        b'@' => skip_annotation(data, depth + 1)?,
        b'[' => {
            for _ in 0..data.u2()? {
                skip_value(data, depth + 1)?;
            }
        }
        b'e' => drop(data.take(4)?),
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b's' | b'c' => drop(data.take(2)?),
        _ => return data.fail("unknown kind of annotation value"),
    }
    Ok(())
}
