//! One class of the project with what each of its methods refers to.

use crate::generic::arguments;
use crate::shelves;
use tamis_classfile::{
    BodyUses, ClassFile, Fresh, Malformed, Member, Source, Tag, ValueUses, body_uses, classes_in,
    flags, shown, value_uses,
};
use tamis_classpath::names::{NameId, Names};

/// A class file, its names interned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    pub name: NameId,
    /// Superclass and interfaces.
    pub inherits: Vec<NameId>,
    pub fields: Vec<Field>,
    /// The methods with code, in file order: as the agent counts them.
    pub methods: Vec<Method>,
    /// Types of values that its code can get hold of, sorted: what its bodies mention, and what stands
    /// in the descriptors of its members and of those that it uses. That it inherits from a type, and
    /// calls the constructor of its superclass for that, gives it nothing of that type.
    pub handles: Vec<NameId>,
    pub is_interface: bool,
    /// Has methods of machine code, which may ask for anything by name.
    pub has_natives: bool,
    /// Static fields that get a value of their own by the static initialiser.
    pub fresh: Vec<(NameId, Fresh)>,
    /// Classes that its class object leads to, without and with listing its members.
    pub shown: [Vec<NameId>; 2],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: NameId,
    pub is_static: bool,
    pub is_final: bool,
    /// Its value stands in the class file: it holds no state.
    pub is_constant: bool,
    pub is_array: bool,
    /// The class of its value or of its elements; `None` for numbers.
    pub holds: Option<NameId>,
    /// The type arguments that it is declared with, those that have no arguments themselves.
    pub arguments: Vec<NameId>,
    /// And those that have.
    pub generic_arguments: Vec<NameId>,
    /// Whether they say all that it can hold.
    pub is_closed: bool,
    /// Whether there are no arrays in what it holds, as elements or as type arguments.
    pub is_flat: bool,
}

/// A value that others have as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedValue {
    /// A static field, by the class that it is named by, and its name.
    Static(NameId, NameId),
    /// The parameter in this slot.
    Parameter(u16),
}

/// An object made of a lambda or of a reference to a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lambda {
    /// The interface that it has.
    pub interface: NameId,
    /// The interface's method: `apply/1`. Its types may be others where it is called.
    pub called_as: NameId,
    /// What runs: class and signature.
    pub runs: (NameId, NameId),
}

/// How a method is connected with code and state that it does not name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// Whether it calls by reflection: what that arrives at cannot be read here.
    pub is_reflective: bool,
    /// Of calls by an interface's name: the interface, and the method as `apply/1`.
    pub interface_calls: Vec<(NameId, NameId)>,
    /// Types of objects that it hands over in calls, and the owner of each call.
    pub hands: Vec<(NameId, NameId)>,
    pub lambdas: Vec<Lambda>,
    /// The classes by whose names it uses static fields, the fields, and whether it writes them.
    pub named_statics: Vec<(NameId, NameId, bool)>,
    /// Classes whose objects it looks into, by fields.
    pub looks_into: Vec<NameId>,
    /// Fields that it names, static or not: the class that is named, and the field as `count:I`.
    pub fields: Vec<(NameId, NameId)>,
    /// Whether it reads or writes fields that it does not name.
    pub gets_at_any_field: bool,
    /// Places of the JDK and of frameworks that it can put something on or get something from.
    pub sets: u32,
    pub asks: u32,
    /// Made by the compiler, such as the body of a lambda.
    pub is_hidden: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// Name and descriptor: `run(I)V`.
    pub signature: NameId,
    pub is_initialiser: bool,
    pub is_constructor: bool,
    pub is_static: bool,
    /// The classes by whose names it reads or writes static fields.
    pub statics: Vec<NameId>,
    /// Whether it can change an object that it was given: by a field, or by a call that sounds so.
    pub is_writer: bool,
    /// What it returns, if that is an object; of an array its elements.
    pub returns: Option<NameId>,
    pub mentions: Vec<NameId>,
    pub makes: Vec<NameId>,
    /// Owner and signature.
    pub calls: Vec<(NameId, NameId)>,
    /// How it is connected with code and state that it does not name.
    pub links: Links,
    /// Values that it does more with than to look at them.
    pub given_away: Vec<SharedValue>,
    /// Values that it passes to a static method: class, signature, slot.
    pub handed_on: Vec<(SharedValue, (NameId, NameId, u16))>,
}

impl Class {
    pub fn read(bytes: &[u8], names: &mut Names) -> Result<Self, Malformed> {
        let file = ClassFile::parse(bytes)?;
        let mut inherits: Vec<NameId> =
            file.interfaces.iter().map(|name| names.intern(name)).collect();
        inherits.extend(file.super_name.map(|name| names.intern(name)));
        let fields = file
            .fields
            .iter()
            .map(|field| read_field(&file, field, names))
            .collect::<Result<_, _>>()?;
        let mut handles = in_descriptors(&file, names)?;
        let mut methods = Vec::with_capacity(file.methods.len());
        let mut fresh = Vec::new();
        for method in &file.methods {
            let Some(uses) = value_uses(&file, method)? else { continue };
            fresh.extend(uses.fresh.iter().map(|(name, fresh)| (names.intern(name), *fresh)));
            methods.extend(read_method(&file, method, &uses, names, &mut handles)?);
        }
        handles.sort_unstable();
        handles.dedup();
        let is_interface = file.is(flags::INTERFACE);
        let name = names.intern(file.name);
        let has_natives = file.methods.iter().any(|m| m.access & flags::NATIVE != 0);
        let shown = shown(&file)?;
        let shown = [shown.by_class, shown.by_members]
            .map(|found| found.iter().map(|name| names.intern(name)).collect());
        Ok(Self {
            name,
            inherits,
            fields,
            methods,
            handles,
            is_interface,
            has_natives,
            fresh,
            shown,
        })
    }
}

/// The classes in the descriptors of a class's members and of all that it refers to.
fn in_descriptors(file: &ClassFile<'_>, names: &mut Names) -> Result<Vec<NameId>, Malformed> {
    let members = file.fields.iter().chain(&file.methods);
    let mut descriptors: Vec<&[u8]> = members.map(|member| member.descriptor).collect();
    for (at, tag) in file.pool.entries() {
        match tag {
            Tag::NameAndType => descriptors.push(file.pool.name_and_type(at)?.1),
            Tag::MethodType => descriptors.push(file.pool.method_type(at)?),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for descriptor in descriptors {
        classes_in(descriptor, &mut |name| found.push(names.intern(&name)));
    }
    Ok(found)
}

fn read_field(
    file: &ClassFile<'_>,
    field: &Member<'_>,
    names: &mut Names,
) -> Result<Field, Malformed> {
    let mut is_constant = false;
    for attribute in field.attributes.iter(&file.pool) {
        is_constant |= attribute?.name == b"ConstantValue";
    }
    let signature = field.attributes.signature(&file.pool)?.unwrap_or_default();
    let arguments = arguments(signature);
    let brackets = field.descriptor.iter().take_while(|&&b| b == b'[').count();
    let holds = class_in(field.descriptor).map(|name| names.intern(name));
    let inner = &signature[signature.len().min(brackets)..];
    Ok(Field {
        name: names.intern(field.name),
        is_flat: brackets <= 1 && !inner.contains(&b'['),
        is_static: field.access & flags::STATIC != 0,
        is_final: field.access & flags::FINAL != 0,
        is_constant,
        is_array: brackets > 0,
        holds,
        is_closed: !arguments.is_open,
        arguments: arguments.classes.iter().map(|name| names.intern(name)).collect(),
        generic_arguments: arguments.generic.iter().map(|name| names.intern(name)).collect(),
    })
}

/// The class of a descriptor or of its elements.
fn class_in(descriptor: &[u8]) -> Option<&[u8]> {
    let brackets = descriptor.iter().take_while(|&&b| b == b'[').count();
    descriptor[brackets..].strip_prefix(b"L")?.strip_suffix(b";")
}

/// Whether a call by this name and descriptor puts objects somewhere, or lets them be made.
fn changes(name: &[u8], descriptor: &[u8]) -> bool {
    const PUTS: &[&[u8]] = &[
        b"put",
        b"add",
        b"set",
        b"compute",
        b"merge",
        b"offer",
        b"push",
        b"replace",
        b"update",
        b"accumulate",
        b"insert",
        b"register",
        b"store",
        b"getAnd",
        b"compareAnd",
    ];
    const MAKERS: &[&[u8]] = &[b"Ljava/util/function/", b"Ljava/util/concurrent/Callable;"];
    let end = descriptor.iter().position(|&b| b == b')').unwrap_or(0);
    let parameters = &descriptor[..end];
    let is_in = |part: &[u8]| parameters.windows(part.len()).any(|window| window == part);
    (takes_objects(descriptor) && PUTS.iter().any(|prefix| name.starts_with(prefix)))
        || MAKERS.iter().any(|maker| is_in(maker))
}

/// Whether a method takes objects; its descriptor may stand behind its name.
pub(crate) fn takes_objects(descriptor: &[u8]) -> bool {
    let parameters = descriptor.split(|&b| b == b'(').nth(1).unwrap_or_default();
    let parameters = parameters.split(|&b| b == b')').next().unwrap_or_default();
    parameters.iter().any(|&b| b == b'L' || b == b'[')
}

fn read_method(
    file: &ClassFile<'_>,
    method: &Member<'_>,
    values: &ValueUses<'_>,
    names: &mut Names,
    handles: &mut Vec<NameId>,
) -> Result<Option<Method>, Malformed> {
    let Some(uses) = body_uses(file, method)? else { return Ok(None) };
    let mut mentioned = uses.classes.clone();
    if method.name == b"<init>"
        && let Some(at) = mentioned.iter().position(|name| Some(*name) == file.super_name)
    {
        mentioned.swap_remove(at);
    }
    handles.extend(mentioned.iter().map(|name| names.intern(name)));
    let mut set = |items: &[&[u8]]| {
        let mut ids: Vec<NameId> = items.iter().map(|name| names.intern(name)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let (mentions, makes) = (set(&uses.classes), set(&uses.made));
    let statics: Vec<&[u8]> = uses.statics.iter().map(|field| field.class).collect();
    let statics = set(&statics);
    let returned = method.descriptor.iter().position(|&b| b == b')').map_or(0, |at| at + 1);
    let returns = class_in(&method.descriptor[returned..]).map(|name| names.intern(name));
    let mut calls: Vec<(NameId, NameId)> = uses
        .calls
        .iter()
        .map(|c| (names.intern(c.class), names.intern(&[c.name, c.descriptor].concat())))
        .collect();
    calls.sort_unstable();
    calls.dedup();
    let links =
        Links { is_hidden: method.access & flags::SYNTHETIC != 0, ..Links::of(&uses, names) };
    let given_away = values.given_away.iter().filter_map(|s| value(s, names)).collect();
    let handed_on = values.handed_on.iter().filter_map(|(source, to)| {
        let signature = names.intern(&[to.method.name, to.method.descriptor].concat());
        Some((value(source, names)?, (names.intern(to.method.class), signature, to.slot)))
    });
    let handed_on = handed_on.collect();
    Ok(Some(Method {
        given_away,
        handed_on,
        signature: names.intern(&[method.name, method.descriptor].concat()),
        is_initialiser: method.name == b"<clinit>",
        is_constructor: method.name == b"<init>",
        statics,
        is_writer: (uses.writes_fields && method.name != b"<init>")
            || uses.calls.iter().any(|call| changes(call.name, call.descriptor)),
        returns,
        is_static: method.access & flags::STATIC != 0,
        mentions,
        makes,
        calls,
        links,
    }))
}

impl Links {
    fn of(uses: &BodyUses<'_>, names: &mut Names) -> Self {
        let calls = &uses.calls;
        let mut linked = Self {
            is_reflective: calls.iter().any(|call| is_reflective(call.class, call.name)),
            gets_at_any_field: calls.iter().any(|call| gets_at_fields(call.class, call.name)),
            sets: calls.iter().fold(0, |all, call| all | shelves::set_by(call.class, call.name)),
            asks: calls.iter().fold(0, |all, call| all | shelves::asked_by(call.class, call.name)),
            ..Self::default()
        };
        for call in &uses.interface_calls {
            let method = called_as(call.name, call.descriptor);
            linked.interface_calls.push((names.intern(call.class), names.intern(&method)));
        }
        for call in &uses.calls {
            let owner = names.intern(call.class);
            let end = call.descriptor.iter().position(|&b| b == b')').unwrap_or(0);
            classes_in(&call.descriptor[..end], &mut |name| {
                linked.hands.push((owner, names.intern(&name)));
            });
        }
        for lambda in &uses.lambdas {
            let signature = [lambda.runs.name, lambda.runs.descriptor].concat();
            linked.lambdas.push(Lambda {
                interface: names.intern(lambda.interface),
                called_as: names.intern(&called_as(lambda.name, lambda.descriptor)),
                runs: (names.intern(lambda.runs.class), names.intern(&signature)),
            });
        }
        for (fields, written) in [(&uses.statics, false), (&uses.written_statics, true)] {
            let fields = fields.iter();
            let named = fields.map(|f| (names.intern(f.class), names.intern(f.name), written));
            linked.named_statics.extend(named);
        }
        for field in uses.statics.iter().chain(&uses.written_statics).chain(&uses.fields) {
            let key = names.intern(&[field.name, b":", field.descriptor].concat());
            linked.fields.push((names.intern(field.class), key));
        }
        linked.looks_into.extend(uses.fields.iter().map(|f| names.intern(f.class)));
        linked.tidy();
        linked
    }

    fn tidy(&mut self) {
        for pairs in [&mut self.interface_calls, &mut self.hands, &mut self.fields] {
            pairs.sort_unstable();
            pairs.dedup();
        }
        self.named_statics.sort_unstable();
        self.named_statics.dedup();
        self.looks_into.sort_unstable();
        self.looks_into.dedup();
    }
}

/// A method of an interface by its name and the number of its parameters.
fn called_as(name: &[u8], descriptor: &[u8]) -> Vec<u8> {
    let mut parameters = 0;
    let mut left = descriptor.strip_prefix(b"(").unwrap_or_default();
    while let [first, rest @ ..] = left {
        left = match first {
            b')' => break,
            b'[' => {
                left = rest;
                continue;
            }
            b'L' => rest.iter().position(|&b| b == b';').map_or(&[][..], |at| &rest[at + 1..]),
            _ => rest,
        };
        parameters += 1;
    }
    [name, format!("/{parameters}").as_bytes()].concat()
}

/// Calls that read or write fields by their names or places.
fn gets_at_fields(class: &[u8], method: &[u8]) -> bool {
    match class {
        b"java/lang/reflect/Field" => method.starts_with(b"get") || method.starts_with(b"set"),
        b"java/lang/invoke/MethodHandles$Lookup" => {
            method.starts_with(b"find") || method.starts_with(b"unreflect")
        }
        b"java/lang/invoke/VarHandle" => true,
        b"sun/misc/Unsafe" | b"jdk/internal/misc/Unsafe" => true,
        _ => false,
    }
}

fn value(source: &Source<'_>, names: &mut Names) -> Option<SharedValue> {
    match *source {
        Source::Static(class, name) => {
            Some(SharedValue::Static(names.intern(class), names.intern(name)))
        }
        Source::Parameter(slot) => Some(SharedValue::Parameter(slot)),
        Source::Made(_) => None,
    }
}

/// Calls that make objects or call methods by their names.
fn is_reflective(class: &[u8], method: &[u8]) -> bool {
    match class {
        b"java/lang/Class" => matches!(method, b"newInstance" | b"forName"),
        b"java/lang/reflect/Constructor" => method == b"newInstance",
        b"java/lang/reflect/Method" => method == b"invoke",
        b"java/lang/reflect/Proxy" => method == b"newProxyInstance",
        b"java/lang/invoke/MethodHandle" => method.starts_with(b"invoke"),
        b"java/util/ServiceLoader" => true,
        b"java/lang/ClassLoader" => method == b"loadClass",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::called_as;

    #[test]
    fn methods_of_interfaces_have_a_number_of_parameters() {
        for (descriptor, method) in [
            ("()V", "m/0"),
            ("(Ljava/lang/Object;)Z", "m/1"),
            ("(I[JLa/B;[[La/B;D)La/B;", "m/5"),
            ("(La/B", "m/1"),
            ("", "m/0"),
        ] {
            assert_eq!(called_as(b"m", descriptor.as_bytes()), method.as_bytes(), "{descriptor}");
        }
    }
}
