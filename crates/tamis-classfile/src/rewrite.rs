//! Rewriting of a class file at load: code at the start of methods or before their only `return`,
//! wrappers around methods.
//!
//! An [`Editor`] borrows the original bytes. Constants are only appended, so every index in the
//! file stays valid, and everything that is not edited is copied as it is. The code that is put in
//! front of a method has a length that is a multiple of four: the padding of switches and all
//! branches, which are relative, stay valid, and a branch to the old start runs the method again
//! without the new code. What holds absolute positions is moved:
//!
//! | part of the code attribute | what happens |
//! | --- | --- |
//! | exception table, local variables | moved |
//! | line numbers | moved; the line at the start then also covers the new code |
//! | `StackMapTable` | the first frame and every uninitialised object moved |
//! | `Runtime(In)VisibleTypeAnnotations` | moved; dropped if not understood (no JVM reads them) |
//! | `StackMap` of CLDC | the class is refused |
//! | any other | dropped for the method: it may hold positions |
//!
//! The wider world sees little of it: reflection finds one more private method per wrapper, a stack
//! trace one more frame, and an empty finalizer is not edited ([`EMPTY_FINALIZER`]).
//!
//! Whether a class would pass the verifier is not looked at: a class that did before does after.
//! Code is not walked, so garbage in it stays garbage.

mod constants;
mod descriptor;
mod frames;
mod prefix;
mod tables;
mod wrap;

use crate::class::{Attribute, ClassFile, flags};
use crate::reader::{Malformed, Reader};
use constants::NewConstants;
use std::fmt;
use tables::Prefixed;
use wrap::Wrapper;

/// The JVM's limit for the code of one method.
const LONGEST_CODE: usize = 65_535;

/// Code for the start of a method.
#[derive(Debug, Clone, Copy)]
pub enum Prefix<'p> {
    /// Stores 1 in the field of a mark in its class of a family ([`crate::marks`]). Four bytes, no
    /// call, no branch.
    Mark { family: &'p str, mark: u32 },
    /// Calls a static void method. Its descriptor has `Object` for a local variable and `String`
    /// for a text.
    Call { owner: &'p str, name: &'p str, arguments: &'p [Argument<'p>] },
    /// Calls a static boolean method and returns from the void method at once where it answers
    /// true.
    ReturnIf { owner: &'p str, name: &'p str, arguments: &'p [Argument<'p>] },
    /// Puts what a static method from `Object` to `Object` makes of a parameter in its place; `kind` is
    /// the parameter's class, as in a cast.
    Replace { owner: &'p str, name: &'p str, local: u16, kind: &'p str },
}

/// What a called method is given.
#[derive(Debug, Clone, Copy)]
pub enum Argument<'p> {
    /// The reference in this local variable: 0 is `this` in an instance method, the parameters
    /// follow; long and double take two.
    Local(u16),
    Text(&'p str),
    /// The class itself, as `Class`; from Java 5 on.
    ThisClass,
}

/// How a class refers to itself in code.
#[derive(Debug, Clone, Copy)]
struct This {
    constant: Option<u16>,
}

/// A method is replaced by one that calls `enter`, the original, and `leave`, also on a throw.
#[derive(Debug, Clone, Copy)]
pub struct Wrap<'w> {
    /// The class with both static methods, like `com/acme/Probe`.
    pub owner: &'w str,
    /// `(String kind, Object self, Object[] arguments) -> Object`; `self` is null in a static
    /// method. What it returns goes to `leave`.
    pub enter: &'w str,
    /// `(String kind, Object token, Throwable thrown) -> void`; `thrown` is null on a return.
    pub leave: &'w str,
    pub kind: &'w str,
}

/// Why an edit was not made. The class can be used as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    Malformed(Malformed),
    /// The method would pass the JVM's limit of 65,535 bytes of code.
    TooLong,
    /// No room for more constants.
    PoolFull,
    /// The method is abstract or native.
    NoCode,
    Unsupported(&'static str),
}

impl From<Malformed> for Refused {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::TooLong => f.write_str("method would be longer than 65535 bytes"),
            Self::PoolFull => f.write_str("constant pool is full"),
            Self::NoCode => f.write_str("method without code"),
            Self::Unsupported(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Refused {}

/// A JVM registers every object whose class has a finalizer that does something, and looks at
/// nothing but its length. An empty one stays empty: objects must not live longer because a class
/// was rewritten. Nothing is lost, as no JVM calls an empty finalizer.
pub const EMPTY_FINALIZER: Refused = Refused::Unsupported("an empty finalizer must stay empty");

/// Collects edits of one class and writes it anew.
#[derive(Debug)]
pub struct Editor<'a> {
    file: &'a [u8],
    class: ClassFile<'a>,
    constants: NewConstants,
    /// One per method of the class.
    edits: Vec<Edit<'a>>,
    wrapped: u16,
}

/// What is to happen to one method.
#[derive(Debug, Clone, Default)]
struct Edit<'a> {
    /// The bytes of the code attribute, once it was looked for.
    code: Option<Reader<'a>>,
    prefix: Prefixed,
    wrapper: Option<Wrapper>,
}

impl<'a> Editor<'a> {
    pub fn new(file: &'a [u8]) -> Result<Self, Malformed> {
        let class = ClassFile::parse(file)?;
        let constants = NewConstants::behind(class.pool.len());
        let edits = vec![Edit::default(); class.methods.len()];
        Ok(Self { file, class, constants, edits, wrapped: 0 })
    }

    pub fn class(&self) -> &ClassFile<'a> {
        &self.class
    }

    /// Puts code at the start of a method, an index into `class().methods`. Several prefixes of one
    /// method run in the order in which they were given. A refused one leaves the others in place.
    ///
    /// In a constructor the code runs before the call of `super`, so `this` cannot be passed on.
    /// In a wrapped method it is the original that gets the code.
    pub fn prefix(&mut self, method: usize, prefix: Prefix<'_>) -> Result<(), Refused> {
        let old_length = self.code_length(method)?;
        let this = self.this()?;
        let edit = &mut self.edits[method];
        let before = edit.prefix.code.len();
        let encoded = prefix::append(
            &prefix,
            (this, &self.class.methods[method]),
            &mut self.constants,
            &mut edit.prefix,
        );
        let result = encoded.and_then(|()| {
            let length = edit.prefix.code.len() + edit.prefix.end.len() + old_length;
            if length > LONGEST_CODE { Err(Refused::TooLong) } else { Ok(()) }
        });
        if result.is_err() {
            edit.prefix.shorten_to(before);
        }
        result
    }

    /// Calls a static void method before a method returns. Refused for methods that can return in
    /// another place than at the end of their code, and for arguments that are local variables; not
    /// called when the method throws.
    pub fn before_return(
        &mut self,
        method: usize,
        (owner, name): (&str, &str),
        arguments: &[Argument<'_>],
    ) -> Result<(), Refused> {
        let old_length = self.code_length(method)?;
        let this = self.this()?;
        let mut code = self.code(method)?;
        code.take(8)?; // max_stack, max_locals, length
        let instructions = code.take(old_length)?;
        let edit = &mut self.edits[method];
        let of = (this, &self.class.methods[method]);
        let constants = &mut self.constants;
        prefix::at_end(instructions, (owner, name), arguments, of, constants, &mut edit.prefix)?;
        if edit.prefix.code.len() + edit.prefix.end.len() + old_length > LONGEST_CODE {
            edit.prefix.end.clear();
            edit.prefix.end_stack = 0;
            return Err(Refused::TooLong);
        }
        Ok(())
    }

    /// Replaces a method by a wrapper. The original becomes the private method `<name>$tamis`.
    /// Constructors and static initialisers are refused.
    pub fn wrap(&mut self, method: usize, wrap: Wrap<'_>) -> Result<(), Refused> {
        self.code_length(method)?;
        if self.edits[method].wrapper.is_some() {
            return Err(Refused::Unsupported("method is wrapped already"));
        }
        let methods = self.class.methods.len() + usize::from(self.wrapped);
        if methods >= usize::from(u16::MAX) {
            return Err(Refused::Unsupported("class has no room for another method"));
        }
        let this_class = self.this_class()?;
        let wrapper = wrap::wrapper(&wrap, &self.class, method, this_class, &mut self.constants)?;
        self.edits[method].wrapper = Some(wrapper);
        self.wrapped += 1;
        Ok(())
    }

    /// The bytes of the edited class.
    pub fn finish(self) -> Result<Vec<u8>, Refused> {
        let new_code: usize = self.edits.iter().map(Edit::growth).sum();
        let pool_end = self.class.pool.end();
        let mut out =
            Vec::with_capacity(self.file.len() + self.constants.bytes().len() + new_code + 64);
        out.extend_from_slice(slice(self.file, 0, 8)?);
        out.extend_from_slice(&self.constants.count().to_be_bytes());
        out.extend_from_slice(slice(self.file, 10, pool_end)?);
        out.extend_from_slice(self.constants.bytes());
        let mut copied = pool_end;
        for (index, edit) in self.edits.iter().enumerate() {
            let Some(code) = edit.code.filter(|_| edit.is_made()) else { continue };
            // Name and length of the attribute stand before its bytes.
            let code_start = code.position() - 6;
            let code_end = code.position() + code.rest().len();
            if let Some(wrapper) = &edit.wrapper {
                let start = self.method_start(index);
                out.extend_from_slice(slice(self.file, copied, start)?);
                let end = self.method_end(index);
                let head = slice(self.file, start, code_start)?;
                let tail = slice(self.file, code_end, end)?;
                let name = slice(self.file, code_start, code_start + 2)?;
                wrapper.append(head, name, tail, &mut out)?;
                self.append_code(code, edit, &mut out)?;
                copied = end;
            } else {
                out.extend_from_slice(slice(self.file, copied, code_start + 2)?);
                self.append_code(code, edit, &mut out)?;
                copied = code_end;
            }
        }
        out.extend_from_slice(slice(self.file, copied, self.file.len())?);
        if self.wrapped > 0 {
            // Between the constants and the methods nothing changes its length.
            let at = self.method_start(0) - 2 + self.constants.bytes().len();
            let count = self.class.methods.len() as u16 + self.wrapped;
            out[at..at + 2].copy_from_slice(&count.to_be_bytes());
        }
        Ok(out)
    }

    /// A code attribute behind its name.
    fn append_code(
        &self,
        code: Reader<'a>,
        edit: &Edit<'a>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        if edit.prefix.is_empty() {
            out.extend_from_slice(code.rest());
        } else {
            tables::append_code(code, &self.class, &edit.prefix, out)?;
        }
        let len = u32::try_from(out.len() - start - 4).map_err(|_| Refused::TooLong)?;
        out[start..start + 4].copy_from_slice(&len.to_be_bytes());
        Ok(())
    }

    /// The length of the instructions of a method that may be edited.
    fn code_length(&mut self, method: usize) -> Result<usize, Refused> {
        let mut code = self.code(method)?;
        code.take(4)?; // max_stack, max_locals
        let length = code.u4()? as usize;
        let member = &self.class.methods[method];
        if length == 1 && member.name == b"finalize" && member.descriptor == b"()V" {
            return Err(EMPTY_FINALIZER);
        }
        Ok(length)
    }

    /// The code attribute of a method; looked for once.
    fn code(&mut self, method: usize) -> Result<Reader<'a>, Refused> {
        let Some(edit) = self.edits.get_mut(method) else {
            return Err(Refused::Unsupported("class has no such method"));
        };
        if let Some(code) = edit.code {
            return Ok(code);
        }
        let mut found: Option<Attribute<'a>> = None;
        for attribute in self.class.methods[method].attributes.iter(&self.class.pool) {
            let attribute = attribute?;
            if attribute.name == b"Code" && found.replace(attribute).is_some() {
                return attribute.data.fail("method with two code attributes").map_err(Into::into);
            }
        }
        let code = found.ok_or(Refused::NoCode)?.data;
        edit.code = Some(code);
        Ok(code)
    }

    fn this(&self) -> Result<This, Malformed> {
        let has_constants = self.class.major_version >= FIRST_WITH_CLASS_CONSTANTS;
        let constant = has_constants.then(|| self.this_class()).transpose()?;
        Ok(This { constant })
    }

    /// The constant with this class itself. A hidden class knows itself by no other constant.
    fn this_class(&self) -> Result<u16, Malformed> {
        let end = self.class.pool.end();
        let mut reader = Reader::new(slice(self.file, end, self.file.len())?, end);
        reader.u2()?;
        reader.u2()
    }

    /// Flags, name and descriptor stand before the attributes.
    fn method_start(&self, method: usize) -> usize {
        self.class.methods[method].attributes.start() - 6
    }

    fn method_end(&self, method: usize) -> usize {
        if method + 1 < self.class.methods.len() {
            self.method_start(method + 1)
        } else {
            self.class.attributes.start()
        }
    }
}

impl Edit<'_> {
    fn is_made(&self) -> bool {
        self.wrapper.is_some() || !self.prefix.is_empty()
    }

    /// About how many bytes the method grows by.
    fn growth(&self) -> usize {
        self.prefix.code.len()
            + self.prefix.end.len()
            + self.wrapper.as_ref().map_or(0, |w| w.len() + 32)
    }
}

/// The first class file version in which code can load a class as a constant.
const FIRST_WITH_CLASS_CONSTANTS: u16 = 49;

/// The first class file version whose code is verified with frames.
const FIRST_WITH_FRAMES: u16 = 50;

fn slice(file: &[u8], from: usize, to: usize) -> Result<&[u8], Malformed> {
    file.get(from..to).ok_or(Malformed { at: from, what: "unexpected end of data" })
}
