//! The loaded kernel side: its programs, attached, and its maps.

use super::PROGRAM;
use super::bpf::{self, KernelMap, Plain};
use super::object::{KernelObject, LoadError};
use super::ring::Ring;
use super::table::Table;
use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::{fs, io};

/// Programs and the tracepoints they sit on. The tree comes first: no call may be seen of a task
/// whose fork was not.
const PROGRAMS: [(&str, &CStr); 5] = [
    ("on_fork", c"sched_process_fork"),
    ("on_exit", c"sched_process_exit"),
    ("on_exec", c"sched_process_exec"),
    ("on_entry", c"sys_enter"),
    ("on_return", c"sys_exit"),
];

/// Room for the records between two looks of the reader, for 37,000 of each processor, as long as that is not more than
/// 150,000 or less than half of it. The kernel clears it, which for 16 MiB takes some 10 ms.
fn ring_size() -> u32 {
    const MIB: usize = 1024 * 1024;
    let processors = std::thread::available_parallelism().map_or(4, std::num::NonZeroUsize::get);
    (4 * MIB * processors).next_power_of_two().clamp(8 * MIB, 16 * MIB) as u32
}

/// As many tasks as the kernel side can follow.
const MOST_TASKS: usize = 16_384;

/// `struct root` in shared.h.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Root {
    run: u32,
    watch_stdin: u32,
}

/// `struct run` in shared.h.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    lost: u64,
    live: i64,
}

/// `struct tracked` in shared.h.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Tracked {
    run: u32,
    flags: u32,
    stdin_inode: u64,
}

// SAFETY: plain numbers without padding.
unsafe impl Plain for Root {}
// SAFETY: plain numbers without padding.
unsafe impl Plain for Run {}
// SAFETY: plain numbers without padding.
unsafe impl Plain for Tracked {}

#[derive(Debug)]
pub(super) struct Kernel {
    // Detached and unloaded when these are closed.
    _programs: Vec<[OwnedFd; 2]>,
    // Emptied by the kernel when the last descriptor of it is closed.
    _jumps: OwnedFd,
    roots: KernelMap<u32, Root>,
    runs: KernelMap<u32, Run>,
    tracked: KernelMap<u32, Tracked>,
    attentive_count: KernelMap<u32, u32>,
    /// Runs whose root has not been adopted yet.
    waiting: HashSet<u32>,
    /// Runs that watch their standard input.
    watching: HashSet<u32>,
}

impl Kernel {
    /// Loads and attaches the kernel side.
    pub(super) fn load() -> Result<(Self, Ring), String> {
        let program = PROGRAM.map_err(str::to_owned)?;
        Self::load_object(program).map_err(|error| error.to_string())
    }

    fn load_object(code: &[u8]) -> Result<(Self, Ring), LoadError> {
        let table = Table::new().to_bytes();
        let (device, inode) = own_pid_namespace()?;
        let (device, inode) = (device.to_ne_bytes(), inode.to_ne_bytes());
        let constants = HashMap::from([
            ("CALLS", (table.as_slice(), true)),
            ("PID_NAMESPACE_DEVICE", (device.as_slice(), true)),
            ("PID_NAMESPACE_INODE", (inode.as_slice(), true)),
        ]);
        let mut object = KernelObject::new(code, constants, ("events", ring_size()))?;
        let (jumps, _) = object.take_map("programs")?;
        let finish = object.load("finish")?;
        // The first of one element: its number is the descriptor.
        bpf::fill(jumps.as_fd(), &finish.as_raw_fd().to_ne_bytes())?;
        let attach = |(name, tracepoint)| object.attach(name, tracepoint);
        let programs = PROGRAMS.into_iter().map(attach).collect::<Result<Vec<_>, _>>()?;
        let (events, shape) = object.take_map("events")?;
        let ring = Ring::open(events.as_fd(), shape.entries)?;
        let kernel = Self {
            roots: object.take("roots")?,
            runs: object.take("runs")?,
            tracked: object.take("tracked")?,
            attentive_count: object.take(".bss")?,
            waiting: HashSet::new(),
            watching: HashSet::new(),
            _jumps: jumps,
            _programs: programs,
        };
        Ok((kernel, ring))
    }

    /// The process `pid` becomes the root of `run` when it next returns from a call of the table.
    pub(super) fn announce(&mut self, run: u32, pid: u32, watch_stdin: bool) -> Result<(), String> {
        let root = Root { run, watch_stdin: u32::from(watch_stdin) };
        let done = self
            .runs
            .insert(run, Run::default())
            .and_then(|()| self.roots.insert(pid, root))
            .and_then(|()| {
                self.waiting.insert(run);
                if watch_stdin {
                    self.watching.insert(run);
                }
                self.tell_attentive()
            });
        done.map_err(|error| format!("too many runs at once for the eBPF engine: {error}"))
    }

    /// The root of this run was adopted, or never will be.
    pub(super) fn no_longer_waits(&mut self, run: u32) {
        if self.waiting.remove(&run) {
            // A count that is too high costs time only.
            let _ = self.tell_attentive();
        }
    }

    fn tell_attentive(&self) -> io::Result<()> {
        let count = self.waiting.len() + self.watching.len();
        self.attentive_count.insert(0, count as u32)
    }

    /// How many records of this run were lost so far.
    pub(super) fn lost(&self, run: u32) -> u64 {
        // A run that cannot be asked for cannot be trusted either.
        self.runs.get(run).map_or(1, |state| state.lost)
    }

    /// Ends the run: what is still alive of its tree is no longer reported.
    pub(super) fn end(&mut self, run: u32, pid: u32) {
        self.waiting.remove(&run);
        self.watching.remove(&run);
        let _ = self.tell_attentive();
        // These may be gone already.
        let _ = self.roots.remove(pid);
        let live = self.runs.get(run).map_or(0, |state| state.live);
        // First the run, so that no further child of it is tracked.
        let _ = self.runs.remove(run);
        if live == 0 {
            return;
        }
        for thread in self.tracked.keys(MOST_TASKS) {
            if self.tracked.get(thread).is_ok_and(|task| task.run == run) {
                let _ = self.tracked.remove(thread);
            }
        }
    }
}

/// Device (as the kernel writes it) and inode of our own name space of process numbers.
fn own_pid_namespace() -> io::Result<(u64, u64)> {
    let metadata = fs::metadata("/proc/self/ns/pid")?;
    let (major, minor) = (libc::major(metadata.dev()), libc::minor(metadata.dev()));
    Ok((u64::from(major) << 20 | u64::from(minor), metadata.ino()))
}
