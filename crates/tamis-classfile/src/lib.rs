//! Java class files: what a program can see of them, and what they point at.
//!
//! [`ClassFile::parse`] reads the structure of one class file and borrows everything from its bytes.
//! [`Analyser::analyse`] then gives
//!
//! * a two-layer [`Fingerprint`]: the *header* (all that reflection and linking can see) and one
//!   *body* per method (instructions with their constants resolved). Debug information, frames and
//!   annotations that are not kept at run time do not count, nor does the order of methods,
//!   annotations or constants;
//! * the [`References`]: which other classes this one inherits from, uses, or names in a string.
//!
//! Any version from Java 1.1 on is accepted, also newer ones than this crate knows, as long as the
//! constant pool can be walked: an unknown tag hides the length of everything behind it and is an
//! error. Every error is a [`Malformed`] value; no input makes this crate panic.
//!
//! [`rewrite`] changes a class file at load: code at the start of methods, wrappers around them.
//! [`marks`] makes the classes that such code marks.
//!
//! What is not seen: names that a program puts together at run time, resources, native code.

mod analyse;
mod annotation;
mod class;
mod code;
mod constants;
mod fingerprint;
pub mod marks;
pub mod mutf8;
mod parts;
mod pool;
mod raw;
mod reader;
mod references;
pub mod rewrite;
mod shown;
mod slots;
mod uses;
mod values;

pub use analyse::{Analyser, Analysis};
pub use class::{Attribute, Attributes, ClassFile, Member, flags};
pub use fingerprint::{Fingerprint, MethodFingerprint};
pub use parts::{Part, PartKind, Parts};
pub use pool::{ConstantPool, MemberRef, Tag};
pub use raw::{Bootstrap, DynamicRef, Handler, RawCode};
pub use reader::Malformed;
pub use references::{AnnotationUse, Place, References, classes_in};
pub use shown::{Shown, shown};
pub use slots::of_parameters as parameter_slots;
pub use uses::{BodyUses, LambdaUse, body_uses};
pub use values::{Fresh, HandedOn, Source, ValueUses, value_uses};

/// The fingerprint of the bytes of a class, as all of tamis takes it of contents.
pub fn content_hash(bytes: &[u8]) -> u128 {
    tamis_core::Hash::of(bytes).0
}
