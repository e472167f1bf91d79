//! Mockito's inline mocks change classes while they run: the probes stay, the tests pass.

use crate::harness::{Program, tried_jdks};
use tamis_jvm_wire::Verdict::Passed;
use tamis_testkit::{Sources, classpath_of, jars, jdk};

const JARS: [&str; 6] = [
    "junit:junit:4.13.2",
    "org.hamcrest:hamcrest-core:1.3",
    "org.mockito:mockito-core:5.20.0",
    "net.bytebuddy:byte-buddy:1.17.7",
    "net.bytebuddy:byte-buddy-agent:1.17.7",
    "org.objenesis:objenesis:3.3",
];

#[test]
fn mocked_classes_keep_their_probes() {
    let Some(jars) = jars(&JARS) else { return };
    let mut sources = Sources::new()
        .file(
            "a/Thing.java",
            "package a; public final class Thing {
            public int one() { return 1; } public static int two() { return 2; } }",
        )
        .file(
            "a/MockTest.java",
            "package a; import static org.mockito.Mockito.*;
            public class MockTest { @org.junit.Test public void mocked() {
                Thing thing = mock(Thing.class); when(thing.one()).thenReturn(7);
                org.junit.Assert.assertEquals(7, thing.one());
                try (var all = mockStatic(Thing.class)) {
                    all.when(Thing::two).thenReturn(8);
                    org.junit.Assert.assertEquals(8, Thing.two()); } } }",
        )
        .file(
            "a/RealTest.java",
            "package a; public class RealTest { @org.junit.Test public void real() {
                org.junit.Assert.assertEquals(1, new Thing().one());
                org.junit.Assert.assertEquals(2, Thing.two()); } }",
        )
        .file(
            "a/OffTest.java",
            "package a; public class OffTest { @org.junit.Test public void t() {} }",
        );
    sources = sources.release(17);
    let classes = sources.classpaths(&jars).compile(&jdk());
    for jdk in tried_jdks().iter().filter(|jdk| jdk.release >= 17) {
        let tests = ["Real", "Mock", "Off", "Real"].map(|test| format!("a.{test}Test"));
        let program = Program {
            jvm: vec!["-Djdk.attach.allowAttachSelf=true".into(), "-Xshare:auto".into()],
            ..Program::junit4(jdk, classpath_of(&classes, &jars), &tests)
        };
        let (output, report) = program.run();
        assert!(output.status.success(), "{output:?}");
        assert!(report.bye && report.troubles.is_empty(), "{:?}", report.troubles);
        let problems: Vec<_> = report.classes.iter().filter(|c| c.problem.is_some()).collect();
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(report.verdicts("a.RealTest"), [Passed, Passed]);
        assert_eq!(report.verdicts("a.MockTest"), [Passed]);
        let mut real = Vec::new();
        for message in &report.messages {
            if let tamis_jvm_wire::FromJvm::Began(began) = message {
                real.extend((began.class == "a.RealTest").then_some(began.test));
            }
        }
        // Both times the methods of the class ran, before and after it was mocked.
        let thing = report.classes.iter().find(|class| class.name == b"a/Thing").expect("reported");
        let own = thing.first_probe..thing.first_probe + thing.probes;
        for test in real {
            let hits: usize = (report.messages.iter())
                .map(|message| match message {
                    tamis_jvm_wire::FromJvm::Window(window) if window.open.contains(&test) => {
                        window.hits.iter().filter(|id| own.contains(id)).count()
                    }
                    _ => 0,
                })
                .sum();
            assert_eq!(hits, 3, "constructor and two methods in test {test} on {jdk:?}");
        }
    }
}
