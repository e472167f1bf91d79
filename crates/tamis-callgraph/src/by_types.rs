//! Class hierarchy analysis and rapid type analysis.
//!
//! Both look at receivers by their declared type only: a virtual call on `S` runs what any object below
//! `S` runs. For class hierarchy analysis there may be objects of every class; for rapid type analysis only
//! of those that a method makes which can run. So the first is the second with all classes made from
//! the start; lambdas exist in both from where they are made.
//!
//! All calls of one method on one declared type share a hub.

use crate::analysis_options::{AnalysisOptions, Assumptions, Root};
use crate::body::{CallKind, Op};
use crate::graph::{CallGraph, HUB};
use crate::interpret::Wanted;
use crate::program::{ClassId, ClassKind, MethodId, Program, SelectorId, key};
use rustc_hash::{FxHashMap, FxHashSet};

struct Types<'p, 'u> {
    program: &'p mut Program<'u>,
    wanted: Wanted,
    assumptions: Assumptions,
    reached: Vec<bool>,
    todo: Vec<MethodId>,
    edges: Vec<(u32, u32)>,
    hubs: FxHashMap<u64, u32>,
    /// Hubs by declared type, with their selectors.
    hubs_of: FxHashMap<ClassId, Vec<(u32, SelectorId)>>,
    /// Hubs of missing types, to which any class with a missing supertype may belong.
    open_hubs: Vec<(u32, SelectorId)>,
    made: FxHashSet<ClassId>,
    made_below: FxHashMap<ClassId, Vec<ClassId>>,
    made_incomplete: Vec<ClassId>,
    initialised: FxHashMap<ClassId, Vec<MethodId>>,
    unreadable: Vec<MethodId>,
}

/// `every_class`: class hierarchy analysis.
pub(crate) fn build(
    program: &mut Program<'_>,
    roots: &[Root],
    options: AnalysisOptions,
    every_class: bool,
) -> CallGraph {
    if every_class {
        program.load_all();
    }
    let wanted = Wanted { flow: false, reflection: options.reflection };
    let mut types = Types {
        program,
        wanted,
        assumptions: options.assumptions,
        reached: Vec::new(),
        todo: Vec::new(),
        edges: Vec::new(),
        hubs: FxHashMap::default(),
        hubs_of: FxHashMap::default(),
        open_hubs: Vec::new(),
        made: FxHashSet::default(),
        made_below: FxHashMap::default(),
        made_incomplete: Vec::new(),
        initialised: FxHashMap::default(),
        unreadable: Vec::new(),
    };
    if every_class {
        for class in 0..types.program.classes.len() as ClassId {
            let found = &types.program.classes[class as usize];
            if found.is_concrete() && !matches!(found.kind, ClassKind::Lambda) {
                types.make(class);
            }
        }
    }
    let known = types.program.known;
    for class in [known.string, known.class] {
        types.make(class);
    }
    for class in types.program.thrown_by_jvm() {
        types.make(class);
    }
    for root in roots {
        types.reach(root.method);
        types.make(root.class);
    }
    while let Some(method) = types.todo.pop() {
        types.method(method);
    }
    let Types { program, mut reached, edges, hubs, unreadable, .. } = types;
    reached.resize(program.methods.len(), false);
    CallGraph::new(edges, reached, hubs.len() as u32, unreadable)
}

impl Types<'_, '_> {
    fn reach(&mut self, method: MethodId) {
        if self.reached.len() <= method as usize {
            self.reached.resize(self.program.methods.len().max(method as usize + 1), false);
        }
        if !std::mem::replace(&mut self.reached[method as usize], true) {
            self.todo.push(method);
        }
    }

    fn edge(&mut self, from: u32, to: MethodId) {
        self.edges.push((from, to));
        self.reach(to);
    }

    fn initialise(&mut self, from: MethodId, class: ClassId) {
        let program = &self.program;
        let found =
            self.initialised.entry(class).or_insert_with(|| program.initialisers(class)).clone();
        for initialiser in found {
            if initialiser != from {
                self.edge(from, initialiser);
            }
        }
    }

    /// There may be objects of this class.
    fn make(&mut self, class: ClassId) {
        if !self.made.insert(class) {
            return;
        }
        let found = &self.program.classes[class as usize];
        let (supers, incomplete) = (found.supers.clone(), found.incomplete);
        let mut calls = Vec::new();
        for above in supers {
            self.made_below.entry(above).or_default().push(class);
            calls.extend(self.hubs_of.get(&above).into_iter().flatten().copied());
        }
        if incomplete {
            self.made_incomplete.push(class);
            calls.extend_from_slice(&self.open_hubs);
        }
        for (hub, selector) in calls {
            if let Some(target) = self.program.dispatch(class, selector) {
                self.edge(HUB | hub, target);
            }
        }
    }

    /// A virtual call on a declared type.
    fn virtual_call(&mut self, from: MethodId, class: ClassId, selector: SelectorId) {
        let next = self.hubs.len() as u32;
        let hub = *self.hubs.entry(key(class, selector)).or_insert(next);
        self.edges.push((from, HUB | hub));
        if hub != next {
            return;
        }
        self.hubs_of.entry(class).or_default().push((hub, selector));
        let mut receivers = self.made_below.get(&class).cloned().unwrap_or_default();
        if self.program.is_open(class) {
            self.open_hubs.push((hub, selector));
            receivers.extend_from_slice(&self.made_incomplete);
        }
        for receiver in receivers {
            if let Some(target) = self.program.dispatch(receiver, selector) {
                self.edge(HUB | hub, target);
            }
        }
    }

    fn method(&mut self, method: MethodId) {
        let Some(body) = self.program.body_to_run(method, self.wanted) else {
            self.unreadable.push(method);
            return;
        };
        for op in &body.ops {
            match *op {
                Op::New { class, .. } => {
                    self.initialise(method, class);
                    self.make(class);
                }
                Op::Shared { class, .. } => self.make(class),
                Op::Initialise { class } => self.initialise(method, class),
                Op::Reflect { class, .. } => {
                    self.initialise(method, class);
                    self.make(class);
                    for constructor in self.program.constructors(class) {
                        self.edge(method, constructor);
                    }
                }
                Op::Call { kind, class, selector, .. } => match kind {
                    CallKind::Static | CallKind::Special => {
                        if kind == CallKind::Static {
                            self.initialise(method, class);
                        }
                        if let Some(target) = self.program.resolve(class, selector) {
                            self.edge(method, target);
                        }
                    }
                    // The paper's rule: what is called on a type that is left out is not followed.
                    CallKind::Virtual
                        if self.program.is_open(class)
                            && !self.assumptions.follow_library_types => {}
                    CallKind::Virtual | CallKind::Callback => {
                        self.virtual_call(method, class, selector);
                    }
                },
                _ => {}
            }
        }
    }
}
