//! A JVM whose agent is played by the test: it says which methods ran.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tamis_classfile::ClassFile;
use tamis_classpath::{Caches, ClassIndex};
use tamis_core::Hash;
use tamis_dynamic::{Depends, FactKind, Jvm};
use tamis_jvm_wire::{ClassSeen, Hits, Lookups, Window};
use tamis_testkit::{Sources, class_files, jdk};

/// A JVM with all classes of some sources loaded.
pub(crate) struct Play {
    pub(crate) jvm: Jvm,
    classes: Vec<ClassSeen>,
    /// `A.run(I)V` to its probe.
    probes: BTreeMap<String, u32>,
}

impl Play {
    pub(crate) fn new(sources: &[(&str, &str)]) -> Self {
        Self::of(&Sources::new().files(sources).compile(&jdk()), |jvm| jvm)
    }

    /// A JVM with all classes of a folder, of which more is known.
    pub(crate) fn of(folder: &Path, change: impl FnOnce(Jvm) -> Jvm) -> Self {
        let caches = Caches::none();
        let index = Arc::new(ClassIndex::load(&[folder.to_owned()], &caches));
        let jvm = change(Jvm::new(index, "play"));
        let mut play = Self { jvm, classes: Vec::new(), probes: BTreeMap::new() };
        let mut next = 0;
        for (_, bytes) in class_files(folder) {
            let class = ClassFile::parse(&bytes).unwrap();
            let first = next;
            for method in &class.methods {
                if tamis_classfile::body_uses(&class, method).unwrap().is_some() {
                    let text = |b: &[u8]| String::from_utf8(b.to_vec()).unwrap();
                    let key = format!("{}.{}", text(class.name), text(method.name));
                    play.probes.insert(key, next);
                    next += 1;
                }
            }
            let seen = ClassSeen {
                name: class.name.to_vec(),
                hash: Hash::of(&bytes).0,
                size: bytes.len() as u32,
                first_probe: first,
                probes: next - first,
                problem: None,
            };
            play.jvm.class(&seen);
            play.classes.push(seen);
        }
        play
    }

    /// The class comes once more, by another loader.
    pub(crate) fn again(&mut self, class: &str) {
        let seen = self.classes.iter().find(|seen| seen.name == class.as_bytes()).unwrap();
        self.jvm.class(&ClassSeen { first_probe: 0, probes: 0, ..seen.clone() });
    }

    pub(crate) fn initialised(&mut self, initialiser: &str, methods: &[&str]) {
        let hits = self.hits(methods);
        self.jvm.initialised(self.probes[initialiser], &hits, &Lookups::default());
    }

    fn hits(&self, methods: &[&str]) -> Hits {
        let mut ids: Vec<u32> = methods
            .iter()
            .map(|m| *self.probes.get(*m).unwrap_or_else(|| panic!("{m} of {:?}", self.probes)))
            .collect();
        ids.sort_unstable();
        Hits::from_sorted(ids)
    }

    pub(crate) fn ran(&mut self, open: &[u32], methods: &[&str]) {
        let hits = self.hits(methods);
        let open = open.to_vec();
        self.jvm.window(&Window { open, hits, ..Window::default() });
    }

    pub(crate) fn test(&mut self, id: u32, class: &str, methods: &[&str]) -> Depends {
        self.jvm.began(id, class);
        self.ran(&[id], methods);
        self.jvm.ended(id)
    }
}

pub(crate) fn has_body(depends: &Depends, class: &str, method: &str) -> bool {
    depends.facts.iter().any(|fact| {
        matches!(&fact.kind, FactKind::Body(c, m) if c == class && m.split('(').next() == Some(method))
    })
}
