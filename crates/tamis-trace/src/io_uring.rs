//! Whether io_uring works here. What is done through it cannot be seen, so its use marks a run, the same with
//! every engine. An engine that stops a call at its entry does not know how it will end; where the system
//! forbids io_uring (many containers do), a try hides nothing.
//!
//! Not seen: a process that may what tamis may not (a privileged helper, where only such may use it).

use std::sync::OnceLock;

/// Whether a call of `io_uring_setup` could succeed.
pub(crate) fn works() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| setup_error().is_none_or(|error| !is_refusal(error)))
}

/// The system does not have it, or a process like us may not use it. Other errors may be of the moment.
fn is_refusal(error: i32) -> bool {
    matches!(error, libc::ENOSYS | libc::EPERM | libc::EACCES)
}

/// The error of making a ring, which is given back at once.
fn setup_error() -> Option<i32> {
    // More than `struct io_uring_params`, which has 120 bytes.
    let mut parameters = [0u64; 32];
    // SAFETY: the kernel writes the parameters into memory that is large enough, and gives a new descriptor.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) };
    if ring < 0 {
        return std::io::Error::last_os_error().raw_os_error();
    }
    // SAFETY: the descriptor is ours, and was just made.
    unsafe { libc::close(ring as i32) };
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_holds_for_everybody_is_a_refusal() {
        assert!(is_refusal(libc::ENOSYS) && is_refusal(libc::EPERM));
        assert!(!is_refusal(libc::ENOMEM) && !is_refusal(libc::EMFILE));
        assert_eq!(works(), setup_error().is_none_or(|error| !is_refusal(error)));
    }
}
