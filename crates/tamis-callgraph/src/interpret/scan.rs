//! A method's operations without its variables, for analyses that look at declared types only.
//!
//! Class hierarchy analysis and rapid type analysis need to know what a method calls, makes and uses first, not
//! what flows where. So the instructions are read from the first to the last one; stack, locals, jumps and handlers
//! do not matter. Code that no jump leads to counts as well, which compilers leave out.

use super::{Interpreter, Read};
use crate::body::{CallKind, NO_VAR, Op, Var};
use crate::descriptor::Slot;
use crate::program::ClassKind;
use std::rc::Rc;

impl Interpreter<'_, '_> {
    pub(super) fn scan(&mut self) -> Read<()> {
        // Stands for whatever a call is given.
        let something = self.body.new_var();
        let (mut pc, mut targets) = (0, Vec::new());
        while pc < self.code.bytes.len() {
            let len = self.decode(pc, &mut targets)?;
            match self.code.bytes[pc] {
                op @ 18..=20 => self.constant_of(pc, op)?,
                178 | 179 => {
                    let (class, _) = self.member_constant(self.short(pc + 1)?)?;
                    self.body.ops.push(Op::Initialise { class });
                }
                op @ 182..=185 => {
                    let kind = match op {
                        184 => CallKind::Static,
                        183 => CallKind::Special,
                        _ => CallKind::Virtual,
                    };
                    self.scan_call(pc, kind, something)?;
                }
                186 => {
                    let index = self.short(pc + 1)?;
                    self.give(index, something)?;
                    self.dynamic_call(pc, index)?;
                }
                187 => {
                    let class = self.class_constant(self.short(pc + 1)?)?;
                    self.new_object(pc, class);
                }
                189 => {
                    let element = self.class_constant(self.short(pc + 1)?)?;
                    let class = self.program.array(element);
                    self.new_object(pc, class);
                }
                197 => {
                    let mut class = self.class_constant(self.short(pc + 1)?)?;
                    for _ in 0..self.byte(pc + 3)? {
                        self.new_object(pc, class);
                        let ClassKind::Array(Some(element)) =
                            self.program.classes[class as usize].kind
                        else {
                            break;
                        };
                        class = element;
                    }
                }
                _ => {}
            }
            self.state.stack.clear();
            pc += len;
        }
        Ok(())
    }

    fn scan_call(&mut self, pc: usize, kind: CallKind, something: Var) -> Read<()> {
        let (class, selector) = self.member_constant(self.short(pc + 1)?)?;
        // Only what may be handed over to be run is looked at.
        let args = match &self.program.selectors[selector] {
            found if found.hints.runs => vec![something; found.shape.parameters.len() + 1],
            _ => Vec::new(),
        };
        self.push_call(kind, class, selector, &args, NO_VAR);
        Ok(())
    }

    /// Puts on the stack what a dynamic call takes from it.
    fn give(&mut self, index: u16, something: Var) -> Read<()> {
        let site = self.file.pool.dynamic(index)?;
        let selector = self.program.selector_named(site.name, site.descriptor);
        let shape = Rc::clone(&self.program.selectors[selector].shape);
        for &slot in &shape.parameters {
            self.state.push_slot(slot, if slot == Slot::Reference { something } else { NO_VAR });
        }
        Ok(())
    }
}
