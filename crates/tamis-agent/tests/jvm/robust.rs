//! What must hold whatever happens: the program runs as it would, nothing that was reported is lost.

use crate::harness::{JvmReport, Program, Server, compile, library, tried_jdks};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tamis_jvm_wire::Mark;
use tamis_jvm_wire::Verdict::Passed;
use tamis_jvm_wire::{Covered, FromJvm, Options, Role};
use tamis_testkit::runner::JUNIT4;
use tamis_testkit::{class_files, classpath_of, jars, jdk, need};

const HELLO: (&str, &str) = (
    "a/Main.java",
    "package a; public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(\"out\"); System.err.println(\"err\");
        if (args.length > 0 && args[0].equals(\"halt\")) Runtime.getRuntime().halt(3);
        System.exit(7); } }",
);

#[test]
fn without_tamis_the_program_runs_as_always() {
    let classes = compile(&[HELLO], &[]);
    for jdk in &tried_jdks() {
        let program = Program::new(jdk, vec![classes.clone()], &["a.Main"]);
        let unconnected = Options {
            socket: "/nonexistent/socket".into(),
            token: "t".into(),
            role: Role::Tests,
            methods: false,
        };
        let agents = [
            unconnected.argument(&library()).expect("a plain path"),
            format!("-agentpath:{}", library().display()),
            format!("-agentpath:{}=what=ever", library().display()),
        ];
        for agent in agents {
            let output = program.command(&agent).output().expect("java starts");
            assert_eq!(output.status.code(), Some(7));
            assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
        }
    }
}

#[test]
fn an_exit_and_a_halt_are_good_ends() {
    let classes = compile(&[HELLO], &[]);
    for jdk in &tried_jdks() {
        for (argument, code) in [("exit", 7), ("halt", 3)] {
            let program = Program::new(jdk, vec![classes.clone()], &["a.Main", argument]);
            let (output, report) = program.run();
            assert_eq!(output.status.code(), Some(code));
            assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
            report.assert_sound();
            assert_eq!(report.ran(""), ["a.Main.main"]);
        }
    }
}

const SLOW: [(&str, &str); 2] = [
    (
        "a/OneTest.java",
        "package a; public class OneTest {
        @org.junit.Test public void one() {} }",
    ),
    (
        "a/SlowTest.java",
        "package a; public class SlowTest {
        @org.junit.Test public void slow() throws Exception {
            System.out.println(); System.out.println(\"ready\"); Thread.sleep(60000); } }",
    ),
];

#[test]
fn a_kill_keeps_what_was_reported() {
    let Some(jars) = jars(&JUNIT4) else { return };
    let classes = compile(&SLOW, &jars);
    for jdk in &tried_jdks() {
        let program =
            Program::junit4(jdk, classpath_of(&classes, &jars), &["a.OneTest", "a.SlowTest"]);
        let server = Server::new();
        let mut command = program.command(&server.argument(Role::Tests));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("java starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let ready = lines.map_while(Result::ok).any(|line| line == "ready");
        assert!(ready, "the slow test runs");
        child.kill().expect("it is still there");
        child.wait().expect("it ends");
        let mut jvms = server.finish();
        let report = JvmReport::new(jvms.remove(0), &program.class_path);
        assert_eq!(report.ran("a.OneTest"), ["a.OneTest.<init>", "a.OneTest.one"]);
        assert_eq!(report.verdicts("a.OneTest"), [Passed]);
        assert!(report.verdicts("a.SlowTest").is_empty());
        assert!(!report.bye);
    }
}

#[test]
fn a_tamis_that_goes_away_does_not_matter() {
    let Some(jars) = jars(&JUNIT4) else { return };
    let tests = [
        SLOW[0],
        (
            "a/TwoTest.java",
            "package a; public class TwoTest {
        @org.junit.Test public void two() {} }",
        ),
    ];
    let classes = compile(&tests, &jars);
    for jdk in &tried_jdks() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("s");
        let listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        let tamis = std::thread::spawn(move || drop(listener.accept().expect("a connection")));
        let options = Options { socket, token: "t".into(), role: Role::Tests, methods: false };
        let program =
            Program::junit4(jdk, classpath_of(&classes, &jars), &["a.OneTest", "a.TwoTest"]);
        let agent = options.argument(&library()).expect("a plain path");
        let output = program.command(&agent).output().expect("java starts");
        assert!(output.status.success(), "{output:?}");
        tamis.join().expect("no panic");
    }
}

#[test]
fn many_threads_lose_no_method_of_any_test() {
    let Some(jars) = jars(&JUNIT4) else { return };
    let mut work = String::from("package a; public class Work { static long sum;\n");
    let mut all = String::new();
    for n in 0..200 {
        writeln!(work, "static void m{n}() {{ sum += {n}; }}").expect("text");
        write!(all, "m{n}(); ").expect("text");
    }
    write!(work, "static void all() {{ {all} }} }}").expect("text");
    let mut files = vec![("a/Work.java".to_owned(), work)];
    for n in 0..20 {
        files.push((
            format!("a/T{n}.java"),
            format!(
                "package a; public class T{n} {{ @org.junit.Test public void t() throws Exception {{
                Thread[] threads = new Thread[8];
                for (int i = 0; i < 8; i++) {{
                  threads[i] = new Thread(new Runnable() {{ public void run() {{
                    for (int r = 0; r < 300; r++) Work.all(); }} }});
                  threads[i].start(); }}
                for (Thread thread : threads) thread.join(); }} }}"
            ),
        ));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let classes = compile(&files, &jars);
    let names: Vec<String> = (0..20).map(|n| format!("a.T{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for jdk in &tried_jdks() {
        let (_, report) = Program::junit4(jdk, classpath_of(&classes, &jars), &names).run();
        report.assert_sound();
        for name in &names {
            let work = report.ran(name).into_iter().filter(|m| m.starts_with("a.Work.m")).count();
            assert_eq!(work, 200, "{name} on {jdk:?}");
        }
    }
}

#[test]
fn a_tracer_sees_the_boundaries_in_order() {
    let Some(jars) = jars(&JUNIT4) else { return };
    if !need("strace") {
        return;
    }
    let touch = |n: u32| {
        format!(
            "package a; public class T{n} {{ @org.junit.Test public void t() {{
            new java.io.File(\"/no/such/file-{n}\").exists(); }} }}"
        )
    };
    let (one, two) = (touch(1), touch(2));
    let classes = compile(&[("a/T1.java", &one), ("a/T2.java", &two)], &jars);
    for jdk in &tried_jdks() {
        let server = Server::new();
        let program = Program::junit4(jdk, classpath_of(&classes, &jars), &["a.T1", "a.T2"]);
        let java = program.command(&server.argument(Role::Tests));
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-e", "trace=%file", "-o"]).arg(&log);
        command.arg(java.get_program()).args(java.get_args());
        let output = command.output().expect("strace starts");
        assert!(output.status.success(), "{output:?}");
        let text = std::fs::read_to_string(&log).expect("a log");
        let mut seen = Vec::new();
        for path in text.lines().filter_map(|line| line.split('"').nth(1)) {
            if let Some((mark, _)) = Mark::parse(path.as_bytes(), "tok") {
                seen.push(format!("{} {}", if mark.begins { "begin" } else { "end" }, mark.test));
            } else if let Some(file) = path.strip_prefix("/no/such/file-") {
                seen.push(file.to_owned());
            }
        }
        seen.dedup();
        assert_eq!(seen, ["begin 1", "1", "end 1", "begin 2", "2", "end 2"], "{jdk:?}");
        drop(server.finish());
    }
}

#[test]
fn a_class_without_room_for_probes_is_reported() {
    // 21,844 increments are 65,532 bytes: no room for another four.
    let mut long = String::from("package a; public class Long { static int long_(int x) {\n");
    for _ in 0..21_844 {
        long.push_str("x++;");
    }
    long.push_str("return x; } public static void main(String[] a) { long_(1); } }");
    let classes = compile(&[("a/Long.java", &long)], &[]);
    for jdk in &tried_jdks() {
        let program = Program::new(jdk, vec![classes.clone()], &["a.Long"]);
        let (output, report) = program.run();
        assert!(output.status.success(), "{output:?}");
        let class = report.classes.iter().find(|class| class.name == b"a/Long").expect("reported");
        let problem = class.problem.as_deref().unwrap_or_default();
        assert!(problem.contains("long_"), "{class:?}");
        assert_eq!(class.probes, 0);
        assert!(report.bye && report.troubles.is_empty());
    }
}

/// An agent in Java that redefines and retransforms the class of a test.
const OTHER: [(&str, &str); 3] = [
    ("a/Other.java", "package a; import java.lang.instrument.*; public class Other {
        static Instrumentation all;
        public static void premain(String text, Instrumentation instrumentation) {
            all = instrumentation;
            all.addTransformer(new ClassFileTransformer() {
                public byte[] transform(ClassLoader l, String n, Class<?> c,
                        java.security.ProtectionDomain d, byte[] bytes) {
                    return n != null && n.startsWith(\"a/\") ? bytes.clone() : null; } }, true); } }"),
    ("a/Thing.java", "package a; public class Thing { public int one() { return 1; } }"),
    ("a/ChangeTest.java", "package a; public class ChangeTest {
        static byte[] bytes() throws Exception {
            try (java.io.InputStream in = Thing.class.getResourceAsStream(\"Thing.class\")) {
                byte[] all = new byte[100000]; int length = 0, n;
                while ((n = in.read(all, length, all.length - length)) > 0) length += n;
                return java.util.Arrays.copyOf(all, length); } }
        @org.junit.Test public void change() throws Exception {
            byte[] bytes = bytes();
            Other.all.redefineClasses(
                new java.lang.instrument.ClassDefinition(Thing.class, bytes));
            Other.all.retransformClasses(Thing.class, Class.class); } }"),
];

fn other_agent(classes: &Path, folder: &Path) -> PathBuf {
    let manifest = folder.join("manifest");
    let text =
        "Premain-Class: a.Other\nCan-Redefine-Classes: true\nCan-Retransform-Classes: true\n";
    std::fs::write(&manifest, text).expect("a manifest");
    let jar = folder.join("other.jar");
    let mut command = Command::new(jdk().tool("jar"));
    command.arg("cfm").arg(&jar).arg(&manifest).arg("-C").arg(classes);
    assert!(command.arg("a/Other.class").status().expect("jar starts").success());
    jar
}

#[test]
fn a_class_that_others_change_keeps_its_probes() {
    let Some(jars) = jars(&JUNIT4) else { return };
    let use_test = (
        "a/UseTest.java",
        "package a; public class UseTest {
        @org.junit.Test public void use() throws Exception {
            new Thing().one(); Class.forName(\"a.Asked\".replace(\"Asked\", \"Thing\")); } }",
    );
    let classes = compile(&[&OTHER[..], &[use_test]].concat(), &jars);
    let folder = tempfile::tempdir().expect("a folder");
    let agent = other_agent(&classes, folder.path());
    for jdk in &tried_jdks() {
        let tests = ["a.UseTest", "a.ChangeTest", "a.UseTest"];
        let mut program = Program::junit4(jdk, classpath_of(&classes, &jars), &tests);
        program.jvm.push(format!("-javaagent:{}", agent.display()));
        let (output, report) = program.run();
        assert!(output.status.success(), "{output:?}");
        assert!(report.bye && report.troubles.is_empty(), "{:?}", report.troubles);
        for class in &report.classes {
            let path = classes.join(format!("{}.class", String::from_utf8_lossy(&class.name)));
            if let Ok(bytes) = std::fs::read(path) {
                assert_eq!(
                    class.hash,
                    tamis_classfile::content_hash(&bytes),
                    "the original counts"
                );
                assert_eq!(class.problem, None);
            }
        }
        // Twice the same: before the change and after it.
        let mut windows: Vec<_> = windows_of(&report.messages, "a.UseTest");
        // What goes on around a test is reported first, and is none of theirs.
        windows.retain(|probes| !probes.is_empty());
        assert_eq!(windows.len(), 2, "{windows:?}");
        assert_eq!(windows[0], windows[1]);
        let asked = report.tests["a.UseTest"].lookups.clone();
        assert!(asked.contains(&tamis_jvm_wire::Lookup::Class("a.Thing".into())));
    }
}

/// The probes that each run of a test class passed in these two classes.
fn windows_of(messages: &[FromJvm], test: &str) -> Vec<Vec<u32>> {
    let mut own = std::collections::BTreeSet::new();
    let mut ids = Vec::new();
    let mut runs = Vec::new();
    for message in messages {
        match message {
            FromJvm::Class(class) if [&b"a/Thing"[..], b"a/UseTest"].contains(&&class.name[..]) => {
                own.extend(class.first_probe..class.first_probe + class.probes);
            }
            FromJvm::Began(began) if began.class == test => ids.push(began.test),
            FromJvm::Window(window) if window.open.iter().any(|id| ids.contains(id)) => {
                runs.push(window.hits.iter().filter(|id| own.contains(id)).collect());
            }
            _ => {}
        }
    }
    runs
}

/// Reads JaCoCo's file of execution data.
struct Executed<'b>(&'b [u8]);

impl<'b> Executed<'b> {
    fn take(&mut self, count: usize) -> &'b [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn text(&mut self) -> String {
        let length = u16::from_be_bytes(self.take(2).try_into().expect("a length"));
        String::from_utf8_lossy(self.take(length.into())).into_owned()
    }

    fn number(&mut self) -> usize {
        let byte = usize::from(self.take(1)[0]);
        if byte < 0x80 { byte } else { byte & 0x7f | self.number() << 7 }
    }
}

/// The classes that JaCoCo knows by their checksums, with their probes. Not the runner's: our hooks
/// ask it for names.
fn executed(file: &Path) -> std::collections::BTreeMap<(Vec<u8>, String), Vec<u8>> {
    let bytes = std::fs::read(file).expect("execution data");
    let mut data = Executed(&bytes);
    let mut all = std::collections::BTreeMap::new();
    while !data.0.is_empty() {
        match data.take(1)[0] {
            0x01 => drop(data.take(4).to_vec()),
            0x10 => drop((data.text(), data.take(16))),
            _ => {
                let class = (data.take(8).to_vec(), data.text());
                let probes = data.number().div_ceil(8);
                all.insert(class, data.take(probes).to_vec());
            }
        }
    }
    all.retain(|(_, class), _| !class.starts_with("org/junit/"));
    all
}

/// An agent that knows classes by their content, as `canRetransform` says; it prints their sizes.
const CONTENT: &str = "package a; import java.lang.instrument.*; public class Content {
    public static void premain(String text, Instrumentation instrumentation) {
        instrumentation.addTransformer(new ClassFileTransformer() {
            public byte[] transform(ClassLoader l, String n, Class<?> c,
                    java.security.ProtectionDomain d, byte[] bytes) {
                if (n != null && n.equals(\"a/OneTest\")) {
                    System.out.println(\"content \" + java.util.Arrays.hashCode(bytes)); }
                return null; } }, Boolean.parseBoolean(text)); } }";

#[test]
fn agents_that_know_classes_by_content_see_them_as_they_are() {
    let Some(jars) = jars(&JUNIT4) else { return };
    let classes = compile(&[SLOW[0], ("a/Content.java", CONTENT)], &jars);
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = folder.path().join("manifest");
    std::fs::write(&manifest, "Premain-Class: a.Content\nCan-Retransform-Classes: true\n").unwrap();
    let jar = folder.path().join("content.jar");
    let mut command = Command::new(jdk().tool("jar"));
    command.arg("cfm").arg(&jar).arg(&manifest).arg("-C").arg(&classes).arg("a/Content.class");
    assert!(command.arg("-C").arg(&classes).arg("a/Content$1.class").status().unwrap().success());
    let bytes = std::fs::read(classes.join("a/OneTest.class")).unwrap();
    let hash = bytes.iter().fold(1_i32, |hash, &byte| {
        hash.wrapping_mul(31).wrapping_add(i32::from(byte.cast_signed()))
    });
    for jdk in &tried_jdks() {
        for can_retransform in ["true", "false"] {
            let mut program = Program::junit4(jdk, classpath_of(&classes, &jars), &["a.OneTest"]);
            program.jvm.push(format!("-javaagent:{}={can_retransform}", jar.display()));
            let (output, report) = program.run();
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(printed.contains(&format!("content {hash}\n")), "{output:?}");
            assert!(report.bye && report.troubles.is_empty(), "{:?}", report.troubles);
            let ran = report.ran("a.OneTest");
            assert!(ran.ends_with(&["a.OneTest.<init>", "a.OneTest.one"]), "{ran:?}");
        }
    }
}

#[test]
fn jacoco_beside_the_agent() {
    let Some(jars) = jars(&JUNIT4) else { return };
    let Some(jacoco) = tamis_testkit::jars(&["org.jacoco:org.jacoco.agent:0.8.13"]) else {
        return;
    };
    let inner = tamis_testkit::unpacked(&jacoco[0]).join("jacocoagent.jar");
    let classes = compile(&[SLOW[0]], &jars);
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("jacoco.exec");
    for jdk in &tried_jdks() {
        let mut program = Program::junit4(jdk, classpath_of(&classes, &jars), &["a.OneTest"]);
        program.jvm.push(format!("-javaagent:{}=destfile={}", inner.display(), data.display()));
        let (output, report) = program.run();
        assert!(output.status.success(), "{output:?}");
        assert!(report.bye && report.troubles.is_empty(), "{:?}", report.troubles);
        assert_eq!(report.ran("a.OneTest"), ["a.OneTest.<init>", "a.OneTest.one"]);
        let (_, bytes) = class_files(&classes).remove(0);
        let class =
            report.classes.iter().find(|class| class.name == b"a/OneTest").expect("reported");
        assert_eq!(class.hash, tamis_classfile::content_hash(&bytes));
        // What the test passed is reported for it alone.
        let of_the_test = report.messages.iter().any(|message| match message {
            FromJvm::Covered(Covered { open, data: Some(data), .. }) => {
                open.len() == 1 && data.windows(9).any(|name| name == b"a/OneTest")
            }
            _ => false,
        });
        assert!(of_the_test, "{:?}", report.messages);
        let under_the_agent = executed(&data);
        std::fs::remove_file(&data).expect("it is there");
        let mut alone = program.command("-Dwithout=agent");
        assert!(alone.output().expect("java starts").status.success());
        assert!(under_the_agent.keys().any(|(_, class)| class == "a/OneTest"));
        assert_eq!(under_the_agent, executed(&data));
        std::fs::remove_file(&data).expect("it is there");
    }
}

const OPENS: [(&str, &str); 2] = [
    (
        "a/Opens.java",
        "package a; public class Opens {
    public static void main(String[] args) throws Exception {
        size(args[0]);
        // The JVM has loaded its libraries by now.
        More.often(args[0]); }
    static long size(String file) throws Exception {
        try (java.nio.channels.FileChannel c = java.nio.channels.FileChannel.open(
                java.nio.file.Paths.get(file))) { return c.size(); } } }",
    ),
    (
        "a/More.java",
        "package a; class More {
    static void often(String file) throws Exception {
        for (int i = 0; i < 1000; i++) {
            try (java.io.InputStream in = new java.io.FileInputStream(file)) { in.read(); }
            System.out.print(Opens.size(file) + \" \"); } } }",
    ),
];

/// A tracer stops calls with paths. `fstat` of the C library has one that is empty.
#[test]
fn open_files_are_asked_about_without_a_path() {
    let classes = compile(&OPENS, &[]);
    let file = classes.join("a/Opens.class");
    let size = file.metadata().expect("was compiled").len();
    for jdk in &tried_jdks() {
        let program = Program::new(
            jdk,
            vec![classes.clone()],
            &["a.Opens", file.to_str().expect("a plain path")],
        );
        let server = Server::new();
        let java = program.command(&server.argument(Role::Tests));
        let log = classes.join("calls.txt");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-e", "trace=newfstatat", "-o"]).arg(&log);
        let output = strace.arg(java.get_program()).args(java.get_args()).output();
        let output = output.expect("strace is installed");
        assert!(output.status.success(), "{output:?}");
        let sizes = String::from_utf8_lossy(&output.stdout);
        assert_eq!(sizes, format!("{size} ").repeat(1000));
        let log = std::fs::read_to_string(&log).expect("strace wrote it");
        let empty = log.lines().filter(|line| line.contains(", \"\", ")).count();
        // The JVM's start, before the agent, needs some.
        assert!(empty < 1000, "{empty} calls of newfstatat with an empty path");
        server.finish();
    }
}

#[test]
fn every_layout_of_objects_lets_probes_be_read() {
    // More methods than one class of marks has room for; every third one runs.
    let mut many = String::from("package a; public class Many {\n");
    let mut calls = String::new();
    for number in 0..700 {
        let _ = writeln!(many, "static void m{number}() {{}}");
        if number % 3 == 0 {
            let _ = write!(calls, "m{number}();");
        }
    }
    let _ = write!(many, "public static void main(String[] a) {{ {calls} }} }}");
    let classes = compile(&[("a/Many.java", &many)], &[]);
    let mut expected: Vec<String> =
        (0..700).step_by(3).map(|number| format!("a.Many.m{number}")).collect();
    expected.push("a.Many.main".to_owned());
    expected.sort();
    for jdk in &tried_jdks() {
        let mut layouts = vec![
            "-XX:-UseCompressedOops",
            "-XX:ObjectAlignmentInBytes=16",
            "-XX:+UseSerialGC",
            "-XX:+UseZGC",
            "-Xint",
        ];
        layouts.extend((jdk.release < 25).then_some("-XX:-UseCompressedClassPointers"));
        layouts.extend((jdk.release >= 25).then_some("-XX:+UseCompactObjectHeaders"));
        for layout in layouts {
            let program = Program {
                jvm: vec![layout.to_owned()],
                ..Program::new(jdk, vec![classes.clone()], &["a.Many"])
            };
            let (output, report) = program.run();
            assert!(output.status.success(), "{layout}: {output:?}");
            report.assert_sound();
            assert_eq!(report.ran(""), expected, "{layout}");
        }
    }
}

#[test]
fn no_probe_is_lost_while_they_are_read() {
    // A thread runs each method once while static initialisers, at which probes are read, come and go.
    let mut many = String::from("package a; public class Many {\n");
    let (mut calls, mut reads) = (String::new(), String::new());
    for number in 0..1_000 {
        let _ = writeln!(many, "static void m{number}() {{}}");
        let _ = write!(calls, "m{number}(); Thread.yield();");
        if number < 300 {
            let _ =
                writeln!(many, "static class C{number} {{ static Object held = new Object(); }}");
            let _ = write!(reads, "if (C{number}.held == null) return;");
        }
    }
    let _ = write!(
        many,
        "static class Writer extends Thread {{ public void run() {{ {calls} }} }}
        public static void main(String[] a) throws Exception {{
            Thread writer = new Writer(); writer.start(); {reads} writer.join(); }} }}"
    );
    let classes = compile(&[("a/Many.java", &many)], &[]);
    for jdk in &tried_jdks() {
        let program = Program::new(jdk, vec![classes.clone()], &["a.Many"]);
        let (output, report) = program.run();
        assert!(output.status.success(), "{output:?}");
        report.assert_sound();
        let ran = report.ran("").into_iter().filter(|method| method.contains(".m")).count();
        // The thousand, and main.
        assert_eq!(ran, 1_001, "{jdk:?}");
        assert!(report.messages.len() > 300, "they were read in between");
    }
}
