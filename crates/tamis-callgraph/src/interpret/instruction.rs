//! What each instruction does with the stack and the locals.

use super::{Interpreter, Read, Unreadable};
use crate::body::{NO_VAR, NULL, Op, is_var};

impl Interpreter<'_, '_> {
    /// One instruction; whether the next one can follow it.
    pub(super) fn instruction(&mut self, pc: usize, op: u8) -> Read<bool> {
        let local = |wide_at: u8, first: u8| usize::from((wide_at - first) % 4);
        match op {
            0 | 116..=119 | 132 | 134 | 138 | 139 | 143 | 145..=147 => {}
            1 => self.push(NULL),
            2..=8 | 11..=13 | 16 | 17 => self.push(NO_VAR),
            9 | 10 | 14 | 15 => self.numbers(0, 2)?,
            18..=20 => self.constant_of(pc, op)?,
            21 | 23 | 26..=29 | 34..=37 => self.push(NO_VAR),
            22 | 24 | 30..=33 | 38..=41 => self.numbers(0, 2)?,
            25 => {
                let index = usize::from(self.byte(pc + 1)?);
                self.load(index);
            }
            42..=45 => self.load(local(op, 42)),
            46 | 48 | 51..=53 => self.numbers(2, 1)?,
            47 | 49 => self.numbers(2, 2)?,
            50 => {
                self.pop()?;
                let base = self.pop()?;
                let dst = self.body.new_var();
                if is_var(base) {
                    self.body.ops.push(Op::ArrayGet { dst, base });
                }
                self.push(dst);
            }
            54 | 56 | 58 => {
                let index = usize::from(self.byte(pc + 1)?);
                self.store(index, false)?;
            }
            55 | 57 => {
                let index = usize::from(self.byte(pc + 1)?);
                self.store(index, true)?;
            }
            59..=62 => self.store(local(op, 59), false)?,
            63..=66 => self.store(local(op, 63), true)?,
            67..=70 => self.store(local(op, 67), false)?,
            71..=74 => self.store(local(op, 71), true)?,
            75..=78 => self.store(local(op, 75), false)?,
            79 | 81 | 84..=86 => self.numbers(3, 0)?,
            80 | 82 => self.numbers(4, 0)?,
            83 => {
                let src = self.pop()?;
                self.pop()?;
                let base = self.pop()?;
                if is_var(base) && is_var(src) {
                    self.body.ops.push(Op::ArrayPut { base, src });
                }
            }
            87 | 153..=158 | 170 | 171 | 194 | 195 | 198 | 199 => {
                self.pop()?;
            }
            88 | 159..=166 => self.numbers(2, 0)?,
            89 => self.duplicate(1, 0)?,
            90 => self.duplicate(1, 1)?,
            91 => self.duplicate(1, 2)?,
            92 => self.duplicate(2, 0)?,
            93 => self.duplicate(2, 1)?,
            94 => self.duplicate(2, 2)?,
            95 => {
                let (upper, lower) = (self.pop()?, self.pop()?);
                self.push(upper);
                self.push(lower);
            }
            96..=115 => match op % 2 {
                0 => self.numbers(2, 1)?,
                _ => self.numbers(4, 2)?,
            },
            120 | 122 | 124 | 126 | 128 | 130 => self.numbers(2, 1)?,
            121 | 123 | 125 => self.numbers(3, 2)?,
            127 | 129 | 131 => self.numbers(4, 2)?,
            133 | 135 | 140 | 141 => self.numbers(1, 2)?,
            136 | 137 | 142 | 144 => self.numbers(2, 1)?,
            148 | 151 | 152 => self.numbers(4, 1)?,
            149 | 150 => self.numbers(2, 1)?,
            // What a subroutine returns to is known from its callers.
            168 | 201 => {
                // The address lies on the stack of the subroutine only.
                self.push(NO_VAR);
                return Ok(false);
            }
            167 | 169 | 200 => return Ok(false),
            172 | 174 => {
                self.pop()?;
                return Ok(false);
            }
            173 | 175 => {
                self.numbers(2, 0)?;
                return Ok(false);
            }
            176 => {
                let src = self.pop()?;
                if is_var(src) {
                    self.body.ops.push(Op::Return { src });
                }
                return Ok(false);
            }
            177 => return Ok(false),
            178..=181 => self.field(pc, op)?,
            182..=185 => self.call(pc, op)?,
            186 => {
                let index = self.short(pc + 1)?;
                self.dynamic_call(pc, index)?;
            }
            187 => {
                let class = self.class_constant(self.short(pc + 1)?)?;
                self.new_object(pc, class);
            }
            188 => {
                self.pop()?;
                let number = self.byte(pc + 1)?;
                let class = self.program.number_array(b"IIIIZCFDBSIJ"[usize::from(number.min(11))]);
                self.new_object(pc, class);
            }
            189 => {
                self.pop()?;
                let element = self.class_constant(self.short(pc + 1)?)?;
                let class = self.program.array(element);
                self.new_object(pc, class);
            }
            190 | 193 => self.numbers(1, 1)?,
            191 => {
                let src = self.pop()?;
                if is_var(src) {
                    self.body.ops.push(Op::Throw { src });
                }
                return Ok(false);
            }
            192 => {
                let class = self.class_constant(self.short(pc + 1)?)?;
                let src = self.pop()?;
                if !is_var(src) || class == self.program.known.object {
                    self.push(src);
                } else {
                    let dst = self.body.new_var();
                    self.body.ops.push(Op::Cast { dst, src, class });
                    self.push(dst);
                }
            }
            196 => {
                let index = usize::from(self.short(pc + 2)?);
                match self.byte(pc + 1)? {
                    21 | 23 => self.push(NO_VAR),
                    22 | 24 => self.numbers(0, 2)?,
                    25 => self.load(index),
                    54 | 56 | 58 => self.store(index, false)?,
                    55 | 57 => self.store(index, true)?,
                    169 => return Ok(false),
                    132 => {}
                    _ => return Err(Unreadable::Code("unknown wide instruction")),
                }
            }
            197 => self.nested_arrays(pc)?,
            _ => return Err(Unreadable::Code("unknown instruction")),
        }
        Ok(true)
    }
}
