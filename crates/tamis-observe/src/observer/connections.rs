//! What the tree asks that is not about a path: places to connect to, and its standard streams.

use super::{Observer, Wish};
use crate::entry::Change;
use crate::facts::Fact;
use crate::moment::Act;
use crate::network::{Caller, Meaning, is_harmless};
use tamis_core::record::Access;
use tamis_trace::{Peer, Socket, StreamFacet};

impl<'a> Observer<'a> {
    pub(crate) fn connect(&mut self, peer: Peer, socket: Socket, act: Act) {
        let peer = match peer {
            Peer::Unix(path) => match self.foreign_socket(&path, act) {
                Some(path) => Peer::Unix(path),
                None => return,
            },
            other => other,
        };
        let caller = self.caller(socket, act);
        let meaning = self.network.connects(&peer, caller, self.programs.threads());
        self.means(meaning);
    }

    pub(crate) fn bind(&mut self, peer: &Peer, socket: Socket, act: Act) {
        let caller = self.caller(socket, act);
        self.network.binds(peer, caller, self.programs.threads());
    }

    fn caller(&self, socket: Socket, act: Act) -> Caller<'a> {
        let services = self.context.services;
        Caller { services, socket, thread: act.thread, program: act.program, timing: act.timing }
    }

    pub(crate) fn means(&mut self, meaning: Meaning) {
        match meaning {
            Meaning::Nothing => {}
            Meaning::Note(note) => {
                self.notes.insert(note);
            }
            Meaning::Taint(taint) => {
                self.taints.insert(taint);
            }
        }
    }

    /// Asks what is at the path of a Unix socket. The resolved path, unless the tree made what is
    /// there, or it is none that counts.
    fn foreign_socket(&mut self, path: &[u8], act: Act) -> Option<Vec<u8>> {
        let path = self.resolve(path, true, act)?;
        self.ask(&path, Wish::Kind, Access::STAT, act);
        let own = self.look(&path, act).change == Change::Replaced;
        (!own && !is_harmless(&path)).then_some(path)
    }

    /// What a standard stream is that the run shares with us.
    pub(crate) fn stream(&mut self, number: u32, facet: StreamFacet, program: usize) {
        let fact = match facet {
            StreamFacet::Terminal => Fact::Terminal(number),
            StreamFacet::Kind => Fact::Stream(number),
        };
        self.streams.entry(fact).or_insert(program);
    }

    /// Whether there is a terminal, if that is what is opened. bash opens it at its start, to see
    /// whether it can control jobs.
    pub(crate) fn console(&mut self, path: &[u8], program: usize) {
        if path == b"/dev/tty" && !self.programs.name(program).ends_with("/bash") {
            self.streams.entry(Fact::Console).or_insert(program);
        }
    }
}
