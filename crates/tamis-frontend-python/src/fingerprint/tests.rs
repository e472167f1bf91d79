use super::*;

const SOURCE: &str = r#"
"""Doc."""
import os
X = 1

def f(a, b=2):
    """What it does."""
    return a + b

class C(Base):
    y = 3

    @property
    def p(self):
        return lambda: self.y

    if X:
        def q(self):
            def inner():
                return 1
            return inner()
"#;

fn facts(source: &str) -> SourceFacts {
    SourceFacts::of(source.as_bytes())
}

/// What an edit changes: the module, and functions.
fn changed(from: &str, to: &str) -> (bool, Vec<String>) {
    assert!(SOURCE.contains(from), "{from}");
    let (before, after) = (facts(SOURCE), facts(&SOURCE.replacen(from, to, 1)));
    let functions =
        before.functions.iter().filter(|(name, hash)| after.functions.get(*name) != Some(hash));
    (before.module != after.module, functions.map(|(name, _)| name.clone()).collect())
}

fn only(function: &str) -> (bool, Vec<String>) {
    (false, vec![function.to_owned()])
}

#[test]
fn formatting_and_comments_are_nothing() {
    let nothing = (false, Vec::new());
    for (from, to) in [
        ("X = 1", "X = 1  # a comment"),
        ("X = 1", "\n\n# type: int\nX = (1)"),
        ("return a + b", "return (\n        a +\n        b)"),
        ("def f(a, b=2):", "def f(\n    a,\n    b=2,\n):"),
    ] {
        assert_eq!(changed(from, to), nothing, "{to}");
    }
}

#[test]
fn a_body_is_its_functions_alone() {
    assert_eq!(changed("a + b", "a - b"), only("f"));
    assert_eq!(changed("lambda: self.y", "lambda: self.z"), only("C.p"));
    assert_eq!(changed("return 1", "return 2"), only("C.q"));
}

#[test]
fn what_is_seen_without_a_call_is_the_modules() {
    let module = |from, to| assert!(changed(from, to).0, "{to}");
    module("X = 1", "X = 2");
    module("b=2", "b=3");
    module("def f(a, b=2)", "def g(a, b=2)");
    module("def f(a", "def f(a: int");
    module("class C(Base)", "class C(Other)");
    module("y = 3", "y = 4");
    module("@property", "@cached_property");
    module("What it does.", "What it did.");
    module("return a + b", "yield a + b");
    module("def f(a", "async def f(a");
    module("\"\"\"Doc.\"\"\"", "\"\"\"Docs.\"\"\"");
}

#[test]
fn code_objects_belong_to_functions_or_to_the_module() {
    let facts = facts(SOURCE);
    for (qualified, function) in [
        ("f", Some("f")),
        ("C.p.<locals>.<lambda>", Some("C.p")),
        ("C.q.<locals>.inner", Some("C.q")),
        ("C", None),
        ("<module>", None),
        ("<lambda>", None),
        ("C.<lambda>", None),
        ("<listcomp>", None),
        ("made_elsewhere", None),
    ] {
        assert_eq!(facts.function(qualified), function, "{qualified}");
    }
}

#[test]
fn functions_of_one_name_are_one() {
    let two = |a: &str, b: &str| {
        facts(&format!("if X:\n  def f(): return {a}\nelse:\n  def f(): return {b}\n"))
    };
    assert_ne!(two("1", "2").body("f"), two("1", "3").body("f"));
    assert_ne!(two("1", "2").body("f"), two("4", "2").body("f"));
    assert_ne!(two("1", "2").body("f"), two("2", "1").body("f"));
    assert_eq!(two("1", "2").module, two("4", "3").module);
}

#[test]
fn what_is_no_python_counts_by_its_bytes() {
    let broken = facts("def f(:\n  return 1\n");
    assert_eq!((broken.module, broken.code), (broken.bytes, broken.bytes));
    assert_eq!(broken.function("f"), None);
    assert_ne!(broken, facts("def f(:\n  return 2\n"));
    assert_eq!(SourceFacts::of(b"\xff\xfe").module, Hash::of(b"\xff\xfe"));
}

#[test]
fn a_function_that_is_gone_is_absent() {
    assert_eq!(facts("x = 1").body("f"), Value::Absent);
    assert_ne!(facts(SOURCE).body("f"), Value::Absent);
}
