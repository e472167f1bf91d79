//! Whole libraries, rewritten: those of other compilers are linked with all verification on, and
//! a JDK's own compiler is run with every one of its methods marked or wrapped.

#[path = "rewrite_support/mod.rs"]
mod support;

use rawzip::ZipArchiveWriter;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{assert_same_but_code, mark_all, wrap_all};
use tamis_classfile::marks;
use tamis_classfile::rewrite::{Editor, Refused};
use tamis_testkit::{Jdk, Sources, class_files, jars, jdk, jdks, unpacked};

const PROBE: &str = "tamisprobe/Counter";

fn probe() -> PathBuf {
    Sources::new()
        .option("--release")
        .option("8")
        .file("tamisprobe/Counter.java", include_str!("rewrite_corpus/Counter.java"))
        .file("launch/Link.java", include_str!("rewrite_corpus/Link.java"))
        .compile(&jdk())
}

/// Class files by name.
type Classes = Vec<(String, Vec<u8>)>;

/// Thousands of small files are slow to write; a jar is one.
fn write_jar(file: &Path, classes: &Classes) {
    let mut out = Vec::new();
    let mut writer = ZipArchiveWriter::new(&mut out);
    for (name, bytes) in classes {
        let (mut entry, config) = writer.new_file(name.as_str()).start().expect("an entry");
        let mut data = config.wrap(&mut entry);
        data.write_all(bytes).expect("written");
        let (_, descriptor) = data.finish().expect("all written");
        entry.finish(descriptor).expect("an entry");
    }
    writer.finish().expect("a jar");
    std::fs::write(file, out).expect("a jar is written");
}

/// The same classes, all methods marked, and again, all methods wrapped.
fn rewritten(classes: &Classes) -> (Classes, Classes) {
    let (mut marked, mut wrapped) = (Classes::new(), Classes::new());
    for first in (0..=classes.len() as u32 * 16 + 1_000).step_by(marks::PER_CLASS as usize) {
        let name = marks::class_name(&format!("{PROBE}Marks"), first);
        marked.push((format!("{name}.class"), marks::class_file(&name, marks::AtFirst::Zero)));
    }
    for (number, (name, bytes)) in classes.iter().enumerate() {
        let untouched = Editor::new(bytes).map(Editor::finish).expect("a class");
        assert_eq!(untouched.as_deref(), Ok(&bytes[..]), "{name}");
        let mark = mark_all(bytes, PROBE, number as u32 * 16);
        let mark = mark.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_same_but_code(bytes, &mark, name);
        marked.push((name.clone(), mark));
        let wrap = match wrap_all(bytes, PROBE) {
            Err(Refused::Unsupported("interface of a version without private methods")) => {
                bytes.clone()
            }
            wrap => {
                let wrap = wrap.unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_same_but_code(bytes, &wrap, name);
                wrap
            }
        };
        wrapped.push((name.clone(), wrap));
    }
    (marked, wrapped)
}

#[test]
fn kotlin_groovy_and_scala_classes_link_as_before() {
    for coordinates in [
        "com.squareup.okio:okio-jvm:3.9.0",
        "org.apache.groovy:groovy-console:4.0.20",
        "org.typelevel:cats-kernel_2.13:2.11.0",
        "org.typelevel:cats-kernel_3:2.11.0",
    ] {
        let Some(jars) = jars(&[coordinates]) else { return };
        let jar = &jars[0];
        let classes = class_files(&unpacked(jar));
        assert!(classes.len() > 20, "{coordinates} has classes");
        let folder = tempfile::tempdir().expect("a folder");
        let (marked, wrapped) = rewritten(&classes);
        let (marked_jar, wrapped_jar) = (folder.path().join("m.jar"), folder.path().join("w.jar"));
        write_jar(&marked_jar, &marked);
        write_jar(&wrapped_jar, &wrapped);
        let output = Command::new(jdk().tool("java"))
            .args(["-Xverify:all", "-XX:TieredStopAtLevel=1", "-cp"])
            .arg(probe())
            .arg("launch.Link")
            .args([jar, &marked_jar, &wrapped_jar])
            .output()
            .expect("java starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let results: Vec<&str> = text.split("jar\n").skip(1).collect();
        assert_eq!(results.len(), 3, "{}", String::from_utf8_lossy(&output.stderr));
        assert!(results[0].matches(" ok\n").count() > 5, "{coordinates}: some classes link");
        assert_eq!(results[0], results[1], "{coordinates}: marked");
        assert_eq!(results[0], results[2], "{coordinates}: wrapped");
    }
}

/// The classes of a module of a JDK.
fn module(jdk: &Jdk, module: &str) -> Classes {
    let into = tempfile::tempdir().expect("a folder");
    let status = Command::new(jdk.tool("jimage"))
        .arg("extract")
        .arg(format!("--dir={}", into.path().display()))
        .arg(format!("--include=regex:/{module}/.*class"))
        .arg(jdk.home.join("lib/modules"))
        .status()
        .expect("jimage starts");
    assert!(status.success(), "jimage extracts {module}");
    let mut classes = class_files(&into.path().join(module));
    classes.retain(|(name, _)| name != "module-info.class");
    classes
}

/// Compiles with a javac whose classes are replaced by those of a jar.
fn compiled(jdk: &Jdk, patch: Option<&Path>, source: &Path, into: &Path) -> Output {
    let mut command = Command::new(jdk.tool("java"));
    command.args(["-Xverify:all", "-XX:TieredStopAtLevel=1"]);
    if let Some(patch) = patch {
        command.arg(format!("--patch-module=jdk.compiler={}", patch.display()));
    }
    command.args(["-m", "jdk.compiler/com.sun.tools.javac.Main", "-nowarn", "-proc:none", "-d"]);
    command.arg(into).arg(source).output().expect("java starts")
}

#[test]
fn javac_compiles_the_same_when_rewritten() {
    let jdk = jdks().pop().expect("a JDK");
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let classes = module(&jdk, "jdk.compiler");
    assert!(classes.len() > 500, "{} classes", classes.len());
    let source = at("Modern17.java");
    std::fs::write(&source, include_str!("rewrite_corpus/Modern17.java")).expect("a source");
    let plain = compiled(&jdk, None, &source, &at("by-plain"));
    assert!(plain.status.success(), "{}", String::from_utf8_lossy(&plain.stderr));
    let expected = class_files(&at("by-plain"));
    let (marked, wrapped) = rewritten(&classes);
    for (variant, mut classes) in [("marked", marked), ("wrapped", wrapped)] {
        classes.extend(class_files(&probe()));
        let jar = at(&format!("{variant}.jar"));
        write_jar(&jar, &classes);
        let into = at(&format!("by-{variant}"));
        let output = compiled(&jdk, Some(&jar), &source, &into);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{variant}: {stderr}");
        let seen = stderr.lines().find_map(|line| line.strip_prefix("seen "));
        let seen: Vec<&str> = seen.expect("the probe reports").split(' ').collect();
        // Of what is wrapped only `main` itself does not end: it calls `System.exit`.
        let (count, open) = if variant == "marked" { (seen[0], "0") } else { (seen[1], "1") };
        assert!(count.parse::<u32>().expect("a number") > 1_000, "{variant}: {stderr}");
        assert_eq!(seen[2], open, "{variant}: {stderr}");
        assert!(expected == class_files(&into), "{variant}: the same classes");
    }
}
