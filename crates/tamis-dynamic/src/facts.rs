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
    /// Of that, what everybody sees who meets the class without naming or listing its members.
    Core(String),
    /// One member of a class without its body, by name and descriptor, or that a class is of its nest:
    /// `run(I)V`, `count:I`, `nest a/B$C`.
    Member(String, String),
    /// The methods of a class that have one of these names: those that types which are not the project's
    /// have, whose code may call them.
    Overrides(String, String),
    /// The file of a class with its line numbers and all.
    Lines(String),
    /// Where a class comes from.
    Place(String),
    /// One method: class, name and descriptor.
    Body(String, String),
    /// Header and all bodies.
    Whole(String),
    /// All entries of this name in the jars of the classpath, in order.
    Resource(String),
    /// All jars of the classpath.
    Jars,
    /// How the tests are started: arguments, properties, JDK.
    Configuration,
    /// A system property that the command line gives.
    Property(String),
    /// All of them.
    Properties,
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
            FactKind::Core(class) => write!(f, "class {class} itself"),
            FactKind::Member(class, key) => write!(f, "class {class}#{key}"),
            FactKind::Overrides(class, names) => write!(f, "class {class}, overrides of {names}"),
            FactKind::Lines(class) => write!(f, "class {class}, its lines"),
            FactKind::Place(class) => write!(f, "class {class}, its place"),
            FactKind::Body(class, method) => write!(f, "method {class}#{method}"),
            FactKind::Whole(class) => write!(f, "library class {class}"),
            FactKind::Resource(name) => write!(f, "resource {name}"),
            FactKind::Jars => write!(f, "the jars of the classpath"),
            FactKind::Configuration => write!(f, "test configuration"),
            FactKind::Property(name) => write!(f, "system property {name}"),
            FactKind::Properties => write!(f, "the system properties of the command line"),
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
            of_class(name)
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
        } else if let Some(name) = rest.strip_prefix("system property ") {
            FactKind::Property(name.into())
        } else if rest == "the system properties of the command line" {
            FactKind::Properties
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
        FactKind::Core(class) => {
            index.find_dotted(class).map_or(Value::Absent, |found| text(found.facts.members.core))
        }
        FactKind::Member(class, key) => index.part(class, key).map_or(Value::Absent, text),
        FactKind::Overrides(class, names) => {
            let names: Vec<&str> = names.split(' ').collect();
            index.methods_named(class, &names).map_or(Value::Absent, text)
        }
        FactKind::Lines(class) => {
            index.find_dotted(class).map_or(Value::Absent, |found| text(found.facts.raw))
        }
        FactKind::Place(class) => index.place_of(class),
        FactKind::Body(class, method) => method_of(index, class, method),
        FactKind::Resource(name) => index.resource(name),
        FactKind::Jars => index.jars(),
        FactKind::Beside(_) => Value::text(b"beside"),
        FactKind::Configuration
        | FactKind::Property(_)
        | FactKind::Properties
        | FactKind::Choice(_) => return None,
    })
}

/// What is asked of a class, behind the word `class`. No name of a class has a blank or one of these signs.
fn of_class(text: &str) -> FactKind {
    if let Some((class, key)) = text.split_once('#') {
        FactKind::Member(class.into(), key.into())
    } else if let Some((class, names)) = text.split_once(", overrides of ") {
        FactKind::Overrides(class.into(), names.into())
    } else if let Some(class) = text.strip_suffix(" itself") {
        FactKind::Core(class.into())
    } else if let Some(class) = text.strip_suffix(", its lines") {
        FactKind::Lines(class.into())
    } else if let Some(class) = text.strip_suffix(", its place") {
        FactKind::Place(class.into())
    } else {
        FactKind::Header(text.into())
    }
}

/// A method as a whole: its body, and what else it says of itself.
fn method_of(index: &ClassIndex, class: &str, method: &str) -> Value {
    let Some(body) = index.body(class, method) else { return Value::Absent };
    let head = index.part(class, method).unwrap_or(Hash(0));
    Value::Text(Hash::of_parts([&body.0.to_le_bytes()[..], &head.0.to_le_bytes()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_from_their_texts() {
        for kind in [
            FactKind::Header("com.acme.Foo$Bar".into()),
            FactKind::Core("com.acme.Foo$Bar".into()),
            FactKind::Member("com.acme.Foo".into(), "nest com/acme/Foo$Bar".into()),
            FactKind::Member("com.acme.Foo".into(), "count:Ljava/util/List;".into()),
            FactKind::Overrides("com.acme.Foo".into(), "add of get".into()),
            FactKind::Lines("com.acme.Foo".into()),
            FactKind::Place("com.acme.Foo".into()),
            FactKind::Body("com.acme.Foo".into(), "<init>(Ljava/lang/String;)V".into()),
            FactKind::Whole("org.junit.Test".into()),
            FactKind::Resource("META-INF/services/a.B".into()),
            FactKind::Jars,
            FactKind::Configuration,
            FactKind::Property("a: b".into()),
            FactKind::Properties,
            FactKind::Choice("a.FooTest".into()),
            FactKind::Beside("a.FooTest$In#bar".into()),
        ] {
            let fact = Fact { scope: "mvn:core".into(), kind };
            assert_eq!(Fact::parse(&fact.to_string()), Some(fact));
        }
        assert_eq!(Fact::parse("whether the tests run as root"), None);
    }
}
