//! One record of the kernel side, as `struct record` in shared.h lays it out.

use super::table::RecordKind;

/// What went wrong with a path; see shared.h.
pub(super) const PATH_UNREADABLE: u8 = 1;
pub(super) const PATH_OVERWRITTEN: u8 = 2;
pub(super) const BASE_UNREADABLE: u8 = 4;
pub(super) const BASE_LONG: u8 = 8;
pub(super) const BASE_DELETED: u8 = 16;
pub(super) const BASE_DETACHED: u8 = 32;
pub(super) const MORE_MESSAGES: u8 = 64;
pub(super) const OWN_LINK: u8 = 128;

const HEAD: usize = 48;

#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) thread: u32,
    /// CLOCK_MONOTONIC.
    pub(super) time_ns: u64,
    pub(super) result: i64,
    pub(super) argument: u64,
    pub(super) number: u32,
    pub(super) kind: RecordKind,
    pub(super) names: [Name<'a>; 2],
}

/// A path (or address) and the directory it starts from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name<'a> {
    /// Without the zero byte at its end.
    pub(super) path: &'a [u8],
    /// The same with all its bytes, for addresses.
    pub(super) raw: &'a [u8],
    pub(super) base: Base<'a>,
    pub(super) marks: u8,
}

/// Names of directories from the innermost outwards, each ended by a zero byte.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base<'a>(&'a [u8]);

impl Base<'_> {
    /// The directory's absolute path, with no slash at its end (so the root is empty).
    pub(super) fn to_path(self) -> Vec<u8> {
        let mut path = Vec::with_capacity(self.0.len() + 64);
        let names = self.0.strip_suffix(b"\0").unwrap_or(self.0);
        if !names.is_empty() {
            for name in names.rsplit(|&b| b == 0) {
                path.push(b'/');
                path.extend_from_slice(name);
            }
        }
        path
    }
}

/// The run that a record belongs to.
pub(super) fn run_of(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|b| u32::from_ne_bytes(*b))
}

impl<'a> Record<'a> {
    /// `None` for bytes that are no record: the kernel side and this side do not fit together.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (head, mut data) = bytes.split_at_checked(HEAD)?;
        let at = |from: usize| head[from..from + 8].first_chunk::<8>().copied();
        let short = |from: usize| u16::from_ne_bytes([head[from], head[from + 1]]);
        let word = |from: usize| head[from..from + 4].first_chunk::<4>().copied();
        let marks = short(38);
        let mut take = |length: u16| {
            let (piece, rest) = data.split_at_checked(usize::from(length))?;
            data = rest;
            Some(piece)
        };
        let (paths, bases) =
            ([take(short(40))?, take(short(42))?], [take(short(44))?, take(short(46))?]);
        let name = |which: usize, marks: u8| {
            let (raw, base) = (paths[which], Base(bases[which]));
            Name { path: raw.strip_suffix(b"\0").unwrap_or(raw), raw, base, marks }
        };
        Some(Self {
            thread: u32::from_ne_bytes(word(4)?),
            time_ns: u64::from_ne_bytes(at(8)?),
            result: i64::from_ne_bytes(at(16)?),
            argument: u64::from_ne_bytes(at(24)?),
            number: u32::from_ne_bytes(word(32)?),
            kind: RecordKind::from_number(short(36))?,
            names: [name(0, marks as u8), name(1, (marks >> 8) as u8)],
        })
    }
}

/// Builds records for tests.
#[cfg(test)]
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) kind: RecordKind,
    pub(super) number: i64,
    pub(super) thread: u32,
    pub(super) result: i64,
    pub(super) argument: u64,
    pub(super) marks: u16,
    /// Path, base, second path, second base.
    pub(super) pieces: [Vec<u8>; 4],
}

#[cfg(test)]
impl Sample {
    pub(super) fn new(kind: RecordKind, number: i64) -> Self {
        let pieces = Default::default();
        Self { kind, number, thread: 7, result: 0, argument: 0, marks: 0, pieces }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(1_u32.to_ne_bytes());
        bytes.extend(self.thread.to_ne_bytes());
        bytes.extend(1000_u64.to_ne_bytes());
        bytes.extend(self.result.to_ne_bytes());
        bytes.extend(self.argument.to_ne_bytes());
        bytes.extend((self.number as u32).to_ne_bytes());
        bytes.extend((self.kind as u16).to_ne_bytes());
        bytes.extend(self.marks.to_ne_bytes());
        let [path, base, second_path, second_base] = &self.pieces;
        let pieces = [path, second_path, base, second_base];
        for piece in pieces {
            bytes.extend((piece.len() as u16).to_ne_bytes());
        }
        for piece in pieces {
            bytes.extend_from_slice(piece);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_reads_from_the_root_inwards() {
        assert_eq!(Base(b"").to_path(), b"");
        assert_eq!(Base(b"etc\0").to_path(), b"/etc");
        assert_eq!(Base(b"b c\0\n\0home\0").to_path(), b"/home/\n/b c");
    }

    #[test]
    fn a_record_is_taken_apart() {
        let mut sample = Sample::new(RecordKind::Rename, libc::SYS_renameat2);
        sample.marks = 0x1004;
        sample.result = -2;
        sample.pieces = [b"a\0".to_vec(), b"x\0".to_vec(), b"b\0".to_vec(), b"z\0y\0".to_vec()];
        let bytes = sample.to_bytes();
        let record = Record::parse(&bytes).unwrap();
        assert_eq!(run_of(&bytes), Some(1));
        assert_eq!((record.thread, record.time_ns, record.result), (7, 1000, -2));
        assert_eq!((record.names[0].path, record.names[1].path), (&b"a"[..], &b"b"[..]));
        assert_eq!(record.names[1].base.to_path(), b"/y/z");
        assert_eq!((record.names[0].marks, record.names[1].marks), (4, 0x10));
    }

    #[test]
    fn cut_or_foreign_bytes_are_no_record() {
        let mut sample = Sample::new(RecordKind::Open, libc::SYS_openat);
        sample.pieces[0] = b"/etc/passwd\0".to_vec();
        let bytes = sample.to_bytes();
        for length in 0..bytes.len() {
            assert!(Record::parse(&bytes[..length]).is_none());
        }
        let mut odd = bytes.clone();
        odd[36] = 200;
        assert!(Record::parse(&odd).is_none());
    }
}
