//! Receives events and keeps the books. The model is in the crate's head.

use crate::entry::{Asked, Before, Change, Entry, Name, Taken};
use crate::interpreter::interpreter;
use crate::network::{self, Meaning, Services};
use crate::programs::Programs;
use crate::resolve::Resolver;
use crate::result::take;
use crate::{Judgement, Rules};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tamis_core::record::Access;
use tamis_core::{Note, PathMap, Scheme, Taint, Value};
use tamis_fs::{FileKind, Fingerprinter};
use tamis_trace::{Action, Blind, Event, OpenHow, Sink, Timing};

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
    resolver: Resolver,
    pub(crate) programs: Programs,
    /// Directories that were absent before the tree made them.
    made: HashSet<Vec<u8>>,
    /// Reads that were handled already; the same again changes nothing.
    handled: HashSet<u128>,
    pub(crate) taints: BTreeSet<Taint>,
    pub(crate) notes: BTreeSet<Note>,
    /// Set-user-id programs that were run.
    pub(crate) privileged: BTreeSet<String>,
    peers: HashSet<tamis_trace::Peer>,
    name_space: Option<PathBuf>,
    /// When the run began, by the clock of the file systems.
    pub(crate) began_ns: i128,
}

/// What is asked about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// What kind of thing it is.
    Kind,
    /// What is in it (for a directory only that it is one).
    Content,
    /// The names in a directory.
    Names,
}

/// Time stamps of files lag behind the clock by up to one tick of the kernel.
const CLOCK_LAG_NS: i128 = 20_000_000;

/// Notes of one kind that are kept; more would not help anybody.
const MOST_NOTES: usize = 20;

impl<'a> Observer<'a> {
    pub fn new(context: Context<'a>) -> Self {
        Self {
            context,
            entries: HashMap::new(),
            resolver: Resolver::default(),
            programs: Programs::new(),
            made: HashSet::new(),
            handled: HashSet::new(),
            taints: BTreeSet::new(),
            notes: BTreeSet::new(),
            privileged: BTreeSet::new(),
            peers: HashSet::new(),
            name_space: std::fs::read_link("/proc/self/ns/mnt").ok(),
            began_ns: file_clock_ns(),
        }
    }

    /// Adds a taint from outside the event stream.
    pub fn taint(&mut self, taint: Taint) {
        self.taints.insert(taint);
    }

    fn program_of(&mut self, thread: u32, timing: Timing) -> usize {
        let (program, new) = self.programs.of(thread);
        if new && timing == Timing::Before {
            let theirs = std::fs::read_link(format!("/proc/{thread}/ns/mnt")).ok();
            if theirs.is_some() && theirs != self.name_space {
                let who = self.recorded_name(program);
                self.taints.insert(Taint::Namespace(format!("{who} has a mount table of its own")));
            }
            // What really runs, also where the kernel chose an interpreter by itself.
            let path = self.programs.name(program).as_bytes().to_vec();
            if path.first() == Some(&b'/') && !self.programs.is_ourselves(program) {
                let act = Act::new(program, timing);
                self.ask_followed(&path, true, Wish::Content, Access::EXECUTE, act);
            }
        }
        program
    }

    /// Whether this read was handled before; remembers it.
    fn repeated(&mut self, path: &[u8], code: u64, program: usize) -> bool {
        let seed = code << 32 | program as u64;
        !self.handled.insert(xxhash_rust::xxh3::xxh3_128_with_seed(path, seed))
    }

    /// The tree is about to change how paths resolve.
    fn names_change(&mut self, path: &[u8]) {
        self.resolver.forget(path);
        self.handled.clear();
    }

    // --- looking ---------------------------------------------------------------------------

    /// Makes sure that there is an entry for a resolved path.
    fn look(&mut self, path: &[u8], act: Act) -> &mut Entry {
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

    /// Resolves and asks; links on the way are asked as well.
    fn ask_followed(&mut self, path: &[u8], follow: bool, wish: Wish, access: Access, act: Act) {
        if let Some(path) = self.resolve(path, follow, act) {
            self.ask(&path, wish, access, act);
        }
    }

    fn resolve(&mut self, path: &[u8], follow: bool, act: Act) -> Option<Vec<u8>> {
        let resolved = self.resolver.resolve(path, follow);
        for link in &resolved.links {
            self.ask(link, Wish::Kind, Access::FOLLOW, act.on_the_way());
        }
        (!resolved.circle).then_some(resolved.path)
    }

    fn judge(&self, path: &[u8], program: usize) -> Judgement {
        let name = self.programs.name(program);
        self.context.rules.judge(Path::new(OsStr::from_bytes(path)), name)
    }

    /// Puts a question about a resolved path, unless the tree made what is there.
    fn ask(&mut self, path: &[u8], wish: Wish, access: Access, act: Act) {
        let judgement = self.judge(path, act.program);
        match judgement {
            Judgement::Ignore => return,
            Judgement::IgnoreTemp => return self.note_temp(path, access, act),
            Judgement::Default | Judgement::As(_) => {}
        }
        let began_ns = self.began_ns;
        let eager = self.is_eager(path, act.timing);
        let entry = self.look(path, act);
        if is_own(entry, path, act) {
            return;
        }
        let scheme = scheme_for(wish, entry.before.kind(), judgement);
        let kept = entry.kept.clone();
        match entry.question(scheme) {
            Some(asked) => asked.access = asked.access.with(access),
            None => {
                let kept = kept.filter(|_| scheme == Scheme::Raw);
                let taken = kept.map_or(Taken::NotYet, Taken::Answer);
                let late = names_moved_since(scheme, &entry.before, act.timing, began_ns);
                entry.asked.push(Asked { scheme, taken, access, program: act.program, late });
            }
        }
        if eager || entry.change != Change::None || !entry.touched.is_empty() {
            self.answer(path);
        }
    }

    /// Engines that report afterwards cannot stop a later write: answer for what is likely to be
    /// rewritten at once.
    fn is_eager(&self, path: &[u8], timing: Timing) -> bool {
        timing != Timing::Before
            && Path::new(OsStr::from_bytes(path)).starts_with(self.context.paths.root())
    }

    /// Takes the answers to all open questions about the path, as things are now.
    fn answer(&mut self, path: &[u8]) {
        let Some(entry) = self.entries.get_mut(path) else { return };
        let file = Path::new(OsStr::from_bytes(path));
        let mut asked = std::mem::take(&mut entry.asked);
        for asked in asked.iter_mut().filter(|a| matches!(a.taken, Taken::NotYet)) {
            let answer = take(self.context.fingerprinter, file, entry, asked.scheme);
            asked.taken = answer.map_or(Taken::Lost, Taken::Answer);
        }
        entry.asked = asked;
    }

    fn note_temp(&mut self, path: &[u8], access: Access, act: Act) {
        if !access.contains(Access::READ) || self.notes.len() >= MOST_NOTES {
            return;
        }
        let entry = self.look(path, act);
        let foreign = entry.before.kind() == Some(FileKind::File)
            && entry.change == Change::None
            && !is_own(entry, path, act);
        if foreign {
            self.notes.insert(Note::ReadsTemp(String::from_utf8_lossy(path).into_owned()));
        }
    }

    // --- changing --------------------------------------------------------------------------

    /// The tree is about to change what is at a resolved path.
    fn change(&mut self, path: &[u8], change: Change, act: Act) {
        if self.judge(path, act.program) == Judgement::Ignore {
            if change == Change::Replaced {
                self.touch_parent_of_ignored(path, act);
            }
            return;
        }
        if act.timing != Timing::Before && !self.entries.contains_key(path) {
            // The call is over: what was there before can only be told by its birth.
            let before = before_a_change(path, act, self.began_ns);
            self.entries.insert(path.to_vec(), Entry::new(before));
        }
        self.look(path, act);
        self.answer(path);
        let fingerprinter = self.context.fingerprinter;
        let entry = self.entries.get_mut(path).expect("looked at");
        if change == Change::Edited
            && entry.change == Change::None
            && let Before::There(seen) = &entry.before
            && seen.kind() == FileKind::File
        {
            let file = Path::new(OsStr::from_bytes(path));
            entry.kept = fingerprinter.answer_as_seen(file, Scheme::Raw, seen);
        }
        entry.change = entry.change.max(change);
        let name_before = entry.name_before();
        if change == Change::Replaced {
            self.touch_parent(path, name_before, act);
        }
    }

    /// What does not count itself still comes and goes in a folder that may count: the time stamps
    /// of that folder move by the hand of the test.
    fn touch_parent_of_ignored(&mut self, path: &[u8], act: Act) {
        let parent = split(path).map(|(parent, _)| parent);
        if parent.is_some_and(|p| self.judge(p, act.program) != Judgement::Ignore) {
            let before = Entry::new(before_a_change(path, act, self.began_ns)).name_before();
            self.touch_parent(path, before, act);
        }
    }

    /// A name in a directory appears or goes away.
    fn touch_parent(&mut self, path: &[u8], before: Name, act: Act) {
        let Some((parent, name)) = split(path) else { return };
        let (parent, name) = (parent.to_vec(), name.to_vec());
        if self.judge(&parent, act.program) == Judgement::Ignore {
            return;
        }
        self.look(&parent, act);
        self.answer(&parent);
        let entry = self.entries.get_mut(&parent).expect("looked at");
        entry.touched.entry(name).or_insert(before);
    }

    fn open(&mut self, path: &[u8], how: OpenHow, act: Act) {
        let failed = act.failed();
        if !how.write && !how.create && !how.truncate {
            let wish = if how.path_only { Wish::Content } else { Wish::Names };
            let access = if how.path_only { Access::STAT } else { Access::READ };
            return self.ask_followed(path, !how.no_follow, wish, access, act);
        }
        let exclusive = how.create && how.exclusive && !how.unnamed;
        let Some(path) = self.resolve(path, !how.no_follow && !exclusive, act) else { return };
        if how.unnamed {
            return self.ask(&path, Wish::Kind, Access::STAT, act);
        }
        if exclusive {
            self.ask_folder_of(&path, act);
            self.ask_new_name(&path, act);
            if !failed {
                self.change(&path, Change::Replaced, act);
            }
            return;
        }
        if how.create {
            self.ask_place(&path, act);
        }
        if failed {
            // Refused: whether it is there, and what it is, was seen.
            return self.ask(&path, Wish::Content, Access::STAT, act);
        }
        if how.truncate {
            if !how.create {
                self.look_for_write(&path, act);
                self.ask(&path, Wish::Kind, Access::STAT, act);
            }
            return self.change(&path, Change::Replaced, act);
        }
        let there = self.look_for_write(&path, act) != Before::Absent;
        if how.read {
            self.ask(&path, Wish::Content, Access::READ, act);
        } else if !how.create {
            self.ask(&path, Wish::Kind, Access::STAT, act);
        }
        if how.write || !there {
            self.change(&path, if there { Change::Edited } else { Change::Replaced }, act);
        }
    }

    fn look_for_write(&mut self, path: &[u8], act: Act) -> Before {
        if act.timing != Timing::Before && !self.entries.contains_key(path) {
            let before = before_a_change(path, act, self.began_ns);
            self.entries.insert(path.to_vec(), Entry::new(before));
        }
        self.look(path, act).before
    }

    /// A call that makes a name fails where there is no folder for it.
    fn ask_folder_of(&mut self, path: &[u8], act: Act) {
        if let Some((folder, _)) = split(path) {
            self.ask(folder, Wish::Kind, Access::STAT, act.on_the_way());
        }
    }

    /// A call that writes a file, new or not, fails where there is a directory, or no folder for it.
    fn ask_place(&mut self, path: &[u8], act: Act) {
        match self.judge(path, act.program) {
            Judgement::Ignore | Judgement::IgnoreTemp => return,
            // A runtime does without what it could not write.
            Judgement::As(Scheme::Bytecode) => return,
            Judgement::Default | Judgement::As(_) => {}
        }
        self.look_for_write(path, act);
        let own_folder = !self.made.is_empty() && ancestors(path).any(|a| self.made.contains(a));
        let fingerprinter = self.context.fingerprinter;
        let entry = self.entries.get_mut(path).expect("looked at");
        // After the first change the place is what the tree made of it.
        if own_folder || entry.change != Change::None || entry.question(Scheme::Place).is_some() {
            return;
        }
        let value = match act.timing {
            Timing::Before => {
                let file = Path::new(OsStr::from_bytes(path));
                fingerprinter.answer(file, Scheme::Place).value
            }
            Timing::After { result, .. } => place_by_result(result),
        };
        entry.asked.push(Asked {
            scheme: Scheme::Place,
            taken: Taken::Answer(tamis_fs::Answer::of(value)),
            late: None,
            access: Access::STAT,
            program: act.program,
        });
    }

    /// A call that fails if the name is there already asks whether it is.
    fn ask_new_name(&mut self, path: &[u8], act: Act) {
        if act.timing != Timing::Before && !act.failed() {
            // It succeeded, so nothing was there.
            let known = self.entries.contains_key(path);
            if !known {
                self.entries.insert(path.to_vec(), Entry::new(Before::Absent));
            }
            if self.judge(path, act.program) == Judgement::Default {
                let entry = self.look(path, act);
                if entry.change == Change::None && entry.question(Scheme::Kind).is_none() {
                    entry.asked.push(Asked {
                        scheme: Scheme::Kind,
                        taken: Taken::NotYet,
                        access: Access::STAT,
                        program: act.program,
                        late: None,
                    });
                }
            }
            return;
        }
        self.ask(path, Wish::Kind, Access::STAT, act);
    }

    fn make_directory(&mut self, path: &[u8], act: Act) {
        let Some(path) = self.resolve(path, false, act) else { return };
        self.ask_folder_of(&path, act);
        self.ask_new_name(&path, act);
        if act.failed() {
            return;
        }
        self.change(&path, Change::Replaced, act);
        if self.entries.get(&path).is_some_and(|e| e.before == Before::Absent) {
            self.made.insert(path);
        }
    }

    fn make_node(&mut self, path: &[u8], act: Act) {
        let Some(path) = self.resolve(path, false, act) else { return };
        self.ask_folder_of(&path, act);
        self.ask_new_name(&path, act);
        if !act.failed() {
            self.change(&path, Change::Replaced, act);
            self.names_change(&path);
        }
    }

    fn remove(&mut self, path: &[u8], act: Act) {
        let Some(path) = self.resolve(path, false, act) else { return };
        if act.timing != Timing::Before && !act.failed() {
            return self.removed(&path, act);
        }
        self.ask_removable(&path, act);
        if !act.failed() {
            self.change(&path, Change::Replaced, act);
            if is_file(&path) {
                // No other path leads through a file: what was handled stays so. Compilers remove
                // a temporary file for each source.
                self.resolver.forget(&path);
            } else {
                self.names_change(&path);
            }
        }
    }

    /// Only an empty directory can be removed or replaced.
    fn ask_removable(&mut self, path: &[u8], act: Act) {
        let directory = self.look(path, act).before.kind() == Some(FileKind::Directory);
        let wish = if directory { Wish::Names } else { Wish::Kind };
        self.ask(path, wish, Access::STAT, act);
    }

    /// Something was removed before we could look at it. If the tree did not make it, what it was
    /// cannot be asked any more.
    fn removed(&mut self, path: &[u8], act: Act) {
        if self.judge(path, act.program) == Judgement::Default {
            let own = !self.made.is_empty() && ancestors(path).any(|a| self.made.contains(a));
            let known = self.entries.contains_key(path);
            if !known && !own {
                self.entries.insert(path.to_vec(), Entry::new(Before::Unknown));
                let taint = Taint::ChangedBeforeSeen(self.portable(path));
                self.taints.insert(taint);
            }
        }
        self.was_empty(path, act);
        self.change(path, Change::Replaced, act);
        self.names_change(path);
    }

    /// A directory that was removed held nothing but what the tree had removed from it.
    fn was_empty(&mut self, path: &[u8], act: Act) {
        if self.judge(path, act.program) != Judgement::Default {
            return;
        }
        let Some(entry) = self.entries.get_mut(path) else { return };
        let foreign = entry.before.kind() == Some(FileKind::Directory)
            && entry.change != Change::Replaced
            && entry.question(Scheme::Listing).is_none();
        if !foreign || entry.touched.values().any(|name| *name == Name::Unknown) {
            return;
        }
        let mut names: Vec<(Vec<u8>, u8)> = entry
            .touched
            .iter()
            .filter_map(|(name, before)| match before {
                Name::There(letter) => Some((name.clone(), *letter)),
                Name::Absent | Name::Unknown => None,
            })
            .filter(|(name, _)| {
                let file = Path::new(OsStr::from_bytes(path)).join(OsStr::from_bytes(name));
                !self.context.fingerprinter.is_ignored(&file)
            })
            .collect();
        names.sort_unstable();
        entry.asked.push(Asked {
            scheme: Scheme::Listing,
            taken: Taken::Answer(tamis_fs::Answer::of(tamis_fs::listing_value(&names))),
            late: None,
            access: Access::LIST,
            program: act.program,
        });
    }

    fn rename(&mut self, from: &[u8], to: &[u8], exchange: bool, act: Act) {
        let Some(from) = self.resolve(from, false, act) else { return };
        let Some(to) = self.resolve(to, false, act) else { return };
        self.ask_folder_of(&to, act);
        if act.failed() {
            self.ask(&from, Wish::Content, Access::STAT, act.on_the_way());
            return self.ask_removable(&to, act.on_the_way());
        }
        if act.timing == Timing::Before {
            self.ask(&from, Wish::Content, Access::READ, act);
            if exchange {
                self.ask(&to, Wish::Content, Access::READ, act);
            } else if self.look(&to, act).before.kind() == Some(FileKind::Directory) {
                self.ask_removable(&to, act);
            } else {
                self.ask_place(&to, act);
            }
        }
        let unseen = act.timing != Timing::Before && !self.entries.contains_key(&from);
        for path in [&from, &to] {
            let moved = path == &from || exchange;
            if moved && self.is_foreign_directory(path, act) {
                let name = self.portable(path);
                self.taints.insert(Taint::Unresolved(format!(
                    "the folder {name} was renamed, and not everything in it was made by the test"
                )));
            }
        }
        if unseen {
            return self.renamed_unseen(&from, &to, act);
        }
        if act.timing != Timing::Before && !self.entries.contains_key(&to) {
            // Whether something was replaced cannot be told any more.
            self.entries.insert(to.clone(), Entry::new(Before::Unknown));
        }
        let made_folder = self.made.remove(&from);
        self.change(&from, Change::Replaced, act);
        self.change(&to, Change::Replaced, act);
        if made_folder {
            self.made.insert(to.clone());
        }
        self.resolver.forget_all();
        self.handled.clear();
    }

    /// A file was moved away before we ever saw it: its content is at the new place now.
    fn renamed_unseen(&mut self, from: &[u8], to: &[u8], act: Act) {
        let own = ancestors(from).any(|a| self.made.contains(a));
        if !own && self.judge(from, act.program) == Judgement::Default {
            self.entries.insert(from.to_vec(), Entry::new(Before::Unknown));
            let taint = Taint::ChangedBeforeSeen(self.portable(from));
            self.taints.insert(taint);
        }
        self.change(from, Change::Replaced, act);
        self.change(to, Change::Replaced, act);
        self.resolver.forget_all();
        self.handled.clear();
    }

    fn is_foreign_directory(&mut self, path: &[u8], act: Act) -> bool {
        if matches!(self.judge(path, act.program), Judgement::Ignore | Judgement::IgnoreTemp) {
            return false;
        }
        let entry = self.look(path, act);
        entry.before.kind() == Some(FileKind::Directory) && entry.change != Change::Replaced
    }

    fn link(&mut self, from: &[u8], to: &[u8], follow: bool, act: Act) {
        let Some(from) = self.resolve(from, follow, act) else { return };
        self.ask(&from, Wish::Content, Access::READ, act.on_the_way());
        if act.failed() {
            return;
        }
        // From now on the content can be changed under another name.
        self.change(&from, Change::Edited, act);
        self.make_node(to, act);
    }

    fn edit(&mut self, path: &[u8], follow: bool, act: Act) {
        let Some(path) = self.resolve(path, follow, act) else { return };
        if act.failed() {
            return self.ask(&path, Wish::Content, Access::STAT, act);
        }
        self.ask(&path, Wish::Kind, Access::STAT, act);
        self.change(&path, Change::Edited, act);
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
            match interpreter(&path) {
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
            Timing::Before => self.programs.announce(thread),
            Timing::After { .. } if !act.failed() => {
                self.programs.set(thread, String::from_utf8_lossy(path).into_owned());
            }
            Timing::After { .. } => {}
        }
    }

    fn connect(&mut self, peer: tamis_trace::Peer, act: Act) {
        if !self.peers.insert(peer.clone()) {
            return;
        }
        if let tamis_trace::Peer::Unix(path) = &peer {
            let Some(path) = self.resolve(path, true, act) else { return };
            self.ask(&path, Wish::Kind, Access::STAT, act);
            let entry = self.look(&path, act);
            if entry.before.kind() != Some(FileKind::Special) || entry.change == Change::Replaced {
                return;
            }
        }
        if act.failed() && !act.in_progress() {
            return;
        }
        match network::judge(&peer, self.context.services, self.programs.threads()) {
            Meaning::Nothing => {}
            Meaning::Note(note) => {
                self.notes.insert(note);
            }
            Meaning::Taint(taint) => {
                self.taints.insert(taint);
            }
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

/// Who acts, and when we hear of it.
#[derive(Debug, Clone, Copy)]
struct Act {
    program: usize,
    timing: Timing,
    /// Whether the call's result may be about another path.
    indirect: bool,
}

impl Act {
    fn new(program: usize, timing: Timing) -> Self {
        Self { program, timing, indirect: false }
    }

    /// The same, for a path that the call's error may not speak of: a link on the way, an
    /// interpreter, one of two paths.
    fn on_the_way(self) -> Self {
        Self { indirect: true, ..self }
    }

    /// Whether the call found nothing at its path, or somewhere on the way.
    fn found_nothing(self) -> bool {
        let absent = [-i64::from(libc::ENOENT), -i64::from(libc::ENOTDIR)];
        matches!(self.timing, Timing::After { result, .. } if absent.contains(&result))
    }

    /// Whether the call is known to have failed.
    fn failed(self) -> bool {
        matches!(self.timing, Timing::After { result, .. } if result < 0)
    }

    /// A connection that is not there yet, but will be.
    fn in_progress(self) -> bool {
        let pending = -i64::from(libc::EINPROGRESS);
        matches!(self.timing, Timing::After { result, .. } if result == pending)
    }
}

impl Sink for Observer<'_> {
    fn event(&mut self, event: Event<'_>) {
        let program = self.program_of(event.thread, event.timing);
        let act = Act::new(program, event.timing);
        match event.action {
            Action::Open { path, how } => {
                let code = u64::from(how.no_follow) << 1 | u64::from(how.path_only) << 2 | 1 << 8;
                let only_reads = !how.write && !how.create && !how.truncate;
                if !(only_reads && self.repeated(&path, code, program)) {
                    self.open(&path, how, act);
                }
            }
            Action::Stat { path, follow } => {
                if !self.repeated(&path, u64::from(follow) | 2 << 8, program) {
                    self.ask_followed(&path, follow, Wish::Content, Access::STAT, act);
                }
            }
            Action::ReadLink { path } => {
                if !self.repeated(&path, 3 << 8, program) {
                    self.ask_followed(&path, false, Wish::Kind, Access::STAT, act);
                }
            }
            Action::Execute { path } => self.execute(&path, event.thread, act),
            Action::Remove { path } => self.remove(&path, act),
            Action::MakeDirectory { path } => self.make_directory(&path, act),
            Action::MakeNode { path } => self.make_node(&path, act),
            Action::Rename { from, to, exchange } => self.rename(&from, &to, exchange, act),
            Action::Link { from, to, follow } => self.link(&from, &to, follow, act),
            Action::Truncate { path } => self.edit(&path, true, act),
            Action::ChangeMode { path, follow } => self.edit(&path, follow, act),
            Action::Connect { peer } => self.connect(peer, act),
            Action::Blind(blind) => self.blind(blind, program),
        }
    }
}

/// What a write that is over says about its place.
fn place_by_result(result: i64) -> Value {
    let is = |errno: i32| result == -i64::from(errno);
    if is(libc::EISDIR) {
        Value::Directory
    } else if is(libc::ENOENT) {
        Value::Absent
    } else if [libc::ENOTDIR, libc::EACCES, libc::ELOOP, libc::ENAMETOOLONG].into_iter().any(is) {
        Value::Barred
    } else {
        Value::File
    }
}

/// Under which scheme the state of a path answers a wish.
fn scheme_for(wish: Wish, kind: Option<FileKind>, judgement: Judgement) -> Scheme {
    let content = match judgement {
        Judgement::As(scheme) => scheme,
        _ => Scheme::Raw,
    };
    match (wish, kind) {
        (_, Some(FileKind::Directory)) if content == Scheme::Listing => Scheme::Listing,
        (Wish::Names, Some(FileKind::Directory)) => Scheme::Listing,
        (Wish::Kind, _) | (Wish::Content, Some(FileKind::Directory)) => Scheme::Kind,
        (_, Some(FileKind::Link)) => Scheme::Kind,
        _ if content == Scheme::Listing => Scheme::Kind,
        _ => content,
    }
}

/// Whether what is at the path now was made by the tree.
fn is_own(entry: &Entry, path: &[u8], act: Act) -> bool {
    if entry.change != Change::Replaced {
        return false;
    }
    match act.timing {
        // A reported change succeeded.
        Timing::After { .. } => true,
        // The call that we heard of may have failed: then the old state is still there.
        Timing::Before => state_now(path) != entry.before,
    }
}

fn state_now(path: &[u8]) -> Before {
    match tamis_fs::identity(Path::new(OsStr::from_bytes(path))) {
        Ok(found) => found.map_or(Before::Absent, Before::There),
        // Cannot be looked at: the answer at the end will not hold.
        Err(_) => Before::Unknown,
    }
}

/// The state of a path that no event told of yet.
fn first_look(path: &[u8], act: Act, began_ns: i128) -> Before {
    let now = state_now(path);
    let Timing::After { time_ns, .. } = act.timing else {
        return now;
    };
    match now {
        Before::Absent if act.found_nothing() => Before::Absent,
        // Appeared or went away between the call and now.
        Before::There(_) if act.found_nothing() && !act.indirect => Before::Absent,
        // The names in a directory are looked at later; that it is one does not change.
        Before::There(i) if i.kind() == FileKind::Directory => now,
        Before::There(i) if is_before(i.ctime_ns, time_ns, began_ns) => now,
        _ => Before::Unknown,
    }
}

/// The time of a listing after which the names in the directory changed, before our look.
fn names_moved_since(
    scheme: Scheme,
    before: &Before,
    timing: Timing,
    began_ns: i128,
) -> Option<u64> {
    match (before, timing) {
        (Before::There(identity), Timing::After { time_ns, .. })
            if scheme == Scheme::Listing && !is_before(identity.mtime_ns, time_ns, began_ns) =>
        {
            Some(time_ns)
        }
        _ => None,
    }
}

/// When something was born, if the file system tells.
pub(crate) fn birth_ns(path: &Path) -> Option<i128> {
    let born = std::fs::symlink_metadata(path).ok()?.created().ok()?;
    Some(born.duration_since(std::time::UNIX_EPOCH).ok()?.as_nanos() as i128)
}

/// Whether a plain file is at the path now.
fn is_file(path: &[u8]) -> bool {
    let found = tamis_fs::identity(Path::new(OsStr::from_bytes(path)));
    matches!(found, Ok(Some(identity)) if identity.kind() == FileKind::File)
}

/// The state before a change that is already over.
fn before_a_change(path: &[u8], act: Act, began_ns: i128) -> Before {
    let Timing::After { time_ns, .. } = act.timing else { return first_look(path, act, began_ns) };
    if act.failed() {
        return first_look(path, act, began_ns);
    }
    let file = Path::new(OsStr::from_bytes(path));
    let Ok(Some(now)) = tamis_fs::identity(file) else { return Before::Unknown };
    match birth_ns(file) {
        // What was made just before the run, by a test before this one say, is not its own.
        Some(born) if born > began_ns && born + CLOCK_LAG_NS >= i128::from(time_ns) => {
            Before::Absent
        }
        // Opened to be changed, and not changed yet.
        Some(_) if is_before(now.ctime_ns, time_ns, began_ns) => Before::There(now),
        Some(_) => Before::Changed(now.kind()),
        None => Before::Unknown,
    }
}

/// Whether a time stamp of a file is older than a call, or than the whole run.
pub(crate) fn is_before(stamp_ns: i128, call_ns: u64, began_ns: i128) -> bool {
    stamp_ns < began_ns || stamp_ns + CLOCK_LAG_NS < i128::from(call_ns)
}

/// The time that a file gets which is changed now.
fn file_clock_ns() -> i128 {
    // SAFETY: plain data that the call fills.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut time) };
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

/// The folders above a path, nearest first.
fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = path;
    std::iter::from_fn(move || {
        let (parent, _) = split(rest)?;
        rest = parent;
        Some(parent)
    })
}

/// Parent and name of a resolved path.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let slash = path.iter().rposition(|&b| b == b'/')?;
    let name = &path[slash + 1..];
    if name.is_empty() {
        return None;
    }
    Some((if slash == 0 { b"/" } else { &path[..slash] }, name))
}
