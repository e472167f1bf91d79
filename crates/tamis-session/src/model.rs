//! A command while it runs, as its front end models it.

use crate::command::{Invocation, Start};
use crate::ledger::Ledger;
use crate::session::Session;
use anyhow::Result;
use std::fmt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use tamis_observe::{CoveredPaths, WindowEnded};
use tamis_wire::{FromProcess, Hello};

/// What a model may use.
#[derive(Debug)]
pub struct Services<'s, 'e> {
    pub ledger: &'s mut Ledger<'e>,
    pub session: &'s Session,
    /// Whether the command ended with success; `None` before its end.
    pub passed: Option<bool>,
    listen: Listen<'s>,
}

type Listener<'s> = &'s dyn Fn(usize) -> Result<PathBuf>;

struct Listen<'s>(Listener<'s>);

impl fmt::Debug for Listen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listen")
    }
}

impl<'s, 'e> Services<'s, 'e> {
    pub(crate) fn new(
        ledger: &'s mut Ledger<'e>,
        session: &'s Session,
        listen: Listener<'s>,
    ) -> Self {
        Self { ledger, session, passed: None, listen: Listen(listen) }
    }

    pub(crate) fn after(mut self, passed: Option<bool>) -> Self {
        self.passed = passed;
        self
    }

    /// Makes one more socket; processes that connect to it come with this channel.
    pub fn listen(&self, channel: usize) -> Result<PathBuf> {
        (self.listen.0)(channel)
    }
}

/// A command while it runs. One thread calls it, in the order of what is reported.
pub trait Model: Send {
    /// Before the command starts.
    fn prepare(
        &mut self,
        services: &mut Services<'_, '_>,
        invocation: &mut Invocation,
    ) -> Result<Start>;

    /// What its processes report in more detail than the tracer.
    fn covered(&self) -> Arc<dyn CoveredPaths + Send + Sync>;

    /// A process connected; `channel` is the socket that it came by, `None` for the first one.
    fn connected(
        &mut self,
        services: &mut Services<'_, '_>,
        channel: Option<usize>,
        hello: Hello,
        answers: UnixStream,
    );

    fn message(&mut self, services: &mut Services<'_, '_>, pid: u32, message: FromProcess);

    /// A process that had connected is gone.
    fn gone(&mut self, services: &mut Services<'_, '_>, pid: u32);

    /// The tracer saw the end of a window.
    fn window(&mut self, services: &mut Services<'_, '_>, window: WindowEnded);

    /// Nothing was reported for a while: what waits can be handed over.
    fn idle(&mut self, _: &mut Services<'_, '_>) {}

    /// Everything was reported.
    fn finish(self: Box<Self>, services: &mut Services<'_, '_>);
}
