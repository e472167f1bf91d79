//! From the instructions of a method to its operations.
//!
//! The stack and the locals are followed with one variable per value. Every place that a jump leads to
//! gets variables of its own for all that is there, and each way into it copies; what such copies do not
//! need is removed again ([`Body::simplify`]). A handler starts with what the locals hold anywhere in the
//! code that it guards. What is caught comes from one common pool of all thrown objects, by its class.

mod instruction;
mod operations;
mod positions;
mod scan;
mod state;

use crate::body::{Body, NO_VAR, Op, Var, is_var};
use crate::descriptor::Slot;
use crate::program::{ClassId, ClassKind, MethodId, NONE, Program, SelectorId};
use rustc_hash::FxHashSet;
use state::State;
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

/// The places that jumps and handlers lead to.
struct Ways {
    /// Per position whether a jump leads there.
    leader: Vec<bool>,
    /// Per position what is there, where a way led there.
    entries: Vec<Option<State>>,
    /// Reached, and not followed yet.
    todo: Vec<usize>,
    /// Where subroutines return to.
    jsr_returns: Vec<usize>,
    /// Handlers with what they are known to catch.
    caught: FxHashSet<(usize, ClassId)>,
}

impl Ways {
    fn new(len: usize) -> Self {
        Self {
            leader: vec![false; len + 1],
            entries: vec![None; len + 1],
            todo: Vec::new(),
            jsr_returns: Vec::new(),
            caught: FxHashSet::default(),
        }
    }
}

/// What lets code do things with constants of the method that its instructions do not show.
#[derive(Default)]
struct Unseen<'u> {
    /// Class literals and strings, for reflection.
    literals: Vec<ClassId>,
    texts: Vec<&'u [u8]>,
    /// Results of calls that make objects by reflection.
    reflected: Vec<Var>,
    /// Gives out fields to be written behind the analysis's back.
    opens_fields: bool,
    /// Looks for providers of the services that its class literals name.
    loads_services: bool,
}

pub(crate) struct Interpreter<'p, 'u> {
    pub(crate) program: &'p mut Program<'u>,
    pub(crate) file: Rc<ClassFile<'u>>,
    pub(crate) class: ClassId,
    pub(crate) body: Body,
    constants: Vec<u32>,
    code: RawCode<'u>,
    ways: Ways,
    pub(crate) state: State,
    /// All strings, and all class literals, once there is one.
    string: Var,
    literal: Var,
    unseen: Unseen<'u>,
}

impl<'u> Program<'u> {
    /// What a method does when it runs, which is nothing where it has no code. `None`, with a problem reported,
    /// where the code is not understood.
    pub(crate) fn body_to_run(&mut self, method: MethodId, wanted: Wanted) -> Option<Rc<Body>> {
        if self.methods[method as usize].is(flags::NATIVE) {
            return Some(self.native_body(method));
        }
        match self.body(method, wanted) {
            Ok(body) => Some(body.unwrap_or_default()),
            Err(error) => {
                let name = self.method_display(method);
                self.problems.push(format!("method {name}: {error}"));
                None
            }
        }
    }

    /// What a method does; `None` where it has no code.
    pub(crate) fn body(&mut self, method: MethodId, wanted: Wanted) -> Read<Option<Rc<Body>>> {
        if let Some(body) = self.made_up.get(&method) {
            return Ok(Some(Rc::clone(body)));
        }
        let found = &self.methods[method as usize];
        let (class, index, selector) = (found.class, found.index as usize, found.selector);
        let is_static = found.is(flags::STATIC);
        let ClassKind::File(loaded) = &mut self.classes[class as usize].kind else {
            return Ok(None);
        };
        let file = Rc::clone(&loaded.file);
        let Some(member) = file.methods.get(index) else { return Ok(None) };
        let Some(code) = file.code(member)? else { return Ok(None) };
        let mut constants = std::mem::take(&mut loaded.constants);
        if constants.is_empty() {
            constants.resize(file.pool.len(), NONE);
        }
        // Places matter only where values are followed.
        let len = if wanted.flow { code.bytes.len() } else { 0 };
        let mut interpreter = Interpreter {
            program: self,
            file,
            class,
            body: Body::default(),
            constants,
            code,
            ways: Ways::new(len),
            state: State::default(),
            string: NO_VAR,
            literal: NO_VAR,
            unseen: Unseen::default(),
        };
        let read = match wanted.flow {
            true => interpreter.follow(selector, is_static),
            false => interpreter.scan(),
        };
        let done = read.map(|()| interpreter.add_unseen(wanted));
        let (body, constants) = (interpreter.body, interpreter.constants);
        if let ClassKind::File(loaded) = &mut self.classes[class as usize].kind {
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
    /// Follows values through the code.
    fn follow(&mut self, selector: SelectorId, is_static: bool) -> Read<()> {
        self.find_leaders()?;
        let shape = Rc::clone(&self.program.selectors[selector].shape);
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
        while let Some(at) = self.ways.todo.pop() {
            self.block(at)?;
        }
        Ok(())
    }

    /// What the constants of the method let code do that is not seen.
    fn add_unseen(&mut self, wanted: Wanted) {
        if self.unseen.opens_fields && wanted.flow {
            let (classes, names) = (self.unseen.literals.clone(), self.unseen.texts.clone());
            self.program.open_fields(&classes, &names);
        }
        if self.unseen.loads_services {
            for service in self.unseen.literals.clone() {
                for class in self.program.providers(service) {
                    self.body.ops.push(Op::Reflect { dst: NO_VAR, class });
                }
            }
        }
        if wanted.reflection && !self.unseen.reflected.is_empty() {
            self.reflect();
        }
    }

    /// Objects that reflection with constants of this method can make.
    fn reflect(&mut self) {
        let mut classes = std::mem::take(&mut self.unseen.literals);
        for text in std::mem::take(&mut self.unseen.texts) {
            let name: Vec<u8> = text.iter().map(|&b| if b == b'.' { b'/' } else { b }).collect();
            classes.extend(self.program.class_named(&name));
        }
        classes.sort_unstable();
        classes.dedup();
        for class in classes {
            for &dst in &self.unseen.reflected {
                self.body.ops.push(Op::Reflect { dst, class });
            }
        }
    }

    /// A way into a place that others lead to as well.
    fn merge(&mut self, at: usize, from: &State) -> Read<()> {
        let Some(entry) = self.ways.entries.get_mut(at) else {
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
            self.ways.todo.push(at);
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
            let known = self.ways.entries.get(at).and_then(Option::as_ref);
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
            if self.ways.caught.insert((at, class)) {
                self.body.ops.push(Op::Catch { dst: exception, class });
            }
        }
        Ok(())
    }

    /// Runs from a leader to the next place that is one, or to where the code does not go on.
    fn block(&mut self, start: usize) -> Read<()> {
        let Some(state) = self.ways.entries.get(start).and_then(Clone::clone) else {
            return Ok(());
        };
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
                for at in self.ways.jsr_returns.clone() {
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
            if self.ways.leader[pc] {
                let state = std::mem::take(&mut self.state);
                return self.merge(pc, &state);
            }
        }
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

    /// The constant that one of the three instructions for them puts on the stack.
    fn constant_of(&mut self, pc: usize, op: u8) -> Read<()> {
        let index = match op {
            18 => u16::from(self.byte(pc + 1)?),
            _ => self.short(pc + 1)?,
        };
        match self.file.pool.tag(index) {
            Some(Tag::String) => {
                self.unseen.texts.push(self.file.pool.string(index)?);
                let string = self.string_var();
                self.state.push(string);
            }
            Some(Tag::Class) => {
                let class = self.class_constant(index)?;
                self.unseen.literals.push(class);
                if self.program.classes[class as usize].is(flags::ENUM) {
                    self.body.ops.push(Op::Initialise { class });
                }
                if self.literal == NO_VAR {
                    self.literal = self.body.new_var();
                    let class = self.program.known.class;
                    self.body.ops.push(Op::Shared { dst: self.literal, class });
                }
                self.state.push(self.literal);
            }
            Some(Tag::Integer | Tag::Float) => self.state.push(NO_VAR),
            Some(Tag::Long | Tag::Double) => self.state.push_slot(Slot::Wide, NO_VAR),
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
        self.state.push(var);
    }
}
