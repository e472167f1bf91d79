//! The end of a run: takes the answers that are still open, checks that nothing moved under the
//! test by somebody else's hand, and looks at what the test left behind.

use super::{Observer, ancestors};
use crate::entry::{Asked, Before, Change, Entry, Late, Name, Taken};
use crate::facts::Fact;
use crate::moment::{birth_ns, is_before};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tamis_core::record::{Access, Detail, Observed};
use tamis_core::{Note, PortablePath, Question, Scheme, Taint, Value};
use tamis_fs::{Answer, FileKind, Fingerprinter};

/// So many paths one thread concludes alone.
const FEW: usize = 16;

/// What a run looked at.
#[derive(Debug, Clone, Default)]
pub struct Observations {
    pub observed: Vec<Observed>,
    pub taints: Vec<Taint>,
    pub notes: Vec<Note>,
    /// Topmost files and folders of the project that the run made and left.
    pub left_behind: Vec<PortablePath>,
}

impl Observer<'_> {
    /// Ends the observation. Call it when the whole tree has ended.
    pub fn finish(mut self, no_new_privileges: bool) -> Observations {
        let mut entries: Vec<(Vec<u8>, Entry)> = std::mem::take(&mut self.entries)
            .into_iter()
            .filter(|(_, e)| !e.asked.is_empty() || e.change == Change::Replaced)
            .collect();
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));

        let this = &self;
        let conclude = |(path, entry): &(Vec<u8>, Entry)| this.conclude(path, entry);
        // Most windows of tests saw a few paths or none: other threads would cost more than they do.
        let results: Vec<(Vec<Observed>, Option<Taint>)> = match entries.len() {
            ..=FEW => entries.iter().map(conclude).collect(),
            _ => entries.par_iter().map(conclude).collect(),
        };
        let mut observations = Observations::default();
        for (observed, taint) in results {
            observations.observed.extend(observed);
            self.taints.extend(taint);
        }
        observations.observed.extend(self.folders_left(&entries));
        observations.observed.extend(self.connections());
        observations.left_behind = self.left_behind(&entries);
        if no_new_privileges {
            self.notes.extend(self.privileged.iter().cloned().map(Note::PrivilegeLost));
        }
        observations.taints = self.taints.into_iter().collect();
        observations.notes = self.notes.into_iter().collect();
        observations
    }

    /// What was asked about places to connect to, and about standard streams.
    fn connections(&mut self) -> Vec<Observed> {
        let threads: Vec<u32> = self.programs.threads().collect();
        let network = std::mem::take(&mut self.network);
        let (asked, meanings) = network.finish(self.context.services, &threads);
        meanings.into_iter().for_each(|meaning| self.means(meaning));
        let places = asked.into_iter().map(|(place, value, by)| (Fact::Listens(place), value, by));
        let streams = std::mem::take(&mut self.streams).into_iter();
        let streams = streams.map(|(fact, program)| (fact.clone(), fact.answer(), program));
        places
            .chain(streams)
            .map(|(fact, value, program)| Observed {
                question: Question::Fact(fact.name(self.context.paths).into()),
                before: value,
                after: None,
                access: Access::STAT,
                program: self.recorded_name(program).into(),
                detail: Detail::None,
            })
            .collect()
    }

    /// The observations of one path, and why they are not to be trusted.
    fn conclude(&self, path: &[u8], entry: &Entry) -> (Vec<Observed>, Option<Taint>) {
        let fingerprinter = self.context.fingerprinter;
        let file = Path::new(OsStr::from_bytes(path));
        let portable = self.portable(path);
        let changed = entry.change != Change::None || !entry.touched.is_empty();
        let mut taint = None;
        let mut observed = Vec::with_capacity(entry.asked.len());
        for asked in &entry.asked {
            let Some(before) = self.before(file, entry, asked) else {
                taint = Some(if changed {
                    Taint::ChangedBeforeSeen(portable.clone())
                } else {
                    Taint::Unstable(portable.clone())
                });
                continue;
            };
            if let Some(error) = &before.error {
                taint = Some(Taint::Unobserved(error.clone()));
                continue;
            }
            if !self.is_stable(file, entry, asked, &before) {
                taint = Some(Taint::Unstable(portable.clone()));
            }
            let after = changed
                .then(|| fingerprinter.answer(file, asked.scheme).value)
                .filter(|after| *after != before.value);
            let mut access = asked.access;
            if entry.change != Change::None {
                access = access.with(Access::WRITE);
            }
            if asked.scheme == Scheme::Listing {
                access = access.with(Access::LIST);
            }
            observed.push(Observed {
                question: Question::Path(portable.clone(), asked.scheme),
                before: before.value,
                after,
                access,
                program: self.recorded_name(asked.program).into(),
                detail: before.detail,
            });
        }
        observed.extend(self.several_names(file, entry, &portable));
        (observed, taint)
    }

    /// A look at a file shows how many names it has. Of those in the project that have several, that
    /// counts.
    fn several_names(&self, file: &Path, entry: &Entry, path: &PortablePath) -> Option<Observed> {
        let Before::There(seen) = &entry.before else { return None };
        let asked = entry.asked.iter().find(|a| a.access.contains(Access::STAT))?;
        let counts = seen.kind() == FileKind::File
            && seen.names > 1
            && entry.change == Change::None
            && file.starts_with(self.context.paths.root());
        counts.then(|| Observed {
            question: Question::Path(path.clone(), Scheme::Names),
            before: tamis_fs::names_value(seen.names),
            after: None,
            access: Access::STAT,
            program: self.recorded_name(asked.program).into(),
            detail: Detail::None,
        })
    }

    /// The answer from before the tree changed anything; `None` where it is not known.
    fn before(&self, file: &Path, entry: &Entry, asked: &Asked) -> Option<Answer> {
        match &asked.taken {
            Taken::Answer(answer) => Some(answer.clone()),
            Taken::Lost => None,
            Taken::NotYet => {
                let restamped = entry.restamped || self.memory.relinked.contains(&entry.before);
                take_as(self.context.fingerprinter, file, entry, asked.scheme, restamped)
            }
        }
    }

    /// Whether nothing else changed the path during the run.
    fn is_stable(&self, file: &Path, entry: &Entry, asked: &Asked, before: &Answer) -> bool {
        if asked.late.as_ref().is_some_and(|late| !self.moved_by_tree_only(file, entry, late)) {
            return false;
        }
        if entry.change != Change::None {
            return true;
        }
        let Ok(now) = tamis_fs::identity(file) else { return false };
        match (&entry.before, now) {
            (Before::Absent, None) => true,
            (Before::There(seen), Some(now)) if seen.kind() == FileKind::Directory => {
                match asked.scheme {
                    Scheme::Listing if entry.touched.is_empty() => *seen == now,
                    // The tree changed names here: all others must be as they were.
                    Scheme::Listing => {
                        listing_before(self.context.fingerprinter, file, &entry.touched)
                            .is_some_and(|a| a.value == before.value)
                    }
                    _ => now.kind() == FileKind::Directory,
                }
            }
            (Before::There(seen), Some(now)) if *seen == now => true,
            // A name more or less, by the tree's own hand.
            (Before::There(seen), Some(now)) => {
                self.memory.relinked.contains(&entry.before)
                    && seen.is_same_content(&now)
                    && self.context.fingerprinter.answer(file, asked.scheme).value == before.value
            }
            (Before::Changed(_), _) => true,
            _ => false,
        }
    }

    /// Whether the tree's own changes explain why the names in a directory changed since it looked
    /// at them. What somebody else removed before our own look, milliseconds later, is not noticed.
    fn moved_by_tree_only(&self, directory: &Path, entry: &Entry, late: &Late) -> bool {
        let Ok(names) = self.context.fingerprinter.names(directory) else { return false };
        let is_older = |name: &[u8]| {
            birth_ns(&directory.join(OsStr::from_bytes(name)))
                .is_some_and(|born| is_before(born, late.time_ns, self.began_ns))
        };
        let is_touched = |name: &[u8]| entry.touched.contains_key(name);
        !entry.touched.is_empty()
            && names.iter().all(|(name, _)| is_touched(name) || is_older(name))
            && late.names.iter().all(|found| is_touched(&found.0) || names.contains(found))
    }

    /// The names in folders that the tree made and left, and that it would come upon the next time:
    /// it had looked at them (to make one asks only for the kind), or at the names around them. What
    /// others put there later would be new to it.
    fn folders_left(&self, entries: &[(Vec<u8>, Entry)]) -> Vec<Observed> {
        let mut listed: HashSet<&[u8]> = HashSet::new();
        let mut observed = Vec::new();
        // Sorted: a folder comes before what is in it.
        for (path, entry) in entries {
            if entry.question(Scheme::Listing).is_some() {
                listed.insert(path);
            }
            let Some(asked) = entry.asked.first().filter(|_| self.made.contains(path)) else {
                continue;
            };
            let found = ancestors(path).next().is_some_and(|folder| listed.contains(folder))
                || entry.asked.iter().any(|a| a.scheme != Scheme::Kind);
            let file = Path::new(OsStr::from_bytes(path));
            let left = self.context.fingerprinter.answer(file, Scheme::Listing).value;
            if found && matches!(left, Value::Listing(_)) {
                listed.insert(path);
                observed.push(Observed {
                    question: Question::Path(self.portable(path), Scheme::Listing),
                    before: Value::Absent,
                    after: Some(left),
                    access: Access::WRITE,
                    program: self.recorded_name(asked.program).into(),
                    detail: Detail::None,
                });
            }
        }
        observed
    }

    fn left_behind(&self, entries: &[(Vec<u8>, Entry)]) -> Vec<PortablePath> {
        let mut found: Vec<&[u8]> = Vec::new();
        for (path, entry) in entries {
            if entry.before != Before::Absent || entry.change != Change::Replaced {
                continue;
            }
            // Sorted: a folder comes before what is in it.
            let inside = found.last().is_some_and(|top| {
                path.strip_prefix(*top).is_some_and(|rest| rest.first() == Some(&b'/'))
            });
            let file = Path::new(OsStr::from_bytes(path));
            if inside || !file.starts_with(self.context.paths.root()) {
                continue;
            }
            let counts = self.context.rules.judge(file, "").counts();
            if counts && matches!(tamis_fs::identity(file), Ok(Some(_))) {
                found.push(path);
            }
        }
        found.into_iter().map(|path| self.portable(path)).collect()
    }
}

/// The answer that a path gave before the tree changed it, as far as that is known now. It may have an
/// error: then it is none.
pub(crate) fn take(
    fingerprinter: &Fingerprinter,
    file: &Path,
    entry: &Entry,
    scheme: Scheme,
) -> Option<Answer> {
    take_as(fingerprinter, file, entry, scheme, entry.restamped)
}

/// The same. `restamped`: the tree itself moved the stamps, which say nothing about the content then.
fn take_as(
    fingerprinter: &Fingerprinter,
    file: &Path,
    entry: &Entry,
    scheme: Scheme,
    restamped: bool,
) -> Option<Answer> {
    let as_seen = |seen| {
        let plain = fingerprinter.answer_as_seen(file, scheme, seen);
        plain.or_else(|| {
            let now = tamis_fs::identity(file).ok()??;
            let same = restamped && seen.is_same_content(&now);
            same.then(|| fingerprinter.answer_as_seen(file, scheme, &now))?
        })
    };
    Some(match &entry.before {
        // The answer that an absent path gives under this scheme.
        Before::Absent if scheme == Scheme::Bytecode => Answer::of(Value::Derived),
        Before::Absent if scheme == Scheme::Size => Answer::of(tamis_fs::size_value(0)),
        // Out of reach, or just not there; what is there by now was not before.
        Before::Absent => match fingerprinter.answer(file, Scheme::Kind).value {
            Value::Barred if entry.change == Change::None => Answer::of(Value::Barred),
            _ => Answer::of(Value::Absent),
        },
        Before::There(_) if scheme == Scheme::Listing && !entry.touched.is_empty() => {
            listing_before(fingerprinter, file, &entry.touched)?
        }
        // The time stamps of a directory move with every name in it.
        Before::There(seen) if seen.kind() == FileKind::Directory && is_of_kind(scheme) => {
            Answer::of(Value::Directory)
        }
        Before::There(seen) if seen.kind() == FileKind::Directory && scheme != Scheme::Listing => {
            fingerprinter.answer(file, scheme)
        }
        Before::There(seen) => as_seen(seen)?,
        Before::Changed(FileKind::File) if scheme == Scheme::Kind => Answer::of(Value::File),
        Before::Changed(FileKind::Directory) if scheme == Scheme::Kind => {
            Answer::of(Value::Directory)
        }
        Before::Changed(FileKind::Pipe) if scheme == Scheme::Kind => Answer::of(Value::Pipe),
        Before::Changed(FileKind::Socket) if scheme == Scheme::Kind => Answer::of(Value::Socket),
        Before::Changed(_) | Before::Unknown => return None,
    })
}

/// Whether a directory's answer is only that it is one.
fn is_of_kind(scheme: Scheme) -> bool {
    !matches!(scheme, Scheme::Listing | Scheme::Attributes | Scheme::Rights)
}

/// The names in a directory without what the tree made there and with what it removed.
pub(crate) fn listing_before(
    fingerprinter: &Fingerprinter,
    directory: &Path,
    touched: &HashMap<Vec<u8>, Name>,
) -> Option<Answer> {
    let mut names = fingerprinter.names(directory).ok()?;
    names.retain(|(name, _)| !touched.contains_key(name));
    for (name, before) in touched {
        let path = directory.join(OsStr::from_bytes(name));
        if fingerprinter.is_ignored(&path) {
            continue;
        }
        match before {
            Name::Absent => {}
            Name::There(letter) => names.push((name.clone(), *letter)),
            Name::Unknown => return None,
        }
    }
    names.sort_unstable();
    Some(Answer {
        detail: Detail::Names(names.iter().map(|(name, _)| name.clone()).collect()),
        ..Answer::of(tamis_fs::listing_value(&names))
    })
}
