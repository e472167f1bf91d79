//! eBPF on tracepoints: the cheapest engine, for those who may load programs into the kernel.
//!
//! ```text
//! program.c (kernel)  --ring-->  tracer.rs (one reader thread)  --queue per run-->  decode.rs
//! ```
//!
//! The kernel side follows the tree by itself (fork, exec, exit) and reports each call when it has
//! returned, with result and time: nothing is stopped, so the receiver looks at a file a few
//! milliseconds after the process did. Several runs share one loaded program; every record carries
//! its run. Set-user-id programs keep their privileges, tracers and filters inside the tree work.
//!
//! Needs CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN), a kernel from 5.10 on with BTF, and a tamis
//! that was built with clang. [`available`] says what is missing.
//!
//! What is not seen: calls through io_uring (the run is marked); a path that another thread changes
//! while the call runs; a directory above a relative path that is moved during the few nanoseconds
//! in which its name is put together. Whatever cannot be read, and every record that did not fit
//! into the ring, marks the run.

mod decode;
mod kernel;
mod record;
mod ring;
mod table;
mod tracer;

include!(concat!(env!("OUT_DIR"), "/ebpf_program.rs"));

use crate::Engine;
use crate::command::{Command, Finish};
use crate::event::{Action, Blind, Event, Sink, Timing};
use crate::lifetime::Lifetime;
use crate::shepherd::Shepherd;
use decode::Decoder;
use record::Record;
use std::fs;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use table::Kind;
use tracer::{Observation, Tracer, records};

/// See the module's head. Loads the program with the first run and keeps it while it lives.
#[derive(Debug, Default)]
pub struct Ebpf {
    tracer: Mutex<Option<Arc<Tracer>>>,
}

impl Ebpf {
    /// Loads the program now; otherwise the first run does it.
    pub fn load(&self) -> Result<(), String> {
        self.tracer().map(drop)
    }

    fn tracer(&self) -> Result<Arc<Tracer>, String> {
        let mut loaded = self.tracer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tracer) = &*loaded {
            return Ok(Arc::clone(tracer));
        }
        let tracer = Arc::new(Tracer::load()?);
        *loaded = Some(Arc::clone(&tracer));
        Ok(tracer)
    }
}

impl Engine for Ebpf {
    fn name(&self) -> &'static str {
        "ebpf"
    }

    fn run(&self, command: Command, sink: &mut dyn Sink, stop: &AtomicBool) -> io::Result<Finish> {
        let tracer = self.tracer().map_err(io::Error::other)?;
        let shepherd = Shepherd::start(&command, None)?;
        let observation = tracer.observe(shepherd.command_pid, command.watch_stdin)?;
        let mut lifetime = Lifetime::new(shepherd, command.timeout, stop);
        drop((command.stdin, command.stdout, command.stderr));
        let mut receiver =
            Receiver { observation: &observation, decoder: Decoder::new(), adopted: false, sink };
        lifetime.go()?;
        while lifetime.wait(&mut [observation.descriptor()])? {
            receiver.receive(&observation.take());
        }
        receiver.receive(&observation.take_all());
        receiver.say_what_is_missing();
        Ok(lifetime.finish())
    }
}

struct Receiver<'a> {
    observation: &'a Observation,
    decoder: Decoder,
    adopted: bool,
    sink: &'a mut dyn Sink,
}

impl Receiver<'_> {
    fn receive(&mut self, bytes: &[u8]) {
        let offset = epoch_offset_ns();
        for bytes in records(bytes) {
            let Some(record) = Record::parse(bytes) else {
                self.blind(Blind::Unresolved(
                    "a record of the kernel is not understood".to_owned(),
                ));
                continue;
            };
            if record.kind == Kind::Adopted {
                self.adopted = true;
                self.observation.root_was_adopted();
            }
            self.decoder.decode(&record, offset, self.sink);
        }
    }

    fn say_what_is_missing(&mut self) {
        match self.observation.lost() {
            0 => {}
            lost => self.blind(Blind::Lost(lost)),
        }
        if !self.adopted {
            self.blind(Blind::Unresolved("the kernel did not see the command start".to_owned()));
        }
    }

    fn blind(&mut self, blind: Blind) {
        let time_ns = clock_ns(libc::CLOCK_REALTIME) as u64;
        let timing = Timing::After { time_ns, result: 0 };
        self.sink.event(Event { thread: 0, timing, action: Action::Blind(blind) });
    }
}

fn clock_ns(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the structure.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// From the clock of the records to the one of file times. Asked anew for each batch: the wall clock
/// may be set while a test runs.
fn epoch_offset_ns() -> i64 {
    clock_ns(libc::CLOCK_REALTIME) - clock_ns(libc::CLOCK_MONOTONIC)
}

const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;
const RIGHTS: &str = "the eBPF engine needs CAP_BPF and CAP_PERFMON, for instance as root";

/// Whether the engine can work here; if not, why. Cheap: nothing is loaded.
pub fn available() -> Result<(), String> {
    PROGRAM.map_err(str::to_owned)?;
    let capabilities = effective_capabilities().unwrap_or(0);
    let has = |capability| capabilities & (capability | CAP_SYS_ADMIN) != 0;
    if !has(CAP_BPF) || !has(CAP_PERFMON) {
        return Err(RIGHTS.to_owned());
    }
    if !fs::exists("/sys/kernel/btf/vmlinux").unwrap_or(false) {
        return Err("the kernel does not describe its types: /sys/kernel/btf/vmlinux is missing \
                    (CONFIG_DEBUG_INFO_BTF)"
            .to_owned());
    }
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    if lockdown.contains("[confidentiality]") {
        return Err("the kernel is locked down to confidentiality and lets no program read its \
                    memory"
            .to_owned());
    }
    try_ring_buffer()
}

fn effective_capabilities() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Creates the smallest ring buffer, which tells whether bpf(2) is there and allowed.
fn try_ring_buffer() -> Result<(), String> {
    const BPF_MAP_CREATE: libc::c_int = 0;
    const BPF_MAP_TYPE_RINGBUF: u32 = 27;
    // SAFETY: sysconf has no precondition.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u32;
    // map_type, key_size, value_size, max_entries, map_flags
    let attributes = [BPF_MAP_TYPE_RINGBUF, 0, 0, page, 0];
    // SAFETY: the kernel reads the attributes; a descriptor that it returns is ours to close.
    let fd = unsafe {
        libc::syscall(libc::SYS_bpf, BPF_MAP_CREATE, attributes.as_ptr(), size_of_val(&attributes))
    };
    if fd >= 0 {
        // SAFETY: as above.
        unsafe { libc::close(fd as libc::c_int) };
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(match error.raw_os_error() {
        Some(libc::EPERM) => format!("{RIGHTS}; here bpf(2) is not permitted (a container?)"),
        Some(libc::ENOSYS) => "this kernel has no bpf(2)".to_owned(),
        Some(libc::EINVAL) => "this kernel has no BPF ring buffer (Linux 5.8)".to_owned(),
        _ => format!("bpf(2) does not work here: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_offset_leads_to_now() {
        let now = clock_ns(libc::CLOCK_REALTIME);
        let converted = clock_ns(libc::CLOCK_MONOTONIC) + epoch_offset_ns();
        assert!((converted - now).abs() < 60_000_000_000);
    }

    #[test]
    fn own_capabilities_can_be_read() {
        assert!(effective_capabilities().is_some());
    }
}
