//! What one method body refers to: for questions about single methods, where the references of the
//! whole class would be too many.
//!
//! A body *mentions* a class when one of its instructions or handlers names it, directly or as the
//! owner of a member. Types that only stand in descriptors are not mentioned: running the
//! instruction does not look at them.

use crate::class::{ClassFile, Member};
use crate::code::{OPERANDS, operands};
use crate::pool::{MemberRef, Tag};
use crate::reader::{Malformed, Reader};

const GETSTATIC: u8 = 178;
const PUTSTATIC: u8 = 179;
const GETFIELD: u8 = 180;
const PUTFIELD: u8 = 181;
const INVOKEINTERFACE: u8 = 185;
const INVOKEDYNAMIC: u8 = 186;
const NEW: u8 = 187;
const IINC: u8 = 132;
/// Constants can refer to each other; real classes do not nest them deeper.
const DEEPEST: u32 = 16;

/// The references of one method body. Names may appear more than once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BodyUses<'a> {
    /// Classes that are mentioned, array brackets removed.
    pub classes: Vec<&'a [u8]>,
    /// Classes of which objects are made.
    pub made: Vec<&'a [u8]>,
    /// Methods that are called, also through method handles and by lambdas.
    pub calls: Vec<MemberRef<'a>>,
    /// Those of them that are called by an interface's name: an object of a lambda can be behind it.
    pub interface_calls: Vec<MemberRef<'a>>,
    /// Objects that are made of lambdas and of references to methods.
    pub lambdas: Vec<LambdaUse<'a>>,
    /// Static fields that are read or written.
    pub statics: Vec<MemberRef<'a>>,
    /// Those of them that are written.
    pub written_statics: Vec<MemberRef<'a>>,
    /// Fields of objects that are read or written.
    pub fields: Vec<MemberRef<'a>>,
    /// Whether the body reads a field of an object.
    pub reads_fields: bool,
    /// Whether the body writes a field of an object.
    pub writes_fields: bool,
}

/// An object that is made of a lambda or of a reference to a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LambdaUse<'a> {
    /// The interface that the object has.
    pub interface: &'a [u8],
    /// The name of its method, and that method's descriptor.
    pub name: &'a [u8],
    pub descriptor: &'a [u8],
    /// What runs when it is called.
    pub runs: MemberRef<'a>,
}

/// The references of a method's body; `None` where it has none.
pub fn body_uses<'a>(
    class: &ClassFile<'a>,
    method: &Member<'a>,
) -> Result<Option<BodyUses<'a>>, Malformed> {
    let Some(code) = method.attributes.find(&class.pool, b"Code")? else { return Ok(None) };
    let mut walk = Walk { class, uses: BodyUses::default() };
    let mut data = code.data;
    data.take(4)?; // max_stack, max_locals
    let len = data.u4()? as usize;
    walk.instructions(data.part(len)?)?;
    for _ in 0..data.u2()? {
        data.take(6)?;
        match data.u2()? {
            0 => {}
            caught => walk.class_constant(caught)?,
        }
    }
    Ok(Some(walk.uses))
}

struct Walk<'a, 'c> {
    class: &'c ClassFile<'a>,
    uses: BodyUses<'a>,
}

impl<'a> Walk<'a, '_> {
    fn instructions(&mut self, mut code: Reader<'a>) -> Result<(), Malformed> {
        let start = code.position();
        while !code.is_empty() {
            let pc = code.position() - start;
            let op = code.u1()?;
            match OPERANDS[usize::from(op)] {
                plain @ 0..=4 => {
                    code.take(usize::from(plain))?;
                }
                operands::LDC => {
                    let index = u16::from(code.u1()?);
                    self.constant(op, index)?;
                }
                operands::CONSTANT => {
                    let index = code.u2()?;
                    self.constant(op, index)?;
                }
                operands::CONSTANT_1 => {
                    let index = code.u2()?;
                    code.take(1)?;
                    self.constant(op, index)?;
                }
                operands::CONSTANT_2 => {
                    let index = code.u2()?;
                    code.take(2)?;
                    self.constant(op, index)?;
                }
                operands::BRANCH_2 => {
                    code.take(2)?;
                }
                operands::BRANCH_4 => {
                    code.take(4)?;
                }
                operands::TABLE_SWITCH => {
                    code.take((4 - (pc + 1) % 4) % 4 + 4)?;
                    let low = i64::from(code.u4()?.cast_signed());
                    let high = i64::from(code.u4()?.cast_signed());
                    let cases = usize::try_from(high - low + 1).unwrap_or(usize::MAX);
                    code.take(cases.saturating_mul(4))?;
                }
                operands::LOOKUP_SWITCH => {
                    code.take((4 - (pc + 1) % 4) % 4 + 4)?;
                    let pairs = usize::try_from(code.u4()?.cast_signed()).unwrap_or(usize::MAX);
                    code.take(pairs.saturating_mul(8))?;
                }
                operands::WIDE => {
                    let modified = code.u1()?;
                    code.take(if modified == IINC { 4 } else { 2 })?;
                }
                _ => return Err(Malformed { at: start + pc, what: "unknown instruction" }),
            }
        }
        Ok(())
    }

    fn constant(&mut self, op: u8, index: u16) -> Result<(), Malformed> {
        let pool = &self.class.pool;
        match op {
            GETSTATIC | PUTSTATIC => {
                let field = pool.member(index)?;
                self.mention(field.class);
                self.uses.statics.push(field);
                if op == PUTSTATIC {
                    self.uses.written_statics.push(field);
                }
                Ok(())
            }
            GETFIELD | PUTFIELD => {
                let field = pool.member(index)?;
                self.mention(field.class);
                self.uses.fields.push(field);
                self.uses.reads_fields |= op == GETFIELD;
                self.uses.writes_fields |= op == PUTFIELD;
                Ok(())
            }
            INVOKEDYNAMIC => {
                let (bootstrap, called) = pool.pair(index, Tag::InvokeDynamic)?;
                self.bootstrap(bootstrap, Some(called), 0)
            }
            INVOKEINTERFACE => {
                self.uses.interface_calls.push(pool.member(index)?);
                self.any_constant(index, 0)
            }
            NEW => {
                let name = pool.class_name(index)?;
                self.mention(name);
                self.uses.made.push(name);
                Ok(())
            }
            _ => self.any_constant(index, 0),
        }
    }

    fn any_constant(&mut self, index: u16, depth: u32) -> Result<(), Malformed> {
        let pool = &self.class.pool;
        match pool.tag(index) {
            Some(Tag::Class) => self.class_constant(index),
            Some(Tag::Method | Tag::InterfaceMethod) => {
                let method = pool.member(index)?;
                self.mention(method.class);
                self.uses.calls.push(method);
                Ok(())
            }
            Some(Tag::Field) => {
                // A handle to a field; whether of an object or static is not distinguished.
                let field = pool.member(index)?;
                self.mention(field.class);
                self.uses.statics.push(field);
                self.uses.reads_fields = true;
                Ok(())
            }
            Some(Tag::MethodHandle) => {
                let (_, member) = pool.method_handle(index)?;
                if pool.tag(member) == Some(Tag::InterfaceMethod) {
                    self.uses.interface_calls.push(pool.member(member)?);
                }
                self.any_constant(member, depth + 1)
            }
            Some(Tag::Dynamic) if depth < DEEPEST => {
                let (bootstrap, _) = pool.pair(index, Tag::Dynamic)?;
                self.bootstrap(bootstrap, None, depth + 1)
            }
            _ => Ok(()),
        }
    }

    /// The bootstrap method and its arguments: for a lambda, its body. `called` is the name and type of the
    /// instruction.
    fn bootstrap(&mut self, wanted: u16, called: Option<u16>, depth: u32) -> Result<(), Malformed> {
        let table = self.class.attributes.find(&self.class.pool, b"BootstrapMethods")?;
        let Some(table) = table else { return Ok(()) };
        let mut data = table.data;
        let count = data.u2()?;
        if wanted >= count {
            return data.fail("reference to a bootstrap method that is not there");
        }
        for at in 0..=wanted {
            let handle = data.u2()?;
            let arguments = data.u2()?;
            if at < wanted {
                data.take(usize::from(arguments) * 2)?;
                continue;
            }
            self.any_constant(handle, depth)?;
            let mut all = Vec::with_capacity(usize::from(arguments));
            for _ in 0..arguments {
                let argument = data.u2()?;
                self.any_constant(argument, depth)?;
                all.push(argument);
            }
            if let Some(called) = called {
                self.lambda(called, &all)?;
            }
        }
        Ok(())
    }

    /// The arguments of the JDK's factory for lambdas: the method's type, what runs, and more.
    fn lambda(&mut self, called: u16, arguments: &[u16]) -> Result<(), Malformed> {
        let pool = &self.class.pool;
        let &[kind, runs, ..] = arguments else { return Ok(()) };
        if (pool.tag(kind), pool.tag(runs)) != (Some(Tag::MethodType), Some(Tag::MethodHandle)) {
            return Ok(());
        }
        let (name, made) = pool.name_and_type(called)?;
        let returned = made.iter().position(|&b| b == b')').map_or(made.len(), |at| at + 1);
        let object = made[returned..].strip_prefix(b"L").and_then(|o| o.strip_suffix(b";"));
        let (_, member) = pool.method_handle(runs)?;
        if let Some(interface) = object {
            let (descriptor, runs) = (pool.method_type(kind)?, pool.member(member)?);
            self.uses.lambdas.push(LambdaUse { interface, name, descriptor, runs });
        }
        Ok(())
    }

    fn class_constant(&mut self, index: u16) -> Result<(), Malformed> {
        let name = self.class.pool.class_name(index)?;
        self.mention(name);
        Ok(())
    }

    /// A plain name, or a descriptor for arrays.
    fn mention(&mut self, name: &'a [u8]) {
        if let Some(class) = plain_class(name) {
            self.uses.classes.push(class);
        }
    }
}

/// The class behind a name or array descriptor; `None` for arrays of numbers.
fn plain_class(name: &[u8]) -> Option<&[u8]> {
    if name.first() != Some(&b'[') {
        return Some(name);
    }
    let brackets = name.iter().take_while(|&&b| b == b'[').count();
    name[brackets..].strip_prefix(b"L")?.strip_suffix(b";")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_testkit::{Sources, jdk};

    fn uses_of(source: &str, method: &str, look: impl FnOnce(&BodyUses<'_>)) {
        let folder = Sources::new().file("A.java", source).compile(&jdk());
        let bytes = std::fs::read(folder.join("A.class")).unwrap();
        let class = ClassFile::parse(&bytes).unwrap();
        let member = class.methods.iter().find(|m| m.name == method.as_bytes()).unwrap();
        look(&body_uses(&class, member).unwrap().unwrap());
    }

    fn has(names: &[&[u8]], wanted: &str) -> bool {
        names.contains(&wanted.as_bytes())
    }

    fn calls(uses: &BodyUses<'_>, wanted: &str) -> bool {
        uses.calls.iter().any(|c| c.name == wanted.as_bytes())
    }

    #[test]
    fn every_kind_of_mention() {
        let source = "class A { static Object s; int f;
            Object run(Object o, int i) {
                switch (i) { case 1: return new StringBuilder(); case 1000: return Thread[].class; }
                if (o instanceof Runnable) return (Comparable<?>) o;
                try { Integer.parseInt(\"1\"); } catch (IllegalStateException e) { s = e; }
                return new Long[2];
            }
            void plain() { } }";
        uses_of(source, "run", |uses| {
            for class in [
                "java/lang/StringBuilder",
                "java/lang/Thread",
                "java/lang/Runnable",
                "java/lang/Comparable",
                "java/lang/Integer",
                "java/lang/IllegalStateException",
                "java/lang/Long",
                "A",
            ] {
                assert!(has(&uses.classes, class), "{class}");
            }
            assert!(has(&uses.made, "java/lang/StringBuilder"));
            assert!(calls(uses, "parseInt"));
            assert_eq!(uses.statics.len(), 1);
            assert!(!uses.reads_fields);
        });
        uses_of(source, "plain", |uses| assert_eq!(*uses, BodyUses::default()));
    }

    #[test]
    fn a_lambda_is_called_by_who_makes_it() {
        let source = "class A { int f; Runnable make() { return () -> inner(f); }
            void inner(int i) { } }";
        uses_of(source, "make", |uses| {
            assert!(calls(uses, "lambda$make$0"), "{uses:?}");
            let lambda = uses.lambdas[0];
            assert_eq!((lambda.interface, lambda.name), (&b"java/lang/Runnable"[..], &b"run"[..]));
            assert_eq!((lambda.descriptor, lambda.runs.name), (&b"()V"[..], &b"lambda$make$0"[..]));
        });
        uses_of(source, "lambda$make$0", |uses| {
            assert!(calls(uses, "inner"));
            assert!(uses.reads_fields);
        });
    }

    #[test]
    fn calls_by_interfaces_and_fields_are_distinguished() {
        let source = "import java.util.function.*; class A { static int s; int f;
            Supplier<String> run(Supplier<String> given, StringBuilder b) {
                s = f; b.length(); given.get(); return given::get; } }";
        uses_of(source, "run", |uses| {
            assert_eq!(uses.interface_calls.len(), 2, "{uses:?}");
            assert!(uses.interface_calls.iter().all(|c| c.name == b"get"));
            assert_eq!(uses.lambdas[0].runs.class, b"java/util/function/Supplier");
            let names = |all: &[MemberRef<'_>]| -> Vec<Vec<u8>> {
                all.iter().map(|field| field.name.to_vec()).collect()
            };
            assert_eq!(names(&uses.fields), [b"f"]);
            assert_eq!(names(&uses.written_statics), [b"s"]);
        });
    }

    #[test]
    fn names_behind_arrays() {
        assert_eq!(plain_class(b"a/B"), Some(&b"a/B"[..]));
        assert_eq!(plain_class(b"[[La/B;"), Some(&b"a/B"[..]));
        assert_eq!(plain_class(b"[I"), None);
        assert_eq!(plain_class(b"[La/B"), None);
    }
}
