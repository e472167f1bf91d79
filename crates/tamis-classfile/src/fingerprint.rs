//! The two layers of a class's fingerprint.
//!
//! | part | where |
//! | --- | --- |
//! | version, flags, names, superclass, interfaces in order | header |
//! | fields in order, methods without bodies as a set | header |
//! | attributes that reflection or linking sees | header |
//! | instructions, exception table, stack and local sizes, type annotations in code | body |
//! | debug attributes, frames, annotations dropped at run time, nested classes that are merely mentioned | nowhere |
//! | an attribute that we do not know | where it stands, with all of the constant pool, because its bytes may point anywhere |
//!
//! The order of fields, interfaces, exceptions, record components and permitted subclasses is visible at
//! run time and counts.
//!
//! The header comes in parts as well ([`Parts`]), for those who know that the members of a class were not listed.

use crate::annotation::{Annotations, SetHash, taken, text};
use crate::class::{Attributes, ClassFile, Member};
use crate::code::{self, Scratch};
use crate::constants::Constants;
use crate::parts::{Part, PartKind, Parts};
use crate::pool::ConstantPool;
use crate::reader::{Malformed, Reader};
use crate::references::{Place, References};
use tamis_core::Hash;

/// What a program can see of a class, in two layers.
#[derive(Debug, Clone)]
pub struct Fingerprint<'a> {
    pub header: Hash,
    /// Both layers in one value.
    pub whole: Hash,
    /// Methods that have a body, in the order of the file.
    pub bodies: Vec<MethodFingerprint<'a>>,
    /// What the header is made of.
    pub parts: Parts<'a>,
}

/// The order of the bodies does not count.
impl PartialEq for Fingerprint<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.header, self.whole) == (other.header, other.whole)
    }
}

impl Eq for Fingerprint<'_> {}

/// One method's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodFingerprint<'a> {
    pub name: &'a [u8],
    pub descriptor: &'a [u8],
    pub body: Hash,
}

/// Kinds of attributes, so that a name is looked at once per class and not once per member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttributeKind {
    NotLookedAt,
    /// Debug information, and what only verifiers, compilers and other tools read.
    Invisible,
    /// Resolved where an instruction or constant uses them.
    BootstrapMethods,
    Code,
    StackMapTable,
    Annotations,
    ParameterAnnotations,
    TypeAnnotations,
    AnnotationDefault,
    Synthetic,
    Signature,
    /// One constant.
    One,
    /// A list of constants whose order counts.
    List,
    /// A list of constants whose order does not count.
    Set,
    MethodParameters,
    EnclosingMethod,
    InnerClasses,
    Record,
    Module,
    ModuleResolution,
    Unknown,
}

impl AttributeKind {
    fn of(name: &[u8]) -> Self {
        match name {
            b"Code" => Self::Code,
            b"StackMapTable" => Self::StackMapTable,
            b"LineNumberTable"
            | b"LocalVariableTable"
            | b"LocalVariableTypeTable"
            | b"SourceFile"
            | b"SourceDebugExtension"
            | b"CharacterRangeTable"
            | b"CoverageTable"
            | b"SourceID"
            | b"CompilationID"
            | b"StackMap"
            | b"Deprecated"
            | b"RuntimeInvisibleAnnotations"
            | b"RuntimeInvisibleParameterAnnotations"
            | b"RuntimeInvisibleTypeAnnotations"
            | b"ScalaSig"
            | b"Scala"
            | b"ScalaInlineInfo"
            | b"TASTY" => Self::Invisible,
            b"BootstrapMethods" => Self::BootstrapMethods,
            b"RuntimeVisibleAnnotations" => Self::Annotations,
            b"RuntimeVisibleParameterAnnotations" => Self::ParameterAnnotations,
            b"RuntimeVisibleTypeAnnotations" => Self::TypeAnnotations,
            b"AnnotationDefault" => Self::AnnotationDefault,
            b"Synthetic" => Self::Synthetic,
            b"Signature" => Self::Signature,
            b"ConstantValue" | b"NestHost" | b"ModuleMainClass" | b"ModuleTarget" => Self::One,
            b"Exceptions" | b"PermittedSubclasses" => Self::List,
            b"NestMembers" | b"ModulePackages" => Self::Set,
            b"MethodParameters" => Self::MethodParameters,
            b"EnclosingMethod" => Self::EnclosingMethod,
            b"InnerClasses" => Self::InnerClasses,
            b"Record" => Self::Record,
            b"Module" => Self::Module,
            b"ModuleResolution" => Self::ModuleResolution,
            _ => Self::Unknown,
        }
    }
}

/// Memory that is used again for every class.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) scratch: Scratch,
    /// What is being hashed; a stack.
    buffer: Vec<u8>,
    /// What the texts of the pool mean as names of attributes.
    kinds: Vec<AttributeKind>,
}

impl Memory {
    pub(crate) fn clear(&mut self, pool: &ConstantPool<'_>) {
        self.buffer.clear();
        self.kinds.clear();
        self.kinds.resize(pool.len(), AttributeKind::NotLookedAt);
    }
}

/// Fingerprints one class and collects its references on the way.
pub(crate) struct Walk<'a, 'c, 's> {
    pub(crate) class: &'c ClassFile<'a>,
    pub(crate) constants: Constants<'a, 's>,
    pub(crate) references: References<'a>,
    pub(crate) memory: &'c mut Memory,
    pub(crate) bodies: Vec<MethodFingerprint<'a>>,
    pub(crate) parts: Vec<Part<'a>>,
    /// Attributes of the class that do not tell of its members.
    pub(crate) own_attributes: SetHash,
    /// The frames of all bodies, which use classes without a visible effect.
    pub(crate) frames: Vec<Reader<'a>>,
}

impl<'a, 's> Walk<'a, '_, 's> {
    pub(crate) fn fingerprint(&mut self) -> Result<Fingerprint<'a>, Malformed> {
        let class = self.class;
        let mut fields = Vec::with_capacity(class.fields.len());
        for field in &class.fields {
            let hash = self.member(field, Place::Field)?;
            self.parts.push(Part::of_member(PartKind::Field, field, hash));
            fields.push(hash);
        }
        let mut methods = SetHash::default();
        for method in &class.methods {
            let hash = self.member(method, Place::Method)?;
            self.parts.push(Part::of_member(PartKind::Method, method, hash));
            methods.add(hash);
        }
        let attributes = self.attributes(class.attributes, Place::Class, None)?;
        let parts = std::mem::take(&mut self.parts);
        let header = &mut self.memory.buffer;
        append_type(class, header);
        self.own_attributes.append(header);
        Parts::append_bound(class, &parts, header);
        let core = taken(header, 0);
        append_type(class, header);
        header.extend_from_slice(&(fields.len() as u32).to_le_bytes());
        for field in fields {
            header.extend_from_slice(&field.0.to_le_bytes());
        }
        methods.append(header);
        attributes.append(header);
        let header = taken(&mut self.memory.buffer, 0);
        let bodies = std::mem::take(&mut self.bodies);
        let whole = self.whole(header, &bodies);
        Ok(Fingerprint { header, whole, bodies, parts: Parts { core, all: parts } })
    }

    fn whole(&mut self, header: Hash, bodies: &[MethodFingerprint<'a>]) -> Hash {
        let buffer = &mut self.memory.buffer;
        let mut set = SetHash::default();
        for method in bodies {
            text(method.name, buffer);
            text(method.descriptor, buffer);
            buffer.extend_from_slice(&method.body.0.to_le_bytes());
            set.add(taken(buffer, 0));
        }
        buffer.extend_from_slice(&header.0.to_le_bytes());
        set.append(buffer);
        taken(buffer, 0)
    }

    fn member(&mut self, member: &Member<'a>, place: Place) -> Result<Hash, Malformed> {
        self.references.types.push(member.descriptor);
        let attributes = self.attributes(member.attributes, place, Some(member))?;
        let buffer = &mut self.memory.buffer;
        let start = buffer.len();
        buffer.extend_from_slice(&member.access.to_le_bytes());
        text(member.name, buffer);
        text(member.descriptor, buffer);
        attributes.append(buffer);
        Ok(taken(buffer, start))
    }

    fn kind(&mut self, name: u16) -> Result<AttributeKind, Malformed> {
        match self.memory.kinds.get(usize::from(name)) {
            Some(&known) if known != AttributeKind::NotLookedAt => Ok(known),
            _ => {
                let kind = AttributeKind::of(self.class.pool.utf8(name)?);
                self.memory.kinds[usize::from(name)] = kind;
                Ok(kind)
            }
        }
    }

    /// The visible attributes of one table, as a set; bodies go to `self.bodies`.
    fn attributes(
        &mut self,
        table: Attributes<'a>,
        place: Place,
        member: Option<&Member<'a>>,
    ) -> Result<SetHash, Malformed> {
        let mut set = SetHash::default();
        let mut reader = table.body;
        for _ in 0..table.count {
            let name = reader.u2()?;
            let len = reader.u4()? as usize;
            let data = reader.part(len)?;
            match (self.kind(name)?, member) {
                (AttributeKind::Invisible | AttributeKind::BootstrapMethods, _) => {}
                (AttributeKind::StackMapTable, _) => self.frames.push(data),
                (AttributeKind::Code, Some(member)) if place == Place::Method => {
                    self.body(data, member)?
                }
                (kind, _) => {
                    let start = self.memory.buffer.len();
                    self.constants.append(name, &mut self.memory.buffer)?;
                    let seen = self.visible(kind, data, place)?;
                    let value = taken(&mut self.memory.buffer, start);
                    if seen {
                        set.add(value);
                    }
                    if place == Place::Class {
                        self.own_attribute(name, data, seen.then_some(value))?;
                    }
                }
            }
        }
        Ok(set)
    }

    /// Those that list nested classes are divided: who is listed there is a part of its own.
    fn own_attribute(
        &mut self,
        name: u16,
        mut data: Reader<'a>,
        value: Option<Hash>,
    ) -> Result<(), Malformed> {
        match self.class.pool.utf8(name)? {
            b"NestMembers" => {
                for _ in 0..data.u2()? {
                    let member = self.class.pool.class_name(data.u2()?)?;
                    self.parts.push(Part::of_nested(member));
                }
            }
            b"InnerClasses" => {
                let start = self.memory.buffer.len();
                let own = self.inner_classes(data, false)?;
                let value = taken(&mut self.memory.buffer, start);
                if own {
                    self.own_attributes.add(value);
                }
            }
            _ => {
                if let Some(value) = value {
                    self.own_attributes.add(value);
                }
            }
        }
        Ok(())
    }

    fn body(&mut self, code: Reader<'a>, member: &Member<'a>) -> Result<(), Malformed> {
        let Memory { scratch, buffer, .. } = &mut *self.memory;
        let start = buffer.len();
        let mut rest = code::append_body(code, &mut self.constants, scratch, buffer)?;
        let table = Attributes::parse(&mut rest)?;
        rest.end("bytes behind the attributes of a method body")?;
        let attributes = self.attributes(table, Place::Other, None)?;
        attributes.append(&mut self.memory.buffer);
        let body = taken(&mut self.memory.buffer, start);
        let Member { name, descriptor, .. } = *member;
        self.bodies.push(MethodFingerprint { name, descriptor, body });
        Ok(())
    }

    /// Appends the value of an attribute; false where no program can see it at run time.
    fn visible(
        &mut self,
        kind: AttributeKind,
        mut data: Reader<'a>,
        place: Place,
    ) -> Result<bool, Malformed> {
        match kind {
            AttributeKind::NotLookedAt
            | AttributeKind::Invisible
            | AttributeKind::BootstrapMethods
            | AttributeKind::StackMapTable => {
                return Ok(false);
            }
            AttributeKind::Annotations => self.annotations(place).table(&mut data)?,
            AttributeKind::ParameterAnnotations => {
                self.annotations(Place::Other).parameters(&mut data)?
            }
            AttributeKind::TypeAnnotations => self.annotations(Place::Other).types(&mut data)?,
            AttributeKind::AnnotationDefault => self.annotations(Place::Other).value(&mut data)?,
            AttributeKind::Synthetic => {}
            AttributeKind::Signature => {
                let index = data.u2()?;
                self.references.types.push(self.class.pool.utf8(index)?);
                self.append(index)?;
            }
            AttributeKind::One => self.append(data.u2()?)?,
            AttributeKind::List => {
                for _ in 0..data.u2()? {
                    self.append(data.u2()?)?;
                }
            }
            AttributeKind::Set => {
                let mut set = SetHash::default();
                for _ in 0..data.u2()? {
                    let one = self.memory.buffer.len();
                    self.append(data.u2()?)?;
                    set.add(taken(&mut self.memory.buffer, one));
                }
                set.append(&mut self.memory.buffer);
            }
            AttributeKind::MethodParameters => {
                for _ in 0..data.u1()? {
                    self.append_optional(data.u2()?)?;
                    self.memory.buffer.extend_from_slice(data.take(2)?);
                }
            }
            AttributeKind::EnclosingMethod => {
                self.append(data.u2()?)?;
                self.append_optional(data.u2()?)?;
            }
            AttributeKind::InnerClasses => return self.inner_classes(data, true),
            AttributeKind::Record => {
                for _ in 0..data.u2()? {
                    self.append(data.u2()?)?;
                    let descriptor = data.u2()?;
                    self.references.types.push(self.class.pool.utf8(descriptor)?);
                    self.append(descriptor)?;
                    let table = Attributes::parse(&mut data)?;
                    let attributes = self.attributes(table, Place::Other, None)?;
                    attributes.append(&mut self.memory.buffer);
                }
            }
            AttributeKind::Module => self.module(&mut data)?,
            AttributeKind::ModuleResolution => self.memory.buffer.extend_from_slice(data.take(2)?),
            // A Code attribute where none belongs is nothing that we know.
            AttributeKind::Unknown | AttributeKind::Code => {
                let pool = self.constants.whole_pool();
                self.memory.buffer.extend_from_slice(data.rest());
                self.memory.buffer.extend_from_slice(&pool.0.to_le_bytes());
            }
        }
        Ok(true)
    }

    fn append(&mut self, constant: u16) -> Result<(), Malformed> {
        self.constants.append(constant, &mut self.memory.buffer)
    }

    fn append_optional(&mut self, constant: u16) -> Result<(), Malformed> {
        self.constants.append_optional(constant, &mut self.memory.buffer)
    }

    fn annotations<'w>(&'w mut self, place: Place) -> Annotations<'a, 'w, 's> {
        Annotations {
            constants: &mut self.constants,
            references: &mut self.references,
            buffer: &mut self.memory.buffer,
            place,
        }
    }

    /// The entries about this class and its own members: reflection sees no others. javac adds an
    /// entry for every nested class that is merely mentioned.
    fn inner_classes(
        &mut self,
        mut data: Reader<'a>,
        with_members: bool,
    ) -> Result<bool, Malformed> {
        let pool = &self.class.pool;
        let mut set = SetHash::default();
        let mut any = false;
        for _ in 0..data.u2()? {
            let (inner, outer, name, access) = (data.u2()?, data.u2()?, data.u2()?, data.u2()?);
            let is_this = |index: u16| -> Result<bool, Malformed> {
                Ok(index != 0 && pool.class_name(index)? == self.class.name)
            };
            if !(is_this(inner)? || with_members && is_this(outer)?) {
                continue;
            }
            let one = self.memory.buffer.len();
            self.memory.buffer.extend_from_slice(&access.to_le_bytes());
            for index in [inner, outer, name] {
                self.append_optional(index)?;
            }
            set.add(taken(&mut self.memory.buffer, one));
            any = true;
        }
        set.append(&mut self.memory.buffer);
        Ok(any)
    }

    fn module(&mut self, data: &mut Reader<'a>) -> Result<(), Malformed> {
        self.append(data.u2()?)?;
        self.memory.buffer.extend_from_slice(data.take(2)?);
        self.append_optional(data.u2()?)?;
        let mut tables = SetHash::default();
        // requires
        for _ in 0..data.u2()? {
            let one = self.start(b'r');
            self.append(data.u2()?)?;
            self.memory.buffer.extend_from_slice(data.take(2)?);
            self.append_optional(data.u2()?)?;
            tables.add(taken(&mut self.memory.buffer, one));
        }
        // exports, opens
        for kind in [b'e', b'o'] {
            for _ in 0..data.u2()? {
                let one = self.start(kind);
                self.append(data.u2()?)?;
                self.memory.buffer.extend_from_slice(data.take(2)?);
                for _ in 0..data.u2()? {
                    self.append(data.u2()?)?;
                }
                tables.add(taken(&mut self.memory.buffer, one));
            }
        }
        // uses
        for _ in 0..data.u2()? {
            let one = self.start(b'u');
            self.append(data.u2()?)?;
            tables.add(taken(&mut self.memory.buffer, one));
        }
        // provides: the order of providers is the order in which they are found
        for _ in 0..data.u2()? {
            let one = self.start(b'p');
            let service = data.u2()?;
            self.append(service)?;
            let mut providers = Vec::new();
            for _ in 0..data.u2()? {
                let provider = data.u2()?;
                self.append(provider)?;
                providers.push(self.class.pool.class_name(provider)?);
            }
            self.references.provides.push((self.class.pool.class_name(service)?, providers));
            tables.add(taken(&mut self.memory.buffer, one));
        }
        tables.append(&mut self.memory.buffer);
        Ok(())
    }

    /// Starts one entry of a table of a module.
    fn start(&mut self, kind: u8) -> usize {
        self.memory.buffer.push(kind);
        self.memory.buffer.len() - 1
    }
}

/// What a class says of itself before its members.
fn append_type(class: &ClassFile<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&class.major_version.to_le_bytes());
    out.extend_from_slice(&class.minor_version.to_le_bytes());
    out.extend_from_slice(&class.access.to_le_bytes());
    text(class.name, out);
    text(class.super_name.unwrap_or_default(), out);
    out.extend_from_slice(&(class.interfaces.len() as u32).to_le_bytes());
    for interface in &class.interfaces {
        text(interface, out);
    }
}
