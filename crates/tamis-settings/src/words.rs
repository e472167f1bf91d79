//! Splits a command into words as a shell would, without being one.
//!
//! `shlex` knows blanks, `'...'`, `"..."` and the backslash. Everything else that a shell would act upon
//! (pipes, redirections, variables, globs) is refused outside of single quotes with the way out, because a
//! command that silently means something else is worse than one that is refused.

/// What to do where somebody wants a shell.
const USE_A_SHELL: &str = "no shell is started; write [\"sh\", \"-c\", \"...\"] where you want one";

pub(crate) fn split(text: &str) -> Result<Vec<String>, String> {
    shlex::split(&checked(text)?).ok_or_else(|| "cannot be split into words".into())
}

/// The text, in which nothing is left for a shell to act upon.
fn checked(text: &str) -> Result<String, String> {
    let (mut quote, mut escaped, mut begins) = (None, false, true);
    let mut kept = String::with_capacity(text.len());
    for c in text.chars() {
        let blank = matches!(c, ' ' | '\t' | '\n' | '\r') && quote.is_none();
        // A blank of files with other ends of lines, which `shlex` does not know as one.
        kept.push(if blank && c == '\r' { ' ' } else { c });
        let plain = !std::mem::take(&mut escaped);
        match (quote, c) {
            _ if !plain => {}
            (Some(open), _) if open == c => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            _ => refuse(c, quote.is_some(), begins)?,
        }
        begins = blank && (plain || c == '\n');
    }
    match quote {
        Some(open) => Err(format!("has a {open} without its partner")),
        None if escaped => Err("ends with a backslash".into()),
        None => Ok(kept),
    }
}

/// An error if a shell would act upon this character, in double quotes or outside of quotes.
fn refuse(c: char, quoted: bool, begins: bool) -> Result<(), String> {
    match c {
        '$' | '`' => Err(format!("uses `{c}`, but {USE_A_SHELL}")),
        _ if quoted => Ok(()),
        '|' | '&' | ';' | '<' | '>' | '(' | ')' | '*' => {
            Err(format!("uses `{c}`, but {USE_A_SHELL}"))
        }
        '#' if begins => Err(format!("has a comment from `#` on, but {USE_A_SHELL}")),
        '~' if begins => Err(format!("uses `~`, but {USE_A_SHELL}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_and_quotes() {
        for (text, expected) in [
            ("bash {}", vec!["bash", "{}"]),
            ("  a  b ", vec!["a", "b"]),
            (r#"a "b c" 'd "e' f\ g"#, vec!["a", "b c", "d \"e", "f g"]),
            (r#"x="1 2"y"#, vec!["x=1 2y"]),
            (r#""" ''"#, vec!["", ""]),
            (r#""a\"b\n""#, vec!["a\"b\\n"]),
            ("'$HOME|*'", vec!["$HOME|*"]),
            ("a#b c~d", vec!["a#b", "c~d"]),
            ("a\r\nb", vec!["a", "b"]),
            ("a\\\nb \"c\\\nd\"", vec!["ab", "cd"]),
            (r"\~ \$x \#", vec!["~", "$x", "#"]),
            ("''#a", vec!["#a"]),
            ("", vec![]),
        ] {
            assert_eq!(split(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn shell_language_is_refused() {
        for text in
            ["a && b", "a | b", "a > b", "echo $X", "\"$X\"", "ls *.c", "a # b", "~/x", "a \\\n#b"]
        {
            let error = split(text).unwrap_err();
            assert!(error.contains("no shell is started"), "{text}: {error}");
        }
        assert_eq!(split("a 'b").unwrap_err(), "has a ' without its partner");
        assert_eq!(split("a \"b").unwrap_err(), "has a \" without its partner");
        assert_eq!(split("a\\").unwrap_err(), "ends with a backslash");
    }

    proptest! {
        #[test]
        fn quoted_words_come_back(words in prop::collection::vec("\\PC{0,8}", 0..5)) {
            let quoted: Vec<String> =
                words.iter().map(|w| format!("'{}'", w.replace('\'', r"'\''"))).collect();
            prop_assert_eq!(split(&quoted.join(" ")).unwrap(), words);
        }
    }
}
