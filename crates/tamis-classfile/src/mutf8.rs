//! Java's "modified UTF-8": NUL is two bytes, characters above U+FFFF are surrogate pairs.

use std::borrow::Cow;

/// Text for people and for comparisons with file names. Broken sequences become U+FFFD.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    // Plain UTF-8 differs from the modified form only in NUL and in four-byte sequences.
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let next = |n: usize| bytes.get(at + n).copied().filter(|b| b & 0xc0 == 0x80);
        let (unit, len) = match first {
            0x00..=0x7f => (u16::from(first), 1),
            0xc0..=0xdf => match next(1) {
                Some(b) => (u16::from(first & 0x1f) << 6 | u16::from(b & 0x3f), 2),
                None => (0xfffd, 1),
            },
            0xe0..=0xef => match (next(1), next(2)) {
                (Some(b), Some(c)) => (
                    u16::from(first & 0x0f) << 12 | u16::from(b & 0x3f) << 6 | u16::from(c & 0x3f),
                    3,
                ),
                _ => (0xfffd, 1),
            },
            _ => (0xfffd, 1),
        };
        units.push(unit);
        at += len;
    }
    Cow::Owned(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(decode(b"java/lang/Object"), Cow::Borrowed("java/lang/Object")));
        assert_eq!(decode("été".as_bytes()), "été");
    }

    #[test]
    fn nul_and_surrogate_pairs() {
        assert_eq!(decode(&[b'a', 0xc0, 0x80, b'b']), "a\0b");
        // U+1F600 as two three-byte surrogates.
        assert_eq!(decode(&[0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]), "\u{1f600}");
    }

    #[test]
    fn broken_sequences_do_not_panic() {
        for bytes in [&[0xc3][..], &[0xe0, 0x80], &[0xff, 0xfe], &[0xed, 0xa0, 0xbd], &[0x80]] {
            assert!(decode(bytes).contains('\u{fffd}'), "{bytes:?}");
        }
    }
}
