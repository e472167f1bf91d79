//! The compiled kernel side, made fit for this kernel: its maps are made, its accesses to the kernel's structures are put right, and
//! its programs are loaded one by one.

use super::bpf::{self, FunctionAttributes, KernelMap, LogAttributes, MapShape};
use super::bpf::{Plain, ProgramAttributes, RAW_TRACEPOINT};
use super::types;
use aya_obj::btf::{Btf, BtfError, BtfFeatures, BtfRelocationError};
use aya_obj::relocation::EbpfRelocationError;
use aya_obj::{EbpfSectionKind, Features, Object, ParseError};
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::{fmt, fs};

/// Where the kernel describes its types.
pub(super) const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";

/// All that our own types have is known by the oldest kernel on which the programs run; newer forms, which clang may
/// write, are replaced.
const fn oldest() -> BtfFeatures {
    BtfFeatures::new(true, true, true, false, true, false, false, false)
}

pub(super) struct KernelObject {
    object: Object,
    types: OwnedFd,
    maps: HashMap<String, (OwnedFd, MapShape)>,
}

impl KernelObject {
    /// Makes the maps, the ring of this size, and what is to be loaded, with these constants in it.
    pub(super) fn new(
        code: &[u8],
        constants: HashMap<&str, (&[u8], bool)>,
        (ring, size): (&str, u32),
    ) -> Result<Self, LoadError> {
        let mut object = Object::parse(code)?;
        object.patch_map_data(constants)?;
        let own = object.fixup_and_sanitize_btf(&oldest())?.map(Btf::to_bytes);
        let own = own.ok_or(LoadError::Missing("types"))?;
        let types = bpf::load_types(&own)?;
        let kernel = kernel_types(&own)?;
        object.relocate_btf(&Btf::parse(&kernel, object.endianness)?)?;
        if let Some(ring) = object.maps.get_mut(ring) {
            ring.set_max_entries(size);
        }
        let maps = object.maps.drain().collect::<Vec<_>>();
        let mut made = HashMap::new();
        for (name, map) in &maps {
            made.insert(name.clone(), make(name, map)?);
        }
        let sections: HashSet<usize> =
            object.functions.keys().map(|(section, _)| *section).collect();
        let by_name = maps.iter().map(|(name, map)| (name.as_str(), made[name].0.as_raw_fd(), map));
        object.relocate_maps(by_name, &sections)?;
        object.relocate_calls(&sections)?;
        // Nothing of what this adapts to is older than the programs themselves.
        object.sanitize_functions(&Features::new(true, true, true, true, true, true, true, None));
        Ok(Self { object, types, maps: made })
    }

    /// The map of this name. Programs keep what they use of it.
    pub(super) fn take_map(
        &mut self,
        name: &'static str,
    ) -> Result<(OwnedFd, MapShape), LoadError> {
        self.maps.remove(name).ok_or(LoadError::Missing(name))
    }

    /// The same with keys and values of these types.
    pub(super) fn take<K: Plain, V: Plain>(
        &mut self,
        name: &'static str,
    ) -> Result<KernelMap<K, V>, LoadError> {
        let (map, shape) = self.take_map(name)?;
        KernelMap::new(map, shape).ok_or(LoadError::Missing(name))
    }

    /// Has the kernel check and take a program.
    pub(super) fn load(&self, name: &'static str) -> Result<OwnedFd, LoadError> {
        let program = self.object.programs.get(name).ok_or(LoadError::Missing(name))?;
        let function = self.object.functions.get(&program.function_key());
        let function = function.ok_or(LoadError::Missing(name))?;
        let functions = function.func_info.func_info_bytes();
        let mut attributes = ProgramAttributes {
            kind: RAW_TRACEPOINT,
            instruction_count: function.instructions.len() as u32,
            instructions: function.instructions.as_ptr() as u64,
            license: program.license.as_ptr() as u64,
            name: bpf::shown_name(name),
            functions: FunctionAttributes {
                types: self.types.as_raw_fd(),
                size: function.func_info_rec_size as u32,
                functions: functions.as_ptr() as u64,
                count: function.func_info.len() as u32,
                line_size: 0,
            },
            ..ProgramAttributes::default()
        };
        // A signal that comes meanwhile ends the check.
        for _ in 0..8 {
            // SAFETY: all that the attributes point to is there, and of these sizes.
            match unsafe { bpf::open(bpf::Call::LoadProgram, &attributes) } {
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                Err(error) => return Err(refusal(error, &mut attributes)),
                Ok(program) => return Ok(program),
            }
        }
        Err(LoadError::Io(io::Error::from_raw_os_error(libc::EAGAIN)))
    }

    /// Loads a program and attaches it to a tracepoint, until the descriptors are closed.
    pub(super) fn attach(
        &self,
        name: &'static str,
        tracepoint: &CStr,
    ) -> Result<[OwnedFd; 2], LoadError> {
        let program = self.load(name)?;
        let link = bpf::attach(tracepoint, program.as_fd())?;
        Ok([link, program])
    }
}

/// What the kernel says when it looks at the program again and writes down how it gets on.
fn refusal(error: io::Error, attributes: &mut ProgramAttributes) -> LoadError {
    let mut log = vec![0_u8; 1 << 20];
    let (size, buffer) = (log.len() as u32, log.as_mut_ptr() as u64);
    attributes.log = LogAttributes { level: 1, size, buffer };
    // SAFETY: as before, and the log has the size that is named.
    let _ = unsafe { bpf::open(bpf::Call::LoadProgram, attributes) };
    let written = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    LoadError::Refused(error, String::from_utf8_lossy(&log[..written]).into_owned())
}

/// The kernel's types, as far as a program with these types can ask about them.
fn kernel_types(own: &[u8]) -> io::Result<Vec<u8>> {
    let full = fs::read(KERNEL_TYPES)?;
    // What is of a form that is not known here may be known there.
    Ok(types::thinned(&full, &types::names(own)).unwrap_or(full))
}

fn make(name: &str, map: &aya_obj::Map) -> Result<(OwnedFd, MapShape), LoadError> {
    let shape = MapShape {
        kind: map.map_type(),
        key_size: map.key_size(),
        value_size: map.value_size(),
        entries: map.max_entries(),
        flags: map.map_flags(),
    };
    let made = bpf::create_map(name, shape)?;
    if map.section_kind() != EbpfSectionKind::Bss && !map.data().is_empty() {
        bpf::fill(made.as_fd(), map.data())?;
    }
    if map.section_kind() == EbpfSectionKind::Rodata {
        bpf::freeze(made.as_fd())?;
    }
    Ok((made, shape))
}

#[derive(Debug)]
pub(super) enum LoadError {
    Missing(&'static str),
    /// With the verifier's log.
    Refused(io::Error, String),
    Object(ParseError),
    Types(BtfError),
    Accesses(BtfRelocationError),
    Links(EbpfRelocationError),
    Io(io::Error),
}

impl From<ParseError> for LoadError {
    fn from(error: ParseError) -> Self {
        Self::Object(error)
    }
}

impl From<BtfError> for LoadError {
    fn from(error: BtfError) -> Self {
        Self::Types(error)
    }
}

impl From<BtfRelocationError> for LoadError {
    fn from(error: BtfRelocationError) -> Self {
        Self::Accesses(error)
    }
}

impl From<EbpfRelocationError> for LoadError {
    fn from(error: EbpfRelocationError) -> Self {
        Self::Links(error)
    }
}

impl From<io::Error> for LoadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// One line a user can act on.
impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error: &dyn Error = match self {
            Self::Missing(name) => return write!(f, "the eBPF program lacks its part {name}"),
            // The verifier's log is long; its last lines say what is wrong.
            Self::Refused(error, log) => {
                let mut last: Vec<&str> = log.lines().rev().take(4).collect();
                last.reverse();
                let last = last.join("; ");
                return write!(f, "the kernel refused the eBPF program ({error}): {last}");
            }
            Self::Object(error) => error,
            Self::Types(error) => error,
            Self::Accesses(error) => error,
            Self::Links(error) => error,
            Self::Io(error) => error,
        };
        write!(f, "cannot load the eBPF program: {error}")?;
        let mut source = error.source();
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ebpf::PROGRAM;

    /// The instructions of all functions.
    fn instructions(object: &Object) -> Vec<String> {
        let all = object.functions.values().flat_map(|function| &function.instructions);
        all.map(|instruction| format!("{instruction:?}")).collect()
    }

    #[test]
    fn thinned_types_lead_to_the_same_program() {
        let (Ok(code), Ok(full)) = (PROGRAM, fs::read(KERNEL_TYPES)) else { return };
        let mut own = Object::parse(code).unwrap();
        let types = own.fixup_and_sanitize_btf(&oldest()).unwrap().unwrap().to_bytes();
        let thin = types::thinned(&full, &types::names(&types)).expect("a form that is known");
        assert!(thin.len() < full.len() / 10, "{} of {}", thin.len(), full.len());
        let put_right = |types: &[u8]| {
            let mut object = own.clone();
            object.relocate_btf(&Btf::parse(types, own.endianness).unwrap()).unwrap();
            instructions(&object)
        };
        let by_thin = put_right(&thin);
        assert_eq!(by_thin, put_right(&full));
        assert_ne!(by_thin, instructions(&own), "nothing was put right");
    }
}
