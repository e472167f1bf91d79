//! Text without blanks at line ends and without blank lines at the end. Any bytes.
//!
//! Lines end with `\n`. Spaces, tabs and `\r` before it do not count, so `\r\n` is `\n`; a `\r` inside of a
//! line counts, and so does a byte order mark.

use tamis_core::{Hash, Hasher};

pub(super) fn hash(bytes: &[u8]) -> Hash {
    let mut hasher = Hasher::new();
    // Line ends are hashed only before a line that has something on it.
    let mut line_ends = 0;
    for line in bytes.split(|&b| b == b'\n') {
        let line = trim_end(line);
        if !line.is_empty() {
            for _ in 0..line_ends {
                hasher.update(b"\n");
            }
            line_ends = 0;
            hasher.update(line);
        }
        line_ends += 1;
    }
    hasher.finish()
}

fn trim_end(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|b| !matches!(b, b' ' | b'\t' | b'\r')).map_or(0, |i| i + 1);
    &line[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, word by word.
    fn plain(bytes: &[u8]) -> Vec<u8> {
        let mut lines: Vec<&[u8]> = bytes.split(|&b| b == b'\n').map(trim_end).collect();
        while lines.last().is_some_and(|l| l.is_empty()) {
            lines.pop();
        }
        lines.join(&b'\n')
    }

    #[test]
    fn blanks_at_ends_do_not_count() {
        assert_eq!(hash(b"a \t\r\nb\r\n\r\n \n"), hash(b"a\nb"));
        assert_eq!(hash(b""), hash(b" \n\t\n"));
    }

    #[test]
    fn everything_else_counts() {
        assert_ne!(hash(b" a"), hash(b"a"));
        assert_ne!(hash(b"a\n\nb"), hash(b"a\nb"));
        assert_ne!(hash(b"\na"), hash(b"a"));
        assert_ne!(hash(b"a b"), hash(b"a  b"));
        assert_ne!(hash(b"\xff"), hash(b"\xfe"));
        assert_ne!(hash(b"a\rb"), hash(b"ab"));
        assert_ne!(hash(b"a\rb"), hash(b"a\nb"));
        assert_ne!(hash(b"\xef\xbb\xbfa"), hash(b"a"));
    }

    proptest! {
        #[test]
        fn the_hash_is_of_the_plain_text(
            bytes in proptest::collection::vec(prop::sample::select(b"ab \t\r\n\n\xff".to_vec()), 0..80)
        ) {
            prop_assert_eq!(hash(&bytes), Hash::of(&plain(&bytes)));
        }
    }
}
