//! Where tests start: the methods of a test class that a runner may call.
//!
//! All methods that are not private, its own and inherited ones; constructors and static
//! initialisers, because the runner makes the object; and the same of nested classes that carry
//! annotations of a test framework. That is a little more than the paper's public methods: since JUnit 5
//! tests need not be public.

use crate::analysis_options::Root;
use crate::program::{ClassId, ClassKind, MethodId, Program};
use std::rc::Rc;
use tamis_classfile::flags;

impl Program<'_> {
    /// The roots of a test class (`com/acme/ThingTest`); none where it cannot be read.
    pub fn roots_of(&mut self, test: &[u8]) -> Vec<Root> {
        let Some(class) = self.class_named(test) else { return Vec::new() };
        let mut roots = Vec::new();
        self.add_roots(class, &mut roots);
        // Nested classes at any depth: a class knows of those directly in it.
        let (mut todo, mut seen) = (vec![class], vec![class]);
        while let Some(outer) = todo.pop() {
            let names: Vec<Vec<u8>> =
                self.nested_names(outer, test).into_iter().map(<[u8]>::to_vec).collect();
            for name in names {
                let Some(nested) = self.class_named(&name).filter(|n| !seen.contains(n)) else {
                    continue;
                };
                seen.push(nested);
                todo.push(nested);
                if self.is_nested_test(nested) {
                    self.add_roots(nested, &mut roots);
                }
            }
        }
        roots.sort_unstable();
        roots.dedup();
        roots
    }

    fn add_roots(&self, class: ClassId, roots: &mut Vec<Root>) {
        for &above in &self.classes[class as usize].supers {
            if above == self.known.object {
                continue;
            }
            for method in self.classes[above as usize].methods.clone() {
                if self.is_root(above, method, class) {
                    roots.push(Root { method, class });
                }
            }
        }
    }

    fn is_root(&self, holder: ClassId, method: MethodId, class: ClassId) -> bool {
        let found = &self.methods[method as usize];
        let name = self.text(self.selectors[found.selector].name);
        match name {
            b"<clinit>" => true,
            b"<init>" => holder == class,
            _ if found.is(flags::PRIVATE | flags::ABSTRACT | flags::SYNTHETIC) => false,
            // Replaced by a method further down.
            _ if !found.is(flags::STATIC) => {
                holder == class || !self.is_overridden(class, holder, found.selector)
            }
            _ => true,
        }
    }

    fn is_overridden(&self, class: ClassId, holder: ClassId, selector: u32) -> bool {
        let mut at = Some(class);
        let mut steps = 0;
        while let Some(here) = at.filter(|&here| here != holder && steps < 1_000) {
            if self.method_numbers.declared.contains_key(&crate::program::key(here, selector)) {
                return true;
            }
            at = self.classes[here as usize].super_class;
            steps += 1;
        }
        false
    }

    /// Names in a class's table of nested classes that are nested in it.
    fn nested_names(&self, class: ClassId, test: &[u8]) -> Vec<&[u8]> {
        let ClassKind::File(loaded) = &self.classes[class as usize].kind else { return Vec::new() };
        let file = Rc::clone(&loaded.file);
        let mut names: Vec<&[u8]> = file
            .pool
            .entries()
            .filter(|&(_, tag)| tag == tamis_classfile::Tag::Class)
            .filter_map(|(index, _)| file.pool.class_name(index).ok())
            .filter(|name| name.strip_prefix(test).is_some_and(|rest| rest.first() == Some(&b'$')))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn is_nested_test(&self, class: ClassId) -> bool {
        let ClassKind::File(loaded) = &self.classes[class as usize].kind else { return false };
        let pool = &loaded.file.pool;
        pool.entries().any(|(index, tag)| {
            tag == tamis_classfile::Tag::Utf8
                && pool.utf8(index).is_ok_and(|text| {
                    [&b"Lorg/junit/"[..], b"Lorg/testng/", b"Lnet/jqwik/"]
                        .iter()
                        .any(|start| text.starts_with(start) && text.ends_with(b";"))
                })
        })
    }
}
