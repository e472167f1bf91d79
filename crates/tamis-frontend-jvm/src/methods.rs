//! Test methods as units.
//!
//! A test method is a test of its own beside its class. Which methods a class has is known only from its
//! runner, which writes `com.acme.FooTest#bar`. So the record of each names the others beside it, and
//! holds the headers of all classes that decide about it: while it holds, these are all.

use tamis_core::{Question, Unit};
use tamis_dynamic::{Fact, FactKind as Kind, outermost};

/// The method that a runner calls so.
pub(crate) fn unit(name: &str) -> Unit {
    let (class, method) = name.split_once('#').unwrap_or((name, ""));
    Unit::Method { class: class.to_owned(), method: method.to_owned() }
}

/// The test classes that a method can belong to: its own, or the one that it is nested in.
pub(crate) fn classes_of(unit: &Unit) -> Vec<Unit> {
    let Unit::Method { class, .. } = unit else { return Vec::new() };
    let mut names = vec![class.as_str(), outermost(class)];
    names.dedup();
    names.into_iter().map(|name| Unit::Class(name.to_owned())).collect()
}

/// The method beside another one that a question names.
pub(crate) fn beside(question: &Question) -> Option<Unit> {
    let Question::Fact(text) = question else { return None };
    match Fact::parse(text)?.kind {
        Kind::Beside(method) => Some(unit(&method)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_know_their_classes() {
        let method = unit("a.FooTest$In#bar");
        let classes = ["a.FooTest$In", "a.FooTest"].map(|name| Unit::Class(name.into()));
        assert_eq!(classes_of(&method), classes);
        assert_eq!(classes_of(&unit("a.FooTest#x")), [Unit::Class("a.FooTest".into())]);
        assert_eq!(classes_of(&Unit::Class("payment/refund#1".into())), []);
        assert_eq!(method.to_string(), "a.FooTest$In#bar");
    }

    #[test]
    fn methods_beside_others_are_found_in_records() {
        let fact = Fact { scope: "mvn:x".into(), kind: Kind::Beside("a.FooTest#bar".into()) };
        let question = Question::Fact(fact.to_string().into());
        assert_eq!(beside(&question), Some(unit("a.FooTest#bar")));
        assert_eq!(beside(&Question::Rules), None);
    }
}
