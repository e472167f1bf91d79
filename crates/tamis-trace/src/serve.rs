//! What happens to a call that stopped at its entry, the same for every engine that stops them.

use crate::decode::{Asked, Call, decode};
use crate::event::{Action, Blind, Event, Sink, StreamFacet, Timing};
use crate::io_uring;
use crate::process::Process;
use crate::stdin::StandardInput;
use crate::streams::Streams;
use crate::syscalls::{NATIVE_ARCHITECTURE, X32};

pub(crate) struct Server<'a> {
    pub(crate) stdin: StandardInput,
    pub(crate) streams: Streams,
    pub(crate) sink: &'a mut dyn Sink,
}

impl Server<'_> {
    /// Reports the call.
    pub(crate) fn call(&mut self, thread: u32, architecture: u32, call: &Call) {
        let process = Process { thread };
        if architecture != NATIVE_ARCHITECTURE || call.number as u32 >= X32 {
            self.report(thread, Action::Blind(Blind::ForeignArchitecture));
        } else if call.number == libc::SYS_io_uring_setup {
            if io_uring::works() {
                self.report(thread, Action::Blind(Blind::IoUring));
            }
        } else {
            let (actions, asked) = decode(call, process);
            if let Some(stream) = asked.and_then(|asked| self.stream(asked, process)) {
                self.report(thread, stream);
            }
            for action in actions {
                if action == Action::Blind(Blind::StandardInput) && !self.stdin.is_behind(process) {
                    continue;
                }
                self.report(thread, action);
            }
        }
    }

    /// What the call asks about a standard stream.
    fn stream(&self, asked: Asked, process: Process) -> Option<Action<'static>> {
        let (number, facet) = match asked {
            Asked::Descriptor(n) => (self.streams.behind(process, n)?, StreamFacet::Terminal),
            Asked::Name(n) => (self.streams.behind(process, n as i32)?, StreamFacet::Kind),
        };
        Some(Action::Stream { number, facet })
    }

    fn report(&mut self, thread: u32, action: Action<'_>) {
        self.sink.event(Event { thread, timing: Timing::Before, action });
    }
}
