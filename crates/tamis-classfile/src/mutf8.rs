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

/// The form of class files.
pub fn encode(text: &str) -> Cow<'_, [u8]> {
    if text.bytes().all(|byte| byte != 0 && byte < 0xf0) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len() + 8);
    for unit in text.encode_utf16() {
        let [high, low] = [unit >> 6, unit].map(|part| 0x80 | (part & 0x3f) as u8);
        match unit {
            0x01..=0x7f => bytes.push(unit as u8),
            0x00 | 0x80..=0x7ff => bytes.extend_from_slice(&[0xc0 | (unit >> 6) as u8, low]),
            _ => bytes.extend_from_slice(&[0xe0 | (unit >> 12) as u8, high, low]),
        }
    }
    Cow::Owned(bytes)
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

    #[test]
    fn encoding_is_undone_by_decoding() {
        for text in ["", "plain", "été", "a\0b", "\u{1f600} \u{ffff}", "\u{7f}\u{80}\u{7ff}\u{800}"]
        {
            assert_eq!(decode(&encode(text)), text);
        }
        assert_eq!(*encode("\0"), [0xc0, 0x80]);
        assert_eq!(*encode("\u{1f600}"), [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]);
    }
}
