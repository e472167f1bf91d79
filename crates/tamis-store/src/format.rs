//! Which format a store has, read from its bytes.
//!
//! A store that a newer tamis wrote must not be touched, and SQLite touches what it opens: it makes an
//! index of the log beside it, and writes the log back when it closes. So the numbers in the header are
//! read here, from the database and from the log, where the newest header may be. A log is taken at its
//! word: where it *may* hold a newer format, the store is left alone.
//!
//! SQLite's locks belong to the process, and the kernel drops all of them on a file as soon as the process closes
//! *any* descriptor of it. Another process would then take the store for unused, and remove the log under our
//! feet. So what is opened here stays open ([`kept_open`]).

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// "tami"
pub(crate) const APPLICATION: i32 = 0x7461_6D69;
pub(crate) const FORMAT: i32 = 4;

const DATABASE: &[u8] = b"SQLite format 3\0";
/// The two values of the log's first bytes, without the last bit.
const LOG: u32 = 0x377f_0682;
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;
/// The part of the first page that SQLite itself describes.
const PAGE_HEADER: usize = 100;

/// The format of the store, if it is newer than ours.
pub(crate) fn newer(file: &Path) -> Option<i32> {
    let database = in_database(file).ok().flatten();
    let log = in_log(&with_suffix(file, "-wal")).unwrap_or_default();
    database.into_iter().chain(log).max().filter(|&format| format > FORMAT)
}

pub(crate) fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn in_database(file: &Path) -> io::Result<Option<i32>> {
    let mut header = [0; PAGE_HEADER];
    kept_open(file)?.read_exact_at(&mut header, 0)?;
    Ok(in_page(&header))
}

/// The formats in all versions of the first page that the log holds.
fn in_log(file: &Path) -> io::Result<Vec<i32>> {
    let file = kept_open(file)?;
    let mut header = [0; LOG_HEADER as usize];
    file.read_exact_at(&mut header, 0)?;
    let page = u64::from(number(&header, 8));
    let mut found = Vec::new();
    if number(&header, 0) & !1 != LOG || !(512..=65_536).contains(&page) {
        return Ok(found);
    }
    let (end, mut at) = (file.metadata()?.len(), LOG_HEADER);
    while at + FRAME_HEADER + page <= end {
        let mut frame = [0; FRAME_HEADER as usize];
        file.read_exact_at(&mut frame, at)?;
        // What is left from an earlier use of the log has other salts.
        if number(&frame, 0) == 1 && frame[8..16] == header[16..24] {
            let mut first = [0; PAGE_HEADER];
            file.read_exact_at(&mut first, at + FRAME_HEADER)?;
            found.extend(in_page(&first));
        }
        at += FRAME_HEADER + page;
    }
    Ok(found)
}

/// The format that a first page names, if the page is one of ours.
fn in_page(header: &[u8; PAGE_HEADER]) -> Option<i32> {
    let ours = header.starts_with(DATABASE) && number(header, 68).cast_signed() == APPLICATION;
    ours.then(|| number(header, 60).cast_signed())
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(four)
}

/// Whether all of a file can be read.
pub(crate) fn is_readable(path: &Path) -> bool {
    let read_all = |file: Arc<File>| -> io::Result<()> {
        let (mut chunk, mut at) = (vec![0; 1 << 16], 0);
        loop {
            match file.read_at(&mut chunk, at)? {
                0 => return Ok(()),
                read => at += read as u64,
            }
        }
    };
    kept_open(path).and_then(read_all).is_ok()
}

/// Files of stores that were read past SQLite, by device and inode.
static KEPT_OPEN: Mutex<Option<KeptOpen>> = Mutex::new(None);

type KeptOpen = HashMap<(u64, u64), Arc<File>>;

/// Opens a file of a store for reading, and nothing that is not a file: a pipe would make us wait. It is closed
/// only when it has no name any more.
pub(crate) fn kept_open(path: &Path) -> io::Result<Arc<File>> {
    let meta = path.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut all = KEPT_OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let all = all.get_or_insert_default();
    if let Some(known) = all.get(&(meta.dev(), meta.ino())) {
        return Ok(Arc::clone(known));
    }
    all.retain(|_, file| file.metadata().is_ok_and(|meta| meta.nlink() > 0));
    let file = Arc::new(File::open(path)?);
    // Another one may have got the name meanwhile.
    let meta = file.metadata()?;
    if let Some(known) = all.insert((meta.dev(), meta.ino()), Arc::clone(&file)) {
        std::mem::forget(known);
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    fn store(dir: &Path, format: i32) -> (PathBuf, Connection) {
        let file = dir.join("tamis.db");
        let conn = Connection::open(&file).unwrap();
        conn.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x);").unwrap();
        conn.pragma_update(None, "application_id", APPLICATION).unwrap();
        conn.pragma_update(None, "user_version", format).unwrap();
        (file, conn)
    }

    #[test]
    fn a_newer_format_is_seen_in_the_log_and_in_the_database() {
        let dir = tempfile::tempdir().unwrap();
        let (file, conn) = store(dir.path(), FORMAT + 1);
        assert!(with_suffix(&file, "-wal").metadata().unwrap().len() > 0);
        assert_eq!(in_database(&file).unwrap(), None, "it is in the log alone");
        assert_eq!(newer(&file), Some(FORMAT + 1));
        drop(conn);
        assert_eq!(in_database(&file).unwrap(), Some(FORMAT + 1));
        assert_eq!(newer(&file), Some(FORMAT + 1));
    }

    #[test]
    fn our_own_format_and_older_ones_are_not_newer() {
        for format in [FORMAT, FORMAT - 1, 0, -1] {
            let dir = tempfile::tempdir().unwrap();
            let (file, conn) = store(dir.path(), format);
            assert_eq!(newer(&file), None, "{format}");
            drop(conn);
            assert_eq!(newer(&file), None, "{format}");
        }
    }

    #[test]
    fn what_is_no_store_of_ours_has_no_format() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tamis.db");
        assert_eq!(newer(&file), None);
        for bytes in [&b""[..], b"SQLite format 3\0", &[0xff; 500]] {
            std::fs::write(&file, bytes).unwrap();
            std::fs::write(with_suffix(&file, "-wal"), bytes).unwrap();
            assert_eq!(newer(&file), None);
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert_eq!(newer(&file), None);
        let theirs = tempfile::tempdir().unwrap();
        let (file, conn) = store(theirs.path(), 99);
        conn.pragma_update(None, "application_id", 7).unwrap();
        drop(conn);
        assert_eq!(newer(&file), None);
    }
}
