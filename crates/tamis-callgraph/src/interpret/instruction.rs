//! What each instruction does with the stack and the locals, by kinds of instructions.

use super::{Interpreter, Read, Unreadable};
use crate::body::{NO_VAR, NULL, Op, is_var};

/// Which of the four locals an instruction such as `aload_2` means.
fn short_form(op: u8, first: u8) -> usize {
    usize::from((op - first) % 4)
}

impl Interpreter<'_, '_> {
    /// One instruction; whether the next one can follow it.
    pub(super) fn instruction(&mut self, pc: usize, op: u8) -> Read<bool> {
        match op {
            0 | 132 => {}
            1..=20 => self.push_constant(pc, op)?,
            21..=45 => self.load_local(pc, op)?,
            54..=78 => self.store_local(pc, op)?,
            46..=53 | 79..=86 | 190 => self.element(op)?,
            87..=95 => self.rearrange(op)?,
            96..=152 => self.calculate(op)?,
            153..=177 | 191 | 198..=201 => return self.jump(op),
            178..=181 => self.field(pc, op)?,
            182..=185 => self.call(pc, op)?,
            186 => {
                let index = self.short(pc + 1)?;
                self.dynamic_call(pc, index)?;
            }
            187..=189 | 197 => self.make(pc, op)?,
            192 => self.cast(pc)?,
            193 => self.state.numbers(1, 1)?,
            194 | 195 => {
                self.state.pop()?;
            }
            196 => return self.wide(pc),
            _ => return Err(Unreadable::Code("unknown instruction")),
        }
        Ok(true)
    }

    fn push_constant(&mut self, pc: usize, op: u8) -> Read<()> {
        match op {
            1 => self.state.push(NULL),
            9 | 10 | 14 | 15 => self.state.numbers(0, 2)?,
            18..=20 => self.constant_of(pc, op)?,
            _ => self.state.push(NO_VAR),
        }
        Ok(())
    }

    fn load_local(&mut self, pc: usize, op: u8) -> Read<()> {
        match op {
            25 => {
                let index = usize::from(self.byte(pc + 1)?);
                self.state.load(index);
            }
            42..=45 => self.state.load(short_form(op, 42)),
            22 | 24 | 30..=33 | 38..=41 => self.state.numbers(0, 2)?,
            _ => self.state.push(NO_VAR),
        }
        Ok(())
    }

    fn store_local(&mut self, pc: usize, op: u8) -> Read<()> {
        let wide = matches!(op, 55 | 57 | 63..=66 | 71..=74);
        let index = match op {
            54..=58 => usize::from(self.byte(pc + 1)?),
            // Five kinds of values with four locals each.
            _ => short_form(op, 59),
        };
        self.state.store(index, wide)
    }

    /// Elements of arrays, and how many there are.
    fn element(&mut self, op: u8) -> Read<()> {
        match op {
            50 => {
                self.state.pop()?;
                let base = self.state.pop()?;
                let dst = self.body.new_var();
                if is_var(base) {
                    self.body.ops.push(Op::ArrayGet { dst, base });
                }
                self.state.push(dst);
            }
            83 => {
                let src = self.state.pop()?;
                self.state.pop()?;
                let base = self.state.pop()?;
                if is_var(base) && is_var(src) {
                    self.body.ops.push(Op::ArrayPut { base, src });
                }
            }
            47 | 49 => self.state.numbers(2, 2)?,
            46..=53 => self.state.numbers(2, 1)?,
            80 | 82 => self.state.numbers(4, 0)?,
            190 => self.state.numbers(1, 1)?,
            _ => self.state.numbers(3, 0)?,
        }
        Ok(())
    }

    /// Values change their places on the stack, or leave it.
    fn rearrange(&mut self, op: u8) -> Read<()> {
        match op {
            87 => self.state.numbers(1, 0),
            88 => self.state.numbers(2, 0),
            89 => self.state.duplicate(1, 0),
            90 => self.state.duplicate(1, 1),
            91 => self.state.duplicate(1, 2),
            92 => self.state.duplicate(2, 0),
            93 => self.state.duplicate(2, 1),
            94 => self.state.duplicate(2, 2),
            _ => {
                let (upper, lower) = (self.state.pop()?, self.state.pop()?);
                self.state.push(upper);
                self.state.push(lower);
                Ok(())
            }
        }
    }

    /// Arithmetic, conversions and comparisons of numbers.
    fn calculate(&mut self, op: u8) -> Read<()> {
        let (taken, put) = match op {
            96..=115 if op.is_multiple_of(2) => (2, 1),
            96..=115 => (4, 2),
            120 | 122 | 124 | 126 | 128 | 130 => (2, 1),
            121 | 123 | 125 => (3, 2),
            127 | 129 | 131 => (4, 2),
            133 | 135 | 140 | 141 => (1, 2),
            136 | 137 | 142 | 144 | 149 | 150 => (2, 1),
            148 | 151 | 152 => (4, 1),
            // Of the same width before and after.
            _ => return Ok(()),
        };
        self.state.numbers(taken, put)
    }

    /// What goes on elsewhere; whether it can go on behind it, too.
    fn jump(&mut self, op: u8) -> Read<bool> {
        match op {
            153..=158 | 170 | 171 | 198 | 199 => self.state.numbers(1, 0).map(|()| true),
            159..=166 => self.state.numbers(2, 0).map(|()| true),
            // What a subroutine returns to is known from its callers; the address lies on its stack only.
            168 | 201 => {
                self.state.push(NO_VAR);
                Ok(false)
            }
            172 | 174 => self.state.numbers(1, 0).map(|()| false),
            173 | 175 => self.state.numbers(2, 0).map(|()| false),
            176 | 191 => {
                let src = self.state.pop()?;
                if is_var(src) {
                    let out = if op == 176 { Op::Return { src } } else { Op::Throw { src } };
                    self.body.ops.push(out);
                }
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// New objects and arrays.
    fn make(&mut self, pc: usize, op: u8) -> Read<()> {
        let class = match op {
            187 => self.class_constant(self.short(pc + 1)?)?,
            188 => {
                self.state.pop()?;
                let number = self.byte(pc + 1)?;
                self.program.number_array(b"IIIIZCFDBSIJ"[usize::from(number.min(11))])
            }
            189 => {
                self.state.pop()?;
                let element = self.class_constant(self.short(pc + 1)?)?;
                self.program.array(element)
            }
            _ => return self.nested_arrays(pc),
        };
        self.new_object(pc, class);
        Ok(())
    }

    fn cast(&mut self, pc: usize) -> Read<()> {
        let class = self.class_constant(self.short(pc + 1)?)?;
        let src = self.state.pop()?;
        if !is_var(src) || class == self.program.known.object {
            self.state.push(src);
        } else {
            let dst = self.body.new_var();
            self.body.ops.push(Op::Cast { dst, src, class });
            self.state.push(dst);
        }
        Ok(())
    }

    /// An instruction with a larger number of a local.
    fn wide(&mut self, pc: usize) -> Read<bool> {
        let index = usize::from(self.short(pc + 2)?);
        match self.byte(pc + 1)? {
            21 | 23 => self.state.push(NO_VAR),
            22 | 24 => self.state.numbers(0, 2)?,
            25 => self.state.load(index),
            54 | 56 | 58 => self.state.store(index, false)?,
            55 | 57 => self.state.store(index, true)?,
            169 => return Ok(false),
            132 => {}
            _ => return Err(Unreadable::Code("unknown wide instruction")),
        }
        Ok(true)
    }
}
