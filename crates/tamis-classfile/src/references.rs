//! What a class points at: inheritance and use apart, and the weaker hints.
//!
//! Names are in internal form (`com/acme/Thing`), array brackets removed. The same name may appear
//! more than once; callers intern them anyway.

use std::borrow::Cow;

/// Where an annotation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Class,
    Field,
    Method,
    /// On a type, parameter or record component.
    Other,
}

/// An annotation that is kept at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnnotationUse<'a> {
    pub place: Place,
    pub name: &'a [u8],
}

/// Everything that a class file says about other classes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References<'a> {
    /// Superclass and interfaces.
    pub inherits: Vec<&'a [u8]>,
    /// Class constants of instructions, exceptions and all else.
    pub uses: Vec<&'a [u8]>,
    /// Descriptors and generic signatures, of annotation values too. The classes in them
    /// ([`classes_in`]) are used as well; they are left inside because most of these texts come
    /// again and again.
    pub types: Vec<&'a [u8]>,
    /// Class constants that nothing refers to: javac leaves one behind where it copied the value
    /// of a `static final` field of that class. It leaves none for `case` labels and annotation
    /// values; but then the copying class file itself changes with the value.
    pub inlined: Vec<&'a [u8]>,
    /// String constants and strings in annotations.
    pub texts: Vec<&'a [u8]>,
    /// Annotations on the class and its members.
    pub annotations: Vec<AnnotationUse<'a>>,
    /// Services of a module descriptor with their providers.
    pub provides: Vec<(&'a [u8], Vec<&'a [u8]>)>,
    /// The class asks for classes by name (`Class.forName`, `loadClass`).
    pub looks_up_names: bool,
}

impl<'a> References<'a> {
    /// All classes that are used, those in descriptors and signatures included.
    pub fn all_uses(&self) -> Vec<Cow<'a, [u8]>> {
        let mut all: Vec<Cow<'a, [u8]>> = self.uses.iter().map(|n| Cow::Borrowed(*n)).collect();
        for text in &self.types {
            classes_in(text, &mut |name| all.push(name));
        }
        all
    }

    /// A class constant: a plain name, or a descriptor for arrays.
    pub(crate) fn class_constant(&mut self, name: &'a [u8]) {
        if name.first() == Some(&b'[') {
            self.types.push(name);
        } else {
            self.uses.push(name);
        }
    }
}

/// Gives every class in a field or method descriptor or a generic signature to `found`. A broken
/// signature is only met by reflection and gives what was read so far.
pub fn classes_in<'a>(text: &'a [u8], found: &mut dyn FnMut(Cow<'a, [u8]>)) {
    if text.iter().any(|b| matches!(b, b'<' | b'T' | b'.')) {
        Signature { text, at: 0, found }.read();
        return;
    }
    let mut rest = text;
    while let Some(start) = rest.iter().position(|&b| b == b'L') {
        let Some(len) = rest[start..].iter().position(|&b| b == b';') else { return };
        found(Cow::Borrowed(&rest[start + 1..start + len]));
        rest = &rest[start + len + 1..];
    }
}

/// Walks a class, method or field signature.
struct Signature<'a, 'f> {
    text: &'a [u8],
    at: usize,
    found: &'f mut dyn FnMut(Cow<'a, [u8]>),
}

impl<'a> Signature<'a, '_> {
    fn read(&mut self) {
        if self.peek() == Some(b'<') {
            self.formal_parameters();
        }
        while self.at < self.text.len() {
            self.one_type();
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Moves behind the next of these bytes and returns what was before it.
    fn until(&mut self, ends: &[u8]) -> (&'a [u8], Option<u8>) {
        let rest = &self.text[self.at..];
        let len = rest.iter().position(|b| ends.contains(b)).unwrap_or(rest.len());
        self.at = (self.at + len + 1).min(self.text.len());
        (&rest[..len], rest.get(len).copied())
    }

    /// `<T:Lbound;:Lbound;U::Lbound;>`
    fn formal_parameters(&mut self) {
        self.at += 1;
        while let Some(c) = self.peek() {
            if c == b'>' {
                self.at += 1;
                return;
            }
            self.until(b":");
            if self.peek() != Some(b':') {
                self.one_type();
            }
            while self.peek() == Some(b':') {
                self.at += 1;
                self.one_type();
            }
        }
    }

    /// One type with all its arguments, or one byte of punctuation. Not recursive: foreign bytes
    /// could nest arbitrarily deep.
    fn one_type(&mut self) {
        let mut open: Vec<Cow<'a, [u8]>> = Vec::new();
        loop {
            let Some(c) = self.peek() else { return };
            self.at += 1;
            match c {
                b'L' => {
                    let (name, end) = self.until(b"<;.");
                    (self.found)(Cow::Borrowed(name));
                    self.continue_class(Cow::Borrowed(name), end, &mut open);
                }
                b'T' => {
                    self.until(b";");
                }
                b'>' => {
                    if let Some(outer) = open.pop() {
                        let end = self.peek();
                        self.at = (self.at + 1).min(self.text.len());
                        self.continue_class(outer, end, &mut open);
                    }
                }
                b'[' => continue,
                _ => {}
            }
            if open.is_empty() {
                return;
            }
        }
    }

    /// Behind a class name: its arguments, an inner class, or its end.
    fn continue_class(
        &mut self,
        mut name: Cow<'a, [u8]>,
        mut end: Option<u8>,
        open: &mut Vec<Cow<'a, [u8]>>,
    ) {
        loop {
            match end {
                Some(b'<') => {
                    open.push(name);
                    return;
                }
                Some(b'.') => {
                    let (inner, next) = self.until(b"<;.");
                    let whole = name.to_mut();
                    whole.push(b'$');
                    whole.extend_from_slice(inner);
                    (self.found)(Cow::Owned(whole.clone()));
                    end = next;
                }
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_signature(text: &str) -> Vec<String> {
        let mut names = Vec::new();
        classes_in(text.as_bytes(), &mut |n| names.push(String::from_utf8_lossy(&n).into_owned()));
        names
    }

    #[test]
    fn descriptors() {
        assert_eq!(in_signature("(ILa/B;[[La/C;J)La/D;"), ["a/B", "a/C", "a/D"]);
        assert_eq!(in_signature("(ILa/T;[[La/C;TX;J)La/D;"), ["a/T", "a/C", "a/D"]);
    }

    #[test]
    fn class_constants_of_arrays() {
        let mut references = References::default();
        references.class_constant(b"[[La/C;");
        references.class_constant(b"[I");
        references.class_constant(b"a/L;odd");
        assert_eq!(references.all_uses(), [&b"a/L;odd"[..], b"a/C"]);
    }

    #[test]
    fn signatures_with_bounds_wildcards_and_inner_classes() {
        assert_eq!(
            in_signature("<T:La/T;:La/I;U::La/J<TT;>;>La/S<+La/X;>;La/K<*>;"),
            ["a/T", "a/I", "a/J", "a/S", "a/X", "a/K"]
        );
        assert_eq!(
            in_signature("La/M<TK;>.Entry<La/V;>.Deep;"),
            ["a/M", "a/M$Entry", "a/V", "a/M$Entry$Deep"]
        );
        assert_eq!(
            in_signature("<X:Ljava/lang/Exception;>(TX;[La/P;I)V^TX;^La/E;"),
            ["java/lang/Exception", "a/P", "a/E"]
        );
    }

    #[test]
    fn broken_signatures_end() {
        for text in
            ["<", "<T", "<T:", "L", "La", "La<", "La<>", "La<Lb;", ">>>", "(", "La.", "<T:<:"]
        {
            in_signature(text);
        }
        in_signature(&"La<".repeat(20_000));
    }
}
