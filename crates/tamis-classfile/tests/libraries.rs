//! Class files of other compilers: two releases each of a Kotlin, a Groovy and a Scala library.
//!
//! Where Maven or the network are missing, the test says so and ends.

use std::collections::BTreeMap;
use tamis_classfile::{Analyser, ClassFile};
use tamis_testkit::{class_files, jars, unpacked};

const LIBRARIES: [[&str; 2]; 4] = [
    ["com.squareup.okio:okio-jvm:3.9.0", "com.squareup.okio:okio-jvm:3.9.1"],
    ["org.apache.groovy:groovy-console:4.0.20", "org.apache.groovy:groovy-console:4.0.21"],
    ["org.typelevel:cats-kernel_2.13:2.11.0", "org.typelevel:cats-kernel_2.13:2.12.0"],
    ["org.typelevel:cats-kernel_3:2.11.0", "org.typelevel:cats-kernel_3:2.12.0"],
];

#[test]
fn kotlin_groovy_and_scala_classes() {
    for releases in LIBRARIES {
        let mut classes = Vec::new();
        for coordinates in releases {
            let Some(jars) = jars(&[coordinates]) else { return };
            let jar = &jars[0];
            let mut fingerprints = BTreeMap::new();
            let mut analyser = Analyser::default();
            for (name, bytes) in class_files(&unpacked(jar)) {
                let bytes: &'static [u8] = bytes.leak();
                let class = ClassFile::parse(bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
                let first = analyser.analyse(&class).unwrap_or_else(|e| panic!("{name}: {e}"));
                let again = Analyser::default().analyse(&class).expect("parsed before");
                assert_eq!(first, again, "{name} of {coordinates}");
                fingerprints.insert(name.clone(), (bytes, first.fingerprint));
            }
            assert!(fingerprints.len() > 20, "{coordinates} has classes");
            classes.push(fingerprints);
        }
        let (mut equal, mut changed) = (0, 0);
        for (name, (bytes, fingerprint)) in &classes[0] {
            match classes[1].get(name) {
                Some((other, theirs)) if bytes == other => {
                    assert_eq!(fingerprint, theirs, "{name}");
                    equal += 1;
                }
                Some((_, theirs)) if fingerprint != theirs => changed += 1,
                _ => {}
            }
        }
        assert!(equal + changed > 0, "{releases:?} have classes in common");
    }
}
