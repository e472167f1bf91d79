//! A class file as a program can see it: without debug information (lines, names of variables, the name of
//! the source), stack map frames, annotations that are not kept at run time, and the order of members and
//! constants. What is no class file does not parse.

use tamis_classfile::{Analyser, ClassFile};
use tamis_core::Hash;

pub(super) fn hash(bytes: &[u8]) -> Option<Hash> {
    let class = ClassFile::parse(bytes).ok()?;
    let analysis = Analyser::default().analyse(&class).ok()?;
    Some(analysis.fingerprint.whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_class_files_parse() {
        for bytes in [b"".as_slice(), b"\xca\xfe\xba\xbe", b"PK\x03\x04", b"class A {}"] {
            assert_eq!(hash(bytes), None);
        }
    }
}
