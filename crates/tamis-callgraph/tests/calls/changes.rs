//! Which methods of the old revision a change touches.

use crate::support::{Fixture, Libraries, built, options};
use std::collections::BTreeSet;
use tamis_callgraph::{Algorithm, Changes};

const TEST: &str =
    "class Case { void t(Base b) { Base c = new Sub(); c.m(); new Sub().own(); b.n(); } }";
const BASE: &str = "class Base { void m() { } void n() { } }";

/// The names of the methods that count as changed when `file` becomes `now`.
fn changed(file: &str, before: &str, now: &str, changes: Changes) -> BTreeSet<String> {
    let with = |text: &str| {
        let mut files = vec![("Case.java", TEST), ("Base.java", BASE)];
        files.retain(|f| f.0 != file);
        files.push((file, text));
        Fixture::new(&files, &[])
    };
    let (old, new) = (with(before), with(now));
    let universe = old.universe(Libraries::Exclude);
    let mut built = built(&universe, &["Case"], options(Algorithm::Cha));
    let class = file.trim_end_matches(".java");
    let new = std::fs::read(new.project.join(format!("{class}.class"))).unwrap();
    let methods = built.program.changed_by(class.as_bytes(), Some(&new), changes);
    let names = methods.into_iter().map(|m| built.program.method_display(m));
    names.map(|n| n.split('(').next().unwrap().to_owned()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

const SUB: &str = "class Sub extends Base { void own() { } int f; }";

#[test]
fn a_body() {
    let now = "class Sub extends Base { void own() { f = 2; } int f; }";
    assert_eq!(changed("Sub.java", SUB, now, Changes::Method), set(&["Sub#own"]));
    assert_eq!(changed("Sub.java", SUB, now, Changes::Class), set(&["Sub#own", "Sub#<init>"]));
    assert_eq!(changed("Sub.java", SUB, SUB, Changes::Method), set(&[]));
}

#[test]
fn an_added_override_changes_what_is_looked_up() {
    let now = "class Sub extends Base { void own() { } int f; void m() { } }";
    assert_eq!(changed("Sub.java", SUB, now, Changes::Method), set(&["Base#m"]));
    // A new method that is not called changes nothing.
    let now = "class Sub extends Base { void own() { } int f; void other() { } }";
    assert_eq!(changed("Sub.java", SUB, now, Changes::Method), set(&[]));
}

#[test]
fn a_removed_override_is_itself_the_change() {
    let before = "class Sub extends Base { void own() { } int f; void m() { } }";
    assert_eq!(changed("Sub.java", before, SUB, Changes::Method), set(&["Sub#m"]));
}

#[test]
fn the_head_of_a_method() {
    let now = "class Sub extends Base { synchronized void own() { } int f; }";
    assert_eq!(changed("Sub.java", SUB, now, Changes::Method), set(&["Sub#own"]));
}

#[test]
fn anything_else_counts_for_all_methods() {
    let now = "class Sub extends Base { void own() { } int f, g; }";
    let all = set(&["Sub#own", "Sub#<init>"]);
    assert_eq!(changed("Sub.java", SUB, now, Changes::Method), all);
    // With another supertype other methods may be found.
    let now =
        "class Sub extends Base implements Runnable { void own() { } int f; public void run() {} }";
    let all = set(&["Sub#own", "Sub#<init>", "Base#<init>", "Base#m", "Base#n"]);
    assert_eq!(changed("Sub.java", SUB, now, Changes::Method), all);
}
