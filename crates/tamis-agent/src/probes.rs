//! The probes: one static byte of a Java class per method, set by the method itself.
//!
//! Classes with room for them are made as they are needed. `TamisMarks.java` reads and clears them
//! while the program goes on: a byte that is set at the same moment is seen either now or the next
//! time, never lost.
//!
//! What is not seen: the JVM's compiler may move the store of a method that it put inside a loop of
//! its caller to a place before the loop. A thread that is inside such a loop, without any call,
//! while one test ends and the next begins then marks the method for the first of them only.

use crate::jvm::{Jni, Object};
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tamis_classfile::marks::{self, AtFirst, PER_CLASS};
use tamis_jvm_wire::Hits;

/// The family of classes whose bytes are the probes.
pub(crate) const FAMILY: &str = "java/lang/TamisMarks";

#[derive(Debug, Default)]
pub(crate) struct Probes {
    /// `TamisMarks`, as a global reference.
    reader: OnceLock<Object>,
    ids: Mutex<Ids>,
}

#[derive(Debug, Default)]
struct Ids {
    taken: u32,
    /// How many have a byte.
    room: u32,
}

impl Ids {
    /// The end of that many more ids.
    fn end(&self, count: u32) -> Result<u32, String> {
        self.taken.checked_add(count).ok_or_else(|| "there are no more probes".to_owned())
    }

    fn make_room(&mut self, jni: Jni, reader: Object, end: u32) -> Result<(), String> {
        while self.room < end {
            add_class(jni, reader, self.room).ok_or("the JVM has no place for probes")?;
            self.room = self.room.saturating_add(PER_CLASS);
        }
        Ok(())
    }
}

impl Probes {
    /// From now on methods can be marked. The first class is made here: nothing has to be loaded to
    /// read probes later.
    pub(crate) fn read_by(&self, jni: Jni, reader: Object) -> Result<(), String> {
        self.ids().make_room(jni, reader, 1)?;
        let _ = self.reader.set(reader);
        Ok(())
    }

    pub(crate) fn ready(&self) -> bool {
        self.reader.get().is_some()
    }

    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many ids were taken.
    pub(crate) fn used(&self) -> u32 {
        self.ids().taken
    }

    /// That many consecutive ids; gives the first.
    pub(crate) fn take(&self, jni: Jni, count: u32) -> Result<u32, String> {
        let reader = *self.reader.get().ok_or("the probes are not there yet")?;
        let mut ids = self.ids();
        let end = ids.end(count)?;
        ids.make_room(jni, reader, end)?;
        Ok(std::mem::replace(&mut ids.taken, end))
    }

    /// The probes that were passed since the last time; `None` if the JVM does not let them be read.
    pub(crate) fn drain(&self, jni: Jni) -> Option<Hits> {
        let Some(&reader) = self.reader.get() else { return Some(Hits::default()) };
        let passed = jni.call_static(reader, c"take", c"()[I", &[])?;
        let mut count = [0];
        let mut ids = Vec::new();
        let read = jni.copy_ints(passed, 0, &mut count).and_then(|()| {
            ids.resize(usize::try_from(count[0]).ok()?, 0);
            jni.copy_ints(passed, 1, &mut ids)
        });
        jni.delete_local(passed);
        read?;
        Some(Hits::from_sorted(ids))
    }
}

/// Makes the class whose first byte belongs to this id.
fn add_class(jni: Jni, reader: Object, first: u32) -> Option<()> {
    let name = marks::class_name(FAMILY, first);
    let bytes = marks::class_file(&name, AtFirst::Number);
    let class = jni.define_boot_class(&CString::new(name).ok()?, &bytes)?;
    let field = CString::new(marks::field_name(first)).ok()?;
    let field = jni.reflected(class, &field, c"B")?;
    let kind = c"(Ljava/lang/Class;Ljava/lang/reflect/Field;)Ljava/lang/Class;";
    let added = jni.call_static(reader, c"add", kind, &[class, field]);
    jni.delete_local(field);
    jni.delete_local(class);
    jni.delete_local(added?);
    Some(())
}

/// `TamisMarks` for a JDK in which `Unsafe` is still in its old place.
pub(crate) fn for_java_8(reader: &[u8]) -> Vec<u8> {
    let constant = |text: &str| [&[1, 0, text.len() as u8], text.as_bytes()].concat();
    let mut bytes = reader.to_vec();
    for (new, old) in [
        ("jdk/internal/misc/Unsafe", "sun/misc/Unsafe"),
        ("Ljdk/internal/misc/Unsafe;", "Lsun/misc/Unsafe;"),
        ("()Ljdk/internal/misc/Unsafe;", "()Lsun/misc/Unsafe;"),
    ] {
        let new = constant(new);
        if let Some(at) = bytes.windows(new.len()).position(|there| there == new) {
            bytes.splice(at..at + new.len(), constant(old));
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_classfile::{ClassFile, Tag};

    #[test]
    fn ids_end() {
        let ids = Ids { taken: u32::MAX - 2, room: 0 };
        assert_eq!(ids.end(2), Ok(u32::MAX));
        assert!(ids.end(3).is_err());
    }

    #[test]
    fn java_8_has_unsafe_in_another_place() {
        let reader = include_bytes!("../java/classes/java/lang/TamisMarks.class");
        let old = for_java_8(reader);
        let (reader, old) = (ClassFile::parse(reader).unwrap(), ClassFile::parse(&old).unwrap());
        let texts = |class: &ClassFile<'_>| -> Vec<String> {
            let texts = class.pool.entries().filter(|&(_, tag)| tag == Tag::Utf8);
            let text =
                |index| String::from_utf8_lossy(class.pool.utf8(index).unwrap()).into_owned();
            texts.map(|(index, _)| text(index)).collect()
        };
        let renamed: Vec<String> = texts(&reader)
            .iter()
            .map(|text| text.replace("jdk/internal/misc/Unsafe", "sun/misc/Unsafe"))
            .collect();
        assert_ne!(renamed, texts(&reader));
        assert_eq!(renamed, texts(&old));
    }
}
