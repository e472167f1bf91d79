//! Edits of classes that are put together by hand: limits, refusals and what happens to each part
//! of a code attribute.

use tamis_classfile::rewrite::{Argument, EMPTY_FINALIZER, Editor, Prefix, Refused, Wrap};
use tamis_classfile::{ClassFile, flags};

const MARK: Prefix<'_> = Prefix::Mark { family: "p/Marks", mark: 519 };
const WRAP: Wrap<'_> = Wrap { owner: "p/Probe", enter: "enter", leave: "leave", kind: "kind" };
const RETURN: &[u8] = &[177];

/// A class with one method. Constants: 1 and 2 the class, then one text per name.
struct Assembled {
    version: u16,
    access: u16,
    method_access: u16,
    name: &'static str,
    descriptor: &'static str,
    code: Option<Vec<u8>>,
    handlers: Vec<[u16; 4]>,
    code_attributes: Vec<(&'static str, Vec<u8>)>,
    /// More constants than are needed.
    filler: usize,
    codes: usize,
}

impl Default for Assembled {
    fn default() -> Self {
        Self {
            version: 61,
            access: 0x21,
            method_access: flags::PUBLIC | flags::STATIC,
            name: "f",
            descriptor: "()V",
            code: Some(RETURN.to_vec()),
            handlers: Vec::new(),
            code_attributes: Vec::new(),
            filler: 0,
            codes: 1,
        }
    }
}

impl Assembled {
    fn bytes(&self) -> Vec<u8> {
        let mut texts = vec!["a/A", self.name, self.descriptor, "Code"];
        texts.extend(self.code_attributes.iter().map(|(name, _)| *name));
        let mut out = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0];
        let u2 = |n: usize| (n as u16).to_be_bytes();
        out.extend(self.version.to_be_bytes());
        out.extend(u2(texts.len() + 2 + self.filler));
        out.extend([7, 0, 2]);
        for text in &texts {
            out.push(1);
            out.extend(u2(text.len()));
            out.extend(text.as_bytes());
        }
        for _ in 0..self.filler {
            out.extend([3, 0, 0, 0, 9]);
        }
        out.extend(self.access.to_be_bytes());
        // Class, super class, interfaces, fields, methods.
        out.extend([0, 1, 0, 1, 0, 0, 0, 0, 0, 1]);
        out.extend(self.method_access.to_be_bytes());
        out.extend([0, 3, 0, 4]);
        let Some(code) = &self.code else {
            out.extend([0, 0, 0, 0]);
            return out;
        };
        out.extend(u2(self.codes));
        let mut body = vec![0, 1, 0, 9];
        body.extend((code.len() as u32).to_be_bytes());
        body.extend(code);
        body.extend(u2(self.handlers.len()));
        body.extend(self.handlers.iter().flatten().flat_map(|n| n.to_be_bytes()));
        body.extend(u2(self.code_attributes.len()));
        for (number, (_, data)) in self.code_attributes.iter().enumerate() {
            body.extend(u2(6 + number));
            body.extend((data.len() as u32).to_be_bytes());
            body.extend(data);
        }
        for _ in 0..self.codes {
            out.extend([0, 5]);
            out.extend((body.len() as u32).to_be_bytes());
            out.extend(&body);
        }
        out.extend([0, 0]);
        out
    }

    fn edited(
        &self,
        edit: impl FnOnce(&mut Editor<'_>) -> Result<(), Refused>,
    ) -> Result<Vec<u8>, Refused> {
        let bytes = self.bytes();
        let mut editor = Editor::new(&bytes)?;
        edit(&mut editor)?;
        editor.finish()
    }

    fn marked(&self) -> Result<Vec<u8>, Refused> {
        self.edited(|editor| editor.prefix(0, MARK))
    }
}

/// A code attribute, taken apart.
#[derive(Debug, PartialEq, Eq)]
struct Code {
    max_stack: u16,
    max_locals: u16,
    code: Vec<u8>,
    handlers: Vec<[u16; 4]>,
    attributes: Vec<(String, Vec<u8>)>,
}

impl Code {
    fn of(class: &[u8], method: usize) -> Self {
        let class = ClassFile::parse(class).expect("an edited class");
        let pool = &class.pool;
        let code = class.methods[method]
            .attributes
            .iter(pool)
            .map(|a| a.expect("an attribute"))
            .find(|a| a.name == b"Code")
            .expect("code");
        let mut rest = code.bytes();
        let mut take = |len: usize| {
            let (taken, behind) = rest.split_at(len);
            rest = behind;
            taken
        };
        let u2 = |bytes: &[u8]| u16::from_be_bytes([bytes[0], bytes[1]]);
        let u4 =
            |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
        let (max_stack, max_locals) = (u2(take(2)), u2(take(2)));
        let len = u4(take(4));
        let code = take(len).to_vec();
        let handlers = (0..u2(take(2)))
            .map(|_| [u2(take(2)), u2(take(2)), u2(take(2)), u2(take(2))])
            .collect();
        let attributes = (0..u2(take(2)))
            .map(|_| {
                let name = pool.utf8(u2(take(2))).expect("a name");
                let len = u4(take(4));
                (String::from_utf8_lossy(name).into_owned(), take(len).to_vec())
            })
            .collect();
        assert!(rest.is_empty());
        Self { max_stack, max_locals, code, handlers, attributes }
    }
}

#[test]
fn a_mark_is_four_bytes_before_the_code() {
    let class = Assembled::default().marked().expect("a mark");
    let code = Code::of(&class, 0);
    assert_eq!((code.max_stack, code.max_locals), (1, 9));
    let parsed = ClassFile::parse(&class).expect("a class");
    let [4, 179, a, b, 177] = code.code[..] else { panic!("{:?}", code.code) };
    let field = parsed.pool.member(u16::from_be_bytes([a, b])).expect("a field");
    assert_eq!(
        (field.class, field.name, field.descriptor),
        (&b"p/Marks2"[..], &b"p07"[..], &b"B"[..])
    );
}

#[test]
fn everything_with_a_position_moves() {
    // One annotation of each form; its type is constant 2, without values.
    let annotation = [0, 0, 2, 0, 0];
    let mut annotations = vec![0, 5];
    for target in [
        &[0x40, 0, 2, 0, 1, 0, 2, 0, 0, 0, 3, 0, 4, 0, 1][..], // two ranges of a variable
        &[0x42, 0, 5],                                         // a handler: not a position
        &[0x44, 0, 6],                                         // an instruction
        &[0x47, 0, 9, 1],                                      // an instruction's type argument
        &[0x43, 0, 0],
    ] {
        annotations.extend(target);
        annotations.extend(annotation);
    }
    // A value of each form follows the last: it has to be walked over.
    let values = [
        0, 5, 0, 3, b'I', 0, 1, 0, 3, b'e', 0, 1, 0, 2, 0, 3, b'@', 0, 2, 0, 0, 0, 3, b'[', 0, 2,
        b's', 0, 2, b'c', 0, 2, 0, 3, b'Z', 0, 1,
    ];
    annotations.truncate(annotations.len() - 2);
    annotations.extend(values);
    let mut expected = annotations.clone();
    for place in [6, 12, 32, 40, 49] {
        expected[place] += 4;
    }
    let class = Assembled {
        code: Some(vec![0; 20]),
        handlers: vec![[0, 4, 10, 0], [3, 20, 5, 1]],
        code_attributes: vec![
            ("LineNumberTable", vec![0, 2, 0, 0, 0, 30, 0, 4, 0, 31]),
            ("LocalVariableTable", vec![0, 1, 0, 0, 0, 20, 0, 3, 0, 4, 0, 0]),
            ("LocalVariableTypeTable", vec![0, 1, 0, 7, 0, 13, 0, 3, 0, 4, 0, 1]),
            ("RuntimeVisibleTypeAnnotations", annotations.clone()),
            ("RuntimeInvisibleTypeAnnotations", annotations),
            ("StackMapTable", vec![0, 2, 60, 64, 8, 0, 3]),
        ],
        ..Assembled::default()
    };
    let code = Code::of(&class.marked().expect("a mark"), 0);
    assert_eq!(code.code[4..], [0; 20]);
    assert_eq!(code.handlers, [[4, 8, 14, 0], [7, 24, 9, 1]]);
    let attributes: Vec<_> =
        code.attributes.iter().map(|(n, d)| (n.as_str(), d.as_slice())).collect();
    assert_eq!(
        attributes,
        [
            ("LineNumberTable", &[0, 2, 0, 0, 0, 30, 0, 8, 0, 31][..]),
            ("LocalVariableTable", &[0, 1, 0, 4, 0, 20, 0, 3, 0, 4, 0, 0]),
            ("LocalVariableTypeTable", &[0, 1, 0, 11, 0, 13, 0, 3, 0, 4, 0, 1]),
            ("RuntimeVisibleTypeAnnotations", &expected),
            ("RuntimeInvisibleTypeAnnotations", &expected),
            ("StackMapTable", &[0, 2, 251, 0, 64, 64, 8, 0, 7]),
        ]
    );
}

#[test]
fn what_may_hold_unknown_positions_is_dropped_or_refused() {
    let with = |name: &'static str, data: &[u8]| Assembled {
        code_attributes: vec![(name, data.to_vec()), ("LineNumberTable", vec![0, 0])],
        ..Assembled::default()
    };
    let kept = |class: Assembled| -> Vec<String> {
        let code = Code::of(&class.marked().expect("a mark"), 0);
        code.attributes.into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(kept(with("Stranger", &[1, 2, 3])), ["LineNumberTable"]);
    // A target that belongs to a signature, and a position that leaves the code.
    assert_eq!(
        kept(with("RuntimeVisibleTypeAnnotations", &[0, 1, 0x13, 0, 0, 2, 0, 0])),
        ["LineNumberTable"]
    );
    assert_eq!(
        kept(with("RuntimeVisibleTypeAnnotations", &[0, 1, 0x43, 255, 255, 0, 0, 2, 0, 0])),
        ["LineNumberTable"]
    );
    assert_eq!(kept(with("RuntimeVisibleTypeAnnotations", &[0, 0, 1])), ["LineNumberTable"]);
    let refused = with("StackMap", &[0, 0]).marked();
    assert_eq!(refused, Err(Refused::Unsupported("method with frames in the form of CLDC")));
    for (name, data) in [
        ("LineNumberTable", &[0, 1, 255, 253, 0, 1][..]),
        ("LineNumberTable", &[0, 2, 0, 0, 0, 1]),
        ("LineNumberTable", &[0, 0, 0]),
        ("LocalVariableTable", &[0, 1, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("StackMapTable", &[0, 1, 200]),
    ] {
        assert!(matches!(with(name, data).marked(), Err(Refused::Malformed(_))), "{name} {data:?}");
    }
    let handler = Assembled { handlers: vec![[0, 65_535, 0, 0]], ..Assembled::default() };
    assert!(matches!(handler.marked(), Err(Refused::Malformed(_))));
}

#[test]
fn an_untouched_or_refused_method_keeps_all() {
    let class = Assembled {
        code_attributes: vec![("Stranger", vec![1]), ("StackMap", vec![0])],
        ..Assembled::default()
    };
    let bytes = class.bytes();
    let same = class.edited(|editor| {
        assert!(editor.prefix(1, MARK).is_err());
        assert!(editor.wrap(9, WRAP).is_err());
        let call = Prefix::Call { owner: "p/Probe", name: "f", arguments: &[Argument::Local(0)] };
        assert_eq!(
            editor.prefix(0, call),
            Err(Refused::Unsupported("local variable that is no reference"))
        );
        Ok(())
    });
    assert_eq!(same.as_deref(), Ok(&bytes[..]));
    // A wrapped original without a prefix keeps what a moved one could not.
    let wrapped = class.edited(|editor| editor.wrap(0, WRAP)).expect("a wrapper");
    assert_eq!(Code::of(&wrapped, 1), Code::of(&bytes, 0));
}

#[test]
fn the_longest_method() {
    let with = |len: usize| Assembled { code: Some(vec![0; len]), ..Assembled::default() };
    assert!(with(65_531).marked().is_ok());
    assert_eq!(with(65_532).marked(), Err(Refused::TooLong));
    // A refused edit leaves the earlier one in place.
    let class = with(65_531).edited(|editor| {
        editor.prefix(0, MARK)?;
        assert_eq!(editor.prefix(0, MARK), Err(Refused::TooLong));
        let skip = Prefix::ReturnIf { owner: "p/Probe", name: "skip", arguments: &[] };
        assert_eq!(editor.prefix(0, skip), Err(Refused::TooLong));
        Ok(())
    });
    let code = Code::of(&class.expect("one mark"), 0);
    assert_eq!((code.code.len(), code.attributes.len()), (65_535, 0));
    // A wrapper is a method of its own.
    assert!(with(65_535).edited(|editor| editor.wrap(0, WRAP)).is_ok());
}

#[test]
fn a_full_pool() {
    // Four texts, two for the class; a mark needs six more.
    let with = |constants: usize| Assembled { filler: constants - 6, ..Assembled::default() };
    assert!(with(65_535 - 6).marked().is_ok());
    assert_eq!(with(65_535 - 5).marked(), Err(Refused::PoolFull));
    assert_eq!(with(65_535).edited(|e| e.wrap(0, WRAP)), Err(Refused::PoolFull));
    let full = with(65_535);
    let untouched = full.edited(|editor| {
        assert_eq!(editor.prefix(0, MARK), Err(Refused::PoolFull));
        Ok(())
    });
    assert_eq!(untouched, Ok(full.bytes()));
}

#[test]
fn methods_that_have_no_code_or_two() {
    let none = Assembled { code: None, method_access: 0x0401, ..Assembled::default() };
    assert_eq!(none.marked(), Err(Refused::NoCode));
    assert_eq!(none.edited(|e| e.wrap(0, WRAP)), Err(Refused::NoCode));
    let two = Assembled { codes: 2, ..Assembled::default() };
    assert!(matches!(two.marked(), Err(Refused::Malformed(_))));
}

#[test]
fn a_call_passes_references_and_texts() {
    let class = Assembled {
        method_access: flags::PUBLIC,
        descriptor: "(J[ILjava/lang/String;D)V",
        ..Assembled::default()
    };
    let call = |arguments: &[Argument<'_>]| {
        class.edited(|e| e.prefix(0, Prefix::Call { owner: "p/Probe", name: "f", arguments }))
    };
    let edited =
        call(&[Argument::Local(0), Argument::Text("é\0"), Argument::Local(4), Argument::Local(3)])
            .expect("a call");
    let code = Code::of(&edited, 0);
    let [42, 19, _, _, 25, 4, 45, 184, a, b, 0, 0, 177] = code.code[..] else {
        panic!("{:?}", code.code)
    };
    let parsed = ClassFile::parse(&edited).expect("a class");
    let method = parsed.pool.member(u16::from_be_bytes([a, b])).expect("a method");
    assert_eq!(
        method.descriptor,
        b"(Ljava/lang/Object;Ljava/lang/String;Ljava/lang/Object;Ljava/lang/Object;)V"
    );
    assert_eq!(code.max_stack, 4);
    for slot in [1, 2, 5, 6, 7, 300] {
        assert!(matches!(call(&[Argument::Local(slot)]), Err(Refused::Unsupported(_))), "{slot}");
    }
    let long = "x".repeat(70_000);
    assert!(matches!(call(&[Argument::Text(&long)]), Err(Refused::Unsupported(_))));
    assert!(matches!(call(&[Argument::Text("x"); 256]), Err(Refused::Unsupported(_))));
}

#[test]
fn a_parameter_is_replaced() {
    let class = Assembled { descriptor: "([Ljava/lang/String;JI)V", ..Assembled::default() };
    let replace = |local| Prefix::Replace {
        owner: "p/Probe",
        name: "other",
        local,
        kind: "[Ljava/lang/String;",
    };
    let edited = class.edited(|e| e.prefix(0, replace(0))).expect("replaced");
    let code = Code::of(&edited, 0).code;
    let [42, 184, a, b, 192, c, d, 75, 177] = code[..] else { panic!("{code:?}") };
    let pool = ClassFile::parse(&edited).expect("a class").pool;
    let method = pool.member(u16::from_be_bytes([a, b])).expect("a method");
    assert_eq!(method.descriptor, b"(Ljava/lang/Object;)Ljava/lang/Object;");
    assert_eq!(pool.class_name(u16::from_be_bytes([c, d])), Ok(&b"[Ljava/lang/String;"[..]));
    for local in [1, 3, 9] {
        let refused = class.edited(|e| e.prefix(0, replace(local)));
        assert!(matches!(refused, Err(Refused::Unsupported(_))), "{local}");
    }
    let own = Assembled { method_access: flags::PUBLIC, ..class };
    assert!(matches!(own.edited(|e| e.prefix(0, replace(0))), Err(Refused::Unsupported(_))));
    assert_eq!(
        Code::of(&own.edited(|e| e.prefix(0, replace(1))).expect("replaced"), 0).code.len(),
        9
    );
}

#[test]
fn a_constructor_does_not_give_away_this() {
    let class = Assembled {
        name: "<init>",
        method_access: 1,
        descriptor: "(Ljava/util/List;)V",
        ..Assembled::default()
    };
    let call = |arguments| Prefix::Call { owner: "p/Probe", name: "f", arguments };
    assert!(class.marked().is_ok());
    assert!(class.edited(|e| e.prefix(0, call(&[Argument::Local(1)]))).is_ok());
    assert!(matches!(
        class.edited(|e| e.prefix(0, call(&[Argument::Local(0)]))),
        Err(Refused::Unsupported(_))
    ));
    let skip = Prefix::ReturnIf { owner: "p/Probe", name: "f", arguments: &[] };
    assert!(matches!(class.edited(|e| e.prefix(0, skip)), Err(Refused::Unsupported(_))));
    assert!(matches!(class.edited(|e| e.wrap(0, WRAP)), Err(Refused::Unsupported(_))));
}

#[test]
fn an_early_return_brings_its_frame() {
    let skip =
        Prefix::ReturnIf { owner: "p/Probe", name: "skip", arguments: &[Argument::Text("t")] };
    let frames = |class: &Assembled| -> Vec<Vec<u8>> {
        let edited = class.edited(|e| e.prefix(0, skip)).expect("an early return");
        let code = Code::of(&edited, 0);
        assert_eq!(code.code[8..12], [153, 0, 4, 177]);
        code.attributes
            .into_iter()
            .map(|(name, data)| {
                assert_eq!(name, "StackMapTable");
                data
            })
            .collect()
    };
    assert_eq!(frames(&Assembled::default()), [[0, 1, 12]]);
    assert_eq!(frames(&Assembled { version: 49, ..Assembled::default() }), [[0_u8; 0]; 0]);
    let own = |data: &[u8]| Assembled {
        code_attributes: vec![("StackMapTable", data.to_vec())],
        ..Assembled::default()
    };
    assert_eq!(frames(&own(&[0, 1, 0])), [[0, 1, 12]]);
    assert_eq!(frames(&own(&[0, 1, 3])), [[0, 2, 12, 2]]);
    let value = Assembled { descriptor: "()I", ..Assembled::default() };
    assert!(matches!(value.edited(|e| e.prefix(0, skip)), Err(Refused::Unsupported(_))));
}

#[test]
fn prefixes_run_in_the_order_given() {
    let class = Assembled::default().edited(|editor| {
        for mark in [1, 2, 3] {
            editor.prefix(0, Prefix::Mark { family: "p/Marks", mark })?;
        }
        Ok(())
    });
    let class = class.expect("three marks");
    let pool = ClassFile::parse(&class).expect("a class").pool;
    let code = Code::of(&class, 0).code;
    let field = |at: usize| pool.member(u16::from_be_bytes([code[at], code[at + 1]])).unwrap().name;
    assert_eq!([field(2), field(6), field(10)], [b"p01", b"p02", b"p03"]);
    assert_eq!(code.len(), 13);
}

#[test]
fn a_wrapper_takes_the_place_of_the_method() {
    let class = Assembled {
        method_access: 0x0001 | 0x0010 | 0x0020 | 0x0080 | 0x0008,
        ..Assembled::default()
    };
    let edited = class
        .edited(|editor| {
            editor.wrap(0, WRAP)?;
            editor.prefix(0, MARK)?;
            assert_eq!(
                editor.wrap(0, WRAP),
                Err(Refused::Unsupported("method is wrapped already"))
            );
            Ok(())
        })
        .expect("a wrapper");
    let parsed = ClassFile::parse(&edited).expect("a class");
    let methods: Vec<_> = parsed.methods.iter().map(|m| (m.access, m.name, m.descriptor)).collect();
    assert_eq!(
        methods,
        [
            (0x0001 | 0x0010 | 0x0080 | 0x0008, &b"f"[..], &b"()V"[..]),
            (0x0002 | 0x0020 | 0x0008 | 0x1000, b"f$tamis", b"()V"),
        ]
    );
    // The mark went to the original.
    assert_eq!(Code::of(&edited, 1).code[..2], [4, 179]);
    assert_eq!(Code::of(&edited, 0).attributes[0].0, "StackMapTable");
    let old = Assembled { version: 49, ..Assembled::default() };
    let old = old.edited(|e| e.wrap(0, WRAP)).expect("a wrapper");
    assert_eq!(Code::of(&old, 0).attributes, []);
}

#[test]
fn what_cannot_be_wrapped() {
    let refused = |class: Assembled| match class.edited(|e| e.wrap(0, WRAP)) {
        Err(Refused::Unsupported(why)) => why,
        other => panic!("{other:?}"),
    };
    let interface = |version| Assembled { version, access: 0x0601, ..Assembled::default() };
    assert!(interface(52).edited(|e| e.wrap(0, WRAP)).is_ok());
    assert!(refused(interface(51)).contains("interface"));
    assert!(
        refused(Assembled { name: "<clinit>", ..Assembled::default() }).contains("initialiser")
    );
    let wide: &'static str = Box::leak(format!("({})V", "J".repeat(30_000)).into_boxed_str());
    assert!(refused(Assembled { descriptor: wide, ..Assembled::default() }).contains("255"));
    assert!(
        refused(Assembled { descriptor: "(Q)V", ..Assembled::default() }).contains("descriptor")
    );
    // All 255 slots, the token behind them.
    let full: &'static str = Box::leak(format!("({}I)V", "J".repeat(127)).into_boxed_str());
    let full = Assembled { descriptor: full, ..Assembled::default() };
    let code = Code::of(&full.edited(|e| e.wrap(0, WRAP)).expect("a wrapper"), 0);
    assert_eq!((code.max_stack, code.max_locals), (255, 256));
}

#[test]
fn an_empty_finalizer_stays_empty() {
    let empty = Assembled { name: "finalize", method_access: 4, ..Assembled::default() };
    assert_eq!(empty.marked(), Err(EMPTY_FINALIZER));
    assert_eq!(empty.edited(|e| e.wrap(0, WRAP)), Err(EMPTY_FINALIZER));
    let other = Assembled { descriptor: "(I)V", ..empty };
    assert!(other.marked().is_ok());
    let busy = Assembled { descriptor: "()V", code: Some(vec![0, 177]), ..other };
    assert!(busy.marked().is_ok());
}
