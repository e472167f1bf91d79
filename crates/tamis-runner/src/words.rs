//! Words of a command as one text, as one would type them in a shell.
//!
//! Different words give different texts: the text is the name of a bare command, and two commands
//! of one name would share their records. That is why the quoting is our own: the name is text, also for
//! words that are not, and it must stay as it is from one version to the next. A shell's splitting, as
//! the crate `shlex` knows it, gives the words back.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;

/// Joins words, quoting where a shell would need it.
pub fn join<S: AsRef<OsStr>>(words: &[S]) -> String {
    words.iter().map(|w| quote(w.as_ref())).collect::<Vec<_>>().join(" ")
}

fn quote(word: &OsStr) -> String {
    let Some(word) = word.to_str() else { return quote_bytes(word.as_bytes()) };
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%^{}*?[]~#".contains(c);
    if !word.is_empty() && word.chars().all(|c| plain(c) || !c.is_ascii() && !c.is_control()) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Bytes that are no UTF-8, by number, as bash and zsh take them: `$'a\xff'`.
fn quote_bytes(word: &[u8]) -> String {
    let mut text = String::from("$'");
    for chunk in word.utf8_chunks() {
        text += &chunk.valid().replace('\\', "\\\\").replace('\'', "\\'");
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text + "'"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_shell_would_give_the_words_back(words in prop::collection::vec("[^\0]{0,6}", 1..4)) {
            // It takes a leading `#` for a comment, which a command line has not.
            prop_assume!(words.iter().all(|word| !word.starts_with('#')));
            prop_assert_eq!(shlex::split(&join(&words)), Some(words));
        }
    }

    #[test]
    fn quotes_where_needed() {
        assert_eq!(join(&["make", "-j2", "a b", "", "it's"]), "make -j2 'a b' '' 'it'\\''s'");
        assert_eq!(join(&["./prüf.sh", "tests/*.x"]), "./prüf.sh tests/*.x");
    }

    #[test]
    fn bytes_that_are_no_text_stay_different() {
        let quoted = |bytes: &[u8]| join(&[OsStr::from_bytes(bytes)]);
        assert_eq!(quoted(b"a\xff'b\\"), "$'a\\xff\\'b\\\\'");
        assert_ne!(quoted(b"a\xff"), quoted(b"a\xfe"));
        assert_ne!(quoted(b"a\xff"), quoted("a\u{fffd}".as_bytes()));
        assert_ne!(quoted(b"a\xff"), quoted(b"$'a\\xff'"));
    }
}
