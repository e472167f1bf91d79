//! Words of a command as one text, as one would type them in a shell.

/// Joins words, quoting where a shell would need it.
pub(crate) fn join<S: AsRef<str>>(words: &[S]) -> String {
    words.iter().map(|w| quote(w.as_ref())).collect::<Vec<_>>().join(" ")
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%^{}*?[]~#".contains(c);
    if !word.is_empty() && word.chars().all(|c| plain(c) || !c.is_ascii() && !c.is_control()) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_where_needed() {
        assert_eq!(join(&["make", "-j2", "a b", "", "it's"]), "make -j2 'a b' '' 'it'\\''s'");
        assert_eq!(join(&["./prüf.sh", "tests/*.x"]), "./prüf.sh tests/*.x");
    }
}
