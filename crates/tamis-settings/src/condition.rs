//! The small expressions of `if` in a `[[rule]]`: where the rule holds, by path and program alone.
//!
//! ```text
//! condition  = and-part { "or" and-part }
//! and-part   = single { "and" single }
//! single     = "not" single | "(" condition ")" | field operator text
//! field      = "path" | "folder" | "name" | "extension" | "program"
//! operator   = "=" | "!=" | "matches" | "starts-with" | "ends-with" | "contains"
//! text       = '...' | "..."
//! ```
//!
//! Nothing in it depends on what is in a file: an answer holds until the settings change. `path` and
//! `folder` are relative to the root inside the project and absolute outside; `program` is a full path, and
//! the name of its file where the text has no slash.
//!
//! Not seen: content, size and kind of what is at the path. A command (`ignore-if`) can look at these.

use crate::glob::NameGlobs;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Deeper parentheses are a mistake.
const MAX_DEPTH: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    text: String,
    root: Node,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Any(Vec<Node>),
    All(Vec<Node>),
    Not(Box<Node>),
    Is(Field, Test),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Path,
    Folder,
    Name,
    Extension,
    Program,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Equals(String),
    Matches(NameGlobs),
    StartsWith(String),
    EndsWith(String),
    Contains(String),
}

/// What a condition is asked about: the path as users write it, and the full path of a program.
#[derive(Debug, Clone, Copy)]
pub struct Looked<'a> {
    pub path: &'a [u8],
    pub program: &'a [u8],
}

impl Condition {
    /// The error says what is wrong, and where in the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { words: words(text)?, at: 0 };
        let root = parser.any(0)?;
        match parser.next() {
            None => Ok(Self { text: text.to_owned(), root }),
            Some(word) => {
                Err(format!("`{word}` is more than a condition; join two by `and` or `or`"))
            }
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn holds(&self, looked: Looked<'_>) -> bool {
        self.root.holds(looked)
    }

    /// Whether it asks who looked.
    pub fn asks_for_program(&self) -> bool {
        self.root.asks_for_program()
    }
}

impl Node {
    fn holds(&self, looked: Looked<'_>) -> bool {
        match self {
            Self::Any(parts) => parts.iter().any(|part| part.holds(looked)),
            Self::All(parts) => parts.iter().all(|part| part.holds(looked)),
            Self::Not(part) => !part.holds(looked),
            Self::Is(field, test) => test.holds(field.of(looked, test)),
        }
    }

    fn asks_for_program(&self) -> bool {
        match self {
            Self::Any(parts) | Self::All(parts) => parts.iter().any(Self::asks_for_program),
            Self::Not(part) => part.asks_for_program(),
            Self::Is(field, _) => *field == Field::Program,
        }
    }
}

impl Field {
    const ALL: [(&str, Self); 5] = [
        ("path", Self::Path),
        ("folder", Self::Folder),
        ("name", Self::Name),
        ("extension", Self::Extension),
        ("program", Self::Program),
    ];

    fn of<'a>(self, looked: Looked<'a>, test: &Test) -> &'a [u8] {
        let path = Path::new(OsStr::from_bytes(looked.path));
        let bytes = |part: Option<&'a OsStr>| part.map(OsStrExt::as_bytes).unwrap_or_default();
        match self {
            Self::Path => looked.path,
            Self::Folder => bytes(path.parent().map(Path::as_os_str)),
            Self::Name => bytes(path.file_name()),
            Self::Extension => bytes(path.extension()),
            Self::Program if test.has_slash() => looked.program,
            Self::Program => bytes(Path::new(OsStr::from_bytes(looked.program)).file_name()),
        }
    }
}

impl Test {
    fn new(operator: &str, text: String) -> Result<Self, String> {
        Ok(match operator {
            "=" | "!=" => Self::Equals(text),
            "matches" => Self::Matches(NameGlobs::new(vec![text])?),
            "starts-with" => Self::StartsWith(text),
            "ends-with" => Self::EndsWith(text),
            "contains" => Self::Contains(text),
            other => {
                return Err(format!(
                    "`{other}` is no operator (one of: =, !=, matches, starts-with, ends-with, contains)"
                ));
            }
        })
    }

    fn has_slash(&self) -> bool {
        match self {
            Self::Equals(text)
            | Self::StartsWith(text)
            | Self::EndsWith(text)
            | Self::Contains(text) => text.contains('/'),
            Self::Matches(globs) => globs.patterns().iter().any(|pattern| pattern.contains('/')),
        }
    }

    fn holds(&self, found: &[u8]) -> bool {
        match self {
            Self::Equals(text) => found == text.as_bytes(),
            Self::Matches(globs) => globs.matches(found),
            Self::StartsWith(text) => found.starts_with(text.as_bytes()),
            Self::EndsWith(text) => found.ends_with(text.as_bytes()),
            Self::Contains(text) => {
                text.is_empty() || found.windows(text.len()).any(|part| part == text.as_bytes())
            }
        }
    }
}

/// A word, or a text in quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Plain(String),
    Text(String),
}

impl std::fmt::Display for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plain(word) => f.write_str(word),
            Self::Text(text) => write!(f, "'{text}'"),
        }
    }
}

fn words(text: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, length) = match first {
            '(' | ')' | '=' => (Word::Plain(first.into()), 1),
            '!' if rest.starts_with("!=") => (Word::Plain("!=".into()), 2),
            '\'' | '"' => {
                let end = rest[1..].find(first).ok_or_else(|| format!("`{rest}` has no end"))?;
                (Word::Text(rest[1..=end].to_owned()), end + 2)
            }
            _ => {
                let is_end = |c: char| c.is_whitespace() || "()='\"!".contains(c);
                let end = rest.find(is_end).unwrap_or(rest.len()).max(first.len_utf8());
                (Word::Plain(rest[..end].to_owned()), end)
            }
        };
        words.push(word);
        rest = rest[length..].trim_start();
    }
    Ok(words)
}

struct Parser {
    words: Vec<Word>,
    at: usize,
}

impl Parser {
    fn next(&mut self) -> Option<Word> {
        let word = self.words.get(self.at).cloned();
        self.at += 1;
        word
    }

    fn take(&mut self, expected: &str) -> bool {
        let found = matches!(self.words.get(self.at), Some(Word::Plain(word)) if word == expected);
        self.at += usize::from(found);
        found
    }

    fn any(&mut self, depth: usize) -> Result<Node, String> {
        if depth > MAX_DEPTH {
            return Err("the condition is nested too deeply".into());
        }
        let mut parts = vec![self.all(depth)?];
        while self.take("or") {
            parts.push(self.all(depth)?);
        }
        Ok(Node::Any(parts))
    }

    fn all(&mut self, depth: usize) -> Result<Node, String> {
        let mut parts = vec![self.single(depth)?];
        while self.take("and") {
            parts.push(self.single(depth)?);
        }
        Ok(Node::All(parts))
    }

    fn single(&mut self, depth: usize) -> Result<Node, String> {
        if self.take("not") {
            return match depth < MAX_DEPTH {
                true => Ok(Node::Not(Box::new(self.single(depth + 1)?))),
                false => Err("the condition is nested too deeply".into()),
            };
        }
        if self.take("(") {
            let inner = self.any(depth + 1)?;
            return if self.take(")") { Ok(inner) } else { Err("a `)` is missing".into()) };
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Node, String> {
        let names = Field::ALL.map(|(name, _)| name).join(", ");
        let field = match self.next() {
            Some(Word::Plain(word)) => Field::ALL
                .into_iter()
                .find_map(|(name, field)| (name == word).then_some(field))
                .ok_or_else(|| format!("`{word}` is nothing to ask about (one of: {names})"))?,
            Some(text) => return Err(format!("{text} stands where one of {names} is expected")),
            None => return Err(format!("it ends where one of {names} is expected")),
        };
        let Some(Word::Plain(operator)) = self.next() else {
            return Err("an operator is missing; for example: name ends-with '.log'".into());
        };
        let Some(Word::Text(text)) = self.next() else {
            return Err(format!("a text in quotes is missing after `{operator}`"));
        };
        let is = Node::Is(field, Test::new(&operator, text)?);
        Ok(if operator == "!=" { Node::Not(Box::new(is)) } else { is })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holds(condition: &str, path: &str, program: &str) -> bool {
        let condition =
            Condition::parse(condition).unwrap_or_else(|why| panic!("{condition}: {why}"));
        condition.holds(Looked { path: path.as_bytes(), program: program.as_bytes() })
    }

    #[test]
    fn each_field_and_operator() {
        for (condition, expected) in [
            ("path = 'a/b/c.log'", true),
            ("path='a/b/c.log'", true),
            ("path != 'a/b/c.log'", false),
            ("path matches 'a/**'", true),
            ("path matches 'a/*'", false),
            ("folder = 'a/b'", true),
            ("folder ends-with 'b'", true),
            ("name = \"c.log\"", true),
            ("name matches '*.{log,txt}'", true),
            ("name starts-with 'c.'", true),
            ("name contains '.l'", true),
            ("name contains 'x'", false),
            ("name contains ''", true),
            ("extension = 'log'", true),
            ("extension = '.log'", false),
            ("program = 'cat'", true),
            ("program = '/usr/bin/cat'", true),
            ("program = '/bin/cat'", false),
            ("program matches '/usr/*/cat'", true),
            ("program contains 'usr'", false),
        ] {
            assert_eq!(holds(condition, "a/b/c.log", "/usr/bin/cat"), expected, "{condition}");
        }
    }

    #[test]
    fn and_binds_closer_than_or_and_not_closest() {
        let (yes, no) = ("name = 'f'", "name = 'g'");
        for (condition, expected) in [
            (format!("{yes} or {no} and {no}"), true),
            (format!("({yes} or {no}) and {no}"), false),
            (format!("not {no} and {yes}"), true),
            (format!("not ({no} or {yes})"), false),
            (format!("not not {yes}"), true),
            (format!("{no} or {no} or {yes}"), true),
        ] {
            assert_eq!(holds(&condition, "f", ""), expected, "{condition}");
        }
    }

    #[test]
    fn odd_paths() {
        assert!(holds("folder = '' and extension = '' and name = 'f'", "f", ""));
        assert!(holds("name = ''", "", ""));
        assert!(holds("program = ''", "f", ""));
        let bytes = Condition::parse("name starts-with 'a'").unwrap();
        assert!(bytes.holds(Looked { path: b"d/a\xff", program: b"" }));
    }

    #[test]
    fn mistakes_are_named() {
        for (condition, part) in [
            ("", "it ends where one of path"),
            ("size = '3'", "`size` is nothing to ask about"),
            ("name", "an operator is missing"),
            ("name ~ 'x'", "`~` is no operator"),
            ("name = x", "a text in quotes is missing after `=`"),
            ("name = 'x", "`'x` has no end"),
            ("name = 'x' name = 'y'", "`name` is more than a condition"),
            ("(name = 'x'", "a `)` is missing"),
            ("name = 'x')", "`)` is more than a condition"),
            ("name matches '['", "is no valid glob"),
            ("'x' = name", "'x' stands where one of path"),
            ("name = 'x' and", "it ends where one of"),
        ] {
            let error = Condition::parse(condition).unwrap_err();
            assert!(error.contains(part), "{condition}: {error}");
        }
        let deep = format!("{}name = 'x'{}", "(".repeat(9000), ")".repeat(9000));
        assert!(Condition::parse(&deep).unwrap_err().contains("too deeply"));
        assert!(Condition::parse(&"not ".repeat(9000)).is_err());
    }

    #[test]
    fn who_asks_for_the_program() {
        let asks = |text: &str| Condition::parse(text).unwrap().asks_for_program();
        assert!(asks("not (name = 'x' and program = 'y')"));
        assert!(!asks("name = 'program'"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_condition_or_a_mistake(text in r#"[a-z='"()! é]{0,40}"#) {
            let _ = Condition::parse(&text);
        }
    }
}
