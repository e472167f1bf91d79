//! The two files of STARTS: type to tests (`deps.zlc`) and test to types (`<test>.clz`).
//!
//! Formats, as STARTS writes them:
//!
//! * ZLC: a first line `PLAIN_TEXT` or `INDEXED`; for the latter the number of tests and one test a
//!   line; then `URL checksum test,test,...` a line, tests by name or by index.
//! * CLZ: one file per test, first line `# 1`, then `URL _ checksum` a line.
//!
//! The checksums are STARTS's own (a CRC of the class without debug information); ours are other
//! values. A STARTS that reads our file therefore selects everything once, and a file of STARTS
//! proves nothing to us: what is compared is which types each test reaches.

use crate::definitions::Origin;
use crate::select::Session;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// First line of a CLZ file.
const CLZ_MARKER: &str = "# 1";
const CLZ_SEPARATOR: &str = " _ ";

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line}: {what}")]
pub struct BadFile {
    pub line: usize,
    pub what: &'static str,
}

/// How tests are written in a ZLC file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZlcFormat {
    PlainText,
    Indexed,
}

/// A type with its place, checksum and the tests that reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeLine {
    pub url: String,
    pub checksum: String,
    pub tests: BTreeSet<String>,
}

/// All that such files say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dependencies {
    pub types: BTreeMap<String, TypeLine>,
    /// Tests that depend on any change, from the line for `file:*`.
    pub on_anything: BTreeSet<String>,
}

impl Dependencies {
    /// What this session knows, for all types of the project that a test reaches.
    pub fn of(session: &Session) -> Self {
        let graph = session.graph([]);
        let reached = graph.graph.reached_by(&session.tests);
        let tests = session.test_names();
        let mut types = BTreeMap::new();
        for node in session.definitions.nodes() {
            let Some(class) = session.definitions.class(node) else { continue };
            let Some(url) = session.definitions.url(node) else { continue };
            if class.origin == Origin::Library || !reached.is_reached(node) {
                continue;
            }
            types.insert(
                session.definitions.display(node),
                TypeLine {
                    url,
                    checksum: (class.facts.whole.0 as u32).to_string(),
                    tests: reached.roots(node).filter_map(|i| tests.get(i).cloned()).collect(),
                },
            );
        }
        Self { types, on_anything: BTreeSet::new() }
    }

    pub fn parse_zlc(text: &str) -> Result<Self, BadFile> {
        let mut lines = text.lines().enumerate().map(|(i, l)| (i + 1, l)).peekable();
        let mut all = Self::default();
        if let Some((_, rest)) = lines.next_if(|(_, l)| l.starts_with("file:* ")) {
            let tests = rest.split(' ').nth(2).unwrap_or_default();
            all.on_anything = tests.split(',').map(str::to_owned).collect();
        }
        let mut index = None;
        if lines.next_if(|(_, l)| *l == "PLAIN_TEXT").is_none()
            && lines.next_if(|(_, l)| *l == "INDEXED").is_some()
        {
            let (line, count) = lines.next().unwrap_or_default();
            let count: usize =
                count.parse().map_err(|_| BadFile { line, what: "no number of tests" })?;
            let names: Vec<&str> = lines.by_ref().take(count).map(|(_, l)| l).collect();
            if names.len() != count {
                return Err(BadFile { line, what: "fewer tests than the file says" });
            }
            index = Some(names);
        }
        for (line, text) in lines.filter(|(_, l)| !l.is_empty()) {
            let mut words = text.split(' ');
            let (Some(url), Some(checksum)) = (words.next(), words.next()) else {
                return Err(BadFile { line, what: "not a URL with a checksum" });
            };
            let list = words.next().unwrap_or_default();
            let mut tests = BTreeSet::new();
            for word in list.split(',').filter(|w| !w.is_empty()) {
                let name = match &index {
                    None => word,
                    Some(names) => word
                        .parse()
                        .ok()
                        .and_then(|i: usize| names.get(i).copied())
                        .ok_or(BadFile { line, what: "no test of this number" })?,
                };
                tests.insert(name.to_owned());
            }
            let Some(name) = type_of(url) else {
                return Err(BadFile { line, what: "not the URL of a class file" });
            };
            let (url, checksum) = (url.to_owned(), checksum.to_owned());
            all.types.insert(name, TypeLine { url, checksum, tests });
        }
        Ok(all)
    }

    pub fn to_zlc(&self, format: ZlcFormat) -> String {
        let mut out = String::new();
        let tests: BTreeSet<&str> =
            self.types.values().flat_map(|t| &t.tests).map(String::as_str).collect();
        let tests: Vec<&str> = tests.into_iter().collect();
        let indexed = format == ZlcFormat::Indexed;
        if indexed {
            let _ = writeln!(out, "INDEXED\n{}", tests.len());
            for test in &tests {
                let _ = writeln!(out, "{test}");
            }
        } else {
            out.push_str("PLAIN_TEXT\n");
        }
        for line in self.types.values() {
            let names: Vec<String> = line
                .tests
                .iter()
                .filter_map(|t| match indexed {
                    true => tests.binary_search(&t.as_str()).ok().map(|i| i.to_string()),
                    false => Some(t.clone()),
                })
                .collect();
            let _ = write!(out, "{} {}", line.url, line.checksum);
            let _ = if names.is_empty() {
                writeln!(out)
            } else {
                writeln!(out, " {}", names.join(","))
            };
        }
        out
    }

    /// Reads the `.clz` files of a folder.
    pub fn read_clz(folder: &Path) -> io::Result<Self> {
        let mut all = Self::default();
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let Some(test) = path.file_name().and_then(|n| n.to_str()?.strip_suffix(".clz")) else {
                continue;
            };
            for line in std::fs::read_to_string(&path)?.lines() {
                let Some((url, checksum)) = line.split_once(CLZ_SEPARATOR) else { continue };
                let Some(name) = type_of(url) else { continue };
                let new = || TypeLine {
                    url: url.to_owned(),
                    checksum: checksum.to_owned(),
                    tests: BTreeSet::new(),
                };
                all.types.entry(name).or_insert_with(new).tests.insert(test.to_owned());
            }
        }
        Ok(all)
    }

    /// Writes one `.clz` file per test.
    pub fn write_clz(&self, folder: &Path) -> io::Result<()> {
        let mut files: BTreeMap<&str, String> = BTreeMap::new();
        for line in self.types.values() {
            for test in &line.tests {
                let file = files.entry(test).or_insert_with(|| format!("{CLZ_MARKER}\n"));
                let _ = writeln!(file, "{}{CLZ_SEPARATOR}{}", line.url, line.checksum);
            }
        }
        std::fs::create_dir_all(folder)?;
        for (test, text) in files {
            std::fs::write(folder.join(format!("{test}.clz")), text)?;
        }
        Ok(())
    }

    /// Which types each side has more or fewer tests for.
    pub fn compare(&self, theirs: &Self) -> Vec<Difference> {
        let none = BTreeSet::new();
        let names: BTreeSet<&String> = self.types.keys().chain(theirs.types.keys()).collect();
        names
            .into_iter()
            .filter_map(|name| {
                let ours = self.types.get(name).map_or(&none, |t| &t.tests);
                let theirs = theirs.types.get(name).map_or(&none, |t| &t.tests);
                (ours != theirs).then(|| Difference {
                    name: name.clone(),
                    only_ours: ours.difference(theirs).cloned().collect(),
                    only_theirs: theirs.difference(ours).cloned().collect(),
                })
            })
            .collect()
    }
}

/// A type that the two sides give different tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub name: String,
    pub only_ours: Vec<String>,
    pub only_theirs: Vec<String>,
}

/// `a.B` for `file:/x/target/classes/a/B.class` and `jar:file:/x.jar!/a/B.class`.
fn type_of(url: &str) -> Option<String> {
    let path = url.strip_suffix(".class")?;
    let inside = match path.split_once("!/") {
        Some((_, inside)) => inside,
        None => path.rsplit_once("classes/").map_or_else(
            || path.trim_start_matches("file:").trim_start_matches('/'),
            |(_, inside)| inside,
        ),
    };
    Some(inside.replace('/', "."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Dependencies {
        let line = |url: &str, sum: &str, tests: &[&str]| TypeLine {
            url: url.into(),
            checksum: sum.into(),
            tests: tests.iter().map(|t| (*t).to_owned()).collect(),
        };
        Dependencies {
            types: BTreeMap::from([
                ("a.B".into(), line("file:/p/target/classes/a/B.class", "12", &["a.T", "a.U"])),
                ("a.T".into(), line("file:/p/target/test-classes/a/T.class", "7", &["a.T"])),
                ("a.X".into(), line("jar:file:/l/x.jar!/a/X.class", "1", &[])),
            ]),
            on_anything: BTreeSet::new(),
        }
    }

    #[test]
    fn both_forms_of_zlc_come_back() {
        for format in [ZlcFormat::PlainText, ZlcFormat::Indexed] {
            let text = sample().to_zlc(format);
            assert_eq!(Dependencies::parse_zlc(&text).unwrap(), sample(), "{text}");
        }
        assert!(sample().to_zlc(ZlcFormat::Indexed).starts_with("INDEXED\n2\na.T\na.U\n"));
    }

    #[test]
    fn clz_comes_back_for_types_with_tests() {
        let folder = tempfile::tempdir().unwrap();
        sample().write_clz(folder.path()).unwrap();
        let text = std::fs::read_to_string(folder.path().join("a.U.clz")).unwrap();
        assert_eq!(text, format!("{CLZ_MARKER}\nfile:/p/target/classes/a/B.class _ 12\n"));
        let mut expected = sample();
        expected.types.remove("a.X");
        assert_eq!(Dependencies::read_clz(folder.path()).unwrap(), expected);
    }

    #[test]
    fn an_old_file_without_a_first_line_and_the_line_for_anything() {
        let text = "file:* 0 a.S\nfile:/p/target/classes/a/B.class 12 a.T\n";
        let read = Dependencies::parse_zlc(text).unwrap();
        assert_eq!(read.on_anything, BTreeSet::from(["a.S".to_owned()]));
        assert_eq!(read.types["a.B"].tests, BTreeSet::from(["a.T".to_owned()]));
    }

    #[test]
    fn broken_files_name_the_line() {
        let error = |text| Dependencies::parse_zlc(text).unwrap_err().to_string();
        assert_eq!(error("INDEXED\nmany\n"), "line 2: no number of tests");
        assert_eq!(error("INDEXED\n3\na\n"), "line 2: fewer tests than the file says");
        assert_eq!(
            error("INDEXED\n1\na\nfile:/classes/A.class 1 4\n"),
            "line 4: no test of this number"
        );
        assert_eq!(error("PLAIN_TEXT\nnonsense\n"), "line 2: not a URL with a checksum");
    }

    #[test]
    fn differences_go_both_ways() {
        let mut theirs = sample();
        theirs.types.get_mut("a.B").unwrap().tests = BTreeSet::from(["a.V".into(), "a.T".into()]);
        let difference = sample().compare(&theirs);
        assert_eq!(
            difference,
            [Difference {
                name: "a.B".into(),
                only_ours: vec!["a.U".into()],
                only_theirs: vec!["a.V".into()],
            }]
        );
    }
}
