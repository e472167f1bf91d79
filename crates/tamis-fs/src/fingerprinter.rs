//! Takes answers: from the cache where the identity allows it, else by reading.

use crate::cache::{Cache, Key, Known, View};
use crate::canonical::{self, Format};
use crate::command::Runner;
use crate::identity::{FileKind, Found, Identity, OpenFolder, folder_and_name, identity, look};
use crate::mounts::{Mounts, Stamp};
use crate::read::{self, Reading};
use crate::troubles::Troubles;
use crate::{facets, filesystem, listing, rights};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tamis_core::record::Detail;
use tamis_core::{Hash, Scheme, Value};

/// The names of larger directories are not kept for explanations.
pub const MAX_NAMES: usize = 2000;

/// A path that changes under our hands is read so many times before we give up.
pub(crate) const ATTEMPTS: usize = 5;

/// Paths that one thread takes at a time; an answer from the cache costs about a microsecond.
const CHUNK: usize = 128;

/// Fewer questions are answered before the other threads would have started.
const PARALLEL_FROM: usize = 512;

/// Paths that one thread takes at a time where a command is started for each.
const COMMANDS: usize = 4;

/// Entries of directories that a listing leaves out.
#[derive(Clone)]
pub struct Ignored {
    /// Whether the entry at this full path is left out.
    pub predicate: Arc<dyn Fn(&Path) -> bool + Send + Sync>,
    /// Names the predicate: another one must have another digest.
    pub digest: Hash,
}

impl fmt::Debug for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ignored").field("digest", &self.digest).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
pub struct Options {
    /// Where the stat cache is kept between processes; only in memory where `None`.
    pub cache_file: Option<PathBuf>,
    pub ignored: Option<Ignored>,
    /// The words of each [`Scheme::Command`] and [`Scheme::Filter`], by
    /// [`command_id`](crate::command_id); `{}` stands for the path.
    pub commands: HashMap<Hash, Vec<String>>,
    /// The folder in which commands run.
    pub root: PathBuf,
    /// A command that takes longer is ended.
    pub command_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_file: None,
            ignored: None,
            commands: HashMap::new(),
            root: PathBuf::from("."),
            command_timeout: Duration::from_secs(60),
        }
    }
}

/// The state of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub value: Value,
    pub detail: Detail,
    /// What `lstat` gave when the value was taken; `None` where nothing is, or it failed.
    pub identity: Option<Identity>,
    /// Why the state could not be found out. The value is then equal to no other value, ever.
    pub error: Option<String>,
}

impl Answer {
    fn found(value: Value, identity: Identity) -> Self {
        Self { value, detail: Detail::None, identity: Some(identity), error: None }
    }

    fn failed(error: String, identity: Option<Identity>) -> Self {
        Self { value: unequal_value(), detail: Detail::None, identity, error: Some(error) }
    }
}

/// A value that was never there before and never comes again, in no process.
fn unequal_value() -> Value {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    // Seeded by the system's random numbers.
    let random = RandomState::new().hash_one(count);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    Value::Opaque(Hash::of_parts([
        b"unknown".as_slice(),
        &count.to_le_bytes(),
        &random.to_le_bytes(),
        &now.to_le_bytes(),
        &std::process::id().to_le_bytes(),
    ]))
}

/// Whether the names of a listing are wanted, for which the directory must be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Wanted,
    NotWanted,
}

/// A value that was read, with what the cache needs to know.
struct Taken {
    value: Value,
    detail: Detail,
    /// Size of the file or number of names, if the identity can stand for the value.
    cacheable: Option<u64>,
}

/// Answers questions about paths. Used from many threads at once.
#[derive(Debug)]
pub struct Fingerprinter {
    options: Options,
    cache: Cache,
    mounts: Mounts,
    troubles: Troubles,
    clock: fn() -> i128,
    #[cfg(test)]
    pub(crate) reads: std::sync::atomic::AtomicUsize,
}

impl Fingerprinter {
    pub fn new(mut options: Options) -> Self {
        let cache = Cache::open(options.cache_file.take());
        Self {
            options,
            cache,
            mounts: Mounts::default(),
            troubles: Troubles::default(),
            clock: system_time_ns,
            #[cfg(test)]
            reads: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    #[cfg(test)]
    pub(crate) fn with_clock(options: Options, clock: fn() -> i128) -> Self {
        Self { clock, ..Self::new(options) }
    }

    /// The state of `path` (absolute, already canonical up to its last component) under `scheme`,
    /// now.
    pub fn answer(&self, path: &Path, scheme: Scheme) -> Answer {
        self.answer_now(&self.cache.view(1), path, scheme, Names::Wanted, || look(path))
    }

    /// Like [`answer`](Self::answer), but only if the thing at `path` has the identity `seen`, both
    /// before and after it was read; else `None`.
    pub fn answer_as_seen(&self, path: &Path, scheme: Scheme, seen: &Identity) -> Option<Answer> {
        let began_ns = (self.clock)();
        match identity(path) {
            Ok(Some(found)) if found == *seen => {
                self.answer_of(&self.cache.view(1), path, scheme, seen, began_ns, Names::Wanted)
            }
            _ => None,
        }
    }

    /// The states of many paths, in parallel. Listings come without names.
    pub fn answer_many(&self, questions: &[(PathBuf, Scheme)]) -> Vec<Answer> {
        self.many(questions, |(path, scheme)| (Cow::Borrowed(path), *scheme), |answer| answer)
    }

    /// The values alone, of paths that are made when they are needed.
    pub fn values<Q: Sync>(
        &self,
        questions: &[Q],
        path_of: impl Fn(&Q) -> (PathBuf, Scheme) + Sync,
    ) -> Vec<Value> {
        let path_of = |question: &Q| {
            let (path, scheme) = path_of(question);
            (Cow::Owned(path), scheme)
        };
        self.many(questions, path_of, |answer| answer.value)
    }

    fn many<'q, Q: Sync, T: Send>(
        &self,
        questions: &'q [Q],
        path_of: impl Fn(&'q Q) -> (Cow<'q, Path>, Scheme) + Sync,
        keep: impl Fn(Answer) -> T + Sync,
    ) -> Vec<T> {
        let view = self.cache.view(questions.len());
        let in_order = |chunk: &'q [Q]| {
            let paths: Vec<_> = chunk.iter().map(&path_of).collect();
            self.answer_in_order(&view, &paths, &keep)
        };
        let started = |question: &'q Q| path_of(question).1.command().is_some();
        let commands = !self.options.commands.is_empty() && questions.iter().any(started);
        if questions.len() < PARALLEL_FROM && !commands {
            return in_order(questions);
        }
        let chunk = if commands { COMMANDS } else { CHUNK };
        let answers: Vec<Vec<T>> = questions.par_chunks(chunk).map(in_order).collect();
        answers.into_iter().flatten().collect()
    }

    /// One after the other; neighbours in one folder are looked at through that folder.
    fn answer_in_order<T>(
        &self,
        view: &View,
        questions: &[(Cow<'_, Path>, Scheme)],
        keep: impl Fn(Answer) -> T,
    ) -> Vec<T> {
        let mut folder: Option<OpenFolder> = None;
        let place = |n: usize| questions.get(n).and_then(|(path, _)| folder_and_name(path));
        let mut answers = Vec::with_capacity(questions.len());
        for (n, (path, scheme)) in questions.iter().enumerate() {
            let here = place(n);
            if let Some((parent, _)) = here
                && !folder.as_ref().is_some_and(|folder| folder.is(parent))
            {
                let pays = place(n + 1).is_some_and(|(next, _)| next == parent);
                folder = if pays { OpenFolder::open(parent) } else { None };
            }
            answers.push(keep(self.answer_now(view, path, *scheme, Names::NotWanted, || {
                match (&folder, here) {
                    (Some(folder), Some((parent, name))) if folder.is(parent) => folder.look(name),
                    _ => look(path),
                }
            })));
        }
        answers
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    pub(crate) fn now_ns(&self) -> i128 {
        (self.clock)()
    }

    /// What users' commands failed at since the last call; each command once.
    pub fn take_troubles(&self) -> Vec<String> {
        self.troubles.take()
    }

    pub(crate) fn ignored(&self) -> Option<&Ignored> {
        self.options.ignored.as_ref()
    }

    /// Writes what was learnt to the cache file. A failure costs the next run time and nothing
    /// else; what could not be written stays known to this process.
    pub fn flush(&self) -> io::Result<()> {
        self.cache.flush((self.clock)())
    }

    fn answer_now(
        &self,
        view: &View,
        path: &Path,
        scheme: Scheme,
        names: Names,
        first_look: impl Fn() -> io::Result<Found>,
    ) -> Answer {
        for attempt in 0..ATTEMPTS {
            let began_ns = (self.clock)();
            // An open folder may meanwhile be another one than the path leads to.
            let found = match if attempt == 0 { first_look() } else { look(path) } {
                Ok(Found::There(found)) => found,
                Ok(Found::Absent) if scheme == Scheme::Place => return empty_place(path),
                Ok(Found::Absent) => return missing(scheme, Value::Absent),
                Ok(Found::Barred) => return missing(scheme, Value::Barred),
                Err(error) => {
                    return Answer::failed(
                        format!("{} cannot be looked at: {error}", path.display()),
                        None,
                    );
                }
            };
            if let Some(answer) = self.answer_of(view, path, scheme, &found, began_ns, names) {
                return answer;
            }
        }
        let error = format!("{} changes all the time; wait for what writes it", path.display());
        Answer::failed(error, None)
    }

    /// The answer for the thing of identity `found`, which was seen at `path` after `began_ns`;
    /// `None` if it did not stay there until it was read.
    fn answer_of(
        &self,
        view: &View,
        path: &Path,
        scheme: Scheme,
        found: &Identity,
        began_ns: i128,
        names: Names,
    ) -> Option<Answer> {
        if facets::is_facet(scheme) {
            return Some(match facets::facet(path, scheme, found) {
                Some(value) => Answer::found(value, *found),
                None => {
                    Answer::failed(format!("{scheme} of {} is not known", path.display()), None)
                }
            });
        }
        match (found.kind(), scheme) {
            (FileKind::File, Scheme::Kind | Scheme::Listing) => {
                return Some(Answer::found(Value::File, *found));
            }
            (FileKind::Directory, Scheme::Place) => {
                return Some(Answer::found(Value::Directory, *found));
            }
            (_, Scheme::Place) if rights::may(path, libc::W_OK) => {
                return Some(Answer::found(Value::File, *found));
            }
            (_, Scheme::Place) => return Some(Answer::found(Value::Barred, *found)),
            (FileKind::Directory, Scheme::Listing) | (FileKind::File | FileKind::Link, _) => {}
            (FileKind::Directory, _) => return Some(Answer::found(Value::Directory, *found)),
            (kind, _) => return Some(Answer::found(facets::special(path, kind), *found)),
        }
        // A link is read as quickly as it is looked up.
        let stamp = self.mounts.stamp(found.device, path);
        // Of a command it is not known what else it reads.
        let keeps = found.kind() != FileKind::Link && scheme.command().is_none();
        let cached = keeps && stamp != Stamp::Unknown;
        let key = Key::new(path.as_os_str().as_bytes(), scheme, self.filter(scheme, stamp));
        if cached
            && let Some(known) = self.cache.get(view, key, found, began_ns)
            && let Some(detail) = detail_of(known, names)
        {
            tracing::trace!(?path, ?scheme, value = ?known.value, "cache: hit");
            return Some(Answer { detail, ..Answer::found(known.value, *found) });
        }
        let taken = match self.take(path, scheme, found, names) {
            Reading::Done(taken) => taken,
            Reading::Changed => return None,
            Reading::Forbidden => {
                return Some(Answer::found(Value::Opaque(found.opaque_hash()), *found));
            }
            Reading::Failed(error) => {
                let error = match scheme.command() {
                    Some(_) => error.to_string(),
                    None => format!("{} cannot be read: {error}", path.display()),
                };
                return Some(Answer::failed(error, Some(*found)));
            }
        };
        if !matches!(identity(path), Ok(Some(after)) if after == *found) {
            return None;
        }
        tracing::debug!(?path, ?scheme, value = ?taken.value, cached, "cache: miss, read");
        if cached && let Some(size) = taken.cacheable {
            self.cache.put(key, found, Known { value: taken.value, size }, began_ns);
        }
        Some(Answer { detail: taken.detail, ..Answer::found(taken.value, *found) })
    }

    /// What besides path and scheme decides about the value.
    fn filter(&self, scheme: Scheme, stamp: Stamp) -> Hash {
        let ignored = match &self.options.ignored {
            Some(ignored) if scheme == Scheme::Listing => ignored.digest,
            _ => Hash(0),
        };
        match stamp {
            Stamp::Mount(mount) => Hash(ignored.0 ^ mount.0.rotate_left(1)),
            Stamp::Plain | Stamp::Unknown => ignored,
        }
    }

    fn take(&self, path: &Path, scheme: Scheme, found: &Identity, names: Names) -> Reading<Taken> {
        #[cfg(test)]
        self.reads.fetch_add(1, Ordering::Relaxed);
        match found.kind() {
            FileKind::Link => read::link_target(path).map(|hash| Taken {
                value: Value::Link(hash),
                detail: Detail::None,
                cacheable: None,
            }),
            FileKind::Directory => self.take_listing(path, names),
            _ => read::open(path, found).and_then(|file| {
                let cacheable = filesystem::times_are_meaningful(&file).then_some(found.size);
                self.take_file(file, path, scheme, found).map(|value| Taken {
                    value,
                    detail: Detail::Size(found.size),
                    cacheable,
                })
            }),
        }
    }

    fn take_listing(&self, path: &Path, names: Names) -> Reading<Taken> {
        let ignored = |entry: &Path| match &self.options.ignored {
            Some(ignored) => (ignored.predicate)(entry),
            None => false,
        };
        listing::read(path, ignored).map(|listing| {
            let steady = File::open(path).is_ok_and(|dir| filesystem::times_are_meaningful(&dir));
            let count = listing.len();
            let value = Value::Listing(listing.hash());
            let detail = match names {
                Names::Wanted if count <= MAX_NAMES => Detail::Names(listing.into_names()),
                _ => Detail::None,
            };
            Taken { value, detail, cacheable: steady.then_some(count as u64) }
        })
    }

    fn take_file(
        &self,
        file: File,
        path: &Path,
        scheme: Scheme,
        found: &Identity,
    ) -> Reading<Value> {
        let content = |hash| Value::Content { hash, executable: found.executable() };
        let by_meaning = |file, format| hash_by_meaning(file, found.size, format).map(content);
        match scheme {
            Scheme::Xml => by_meaning(file, Format::Xml),
            Scheme::Json => by_meaning(file, Format::Json),
            Scheme::Toml => by_meaning(file, Format::Toml),
            Scheme::Text => by_meaning(file, Format::Text),
            Scheme::GitIndex => by_meaning(file, Format::GitIndex),
            Scheme::Venv => by_meaning(file, Format::Venv),
            Scheme::Bytecode => bytecode(file, content),
            Scheme::Class => by_meaning(file, Format::Class),
            Scheme::Command(id) => self.by_command(id, path, file).map(content),
            Scheme::Filter(id) => self.unless_ignored(id, path, file, content),
            // The others were answered without reading.
            _ => read::hash_to_end(file).map(content),
        }
        .into()
    }

    /// What the command prints. Nothing says nothing: then the bytes count.
    fn by_command(&self, id: Hash, path: &Path, file: File) -> io::Result<Hash> {
        let printed = self.runner(id, path)?.fingerprint(path);
        match printed.inspect_err(|why| self.failed(id, path, why, "the tests that read it run")) {
            Ok(Some(hash)) => Ok(hash),
            Ok(None) => {
                let bytes = read::hash_to_end(file)?;
                Ok(Hash::of_parts([b"nothing printed".as_slice(), &bytes.0.to_le_bytes()]))
            }
            Err(why) => Err(io::Error::other(why)),
        }
    }

    /// The bytes, unless the command says that they are no input. One that fails says nothing.
    fn unless_ignored(
        &self,
        id: Hash,
        path: &Path,
        file: File,
        content: impl Fn(Hash) -> Value,
    ) -> io::Result<Value> {
        let ignores = self.runner(id, path)?.ignores(path);
        match ignores.inspect_err(|why| self.failed(id, path, why, "the file counts")) {
            Ok(true) => Ok(Value::Derived),
            Ok(false) | Err(_) => read::hash_to_end(file).map(content),
        }
    }

    fn failed(&self, id: Hash, path: &Path, why: &str, so: &str) {
        self.troubles.add(id, path, &format!("{why}; {so}"));
    }

    fn runner(&self, id: Hash, path: &Path) -> io::Result<Runner<'_>> {
        let words = self.options.commands.get(&id).ok_or_else(|| {
            io::Error::other(format!("the command for {} is another one now", path.display()))
        })?;
        let Options { root, command_timeout, .. } = &self.options;
        Ok(Runner { words, folder: root, timeout: *command_timeout })
    }
}

fn system_time_ns() -> i128 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    }
}

/// Where a file would be made, if its folder is there.
fn empty_place(path: &Path) -> Answer {
    let value = match path.parent() {
        Some(folder) if !folder.is_dir() => Value::Absent,
        Some(folder) if rights::may(folder, libc::W_OK | libc::X_OK) => Value::File,
        Some(_) => Value::Barred,
        None => Value::Absent,
    };
    missing(Scheme::Place, value)
}

/// The answer where nothing is; `how` says in which way.
fn missing(scheme: Scheme, how: Value) -> Answer {
    let value = match scheme {
        Scheme::Bytecode => Value::Derived,
        Scheme::Size if how == Value::Absent => facets::size(0),
        _ => how,
    };
    Answer { value, detail: Detail::None, identity: None, error: None }
}

/// The detail of a cached value; `None` if it has one that the cache does not hold.
fn detail_of(known: Known, names: Names) -> Option<Detail> {
    match known.value {
        Value::Listing(_) if names == Names::Wanted && known.size <= MAX_NAMES as u64 => None,
        Value::Listing(_) => Some(Detail::None),
        _ => Some(Detail::Size(known.size)),
    }
}

fn hash_by_meaning(file: File, size: u64, format: Format) -> io::Result<Hash> {
    if size > canonical::LIMIT {
        return read::hash_to_end(file).map(|raw| format.fallback(raw));
    }
    let mut bytes = Vec::with_capacity(size as usize);
    let mut limited = file.take(canonical::LIMIT + 1);
    limited.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > canonical::LIMIT {
        // It grew, or never had a size.
        let rest = bytes.as_slice().chain(limited.into_inner());
        return read::hash_to_end(rest).map(|raw| format.fallback(raw));
    }
    Ok(format.hash(&bytes))
}

/// Python compares byte code with its source by itself, unless its header says that it must not
/// (PEP 552).
fn bytecode(mut file: File, content: impl Fn(Hash) -> Value) -> io::Result<Value> {
    const BY_TIMESTAMP: [u8; 4] = [0, 0, 0, 0];
    const BY_CHECKED_HASH: [u8; 4] = [3, 0, 0, 0];
    let mut header = [0; 16];
    let got = read::fill(&mut file, &mut header)?;
    let checked = header[4..8] == BY_TIMESTAMP || header[4..8] == BY_CHECKED_HASH;
    if got == header.len() && header[2..4] == *b"\r\n" && checked {
        return Ok(Value::Derived);
    }
    read::hash_to_end(header[..got].chain(file)).map(content)
}
