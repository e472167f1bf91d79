//! The call by which one process controls another.

use std::io;

/// The type of a request's number differs between C libraries.
#[cfg(target_env = "musl")]
pub(crate) type Request = libc::c_int;
#[cfg(not(target_env = "musl"))]
pub(crate) type Request = libc::c_uint;

/// Asks what a stopped thread wants of the kernel; musl has no name for it.
const GET_SYSCALL_INFO: Request = 0x420e;

/// The kernel's answer: `struct ptrace_syscall_info`, as it is where a call begins.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct CallInformation {
    pub(crate) op: u8,
    pad: [u8; 3],
    pub(crate) arch: u32,
    instruction_pointer: u64,
    stack_pointer: u64,
    pub(crate) number: u64,
    pub(crate) arguments: [u64; 6],
    filter_data: u64,
}

/// What the thread wants of the kernel.
pub(crate) fn call_information(thread: libc::pid_t) -> io::Result<CallInformation> {
    let mut info = CallInformation::default();
    let size = size_of_val(&info);
    request(GET_SYSCALL_INFO, thread, size, &raw mut info as usize)?;
    Ok(info)
}

/// One ptrace request.
pub(crate) fn request(
    what: Request,
    pid: libc::pid_t,
    address: usize,
    data: usize,
) -> io::Result<()> {
    // SAFETY: callers pass pointers to live memory of the size that the request wants.
    if unsafe { libc::ptrace(what, pid, address, data) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
