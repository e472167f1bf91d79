//! Observes a whole run and, apart from each other, the units of tests that run inside its processes.
//!
//! A process that opens a file of ours (an agent's library, the wrapper of a runner) is a *host*: by
//! *marks* in the stream of events it says which of its units begin and end. What a host and the
//! processes that it started do belongs to the units that are open in it; with none open, to the time
//! *outside* of units, which counts for every later unit of that host. Each window has an observer of
//! its own, so a file that one unit wrote and another one reads is an input of the reader.
//!
//! What a host reports itself in more detail is *covered* ([`CoveredPaths`]): the tracer's view of such
//! files is left out for the host itself, but how often each was opened can be counted, because who reads
//! one in another way than the host reports depends on its bytes. What processes that the host started
//! do counts as any program's. A process below an open unit is never a host; if it has the agent, it is
//! a *child*: what it reads of counted files is observed apart in the units that were open when it
//! began, and the listener decides, from what its agent reported.
//!
//! A host may read files before it is known whether they are covered. Outside of units these are
//! observed apart, and the listener decides.
//!
//! A host can also say that what it did so far is nothing to its units: a build tool does other work
//! before it runs tests in its own process.
//!
//! A process whose parents are gone may belong to any unit: it counts for all that are open.

use crate::observer::{Context, Observations, Observer};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::mpsc::Sender;
use tamis_core::{Mark, Taint};
use tamis_trace::proc::{family, is_alive};
use tamis_trace::{Action, Blind, Event, Peer, Sink, Timing};

/// How a host reports about a file that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cover {
    /// Not at all: what the tracer sees counts.
    None,
    /// It may: that is not known yet.
    Undecided,
    /// In more detail than the tracer.
    Covered,
    /// In more detail, if it read it in its usual way: how often it was opened is counted.
    Counted,
}

/// What hosts report themselves.
pub trait CoveredPaths: Sync {
    fn cover(&self, path: &[u8]) -> Cover;
}

/// How the hosts of one run are recognised.
#[derive(Clone, Copy)]
pub struct Marks<'a> {
    /// Stands in every mark of this run.
    pub token: &'a str,
    /// Who opens this file is a host.
    pub library: &'a [u8],
    /// Where our sockets are: talking to them is no business of a test.
    pub folder: &'a [u8],
    pub covered: &'a dyn CoveredPaths,
}

impl std::fmt::Debug for Marks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Marks").field("token", &self.token).finish_non_exhaustive()
    }
}

/// A window that ended.
#[derive(Debug)]
pub enum WindowEnded {
    /// A time outside of units.
    Outside {
        host: u32,
        observations: Observations,
        /// Of the files that the host itself read while it was not known whether they are covered.
        undecided: Observations,
    },
    Unit {
        host: u32,
        test: u32,
        observations: Observations,
        openings: Openings,
        children: Vec<ChildSeen>,
    },
}

/// A process with the agent that began in a unit.
#[derive(Debug)]
pub struct ChildSeen {
    pub pid: u32,
    /// It was still there when the unit ended.
    pub outlives: bool,
    /// Of the counted files, which its agent may report about; nothing of them is among the unit's own.
    pub undecided: Observations,
    pub openings: Openings,
}

/// How often a host opened each counted file that it looked at.
pub type Openings = BTreeMap<Vec<u8>, u32>;

/// The sink for a run with hosts.
#[derive(Debug)]
pub struct SplitObserver<'a, 's> {
    whole: Observer<'a>,
    context: Context<'a>,
    marks: Marks<'s>,
    hosts: HashMap<u32, Host<'a>>,
    /// Processes with the agent below an open test, which has all that they do.
    below_tests: HashSet<u32>,
    /// Where a thread belongs; asked again after every mark, because numbers are used again.
    owners: HashMap<u32, Owner>,
    /// The answers from before, for threads that have ended by the time we hear of them.
    last_owners: HashMap<u32, Owner>,
    /// The first process of the run.
    first: Option<u32>,
    ended: Sender<WindowEnded>,
}

#[derive(Debug, Default)]
struct Host<'a> {
    outside: Option<Outside<'a>>,
    open: Vec<(u32, Open<'a>)>,
    /// The hosts that it runs below.
    above: Vec<u32>,
}

#[derive(Debug)]
struct Outside<'a> {
    observer: Observer<'a>,
    undecided: Observer<'a>,
}

impl<'a> Outside<'a> {
    fn new(context: Context<'a>) -> Self {
        Self { observer: Observer::new(context), undecided: Observer::new(context) }
    }
}

#[derive(Debug)]
struct Open<'a> {
    observer: Observer<'a>,
    openings: Openings,
    children: BTreeMap<u32, Child<'a>>,
}

impl<'a> Open<'a> {
    fn new(context: Context<'a>) -> Self {
        let observer = Observer::new(context);
        Self { observer, openings: Openings::new(), children: BTreeMap::new() }
    }
}

#[derive(Debug)]
struct Child<'a> {
    undecided: Observer<'a>,
    openings: Openings,
}

impl Child<'_> {
    fn ended(self, pid: u32) -> ChildSeen {
        ChildSeen {
            pid,
            outlives: is_alive(pid),
            undecided: self.undecided.finish(false),
            openings: self.openings,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The host itself.
    Host(u32),
    /// A process that a host started: the host, then the process.
    Below(u32, u32),
    /// The build tool and its other children.
    Unattributed,
    Unknown,
}

impl<'a, 's> SplitObserver<'a, 's> {
    pub fn new(context: Context<'a>, marks: Marks<'s>, ended: Sender<WindowEnded>) -> Self {
        Self {
            whole: Observer::new(context),
            context,
            marks,
            hosts: HashMap::new(),
            below_tests: HashSet::new(),
            owners: HashMap::new(),
            last_owners: HashMap::new(),
            first: None,
            ended,
        }
    }

    /// The observer of the whole run. Stretches that are still open belong to tests that did not end.
    pub fn into_whole(self) -> Observer<'a> {
        self.whole
    }

    fn owner(&mut self, thread: u32) -> Owner {
        if let Some(&known) = self.owners.get(&thread) {
            return known;
        }
        let owner = self.find_owner(thread);
        self.owners.insert(thread, owner);
        owner
    }

    fn find_owner(&mut self, thread: u32) -> Owner {
        let Some((own, mut parent)) = family(thread) else {
            return self.last_owners.get(&thread).copied().unwrap_or(Owner::Unknown);
        };
        let first = *self.first.get_or_insert(own);
        if self.hosts.contains_key(&own) {
            return Owner::Host(own);
        }
        let mut at = own;
        // No tree is as deep; a number that was used again could lead in circles.
        for _ in 0..1_000 {
            if self.hosts.contains_key(&at) {
                return Owner::Below(at, own);
            }
            if at == first {
                return Owner::Unattributed;
            }
            at = parent;
            match family(at) {
                Some((_, next)) if at > 1 => parent = next,
                _ => return Owner::Unknown,
            }
        }
        Owner::Unknown
    }

    fn ask_owners_again(&mut self) {
        let known = std::mem::take(&mut self.owners);
        self.last_owners.extend(known.into_iter().filter(|(_, o)| *o != Owner::Unknown));
    }

    /// `thread` made the mark.
    fn mark(&mut self, mark: Mark, thread: u32) {
        let context = self.context;
        tracing::debug!(host = mark.pid, test = mark.test, begins = mark.begins, "mark");
        if self.below_tests.contains(&mark.pid) {
            return;
        }
        let is_its = self.owners.get(&thread) == Some(&Owner::Host(mark.pid));
        self.ask_owners_again();
        if is_its {
            // It has just named its process, as a copy of the process would not.
            self.owners.insert(thread, Owner::Host(mark.pid));
        }
        let host = self.hosts.entry(mark.pid).or_default();
        if mark.test == Mark::OUTSIDE {
            if let Some(outside) = &mut host.outside {
                *outside = Outside::new(context);
            }
            return;
        }
        if mark.begins {
            if let Some(outside) = host.outside.take() {
                let _ = self.ended.send(WindowEnded::Outside {
                    host: mark.pid,
                    observations: outside.observer.finish(false),
                    undecided: outside.undecided.finish(false),
                });
            }
            host.open.push((mark.test, Open::new(context)));
            return;
        }
        let Some(at) = host.open.iter().position(|(test, _)| *test == mark.test) else { return };
        let (test, open) = host.open.remove(at);
        let observations = open.observer.finish(false);
        let openings = open.openings;
        let children = open.children.into_iter().map(|(pid, child)| child.ended(pid)).collect();
        let ended = WindowEnded::Unit { host: mark.pid, test, observations, openings, children };
        // Nothing listens once the run is being stopped.
        let _ = self.ended.send(ended);
        if host.open.is_empty() {
            host.outside = Some(Outside::new(context));
        }
    }

    fn give(&mut self, event: &Event<'_>) {
        let owner = self.owner(event.thread);
        tracing::trace!(thread = event.thread, ?owner, action = ?event.action, "attributed");
        let lost = matches!(event.action, Action::Blind(Blind::Lost(_)));
        match owner {
            _ if lost || owner == Owner::Unknown => {
                self.hosts.values_mut().for_each(|host| host.give(event));
            }
            Owner::Host(pid) => {
                let Some(host) = self.hosts.get_mut(&pid) else { return };
                let above = host.above.clone();
                let read = path_read(&event.action);
                let cover = read.map(|path| (path, self.marks.covered.cover(path)));
                if let Some((path, Cover::Counted | Cover::Covered)) = cover {
                    tracing::debug!(host = pid, path = %path.escape_ascii(), "not seen by the tracer: the agent reports it");
                }
                match cover {
                    Some((path, Cover::Counted)) => host.count(path, opened(event)),
                    Some((_, Cover::Covered)) => {}
                    Some((_, Cover::Undecided)) => host.give_undecided(event),
                    Some((_, Cover::None)) | None => host.give(event),
                }
                self.give_to(&above, event);
            }
            Owner::Below(pid, own) => {
                let Some(host) = self.hosts.get_mut(&pid) else { return };
                let mut all = host.above.clone();
                all.push(pid);
                let counted = path_read(&event.action).filter(|path| {
                    self.below_tests.contains(&own)
                        && self.marks.covered.cover(path) == Cover::Counted
                });
                match counted {
                    None => self.give_to(&all, event),
                    Some(path) => {
                        for host in all {
                            if let Some(host) = self.hosts.get_mut(&host) {
                                host.give_counted_of(own, path, event);
                            }
                        }
                    }
                }
            }
            Owner::Unattributed | Owner::Unknown => {}
        }
    }

    fn give_to(&mut self, hosts: &[u32], event: &Event<'_>) {
        for host in hosts {
            if let Some(host) = self.hosts.get_mut(host) {
                host.give(event);
            }
        }
    }

    /// A process loads the agent. It becomes a host unless it runs below an open test.
    fn engaged(&mut self, thread: u32) {
        let Some((pid, _)) = family(thread) else { return };
        if self.hosts.contains_key(&pid) {
            return;
        }
        let mut above = Vec::new();
        if let Owner::Below(host, _) = self.owner(thread) {
            above.extend(self.hosts.get(&host).into_iter().flat_map(|h| h.above.iter().copied()));
            above.push(host);
        }
        let is_open = |host: &u32| self.hosts.get(host).is_some_and(|h| !h.open.is_empty());
        if above.iter().any(is_open) {
            self.below_tests.insert(pid);
            for host in above {
                let open = self.hosts.get_mut(&host).into_iter().flat_map(|h| &mut h.open);
                for (_, open) in open {
                    let undecided = Observer::new(self.context);
                    let child = Child { undecided, openings: Openings::new() };
                    open.children.entry(pid).or_insert(child);
                }
            }
            return;
        }
        self.below_tests.remove(&pid);
        let outside = Some(Outside::new(self.context));
        self.hosts.insert(pid, Host { outside, open: Vec::new(), above });
        self.ask_owners_again();
        self.last_owners.insert(pid, Owner::Host(pid));
    }
}

impl Host<'_> {
    fn give(&mut self, event: &Event<'_>) {
        if let Some(outside) = &mut self.outside {
            outside.observer.event(event.clone());
            // What was written is no input, whoever reads it.
            if path_read(&event.action).is_none() {
                outside.undecided.event(event.clone());
            }
        }
        for (_, open) in &mut self.open {
            open.observer.event(event.clone());
            if path_read(&event.action).is_none() {
                for child in open.children.values_mut() {
                    child.undecided.event(event.clone());
                }
            }
        }
    }

    /// A child reads a counted file. In units that began after it, it counts as any program.
    fn give_counted_of(&mut self, child: u32, path: &[u8], event: &Event<'_>) {
        if let Some(outside) = &mut self.outside {
            outside.observer.event(event.clone());
        }
        for (_, open) in &mut self.open {
            match open.children.get_mut(&child) {
                None => open.observer.event(event.clone()),
                Some(child) => {
                    child.undecided.event(event.clone());
                    *child.openings.entry(path.to_vec()).or_default() += u32::from(opened(event));
                }
            }
        }
    }

    fn give_undecided(&mut self, event: &Event<'_>) {
        if let Some(outside) = &mut self.outside {
            outside.undecided.event(event.clone());
        }
        for (_, open) in &mut self.open {
            open.observer.event(event.clone());
        }
    }

    fn count(&mut self, path: &[u8], opened: bool) {
        for (_, open) in &mut self.open {
            *open.openings.entry(path.to_vec()).or_default() += u32::from(opened);
        }
    }
}

impl Sink for SplitObserver<'_, '_> {
    fn event(&mut self, event: Event<'_>) {
        if let Action::Stat { path, .. } = &event.action
            && let Some((mark, same_moment)) = Mark::parse(path, self.marks.token)
        {
            self.mark(mark, event.thread);
            return same_moment.into_iter().for_each(|mark| self.mark(mark, event.thread));
        }
        if let Action::Connect { peer: Peer::Unix(path), .. } = &event.action
            && path.starts_with(self.marks.folder)
        {
            return;
        }
        if let Action::Open { path, .. } = &event.action
            && **path == *self.marks.library
        {
            self.engaged(event.thread);
        }
        // Nor is what is there for the session alone: a note that a test read it would be about ourselves.
        if path_read(&event.action).is_some_and(|path| is_below(path, self.marks.folder)) {
            return;
        }
        if !self.hosts.is_empty() {
            self.give(&event);
        } else if self.first.is_none() {
            self.first = family(event.thread).map(|(own, _)| own);
        }
        self.whole.event(event);
    }
}

impl SplitObserver<'_, '_> {
    /// Adds a taint from outside the event stream.
    pub fn taint(&mut self, taint: Taint) {
        self.whole.taint(taint);
    }
}

/// The path of a call that only reads.
fn path_read<'e>(action: &'e Action<'_>) -> Option<&'e [u8]> {
    match action {
        Action::Open { path, how } if !how.write && !how.create && !how.truncate => Some(path),
        Action::Stat { path, .. } | Action::ReadLink { path } => Some(path),
        _ => None,
    }
}

/// Whether a path names something in a folder.
fn is_below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
}

/// Whether the file was opened, as far as the engine knows.
fn opened(event: &Event<'_>) -> bool {
    let failed = matches!(event.timing, Timing::After { result, .. } if result < 0);
    matches!(event.action, Action::Open { .. }) && !failed
}
