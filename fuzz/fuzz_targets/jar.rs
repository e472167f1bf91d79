//! Any bytes as a jar: an error or a summary, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    drop(tamis_select_static::archive::Archive::read(bytes));
});
