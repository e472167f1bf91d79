//! Rewritten classes in real JVMs, with all verification on: a program that is awkward to rewrite
//! prints the same before and after, and what was marked, called and wrapped is what ran.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use tamis_classfile::rewrite::{Argument, Editor, Prefix, Refused, Wrap};
use tamis_classfile::{Member, flags, marks, mutf8};
use tamis_testkit::{Jdk, Sources, class_files, jdk, jdks};

const PROBE: &str = "probe/Probe";
const MARKS: &str = "probe/ProbeMarks";
/// The marks of the corpus lie in more than one class.
const FIRST_ID: u32 = 250;

/// Switches at every distance from a multiple of four, at the start of a method and behind it.
fn switches() -> String {
    let mut methods = String::new();
    let mut calls = String::new();
    for before in 0..6 {
        let increments = "x++; ".repeat(before);
        let constants = "x = x == 0 ? 1 : x; ".repeat(before % 3);
        let _ = writeln!(
            methods,
            "static int table{before}(int x) {{ {increments}{constants}switch (x) {{ case 1: return 10; case 2: x += 5; \
             case 3: return x; case 5: return 50; default: return -1; }} }}\n\
             static int lookup{before}(int x) {{ {increments}{constants}while (true) switch (x) {{ case -100000: return 10; \
             case 7: x = 1000; break; case 1000: return x; case 99999: return 50; default: x = 7; }} }}\n\
             int fields{before}; void atStart{before}(int x) {{ switch (x) {{ case 0: fields{before}++; break; \
             case 1: fields{before}--; }} {increments} switch (fields{before}) {{ case 5000: x = 1; break; case -9: x++; }} fields{before} += x; }}",
        );
        let _ = writeln!(
            calls,
            "for (int i = -3; i < 9; i++) {{ out.append(table{before}(i)).append(',').append(lookup{before}(i)).append(' '); \
             s.atStart{before}(i); out.append(s.fields{before}); }}",
        );
    }
    format!(
        "package corpus; class Switches {{ {methods} static String run() {{ StringBuilder out = new StringBuilder(); \
         Switches s = new Switches(); {calls} return out.toString(); }} }}"
    )
}

/// A loop whose jumps do not fit into 16 bits, and a method that is nearly as long as can be.
fn wide() -> String {
    let body = "a = a * 31 + b; b ^= a >>> 3; if ((a & 1023) == 5) b++;\n".repeat(1_600);
    let nearly = "a = a * 31 + b; b ^= a >>> 3; if ((a & 1023) == 5) b++;\n".repeat(2_450);
    format!(
        "package corpus; class Wide {{ static int far(int a) {{ int b = 1; for (int i = 0; i < 3; i++) {{ \
         if (a == 77) continue; {body} }} return a + b; }}\n static int nearly(int a, int b) {{ {nearly} return a ^ b; }}\n\
         static String run() {{ return far(3) + \" \" + far(77) + \" \" + nearly(5, 6); }} }}"
    )
}

/// So many constants that `ldc` does not reach most of them.
fn many_constants() -> String {
    let mut methods = String::new();
    let mut calls = String::new();
    for group in 0..40 {
        let sum: Vec<_> = (0..120).map(|i| format!("\"constant {group} {i}\"")).collect();
        let _ = writeln!(
            methods,
            "static int group{group}() {{ String[] all = {{ {} }}; int h = 0; for (String s : all) h = h * 31 + s.hashCode(); return h; }}",
            sum.join(", ")
        );
        let _ = writeln!(calls, "h += group{group}();");
    }
    format!(
        "package corpus; class ManyConstants {{ {methods} static String run() {{ int h = 0; {calls} return \"\" + h; }} }}"
    )
}

fn corpus(release: u32) -> Sources {
    let mut sources = Sources::new()
        .option("--release")
        .option(&release.to_string())
        .option("-g")
        .file("corpus/Corpus.java", include_str!("rewrite_corpus/Corpus.java"))
        .file("corpus/Switches.java", &switches())
        .file("corpus/Wide.java", &wide())
        .file("corpus/ManyConstants.java", &many_constants());
    if release >= 17 {
        sources =
            sources.file("corpus/Modern17.java", include_str!("rewrite_corpus/Modern17.java"));
    }
    if release >= 25 {
        sources =
            sources.file("corpus/Modern25.java", include_str!("rewrite_corpus/Modern25.java"));
    }
    sources
}

/// `corpus/Loops.spin(I)I`.
fn full_name(editor: &Editor<'_>, method: &Member<'_>) -> String {
    format!(
        "{}.{}{}",
        mutf8::decode(editor.class().name),
        mutf8::decode(method.name),
        mutf8::decode(method.descriptor)
    )
}

fn wrap_of(kind: &str) -> Wrap<'_> {
    Wrap { owner: PROBE, enter: "enter", leave: "leave", kind }
}

/// A stack overflow inside of the probe itself has no defined end.
fn is_endless(name: &str) -> bool {
    name.contains(".endless(")
}

#[derive(Debug, Default)]
struct Variants {
    ids: BTreeMap<u32, String>,
}

impl Variants {
    fn marked(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut editor = Editor::new(bytes).expect("a class");
        for (index, method) in editor.class().methods.clone().iter().enumerate() {
            let id = FIRST_ID + self.ids.len() as u32;
            match editor.prefix(index, Prefix::Mark { family: MARKS, mark: id }) {
                Ok(()) => drop(self.ids.insert(id, full_name(&editor, method))),
                refused => assert_eq!(refused, Err(Refused::NoCode)),
            }
        }
        editor.finish().expect("marked")
    }

    fn wrapped(bytes: &[u8]) -> Vec<u8> {
        let mut editor = Editor::new(bytes).expect("a class");
        for (index, method) in editor.class().methods.clone().iter().enumerate() {
            let name = full_name(&editor, method);
            if is_endless(&name) {
                continue;
            }
            let result = editor.wrap(index, wrap_of(&format!("w {name}")));
            let is_initialiser = method.name.starts_with(b"<");
            match result {
                Ok(()) => assert!(!is_initialiser),
                Err(Refused::NoCode) => assert!(method.access & 0x0500 != 0, "{name}"),
                other => assert!(is_initialiser, "{name}: {other:?}"),
            }
        }
        editor.finish().expect("wrapped")
    }

    /// All kinds of edits on the same methods.
    fn everything(bytes: &[u8]) -> Vec<u8> {
        let mut editor = Editor::new(bytes).expect("a class");
        for (index, method) in editor.class().methods.clone().iter().enumerate() {
            let name = full_name(&editor, method);
            // One method has no room for so much.
            if method.access & 0x0500 != 0 || is_endless(&name) {
                continue;
            }
            let text = format!("c {name}");
            let with_this = [Argument::Local(0), Argument::Text(&text)];
            let has_this = method.access & flags::STATIC == 0 && method.name != b"<init>";
            let arguments = if has_this { &with_this[..] } else { &with_this[1..] };
            let call = Prefix::Call { owner: PROBE, name: "called", arguments };
            let skip = Prefix::ReturnIf { owner: PROBE, name: "skip", arguments };
            if method.name == b"<init>" {
                let refused = Prefix::Call { owner: PROBE, name: "called", arguments: &with_this };
                assert!(matches!(editor.prefix(index, refused), Err(Refused::Unsupported(_))));
                assert!(matches!(editor.prefix(index, skip), Err(Refused::Unsupported(_))));
            }
            editor.prefix(index, call).expect("a call");
            if method.name == b"<clinit>" {
                let arguments = [Argument::ThisClass, Argument::Text(&name)];
                editor
                    .before_return(index, (PROBE, "ended"), &arguments)
                    .expect("a call at the end");
            }
            let mark = Prefix::Mark { family: MARKS, mark: 1 };
            if method.descriptor.ends_with(b"V") && method.name != b"<init>" {
                editor.prefix(index, skip).expect("an early return");
                editor.prefix(index, mark).expect("a mark between");
                editor.prefix(index, skip).expect("a second early return");
            }
            if !method.name.starts_with(b"<") {
                editor.wrap(index, wrap_of(&format!("w {name}"))).expect("a wrapper");
            }
        }
        editor.finish().expect("edited")
    }
}

fn lines(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).expect("what the JVM wrote").lines().map(str::to_owned).collect()
}

/// The lines that begin with a word, without it.
fn facts(report: &[String], word: &str) -> BTreeSet<String> {
    report.iter().filter_map(|l| Some(l.strip_prefix(word)?.trim().to_owned())).collect()
}

fn check(compiler: &Jdk, release: u32, runtimes: &[Jdk], probe: &Path) {
    let context = format!("javac {} --release {release}", compiler.release);
    let classes = corpus(release).compile(compiler);
    let folder = tempfile::tempdir().expect("a folder");
    let mut variants = Variants::default();
    for (name, mut bytes) in class_files(&classes) {
        if name == "corpus/Old.class" {
            bytes[6..8].copy_from_slice(&49_u16.to_be_bytes());
        }
        for (variant, bytes) in [
            ("plain", bytes.clone()),
            ("marked", variants.marked(&bytes)),
            ("wrapped", Variants::wrapped(&bytes)),
            ("everything", Variants::everything(&bytes)),
        ] {
            let file = folder.path().join(variant).join(&name);
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("a folder");
            std::fs::write(file, bytes).expect("a class is written");
        }
    }
    assert!(
        variants.ids.keys().all(|&id| id < 3 * marks::PER_CLASS),
        "{context}: as in Probe.java"
    );
    for runtime in runtimes.iter().filter(|runtime| runtime.release >= release) {
        let context = format!("{context}, run by {}", runtime.release);
        let mut command = Command::new(runtime.tool("java"));
        command.args(["-Xverify:all", "-Xshare:off", "-cp"]).arg(probe).arg("launch.Launch");
        command.args((release >= 17).then_some("+corpus.Modern17"));
        command.args((release >= 25).then_some("+corpus.Modern25"));
        for variant in ["plain", "marked", "wrapped", "everything"] {
            command.arg(folder.path().join(variant));
        }
        let output = command.output().expect("java starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{context}: {stderr}");
        let of = |variant: &str, file: &str| lines(&folder.path().join(variant).join(file));

        let plain = of("plain", "output.txt");
        assert!(
            plain.len() >= 14 && !plain.concat().contains("Exception"),
            "{context}: {plain:#?}"
        );
        assert_eq!(of("plain", "report.txt"), [""; 0], "{context}");
        assert_eq!(of("marked", "output.txt"), plain, "{context}");
        assert_eq!(of("wrapped", "output.txt"), plain, "{context}");
        // The probe skips one method: its loop does not turn.
        let mut skipped = of("everything", "output.txt");
        assert!(skipped[0].starts_with("loops: 0 "), "{context}: {skipped:?}");
        skipped[0].clone_from(&plain[0]);
        assert_eq!(skipped, plain, "{context}");

        let hits: BTreeSet<String> = facts(&of("marked", "report.txt"), "hit ")
            .iter()
            .map(|id| variants.ids[&id.parse::<u32>().expect("an id")].clone())
            .collect();
        let of_said = |all: &BTreeSet<String>| -> BTreeSet<String> {
            all.iter().filter_map(|m| Some(m.strip_prefix("corpus/Said.")?.to_owned())).collect()
        };
        let said: BTreeSet<String> = of("marked", "said.txt").into_iter().collect();
        assert!(said.len() > 8, "{context}: {said:?}");
        assert_eq!(of_said(&hits), said, "{context}");

        let wrapped = of("wrapped", "report.txt");
        let entered = facts(&wrapped, "called w ");
        let marked: BTreeSet<String> =
            hits.iter().filter(|m| !m.contains(".<") && !is_endless(m)).cloned().collect();
        assert_eq!(entered, marked, "{context}");
        let everything = of("everything", "report.txt");
        let called = facts(&everything, "called c ");
        assert_eq!(called, hits.iter().filter(|m| !is_endless(m)).cloned().collect(), "{context}");
        // Every initialiser that ran has come to its end.
        let ended: BTreeSet<String> =
            hits.iter().filter(|m| m.contains(".<clinit>")).cloned().collect();
        assert!(ended.len() > 3, "{context}: {ended:?}");
        assert_eq!(facts(&everything, "called e "), ended, "{context}");
        assert_eq!(facts(&everything, "hit "), BTreeSet::from(["1".to_owned()]), "{context}");
        for report in [&wrapped, &everything] {
            assert_eq!(facts(report, "open "), BTreeSet::new(), "{context}");
            let events = facts(report, "event ");
            assert_eq!(events, expected_events(), "{context}");
        }
    }
}

fn expected_events() -> BTreeSet<String> {
    let many: Vec<_> =
        (1..=20).map(|n| if n % 2 == 1 { format!("{n}") } else { format!("{n}.0") }).collect();
    [
        "enter w corpus/Kinds.z(Z)Z true [true]".to_owned(),
        "enter w corpus/Kinds.b(B)B true [127]".into(),
        "enter w corpus/Kinds.c(C)C true [a]".into(),
        "enter w corpus/Kinds.s(S)S true [5]".into(),
        "enter w corpus/Kinds.i(I)I true [1]".into(),
        "enter w corpus/Kinds.j(J)J true [1099511627776]".into(),
        "enter w corpus/Kinds.f(F)F true [1.5]".into(),
        "enter w corpus/Kinds.d(D)D true [2.5]".into(),
        "enter w corpus/Kinds.l(Ljava/lang/String;)Ljava/lang/String; true [x]".into(),
        "enter w corpus/Kinds.a([I)[I true [[41]]".into(),
        "enter w corpus/Kinds.aa([[Ljava/lang/String;)[[Ljava/lang/String; true [[[p], []]]".into(),
        "enter w corpus/Kinds.mixed(JIDLjava/lang/Object;FJ[BZCSB[Ljava/lang/String;)Ljava/lang/String; false \
         [1, 2, 3.0, o, 4.0, 5, [0, 0, 0, 0, 0, 0], true, i, 7, 8, [v, w]]".into(),
        format!("enter w corpus/Kinds.many({}Ljava/lang/Object;)Ljava/lang/String; true [{}, end]", "JD".repeat(10), many.join(", ")),
        "enter w corpus/Kinds.run()Ljava/lang/String; true []".into(),
        "thrown w corpus/Exceptions.thrower(I)V deep".into(),
        "thrown w corpus/Locks.failing()V locked".into(),
    ]
    .into()
}

#[test]
fn programs_do_the_same_when_marked_called_and_wrapped() {
    let probe = Sources::new()
        .option("--release")
        .option("8")
        .file("probe/Probe.java", include_str!("rewrite_corpus/Probe.java"))
        .file("launch/Launch.java", include_str!("rewrite_corpus/Launch.java"))
        .compile(&jdk());
    for name in (0..3).map(|number| marks::class_name(MARKS, number * marks::PER_CLASS)) {
        let file = probe.join(format!("{name}.class"));
        std::fs::write(file, marks::class_file(&name, marks::AtFirst::Zero)).expect("written");
    }
    let all: Vec<Jdk> = jdks().into_iter().filter(|jdk| jdk.release >= 17).collect();
    for compiler in &all {
        for release in [8, 17, 25].into_iter().filter(|&release| release <= compiler.release) {
            check(compiler, release, &all, &probe);
        }
    }
}
