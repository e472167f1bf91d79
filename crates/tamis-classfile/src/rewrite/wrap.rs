//! The method that takes the place of a wrapped one.
//!
//! ```text
//!          token = enter(kind, this or null, new Object[] { arguments })
//! start:   original(arguments)                the result stays on the stack
//! end:     leave(kind, token, null)
//!          return the result
//! handler: leave(kind, token, thrown)         any throw between start and end
//!          throw thrown
//! ```
//!
//! What `enter` throws reaches the caller before the original ran; what `leave` throws takes the
//! place of the result or of what was thrown.
//!
//! The wrapper keeps the name, the flags and all attributes but the code, so that reflection and
//! subclasses find the method as it was; the original keeps the lock of a synchronized method.

use super::constants::NewConstants;
use super::descriptor::{self, TypeKind};
use super::tables::end_attribute;
use super::{FIRST_WITH_FRAMES, Refused, Wrap, flags};
use crate::class::ClassFile;
use crate::pool::Tag;

const SUFFIX: &[u8] = b"$tamis";

const ENTER: &str = "(Ljava/lang/String;Ljava/lang/Object;[Ljava/lang/Object;)Ljava/lang/Object;";
const LEAVE: &str = "(Ljava/lang/String;Ljava/lang/Object;Ljava/lang/Throwable;)V";

/// The first version with private and static methods in interfaces.
const FIRST_WITH_INTERFACE_CODE: u16 = 52;

const SYNCHRONIZED: u16 = 0x0020;
const STRICT: u16 = 0x0800;

mod op {
    pub(super) const ACONST_NULL: u8 = 1;
    pub(super) const ICONST_0: u8 = 3;
    pub(super) const BIPUSH: u8 = 16;
    pub(super) const SIPUSH: u8 = 17;
    pub(super) const LDC_W: u8 = 19;
    pub(super) const ILOAD: u8 = 21;
    pub(super) const LLOAD: u8 = 22;
    pub(super) const FLOAD: u8 = 23;
    pub(super) const DLOAD: u8 = 24;
    pub(super) const ALOAD: u8 = 25;
    pub(super) const ASTORE: u8 = 58;
    pub(super) const AASTORE: u8 = 83;
    pub(super) const DUP: u8 = 89;
    pub(super) const SWAP: u8 = 95;
    pub(super) const IRETURN: u8 = 172;
    pub(super) const LRETURN: u8 = 173;
    pub(super) const FRETURN: u8 = 174;
    pub(super) const DRETURN: u8 = 175;
    pub(super) const ARETURN: u8 = 176;
    pub(super) const RETURN: u8 = 177;
    pub(super) const INVOKESPECIAL: u8 = 183;
    pub(super) const INVOKESTATIC: u8 = 184;
    pub(super) const ANEWARRAY: u8 = 189;
    pub(super) const ATHROW: u8 = 191;
}

/// A wrapper that is ready to be written.
#[derive(Debug, Clone)]
pub(super) struct Wrapper {
    /// The bytes of its code attribute.
    code: Vec<u8>,
    access: u16,
    original_access: u16,
    original_name: u16,
}

impl Wrapper {
    pub(super) fn len(&self) -> usize {
        self.code.len()
    }

    /// Appends the wrapper and then the original up to the length of its code attribute.
    ///
    /// `head` is the original method with its flags up to its code attribute, `tail` what follows that, and
    /// `code_name` the constant with which the attribute begins.
    pub(super) fn append(
        &self,
        head: &[u8],
        code_name: &[u8],
        tail: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        let name_on = &head[2..];
        out.extend_from_slice(&self.access.to_be_bytes());
        out.extend_from_slice(name_on);
        let start = out.len();
        out.extend_from_slice(code_name);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.code);
        end_attribute(start, out)?;
        out.extend_from_slice(tail);
        out.extend_from_slice(&self.original_access.to_be_bytes());
        out.extend_from_slice(&self.original_name.to_be_bytes());
        out.extend_from_slice(&name_on[2..4]); // descriptor
        out.extend_from_slice(&[0, 1]);
        out.extend_from_slice(code_name);
        Ok(())
    }
}

/// Writes the wrapper of a method.
pub(super) fn wrapper(
    wrap: &Wrap<'_>,
    class: &ClassFile<'_>,
    method: usize,
    this_class: u16,
    constants: &mut NewConstants,
) -> Result<Wrapper, Refused> {
    let member = &class.methods[method];
    if member.name.starts_with(b"<") {
        return Err(Refused::Unsupported("a constructor or initialiser cannot be wrapped"));
    }
    let is_interface = class.is(flags::INTERFACE);
    if is_interface && class.major_version < FIRST_WITH_INTERFACE_CODE {
        return Err(Refused::Unsupported("interface of a version without private methods"));
    }
    let original_name = [member.name, SUFFIX].concat();
    let taken =
        |m: &crate::Member<'_>| m.name == original_name && m.descriptor == member.descriptor;
    if class.methods.iter().any(taken) {
        return Err(Refused::Unsupported("class has a method of the new name already"));
    }
    let original_name = constants.utf8_bytes(&original_name)?;
    let descriptor = constants.utf8_bytes(member.descriptor)?;
    let tag = if is_interface { Tag::InterfaceMethod } else { Tag::Method };
    let original = constants.member_of(tag, this_class, original_name, descriptor)?;
    let is_static = member.access & flags::STATIC != 0;
    let (parameters, result) = descriptor::parse(member.descriptor)?;
    let mut body = Body { code: Vec::with_capacity(64 + 12 * parameters.len()), constants };
    let code = body.write(wrap, class.major_version, is_static, &parameters, result, original)?;
    let kept = member.access & (flags::STATIC | SYNCHRONIZED | STRICT);
    Ok(Wrapper {
        code,
        access: member.access & !SYNCHRONIZED,
        original_access: kept | flags::PRIVATE | flags::SYNTHETIC,
        original_name,
    })
}

struct Body<'c> {
    code: Vec<u8>,
    constants: &'c mut NewConstants,
}

impl Body<'_> {
    /// The bytes of the code attribute.
    fn write(
        &mut self,
        wrap: &Wrap<'_>,
        major_version: u16,
        is_static: bool,
        parameters: &[TypeKind],
        result: TypeKind,
        original: u16,
    ) -> Result<Vec<u8>, Refused> {
        let slots = parameters.iter().map(|kind| usize::from(kind.slots())).sum::<usize>()
            + usize::from(!is_static);
        // The JVM allows 255 slots of arguments, so the one behind them has a short number.
        let Ok(token) = u8::try_from(slots) else {
            return Err(Refused::Unsupported("method with more than 255 slots of arguments"));
        };
        let kind = self.constants.string(wrap.kind)?;
        let leave = self.constants.method(wrap.owner, wrap.leave, LEAVE)?;

        self.with_index(op::LDC_W, kind);
        if is_static {
            self.code.push(op::ACONST_NULL);
        } else {
            self.code.extend_from_slice(&[op::ALOAD, 0]);
        }
        self.argument_array(is_static, parameters)?;
        let enter = self.constants.method(wrap.owner, wrap.enter, ENTER)?;
        self.with_index(op::INVOKESTATIC, enter);
        self.code.extend_from_slice(&[op::ASTORE, token]);

        let start = self.position();
        if !is_static {
            self.code.extend_from_slice(&[op::ALOAD, 0]);
        }
        self.each_parameter(is_static, parameters, |body, _, slot, kind| {
            body.code.extend_from_slice(&[load(kind), slot]);
            Ok(())
        })?;
        self.with_index(if is_static { op::INVOKESTATIC } else { op::INVOKESPECIAL }, original);
        let end = self.position();
        self.with_index(op::LDC_W, kind);
        self.code.extend_from_slice(&[op::ALOAD, token, op::ACONST_NULL]);
        self.with_index(op::INVOKESTATIC, leave);
        self.code.push(return_of(result));

        let handler = self.position();
        self.code.push(op::DUP);
        self.with_index(op::LDC_W, kind);
        self.code.extend_from_slice(&[op::SWAP, op::ALOAD, token, op::SWAP]);
        self.with_index(op::INVOKESTATIC, leave);
        self.code.push(op::ATHROW);

        // Seven: kind, this, array, array, index and a long; all else is less or the arguments.
        let max_stack = u16::from(token).max(7);
        let mut out = Vec::with_capacity(self.code.len() + 64);
        out.extend_from_slice(&max_stack.to_be_bytes());
        out.extend_from_slice(&(u16::from(token) + 1).to_be_bytes());
        out.extend_from_slice(&(self.code.len() as u32).to_be_bytes());
        out.extend_from_slice(&self.code);
        for number in [1, start, end, handler, 0] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        if major_version < FIRST_WITH_FRAMES {
            out.extend_from_slice(&[0, 0]);
        } else {
            out.extend_from_slice(&[0, 1]);
            self.append_frames(handler, token, &mut out)?;
        }
        Ok(out)
    }

    fn position(&self) -> u16 {
        self.code.len() as u16
    }

    fn with_index(&mut self, op: u8, index: u16) {
        let [a, b] = index.to_be_bytes();
        self.code.extend_from_slice(&[op, a, b]);
    }

    fn push_small(&mut self, number: u8) {
        match number {
            0..=5 => self.code.push(op::ICONST_0 + number),
            6..=127 => self.code.extend_from_slice(&[op::BIPUSH, number]),
            128.. => self.code.extend_from_slice(&[op::SIPUSH, 0, number]),
        }
    }

    /// Calls `each` with the number and the slot of every parameter.
    fn each_parameter(
        &mut self,
        is_static: bool,
        parameters: &[TypeKind],
        mut each: impl FnMut(&mut Self, u8, u8, TypeKind) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let mut slot = u8::from(!is_static);
        for (number, &kind) in (0_u8..).zip(parameters) {
            each(self, number, slot, kind)?;
            slot = slot.saturating_add(kind.slots() as u8);
        }
        Ok(())
    }

    fn argument_array(&mut self, is_static: bool, parameters: &[TypeKind]) -> Result<(), Refused> {
        self.push_small(parameters.len() as u8);
        let object = self.constants.class("java/lang/Object")?;
        self.with_index(op::ANEWARRAY, object);
        self.each_parameter(is_static, parameters, |body, number, slot, kind| {
            body.code.push(op::DUP);
            body.push_small(number);
            body.code.extend_from_slice(&[load(kind), slot]);
            if let Some((class, descriptor)) = box_of(kind) {
                let value_of = body.constants.method(class, "valueOf", descriptor)?;
                body.with_index(op::INVOKESTATIC, value_of);
            }
            body.code.push(op::AASTORE);
            Ok(())
        })
    }

    /// One frame, at the handler: the token and the throwable. The arguments are no longer needed
    /// there and any type fits "unusable", so their types need not be named.
    fn append_frames(&mut self, handler: u16, token: u8, out: &mut Vec<u8>) -> Result<(), Refused> {
        const FULL: u8 = 255;
        const UNUSABLE: u8 = 0;
        const OBJECT: u8 = 7;
        let name = self.constants.utf8("StackMapTable")?;
        let object = self.constants.class("java/lang/Object")?;
        let throwable = self.constants.class("java/lang/Throwable")?;
        let start = out.len();
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&[0, 1, FULL]);
        out.extend_from_slice(&handler.to_be_bytes());
        out.extend_from_slice(&(u16::from(token) + 1).to_be_bytes());
        out.resize(out.len() + usize::from(token), UNUSABLE);
        out.push(OBJECT);
        out.extend_from_slice(&object.to_be_bytes());
        out.extend_from_slice(&[0, 1, OBJECT]);
        out.extend_from_slice(&throwable.to_be_bytes());
        end_attribute(start, out)
    }
}

fn load(kind: TypeKind) -> u8 {
    match kind {
        TypeKind::Long => op::LLOAD,
        TypeKind::Float => op::FLOAD,
        TypeKind::Double => op::DLOAD,
        TypeKind::Reference => op::ALOAD,
        _ => op::ILOAD,
    }
}

fn return_of(kind: TypeKind) -> u8 {
    match kind {
        TypeKind::Void => op::RETURN,
        TypeKind::Long => op::LRETURN,
        TypeKind::Float => op::FRETURN,
        TypeKind::Double => op::DRETURN,
        TypeKind::Reference => op::ARETURN,
        _ => op::IRETURN,
    }
}

/// The class of a primitive type's objects and the descriptor of its `valueOf`.
fn box_of(kind: TypeKind) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        TypeKind::Boolean => ("java/lang/Boolean", "(Z)Ljava/lang/Boolean;"),
        TypeKind::Byte => ("java/lang/Byte", "(B)Ljava/lang/Byte;"),
        TypeKind::Char => ("java/lang/Character", "(C)Ljava/lang/Character;"),
        TypeKind::Short => ("java/lang/Short", "(S)Ljava/lang/Short;"),
        TypeKind::Int => ("java/lang/Integer", "(I)Ljava/lang/Integer;"),
        TypeKind::Long => ("java/lang/Long", "(J)Ljava/lang/Long;"),
        TypeKind::Float => ("java/lang/Float", "(F)Ljava/lang/Float;"),
        TypeKind::Double => ("java/lang/Double", "(D)Ljava/lang/Double;"),
        TypeKind::Reference | TypeKind::Void => return None,
    })
}
