//! What is wrong with a settings file, shown the way a compiler shows it.
//!
//! All problems of a file are collected before anything is reported. Line and column count from
//! one, the column in characters.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub line: usize,
    pub column: usize,
    pub message: String,
    /// The line as it stands in the file.
    text: String,
    /// How many characters the caret underlines, at least one.
    width: usize,
}

impl Problem {
    fn new(source: &str, span: Range<usize>, message: String) -> Self {
        let start = floor_boundary(source, span.start);
        let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |at| start + at);
        let end = floor_boundary(source, span.end).clamp(start, line_end.max(start));
        Self {
            line: source[..line_start].matches('\n').count() + 1,
            column: source[line_start..start].chars().count() + 1,
            message,
            text: source[line_start..line_end].trim_end_matches('\r').to_owned(),
            width: source[start..end].trim_end().chars().count().max(1),
        }
    }
}

fn floor_boundary(source: &str, at: usize) -> usize {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Everything that is wrong with one settings file; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    pub file: PathBuf,
    pub list: Vec<Problem>,
}

impl Problems {
    pub(crate) fn new(file: &Path, source: &str, found: Vec<(Range<usize>, String)>) -> Self {
        let mut list: Vec<Problem> =
            found.into_iter().map(|(span, text)| Problem::new(source, span, text)).collect();
        list.sort_by_key(|problem| (problem.line, problem.column));
        Self { file: file.to_path_buf(), list }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gutter = self.list.iter().map(|p| p.line).max().unwrap_or(1).to_string().len();
        for (n, problem) in self.list.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            let Problem { line, column, message, text, width } = problem;
            writeln!(f, "{}:{line}:{column}: {message}", self.file.display())?;
            let shown: String =
                text.chars().map(|c| if c.is_control() && c != '\t' { '?' } else { c }).collect();
            writeln!(f, "  {line:>gutter$} | {shown}")?;
            // A tab stays a tab, so that the caret stands below its column on any terminal.
            let indent: String =
                text.chars().take(column - 1).map(|c| if c == '\t' { c } else { ' ' }).collect();
            write!(f, "  {:>gutter$} | {indent}{}", "", "^".repeat(*width))?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Why there are no settings.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("cannot read {}: {source}", file.display())]
    Unreadable { file: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Problems(#[from] Problems),
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shows_line_and_caret() {
        let source = "a = 1\n\tjbos = 2\n";
        let problems = Problems::new(
            Path::new("tamis.toml"),
            source,
            vec![(7..11, "unknown key `jbos`".into()), (0..1, "first".into())],
        );
        let expected = "\
tamis.toml:1:1: first
  1 | a = 1
    | ^
tamis.toml:2:2: unknown key `jbos`
  2 | \tjbos = 2
    | \t^^^^";
        assert_eq!(problems.to_string(), expected);
    }

    #[test]
    fn columns_count_characters() {
        let source = "é = \"ü\" # x\r\n";
        let problem = Problem::new(source, 5..9, "m".into());
        assert_eq!((problem.line, problem.column, problem.width), (1, 5, 3));
        assert_eq!(problem.text, "é = \"ü\" # x");
    }

    proptest! {
        #[test]
        fn any_span_of_any_text_can_be_shown(
            source in "[a-zé\n\r\t]{0,40}", start in 0usize..60, length in 0usize..60,
        ) {
            let found = vec![(start..start + length, "m".to_owned())];
            let text = Problems::new(Path::new("f"), &source, found).to_string();
            prop_assert!(text.starts_with("f:"));
        }
    }
}
