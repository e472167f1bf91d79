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
use crate::reached::Reached;
use rustc_hash::{FxHashMap, FxHashSet};

struct Types<'p, 'u> {
    program: &'p mut Program<'u>,
    wanted: Wanted,
    assumptions: Assumptions,
    reached: Reached,
    hubs: Hubs,
    made: Made,
    initialised: FxHashMap<ClassId, Vec<MethodId>>,
}

/// Virtual calls of one method on one declared type.
#[derive(Default)]
struct Hubs {
    numbers: FxHashMap<u64, u32>,
    /// By declared type, with their selectors.
    of_type: FxHashMap<ClassId, Vec<(u32, SelectorId)>>,
    /// Those of missing types, to which any class with a missing supertype may belong.
    open: Vec<(u32, SelectorId)>,
}

impl Hubs {
    /// The hub of calls, and whether it is new.
    fn number(&mut self, class: ClassId, selector: SelectorId) -> (u32, bool) {
        let next = self.numbers.len() as u32;
        let hub = *self.numbers.entry(key(class, selector)).or_insert(next);
        (hub, hub == next)
    }

    /// Those whose calls may be on objects of a class with these supertypes.
    fn calls_on(&self, supers: &[ClassId], incomplete: bool) -> Vec<(u32, SelectorId)> {
        let of_types = supers.iter().filter_map(|above| self.of_type.get(above)).flatten();
        let open = if incomplete { &self.open[..] } else { &[] };
        of_types.chain(open).copied().collect()
    }
}

/// Classes of which there may be objects.
#[derive(Default)]
struct Made {
    classes: FxHashSet<ClassId>,
    below: FxHashMap<ClassId, Vec<ClassId>>,
    /// Those with a missing supertype.
    incomplete: Vec<ClassId>,
}

impl Made {
    fn add(&mut self, class: ClassId, supers: &[ClassId], incomplete: bool) {
        for &above in supers {
            self.below.entry(above).or_default().push(class);
        }
        if incomplete {
            self.incomplete.push(class);
        }
    }

    /// The classes of the objects that a call on a declared type may be on.
    fn receivers(&self, class: ClassId, open: bool) -> Vec<ClassId> {
        let mut receivers = self.below.get(&class).cloned().unwrap_or_default();
        if open {
            receivers.extend_from_slice(&self.incomplete);
        }
        receivers
    }
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
        reached: Reached::default(),
        hubs: Hubs::default(),
        made: Made::default(),
        initialised: FxHashMap::default(),
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
    while let Some(method) = types.reached.next() {
        types.method(method);
    }
    types.reached.into_graph(types.program.methods.len(), types.hubs.numbers.len())
}

impl Types<'_, '_> {
    fn reach(&mut self, method: MethodId) {
        self.reached.reach(method, self.program.methods.len());
    }

    fn edge(&mut self, from: u32, to: MethodId) {
        self.reached.edge(from, to);
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
        if !self.made.classes.insert(class) {
            return;
        }
        let found = &self.program.classes[class as usize];
        self.made.add(class, &found.supers, found.incomplete);
        for (hub, selector) in self.hubs.calls_on(&found.supers, found.incomplete) {
            if let Some(target) = self.program.dispatch(class, selector) {
                self.edge(HUB | hub, target);
            }
        }
    }

    /// A virtual call on a declared type.
    fn virtual_call(&mut self, from: MethodId, class: ClassId, selector: SelectorId) {
        let (hub, is_new) = self.hubs.number(class, selector);
        self.reached.edge(from, HUB | hub);
        if !is_new {
            return;
        }
        self.hubs.of_type.entry(class).or_default().push((hub, selector));
        let open = self.program.is_open(class);
        if open {
            self.hubs.open.push((hub, selector));
        }
        for receiver in self.made.receivers(class, open) {
            if let Some(target) = self.program.dispatch(receiver, selector) {
                self.edge(HUB | hub, target);
            }
        }
    }

    fn method(&mut self, method: MethodId) {
        let Some(body) = self.program.body_to_run(method, self.wanted) else {
            self.reached.not_read(method);
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
