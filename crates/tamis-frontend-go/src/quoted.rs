//! The quoting of the go command (`cmd/internal/quoted`), for `-exec` and `GOFLAGS`.
//!
//! Words are separated by blanks. A word that *begins* with a quote ends at the next quote of the same
//! kind; nothing is escaped, and quotes inside of a word are ordinary characters. So a word with a blank
//! and both kinds of quotes cannot be written at all.

const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// The words of a text; `None` where a quote is not closed.
pub fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches(BLANKS);
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            '"' | '\'' => rest[1..].split_once(first)?,
            _ => rest.split_at(rest.find(BLANKS).unwrap_or(rest.len())),
        };
        words.push(word.to_owned());
        rest = after.trim_start_matches(BLANKS);
    }
    Some(words)
}

/// One text that [`split`] takes apart into these words; `None` where there is none.
pub fn join<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let quoted: Option<Vec<String>> = words.into_iter().map(quote).collect();
    quoted.map(|words| words.join(" "))
}

fn quote(word: &str) -> Option<String> {
    let plain = !word.is_empty() && !word.contains(BLANKS) && !word.starts_with(['"', '\'']);
    match (plain, word.contains('\''), word.contains('"')) {
        (true, ..) => Some(word.to_owned()),
        (false, false, _) => Some(format!("'{word}'")),
        (false, true, false) => Some(format!("\"{word}\"")),
        (false, true, true) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        split(text).unwrap()
    }

    #[test]
    fn blanks_separate_and_quotes_hold_together() {
        assert_eq!(words(" a  b\tc\n"), ["a", "b", "c"]);
        assert_eq!(words("'a b' \"c d\""), ["a b", "c d"]);
        assert_eq!(words("''"), [""]);
        assert!(words("  ").is_empty());
    }

    #[test]
    fn quotes_inside_of_a_word_are_characters() {
        assert_eq!(words("-ldflags='-s -w'"), ["-ldflags='-s", "-w'"]);
        assert_eq!(words("'-ldflags=-s -w'"), ["-ldflags=-s -w"]);
        assert_eq!(words("'a'b"), ["a", "b"]);
    }

    #[test]
    fn an_open_quote_is_an_error() {
        assert_eq!(split("'a b"), None);
        assert_eq!(split("x \""), None);
    }

    #[test]
    fn what_is_joined_is_split_again() {
        for case in [
            vec!["/a/tamis", "shim"],
            vec!["/a folder/tamis", "it's"],
            vec!["a \"b\"", "", "'x"],
            vec!["\"x"],
        ] {
            let text = join(case.iter().copied()).unwrap();
            assert_eq!(words(&text), case, "{text}");
        }
        assert_eq!(join(["a 'b' \"c\""]), None);
    }
}
