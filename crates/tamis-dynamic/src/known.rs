//! Types of the JDK that projects extend all the time, and what the JDK can call on them.
//!
//! Of any other type that is not the project's everything is thought possible.

use rustc_hash::{FxHashMap, FxHashSet};
use tamis_classpath::names::{NameId, Names};

/// A type, the types that it extends, and the names of the methods that it has.
type Entry = (&'static [u8], &'static [&'static [u8]], &'static [&'static [u8]]);

/// What every object has.
const OF_ALL: &[&[u8]] = &[b"equals", b"hashCode", b"toString", b"clone", b"finalize"];

const THROWABLE: &[&[u8]] = &[
    b"fillInStackTrace",
    b"getCause",
    b"getLocalizedMessage",
    b"getMessage",
    b"getStackTrace",
    b"initCause",
    b"printStackTrace",
    b"setStackTrace",
];

const TYPES: &[Entry] = &[
    (b"java/lang/Object", &[], &[]),
    (b"java/io/Serializable", &[], SERIALISED),
    (b"java/lang/Cloneable", &[], &[]),
    (b"java/lang/Record", &[], &[]),
    (b"java/lang/Enum", &[b"java/lang/Comparable", b"java/io/Serializable"], &[]),
    (b"java/lang/Comparable", &[], &[b"compareTo"]),
    (b"java/lang/Runnable", &[], &[b"run"]),
    (b"java/lang/AutoCloseable", &[], &[b"close"]),
    (b"java/io/Closeable", &[b"java/lang/AutoCloseable"], &[b"close"]),
    (b"java/lang/Iterable", &[], &[b"iterator", b"forEach", b"spliterator"]),
    (b"java/util/Iterator", &[], &[b"hasNext", b"next", b"remove", b"forEachRemaining"]),
    (b"java/util/Map$Entry", &[], &[b"getKey", b"getValue", b"setValue"]),
    (b"java/util/Comparator", &[], &[b"compare", b"reversed", b"thenComparing"]),
    (b"java/util/concurrent/Callable", &[], &[b"call"]),
    (b"java/util/function/Supplier", &[], &[b"get"]),
    (b"java/util/function/Consumer", &[], &[b"accept", b"andThen"]),
    (b"java/util/function/Function", &[], &[b"apply", b"andThen", b"compose"]),
    (b"java/util/function/BiFunction", &[], &[b"apply", b"andThen"]),
    (b"java/util/function/Predicate", &[], &[b"test", b"and", b"or", b"negate"]),
    (b"java/lang/Throwable", &[b"java/io/Serializable"], THROWABLE),
    (b"java/lang/Exception", &[b"java/lang/Throwable"], &[]),
    (b"java/lang/RuntimeException", &[b"java/lang/Exception"], &[]),
    (b"java/lang/Error", &[b"java/lang/Throwable"], &[]),
    (b"java/lang/IllegalArgumentException", &[b"java/lang/RuntimeException"], &[]),
    (b"java/lang/IllegalStateException", &[b"java/lang/RuntimeException"], &[]),
    (b"java/lang/UnsupportedOperationException", &[b"java/lang/RuntimeException"], &[]),
    (b"java/io/IOException", &[b"java/lang/Exception"], &[]),
];

/// What the JDK looks for in objects that it writes or reads.
const SERIALISED: &[&[u8]] =
    &[b"readObject", b"readObjectNoData", b"readResolve", b"writeObject", b"writeReplace"];

/// JDK types that nothing can extend: a call of theirs never arrives at a project.
const FINAL: &[&[u8]] = &[
    b"java/lang/Boolean",
    b"java/lang/Byte",
    b"java/lang/Character",
    b"java/lang/Class",
    b"java/lang/Double",
    b"java/lang/Float",
    b"java/lang/Integer",
    b"java/lang/Long",
    b"java/lang/Math",
    b"java/lang/Short",
    b"java/lang/String",
    b"java/lang/StringBuffer",
    b"java/lang/StringBuilder",
    b"java/lang/System",
    b"java/math/MathContext",
    b"java/net/URI",
    b"java/net/URL",
    b"java/time/Duration",
    b"java/time/Instant",
    b"java/time/LocalDate",
    b"java/time/LocalDateTime",
    b"java/util/Arrays",
    b"java/util/Locale",
    b"java/util/Objects",
    b"java/util/Optional",
    b"java/util/OptionalInt",
    b"java/util/UUID",
    b"java/util/regex/Matcher",
    b"java/util/regex/Pattern",
];

/// The types above by their names in one JVM.
#[derive(Debug, Default)]
pub(crate) struct Known {
    types: FxHashMap<NameId, &'static Entry>,
    finals: FxHashSet<NameId>,
}

impl Known {
    /// All of them get a number, so that it does not matter which of them anybody has named so far.
    pub(crate) fn new(names: &mut Names) -> Self {
        let types = TYPES.iter().map(|entry| (names.intern(entry.0), entry)).collect();
        Self { types, finals: FINAL.iter().map(|name| names.intern(name)).collect() }
    }

    pub(crate) fn is_known(&self, class: NameId) -> bool {
        self.types.contains_key(&class)
    }

    pub(crate) fn is_final(&self, class: NameId) -> bool {
        self.finals.contains(&class)
    }

    /// These known types and all that they extend.
    pub(crate) fn all_above(&self, classes: &[NameId], names: &Names) -> FxHashSet<NameId> {
        let mut all: FxHashSet<NameId> = classes.iter().copied().collect();
        let mut todo = classes.to_vec();
        while let Some(class) = todo.pop() {
            let above = self.types.get(&class).into_iter().flat_map(|entry| entry.1);
            let above = above.filter_map(|name| names.find(name));
            todo.extend(above.filter(|&class| all.insert(class)));
        }
        all
    }

    /// Whether code that is not seen can call a method of this name on objects of these known types.
    pub(crate) fn calls_back(&self, classes: &[NameId], method: &[u8]) -> bool {
        OF_ALL.contains(&method)
            || classes.iter().filter_map(|c| self.types.get(c)).any(|e| has(e, method))
    }
}

fn has(entry: &Entry, method: &[u8]) -> bool {
    let above = |name: &&[u8]| TYPES.iter().find(|e| e.0 == *name);
    entry.2.contains(&method) || entry.1.iter().filter_map(above).any(|e| has(e, method))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_extend_each_other_and_have_what_those_above_have() {
        let mut names = Names::default();
        let [error, throwable, string, own] =
            [&b"java/io/IOException"[..], b"java/lang/Throwable", b"java/lang/String", b"a/Own"]
                .map(|name| names.intern(name));
        let known = Known::new(&mut names);
        assert!(known.all_above(&[error], &names).contains(&throwable));
        assert!(!known.all_above(&[throwable], &names).contains(&error));
        assert!(known.is_known(error) && !known.is_known(own) && known.is_final(string));
        assert!(known.calls_back(&[error], b"getMessage"));
        assert!(known.calls_back(&[error], b"toString"));
        assert!(!known.calls_back(&[error], b"getReason"));
    }
}
