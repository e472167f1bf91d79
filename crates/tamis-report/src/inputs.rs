//! The inputs of a test for a reader: those of the project one by one, the others counted by folder.

use crate::human;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tamis_core::record::{Access, Observed};
use tamis_core::{PortablePath, Question, Scheme, Value};

/// What kind of input something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    File,
    Directory,
    Absent,
    Program,
    Library,
    Link,
    Written,
    Environment,
    Other,
}

const KINDS: [(Kind, &str); 9] = [
    (Kind::File, "files"),
    (Kind::Directory, "directories"),
    (Kind::Absent, "absent"),
    (Kind::Program, "programs"),
    (Kind::Library, "libraries"),
    (Kind::Link, "links"),
    (Kind::Written, "places written to"),
    (Kind::Environment, "environment"),
    (Kind::Other, "other"),
];

/// Folders outside of the project that are named.
const MOST_FOLDERS: usize = 6;

impl Kind {
    pub fn of(observed: &Observed) -> Self {
        let path = match &observed.question {
            Question::Variable(_) | Question::VariableNames => return Self::Environment,
            Question::Path(_, Scheme::Place) => return Self::Written,
            Question::Path(path, _) => path,
            _ => return Self::Other,
        };
        let name = path.as_bytes().rsplit(|&b| b == b'/').next().unwrap_or_default();
        match observed.before {
            Value::Absent | Value::Barred => Self::Absent,
            Value::Directory | Value::Listing(_) => Self::Directory,
            Value::Link(_) => Self::Link,
            _ if observed.access.contains(Access::EXECUTE) => Self::Program,
            _ if is_library(name) => Self::Library,
            _ => Self::File,
        }
    }

    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("other", |(_, name)| name)
    }
}

/// `libc.so.6`, `_json.cpython-311-x86_64-linux-gnu.so`.
fn is_library(name: &[u8]) -> bool {
    name.ends_with(b".so") || name.windows(4).any(|w| w == b".so.")
}

/// Which inputs are shown one by one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown<'w> {
    /// All of them.
    pub all: bool,
    /// Those with one of these words in their name, wherever they are; without words, the project's own.
    pub words: &'w [String],
}

impl Shown<'_> {
    /// Whether the words let an input be spoken of at all.
    pub fn concerns(&self, observed: &Observed) -> bool {
        let name = observed.question.to_string().to_lowercase();
        self.words.is_empty() || self.words.iter().any(|word| name.contains(&word.to_lowercase()))
    }

    /// Whether an input has a line of its own.
    pub fn by_itself(&self, observed: &Observed) -> bool {
        let own = match &observed.question {
            Question::Variable(_) | Question::VariableNames => false,
            question => question.path().is_none_or(PortablePath::in_project),
        };
        self.all || !self.words.is_empty() || own
    }
}

/// The inputs by kind: those with a line of their own, then counts of the others.
pub fn by_kind(inputs: &[&Observed], shown: Shown<'_>) -> String {
    let inputs: Vec<&Observed> = inputs.iter().copied().filter(|o| shown.concerns(o)).collect();
    let (own, others): (Vec<&Observed>, Vec<&Observed>) =
        inputs.into_iter().partition(|observed| shown.by_itself(observed));
    let mut text = String::new();
    for (kind, name) in KINDS {
        let of_kind: Vec<&&Observed> = own.iter().filter(|o| Kind::of(o) == kind).collect();
        if !of_kind.is_empty() {
            let _ = writeln!(text, "{name} ({})", human::number(of_kind.len() as u64));
            text.extend(of_kind.iter().map(|o| format!("  {}\n", line(&o.question))));
        }
    }
    text + &elsewhere(&others)
}

/// Inputs without a line of their own, by kind and folder, and how to see them.
pub fn elsewhere(others: &[&Observed]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let mut text = format!("outside of the project ({})\n", human::number(others.len() as u64));
    for (kind, name) in KINDS {
        let of_kind: Vec<&Observed> =
            others.iter().copied().filter(|o| Kind::of(o) == kind).collect();
        match (of_kind.len(), kind) {
            (0, _) => {}
            (n, Kind::Environment) => {
                let _ = writeln!(text, "  {}", human::counted(n as u64, "variable", "variables"));
            }
            (n, _) => {
                let number = human::number(n as u64);
                let _ = writeln!(text, "  {number} {name}: {}", folders(&of_kind));
            }
        }
    }
    text + "--all lists these, too; --filter WORD lists inputs with that word in their name\n"
}

/// `/usr/lib 210, /etc 3 and 4 more folders`.
fn folders(inputs: &[&Observed]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in inputs.iter().filter_map(|observed| observed.question.path()) {
        *counts.entry(folder(path)).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let more = counts.len().saturating_sub(MOST_FOLDERS);
    counts.truncate(MOST_FOLDERS);
    let shown: Vec<String> =
        counts.iter().map(|(folder, n)| format!("{folder} {}", human::number(*n as u64))).collect();
    let more = match more {
        0 => String::new(),
        n => format!(" and {}", human::counted(n as u64, "more folder", "more folders")),
    };
    shown.join(", ") + &more
}

/// The folder under which a path is counted: its first three names, or fewer.
pub fn folder(path: &PortablePath) -> String {
    let text = path.to_string();
    let names: Vec<&str> = text.split('/').collect();
    let above = names.len().saturating_sub(1).min(4);
    match names[..above].join("/") {
        root if root.is_empty() => "/".into(),
        folder => folder,
    }
}

/// One input, as it is listed.
pub fn line(question: &Question) -> String {
    match question {
        Question::Path(path, Scheme::Listing) => format!("{path} (its names)"),
        Question::Path(path, Scheme::Kind | Scheme::Raw | Scheme::Place) => path.to_string(),
        Question::Path(path, scheme) => format!("{path} (as {scheme})"),
        Question::Variable(name) => String::from_utf8_lossy(name).into_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::Hash;
    use tamis_core::record::Detail;

    fn observed(question: Question, before: Value) -> Observed {
        let (access, program, detail) = (Access::default(), "sh".into(), Detail::None);
        Observed { question, before, after: None, access, program, detail }
    }

    fn path(path: &str, before: Value) -> Observed {
        observed(Question::Path(PortablePath::from_stored(path), Scheme::Raw), before)
    }

    fn file(name: &str) -> Observed {
        path(name, Value::Text(Hash::of_parts([name.as_bytes()])))
    }

    fn inputs() -> Vec<Observed> {
        vec![
            file("src/a.c"),
            file("/usr/include/stdio.h"),
            file("/usr/include/sys/types.h"),
            file("/etc/passwd"),
            file("~/.config/tool.json"),
            file("/usr/lib/x86_64-linux-gnu/libc.so.6"),
            path("src/absent.h", Value::Absent),
            path("/usr/absent.h", Value::Absent),
            observed(Question::Variable(b"LANG".to_vec()), Value::Absent),
        ]
    }

    fn text(shown: Shown<'_>) -> String {
        let inputs = inputs();
        by_kind(&inputs.iter().collect::<Vec<_>>(), shown)
    }

    #[test]
    fn the_projects_own_come_first_and_the_others_are_counted() {
        let expected = "\
files (1)
  src/a.c
absent (1)
  src/absent.h
outside of the project (7)
  4 files: /etc 1, /usr/include 1, /usr/include/sys 1, ~/.config 1
  1 absent: /usr 1
  1 libraries: /usr/lib/x86_64-linux-gnu 1
  1 variable
--all lists these, too; --filter WORD lists inputs with that word in their name
";
        assert_eq!(text(Shown::default()), expected);
    }

    #[test]
    fn all_and_words() {
        let all = text(Shown { all: true, words: &[] });
        assert!(all.contains("  /etc/passwd\n") && all.contains("  LANG\n"), "{all}");
        assert!(!all.contains("outside"), "{all}");
        let words = ["STDIO".to_owned(), "absent".to_owned()];
        let expected =
            "files (1)\n  /usr/include/stdio.h\nabsent (2)\n  src/absent.h\n  /usr/absent.h\n";
        assert_eq!(text(Shown { all: false, words: &words }), expected);
    }
}
