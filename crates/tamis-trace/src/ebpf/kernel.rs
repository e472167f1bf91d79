//! The loaded kernel side: its programs, attached, and its maps.

use super::PROGRAM;
use super::ring::Ring;
use super::table::Table;
use aya::maps::{Array, HashMap, Map, MapData, MapError, ProgramArray};
use aya::programs::{ProgramError, RawTracePoint};
use aya::{Ebpf, EbpfError, EbpfLoader, Pod};
use std::collections::HashSet;
use std::error::Error;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::{fmt, fs};

/// Programs and the tracepoints they sit on. The tree comes first: no call may be seen of a task
/// whose fork was not.
const PROGRAMS: [(&str, &str); 5] = [
    ("on_fork", "sched_process_fork"),
    ("on_exit", "sched_process_exit"),
    ("on_exec", "sched_process_exec"),
    ("on_entry", "sys_enter"),
    ("on_return", "sys_exit"),
];

/// Room for about 150,000 records between two looks of the reader.
const RING_SIZE: u32 = 16 * 1024 * 1024;

/// `struct root` in shared.h.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
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
#[derive(Debug, Clone, Copy)]
struct Tracked {
    run: u32,
    flags: u32,
    stdin_inode: u64,
}

// SAFETY: plain numbers without padding.
unsafe impl Pod for Root {}
// SAFETY: plain numbers without padding.
unsafe impl Pod for Run {}
// SAFETY: plain numbers without padding.
unsafe impl Pod for Tracked {}

pub(super) struct Kernel {
    // Detached and unloaded when dropped.
    _programs: Ebpf,
    // Emptied by the kernel when the last descriptor of it is closed.
    _jumps: ProgramArray<MapData>,
    roots: HashMap<MapData, u32, Root>,
    runs: HashMap<MapData, u32, Run>,
    tracked: HashMap<MapData, u32, Tracked>,
    attentive_count: Array<MapData, u32>,
    /// Runs whose root has not been adopted yet.
    waiting: HashSet<u32>,
    /// Runs that watch their standard input.
    watching: HashSet<u32>,
}

// Not every map type of the loader can be printed.
impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl Kernel {
    /// Loads and attaches the kernel side.
    pub(super) fn load() -> Result<(Self, Ring), String> {
        let program = PROGRAM.map_err(str::to_owned)?;
        Self::load_object(program).map_err(|error| explain(&error))
    }

    fn load_object(code: &[u8]) -> Result<(Self, Ring), LoadError> {
        let table = Table::new().to_bytes();
        let (device, inode) = own_pid_namespace()?;
        let mut object = EbpfLoader::new()
            .override_global("CALLS", table.as_slice(), true)
            .override_global("PID_NAMESPACE_DEVICE", &device, true)
            .override_global("PID_NAMESPACE_INODE", &inode, true)
            .map_max_entries("events", RING_SIZE)
            .load(code)?;
        let mut jumps = ProgramArray::try_from(take_map(&mut object, "programs")?)?;
        let finish = program(&mut object, "finish")?;
        finish.load()?;
        jumps.set(0, finish.fd()?, 0)?;
        for (name, tracepoint) in PROGRAMS {
            let program = program(&mut object, name)?;
            program.load()?;
            program.attach(tracepoint)?;
        }
        let mut map = |name| take_map(&mut object, name);
        let Map::RingBuf(events) = map("events")? else {
            return Err(LoadError::Missing("events"));
        };
        let ring = Ring::open(events.fd().as_fd(), RING_SIZE)?;
        let kernel = Self {
            roots: HashMap::try_from(map("roots")?)?,
            runs: HashMap::try_from(map("runs")?)?,
            tracked: HashMap::try_from(map("tracked")?)?,
            attentive_count: Array::try_from(map(".bss")?)?,
            waiting: HashSet::new(),
            watching: HashSet::new(),
            _jumps: jumps,
            _programs: object,
        };
        Ok((kernel, ring))
    }

    /// The process `pid` becomes the root of `run` when it next returns from a call of the table.
    pub(super) fn announce(&mut self, run: u32, pid: u32, watch_stdin: bool) -> Result<(), String> {
        let root = Root { run, watch_stdin: u32::from(watch_stdin) };
        let done = self
            .runs
            .insert(run, Run::default(), 0)
            .and_then(|()| self.roots.insert(pid, root, 0))
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

    fn tell_attentive(&mut self) -> Result<(), MapError> {
        let count = self.waiting.len() + self.watching.len();
        self.attentive_count.set(0, count as u32, 0)
    }

    /// How many records of this run were lost so far.
    pub(super) fn lost(&self, run: u32) -> u64 {
        // A run that cannot be asked for cannot be trusted either.
        self.runs.get(&run, 0).map_or(1, |state| state.lost)
    }

    /// Ends the run: what is still alive of its tree is no longer reported.
    pub(super) fn end(&mut self, run: u32, pid: u32) {
        self.waiting.remove(&run);
        self.watching.remove(&run);
        let _ = self.tell_attentive();
        // These may be gone already.
        let _ = self.roots.remove(&pid);
        let live = self.runs.get(&run, 0).map_or(0, |state| state.live);
        // First the run, so that no further child of it is tracked.
        let _ = self.runs.remove(&run);
        if live == 0 {
            return;
        }
        let left: Vec<u32> = self
            .tracked
            .iter()
            .filter_map(Result::ok)
            .filter(|(_, task)| task.run == run)
            .map(|(thread, _)| thread)
            .collect();
        for thread in left {
            let _ = self.tracked.remove(&thread);
        }
    }
}

fn program<'a>(
    object: &'a mut Ebpf,
    name: &'static str,
) -> Result<&'a mut RawTracePoint, LoadError> {
    Ok(object.program_mut(name).ok_or(LoadError::Missing(name))?.try_into()?)
}

fn take_map(object: &mut Ebpf, name: &'static str) -> Result<Map, LoadError> {
    object.take_map(name).ok_or(LoadError::Missing(name))
}

/// Device (as the kernel writes it) and inode of our own name space of process numbers.
fn own_pid_namespace() -> std::io::Result<(u64, u64)> {
    let metadata = fs::metadata("/proc/self/ns/pid")?;
    let (major, minor) = (libc::major(metadata.dev()), libc::minor(metadata.dev()));
    Ok((u64::from(major) << 20 | u64::from(minor), metadata.ino()))
}

#[derive(Debug)]
enum LoadError {
    Missing(&'static str),
    Object(EbpfError),
    Program(ProgramError),
    Map(MapError),
    Io(std::io::Error),
}

impl From<EbpfError> for LoadError {
    fn from(error: EbpfError) -> Self {
        Self::Object(error)
    }
}

impl From<ProgramError> for LoadError {
    fn from(error: ProgramError) -> Self {
        Self::Program(error)
    }
}

impl From<MapError> for LoadError {
    fn from(error: MapError) -> Self {
        Self::Map(error)
    }
}

impl From<std::io::Error> for LoadError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// One line a user can act on.
fn explain(error: &LoadError) -> String {
    let error: &dyn Error = match error {
        LoadError::Missing(name) => return format!("the eBPF program lacks its part {name}"),
        // The verifier's log is long; its last lines say what is wrong.
        LoadError::Program(ProgramError::LoadError { io_error, verifier_log }) => {
            let log = verifier_log.to_string();
            let mut last: Vec<&str> = log.lines().rev().take(4).collect();
            last.reverse();
            return format!(
                "the kernel refused the eBPF program ({io_error}): {}",
                last.join("; ")
            );
        }
        LoadError::Object(error) => error,
        LoadError::Program(error) => error,
        LoadError::Map(error) => error,
        LoadError::Io(error) => error,
    };
    let mut text = format!("cannot load the eBPF program: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
