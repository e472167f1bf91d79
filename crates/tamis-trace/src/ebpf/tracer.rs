//! One loaded kernel side for all runs of this process, and the thread that empties its ring.
//!
//! The reader does as little as possible, because the kernel does not wait for it when the ring is full: it
//! copies each record into the queue of its run. Decoding is done by the thread that waits for the
//! run. Instead of being woken for every record, it looks at short intervals.

use super::kernel::Kernel;
use super::record::run_of;
use super::ring::Ring;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

/// The reader's interval while records come, and the longest while none do.
const SHORT_INTERVAL: Duration = Duration::from_millis(2);
const LONG_INTERVAL: Duration = Duration::from_millis(16);

#[derive(Debug)]
pub(super) struct Tracer {
    kernel: Mutex<Kernel>,
    shared: Arc<Shared>,
    next_run: AtomicU32,
    reader: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    ring: Mutex<Ring>,
    queues: Mutex<HashMap<u32, Arc<Queue>>>,
    ended: AtomicBool,
}

/// Records that wait to be decoded, each after its length (4 bytes).
#[derive(Debug)]
struct Queue {
    records: Mutex<Vec<u8>>,
    /// An eventfd: readable while there is something new.
    signal: OwnedFd,
}

/// A panic elsewhere does not make the data wrong: every change under these locks is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tracer {
    pub(super) fn load() -> Result<Self, String> {
        let (kernel, ring) = Kernel::load()?;
        let shared = Arc::new(Shared {
            ring: Mutex::new(ring),
            queues: Mutex::new(HashMap::new()),
            ended: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&shared);
        let reader = thread::Builder::new()
            .name("tamis-ebpf".to_owned())
            .spawn(move || theirs.read_on())
            .map_err(|error| format!("cannot start the reader of the eBPF ring: {error}"))?;
        Ok(Self {
            kernel: Mutex::new(kernel),
            shared,
            next_run: AtomicU32::new(1),
            reader: Some(reader),
        })
    }

    /// Starts to observe the tree whose root is the waiting process `pid`.
    pub(super) fn observe(
        self: &Arc<Self>,
        pid: u32,
        watch_stdin: bool,
    ) -> io::Result<Observation> {
        let run = self.next_run.fetch_add(1, Ordering::Relaxed);
        // SAFETY: a new descriptor, which we own.
        let signal = unsafe {
            match libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) {
                -1 => return Err(io::Error::last_os_error()),
                fd => OwnedFd::from_raw_fd(fd),
            }
        };
        let queue = Arc::new(Queue { records: Mutex::new(Vec::new()), signal });
        lock(&self.shared.queues).insert(run, Arc::clone(&queue));
        let observation = Observation { tracer: Arc::clone(self), run, pid, queue };
        lock(&self.kernel).announce(run, pid, watch_stdin).map_err(io::Error::other)?;
        self.wake_reader();
        Ok(observation)
    }

    fn wake_reader(&self) {
        if let Some(reader) = self.reader.as_ref().map(JoinHandle::thread) {
            Thread::unpark(reader);
        }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        self.wake_reader();
        if let Some(reader) = self.reader.take() {
            // The reader does not panic; if it did, there is nothing to add here.
            let _ = reader.join();
        }
    }
}

impl Shared {
    /// The life of the reader thread.
    fn read_on(&self) {
        let mut interval = SHORT_INTERVAL;
        while !self.ended.load(Ordering::Relaxed) {
            if lock(&self.queues).is_empty() {
                thread::park();
                interval = SHORT_INTERVAL;
                continue;
            }
            let any = self.distribute();
            interval = if any { SHORT_INTERVAL } else { (interval * 2).min(LONG_INTERVAL) };
            thread::park_timeout(interval);
        }
    }

    /// Moves everything that was submitted before this call into the queues. False when there was
    /// nothing.
    fn distribute(&self) -> bool {
        let mut ring = lock(&self.ring);
        let mut batch = Vec::new();
        let mut batch_run = 0;
        let mut any = false;
        ring.read(|record| {
            any = true;
            let run = run_of(record).unwrap_or(0);
            if run != batch_run {
                self.append(batch_run, &mut batch);
                batch_run = run;
            }
            batch.extend_from_slice(&(record.len() as u32).to_ne_bytes());
            batch.extend_from_slice(record);
        });
        self.append(batch_run, &mut batch);
        any
    }

    fn append(&self, run: u32, batch: &mut Vec<u8>) {
        if batch.is_empty() {
            return;
        }
        // Records of a run that has ended belong to no test.
        if let Some(queue) = lock(&self.queues).get(&run) {
            let mut records = lock(&queue.records);
            if records.is_empty() {
                std::mem::swap(&mut *records, batch);
            } else {
                records.extend_from_slice(batch);
            }
            drop(records);
            // SAFETY: adds one to our own eventfd; when it is full, it is readable anyway.
            unsafe { libc::eventfd_write(queue.signal.as_raw_fd(), 1) };
        }
        batch.clear();
    }
}

/// One run under observation; ends with this value.
#[derive(Debug)]
pub(super) struct Observation {
    tracer: Arc<Tracer>,
    run: u32,
    pid: u32,
    queue: Arc<Queue>,
}

impl Observation {
    /// For `poll`: readable when [`Observation::take`] has something.
    pub(super) fn descriptor(&self) -> RawFd {
        self.queue.signal.as_raw_fd()
    }

    /// The records that came since the last call, as [`records`] splits them.
    pub(super) fn take(&self) -> Vec<u8> {
        let mut count = 0;
        // SAFETY: resets our own eventfd.
        unsafe { libc::eventfd_read(self.queue.signal.as_raw_fd(), &raw mut count) };
        std::mem::take(&mut *lock(&self.queue.records))
    }

    /// All records that were submitted before this call.
    pub(super) fn take_all(&self) -> Vec<u8> {
        self.tracer.shared.distribute();
        self.take()
    }

    pub(super) fn root_was_adopted(&self) {
        lock(&self.tracer.kernel).no_longer_waits(self.run);
    }

    pub(super) fn lost(&self) -> u64 {
        lock(&self.tracer.kernel).lost(self.run)
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        lock(&self.tracer.kernel).end(self.run, self.pid);
        lock(&self.tracer.shared.queues).remove(&self.run);
    }
}

/// Splits what [`Observation::take`] returns.
pub(super) fn records(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (record, rest) = rest.split_at_checked(u32::from_ne_bytes(*length) as usize)?;
        bytes = rest;
        Some(record)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_split_as_they_were_joined() {
        let mut joined = Vec::new();
        for record in [&b"one"[..], b"", b"three"] {
            joined.extend_from_slice(&(record.len() as u32).to_ne_bytes());
            joined.extend_from_slice(record);
        }
        let split: Vec<&[u8]> = records(&joined).collect();
        assert_eq!(split, [&b"one"[..], b"", b"three"]);
        assert_eq!(records(&joined[..joined.len() - 1]).count(), 2);
    }
}
