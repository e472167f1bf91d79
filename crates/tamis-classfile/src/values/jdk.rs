//! What methods of the JDK do with the values that they are called on or given.

use super::Fresh;
use crate::pool::MemberRef;

/// JDK collections whose constructors copy what they are given.
pub(super) const COLLECTIONS: &[&[u8]] = &[
    b"java/util/ArrayDeque",
    b"java/util/ArrayList",
    b"java/util/EnumMap",
    b"java/util/HashMap",
    b"java/util/HashSet",
    b"java/util/Hashtable",
    b"java/util/IdentityHashMap",
    b"java/util/LinkedHashMap",
    b"java/util/LinkedHashSet",
    b"java/util/LinkedList",
    b"java/util/TreeMap",
    b"java/util/TreeSet",
];

/// Methods of JDK types that change nothing and give nothing but elements.
pub(super) const READS: &[&[u8]] = &[
    b"charAt",
    b"contains",
    b"containsAll",
    b"containsKey",
    b"containsValue",
    b"equals",
    b"first",
    b"firstKey",
    b"forEach",
    b"get",
    b"getClass",
    b"getFirst",
    b"getLast",
    b"getOrDefault",
    b"hashCode",
    b"indexOf",
    b"isEmpty",
    b"last",
    b"lastIndexOf",
    b"lastKey",
    b"length",
    b"peek",
    b"size",
    b"stream",
    b"toArray",
    b"toString",
];

/// Parts that lead to the whole again.
pub(super) const VIEWS: &[&[u8]] = &[b"entrySet", b"keySet", b"values"];

/// Static methods of the JDK that only look at their arguments.
pub(super) fn only_looks(method: &MemberRef<'_>) -> bool {
    match method.class {
        b"java/util/Arrays" => matches!(
            method.name,
            b"binarySearch"
                | b"hashCode"
                | b"toString"
                | b"copyOf"
                | b"copyOfRange"
                | b"equals"
                | b"stream"
        ),
        b"java/util/Collections" => {
            matches!(method.name, b"binarySearch" | b"max" | b"min" | b"frequency")
        }
        b"java/util/Objects" => {
            matches!(method.name, b"hash" | b"hashCode" | b"equals" | b"isNull" | b"nonNull")
        }
        b"java/lang/String" => matches!(method.name, b"join" | b"valueOf" | b"format"),
        _ => false,
    }
}

/// Whether a call of the JDK makes a value that nothing else has, and what of its kind.
pub(super) fn makes(method: &MemberRef<'_>) -> Option<Fresh> {
    let no_arguments = method.descriptor.starts_with(b"()");
    match (method.class, method.name) {
        (
            b"java/util/List" | b"java/util/Set" | b"java/util/Map",
            b"of" | b"ofEntries" | b"copyOf",
        ) => Some(Fresh { can_change: false, is_empty: no_arguments }),
        (b"java/util/Collections", name) if name.starts_with(b"empty") => {
            Some(Fresh { can_change: false, is_empty: true })
        }
        (b"java/util/Collections", name) if name.starts_with(b"singleton") => {
            Some(Fresh { can_change: false, is_empty: false })
        }
        (b"java/util/EnumSet", _) => Some(Fresh { can_change: true, is_empty: false }),
        _ => None,
    }
}

pub(super) fn is_jdk(class: &[u8]) -> bool {
    class.starts_with(b"java/")
}
