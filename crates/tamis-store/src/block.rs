//! A block: some observations with their questions, sorted and compressed together.
//!
//! Sorted by question, neighbours share most of their bytes, and most columns say the same over
//! and over, which deflate makes next to nothing. Hashes of content do not compress and stand
//! behind the columns as they are. A block knows all about its observations: two blocks may have
//! the same question, and none needs another.
//!
//! ```text
//! checksum (8), format (1), length of what is squeezed, squeezed:
//!     groups      some hundred questions of one kind: their ids, and what of each column is theirs
//!     columns     shared | lengths | suffixes | more | tags | ids | accesses | users
//!     programs    their names
//!     elsewhere   observations of other blocks that this block has details of
//! hashes (16 each)
//! ```
//!
//! Whoever wants few observations steps over the groups that have none of them.
//!
//! One checksum covers all, seeded with the number of the block's row. A block that does not pass,
//! is of another format or does not decode to its last byte is not there: what it held does not hold.

use crate::codec::{QuestionColumns, seal, unseal};
use crate::packed::{Reader, expand, squeeze, write_difference, write_number, write_stretch};
use roaring::RoaringBitmap;
use std::collections::HashMap;
use std::sync::Arc;
use tamis_core::Value;

const FORMAT: u8 = 1;

/// In a tag: the store knows details about the value.
const DETAILED: u8 = 0x80;

/// Questions of a group.
const GROUP: usize = 128;

/// Columns of a block, in their order. Of a question: bytes that its key shares with the one
/// before, how many more there are, these, and how many observations it has besides the first.
const SHARED: usize = 0;
const LENGTHS: usize = 1;
const SUFFIXES: usize = 2;
const MORE: usize = 3;
/// Of an observation.
const TAGS: usize = 4;
const IDS: usize = 5;
/// Behind what is squeezed, and so not among [`COLUMNS`].
const HASHES: usize = 6;
/// Who looked at an observation first, and how.
const ACCESSES: usize = 6;
const USERS: usize = 7;
const COLUMNS: usize = 8;

/// An observation in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) id: u32,
    pub(crate) value: Value,
    pub(crate) detailed: bool,
    /// Its place among the observations of the block.
    pub(crate) at: u32,
}

/// Who looked first at an observation, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Looks {
    pub(crate) programs: Vec<Arc<str>>,
    /// Program and access, in step with the observations.
    pub(crate) by: Vec<(u32, u8)>,
}

/// A readable block.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// The number of its row: no observation in it has a higher one.
    pub(crate) last: u32,
    pub(crate) observations: u32,
    groups: Vec<Group>,
    bytes: Vec<u8>,
    /// Where the columns are in `bytes`.
    columns: [(usize, usize); COLUMNS],
    programs: Vec<Arc<str>>,
    pub(crate) detailed_elsewhere: Vec<u32>,
    hashes: Vec<u8>,
}

/// Some questions of one kind and scheme.
#[derive(Debug, Clone, Copy)]
struct Group {
    kind: u8,
    scheme: u8,
    parameter: u128,
    questions: u32,
    /// The lowest and the highest of its observations.
    ids: (u32, u32),
    /// Bytes of each column from [`SHARED`] to [`HASHES`]. There is one tag for each observation.
    lengths: [usize; HASHES + 1],
}

impl Group {
    fn read(rest: &mut Reader<'_>) -> Option<Self> {
        let (kind, scheme) = (rest.byte()?, rest.byte()?);
        let parameter = match rest.stretch()? {
            [] => 0,
            parameter => u128::from_le_bytes(parameter.try_into().ok()?),
        };
        let (questions, first) = (rest.small()?, rest.small()?);
        let last = first.checked_add(rest.small()?)?;
        let mut lengths = [0; HASHES + 1];
        for length in &mut lengths {
            *length = rest.small()? as usize;
        }
        Some(Self { kind, scheme, parameter, questions, ids: (first, last), lengths })
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&[self.kind, self.scheme]);
        let parameter = self.parameter.to_le_bytes();
        write_stretch(bytes, if self.parameter == 0 { &[] } else { &parameter });
        for number in [self.questions, self.ids.0, self.ids.1 - self.ids.0] {
            write_number(bytes, number.into());
        }
        for &length in &self.lengths {
            write_number(bytes, length as u64);
        }
    }
}

impl Block {
    /// `None` where the bytes are not as they were written for this row.
    pub(crate) fn open(last: u32, sealed: &[u8]) -> Option<Self> {
        let mut rest = Reader(unseal(last.into(), sealed)?);
        if rest.byte()? != FORMAT {
            return None;
        }
        let bytes = expand(rest.stretch()?)?;
        let hashes = rest.0.to_vec();

        let mut rest = Reader(&bytes);
        let observations = rest.small()?;
        let count = rest.number()?;
        let mut groups = Vec::new();
        for _ in 0..count {
            groups.push(Group::read(&mut rest).filter(|group| group.ids.1 <= last)?);
        }
        let mut columns = [(0, 0); COLUMNS];
        for column in &mut columns {
            let stretch = rest.stretch()?.len();
            let end = bytes.len() - rest.0.len();
            *column = (end - stretch, end);
        }
        let mut programs = Vec::new();
        for _ in 0..rest.number()? {
            programs.push(std::str::from_utf8(rest.stretch()?).ok()?.into());
        }
        let mut detailed_elsewhere = Vec::new();
        for _ in 0..rest.number()? {
            detailed_elsewhere.push(rest.small()?);
        }
        rest.is_empty().then_some(())?;
        Some(Self {
            last,
            observations,
            groups,
            columns,
            programs,
            detailed_elsewhere,
            hashes,
            bytes,
        })
    }

    fn column(&self, column: usize) -> Reader<'_> {
        let (start, end) = self.columns[column];
        Reader(&self.bytes[start..end])
    }

    /// Visits every question with its observations, in order. `None` where that does not come out
    /// even: then nothing that was visited counts.
    pub(crate) fn walk(&self, visit: impl FnMut(QuestionColumns<'_>, &[Answer])) -> Option<()> {
        self.walk_some(|_| true, visit)
    }

    /// As [`Block::walk`], but only over the groups of which `wanted` says so.
    pub(crate) fn walk_some(
        &self,
        mut wanted: impl FnMut(GroupHead<'_>) -> bool,
        mut visit: impl FnMut(QuestionColumns<'_>, &[Answer]),
    ) -> Option<()> {
        let (mut key, mut answers) = (Vec::new(), Vec::new());
        let mut readers = self.group_readers()?.into_iter().peekable();
        while let Some(mut reader) = readers.next() {
            let next = match readers.peek() {
                Some(next) => Some(next.first()?),
                None => None,
            };
            let Group { kind, scheme, parameter, ids, questions, .. } = *reader.group;
            if !wanted(GroupHead { ids, first: reader.first()?, next }) {
                continue;
            }
            key.clear();
            for _ in 0..questions {
                reader.question(&mut key, &mut answers)?;
                visit(QuestionColumns { kind, scheme, parameter, key: &key }, &answers);
            }
            reader.parts.iter().all(Reader::is_empty).then_some(())?;
        }
        Some(())
    }

    /// The groups, each with its parts of the columns, which must come out even.
    fn group_readers(&self) -> Option<Vec<GroupReader<'_>>> {
        let mut columns = [SHARED, LENGTHS, SUFFIXES, MORE, TAGS, IDS, HASHES].map(|column| {
            if column == HASHES { Reader(&self.hashes) } else { self.column(column) }
        });
        let mut readers = Vec::with_capacity(self.groups.len());
        let mut at = 0_u32;
        for group in &self.groups {
            let mut parts = [Reader(&[]); HASHES + 1];
            for (n, part) in parts.iter_mut().enumerate() {
                *part = Reader(columns[n].take(group.lengths[n])?);
            }
            readers.push(GroupReader { group, parts, at, id: group.ids.0.into() });
            at = at.checked_add(u32::try_from(group.lengths[TAGS]).ok()?)?;
        }
        let even = at == self.observations && columns.iter().all(Reader::is_empty);
        even.then_some(readers)
    }

    /// Who looked at the observations; programs that are not known have no name.
    pub(crate) fn looks(&self) -> Option<Looks> {
        let (mut accesses, mut users) = (self.column(ACCESSES), self.column(USERS));
        let mut by = Vec::new();
        for _ in 0..self.observations {
            by.push((users.small()?, accesses.byte()?));
        }
        Some(Looks { programs: self.programs.clone(), by })
    }
}

/// What is known of a group before it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupHead<'b> {
    /// The lowest and the highest of its observations.
    ids: (u32, u32),
    /// Its first question, and the one after its last.
    pub(crate) first: QuestionColumns<'b>,
    pub(crate) next: Option<QuestionColumns<'b>>,
}

impl GroupHead<'_> {
    /// Whether any of these observations may be in the group.
    pub(crate) fn may_have(&self, observations: &RoaringBitmap) -> bool {
        observations.range_cardinality(self.ids.0..=self.ids.1) > 0
    }
}

/// Reads the questions of a group one after the other.
#[derive(Clone, Copy)]
struct GroupReader<'b> {
    group: &'b Group,
    parts: [Reader<'b>; HASHES + 1],
    /// The place of the next observation.
    at: u32,
    /// The id of the last one; before the first one the lowest of the group.
    id: i64,
}

impl<'b> GroupReader<'b> {
    /// The first question, which shares nothing with one before it.
    fn first(&self) -> Option<QuestionColumns<'b>> {
        let Group { kind, scheme, parameter, .. } = *self.group;
        let length = { self.parts[LENGTHS] }.small()? as usize;
        let key = { self.parts[SUFFIXES] }.take(length)?;
        Some(QuestionColumns { kind, scheme, parameter, key })
    }

    /// Makes the key of the question before that of the next one, and gives its observations.
    #[inline]
    fn question(&mut self, key: &mut Vec<u8>, answers: &mut Vec<Answer>) -> Option<()> {
        let [shared, lengths, suffixes, more, tags, ids, hashes] = &mut self.parts;
        let prefix = shared.small()? as usize;
        if prefix > key.len() {
            return None;
        }
        key.truncate(prefix);
        key.extend_from_slice(suffixes.take(lengths.small()? as usize)?);
        answers.clear();
        let (first, last) = self.group.ids;
        for _ in 0..=more.small()? {
            let tag = tags.byte()?;
            let (tag, detailed) = (tag & !DETAILED, tag & DETAILED != 0);
            let hash = match has_hash(tag)? {
                true => u128::from_le_bytes(hashes.take(16)?.try_into().ok()?),
                false => 0,
            };
            self.id = self.id.checked_add(ids.difference()?)?;
            let id = u32::try_from(self.id).ok().filter(|id| (first..=last).contains(id))?;
            answers.push(Answer { id, value: Value::from_raw(tag, hash)?, detailed, at: self.at });
            self.at = self.at.checked_add(1)?;
        }
        Some(())
    }
}

/// Whether values with this tag carry a hash; `None` for a tag that is not known.
#[inline]
fn has_hash(tag: u8) -> Option<bool> {
    Value::from_raw(tag, 1).map(|value| value.to_raw().1 != 0)
}

/// Bytes in the columns so far.
fn lengths(columns: &[Vec<u8>; COLUMNS], hashes: &[u8]) -> [usize; HASHES + 1] {
    [SHARED, LENGTHS, SUFFIXES, MORE, TAGS, IDS, HASHES]
        .map(|column| if column == HASHES { hashes.len() } else { columns[column].len() })
}

/// A block in the making.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    keys: Vec<u8>,
    items: Vec<Item>,
    programs: Vec<String>,
    program_ids: HashMap<String, u32>,
    detailed_elsewhere: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Item {
    kind: u8,
    scheme: u8,
    parameter: u128,
    /// Where the key is.
    key: (usize, usize),
    id: u32,
    value: Value,
    detailed: bool,
    program: u32,
    access: u8,
}

impl Draft {
    pub(crate) fn observations(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.detailed_elsewhere.is_empty()
    }

    /// Adds an observation, and who looked at it.
    pub(crate) fn push(
        &mut self,
        question: QuestionColumns<'_>,
        (id, value, detailed): (u32, Value, bool),
        (program, access): (&str, u8),
    ) {
        let program = match self.program_ids.get(program) {
            Some(&known) => known,
            None => {
                let new = self.programs.len() as u32;
                self.programs.push(program.to_owned());
                self.program_ids.insert(program.to_owned(), new);
                new
            }
        };
        let start = self.keys.len();
        self.keys.extend_from_slice(question.key);
        let QuestionColumns { kind, scheme, parameter, .. } = question;
        let key = (start, self.keys.len());
        self.items.push(Item {
            kind,
            scheme,
            parameter,
            key,
            id,
            value,
            detailed,
            program,
            access,
        });
    }

    /// Adds what a block has of these observations; `None`, and nothing added, where it cannot be
    /// read.
    pub(crate) fn absorb(&mut self, block: &Block, keep: impl Fn(u32) -> bool) -> Option<()> {
        let looks = block.looks()?;
        let (items, keys) = (self.items.len(), self.keys.len());
        let whole = block.walk(|question, answers| {
            for answer in answers.iter().filter(|answer| keep(answer.id)) {
                let (program, access) = looks.by[answer.at as usize];
                let program = looks.programs.get(program as usize).map_or("", |name| name);
                let Answer { id, value, detailed, .. } = *answer;
                self.push(question, (id, value, detailed), (program, access));
            }
        });
        if whole.is_none() {
            self.items.truncate(items);
            self.keys.truncate(keys);
        }
        whole?;
        self.detailed_elsewhere.extend(block.detailed_elsewhere.iter().filter(|&&id| keep(id)));
        Some(())
    }

    /// Notes that the details of an observation of another block come with this one.
    pub(crate) fn detail_elsewhere(&mut self, id: u32) {
        self.detailed_elsewhere.push(id);
    }

    /// The block's bytes, for the row of this number.
    pub(crate) fn encode(mut self, last: u32) -> Vec<u8> {
        self.settle_details();
        let keys = &self.keys;
        let key = |item: &Item| &keys[item.key.0..item.key.1];
        self.items.sort_by(|a, b| {
            let head = |item: &Item| (item.kind, item.scheme, item.parameter);
            head(a).cmp(&head(b)).then_with(|| key(a).cmp(key(b))).then(a.id.cmp(&b.id))
        });
        let same = |a: &Item, b: &Item| {
            (a.kind, a.scheme, a.parameter) == (b.kind, b.scheme, b.parameter) && key(a) == key(b)
        };
        let questions: Vec<&[Item]> = self.items.chunk_by(same).collect();
        let head = |answers: &[Item]| (answers[0].kind, answers[0].scheme, answers[0].parameter);
        let mut columns: [Vec<u8>; COLUMNS] = Default::default();
        let (mut groups, mut hashes): (Vec<Group>, Vec<u8>) = Default::default();
        let alike = questions.chunk_by(|a, b| head(a) == head(b));
        for questions in alike.flat_map(|alike| alike.chunks(GROUP)) {
            let (kind, scheme, parameter) = head(questions[0]);
            let ids = questions.iter().copied().flatten().map(|item| item.id);
            let ids = (ids.clone().min().unwrap_or(0), ids.max().unwrap_or(0));
            let starts = lengths(&columns, &hashes);
            let (mut before, mut id): (&[u8], _) = (b"", i64::from(ids.0));
            for answers in questions {
                let now = key(&answers[0]);
                let prefix = before.iter().zip(now).take_while(|(a, b)| a == b).count();
                write_number(&mut columns[SHARED], prefix as u64);
                write_number(&mut columns[LENGTHS], (now.len() - prefix) as u64);
                columns[SUFFIXES].extend_from_slice(&now[prefix..]);
                write_number(&mut columns[MORE], answers.len() as u64 - 1);
                before = now;
                for answer in *answers {
                    let (tag, hash) = answer.value.to_raw();
                    columns[TAGS].push(tag | if answer.detailed { DETAILED } else { 0 });
                    if has_hash(tag) == Some(true) {
                        hashes.extend_from_slice(&hash.to_le_bytes());
                    }
                    write_difference(&mut columns[IDS], i64::from(answer.id) - id);
                    id = answer.id.into();
                    columns[ACCESSES].push(answer.access);
                    write_number(&mut columns[USERS], answer.program.into());
                }
            }
            let mut lengths = lengths(&columns, &hashes);
            lengths.iter_mut().zip(starts).for_each(|(length, start)| *length -= start);
            let questions = questions.len() as u32;
            groups.push(Group { kind, scheme, parameter, questions, ids, lengths });
        }
        let squeezed = squeeze(&self.head(&groups, &columns));
        let mut bytes = vec![FORMAT];
        write_stretch(&mut bytes, &squeezed);
        bytes.extend_from_slice(&hashes);
        seal(last.into(), &bytes)
    }

    fn head(&self, groups: &[Group], columns: &[Vec<u8>; COLUMNS]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_number(&mut bytes, self.items.len() as u64);
        write_number(&mut bytes, groups.len() as u64);
        groups.iter().for_each(|group| group.write(&mut bytes));
        for column in columns {
            write_stretch(&mut bytes, column);
        }
        write_number(&mut bytes, self.programs.len() as u64);
        for program in &self.programs {
            write_stretch(&mut bytes, program.as_bytes());
        }
        write_number(&mut bytes, self.detailed_elsewhere.len() as u64);
        for &id in &self.detailed_elsewhere {
            write_number(&mut bytes, id.into());
        }
        bytes
    }

    /// Blocks that were merged may have had details about each other.
    fn settle_details(&mut self) {
        if self.detailed_elsewhere.is_empty() {
            return;
        }
        self.detailed_elsewhere.sort_unstable();
        self.detailed_elsewhere.dedup();
        let mut elsewhere = std::mem::take(&mut self.detailed_elsewhere);
        for item in &mut self.items {
            if let Ok(at) = elsewhere.binary_search(&item.id) {
                item.detailed = true;
                elsewhere.remove(at);
            }
        }
        self.detailed_elsewhere = elsewhere;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tamis_core::Hash;

    /// Question (kind, scheme, parameter, key), id, value, detailed, program, access.
    type Row = ((u8, u8, u128, Vec<u8>), u32, Value, bool, String, u8);

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Absent),
            Just(Value::Directory),
            any::<u128>().prop_map(|h| Value::Content { hash: Hash(h), executable: false }),
            (0..3_u128).prop_map(|h| Value::Text(Hash(h))),
        ]
    }

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let key =
            proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'/'), any::<u8>()], 0..12);
        let question = (0..3_u8, 0..2_u8, prop_oneof![Just(0), any::<u128>()], key);
        let row = (question, 1..3_u32, value(), any::<bool>(), "[ab]?", any::<u8>());
        proptest::collection::vec(row, 0..400).prop_map(|mut rows| {
            // Ids are given once; the numbers so far are the gaps between them.
            let mut id = 0;
            rows.iter_mut().for_each(|row| {
                id += row.1;
                row.1 = id;
            });
            rows
        })
    }

    fn columns(row: &Row) -> QuestionColumns<'_> {
        let (kind, scheme, parameter, key) = &row.0;
        QuestionColumns { kind: *kind, scheme: *scheme, parameter: *parameter, key }
    }

    fn draft(rows: &[Row]) -> Draft {
        let mut draft = Draft::default();
        for row in rows {
            draft.push(columns(row), (row.1, row.2, row.3), (&row.4, row.5));
        }
        draft
    }

    fn read(block: &Block, wanted: impl FnMut(GroupHead<'_>) -> bool) -> Vec<Row> {
        let looks = block.looks().unwrap();
        let mut rows = Vec::new();
        block
            .walk_some(wanted, |q, answers| {
                for a in answers {
                    let (program, access) = looks.by[a.at as usize];
                    let program = looks.programs[program as usize].to_string();
                    let question = (q.kind, q.scheme, q.parameter, q.key.to_vec());
                    rows.push((question, a.id, a.value, a.detailed, program, access));
                }
            })
            .unwrap();
        rows
    }

    proptest! {
        #[test]
        fn observations_survive(mut rows in rows(), wanted in 0..900_u32) {
            let block = Block::open(1_000, &draft(&rows).encode(1_000)).unwrap();
            rows.sort();
            prop_assert_eq!(block.observations as usize, rows.len());
            prop_assert_eq!(read(&block, |_| true), rows.clone());
            // The groups that are not stepped over have all that was wanted.
            let set = RoaringBitmap::from([wanted]);
            let some = read(&block, |head| head.may_have(&set));
            let found = some.iter().find(|row| row.1 == wanted);
            prop_assert_eq!(found, rows.iter().find(|row| row.1 == wanted));
            let Some(row) = rows.get(wanted as usize) else { return Ok(()) };
            let holds = |head: GroupHead<'_>| {
                head.first <= columns(row) && head.next.is_none_or(|next| columns(row) < next)
            };
            prop_assert!(read(&block, holds).contains(row));
        }

        #[test]
        fn merging_is_as_good_as_writing_together(rows in rows(), cut in 0..400_usize) {
            let (one, two) = rows.split_at(cut.min(rows.len()));
            let mut merged = Draft::default();
            for part in [two, one] {
                let block = Block::open(1_000, &draft(part).encode(1_000)).unwrap();
                merged.absorb(&block, |id| id % 7 != 0).unwrap();
            }
            let merged = Block::open(1_000, &merged.encode(1_000)).unwrap();
            let mut kept: Vec<Row> = rows.into_iter().filter(|row| row.1 % 7 != 0).collect();
            kept.sort();
            prop_assert_eq!(read(&merged, |_| true), kept);
        }

        #[test]
        fn foreign_bytes_do_not_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            plain in proptest::collection::vec(prop_oneof![0..6_u8, any::<u8>()], 0..300),
        ) {
            prop_assert!(Block::open(9, &bytes).is_none());
            // Behind a good checksum, and behind a good codec.
            let mut head = vec![FORMAT];
            write_stretch(&mut head, &squeeze(&plain));
            for bytes in [bytes, head] {
                if let Some(block) = Block::open(9, &seal(9, &bytes)) {
                    let _ = block.walk(|_, _| {});
                    let _ = block.looks();
                    let _ = Draft::default().absorb(&block, |_| true);
                }
            }
        }
    }

    #[test]
    fn a_block_of_another_format_or_row_is_refused() {
        let row: Row = ((0, 1, 0, b"a".to_vec()), 3, Value::Absent, false, String::new(), 1);
        let bytes = draft(&[row]).encode(5);
        assert!(Block::open(5, &bytes).is_some());
        assert!(Block::open(6, &bytes).is_none());
        let mut newer = unseal(5, &bytes).unwrap().to_vec();
        newer[0] = FORMAT + 1;
        assert!(Block::open(5, &seal(5, &newer)).is_none());
        // An id that the row cannot have.
        let row: Row = ((0, 1, 0, b"a".to_vec()), 9, Value::Absent, false, String::new(), 1);
        assert!(Block::open(5, &draft(&[row]).encode(5)).is_none());
    }

    #[test]
    fn details_about_each_other_are_settled_by_a_merge() {
        let row: Row = ((0, 1, 0, b"a".to_vec()), 3, Value::File, false, String::new(), 1);
        let mut later = Draft::default();
        later.detail_elsewhere(3);
        later.detail_elsewhere(2);
        let later = Block::open(4, &later.encode(4)).unwrap();
        assert_eq!((later.observations, &later.detailed_elsewhere[..]), (0, &[2, 3][..]));
        let mut merged = draft(&[row]);
        merged.absorb(&later, |_| true).unwrap();
        let merged = Block::open(4, &merged.encode(4)).unwrap();
        assert_eq!(merged.detailed_elsewhere, [2]);
        merged.walk(|_, answers| assert!(answers[0].detailed)).unwrap();
    }

    #[test]
    fn what_neighbours_share_costs_little() {
        let rows: Vec<Row> = (1..=2_000)
            .map(|n| {
                let key = format!("src/main/java/com/acme/shop/Class{n:04}.java").into_bytes();
                ((0, 1, 0, key), n, Value::Absent, false, "java".into(), 1)
            })
            .collect();
        let bytes = draft(&rows).encode(2_000).len();
        assert!(bytes < 3 * rows.len(), "{bytes}");
    }
}
