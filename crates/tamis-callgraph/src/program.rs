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
use crate::descriptor::{self, Shape};
use crate::hints::Hints;
pub(crate) use crate::ids::{ClassId, FieldId, MethodId, NameId, SelectorId};
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

#[derive(Debug)]
pub(crate) struct Selector {
    pub(crate) name: NameId,
    pub(crate) descriptor: NameId,
    pub(crate) shape: Rc<Shape>,
    pub(crate) hints: Hints,
}

#[derive(Debug)]
pub(crate) struct Field {
    /// May hold anything: declared where the analysis does not look, or written behind its back.
    pub(crate) open: bool,
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
    names: FxHashMap<&'u [u8], NameId>,
    texts: Vec<&'u [u8]>,
    pub(crate) classes: Vec<Class<'u>>,
    class_of: FxHashMap<NameId, ClassId>,
    arrays: FxHashMap<(u32, u8), ClassId>,
    pub(crate) methods: Vec<Method>,
    pub(crate) declared: FxHashMap<u64, MethodId>,
    pub(crate) selectors: Vec<Selector>,
    selector_of: FxHashMap<u64, SelectorId>,
    shapes: FxHashMap<NameId, Rc<Shape>>,
    pub(crate) fields: Vec<Field>,
    pub(crate) field_of: FxHashMap<u64, FieldId>,
    pub(crate) members: Vec<(ClassId, SelectorId)>,
    pub(crate) dispatched: FxHashMap<u64, MethodId>,
    /// Fields that were opened and that the analysis was not told of.
    pub(crate) opened: Vec<FieldId>,
    /// Bodies of methods that stand in no file.
    pub(crate) made_up: FxHashMap<MethodId, Rc<Body>>,
    pub(crate) known: Known,
    /// Classes and methods that could not be understood, with the reason.
    pub problems: Vec<String>,
}

pub(crate) fn key(class: ClassId, selector: SelectorId) -> u64 {
    u64::from(class) << 32 | u64::from(selector)
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
            names: FxHashMap::default(),
            texts: Vec::new(),
            classes: Vec::new(),
            class_of: FxHashMap::default(),
            arrays: FxHashMap::default(),
            methods: Vec::new(),
            declared: FxHashMap::default(),
            selectors: Vec::new(),
            selector_of: FxHashMap::default(),
            shapes: FxHashMap::default(),
            fields: Vec::new(),
            field_of: FxHashMap::default(),
            members: Vec::new(),
            dispatched: FxHashMap::default(),
            opened: Vec::new(),
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
        let next = self.texts.len() as NameId;
        let id = *self.names.entry(text).or_insert(next);
        if id == next {
            self.texts.push(text);
        }
        id
    }

    pub(crate) fn text(&self, name: NameId) -> &'u [u8] {
        self.texts.get(name as usize).copied().unwrap_or_default()
    }

    /// The class of this name (`com/acme/Thing`, or a descriptor for arrays), read if need be.
    pub(crate) fn class(&mut self, text: &'u [u8]) -> ClassId {
        if text.first() == Some(&b'[') {
            return self.array_of_descriptor(text);
        }
        let name = self.name(text);
        if let Some(&class) = self.class_of.get(&name) {
            return class;
        }
        let id = self.classes.len() as ClassId;
        self.class_of.insert(name, id);
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
            self.declared.insert(key(id, selector), method);
            if member.name == b"<clinit>" {
                initialiser = Some(method);
            }
        }
        for member in &file.fields {
            if matches!(member.descriptor.first(), Some(b'L' | b'[')) {
                let selector = self.selector_named(member.name, member.descriptor);
                self.new_field(id, selector, false);
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
        if let Some(&known) = self.arrays.get(&(element.unwrap_or(NONE), number)) {
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
        self.arrays.insert((element.unwrap_or(NONE), number), id);
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
        self.declared.insert(key(class, selector), method);
        let methods = &mut self.classes[class as usize].methods;
        methods.end = method + 1;
        method
    }

    /// A field of this class.
    pub(crate) fn new_field(
        &mut self,
        class: ClassId,
        selector: SelectorId,
        open: bool,
    ) -> FieldId {
        let next = self.fields.len() as FieldId;
        let id = *self.field_of.entry(key(class, selector)).or_insert(next);
        if id == next {
            self.fields.push(Field { open });
        }
        id
    }

    /// A field that only operations of our own know: what a lambda captured.
    pub(crate) fn made_up_field(&mut self) -> FieldId {
        self.fields.push(Field { open: false });
        self.fields.len() as FieldId - 1
    }

    pub(crate) fn selector_named(&mut self, name: &'u [u8], descriptor: &'u [u8]) -> SelectorId {
        let (name, descriptor) = (self.name(name), self.name(descriptor));
        self.selector(name, descriptor)
    }

    pub(crate) fn selector(&mut self, name: NameId, descriptor: NameId) -> SelectorId {
        let pair = u64::from(name) << 32 | u64::from(descriptor);
        if let Some(&known) = self.selector_of.get(&pair) {
            return known;
        }
        let shape = match self.shapes.get(&descriptor) {
            Some(shape) => Rc::clone(shape),
            None => {
                let shape = Rc::new(Shape::of(self.text(descriptor)));
                self.shapes.insert(descriptor, Rc::clone(&shape));
                shape
            }
        };
        let id = self.selectors.len() as SelectorId;
        let hints = Hints::of(self.text(name), self.text(descriptor));
        self.selectors.push(Selector { name, descriptor, shape, hints });
        self.selector_of.insert(pair, id);
        id
    }

    /// Reads all classes of the universe.
    pub fn load_all(&mut self) {
        for name in self.universe.names() {
            self.class(name);
        }
    }

    /// The class of this name if it was met.
    pub(crate) fn find_class(&self, text: &[u8]) -> Option<ClassId> {
        self.class_of.get(self.names.get(text)?).copied()
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
        let selector = &self.selectors[found.selector as usize];
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
        self.declared.get(&key(class, self.find_selector(name, descriptor)?)).copied()
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
        let (name, descriptor) = (*self.names.get(name)?, *self.names.get(descriptor)?);
        self.selector_of.get(&(u64::from(name) << 32 | u64::from(descriptor))).copied()
    }

    /// The methods that a class declares itself.
    pub fn methods_of(&self, class: &[u8]) -> std::ops::Range<MethodId> {
        self.find_class(class).map_or(0..0, |class| self.classes[class as usize].methods.clone())
    }
}
