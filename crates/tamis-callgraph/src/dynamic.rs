//! `invokedynamic` and dynamic constants.
//!
//! * A lambda or method reference becomes a class of its own that implements the interface: captured
//!   values are its fields, and its method calls the body.
//! * A string concatenation calls `toString` on each of its parts.
//! * The methods of a record call `toString`, `hashCode` or `equals` on its components.
//! * Any other bootstrap method is called, and every method handle among its arguments may be; what
//!   comes out is unknown.

use crate::body::{Body, CallKind, NO_VAR, Op, Var, is_var};
use crate::descriptor::{self, Slot};
use crate::interpret::{Interpreter, Read, Unreadable};
use crate::program::{ClassId, ClassKind};
use std::rc::Rc;
use tamis_classfile::{Bootstrap, DynamicRef, Tag};

/// Kinds of method handles, as in the class file format.
const GET_FIELD: u8 = 1;
const INVOKE_STATIC: u8 = 6;
const INVOKE_SPECIAL: u8 = 7;
const NEW_INVOKE_SPECIAL: u8 = 8;

impl<'u> Interpreter<'_, 'u> {
    fn bootstrap(&mut self, number: u16) -> Read<Bootstrap> {
        let table = match &mut self.program.classes[self.class as usize].kind {
            ClassKind::File(loaded) => match &loaded.bootstraps {
                Some(table) => Rc::clone(table),
                None => {
                    let table = Rc::new(self.file.bootstraps()?);
                    loaded.bootstraps = Some(Rc::clone(&table));
                    table
                }
            },
            _ => Rc::default(),
        };
        let found = table.get(usize::from(number)).cloned();
        found.ok_or(Unreadable::Code("reference to a bootstrap method that is not there"))
    }

    pub(crate) fn dynamic_call(&mut self, pc: usize, index: u16) -> Read<()> {
        let site = self.file.pool.dynamic(index)?;
        let bootstrap = self.bootstrap(site.bootstrap)?;
        let descriptor = self.program.name(site.descriptor);
        let name = self.program.name(site.name);
        let selector = self.program.selector(name, descriptor);
        let shape = Rc::clone(&self.program.selectors[selector].shape);
        let mut args = Vec::with_capacity(shape.parameters.len());
        for &slot in shape.parameters.iter().rev() {
            let arg = match slot {
                Slot::Wide => {
                    self.state.numbers(2, 0)?;
                    NO_VAR
                }
                _ => self.state.pop()?,
            };
            args.push(arg);
        }
        args.reverse();
        let (_, member) = self.file.pool.handle(bootstrap.handle)?;
        let factory = self.file.pool.member(member)?;
        let result = match (factory.class, factory.name) {
            (b"java/lang/invoke/LambdaMetafactory", _) => {
                self.lambda(pc, &site, &bootstrap, &args)?
            }
            (b"java/lang/invoke/StringConcatFactory", _) => self.concatenation(&site, &args),
            (b"java/lang/runtime/ObjectMethods", _) => self.record(&site, &bootstrap, &args)?,
            _ => self.unknown_bootstrap(&bootstrap)?,
        };
        self.state.push_slot(shape.result, result);
        Ok(())
    }

    pub(crate) fn dynamic_constant(&mut self, index: u16) -> Read<()> {
        let constant = self.file.pool.dynamic(index)?;
        let bootstrap = self.bootstrap(constant.bootstrap)?;
        let var = self.unknown_bootstrap(&bootstrap)?;
        let slot = descriptor::Shape::of(constant.descriptor).result;
        self.state.push_slot(slot, var);
        Ok(())
    }

    fn unknown_bootstrap(&mut self, bootstrap: &Bootstrap) -> Read<Var> {
        self.handle_called_from_outside(bootstrap.handle)?;
        for &argument in &bootstrap.arguments {
            if self.file.pool.tag(argument) == Some(Tag::MethodHandle) {
                self.handle_called_from_outside(argument)?;
            }
        }
        Ok(self.outside_var())
    }

    /// A method handle that somebody unknown may call with anything.
    pub(crate) fn handle_called_from_outside(&mut self, index: u16) -> Read<()> {
        let (kind, member) = self.file.pool.handle(index)?;
        let (class, selector) = self.member_constant(member)?;
        if kind < 5 {
            self.body.ops.push(Op::Initialise { class });
            return Ok(());
        }
        let shape = Rc::clone(&self.program.selectors[selector].shape);
        let mut args: Vec<Var> = Vec::new();
        let made = kind == NEW_INVOKE_SPECIAL;
        if made {
            let dst = self.body.new_var();
            self.body.ops.push(Op::New { dst, class, site: u32::from(index) });
            args.push(dst);
        } else if kind != INVOKE_STATIC {
            let receiver = self.outside_var();
            args.push(receiver);
        }
        for &slot in &shape.parameters {
            let arg = if slot == Slot::Reference { self.outside_var() } else { NO_VAR };
            args.push(arg);
        }
        self.push_call(call_kind(kind), class, selector, &args, NO_VAR);
        Ok(())
    }

    fn concatenation(&mut self, site: &DynamicRef<'u>, args: &[Var]) -> Var {
        let descriptor: &'u [u8] = site.descriptor;
        let types: Vec<&'u [u8]> = descriptor::parameter_types(descriptor).collect();
        for (text, &arg) in types.into_iter().zip(args) {
            if is_var(arg) && text != b"Ljava/lang/String;" {
                let class = self.program.class(descriptor::plain(text));
                let selector = self.program.known.to_string;
                self.push_call(CallKind::Virtual, class, selector, &[arg], NO_VAR);
            }
        }
        self.string_var()
    }

    fn record(&mut self, site: &DynamicRef<'u>, bootstrap: &Bootstrap, args: &[Var]) -> Read<Var> {
        let known = self.program.known;
        let selector = match site.name {
            b"toString" => known.to_string,
            b"hashCode" => known.hash_code,
            _ => known.equals,
        };
        for &argument in &bootstrap.arguments {
            if self.file.pool.tag(argument) != Some(Tag::MethodHandle) {
                continue;
            }
            let (kind, member) = self.file.pool.handle(argument)?;
            let (owner, field) = self.member_constant(member)?;
            let reference = self.program.selectors[field].shape.result == Slot::Reference;
            let Some(&base) = args.first() else { continue };
            if kind != GET_FIELD || !reference || !is_var(base) {
                continue;
            }
            let text = self.program.text(self.program.selectors[field].descriptor);
            let class = self.program.class(descriptor::plain(text));
            let field = self.program.resolve_field(owner, field);
            let dst = self.body.new_var();
            self.body.ops.push(Op::GetField { dst, base, field, owner });
            let call: &[Var] = if selector == known.equals { &[dst, dst] } else { &[dst] };
            self.push_call(CallKind::Virtual, class, selector, call, NO_VAR);
        }
        Ok(if selector == known.to_string { self.string_var() } else { NO_VAR })
    }

    fn lambda(
        &mut self,
        pc: usize,
        site: &DynamicRef<'u>,
        bootstrap: &Bootstrap,
        captured: &[Var],
    ) -> Read<Var> {
        let [method_type, handle, instantiated, more @ ..] = &bootstrap.arguments[..] else {
            return Err(Unreadable::Code("a lambda without its parts"));
        };
        let site_descriptor: &'u [u8] = site.descriptor;
        let interface = descriptor::plain(descriptor::result_type(site_descriptor));
        let mut interfaces = vec![self.program.class(interface)];
        let mut descriptors = vec![self.file.pool.method_type(*method_type)?];
        for &extra in more {
            match self.file.pool.tag(extra) {
                Some(Tag::Class) => interfaces.push(self.class_constant(extra)?),
                Some(Tag::MethodType) => descriptors.push(self.file.pool.method_type(extra)?),
                _ => {}
            }
        }
        let class = self.program.lambda_class(self.class, interfaces);
        let dst = self.body.new_var();
        self.body.ops.push(Op::New { dst, class, site: pc as u32 });
        let mut fields = Vec::with_capacity(captured.len());
        for &src in captured {
            let field = is_var(src).then(|| self.program.fields.make_up());
            if let Some(field) = field {
                self.body.ops.push(Op::PutField { base: dst, field, src, owner: class });
            }
            fields.push(field);
        }
        let instantiated = self.file.pool.method_type(*instantiated)?;
        for descriptor in descriptors {
            let body = self.lambda_body(class, &fields, descriptor, instantiated, *handle)?;
            let selector = self.program.selector_named(site.name, descriptor);
            let method = self.program.made_up_method(class, selector);
            self.program.made_up.insert(method, Rc::new(body));
        }
        Ok(dst)
    }

    /// What the method of a lambda's class does: it calls the body of the lambda.
    fn lambda_body(
        &mut self,
        class: ClassId,
        fields: &[Option<u32>],
        descriptor: &'u [u8],
        instantiated: &'u [u8],
        handle: u16,
    ) -> Read<Body> {
        let mut body = Body::default();
        let this = body.new_var();
        body.parameters.push(this);
        let mut values = Vec::new();
        for field in fields {
            values.push(match *field {
                None => NO_VAR,
                Some(field) => {
                    let dst = body.new_var();
                    body.ops.push(Op::GetField { dst, base: this, field, owner: class });
                    dst
                }
            });
        }
        let real: Vec<&'u [u8]> = descriptor::parameter_types(instantiated).collect();
        for (at, text) in descriptor::parameter_types(descriptor).enumerate() {
            let reference = matches!(text.first(), Some(b'L' | b'['));
            let mut var = if reference { body.new_var() } else { NO_VAR };
            body.parameters.push(var);
            if reference
                && let Some(text) = real.get(at).filter(|t| matches!(t.first(), Some(b'L' | b'[')))
            {
                let class = self.program.class(descriptor::plain(text));
                if class != self.program.known.object {
                    let dst = body.new_var();
                    body.ops.push(Op::Cast { dst, src: var, class });
                    var = dst;
                }
            }
            values.push(var);
        }
        let (kind, member) = self.file.pool.handle(handle)?;
        let (owner, selector) = self.member_constant(member)?;
        let shape = Rc::clone(&self.program.selectors[selector].shape);
        let mut slots = Vec::new();
        if !matches!(kind, INVOKE_STATIC | NEW_INVOKE_SPECIAL) {
            slots.push(Slot::Reference);
        }
        slots.extend_from_slice(&shape.parameters);
        let mut args = Vec::new();
        let made = (kind == NEW_INVOKE_SPECIAL).then(|| body.new_var());
        if let Some(dst) = made {
            body.ops.push(Op::New { dst, class: owner, site: 0 });
            args.push(dst);
        }
        for (at, &slot) in slots.iter().enumerate() {
            let given = values.get(at).copied().unwrap_or(NO_VAR);
            args.push(match slot {
                // A number that is boxed on the way.
                Slot::Reference if !is_var(given) => {
                    let dst = body.new_var();
                    body.ops.push(Op::Outside { dst });
                    dst
                }
                Slot::Reference => given,
                _ => NO_VAR,
            });
        }
        let result = match made {
            Some(_) => NO_VAR,
            None if shape.result == Slot::Reference => body.new_var(),
            None => NO_VAR,
        };
        let args = body.push_args(&args);
        let kind = call_kind(kind);
        body.ops.push(Op::Call { kind, class: owner, selector, args, dst: result });
        let src = match made {
            Some(made) => made,
            None if is_var(result) => result,
            None => {
                let dst = body.new_var();
                body.ops.push(Op::Outside { dst });
                dst
            }
        };
        if matches!(descriptor::result_type(descriptor).first(), Some(b'L' | b'[')) {
            body.ops.push(Op::Return { src });
        }
        Ok(body)
    }
}

fn call_kind(handle: u8) -> CallKind {
    match handle {
        INVOKE_STATIC => CallKind::Static,
        INVOKE_SPECIAL | NEW_INVOKE_SPECIAL => CallKind::Special,
        _ => CallKind::Virtual,
    }
}
