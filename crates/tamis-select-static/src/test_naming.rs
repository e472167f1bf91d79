//! What the build says about the names of test classes.
//!
//! Surefire and Failsafe run a class when one of their includes matches it and none of their
//! excludes does. Which configuration is in effect is only known to Maven (profiles, executions,
//! inheritance), so all that poms say are kept and the answer leans to one side:
//!
//! * a class that *any* include matches may be a test;
//! * a class is left out only when *every* list of excludes that could be in effect matches it, one
//!   of these lists applies to all runs, and Failsafe cannot run it either.
//!
//! Patterns: globs of paths (`**/*Test.java`), class names (`com.acme.OneTest`), `%ant[...]`,
//! `%regex[...]` over `com/acme/OneTest.class`, commas between several, `!` in front of one that is
//! not to run, `#method` behind one. A pattern that is not understood includes everything and excludes
//! nothing.

use globset::{GlobBuilder, GlobMatcher};
use regex::bytes::{Regex, RegexBuilder};

/// All that a build says about names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Naming {
    /// Patterns of Surefire and Failsafe; classes of these names may be tests whatever they contain.
    pub includes: Vec<String>,
    /// Each list of Surefire's excludes.
    pub excludes: Vec<Exclusion>,
    /// For each list of Surefire's includes the patterns with `!`.
    pub negated: Vec<Exclusion>,
    /// What Failsafe runs; None where the build does not mention it.
    pub failsafe: Option<Vec<String>>,
}

/// One list of patterns of classes that do not run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exclusion {
    pub patterns: Vec<String>,
    /// Whether it applies to all runs, unless another list takes its place: it stands in the
    /// configuration of the plugin itself, outside of profiles.
    pub for_all: bool,
}

/// What Failsafe runs when nothing is configured.
const FAILSAFE: [&str; 3] = ["**/IT*.java", "**/*IT.java", "**/*ITCase.java"];

/// Splits a list at its commas; those inside of `%regex[...]` do not count.
pub fn split(list: &str) -> Vec<String> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_u32, 0);
    for (at, c) in list.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts.iter().map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()).collect()
}

/// The rules in a form that answers fast.
#[derive(Debug)]
pub(crate) struct Rules {
    includes: Vec<Pattern>,
    excluded: Vec<Vec<Vec<Pattern>>>,
    failsafe: Vec<Pattern>,
}

#[derive(Debug)]
enum Pattern {
    Glob(GlobMatcher),
    Regex(Regex),
    NotUnderstood,
}

impl Rules {
    pub(crate) fn new(naming: &Naming) -> Self {
        let all = |patterns: &[String]| patterns.iter().map(|p| Pattern::new(p, true)).collect();
        // An own list of excludes takes the place of another one, so each must agree; and without
        // one that applies to all runs there is a run without excludes.
        let certain = |lists: &[Exclusion]| -> Vec<Vec<Pattern>> {
            match lists.iter().any(|l| l.for_all) {
                true => lists
                    .iter()
                    .map(|l| l.patterns.iter().map(|p| Pattern::new(p, false)).collect())
                    .collect(),
                false => Vec::new(),
            }
        };
        let usual = || FAILSAFE.iter().map(|p| Pattern::new(p, true)).collect();
        let failsafe = match &naming.failsafe {
            None => Vec::new(),
            Some(configured) => {
                let mut patterns: Vec<Pattern> = usual();
                patterns.extend(configured.iter().map(|p| Pattern::new(p, true)));
                patterns
            }
        };
        Self {
            includes: all(&naming.includes),
            excluded: vec![certain(&naming.excludes), certain(&naming.negated)],
            failsafe,
        }
    }

    /// Whether the name alone says that a class may be a test. `name` is `com/acme/OneTest`.
    pub(crate) fn includes(&self, name: &[u8]) -> bool {
        self.includes.iter().any(|p| p.matches(name, true))
    }

    /// Whether the build certainly never runs a class of this name.
    pub(crate) fn excludes(&self, name: &[u8]) -> bool {
        self.excluded.iter().any(|lists| {
            !lists.is_empty()
                && lists.iter().all(|list| list.iter().any(|p| p.matches(name, false)))
        }) && !self.failsafe.iter().any(|p| p.matches(name, true))
    }
}

impl Pattern {
    /// `methods_too` says whether a pattern with `#method` stands for its class: as an include it
    /// does, as an exclude it leaves the class's other methods to run.
    fn new(text: &str, methods_too: bool) -> Self {
        let inside = |kind: &str| text.strip_prefix(kind).and_then(|t| t.strip_suffix(']'));
        if text.contains("${") || text.starts_with('!') {
            return Self::NotUnderstood;
        }
        if let Some(regex) = inside("%regex[") {
            let whole = format!(r"\A(?:{regex})\z");
            // Java's classes of characters are ASCII unless a flag says otherwise.
            let built = RegexBuilder::new(&whole).unicode(false).build();
            return match built {
                Ok(regex) if !text.contains('#') => Self::Regex(regex),
                _ => Self::NotUnderstood,
            };
        }
        let pattern = inside("%ant[").unwrap_or(text);
        let (class, method) =
            pattern.split_once('#').map_or((pattern, None), |(c, m)| (c, Some(m)));
        // `{` means something to globs and nothing to Surefire.
        if class.contains(['%', '!', '[', ']', '{', '}', '\\'])
            || (method.is_some() && !methods_too)
        {
            return Self::NotUnderstood;
        }
        let stem = class.trim_end_matches(".java").trim_end_matches(".class");
        let stem = stem.trim_end_matches(".*").replace('.', "/");
        let stem = if stem.contains('/') { stem } else { format!("**/{stem}") };
        // A folder stands for all that is in it.
        let stem = if stem.ends_with('/') { stem + "**" } else { stem };
        match GlobBuilder::new(&stem).literal_separator(true).build() {
            Ok(glob) => Self::Glob(glob.compile_matcher()),
            Err(_) => Self::NotUnderstood,
        }
    }

    /// `otherwise` is the answer of a pattern that is not understood.
    fn matches(&self, name: &[u8], otherwise: bool) -> bool {
        match self {
            Self::NotUnderstood => otherwise,
            Self::Glob(glob) => glob.is_match(&*tamis_classfile::mutf8::decode(name)),
            // One of our bytes is not one of Java's characters there.
            Self::Regex(_) if !name.is_ascii() => otherwise,
            Self::Regex(regex) => regex.is_match(&[name, b".class"].concat()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|p| (*p).to_owned()).collect()
    }

    fn for_all(patterns: &[&str]) -> Exclusion {
        Exclusion { patterns: list(patterns), for_all: true }
    }

    fn includes(patterns: &[&str], name: &str) -> bool {
        let naming = Naming { includes: list(patterns), ..Naming::default() };
        Rules::new(&naming).includes(name.as_bytes())
    }

    fn excludes(excludes: &[Exclusion], failsafe: Option<&[&str]>, name: &str) -> bool {
        let failsafe = failsafe.map(list);
        let naming = Naming { excludes: excludes.to_vec(), failsafe, ..Naming::default() };
        Rules::new(&naming).excludes(name.as_bytes())
    }

    #[test]
    fn globs_and_names() {
        assert!(includes(&["**/*Check.java"], "a/b/DeepCheck"));
        assert!(includes(&["**/*Check.java"], "TopCheck"));
        assert!(!includes(&["**/*Check.java"], "a/Checker"));
        assert!(includes(&["*Check"], "a/b/DeepCheck"));
        assert!(includes(&["a.b.One"], "a/b/One"));
        assert!(includes(&["%ant[**/One.class]"], "a/b/One"));
        assert!(includes(&["One#first*+second"], "a/b/One"));
        assert!(!includes(&["a/*"], "a/b/One"));
        assert!(!includes(&[], "a/B"));
    }

    #[test]
    fn regular_expressions_see_the_path_of_the_class_file() {
        assert!(includes(&[r"%regex[.*(Odd|Even).*\.class]"], "a/MyOdd"));
        assert!(!includes(&[r"%regex[.*(Odd|Even)]"], "a/MyOdd"), "the whole path counts");
        assert!(!includes(&[r"%regex[a/[^/]+]"], "a/b/C"));
        assert!(includes(&[r"%regex[a(?!b).*]"], "x/Y"), "look-ahead is not understood");
    }

    #[test]
    fn what_is_not_understood_includes_everything_and_excludes_nothing() {
        for odd in ["${pattern}", "%what[x]", "!a/B", "a{b", "%regex[(]", "[a]"] {
            assert!(includes(&[odd], "any/Thing"), "{odd}");
            assert!(!excludes(&[for_all(&[odd])], None, "any/Thing"), "{odd}");
        }
        assert!(!excludes(&[for_all(&["One#first"])], None, "a/One"), "other methods run");
        assert!(!excludes(&[for_all(&["%regex[.*]"])], None, "a/É"));
    }

    #[test]
    fn every_list_must_agree_and_one_must_be_for_all_runs() {
        assert!(excludes(&[for_all(&["**/Slow*"])], None, "a/SlowTest"));
        assert!(!excludes(&[for_all(&["**/Slow*"])], None, "a/FastTest"));
        let own = |patterns| Exclusion { patterns: list(patterns), for_all: false };
        assert!(!excludes(&[own(&["**/Slow*"])], None, "a/SlowTest"), "another run has none");
        assert!(!excludes(&[for_all(&["**/Slow*"]), own(&[])], None, "a/SlowTest"));
        assert!(excludes(&[for_all(&["**/Slow*"]), own(&["**/*Test"])], None, "a/SlowTest"));
        assert!(!excludes(&[], None, "a/SlowTest"));
    }

    #[test]
    fn failsafe_may_run_what_surefire_does_not() {
        assert!(!excludes(&[for_all(&["**/*IT.java"])], Some(&[]), "a/OneIT"));
        assert!(excludes(&[for_all(&["**/*IT.java"])], None, "a/OneIT"));
        assert!(!excludes(&[for_all(&["**/Slow*"])], Some(&["**/Slow*"]), "a/SlowTest"));
        assert!(excludes(&[for_all(&["**/Slow*"])], Some(&["**/Other*"]), "a/SlowTest"));
    }

    #[test]
    fn negated_includes() {
        let naming = |second: &[&str]| Naming {
            negated: vec![
                for_all(&["Slow*"]),
                Exclusion { patterns: list(second), for_all: false },
            ],
            ..Naming::default()
        };
        assert!(Rules::new(&naming(&["*Test"])).excludes(b"a/SlowTest"));
        assert!(!Rules::new(&naming(&[])).excludes(b"a/SlowTest"));
    }

    #[test]
    fn lists_with_commas() {
        assert_eq!(split(" a, **/b ,,%regex[x{1,2},y] "), ["a", "**/b", "%regex[x{1,2},y]"]);
        assert!(split(" ").is_empty());
    }
}
