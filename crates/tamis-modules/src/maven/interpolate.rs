//! `${...}` in poms.
//!
//! The version of the project itself is left as it stands in the pom: two poms that differ in nothing
//! else come to the same. Where the version matters, [`Values::real`] puts it in.

use super::element::Element;
use std::collections::BTreeMap;

/// What the expressions of one pom stand for.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    /// The model, inherited and not interpolated.
    pub(crate) model: &'a Element,
    /// Given by the user (`-D`).
    pub(crate) user: &'a BTreeMap<String, String>,
    /// The version stays an expression.
    pub(crate) keep_version: bool,
}

/// Expressions for the version of the project itself, and of its parent.
pub(crate) const OWN_VERSION: &str = "${project.version}";
const PARENT_VERSION: &str = "${project.parent.version}";

/// An expression that leads to itself stays as it is.
const MOST_DEPTH: usize = 16;

impl Values<'_> {
    /// A text with all expressions replaced that are known.
    pub(crate) fn text(&self, text: &str) -> String {
        self.replace(text, self.keep_version, 0)
    }

    /// The same with versions put in.
    pub(crate) fn real(&self, text: &str) -> String {
        self.replace(text, false, 0)
    }

    fn replace(&self, text: &str, keep: bool, depth: usize) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let Some(length) = rest[start..].find('}') else { break };
            out.push_str(&rest[..start]);
            let name = &rest[start + 2..start + length];
            let value = if depth < MOST_DEPTH { self.value(name, keep) } else { None };
            match value {
                Some(Replacement::Text(value)) => {
                    out.push_str(&self.replace(&value, keep, depth + 1))
                }
                Some(Replacement::Literal(value)) => out.push_str(value),
                None => out.push_str(&rest[start..=start + length]),
            }
            rest = &rest[start + length + 1..];
        }
        out.push_str(rest);
        out
    }

    fn value(&self, name: &str, keep: bool) -> Option<Replacement> {
        let plain = name.strip_prefix("project.").or_else(|| name.strip_prefix("pom."));
        if keep {
            match plain.unwrap_or(name) {
                "version" if plain.is_some() || self.property(name).is_none() => {
                    return Some(Replacement::Literal(OWN_VERSION));
                }
                "parent.version" => return Some(Replacement::Literal(PARENT_VERSION)),
                _ => {}
            }
        }
        // The same folder before and now; where it is on this machine says nothing.
        if matches!(name, "basedir" | "project.basedir" | "pom.basedir") {
            return Some(Replacement::Literal("${project.basedir}"));
        }
        if let Some(value) = self.user.get(name) {
            return Some(Replacement::Text(value.clone()));
        }
        if let Some(value) = self.property(name) {
            return Some(Replacement::Text(value.to_owned()));
        }
        let path =
            plain.or_else(|| ["version", "groupId", "artifactId"].contains(&name).then_some(name));
        path.and_then(|path| self.of_model(path)).map(Replacement::Text)
    }

    fn property(&self, name: &str) -> Option<&str> {
        self.model.child("properties")?.child(name).map(|p| p.text.as_str())
    }

    fn of_model(&self, path: &str) -> Option<String> {
        let parts: Vec<&str> = path.split('.').collect();
        let found = self.model.at(&parts).filter(|e| e.children.is_empty());
        let text = found.map(|e| e.text.clone()).filter(|t| !t.is_empty());
        // What a pom does not say, its parent does.
        text.or_else(|| match parts[..] {
            [name @ ("groupId" | "version")] => {
                self.model.child("parent")?.text_of(name).map(str::to_owned)
            }
            ["packaging"] => Some("jar".to_owned()),
            _ => None,
        })
    }
}

enum Replacement {
    Text(String),
    /// Stays as it is.
    Literal(&'static str),
}

/// Names of expressions in a text.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("${").filter_map(|(at, _)| {
        let rest = &text[at + 2..];
        rest.find('}').map(|end| &rest[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POM: &str = "<project><parent><groupId>g</groupId><version>7</version></parent>
        <artifactId>a</artifactId><build><finalName>f</finalName></build>
        <properties><x>1</x><y>${x}-${project.artifactId}</y><loop>${loop}</loop>
        <deep>${y}${y}</deep><v>${project.version}</v></properties></project>";

    fn check(text: &str, keep_version: bool) -> String {
        let model = Element::parse(POM.as_bytes()).unwrap();
        let user = BTreeMap::from([("given".to_owned(), "u".to_owned())]);
        Values { model: &model, user: &user, keep_version }.text(text)
    }

    #[test]
    fn what_expressions_stand_for() {
        for (text, expected) in [
            ("${x}", "1"),
            ("a${y}b", "a1-ab"),
            ("${deep}", "1-a1-a"),
            ("${project.groupId}", "g"),
            ("${pom.version}", "7"),
            ("${project.build.finalName}", "f"),
            ("${project.parent.version}", "7"),
            ("${given}", "u"),
            ("${unknown} ${open", "${unknown} ${open"),
            ("${project.basedir}/x", "${project.basedir}/x"),
            ("${basedir}", "${project.basedir}"),
            ("${packaging}", "${packaging}"),
            ("${project.packaging}", "jar"),
            ("$x {y} ${}", "$x {y} ${}"),
        ] {
            assert_eq!(check(text, false), expected, "{text}");
        }
        assert!(check("${loop}", false).contains("${loop}"));
    }

    #[test]
    fn the_own_version_can_stay() {
        assert_eq!(check("${v}/${version}/${pom.version}", true), [OWN_VERSION; 3].join("/"));
        assert_eq!(check("${v}", false), "7");
    }

    #[test]
    fn names_of_expressions() {
        assert_eq!(names("a${x}${y.z} ${").collect::<Vec<_>>(), ["x", "y.z"]);
    }

    proptest! {
        #[test]
        fn any_text_is_fine(text in "[${}a-z.]{0,40}") {
            check(&text, true);
        }
    }
}
