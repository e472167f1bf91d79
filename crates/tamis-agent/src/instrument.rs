//! What happens to the bytes of one class.

use crate::classes::Known;
use crate::hooked::{HOOKS, Hook, LAUNCHER};
use crate::probes::FAMILY;
use tamis_classfile::ClassFile;
use tamis_classfile::rewrite::{Argument, Editor, Prefix, Wrap};

const STATE: &str = "java/lang/TamisState";

/// Which hook a method gets: class, name, descriptor.
pub(crate) type HookOf = fn(&[u8], &[u8], &[u8]) -> Option<Hook>;

/// A class with probes.
#[derive(Debug)]
pub(crate) struct Probed {
    /// `None` if nothing had to change: a class without code.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) known: Known,
    /// Names with descriptors, in the order of the probes.
    pub(crate) methods: Vec<Vec<u8>>,
}

/// Puts a probe into every method with code that the class has by `original`, and the hooks.
/// `ids_of` is given these methods, in file order, and gives their ids. What another agent has added
/// to the class gets no probe.
pub(crate) fn probe(
    file: &[u8],
    original: &[u8],
    hook_of: HookOf,
    ids_of: impl FnOnce(&[Vec<u8>]) -> Result<Known, String>,
) -> Result<Probed, String> {
    let mut editor = Editor::new(file).map_err(|error| error.to_string())?;
    let there = with_code(editor.class())?;
    let methods = if original == file {
        signatures(editor.class(), &there)
    } else {
        signatures_of(original)?
    };
    let known = ids_of(&methods)?;
    let bytes = mark(&mut editor, &there, hook_of, &known)?;
    let bytes = bytes.then(|| editor.finish().map_err(|error| error.to_string())).transpose()?;
    Ok(Probed { bytes, known, methods })
}

/// Whether anything was put in.
fn mark(
    editor: &mut Editor<'_>,
    methods: &[usize],
    hook_of: HookOf,
    known: &Known,
) -> Result<bool, String> {
    let (mut marked, mut hooked) = (0, 0);
    for &method in methods {
        let member = &editor.class().methods[method];
        let id = known.id_of(&[member.name, member.descriptor].concat(), marked);
        if let Some(id) = id {
            add_probe(editor, method, id)?;
            marked += 1;
        }
        hooked += usize::from(add_hook(editor, method, hook_of)?);
    }
    if marked == known.count() {
        Ok(marked + hooked > 0)
    } else {
        Err("another agent took methods out of it".to_owned())
    }
}

fn add_probe(editor: &mut Editor<'_>, method: usize, id: u32) -> Result<(), String> {
    let mark = Prefix::Mark { family: FAMILY, mark: id };
    editor.prefix(method, mark).map_err(|error| refused(editor, method, error))?;
    if editor.class().methods[method].name == b"<clinit>" {
        add_ends(editor, method, id)?;
    }
    Ok(())
}

fn signatures_of(file: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let class = ClassFile::parse(file).map_err(|error| error.to_string())?;
    let methods = with_code(&class)?;
    Ok(signatures(&class, &methods))
}

/// Names with descriptors.
fn signatures(class: &ClassFile<'_>, methods: &[usize]) -> Vec<Vec<u8>> {
    let members = methods.iter().map(|&method| &class.methods[method]);
    members.map(|member| [member.name, member.descriptor].concat()).collect()
}

/// Tells when a static initialiser begins and ends. One that cannot be reported is left alone, and
/// tamis finds out what it can have used from what it calls.
fn add_ends(editor: &mut Editor<'_>, method: usize, probe: u32) -> Result<(), String> {
    let probe = probe.to_string();
    let arguments = [Argument::ThisClass, Argument::Text(&probe)];
    if editor.before_return(method, (STATE, "ends"), &arguments).is_ok() {
        let begins = Prefix::Call { owner: STATE, name: "begins", arguments: &arguments };
        editor.prefix(method, begins).map_err(|error| refused(editor, method, error))?;
    }
    Ok(())
}

/// Puts only hooks in; `None` if there are none for this class.
pub(crate) fn hook(file: &[u8], hook_of: HookOf) -> Result<Option<Vec<u8>>, String> {
    let mut editor = Editor::new(file).map_err(|error| error.to_string())?;
    let mut hooks = 0;
    for method in with_code(editor.class())? {
        hooks += usize::from(add_hook(&mut editor, method, hook_of)?);
    }
    if hooks == 0 {
        return Ok(None);
    }
    editor.finish().map(Some).map_err(|error| error.to_string())
}

/// Whether there was one.
fn add_hook(editor: &mut Editor<'_>, method: usize, hook_of: HookOf) -> Result<bool, String> {
    let class = editor.class();
    let member = &class.methods[method];
    let result = match hook_of(class.name, member.name, member.descriptor) {
        None => return Ok(false),
        Some(Hook::Around(kind)) => {
            editor.wrap(method, Wrap { owner: HOOKS, enter: "enter", leave: "leave", kind })
        }
        Some(Hook::AroundOrLeave(kind)) => editor
            .prefix(
                method,
                Prefix::ReturnIf {
                    owner: LAUNCHER,
                    name: "leaves",
                    arguments: &[Argument::Local(0)],
                },
            )
            .and_then(|()| {
                editor.wrap(method, Wrap { owner: HOOKS, enter: "enter", leave: "leave", kind })
            }),
        Some(Hook::AtStart { owner, name, arguments }) => {
            editor.prefix(method, Prefix::Call { owner, name, arguments })
        }
        Some(Hook::Replace { owner, name, kind }) => {
            editor.prefix(method, Prefix::Replace { owner, name, local: 0, kind })
        }
    };
    result.map(|()| true).map_err(|error| refused(editor, method, error))
}

fn with_code(class: &ClassFile<'_>) -> Result<Vec<usize>, String> {
    let mut methods = Vec::with_capacity(class.methods.len());
    for (index, method) in class.methods.iter().enumerate() {
        for attribute in method.attributes.iter(&class.pool) {
            if attribute.map_err(|error| error.to_string())?.name == b"Code" {
                methods.push(index);
                break;
            }
        }
    }
    Ok(methods)
}

fn refused(editor: &Editor<'_>, method: usize, error: impl std::fmt::Display) -> String {
    let name = tamis_classfile::mutf8::decode(editor.class().methods[method].name);
    format!("method {name}: {error}")
}
