//! Observes a whole run and, apart from each other, the tests that run inside its processes.
//!
//! A process that loads our agent is a *host*: it tells by marks in the stream of events
//! ([`tamis_wire::mark`]) which of its tests begin and end. What a host and the processes that it
//! started do belongs to the tests that are open in it; with none open, to the time *outside* of
//! tests, which counts for every later test of that host. Each stretch has an observer of its own, so
//! a file that one test wrote and another one reads is an input of the reader.
//!
//! What a host loads as classes is told by its agent in more detail, so the tracer's view of class
//! files and jars is left out for the host itself ([`Hosts::is_told_otherwise`]), but how often each
//! class file was opened is counted: who reads one without loading it depends on its bytes. What
//! processes that the host started do counts as any program's. A process below an open test is never a
//! host; if it has the agent, it is a *child*: what it reads of the class files of hosts is observed apart
//! in the tests that were open when it began, and the listener decides, from what its agent told.
//!
//! A host may read class files and jars before it is known which of them its agent tells about. Outside
//! of tests these are observed apart, and the listener decides.
//!
//! A host can also tell that what it did so far is nothing to its tests: a build tool does other work
//! before it runs tests in its own process.
//!
//! A process whose parents are gone may belong to any test: it counts for all that are open.

use crate::observer::{Context, Observer};
use crate::result::Observations;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::mpsc::Sender;
use tamis_core::Taint;
use tamis_trace::proc::{family, is_alive};
use tamis_trace::{Action, Blind, Event, Peer, Sink, Timing};
use tamis_wire::mark::Mark;

/// What is known of hosts beforehand.
pub trait Hosts: Sync {
    /// Whether the agent tells about this file, so that the tracer need not.
    fn is_told_otherwise(&self, path: &[u8]) -> bool;
}

/// Marks and the agent of one run.
#[derive(Clone, Copy)]
pub struct Agent<'a> {
    pub token: &'a str,
    /// Who opens this file is a host.
    pub library: &'a [u8],
    /// Where the agent's sockets are: talking to them is no business of a test.
    pub folder: &'a [u8],
    pub hosts: &'a dyn Hosts,
}

impl std::fmt::Debug for Agent<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("token", &self.token).finish_non_exhaustive()
    }
}

/// A stretch that ended.
#[derive(Debug)]
pub enum PartEnded {
    /// A time outside of tests.
    Outside {
        host: u32,
        observations: Observations,
        /// Of the class files and jars that the host itself read and of which nobody knew whether its
        /// agent tells about them.
        class_like: Observations,
    },
    Test {
        host: u32,
        test: u32,
        observations: Observations,
        class_files: ClassFiles,
        children: Vec<ChildSeen>,
    },
}

/// A process with the agent that began in a test.
#[derive(Debug)]
pub struct ChildSeen {
    pub pid: u32,
    /// It was still there when the test ended.
    pub outlives: bool,
    /// Of the class files that its agent may tell about; nothing of them is among the test's own.
    pub class_like: Observations,
    pub class_files: ClassFiles,
}

/// How often a host opened each class file that it looked at.
pub type ClassFiles = BTreeMap<Vec<u8>, u32>;

/// The sink for a run with hosts.
#[derive(Debug)]
pub struct Parted<'a, 's> {
    whole: Observer<'a>,
    context: Context<'a>,
    agent: Agent<'s>,
    hosts: HashMap<u32, Host<'a>>,
    /// Processes with the agent below an open test, which has all that they do.
    below_tests: HashSet<u32>,
    /// Where a thread belongs; asked again after every mark, because numbers are used again.
    owners: HashMap<u32, Owner>,
    /// The answers from before, for threads that have ended by the time we hear of them.
    last_owners: HashMap<u32, Owner>,
    /// The first process of the run.
    first: Option<u32>,
    ended: Sender<PartEnded>,
}

#[derive(Debug, Default)]
struct Host<'a> {
    outside: Option<Outside<'a>>,
    open: Vec<(u32, Part<'a>)>,
    /// The hosts that it runs below.
    above: Vec<u32>,
}

#[derive(Debug)]
struct Outside<'a> {
    observer: Observer<'a>,
    class_like: Observer<'a>,
}

impl<'a> Outside<'a> {
    fn new(context: Context<'a>) -> Self {
        Self { observer: Observer::new(context), class_like: Observer::new(context) }
    }
}

#[derive(Debug)]
struct Part<'a> {
    observer: Observer<'a>,
    class_files: ClassFiles,
    children: BTreeMap<u32, Child<'a>>,
}

impl<'a> Part<'a> {
    fn new(context: Context<'a>) -> Self {
        let observer = Observer::new(context);
        Self { observer, class_files: ClassFiles::new(), children: BTreeMap::new() }
    }
}

#[derive(Debug)]
struct Child<'a> {
    class_like: Observer<'a>,
    class_files: ClassFiles,
}

impl Child<'_> {
    fn ended(self, pid: u32) -> ChildSeen {
        ChildSeen {
            pid,
            outlives: is_alive(pid),
            class_like: self.class_like.finish(false),
            class_files: self.class_files,
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
    Nobody,
    Unknown,
}

impl<'a, 's> Parted<'a, 's> {
    pub fn new(context: Context<'a>, agent: Agent<'s>, ended: Sender<PartEnded>) -> Self {
        Self {
            whole: Observer::new(context),
            context,
            agent,
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
                return Owner::Nobody;
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

    fn mark(&mut self, mark: Mark) {
        let context = self.context;
        tracing::debug!(host = mark.pid, test = mark.test, begins = mark.begins, "mark");
        if self.below_tests.contains(&mark.pid) {
            return;
        }
        self.ask_owners_again();
        let host = self.hosts.entry(mark.pid).or_default();
        if mark.test == Mark::OUTSIDE {
            if let Some(outside) = &mut host.outside {
                *outside = Outside::new(context);
            }
            return;
        }
        if mark.begins {
            if let Some(outside) = host.outside.take() {
                let _ = self.ended.send(PartEnded::Outside {
                    host: mark.pid,
                    observations: outside.observer.finish(false),
                    class_like: outside.class_like.finish(false),
                });
            }
            host.open.push((mark.test, Part::new(context)));
            return;
        }
        let Some(at) = host.open.iter().position(|(test, _)| *test == mark.test) else { return };
        let (test, part) = host.open.remove(at);
        let observations = part.observer.finish(false);
        let class_files = part.class_files;
        let children = part.children.into_iter().map(|(pid, child)| child.ended(pid)).collect();
        let ended = PartEnded::Test { host: mark.pid, test, observations, class_files, children };
        // Nobody listens once the run is being stopped.
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
                match path_read(&event.action) {
                    Some(path) if self.agent.hosts.is_told_otherwise(path) => {
                        tracing::debug!(host = pid, path = %path.escape_ascii(), "not seen by the tracer: the agent reports it");
                        if path.ends_with(b".class") {
                            host.count(path, opened(event));
                        }
                    }
                    Some(path) if path.ends_with(b".class") || path.ends_with(b".jar") => {
                        host.give_class_like(event);
                    }
                    _ => host.give(event),
                }
                self.give_to(&above, event);
            }
            Owner::Below(pid, own) => {
                let Some(host) = self.hosts.get_mut(&pid) else { return };
                let mut all = host.above.clone();
                all.push(pid);
                let class = path_read(&event.action).filter(|path| {
                    self.below_tests.contains(&own)
                        && path.ends_with(b".class")
                        && self.agent.hosts.is_told_otherwise(path)
                });
                match class {
                    None => self.give_to(&all, event),
                    Some(path) => {
                        for host in all {
                            if let Some(host) = self.hosts.get_mut(&host) {
                                host.give_class_of(own, path, event);
                            }
                        }
                    }
                }
            }
            Owner::Nobody | Owner::Unknown => {}
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
                for (_, part) in open {
                    let class_like = Observer::new(self.context);
                    let child = Child { class_like, class_files: ClassFiles::new() };
                    part.children.entry(pid).or_insert(child);
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
                outside.class_like.event(event.clone());
            }
        }
        for (_, part) in &mut self.open {
            part.observer.event(event.clone());
            if path_read(&event.action).is_none() {
                for child in part.children.values_mut() {
                    child.class_like.event(event.clone());
                }
            }
        }
    }

    /// A child reads a class file. In tests that began after it, it counts as any program.
    fn give_class_of(&mut self, child: u32, path: &[u8], event: &Event<'_>) {
        if let Some(outside) = &mut self.outside {
            outside.observer.event(event.clone());
        }
        for (_, part) in &mut self.open {
            match part.children.get_mut(&child) {
                None => part.observer.event(event.clone()),
                Some(child) => {
                    child.class_like.event(event.clone());
                    *child.class_files.entry(path.to_vec()).or_default() +=
                        u32::from(opened(event));
                }
            }
        }
    }

    fn give_class_like(&mut self, event: &Event<'_>) {
        if let Some(outside) = &mut self.outside {
            outside.class_like.event(event.clone());
        }
        for (_, part) in &mut self.open {
            part.observer.event(event.clone());
        }
    }

    fn count(&mut self, path: &[u8], opened: bool) {
        for (_, part) in &mut self.open {
            *part.class_files.entry(path.to_vec()).or_default() += u32::from(opened);
        }
    }
}

impl Sink for Parted<'_, '_> {
    fn event(&mut self, event: Event<'_>) {
        if let Action::Stat { path, .. } = &event.action
            && let Some(mark) = Mark::parse(path, self.agent.token)
        {
            return self.mark(mark);
        }
        if let Action::Connect { peer: Peer::Unix(path) } = &event.action
            && path.starts_with(self.agent.folder)
        {
            return;
        }
        if let Action::Open { path, .. } = &event.action
            && **path == *self.agent.library
        {
            self.engaged(event.thread);
        }
        if !self.hosts.is_empty() {
            self.give(&event);
        } else if self.first.is_none() {
            self.first = family(event.thread).map(|(own, _)| own);
        }
        self.whole.event(event);
    }
}

impl Parted<'_, '_> {
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

/// Whether the file was opened, as far as the engine knows.
fn opened(event: &Event<'_>) -> bool {
    let failed = matches!(event.timing, Timing::After { result, .. } if result < 0);
    matches!(event.action, Action::Open { .. }) && !failed
}
