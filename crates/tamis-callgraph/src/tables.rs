//! Names, selectors and fields as numbers: the tables of a [`Program`](crate::program::Program) that need nothing
//! else of it.

use crate::descriptor::Shape;
use crate::hints::Hints;
use crate::ids::{ClassId, FieldId, NameId, SelectorId, key};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Texts of class files, each of them once.
#[derive(Debug, Default)]
pub(crate) struct NameTable<'u> {
    numbers: FxHashMap<&'u [u8], NameId>,
    texts: Vec<&'u [u8]>,
}

impl<'u> NameTable<'u> {
    pub(crate) fn intern(&mut self, text: &'u [u8]) -> NameId {
        let next = self.texts.len() as NameId;
        let id = *self.numbers.entry(text).or_insert(next);
        if id == next {
            self.texts.push(text);
        }
        id
    }

    pub(crate) fn text(&self, name: NameId) -> &'u [u8] {
        self.texts.get(name as usize).copied().unwrap_or_default()
    }

    /// The number of a text that was met.
    pub(crate) fn find(&self, text: &[u8]) -> Option<NameId> {
        self.numbers.get(text).copied()
    }
}

#[derive(Debug)]
pub(crate) struct Selector {
    pub(crate) name: NameId,
    pub(crate) descriptor: NameId,
    pub(crate) shape: Rc<Shape>,
    pub(crate) hints: Hints,
}

/// Pairs of a name and a descriptor, each of them once; equal descriptors share their shape.
#[derive(Debug, Default)]
pub(crate) struct Selectors {
    all: Vec<Selector>,
    numbers: FxHashMap<u64, SelectorId>,
    shapes: FxHashMap<NameId, Rc<Shape>>,
}

fn pair(name: NameId, descriptor: NameId) -> u64 {
    u64::from(name) << 32 | u64::from(descriptor)
}

impl Selectors {
    pub(crate) fn intern(
        &mut self,
        name: NameId,
        descriptor: NameId,
        names: &NameTable<'_>,
    ) -> SelectorId {
        if let Some(known) = self.find(name, descriptor) {
            return known;
        }
        let shape = self.shapes.entry(descriptor);
        let shape = shape.or_insert_with(|| Rc::new(Shape::of(names.text(descriptor))));
        let shape = Rc::clone(shape);
        let id = self.all.len() as SelectorId;
        let hints = Hints::of(names.text(name), names.text(descriptor));
        self.all.push(Selector { name, descriptor, shape, hints });
        self.numbers.insert(pair(name, descriptor), id);
        id
    }

    /// The selector of these names if it was met.
    pub(crate) fn find(&self, name: NameId, descriptor: NameId) -> Option<SelectorId> {
        self.numbers.get(&pair(name, descriptor)).copied()
    }
}

impl std::ops::Index<SelectorId> for Selectors {
    type Output = Selector;

    fn index(&self, selector: SelectorId) -> &Selector {
        &self.all[selector as usize]
    }
}

#[derive(Debug)]
struct Field {
    /// May hold anything: declared where the analysis does not look, or written behind its back.
    open: bool,
}

/// Fields that hold references, by the class that is asked for them and their selector.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    all: Vec<Field>,
    numbers: FxHashMap<u64, FieldId>,
    /// Those that were opened and that the analysis does not know.
    opened: Vec<FieldId>,
}

impl Fields {
    /// A field of this class.
    pub(crate) fn declare(&mut self, class: ClassId, selector: SelectorId, open: bool) -> FieldId {
        let next = self.all.len() as FieldId;
        let id = *self.numbers.entry(key(class, selector)).or_insert(next);
        if id == next {
            self.all.push(Field { open });
        }
        id
    }

    /// A field that only operations of our own know: what a lambda captured.
    pub(crate) fn make_up(&mut self) -> FieldId {
        self.all.push(Field { open: false });
        self.all.len() as FieldId - 1
    }

    pub(crate) fn find(&self, class: ClassId, selector: SelectorId) -> Option<FieldId> {
        self.numbers.get(&key(class, selector)).copied()
    }

    /// What a class inherits is found faster the next time.
    pub(crate) fn inherit(&mut self, class: ClassId, selector: SelectorId, field: FieldId) {
        self.numbers.insert(key(class, selector), field);
    }

    pub(crate) fn is_open(&self, field: FieldId) -> bool {
        self.all[field as usize].open
    }

    /// The field may be written behind the analysis's back from now on.
    pub(crate) fn open(&mut self, field: FieldId) {
        if !std::mem::replace(&mut self.all[field as usize].open, true) {
            self.opened.push(field);
        }
    }

    pub(crate) fn take_opened(&mut self) -> Vec<FieldId> {
        std::mem::take(&mut self.opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_and_pairs_have_one_number() {
        let (mut names, mut selectors) = (NameTable::default(), Selectors::default());
        let (run, go) = (names.intern(b"run"), names.intern(b"go"));
        let descriptor = names.intern(b"()V");
        assert_eq!((names.intern(b"run"), names.find(b"stop")), (run, None));
        assert_eq!(names.text(go), b"go");
        let first = selectors.intern(run, descriptor, &names);
        let second = selectors.intern(go, descriptor, &names);
        assert_ne!(first, second);
        assert_eq!(selectors.intern(run, descriptor, &names), first);
        assert_eq!(selectors.find(descriptor, run), None);
        assert!(Rc::ptr_eq(&selectors[first].shape, &selectors[second].shape));
    }

    #[test]
    fn a_field_is_reported_as_opened_once() {
        let mut fields = Fields::default();
        let (plain, open) = (fields.declare(1, 7, false), fields.declare(2, 7, true));
        assert_eq!(fields.declare(1, 7, true), plain);
        assert!(!fields.is_open(plain) && fields.is_open(open));
        [plain, open, plain].into_iter().for_each(|field| fields.open(field));
        assert_eq!((fields.take_opened(), fields.take_opened()), (vec![plain], vec![]));
        let made_up = fields.make_up();
        assert!(fields.is_open(plain) && !fields.is_open(made_up));
    }

    #[test]
    fn inherited_fields_are_found() {
        let mut fields = Fields::default();
        let field = fields.declare(1, 7, false);
        assert_eq!(fields.find(2, 7), None);
        fields.inherit(2, 7, field);
        assert_eq!(fields.find(2, 7), Some(field));
        assert_ne!(fields.make_up(), field);
    }
}
