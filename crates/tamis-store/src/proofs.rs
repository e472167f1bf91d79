//! The proofs: sets of observations, some of them compressed together.
//!
//! Runs of one project saw much the same, so that sets that stand together cost little more than
//! one of them. A row's number is that of its last proof; numbers are never reused. New proofs join
//! the last row until it is full. A proof whose record is gone stays until the garbage collection.
//!
//! Each row carries one checksum, seeded with its number: a proof in a row that does not pass is
//! gone, and what is gone does not hold.

use crate::codec::{blob, id, seal, unseal};
use crate::error::Failure;
use crate::packed::{Reader, expand, squeeze, write_number, write_stretch};
use crate::schema::next_id;
use roaring::RoaringBitmap;
use rusqlite::{Connection, OptionalExtension, params};
use tamis_core::record::ProofId;

/// Bytes of a full row before it is compressed: about what deflate looks back.
const FULL: usize = 32 << 10;

/// A row, expanded.
#[derive(Debug, Default)]
struct Row {
    last: u32,
    bytes: Vec<u8>,
    /// Number, start and end of each proof, ascending.
    proofs: Vec<(u32, usize, usize)>,
}

impl Row {
    fn open(last: u32, sealed: &[u8]) -> Option<Self> {
        let bytes = expand(unseal(last.into(), sealed)?)?;
        let mut proofs = Vec::new();
        let (mut rest, mut id) = (Reader(&bytes), 0_u32);
        while !rest.is_empty() {
            id = id.checked_add(rest.small()?).filter(|&id| id <= last)?;
            let length = rest.stretch()?.len();
            let end = bytes.len() - rest.0.len();
            proofs.push((id, end - length, end));
        }
        Some(Self { last, bytes, proofs })
    }

    fn get(&self, proof: u32) -> Option<RoaringBitmap> {
        let at = self.proofs.binary_search_by_key(&proof, |&(id, ..)| id).ok()?;
        let (_, start, end) = self.proofs[at];
        RoaringBitmap::deserialize_from(&self.bytes[start..end]).ok()
    }

    fn sets(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.proofs.iter().map(|&(id, start, end)| (id, &self.bytes[start..end]))
    }
}

/// Reads proofs; those of one row at the price of one.
#[derive(Debug)]
pub(crate) struct Proofs<'c> {
    conn: &'c Connection,
    /// The last row that was read, and the first number that it may have.
    row: Option<(u32, Row)>,
}

impl<'c> Proofs<'c> {
    pub(crate) fn new(conn: &'c Connection) -> Self {
        Self { conn, row: None }
    }

    /// The observations of a proof; `None` where it is gone or damaged.
    pub(crate) fn get(&mut self, proof: u32) -> Result<Option<RoaringBitmap>, Failure> {
        if let Some((first, row)) = &self.row
            && (*first..=row.last).contains(&proof)
        {
            return Ok(row.get(proof));
        }
        let sql = "SELECT id, sets FROM proof WHERE id >= ?1 ORDER BY id LIMIT 1";
        let mut statement = self.conn.prepare_cached(sql)?;
        let row = statement
            .query_row([proof], |row| {
                Ok(id(row.get_ref(0)?).zip(blob(row.get_ref(1)?)).map(opened))
            })
            .optional()?;
        // A row that cannot be read is remembered as one without proofs.
        self.row = row.flatten().map(|row| (proof, row));
        Ok(self.row.as_ref().and_then(|(_, row)| row.get(proof)))
    }
}

fn opened((last, sealed): (u32, &[u8])) -> Row {
    Row::open(last, sealed).unwrap_or_else(|| Row { last, ..Row::default() })
}

/// Visits the proofs after this one, ascending, until `visit` says that it is enough. Gives the last
/// number that was passed, also that of a row that cannot be read.
pub(crate) fn visit_after(
    conn: &Connection,
    after: u32,
    mut visit: impl FnMut(u32, RoaringBitmap) -> bool,
) -> Result<u32, Failure> {
    let mut statement =
        conn.prepare_cached("SELECT id, sets FROM proof WHERE id > ?1 ORDER BY id")?;
    let mut rows = statement.query([after])?;
    let mut passed = after;
    while let Some(row) = rows.next()? {
        let Some(last) = id(row.get_ref(0)?) else {
            return Err(Failure::Damage("a proof has a number that is not ours".into()));
        };
        let row = blob(row.get_ref(1)?).map(|sealed| opened((last, sealed))).unwrap_or_default();
        for (id, bytes) in row.sets().filter(|&(id, _)| id > after) {
            passed = id;
            // A damaged one stays outside and never holds.
            if let Ok(set) = RoaringBitmap::deserialize_from(bytes)
                && !visit(id, set)
            {
                return Ok(passed);
            }
        }
        passed = last;
    }
    Ok(passed)
}

/// Adds proofs, within one write transaction.
#[derive(Debug)]
pub(crate) struct NewProofs<'c> {
    conn: &'c Connection,
    /// The row that the first of them joins, and goes then.
    joined: Option<u32>,
    draft: Draft,
    next: u32,
}

impl<'c> NewProofs<'c> {
    pub(crate) fn new(conn: &'c Connection) -> Result<Self, Failure> {
        let next = next_id(conn, "proof")?;
        let mut new = Self { conn, joined: None, draft: Draft::default(), next };
        let mut statement =
            conn.prepare_cached("SELECT id, sets FROM proof ORDER BY id DESC LIMIT 1")?;
        let mut rows = statement.query([])?;
        if let Some(row) = rows.next()?
            && let (Some(last), Some(sealed)) = (id(row.get_ref(0)?), blob(row.get_ref(1)?))
            && let Some(row) = Row::open(last, sealed)
            && row.bytes.len() < FULL
        {
            new.joined = Some(last);
            row.sets().for_each(|(id, set)| new.draft.push(id, set));
        }
        Ok(new)
    }

    pub(crate) fn add(&mut self, bitmap: &[u8]) -> Result<ProofId, Failure> {
        let id = self.next;
        self.next = id.checked_add(1).ok_or_else(Failure::used_up)?;
        self.draft.push(id, bitmap);
        if self.draft.bytes.len() >= FULL {
            self.write()?;
        }
        Ok(ProofId(id))
    }

    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        // What only joined stays where it is.
        if self.draft.last > self.joined.unwrap_or(0) { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), Failure> {
        let draft = std::mem::take(&mut self.draft);
        replace(self.conn, self.joined.take(), draft.last, &draft)
    }
}

/// A row in the making.
#[derive(Debug, Default)]
struct Draft {
    bytes: Vec<u8>,
    last: u32,
}

impl Draft {
    fn push(&mut self, id: u32, set: &[u8]) {
        write_number(&mut self.bytes, (id - self.last).into());
        write_stretch(&mut self.bytes, set);
        self.last = id;
    }
}

fn replace(conn: &Connection, old: Option<u32>, id: u32, draft: &Draft) -> Result<(), Failure> {
    if let Some(old) = old {
        conn.prepare_cached("DELETE FROM proof WHERE id = ?1")?.execute([old])?;
    }
    conn.prepare_cached("INSERT INTO proof (id, sets) VALUES (?1, ?2)")?
        .execute(params![id, seal(id.into(), &squeeze(&draft.bytes))])?;
    Ok(())
}

/// Removes the proofs after row `after` that do not stay: from the next rows, as many as are full
/// together. Gives the number of the last of them, `None` at the end.
pub(crate) fn sweep_next(
    conn: &Connection,
    after: u32,
    stays: impl Fn(u32) -> bool,
) -> Result<Option<u32>, Failure> {
    let mut statement =
        conn.prepare_cached("SELECT id, sets FROM proof WHERE id > ?1 ORDER BY id")?;
    let mut rows = statement.query([after])?;
    let (mut taken, mut draft, mut unclean) = (Vec::new(), Draft::default(), false);
    while let Some(row) = rows.next()? {
        let Some(last) = id(row.get_ref(0)?) else { continue };
        let row = blob(row.get_ref(1)?).and_then(|sealed| Row::open(last, sealed));
        let size = row.as_ref().map_or(0, |row| row.bytes.len());
        if !taken.is_empty() && draft.bytes.len() + size > FULL {
            break;
        }
        taken.push(last);
        // What cannot be read proves nothing and goes.
        let Some(row) = row else {
            unclean = true;
            continue;
        };
        for (id, set) in row.sets() {
            if stays(id) {
                draft.push(id, set);
            } else {
                unclean = true;
            }
        }
    }
    drop(rows);
    let Some(&last) = taken.last() else { return Ok(None) };
    if unclean || taken.len() > 1 {
        let mut statement = conn.prepare_cached("DELETE FROM proof WHERE id = ?1")?;
        taken.iter().try_for_each(|id| statement.execute([id]).map(drop))?;
        if draft.last > 0 {
            replace(conn, None, last, &draft)?;
        }
    }
    Ok(Some(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::bitmap_bytes;
    use crate::schema::connect;

    fn set(n: u32) -> RoaringBitmap {
        (n..n + 500).step_by(3).collect()
    }

    fn add(conn: &Connection, sets: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut new = NewProofs::new(conn).unwrap();
        let ids = sets.map(|n| new.add(&bitmap_bytes(&set(n))).unwrap().0).collect();
        new.finish().unwrap();
        ids
    }

    fn all(conn: &Connection) -> Vec<u32> {
        let mut ids = Vec::new();
        let last = visit_after(conn, 0, |id, found| {
            assert_eq!(found, set(id));
            ids.push(id);
            true
        });
        assert!(last.unwrap() >= ids.last().copied().unwrap_or(0));
        ids
    }

    fn rows(conn: &Connection) -> i64 {
        conn.query_row("SELECT count(*) FROM proof", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn proofs_share_rows_and_are_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let conn = connect(&dir.path().join("tamis.db")).unwrap();
        assert_eq!(add(&conn, 1..=3), [1, 2, 3]);
        assert_eq!(add(&conn, 4..=400).len(), 397);
        assert_eq!(add(&conn, std::iter::empty()), [0; 0]);
        assert_eq!(all(&conn), (1..=400).collect::<Vec<_>>());
        assert!((2..20).contains(&rows(&conn)), "{}", rows(&conn));
        let mut proofs = Proofs::new(&conn);
        for id in [1, 2, 400, 17, 18, 399] {
            assert_eq!(proofs.get(id).unwrap(), Some(set(id)));
        }
        assert_eq!(proofs.get(401).unwrap(), None);
        assert_eq!(visit_after(&conn, 100, |id, _| id < 200).unwrap(), 200);
    }

    #[test]
    fn sweeping_leaves_what_is_used_and_numbers_are_not_reused() {
        let dir = tempfile::tempdir().unwrap();
        let conn = connect(&dir.path().join("tamis.db")).unwrap();
        add(&conn, 1..=400);
        let before = rows(&conn);
        let used: RoaringBitmap = (1..=400).filter(|id| id % 10 == 0).collect();
        for _ in 0..2 {
            let mut after = 0;
            while let Some(next) = sweep_next(&conn, after, |proof| used.contains(proof)).unwrap() {
                after = next;
            }
            assert_eq!(all(&conn), used.iter().collect::<Vec<_>>());
        }
        assert!(rows(&conn) < before);
        let mut after = 0;
        while let Some(next) = sweep_next(&conn, after, |_| false).unwrap() {
            after = next;
        }
        assert_eq!(rows(&conn), 0);
        assert_eq!(add(&conn, 401..=402), [401, 402]);
        assert_eq!(all(&conn), [401, 402]);
    }

    #[test]
    fn a_row_that_cannot_be_read_has_no_proofs_and_is_passed() {
        let dir = tempfile::tempdir().unwrap();
        let conn = connect(&dir.path().join("tamis.db")).unwrap();
        add(&conn, 1..=400);
        conn.execute("UPDATE proof SET sets = x'00' WHERE id = (SELECT min(id) FROM proof)", [])
            .unwrap();
        let lost: u32 = conn.query_row("SELECT min(id) FROM proof", [], |r| r.get(0)).unwrap();
        assert_eq!(all(&conn), (lost + 1..=400).collect::<Vec<_>>());
        let mut proofs = Proofs::new(&conn);
        assert_eq!(proofs.get(1).unwrap(), None);
        assert_eq!(proofs.get(lost).unwrap(), None);
        assert_eq!(proofs.get(lost + 1).unwrap(), Some(set(lost + 1)));
    }
}
