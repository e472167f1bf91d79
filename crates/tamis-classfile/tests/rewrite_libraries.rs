//! Whole libraries, rewritten: those of other compilers are linked with all verification on, and
//! a JDK's own compiler is run with every one of its methods marked or wrapped.

#[path = "rewrite_support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{assert_same_but_code, mark_all, wrap_all};
use tamis_classfile::rewrite::{Editor, Refused};
use tamis_testjava::{Jdk, Sources, artifact, class_files, jdk, jdks, unpacked};

const PROBE: &str = "tamisprobe/Counter";

fn probe() -> PathBuf {
    Sources::new()
        .option("--release")
        .option("8")
        .file("tamisprobe/Counter.java", include_str!("rewrite_corpus/Counter.java"))
        .file("launch/Link.java", include_str!("rewrite_corpus/Link.java"))
        .compile(&jdk())
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let file = folder.join(name);
    std::fs::create_dir_all(file.parent().expect("a parent")).expect("a folder");
    std::fs::write(file, bytes).expect("a class is written");
}

/// Writes marked and wrapped classes into two folders and returns how many there are.
fn rewrite_all(classes: &Path, marked: &Path, wrapped: &Path) -> usize {
    let mut count = 0;
    for (name, bytes) in class_files(classes) {
        let untouched = Editor::new(&bytes).map(Editor::finish).expect("a class");
        assert_eq!(untouched.as_deref(), Ok(&bytes[..]), "{name}");
        let mark = mark_all(&bytes, PROBE, count as u32 * 16 % 1_000_000);
        let mark = mark.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_same_but_code(&bytes, &mark, &name);
        write(marked, &name, &mark);
        let wrap = match wrap_all(&bytes, PROBE) {
            Err(Refused::Unsupported("interface of a version without private methods")) => bytes,
            wrap => {
                let wrap = wrap.unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_same_but_code(&bytes, &wrap, &name);
                wrap
            }
        };
        write(wrapped, &name, &wrap);
        count += 1;
    }
    count
}

#[test]
fn kotlin_groovy_and_scala_classes_link_as_before() {
    for coordinates in [
        "com.squareup.okio:okio-jvm:3.9.0",
        "org.apache.groovy:groovy-console:4.0.20",
        "org.typelevel:cats-kernel_2.13:2.11.0",
        "org.typelevel:cats-kernel_3:2.11.0",
    ] {
        let Some(jar) = artifact(coordinates) else {
            eprintln!("{coordinates} is not available here; its classes were not tried");
            return;
        };
        let classes = unpacked(&jar);
        let folder = tempfile::tempdir().expect("a folder");
        let (marked, wrapped) = (folder.path().join("marked"), folder.path().join("wrapped"));
        let count = rewrite_all(&classes, &marked, &wrapped);
        assert!(count > 20, "{coordinates} has classes");
        let output = Command::new(jdk().tool("java"))
            .args(["-Xverify:all", "-cp"])
            .arg(probe())
            .arg("launch.Link")
            .args([&classes, &marked, &wrapped])
            .output()
            .expect("java starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let results: Vec<&str> = text.split("folder\n").skip(1).collect();
        assert_eq!(results.len(), 3, "{}", String::from_utf8_lossy(&output.stderr));
        assert!(results[0].matches(" ok\n").count() > 5, "{coordinates}: some classes link");
        assert_eq!(results[0], results[1], "{coordinates}: marked");
        assert_eq!(results[0], results[2], "{coordinates}: wrapped");
    }
}

/// The classes of a module of a JDK.
fn module(jdk: &Jdk, module: &str, into: &Path) -> PathBuf {
    let status = Command::new(jdk.tool("jimage"))
        .arg("extract")
        .arg(format!("--dir={}", into.display()))
        .arg(format!("--include=regex:/{module}/.*class"))
        .arg(jdk.home.join("lib/modules"))
        .status()
        .expect("jimage starts");
    assert!(status.success(), "jimage extracts {module}");
    let folder = into.join(module);
    std::fs::remove_file(folder.join("module-info.class")).expect("a module has its description");
    folder
}

/// Compiles a large source with a javac that has some of its classes replaced.
fn compiled(jdk: &Jdk, patch: Option<&Path>, source: &Path, into: &Path) -> Output {
    let mut command = Command::new(jdk.tool("java"));
    command.arg("-Xverify:all");
    if let Some(patch) = patch {
        command.arg(format!("--patch-module=jdk.compiler={}", patch.display()));
    }
    command.args(["-m", "jdk.compiler/com.sun.tools.javac.Main", "-nowarn", "-proc:none", "-d"]);
    command.arg(into).arg(source).output().expect("java starts")
}

#[test]
fn javac_compiles_the_same_when_rewritten() {
    for jdk in jdks().into_iter().filter(|jdk| jdk.release >= 17) {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let classes = module(&jdk, "jdk.compiler", folder.path());
        let count = rewrite_all(&classes, &at("marked"), &at("wrapped"));
        assert!(count > 500, "{count} classes");
        let source = at("Corpus.java");
        // Generated parts of the corpus have no place here: what they are called by must compile.
        let generated = "class Switches { static String run() { return null; } }\n\
                         class Wide extends Switches {}\nclass ManyConstants extends Switches {}\n";
        let text = [include_str!("rewrite_corpus/Corpus.java"), generated].concat();
        std::fs::write(&source, text).expect("a source");
        let plain = compiled(&jdk, None, &source, &at("by-plain"));
        assert!(plain.status.success(), "{}", String::from_utf8_lossy(&plain.stderr));
        let expected = class_files(&at("by-plain"));
        for variant in ["marked", "wrapped"] {
            for (name, bytes) in class_files(&probe()) {
                write(&at(variant), &name, &bytes);
            }
            let output = compiled(&jdk, Some(&at(variant)), &source, &at(&format!("by-{variant}")));
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{variant}: {stderr}");
            let seen = stderr.lines().find_map(|line| line.strip_prefix("seen "));
            let seen: Vec<&str> = seen.expect("the probe reports").split(' ').collect();
            let wanted = if variant == "marked" { seen[0] } else { seen[1] };
            assert!(wanted.parse::<u32>().expect("a number") > 1_000, "{variant}: {stderr}");
            // Only `main` itself does not end: it calls `System.exit`.
            let open = if variant == "marked" { "0" } else { "1" };
            assert_eq!(seen[2], open, "{variant}: {stderr}");
            assert!(expected == class_files(&at(&format!("by-{variant}"))), "{variant}");
        }
    }
}
