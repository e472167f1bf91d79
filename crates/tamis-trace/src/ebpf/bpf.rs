//! bpf(2), as far as the engine needs it: maps, programs, types and tracepoints.
//!
//! Attributes are the heads of `union bpf_attr`; the kernel takes what follows for zero.

use std::ffi::CStr;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The commands of bpf(2).
#[derive(Debug, Clone, Copy)]
#[repr(i32)]
pub(super) enum Call {
    CreateMap = 0,
    Lookup = 1,
    Update = 2,
    Delete = 3,
    NextKey = 4,
    LoadProgram = 5,
    OpenTracepoint = 17,
    LoadTypes = 18,
    Freeze = 22,
}

/// The head of `union bpf_attr` for BPF_PROG_LOAD.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProgramAttributes {
    pub(super) kind: u32,
    pub(super) instruction_count: u32,
    pub(super) instructions: u64,
    pub(super) license: u64,
    pub(super) log: LogAttributes,
    /// The version of the kernel, and flags.
    pub(super) version_and_flags: [u32; 2],
    pub(super) name: [u8; NAME_SIZE],
    /// For programs that sit on an interface, and how.
    pub(super) interface: [u32; 2],
    pub(super) functions: FunctionAttributes,
}

/// Where the verifier writes how it gets on.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LogAttributes {
    pub(super) level: u32,
    pub(super) size: u32,
    pub(super) buffer: u64,
}

/// What functions a program has, by its types.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FunctionAttributes {
    pub(super) types: i32,
    pub(super) size: u32,
    pub(super) functions: u64,
    pub(super) count: u32,
    pub(super) line_size: u32,
}

pub(super) const RAW_TRACEPOINT: u32 = 17;
const NAME_SIZE: usize = 16;

#[repr(C)]
struct MapAttributes {
    kind: u32,
    key_size: u32,
    value_size: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    node: u32,
    name: [u8; NAME_SIZE],
}

#[repr(C)]
struct ElementAttributes {
    map: i32,
    padding: u32,
    key: u64,
    value_or_next: u64,
    flags: u64,
}

#[repr(C)]
struct TracepointAttributes {
    name: u64,
    program: i32,
    padding: u32,
}

#[repr(C)]
struct TypesAttributes {
    types: u64,
    log: u64,
    size: u32,
    log_size: u32,
    log_level: u32,
    padding: u32,
}

/// What the kernel is to make a map of.
#[derive(Debug, Clone, Copy)]
pub(super) struct MapShape {
    pub(super) kind: u32,
    pub(super) key_size: u32,
    pub(super) value_size: u32,
    pub(super) entries: u32,
    pub(super) flags: u32,
}

/// # Safety
/// What the attributes point to has to be there, and of the size that they say.
pub(super) unsafe fn call<T>(call: Call, attributes: &T) -> io::Result<i64> {
    let size = size_of::<T>();
    // SAFETY: the kernel reads the attributes, and of what they point to as the caller promises.
    match unsafe { libc::syscall(libc::SYS_bpf, call as i32, std::ptr::from_ref(attributes), size) }
    {
        -1 => Err(io::Error::last_os_error()),
        done => Ok(done),
    }
}

/// # Safety
/// As for [`call`]; the call has to be one that gives a new descriptor.
pub(super) unsafe fn open<T>(which: Call, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: as the caller promises; the descriptor is ours.
    unsafe { Ok(OwnedFd::from_raw_fd(call(which, attributes)? as i32)) }
}

/// A name as the kernel keeps it for people: cut, with a zero at its end.
pub(super) fn shown_name(name: &str) -> [u8; NAME_SIZE] {
    let mut shown = [0; NAME_SIZE];
    let kept = name.bytes().filter(|c| c.is_ascii_alphanumeric() || *c == b'_' || *c == b'.');
    shown.iter_mut().take(NAME_SIZE - 1).zip(kept).for_each(|(to, from)| *to = from);
    shown
}

pub(super) fn create_map(name: &str, shape: MapShape) -> io::Result<OwnedFd> {
    let MapShape { kind, key_size, value_size, entries, flags } = shape;
    let name = shown_name(name);
    let attributes =
        MapAttributes { kind, key_size, value_size, entries, flags, inner: 0, node: 0, name };
    // SAFETY: numbers alone.
    unsafe { open(Call::CreateMap, &attributes) }
}

/// Fills a map of one element with these bytes, of the size of its value.
pub(super) fn fill(map: BorrowedFd<'_>, value: &[u8]) -> io::Result<()> {
    let key = 0_u32;
    // SAFETY: a key of four bytes, as arrays have, and the whole value.
    unsafe { element(Call::Update, map, &raw const key, value.as_ptr() as u64) }
}

/// From now on the map cannot be written by a call, and the verifier takes its content for constant.
pub(super) fn freeze(map: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a number alone.
    unsafe { call(Call::Freeze, &map.as_raw_fd()).map(drop) }
}

/// Gives the kernel the types of a program.
pub(super) fn load_types(types: &[u8]) -> io::Result<OwnedFd> {
    let attributes = TypesAttributes {
        types: types.as_ptr() as u64,
        log: 0,
        size: types.len() as u32,
        log_size: 0,
        log_level: 0,
        padding: 0,
    };
    // SAFETY: the bytes are there as long as the call takes.
    unsafe { open(Call::LoadTypes, &attributes) }
}

/// Attaches a program to a tracepoint, until the descriptor is closed.
pub(super) fn attach(tracepoint: &CStr, program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let name = tracepoint.as_ptr() as u64;
    let attributes = TracepointAttributes { name, program: program.as_raw_fd(), padding: 0 };
    // SAFETY: the name ends with a zero.
    unsafe { open(Call::OpenTracepoint, &attributes) }
}

/// # Safety
/// Key and value have to be of the sizes of the map.
unsafe fn element<K>(
    which: Call,
    map: BorrowedFd<'_>,
    key: *const K,
    value: u64,
) -> io::Result<()> {
    let (map, key) = (map.as_raw_fd(), key as u64);
    let attributes = ElementAttributes { map, padding: 0, key, value_or_next: value, flags: 0 };
    // SAFETY: as the caller promises.
    unsafe { call(which, &attributes).map(drop) }
}

/// Numbers without padding between them: whatever bytes the kernel writes are a value.
///
/// # Safety
/// That has to be so.
pub(super) unsafe trait Plain: Copy + Default {}

// SAFETY: a number.
unsafe impl Plain for u32 {}

/// A map with keys and values of these types.
#[derive(Debug)]
pub(super) struct KernelMap<K, V> {
    fd: OwnedFd,
    types: PhantomData<(K, V)>,
}

impl<K: Plain, V: Plain> KernelMap<K, V> {
    /// `None` where the map has keys or values of other sizes.
    pub(super) fn new(fd: OwnedFd, shape: MapShape) -> Option<Self> {
        let fits = shape.key_size as usize == size_of::<K>()
            && shape.value_size as usize == size_of::<V>();
        fits.then_some(Self { fd, types: PhantomData })
    }

    pub(super) fn insert(&self, key: K, value: V) -> io::Result<()> {
        // SAFETY: the sizes were compared.
        unsafe { element(Call::Update, self.fd.as_fd(), &raw const key, &raw const value as u64) }
    }

    pub(super) fn get(&self, key: K) -> io::Result<V> {
        let mut value = V::default();
        // SAFETY: the sizes were compared; the kernel writes a value.
        unsafe { element(Call::Lookup, self.fd.as_fd(), &raw const key, &raw mut value as u64)? };
        Ok(value)
    }

    pub(super) fn remove(&self, key: K) -> io::Result<()> {
        // SAFETY: the sizes were compared.
        unsafe { element(Call::Delete, self.fd.as_fd(), &raw const key, 0) }
    }

    /// The keys of now. Of one that is removed meanwhile the kernel begins anew, so some may come twice.
    pub(super) fn keys(&self, most: usize) -> Vec<K> {
        let mut keys: Vec<K> = Vec::new();
        let mut next = K::default();
        while keys.len() < most {
            let last = keys.last().map_or(std::ptr::null(), std::ptr::from_ref);
            // SAFETY: the sizes were compared; without a key the kernel gives the first one.
            let found =
                unsafe { element(Call::NextKey, self.fd.as_fd(), last, &raw mut next as u64) };
            if found.is_err() {
                break;
            }
            keys.push(next);
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_and_ended() {
        assert_eq!(&shown_name("a-b.c"), b"ab.c\0\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(&shown_name("abcdefghijklmnopqrst"), b"abcdefghijklmno\0");
    }

    #[test]
    fn attributes_are_laid_out_as_the_kernel_reads_them() {
        assert_eq!(std::mem::offset_of!(ProgramAttributes, name), 48);
        assert_eq!(std::mem::offset_of!(ProgramAttributes, functions), 72);
        assert_eq!(size_of::<ProgramAttributes>(), 96);
        assert_eq!(std::mem::offset_of!(MapAttributes, name), 28);
        assert_eq!(std::mem::offset_of!(TypesAttributes, size), 16);
    }
}
