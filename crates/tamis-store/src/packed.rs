//! Bytes in few bytes: numbers of variable length, and whole buffers under deflate.
//!
//! Deflate by libdeflate: it takes whole buffers, as ours are, and is in the program already for
//! the jars. Nothing here panics on foreign bytes: what cannot be read is `None`.

use libdeflater::{CompressionLvl, Compressor, Decompressor};

const PLAIN: u8 = 0;
const DEFLATE: u8 = 1;

/// Nothing that we write is longer; a length above it was not written by us.
const LONGEST: u64 = 1 << 30;

/// The strongest level of libdeflate that still is fast on small buffers.
const LEVEL: i32 = 9;

/// For what is written anew by every call, and read once: the quickest.
const QUICK: i32 = 1;

/// Compresses where that helps.
pub(crate) fn squeeze(bytes: &[u8]) -> Vec<u8> {
    squeeze_at(LEVEL, bytes)
}

/// As [`squeeze`], in less time and more bytes.
pub(crate) fn squeeze_fast(bytes: &[u8]) -> Vec<u8> {
    squeeze_at(QUICK, bytes)
}

fn squeeze_at(level: i32, bytes: &[u8]) -> Vec<u8> {
    let mut squeezed = vec![DEFLATE];
    write_number(&mut squeezed, bytes.len() as u64);
    let start = squeezed.len();
    if let Ok(level) = CompressionLvl::new(level) {
        let mut compressor = Compressor::new(level);
        squeezed.resize(start + compressor.deflate_compress_bound(bytes.len()), 0);
        let written = compressor.deflate_compress(bytes, &mut squeezed[start..]);
        if let Ok(written) = written
            && written < bytes.len()
        {
            squeezed.truncate(start + written);
            return squeezed;
        }
    }
    squeezed.clear();
    squeezed.push(PLAIN);
    squeezed.extend_from_slice(bytes);
    squeezed
}

/// The inverse of [`squeeze`].
pub(crate) fn expand(squeezed: &[u8]) -> Option<Vec<u8>> {
    let mut rest = Reader(squeezed);
    match rest.byte()? {
        PLAIN => Some(rest.0.to_vec()),
        DEFLATE => {
            let length = rest.number().filter(|&n| n <= LONGEST)?;
            // Deflate cannot do better than this: a length that was not ours reserves no memory.
            if length > (rest.0.len() as u64).saturating_mul(1_100) {
                return None;
            }
            let mut bytes = vec![0; usize::try_from(length).ok()?];
            let written = Decompressor::new().deflate_decompress(rest.0, &mut bytes).ok()?;
            (written == bytes.len()).then_some(bytes)
        }
        _ => None,
    }
}

/// Seven bits a byte, the lowest first; the upper bit says that there are more.
pub(crate) fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Small differences of either sign become small numbers.
pub(crate) fn write_difference(bytes: &mut Vec<u8>, difference: i64) {
    write_number(bytes, ((difference << 1) ^ (difference >> 63)).cast_unsigned());
}

/// Reads from the front.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    #[inline]
    pub(crate) fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(first.into());
        }
        let mut number = u64::from(first & 0x7F);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    #[inline]
    pub(crate) fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    #[inline]
    pub(crate) fn difference(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -((number & 1).cast_signed()))
    }

    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// A stretch of bytes with its length before it.
    pub(crate) fn stretch(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(usize::try_from(length).ok()?)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What [`Reader::stretch`] reads.
pub(crate) fn write_stretch(bytes: &mut Vec<u8>, stretch: &[u8]) {
    write_number(bytes, stretch.len() as u64);
    bytes.extend_from_slice(stretch);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_repeats_becomes_small_and_what_does_not_hardly_grows() {
        let repeated = b"src/main/java/".repeat(1_000);
        assert!(squeeze(&repeated).len() < 200);
        assert_eq!(squeeze(b"x"), [PLAIN, b'x']);
        assert_eq!(squeeze(b""), [PLAIN]);
    }

    #[test]
    fn a_codec_of_somebody_else_is_refused() {
        let mut squeezed = squeeze(&[7; 500]);
        squeezed[0] = 2;
        assert_eq!(expand(&squeezed), None);
        assert_eq!(expand(&[]), None);
    }

    proptest! {
        #[test]
        fn bytes_survive(bytes in proptest::collection::vec(0..4_u8, 0..3_000)) {
            prop_assert_eq!(expand(&squeeze(&bytes)), Some(bytes));
        }

        #[test]
        fn a_cut_buffer_is_refused(bytes in proptest::collection::vec(0..4_u8, 200..900), cut in 1..50_usize) {
            let squeezed = squeeze(&bytes);
            prop_assert_eq!(expand(&squeezed[..squeezed.len() - cut]), None);
        }

        #[test]
        fn numbers_survive(number in any::<u64>(), difference in any::<i64>(), small in -70..70_i64) {
            let mut bytes = Vec::new();
            write_number(&mut bytes, number);
            write_difference(&mut bytes, difference);
            write_difference(&mut bytes, small);
            let mut reader = Reader(&bytes);
            prop_assert_eq!(reader.number(), Some(number));
            prop_assert_eq!(reader.difference(), Some(difference));
            prop_assert_eq!(reader.difference(), Some(small));
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn foreign_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = expand(&bytes);
            let mut reader = Reader(&bytes);
            while reader.number().is_some() {}
        }
    }
}
