//! Which classes can hold state that outlives a test, by the types of fields.
//!
//! A class *holds state* if it has a static field that can change, or whose value can: one that is not
//! final, an array, or anything else than a number, a text or the like. With it all classes nested with
//! it do, because they share what is private. A static field can hold objects of its type and of its subtypes; those hold what their fields can
//! hold. A field of a type that is not the project's (a map, a list, `Object`) can hold anything that
//! the class which declares it refers to. Numbers, texts and compile-time constants hold nothing.

use crate::class::{Class, Field, Method};
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

/// Who can find at its start what an earlier test left.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Classes whose methods can look at static state; outermost classes for their nest.
    holders: FxHashSet<NameId>,
    /// Classes whose objects a static field can hold.
    objects: FxHashSet<NameId>,
}

impl Kept {
    /// Whether what this method does can depend on what an earlier test left.
    pub(crate) fn concerns(&self, class: &Class, method: &Method, names: &Names) -> bool {
        (!method.is_static && self.objects.contains(&class.name))
            || names.find(nest(names.get(class.name))).is_some_and(|n| self.holders.contains(&n))
    }

    /// Whether a static field can hold objects of this class.
    pub(crate) fn holds(&self, class: NameId) -> bool {
        self.objects.contains(&class)
    }

    pub(crate) fn of<'c>(
        classes: impl Iterator<Item = &'c Class> + Clone,
        index: &ClassIndex,
        names: &mut Names,
    ) -> Self {
        let inert: FxHashSet<NameId> = INERT.iter().map(|name| names.intern(name)).collect();
        let mut search = Search {
            by_name: classes.clone().map(|c| (c.name, c)).collect(),
            index,
            inert,
            opened: FxHashSet::default(),
            todo: Vec::new(),
        };
        let mut subtypes: FxHashMap<NameId, Vec<NameId>> = FxHashMap::default();
        let mut kept = Self::default();
        for class in classes {
            for &parent in &class.inherits {
                subtypes.entry(parent).or_default().push(class.name);
            }
            for field in class.fields.iter().filter(|f| f.is_static && !f.is_constant) {
                if !field.is_final || field.is_array || search.can_change(field) {
                    let nest = nest(names.get(class.name)).to_vec();
                    kept.holders.insert(names.intern(&nest));
                }
                search.hold(class.name, field, names);
            }
        }
        while let Some(name) = search.todo.pop() {
            let Some(&class) = search.by_name.get(&name) else { continue };
            if !kept.objects.insert(name) {
                continue;
            }
            // Methods and fields are inherited; a field can hold any subtype.
            search.todo.extend(&class.inherits);
            search.todo.extend(subtypes.get(&name).into_iter().flatten());
            for field in class.fields.iter().filter(|f| !f.is_static) {
                search.hold(class.name, field, names);
            }
        }
        kept
    }
}

struct Search<'c> {
    by_name: FxHashMap<NameId, &'c Class>,
    index: &'c ClassIndex,
    inert: FxHashSet<NameId>,
    /// Classes with a field that can hold anything they refer to.
    opened: FxHashSet<NameId>,
    todo: Vec<NameId>,
}

impl Search<'_> {
    fn can_change(&self, field: &Field) -> bool {
        field.holds.is_some_and(|held| !self.inert.contains(&held))
    }

    fn hold(&mut self, declaring: NameId, field: &Field, names: &mut Names) {
        let Some(held) = field.holds.filter(|held| !self.inert.contains(held)) else { return };
        if self.by_name.contains_key(&held) {
            self.todo.push(held);
        } else if self.opened.insert(declaring) {
            let uses = self.index.uses(&dotted(names.get(declaring)));
            let ids = uses.iter().map(|name| names.intern(name.replace('.', "/").as_bytes()));
            self.todo.extend(ids);
        }
    }
}

/// The outermost class of a class.
fn nest(name: &[u8]) -> &[u8] {
    let end = name.iter().position(|&b| b == b'$').filter(|&at| at > 0).unwrap_or(name.len());
    &name[..end]
}
