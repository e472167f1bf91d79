//! A program as numbers: classes, methods, selectors and fields are small integers, interned on first
//! sight.
//!
//! Classes are read when somebody refers to them, so an analysis pays for what it reaches; class
//! hierarchy analysis asks for all of them ([`Program::load_all`]). A class that is not in the universe is
//! *missing*: it has a name and nothing else. That is also how excluded libraries look. A class below a
//! missing one is *incomplete*: it may be a subtype of any missing type.
//!
//! Besides classes of files there are arrays and the classes that the JVM makes up for lambdas.

use crate::body::Body;
use crate::descriptor;
pub(crate) use crate::ids::{ClassId, FieldId, MethodId, NameId, SelectorId, key};
use crate::tables::{Fields, NameTable, Selectors};
use crate::universe::{Author, Universe};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use tamis_classfile::{Bootstrap, ClassFile, flags};

pub(crate) const NONE: u32 = u32::MAX;

/// What a class is.
#[derive(Debug)]
pub(crate) enum ClassKind<'u> {
    File(Box<Loaded<'u>>),
    /// Of elements of this class; `None` for numbers.
    Array(Option<ClassId>),
    /// Made up for a lambda in a class.
    Lambda,
    Missing,
}

/// A class that was read.
#[derive(Debug)]
pub(crate) struct Loaded<'u> {
    pub(crate) file: Rc<ClassFile<'u>>,
    pub(crate) bootstraps: Option<Rc<Vec<Bootstrap>>>,
    /// What constants stand for: a class, or a member in [`Program::members`].
    pub(crate) constants: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct Class<'u> {
    pub(crate) name: NameId,
    pub(crate) kind: ClassKind<'u>,
    pub(crate) origin: Option<Author>,
    pub(crate) access: u16,
    pub(crate) super_class: Option<ClassId>,
    pub(crate) interfaces: Vec<ClassId>,
    /// All supertypes and the class itself, sorted.
    pub(crate) supers: Vec<ClassId>,
    /// Has a supertype that is missing.
    pub(crate) incomplete: bool,
    /// Direct subtypes that were read so far.
    pub(crate) subtypes: Vec<ClassId>,
    pub(crate) methods: std::ops::Range<u32>,
    pub(crate) initialiser: Option<MethodId>,
}

impl Class<'_> {
    pub(crate) fn is(&self, flag: u16) -> bool {
        self.access & flag != 0
    }

    pub(crate) fn is_missing(&self) -> bool {
        matches!(self.kind, ClassKind::Missing)
    }

    /// Whether there can be objects of just this class.
    pub(crate) fn is_concrete(&self) -> bool {
        !self.is_missing() && !self.is(flags::ABSTRACT | flags::INTERFACE)
    }
}

#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) class: ClassId,
    pub(crate) selector: SelectorId,
    pub(crate) access: u16,
    /// Its place in the class file.
    pub(crate) index: u32,
}

impl Method {
    pub(crate) fn is(&self, flag: u16) -> bool {
        self.access & flag != 0
    }
}

/// The numbers of the classes that were met, by what stands for them in class files.
#[derive(Debug, Default)]
struct ClassNumbers {
    by_name: FxHashMap<NameId, ClassId>,
    /// By the class of the elements, or the letter of the numbers.
    arrays: FxHashMap<(u32, u8), ClassId>,
}

/// Methods by class and selector.
#[derive(Debug, Default)]
pub(crate) struct MethodNumbers {
    /// Where they are declared.
    pub(crate) declared: FxHashMap<u64, MethodId>,
    /// What a call runs on an object of a class, as far as it was asked; `NONE` for nothing.
    pub(crate) dispatched: FxHashMap<u64, MethodId>,
}

/// Classes and selectors that the analyses know by name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    pub(crate) object: ClassId,
    pub(crate) string: ClassId,
    pub(crate) class: ClassId,
    pub(crate) throwable: ClassId,
    pub(crate) to_string: SelectorId,
    pub(crate) hash_code: SelectorId,
    pub(crate) equals: SelectorId,
}

#[derive(Debug)]
pub struct Program<'u> {
    universe: &'u Universe,
    names: NameTable<'u>,
    pub(crate) classes: Vec<Class<'u>>,
    class_numbers: ClassNumbers,
    pub(crate) methods: Vec<Method>,
    pub(crate) method_numbers: MethodNumbers,
    pub(crate) selectors: Selectors,
    pub(crate) fields: Fields,
    pub(crate) members: Vec<(ClassId, SelectorId)>,
    /// Bodies of methods that stand in no file.
    pub(crate) made_up: FxHashMap<MethodId, Rc<Body>>,
    pub(crate) known: Known,
    /// Classes and methods that could not be understood, with the reason.
    pub problems: Vec<String>,
}

impl<'u> Program<'u> {
    pub fn new(universe: &'u Universe) -> Self {
        let nothing = Known {
            object: 0,
            string: 0,
            class: 0,
            throwable: 0,
            to_string: 0,
            hash_code: 0,
            equals: 0,
        };
        let mut program = Self {
            universe,
            names: NameTable::default(),
            classes: Vec::new(),
            class_numbers: ClassNumbers::default(),
            methods: Vec::new(),
            method_numbers: MethodNumbers::default(),
            selectors: Selectors::default(),
            fields: Fields::default(),
            members: Vec::new(),
            made_up: FxHashMap::default(),
            known: nothing,
            problems: universe.problems.clone(),
        };
        program.known = Known {
            object: program.class(b"java/lang/Object"),
            string: program.class(b"java/lang/String"),
            class: program.class(b"java/lang/Class"),
            throwable: program.class(b"java/lang/Throwable"),
            to_string: program.selector_named(b"toString", b"()Ljava/lang/String;"),
            hash_code: program.selector_named(b"hashCode", b"()I"),
            equals: program.selector_named(b"equals", b"(Ljava/lang/Object;)Z"),
        };
        program
    }

    pub fn universe(&self) -> &'u Universe {
        self.universe
    }

    pub(crate) fn name(&mut self, text: &'u [u8]) -> NameId {
        self.names.intern(text)
    }

    pub(crate) fn text(&self, name: NameId) -> &'u [u8] {
        self.names.text(name)
    }

    /// The class of this name (`com/acme/Thing`, or a descriptor for arrays), read if need be.
    pub(crate) fn class(&mut self, text: &'u [u8]) -> ClassId {
        if text.first() == Some(&b'[') {
            return self.array_of_descriptor(text);
        }
        let name = self.name(text);
        if let Some(&class) = self.class_numbers.by_name.get(&name) {
            return class;
        }
        let id = self.classes.len() as ClassId;
        self.class_numbers.by_name.insert(name, id);
        self.classes.push(Class {
            name,
            kind: ClassKind::Missing,
            origin: None,
            access: 0,
            super_class: None,
            interfaces: Vec::new(),
            supers: vec![id],
            incomplete: true,
            subtypes: Vec::new(),
            methods: 0..0,
            initialiser: None,
        });
        match self.universe.find(text) {
            None => self.finish(id),
            Some((bytes, origin)) => match ClassFile::parse(bytes) {
                Ok(file) => self.load(id, file, origin),
                Err(error) => {
                    let name = String::from_utf8_lossy(text).into_owned();
                    self.problems.push(format!("class {name}: {error}"));
                    self.finish(id);
                }
            },
        }
        id
    }

    fn load(&mut self, id: ClassId, file: ClassFile<'u>, origin: Author) {
        let super_class = file.super_name.map(|name| self.class(name));
        let interfaces: Vec<ClassId> =
            file.interfaces.iter().map(|name| self.class(name)).collect();
        let start = self.methods.len() as MethodId;
        let mut initialiser = None;
        for (index, member) in file.methods.iter().enumerate() {
            let selector = self.selector_named(member.name, member.descriptor);
            let method = self.methods.len() as MethodId;
            self.methods.push(Method {
                class: id,
                selector,
                access: member.access,
                index: index as u32,
            });
            self.method_numbers.declared.insert(key(id, selector), method);
            if member.name == b"<clinit>" {
                initialiser = Some(method);
            }
        }
        for member in &file.fields {
            if matches!(member.descriptor.first(), Some(b'L' | b'[')) {
                let selector = self.selector_named(member.name, member.descriptor);
                self.fields.declare(id, selector, false);
            }
        }
        let class = &mut self.classes[id as usize];
        class.access = file.access;
        class.origin = Some(origin);
        class.super_class = super_class;
        class.interfaces = interfaces;
        class.methods = start..self.methods.len() as MethodId;
        class.initialiser = initialiser;
        let constants = Vec::new();
        class.kind =
            ClassKind::File(Box::new(Loaded { file: Rc::new(file), bootstraps: None, constants }));
        class.incomplete = false;
        self.finish(id);
    }

    /// Fills in what follows from the direct supertypes.
    fn finish(&mut self, id: ClassId) {
        let class = &self.classes[id as usize];
        let direct: Vec<ClassId> =
            class.super_class.iter().chain(&class.interfaces).copied().collect();
        let mut supers = vec![id];
        let mut incomplete = class.is_missing();
        for &above in &direct {
            supers.extend_from_slice(&self.classes[above as usize].supers);
            incomplete |= self.classes[above as usize].incomplete;
        }
        // Everything is an object, known or not; while `Object` itself is read it has the number 0.
        supers.push(self.known.object);
        supers.sort_unstable();
        supers.dedup();
        let class = &mut self.classes[id as usize];
        class.supers = supers;
        class.incomplete = incomplete && id != self.known.object;
        for above in direct {
            if above != id {
                self.classes[above as usize].subtypes.push(id);
            }
        }
    }

    fn array_of_descriptor(&mut self, text: &'u [u8]) -> ClassId {
        match text.get(1) {
            Some(b'[') => {
                let inner = self.array_of_descriptor(&text[1..]);
                self.array(inner)
            }
            Some(b'L') => {
                let element = self.class(descriptor::plain(&text[1..]));
                self.array(element)
            }
            number => self.new_array(None, number.copied().unwrap_or(b'I')),
        }
    }

    /// The class of arrays of these elements.
    pub(crate) fn array(&mut self, element: ClassId) -> ClassId {
        self.new_array(Some(element), 0)
    }

    pub(crate) fn number_array(&mut self, number: u8) -> ClassId {
        self.new_array(None, number)
    }

    fn new_array(&mut self, element: Option<ClassId>, number: u8) -> ClassId {
        if let Some(&known) = self.class_numbers.arrays.get(&(element.unwrap_or(NONE), number)) {
            return known;
        }
        let above: Vec<ClassId> = match element {
            Some(element) => self.classes[element as usize].supers.clone(),
            None => Vec::new(),
        };
        let interfaces =
            vec![self.class(b"java/lang/Cloneable"), self.class(b"java/io/Serializable")];
        let mut supers: Vec<ClassId> =
            above.into_iter().filter(|&e| Some(e) != element).map(|e| self.array(e)).collect();
        let id = self.classes.len() as ClassId;
        supers.extend_from_slice(&interfaces);
        supers.push(self.known.object);
        supers.push(id);
        supers.sort_unstable();
        supers.dedup();
        let incomplete = element.is_some_and(|e| self.classes[e as usize].incomplete);
        self.class_numbers.arrays.insert((element.unwrap_or(NONE), number), id);
        let name = self.name(b"[");
        self.classes.push(Class {
            name,
            kind: ClassKind::Array(element),
            origin: Some(Author::Library),
            access: flags::PUBLIC | flags::FINAL,
            super_class: Some(self.known.object),
            interfaces,
            supers,
            incomplete,
            subtypes: Vec::new(),
            methods: 0..0,
            initialiser: None,
        });
        id
    }

    /// A class for a lambda in `host` that implements an interface.
    pub(crate) fn lambda_class(&mut self, host: ClassId, interfaces: Vec<ClassId>) -> ClassId {
        let id = self.classes.len() as ClassId;
        let methods = self.methods.len() as MethodId;
        self.classes.push(Class {
            name: self.classes[host as usize].name,
            kind: ClassKind::Lambda,
            origin: self.classes[host as usize].origin,
            access: flags::FINAL | flags::SYNTHETIC,
            super_class: Some(self.known.object),
            interfaces,
            supers: Vec::new(),
            incomplete: false,
            subtypes: Vec::new(),
            methods: methods..methods,
            initialiser: None,
        });
        self.finish(id);
        id
    }

    /// A method of a lambda's class.
    pub(crate) fn made_up_method(&mut self, class: ClassId, selector: SelectorId) -> MethodId {
        let method = self.methods.len() as MethodId;
        self.methods.push(Method { class, selector, access: flags::PUBLIC, index: NONE });
        self.method_numbers.declared.insert(key(class, selector), method);
        let methods = &mut self.classes[class as usize].methods;
        methods.end = method + 1;
        method
    }

    pub(crate) fn selector_named(&mut self, name: &'u [u8], descriptor: &'u [u8]) -> SelectorId {
        let (name, descriptor) = (self.name(name), self.name(descriptor));
        self.selector(name, descriptor)
    }

    pub(crate) fn selector(&mut self, name: NameId, descriptor: NameId) -> SelectorId {
        self.selectors.intern(name, descriptor, &self.names)
    }

    /// Reads all classes of the universe.
    pub fn load_all(&mut self) {
        for name in self.universe.names() {
            self.class(name);
        }
    }

    /// The class of this name if it was met.
    pub(crate) fn find_class(&self, text: &[u8]) -> Option<ClassId> {
        self.class_numbers.by_name.get(&self.names.find(text)?).copied()
    }

    /// A class of the universe by a name that need not live as long.
    pub(crate) fn class_named(&mut self, text: &[u8]) -> Option<ClassId> {
        if let Some(known) = self.find_class(text) {
            return Some(known);
        }
        let (bytes, _) = self.universe.find(text)?;
        let name = ClassFile::parse(bytes).ok()?.name;
        (name == text).then(|| self.class(name))
    }

    /// `com.acme.Thing`.
    pub fn class_display(&self, class: ClassId) -> String {
        let Some(class) = self.classes.get(class as usize) else { return String::new() };
        if let ClassKind::Array(element) = class.kind {
            return match element {
                Some(element) => format!("{}[]", self.class_display(element)),
                None => "number[]".into(),
            };
        }
        let mut name = tamis_classfile::mutf8::decode(self.text(class.name)).replace('/', ".");
        if matches!(class.kind, ClassKind::Lambda) {
            name.push_str("$$Lambda");
        }
        name
    }

    /// `com.acme.Thing#method(descriptor)`.
    pub fn method_display(&self, method: MethodId) -> String {
        let Some(found) = self.methods.get(method as usize) else { return String::new() };
        let selector = &self.selectors[found.selector];
        let decode = |name| tamis_classfile::mutf8::decode(self.text(name));
        format!(
            "{}#{}{}",
            self.class_display(found.class),
            decode(selector.name),
            decode(selector.descriptor)
        )
    }

    /// The class that declares a method.
    pub fn class_of_method(&self, method: MethodId) -> ClassId {
        self.methods.get(method as usize).map_or(NONE, |m| m.class)
    }

    /// The internal name (`com/acme/Thing`) of the class that declares a method.
    pub fn class_name_of(&self, method: MethodId) -> &'u [u8] {
        let class = self.classes.get(self.class_of_method(method) as usize);
        class.map_or(&[], |class| self.text(class.name))
    }

    /// The internal names of all supertypes of a class that was met, as far as they are known.
    pub fn supertypes_of(&self, class: &[u8]) -> Vec<&'u [u8]> {
        let Some(class) = self.find_class(class) else { return Vec::new() };
        let supers = self.classes[class as usize].supers.iter();
        supers.map(|&above| self.text(self.classes[above as usize].name)).collect()
    }

    /// Whether a method stands in a class file, and is not made up for a lambda.
    pub fn is_in_file(&self, method: MethodId) -> bool {
        self.methods.get(method as usize).is_some_and(|m| m.index != NONE)
    }

    /// Whether a method is of the project.
    pub fn is_own(&self, method: MethodId) -> bool {
        self.methods
            .get(method as usize)
            .is_some_and(|m| self.classes[m.class as usize].origin == Some(Author::Project))
    }

    /// The method of this name and descriptor that a class declares itself.
    pub fn declared_method(
        &self,
        class: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Option<MethodId> {
        let class = self.find_class(class)?;
        self.method_numbers
            .declared
            .get(&key(class, self.find_selector(name, descriptor)?))
            .copied()
    }

    /// A method by names alone, its class read if need be (`com/acme/Thing`, `run`, `()V`).
    pub fn method_named(
        &mut self,
        class: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Option<MethodId> {
        self.class_named(class)?;
        self.declared_method(class, name, descriptor)
    }

    /// The selector of this name and descriptor if it was met.
    pub(crate) fn find_selector(&self, name: &[u8], descriptor: &[u8]) -> Option<SelectorId> {
        self.selectors.find(self.names.find(name)?, self.names.find(descriptor)?)
    }

    /// The methods that a class declares itself.
    pub fn methods_of(&self, class: &[u8]) -> std::ops::Range<MethodId> {
        self.find_class(class).map_or(0..0, |class| self.classes[class as usize].methods.clone())
    }
}
