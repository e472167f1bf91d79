//! Any bytes: an error or a class, twice the same, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tamis_classfile::{Analyser, ClassFile};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(class) = ClassFile::parse(bytes) {
        let first = Analyser::default().analyse(&class);
        assert_eq!(first, Analyser::default().analyse(&class));
    }
});
