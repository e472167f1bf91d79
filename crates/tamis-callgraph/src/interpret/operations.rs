//! Instructions that make objects, use fields or call methods.

use super::{Interpreter, Read};
use crate::body::{CallKind, NO_VAR, Op, Var, is_var};
use crate::descriptor::Slot;
use crate::program::{ClassId, ClassKind, SelectorId};
use std::rc::Rc;

impl Interpreter<'_, '_> {
    pub(super) fn new_object(&mut self, pc: usize, class: ClassId) {
        let dst = self.body.new_var();
        self.body.ops.push(Op::New { dst, class, site: pc as u32 });
        self.state.push(dst);
    }

    pub(super) fn nested_arrays(&mut self, pc: usize) -> Read<()> {
        let class = self.class_constant(self.short(pc + 1)?)?;
        let dimensions = self.byte(pc + 3)?;
        self.state.numbers(usize::from(dimensions), 0)?;
        self.new_object(pc, class);
        let (mut outer, mut class) = (self.state.pop()?, class);
        self.state.push(outer);
        for _ in 1..dimensions {
            let ClassKind::Array(Some(element)) = self.program.classes[class as usize].kind else {
                break;
            };
            class = element;
            let inner = self.body.new_var();
            self.body.ops.push(Op::New { dst: inner, class, site: pc as u32 });
            self.body.ops.push(Op::ArrayPut { base: outer, src: inner });
            outer = inner;
        }
        Ok(())
    }

    pub(super) fn field(&mut self, pc: usize, op: u8) -> Read<()> {
        let (owner, selector) = self.member_constant(self.short(pc + 1)?)?;
        let slot = self.program.selectors[selector].shape.result;
        let reference = slot == Slot::Reference;
        let src = if matches!(op, 179 | 181) { self.state.pop_slot(slot)? } else { NO_VAR };
        let base = if op >= 180 { self.state.pop()? } else { NO_VAR };
        let dst = if reference { self.body.new_var() } else { NO_VAR };
        if op < 180 {
            self.body.ops.push(Op::Initialise { class: owner });
        }
        if reference {
            let field = self.program.resolve_field(owner, selector);
            match op {
                178 => self.body.ops.push(Op::GetStatic { dst, field }),
                179 if is_var(src) => self.body.ops.push(Op::PutStatic { field, src }),
                180 if is_var(base) => {
                    self.body.ops.push(Op::GetField { dst, base, field, owner });
                }
                181 if is_var(src) && is_var(base) => {
                    self.body.ops.push(Op::PutField { base, field, src, owner });
                }
                _ => {}
            }
        }
        if matches!(op, 178 | 180) {
            self.state.push_slot(slot, dst);
        }
        Ok(())
    }

    pub(super) fn call(&mut self, pc: usize, op: u8) -> Read<()> {
        let (class, selector) = self.member_constant(self.short(pc + 1)?)?;
        let kind = match op {
            184 => CallKind::Static,
            183 => CallKind::Special,
            _ => CallKind::Virtual,
        };
        let shape = Rc::clone(&self.program.selectors[selector].shape);
        let mut args = Vec::with_capacity(shape.parameters.len() + 1);
        for &slot in shape.parameters.iter().rev() {
            let arg = self.state.pop_slot(slot)?;
            args.push(arg);
        }
        if kind != CallKind::Static {
            let receiver = self.state.pop()?;
            args.push(receiver);
        }
        args.reverse();
        let dst = if shape.result == Slot::Reference { self.body.new_var() } else { NO_VAR };
        self.push_call(kind, class, selector, &args, dst);
        self.state.push_slot(shape.result, dst);
        Ok(())
    }

    /// A call as an operation, and what else it is known to do.
    pub(crate) fn push_call(
        &mut self,
        kind: CallKind,
        class: ClassId,
        selector: SelectorId,
        args: &[Var],
        dst: Var,
    ) {
        if self.program.makes_objects_by_reflection(class, selector) {
            self.unseen.reflected.push(dst);
        }
        // Since Java 11 nestmates call private methods as if they were virtual; nothing overrides them.
        let private = kind == CallKind::Virtual && self.program.is_private(class, selector);
        let kind = if private { CallKind::Special } else { kind };
        self.unseen.loads_services |= self.program.looks_for_providers(class, selector);
        // An array's clone is the array, for all that matters here.
        if let ClassKind::Array(_) = self.program.classes[class as usize].kind
            && let Some(&src) = args.first()
            && is_var(src)
            && is_var(dst)
        {
            self.body.ops.push(Op::Copy { dst, src });
        }
        self.unseen.opens_fields |= self.program.selectors[selector].hints.opens;
        let places = self.body.push_args(args);
        self.body.ops.push(Op::Call { kind, class, selector, args: places, dst });
        self.passed_on(class, selector, args);
    }

    /// Code that is not seen runs what is handed to it to be run.
    pub(super) fn passed_on(&mut self, class: ClassId, selector: SelectorId, args: &[Var]) {
        for (at, class, selector) in self.program.passed_on(class, selector) {
            if let Some(&receiver) = args.get(at)
                && is_var(receiver)
            {
                let shape = Rc::clone(&self.program.selectors[selector].shape);
                let mut args = vec![receiver];
                for &slot in &shape.parameters {
                    let arg = if slot == Slot::Reference { self.outside_var() } else { NO_VAR };
                    args.push(arg);
                }
                let args = self.body.push_args(&args);
                let kind = CallKind::Callback;
                self.body.ops.push(Op::Call { kind, class, selector, args, dst: NO_VAR });
            }
        }
    }
}
