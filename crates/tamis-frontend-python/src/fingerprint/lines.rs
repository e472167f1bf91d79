//! Where the statements of a source file stand, so that lines of one state of a file are found again in another.
//!
//! A line belongs to the last statement, or clause of one (`else`, `except`, `case`), that begins on it or above. A
//! statement is named by the function or module whose fingerprint it is in, and by its number there: where that
//! fingerprint is the same, so are the statements. What goes on over several lines is the same only with the same text.

use ruff_python_ast::{ExceptHandler, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use tamis_core::Hash;

/// A statement, or several that begin on one line.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Statement {
    /// A function, or nothing for the module.
    pub(crate) owner: String,
    number: u32,
    layout: Layout,
}

/// What has to be the same besides.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Layout {
    /// Statements that begin on the same line.
    together: u32,
    /// The text, where it has several lines.
    text: Option<Hash>,
}

/// Where a line is: lines below the beginning of a statement, or below the beginning of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) statement: Option<Statement>,
    pub(crate) below: u32,
}

/// The statements of a file; none where it cannot be parsed, or its lines end in an unusual way.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) are_known: bool,
    /// In the order of their lines.
    statements: Vec<(u32, Statement)>,
    places: HashMap<(String, u32), usize>,
}

impl Lines {
    pub(crate) fn of(source: &[u8]) -> Self {
        let Ok(text) = std::str::from_utf8(source) else { return Self::default() };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Ok(parsed) = ruff_python_parser::parse_module(text) else { return Self::default() };
        if text.replace("\r\n", "").contains(['\r', '\x0c']) {
            return Self::default();
        }
        let mut found = Found { starts: starts_of(text), marks: Vec::new(), next: HashMap::new() };
        found.add(&parsed.syntax().body, "", "");
        found.marks.sort_by_key(|mark| mark.0);
        let rows: Vec<&str> = text.lines().collect();
        let mut lines = Self { are_known: true, ..Self::default() };
        let mut at = 0;
        while let Some((line, owner, number)) = found.marks.get(at) {
            let together = found.marks[at..].iter().take_while(|mark| mark.0 == *line).count();
            let end = found.marks.get(at + together).map_or(rows.len() as u32 + 1, |next| next.0);
            let layout = Layout { together: together as u32, text: text_of(&rows, *line, end) };
            lines.places.insert((owner.clone(), *number), lines.statements.len());
            let statement = Statement { owner: owner.clone(), number: *number, layout };
            lines.statements.push((*line, statement));
            at += together;
        }
        lines
    }

    pub(crate) fn position(&self, line: u32) -> Position {
        let above = self.statements.partition_point(|(begins, _)| *begins <= line);
        match above.checked_sub(1).map(|at| &self.statements[at]) {
            Some((begins, statement)) => {
                Position { statement: Some(statement.clone()), below: line - begins }
            }
            None => Position { statement: None, below: line },
        }
    }

    /// The line that has this position here; none where the statement is not as it was.
    pub(crate) fn line(&self, position: &Position) -> Option<u32> {
        let Some(statement) = &position.statement else {
            let is_above =
                self.statements.first().is_none_or(|(begins, _)| position.below < *begins);
            // Code of a module begins in line 1, wherever its first statement is.
            return (is_above || position.below <= 1).then_some(position.below);
        };
        let at = self.places.get(&(statement.owner.clone(), statement.number))?;
        let (begins, now) = &self.statements[*at];
        (now == statement).then_some(begins + position.below)
    }
}

/// The text of a statement that goes on over several lines, without what stands between it and the next one.
fn text_of(rows: &[&str], begins: u32, end: u32) -> Option<Hash> {
    let rows = rows.get(begins as usize - 1..end as usize - 1).unwrap_or_default();
    let counts = |row: &&str| !row.trim().is_empty() && !row.trim_start().starts_with('#');
    let last = rows.iter().rposition(counts)?;
    (last > 0).then(|| Hash::of_parts(rows[..=last].iter().map(|row| row.trim().as_bytes())))
}

fn starts_of(text: &str) -> Vec<u32> {
    let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    std::iter::once(0).chain(ends.map(|(at, _)| at as u32 + 1)).collect()
}

struct Found {
    starts: Vec<u32>,
    /// Line, function, and the number in it.
    marks: Vec<(u32, String, u32)>,
    next: HashMap<String, u32>,
}

impl Found {
    fn mark(&mut self, at: TextSize, owner: &str) {
        let line = self.starts.partition_point(|start| *start <= at.to_u32()) as u32;
        let next = self.next.entry(owner.to_owned()).or_default();
        self.marks.push((line, owner.to_owned(), *next));
        *next += 1;
    }

    /// Statements of a function (`owner`), or of the module below these classes (`around`).
    fn add(&mut self, statements: &[Stmt], owner: &str, around: &str) {
        for statement in statements {
            self.mark(statement.start(), owner);
            self.add_inside(statement, owner, around);
        }
    }

    fn clause(&mut self, range: TextRange, body: &[Stmt], owner: &str, around: &str) {
        self.mark(range.start(), owner);
        self.add(body, owner, around);
    }

    fn add_inside(&mut self, statement: &Stmt, owner: &str, around: &str) {
        let named = |name: &str| match around {
            "" => name.to_owned(),
            _ => format!("{around}.{name}"),
        };
        match statement {
            Stmt::FunctionDef(function) if owner.is_empty() => {
                let name = named(&function.name);
                self.add(&function.body, &name, &name);
            }
            Stmt::FunctionDef(function) => self.add(&function.body, owner, around),
            Stmt::ClassDef(class) => self.add(&class.body, owner, &named(&class.name)),
            Stmt::If(branch) => {
                self.add(&branch.body, owner, around);
                for clause in &branch.elif_else_clauses {
                    self.clause(clause.range(), &clause.body, owner, around);
                }
            }
            Stmt::For(repeat) => {
                self.add(&repeat.body, owner, around);
                self.add(&repeat.orelse, owner, around);
            }
            Stmt::While(repeat) => {
                self.add(&repeat.body, owner, around);
                self.add(&repeat.orelse, owner, around);
            }
            Stmt::With(with) => self.add(&with.body, owner, around),
            Stmt::Match(choice) => {
                for case in &choice.cases {
                    self.clause(case.range(), &case.body, owner, around);
                }
            }
            Stmt::Try(attempt) => {
                self.add(&attempt.body, owner, around);
                for handler in &attempt.handlers {
                    let ExceptHandler::ExceptHandler(handler) = handler;
                    self.clause(handler.range(), &handler.body, owner, around);
                }
                self.add(&attempt.orelse, owner, around);
                self.add(&attempt.finalbody, owner, around);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "import os\n\n@deco\ndef f(a):\n    if a: return 1\n    try:\n        x = (1,\n             2)\n    except E:\n        pass\n    return x\n\nclass C:\n    y = 2\n    def m(self):\n        return 3\n";

    /// Where each line of the source is after an edit.
    fn moved(from: &str, to: &str) -> Vec<Option<u32>> {
        assert!(SOURCE.contains(from), "{from}");
        let before = Lines::of(SOURCE.as_bytes());
        let after = Lines::of(SOURCE.replacen(from, to, 1).as_bytes());
        (1..=SOURCE.lines().count() as u32).map(|l| after.line(&before.position(l))).collect()
    }

    fn below(from: u32, by: u32) -> Vec<Option<u32>> {
        (1..=16).map(|line| Some(if line < from { line } else { line + by })).collect()
    }

    #[test]
    fn lines_move_with_their_statements() {
        assert_eq!(moved("import os", "import os"), below(1, 0));
        assert_eq!(moved("import os", "# a\n\nimport os"), below(1, 2));
        assert_eq!(moved("    try:", "    # a\n    try:"), below(6, 1));
        assert_eq!(moved("    def m", "\n\n    def m"), below(15, 2));
        // A body that is another one moves the module's lines below it.
        assert_eq!(moved("    return x", "    z = 1\n    return x")[12..], below(13, 1)[12..]);
    }

    #[test]
    fn a_statement_with_another_layout_is_not_found() {
        let of_tuple = moved("(1,\n             2)", "(\n1, 2)");
        assert_eq!((of_tuple[6], of_tuple[7], of_tuple[8]), (None, None, Some(9)));
        let of_branch = moved("if a: return 1", "if a:\n        return 1");
        assert_eq!((of_branch[4], of_branch[5]), (None, Some(7)));
        let inside = moved("(1,\n", "(1,  # a\n");
        assert_eq!((inside[6], inside[8]), (None, Some(9)));
    }

    #[test]
    fn the_code_of_a_module_begins_in_line_one() {
        let (before, after) = (Lines::of(b"# a\nx = 1\n"), Lines::of(b"x = 1\n"));
        assert_eq!(after.line(&before.position(1)), Some(1));
        assert_eq!(after.line(&before.position(2)), Some(1));
        assert!(Lines::of(b"def (:").statements.is_empty());
    }
}
