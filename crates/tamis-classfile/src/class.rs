//! The outer structure of a class file.

use crate::pool::ConstantPool;
use crate::reader::{Malformed, Reader};

/// Access flags that this crate's users ask for.
pub mod flags {
    pub const PUBLIC: u16 = 0x0001;
    pub const PRIVATE: u16 = 0x0002;
    pub const STATIC: u16 = 0x0008;
    pub const FINAL: u16 = 0x0010;
    pub const SUPER: u16 = 0x0020;
    pub const NATIVE: u16 = 0x0100;
    pub const INTERFACE: u16 = 0x0200;
    pub const ABSTRACT: u16 = 0x0400;
    pub const SYNTHETIC: u16 = 0x1000;
    pub const ANNOTATION: u16 = 0x2000;
    pub const ENUM: u16 = 0x4000;
    pub const MODULE: u16 = 0x8000;
}

/// A class file, borrowed from its bytes. The structure of all attribute tables was checked.
#[derive(Debug, Clone)]
pub struct ClassFile<'a> {
    pub minor_version: u16,
    pub major_version: u16,
    pub pool: ConstantPool<'a>,
    pub access: u16,
    /// `com/acme/Thing`.
    pub name: &'a [u8],
    /// None for `java/lang/Object` and for modules.
    pub super_name: Option<&'a [u8]>,
    pub interfaces: Vec<&'a [u8]>,
    pub fields: Vec<Member<'a>>,
    pub methods: Vec<Member<'a>>,
    pub attributes: Attributes<'a>,
}

/// A field or method.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    pub access: u16,
    pub name: &'a [u8],
    pub descriptor: &'a [u8],
    pub attributes: Attributes<'a>,
}

/// A checked table of attributes; iterating cannot fail, resolving a name can.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    pub(crate) count: u16,
    /// The attributes behind their count.
    pub(crate) body: Reader<'a>,
}

/// One attribute: its name and its bytes with their place in the file.
#[derive(Debug, Clone, Copy)]
pub struct Attribute<'a> {
    pub name: &'a [u8],
    pub(crate) data: Reader<'a>,
}

impl<'a> Attribute<'a> {
    pub fn bytes(&self) -> &'a [u8] {
        self.data.rest()
    }
}

impl<'a> Attributes<'a> {
    /// Reads a table at the cursor and checks that every length fits.
    pub(crate) fn parse(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let count = reader.u2()?;
        let body = *reader;
        for _ in 0..count {
            reader.u2()?;
            let len = reader.u4()? as usize;
            reader.take(len)?;
        }
        Ok(Self { count, body })
    }

    /// Where the table with its count starts in the file.
    pub(crate) fn start(&self) -> usize {
        self.body.position() - 2
    }

    /// The generic signature, where there is one.
    pub fn signature(&self, pool: &ConstantPool<'a>) -> Result<Option<&'a [u8]>, Malformed> {
        match self.find(pool, b"Signature")? {
            Some(mut attribute) => Ok(Some(pool.utf8(attribute.data.u2()?)?)),
            None => Ok(None),
        }
    }

    /// All attributes in file order.
    pub fn iter<'p>(
        &self,
        pool: &'p ConstantPool<'a>,
    ) -> impl Iterator<Item = Result<Attribute<'a>, Malformed>> + use<'a, 'p> {
        self.indexed(pool).map(|attribute| attribute.map(|(_, attribute)| attribute))
    }

    /// All attributes, each with the constant that is its name.
    pub(crate) fn indexed<'p>(
        &self,
        pool: &'p ConstantPool<'a>,
    ) -> impl Iterator<Item = Result<(u16, Attribute<'a>), Malformed>> + use<'a, 'p> {
        let mut reader = self.body;
        (0..self.count).map(move |_| {
            let name = reader.u2()?;
            let len = reader.u4()? as usize;
            let data = reader.part(len)?;
            Ok((name, Attribute { name: pool.utf8(name)?, data }))
        })
    }

    /// The first attribute of this name.
    pub(crate) fn find(
        &self,
        pool: &ConstantPool<'a>,
        name: &[u8],
    ) -> Result<Option<Attribute<'a>>, Malformed> {
        for attribute in self.iter(pool) {
            let attribute = attribute?;
            if attribute.name == name {
                return Ok(Some(attribute));
            }
        }
        Ok(None)
    }
}

impl<'a> ClassFile<'a> {
    pub fn parse(file: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(file, 0);
        if reader.u4()? != 0xcafe_babe {
            return Err(Malformed { at: 0, what: "not a class file (no CAFEBABE)" });
        }
        let minor_version = reader.u2()?;
        let major_version = reader.u2()?;
        if major_version < 45 {
            return Err(Malformed { at: 6, what: "class file version older than Java 1.1" });
        }
        let pool = ConstantPool::parse(file, &mut reader)?;
        let access = reader.u2()?;
        let name = pool.class_name(reader.u2()?)?;
        let super_name = match reader.u2()? {
            0 => None,
            index => Some(pool.class_name(index)?),
        };
        let interfaces = (0..reader.u2()?)
            .map(|_| pool.class_name(reader.u2()?))
            .collect::<Result<Vec<_>, _>>()?;
        let fields = members(&mut reader, &pool)?;
        let methods = members(&mut reader, &pool)?;
        let attributes = Attributes::parse(&mut reader)?;
        reader.end("bytes behind the end of the class")?;
        Ok(Self {
            minor_version,
            major_version,
            pool,
            access,
            name,
            super_name,
            interfaces,
            fields,
            methods,
            attributes,
        })
    }

    pub fn is(&self, flag: u16) -> bool {
        self.access & flag != 0
    }
}

fn members<'a>(
    reader: &mut Reader<'a>,
    pool: &ConstantPool<'a>,
) -> Result<Vec<Member<'a>>, Malformed> {
    (0..reader.u2()?)
        .map(|_| {
            Ok(Member {
                access: reader.u2()?,
                name: pool.utf8(reader.u2()?)?,
                descriptor: pool.utf8(reader.u2()?)?,
                attributes: Attributes::parse(reader)?,
            })
        })
        .collect()
}
