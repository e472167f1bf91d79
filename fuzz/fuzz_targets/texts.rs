//! Any text as a file of STARTS and as a pattern of Surefire: an error or an answer, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tamis_select_static::naming;
use tamis_select_static::starts::{Dependencies, ZlcFormat};

fuzz_target!(|text: &str| {
    if let Ok(read) = Dependencies::parse_zlc(text) {
        for format in [ZlcFormat::PlainText, ZlcFormat::Indexed] {
            drop(read.to_zlc(format));
        }
    }
    drop(naming::split(text));
    tamis_classfile::classes_in(text.as_bytes(), &mut drop);
});
