//! The header of a class in parts.
//!
//! A JVM that links code looks for members by name and descriptor, one by one: in the class that is named,
//! in those above it, and, for calls, from the class of the object upwards. Only reflection (and what is
//! built on it) lists members. So a class is, for those who did not list it,
//!
//! * its **core**: version, flags, name, supertypes, attributes of the class, and those things about its
//!   members that matter without anybody naming them: that there is a static initialiser, that an interface
//!   has methods with code (its initialiser then runs with those of classes that have it), methods that no
//!   subclass may override, and what every object has (`toString` and the like), which anybody calls;
//! * one part for each field and each method, by name and descriptor, and for each class of its nest.
//!
//! The order of fields, and which classes are nested in it, belong to the header as a whole only.

use crate::annotation::text;
use crate::class::{ClassFile, Member, flags};
use tamis_core::Hash;

/// Methods of every object; anybody calls them.
const OF_ALL: [&[u8]; 5] = [b"equals", b"hashCode", b"toString", b"clone", b"finalize"];

/// See the head of this module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts<'a> {
    pub core: Hash,
    pub all: Vec<Part<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    Field,
    Method,
    /// A class that the nest of this one has.
    Nested,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    pub kind: PartKind,
    pub name: &'a [u8],
    pub descriptor: &'a [u8],
    pub access: u16,
    /// All of it but a body.
    pub hash: Hash,
}

impl<'a> Part<'a> {
    pub(crate) fn of_member(kind: PartKind, member: &Member<'a>, hash: Hash) -> Self {
        let Member { access, name, descriptor, .. } = *member;
        Self { kind, name, descriptor, access, hash }
    }

    pub(crate) fn of_nested(name: &'a [u8]) -> Self {
        Self { kind: PartKind::Nested, name, descriptor: b"", access: 0, hash: Hash::of(name) }
    }

    /// `run(I)V`, `count:I`, `nest a/B$C`.
    pub fn key(&self) -> Vec<u8> {
        match self.kind {
            PartKind::Method => [self.name, self.descriptor].concat(),
            PartKind::Field => [self.name, b":", self.descriptor].concat(),
            PartKind::Nested => [b"nest ", self.name].concat(),
        }
    }

    /// Whether an object of a subclass can have this method, or another one in its place.
    pub fn is_inherited(&self) -> bool {
        self.kind == PartKind::Method
            && self.access & (flags::PRIVATE | flags::STATIC) == 0
            && self.name.first() != Some(&b'<')
    }
}

impl Parts<'_> {
    /// What of its members counts for everybody who meets the class.
    pub(crate) fn append_bound(class: &ClassFile<'_>, parts: &[Part<'_>], out: &mut Vec<u8>) {
        let mut bound: Vec<&Part<'_>> = parts.iter().filter(|part| is_bound(class, part)).collect();
        bound.sort_unstable_by_key(|part| (part.name, part.descriptor));
        for part in bound {
            text(part.name, out);
            text(part.descriptor, out);
            out.extend_from_slice(&part.hash.0.to_le_bytes());
        }
        let has_code = |part: &Part<'_>| {
            part.is_inherited() && part.access & flags::ABSTRACT == 0 && class.is(flags::INTERFACE)
        };
        out.push(u8::from(parts.iter().any(has_code)));
    }
}

fn is_bound(class: &ClassFile<'_>, part: &Part<'_>) -> bool {
    let is_last = || {
        part.access & flags::FINAL != 0
            && part.access & flags::PRIVATE == 0
            && !class.is(flags::FINAL)
    };
    part.kind == PartKind::Method
        && (part.name == b"<clinit>" || OF_ALL.contains(&part.name) || is_last())
}
