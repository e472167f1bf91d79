//! 0-CFA and 0-1-CFA: which objects each variable can hold.
//!
//! For 0-CFA an object is its class, a field is one set for all objects, and the elements of arrays are one
//! set per class of arrays. For 0-1-CFA an object is the place where it is made, and fields and elements
//! are sets of their own for each object; strings, class literals, boxed numbers and exceptions stay one
//! object per class, and so do objects of one class that one method makes in very many places. Both
//! know a method once, whoever calls it.
//!
//! Where an object comes from outside (native code, a library that is left out, reflection), it is the
//! *unknown*: a cast of it to `T` may give any object below `T` that is made anywhere, and a call on it
//! goes to the hub of all of those. So whatever is reached here is reached by rapid type analysis.

mod objects;
mod stored;

use crate::analysis_options::{AnalysisOptions, Assumptions, Root};
use crate::body::{Body, CallKind, Op, Var, is_var};
use crate::graph::{CallGraph, HUB};
use crate::interpret::Wanted;
use crate::program::{ClassId, ClassKind, FieldId, MethodId, Program, SelectorId, key};
use crate::reached::Reached;
use crate::sets::Set;
use crate::solver::{Filtered, Node, OUTSIDE, Solver};
use objects::Objects;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use stored::Stored;
use tamis_classfile::flags;

const NO_NODE: Node = u32::MAX;

/// What happens with the objects of a node besides flowing on.
#[derive(Debug, Clone, Copy)]
enum Use {
    Call(u32),
    ArrayGet { dst: Node },
    ArrayPut { src: Node },
    Get { field: FieldId, dst: Node, owner: ClassId },
    Put { field: FieldId, src: Node, owner: ClassId },
}

/// A virtual call, or a hub of them.
#[derive(Debug)]
struct Site {
    /// The method, or a hub.
    from: u32,
    class: ClassId,
    selector: SelectorId,
    args: Box<[Node]>,
    dst: Node,
    targets: FxHashSet<MethodId>,
}

/// The nodes of a method.
#[derive(Debug, Clone, Copy)]
struct Nodes {
    first: Node,
    result: Node,
}

struct Flow<'p, 'u> {
    program: &'p mut Program<'u>,
    solver: Solver,
    wanted: Wanted,
    assumptions: Assumptions,
    /// Tell objects apart by where they are made.
    by_site: bool,
    uses: Vec<Vec<Use>>,
    methods: FxHashMap<MethodId, (Nodes, Rc<Body>)>,
    reached: Reached,
    objects: Objects,
    calls: VirtualCalls,
    stored: Stored,
}

/// Virtual calls by number, and the hubs of those on the unknown.
#[derive(Default)]
struct VirtualCalls {
    sites: Vec<Site>,
    hubs: FxHashMap<u64, u32>,
    /// The call that each hub is.
    hub_sites: Vec<u32>,
}

impl VirtualCalls {
    fn add(&mut self, site: Site) -> u32 {
        self.sites.push(site);
        self.sites.len() as u32 - 1
    }

    /// The hub of calls on the unknown, and whether it is new.
    fn hub(&mut self, class: ClassId, selector: SelectorId) -> (u32, bool) {
        let next = self.hubs.len() as u32;
        let hub = *self.hubs.entry(key(class, selector)).or_insert(next);
        (hub, hub == next)
    }
}

pub(crate) fn build(
    program: &mut Program<'_>,
    roots: &[Root],
    options: AnalysisOptions,
    by_site: bool,
) -> CallGraph {
    let mut solver = Solver::default();
    let thrown = solver.node();
    let mut flow = Flow {
        program,
        solver,
        wanted: Wanted { flow: true, reflection: options.reflection },
        assumptions: options.assumptions,
        by_site,
        uses: Vec::new(),
        methods: FxHashMap::default(),
        reached: Reached::default(),
        objects: Objects::default(),
        calls: VirtualCalls::default(),
        stored: Stored::new(thrown),
    };
    let known = flow.program.known;
    for class in [known.string, known.class] {
        flow.shared_object(class);
    }
    for class in flow.program.thrown_by_jvm() {
        let object = flow.shared_object(class);
        flow.solver.add(thrown, object);
    }
    for root in roots {
        flow.root(*root);
    }
    flow.run();
    flow.reached.into_graph(flow.program.methods.len(), flow.calls.hubs.len())
}

impl Flow<'_, '_> {
    fn run(&mut self) {
        let mut merged = Vec::new();
        loop {
            while let Some(method) = self.reached.next() {
                self.method(method);
            }
            let step = self.solver.step(&mut merged);
            for (stays, goes) in merged.drain(..) {
                if let Some(uses) = self.uses.get_mut(goes as usize).map(std::mem::take)
                    && !uses.is_empty()
                {
                    self.uses_of(stays).extend(uses);
                }
            }
            let Some(step) = step else { return };
            let count = self.uses.get(step.node as usize).map_or(0, Vec::len);
            for at in 0..count {
                let used = self.uses[step.node as usize][at];
                self.used(used, &step.new);
            }
        }
    }

    fn uses_of(&mut self, node: Node) -> &mut Vec<Use> {
        if self.uses.len() <= node as usize {
            self.uses.resize_with(self.solver.len().max(node as usize + 1), Vec::new);
        }
        &mut self.uses[node as usize]
    }

    fn add_use(&mut self, node: Node, used: Use) {
        let node = self.solver.find(node);
        self.uses_of(node).push(used);
        let held = self.solver.held(node).clone();
        if !held.is_empty() {
            self.used(used, &held);
        }
    }

    /// A method that somebody outside calls with anything.
    fn root(&mut self, root: Root) {
        let receiver = self.shared_object(root.class);
        let nodes = self.reach(root.method);
        let is_static = self.program.methods[root.method as usize].is(flags::STATIC);
        let parameters = self.parameters(root.method);
        for (at, var) in parameters.into_iter().enumerate() {
            if is_var(var) {
                match at == 0 && !is_static {
                    true => self.solver.add(nodes.first + var, receiver),
                    false => self.add_unknown(nodes.first + var),
                }
            }
        }
    }

    fn parameters(&self, method: MethodId) -> Vec<Var> {
        self.methods.get(&method).map(|(_, body)| body.parameters.clone()).unwrap_or_default()
    }

    /// The nodes of a method, which can run from now on.
    fn reach(&mut self, method: MethodId) -> Nodes {
        if let Some((nodes, _)) = self.methods.get(&method) {
            return *nodes;
        }
        let body = self.program.body_to_run(method, self.wanted).unwrap_or_else(|| {
            self.reached.not_read(method);
            Rc::default()
        });
        let nodes = Nodes { first: self.solver.nodes(body.vars), result: self.solver.node() };
        self.methods.insert(method, (nodes, body));
        self.reached.reach(method, self.program.methods.len());
        for field in self.program.fields.take_opened() {
            let node = self.field(field);
            self.add_unknown(node);
        }
        nodes
    }

    fn initialise(&mut self, from: MethodId, class: ClassId) {
        for initialiser in self.program.initialisers(class) {
            if initialiser != from {
                self.reached.edge(from, initialiser);
                self.reach(initialiser);
            }
        }
    }

    fn used(&mut self, used: Use, objects: &Set) {
        match used {
            Use::Call(site) => self.call_on(site, objects),
            Use::ArrayGet { dst } => {
                if objects.contains(OUTSIDE) {
                    self.add_unknown(dst);
                }
                for object in objects.iter().filter(|&o| o != OUTSIDE) {
                    if self.is_array(object) {
                        let elements = self.elements(object);
                        self.solver.copy(elements, dst);
                    }
                }
            }
            Use::ArrayPut { src } => {
                for object in objects.iter().filter(|&o| o != OUTSIDE) {
                    if self.is_array(object) {
                        let elements = self.elements(object);
                        self.solver.copy(src, elements);
                    }
                }
            }
            Use::Get { field, dst, owner } => {
                if objects.contains(OUTSIDE) {
                    self.use_all_below(owner, used);
                }
                for object in objects.iter().filter(|&o| o != OUTSIDE) {
                    if self.program.is_subtype(self.objects.class_of(object), owner) {
                        let node = self.field_of(object, field);
                        self.solver.copy(node, dst);
                    }
                }
            }
            Use::Put { field, src, owner } => {
                if objects.contains(OUTSIDE) {
                    self.use_all_below(owner, used);
                }
                for object in objects.iter().filter(|&o| o != OUTSIDE) {
                    if self.program.is_subtype(self.objects.class_of(object), owner) {
                        let node = self.field_of(object, field);
                        self.solver.copy(src, node);
                    }
                }
            }
        }
    }

    /// The unknown may be any object below a class.
    fn use_all_below(&mut self, class: ClassId, used: Use) {
        let node = self.below(class);
        self.add_use(node, used);
    }

    fn is_array(&self, object: u32) -> bool {
        let class = self.objects.class_of(object);
        matches!(self.program.classes[class as usize].kind, ClassKind::Array(Some(_)))
    }

    /// New receivers of a virtual call.
    fn call_on(&mut self, site: u32, objects: &Set) {
        let Site { class, selector, .. } = self.calls.sites[site as usize];
        if objects.contains(OUTSIDE) && self.calls.sites[site as usize].from & HUB == 0 {
            self.send_to_hub(site);
        }
        let fitting = self.below(class);
        let receivers = objects.and(self.solver.held(fitting));
        for object in receivers.iter() {
            match self.program.dispatch(self.objects.class_of(object), selector) {
                Some(target) => {
                    let nodes = self.bind(site, target);
                    if let Some(&this) = self.parameters_of(target).first()
                        && is_var(this)
                    {
                        self.solver.add(nodes.first + this, object);
                    }
                }
                // Inherited from a class that is not here.
                None => self.add_unknown(self.calls.sites[site as usize].dst),
            }
        }
    }

    fn parameters_of(&self, method: MethodId) -> &[Var] {
        self.methods.get(&method).map(|(_, body)| &body.parameters[..]).unwrap_or_default()
    }

    /// What comes here was made where the analysis does not look.
    fn add_unknown(&mut self, node: Node) {
        if node != NO_NODE && !self.assumptions.nothing_from_outside {
            self.solver.add(node, OUTSIDE);
        }
    }

    /// Connects a virtual call with a method that it can run.
    fn bind(&mut self, site: u32, target: MethodId) -> Nodes {
        let nodes = self.reach(target);
        if !self.calls.sites[site as usize].targets.insert(target) {
            return nodes;
        }
        let from = self.calls.sites[site as usize].from;
        self.reached.edge(from, target);
        let (args, dst) =
            (self.calls.sites[site as usize].args.clone(), self.calls.sites[site as usize].dst);
        self.pass(&args, 1, target, nodes, dst);
        nodes
    }

    /// Arguments from this one on flow into parameters, and the result comes back.
    fn pass(&mut self, args: &[Node], first: usize, target: MethodId, nodes: Nodes, dst: Node) {
        let parameters = self.parameters(target);
        for (&arg, &parameter) in args.iter().zip(&parameters).skip(first) {
            if arg != NO_NODE && is_var(parameter) {
                self.solver.copy(arg, nodes.first + parameter);
            }
        }
        if dst != NO_NODE {
            self.solver.copy(nodes.result, dst);
        }
    }

    /// Sends a call on the unknown to the hub of all such calls.
    fn send_to_hub(&mut self, site: u32) {
        let Site { from, class, selector, dst, .. } = self.calls.sites[site as usize];
        let args = self.calls.sites[site as usize].args.clone();
        let (hub, is_new) = self.calls.hub(class, selector);
        self.reached.edge(from, HUB | hub);
        let hub_site = if is_new {
            let hub_args: Box<[Node]> = args.iter().map(|_| self.solver.node()).collect();
            let dst = self.solver.node();
            let targets = FxHashSet::default();
            let from = HUB | hub;
            let site = Site { from, class, selector, args: hub_args, dst, targets };
            let hub_site = self.calls.add(site);
            self.calls.hub_sites.push(hub_site);
            let receivers = self.below(class);
            self.add_use(receivers, Use::Call(hub_site));
            hub_site
        } else {
            self.calls.hub_sites[hub as usize]
        };
        let (hub_args, hub_dst) = (
            self.calls.sites[hub_site as usize].args.clone(),
            self.calls.sites[hub_site as usize].dst,
        );
        for (&arg, &to) in args.iter().zip(&hub_args).skip(1) {
            if arg != NO_NODE {
                self.solver.copy(arg, to);
            }
        }
        if dst != NO_NODE {
            self.solver.copy(hub_dst, dst);
        }
    }

    fn method(&mut self, method: MethodId) {
        let Some((nodes, body)) = self.methods.get(&method).map(|(n, b)| (*n, Rc::clone(b))) else {
            return;
        };
        let node = |var: Var| if is_var(var) { nodes.first + var } else { NO_NODE };
        for op in &body.ops {
            match *op {
                Op::New { dst, class, .. } => {
                    self.initialise(method, class);
                    let object = self.made(method, class);
                    self.solver.add(node(dst), object);
                }
                Op::Shared { dst, class } => {
                    let object = self.shared_object(class);
                    self.solver.add(node(dst), object);
                }
                Op::Outside { dst } => self.add_unknown(node(dst)),
                Op::Copy { dst, src } => self.solver.copy(node(src), node(dst)),
                Op::Cast { dst, src, class } => self.filter(node(src), node(dst), class),
                Op::Catch { dst, class } => self.filter(self.stored.thrown, node(dst), class),
                Op::Throw { src } => self.solver.copy(node(src), self.stored.thrown),
                Op::Return { src } => self.solver.copy(node(src), nodes.result),
                Op::GetStatic { dst, field } => {
                    let from = self.field(field);
                    self.solver.copy(from, node(dst));
                }
                Op::PutStatic { field, src } => {
                    let to = self.field(field);
                    self.solver.copy(node(src), to);
                }
                Op::GetField { dst, base, field, owner } => {
                    let from = self.field(field);
                    self.solver.copy(from, node(dst));
                    if self.by_site {
                        self.add_use(node(base), Use::Get { field, dst: node(dst), owner });
                    }
                }
                Op::PutField { base, field, src, owner } => {
                    if self.by_site {
                        self.add_use(node(base), Use::Put { field, src: node(src), owner });
                    } else {
                        let to = self.field(field);
                        self.solver.copy(node(src), to);
                    }
                }
                Op::ArrayGet { dst, base } => {
                    self.add_use(node(base), Use::ArrayGet { dst: node(dst) });
                }
                Op::ArrayPut { base, src } => {
                    self.add_use(node(base), Use::ArrayPut { src: node(src) });
                }
                Op::Initialise { class } => self.initialise(method, class),
                Op::Reflect { dst, class } => self.reflect(method, node(dst), class),
                Op::Call { kind, class, selector, args, dst } => {
                    let args: Box<[Node]> = body.args(args).iter().map(|&v| node(v)).collect();
                    self.call(method, kind, class, selector, args, node(dst));
                }
            }
        }
    }

    fn filter(&mut self, from: Node, to: Node, class: ClassId) {
        let filter = self.below(class);
        let open = self.program.is_open(class);
        if open && self.assumptions.nothing_from_outside {
            return;
        }
        self.solver.filter(from, Filtered { to, filter, open });
    }

    fn reflect(&mut self, method: MethodId, dst: Node, class: ClassId) {
        self.initialise(method, class);
        let object = self.shared_object(class);
        if dst != NO_NODE {
            self.solver.add(dst, object);
        }
        for constructor in self.program.constructors(class) {
            self.reached.edge(method, constructor);
            self.root(Root { method: constructor, class });
        }
    }

    fn call(
        &mut self,
        method: MethodId,
        kind: CallKind,
        class: ClassId,
        selector: SelectorId,
        args: Box<[Node]>,
        dst: Node,
    ) {
        match kind {
            CallKind::Static | CallKind::Special => {
                if kind == CallKind::Static {
                    self.initialise(method, class);
                }
                match self.program.resolve(class, selector) {
                    Some(target) => {
                        self.reached.edge(method, target);
                        let nodes = self.reach(target);
                        self.pass(&args, 0, target, nodes, dst);
                    }
                    None => self.add_unknown(dst),
                }
            }
            // The paper's rule: what is called on a type that is left out is not followed.
            CallKind::Virtual
                if self.program.is_open(class) && !self.assumptions.follow_library_types =>
            {
                self.add_unknown(dst);
            }
            CallKind::Virtual | CallKind::Callback => {
                // The library's own objects answer as well.
                if kind == CallKind::Virtual && self.program.is_open(class) {
                    self.add_unknown(dst);
                }
                let receiver = args.first().copied().unwrap_or(NO_NODE);
                if receiver == NO_NODE {
                    return;
                }
                let targets = FxHashSet::default();
                let site = Site { from: method, class, selector, args, dst, targets };
                let site = self.calls.add(site);
                self.add_use(receiver, Use::Call(site));
            }
        }
    }
}
