//! With the real go: which packages have other inputs after an edit, and whether go must be asked again.

mod modules;
mod project;

use project::{Project, TEST, fingerprinter, module, names, short, test_of};
use std::ffi::OsString;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use tamis_frontend_go::{Listing, list};

#[test]
fn packages_in_the_order_of_go_test() {
    let Some(project) = module() else { return };
    project.write("core-x/x.go", "package x\n");
    project.write("core/sub/x.go", "package sub\n");
    let listing = project.list();
    let expected = ["alone", "app", "core", "core/sub", "core-x", "helper", "notests", "util"];
    assert_eq!(names(&listing), expected);
    let with_tests: Vec<bool> =
        listing.packages().iter().map(|package| package.has_tests).collect();
    assert_eq!(with_tests, [true, true, true, false, false, false, false, true]);
    assert_eq!(listing.package("ex.org/m/app").unwrap().folder, project.top.join("app"));
    let project = project.command("go test ./util ./... ./alone");
    assert_eq!(names(&project.list())[..3], ["util", "alone", "app"]);
}

#[test]
fn an_edit_concerns_the_binaries_that_contain_it() {
    let Some(project) = module() else { return };
    let edit = |path: &str, text: &str| project.changed_by_write(path, text);
    assert_eq!(
        edit("util/util.go", "package util\n"),
        ["app", "core", "helper", "notests", "util"]
    );
    assert_eq!(edit("core/core.go", "package core\n"), ["app", "core", "helper"]);
    assert_eq!(edit("app/app.go", "package app\n"), ["app"]);
    assert_eq!(edit("helper/helper.go", "package helper\n"), ["app", "helper"]);
    assert_eq!(edit("alone/alone.go", "package alone\n// x\n"), ["alone"]);
}

#[test]
fn test_files_are_their_own_package_only() {
    let Some(project) = module() else { return };
    let text = format!("{}// edited\n", test_of("util"));
    assert_eq!(project.changed_by_write("util/util_test.go", &text), ["util"]);
    assert_eq!(project.changed_by_write("core/new_test.go", "package core_test\n"), ["core"]);
    assert_eq!(project.changed(|p| p.remove("core/new_test.go")), ["core"]);
    assert_eq!(project.changed_by_write("notests/n_test.go", &test_of("notests")), ["notests"]);
}

#[test]
fn new_and_deleted_files() {
    let Some(project) = module() else { return };
    assert_eq!(
        project.changed_by_write("core/more.go", "package core\n"),
        ["app", "core", "helper"]
    );
    assert_eq!(project.changed(|p| p.remove("core/more.go")), ["app", "core", "helper"]);
    assert_eq!(project.changed_by_write("new/new.go", "package new\n"), ["new"]);
    assert_eq!(project.changed(|p| p.remove("helper/helper.go")), ["app"]);
    assert!(project.list().package("ex.org/m/app").unwrap().error.is_some());
}

#[test]
fn files_that_go_does_not_look_at() {
    let Some(project) = module() else { return };
    let before = project.list();
    for path in ["util/notes.txt", "util/_x.go", "util/.y.go", "testdata/a.go", "util/testdata/in"]
    {
        assert!(project.changed_by_write(path, "x").is_empty(), "{path}");
        assert!(project.refresh(&before).is_ok(), "{path}");
    }
}

#[test]
fn build_constraints_decide_about_a_new_file() {
    let Some(project) = module() else { return };
    let before = project.list();
    let off = "//go:build never\n\npackage util\n";
    assert!(project.changed_by_write("util/off.go", off).is_empty());
    assert!(project.changed_by_write("util/x_windows.go", "package util\n").is_empty());
    assert!(project.refresh(&before).unwrap_err().contains("names in"), "go must be asked");
    let on = "//go:build !never\n\npackage util\n";
    assert_eq!(project.changed_by_write("util/off.go", on).len(), 5);
    project.write("util/off.go", off);
    let before = project.list();
    let project = project.command("go test -tags never ./...");
    let all = project.list();
    assert_eq!(all.changed(&before).count(), all.packages().len(), "the tags count everywhere");
    assert_ne!(all.fact("go package ex.org/m/util"), before.fact("go package ex.org/m/util"));
    assert_eq!(all.fact("go package ex.org/m/alone"), before.fact("go package ex.org/m/alone"));
}

#[test]
fn embedded_files_count_and_new_ones_too() {
    let Some(project) = module() else { return };
    let text = "package util\n\nimport _ \"embed\"\n\n//go:embed web\nvar W string\n\n//go:embed *.txt\nvar T string\n";
    let text = text.replace("string", "embed.FS").replace("_ \"embed\"", "\"embed\"");
    project.write_all(&[("util/util.go", &text), ("util/web/sub/a.css", "a"), ("util/x.txt", "x")]);
    let test =
        format!("package alone\n\nimport _ \"embed\"\n\n//go:embed data/in\nvar in string\n{TEST}");
    let test = test
        .replace("import \"testing\"", "")
        .replace("_ \"embed\"", "(\n_ \"embed\"\n\"testing\"\n)");
    project.write_all(&[("alone/alone_test.go", &test), ("alone/data/in", "1")]);
    let users = ["app", "core", "helper", "notests", "util"];
    let before = project.list();
    assert_eq!(project.changed_by_write("util/web/sub/a.css", "b"), users);
    assert!(project.refresh(&before).is_ok(), "go need not be asked about contents");
    assert_eq!(project.changed_by_write("util/web/sub/new.css", "b"), users);
    assert_eq!(project.changed_by_write("util/y.txt", ""), users);
    assert!(project.changed_by_write("util/y.md", "").is_empty());
    assert!(project.changed_by_write("util/web/.hidden", "").is_empty());
    assert_eq!(project.changed_by_write("alone/data/in", "2"), ["alone"]);
    assert!(project.changed_by_write("alone/data/other", "2").is_empty());
}

#[test]
fn packages_that_do_not_compile() {
    let Some(project) = module() else { return };
    project.write("core/core.go", "package core\n\nimport _ \"ex.org/m/missing\"\n");
    let listing = project.list();
    let broken = |listing: &Listing| {
        let broken = listing.packages().iter().filter(|package| package.error.is_some());
        short(broken.map(|package| package.import_path.as_str()))
    };
    assert_eq!(broken(&listing), ["app", "core", "helper"]);
    assert!(project.refresh(&listing).unwrap_err().contains("go cannot build"));
    project.write("missing/x.go", "package missing\n");
    assert!(broken(&project.list()).is_empty());
    // A type error shows when it is built; the listing does not know of it.
    project.write("missing/x.go", "package missing\n\nvar x int = \"a\"\n");
    assert!(broken(&project.list()).is_empty());
    project.write("util/util.go", "package util\n\nimport {\n");
    let listing = project.list();
    assert!(broken(&listing).contains(&"util".to_owned()));
    assert!(listing.package("ex.org/m/util").unwrap().must_run.is_some());
    assert!(listing.package("ex.org/m/alone").unwrap().must_run.is_none());
}

#[test]
fn a_package_that_only_a_test_variant_has() {
    let Some(project) = module() else { return };
    // helper imports core, and core's external test imports helper: both are compiled again for it.
    let external = format!("package core_test\n\nimport _ \"ex.org/m/helper\"\n{TEST}");
    project.write("core/x_test.go", &external.replace("TestIt", "TestX"));
    let project = project.command("go test ./core");
    assert_eq!(names(&project.list()), ["core"]);
    assert_eq!(
        project.changed_by_write(
            "helper/helper.go",
            "package helper\n// x\n\nimport _ \"ex.org/m/core\"\n"
        ),
        ["core"]
    );
    assert!(project.changed_by_write("app/app.go", "package app\n// x\n").is_empty());
}

#[test]
fn c_sources_and_what_they_include() {
    let Some(mut project) = module() else { return };
    if Command::new("gcc").arg("--version").output().is_err() {
        eprintln!("not tried: gcc is missing");
        return;
    }
    project.variable("CGO_ENABLED", "1");
    let go = "package alone\n\n// #cgo CFLAGS: -I${SRCDIR}/../inc\n// #include \"own.h\"\n// #include \"sub/x.c\"\nimport \"C\"\n";
    project.write_all(&[
        ("alone/alone.go", go),
        ("alone/own.h", "#define A 1\n"),
        ("alone/own.c", "int own;\n"),
        ("alone/sub/x.c", "#include \"deep.h\"\n"),
        ("alone/sub/deep.h", "\n"),
        ("inc/i.h", "\n"),
    ]);
    let before = project.list();
    for path in
        ["alone/own.h", "alone/own.c", "alone/sub/x.c", "alone/sub/deep.h", "inc/i.h", "inc/j.h"]
    {
        let changed = project.changed_by_write(path, "#define B 2\n");
        // Without the include, what it led to is no input any more.
        assert!(changed == ["alone"] || path == "alone/sub/deep.h", "{path}: {changed:?}");
    }
    let uses_c = |name: &str| {
        let package = before.package(&format!("ex.org/m/{name}")).unwrap();
        before.inputs(package).any(|input| input.name == "go C compiler")
    };
    assert!(uses_c("alone") && !uses_c("util"));
    assert!(project.changed_by_write("alone/sub/not_included.c", "x").is_empty());
    project.variable("CGO_CFLAGS", "-O1");
    assert_eq!(short(project.list().changed(&before)), ["alone"]);
}

#[test]
fn a_generated_file_and_a_link() {
    let Some(project) = module() else { return };
    project.write("gen/real.txt", "package util\n");
    let generated = project.changed_by_write(
        "util/zz_generated.go",
        "// Code generated by x. DO NOT EDIT.\n\npackage util\n",
    );
    assert_eq!(generated.len(), 5);
    let link = |p: &Project| {
        std::os::unix::fs::symlink("../gen/real.txt", p.top.join("alone/link.go")).unwrap();
        p.write("gen/real.txt", "package alone\n");
    };
    assert_eq!(project.changed(link), ["alone"]);
    assert_eq!(project.changed_by_write("gen/real.txt", "package alone\n// x\n"), ["alone"]);
}

#[test]
fn values_do_not_depend_on_the_checkout() {
    let (Some(one), Some(two)) = (module(), module()) else { return };
    let (one, two) = (one.list(), two.list());
    assert_eq!(one.changed(&two).count(), 0);
}

#[test]
fn a_profile_for_the_compiler() {
    let Some(project) = module() else { return };
    let main = "package main\n\nimport _ \"ex.org/m/util\"\n\nfunc main() {}\n";
    project.write_all(&[("cmd/x/main.go", main), ("cmd/x/x_test.go", &test_of("main"))]);
    let with_profile = project.changed_by_write("cmd/x/default.pgo", "");
    assert_eq!(with_profile, ["cmd/x"]);
    let changed = project.changed_by_write("util/util.go", "package util\n// x\n");
    assert_eq!(changed, ["app", "cmd/x", "core", "helper", "notests", "util"]);
}

#[test]
fn packages_of_processes() {
    let Some(project) = module() else { return };
    let listing = project.list();
    let of = |folder: &str| {
        let argv = [OsString::from("/tmp/go-build1/b001/core.test"), "-test.paniconexit0".into()];
        listing.package_of(&project.top.join(folder), &argv).map(|p| p.import_path.clone())
    };
    assert_eq!(of("core").as_deref(), Some("ex.org/m/core"));
    assert_eq!(of("."), None);
    assert_eq!(of("notests"), None);
}

#[test]
fn a_file_that_is_written_while_go_reads() {
    let Some(project) = module() else { return };
    project.list();
    let file = project.top.join("util/util.go");
    let rights = std::fs::metadata(&file).unwrap().permissions();
    let is_over = AtomicBool::new(false);
    let listing = std::thread::scope(|scope| {
        // However slow the machine is, the file has just been touched when go has read it.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                std::fs::set_permissions(&file, rights.clone()).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        let listing = list(&project.test(), &project.at(), &fingerprinter());
        is_over.store(true, Ordering::Relaxed);
        listing.unwrap()
    });
    assert!(project.refresh(&listing).unwrap_err().contains("util"));
}
