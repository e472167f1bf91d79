//! The two layers of a class's fingerprint.
//!
//! | part | where |
//! | --- | --- |
//! | version, flags, names, superclass, interfaces in order | header |
//! | fields and methods without bodies, as a set | header |
//! | attributes that reflection or linking sees | header |
//! | instructions, exception table, stack and local sizes, type annotations in code | body |
//! | debug attributes, frames, annotations dropped at run time, nested classes that are merely mentioned | nowhere |
//! | an attribute that we do not know | where it stands, with all of the constant pool, because its bytes may point anywhere |
//!
//! The order of interfaces, exceptions, record components and permitted subclasses is visible at
//! run time and counts.

use crate::annotation::{Annotations, of_set};
use crate::class::{Attribute, Attributes, ClassFile, Member};
use crate::code::{self, Scratch};
use crate::constants::Constants;
use crate::reader::{Malformed, Reader};
use crate::references::{Place, References};
use tamis_core::Hash;

/// What a program can see of a class, in two layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    pub header: Hash,
    /// Methods that have a body, sorted by name and descriptor.
    pub bodies: Vec<MethodFingerprint>,
}

/// One method's body.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MethodFingerprint {
    /// Name and descriptor as the class file has them: `run(I)V`.
    pub method: Vec<u8>,
    pub body: Hash,
}

impl Fingerprint {
    /// Both layers in one value.
    pub fn whole(&self) -> Hash {
        let mut bytes = self.header.0.to_le_bytes().to_vec();
        for body in &self.bodies {
            bytes.extend_from_slice(&Hash::of(&body.method).0.to_le_bytes());
            bytes.extend_from_slice(&body.body.0.to_le_bytes());
        }
        Hash::of(&bytes)
    }
}

/// Fingerprints one class and collects its references on the way.
pub(crate) struct Walk<'a, 'c, 's> {
    pub(crate) class: &'c ClassFile<'a>,
    pub(crate) constants: Constants<'a, 's>,
    pub(crate) references: References<'a>,
    pub(crate) scratch: &'c mut Scratch,
    pub(crate) buffer: &'c mut Vec<u8>,
    pub(crate) bodies: Vec<MethodFingerprint>,
}

impl<'a, 's> Walk<'a, '_, 's> {
    pub(crate) fn fingerprint(&mut self) -> Result<Fingerprint, Malformed> {
        let class = self.class;
        let mut header = Vec::with_capacity(512);
        header.extend_from_slice(&class.major_version.to_le_bytes());
        header.extend_from_slice(&class.minor_version.to_le_bytes());
        header.extend_from_slice(&class.access.to_le_bytes());
        text(class.name, &mut header);
        text(class.super_name.unwrap_or_default(), &mut header);
        header.extend_from_slice(&(class.interfaces.len() as u32).to_le_bytes());
        for interface in &class.interfaces {
            text(interface, &mut header);
        }
        for (members, place) in [(&class.fields, Place::Field), (&class.methods, Place::Method)] {
            let mut hashes = Vec::with_capacity(members.len());
            for member in members {
                hashes.push(self.member(member, place)?);
            }
            header.extend_from_slice(&of_set(hashes).0.to_le_bytes());
        }
        let attributes = self.attributes(class.attributes, Place::Class, None)?;
        header.extend_from_slice(&attributes.0.to_le_bytes());
        let mut bodies = std::mem::take(&mut self.bodies);
        bodies.sort_unstable();
        Ok(Fingerprint { header: Hash::of(&header), bodies })
    }

    fn member(&mut self, member: &Member<'a>, place: Place) -> Result<Hash, Malformed> {
        self.references.descriptor(member.descriptor);
        let attributes = self.attributes(member.attributes, place, Some(member))?;
        let mut bytes = member.access.to_le_bytes().to_vec();
        text(member.name, &mut bytes);
        text(member.descriptor, &mut bytes);
        bytes.extend_from_slice(&attributes.0.to_le_bytes());
        Ok(Hash::of(&bytes))
    }

    /// The visible attributes of one table, as a set; bodies go to `self.bodies`.
    fn attributes(
        &mut self,
        table: Attributes<'a>,
        place: Place,
        member: Option<&Member<'a>>,
    ) -> Result<Hash, Malformed> {
        let mut hashes = Vec::new();
        for attribute in table.iter(&self.class.pool) {
            let attribute = attribute?;
            match (attribute.name, member) {
                (b"Code", Some(member)) if place == Place::Method => {
                    self.body(attribute.data, member)?;
                }
                _ => {
                    if let Some(value) = self.visible(&attribute, place)? {
                        hashes.push(Hash::of_parts([attribute.name, &value.0.to_le_bytes()]));
                    }
                }
            }
        }
        Ok(of_set(hashes))
    }

    fn body(&mut self, code: Reader<'a>, member: &Member<'a>) -> Result<(), Malformed> {
        self.buffer.clear();
        let mut rest =
            code::append_body(code, &mut self.constants, self.scratch, &mut *self.buffer)?;
        let body = Hash::of(self.buffer);
        let table = Attributes::parse(&mut rest)?;
        rest.end("bytes behind the attributes of a method body")?;
        let attributes = self.attributes(table, Place::Other, None)?;
        let both = Hash::of_parts([&body.0.to_le_bytes()[..], &attributes.0.to_le_bytes()]);
        self.bodies.push(MethodFingerprint {
            method: [member.name, member.descriptor].concat(),
            body: both,
        });
        Ok(())
    }

    /// The value of an attribute; None where no program can see it at run time.
    fn visible(
        &mut self,
        attribute: &Attribute<'a>,
        place: Place,
    ) -> Result<Option<Hash>, Malformed> {
        let mut data = attribute.data;
        let mut out = Vec::new();
        match attribute.name {
            // Debug information, and what only verifiers, compilers and other tools read.
            b"LineNumberTable"
            | b"LocalVariableTable"
            | b"LocalVariableTypeTable"
            | b"SourceFile"
            | b"SourceDebugExtension"
            | b"CharacterRangeTable"
            | b"CoverageTable"
            | b"SourceID"
            | b"CompilationID"
            | b"StackMapTable"
            | b"StackMap"
            | b"Deprecated"
            | b"RuntimeInvisibleAnnotations"
            | b"RuntimeInvisibleParameterAnnotations"
            | b"RuntimeInvisibleTypeAnnotations"
            | b"ScalaSig"
            | b"Scala"
            | b"ScalaInlineInfo"
            | b"TASTY" => return Ok(None),
            // Resolved where an instruction or constant uses them.
            b"BootstrapMethods" => return Ok(None),
            b"RuntimeVisibleAnnotations" => {
                return self.annotations(place).table(&mut data).map(Some);
            }
            b"RuntimeVisibleParameterAnnotations" => {
                return self.annotations(Place::Other).parameters(&mut data).map(Some);
            }
            b"RuntimeVisibleTypeAnnotations" => {
                return self.annotations(Place::Other).types(&mut data).map(Some);
            }
            b"AnnotationDefault" => {
                return self.annotations(Place::Other).value(&mut data).map(Some);
            }
            b"Synthetic" => {}
            b"Signature" => {
                let index = data.u2()?;
                self.references.signature(self.class.pool.utf8(index)?);
                self.constants.append(index, &mut out)?;
            }
            b"ConstantValue" | b"NestHost" | b"ModuleMainClass" | b"ModuleTarget" => {
                self.constants.append(data.u2()?, &mut out)?;
            }
            b"Exceptions" | b"PermittedSubclasses" => {
                for _ in 0..data.u2()? {
                    self.constants.append(data.u2()?, &mut out)?;
                }
            }
            b"NestMembers" | b"ModulePackages" => {
                let mut hashes = Vec::new();
                for _ in 0..data.u2()? {
                    let mut one = Vec::with_capacity(16);
                    self.constants.append(data.u2()?, &mut one)?;
                    hashes.push(Hash::of(&one));
                }
                out.extend_from_slice(&of_set(hashes).0.to_le_bytes());
            }
            b"MethodParameters" => {
                for _ in 0..data.u1()? {
                    self.constants.append_optional(data.u2()?, &mut out)?;
                    out.extend_from_slice(data.take(2)?);
                }
            }
            b"EnclosingMethod" => {
                self.constants.append(data.u2()?, &mut out)?;
                self.constants.append_optional(data.u2()?, &mut out)?;
            }
            b"InnerClasses" => return self.inner_classes(data),
            b"Record" => {
                for _ in 0..data.u2()? {
                    self.constants.append(data.u2()?, &mut out)?;
                    let descriptor = data.u2()?;
                    self.references.descriptor(self.class.pool.utf8(descriptor)?);
                    self.constants.append(descriptor, &mut out)?;
                    let table = Attributes::parse(&mut data)?;
                    let attributes = self.attributes(table, Place::Other, None)?;
                    out.extend_from_slice(&attributes.0.to_le_bytes());
                }
            }
            b"Module" => self.module(&mut data, &mut out)?,
            b"ModuleResolution" => out.extend_from_slice(data.take(2)?),
            _ => {
                out.extend_from_slice(attribute.bytes());
                out.extend_from_slice(&self.constants.whole_pool().0.to_le_bytes());
            }
        }
        Ok(Some(Hash::of(&out)))
    }

    fn annotations<'w>(&'w mut self, place: Place) -> Annotations<'a, 'w, 's> {
        Annotations { constants: &mut self.constants, references: &mut self.references, place }
    }

    /// The entries about this class and its own members: reflection sees no others. javac adds an
    /// entry for every nested class that is merely mentioned.
    fn inner_classes(&mut self, mut data: Reader<'a>) -> Result<Option<Hash>, Malformed> {
        let pool = &self.class.pool;
        let mut hashes = Vec::new();
        for _ in 0..data.u2()? {
            let (inner, outer, name, access) = (data.u2()?, data.u2()?, data.u2()?, data.u2()?);
            let is_this = |index: u16| -> Result<bool, Malformed> {
                Ok(index != 0 && pool.class_name(index)? == self.class.name)
            };
            if !is_this(inner)? && !is_this(outer)? {
                continue;
            }
            let mut one = access.to_le_bytes().to_vec();
            for index in [inner, outer, name] {
                self.constants.append_optional(index, &mut one)?;
            }
            hashes.push(Hash::of(&one));
        }
        Ok((!hashes.is_empty()).then(|| of_set(hashes)))
    }

    fn module(&mut self, data: &mut Reader<'a>, out: &mut Vec<u8>) -> Result<(), Malformed> {
        self.constants.append(data.u2()?, out)?;
        out.extend_from_slice(data.take(2)?);
        self.constants.append_optional(data.u2()?, out)?;
        let mut tables = Vec::new();
        // requires
        for _ in 0..data.u2()? {
            let mut one = vec![b'r'];
            self.constants.append(data.u2()?, &mut one)?;
            one.extend_from_slice(data.take(2)?);
            self.constants.append_optional(data.u2()?, &mut one)?;
            tables.push(Hash::of(&one));
        }
        // exports, opens
        for kind in [b'e', b'o'] {
            for _ in 0..data.u2()? {
                let mut one = vec![kind];
                self.constants.append(data.u2()?, &mut one)?;
                one.extend_from_slice(data.take(2)?);
                for _ in 0..data.u2()? {
                    self.constants.append(data.u2()?, &mut one)?;
                }
                tables.push(Hash::of(&one));
            }
        }
        // uses
        for _ in 0..data.u2()? {
            let mut one = vec![b'u'];
            self.constants.append(data.u2()?, &mut one)?;
            tables.push(Hash::of(&one));
        }
        // provides: the order of providers is the order in which they are found
        for _ in 0..data.u2()? {
            let mut one = vec![b'p'];
            let service = data.u2()?;
            self.constants.append(service, &mut one)?;
            let mut providers = Vec::new();
            for _ in 0..data.u2()? {
                let provider = data.u2()?;
                self.constants.append(provider, &mut one)?;
                providers.push(self.class.pool.class_name(provider)?);
            }
            self.references.provides.push((self.class.pool.class_name(service)?, providers));
            tables.push(Hash::of(&one));
        }
        out.extend_from_slice(&of_set(tables).0.to_le_bytes());
        Ok(())
    }
}

/// A text with its length, so that borders count.
fn text(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}
