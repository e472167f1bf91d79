//! What happens to a call that stopped at its entry, the same for every engine that stops them.

use crate::decode::{Call, decode};
use crate::event::{Action, Blind, Event, Sink, Timing};
use crate::filter::{NATIVE_ARCHITECTURE, X32};
use crate::process::Process;
use crate::stdin::StandardInput;

pub(crate) struct Server<'a> {
    pub(crate) stdin: StandardInput,
    pub(crate) sink: &'a mut dyn Sink,
}

impl Server<'_> {
    /// Reports the call. Returns the (negative) error with which it is to fail, or 0.
    pub(crate) fn call(&mut self, thread: u32, architecture: u32, call: &Call) -> i32 {
        let process = Process { thread };
        if architecture != NATIVE_ARCHITECTURE || call.number as u32 >= X32 {
            self.report(thread, Action::Blind(Blind::ForeignArchitecture));
        } else if call.number == libc::SYS_io_uring_setup {
            return -libc::ENOSYS;
        } else {
            for action in decode(call, process) {
                if action == Action::Blind(Blind::StandardInput) && !self.stdin.is_behind(process) {
                    continue;
                }
                self.report(thread, action);
            }
        }
        0
    }

    fn report(&mut self, thread: u32, action: Action<'_>) {
        self.sink.event(Event { thread, timing: Timing::Before, action });
    }
}
