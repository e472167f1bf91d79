//! Questions: what is asked about a path, and when its answer is taken.

use crate::Judgement;
use crate::entry::{Asked, Before, Change, Entry, Taken};
use crate::look::{Act, ancestors, first_look, is_own, names_moved_since};
use crate::observer::{MOST_NOTES, Observer};
use crate::result::take;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tamis_core::record::Access;
use tamis_core::{Note, Scheme};
use tamis_fs::FileKind;
use tamis_trace::Timing;

/// What is asked about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// What kind of thing it is.
    Kind,
    /// What is in it (for a directory only that it is one).
    Content,
    /// The names in a directory.
    Names,
}

impl Observer<'_> {
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
        let resolved = self.resolver.resolve(path, follow);
        for link in &resolved.links {
            self.ask(link, Wish::Kind, Access::FOLLOW, act.on_the_way());
        }
        (!resolved.circle).then_some(resolved.path)
    }

    pub(crate) fn judge(&self, path: &[u8], program: usize) -> Judgement {
        let name = self.programs.name(program);
        self.context.rules.judge(Path::new(OsStr::from_bytes(path)), name)
    }

    /// Puts a question about a resolved path, unless the tree made what is there.
    pub(crate) fn ask(&mut self, path: &[u8], wish: Wish, access: Access, act: Act) {
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
    pub(crate) fn is_eager(&self, path: &[u8], timing: Timing) -> bool {
        timing != Timing::Before
            && Path::new(OsStr::from_bytes(path)).starts_with(self.context.paths.root())
    }

    /// Takes the answers to all open questions about the path, as things are now.
    pub(crate) fn answer(&mut self, path: &[u8]) {
        let Some(entry) = self.entries.get_mut(path) else { return };
        let file = Path::new(OsStr::from_bytes(path));
        let mut asked = std::mem::take(&mut entry.asked);
        for asked in asked.iter_mut().filter(|a| matches!(a.taken, Taken::NotYet)) {
            let answer = take(self.context.fingerprinter, file, entry, asked.scheme);
            asked.taken = answer.map_or(Taken::Lost, Taken::Answer);
        }
        entry.asked = asked;
    }

    pub(crate) fn note_temp(&mut self, path: &[u8], access: Access, act: Act) {
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
