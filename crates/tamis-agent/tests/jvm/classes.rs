//! The compiled hook classes of the repository are those of its sources.

use std::path::Path;
use tamis_classfile::{Analyser, ClassFile, Fingerprint};
use tamis_testkit::{Sources, class_files, jdk};

#[test]
fn the_committed_classes_are_the_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("java");
    let with = |options: &[&str], places: &[(&str, &str)]| {
        let mut sources = Sources::new().option("-g:none").option("-Xlint:-options");
        for option in options {
            sources = sources.option(option);
        }
        for (place, package) in places {
            for entry in std::fs::read_dir(folder.join(place)).expect("sources").flatten() {
                let text = std::fs::read_to_string(entry.path()).expect("a readable source");
                sources = sources.file(&format!("{package}{}", entry.file_name().display()), &text);
            }
        }
        sources
    };
    let hooks = ("source/java/lang", "java/lang/");
    let inside = [("inside/java/lang", "java/lang/"), hooks];
    let inside = with(&["-source", "8", "-target", "8"], &inside).compile(&jdk());
    let sources = with(&["--release", "8"], &[hooks, ("check", "")]).classpath(&inside);
    let mut compiled = class_files(&sources.compile(&jdk()));
    let is_inside = |name: &str| {
        name.starts_with("java/lang/TamisHeap") || name == "java/lang/TamisMarks.class"
    };
    compiled.extend(class_files(&inside).into_iter().filter(|(name, _)| is_inside(name)));
    compiled.sort();
    let mut committed = class_files(&folder.join("classes"));
    committed.sort();
    let (compiled, committed) = (fingerprints(&compiled), fingerprints(&committed));
    assert!(!compiled.is_empty());
    assert!(compiled == committed, "the sources changed: run crates/tamis-agent/java/compile");
}

fn fingerprints(classes: &[(String, Vec<u8>)]) -> Vec<(&str, Fingerprint<'_>)> {
    let mut analyser = Analyser::default();
    let mut all = Vec::new();
    for (name, bytes) in classes {
        let class = ClassFile::parse(bytes).expect("a class");
        let analysis = analyser.analyse(&class).expect("a class");
        all.push((name.as_str(), analysis.fingerprint));
    }
    all
}
