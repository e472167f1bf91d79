//! What is known of code that cannot be read: native methods, and libraries that are left out.
//!
//! * A native method may return any object that its result type allows, and an object of just that type
//!   where it is a class; the JVM makes those.
//! * `Thread.start`, and whatever takes a `Runnable`, a `Callable` or a privileged action and cannot be
//!   read, runs it.
//! * `String.valueOf` calls `toString`: newer compilers put it into concatenations.
//! * `Proxy.newProxyInstance` calls the handler that it is given: the class that does is made at run time.
//! * `ServiceLoader.load` of a class literal makes the providers that `META-INF/services` lists.
//! * Whoever uses an enum, or its literal, may call its `values`: `valueOf`, `EnumSet` and `EnumMap` do
//!   that by reflection.
//! * `DynamicTest` of JUnit keeps what it is given to run, and the runner runs it.
//! * A field whose name a class gives to `Unsafe`, to a `VarHandle` or to an updater may hold anything.
//!
//! Other callbacks of code that cannot be read are not seen.

use crate::body::{Body, CallKind, NO_VAR, Op};
use crate::descriptor::{self, Slot};
use crate::hints::RUN;
use crate::program::{ClassId, ClassKind, MethodId, Program, SelectorId};
use std::rc::Rc;
use tamis_classfile::flags;

/// What a proxy calls for each of its methods.
const INVOKE: &[u8] =
    b"(Ljava/lang/Object;Ljava/lang/reflect/Method;[Ljava/lang/Object;)Ljava/lang/Object;";

/// Exceptions that the JVM throws by itself.
const THROWN_BY_JVM: [&[u8]; 12] = [
    b"java/lang/NullPointerException",
    b"java/lang/ArithmeticException",
    b"java/lang/ArrayIndexOutOfBoundsException",
    b"java/lang/ArrayStoreException",
    b"java/lang/ClassCastException",
    b"java/lang/NegativeArraySizeException",
    b"java/lang/ClassNotFoundException",
    b"java/lang/NoClassDefFoundError",
    b"java/lang/ExceptionInInitializerError",
    b"java/lang/OutOfMemoryError",
    b"java/lang/StackOverflowError",
    b"java/lang/IllegalMonitorStateException",
];

impl Program<'_> {
    /// What a call into code that cannot be read hands over to be run: the place of the argument, and
    /// the method.
    pub(crate) fn passed_on(
        &mut self,
        class: ClassId,
        selector: SelectorId,
    ) -> Vec<(usize, ClassId, SelectorId)> {
        let mut out = Vec::new();
        if !self.selectors[selector].hints.runs {
            return out;
        }
        let name = self.text(self.selectors[selector].name);
        let descriptor = self.text(self.selectors[selector].descriptor);
        if name == b"newProxyInstance" {
            if self.text(self.classes[class as usize].name) == b"java/lang/reflect/Proxy" {
                let handler = self.class(b"java/lang/reflect/InvocationHandler");
                let invoke = self.selector_named(b"invoke", INVOKE);
                out.push((2, handler, invoke));
            }
            return out;
        }
        let kept_for_later =
            self.text(self.classes[class as usize].name) == b"org/junit/jupiter/api/DynamicTest";
        let unseen = match self.resolve(class, selector) {
            None => self.classes[class as usize].incomplete,
            Some(method) => self.methods[method as usize].is(flags::NATIVE),
        };
        if !unseen && !kept_for_later {
            return out;
        }
        let has_receiver = match self.resolve(class, selector) {
            Some(method) => !self.methods[method as usize].is(flags::STATIC),
            // Of a missing method the names of those that are known to be static say it.
            None => {
                !kept_for_later && !matches!(name, b"doPrivileged" | b"runAsync" | b"supplyAsync")
            }
        };
        if matches!(name, b"start" | b"start0") && descriptor == b"()V" {
            let thread = self.class(b"java/lang/Thread");
            if self.classes[class as usize].supers.binary_search(&thread).is_ok() {
                let run = self.selector_named(b"run", b"()V");
                out.push((0, thread, run));
            }
        }
        if name == b"valueOf" && class == self.known.string {
            out.push((0, self.known.object, self.known.to_string));
        }
        for (at, text) in descriptor::parameter_types(descriptor).enumerate() {
            let plain = descriptor::plain(text);
            if let Some(&(interface, name, descriptor)) = RUN.iter().find(|r| r.0 == plain) {
                let interface = self.class(interface);
                let run = self.selector_named(name, descriptor);
                out.push((at + usize::from(has_receiver), interface, run));
            }
        }
        out
    }

    /// The classes of [`THROWN_BY_JVM`] that are here.
    pub(crate) fn thrown_by_jvm(&mut self) -> Vec<ClassId> {
        let classes: Vec<ClassId> = THROWN_BY_JVM.iter().map(|name| self.class(name)).collect();
        classes.into_iter().filter(|&class| !self.classes[class as usize].is_missing()).collect()
    }

    /// What a native method does, as far as it is known.
    pub(crate) fn native_body(&mut self, method: MethodId) -> Rc<Body> {
        if let Some(body) = self.made_up.get(&method) {
            return Rc::clone(body);
        }
        let found = &self.methods[method as usize];
        let (class, selector, is_static) = (found.class, found.selector, found.is(flags::STATIC));
        let shape = Rc::clone(&self.selectors[selector].shape);
        let descriptor = self.text(self.selectors[selector].descriptor);
        let name = self.text(self.selectors[selector].name);
        let owner = self.text(self.classes[class as usize].name);
        let mut body = Body::default();
        if !is_static {
            let this = body.new_var();
            body.parameters.push(this);
        }
        for &slot in &shape.parameters {
            let var = if slot == Slot::Reference { body.new_var() } else { NO_VAR };
            body.parameters.push(var);
        }
        for (at, class, selector) in self.passed_on(class, selector) {
            if let Some(&receiver) = body.parameters.get(at) {
                let args = body.push_args(&[receiver]);
                let kind = CallKind::Callback;
                body.ops.push(Op::Call { kind, class, selector, args, dst: NO_VAR });
            }
        }
        match (owner, name) {
            (b"java/lang/Object", b"clone") => body.ops.push(Op::Return { src: 0 }),
            (b"java/lang/System", b"arraycopy") => {
                let (from, to) = (body.parameters[0], body.parameters[2]);
                let dst = body.new_var();
                body.ops.push(Op::ArrayGet { dst, base: from });
                body.ops.push(Op::ArrayPut { base: to, src: dst });
            }
            (b"jdk/internal/vm/Continuation", b"enterSpecial") => {
                let enter = self.selector_named(b"enter", b"(Ljdk/internal/vm/Continuation;Z)V");
                let continuation = body.parameters[0];
                let args = body.push_args(&[continuation, NO_VAR]);
                let kind = CallKind::Static;
                body.ops.push(Op::Call { kind, class, selector: enter, args, dst: NO_VAR });
            }
            _ if shape.result == Slot::Reference => self.native_result(descriptor, &mut body),
            _ => {}
        }
        let body = Rc::new(body);
        self.made_up.insert(method, Rc::clone(&body));
        body
    }

    fn native_result(&mut self, descriptor: &'_ [u8], body: &mut Body) {
        let outside = body.new_var();
        body.ops.push(Op::Outside { dst: outside });
        body.ops.push(Op::Return { src: outside });
        let text = descriptor::plain(descriptor::result_type(descriptor));
        let brackets = text.iter().take_while(|&&b| b == b'[').count();
        let element = descriptor::plain(&text[brackets..]);
        let Some(mut class) = self.class_named(element) else { return };
        let mut inner = None;
        for dimension in 0..=brackets {
            if self.classes[class as usize].is_concrete() && class != self.known.object {
                let dst = body.new_var();
                body.ops.push(Op::New { dst, class, site: dimension as u32 });
                if let Some(src) = inner {
                    body.ops.push(Op::ArrayPut { base: dst, src });
                }
                inner = Some(dst);
            }
            if dimension < brackets {
                class = self.array(class);
            }
        }
        body.ops.extend(inner.map(|src| Op::Return { src }));
    }

    /// Opens the fields with one of these names in one of these classes.
    pub(crate) fn open_fields(&mut self, classes: &[ClassId], names: &[&[u8]]) {
        for &class in classes {
            let ClassKind::File(loaded) = &self.classes[class as usize].kind else { continue };
            let file = Rc::clone(&loaded.file);
            for member in file.fields.iter().filter(|f| names.contains(&f.name)) {
                let selector = self.selector_named(member.name, member.descriptor);
                if let Some(field) = self.fields.find(class, selector) {
                    self.fields.open(field);
                }
            }
        }
    }

    /// Whether a call makes an object of a class that it is given.
    pub(crate) fn makes_objects_by_reflection(&self, class: ClassId, selector: SelectorId) -> bool {
        self.selectors[selector].hints.makes
            && matches!(
                self.text(self.classes[class as usize].name),
                b"java/lang/Class" | b"java/lang/reflect/Constructor"
            )
            && !matches!(self.classes[class as usize].kind, ClassKind::Lambda)
    }

    /// Whether a call looks for the providers of a service that it is given.
    pub(crate) fn looks_for_providers(&self, class: ClassId, selector: SelectorId) -> bool {
        self.selectors[selector].hints.serves
            && self.text(self.classes[class as usize].name) == b"java/util/ServiceLoader"
    }

    /// The providers of a service that can be read.
    pub(crate) fn providers(&mut self, service: ClassId) -> Vec<ClassId> {
        let universe = self.universe();
        let name = self.text(self.classes[service as usize].name);
        let listed = universe.services().get(name).into_iter().flatten();
        listed.filter_map(|provider| self.class_named(provider)).collect()
    }

    /// The method `values` of an enum.
    pub(crate) fn values_of_enum(&self, class: ClassId) -> Option<MethodId> {
        let found = &self.classes[class as usize];
        if !found.is(flags::ENUM) {
            return None;
        }
        found.methods.clone().find(|&method| {
            let selector = &self.selectors[self.methods[method as usize].selector];
            self.text(selector.name) == b"values" && selector.shape.parameters.is_empty()
        })
    }

    /// The constructors of a class.
    pub(crate) fn constructors(&self, class: ClassId) -> Vec<MethodId> {
        let methods = self.classes[class as usize].methods.clone();
        methods
            .filter(|&m| {
                let selector = self.methods[m as usize].selector;
                self.text(self.selectors[selector].name) == b"<init>"
            })
            .collect()
    }
}
