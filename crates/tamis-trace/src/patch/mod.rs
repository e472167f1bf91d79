//! Seccomp notification with a log: most calls that only look are not stopped.
//!
//! A library of ours is loaded into the programs of the tree that can have it (see
//! [`eligible`]). It patches the C library of the process: calls that only look at files append a
//! record to a log in shared memory and then go on, from an address that the filter lets pass.
//! All other calls, and all calls of all other programs, stop as under [`crate::notify`]. What goes
//! wrong with the patch costs time and hides nothing.
//!
//! The order of events is that of the tree's changes: before a call that changes something goes on,
//! everything that is in the log has been handed on, so that the world is still as the reader found
//! it. While it is on its way, the others' reads are notified ([`changes`]). What somebody outside of
//! the tree changes between a read and our look shows by the file's time stamp
//! ([`Timing::Logged`](crate::Timing::Logged)).
//!
//! Not as good as notification: the program of a short-lived thread may not be known any more when
//! its records are read; `/proc/PID/environ` of a program ends with empty variables; the library shows
//! in the process's list of loaded ones.

mod changes;
mod eligible;
mod memory;
mod rings;
mod sites;

use crate::Engine;
use crate::command::{Command, Finish};
use crate::decode::Call;
use crate::event::{Action, Sink};
use crate::filter::{Exemption, Filter};
use crate::listener::{answer, respond};
use crate::notify::{self, Serve};
use crate::process::Process;
use crate::serve::Server;
use crate::stdin::StandardInput;
use crate::streams::Streams;
use crate::syscalls::NATIVE_ARCHITECTURE;
use changes::{Changes, only_looks};
use eligible::Eligible;
use memory::Memory;
use rings::Rings;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::RawFd;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tamis_patch::layout::{
    AFTER_SYSCALL, ASK_PRELOAD, ASK_RING_AFTER_FORK, ASK_RING_AT_START, GADGET_EXEMPT,
    GADGET_NOTIFIED, GADGET_QUESTION, Module, STATE_PAGE,
};

/// The library, as it was built with this program.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libtamis_patch.so"));

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub struct Patch;

/// Found once: it takes a look at the whole C library.
fn modules() -> &'static [Module] {
    static MODULES: OnceLock<Vec<Module>> = OnceLock::new();
    MODULES.get_or_init(sites::modules)
}

impl Patch {
    /// Whether it can work here, or why not: runs a small program under it, once.
    pub fn available() -> Result<(), String> {
        static TRIED: OnceLock<Result<(), String>> = OnceLock::new();
        TRIED.get_or_init(try_out).clone()
    }
}

fn try_out() -> Result<(), String> {
    crate::probe::notify()?;
    if modules().is_empty() {
        return Err(
            "this tamis does not run with a GNU C library that it could patch; the notify \
             engine needs none"
                .to_owned(),
        );
    }
    // The shell looks for what it starts, and looks at what it is asked about.
    let probe = "/tamis-patch-probe";
    let null = || File::options().read(true).write(true).open("/dev/null").ok().map(Into::into);
    let command = Command {
        words: ["/bin/sh", "-c", &format!("test -e {probe}")].map(OsString::from).to_vec(),
        folder: "/".into(),
        environment: Vec::new(),
        stdin: null(),
        stdout: null(),
        stderr: null(),
        timeout: Some(Duration::from_secs(10)),
        stand_for_ours: [false; 3],
        watch_stdin: false,
    };
    let mut logged = false;
    let mut sink = |event: crate::Event<'_>| {
        logged |= matches!(event.timing, crate::Timing::Logged { .. })
            && matches!(&event.action, Action::Stat { path, .. } if **path == *probe.as_bytes());
    };
    let ran = Patch.run(command, &mut sink, &AtomicBool::new(false));
    match ran {
        Ok(Finish { ending: crate::Ending::Exited(1), .. }) if logged => Ok(()),
        Ok(_) => {
            Err("the C library of /bin/sh cannot be patched; the notify engine needs no patch"
                .to_owned())
        }
        Err(error) => Err(format!("{error}; the notify engine needs no shared memory")),
    }
}

impl Engine for Patch {
    fn name(&self) -> &'static str {
        "patch"
    }

    fn run(
        &self,
        mut command: Command,
        sink: &mut dyn Sink,
        stop: &AtomicBool,
    ) -> io::Result<Finish> {
        let memory = Memory::new(LIBRARY, modules())?;
        let exempt = memory.base() + (GADGET_EXEMPT + AFTER_SYSCALL) as u64;
        let exemption =
            Exemption { instruction_pointer: exempt, numbers: sites::exempt().collect() };
        let filter = Filter::with_exemption(command.watch_stdin, &exemption);
        let mut eligible = Eligible::default();
        let environment = std::mem::take(&mut command.environment);
        command.environment =
            eligible.environment(&command.words, &command.folder, environment, &memory.path());
        let (stdin, streams) = (StandardInput::of(&command)?, Streams::of(&command));
        let mut patched = Patched {
            server: Server { stdin, streams, sink },
            memory,
            rings: Rings::new(),
            changes: Changes::default(),
            eligible,
        };
        notify::listen(command, filter, &mut patched, stop)
    }
}

struct Patched<'a> {
    server: Server<'a>,
    memory: Memory,
    rings: Rings,
    changes: Changes,
    eligible: Eligible,
}

impl Patched<'_> {
    fn drain(&mut self) {
        self.rings.drain(&self.memory, self.server.sink);
    }

    fn question(&mut self, thread: u32, arguments: &[u64; 6]) -> i64 {
        let [question, first, second, ..] = *arguments;
        match question {
            ASK_RING_AT_START | ASK_RING_AFTER_FORK => {
                self.rings.claim(&mut self.memory, question, thread, first)
            }
            ASK_PRELOAD => self.eligible.answer(Process { thread }, first, second),
            _ => -i64::from(libc::EINVAL),
        }
    }
}

impl Serve for Patched<'_> {
    fn serve(&mut self, listener: RawFd, notification: &libc::seccomp_notif) -> io::Result<()> {
        let (thread, data) = (notification.pid, &notification.data);
        let call = Call { number: i64::from(data.nr), arguments: data.args };
        let at = |gadget: usize| {
            data.instruction_pointer == self.memory.base() + (gadget + AFTER_SYSCALL) as u64
        };
        let (asks, put_off) = (at(GADGET_QUESTION), at(GADGET_NOTIFIED));
        let native = data.arch == NATIVE_ARCHITECTURE;
        self.changes.heard(self.memory.header(), thread);
        let looks = native && (asks || only_looks(&call));
        if !looks {
            self.changes.announce(self.memory.header(), thread, &call);
        } else if put_off {
            self.changes.look(self.memory.header());
        }
        self.drain();
        if asks && native {
            let value = self.question(thread, &data.args);
            return answer(listener, notification.id, value);
        }
        if native && own_filter(&call) {
            // Where the library is not, there is nothing to write to.
            Process { thread }.write(self.memory.base() + STATE_PAGE as u64, 1);
            if !asks_for_listener(&call) {
                return respond(listener, notification.id);
            }
        }
        self.server.call(thread, data.arch, &call);
        respond(listener, notification.id)
    }

    fn meanwhile(&mut self) {
        self.drain();
    }
}

/// Whether the call installs a filter of the test's own.
fn own_filter(call: &Call) -> bool {
    matches!(call.number, libc::SYS_seccomp | libc::SYS_prctl)
}

fn asks_for_listener(call: &Call) -> bool {
    const NEW_LISTENER: u64 = 1 << 3;
    call.number == libc::SYS_seccomp && call.arguments[1] & NEW_LISTENER != 0
}
