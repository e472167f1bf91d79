//! How soon the thread that serves calls gets a processor.

use std::io;

/// The shortest turn that the kernel grants.
const SHORTEST_TURN_NS: u64 = 100_000;

/// Asks for short turns that come soon: while this thread waits for a processor, a process waits for it.
/// Where all processors are busy, its turn would else come only when somebody's long one is over. It does
/// not get more of the processor by it. Kernels before 6.12 take no notice.
pub(crate) fn be_prompt() {
    let _ = shorten_turns();
}

fn shorten_turns() -> io::Result<()> {
    let size = size_of::<libc::sched_attr>() as u32;
    // SAFETY: plain data, which the kernel fills.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: reads how this thread is scheduled now; the size is that of the structure.
    let read = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    if read < 0 {
        return Err(io::Error::last_os_error());
    }
    attributes.size = size;
    attributes.sched_runtime = SHORTEST_TURN_NS;
    // SAFETY: changes how this thread is scheduled, and nothing else.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_the_length_of_turns_changes() {
        std::thread::spawn(|| {
            // SAFETY: reads a number of this thread.
            let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
            // SAFETY: reads a number of this thread.
            let policy = || unsafe { libc::sched_getscheduler(0) };
            let before = (nice(), policy());
            shorten_turns().expect("an ordinary thread may");
            assert_eq!((nice(), policy()), before);
        })
        .join()
        .expect("no panic");
    }
}
