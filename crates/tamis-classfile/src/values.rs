//! What one method body does with values that others hold as well: static fields and its parameters.
//!
//! Straight code is followed with a stack on which such values are marked. A body *looks at* a value if
//! it calls a method of the JDK on it that changes nothing, reads an element of an array, compares it,
//! locks it. It *hands it on* if it passes it to a static method. All else *gives it away*: it is stored,
//! returned, passed to anything else, or still on the stack where the code branches; then anything may
//! happen to it.
//!
//! Of a static initialiser it is also known which fields of the class get a value that nothing else has: a
//! collection or an array that is made there, filled there, and put into that one field.

mod jdk;

use crate::class::{ClassFile, Member};
use crate::code::instruction_length;
use crate::pool::{MemberRef, Tag};
use crate::reader::Malformed;
use crate::slots;
use jdk::{COLLECTIONS, READS, VIEWS, is_jdk, makes, only_looks};

/// A value that others may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source<'a> {
    /// A static field: the class that it is named by, and its name.
    Static(&'a [u8], &'a [u8]),
    /// The parameter in this slot of the locals; only of static methods.
    Parameter(u16),
    /// Made by this body, at this position; only in static initialisers.
    Made(u32),
}

/// A static method that a value is passed to, and the slot of the locals that it gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandedOn<'a> {
    pub method: MemberRef<'a>,
    pub slot: u16,
}

/// What a static field was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fresh {
    /// Whether who has it can put other things into it.
    pub can_change: bool,
    /// Whether there is nothing in it for ever.
    pub is_empty: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ValueUses<'a> {
    pub given_away: Vec<Source<'a>>,
    pub handed_on: Vec<(Source<'a>, HandedOn<'a>)>,
    /// Static fields of this class, by name.
    pub fresh: Vec<(&'a [u8], Fresh)>,
}

/// What a method's body does with values; `None` where it has none.
pub fn value_uses<'a>(
    class: &ClassFile<'a>,
    method: &Member<'a>,
) -> Result<Option<ValueUses<'a>>, Malformed> {
    let Some(code) = class.code(method)? else { return Ok(None) };
    let parameters = if method.access & crate::flags::STATIC != 0 {
        slots::of_parameters(method.descriptor).unwrap_or_default().iter().sum()
    } else {
        0
    };
    let mut walk = Walk {
        class,
        fills: method.name == b"<clinit>",
        parameters,
        code: code.bytes,
        stores: vec![0; usize::from(code.max_locals)],
        locals: vec![None; usize::from(code.max_locals)],
        loads_of_iterators: Vec::new(),
        stack: Vec::new(),
        put: Vec::new(),
        changes_by_iterator: false,
        uses: ValueUses::default(),
    };
    walk.count_stores()?;
    walk.run()?;
    Ok(Some(walk.finish()))
}

/// A marked value on the stack or in a local.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark<'a> {
    source: Source<'a>,
    fresh: Fresh,
}

struct Walk<'a, 'c> {
    class: &'c ClassFile<'a>,
    /// Whether this body is the one that gives the static fields of the class their values.
    fills: bool,
    parameters: u16,
    code: &'a [u8],
    /// How often each local is written.
    stores: Vec<u32>,
    /// Values in locals that are written once.
    locals: Vec<Option<Mark<'a>>>,
    /// Locals that hold an iterator over a marked value.
    loads_of_iterators: Vec<(u16, Source<'a>)>,
    stack: Vec<Option<Mark<'a>>>,
    put: Vec<(&'a [u8], Mark<'a>)>,
    changes_by_iterator: bool,
    uses: ValueUses<'a>,
}

const CHANGEABLE: Fresh = Fresh { can_change: true, is_empty: false };

impl<'a> Walk<'a, '_> {
    fn byte(&self, at: usize) -> Result<u8, Malformed> {
        self.code.get(at).copied().ok_or(Malformed { at, what: "code that ends too early" })
    }

    fn short(&self, at: usize) -> Result<u16, Malformed> {
        Ok(u16::from_be_bytes([self.byte(at)?, self.byte(at + 1)?]))
    }

    /// The local that an instruction loads or stores an object in.
    fn local(&self, pc: usize, plain: u8, first_short: u8) -> Result<Option<u16>, Malformed> {
        let op = self.byte(pc)?;
        Ok(match op {
            196 if self.byte(pc + 1)? == plain => Some(self.short(pc + 2)?),
            _ if op == plain => Some(u16::from(self.byte(pc + 1)?)),
            _ if (first_short..first_short + 4).contains(&op) => Some(u16::from(op - first_short)),
            _ => None,
        })
    }

    fn loaded(&self, pc: usize) -> Result<Option<u16>, Malformed> {
        self.local(pc, 25, 42)
    }

    fn stored(&self, pc: usize) -> Result<Option<u16>, Malformed> {
        self.local(pc, 58, 75)
    }

    fn count_stores(&mut self) -> Result<(), Malformed> {
        let mut pc = 0;
        while pc < self.code.len() {
            if let Some(local) = self.stored(pc)?
                && let Some(count) = self.stores.get_mut(usize::from(local))
            {
                *count += 1;
            }
            pc = pc.saturating_add(instruction_length(self.code, pc)?);
        }
        Ok(())
    }

    fn give_away(&mut self, mark: Option<Mark<'a>>) {
        if let Some(mark) = mark {
            self.uses.given_away.push(mark.source);
        }
    }

    fn pop(&mut self) -> Option<Mark<'a>> {
        self.stack.pop().flatten()
    }

    /// Takes values that are not followed any further, and need not be.
    fn discard(&mut self, slots: u16) {
        self.stack.truncate(self.stack.len().saturating_sub(usize::from(slots)));
    }

    fn push(&mut self, mark: Option<Mark<'a>>) {
        self.stack.push(mark);
    }

    fn push_plain(&mut self, slots: u16) {
        (0..slots).for_each(|_| self.stack.push(None));
    }

    /// The code goes on at several places: what is on the stack is no longer followed.
    fn branch(&mut self) {
        for mark in std::mem::take(&mut self.stack) {
            self.give_away(mark);
        }
    }

    fn run(&mut self) -> Result<(), Malformed> {
        let mut pc = 0;
        while pc < self.code.len() {
            let next = pc.saturating_add(instruction_length(self.code, pc)?);
            self.instruction(pc, next)?;
            pc = next;
        }
        Ok(())
    }

    fn instruction(&mut self, pc: usize, next: usize) -> Result<(), Malformed> {
        if let Some(local) = self.loaded(pc)? {
            let mark = self.in_local(local);
            self.push(mark);
            if self.loads_of_iterators.iter().any(|(l, _)| *l == local) && !self.is_walk(next)? {
                self.iterator_escapes(local);
            }
            return Ok(());
        }
        if let Some(local) = self.stored(pc)? {
            let mark = self.pop();
            return self.store(local, mark);
        }
        match self.byte(pc)? {
            // An element; its base is below the index.
            op @ 46..=53 => {
                self.discard(2);
                self.push_plain(if matches!(op, 47 | 49) { 2 } else { 1 });
            }
            // Into an array that this body has made.
            op @ 79..=86 => {
                let value = self.pop();
                self.give_away(value);
                if matches!(op, 80 | 82) {
                    self.pop();
                }
                self.pop();
                let base = self.pop();
                if !matches!(base, Some(Mark { source: Source::Made(_), .. })) {
                    self.give_away(base);
                }
            }
            87 => self.discard(1),
            88 => self.discard(2),
            89 => {
                let top = self.pop();
                self.push(top);
                self.push(top);
            }
            op @ 90..=95 => self.shuffle(op),
            153..=158 | 198 | 199 => {
                self.pop();
                self.branch();
            }
            159..=166 => {
                self.discard(2);
                self.branch();
            }
            167..=171 | 200 | 201 => self.branch(),
            172..=177 | 191 => {
                self.branch();
            }
            op @ 178..=181 => self.field(op, self.short(pc + 1)?)?,
            op @ 182..=185 => self.call(pc, next, op, self.short(pc + 1)?)?,
            186 => {
                let site = self.class.pool.dynamic(self.short(pc + 1)?)?;
                let (taken, given) = slots::of_method(site.descriptor).unwrap_or((u16::MAX, 0));
                for _ in 0..taken.min(self.stack.len() as u16) {
                    let argument = self.pop();
                    self.give_away(argument);
                }
                self.push_plain(given);
            }
            187 => {
                let made = self.class.pool.class_name(self.short(pc + 1)?)?;
                let fresh = match made {
                    // To be locked, or to be distinguished from all others.
                    b"java/lang/Object" => Some(Fresh { can_change: false, is_empty: true }),
                    _ => COLLECTIONS.contains(&made).then_some(CHANGEABLE),
                };
                self.make(pc, fresh);
            }
            188 | 189 => {
                self.pop();
                self.make(pc, Some(CHANGEABLE));
            }
            197 => {
                self.discard(u16::from(self.byte(pc + 3)?));
                self.make(pc, Some(CHANGEABLE));
            }
            // A cast gives the same value; so the mark stays.
            192 => {}
            // Its length, whether it is of a type.
            190 | 193 => {
                self.pop();
                self.push(None);
            }
            194 | 195 => self.discard(1),
            op => {
                let op = if op == 196 { self.byte(pc + 1)? } else { op };
                let (taken, given) = slots::of_plain(op);
                for _ in 0..taken {
                    let value = self.pop();
                    self.give_away(value);
                }
                self.push_plain(given);
            }
        }
        Ok(())
    }

    fn in_local(&self, local: u16) -> Option<Mark<'a>> {
        let written = self.stores.get(usize::from(local)).copied().unwrap_or(u32::MAX);
        if local < self.parameters && written == 0 {
            return Some(Mark { source: Source::Parameter(local), fresh: CHANGEABLE });
        }
        self.locals.get(usize::from(local)).copied().flatten()
    }

    fn store(&mut self, local: u16, mark: Option<Mark<'a>>) -> Result<(), Malformed> {
        let once = self.stores.get(usize::from(local)) == Some(&1);
        match mark {
            Some(Mark { source: Source::Made(_), .. }) if once => {
                self.locals[usize::from(local)] = mark;
            }
            other => self.give_away(other),
        }
        Ok(())
    }

    /// Swaps and deep copies: what is marked among the values concerned is no longer followed.
    fn shuffle(&mut self, op: u8) {
        let (taken, given) = match op {
            90 => (2, 3),
            91 => (3, 4),
            92 => (2, 4),
            93 => (3, 5),
            94 => (4, 6),
            _ => (2, 2),
        };
        for _ in 0..taken {
            let value = self.pop();
            self.give_away(value);
        }
        self.push_plain(given);
    }

    fn make(&mut self, pc: usize, fresh: Option<Fresh>) {
        let fresh = fresh.filter(|_| self.fills);
        self.push(fresh.map(|fresh| Mark { source: Source::Made(pc as u32), fresh }));
    }

    fn field(&mut self, op: u8, index: u16) -> Result<(), Malformed> {
        let field = self.class.pool.member(index)?;
        let size = slots::of_type(field.descriptor);
        let is_object = matches!(field.descriptor.first(), Some(b'L' | b'['));
        match op {
            178 if is_object => {
                let source = Source::Static(field.class, field.name);
                self.push(Some(Mark { source, fresh: CHANGEABLE }));
            }
            178 => self.push_plain(size),
            179 => {
                let value = self.pop();
                if size == 2 {
                    self.pop();
                }
                match value {
                    Some(mark @ Mark { source: Source::Made(_), .. })
                        if field.class == self.class.name =>
                    {
                        self.put.push((field.name, mark));
                    }
                    other => self.give_away(other),
                }
            }
            180 => {
                let base = self.pop();
                self.give_away(base);
                self.push_plain(size);
            }
            _ => {
                for _ in 0..=size {
                    let value = self.pop();
                    self.give_away(value);
                }
            }
        }
        Ok(())
    }

    fn call(&mut self, pc: usize, next: usize, op: u8, index: u16) -> Result<(), Malformed> {
        let method = self.class.pool.member(index)?;
        let sizes = slots::of_parameters(method.descriptor).unwrap_or_default();
        let mut arguments = Vec::with_capacity(sizes.len());
        let mut slot: u16 = sizes.iter().sum();
        for &size in sizes.iter().rev() {
            slot -= size;
            self.discard(size - 1);
            arguments.push((slot, self.pop()));
        }
        let given = slots::of_method(method.descriptor).map_or(1, |(_, given)| given);
        if op == 184 {
            return self.static_call(pc, &method, arguments, given);
        }
        for (_, argument) in arguments {
            self.give_away(argument);
        }
        let Some(receiver) = self.pop() else {
            self.note_iterator(&method);
            self.push_plain(given);
            return Ok(());
        };
        let on_jdk = is_jdk(method.class) || method.class.starts_with(b"[");
        if on_jdk && VIEWS.contains(&method.name) && method.descriptor.starts_with(b"()") {
            self.push(Some(receiver));
            return Ok(());
        }
        let is_filling = self.fills
            && match receiver.source {
                Source::Static(class, _) => class == self.class.name,
                Source::Made(_) => true,
                Source::Parameter(_) => false,
            };
        let reads = READS.contains(&method.name)
            || (method.class.starts_with(b"[") && method.name == b"clone");
        if on_jdk && method.name == b"iterator" && self.is_walked(next, receiver.source)? {
            // Its uses are looked at where they are.
        } else if !on_jdk || !(reads || is_filling) {
            self.give_away(Some(receiver));
        }
        self.push_plain(given);
        Ok(())
    }

    fn static_call(
        &mut self,
        pc: usize,
        method: &MemberRef<'a>,
        arguments: Vec<(u16, Option<Mark<'a>>)>,
        given: u16,
    ) -> Result<(), Malformed> {
        let wraps =
            method.class == b"java/util/Collections" && method.name.starts_with(b"unmodifiable");
        let lists = method.class == b"java/util/Arrays" && method.name == b"asList";
        if let (true, [(_, Some(mark))]) = (wraps || lists, arguments.as_slice())
            && matches!(mark.source, Source::Made(_))
        {
            let fresh = Fresh { can_change: !wraps && mark.fresh.can_change, ..mark.fresh };
            self.push(Some(Mark { fresh, ..*mark }));
            return Ok(());
        }
        let fresh = makes(method).or_else(|| {
            let values = method.class == self.class.name && method.name == b"$values";
            values.then_some(CHANGEABLE)
        });
        for (slot, argument) in arguments {
            let Some(mark) = argument else { continue };
            // A copy of an array that was made for the call.
            let copied = fresh.is_some() && matches!(mark.source, Source::Made(_));
            if copied || only_looks(method) {
                continue;
            }
            if is_jdk(method.class) {
                self.give_away(Some(mark));
            } else {
                self.uses.handed_on.push((mark.source, HandedOn { method: *method, slot }));
            }
        }
        match fresh {
            Some(_) => self.make(pc, fresh),
            None => self.push_plain(given),
        }
        Ok(())
    }

    // --- iterators ---------------------------------------------------------------------------

    /// Whether an iterator goes into a local of its own, to be walked.
    fn is_walked(&mut self, next: usize, over: Source<'a>) -> Result<bool, Malformed> {
        if next >= self.code.len() {
            return Ok(false);
        }
        let Some(local) = self.stored(next)? else { return Ok(false) };
        // Places that were followed before would not be looked at again.
        let seen_before = self.loads_before(local, next)?;
        self.loads_of_iterators.push((local, over));
        Ok(!seen_before)
    }

    fn loads_before(&self, local: u16, end: usize) -> Result<bool, Malformed> {
        let mut pc = 0;
        while pc < end {
            let next = pc.saturating_add(instruction_length(self.code, pc)?);
            if self.loaded(pc)? == Some(local) && !self.is_walk(next)? {
                return Ok(true);
            }
            pc = next;
        }
        Ok(false)
    }

    /// Whether the instruction there asks an iterator for its next element.
    fn is_walk(&self, pc: usize) -> Result<bool, Malformed> {
        if pc >= self.code.len() || self.byte(pc)? != 185 {
            return Ok(false);
        }
        let method = self.class.pool.member(self.short(pc + 1)?)?;
        Ok(method.class == b"java/util/Iterator" && matches!(method.name, b"hasNext" | b"next"))
    }

    fn iterator_escapes(&mut self, local: u16) {
        let over = self.loads_of_iterators.iter().filter(|(l, _)| *l == local);
        self.uses.given_away.extend(over.map(|(_, source)| *source));
    }

    fn note_iterator(&mut self, method: &MemberRef<'_>) {
        let owner = matches!(
            method.class,
            b"java/util/Iterator" | b"java/util/ListIterator" | b"java/util/Map$Entry"
        );
        self.changes_by_iterator |=
            owner && matches!(method.name, b"remove" | b"set" | b"add" | b"setValue");
    }

    // --- the end -----------------------------------------------------------------------------

    fn finish(mut self) -> ValueUses<'a> {
        if self.changes_by_iterator {
            let walked = self.loads_of_iterators.iter().map(|(_, source)| *source);
            self.uses.given_away.extend(walked);
        }
        let handed = self.uses.handed_on.iter().map(|(source, _)| *source);
        let kept: Vec<_> = self
            .put
            .iter()
            .filter(|(name, mark)| {
                let puts_into = self.put.iter().filter(|(other, _)| other == name).count();
                let puts_of = self.put.iter().filter(|(_, m)| m.source == mark.source).count();
                let alone = (puts_into, puts_of) == (1, 1);
                let own = || {
                    !self.uses.given_away.contains(&mark.source)
                        && !handed.clone().any(|source| source == mark.source)
                };
                alone && (mark.fresh.is_empty && !mark.fresh.can_change || own())
            })
            .map(|(name, mark)| (*name, mark.fresh))
            .collect();
        self.uses.fresh = kept;
        let is_known = |source: &Source<'_>| !matches!(source, Source::Made(_));
        self.uses.given_away.retain(is_known);
        self.uses.handed_on.retain(|(source, _)| is_known(source));
        self.uses.given_away.sort_unstable_by_key(key);
        self.uses.given_away.dedup();
        // A handle to a field can be used in any way.
        let pool = &self.class.pool;
        for (at, tag) in pool.entries() {
            if tag == Tag::MethodHandle
                && let Ok((kind, member)) = pool.handle(at)
                && kind <= 4
                && let Ok(field) = pool.member(member)
            {
                self.uses.given_away.push(Source::Static(field.class, field.name));
            }
        }
        self.uses
    }
}

fn key<'a>(source: &Source<'a>) -> (&'a [u8], &'a [u8], u32) {
    match *source {
        Source::Static(class, name) => (class, name, 0),
        Source::Parameter(slot) => (b"", b"", u32::from(slot)),
        Source::Made(at) => (b"", b"", at),
    }
}
