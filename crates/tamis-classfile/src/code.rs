//! Method bodies in a form that does not depend on the constant pool.
//!
//! Instructions are copied with each constant index replaced by the constant's hash. javac writes
//! `ldc` or `ldc_w` depending on where a constant happens to stand, and switches are padded to
//! their position, so positions are renumbered as if every `ldc` were wide and no switch padded;
//! branch targets and the exception table use the new positions.

use crate::constants::Constants;
use crate::reader::{Malformed, Reader};

/// How to treat the operands of an opcode: 0 to 4 are plain bytes.
pub(crate) mod operands {
    pub(crate) const LDC: u8 = 5;
    pub(crate) const CONSTANT: u8 = 6;
    pub(crate) const CONSTANT_1: u8 = 7;
    pub(crate) const CONSTANT_2: u8 = 8;
    pub(crate) const BRANCH_2: u8 = 9;
    pub(crate) const BRANCH_4: u8 = 10;
    pub(crate) const TABLE_SWITCH: u8 = 11;
    pub(crate) const LOOKUP_SWITCH: u8 = 12;
    pub(crate) const WIDE: u8 = 13;
    pub(crate) const UNKNOWN: u8 = 255;
}

const LDC: u8 = 18;
const LDC_W: u8 = 19;
const IINC: u8 = 132;

pub(crate) const OPERANDS: [u8; 256] = operand_table();

const fn operand_table() -> [u8; 256] {
    use operands::*;
    let mut table = [UNKNOWN; 256];
    let mut op = 0;
    while op <= 201 {
        table[op] = match op {
            16 | 21..=25 | 54..=58 | 169 | 188 => 1,
            17 | 132 => 2,
            18 => LDC,
            19 | 20 | 178..=184 | 187 | 189 | 192 | 193 => CONSTANT,
            197 => CONSTANT_1,
            185 | 186 => CONSTANT_2,
            153..=168 | 198 | 199 => BRANCH_2,
            200 | 201 => BRANCH_4,
            170 => TABLE_SWITCH,
            171 => LOOKUP_SWITCH,
            196 => WIDE,
            _ => 0,
        };
        op += 1;
    }
    table
}

/// The length of the instruction at a position.
pub(crate) fn instruction_length(code: &[u8], pc: usize) -> Result<usize, Malformed> {
    let byte =
        |at: usize| code.get(at).copied().ok_or(Malformed { at, what: "code that ends too early" });
    let word = |at: usize| -> Result<i64, Malformed> {
        let bytes = [byte(at)?, byte(at + 1)?, byte(at + 2)?, byte(at + 3)?];
        Ok(i64::from(i32::from_be_bytes(bytes)))
    };
    let padded = pc + 4 - pc % 4;
    let count = |n: i64| usize::try_from(n).unwrap_or(usize::MAX);
    Ok(match OPERANDS[usize::from(byte(pc)?)] {
        plain @ 0..=4 => 1 + usize::from(plain),
        operands::LDC => 2,
        operands::CONSTANT | operands::BRANCH_2 => 3,
        operands::CONSTANT_1 => 4,
        operands::CONSTANT_2 | operands::BRANCH_4 => 5,
        operands::TABLE_SWITCH => {
            let cases = count(word(padded + 8)? - word(padded + 4)? + 1);
            (padded - pc + 12).saturating_add(cases.saturating_mul(4))
        }
        operands::LOOKUP_SWITCH => {
            (padded - pc + 8).saturating_add(count(word(padded + 4)?).saturating_mul(8))
        }
        operands::WIDE if byte(pc + 1)? == IINC => 6,
        operands::WIDE => 4,
        _ => return Err(Malformed { at: pc, what: "unknown instruction" }),
    })
}

/// Memory that is used again for every method.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Position in the file's code, and what all positions behind it move by.
    shifts: Vec<(u32, i64)>,
    /// Place in the output, and the position that is to be written there.
    targets: Vec<(usize, i64)>,
}

impl Scratch {
    fn renumbered(&self, pc: i64) -> i64 {
        let before = self.shifts.partition_point(|&(at, _)| i64::from(at) < pc);
        pc + before.checked_sub(1).map_or(0, |last| self.shifts[last].1)
    }

    fn shift(&mut self, pc: usize, by: i64) {
        let total = self.shifts.last().map_or(0, |s| s.1);
        self.shifts.push((u32::try_from(pc).unwrap_or(u32::MAX), total + by));
    }
}

/// Appends the normal form of a Code attribute up to its own attributes, which the returned cursor
/// stands at.
pub(crate) fn append_body<'a>(
    mut code: Reader<'a>,
    constants: &mut Constants<'a, '_>,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<Reader<'a>, Malformed> {
    out.extend_from_slice(code.take(4)?); // max_stack, max_locals
    let len = code.u4()? as usize;
    let instructions = code.part(len)?;
    scratch.shifts.clear();
    scratch.targets.clear();
    append_instructions(instructions, constants, scratch, out)?;
    for _ in 0..code.u2()? {
        for _ in 0..3 {
            let pc = i64::from(code.u2()?);
            scratch.targets.push((out.len(), pc));
            out.extend_from_slice(&[0; 4]);
        }
        constants.append_optional(code.u2()?, out)?;
    }
    for &(place, pc) in &scratch.targets {
        // Wrapping is harmless: a target outside of the code is not run by any JVM.
        let new = scratch.renumbered(pc) as u32;
        out[place..place + 4].copy_from_slice(&new.to_le_bytes());
    }
    Ok(code)
}

fn append_instructions<'a>(
    mut code: Reader<'a>,
    constants: &mut Constants<'a, '_>,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let start = code.position();
    let target = |pc: usize, offset: i32, scratch: &mut Scratch, out: &mut Vec<u8>| {
        scratch.targets.push((out.len(), pc as i64 + i64::from(offset)));
        out.extend_from_slice(&[0; 4]);
    };
    while !code.is_empty() {
        // Most instructions are plain: copy them in runs.
        let rest = code.rest();
        let mut run = 0;
        let special = loop {
            match rest.get(run) {
                None => break None,
                Some(&op) => match OPERANDS[usize::from(op)] {
                    plain @ 0..=4 => run += 1 + usize::from(plain),
                    kind => break Some((op, kind)),
                },
            }
        };
        out.extend_from_slice(code.take(run)?);
        let Some((op, kind)) = special else { continue };
        let pc = code.position() - start;
        code.u1()?;
        out.push(if op == LDC_W { LDC } else { op });
        match kind {
            operands::LDC => {
                scratch.shift(pc, 1);
                constants.append(u16::from(code.u1()?), out)?;
            }
            operands::CONSTANT => constants.append(code.u2()?, out)?,
            operands::CONSTANT_1 => {
                constants.append(code.u2()?, out)?;
                out.push(code.u1()?);
            }
            operands::CONSTANT_2 => {
                constants.append(code.u2()?, out)?;
                out.extend_from_slice(code.take(2)?);
            }
            operands::BRANCH_2 => {
                let offset = i32::from(code.u2()?.cast_signed());
                target(pc, offset, scratch, out);
            }
            operands::BRANCH_4 => {
                let offset = code.u4()?.cast_signed();
                target(pc, offset, scratch, out);
            }
            kind @ (operands::TABLE_SWITCH | operands::LOOKUP_SWITCH) => {
                let padding = (4 - (pc + 1) % 4) % 4;
                code.take(padding)?;
                scratch.shift(pc, -(padding as i64));
                let default = code.u4()?.cast_signed();
                target(pc, default, scratch, out);
                let first = code.take(4)?;
                out.extend_from_slice(first);
                let first = i64::from(i32::from_be_bytes([first[0], first[1], first[2], first[3]]));
                let count = if kind == operands::TABLE_SWITCH {
                    let high = code.u4()?.cast_signed();
                    out.extend_from_slice(&high.to_be_bytes());
                    i64::from(high) - first + 1
                } else {
                    first
                };
                if count < 0 || count > code.rest().len() as i64 {
                    return code.fail("switch with an impossible number of cases");
                }
                for _ in 0..count {
                    if kind == operands::LOOKUP_SWITCH {
                        out.extend_from_slice(code.take(4)?);
                    }
                    let offset = code.u4()?.cast_signed();
                    target(pc, offset, scratch, out);
                }
            }
            operands::WIDE => {
                let modified = code.u1()?;
                out.push(modified);
                out.extend_from_slice(code.take(if modified == IINC { 4 } else { 2 })?);
            }
            _ => return Err(Malformed { at: start + pc, what: "unknown instruction" }),
        }
    }
    Ok(())
}
