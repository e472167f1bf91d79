//! The call by which one process controls another.

use std::io;

/// One ptrace request.
pub(crate) fn request(
    what: libc::c_uint,
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
