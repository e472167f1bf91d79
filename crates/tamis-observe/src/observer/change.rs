//! Changes that the tree makes: what was there before is kept, and what the change itself asks (is
//! there a place to write to, is the directory empty) is asked.

use super::{Observer, Wish, ancestors, split};
use crate::Judgement;
use crate::entry::{Asked, Before, Change, Entry, Name, Taken};
use crate::moment::{Act, before_a_change, before_a_link, is_file, is_pipe, place_by_result};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tamis_core::record::Access;
use tamis_core::{Scheme, Taint};
use tamis_fs::FileKind;
use tamis_trace::{OpenHow, Timing};

/// The flags of a rename.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rename {
    pub(crate) exchange: bool,
    /// It fails where something has the new name.
    pub(crate) keep: bool,
}

impl Observer<'_> {
    /// The tree is about to change what is at a resolved path.
    fn change(&mut self, path: &[u8], change: Change, act: Act) {
        if self.judge(path, act.program) == Judgement::Ignore {
            if change == Change::Replaced {
                self.touch_parent_of_ignored(path, act);
            }
            return;
        }
        if !act.timing.is_before_changes() && !self.entries.contains_key(path) {
            // The call is over: what was there before is known only by its birth.
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

    /// Every JVM opens its working folder at its start, only to come back to it.
    fn is_java_remembering_its_folder(&self, path: &[u8], how: OpenHow, act: Act) -> bool {
        how.bare && path.ends_with(b"/.") && self.programs.name(act.program).ends_with("/bin/java")
    }

    pub(crate) fn open(&mut self, path: &[u8], how: OpenHow, act: Act) {
        let failed = act.failed();
        if !how.write && !how.create && !how.truncate {
            let looks_only = how.path_only || self.is_java_remembering_its_folder(path, how, act);
            let wish = if looks_only { Wish::Content } else { Wish::Names };
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
        if is_pipe(&self.look_for_write(&path, act)) {
            return self.open_pipe(&path, act);
        }
        if failed {
            // Refused: whether it is there, and what it is, was seen.
            return self.ask(&path, Wish::Content, Access::STAT, act);
        }
        self.writes(&path, act);
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
        } else {
            self.ask_size(&path, how, act);
            if !how.create {
                self.ask(&path, Wish::Kind, Access::STAT, act);
            }
        }
        if how.write || !there {
            self.change(&path, if there { Change::Edited } else { Change::Replaced }, act);
        }
    }

    /// A pipe that is opened to be written needs somebody who reads from it.
    fn open_pipe(&mut self, path: &[u8], act: Act) {
        let ignored = self.judge(path, act.program) == Judgement::Ignore;
        if !ignored && self.look(path, act).change == Change::None {
            self.taint_pipe(path);
        }
    }

    /// Who writes to a file without emptying it finds its end, and that is where it was before.
    fn ask_size(&mut self, path: &[u8], how: OpenHow, act: Act) {
        match self.judge(path, act.program) {
            Judgement::Ignore | Judgement::IgnoreTemp => return,
            Judgement::As(Scheme::Bytecode) => return,
            Judgement::Default | Judgement::As(_) => {}
        }
        let own_folder = !self.made.is_empty() && ancestors(path).any(|a| self.made.contains(a));
        let fingerprinter = self.context.fingerprinter;
        let entry = self.entries.get_mut(path).expect("looked at");
        if own_folder || entry.change != Change::None || entry.question(Scheme::Size).is_some() {
            return;
        }
        let known = match act.timing {
            Timing::After { .. } => how.length.map(tamis_fs::size_value),
            Timing::Before | Timing::Logged { .. } => {
                let file = Path::new(OsStr::from_bytes(path));
                Some(fingerprinter.answer(file, Scheme::Size).value)
            }
        };
        let answer = known.map(|value| Taken::Answer(tamis_fs::Answer::of(value)));
        entry.asked.push(Asked {
            scheme: Scheme::Size,
            taken: answer.unwrap_or(Taken::NotYet),
            late: None,
            access: Access::STAT,
            program: act.program,
        });
    }

    fn look_for_write(&mut self, path: &[u8], act: Act) -> Before {
        if !act.timing.is_before_changes() && !self.entries.contains_key(path) {
            let before = before_a_change(path, act, self.began_ns);
            self.entries.insert(path.to_vec(), Entry::new(before));
        }
        self.look(path, act).before
    }

    /// A call that makes or removes a name fails where there is no folder for it, or one that this
    /// user may not write in.
    fn ask_folder_of(&mut self, path: &[u8], act: Act) {
        if let Some((folder, _)) = split(path) {
            let act = act.on_the_way();
            self.ask(folder, Wish::Kind, Access::STAT, act);
            self.ask(folder, Wish::Facet(Scheme::Rights), Access::STAT, act);
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
            Timing::Before | Timing::Logged { .. } => {
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
        if !act.timing.is_before_changes() && !act.failed() {
            // It succeeded, so nothing was there.
            let known = self.entries.contains_key(path);
            if !known {
                self.entries.insert(path.to_vec(), Entry::new(Before::Absent));
            }
            if self.judge(path, act.program).counts() {
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

    pub(crate) fn make_directory(&mut self, path: &[u8], act: Act) {
        let Some(path) = self.resolve(path, false, act) else { return };
        self.ask_folder_of(&path, act);
        self.ask_new_name(&path, act);
        if act.failed() {
            return;
        }
        self.change(&path, Change::Replaced, act);
        if !act.timing.is_before_changes() {
            self.memory.folder_made(&path);
        }
        if self.entries.get(&path).is_some_and(|e| e.before == Before::Absent) {
            self.made.insert(path);
        }
    }

    pub(crate) fn make_node(&mut self, path: &[u8], act: Act) {
        let Some(path) = self.resolve(path, false, act) else { return };
        self.ask_folder_of(&path, act);
        self.ask_new_name(&path, act);
        if !act.failed() {
            self.change(&path, Change::Replaced, act);
            self.memory.names_change(&path);
        }
    }

    pub(crate) fn remove(&mut self, path: &[u8], act: Act) {
        let Some(path) = self.resolve(path, false, act) else { return };
        self.links(&path, act);
        self.ask_folder_of(&path, act);
        if !act.timing.is_before_changes() && !act.failed() {
            return self.removed(&path, act);
        }
        self.ask_removable(&path, act);
        if !act.failed() {
            self.change(&path, Change::Replaced, act);
            if is_file(&path) {
                self.memory.file_goes(&path);
            } else {
                self.memory.names_change(&path);
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
        if self.judge(path, act.program).counts() {
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
        self.memory.names_change(path);
    }

    /// A directory that was removed held nothing but what the tree had removed from it.
    fn was_empty(&mut self, path: &[u8], act: Act) {
        if !self.judge(path, act.program).counts() {
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

    pub(crate) fn rename(&mut self, from: &[u8], to: &[u8], how: Rename, act: Act) {
        let Rename { exchange, keep } = how;
        let Some(from) = self.resolve(from, false, act) else { return };
        let Some(to) = self.resolve(to, false, act) else { return };
        self.links(&from, act);
        self.links(&to, act);
        self.ask_folder_of(&from, act);
        self.ask_folder_of(&to, act);
        if act.failed() {
            self.ask(&from, Wish::Content, Access::STAT, act.on_the_way());
            return self.ask_removable(&to, act.on_the_way());
        }
        if act.timing.is_before_changes() {
            self.ask(&from, Wish::Content, Access::READ, act);
            if exchange {
                self.ask(&to, Wish::Content, Access::READ, act);
            } else if keep {
                self.ask_new_name(&to, act);
            } else if self.look(&to, act).before.kind() == Some(FileKind::Directory) {
                self.ask_removable(&to, act);
            } else {
                self.ask_place(&to, act);
            }
        }
        if keep && !act.timing.is_before_changes() {
            self.ask_new_name(&to, act);
        }
        let unseen = !act.timing.is_before_changes() && !self.entries.contains_key(&from);
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
        if !act.timing.is_before_changes() && !self.entries.contains_key(&to) {
            // Whether something was replaced cannot be found out any more.
            self.entries.insert(to.clone(), Entry::new(Before::Unknown));
        }
        let made_folder = self.made.remove(&from);
        self.links_move(&from, &to, exchange, act);
        self.change(&from, Change::Replaced, act);
        self.change(&to, Change::Replaced, act);
        if made_folder {
            self.made.insert(to.clone());
        }
        self.memory.all_names_change();
    }

    /// A file was moved away before we ever saw it: its content is at the new place now.
    fn renamed_unseen(&mut self, from: &[u8], to: &[u8], act: Act) {
        let own = ancestors(from).any(|a| self.made.contains(a));
        if !own && self.judge(from, act.program).counts() {
            self.entries.insert(from.to_vec(), Entry::new(Before::Unknown));
            let taint = Taint::ChangedBeforeSeen(self.portable(from));
            self.taints.insert(taint);
        }
        self.links_move(from, to, false, act);
        self.change(from, Change::Replaced, act);
        self.change(to, Change::Replaced, act);
        self.memory.all_names_change();
    }

    /// Links that the tree made move with their names; those who stop the process look anew.
    fn links_move(&mut self, from: &[u8], to: &[u8], exchange: bool, act: Act) {
        if !act.timing.is_before_changes() {
            self.memory.links_move(from, to, exchange);
        }
    }

    fn is_foreign_directory(&mut self, path: &[u8], act: Act) -> bool {
        if matches!(self.judge(path, act.program), Judgement::Ignore | Judgement::IgnoreTemp) {
            return false;
        }
        let entry = self.look(path, act);
        entry.before.kind() == Some(FileKind::Directory) && entry.change != Change::Replaced
    }

    pub(crate) fn link(&mut self, from: &[u8], to: &[u8], follow: bool, act: Act) {
        let Some(from) = self.resolve(from, follow, act) else { return };
        if !self.entries.contains_key(&from)
            && let Some(before) = before_a_link(&from, act, self.began_ns)
        {
            self.entries.insert(from.clone(), Entry::new(before));
        }
        self.links(&from, act);
        self.ask(&from, Wish::Content, Access::READ, act.on_the_way());
        if act.failed() {
            // A lock that somebody holds: the name is there.
            let Some(to) = self.resolve(to, false, act) else { return };
            self.ask_folder_of(&to, act);
            return self.ask(&to, Wish::Kind, Access::STAT, act.on_the_way());
        }
        // From now on the content can be changed under another name.
        self.change(&from, Change::Edited, act);
        self.make_node(to, act);
    }

    pub(crate) fn edit(&mut self, path: &[u8], follow: bool, act: Act) {
        let Some(path) = self.resolve(path, follow, act) else { return };
        if act.failed() {
            return self.ask(&path, Wish::Content, Access::STAT, act);
        }
        self.ask(&path, Wish::Kind, Access::STAT, act);
        self.writes(&path, act);
        self.change(&path, Change::Edited, act);
    }

    /// The tree changes rights, owner, times or attributes, and so its own look at the thing.
    pub(crate) fn restamp(&mut self, path: &[u8], follow: bool, act: Act) {
        self.edit(path, follow, act);
        if act.timing.is_before_changes()
            && let Some(path) = self.resolve(path, follow, act)
            && let Some(entry) = self.entries.get_mut(&path)
        {
            entry.restamped = true;
        }
    }

    fn links(&mut self, path: &[u8], act: Act) {
        if act.timing.is_before_changes() {
            self.memory.relinked.links(path);
        }
    }

    fn writes(&mut self, path: &[u8], act: Act) {
        if act.timing.is_before_changes() {
            self.memory.relinked.writes(path);
        }
    }
}
