//! Other classes that a class object leads to: by what the class says of itself, and by its members.
//!
//! Who has the class object of such a type can ask the JVM for its flags and supertypes without any code of the
//! JDK that could be watched. Not here: supertypes, and what annotations name (see [`crate::References`]); parts of
//! records, whose types are those of their fields.

use crate::class::{Attribute, ClassFile, Member};
use crate::reader::Malformed;
use crate::references::classes_in;
use std::borrow::Cow;

/// Names of classes, each perhaps more than once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown<'a> {
    /// Type arguments of supertypes, the classes around it, permitted subclasses.
    pub by_class: Vec<Cow<'a, [u8]>>,
    /// Types of fields, parameters, results and exceptions; nested classes.
    pub by_members: Vec<Cow<'a, [u8]>>,
}

/// The classes that reflection can go on to from this one.
pub fn shown<'a>(class: &ClassFile<'a>) -> Result<Shown<'a>, Malformed> {
    let mut shown = Shown::default();
    for attribute in class.attributes.iter(&class.pool) {
        of_class(class, &attribute?, &mut shown)?;
    }
    for member in class.fields.iter().chain(&class.methods) {
        of_member(class, member, &mut shown.by_members)?;
    }
    Ok(shown)
}

fn of_class<'a>(
    class: &ClassFile<'a>,
    attribute: &Attribute<'a>,
    shown: &mut Shown<'a>,
) -> Result<(), Malformed> {
    let pool = &class.pool;
    let mut data = attribute.data;
    match attribute.name {
        b"Signature" => classes_in(pool.utf8(data.u2()?)?, &mut |name| shown.by_class.push(name)),
        b"EnclosingMethod" | b"NestHost" => {
            shown.by_class.push(Cow::Borrowed(pool.class_name(data.u2()?)?));
        }
        b"PermittedSubclasses" | b"NestMembers" => {
            let found = match attribute.name {
                b"NestMembers" => &mut shown.by_members,
                _ => &mut shown.by_class,
            };
            for _ in 0..data.u2()? {
                found.push(Cow::Borrowed(pool.class_name(data.u2()?)?));
            }
        }
        b"InnerClasses" => {
            for _ in 0..data.u2()? {
                let inner = pool.class_name(data.u2()?)?;
                let outer = match data.u2()? {
                    0 => None,
                    outer => Some(pool.class_name(outer)?),
                };
                data.take(4)?; // its simple name and flags
                if inner == class.name {
                    shown.by_class.extend(outer.map(Cow::Borrowed));
                } else if outer == Some(class.name) {
                    shown.by_members.push(Cow::Borrowed(inner));
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn of_member<'a>(
    class: &ClassFile<'a>,
    member: &Member<'a>,
    found: &mut Vec<Cow<'a, [u8]>>,
) -> Result<(), Malformed> {
    classes_in(member.descriptor, &mut |name| found.push(name));
    if let Some(signature) = member.attributes.signature(&class.pool)? {
        classes_in(signature, &mut |name| found.push(name));
    }
    if let Some(exceptions) = member.attributes.find(&class.pool, b"Exceptions")? {
        let mut data = exceptions.data;
        for _ in 0..data.u2()? {
            found.push(Cow::Borrowed(class.pool.class_name(data.u2()?)?));
        }
    }
    Ok(())
}
