//! What is known of the state before a call, by when we hear of it: engines that stop the process
//! show the world as the call will find it; for those that report afterwards the time stamps of files
//! must tell.

use crate::entry::{Before, Change, Entry};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tamis_core::{Scheme, Value};
use tamis_fs::FileKind;
use tamis_trace::Timing;

/// Time stamps of files lag behind the clock by up to one tick of the kernel.
const CLOCK_LAG_NS: i128 = 20_000_000;

/// Who acts, and when we hear of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Act {
    pub(crate) thread: u32,
    pub(crate) program: usize,
    pub(crate) timing: Timing,
    /// Whether the call's result may be about another path.
    pub(crate) indirect: bool,
}

impl Act {
    pub(crate) fn new(thread: u32, program: usize, timing: Timing) -> Self {
        Self { thread, program, timing, indirect: false }
    }

    /// The same, for a path that the call's error may not speak of: a link on the way, an
    /// interpreter, one of two paths.
    pub(crate) fn on_the_way(self) -> Self {
        Self { indirect: true, ..self }
    }

    /// Whether the call found nothing at its path, or somewhere on the way.
    pub(crate) fn found_nothing(self) -> bool {
        let absent = [-i64::from(libc::ENOENT), -i64::from(libc::ENOTDIR)];
        matches!(self.timing, Timing::After { result, .. } if absent.contains(&result))
    }

    /// Whether the call is known to have failed.
    pub(crate) fn failed(self) -> bool {
        matches!(self.timing, Timing::After { result, .. } if result < 0)
    }
}

/// The errors that mean that a place is closed to this user.
const BARRED: [i32; 6] =
    [libc::ENOTDIR, libc::EACCES, libc::EPERM, libc::EROFS, libc::ELOOP, libc::ENAMETOOLONG];

/// What a write that is over says about its place.
pub(crate) fn place_by_result(result: i64) -> Value {
    let is = |errno: i32| result == -i64::from(errno);
    if is(libc::EISDIR) {
        Value::Directory
    } else if is(libc::ENOENT) {
        Value::Absent
    } else if BARRED.into_iter().any(is) {
        Value::Barred
    } else {
        Value::File
    }
}

/// Whether what is at the path now was made by the tree.
pub(crate) fn is_own(entry: &Entry, path: &[u8], act: Act) -> bool {
    if entry.change != Change::Replaced {
        return false;
    }
    match act.timing {
        // A reported change succeeded.
        Timing::After { .. } => true,
        // The call that we heard of may have failed: then the old state is still there.
        Timing::Before | Timing::Logged { .. } => state_now(path) != entry.before,
    }
}

pub(crate) fn state_now(path: &[u8]) -> Before {
    match tamis_fs::identity(Path::new(OsStr::from_bytes(path))) {
        Ok(found) => found.map_or(Before::Absent, Before::There),
        // Cannot be looked at: the answer at the end will not hold.
        Err(_) => Before::Unknown,
    }
}

/// The state of a path that no event was about yet.
pub(crate) fn first_look(path: &[u8], act: Act, began_ns: i128) -> Before {
    let now = state_now(path);
    let time_ns = match act.timing {
        Timing::Before => return now,
        Timing::Logged { since_ns } => return unless_changed(now, since_ns, began_ns),
        Timing::After { time_ns, .. } => time_ns,
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

/// What is there now, unless somebody outside of the tree can have changed it since.
fn unless_changed(now: Before, since_ns: u64, began_ns: i128) -> Before {
    match now {
        Before::There(i)
            if matches!(i.kind(), FileKind::File | FileKind::Link)
                && !is_before(i.ctime_ns, since_ns, began_ns) =>
        {
            Before::Unknown
        }
        now => now,
    }
}

/// Whether the names in a directory changed between a listing and our look.
pub(crate) fn names_moved_since(
    scheme: Scheme,
    before: &Before,
    timing: Timing,
    began_ns: i128,
) -> bool {
    match (before, timing) {
        (Before::There(identity), Timing::After { time_ns, .. }) => {
            scheme == Scheme::Listing && !is_before(identity.mtime_ns, time_ns, began_ns)
        }
        _ => false,
    }
}

/// Whether a named pipe was there before.
pub(crate) fn is_pipe(before: &Before) -> bool {
    matches!(before, Before::There(found) if found.mode & libc::S_IFMT == libc::S_IFIFO)
}

/// When something was born, if the file system tells.
pub(crate) fn birth_ns(path: &Path) -> Option<i128> {
    let born = std::fs::symlink_metadata(path).ok()?.created().ok()?;
    Some(born.duration_since(std::time::UNIX_EPOCH).ok()?.as_nanos() as i128)
}

/// Whether a plain file is at the path now.
pub(crate) fn is_file(path: &[u8]) -> bool {
    let found = tamis_fs::identity(Path::new(OsStr::from_bytes(path)));
    matches!(found, Ok(Some(identity)) if identity.kind() == FileKind::File)
}

/// The state before a change that is already over.
pub(crate) fn before_a_change(path: &[u8], act: Act, began_ns: i128) -> Before {
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

/// The state of a file that has just got another name: only the time of its last change of any kind
/// has moved. `None` where that is not known.
pub(crate) fn before_a_link(path: &[u8], act: Act, began_ns: i128) -> Option<Before> {
    let Timing::After { time_ns, .. } = act.timing else { return None };
    let now = state_now(path);
    let Before::There(found) = now else { return None };
    let untouched = found.kind() == FileKind::File && is_before(found.mtime_ns, time_ns, began_ns);
    (untouched && !act.failed()).then_some(now)
}

/// Some file systems keep seconds only, FAT two of them: such a stamp may be of any moment in them.
const COARSE_NS: i128 = 2_000_000_000;

/// Whether a time stamp of a file is older than a call, or than the whole run.
pub(crate) fn is_before(stamp_ns: i128, call_ns: u64, began_ns: i128) -> bool {
    let latest_ns = latest(stamp_ns);
    latest_ns < began_ns || latest_ns + CLOCK_LAG_NS < i128::from(call_ns)
}

/// The last moment that a time stamp can be of.
fn latest(stamp_ns: i128) -> i128 {
    if stamp_ns % 1_000_000_000 == 0 { stamp_ns + COARSE_NS } else { stamp_ns }
}

/// Whether a further change could leave the stamps of a file as they are: they are coarse, and of
/// just now. What is in it must then be looked at at once, and not at the end.
pub(crate) fn can_hide_a_change(before: &Before, now_ns: i128) -> bool {
    matches!(before, Before::There(found)
        if found.kind() == FileKind::File
            && latest(found.ctime_ns) != found.ctime_ns
            && latest(found.ctime_ns) >= now_ns)
}

/// The time that a file gets which is changed now.
pub(crate) fn file_clock_ns() -> i128 {
    // SAFETY: plain data that the call fills.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut time) };
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i128 = 1_000_000_000;

    #[test]
    fn a_fine_stamp_is_older_than_a_call_after_one_tick() {
        let stamp = 100 * SECOND + 5;
        let call = |after_ns: i128| is_before(stamp, (stamp + after_ns) as u64, 0);
        assert!(!call(0) && !call(CLOCK_LAG_NS) && call(CLOCK_LAG_NS + 1));
        assert!(is_before(stamp, 0, stamp + 1), "older than the run");
        assert!(!is_before(stamp, 0, stamp));
    }

    #[test]
    fn a_stamp_of_whole_seconds_may_be_of_any_moment_in_them() {
        let stamp = 100 * SECOND;
        let call = |after_ns: i128| is_before(stamp, (stamp + after_ns) as u64, 0);
        assert!(!call(SECOND) && !call(COARSE_NS) && call(COARSE_NS + CLOCK_LAG_NS + 1));
        assert!(!is_before(stamp, 0, stamp + SECOND), "it may be younger than the run");
        assert!(is_before(stamp, 0, stamp + COARSE_NS + 1));
    }

    #[test]
    fn only_coarse_and_young_stamps_hide_a_change() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut found = tamis_fs::identity(file.path()).unwrap().unwrap();
        found.ctime_ns = 100 * SECOND;
        assert!(can_hide_a_change(&Before::There(found), 101 * SECOND));
        assert!(!can_hide_a_change(&Before::There(found), 103 * SECOND));
        found.ctime_ns += 1;
        assert!(!can_hide_a_change(&Before::There(found), 100 * SECOND));
        assert!(!can_hide_a_change(&Before::Absent, 100 * SECOND));
    }
}
