//! The instructions that are put at the start of a method, or before its only `return`.

use super::constants::NewConstants;
use super::descriptor::{self, TypeKind};
use super::tables::Prefixed;
use super::{Argument, Prefix, Refused, This};
use crate::class::{Member, flags};
use crate::code::instruction_length;

mod op {
    pub(super) const NOP: u8 = 0;
    pub(super) const ICONST_1: u8 = 4;
    pub(super) const LDC_W: u8 = 19;
    pub(super) const ALOAD: u8 = 25;
    pub(super) const ALOAD_0: u8 = 42;
    pub(super) const ASTORE: u8 = 58;
    pub(super) const ASTORE_0: u8 = 75;
    pub(super) const IFEQ: u8 = 153;
    pub(super) const RETURN: u8 = 177;
    pub(super) const PUTSTATIC: u8 = 179;
    pub(super) const INVOKESTATIC: u8 = 184;
    pub(super) const CHECKCAST: u8 = 192;
}

/// Appends the code of one prefix. The caller takes away what is left of a refused one.
pub(super) fn append(
    prefix: &Prefix<'_>,
    (this, method): (This, &Member<'_>),
    constants: &mut NewConstants,
    out: &mut Prefixed,
) -> Result<(), Refused> {
    match *prefix {
        Prefix::Mark { family, mark } => {
            let [a, b] = constants.mark(family, mark)?.to_be_bytes();
            out.code.extend_from_slice(&[op::ICONST_1, op::PUTSTATIC, a, b]);
            out.stack = out.stack.max(1);
            Ok(())
        }
        Prefix::Call { owner, name, arguments } => {
            call((owner, name, "V"), arguments, (this, method), constants, out)
        }
        Prefix::Replace { owner, name, local, kind } => {
            if local == 0 && method.access & flags::STATIC == 0 {
                return Err(Refused::Unsupported("`this` cannot be replaced"));
            }
            let called = Called {
                owner,
                name,
                result: "Ljava/lang/Object;",
                arguments: &[Argument::Local(local)],
            };
            let kind = constants.class(kind)?;
            push_call(&called, (this, method), constants, &mut out.code)?;
            let [a, b] = kind.to_be_bytes();
            out.code.extend_from_slice(&[op::CHECKCAST, a, b]);
            local_reference(op::ASTORE, op::ASTORE_0, local, &mut out.code);
            out.code.resize(out.code.len().next_multiple_of(4), op::NOP);
            out.stack = out.stack.max(1);
            Ok(())
        }
        Prefix::ReturnIf { owner, name, arguments } => {
            if method.name == b"<init>" {
                return Err(Refused::Unsupported("a constructor cannot return before `super`"));
            }
            if !method.descriptor.ends_with(b")V") {
                return Err(Refused::Unsupported("only a void method can return early"));
            }
            call((owner, name, "Z"), arguments, (this, method), constants, out)?;
            // Behind a return stands a frame: no padding can follow it.
            out.code.extend_from_slice(&[op::IFEQ, 0, 4, op::RETURN]);
            out.stack = out.stack.max(1);
            out.frames_name = constants.utf8("StackMapTable")?;
            out.joins.push(out.code.len() as u32);
            Ok(())
        }
    }
}

/// A call with its arguments, padded to a multiple of four.
fn call(
    (owner, name, result): (&str, &str, &str),
    arguments: &[Argument<'_>],
    (this, method): (This, &Member<'_>),
    constants: &mut NewConstants,
    out: &mut Prefixed,
) -> Result<(), Refused> {
    let stack = arguments_stack(arguments)?;
    out.stack = out.stack.max(stack);
    let called = Called { owner, name, result, arguments };
    push_call(&called, (this, method), constants, &mut out.code)?;
    out.code.resize(out.code.len().next_multiple_of(4), op::NOP);
    Ok(())
}

/// The code that takes the place of the `return` at the end of a method: a call, then the return. A
/// position right behind the old one stays the start of an instruction.
pub(super) fn at_end(
    instructions: &[u8],
    (owner, name): (&str, &str),
    arguments: &[Argument<'_>],
    (this, method): (This, &Member<'_>),
    constants: &mut NewConstants,
    out: &mut Prefixed,
) -> Result<(), Refused> {
    if !returns_only_at_its_end(instructions)? {
        return Err(Refused::Unsupported("method that does not return at its end alone"));
    }
    if arguments.iter().any(|argument| matches!(argument, Argument::Local(_))) {
        return Err(Refused::Unsupported("local variable at the end of a method"));
    }
    // What stands on the stack there is not known, so the method's own is kept.
    let stack = arguments_stack(arguments)?;
    let called = Called { owner, name, result: "V", arguments };
    let mut end = vec![op::NOP];
    push_call(&called, (this, method), constants, &mut end)?;
    end.push(op::RETURN);
    out.end = end;
    out.end_stack = stack;
    Ok(())
}

fn returns_only_at_its_end(instructions: &[u8]) -> Result<bool, Refused> {
    let mut at = 0;
    while at < instructions.len() {
        let length = instruction_length(instructions, at)?;
        let is_last = at.saturating_add(length) >= instructions.len();
        if (instructions[at] == op::RETURN) != is_last {
            return Ok(false);
        }
        at = at.saturating_add(length);
    }
    Ok(at == instructions.len() && at > 0)
}

/// The JVM allows 255 arguments.
fn arguments_stack(arguments: &[Argument<'_>]) -> Result<u16, Refused> {
    u8::try_from(arguments.len())
        .map(u16::from)
        .map_err(|_| Refused::Unsupported("call with more than 255 arguments"))
}

struct Called<'c> {
    owner: &'c str,
    name: &'c str,
    result: &'c str,
    arguments: &'c [Argument<'c>],
}

fn push_call(
    called: &Called<'_>,
    (this, method): (This, &Member<'_>),
    constants: &mut NewConstants,
    code: &mut Vec<u8>,
) -> Result<(), Refused> {
    let Called { owner, name, result, arguments } = *called;
    let mut descriptor = String::from("(");
    for argument in arguments {
        match *argument {
            Argument::Local(slot) => {
                if !holds_reference(method, slot)? {
                    return Err(Refused::Unsupported("local variable that is no reference"));
                }
                descriptor.push_str("Ljava/lang/Object;");
                local_reference(op::ALOAD, op::ALOAD_0, slot, code);
            }
            Argument::Text(text) => {
                descriptor.push_str("Ljava/lang/String;");
                let [a, b] = constants.string(text)?.to_be_bytes();
                code.extend_from_slice(&[op::LDC_W, a, b]);
            }
            Argument::ThisClass => {
                let Some(constant) = this.constant else {
                    return Err(Refused::Unsupported("version without class constants"));
                };
                descriptor.push_str("Ljava/lang/Class;");
                let [a, b] = constant.to_be_bytes();
                code.extend_from_slice(&[op::LDC_W, a, b]);
            }
        }
    }
    descriptor.push(')');
    descriptor.push_str(result);
    let [a, b] = constants.method(owner, name, &descriptor)?.to_be_bytes();
    code.extend_from_slice(&[op::INVOKESTATIC, a, b]);
    Ok(())
}

/// Whether a local variable holds an initialised reference when the method starts.
fn holds_reference(method: &Member<'_>, slot: u16) -> Result<bool, Refused> {
    let mut at = 0;
    if method.access & flags::STATIC == 0 {
        if slot == 0 {
            // Before `super` a constructor's `this` must not be passed on.
            return Ok(method.name != b"<init>");
        }
        at = 1;
    }
    let (parameters, _) = descriptor::parse(method.descriptor)?;
    for kind in parameters {
        if at == slot {
            return Ok(kind == TypeKind::Reference);
        }
        at = at.saturating_add(kind.slots());
    }
    Ok(false)
}

/// Loads or stores a local variable; the first four have instructions of their own.
fn local_reference(any: u8, first: u8, slot: u16, code: &mut Vec<u8>) {
    const WIDE: u8 = 196;
    match u8::try_from(slot) {
        Ok(slot @ 0..=3) => code.push(first + slot),
        Ok(slot) => code.extend_from_slice(&[any, slot]),
        Err(_) => {
            let [a, b] = slot.to_be_bytes();
            code.extend_from_slice(&[WIDE, any, a, b]);
        }
    }
}
