//! The parts of a class file that a reader of instructions needs, as they stand in the file.

use crate::class::{Attributes, ClassFile, Member};
use crate::code::instruction_length;
use crate::pool::{ConstantPool, Tag};
use crate::reader::Malformed;

/// A method's instructions and exception table.
#[derive(Debug, Clone)]
pub struct RawCode<'a> {
    pub max_stack: u16,
    pub max_locals: u16,
    pub bytes: &'a [u8],
    pub handlers: Vec<Handler>,
    pub attributes: Attributes<'a>,
}

/// One line of an exception table; positions are offsets into the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handler {
    pub start: u16,
    pub end: u16,
    pub handler: u16,
    /// Class constant of what is caught; 0 catches everything.
    pub caught: u16,
}

/// A bootstrap method: the constant of its handle and those of its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bootstrap {
    pub handle: u16,
    pub arguments: Vec<u16>,
}

/// A dynamic call site or constant: which bootstrap method, and name and descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DynamicRef<'a> {
    pub bootstrap: u16,
    pub name: &'a [u8],
    pub descriptor: &'a [u8],
}

impl<'a> RawCode<'a> {
    /// Where each instruction begins.
    pub fn instructions(&self) -> Result<Vec<usize>, Malformed> {
        let (mut found, mut pc) = (Vec::new(), 0);
        while pc < self.bytes.len() {
            found.push(pc);
            pc += instruction_length(self.bytes, pc)?;
        }
        match pc == self.bytes.len() {
            true => Ok(found),
            false => Err(Malformed { at: pc, what: "code that ends too early" }),
        }
    }

    /// Positions and the lines of the source that begin there; nothing where the compiler left them out.
    pub fn lines(&self, pool: &ConstantPool<'a>) -> Result<Vec<(u16, u16)>, Malformed> {
        let mut found = Vec::new();
        for attribute in self.attributes.iter(pool) {
            let attribute = attribute?;
            if attribute.name == b"LineNumberTable" {
                let mut data = attribute.data;
                for _ in 0..data.u2()? {
                    found.push((data.u2()?, data.u2()?));
                }
            }
        }
        Ok(found)
    }
}

impl<'a> ClassFile<'a> {
    /// The name of the source that this class was compiled from, without its folder.
    pub fn source_file(&self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.attributes.find(&self.pool, b"SourceFile")? {
            Some(mut attribute) => Ok(Some(self.pool.utf8(attribute.data.u2()?)?)),
            None => Ok(None),
        }
    }

    /// The code of one of this class's methods; `None` where it has none.
    pub fn code(&self, method: &Member<'a>) -> Result<Option<RawCode<'a>>, Malformed> {
        let Some(code) = method.attributes.find(&self.pool, b"Code")? else { return Ok(None) };
        let mut data = code.data;
        let (max_stack, max_locals) = (data.u2()?, data.u2()?);
        let len = data.u4()? as usize;
        let bytes = data.take(len)?;
        let handlers = (0..data.u2()?)
            .map(|_| {
                Ok(Handler {
                    start: data.u2()?,
                    end: data.u2()?,
                    handler: data.u2()?,
                    caught: data.u2()?,
                })
            })
            .collect::<Result<Vec<_>, Malformed>>()?;
        let attributes = Attributes::parse(&mut data)?;
        Ok(Some(RawCode { max_stack, max_locals, bytes, handlers, attributes }))
    }

    /// All bootstrap methods.
    pub fn bootstraps(&self) -> Result<Vec<Bootstrap>, Malformed> {
        let table = self.attributes.find(&self.pool, b"BootstrapMethods")?;
        let Some(table) = table else { return Ok(Vec::new()) };
        let mut data = table.data;
        (0..data.u2()?)
            .map(|_| {
                let handle = data.u2()?;
                let arguments =
                    (0..data.u2()?).map(|_| data.u2()).collect::<Result<Vec<_>, Malformed>>()?;
                Ok(Bootstrap { handle, arguments })
            })
            .collect()
    }
}

impl<'a> ConstantPool<'a> {
    /// A dynamic call site or dynamic constant.
    pub fn dynamic(&self, index: u16) -> Result<DynamicRef<'a>, Malformed> {
        let tag = match self.tag(index) {
            Some(Tag::Dynamic) => Tag::Dynamic,
            _ => Tag::InvokeDynamic,
        };
        let (bootstrap, name_and_type) = self.pair(index, tag)?;
        let (name, descriptor) = self.name_and_type(name_and_type)?;
        Ok(DynamicRef { bootstrap, name, descriptor })
    }

    /// The kind of a method handle (as in the class file format) and the constant it stands for.
    pub fn handle(&self, index: u16) -> Result<(u8, u16), Malformed> {
        self.method_handle(index)
    }

    /// The text of a string constant, in the form of class files.
    pub fn string(&self, index: u16) -> Result<&'a [u8], Malformed> {
        self.text_of(index, Tag::String)
    }

    /// The descriptor of a method type constant.
    pub fn method_type(&self, index: u16) -> Result<&'a [u8], Malformed> {
        self.text_of(index, Tag::MethodType)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_testkit::{Sources, jdk};

    #[test]
    fn code_handlers_and_bootstraps() {
        let source = "class A { Runnable r(Object o) {
            try { return () -> o.hashCode(); } catch (RuntimeException e) { return null; } } }";
        let folder = Sources::new().file("A.java", source).compile(&jdk());
        let bytes = std::fs::read(folder.join("A.class")).unwrap();
        let class = ClassFile::parse(&bytes).unwrap();
        let method = class.methods.iter().find(|m| m.name == b"r").unwrap();
        let code = class.code(method).unwrap().unwrap();
        assert_eq!(code.handlers.len(), 1);
        let at = code.instructions().unwrap();
        assert!(at.len() > 3 && at[0] == 0 && at.is_sorted(), "{at:?}");
        let lines = code.lines(&class.pool).unwrap();
        assert!(lines.iter().any(|(_, line)| *line == 2), "{lines:?}");
        assert_eq!(class.source_file().unwrap(), Some(b"A.java".as_slice()));
        let caught = class.pool.class_name(code.handlers[0].caught).unwrap();
        assert_eq!(caught, b"java/lang/RuntimeException");
        let at = code.bytes.iter().position(|&op| op == 186).unwrap();
        let index = u16::from_be_bytes([code.bytes[at + 1], code.bytes[at + 2]]);
        let dynamic = class.pool.dynamic(index).unwrap();
        assert_eq!(dynamic.name, b"run");
        let bootstraps = class.bootstraps().unwrap();
        let bootstrap = &bootstraps[usize::from(dynamic.bootstrap)];
        let (kind, member) = class.pool.handle(bootstrap.handle).unwrap();
        assert_eq!(kind, 6);
        assert_eq!(class.pool.member(member).unwrap().name, b"metafactory");
        assert_eq!(class.pool.method_type(bootstrap.arguments[0]).unwrap(), b"()V");
        assert!(class.pool.string(index).is_err());
    }
}
