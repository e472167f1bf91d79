//! Names that somebody may have meant.

/// The most names that a hint lists.
const MOST: usize = 5;

/// Which of the names somebody may have meant: those that contain the word in any case, else those that
/// are a few letters away, in whole or in their last part. The nearest first, at most five.
pub fn nearest<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let wanted = wanted.to_lowercase();
    let mut found: Vec<(usize, &str)> =
        names.into_iter().filter_map(|name| Some((distance(&wanted, name)?, name))).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|(_, name)| name).take(MOST).collect()
}

/// How far a name is from a word in small letters; `None` where it is another one altogether.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    if !wanted.is_empty() && name.contains(wanted) {
        return Some(0);
    }
    let last = name.rsplit(['/', '.', ':', '#']).next().unwrap_or_default();
    let near = |name: &str| strsim::damerau_levenshtein(wanted, name);
    let stem = name.rsplit('/').next().and_then(|file| file.split('.').next());
    let nearest = [Some(name.as_str()), Some(last), stem].into_iter().flatten().map(near).min()?;
    let allowed = (wanted.chars().count() / 3).clamp(1, 3);
    (nearest <= allowed).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_letters_away() {
        let verbs = ["status", "select", "static", "why", "why-not", "history"];
        assert_eq!(nearest("statsu", verbs), ["status", "static"]);
        assert_eq!(nearest("whynot", verbs), ["why-not"]);
        assert_eq!(nearest("hsitory", verbs), ["history"]);
        assert!(nearest("make", verbs).is_empty());
        assert!(nearest("./check.sh", verbs).is_empty());
    }

    #[test]
    fn names_that_contain_the_word_come_first() {
        let names = ["a.b.ApiTest", "tests/api_users.py", "x.Apy"];
        assert_eq!(nearest("api", names), ["a.b.ApiTest", "tests/api_users.py", "x.Apy"]);
        assert_eq!(
            nearest("FoTest", ["com.acme.FooTest", "com.acme.BarTest"]),
            ["com.acme.FooTest"]
        );
        assert_eq!(nearest("tets_a", ["deep/test_a.py"]), ["deep/test_a.py"]);
    }
}
