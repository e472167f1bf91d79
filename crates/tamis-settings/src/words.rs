//! Splits a command into words as a shell would, without being one.
//!
//! Known: blanks, `'...'`, `"..."`, backslash. Everything else that a shell would act upon (pipes,
//! redirections, variables, globs) is refused outside of single quotes with the way out, because a
//! command that silently means something else is worse than one that is refused.

/// What to do where somebody wants a shell.
const USE_A_SHELL: &str = "no shell is started; write [\"sh\", \"-c\", \"...\"] where you want one";

pub(crate) fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some('\'') => break,
                        Some(inner) => word.push(inner),
                        None => return Err("has a ' without its partner".into()),
                    }
                }
            }
            '"' => double_quoted(&mut chars, word.get_or_insert_default())?,
            '\\' => match chars.next() {
                Some('\n') => {}
                Some(next) => word.get_or_insert_default().push(next),
                None => return Err("ends with a backslash".into()),
            },
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '`' | '$' | '*' => {
                return Err(format!("uses `{c}`, but {USE_A_SHELL}"));
            }
            '#' if word.is_none() => {
                return Err(format!("has a comment from `#` on, but {USE_A_SHELL}"));
            }
            '~' if word.is_none() => return Err(format!("uses `~`, but {USE_A_SHELL}")),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

fn double_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    loop {
        match chars.next() {
            Some('"') => return Ok(()),
            Some('\\') => match chars.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some('\n') => {}
                Some(other) => word.extend(['\\', other]),
                None => break,
            },
            Some(c @ ('$' | '`')) => return Err(format!("uses `{c}`, but {USE_A_SHELL}")),
            Some(c) => word.push(c),
            None => break,
        }
    }
    Err("has a \" without its partner".into())
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
            ("", vec![]),
        ] {
            assert_eq!(split(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn shell_language_is_refused() {
        for text in ["a && b", "a | b", "a > b", "echo $X", "\"$X\"", "ls *.c", "a # b", "~/x"] {
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
