//! The constant pool: offsets into the file, nothing copied.

use crate::reader::{Malformed, Reader};

/// The kinds of constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Tag {
    Utf8 = 1,
    Integer = 3,
    Float = 4,
    Long = 5,
    Double = 6,
    Class = 7,
    String = 8,
    Field = 9,
    Method = 10,
    InterfaceMethod = 11,
    NameAndType = 12,
    MethodHandle = 15,
    MethodType = 16,
    Dynamic = 17,
    InvokeDynamic = 18,
    Module = 19,
    Package = 20,
}

impl Tag {
    #[inline]
    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Utf8,
            3 => Self::Integer,
            4 => Self::Float,
            5 => Self::Long,
            6 => Self::Double,
            7 => Self::Class,
            8 => Self::String,
            9 => Self::Field,
            10 => Self::Method,
            11 => Self::InterfaceMethod,
            12 => Self::NameAndType,
            15 => Self::MethodHandle,
            16 => Self::MethodType,
            17 => Self::Dynamic,
            18 => Self::InvokeDynamic,
            19 => Self::Module,
            20 => Self::Package,
            _ => return None,
        })
    }
}

/// The bytes behind each tag; 0 where there is no such kind, or (texts) the length is in the file.
const LENGTHS: [usize; 21] = {
    let mut lengths = [0; 21];
    let mut tag = 0;
    while tag < lengths.len() {
        lengths[tag] = match tag {
            7 | 8 | 16 | 19 | 20 => 2,
            15 => 3,
            3 | 4 | 9..=12 | 17 | 18 => 4,
            5 | 6 => 8,
            _ => 0,
        };
        tag += 1;
    }
    lengths
};

/// A field or method reference, resolved to its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberRef<'a> {
    pub class: &'a [u8],
    pub name: &'a [u8],
    pub descriptor: &'a [u8],
}

/// Where each constant is. Index 0 and the second half of long and double have offset 0.
#[derive(Debug, Clone)]
pub struct ConstantPool<'a> {
    file: &'a [u8],
    offsets: Vec<u32>,
    end: usize,
}

impl<'a> ConstantPool<'a> {
    /// Reads the pool; `reader` stands at its count and is left behind its last entry.
    pub(crate) fn parse(file: &'a [u8], reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let count = usize::from(reader.u2()?);
        if count == 0 {
            return reader.fail("constant pool without its reserved entry");
        }
        if u32::try_from(file.len()).is_err() {
            return reader.fail("class file larger than 4 GiB");
        }
        let mut offsets = Vec::with_capacity(count + 1);
        offsets.push(0);
        while offsets.len() < count {
            let at = reader.position();
            let tag = reader.u1()?;
            let len = match LENGTHS.get(usize::from(tag)) {
                Some(&len @ 1..) => len,
                _ if tag == Tag::Utf8 as u8 => usize::from(reader.u2()?),
                _ => return Err(Malformed { at, what: "unknown kind of constant" }),
            };
            reader.take(len)?;
            offsets.push(at as u32);
            if len == 8 && tag != Tag::Utf8 as u8 {
                offsets.push(0);
            }
        }
        if offsets.len() != count {
            return reader.fail("constant pool ends inside a long or double");
        }
        Ok(Self { file, offsets, end: reader.position() })
    }

    /// Number of slots, the reserved one included.
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.offsets.len() <= 1
    }

    /// Where the pool ends in the file.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// The bytes of the whole pool.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.file.get(8..self.end).unwrap_or_default()
    }

    /// The indices in use with their kinds.
    pub fn entries(&self) -> impl Iterator<Item = (u16, Tag)> + '_ {
        (1..self.offsets.len()).filter_map(|i| {
            let index = u16::try_from(i).ok()?;
            Some((index, self.tag(index)?))
        })
    }

    #[inline]
    pub fn tag(&self, index: u16) -> Option<Tag> {
        let offset = *self.offsets.get(usize::from(index))?;
        if offset == 0 {
            return None;
        }
        Tag::from_byte(*self.file.get(offset as usize)?)
    }

    /// The cursor behind the tag of a constant that must be of this kind.
    #[inline]
    fn of_kind(&self, index: u16, tag: Tag) -> Result<Reader<'a>, Malformed> {
        let at = self.offsets.get(usize::from(index)).map_or(0, |&o| o as usize);
        // The byte at offset 0 is no tag: 0xca, the first of the file.
        match self.file.get(at..) {
            Some([first, bytes @ ..]) if *first == tag as u8 => Ok(Reader::new(bytes, at + 1)),
            _ => Err(Malformed { at, what: "reference to a constant of another kind" }),
        }
    }

    #[inline]
    pub fn utf8(&self, index: u16) -> Result<&'a [u8], Malformed> {
        let mut reader = self.of_kind(index, Tag::Utf8)?;
        let len = usize::from(reader.u2()?);
        reader.take(len)
    }

    /// The 4 or 8 bytes of a number.
    pub(crate) fn number(&self, index: u16, tag: Tag) -> Result<&'a [u8], Malformed> {
        let len = if matches!(tag, Tag::Long | Tag::Double) { 8 } else { 4 };
        self.of_kind(index, tag)?.take(len)
    }

    /// The index of the text behind a class, string, method type, module or package.
    #[inline]
    pub(crate) fn single(&self, index: u16, tag: Tag) -> Result<u16, Malformed> {
        self.of_kind(index, tag)?.u2()
    }

    /// The text behind a class, string, method type, module or package.
    pub(crate) fn text_of(&self, index: u16, tag: Tag) -> Result<&'a [u8], Malformed> {
        self.utf8(self.single(index, tag)?)
    }

    /// The name of a class constant: `java/lang/String`, or a descriptor for arrays.
    pub fn class_name(&self, index: u16) -> Result<&'a [u8], Malformed> {
        self.text_of(index, Tag::Class)
    }

    /// Two indices of a reference or name-and-type.
    pub(crate) fn pair(&self, index: u16, tag: Tag) -> Result<(u16, u16), Malformed> {
        let mut reader = self.of_kind(index, tag)?;
        Ok((reader.u2()?, reader.u2()?))
    }

    pub(crate) fn method_handle(&self, index: u16) -> Result<(u8, u16), Malformed> {
        let mut reader = self.of_kind(index, Tag::MethodHandle)?;
        Ok((reader.u1()?, reader.u2()?))
    }

    /// Name and descriptor.
    pub fn name_and_type(&self, index: u16) -> Result<(&'a [u8], &'a [u8]), Malformed> {
        let (name, descriptor) = self.pair(index, Tag::NameAndType)?;
        Ok((self.utf8(name)?, self.utf8(descriptor)?))
    }

    /// A field, method or interface method reference.
    pub fn member(&self, index: u16) -> Result<MemberRef<'a>, Malformed> {
        let tag = match self.tag(index) {
            Some(tag @ (Tag::Field | Tag::Method | Tag::InterfaceMethod)) => tag,
            _ => Tag::Method,
        };
        let (class, name_and_type) = self.pair(index, tag)?;
        let (name, descriptor) = self.name_and_type(name_and_type)?;
        Ok(MemberRef { class: self.class_name(class)?, name, descriptor })
    }
}
