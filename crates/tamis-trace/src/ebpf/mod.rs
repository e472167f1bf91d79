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
//! Needs CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN), a kernel from 5.15 on with BTF, and a tamis
//! that was built with clang. [`available`] says what is missing.
//!
//! What is not seen: calls through io_uring (the run is marked); a path that another thread changes
//! while the call runs; a directory above a relative path that is moved during the few nanoseconds
//! in which its name is put together. Whatever cannot be read, and every record that did not fit
//! into the ring, marks the run.

mod available;
mod bpf;
mod decode;
mod kernel;
mod object;
mod own;
mod record;
mod ring;
mod socket;
mod table;
mod tracer;
mod types;

pub use available::available;

/// Who reads the object file wants it where numbers can stand.
#[repr(C, align(8))]
#[allow(dead_code, reason = "a build without clang has no object file")]
struct Aligned<T: ?Sized>(T);

include!(concat!(env!("OUT_DIR"), "/ebpf_program.rs"));

use crate::Engine;
use crate::command::{Command, Finish};
use crate::event::{Action, Blind, Event, Sink, Timing};
use crate::lifetime::Lifetime;
use crate::shepherd::Shepherd;
use crate::streams::Streams;
use decode::Decoder;
use record::Record;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use table::RecordKind;
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
        let decoder = Decoder::new(Streams::of(&command));
        let observation = tracer.observe(shepherd.command_pid, command.watch_stdin)?;
        let mut lifetime = Lifetime::new(shepherd, command.timeout, stop);
        drop((command.stdin, command.stdout, command.stderr));
        let mut receiver = Receiver { observation: &observation, decoder, adopted: false, sink };
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
            if record.kind == RecordKind::Adopted {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_offset_leads_to_now() {
        let now = clock_ns(libc::CLOCK_REALTIME);
        let converted = clock_ns(libc::CLOCK_MONOTONIC) + epoch_offset_ns();
        assert!((converted - now).abs() < 60_000_000_000);
    }
}
