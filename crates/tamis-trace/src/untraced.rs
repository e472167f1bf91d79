//! No observation at all: the command runs at full speed. Time-outs, interruptions and what is left
//! running are handled as by the other engines. A run under it proves nothing.

use crate::Engine;
use crate::command::{Command, Finish};
use crate::event::Sink;
use crate::lifetime::Lifetime;
use crate::shepherd::Shepherd;
use std::io;
use std::sync::atomic::AtomicBool;

/// See the module's head. Never chosen by itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Untraced;

impl Engine for Untraced {
    fn name(&self) -> &'static str {
        "none"
    }

    fn observes(&self) -> bool {
        false
    }

    fn run(&self, command: Command, _: &mut dyn Sink, stop: &AtomicBool) -> io::Result<Finish> {
        let shepherd = Shepherd::start(&command, None)?;
        let mut lifetime = Lifetime::new(shepherd, command.timeout, stop);
        drop((command.stdin, command.stdout, command.stderr));
        lifetime.go()?;
        while lifetime.wait(&mut [])? {}
        Ok(lifetime.finish())
    }
}
