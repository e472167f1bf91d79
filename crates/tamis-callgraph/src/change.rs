//! Which methods of the old revision a changed class touches.
//!
//! At class level all of its methods. At method level those whose head or body differs or that are gone,
//! and those that were found before where a new method is found now (an added override takes calls away
//! from the inherited method; a removed one is itself gone). A change of anything else in the class (its
//! supertypes, flags, fields, attributes) counts for all of its methods; where its supertypes changed, also
//! for all methods above it that are the project's own.

use crate::program::{ClassId, MethodId, Program};
use crate::universe::Author;
use std::collections::BTreeMap;
use tamis_classfile::{Analyser, ClassFile, Malformed, flags};
use tamis_core::Hash;

/// How finely changes are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    /// A changed class changes all of its methods.
    Class,
    /// Only the methods that differ.
    Method,
}

/// Methods by name and descriptor with the value of their head and body.
type Methods<'a> = BTreeMap<(&'a [u8], &'a [u8]), (Hash, Option<Hash>, u16)>;

impl Program<'_> {
    /// The methods that count as changed when a class (`com/acme/Thing`) is now `new`, or gone. The
    /// program is that of the old revision, with its graph built.
    pub fn changed_by(
        &mut self,
        class: &[u8],
        new: Option<&[u8]>,
        changes: Changes,
    ) -> Vec<MethodId> {
        let Some(id) = self.class_named(class) else { return Vec::new() };
        let all: Vec<MethodId> = self.classes[id as usize].methods.clone().collect();
        let (Some(new), Changes::Method) = (new, changes) else { return all };
        let Some((old, _)) = self.universe().find(class) else { return all };
        match self.differing(id, old, new) {
            Ok(Some(methods)) => methods,
            Ok(None) | Err(_) => {
                let mut methods = all;
                if supertypes(old) != supertypes(new) {
                    methods.extend(self.own_methods_above(id));
                }
                methods
            }
        }
    }

    /// The methods that differ; `None` where more than methods does.
    fn differing(
        &mut self,
        class: ClassId,
        old: &[u8],
        new: &[u8],
    ) -> Result<Option<Vec<MethodId>>, Malformed> {
        let (old, new) = (ClassFile::parse(old)?, ClassFile::parse(new)?);
        let mut analyser = Analyser::default();
        if without_methods(&mut analyser, &old)? != without_methods(&mut analyser, &new)? {
            return Ok(None);
        }
        let (before, now) = (methods(&mut analyser, &old)?, methods(&mut analyser, &new)?);
        let mut changed = Vec::new();
        for (&(name, descriptor), value) in &before {
            if now.get(&(name, descriptor)) != Some(value) {
                changed.extend(self.declared_method(old.name, name, descriptor));
            }
        }
        for (&(name, descriptor), &(_, _, access)) in &now {
            let looked_up = access & (flags::STATIC | flags::PRIVATE) == 0 && name != b"<init>";
            if looked_up && !before.contains_key(&(name, descriptor)) {
                changed.extend(self.found_before(class, name, descriptor));
            }
        }
        changed.sort_unstable();
        changed.dedup();
        Ok(Some(changed))
    }

    /// What calls on a class and those below it ran before the class got this method.
    fn found_before(&mut self, class: ClassId, name: &[u8], descriptor: &[u8]) -> Vec<MethodId> {
        let Some(selector) = self.find_selector(name, descriptor) else { return Vec::new() };
        let mut found = Vec::new();
        for below in self.below(class) {
            let Some(method) = self.dispatch(below, selector) else { continue };
            let holder = self.methods[method as usize].class;
            // Those that have a method of their own keep it.
            if holder == class || !self.is_subtype(holder, class) {
                found.push(method);
            }
        }
        found
    }

    fn own_methods_above(&self, class: ClassId) -> Vec<MethodId> {
        let supers = self.classes[class as usize].supers.iter();
        supers
            .filter(|&&above| self.classes[above as usize].origin == Some(Author::Project))
            .flat_map(|&above| self.classes[above as usize].methods.clone())
            .collect()
    }
}

/// The names of interfaces and superclass; nothing for what cannot be read.
fn supertypes(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let class = ClassFile::parse(bytes).ok()?;
    let mut names = class.interfaces;
    names.extend(class.super_name);
    Some(names)
}

/// The value of all of a class but its methods.
fn without_methods(analyser: &mut Analyser, class: &ClassFile<'_>) -> Result<Hash, Malformed> {
    let mut rest = class.clone();
    rest.methods.clear();
    Ok(analyser.analyse(&rest)?.fingerprint.header)
}

fn methods<'a>(analyser: &mut Analyser, class: &ClassFile<'a>) -> Result<Methods<'a>, Malformed> {
    let mut out = Methods::new();
    let mut alone = class.clone();
    alone.fields.clear();
    for member in &class.methods {
        alone.methods = vec![*member];
        let fingerprint = analyser.analyse(&alone)?.fingerprint;
        let body = fingerprint.bodies.first().map(|b| b.body);
        out.insert((member.name, member.descriptor), (fingerprint.header, body, member.access));
    }
    Ok(out)
}
