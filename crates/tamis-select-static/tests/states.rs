//! Libraries, services, resources, broken files, and what is kept between runs.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use support::{frameworks, module, pass_all, selected, settings};
use tamis_select_static::{
    EdgeKind, Libraries, Reason, Session, StaticSettings, TestDecision, TestModule,
};
use tamis_testkit::{Sources, jdk};

const NOTHING: [&str; 0] = [];

/// A project in a folder of its own.
struct Project {
    folder: tempfile::TempDir,
    settings: StaticSettings,
    module: TestModule,
}

impl Project {
    fn new(sources: &Sources) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let classes = folder.path().join("project/target/test-classes");
        copy(&sources.compile(&jdk()), &classes);
        let settings = settings(folder.path());
        Self { module: module(&classes, &[]), settings, folder }
    }

    fn classes(&self) -> PathBuf {
        self.module.test_classes[0].clone()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &[u8]) {
        let path = self.classes().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn open(&self) -> Session {
        Session::open(&self.module, &self.settings)
    }

    fn select(&self) -> Vec<TestDecision> {
        self.open().select()
    }

    /// Selects, runs everything selected, and returns it.
    fn run(&self) -> Vec<String> {
        let mut session = self.open();
        let decisions = session.select();
        pass_all(&mut session, &decisions);
        selected(&decisions)
    }
}

/// Three tests over two classes.
fn plain() -> Sources {
    frameworks()
        .file("p/A.java", "package p; public class A { static int v() { return 1; } }")
        .file("p/B.java", "package p; public class B { static int v() { return 1; } }")
        .file(
            "p/ATest.java",
            "package p; public class ATest { @org.junit.Test public void t() { A.v(); } }",
        )
        .file(
            "p/BTest.java",
            "package p; public class BTest { @org.junit.Test public void t() { B.v(); } }",
        )
        .file(
            "p/NoneTest.java",
            "package p; public class NoneTest { @org.junit.Test public void t() { } }",
        )
}

fn changed_a() -> Sources {
    plain().file("p/A.java", "package p; public class A { static int v() { return 2; } }")
}

fn replace(project: &Project, sources: &Sources, class: &str) {
    let file = sources.compile(&jdk()).join(class);
    project.write(class, &std::fs::read(file).unwrap());
}

#[test]
fn an_interrupted_run_loses_nothing() {
    let project = Project::new(&plain());
    assert_eq!(project.run().len(), 3);
    replace(&project, &changed_a(), "p/A.class");
    replace(
        &project,
        &plain().file("p/B.java", "package p; public class B { static int v() { return 9; } }"),
        "p/B.class",
    );

    let mut session = project.open();
    let decisions = session.select();
    assert_eq!(selected(&decisions), ["p.ATest", "p.BTest"]);
    // Only one of the two finished before the run was ended.
    let finished = BTreeMap::from([("p.BTest".to_owned(), true)]);
    session.record(&decisions, &finished).unwrap();
    assert_eq!(selected(&project.select()), ["p.ATest"]);
    // And nothing at all finished.
    session.record(&project.select(), &BTreeMap::new()).unwrap();
    assert_eq!(project.run(), ["p.ATest"]);
    assert_eq!(selected(&project.select()), NOTHING);
}

#[test]
fn a_failed_test_runs_again_until_it_passes() {
    let project = Project::new(&plain());
    project.run();
    replace(&project, &changed_a(), "p/A.class");
    let mut session = project.open();
    let decisions = session.select();
    session.record(&decisions, &BTreeMap::from([("p.ATest".to_owned(), false)])).unwrap();
    let again = project.select();
    assert_eq!(selected(&again), ["p.ATest"]);
    assert_eq!(again[0].run, Some(Reason::DidNotPass));
    assert_eq!(project.run(), ["p.ATest"]);
    assert_eq!(selected(&project.select()), NOTHING);
}

#[test]
fn going_back_and_forth_compares_with_what_each_test_saw() {
    let project = Project::new(&plain());
    project.run();
    replace(&project, &changed_a(), "p/A.class");
    assert_eq!(selected(&project.select()), ["p.ATest"]);
    replace(&project, &plain(), "p/A.class");
    assert_eq!(selected(&project.select()), NOTHING);
}

#[test]
fn differences_say_what_kind_they_are() {
    let project = Project::new(&plain());
    assert_eq!(project.open().diff(), None);
    project.run();
    assert_eq!(project.open().diff(), Some(Vec::new()));
    let edited = plain()
        .file("p/A.java", "package p; public class A { static int v() { return 2; } }")
        .file("p/B.java", "package p;\n\n public class B { static int v() {\n return 1; } }")
        .file(
            "p/NoneTest.java",
            "package p; public class NoneTest { int field; @org.junit.Test public void t() { } }",
        )
        .file("p/New.java", "package p; public class New { }");
    for class in ["p/A.class", "p/B.class", "p/NoneTest.class", "p/New.class"] {
        replace(&project, &edited, class);
    }
    std::fs::remove_file(project.classes().join("p/BTest.class")).unwrap();
    let diff: Vec<(String, String)> = project
        .open()
        .diff()
        .unwrap()
        .into_iter()
        .map(|c| (c.name, c.change.to_string()))
        .collect();
    let expected = [
        ("p.A", "methods v()I"),
        ("p.B", "only debug information"),
        ("p.BTest", "removed"),
        ("p.New", "added"),
        ("p.NoneTest", "header"),
    ];
    assert_eq!(diff, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    let impacted = project.open().impacted().unwrap();
    assert_eq!(impacted, ["p.A", "p.ATest", "p.BTest", "p.New", "p.NoneTest"]);
    // Only lines differ in B: its test is gone, so it would not run; A's and None's are selected.
    assert_eq!(selected(&project.select()), ["p.ATest", "p.NoneTest"]);
}

#[test]
fn another_order_is_not_called_debug_information() {
    let labelled = |before: &str, after: &str| {
        let sources = |text: &str| plain().file("p/A.java", text);
        let project = Project::new(&sources(before));
        project.run();
        replace(&project, &sources(after), "p/A.class");
        assert_eq!(selected(&project.select()), NOTHING);
        let diff = project.open().diff().unwrap();
        diff.into_iter().map(|c| format!("{}: {}", c.name, c.change)).collect::<Vec<_>>()
    };
    let order = ["p.A: only the order of members or annotations"];
    let class = |members: &str| format!("package p; public class A {{ {members} }}");
    let (f, v) = ("int f; long g;", "static int v() { return 1; } void w() {}");
    let w = "void w() {} static int v() { return 1; }";
    let before = class(&format!("{f} {v}"));
    assert_eq!(labelled(&before, &class(&format!("{f} {w}"))), order);
    let marked = |marks: &str| {
        format!("package p; {marks} public class A {{ static int v() {{ return 1; }} }}")
    };
    let (one, two) = ("@Deprecated", "@org.junit.runner.RunWith(String.class)");
    let swapped = labelled(&marked(&format!("{one} {two}")), &marked(&format!("{two} {one}")));
    assert_eq!(swapped, order);
    let lines = labelled(&before, &class(&format!("{f}\n\n {v}")));
    assert_eq!(lines, ["p.A: only debug information"]);
}

#[test]
fn an_unreadable_class_selects_who_reaches_it_every_time() {
    let project = Project::new(&plain());
    project.run();
    project.write("p/A.class", b"\xca\xfe\xba\xbe\0\0\0\x3d\0\x02\x63 from the future");
    for _ in 0..2 {
        let decisions = project.select();
        assert_eq!(selected(&decisions), ["p.ATest"]);
        let Some(Reason::Reaches { change, .. }) = &decisions[0].run else { panic!() };
        assert_eq!(change.to_string(), "cannot be read: unknown kind of constant at byte 10");
        project.run();
    }
}

#[test]
fn a_test_that_cannot_be_read_is_still_a_test() {
    let project = Project::new(&plain());
    project.run();
    project.write("p/ATest.class", b"broken");
    assert_eq!(selected(&project.select()), ["p.ATest"]);
}

#[test]
fn what_cannot_be_listed_selects_everything_and_proves_nothing() {
    let project = Project::new(&plain());
    project.run();
    let circle = project.classes().join("circle");
    std::os::unix::fs::symlink(&circle, &circle).unwrap();
    let mut session = project.open();
    let decisions = session.select();
    assert_eq!(selected(&decisions).len(), 3);
    assert!(matches!(&decisions[0].run, Some(Reason::Unknown { why }) if why.contains("circle")));
    let finished = selected(&decisions).into_iter().map(|t| (t, true)).collect();
    assert!(!session.record(&decisions, &finished).unwrap());
    std::fs::remove_file(&circle).unwrap();
    assert_eq!(selected(&project.select()), NOTHING);
}

#[test]
fn a_broken_jar_selects_everything() {
    let mut project = Project::new(&plain());
    let lib = project.path("lib.jar");
    jar(&frameworks().compile(&jdk()), &lib);
    project.module.classpath = vec![lib.clone(), project.path("missing.jar")];
    project.run();
    assert_eq!(selected(&project.select()), NOTHING);
    std::fs::write(&lib, b"no jar").unwrap();
    let decisions = project.select();
    assert_eq!(selected(&decisions).len(), 3);
    assert!(matches!(&decisions[0].run, Some(Reason::Unknown { why }) if why.contains("lib.jar")));
}

/// A library of three classes, two of them connected, and tests that use them.
fn library(deep: &str, other: &str) -> Sources {
    Sources::new()
        .file(
            "lib/Front.java",
            "package lib; public class Front { public static int v() { return Deep.v(); } }",
        )
        .file(
            "lib/Deep.java",
            &format!(
                "package lib; public class Deep {{ public static int v() {{ return {deep}; }} }}"
            ),
        )
        .file(
            "lib/Other.java",
            &format!(
                "package lib; public class Other {{ public static int v() {{ return {other}; }} }}"
            ),
        )
}

fn library_project(folder_of_library: &Path) -> Project {
    Project::new(
        &frameworks()
            .file("p/FrontTest.java", "package p; public class FrontTest { @org.junit.Test public void t() { lib.Front.v(); } }")
            .file("p/OtherTest.java", "package p; public class OtherTest { @org.junit.Test public void t() { lib.Other.v(); } }")
            .file("p/NoneTest.java", "package p; public class NoneTest { @org.junit.Test public void t() { } }")
            .classpath(folder_of_library),
    )
}

#[test]
fn a_library_upgrade_is_compared_class_by_class() {
    let one = library("1", "1").compile(&jdk());
    let mut project = library_project(&one);
    let (first, second) = (project.path("lib-1.jar"), project.path("lib-2.jar"));
    jar(&one, &first);
    jar(&library("2", "1").compile(&jdk()), &second);
    project.module.classpath = vec![first.clone()];
    assert_eq!(project.run().len(), 3);
    assert!(!project.open().definitions.libraries.are_loaded);

    project.module.classpath = vec![second.clone()];
    let decisions = project.select();
    assert_eq!(selected(&decisions), ["p.FrontTest"]);
    let Some(Reason::Reaches { path, .. }) = &decisions[0].run else { panic!() };
    let names: Vec<&str> = path.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["p.FrontTest", "lib.Front", "lib.Deep"]);

    // The same classes under another name of the jar: nothing.
    std::fs::copy(&first, project.path("renamed.jar")).unwrap();
    project.module.classpath = vec![project.path("renamed.jar")];
    assert_eq!(selected(&project.select()), NOTHING);

    // Excluded: cannot be compared, so everything.
    project.module.classpath = vec![second];
    project.settings.libraries = Libraries::Exclude;
    assert_eq!(selected(&project.select()).len(), 3);
}

/// Several levels with a library below: of four tests the two that get to the changed class of the
/// library through a class of the project are selected, one level and two levels up.
#[test]
fn levels_of_the_project_above_a_library() {
    let library = |v: u32| {
        Sources::new()
            .file(
                "lib/Base.java",
                "package lib; public class Base { public int b() { return Deep.v(); } }",
            )
            .file(
                "lib/Deep.java",
                &format!("package lib; class Deep {{ static int v() {{ return {v}; }} }}"),
            )
            .file(
                "lib/Plain.java",
                "package lib; public class Plain { public int p() { return 0; } }",
            )
    };
    let (one, two) = (library(1).compile(&jdk()), library(2).compile(&jdk()));
    let test = |name: &str, body: &str| {
        format!("package p; public class {name} {{ @org.junit.Test public void t() {{ {body} }} }}")
    };
    let sources = frameworks()
        .classpath(&one)
        .file("p/Middle.java", "package p; public class Middle extends lib.Base { }")
        .file("p/Top.java", "package p; public class Top { Middle middle = new Middle(); }")
        .file("p/Side.java", "package p; public class Side extends lib.Plain { }")
        .file("p/MiddleTest.java", &test("MiddleTest", "new Middle().b();"))
        .file("p/NoneTest.java", &test("NoneTest", ""))
        .file("p/SideTest.java", &test("SideTest", "new Side().p();"))
        .file("p/TopTest.java", &test("TopTest", "new Top();"));
    let mut project = Project::new(&sources);
    let (first, second) = (project.path("lib-1.jar"), project.path("lib-2.jar"));
    jar(&one, &first);
    jar(&two, &second);
    project.module.classpath = vec![first];
    assert_eq!(project.run().len(), 4);
    project.module.classpath = vec![second];
    assert_eq!(selected(&project.select()), ["p.MiddleTest", "p.TopTest"]);
    // A change of the project itself, with the library unchanged and left out of the graph.
    project.run();
    let edited =
        sources.file("p/Middle.java", "package p; public class Middle extends lib.Base { int m; }");
    replace(&project, &edited, "p/Middle.class");
    assert_eq!(selected(&project.select()), ["p.MiddleTest", "p.TopTest"]);
}

#[test]
fn the_order_of_libraries_counts() {
    let one = library("1", "1").compile(&jdk());
    let mut project = library_project(&one);
    let (first, second) = (project.path("a.jar"), project.path("b.jar"));
    jar(&one, &first);
    jar(&library("1", "2").compile(&jdk()), &second);
    project.module.classpath = vec![first.clone(), second.clone()];
    project.run();
    project.module.classpath = vec![second, first];
    assert_eq!(selected(&project.select()), ["p.OtherTest"]);
}

#[test]
fn an_earlier_library_that_is_not_known_any_more_selects_everything() {
    let one = library("1", "1").compile(&jdk());
    let mut project = library_project(&one);
    let (first, second) = (project.path("a.jar"), project.path("b.jar"));
    jar(&one, &first);
    jar(&library("1", "2").compile(&jdk()), &second);
    project.module.classpath = vec![first];
    project.run();
    std::fs::remove_dir_all(project.path("jars")).unwrap();
    project.module.classpath = vec![second];
    assert_eq!(selected(&project.select()).len(), 3);
}

#[test]
fn a_library_before_the_project_may_win() {
    let one = library("1", "1").compile(&jdk());
    let mut project = library_project(&one);
    let shadow = Sources::new().file(
        "lib/Other.java",
        "package lib; public class Other { public static int v() { return 7; } }",
    );
    let (lib, early) = (project.path("lib.jar"), project.path("early.jar"));
    jar(&one, &lib);
    jar(&shadow.compile(&jdk()), &early);
    let classes = project.path("project/target/classes");
    copy(&one, &classes);
    project.module.classpath = vec![classes.clone(), early.clone()];
    project.run();
    // The jar moves in front of the folder that defines the same class.
    project.module.classpath = vec![early, classes];
    assert_eq!(selected(&project.select()), ["p.OtherTest"]);
}

#[test]
fn a_new_class_in_front_of_a_library_counts() {
    let one = library("1", "1").compile(&jdk());
    let mut project = library_project(&one);
    jar(&one, &project.path("lib.jar"));
    project.module.classpath = vec![project.path("lib.jar")];
    project.run();
    let shadow = library("1", "5").compile(&jdk()).join("lib/Other.class");
    project.write("lib/Other.class", &std::fs::read(shadow).unwrap());
    assert_eq!(selected(&project.select()), ["p.OtherTest"]);
}

#[test]
fn services_lead_to_their_providers() {
    let project = Project::new(
        &frameworks()
            .file("s/Service.java", "package s; public interface Service { }")
            .file("s/One.java", "package s; public class One implements Service { }")
            .file("s/Two.java", "package s; public class Two implements Service { public Two() { System.gc(); } }")
            .file("s/LoadTest.java", "package s; public class LoadTest { @org.junit.Test public void t() { java.util.ServiceLoader.load(Service.class); } }")
            .file("s/NoneTest.java", "package s; public class NoneTest { @org.junit.Test public void t() { } }"),
    );
    project.write("META-INF/services/s.Service", b"s.One\n");
    project.run();
    // A new provider.
    project.write("META-INF/services/s.Service", b"s.One\ns.Two\n");
    let decisions = project.select();
    assert_eq!(selected(&decisions), ["s.LoadTest"]);
    project.run();
    // A provider changes.
    project.write(
        "s/Two.class",
        &std::fs::read(
            Sources::new()
                .file("s/Service.java", "package s; public interface Service { }")
                .file("s/Two.java", "package s; public class Two implements Service { }")
                .compile(&jdk())
                .join("s/Two.class"),
        )
        .unwrap(),
    );
    let decisions = project.select();
    assert_eq!(selected(&decisions), ["s.LoadTest"]);
    let Some(Reason::Reaches { path, .. }) = &decisions[0].run else { panic!() };
    assert_eq!(path[1].by, Some(EdgeKind::Service.name()));
    project.run();
    // A provider of somebody else's service: any test may load it.
    project.write("META-INF/services/java.nio.file.spi.FileSystemProvider", b"s.One\n");
    assert_eq!(selected(&project.select()).len(), 2);
}

#[test]
fn resources_select_who_names_them_or_everybody() {
    let project = Project::new(
        &frameworks()
            .file("r/Config.java", "package r; public class Config { Object o = Config.class.getResource(\"/conf/app.xml\"); }")
            .file("r/ConfigTest.java", "package r; public class ConfigTest { @org.junit.Test public void t() { new Config(); } }")
            .file("r/FileTest.java", "package r; public class FileTest { @org.junit.Test public void t() { new java.io.File(\"src/test/resources/data/cases.bin\"); } }")
            .file("r/BundleTest.java", "package r; public class BundleTest { @org.junit.Test public void t() { java.util.ResourceBundle.getBundle(\"r.messages\"); } }")
            .file("r/NoneTest.java", "package r; public class NoneTest { @org.junit.Test public void t() { } }"),
    );
    project.write("conf/app.xml", b"<a/>");
    project.write("r/messages_fr.properties", b"a=1");
    project.write("logging.cfg", b"level");
    project.run();
    // A file that comes into being where a class already looks.
    project.write("data/cases.bin", b"");
    assert_eq!(project.run(), ["r.FileTest"]);
    project.write("conf/app.xml", b"<b/>");
    assert_eq!(project.run(), ["r.ConfigTest"]);
    project.write("r/messages_fr.properties", b"a=2");
    assert_eq!(project.run(), ["r.BundleTest"]);
    project.write("logging.cfg", b"other");
    assert_eq!(project.run().len(), 4);
    // Inside class folders that no class loader searches: data like any other.
    project.write("META-INF/versions/9/x/Y.class", b"data");
    assert_eq!(project.run().len(), 4);
    let mut settings = project.settings.clone();
    settings.kinds = settings.kinds.without(EdgeKind::Resource);
    project.write("logging.cfg", b"again");
    assert_eq!(selected(&Session::open(&project.module, &settings).select()), NOTHING);
}

#[test]
fn duplicate_classes_are_reported_and_the_first_counts() {
    let mut project = Project::new(&plain());
    let second = project.path("project/second");
    copy(&plain().compile(&jdk()), &second);
    project.module.classpath = vec![second.clone()];
    project.run();
    let session = project.open();
    assert!(session.definitions.notes[0].contains("also stands earlier on the classpath"));
    // The shadowed one changes: it is not seen.
    std::fs::copy(changed_a().compile(&jdk()).join("p/A.class"), second.join("p/A.class")).unwrap();
    assert_eq!(selected(&project.select()), NOTHING);
}

#[test]
fn the_environment_and_the_module_descriptor_are_for_all_tests() {
    let mut project = Project::new(&plain());
    project.module.environment = vec!["17".into()];
    project.run();
    project.module.environment = vec!["25".into()];
    let decisions = project.select();
    assert!(decisions.iter().all(|d| d.run == Some(Reason::Environment)));
    project.run();
    let descriptor = Sources::new()
        .file("module-info.java", "module m { exports p; }")
        .file("p/X.java", "package p; class X { }")
        .compile(&jdk());
    project
        .write("module-info.class", &std::fs::read(descriptor.join("module-info.class")).unwrap());
    assert_eq!(selected(&project.select()).len(), 3);
}

#[test]
fn a_damaged_state_proves_nothing() {
    let project = Project::new(&plain());
    project.run();
    let folder = project.open().state_folder().to_path_buf();
    let proofs = folder.join("proofs");
    let mut bytes = std::fs::read(&proofs).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&proofs, &bytes).unwrap();
    assert_eq!(selected(&project.select()).len(), 3);
    project.run();
    for entry in std::fs::read_dir(&folder).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("snapshot-") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    // The digest alone proves an unchanged state; a change needs the snapshot.
    assert_eq!(selected(&project.select()), NOTHING);
    replace(&project, &changed_a(), "p/A.class");
    assert_eq!(selected(&project.select()).len(), 3);
}

/// Packs a folder's files into a jar, stored.
fn jar(folder: &Path, jar: &Path) {
    use std::io::Write;
    fn walk(folder: &Path, prefix: &str, out: &mut Vec<(String, Vec<u8>)>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                walk(&entry.path(), &format!("{name}/"), out);
            } else {
                out.push((name, std::fs::read(entry.path()).unwrap()));
            }
        }
    }
    let mut files = Vec::new();
    walk(folder, "", &mut files);
    files.sort();
    let mut out = Vec::new();
    let mut writer = rawzip::ZipArchiveWriter::new(&mut out);
    for (name, content) in &files {
        let (mut entry, config) = writer.new_file(name).start().unwrap();
        let mut data = config.wrap(&mut entry);
        data.write_all(content).unwrap();
        let (_, descriptor) = data.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    writer.finish().unwrap();
    std::fs::write(jar, out).unwrap();
}

/// Copies a folder that is shared into one that a test may change.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
