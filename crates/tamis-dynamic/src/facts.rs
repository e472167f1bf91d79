//! The questions about classes, as texts that are stored and read by people.
//!
//! A fact is `SCOPE: KIND NAME`; the scope is the suite whose classpath is meant.

use std::fmt;
use tamis_classpath::ClassIndex;
use tamis_core::{Hash, Value};

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fact {
    pub scope: String,
    pub kind: FactKind,
}

/// Names are as people write them: `com.acme.Thing`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FactKind {
    /// What other classes and reflection see of a class.
    Header(String),
    /// One method's body: class, name and descriptor.
    Body(String, String),
    /// Header and all bodies.
    Whole(String),
    /// All entries of this name in the jars of the classpath, in order.
    Resource(String),
    /// All jars of the classpath.
    Jars,
    /// How the tests are started: arguments, properties, JDK.
    Configuration,
    /// Which tests of a test class the runner chose.
    Choice(String),
    /// Another test method of the same test class. Nothing to be answered: with the headers of the
    /// classes that the record has as well, these are all of them.
    Beside(String),
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.scope)?;
        match &self.kind {
            FactKind::Header(class) => write!(f, "class {class}"),
            FactKind::Body(class, method) => write!(f, "method {class}#{method}"),
            FactKind::Whole(class) => write!(f, "library class {class}"),
            FactKind::Resource(name) => write!(f, "resource {name}"),
            FactKind::Jars => write!(f, "the jars of the classpath"),
            FactKind::Configuration => write!(f, "test configuration"),
            FactKind::Choice(class) => write!(f, "chosen tests of {class}"),
            FactKind::Beside(method) => write!(f, "beside {method}"),
        }
    }
}

impl Fact {
    /// The fact that a text stands for.
    pub fn parse(text: &str) -> Option<Self> {
        let (scope, rest) = text.split_once(": ")?;
        let kind = if let Some(name) = rest.strip_prefix("class ") {
            FactKind::Header(name.into())
        } else if let Some(name) = rest.strip_prefix("method ") {
            let (class, method) = name.split_once('#')?;
            FactKind::Body(class.into(), method.into())
        } else if let Some(name) = rest.strip_prefix("library class ") {
            FactKind::Whole(name.into())
        } else if let Some(name) = rest.strip_prefix("resource ") {
            FactKind::Resource(name.into())
        } else if rest == "the jars of the classpath" {
            FactKind::Jars
        } else if rest == "test configuration" {
            FactKind::Configuration
        } else if let Some(name) = rest.strip_prefix("chosen tests of ") {
            FactKind::Choice(name.into())
        } else if let Some(name) = rest.strip_prefix("beside ") {
            FactKind::Beside(name.into())
        } else {
            return None;
        };
        Some(Self { scope: scope.into(), kind })
    }
}

/// What the classpath says to a question about classes; `None` for other questions.
pub fn answer(index: &ClassIndex, kind: &FactKind) -> Option<Value> {
    let text = |hash: Hash| Value::Text(hash);
    Some(match kind {
        FactKind::Header(class) => {
            index.find_dotted(class).map_or(Value::Absent, |found| text(found.facts.header))
        }
        FactKind::Whole(class) => {
            index.find_dotted(class).map_or(Value::Absent, |found| text(found.facts.whole))
        }
        FactKind::Body(class, method) => index.body(class, method).map_or(Value::Absent, text),
        FactKind::Resource(name) => index.resource(name),
        FactKind::Jars => index.jars(),
        FactKind::Beside(_) => Value::text(b"beside"),
        FactKind::Configuration | FactKind::Choice(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_from_their_texts() {
        for kind in [
            FactKind::Header("com.acme.Foo$Bar".into()),
            FactKind::Body("com.acme.Foo".into(), "<init>(Ljava/lang/String;)V".into()),
            FactKind::Whole("org.junit.Test".into()),
            FactKind::Resource("META-INF/services/a.B".into()),
            FactKind::Jars,
            FactKind::Configuration,
            FactKind::Choice("a.FooTest".into()),
            FactKind::Beside("a.FooTest$In#bar".into()),
        ] {
            let fact = Fact { scope: "mvn:core".into(), kind };
            assert_eq!(Fact::parse(&fact.to_string()), Some(fact));
        }
        assert_eq!(Fact::parse("whether the tests run as root"), None);
    }
}
