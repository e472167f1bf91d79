//! From the instructions of a method to its operations.
//!
//! The stack and the locals are followed with one variable per value. Every place that a jump leads to
//! gets variables of its own for all that is there, and each way into it copies; what such copies do not
//! need is removed again ([`Body::simplify`]). A handler starts with what the locals hold anywhere in the
//! code that it guards. What is caught comes from one common pool of all thrown objects, by its class.

use crate::body::{Body, CallKind, NO_VAR, NULL, Op, Var, is_var};
use crate::descriptor::Slot;
use crate::program::{ClassId, Kind, MethodId, NONE, Program, SelectorId};
use rustc_hash::FxHashSet;
use std::rc::Rc;
use tamis_classfile::{ClassFile, Malformed, RawCode, Tag, flags};

/// Why a body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("{0}")]
    File(Malformed),
    #[error("{0}")]
    Code(&'static str),
}

impl From<Malformed> for Unreadable {
    fn from(error: Malformed) -> Self {
        Self::File(error)
    }
}

pub(crate) type Read<T> = Result<T, Unreadable>;

/// How a body is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Variables matter: copies are reduced to those that say something.
    pub(crate) flow: bool,
    /// Reflection with constants becomes operations.
    pub(crate) reflection: bool,
}

#[derive(Debug, Clone, Default)]
struct State {
    locals: Vec<Var>,
    stack: Vec<Var>,
}

pub(crate) struct Interpreter<'p, 'u> {
    pub(crate) program: &'p mut Program<'u>,
    pub(crate) file: Rc<ClassFile<'u>>,
    pub(crate) class: ClassId,
    pub(crate) body: Body,
    constants: Vec<u32>,
    code: RawCode<'u>,
    /// Per position whether a jump leads there.
    leader: Vec<bool>,
    entries: Vec<Option<State>>,
    todo: Vec<usize>,
    jsr_returns: Vec<usize>,
    state: State,
    string: Var,
    literal: Var,
    /// Class literals and strings, for reflection.
    literals: Vec<ClassId>,
    texts: Vec<&'u [u8]>,
    /// Results of calls that make objects by reflection.
    reflected: Vec<Var>,
    /// Handlers with what they are known to catch.
    caught: FxHashSet<(usize, ClassId)>,
    /// Gives out fields to be written behind the analysis's back.
    opens_fields: bool,
}

impl<'u> Program<'u> {
    /// What a method does; `None` where it has no code.
    pub(crate) fn body(&mut self, method: MethodId, wanted: Wanted) -> Read<Option<Rc<Body>>> {
        if let Some(body) = self.made_up.get(&method) {
            return Ok(Some(Rc::clone(body)));
        }
        let found = &self.methods[method as usize];
        let (class, index, selector) = (found.class, found.index as usize, found.selector);
        let is_static = found.is(flags::STATIC);
        let Kind::File(loaded) = &mut self.classes[class as usize].kind else { return Ok(None) };
        let file = Rc::clone(&loaded.file);
        let Some(member) = file.methods.get(index) else { return Ok(None) };
        let Some(code) = file.code(member)? else { return Ok(None) };
        let mut constants = std::mem::take(&mut loaded.constants);
        if constants.is_empty() {
            constants.resize(file.pool.len(), NONE);
        }
        let len = code.bytes.len();
        let mut interpreter = Interpreter {
            program: self,
            file,
            class,
            body: Body::default(),
            constants,
            code,
            leader: vec![false; len + 1],
            entries: vec![None; len + 1],
            todo: Vec::new(),
            jsr_returns: Vec::new(),
            state: State::default(),
            string: NO_VAR,
            literal: NO_VAR,
            literals: Vec::new(),
            texts: Vec::new(),
            reflected: Vec::new(),
            caught: FxHashSet::default(),
            opens_fields: false,
        };
        let done = interpreter.run(selector, is_static, wanted.reflection);
        let (body, constants) = (interpreter.body, interpreter.constants);
        if let Kind::File(loaded) = &mut self.classes[class as usize].kind {
            loaded.constants = constants;
        }
        done?;
        let mut body = body;
        if wanted.flow {
            body.simplify();
        }
        Ok(Some(Rc::new(body)))
    }
}

impl<'u> Interpreter<'_, 'u> {
    fn run(&mut self, selector: SelectorId, is_static: bool, reflection: bool) -> Read<()> {
        self.find_leaders()?;
        let shape = Rc::clone(&self.program.selectors[selector as usize].shape);
        let mut locals = vec![NO_VAR; usize::from(self.code.max_locals)];
        let mut at = 0;
        let mut put = |body: &mut Body, slot: Slot| {
            let var = if slot == Slot::Reference { body.new_var() } else { NO_VAR };
            body.parameters.push(var);
            if let Some(place) = locals.get_mut(at) {
                *place = var;
            }
            at += if slot == Slot::Wide { 2 } else { 1 };
        };
        if !is_static {
            put(&mut self.body, Slot::Reference);
        }
        for &slot in &shape.parameters {
            put(&mut self.body, slot);
        }
        let start = State { locals, stack: Vec::new() };
        self.merge(0, &start)?;
        while let Some(at) = self.todo.pop() {
            self.block(at)?;
        }
        if self.opens_fields {
            let (classes, names) = (self.literals.clone(), self.texts.clone());
            self.program.open_fields(&classes, &names);
        }
        if reflection && !self.reflected.is_empty() {
            self.reflect();
        }
        Ok(())
    }

    /// Objects that reflection with constants of this method can make.
    fn reflect(&mut self) {
        let mut classes = std::mem::take(&mut self.literals);
        for text in std::mem::take(&mut self.texts) {
            let name: Vec<u8> = text.iter().map(|&b| if b == b'.' { b'/' } else { b }).collect();
            classes.extend(self.program.class_named(&name));
        }
        classes.sort_unstable();
        classes.dedup();
        for class in classes {
            for &dst in &self.reflected {
                self.body.ops.push(Op::Reflect { dst, class });
            }
        }
    }

    fn byte(&self, at: usize) -> Read<u8> {
        self.code.bytes.get(at).copied().ok_or(Unreadable::Code("code ends inside an instruction"))
    }

    fn short(&self, at: usize) -> Read<u16> {
        Ok(u16::from_be_bytes([self.byte(at)?, self.byte(at + 1)?]))
    }

    fn int(&self, at: usize) -> Read<i32> {
        let high = i32::from(self.short(at)?.cast_signed());
        Ok(high << 16 | i32::from(self.short(at + 2)?))
    }

    /// Where a jump leads.
    fn target(&self, pc: usize, offset: i32) -> Read<usize> {
        usize::try_from(pc as i64 + i64::from(offset))
            .ok()
            .filter(|&to| to < self.code.bytes.len())
            .ok_or(Unreadable::Code("jump out of the code"))
    }

    /// The instruction's length and where it jumps to.
    fn decode(&self, pc: usize, targets: &mut Vec<usize>) -> Read<usize> {
        targets.clear();
        let op = self.byte(pc)?;
        let padded = (pc + 4) & !3;
        Ok(match op {
            16 | 18 | 21..=25 | 54..=58 | 169 | 188 => 2,
            17 | 19 | 20 | 132 | 178..=184 | 187 | 189 | 192 | 193 => 3,
            153..=168 | 198 | 199 => {
                let offset = i32::from(self.short(pc + 1)?.cast_signed());
                targets.push(self.target(pc, offset)?);
                3
            }
            197 => 4,
            185 | 186 => 5,
            200 | 201 => {
                targets.push(self.target(pc, self.int(pc + 1)?)?);
                5
            }
            196 => {
                if self.byte(pc + 1)? == 132 {
                    6
                } else {
                    4
                }
            }
            170 => {
                targets.push(self.target(pc, self.int(padded)?)?);
                let (low, high) = (self.int(padded + 4)?, self.int(padded + 8)?);
                let cases = i64::from(high) - i64::from(low) + 1;
                if !(0..=self.code.bytes.len() as i64).contains(&cases) {
                    return Err(Unreadable::Code("switch with an impossible number of cases"));
                }
                for case in 0..cases as usize {
                    targets.push(self.target(pc, self.int(padded + 12 + 4 * case)?)?);
                }
                padded + 12 + 4 * cases as usize - pc
            }
            171 => {
                targets.push(self.target(pc, self.int(padded)?)?);
                let pairs = self.int(padded + 4)?;
                if !(0..=self.code.bytes.len() as i32).contains(&pairs) {
                    return Err(Unreadable::Code("switch with an impossible number of cases"));
                }
                for pair in 0..pairs as usize {
                    targets.push(self.target(pc, self.int(padded + 12 + 8 * pair)?)?);
                }
                padded + 8 + 8 * pairs as usize - pc
            }
            0..=201 => 1,
            _ => return Err(Unreadable::Code("unknown instruction")),
        })
    }

    fn find_leaders(&mut self) -> Read<()> {
        let mut pc = 0;
        let mut targets = Vec::new();
        self.leader[0] = true;
        while pc < self.code.bytes.len() {
            let len = self.decode(pc, &mut targets)?;
            for &target in &targets {
                self.leader[target] = true;
            }
            if matches!(self.code.bytes[pc], 168 | 201) {
                self.jsr_returns.push(pc + len);
                if let Some(leader) = self.leader.get_mut(pc + len) {
                    *leader = true;
                }
            }
            pc += len;
        }
        for handler in &self.code.handlers {
            for at in [handler.start, handler.end, handler.handler] {
                if let Some(leader) = self.leader.get_mut(usize::from(at)) {
                    *leader = true;
                }
            }
        }
        Ok(())
    }

    /// A way into a place that others lead to as well.
    fn merge(&mut self, at: usize, from: &State) -> Read<()> {
        let Some(entry) = self.entries.get_mut(at) else {
            return Err(Unreadable::Code("code that runs out of its end"));
        };
        let (body, first) = (&mut self.body, entry.is_none());
        let entry = entry.get_or_insert_with(|| {
            let fresh = |vars: &[Var], body: &mut Body| -> Vec<Var> {
                vars.iter().map(|&v| if v == NO_VAR { v } else { body.new_var() }).collect()
            };
            State { locals: fresh(&from.locals, body), stack: fresh(&from.stack, body) }
        });
        if entry.stack.len() != from.stack.len() {
            return Err(Unreadable::Code("two ways to one place with different stacks"));
        }
        let pairs =
            entry.locals.iter().chain(&entry.stack).zip(from.locals.iter().chain(&from.stack));
        for (&dst, &src) in pairs {
            if is_var(dst) && is_var(src) && dst != src {
                body.ops.push(Op::Copy { dst, src });
            }
        }
        if first {
            self.todo.push(at);
        }
        Ok(())
    }

    /// The handlers that guard a place.
    fn guards(&self, at: usize) -> Vec<(usize, u16)> {
        self.code
            .handlers
            .iter()
            .filter(|h| (usize::from(h.start)..usize::from(h.end)).contains(&at))
            .map(|h| (usize::from(h.handler), h.caught))
            .collect()
    }

    fn enter_handlers(&mut self, guards: &[(usize, u16)]) -> Read<()> {
        for &(at, caught) in guards {
            let known = self.entries.get(at).and_then(Option::as_ref);
            let exception = match known {
                Some(state) => state.stack.first().copied().unwrap_or(NO_VAR),
                None => self.body.new_var(),
            };
            let state = State { locals: self.state.locals.clone(), stack: vec![exception] };
            self.merge(at, &state)?;
            let class = match caught {
                0 => self.program.known.throwable,
                index => self.class_constant(index)?,
            };
            if self.caught.insert((at, class)) {
                self.body.ops.push(Op::Catch { dst: exception, class });
            }
        }
        Ok(())
    }

    /// Runs from a leader to the next place that is one, or to where the code does not go on.
    fn block(&mut self, start: usize) -> Read<()> {
        let Some(state) = self.entries.get(start).and_then(Clone::clone) else { return Ok(()) };
        self.state = state;
        let guards = self.guards(start);
        self.enter_handlers(&guards)?;
        let (mut pc, mut targets) = (start, Vec::new());
        loop {
            let len = self.decode(pc, &mut targets)?;
            let op = self.code.bytes[pc];
            let goes_on = self.instruction(pc, op)?;
            let stores = matches!(op, 54..=78) || op == 196;
            if stores && !guards.is_empty() {
                self.enter_handlers(&guards)?;
            }
            for &target in &targets {
                let state = std::mem::take(&mut self.state);
                self.merge(target, &state)?;
                self.state = state;
            }
            if op == 169 {
                for at in self.jsr_returns.clone() {
                    let state = std::mem::take(&mut self.state);
                    self.merge(at, &state)?;
                    self.state = state;
                }
            }
            pc += len;
            if !goes_on {
                return Ok(());
            }
            if pc >= self.code.bytes.len() {
                return Err(Unreadable::Code("code that runs out of its end"));
            }
            if self.leader[pc] {
                let state = std::mem::take(&mut self.state);
                return self.merge(pc, &state);
            }
        }
    }

    fn push(&mut self, var: Var) {
        self.state.stack.push(var);
    }

    fn push_slot(&mut self, slot: Slot, var: Var) {
        match slot {
            Slot::None => {}
            Slot::Reference => self.push(var),
            Slot::Number => self.push(NO_VAR),
            Slot::Wide => self.state.stack.extend([NO_VAR, NO_VAR]),
        }
    }

    fn pop(&mut self) -> Read<Var> {
        self.state.stack.pop().ok_or(Unreadable::Code("a value from an empty stack"))
    }

    fn pop_slot(&mut self, slot: Slot) -> Read<Var> {
        match slot {
            Slot::None => Ok(NO_VAR),
            Slot::Wide => {
                self.pop()?;
                self.pop()?;
                Ok(NO_VAR)
            }
            _ => self.pop(),
        }
    }

    /// Takes and puts numbers.
    fn numbers(&mut self, taken: usize, put: usize) -> Read<()> {
        let left = self.state.stack.len().checked_sub(taken);
        let left = left.ok_or(Unreadable::Code("a value from an empty stack"))?;
        self.state.stack.truncate(left);
        self.state.stack.resize(left + put, NO_VAR);
        Ok(())
    }

    fn load(&mut self, local: usize) {
        let var = self.state.locals.get(local).copied().unwrap_or(NO_VAR);
        self.push(var);
    }

    fn store(&mut self, local: usize, wide: bool) -> Read<()> {
        if wide {
            self.pop()?;
        }
        let var = self.pop()?;
        for (at, var) in [(local, if wide { NO_VAR } else { var }), (local + 1, NO_VAR)]
            .into_iter()
            .take(1 + usize::from(wide))
        {
            if let Some(place) = self.state.locals.get_mut(at) {
                *place = var;
            }
        }
        Ok(())
    }

    /// Duplicates the upper `count` values and puts them below `below` more.
    fn duplicate(&mut self, count: usize, below: usize) -> Read<()> {
        let len = self.state.stack.len();
        let (Some(from), Some(to)) = (len.checked_sub(count), len.checked_sub(count + below))
        else {
            return Err(Unreadable::Code("a value from an empty stack"));
        };
        let upper: Vec<Var> = self.state.stack[from..].to_vec();
        self.state.stack.splice(to..to, upper);
        Ok(())
    }

    pub(crate) fn class_constant(&mut self, index: u16) -> Read<ClassId> {
        let place = usize::from(index);
        if let Some(&known) = self.constants.get(place)
            && known != NONE
        {
            return Ok(known);
        }
        let class = self.program.class(self.file.pool.class_name(index)?);
        if let Some(place) = self.constants.get_mut(place) {
            *place = class;
        }
        Ok(class)
    }

    pub(crate) fn member_constant(&mut self, index: u16) -> Read<(ClassId, SelectorId)> {
        let place = usize::from(index);
        if let Some(&known) = self.constants.get(place)
            && known != NONE
        {
            return Ok(self.program.members[known as usize]);
        }
        let member = self.file.pool.member(index)?;
        let class = self.program.class(member.class);
        let selector = self.program.selector_named(member.name, member.descriptor);
        let known = self.program.members.len() as u32;
        self.program.members.push((class, selector));
        if let Some(place) = self.constants.get_mut(place) {
            *place = known;
        }
        Ok((class, selector))
    }

    fn constant(&mut self, index: u16) -> Read<()> {
        match self.file.pool.tag(index) {
            Some(Tag::String) => {
                self.texts.push(self.file.pool.string(index)?);
                let string = self.string_var();
                self.push(string);
            }
            Some(Tag::Class) => {
                let class = self.class_constant(index)?;
                self.literals.push(class);
                if self.literal == NO_VAR {
                    self.literal = self.body.new_var();
                    let class = self.program.known.class;
                    self.body.ops.push(Op::Shared { dst: self.literal, class });
                }
                self.push(self.literal);
            }
            Some(Tag::Integer | Tag::Float) => self.push(NO_VAR),
            Some(Tag::Long | Tag::Double) => self.push_slot(Slot::Wide, NO_VAR),
            Some(Tag::MethodHandle) => {
                self.handle_called_from_outside(index)?;
                self.push_outside();
            }
            Some(Tag::MethodType) => self.push_outside(),
            Some(Tag::Dynamic) => self.dynamic_constant(index)?,
            _ => return Err(Unreadable::Code("a constant that cannot be loaded")),
        }
        Ok(())
    }

    pub(crate) fn pop_value(&mut self) -> Read<Var> {
        self.pop()
    }

    pub(crate) fn pop_number(&mut self, places: usize) -> Read<()> {
        self.numbers(places, 0)
    }

    pub(crate) fn string_var(&mut self) -> Var {
        if self.string == NO_VAR {
            self.string = self.body.new_var();
            let class = self.program.known.string;
            self.body.ops.push(Op::Shared { dst: self.string, class });
        }
        self.string
    }

    pub(crate) fn outside_var(&mut self) -> Var {
        let dst = self.body.new_var();
        self.body.ops.push(Op::Outside { dst });
        dst
    }

    fn push_outside(&mut self) {
        let var = self.outside_var();
        self.push(var);
    }

    /// Pushes what a dynamic constant or call site with this result type gives.
    pub(crate) fn push_result(&mut self, slot: Slot, var: Var) {
        self.push_slot(slot, var);
    }

    /// One instruction; whether the next one can follow it.
    fn instruction(&mut self, pc: usize, op: u8) -> Read<bool> {
        let local = |wide_at: u8, first: u8| usize::from((wide_at - first) % 4);
        match op {
            0 | 116..=119 | 132 | 134 | 138 | 139 | 143 | 145..=147 => {}
            1 => self.push(NULL),
            2..=8 | 11..=13 | 16 | 17 => self.push(NO_VAR),
            9 | 10 | 14 | 15 => self.numbers(0, 2)?,
            18 => {
                let index = u16::from(self.byte(pc + 1)?);
                self.constant(index)?;
            }
            19 | 20 => {
                let index = self.short(pc + 1)?;
                self.constant(index)?;
            }
            21 | 23 | 26..=29 | 34..=37 => self.push(NO_VAR),
            22 | 24 | 30..=33 | 38..=41 => self.numbers(0, 2)?,
            25 => {
                let index = usize::from(self.byte(pc + 1)?);
                self.load(index);
            }
            42..=45 => self.load(local(op, 42)),
            46 | 48 | 51..=53 => self.numbers(2, 1)?,
            47 | 49 => self.numbers(2, 2)?,
            50 => {
                self.pop()?;
                let base = self.pop()?;
                let dst = self.body.new_var();
                if is_var(base) {
                    self.body.ops.push(Op::ArrayGet { dst, base });
                }
                self.push(dst);
            }
            54 | 56 | 58 => {
                let index = usize::from(self.byte(pc + 1)?);
                self.store(index, false)?;
            }
            55 | 57 => {
                let index = usize::from(self.byte(pc + 1)?);
                self.store(index, true)?;
            }
            59..=62 => self.store(local(op, 59), false)?,
            63..=66 => self.store(local(op, 63), true)?,
            67..=70 => self.store(local(op, 67), false)?,
            71..=74 => self.store(local(op, 71), true)?,
            75..=78 => self.store(local(op, 75), false)?,
            79 | 81 | 84..=86 => self.numbers(3, 0)?,
            80 | 82 => self.numbers(4, 0)?,
            83 => {
                let src = self.pop()?;
                self.pop()?;
                let base = self.pop()?;
                if is_var(base) && is_var(src) {
                    self.body.ops.push(Op::ArrayPut { base, src });
                }
            }
            87 | 153..=158 | 170 | 171 | 194 | 195 | 198 | 199 => {
                self.pop()?;
            }
            88 | 159..=166 => self.numbers(2, 0)?,
            89 => self.duplicate(1, 0)?,
            90 => self.duplicate(1, 1)?,
            91 => self.duplicate(1, 2)?,
            92 => self.duplicate(2, 0)?,
            93 => self.duplicate(2, 1)?,
            94 => self.duplicate(2, 2)?,
            95 => {
                let (upper, lower) = (self.pop()?, self.pop()?);
                self.push(upper);
                self.push(lower);
            }
            96..=115 => match op % 2 {
                0 => self.numbers(2, 1)?,
                _ => self.numbers(4, 2)?,
            },
            120 | 122 | 124 | 126 | 128 | 130 => self.numbers(2, 1)?,
            121 | 123 | 125 => self.numbers(3, 2)?,
            127 | 129 | 131 => self.numbers(4, 2)?,
            133 | 135 | 140 | 141 => self.numbers(1, 2)?,
            136 | 137 | 142 | 144 => self.numbers(2, 1)?,
            148 | 151 | 152 => self.numbers(4, 1)?,
            149 | 150 => self.numbers(2, 1)?,
            // What a subroutine returns to is known from its callers.
            168 | 201 => {
                // The address lies on the stack of the subroutine only.
                self.push(NO_VAR);
                return Ok(false);
            }
            167 | 169 | 200 => return Ok(false),
            172 | 174 => {
                self.pop()?;
                return Ok(false);
            }
            173 | 175 => {
                self.numbers(2, 0)?;
                return Ok(false);
            }
            176 => {
                let src = self.pop()?;
                if is_var(src) {
                    self.body.ops.push(Op::Return { src });
                }
                return Ok(false);
            }
            177 => return Ok(false),
            178..=181 => self.field(pc, op)?,
            182..=185 => self.call(pc, op)?,
            186 => {
                let index = self.short(pc + 1)?;
                self.dynamic_call(pc, index)?;
            }
            187 => {
                let class = self.class_constant(self.short(pc + 1)?)?;
                self.new_object(pc, class);
            }
            188 => {
                self.pop()?;
                let number = self.byte(pc + 1)?;
                let class = self.program.number_array(b"IIIIZCFDBSIJ"[usize::from(number.min(11))]);
                self.new_object(pc, class);
            }
            189 => {
                self.pop()?;
                let element = self.class_constant(self.short(pc + 1)?)?;
                let class = self.program.array(element);
                self.new_object(pc, class);
            }
            190 | 193 => self.numbers(1, 1)?,
            191 => {
                let src = self.pop()?;
                if is_var(src) {
                    self.body.ops.push(Op::Throw { src });
                }
                return Ok(false);
            }
            192 => {
                let class = self.class_constant(self.short(pc + 1)?)?;
                let src = self.pop()?;
                if !is_var(src) || class == self.program.known.object {
                    self.push(src);
                } else {
                    let dst = self.body.new_var();
                    self.body.ops.push(Op::Cast { dst, src, class });
                    self.push(dst);
                }
            }
            196 => {
                let index = usize::from(self.short(pc + 2)?);
                match self.byte(pc + 1)? {
                    21 | 23 => self.push(NO_VAR),
                    22 | 24 => self.numbers(0, 2)?,
                    25 => self.load(index),
                    54 | 56 | 58 => self.store(index, false)?,
                    55 | 57 => self.store(index, true)?,
                    169 => return Ok(false),
                    132 => {}
                    _ => return Err(Unreadable::Code("unknown wide instruction")),
                }
            }
            197 => self.nested_arrays(pc)?,
            _ => return Err(Unreadable::Code("unknown instruction")),
        }
        Ok(true)
    }

    fn new_object(&mut self, pc: usize, class: ClassId) {
        let dst = self.body.new_var();
        self.body.ops.push(Op::New { dst, class, site: pc as u32 });
        self.push(dst);
    }

    fn nested_arrays(&mut self, pc: usize) -> Read<()> {
        let class = self.class_constant(self.short(pc + 1)?)?;
        let dimensions = self.byte(pc + 3)?;
        self.numbers(usize::from(dimensions), 0)?;
        self.new_object(pc, class);
        let (mut outer, mut class) = (self.pop()?, class);
        self.push(outer);
        for _ in 1..dimensions {
            let Kind::Array(Some(element)) = self.program.classes[class as usize].kind else {
                break;
            };
            class = element;
            let inner = self.body.new_var();
            self.body.ops.push(Op::New { dst: inner, class, site: pc as u32 });
            self.body.ops.push(Op::ArrayPut { base: outer, src: inner });
            outer = inner;
        }
        Ok(())
    }

    fn field(&mut self, pc: usize, op: u8) -> Read<()> {
        let (owner, selector) = self.member_constant(self.short(pc + 1)?)?;
        let slot = self.program.selectors[selector as usize].shape.result;
        let reference = slot == Slot::Reference;
        let src = if matches!(op, 179 | 181) { self.pop_slot(slot)? } else { NO_VAR };
        let base = if op >= 180 { self.pop()? } else { NO_VAR };
        let dst = if reference { self.body.new_var() } else { NO_VAR };
        if op < 180 {
            self.body.ops.push(Op::Initialise { class: owner });
        }
        if reference {
            let field = self.program.resolve_field(owner, selector);
            match op {
                178 => self.body.ops.push(Op::GetStatic { dst, field }),
                179 if is_var(src) => self.body.ops.push(Op::PutStatic { field, src }),
                180 if is_var(base) => {
                    self.body.ops.push(Op::GetField { dst, base, field, owner });
                }
                181 if is_var(src) && is_var(base) => {
                    self.body.ops.push(Op::PutField { base, field, src, owner });
                }
                _ => {}
            }
        }
        if matches!(op, 178 | 180) {
            self.push_slot(slot, dst);
        }
        Ok(())
    }

    fn call(&mut self, pc: usize, op: u8) -> Read<()> {
        let (class, selector) = self.member_constant(self.short(pc + 1)?)?;
        let kind = match op {
            184 => CallKind::Static,
            183 => CallKind::Special,
            _ => CallKind::Virtual,
        };
        let shape = Rc::clone(&self.program.selectors[selector as usize].shape);
        let mut args = Vec::with_capacity(shape.parameters.len() + 1);
        for &slot in shape.parameters.iter().rev() {
            let arg = self.pop_slot(slot)?;
            args.push(arg);
        }
        if kind != CallKind::Static {
            let receiver = self.pop()?;
            args.push(receiver);
        }
        args.reverse();
        let dst = if shape.result == Slot::Reference { self.body.new_var() } else { NO_VAR };
        self.push_call(kind, class, selector, &args, dst);
        self.push_slot(shape.result, dst);
        Ok(())
    }

    /// A call as an operation, and what else it is known to do.
    pub(crate) fn push_call(
        &mut self,
        kind: CallKind,
        class: ClassId,
        selector: SelectorId,
        args: &[Var],
        dst: Var,
    ) {
        if self.program.makes_objects_by_reflection(class, selector) {
            self.reflected.push(dst);
        }
        // An array's clone is the array, for all that matters here.
        if let Kind::Array(_) = self.program.classes[class as usize].kind
            && let Some(&src) = args.first()
            && is_var(src)
            && is_var(dst)
        {
            self.body.ops.push(Op::Copy { dst, src });
        }
        self.opens_fields |= self.program.selectors[selector as usize].hints.opens;
        let places = self.body.push_args(args);
        self.body.ops.push(Op::Call { kind, class, selector, args: places, dst });
        self.passed_on(class, selector, args);
    }

    /// Code that is not seen runs what is handed to it to be run.
    fn passed_on(&mut self, class: ClassId, selector: SelectorId, args: &[Var]) {
        for (at, class, selector) in self.program.passed_on(class, selector) {
            if let Some(&receiver) = args.get(at)
                && is_var(receiver)
            {
                let args = self.body.push_args(&[receiver]);
                let kind = CallKind::Callback;
                self.body.ops.push(Op::Call { kind, class, selector, args, dst: NO_VAR });
            }
        }
    }
}
