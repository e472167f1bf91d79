//! How the words of the model become columns and blobs, with their checksums.
//!
//! Nothing here panics on foreign bytes: what cannot be read is `None`.

use roaring::RoaringBitmap;
use rusqlite::types::ValueRef;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tamis_core::{Outcome, PortablePath, Question, Scheme};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The first byte of every packed structure.
const PACKED: u8 = 1;

pub(crate) fn pack<T: Serialize>(value: &T) -> Vec<u8> {
    // Our structures hold no maps of unknown length and no foreign serialisers: this cannot fail,
    // and an empty blob would be refused on reading.
    postcard::to_extend(value, vec![PACKED]).unwrap_or_default()
}

pub(crate) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (&PACKED, rest) = bytes.split_first()? else {
        return None;
    };
    postcard::from_bytes(rest).ok()
}

/// Puts a checksum before the bytes. The seed names the row, so that bytes of another row do not
/// pass.
pub(crate) fn seal(seed: u64, bytes: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(8 + bytes.len());
    sealed.extend_from_slice(&xxh3_64_with_seed(bytes, seed).to_le_bytes());
    sealed.extend_from_slice(bytes);
    sealed
}

pub(crate) fn unseal(seed: u64, sealed: &[u8]) -> Option<&[u8]> {
    let (sum, bytes) = sealed.split_first_chunk::<8>()?;
    (u64::from_le_bytes(*sum) == xxh3_64_with_seed(bytes, seed)).then_some(bytes)
}

pub(crate) fn bitmap_bytes(bitmap: &RoaringBitmap) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(bitmap.serialized_size());
    // Writing to a vector does not fail; a cut blob would be refused on reading.
    let _ = bitmap.serialize_into(&mut bytes);
    bytes
}

pub(crate) fn sealed_bitmap(seed: u64, bitmap: &RoaringBitmap) -> Vec<u8> {
    seal(seed, &bitmap_bytes(bitmap))
}

pub(crate) fn unsealed_bitmap(seed: u64, sealed: &[u8]) -> Option<RoaringBitmap> {
    RoaringBitmap::deserialize_from(unseal(seed, sealed)?).ok()
}

/// A question as its columns, in the order in which blocks are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QuestionColumns<'a> {
    pub(crate) kind: u8,
    pub(crate) scheme: u8,
    pub(crate) parameter: u128,
    pub(crate) key: &'a [u8],
}

impl<'a> QuestionColumns<'a> {
    pub(crate) const PATH: u8 = 0;

    pub(crate) fn of(question: &'a Question) -> Self {
        let (kind, key): (u8, &[u8]) = match question {
            Question::Path(path, scheme) => {
                let (scheme, parameter) = scheme.to_raw();
                let (kind, key) = (Self::PATH, path.as_bytes());
                return Self { kind, scheme, parameter, key };
            }
            Question::Variable(name) => (1, name),
            Question::VariableNames => (2, b""),
            Question::Glob(glob) => (3, glob.as_bytes()),
            Question::Rules => (4, b""),
            Question::Fact(name) => (5, name.as_bytes()),
        };
        Self { kind, scheme: 0, parameter: 0, key }
    }

    pub(crate) fn to_question(self) -> Option<Question> {
        let text = |key: &[u8]| String::from_utf8(key.to_vec()).ok();
        Some(match self.kind {
            Self::PATH => Question::Path(
                PortablePath::from_stored(self.key),
                Scheme::from_raw(self.scheme, self.parameter)?,
            ),
            1 => Question::Variable(self.key.to_vec()),
            2 => Question::VariableNames,
            3 => Question::Glob(text(self.key)?),
            4 => Question::Rules,
            5 => Question::Fact(text(self.key)?.into()),
            _ => return None,
        })
    }

    /// The bytes that hashes are taken over.
    pub(crate) fn write_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&[self.kind, self.scheme]);
        bytes.extend_from_slice(&self.parameter.to_le_bytes());
        bytes.extend_from_slice(&(self.key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(self.key);
    }
}

pub(crate) fn integer(column: ValueRef<'_>) -> Option<i64> {
    column.as_i64().ok()
}

/// An id of ours; anything else was not written by us.
pub(crate) fn id(column: ValueRef<'_>) -> Option<u32> {
    u32::try_from(integer(column)?).ok()
}

pub(crate) fn blob(column: ValueRef<'_>) -> Option<&[u8]> {
    column.as_blob().ok()
}

pub(crate) fn text(column: ValueRef<'_>) -> Option<&str> {
    column.as_str().ok()
}

pub(crate) fn outcome_columns(outcome: Outcome) -> (u8, i32) {
    match outcome {
        Outcome::Passed => (0, 0),
        Outcome::Failed(code) => (1, code),
        Outcome::Killed(signal) => (2, signal),
        Outcome::TimedOut => (3, 0),
    }
}

pub(crate) fn outcome(kind: u8, code: i32) -> Option<Outcome> {
    Some(match (kind, code) {
        (0, 0) => Outcome::Passed,
        (1, code) => Outcome::Failed(code),
        (2, signal) => Outcome::Killed(signal),
        (3, 0) => Outcome::TimedOut,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tamis_core::Hash;

    #[test]
    fn every_question_survives_its_columns() {
        let path = PortablePath::from_stored(*b"a/\xff\n");
        for question in [
            Question::Path(path.clone(), Scheme::Raw),
            Question::Path(path, Scheme::Command(Hash(7))),
            Question::Variable(b"HOME".to_vec()),
            Question::VariableNames,
            Question::Glob("**/*.x".into()),
            Question::Rules,
            Question::Fact("java".into()),
        ] {
            assert_eq!(QuestionColumns::of(&question).to_question(), Some(question));
        }
    }

    #[test]
    fn a_seal_notices_a_flipped_bit_and_another_row() {
        let sealed = seal(7, b"content");
        assert_eq!(unseal(7, &sealed), Some(b"content".as_slice()));
        assert_eq!(unseal(8, &sealed), None);
        for bit in 0..sealed.len() * 8 {
            let mut broken = sealed.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(unseal(7, &broken), None);
        }
        assert_eq!(unseal(7, b"short"), None);
    }

    #[test]
    fn every_outcome_survives_its_columns() {
        for o in [Outcome::Passed, Outcome::Failed(-1), Outcome::Killed(9), Outcome::TimedOut] {
            let (kind, code) = outcome_columns(o);
            assert_eq!(outcome(kind, code), Some(o));
        }
        assert_eq!((outcome(9, 0), outcome(0, 1)), (None, None));
    }

    proptest! {
        #[test]
        fn foreign_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = unpack::<Vec<tamis_core::Taint>>(&bytes);
            let _ = unpack::<Vec<Vec<u8>>>(&bytes);
            let _ = unsealed_bitmap(1, &bytes);
            let _ = unsealed_bitmap(1, &seal(1, &bytes));
        }
    }
}
