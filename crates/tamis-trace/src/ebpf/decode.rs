//! From records of the kernel side to events.

use super::own::{self, Target};
use super::record::{
    BASE_DELETED, BASE_DETACHED, BASE_LONG, BASE_UNREADABLE, MORE_MESSAGES, Name, OWN_LINK,
    PATH_OVERWRITTEN, PATH_UNREADABLE, Record,
};
use super::socket::{given, socket};
use super::table::{RecordKind, Row, Table};
use crate::decode::OTHERS_DESCRIPTOR;
use crate::event::{
    Action, Blind, Event, OpenHow, PathArg, Peer, Sink, Socket, StreamFacet, Timing,
};
use crate::socket::internet_address;
use crate::streams::Streams;
use std::borrow::Cow;
use std::collections::HashMap;

/// From `linux/openat2.h`; in the upper half of the argument of an openat2 record.
const RESOLVE_IN_ROOT: u64 = 0x10 << 32;
const NEW_MOUNTS: u64 = libc::CLONE_NEWNS as u64;

/// Decodes the records of one run, in their order.
#[derive(Debug)]
pub(super) struct Decoder {
    table: Table,
    /// Bases that were sent at the start of a call that has not returned yet, by thread.
    bases: HashMap<u32, SentBase>,
    streams: Streams,
}

#[derive(Debug)]
struct SentBase {
    descriptor: i32,
    path: Vec<u8>,
    marks: u8,
}

/// Why a path has no absolute form.
#[derive(Debug, PartialEq, Eq)]
enum Unread {
    /// The call looked at no file.
    Nothing,
    Unknown(String),
}

type Found<T> = Result<T, Unread>;

impl Decoder {
    pub(super) fn new(streams: Streams) -> Self {
        Self { table: Table::new(), bases: HashMap::new(), streams }
    }

    /// Hands the events of one record to the sink. `epoch_offset_ns` leads from the record's clock to
    /// CLOCK_REALTIME.
    pub(super) fn decode(
        &mut self,
        record: &Record<'_>,
        epoch_offset_ns: i64,
        sink: &mut dyn Sink,
    ) {
        let time_ns = record.time_ns.wrapping_add_signed(epoch_offset_ns);
        let timing = Timing::After { time_ns, result: visible_result(record.result) };
        if let Some(action) = self.named_stream(record) {
            sink.event(Event { thread: record.thread, timing, action });
        }
        let action = match self.action(record) {
            Ok(action) => action,
            Err(Unread::Nothing) => return,
            Err(Unread::Unknown(why)) => Action::Blind(Blind::Unresolved(why)),
        };
        let besides = self.besides(record, &action);
        for action in [Some(action), besides].into_iter().flatten() {
            sink.event(Event { thread: record.thread, timing, action });
        }
    }

    /// The standard stream that a call names. What the test may have put there instead is not sent.
    fn named_stream(&self, record: &Record<'_>) -> Option<Action<'static>> {
        let looks = matches!(record.kind, RecordKind::Stat | RecordKind::ReadLink);
        let number = looks.then(|| crate::streams::named(record.names[0].path))??;
        let facet = StreamFacet::Kind;
        self.streams.has(number).then_some(Action::Stream { number, facet })
    }

    /// What a call does or asks besides.
    fn besides<'a>(&self, record: &Record<'a>, action: &Action<'a>) -> Option<Action<'a>> {
        match action {
            Action::MakeNode { path } if record.result >= 0 => {
                let makes_link = self.table.row(record.number)?.name.starts_with("symlink");
                let target = Cow::Borrowed(record.names[1].path);
                makes_link.then(|| Action::LinkTo { path: path.clone(), target })
            }
            Action::Bind { peer: Peer::Unix(path), .. } => {
                Some(Action::MakeNode { path: path.clone().into() })
            }
            Action::Stat { path, follow } => {
                let facet = self.table.row(record.number)?.facet_of(record.argument)?;
                Some(Action::Inspect { path: path.clone(), follow: *follow, facet })
            }
            _ => None,
        }
    }

    fn action<'a>(&mut self, record: &Record<'a>) -> Found<Action<'a>> {
        let row = self.table.row(record.number);
        let call = row.map_or("execve", |row| row.name);
        let [first, second] = &record.names;
        let path = |name| absolute(call, name, record.result, Last::Follow);
        let kept = |name| absolute(call, name, record.result, Last::Keep);
        let follow = row.is_none_or(|row: &Row| row.follows(record.argument));
        Ok(match record.kind {
            RecordKind::Open => Action::Open { path: path(first)?, how: open_how(record) },
            RecordKind::Openat2 if record.argument & RESOLVE_IN_ROOT != 0 => {
                return unknown("openat2 took a directory for the root".to_owned());
            }
            RecordKind::Openat2 => {
                let how = OpenHow::from_flags(u64::from(record.argument as u32));
                Action::Open { path: path(first)?, how }
            }
            RecordKind::Stat if !follow => Action::Stat { path: kept(first)?, follow },
            RecordKind::Stat => Action::Stat { path: path(first)?, follow },
            RecordKind::Chdir => {
                let sent = self.bases.remove(&record.thread);
                Action::Stat { path: from_sent_base(call, first, sent, record)?, follow: true }
            }
            RecordKind::ReadLink => Action::ReadLink { path: kept(first)? },
            RecordKind::Execute => Action::Execute { path: path(first)? },
            RecordKind::ExecuteAt => {
                self.bases.remove(&record.thread);
                Action::Execute { path: path(first)? }
            }
            RecordKind::Executed => {
                let sent = self.bases.remove(&(record.argument as u32));
                Action::Execute { path: executed(first, sent, record.result)? }
            }
            // A directory that removed itself has its name still.
            RecordKind::Remove if record.result == 0 => {
                let named = Name { marks: first.marks & !BASE_DELETED, ..*first };
                Action::Remove { path: path(&named)? }
            }
            RecordKind::Remove => Action::Remove { path: path(first)? },
            RecordKind::MakeDirectory => Action::MakeDirectory { path: path(first)? },
            RecordKind::MakeNode => Action::MakeNode { path: path(first)? },
            RecordKind::Rename => Action::Rename {
                from: path(first)?,
                to: path(second)?,
                exchange: record.argument & u64::from(libc::RENAME_EXCHANGE) != 0,
                keep: record.argument & u64::from(libc::RENAME_NOREPLACE) != 0,
            },
            RecordKind::Link => match (path(first), path(second)?) {
                (Ok(from), to) => Action::Link { from, to, follow },
                // A file that gets its first name (O_TMPFILE).
                (Err(Unread::Nothing), path) => Action::MakeNode { path },
                (Err(unread), _) => return Err(unread),
            },
            RecordKind::Truncate => Action::Truncate { path: path(first)? },
            RecordKind::ChangeMode => Action::ChangeMode { path: path(first)?, follow },
            RecordKind::Connect
            | RecordKind::SendTo
            | RecordKind::SendMessage
            | RecordKind::SendMessages => {
                Action::Connect { peer: peer(call, first, record.result)?, socket: socket(record) }
            }
            RecordKind::Bind => {
                let peer = peer(call, first, record.result)?;
                let local = match &peer {
                    Peer::Inet(address) => given(address.ip(), record),
                    _ => None,
                };
                Action::Bind { peer, socket: Socket { local, ..socket(record) } }
            }
            RecordKind::Listen => {
                let local = internet_address(first.raw);
                Action::Listen { socket: Socket { local, ..socket(record) } }
            }
            RecordKind::IoUring => Action::Blind(Blind::IoUring),
            RecordKind::FileHandle => Action::Blind(without_path(call)),
            RecordKind::Namespace if call == "setns" && other_namespace(record.argument) => {
                return Err(Unread::Nothing);
            }
            RecordKind::Namespace => Action::Blind(Blind::Namespace(call)),
            RecordKind::Clone | RecordKind::Clone3 => {
                Action::Blind(Blind::Namespace("a new mount name space"))
            }
            RecordKind::AskTerminal => {
                let (descriptor, inode) = (record.argument as u32 as i32, record.argument >> 32);
                let number = self.streams.with_inode(descriptor, inode).ok_or(Unread::Nothing)?;
                Action::Stream { number, facet: StreamFacet::Terminal }
            }
            RecordKind::ReadDescriptor => Action::Blind(Blind::StandardInput),
            RecordKind::Foreign => Action::Blind(Blind::ForeignArchitecture),
            RecordKind::Base => {
                let descriptor = record.argument as i32;
                let (path, marks) = (first.base.to_path(), first.marks);
                self.bases.insert(record.thread, SentBase { descriptor, path, marks });
                return Err(Unread::Nothing);
            }
            RecordKind::Nothing | RecordKind::Adopted | RecordKind::TreeGone => {
                return Err(Unread::Nothing);
            }
        })
    }
}

/// The result as the process sees it: the kernel's own codes for "start the call again" mean that a
/// signal interrupted it.
fn visible_result(result: i64) -> i64 {
    match result {
        -516 | -514 | -513 | -512 => -i64::from(libc::EINTR),
        other => other,
    }
}

/// A call that comes to a file by a handle, or by the descriptor of another process.
fn without_path(call: &str) -> Blind {
    match call {
        "pidfd_getfd" => Blind::Unresolved(OTHERS_DESCRIPTOR.into()),
        _ => Blind::FileHandle,
    }
}

/// setns with a type other than the mount name space.
fn other_namespace(kind: u64) -> bool {
    kind != 0 && kind & NEW_MOUNTS == 0
}

/// Where the length of a file does not fit, or was not read.
const NO_LENGTH: u64 = 0xffff_ffff;

fn open_how(record: &Record<'_>) -> OpenHow {
    #[cfg(target_arch = "x86_64")]
    if i64::from(record.number) == libc::SYS_creat {
        return OpenHow::from_flags((libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as u64);
    }
    let how = OpenHow::from_flags(u64::from(record.argument as u32));
    let length = Some(record.argument >> 32).filter(|n| how.write && *n != NO_LENGTH);
    OpenHow { length: length.filter(|_| record.result >= 0), ..how }
}

fn unknown<T>(why: String) -> Found<T> {
    Err(Unread::Unknown(why))
}

/// The path itself, if it could be read.
fn readable(call: &str, marks: u8) -> Found<()> {
    if marks & PATH_UNREADABLE != 0 {
        return unknown(format!("the path given to {call} could not be read"));
    }
    if marks & PATH_OVERWRITTEN != 0 {
        return unknown(format!("{call} wrote its answer over the path it was given"));
    }
    Ok(())
}

/// What a link at the end of a path means to the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Follow,
    Keep,
}

fn absolute<'a>(call: &str, name: &Name<'a>, result: i64, last: Last) -> Found<PathArg<'a>> {
    readable(call, name.marks)?;
    if name.path.starts_with(b"/") {
        return through_proc(call, Cow::Borrowed(name.path), name, result, last);
    }
    usable_base(call, name.marks, name.path, result)?;
    let joined = Cow::Owned(join(name.base.to_path(), name.path));
    // The base was that of the path; where a link on it leads was not sent.
    let unmarked = Name { marks: 0, ..*name };
    through_proc(call, joined, &unmarked, result, last)
}

/// Follows the links of /proc that are the process's own.
fn through_proc<'a>(
    call: &str,
    path: PathArg<'a>,
    name: &Name<'_>,
    result: i64,
    last: Last,
) -> Found<PathArg<'a>> {
    let Some(link) = own::find(&path) else { return Ok(path) };
    if link.rest.is_empty() && last == Last::Keep {
        return Ok(path);
    }
    let target = match link.target {
        Target::Root => join(Vec::new(), link.rest),
        Target::Directory | Target::File if name.marks & OWN_LINK != 0 => {
            usable_base(call, name.marks, link.rest, result)?;
            join(name.base.to_path(), link.rest)
        }
        Target::Directory | Target::File => {
            let path = path.escape_ascii();
            return unknown(format!("where {path} led when {call} used it is not known"));
        }
    };
    // Only the first link was sent along; what is left gets shorter each time.
    let rest = Name { marks: 0, ..*name };
    through_proc(call, Cow::Owned(target), &rest, result, last)
}

/// Whether the base leads to the path.
fn usable_base(call: &str, marks: u8, path: &[u8], result: i64) -> Found<()> {
    let failed = |errno: i32| result == -i64::from(errno);
    if marks & BASE_UNREADABLE != 0 {
        if failed(libc::EBADF) {
            return Err(Unread::Nothing);
        }
        return unknown(format!("the directory that {call} starts from could not be read"));
    }
    if marks & BASE_LONG != 0 {
        return unknown(format!("the directory that {call} starts from is too deep"));
    }
    if marks & BASE_DETACHED != 0 {
        // A pipe, a socket, an unnamed file: no place in the file tree.
        if path.is_empty() || failed(libc::ENOTDIR) {
            return Err(Unread::Nothing);
        }
        return unknown(format!("the directory that {call} starts from is outside the file tree"));
    }
    if marks & BASE_DELETED != 0 {
        // There is nothing in a deleted directory; only `..` leads out of it.
        let leads_out = path.split(|&b| b == b'/').any(|part| part == b"..");
        if path.is_empty() || path == b"." || (failed(libc::ENOENT) && !leads_out) {
            return Err(Unread::Nothing);
        }
        return unknown(format!("the directory that {call} starts from is deleted"));
    }
    Ok(())
}

/// An empty path is the base itself.
fn join(mut base: Vec<u8>, path: &[u8]) -> Vec<u8> {
    if base.is_empty() || !path.is_empty() {
        base.push(b'/');
    }
    base.extend_from_slice(path);
    base
}

/// A path whose base was sent when the call started.
fn from_sent_base<'a>(
    call: &str,
    name: &Name<'a>,
    sent: Option<SentBase>,
    record: &Record<'_>,
) -> Found<PathArg<'a>> {
    if name.path.starts_with(b"/") {
        // Where its own working directory was before cannot be distinguished from where it is now.
        let moved = own::find(name.path).is_some_and(|link| link.target == Target::Directory);
        let marks = if moved { name.marks & !OWN_LINK } else { name.marks };
        return absolute(call, &Name { marks, ..*name }, record.result, Last::Follow);
    }
    readable(call, name.marks)?;
    let Some(sent) = sent else {
        return unknown(format!("the directory that {call} starts from was not seen"));
    };
    usable_base(call, sent.marks, name.path, record.result)?;
    let joined = Cow::Owned(join(sent.path, name.path));
    through_proc(call, joined, &Name { marks: 0, ..*name }, record.result, Last::Follow)
}

/// The program of a successful exec. For execveat the kernel names it `/dev/fd/N` or
/// `/dev/fd/N/path`, where N is the descriptor of the base that was sent at the start.
fn executed<'a>(name: &Name<'a>, sent: Option<SentBase>, result: i64) -> Found<PathArg<'a>> {
    if let Some(sent) = sent.filter(|sent| sent.descriptor >= 0) {
        readable("execveat", name.marks)?;
        let prefix = format!("/dev/fd/{}", sent.descriptor);
        if let Some(rest) = name.path.strip_prefix(prefix.as_bytes()) {
            let rest = rest.strip_prefix(b"/").unwrap_or(rest);
            match usable_base("execveat", sent.marks, rest, result) {
                // A program without a name (a memory file): written by the tree itself.
                Err(Unread::Nothing) if sent.marks & BASE_DELETED != 0 => {
                    return unknown("a deleted file was executed".to_owned());
                }
                other => other?,
            }
            return Ok(Cow::Owned(join(sent.path, rest)));
        }
    }
    absolute("execve", name, result, Last::Follow)
}

/// The address, if it is of a kind that leads out of the process.
fn peer(call: &str, name: &Name<'_>, result: i64) -> Found<Peer> {
    if name.marks & MORE_MESSAGES != 0 {
        return unknown(format!("{call} sent more messages than can be followed"));
    }
    if name.marks & PATH_UNREADABLE != 0 {
        return unknown(format!("the address given to {call} could not be read"));
    }
    let bytes = name.raw;
    let family = bytes.first_chunk::<2>().ok_or(Unread::Nothing)?;
    let found = match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET | libc::AF_INET6 => internet_address(bytes).map(Peer::Inet),
        libc::AF_UNIX => match &bytes[2..] {
            [] => None,
            [0, abstract_name @ ..] => Some(Peer::Abstract(abstract_name.to_vec())),
            path => {
                let end = path.iter().position(|&b| b == 0).unwrap_or(path.len());
                let named = Name { path: &path[..end], ..*name };
                Some(Peer::Unix(absolute(call, &named, result, Last::Follow)?.into_owned()))
            }
        },
        _ => None,
    };
    found.ok_or(Unread::Nothing)
}

#[cfg(test)]
mod tests {
    use super::super::record::Sample;
    use super::*;

    fn decoded(samples: &[Sample]) -> Vec<(u32, i64, Action<'static>)> {
        let mut decoder = Decoder::new(Streams::default());
        let mut events = Vec::new();
        for sample in samples {
            let bytes = sample.to_bytes();
            let record = Record::parse(&bytes).unwrap();
            decoder.decode(&record, 5, &mut |event: Event<'_>| {
                let Timing::After { time_ns, result } = event.timing else { panic!("no result") };
                assert_eq!(time_ns, 1005);
                let action = match event.action {
                    Action::Open { path, how } => {
                        Action::Open { path: path.into_owned().into(), how }
                    }
                    Action::Stat { path, follow } => {
                        Action::Stat { path: path.into_owned().into(), follow }
                    }
                    Action::Execute { path } => Action::Execute { path: path.into_owned().into() },
                    Action::LinkTo { path, target } => Action::LinkTo {
                        path: path.into_owned().into(),
                        target: target.into_owned().into(),
                    },
                    Action::MakeNode { path } => {
                        Action::MakeNode { path: path.into_owned().into() }
                    }
                    Action::Connect { peer, socket } => Action::Connect { peer, socket },
                    Action::Bind { peer, socket } => Action::Bind { peer, socket },
                    Action::Listen { socket } => Action::Listen { socket },
                    Action::Inspect { path, follow, facet } => {
                        Action::Inspect { path: path.into_owned().into(), follow, facet }
                    }
                    Action::Blind(blind) => Action::Blind(blind),
                    other => panic!("not expected: {other:?}"),
                };
                events.push((event.thread, result, action));
            });
        }
        events
    }

    fn one(sample: &Sample) -> Action<'static> {
        let mut all = decoded(std::slice::from_ref(sample));
        assert_eq!(all.len(), 1);
        all.remove(0).2
    }

    fn connect(peer: Peer) -> Action<'static> {
        Action::Connect { peer, socket: Socket::default() }
    }

    #[test]
    fn a_listener_has_the_address_that_it_got() {
        let mut sample = Sample::new(RecordKind::Listen, libc::SYS_listen);
        sample.pieces[0] = [2_u16.to_ne_bytes().as_slice(), &[0x1f, 0x90, 127, 0, 0, 1]].concat();
        let Action::Listen { socket } = one(&sample) else { panic!("no listener") };
        assert_eq!(socket.local, "127.0.0.1:8080".parse().ok());
    }

    fn open(path: &[u8], base: &[u8]) -> Sample {
        let mut sample = Sample::new(RecordKind::Open, libc::SYS_openat);
        sample.pieces[0] = [path, b"\0"].concat();
        sample.pieces[1] = base.to_vec();
        sample
    }

    fn opened(path: &[u8]) -> Action<'static> {
        Action::Open {
            path: path.to_vec().into(),
            how: OpenHow { read: true, bare: true, ..OpenHow::default() },
        }
    }

    #[test]
    fn a_new_link_is_reported_with_its_target() {
        let mut sample = Sample::new(RecordKind::MakeNode, libc::SYS_symlinkat);
        sample.pieces[0] = b"/a/l\0".to_vec();
        sample.pieces[2] = b"../b\0".to_vec();
        let all: Vec<_> = decoded(&[sample.clone()]).into_iter().map(|(.., a)| a).collect();
        let path: PathArg<'_> = b"/a/l".to_vec().into();
        let target = b"../b".to_vec().into();
        assert_eq!(all, [Action::MakeNode { path: path.clone() }, Action::LinkTo { path, target }]);
        sample.result = -i64::from(libc::EEXIST);
        assert_eq!(decoded(&[sample]).len(), 1, "no link was made");
    }

    #[test]
    fn relative_paths_get_their_base() {
        assert_eq!(one(&open(b"a", b"")), opened(b"/a"));
        assert_eq!(one(&open(b"../a", b"in\0out\0")), opened(b"/out/in/../a"));
        assert_eq!(one(&open(b"/a", b"")), opened(b"/a"));
        assert_eq!(one(&open(b"a\n\xff", b"x\0")), opened(b"/x/a\n\xff"));
    }

    #[test]
    fn whatever_was_not_read_is_reported() {
        for (marks, part) in [
            (PATH_UNREADABLE, "could not be read"),
            (PATH_OVERWRITTEN, "wrote its answer"),
            (BASE_UNREADABLE, "could not be read"),
            (BASE_LONG, "too deep"),
            (BASE_DETACHED, "outside"),
            (BASE_DELETED, "deleted"),
        ] {
            let mut sample = open(b"a", b"x\0");
            sample.marks = u16::from(marks);
            match one(&sample) {
                Action::Blind(Blind::Unresolved(why)) => assert!(why.contains(part), "{why}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn nothing_is_found_in_a_deleted_directory() {
        let mut sample = open(b"a", b"x\0");
        sample.marks = u16::from(BASE_DELETED);
        sample.result = -i64::from(libc::ENOENT);
        assert!(decoded(&[sample.clone()]).is_empty());
        sample.pieces[0] = b"a/../../b\0".to_vec();
        assert!(matches!(one(&sample), Action::Blind(_)));
    }

    #[test]
    fn a_bad_descriptor_is_no_blind_spot() {
        let mut sample = open(b"a", b"");
        sample.marks = u16::from(BASE_UNREADABLE);
        sample.result = -i64::from(libc::EBADF);
        assert!(decoded(&[sample]).is_empty());
    }

    #[test]
    fn chdir_starts_from_where_it_was_before() {
        let mut base = Sample::new(RecordKind::Base, 0);
        base.argument = libc::AT_FDCWD as u32 as u64;
        base.pieces[1] = b"old\0".to_vec();
        let mut chdir = Sample::new(RecordKind::Chdir, libc::SYS_chdir);
        chdir.pieces[0] = b"link\0".to_vec();
        let stat = Action::Stat { path: b"/old/link".to_vec().into(), follow: true };
        assert_eq!(decoded(&[base, chdir.clone()]), vec![(7, 0, stat)]);
        assert!(matches!(one(&chdir), Action::Blind(Blind::Unresolved(_))));
    }

    #[test]
    fn execveat_is_named_by_its_descriptor() {
        let mut base = Sample::new(RecordKind::Base, 0);
        base.argument = 5;
        base.pieces[1] = b"tool\0bin\0".to_vec();
        let mut done = Sample::new(RecordKind::Executed, 0);
        done.argument = 7;
        done.thread = 3;
        done.pieces[0] = b"/dev/fd/5\0".to_vec();
        let execute = |path: &[u8]| Action::Execute { path: path.to_vec().into() };
        let with = |base: &Sample, done: &Sample| decoded(&[base.clone(), done.clone()]);
        assert_eq!(with(&base, &done), vec![(3, 0, execute(b"/bin/tool"))]);
        done.pieces[0] = b"/dev/fd/5/a/b\0".to_vec();
        assert_eq!(with(&base, &done), vec![(3, 0, execute(b"/bin/tool/a/b"))]);
        done.pieces[0] = b"/bin/sh\0".to_vec();
        assert_eq!(with(&base, &done), vec![(3, 0, execute(b"/bin/sh"))]);
    }

    #[test]
    fn addresses() {
        let mut sample = Sample::new(RecordKind::Connect, libc::SYS_connect);
        let inet = |bytes: &[u8]| [(libc::AF_INET as u16).to_ne_bytes().as_slice(), bytes].concat();
        sample.pieces[0] = inet(&[0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        let peer = Peer::Inet("127.0.0.1:80".parse().unwrap());
        assert_eq!(one(&sample), connect(peer));
        sample.pieces[0] = inet(&[0, 80, 127]);
        assert!(decoded(&[sample.clone()]).is_empty());

        let unix = |path: &[u8]| [(libc::AF_UNIX as u16).to_ne_bytes().as_slice(), path].concat();
        sample.pieces[0] = unix(b"s\0garbage");
        sample.pieces[1] = b"run\0".to_vec();
        assert_eq!(one(&sample), connect(Peer::Unix(b"/run/s".to_vec())));
        sample.kind = RecordKind::Bind;
        let events: Vec<_> = decoded(&[sample.clone()]).into_iter().map(|(.., a)| a).collect();
        let socket = Socket::default();
        let bind = Action::Bind { peer: Peer::Unix(b"/run/s".to_vec()), socket };
        assert_eq!(events, [bind, Action::MakeNode { path: b"/run/s".to_vec().into() }]);
        sample.pieces[1].clear();
        sample.pieces[0] = unix(b"\0name");
        sample.kind = RecordKind::SendTo;
        assert_eq!(one(&sample), connect(Peer::Abstract(b"name".to_vec())));
    }

    #[test]
    fn interrupted_calls_show_what_the_process_sees() {
        let mut sample = open(b"/fifo", b"");
        sample.result = -512;
        assert_eq!(decoded(&[sample])[0].1, -i64::from(libc::EINTR));
    }

    #[test]
    fn resolution_inside_a_directory_is_not_ours() {
        let mut sample = open(b"/a", b"");
        sample.kind = RecordKind::Openat2;
        sample.argument = RESOLVE_IN_ROOT;
        assert!(matches!(one(&sample), Action::Blind(Blind::Unresolved(_))));
    }

    #[test]
    fn other_name_spaces_do_not_matter() {
        let mut sample = Sample::new(RecordKind::Namespace, libc::SYS_setns);
        sample.argument = libc::CLONE_NEWNET as u64;
        assert!(decoded(&[sample.clone()]).is_empty());
        sample.argument = 0;
        assert_eq!(one(&sample), Action::Blind(Blind::Namespace("setns")));
    }
}
