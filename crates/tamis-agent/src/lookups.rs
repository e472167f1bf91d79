//! Questions that the program puts by name, since the last boundary.

use crate::jvm::{Jni, Object};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tamis_jvm_wire::Lookup;

/// The numbers of `TamisLookups.java`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LookupKind {
    Class = 0,
    Reflected = 1,
    Variable = 2,
    Property = 3,
    Place = 4,
    Lines = 5,
    HiddenClass = 6,
}

const KINDS: [LookupKind; 7] = [
    LookupKind::Class,
    LookupKind::Reflected,
    LookupKind::Variable,
    LookupKind::Property,
    LookupKind::Place,
    LookupKind::Lines,
    LookupKind::HiddenClass,
];

impl LookupKind {
    pub(crate) fn from_number(number: i32) -> Option<Self> {
        KINDS.into_iter().find(|k| *k as i32 == number)
    }

    fn lookup(self, name: String) -> Lookup {
        match self {
            Self::Class => Lookup::Class(name),
            Self::Reflected => Lookup::Reflected(name),
            Self::Variable => Lookup::Variable(name),
            Self::Property => Lookup::Property(name),
            Self::Place => Lookup::Place(name),
            Self::Lines => Lookup::Lines,
            Self::HiddenClass => Lookup::HiddenClass,
        }
    }
}

/// The length of `TamisLookups.told`.
const REPORTED: i32 = 7 * 512;

#[derive(Debug, Default)]
pub(crate) struct Lookups {
    asked: Mutex<Asked>,
    /// Global references to `TamisLookups` and `String`, once the hooks are in.
    classes: OnceLock<[Object; 2]>,
}

#[derive(Debug, Default)]
struct Asked {
    /// By [`LookupKind`].
    names: [HashSet<String>; 7],
    all_variables: bool,
    listed: BTreeSet<u32>,
    /// The jars that were asked for an entry.
    entries: HashMap<String, Vec<u32>>,
    /// Numbers of jars; these stay over boundaries.
    jars: HashMap<String, u32>,
}

impl Lookups {
    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn name(&self, kind: LookupKind, name: String) {
        self.asked().names[kind as usize].insert(name);
    }

    pub(crate) fn all_variables(&self) {
        self.asked().all_variables = true;
    }

    /// An entry of a jar; without one, all names in it.
    pub(crate) fn in_jar(&self, jar: String, entry: Option<String>) {
        let asked = &mut *self.asked();
        let next = asked.jars.len() as u32;
        let jar = *asked.jars.entry(jar).or_insert(next);
        let Some(entry) = entry else {
            asked.listed.insert(jar);
            return;
        };
        let jars = asked.entries.entry(entry).or_default();
        if !jars.contains(&jar) {
            jars.push(jar);
        }
    }

    /// Questions come from now on.
    pub(crate) fn listen(&self, hooks: Object, string: Object) {
        let _ = self.classes.set([hooks, string]);
    }

    /// Ends a window: everything since the last time, and the hooks forget what they reported. `None` if
    /// they could not be made to.
    pub(crate) fn end_window(&self, jni: Jni) -> Option<tamis_jvm_wire::Lookups> {
        let Some(&[hooks, string]) = self.classes.get() else { return Some(self.drain()) };
        let lookups = self.drain();
        let reported = jni.objects(REPORTED, string)?;
        let done = jni.set_static_field(hooks, c"told", c"[Ljava/lang/String;", reported);
        jni.delete_local(reported);
        done.then_some(lookups)
    }

    /// In a fixed order.
    fn drain(&self) -> tamis_jvm_wire::Lookups {
        let mut asked = self.asked();
        let mut plain = Vec::new();
        for kind in KINDS {
            plain.extend(asked.names[kind as usize].drain().map(|name| kind.lookup(name)));
        }
        if std::mem::take(&mut asked.all_variables) {
            plain.push(Lookup::AllVariables);
        }
        let listed = std::mem::take(&mut asked.listed);
        let mut entries: Vec<_> = asked.entries.drain().collect();
        entries.sort();
        // Only the jars of this window travel, under numbers of their own.
        let mut used: BTreeSet<u32> = listed.clone();
        used.extend(entries.iter().flat_map(|(_, jars)| jars));
        let mut paths: HashMap<u32, &String> = HashMap::new();
        if !used.is_empty() {
            paths.extend(asked.jars.iter().map(|(path, &number)| (number, path)));
        }
        let path = |number: u32| paths.get(&number).map(|path| (*path).clone()).unwrap_or_default();
        plain.extend(listed.into_iter().map(|jar| Lookup::JarNames { jar: path(jar) }));
        plain.sort();
        let new: HashMap<u32, u32> = used.iter().copied().zip(0..).collect();
        for (_, jars) in &mut entries {
            jars.iter_mut().for_each(|jar| *jar = new[jar]);
        }
        tamis_jvm_wire::Lookups::new(plain, used.into_iter().map(path).collect(), entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_is_reported_once_per_window() {
        let lookups = Lookups::default();
        for _ in 0..2 {
            lookups.name(LookupKind::Class, "a.B".into());
            lookups.in_jar("/one.jar".into(), Some("e".into()));
            lookups.in_jar("/two.jar".into(), Some("e".into()));
            lookups.in_jar("/two.jar".into(), None);
            lookups.all_variables();
        }
        let entry = |jar: &str| Lookup::JarEntry { jar: jar.into(), entry: "e".into() };
        assert_eq!(
            lookups.drain().iter().collect::<Vec<_>>(),
            [
                Lookup::Class("a.B".into()),
                Lookup::JarNames { jar: "/two.jar".into() },
                Lookup::AllVariables,
                entry("/one.jar"),
                entry("/two.jar")
            ]
        );
        assert!(lookups.drain().is_empty());
        lookups.in_jar("/two.jar".into(), Some("e".into()));
        lookups.name(LookupKind::Variable, "HOME".into());
        assert_eq!(
            lookups.drain().iter().collect::<Vec<_>>(),
            [Lookup::Variable("HOME".into()), entry("/two.jar")]
        );
    }
}
