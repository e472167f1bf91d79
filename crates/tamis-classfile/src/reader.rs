//! A cursor over the bytes of a class file that answers with an error instead of a panic.

use std::fmt;

/// Why a class file could not be read. Carries no path: the caller knows it and adds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// Offset in the file.
    pub at: usize,
    pub what: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at)
    }
}

impl std::error::Error for Malformed {}

/// Big-endian cursor. `base` is where `bytes` starts in the file, so that errors give real offsets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    base: usize,
}

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], base: usize) -> Self {
        Self { bytes, at: 0, base }
    }

    /// Offset in the file.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.base + self.at
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    #[cold]
    pub(crate) fn fail<T>(&self, what: &'static str) -> Result<T, Malformed> {
        Err(Malformed { at: self.position(), what })
    }

    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        match self.at.checked_add(len).and_then(|end| self.bytes.get(self.at..end)) {
            Some(taken) => {
                self.at += len;
                Ok(taken)
            }
            None => self.fail("unexpected end of data"),
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    #[inline]
    pub(crate) fn u1(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    #[inline]
    pub(crate) fn u2(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u4(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    /// `len` bytes as a cursor of their own.
    #[inline]
    pub(crate) fn part(&mut self, len: usize) -> Result<Reader<'a>, Malformed> {
        let base = self.position();
        Ok(Reader::new(self.take(len)?, base))
    }

    /// What is left, without moving.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// An error where something follows that should not be there.
    pub(crate) fn end(&self, what: &'static str) -> Result<(), Malformed> {
        if self.is_empty() { Ok(()) } else { self.fail(what) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_big_endian_and_reports_the_real_offset() {
        let mut r = Reader::new(&[1, 2, 3, 4, 5, 6, 7], 100);
        assert_eq!(r.u1(), Ok(1));
        assert_eq!(r.u2(), Ok(0x0203));
        assert_eq!(r.u4(), Ok(0x0405_0607));
        assert!(r.is_empty());
        assert_eq!(r.u1().unwrap_err().at, 107);
    }

    #[test]
    fn a_part_keeps_its_place_in_the_file() {
        let mut r = Reader::new(&[0, 0, 9], 10);
        let mut part = r.part(3).unwrap();
        part.u2().unwrap();
        assert_eq!(part.position(), 12);
        assert!(part.end("more").is_err());
        assert_eq!(part.u1(), Ok(9));
        assert!(part.end("more").is_ok());
    }

    #[test]
    fn a_length_near_the_limit_does_not_overflow() {
        assert!(Reader::new(&[1, 2], 0).take(usize::MAX).is_err());
    }
}
