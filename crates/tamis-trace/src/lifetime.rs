//! The course of a run, the same for every engine: go, events, end of the command, end of the tree;
//! time-outs and the user's stop in between.

use crate::command::{Ending, Finish};
use crate::shepherd::{Message, Shepherd};
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the rest of the tree may take to end after the command itself has ended.
const GRACE: Duration = Duration::from_millis(1500);
/// How long processes may take to end after SIGTERM.
const TERMINATION: Duration = Duration::from_secs(3);
/// How often the user's wish to stop is looked at.
const TICK: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Lifetime<'a> {
    shepherd: Option<Shepherd>,
    stop: &'a AtomicBool,
    started: Instant,
    next_tick: Instant,
    deadline: Option<Instant>,
    /// When to kill what did not end after SIGTERM.
    kill_at: Option<Instant>,
    ends_survivors: bool,
    end: End,
}

/// What is known of the end so far.
#[derive(Debug, Default)]
struct End {
    /// How the command itself ended.
    ending: Option<Ending>,
    /// When it ended.
    at: Option<Instant>,
    /// Why we end the tree before its time.
    forced: Option<Ending>,
    cpu: Duration,
    /// The programs that outlive the command.
    left_running: Vec<String>,
    /// The whole tree has ended.
    all_gone: bool,
}

impl<'a> Lifetime<'a> {
    pub(crate) fn new(shepherd: Shepherd, timeout: Option<Duration>, stop: &'a AtomicBool) -> Self {
        let started = Instant::now();
        Self {
            shepherd: Some(shepherd),
            stop,
            started,
            next_tick: started,
            deadline: timeout.map(|t| started + t),
            kill_at: None,
            ends_survivors: false,
            end: End::default(),
        }
    }

    /// Processes that outlive the command are ended: they could not go on without the engine.
    pub(crate) fn ending_survivors(mut self) -> Self {
        self.ends_survivors = true;
        self
    }

    pub(crate) fn shepherd(&self) -> &Shepherd {
        self.shepherd.as_ref().expect("present until finish")
    }

    pub(crate) fn go(&mut self) -> io::Result<()> {
        self.started = Instant::now();
        self.shepherd().go()
    }

    /// Waits until one of the descriptors has something (true) or the run is over (false).
    pub(crate) fn wait(&mut self, descriptors: &mut [RawFd]) -> io::Result<bool> {
        self.wait_doing(descriptors, &mut || {})
    }

    /// The same, doing something else every now and then.
    pub(crate) fn wait_doing(
        &mut self,
        descriptors: &mut [RawFd],
        meanwhile: &mut dyn FnMut(),
    ) -> io::Result<bool> {
        loop {
            meanwhile();
            let mut fds: Vec<libc::pollfd> = descriptors
                .iter()
                .chain([&if self.end.all_gone { -1 } else { self.shepherd().descriptor() }])
                .map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 })
                .collect();
            let timeout = if self.end.all_gone { 0 } else { TICK.as_millis() as i32 };
            // SAFETY: polls live descriptors.
            let got = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout) };
            if got < 0 {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            let (own, events) = fds.split_last().expect("at least the shepherd's");
            let ready = events.iter().any(|fd| fd.revents & libc::POLLIN != 0);
            // A tree that always has something to serve must not keep us from the clock.
            let due = self.next_tick <= Instant::now();
            if !ready && self.end.all_gone {
                return Ok(false);
            }
            if !self.end.all_gone && (!ready || due) {
                self.next_tick = Instant::now() + TICK;
                if own.revents != 0 {
                    self.hear()?;
                }
                if self.tick() {
                    return Ok(false);
                }
            }
            if ready {
                return Ok(true);
            }
        }
    }

    fn hear(&mut self) -> io::Result<()> {
        while let Some(message) = self.shepherd().message()? {
            match message {
                Message::Ended(ending) => {
                    self.end.ending = Some(ending);
                    self.end.at = Some(Instant::now());
                }
                Message::AllGone { cpu } => {
                    self.end.cpu = cpu;
                    self.end.all_gone = true;
                    self.end.at.get_or_insert_with(Instant::now);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Time-outs, stops and left-over processes. True when the rest of the tree is left alone.
    fn tick(&mut self) -> bool {
        let now = Instant::now();
        if let Some(at) = self.kill_at {
            if now >= at {
                self.shepherd().kill();
                self.kill_at = Some(now + TERMINATION);
            }
            return false;
        }
        if self.end.at.is_none() {
            let forced = if self.stop.load(Ordering::Relaxed) {
                Some(Ending::Interrupted)
            } else if self.deadline.is_some_and(|d| now >= d) {
                Some(Ending::TimedOut)
            } else {
                None
            };
            if forced.is_some() {
                self.end.forced = forced;
                self.shepherd().terminate();
                self.kill_at = Some(now + TERMINATION);
            }
            return false;
        }
        if !self.end.all_gone && self.end.at.is_some_and(|e| now >= e + GRACE) {
            self.end.left_running = self.shepherd().running();
            if self.end.left_running.is_empty() {
                return false;
            }
            if !self.ends_survivors {
                return true;
            }
            self.shepherd().terminate();
            self.kill_at = Some(now + TERMINATION);
        }
        false
    }

    /// The run's result. Processes that go on are handed to the shepherd.
    pub(crate) fn finish(mut self) -> Finish {
        let shepherd = self.shepherd.take().expect("present until finish");
        let no_new_privileges = shepherd.no_new_privileges;
        if self.end.left_running.is_empty() || self.ends_survivors {
            drop(shepherd);
        } else {
            shepherd.keep();
        }
        // Stopped by the terminal's own signal counts as stopped, too.
        let interrupted = self.stop.load(Ordering::Relaxed)
            && matches!(self.end.ending, Some(Ending::Signalled(_)) | None);
        Finish {
            ending: self
                .end
                .forced
                .or(interrupted.then_some(Ending::Interrupted))
                .or(self.end.ending)
                .unwrap_or(Ending::Signalled(libc::SIGKILL)),
            wall: self.end.at.unwrap_or_else(Instant::now) - self.started,
            cpu: self.end.cpu,
            left_running: self.end.left_running,
            no_new_privileges,
        }
    }
}
