//! What go printed about a package that it could not build, out of all that `go test` printed.
//!
//! The compiler's messages stand below a line `# PACKAGE` (`# PACKAGE [PACKAGE.test]` for its tests), on standard
//! error; which package could not be tested because of that says a line `FAIL PACKAGE [build failed]`. The two need not
//! be the same one: a package that does not compile fails all that import it. With `-json` the same text is in the
//! `Output` of each line.

use serde::Deserialize;
use std::borrow::Cow;

/// A line of `go test -json`.
#[derive(Deserialize)]
struct JsonLine {
    #[serde(rename = "Output", default)]
    output: String,
}

/// What was printed about this package, where it was not built.
pub(crate) fn about(package: &str, printed: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(printed);
    let lines: Vec<Cow<'_, str>> = text.lines().map(plain).collect();
    let failed = lines.iter().find(|line| {
        let rest = line.strip_prefix("FAIL\t").and_then(|rest| rest.strip_prefix(package));
        rest.is_some_and(|rest| rest == " [build failed]" || rest == " [setup failed]")
    })?;
    let sections = sections(&lines);
    let own: Vec<&str> =
        sections.iter().filter(|s| is_of(package, s[0])).flatten().copied().collect();
    let mut shown = match own.is_empty() {
        // What it imports does not compile; which of these that is does not stand there.
        true => sections.into_iter().flatten().collect(),
        false => own,
    };
    shown.push(failed);
    Some((shown.join("\n") + "\n").into_bytes())
}

fn plain(line: &str) -> Cow<'_, str> {
    let json = || serde_json::from_str::<JsonLine>(line).ok();
    match line.starts_with('{').then(json).flatten() {
        Some(json) => json.output.trim_end_matches('\n').to_owned().into(),
        None => line.into(),
    }
}

/// The lines below each `# PACKAGE`, with it.
fn sections<'l>(lines: &'l [Cow<'_, str>]) -> Vec<Vec<&'l str>> {
    let mut sections: Vec<Vec<&str>> = Vec::new();
    let mut open = false;
    for line in lines.iter().map(AsRef::as_ref) {
        let begins = line.starts_with("# ");
        // Results are standard output's, and may stand in between.
        let is_result =
            ["FAIL", "ok  \t", "?   \t", "---", "==="].iter().any(|r| line.starts_with(r));
        open = begins || open && !is_result;
        match sections.last_mut() {
            _ if begins => sections.push(vec![line]),
            Some(section) if open && !line.is_empty() => section.push(line),
            _ => {}
        }
    }
    sections
}

/// `# a/b`, `# a/b [a/b.test]`, `# a/b_test [a/b.test]` for tests in a package of their own, and `# [a/b]` from vet.
fn is_of(package: &str, heading: &str) -> bool {
    let name = heading.trim_start_matches("# ").split(' ').next().unwrap_or_default();
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == package || name.strip_suffix("_test") == Some(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
ok  \tx.org/m/good\t0.1s
FAIL\tx.org/m/a [build failed]
FAIL\tx.org/m/user [build failed]
--- FAIL: TestB (0.00s)
    b_test.go:3: no
FAIL\tx.org/m/b\t0.1s
FAIL\tx.org/m/c [setup failed]
FAIL
# x.org/m/a [x.org/m/a.test]
a/a_test.go:3:9: undefined: y
# x.org/m/c
c/c.go:3:8: package nope is not in std
";

    fn shown(package: &str, printed: &str) -> Option<String> {
        about(package, printed.as_bytes()).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn each_package_has_its_own_messages() {
        let own = "# x.org/m/a [x.org/m/a.test]\na/a_test.go:3:9: undefined: y\nFAIL\tx.org/m/a [build failed]\n";
        assert_eq!(shown("x.org/m/a", PRINTED).as_deref(), Some(own));
        let setup = shown("x.org/m/c", PRINTED).unwrap();
        assert!(setup.contains("package nope") && !setup.contains("undefined"), "{setup}");
    }

    #[test]
    fn a_package_that_imports_a_broken_one_shows_that() {
        let text = shown("x.org/m/user", PRINTED).unwrap();
        assert!(text.contains("undefined: y") && text.ends_with("user [build failed]\n"), "{text}");
    }

    #[test]
    fn nothing_of_packages_that_were_built_or_not_reached() {
        for package in ["x.org/m/b", "x.org/m/good", "x.org/m", "x.org/m/later"] {
            assert_eq!(shown(package, PRINTED), None, "{package}");
        }
    }

    #[test]
    fn a_test_package_of_its_own_is_the_packages() {
        let text =
            "# p_test [p.test]\n./x_test.go:3:9: undefined: z\nFAIL\tp [build failed]\nFAIL\n";
        assert!(shown("p", text).unwrap().contains("undefined: z"));
    }

    #[test]
    fn what_vet_says_stands_below_a_heading_of_its_own() {
        let text = "FAIL\tp/a [build failed]\nFAIL\n# p/a\n# [p/a]\na/a_test.go:3:37: Errorf format %d reads arg #1\n";
        assert!(shown("p/a", text).unwrap().contains("reads arg #1"));
    }

    #[test]
    fn lines_of_json() {
        let text = r##"{"ImportPath":"p [p.test]","Action":"build-output","Output":"# p [p.test]\n"}
{"ImportPath":"p [p.test]","Action":"build-output","Output":"./x.go:3:9: undefined: z\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p"}
"##;
        let expected = "# p [p.test]\n./x.go:3:9: undefined: z\nFAIL\tp [build failed]\n";
        assert_eq!(shown("p", text).as_deref(), Some(expected));
    }
}
