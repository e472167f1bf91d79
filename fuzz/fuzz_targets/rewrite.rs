//! Any bytes: a refusal, or a class that can be read again, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tamis_classfile::ClassFile;
use tamis_classfile::rewrite::{Argument, Editor, Prefix, Wrap};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut editor) = Editor::new(bytes) else { return };
    let arguments = [Argument::Local(0), Argument::Text("t")];
    for method in 0..editor.class().methods.len() {
        let _ = editor.prefix(method, Prefix::Mark { owner: "p/P", field: "H", index: 40_000 });
        let skip = Prefix::ReturnIf { owner: "p/P", name: "f", arguments: &arguments };
        let _ = editor.prefix(method, skip);
        let wrap = Wrap { owner: "p/P", enter: "e", leave: "l", kind: "k" };
        let _ = editor.wrap(method, wrap);
    }
    if let Ok(edited) = editor.finish() {
        assert!(ClassFile::parse(&edited).is_ok());
    }
});
