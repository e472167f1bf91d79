//! The type arguments of a field, as its generic signature gives them.
//!
//! `Map<String, List<Foo>>` is declared to hold texts and lists of `Foo`. Java does not check that at run
//! time: what a program puts there against its own declaration is not seen.

/// The classes that stand as type arguments, at any depth, and whether they are all that there are: a
/// wildcard without a bound, a type variable or an outermost class without arguments leave it open.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments<'s> {
    /// Without arguments of their own.
    pub(crate) classes: Vec<&'s [u8]>,
    /// With arguments of their own, which are among these, too.
    pub(crate) generic: Vec<&'s [u8]>,
    pub(crate) is_open: bool,
}

/// Reads the signature of a field; what cannot be understood is open.
pub(crate) fn arguments(signature: &[u8]) -> Arguments<'_> {
    let mut reader = Reader { rest: signature, found: Arguments::default() };
    let whole = reader.field(true).is_some() && reader.rest.is_empty();
    reader.found.is_open |= !whole;
    reader.found
}

struct Reader<'s> {
    rest: &'s [u8],
    found: Arguments<'s>,
}

impl<'s> Reader<'s> {
    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// A type; the outermost one is not an argument itself.
    fn field(&mut self, outermost: bool) -> Option<()> {
        match self.next()? {
            b'[' => self.field(outermost),
            b'L' => self.class(outermost),
            b'T' => {
                self.found.is_open = true;
                let end = self.rest.iter().position(|&b| b == b';')?;
                self.rest = &self.rest[end + 1..];
                Some(())
            }
            b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' => Some(()),
            _ => None,
        }
    }

    fn class(&mut self, outermost: bool) -> Option<()> {
        let end = self.rest.iter().position(|b| matches!(b, b';' | b'<' | b'.'))?;
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        let mut has_arguments = false;
        loop {
            match self.next()? {
                b';' => break,
                b'<' => {
                    has_arguments = true;
                    self.arguments()?;
                }
                // An inner class of a generic one: its name is not spelt out here.
                b'.' => {
                    self.found.is_open = true;
                    let end = self.rest.iter().position(|b| matches!(b, b';' | b'<' | b'.'))?;
                    self.rest = &self.rest[end..];
                }
                _ => return None,
            }
        }
        match (outermost, has_arguments) {
            (true, _) => self.found.is_open |= !has_arguments,
            (false, true) => self.found.generic.push(name),
            (false, false) => self.found.classes.push(name),
        }
        Some(())
    }

    fn arguments(&mut self) -> Option<()> {
        loop {
            match *self.rest.first()? {
                b'>' => {
                    self.next();
                    return Some(());
                }
                b'*' => {
                    self.found.is_open = true;
                    self.next();
                }
                b'+' => {
                    self.next();
                    self.field(false)?;
                }
                // Anything above the bound may be there.
                b'-' => {
                    self.found.is_open = true;
                    self.next();
                    self.field(false)?;
                }
                _ => self.field(false)?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(signature: &str) -> (Vec<String>, bool) {
        let found = arguments(signature.as_bytes());
        let text = |name: &&[u8]| String::from_utf8_lossy(name).into_owned();
        (found.classes.iter().map(text).collect(), found.is_open)
    }

    #[test]
    fn arguments_at_any_depth() {
        let map = "Ljava/util/Map<Ljava/lang/String;Ljava/util/List<[La/Foo;>;>;";
        let all = ["java/lang/String", "a/Foo"].map(str::to_owned).to_vec();
        assert_eq!(read(map), (all, false));
        assert_eq!(arguments(map.as_bytes()).generic, [b"java/util/List"]);
        assert_eq!(read("Ljava/util/Set<+La/Foo;>;"), (vec!["a/Foo".into()], false));
        assert_eq!(read("[Ljava/util/Set<[I>;"), (vec![], false));
    }

    #[test]
    fn what_says_too_little_is_open() {
        for open in [
            "Ljava/util/Map;",
            "Ljava/util/Set<*>;",
            "Ljava/util/Set<TT;>;",
            "TT;",
            "Ljava/util/Set<-La/Foo;>;",
            "La/Outer<La/Foo;>.Inner;",
            "Ljava/util/Set<La/Foo;>",
            "Ljava/util/Set<La/Foo",
            "Q",
            "",
            "Ljava/util/Set<La/Foo;>;x",
        ] {
            assert!(arguments(open.as_bytes()).is_open, "{open}");
        }
    }
}
