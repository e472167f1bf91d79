//! The kernel's description of its types (BTF), without all that the program does not ask for.
//!
//! A program is made for the kernel that it meets: each field that it reads is looked up by name among the kernel's
//! types. There are a hundred thousand of them, and to parse them all and look through them for each structure took more time than
//! all else that loading takes. So they are read once, as bytes, and what is kept is what can be asked about: structures
//! of a name that the program's own types have, of these the members with such names or without any, and what these
//! consist of. Pointers lead nowhere. Offsets and sizes stay what they are.

use std::collections::{HashMap, HashSet};

const MAGIC: u16 = 0xeb9f;
const HEAD: usize = 24;

const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const FORWARD: u32 = 7;
const FUNCTION_PROTOTYPE: u32 = 13;
const VARIABLE: u32 = 14;
const SECTION: u32 = 15;
const FLOAT: u32 = 16;
const DECLARATION_TAG: u32 = 17;
const ENUM64: u32 = 19;
/// Other names for a type, and words before it: typedef, volatile, const, restrict, type tag.
const WRAPPERS: [u32; 5] = [8, 9, 10, 11, 18];

/// Stands for all pointers.
const ANY_POINTER: u32 = u32::MAX;

/// All texts of a description: names of types, of members and of more.
pub(super) fn names(types: &[u8]) -> HashSet<&[u8]> {
    let Some(types) = Types::parse(types) else { return HashSet::new() };
    types.names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect()
}

/// The description without what has none of these names; `None` where it is of an unknown form.
pub(super) fn thinned(full: &[u8], names: &HashSet<&[u8]>) -> Option<Vec<u8>> {
    let types = Types::parse(full)?;
    let offsets = types.offsets()?;
    let is_asked_for = |at: &usize| {
        let composite = matches!(types.kind(*at), Some(STRUCT | UNION));
        composite && types.name(*at).is_some_and(|name| names.contains(name))
    };
    let mut thinning =
        Thinning { offsets: &offsets, types: &types, names, kept: Vec::new(), ids: HashMap::new() };
    for (n, _) in offsets.iter().enumerate().filter(|(_, at)| is_asked_for(at)) {
        thinning.keep(n as u32 + 1);
    }
    thinning.written()
}

/// A description as bytes.
struct Types<'a> {
    types: &'a [u8],
    names: &'a [u8],
}

impl<'a> Types<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let magic = bytes.first_chunk::<2>().map(|magic| u16::from_ne_bytes(*magic))?;
        let [head, types, types_size, names, names_size] =
            [4, 8, 12, 16, 20].map(|at| number(bytes, at).map(|n| n as usize));
        let part = |from: usize, size: usize| bytes.get(from..)?.get(..size);
        let parsed = Self {
            types: part(head? + types?, types_size?)?,
            names: part(head? + names?, names_size?)?,
        };
        (magic == MAGIC).then_some(parsed)
    }

    /// Where each type begins. The first has the number 1.
    fn offsets(&self) -> Option<Vec<usize>> {
        let (mut offsets, mut at) = (Vec::with_capacity(self.types.len() / 24), 0);
        while at < self.types.len() {
            offsets.push(at);
            let count = self.count(at)? as usize;
            at += 12
                + match self.kind(at)? {
                    INT | VARIABLE | DECLARATION_TAG => 4,
                    ARRAY => 12,
                    STRUCT | UNION | SECTION | ENUM64 => 12 * count,
                    ENUM | FUNCTION_PROTOTYPE => 8 * count,
                    POINTER | FORWARD | 12 | FLOAT => 0,
                    kind if WRAPPERS.contains(&kind) => 0,
                    _ => return None,
                };
        }
        (at == self.types.len()).then_some(offsets)
    }

    fn kind(&self, at: usize) -> Option<u32> {
        Some(number(self.types, at + 4)? >> 24 & 0x1f)
    }

    fn count(&self, at: usize) -> Option<u32> {
        Some(number(self.types, at + 4)? & 0xffff)
    }

    /// The name whose place stands here.
    fn name(&self, at: usize) -> Option<&'a [u8]> {
        let rest = self.names.get(number(self.types, at)? as usize..)?;
        rest.split(|byte| *byte == 0).next()
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|four| u32::from_ne_bytes(*four))
}

/// Types that are kept get numbers in the order in which they are found.
struct Thinning<'a> {
    types: &'a Types<'a>,
    offsets: &'a [usize],
    names: &'a HashSet<&'a [u8]>,
    kept: Vec<u32>,
    ids: HashMap<u32, u32>,
}

impl Thinning<'_> {
    /// The new number of a type, without its wrappers.
    fn keep(&mut self, old: u32) -> Option<u32> {
        let mut old = old;
        loop {
            if old == 0 {
                return Some(0);
            }
            let at = *self.offsets.get(old as usize - 1)?;
            match self.types.kind(at)? {
                POINTER => old = ANY_POINTER,
                // Only pointers lead to these.
                FUNCTION_PROTOTYPE => return Some(0),
                kind if WRAPPERS.contains(&kind) => {
                    old = number(self.types.types, at + 8)?;
                    continue;
                }
                _ => {}
            }
            break;
        }
        let next = self.kept.len() as u32 + 1;
        let new = *self.ids.entry(old).or_insert(next);
        if new == next {
            self.kept.push(old);
        }
        Some(new)
    }

    /// All that is kept, with what it consists of.
    fn written(mut self) -> Option<Vec<u8>> {
        let (mut types, mut names, mut done) = (Vec::new(), vec![0], 0);
        while let Some(&old) = self.kept.get(done) {
            done += 1;
            match old {
                ANY_POINTER => put(&mut types, &[0, POINTER << 24, 0]),
                _ => self.write(*self.offsets.get(old as usize - 1)?, &mut types, &mut names)?,
            }
        }
        let (types_size, names_size) = (types.len() as u32, names.len() as u32);
        let mut bytes = [MAGIC.to_ne_bytes(), [1, 0]].concat();
        put(&mut bytes, &[HEAD as u32, 0, types_size, types_size, names_size]);
        Some([bytes, types, names].concat())
    }

    fn write(&mut self, at: usize, types: &mut Vec<u8>, names: &mut Vec<u8>) -> Option<()> {
        let source = self.types;
        let field = |n: usize| number(source.types, at + 4 * n);
        let (info, size) = (field(1)?, field(2)?);
        let kind = source.kind(at)?;
        let name = added(names, source.name(at)?);
        match kind {
            INT => put(types, &[name, info, size, field(3)?]),
            FLOAT | FORWARD => put(types, &[name, info, size]),
            ENUM | ENUM64 => put(types, &[name, info & !0xffff, size]),
            ARRAY => {
                let (of, by) = (self.keep(field(3)?)?, self.keep(field(4)?)?);
                put(types, &[name, info, size, of, by, field(5)?]);
            }
            STRUCT | UNION => {
                let mut members = Vec::new();
                for n in 0..source.count(at)? as usize {
                    let member = at + 12 + 12 * n;
                    let own = source.name(member)?;
                    if own.is_empty() || self.names.contains(own) {
                        let of = self.keep(number(source.types, member + 4)?)?;
                        let place = number(source.types, member + 8)?;
                        put(&mut members, &[added(names, own), of, place]);
                    }
                }
                let count = members.len() as u32 / 12;
                put(types, &[name, (info & !0xffff) | count, size]);
                types.extend(members);
            }
            _ => return None,
        }
        Some(())
    }
}

fn put(bytes: &mut Vec<u8>, numbers: &[u32]) {
    numbers.iter().for_each(|number| bytes.extend(number.to_ne_bytes()));
}

/// The place of a name among the names.
fn added(names: &mut Vec<u8>, name: &[u8]) -> u32 {
    if name.is_empty() {
        return 0;
    }
    let place = names.len() as u32;
    names.extend(name);
    names.push(0);
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A description of: 1 int, 2 struct asked { int a; int b; struct { ptr c; }; }, 3 its inner one, 4 pointer to 2,
    /// 5 struct other { int a; }, 6 const 1.
    fn full() -> Vec<u8> {
        let (mut names, mut types) = (vec![0], Vec::new());
        let [int, asked, other, a, b, c] =
            [&b"int"[..], b"asked", b"other", b"a", b"b", b"c"].map(|name| added(&mut names, name));
        put(&mut types, &[int, INT << 24, 4, 32]);
        put(&mut types, &[asked, STRUCT << 24 | 3, 24, a, 6, 0, b, 1, 32, 0, 3, 64]);
        put(&mut types, &[0, STRUCT << 24 | 1, 8, c, 4, 0]);
        put(&mut types, &[0, POINTER << 24, 2]);
        put(&mut types, &[other, STRUCT << 24 | 1, 4, a, 1, 0]);
        put(&mut types, &[0, 10 << 24, 1]);
        let mut bytes = [MAGIC.to_ne_bytes(), [1, 0]].concat();
        put(&mut bytes, &[24, 0, types.len() as u32, types.len() as u32, names.len() as u32]);
        [bytes, types, names].concat()
    }

    #[test]
    fn what_is_asked_for_stays_with_what_it_consists_of() {
        let thin = thinned(&full(), &HashSet::from([&b"asked"[..], b"b", b"c"])).unwrap();
        let types = Types::parse(&thin).unwrap();
        let offsets = types.offsets().unwrap();
        let kinds: Vec<u32> = offsets.iter().map(|at| types.kind(*at).unwrap()).collect();
        assert_eq!(kinds, [STRUCT, INT, STRUCT, POINTER]);
        // The size, and of the members b and the nameless one their types and places.
        let fields: Vec<u32> = (2..9).map(|n| number(types.types, 4 * n).unwrap()).collect();
        assert_eq!((fields[0], fields[2], fields[3], fields[5], fields[6]), (24, 2, 32, 3, 64));
        assert_eq!(types.name(offsets[0]), Some(&b"asked"[..]));
        assert_eq!(types.count(offsets[0]), Some(2));
    }

    #[test]
    fn an_unknown_form_is_not_guessed_at() {
        let names = HashSet::from([&b"asked"[..]]);
        assert_eq!(thinned(b"", &names), None);
        let mut other = full();
        other[0] ^= 1;
        assert_eq!(thinned(&other, &names), None);
        let mut kind = full();
        // The first type gets a kind that does not exist.
        kind[HEAD + 7] = 31;
        assert_eq!(thinned(&kind, &names), None);
    }
}
