//! From what a JVM did while a test ran to what the test depends on.
//!
//! The agent tells which methods ran between two boundaries ([`tamis_jvm_wire`]). Classes are asked for
//! *by name on the classpath of now* ([`ClassIndex`]), so a library upgrade or a class that appears
//! earlier on the classpath changes exactly the names that it changes.
//!
//! A test depends on
//!
//! * the **body** of every method of the project that ran for it;
//! * the **header**, or parts of it ([`headers`]), of every class of the project that it touched: whose methods ran, that a body that
//!   ran mentions (casts, literals, owners of fields, caught types, ...), that was asked for by name or
//!   by reflection, and of their supertypes and annotation types. What is asked for and not there is
//!   asked again, too;
//! * the **whole** of classes of libraries: in every library that it touched, all classes that ran in
//!   this JVM so far, because a library may keep anything;
//! * what ran or was asked for **outside of tests** earlier in the same JVM, but for what a framework
//!   looks at to find other tests;
//! * what **earlier tests** of the same JVM left for it ([`left`](crate::Jvm::ended)): static
//!   initialisers of classes that it touched, constructors of those whose objects a static field can
//!   hold, and everything that its methods in classes with state (static fields that can change, objects
//!   that a static field can hold) can call, as far as it ran; where such code calls by reflection,
//!   everything of the tests in which it ran. With such code come the files of the tests in which it
//!   ran, and the names that they asked for. Resource bundles are kept by the JDK itself: who may use any
//!   depends on all that were read.
//!
//! * what something outside of the project kept for it ([`elsewhere`], [`shelves`]), and what of the JVM
//!   itself earlier tests changed ([`globals`]).
//!
//! What is not seen stands in the heads of these modules and in `docs/jvm.md`.

mod answers;
mod asked_names;
mod calls;
mod class;
mod counting;
mod discovery;
mod divided;
mod elsewhere;
mod facts;
mod fixed;
mod generic;
mod globals;
mod headers;
mod jvm;
mod known;
mod library_calls;
mod loaded_classes;
mod loaded_types;
mod reach;
mod retained_state;
mod seen;
mod shelves;
mod statics;
mod tags;
mod test_methods;
mod tests_seen;
mod trail;

pub use answers::{Answered, Facts};
pub use asked_names::AskedNames;
pub use class::{Class, Field, Lambda, Links, Method};
pub use discovery::outermost;
pub use facts::{Fact, FactKind, answer};
pub use jvm::Jvm;
pub use seen::{Because, Depends};
pub use tags::{needs_others, tags};
pub use test_methods::MethodDepends;
