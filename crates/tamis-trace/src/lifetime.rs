//! The course of a run, the same for every engine: go, events, end of the command, end of the tree;
//! time-outs and the user's stop in between.
//!
//! A stop ends the whole tree, also what has a session of its own and what the command has left
//! behind while tamis still waits for it: nothing that a test began is there afterwards. Where the
//! signal reached the tree as well (Ctrl-C in a terminal), the tree has a moment to end in its own
//! way; then come SIGTERM and SIGKILL, the latter at once if the user asks a second time. A process
//! that outlives a command which *ended* goes on.

use crate::command::{Ending, Finish};
use crate::shepherd::{Message, Shepherd};
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the rest of the tree may take to end after the command itself has ended.
const GRACE: Duration = Duration::from_millis(1500);
/// How long a tree that got the terminal's own signal may take before it gets SIGTERM.
const OWN_WAY: Duration = Duration::from_secs(1);
/// How long processes may take to end after SIGTERM.
const TERMINATION: Duration = Duration::from_secs(3);
/// A second wish to stop within this time is the first one on another way: a tool that starts tamis
/// hands on the signal that the terminal has sent already.
const SAME_WISH: Duration = Duration::from_millis(300);
/// How often the user's wish to stop is looked at.
const TICK: Duration = Duration::from_millis(50);

/// Whether what is being stopped is to be killed.
static HURRY: AtomicBool = AtomicBool::new(false);

/// The user asked a second time to stop: all runs that are being stopped are killed now. May be called
/// from a signal handler.
pub fn hurry() {
    HURRY.store(true, Ordering::Relaxed);
}

#[derive(Debug)]
pub(crate) struct Lifetime<'a> {
    shepherd: Option<Shepherd>,
    stop: &'a AtomicBool,
    started: Instant,
    next_tick: Instant,
    deadline: Option<Instant>,
    ending_tree: Option<EndingTree>,
    ends_survivors: bool,
    end: End,
}

/// The tree is being ended before its time.
#[derive(Debug, Clone, Copy)]
struct EndingTree {
    since: Instant,
    next: Step,
    /// When the next step is due.
    at: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Terminate,
    Kill,
}

/// What is known of the end so far.
#[derive(Debug, Default)]
struct End {
    /// How the command itself ended.
    ending: Option<Ending>,
    /// When it ended.
    at: Option<Instant>,
    /// A signal of the terminal reached the tree before the command ended.
    signalled: bool,
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
            ending_tree: None,
            ends_survivors: false,
            end: End::default(),
        }
    }

    /// Processes that outlive the command are ended: they could not go on without the engine.
    pub(crate) fn end_survivors(&mut self) {
        self.ends_survivors = true;
    }

    /// Whether the run is over and processes of it go on.
    pub(crate) fn leaves_some_running(&self) -> bool {
        !self.end.left_running.is_empty() && self.end.forced.is_none() && !self.end.all_gone
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
                Message::Ended { ending, signalled } => {
                    self.end.ending = Some(ending);
                    self.end.signalled = signalled;
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
        if let Some(ending) = self.ending_tree {
            self.go_on_ending(ending, now);
            return false;
        }
        if let Some(forced) = self.forced(now) {
            self.end.forced = Some(forced);
            let own_way = forced == Ending::Interrupted && self.shepherd().was_signalled();
            self.end_tree(now, if own_way { OWN_WAY } else { Duration::ZERO });
            return false;
        }
        if self.end.at.is_none_or(|e| now < e + GRACE) {
            return false;
        }
        self.end.left_running = self.shepherd().running();
        if self.end.left_running.is_empty() {
            return false;
        }
        if self.ends_survivors {
            self.end_tree(now, Duration::ZERO);
        }
        !self.ends_survivors
    }

    /// Why the tree has to end now.
    fn forced(&self, now: Instant) -> Option<Ending> {
        if self.stop.load(Ordering::Relaxed) || self.end.signalled {
            return Some(Ending::Interrupted);
        }
        let late = self.end.at.is_none() && self.deadline.is_some_and(|d| now >= d);
        late.then_some(Ending::TimedOut)
    }

    /// Begins to end the tree, after a moment in which it may do so itself.
    fn end_tree(&mut self, now: Instant, own_way: Duration) {
        let ending = EndingTree { since: now, next: Step::Terminate, at: now + own_way };
        self.ending_tree = Some(ending);
        self.go_on_ending(ending, now);
    }

    fn go_on_ending(&mut self, mut ending: EndingTree, now: Instant) {
        if HURRY.load(Ordering::Relaxed) && now >= ending.since + SAME_WISH {
            ending.next = Step::Kill;
        } else if now < ending.at {
            return;
        }
        match ending.next {
            Step::Terminate => self.shepherd().terminate(),
            Step::Kill => self.shepherd().kill(),
        }
        // Killed again and again, since a process may just have started another one.
        self.ending_tree = Some(EndingTree { next: Step::Kill, at: now + TERMINATION, ..ending });
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
        // Stopped by the terminal's own signal counts as stopped, too, however the command took it:
        // one that then ends with success has not done all that it is there for.
        let stopped = self.stop.load(Ordering::Relaxed)
            && matches!(self.end.ending, Some(Ending::Signalled(_)) | None);
        let interrupted = stopped || self.end.signalled;
        Finish {
            ending: self
                .end
                .forced
                .or(interrupted.then_some(Ending::Interrupted))
                .or(self.end.ending)
                .unwrap_or(Ending::Signalled(libc::SIGKILL)),
            wall: self.end.at.unwrap_or_else(Instant::now) - self.started,
            cpu: self.end.cpu,
            ended_survivors: self.ends_survivors && !self.end.left_running.is_empty(),
            left_running: self.end.left_running,
            no_new_privileges,
        }
    }
}
