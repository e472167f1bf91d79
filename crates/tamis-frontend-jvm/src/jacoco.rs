//! JaCoCo's execution data: which probes of which classes were passed.
//!
//! A class is known by the number that JaCoCo makes of its bytes, and has a fixed count of probes. A file of
//! execution data is a row of blocks, and several rows behind each other are one file as well: so what is
//! added at the end of a file is merged by whoever reads it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};
use tamis_classfile::mutf8;

const HEADER: [u8; 5] = [0x01, 0xc0, 0xc0, 0x10, 0x07];
const SESSION: u8 = 0x10;
const DATA: u8 = 0x11;

/// What was passed of one class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Passed {
    /// `a/b/C`.
    pub(crate) name: String,
    /// How many probes it has.
    pub(crate) probes: u32,
    /// Bit by bit, the first one lowest.
    pub(crate) bits: Vec<u8>,
}

/// What was passed, by the numbers of classes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cover(pub(crate) BTreeMap<i64, Passed>);

impl Cover {
    /// Reads what the agent sends; `None` if it cannot be read.
    pub(crate) fn parse(mut data: &[u8]) -> Option<Self> {
        let mut cover = Self::default();
        while !data.is_empty() {
            let id = i64::from_be_bytes(take(&mut data, 8)?.try_into().ok()?);
            let length = u16::from_be_bytes(take(&mut data, 2)?.try_into().ok()?);
            let name = mutf8::decode(take(&mut data, length.into())?).into_owned();
            let probes = u32::from_be_bytes(take(&mut data, 4)?.try_into().ok()?);
            let bits = take(&mut data, probes.div_ceil(8) as usize)?.to_vec();
            cover.add(id, &Passed { name, probes, bits });
        }
        Some(cover)
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(&id, passed)| self.add(id, passed));
    }

    /// One number with different counts of probes cannot be of one class: the first stays.
    fn add(&mut self, id: i64, passed: &Passed) {
        let Some(known) = self.0.get_mut(&id) else {
            self.0.insert(id, passed.clone());
            return;
        };
        if known.probes == passed.probes {
            known.bits.iter_mut().zip(&passed.bits).for_each(|(known, new)| *known |= new);
        }
    }

    /// As JaCoCo writes it into a file.
    pub(crate) fn to_file(&self, session: &str) -> Vec<u8> {
        let mut out = HEADER.to_vec();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = (now.as_millis() as i64).to_be_bytes();
        out.push(SESSION);
        add_text(&mut out, session);
        out.extend(now);
        out.extend(now);
        for (id, passed) in &self.0 {
            out.push(DATA);
            out.extend(id.to_be_bytes());
            add_text(&mut out, &passed.name);
            add_number(&mut out, passed.probes);
            out.extend(&passed.bits);
        }
        out
    }
}

fn take<'b>(data: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, rest) = data.split_at_checked(length)?;
    *data = rest;
    Some(taken)
}

fn add_text(out: &mut Vec<u8>, text: &str) {
    let text = mutf8::encode(text);
    let length = text.len().min(u16::MAX.into());
    out.extend((length as u16).to_be_bytes());
    out.extend(&text[..length]);
}

/// Seven bits in each byte, the lowest first.
fn add_number(out: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(id: i64, name: &str, probes: u32, bits: &[u8]) -> Vec<u8> {
        let mut bytes = id.to_be_bytes().to_vec();
        add_text(&mut bytes, name);
        bytes.extend(probes.to_be_bytes());
        bytes.extend(bits);
        bytes
    }

    #[test]
    fn what_is_sent_is_read_and_merged() {
        let both = [sent(7, "a/B", 9, &[1, 1]), sent(-3, "a/C", 2, &[2])].concat();
        let mut cover = Cover::parse(&both).unwrap();
        cover.merge(&Cover::parse(&sent(7, "a/B", 9, &[4, 0])).unwrap());
        assert_eq!(cover.0[&7].bits, [5, 1]);
        // Not of the same class.
        cover.merge(&Cover::parse(&sent(7, "a/B", 8, &[0xff])).unwrap());
        assert_eq!(cover.0[&7].bits, [5, 1]);
        assert_eq!(cover.0[&-3].name, "a/C");
        assert_eq!(Cover::parse(&both[..both.len() - 1]), None);
        assert_eq!(Cover::parse(&[]), Some(Cover::default()));
    }

    #[test]
    fn a_file_has_the_blocks_of_jacoco() {
        let cover = Cover::parse(&sent(1, "a/B", 300, &[0xff; 38])).unwrap();
        let file = cover.to_file("s");
        assert_eq!(file[..5], [1, 0xc0, 0xc0, 0x10, 7]);
        assert_eq!(file[5..9], [0x10, 0, 1, b's']);
        let data = &file[9 + 16..];
        assert_eq!(data[..14], [0x11, 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, b'a', b'/', b'B']);
        assert_eq!(data[14..16], [0xac, 0x02]);
        assert_eq!(data.len(), 16 + 38);
    }
}
