//! Receives events and keeps the books. The model is in the crate's head.
//!
//! Here: what only looks or runs. Changes, connections and the end of the run are below.

mod change;
mod connections;
mod result;

pub use result::Observations;

use crate::entry::{Asked, Before, Change, Entry, Late, Taken};
use crate::facts::Fact;
use crate::moment::{
    Act, can_hide_a_change, file_clock_ns, first_look, is_own, is_pipe, names_moved_since,
};
use crate::network::{Network, Services};
use crate::ourselves;
use crate::path_memory::PathMemory;
use crate::programs::Programs;
use crate::resolve::Walker;
use crate::{Judgement, Rules};
use change::Rename;
use result::take;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tamis_core::record::Access;
use tamis_core::{Note, PathMap, Scheme, Taint};
use tamis_fs::{FileKind, Fingerprinter};
use tamis_trace::{Action, Blind, Event, Facet, Sink, Timing};

/// What an observer needs to know of the project.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub paths: &'a PathMap,
    pub rules: &'a dyn Rules,
    pub fingerprinter: &'a Fingerprinter,
    pub services: &'a Services,
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("root", &self.paths.root()).finish_non_exhaustive()
    }
}

/// Observes one run.
#[derive(Debug)]
pub struct Observer<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) entries: HashMap<Vec<u8>, Entry>,
    /// What is remembered of paths.
    memory: PathMemory,
    pub(crate) programs: Programs,
    /// Directories that were absent before the tree made them.
    pub(crate) made: HashSet<Vec<u8>>,
    pub(crate) taints: BTreeSet<Taint>,
    pub(crate) notes: BTreeSet<Note>,
    /// Set-user-id programs that were run.
    pub(crate) privileged: BTreeSet<String>,
    pub(crate) network: Network,
    /// What was asked about standard streams and the terminal, with the first program that asked.
    pub(crate) streams: BTreeMap<Fact, usize>,
    /// When the run began, by the clock of the file systems.
    pub(crate) began_ns: i128,
}

/// What is asked about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// What kind of thing it is.
    Kind,
    /// What is in it (for a directory only that it is one).
    Content,
    /// The names in a directory.
    Names,
    /// Something else, under a scheme of its own.
    Facet(Scheme),
}

/// Notes of one kind that are kept; more would not help anybody.
const MOST_NOTES: usize = 20;

impl<'a> Observer<'a> {
    pub fn new(context: Context<'a>) -> Self {
        Self {
            context,
            entries: HashMap::new(),
            memory: PathMemory::default(),
            programs: Programs::new(),
            made: HashSet::new(),
            taints: BTreeSet::new(),
            notes: BTreeSet::new(),
            privileged: BTreeSet::new(),
            network: Network::default(),
            streams: BTreeMap::new(),
            began_ns: file_clock_ns(),
        }
    }

    /// Adds a taint from outside the event stream.
    pub fn taint(&mut self, taint: Taint) {
        self.taints.insert(taint);
    }

    /// The files of the project that the tree has written so far.
    pub fn written(&self) -> Vec<PathBuf> {
        let root = self.context.paths.root();
        self.entries
            .iter()
            .filter(|(_, entry)| entry.change != Change::None)
            .map(|(path, _)| PathBuf::from(OsStr::from_bytes(path)))
            .filter(|path| {
                path.starts_with(root)
                    && self.context.rules.judge(path, "") == Judgement::Default
                    && path.is_file()
            })
            .collect()
    }

    fn program_of(&mut self, thread: u32, timing: Timing) -> usize {
        let (program, new) = self.programs.of(thread);
        if new && timing.is_before_changes() {
            let theirs = std::fs::read_link(format!("/proc/{thread}/ns/mnt")).ok();
            if theirs.is_some() && theirs.as_deref() != ourselves::mounts() {
                let who = self.recorded_name(program);
                self.taints.insert(Taint::Namespace(format!("{who} has a mount table of its own")));
            }
            // What really runs, also where the kernel chose an interpreter by itself.
            let path = self.programs.name(program).as_bytes().to_vec();
            if path.first() == Some(&b'/') && !self.programs.is_ourselves(program) {
                let act = Act::new(thread, program, timing);
                self.ask_followed(&path, true, Wish::Content, Access::EXECUTE, act);
            }
        }
        program
    }

    // --- looking ---------------------------------------------------------------------------

    /// Makes sure that there is an entry for a resolved path.
    pub(crate) fn look(&mut self, path: &[u8], act: Act) -> &mut Entry {
        if !self.entries.contains_key(path) {
            let own = !self.made.is_empty() && ancestors(path).any(|a| self.made.contains(a));
            let entry = if own {
                let mut entry = Entry::new(Before::Absent);
                entry.change = Change::Replaced;
                entry
            } else {
                Entry::new(first_look(path, act, self.began_ns))
            };
            self.entries.insert(path.to_vec(), entry);
        }
        self.entries.get_mut(path).expect("just made sure")
    }

    /// Who looks can decide by size and time, which stand for the content; unless it is known to walk.
    fn stat(&mut self, path: &[u8], follow: bool, act: Act) {
        let file = Path::new(OsStr::from_bytes(path));
        // Of engines that report afterwards it is not certain who looked.
        let only_lists = !follow
            && act.timing == Timing::Before
            && self.context.rules.only_lists(file, self.programs.name(act.program));
        if !only_lists {
            return self.ask_followed(path, follow, Wish::Content, Access::STAT, act);
        }
        let rights = Wish::Facet(Scheme::Rights);
        self.ask_followed(path, follow, Wish::Kind, Access::STAT, act);
        self.ask_followed(path, follow, rights, Access::STAT, act.on_the_way());
    }

    /// Resolves and asks; links on the way are asked as well.
    pub(crate) fn ask_followed(
        &mut self,
        path: &[u8],
        follow: bool,
        wish: Wish,
        access: Access,
        act: Act,
    ) {
        if let Some(path) = self.resolve(path, follow, act) {
            self.ask(&path, wish, access, act);
        }
    }

    pub(crate) fn resolve(&mut self, path: &[u8], follow: bool, act: Act) -> Option<Vec<u8>> {
        let resolved = self.memory.resolve(path, follow, self.walker(act));
        if resolved.unknown {
            let what = format!("where {} led is not known", self.portable(path));
            self.taints.insert(Taint::Unresolved(what));
        }
        for link in &resolved.links {
            self.ask(link, Wish::Kind, Access::FOLLOW, act.on_the_way());
        }
        for folder in &resolved.left {
            self.ask(folder, Wish::Kind, Access::FOLLOW, act.on_the_way());
        }
        (!resolved.circle && !resolved.unknown).then_some(resolved.path)
    }

    fn walker(&self, act: Act) -> Walker {
        match act.timing {
            Timing::Before => Walker::Waits(act.thread),
            Timing::Logged { .. } => Walker::Logged,
            Timing::After { time_ns, .. } => {
                Walker::WentOn { since_ns: time_ns, began_ns: self.began_ns }
            }
        }
    }

    pub(crate) fn judge(&self, path: &[u8], program: usize) -> Judgement {
        let name = self.programs.name(program);
        self.context.rules.judge(Path::new(OsStr::from_bytes(path)), name)
    }

    /// Puts a question about a resolved path, unless the tree made what is there.
    pub(crate) fn ask(&mut self, path: &[u8], wish: Wish, access: Access, act: Act) {
        let judgement = self.judge(path, act.program);
        match judgement {
            Judgement::Ignore => return log(path, "not seen: a rule ignores it"),
            Judgement::IgnoreTemp => {
                log(path, "not seen: in a temp folder");
                return self.note_temp(path, access, act);
            }
            Judgement::Default | Judgement::As(_) => {}
        }
        let began_ns = self.began_ns;
        let eager = self.is_eager(path, act.timing);
        let entry = self.look(path, act);
        if is_own(entry, path, act) {
            return log(path, "not seen: the test made it itself");
        }
        if is_pipe(&entry.before) && access.contains(Access::READ) {
            return self.taint_pipe(path);
        }
        let eager = eager || can_hide_a_change(&entry.before, file_clock_ns());
        let scheme = scheme_for(wish, entry.before.kind(), judgement);
        // What else a user's command reads may change while the test runs.
        let eager = eager || scheme.command().is_some();
        let kept = entry.kept.clone();
        match entry.question_mut(scheme) {
            Some(asked) => asked.access = asked.access.with(access),
            None => {
                let kept = kept.filter(|_| scheme == Scheme::Raw);
                let taken = kept.map_or(Taken::NotYet, Taken::Answer);
                let moved = names_moved_since(scheme, &entry.before, act.timing, began_ns);
                entry.asked.push(Asked { scheme, taken, access, program: act.program, late: None });
                tracing::debug!(path = %path.escape_ascii(), ?scheme, ?access, "seen");
                if moved {
                    self.postpone(path, act);
                    return;
                }
            }
        }
        if eager || entry.change != Change::None || !entry.touched.is_empty() {
            self.answer(path);
            let lost = self.entries[path].question(scheme).is_some_and(Asked::is_lost);
            if lost && scheme == Scheme::Listing {
                self.postpone(path, act);
            }
        }
    }

    /// What waits in a pipe that others made, or who reads from it, cannot be asked again.
    /// Those over which make hands out its tokens say only how much may run at once.
    pub(crate) fn taint_pipe(&mut self, path: &[u8]) {
        if split(path).is_some_and(|(_, name)| name.starts_with(b"GMfifo")) {
            return;
        }
        let taint = Taint::ForeignPipe(self.portable(path));
        self.taints.insert(taint);
    }

    /// Leaves the names in a directory to be found at the end, if we came too late to see them.
    fn postpone(&mut self, path: &[u8], act: Act) {
        let Timing::After { time_ns, .. } = act.timing else { return };
        let file = Path::new(OsStr::from_bytes(path));
        let Ok(names) = self.context.fingerprinter.names(file) else { return };
        let entry = self.entries.get_mut(path).expect("asked");
        if entry.before.kind() != Some(FileKind::Directory) {
            return;
        }
        if let Some(asked) = entry.question_mut(Scheme::Listing) {
            asked.taken = Taken::NotYet;
            asked.late = Some(Late { time_ns, names });
        }
    }

    /// Engines that report afterwards cannot stop a later write: answer for what is likely to be
    /// rewritten at once.
    fn is_eager(&self, path: &[u8], timing: Timing) -> bool {
        !timing.is_before_changes()
            && Path::new(OsStr::from_bytes(path)).starts_with(self.context.paths.root())
    }

    /// Takes the answers to all open questions about the path, as things are now.
    pub(crate) fn answer(&mut self, path: &[u8]) {
        let Some(entry) = self.entries.get_mut(path) else { return };
        entry.restamped |= self.memory.relinked.contains(&entry.before);
        let file = Path::new(OsStr::from_bytes(path));
        let mut asked = std::mem::take(&mut entry.asked);
        for asked in
            asked.iter_mut().filter(|a| matches!(a.taken, Taken::NotYet) && a.late.is_none())
        {
            let answer = take(self.context.fingerprinter, file, entry, asked.scheme);
            asked.taken = answer.map_or(Taken::Lost, Taken::Answer);
        }
        entry.asked = asked;
    }

    fn note_temp(&mut self, path: &[u8], access: Access, act: Act) {
        if !access.contains(Access::READ) {
            return;
        }
        let entry = self.look(path, act);
        if entry.change != Change::None || is_own(entry, path, act) {
            return;
        }
        if is_pipe(&entry.before) {
            self.taint_pipe(path);
        } else if entry.before.kind() == Some(FileKind::File) {
            let note = Note::ReadsTemp(String::from_utf8_lossy(path).into_owned());
            if self.notes.len() < MOST_NOTES {
                self.notes.insert(note);
            }
        }
    }

    // --- running ---------------------------------------------------------------------------

    fn execute(&mut self, path: &[u8], thread: u32, act: Act) {
        let mut next = path.to_vec();
        // The kernel follows at most four interpreters of interpreters.
        for _ in 0..6 {
            let Some(path) = self.resolve(&next, true, act) else { break };
            // "No such file" may speak of the interpreter.
            self.ask(&path, Wish::Content, Access::EXECUTE, act.on_the_way());
            if let Some(Entry { before: Before::There(identity), .. }) = self.entries.get(&path)
                && identity.kind() == FileKind::File
                && identity.mode & 0o6000 != 0
            {
                let program = self.portable(&path).to_string();
                self.privileged.insert(program);
            }
            match self.programs.interpreter(&path) {
                Some(found) if found.first() == Some(&b'/') => next = found,
                Some(found) => {
                    self.taints.insert(Taint::Unresolved(format!(
                        "the interpreter {:?} of {} is no absolute path",
                        String::from_utf8_lossy(&found),
                        self.portable(&path)
                    )));
                    break;
                }
                None => break,
            }
        }
        match act.timing {
            Timing::Before | Timing::Logged { .. } => self.programs.announce(thread),
            Timing::After { .. } if !act.failed() => {
                self.programs.set(thread, String::from_utf8_lossy(path).into_owned());
            }
            Timing::After { .. } => {}
        }
    }

    fn blind(&mut self, blind: Blind, program: usize) {
        let who = self.recorded_name(program);
        self.taints.insert(match blind {
            Blind::IoUring => Taint::IoUring(who),
            Blind::ForeignArchitecture => Taint::ForeignArchitecture(who),
            Blind::FileHandle => Taint::FileHandle(who),
            Blind::Namespace(call) => {
                Taint::Namespace(format!("{who} changed its mounts or root ({call})"))
            }
            Blind::StandardInput => Taint::StandardInput,
            Blind::SecondTracer => Taint::SecondTracer(who),
            Blind::Unresolved(what) => Taint::Unresolved(what),
            Blind::Lost(count) => Taint::LostEvents(count),
        });
    }

    /// The program as a record names it: without the place of one machine.
    pub(crate) fn recorded_name(&self, program: usize) -> String {
        let name = self.programs.name(program);
        if self.programs.is_ourselves(program) {
            "tamis".into()
        } else if name.starts_with('/') {
            self.portable(name.as_bytes()).to_string()
        } else {
            name.to_owned()
        }
    }

    pub(crate) fn portable(&self, path: &[u8]) -> tamis_core::PortablePath {
        self.context.paths.to_portable(Path::new(OsStr::from_bytes(path)))
    }
}

impl Sink for Observer<'_> {
    fn event(&mut self, event: Event<'_>) {
        tracing::trace!(thread = event.thread, action = ?event.action, "event");
        self.memory.settle(event.thread);
        let program = self.program_of(event.thread, event.timing);
        let act = Act::new(event.thread, program, event.timing);
        match event.action {
            Action::Open { path, how } => {
                let code = u64::from(how.no_follow) << 1 | u64::from(how.path_only) << 2 | 1 << 8;
                let only_reads = !how.write && !how.create && !how.truncate;
                self.console(&path, program);
                if !(only_reads && self.memory.repeated(&path, code, program)) {
                    self.open(&path, how, act);
                }
            }
            Action::Stat { path, follow } => {
                if !self.memory.repeated(&path, u64::from(follow) | 2 << 8, program) {
                    self.stat(&path, follow, act);
                }
            }
            Action::Inspect { path, follow, facet } => {
                let (code, scheme) = match facet {
                    Facet::Attributes => (4 << 8, Scheme::Attributes),
                    Facet::Rights => (5 << 8, Scheme::Rights),
                };
                if !self.memory.repeated(&path, u64::from(follow) | code, program) {
                    let wish = Wish::Facet(scheme);
                    self.ask_followed(&path, follow, wish, Access::STAT, act.on_the_way());
                }
            }
            Action::ReadLink { path } => {
                if !self.memory.repeated(&path, 3 << 8, program) {
                    self.ask_followed(&path, false, Wish::Kind, Access::STAT, act);
                }
            }
            Action::Execute { path } => self.execute(&path, event.thread, act),
            Action::Remove { path } => self.remove(&path, act),
            Action::MakeDirectory { path } => self.make_directory(&path, act),
            Action::MakeNode { path } => self.make_node(&path, act),
            Action::LinkTo { path, target } => {
                if let Some(path) = self.resolve(&path, false, act) {
                    self.memory.link_made(&path, &target);
                }
            }
            Action::Rename { from, to, exchange, keep } => {
                self.rename(&from, &to, Rename { exchange, keep }, act);
            }
            Action::Link { from, to, follow } => self.link(&from, &to, follow, act),
            Action::Truncate { path } => self.edit(&path, true, act),
            Action::ChangeMode { path, follow } => self.restamp(&path, follow, act),
            Action::Connect { peer, socket } => self.connect(peer, socket, act),
            Action::Bind { peer, socket } => self.bind(&peer, socket, act),
            Action::Listen { socket } => self.network.listens(socket),
            Action::Stream { number, facet } => self.stream(number, facet, program),
            Action::Blind(blind) => self.blind(blind, program),
        }
        self.memory.event_over(event.thread, event.timing);
    }
}

/// For those who ask why a file is not among what a test looked at (docs/debugging.md).
fn log(path: &[u8], what: &'static str) {
    tracing::debug!(path = %path.escape_ascii(), "{what}");
}

/// Under which scheme the state of a path answers a wish.
fn scheme_for(wish: Wish, kind: Option<FileKind>, judgement: Judgement) -> Scheme {
    let content = match judgement {
        Judgement::As(scheme) => scheme,
        _ => Scheme::Raw,
    };
    match (wish, kind) {
        (Wish::Facet(scheme), _) => scheme,
        (_, Some(FileKind::Directory)) if content == Scheme::Listing => Scheme::Listing,
        (Wish::Names, Some(FileKind::Directory)) => Scheme::Listing,
        (Wish::Kind, _) | (Wish::Content, Some(FileKind::Directory)) => Scheme::Kind,
        (_, Some(FileKind::Link)) => Scheme::Kind,
        _ if content == Scheme::Listing => Scheme::Kind,
        _ => content,
    }
}

/// The folders above a path, nearest first.
pub(crate) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = path;
    std::iter::from_fn(move || {
        let (parent, _) = split(rest)?;
        rest = parent;
        Some(parent)
    })
}

/// Parent and name of a resolved path.
pub(crate) fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let slash = path.iter().rposition(|&b| b == b'/')?;
    let name = &path[slash + 1..];
    if name.is_empty() {
        return None;
    }
    Some((if slash == 0 { b"/" } else { &path[..slash] }, name))
}
