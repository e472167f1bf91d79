//! Names as a user types them after `--only`.
//!
//! A pattern says which tests are meant in one of these ways, from the strictest to the widest; the
//! strictest that fits any of the tests at hand decides, so that `FooTest` does not mean `BigFooTest`
//! where there is a `FooTest`:
//!
//! 1. exactly: the full name, the class without its package, the file without its folders or its
//!    ending, a method; a glob over any of these, or over a folder or package around them;
//! 2. a place: the last names of a path (`api/test_a.py`), a folder or package with all below it
//!    (`tests/api`, `com.acme`);
//! 3. a part: the name contains the word, in any case where the word has small letters only.
//!
//! A pattern with `#` or `::` in it that names a method also means the class or file around it where
//! methods are not distinguished: it is what has to run for that method.

use crate::glob;
use globset::{Candidate, GlobMatcher};

/// The names of one test.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// What people call just this test: its full name, and shorter ones.
    pub exact: Vec<String>,
    /// Where it is: a path, a class with its package.
    pub whole: String,
}

/// The patterns of a call. Without any, every test is meant.
#[derive(Debug, Clone, Default)]
pub struct NameFilter {
    texts: Vec<String>,
    patterns: Vec<Pattern>,
}

#[derive(Debug, Clone)]
struct Pattern {
    text: String,
    /// Where it has signs of a glob.
    glob: Option<GlobMatcher>,
    /// How well it fits tests that are not at hand.
    known: Option<Fit>,
}

/// How well a pattern fits a name, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Exactly,
    Place,
    Part,
}

impl NameFilter {
    /// The error is a fragment that says what is wrong with which pattern.
    pub fn new(texts: Vec<String>) -> Result<Self, String> {
        let pattern = |text: &String| {
            let glob = glob::is_pattern(text).then(|| glob::across_folders(text)).transpose();
            let glob = glob.map_err(|error| format!("`{text}` {error}"))?;
            let glob = glob.map(|glob| glob.compile_matcher());
            Ok(Pattern { text: text.clone(), glob, known: None })
        };
        let patterns = texts.iter().map(pattern).collect::<Result<_, String>>()?;
        Ok(Self { texts, patterns })
    }

    pub fn patterns(&self) -> &[String] {
        &self.texts
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Takes tests into account that are known and not at hand: units of a build come one after the other.
    pub fn learn(&mut self, tests: &[Names]) {
        for pattern in &mut self.patterns {
            let best = tests.iter().filter_map(|names| pattern.fit(names)).min();
            pattern.known = pattern.known.into_iter().chain(best).min();
        }
    }

    /// Which of these tests are meant.
    pub fn meant(&self, tests: &[Names]) -> Vec<bool> {
        let mut meant = vec![self.is_empty(); tests.len()];
        for pattern in &self.patterns {
            let fits: Vec<Option<Fit>> = tests.iter().map(|names| pattern.fit(names)).collect();
            let best = fits.iter().flatten().copied().chain(pattern.known).min();
            for (meant, fit) in meant.iter_mut().zip(fits) {
                *meant |= fit.is_some() && fit == best;
            }
        }
        meant
    }
}

impl Pattern {
    /// How well this fits a test, if it does.
    fn fit(&self, names: &Names) -> Option<Fit> {
        if let Some(glob) = &self.glob {
            let matches = |text: &str| glob.is_match_candidate(&Candidate::new(text));
            let own = names.exact.iter().any(|name| matches(name));
            return (own || above(&names.whole).any(matches)).then_some(Fit::Exactly);
        }
        let wanted = self.text.trim_start_matches("./").trim_end_matches('/');
        let is = |wanted: &str| names.exact.iter().any(|name| name == wanted);
        match () {
            () if wanted.is_empty() => None,
            () if is(wanted) || around(wanted).is_some_and(is) => Some(Fit::Exactly),
            () if is_place(wanted, &names.whole) => Some(Fit::Place),
            () if contains(&names.whole, wanted) => Some(Fit::Part),
            () => None,
        }
    }
}

/// The folders or packages around a name, in whole and by their last part: `api*` means all below `api`.
fn above(name: &str) -> impl Iterator<Item = &str> {
    let ends = name.match_indices(['/', '.', ':', '#']).map(|(at, _)| at);
    ends.flat_map(|at| {
        let above = &name[..at];
        [above, above.rsplit(['/', '.', ':', '#']).next().unwrap_or_default()]
    })
}

/// The class or file around a method: `FooTest` of `FooTest#bar`, `test_a.py` of `test_a.py::test_b`.
fn around(wanted: &str) -> Option<&str> {
    wanted.rsplit_once("::").or_else(|| wanted.rsplit_once('#')).map(|(around, _)| around)
}

/// Whether the words are whole names in a path, a package or a node id: its end, its beginning, or between.
fn is_place(wanted: &str, name: &str) -> bool {
    let border = |c: Option<char>| c.is_none_or(|c| matches!(c, '/' | '.' | ':' | '#'));
    let wanted = wanted.trim_end_matches(['.', ':', '#']);
    name.match_indices(wanted).any(|(at, _)| {
        border(name[..at].chars().next_back()) && border(name[at + wanted.len()..].chars().next())
    })
}

fn contains(name: &str, wanted: &str) -> bool {
    match wanted.chars().any(char::is_uppercase) {
        true => name.contains(wanted),
        false => name.to_lowercase().contains(wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 9] = [
        "tests/api/test_users.py",
        "tests/api_smoke.sh",
        "tests/core/test_parse.py",
        "com.acme.FooTest",
        "com.acme.BigFooTest",
        "com.acme.api.UserTest",
        "com.acme.FooTest#bar",
        "example.com/m/api/v2",
        "deploy-api",
    ];

    /// As a front end gives them: a class by its simple name, a file without folders and ending.
    fn names(name: &str) -> Names {
        let class = name.starts_with("com.");
        let short = name.rsplit(if class { '.' } else { '/' }).next().unwrap_or_default();
        let stem = if class { short } else { short.split('.').next().unwrap_or_default() };
        let method = name.rsplit('#').next().unwrap_or_default();
        let exact = [name, short, stem, method].map(str::to_owned).to_vec();
        Names { exact, whole: name.to_owned() }
    }

    fn meant(pattern: &str) -> Vec<&'static str> {
        let filter = NameFilter::new(vec![pattern.to_owned()]).unwrap();
        let meant = filter.meant(&NAMES.map(names));
        NAMES.iter().zip(meant).filter_map(|(name, meant)| meant.then_some(*name)).collect()
    }

    #[test]
    fn what_people_type() {
        for (pattern, expected) in [
            ("tests/api/test_users.py", vec![0]),
            ("./tests/api/test_users.py", vec![0]),
            ("test_users.py", vec![0]),
            ("test_users", vec![0]),
            ("api/test_users.py", vec![0]),
            ("tests/api", vec![0]),
            ("tests/api/", vec![0]),
            ("FooTest", vec![3]),
            ("com.acme.FooTest", vec![3]),
            ("FooTest#bar", vec![3, 6]),
            ("bar", vec![6]),
            ("com.acme", vec![3, 4, 5, 6]),
            ("com.acme.api", vec![5]),
            ("Foo", vec![3, 4, 6]),
            ("foo", vec![3, 4, 6]),
            ("fOO", vec![]),
            ("parse", vec![2]),
            ("v2", vec![7]),
            ("test_users.py::test_login", vec![0]),
            ("nothing", vec![]),
            ("", vec![]),
        ] {
            let expected: Vec<&str> = expected.into_iter().map(|at: usize| NAMES[at]).collect();
            assert_eq!(meant(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn globs() {
        for (pattern, expected) in [
            ("*FooTest", vec![3, 4, 6]),
            ("api*", vec![0, 1, 5, 7]),
            ("tests/*", vec![0, 1, 2]),
            ("Foo*", vec![3, 6]),
            ("com.acme.*", vec![3, 4, 5, 6]),
            ("test_*.py", vec![0, 2]),
            ("tests/**/*.py", vec![0, 2]),
            ("tests/*/test_*", vec![0, 2]),
            ("*api*", vec![0, 1, 5, 7, 8]),
            ("{test_users,test_parse}*", vec![0, 2]),
            ("*#bar", vec![6]),
        ] {
            let expected: Vec<&str> = expected.into_iter().map(|at: usize| NAMES[at]).collect();
            assert_eq!(meant(pattern), expected, "{pattern}");
        }
        assert!(NameFilter::new(vec!["a[".into()]).unwrap_err().starts_with("`a[` is no valid"));
    }

    #[test]
    fn several_patterns_are_alternatives_and_none_means_all() {
        let tests = ["a", "b", "c"].map(names);
        let filter = NameFilter::new(vec!["a".into(), "c".into()]).unwrap();
        assert_eq!(filter.meant(&tests), [true, false, true]);
        assert_eq!(NameFilter::default().meant(&tests), [true; 3]);
    }

    #[test]
    fn a_known_test_of_just_that_name_keeps_others_out() {
        let big = [names("com.acme.BigFooTest")];
        let mut filter = NameFilter::new(vec!["FooTest".into()]).unwrap();
        assert_eq!(filter.meant(&big), [true], "nothing fits better");
        filter.learn(&[names("com.acme.FooTest")]);
        assert_eq!(filter.meant(&big), [false]);
        assert_eq!(filter.meant(&[names("com.acme.FooTest")]), [true]);
    }
}
