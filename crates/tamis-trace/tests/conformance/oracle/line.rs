//! One line of strace's output: `1234 openat(3</dir>, "name", O_RDONLY) = 4</dir/name>`, with every
//! string in hexadecimal.

use std::collections::HashMap;

/// A call with its result.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) process: u32,
    pub(super) call: &'a str,
    pub(super) arguments: Vec<Argument>,
    /// None where the process did not live to see it.
    pub(super) result: Option<i64>,
    /// The descriptor that the call returned, and what is behind it.
    pub(super) opened: Option<(i32, Option<Vec<u8>>)>,
    pub(super) text: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Argument {
    /// A descriptor, with the path behind it if there is one.
    Descriptor {
        number: i32,
        path: Option<Vec<u8>>,
    },
    Text(Vec<u8>),
    /// Flags, numbers, structures, pointers that point nowhere.
    Other(String),
}

impl Argument {
    fn parse(text: &str) -> Self {
        // Dots after a string: it is longer than a path can be.
        if let (Some(string), false) = (text.strip_prefix('"'), text.ends_with("\"...")) {
            return Self::Text(unhex(string.trim_end_matches('"')));
        }
        let (number, rest) = text.split_once('<').unwrap_or((text, ""));
        let number = if number == "AT_FDCWD" { Some(libc::AT_FDCWD) } else { number.parse().ok() };
        match number {
            Some(number) => Self::Descriptor { number, path: annotation(rest) },
            None => Self::Other(text.to_owned()),
        }
    }

    pub(super) fn has_flag(&self, flag: &str) -> bool {
        matches!(self, Self::Other(text) if text.split('|').any(|f| f == flag))
    }
}

impl Line<'_> {
    pub(super) fn makes_process(&self) -> bool {
        matches!(self.call, "clone" | "clone3" | "fork" | "vfork")
    }

    pub(super) fn string(&self, n: usize) -> Option<&[u8]> {
        match self.arguments.get(n)? {
            Argument::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn descriptor(&self, n: usize) -> Option<&[u8]> {
        match self.arguments.get(n)? {
            Argument::Descriptor { path, .. } => path.as_deref(),
            _ => None,
        }
    }

    pub(super) fn flags(&self, n: usize) -> &str {
        match self.arguments.get(n) {
            Some(Argument::Other(text)) => text,
            _ => "",
        }
    }
}

/// The path in `path>`; none for pipes, sockets and what is deleted.
fn annotation(rest: &str) -> Option<Vec<u8>> {
    let (hex, after) = rest.split_once('>')?;
    let path = unhex(hex);
    let deleted = after.contains("(deleted)");
    (path.starts_with(b"/") && !path.starts_with(b"/memfd:") && !deleted).then_some(path)
}

fn unhex(text: &str) -> Vec<u8> {
    text.split("\\x").skip(1).map(|byte| u8::from_str_radix(&byte[..2], 16).unwrap()).collect()
}

/// All calls in the order in which they began or, where another thread came between, ended.
pub(super) fn parse(log: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut unfinished: HashMap<u32, &str> = HashMap::new();
    for text in log.lines() {
        let (process, rest) = text.trim_start().split_once(' ').unwrap();
        let process: u32 = process.parse().unwrap();
        let rest = rest.trim_start();
        if rest.starts_with("---") || rest.starts_with("+++") {
            continue;
        }
        if let Some(begun) = rest.strip_suffix(" <unfinished ...>") {
            if let Some(lost) = unfinished.insert(process, begun) {
                lines.push(line(process, lost, ""));
            }
        } else if let Some(resumed) = rest.strip_prefix("<... ") {
            let (_, end) = resumed.split_once(" resumed>").unwrap();
            // After an exec by a thread, the end stands under the number of the first thread.
            if let Some(begun) = unfinished.remove(&process) {
                lines.push(line(process, begun, end));
            }
        } else {
            lines.push(line(process, rest, ""));
        }
    }
    lines.extend(unfinished.into_iter().map(|(process, begun)| line(process, begun, "")));
    lines
}

fn line<'a>(process: u32, begun: &'a str, end: &str) -> Line<'a> {
    let (call, _) = begun.split_once('(').unwrap();
    let text = format!("{begun}{end}");
    let (arguments, result) = arguments(&text[call.len() + 1..]);
    let result = result.trim_start().strip_prefix('=').map(str::trim_start).unwrap_or_default();
    let word = result.split([' ', '<']).next().unwrap_or_default();
    let value = word.parse().ok();
    let opened = result
        .split_once('<')
        .and_then(|(number, rest)| Some((number.parse().ok()?, annotation(rest))));
    Line { process, call, arguments, result: value, opened, text }
}

/// Splits at the commas outside of brackets. Returns what follows the closing bracket, too. Strings
/// need no care: they are hexadecimal.
fn arguments(text: &str) -> (Vec<Argument>, &str) {
    let (mut depth, mut start) = (0, 0);
    let mut found = Vec::new();
    let mut add = |part: &str| {
        let part = part.trim();
        if !part.is_empty() {
            found.push(Argument::parse(part));
        }
    };
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '{' | '[' | '<' => depth += 1,
            ')' if depth == 0 => {
                add(&text[start..at]);
                return (found, &text[at + 1..]);
            }
            // "=>" shows what a call filled in.
            '>' if text[..at].ends_with('=') => {}
            ')' | '}' | ']' | '>' => depth -= 1,
            ',' if depth == 0 => {
                add(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    add(&text[start..]);
    (found, "")
}

#[test]
fn lines_are_read() {
    let lines = parse(concat!(
        "7 openat(AT_FDCWD<\\x2f\\x61>, \"\\x62\", O_RDONLY|O_CLOEXEC <unfinished ...>\n",
        "8 exit_group(0) = ?\n",
        "7 <... openat resumed>) = 3<\\x2f\\x61\\x2f\\x62>\n",
        "7 access(0x8, F_OK) = -1 EFAULT (Bad address)\n",
    ));
    assert_eq!(lines.len(), 3);
    assert_eq!((lines[1].process, lines[1].call), (7, "openat"));
    assert_eq!(lines[1].string(1), Some(b"b".as_slice()));
    assert_eq!(lines[1].opened, Some((3, Some(b"/a/b".to_vec()))));
    assert!(lines[1].arguments[2].has_flag("O_CLOEXEC"));
    assert_eq!((lines[2].result, lines[2].string(0)), (Some(-1), None));
}
