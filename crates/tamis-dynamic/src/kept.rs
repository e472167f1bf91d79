//! Which classes can have objects that outlive a test, by the types of fields.
//!
//! A static field can hold objects of its type and of its subtypes; those hold what their fields can
//! hold. A field of a type that is not the project's (a map, a list, `Object`) can hold anything that
//! the class which declares it refers to. Numbers, texts and compile-time constants hold nothing.

use crate::class::Class;
use crate::index::ClassIndex;
use rustc_hash::{FxHashMap, FxHashSet};
use tamis_jvm::names::{NameId, Names, dotted};

/// JDK types whose objects hold nothing that a project could have put there.
const INERT: &[&[u8]] = &[
    b"java/lang/String",
    b"java/lang/Boolean",
    b"java/lang/Byte",
    b"java/lang/Character",
    b"java/lang/Short",
    b"java/lang/Integer",
    b"java/lang/Long",
    b"java/lang/Float",
    b"java/lang/Double",
    b"java/lang/Class",
    b"java/math/BigInteger",
    b"java/math/BigDecimal",
    b"java/util/regex/Pattern",
    b"java/util/UUID",
    b"java/util/Locale",
    b"java/util/Random",
    b"java/util/concurrent/atomic/AtomicInteger",
    b"java/util/concurrent/atomic/AtomicLong",
    b"java/util/concurrent/atomic/AtomicBoolean",
    b"java/nio/charset/Charset",
    b"java/time/Duration",
    b"java/time/Instant",
    b"java/time/ZoneId",
];

/// The project classes among the loaded ones that can be kept.
pub(crate) fn kept<'c>(
    classes: impl Iterator<Item = &'c Class> + Clone,
    index: &ClassIndex,
    names: &mut Names,
) -> FxHashSet<NameId> {
    let by_name: FxHashMap<NameId, &Class> = classes.clone().map(|c| (c.name, c)).collect();
    let mut subtypes: FxHashMap<NameId, Vec<NameId>> = FxHashMap::default();
    for class in classes.clone() {
        for &parent in &class.inherits {
            subtypes.entry(parent).or_default().push(class.name);
        }
    }
    let inert: FxHashSet<NameId> = INERT.iter().map(|name| names.intern(name)).collect();
    let mut kept = FxHashSet::default();
    let mut opened = FxHashSet::default();
    let mut todo: Vec<NameId> = Vec::new();
    let mut hold = |declaring: NameId, held: NameId, todo: &mut Vec<NameId>, names: &mut Names| {
        if by_name.contains_key(&held) {
            todo.push(held);
        } else if !inert.contains(&held) && opened.insert(declaring) {
            let uses = index.uses(&dotted(names.get(declaring)));
            todo.extend(uses.iter().map(|name| names.intern(name.replace('.', "/").as_bytes())));
        }
    };
    for class in classes {
        for field in class.fields.iter().filter(|f| f.is_static && !f.is_constant) {
            if let Some(held) = field.holds {
                hold(class.name, held, &mut todo, names);
            }
        }
    }
    while let Some(name) = todo.pop() {
        let Some(class) = by_name.get(&name) else { continue };
        if !kept.insert(name) {
            continue;
        }
        // Methods and fields are inherited; a field can hold any subtype.
        todo.extend(&class.inherits);
        todo.extend(subtypes.get(&name).into_iter().flatten());
        for field in class.fields.iter().filter(|f| !f.is_static) {
            if let Some(held) = field.holds {
                hold(class.name, held, &mut todo, names);
            }
        }
    }
    kept
}
