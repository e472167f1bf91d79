//! With the real go: which packages have other inputs after an edit, and whether go must be asked again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tamis_frontend_go::{Claim, GoError, GoTest, Listing, Surroundings, claim, list};
use tamis_fs::{Fingerprinter, Options};

struct Project {
    dir: tempfile::TempDir,
    top: PathBuf,
    words: String,
    more: Vec<(OsString, OsString)>,
}

/// A test file with one passing test.
const TEST: &str = "import \"testing\"\n\nfunc TestIt(t *testing.T) {}\n";

impl Project {
    /// `None` where go is missing.
    fn new(files: &[(&str, &str)]) -> Option<Self> {
        if Command::new("go").arg("version").output().is_err() {
            eprintln!("not tried: go is missing");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("p");
        let project = Self { dir, top, words: "go test ./...".into(), more: Vec::new() };
        project.write_all(files);
        Some(project)
    }

    fn command(mut self, words: &str) -> Self {
        self.words = words.into();
        self
    }

    fn variable(&mut self, name: &str, value: &str) {
        self.more.push((name.into(), value.into()));
    }

    fn write_all(&self, files: &[(&str, &str)]) {
        files.iter().for_each(|(path, text)| self.write(path, text));
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.top.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn remove(&self, path: &str) {
        std::fs::remove_file(self.top.join(path)).unwrap();
    }

    fn at(&self) -> Surroundings {
        let mut variables: Vec<(OsString, OsString)> = Vec::from([
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            ("HOME".into(), self.dir.path().join("home").into()),
            ("GOCACHE".into(), Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache").into()),
        ]);
        let fixed = [("GOPROXY", "off"), ("GOTOOLCHAIN", "local"), ("GOFLAGS", "-mod=mod")];
        variables.extend(fixed.map(|(name, value)| (name.into(), value.into())));
        variables.extend(self.more.iter().cloned());
        Surroundings::new(&self.top, variables)
    }

    fn test(&self) -> GoTest {
        let words: Vec<OsString> = self.words.split(' ').map(OsString::from).collect();
        match claim(&words, &self.at()) {
            Claim::Packages(test) => test,
            other => panic!("{other:?}"),
        }
    }

    fn try_list(&self) -> Result<Listing, GoError> {
        // What was written in the last tick would make the listing unsettled.
        std::thread::sleep(Duration::from_millis(40));
        list(&self.test(), &self.at(), &fingerprinter())
    }

    fn list(&self) -> Listing {
        self.try_list().unwrap()
    }

    fn refresh(&self, listing: &Listing) -> Result<Listing, String> {
        let kept = Listing::load(&listing.save().unwrap()).unwrap();
        let refreshed = kept.refresh(&self.test(), &self.at(), &fingerprinter());
        refreshed.map_err(|moved| moved.to_string())
    }

    /// The packages whose inputs an edit changes. In passing: a listing that holds by itself says the same
    /// as go does.
    fn changed(&self, edit: impl FnOnce(&Self)) -> Vec<String> {
        let before = self.list();
        assert!(self.refresh(&before).is_ok_and(|same| same == before), "it holds without an edit");
        edit(self);
        let after = self.list();
        if let Ok(refreshed) = self.refresh(&before) {
            let told_apart: Vec<&str> = refreshed.changed(&after).collect();
            assert!(told_apart.is_empty(), "kept listing is wrong about {told_apart:?}");
        }
        short(after.changed(&before))
    }

    fn changed_by_write(&self, path: &str, text: &str) -> Vec<String> {
        self.changed(|project| project.write(path, text))
    }
}

fn fingerprinter() -> Fingerprinter {
    Fingerprinter::new(Options::default())
}

/// Without the module's path.
fn short<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.map(|name| name.strip_prefix("ex.org/m/").unwrap_or(name).to_owned()).collect()
}

fn test_of(package: &str) -> String {
    format!("package {package}\n\n{TEST}")
}

fn names(listing: &Listing) -> Vec<String> {
    short(listing.packages().iter().map(|package| package.import_path.as_str()))
}

/// util <- core <- app; app's external tests use helper, which uses core; alone has nothing to do with them;
/// notests imports util.
fn module() -> Option<Project> {
    let external = format!("package app_test\n\nimport _ \"ex.org/m/helper\"\n{TEST}");
    Project::new(&[
        ("go.mod", "module ex.org/m\n\ngo 1.21\n"),
        ("util/util.go", "package util\n\nfunc U() int { return 1 }\n"),
        ("util/util_test.go", &test_of("util")),
        ("core/core.go", "package core\n\nimport _ \"ex.org/m/util\"\n"),
        ("core/core_test.go", &test_of("core")),
        ("app/app.go", "package app\n\nimport _ \"ex.org/m/core\"\n"),
        ("app/app_test.go", &external),
        ("helper/helper.go", "package helper\n\nimport _ \"ex.org/m/core\"\n"),
        ("alone/alone.go", "package alone\n"),
        ("alone/alone_test.go", &test_of("alone")),
        ("notests/notests.go", "package notests\n\nimport _ \"ex.org/m/util\"\n"),
    ])
}

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
fn module_files_count_by_what_they_mean() {
    let Some(project) = module() else { return };
    assert!(project.changed_by_write("go.mod", "module ex.org/m\n\ngo 1.21 // x\n").is_empty());
    let all = project.list().packages().len();
    assert_eq!(project.changed_by_write("go.mod", "module ex.org/m\n\ngo 1.22\n").len(), all);
    let debug = "module ex.org/m\n\ngo 1.22\n\ngodebug panicnil=1\n";
    let with_tests = ["alone", "app", "core", "util"];
    assert_eq!(project.changed_by_write("go.mod", debug), with_tests);
}

/// A module cache with two versions of ex.org/lib, as go would have downloaded them.
fn module_cache(project: &mut Project) {
    for version in ["v1.0.0", "v1.1.0"] {
        let download = format!("../cache/cache/download/ex.org/lib/@v/{version}");
        let folder = format!("../cache/ex.org/lib@{version}");
        let go_mod = "module ex.org/lib\n\ngo 1.20\n";
        project.write(&format!("{download}.mod"), go_mod);
        project.write(&format!("{download}.info"), &format!("{{\"Version\":\"{version}\"}}"));
        project.write(&format!("{download}.ziphash"), &format!("h1:{}=", "A".repeat(43)));
        project.write(&format!("{folder}/go.mod"), go_mod);
        project.write(&format!("{folder}/l/l.go"), "package l\n");
    }
    let cache = project.dir.path().canonicalize().unwrap().join("cache");
    project.variable("GOMODCACHE", cache.to_str().unwrap());
    project.variable("GOSUMDB", "off");
}

#[test]
fn modules_of_the_cache_count_by_version() {
    let Some(mut project) = module() else { return };
    module_cache(&mut project);
    let go_mod =
        |version: &str| format!("module ex.org/m\n\ngo 1.21\n\nrequire ex.org/lib {version}\n");
    project.write("go.mod", &go_mod("v1.0.0"));
    project.write("alone/alone.go", "package alone\n\nimport _ \"ex.org/lib/l\"\n");
    // The first time, go writes go.sum.
    project.list();
    assert!(
        project
            .changed_by_write("../cache/ex.org/lib@v1.0.0/l/l.go", "package l\n// x\n")
            .is_empty()
    );
    let before = project.list();
    project.write("go.mod", &go_mod("v1.1.0"));
    let after = project.list();
    assert_eq!(short(after.changed(&before)), ["alone"]);
    assert_ne!(after.fact("go module ex.org/lib"), before.fact("go module ex.org/lib"));
}

#[test]
fn a_program_that_finds_a_go_command() {
    let Some(mut project) = module() else { return };
    let path = std::env::var("PATH").unwrap();
    let go =
        path.split(':').map(|folder| Path::new(folder).join("go")).find(|go| go.exists()).unwrap();
    project.write("../bin/go", &format!("#!/bin/sh\nexec '{}' \"$@\"\n", go.display()));
    let wrapper = project.dir.path().join("bin/go");
    std::fs::set_permissions(&wrapper, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    project.variable("PATH", &format!("{}:{path}", wrapper.parent().unwrap().display()));
    let listing = project.list();
    assert!(project.refresh(&listing).unwrap_err().contains("is not the go command of"));
}

#[test]
fn a_local_replacement_counts_by_its_files() {
    let Some(project) = module() else { return };
    let go_mod =
        "module ex.org/m\n\ngo 1.21\n\nrequire ex.org/lib v1.0.0\n\nreplace ex.org/lib => ../lib\n";
    project.write_all(&[
        ("go.mod", go_mod),
        ("../lib/go.mod", "module ex.org/lib\n\ngo 1.21\n"),
        ("../lib/l/l.go", "package l\n"),
        ("../lib/other/o.go", "package other\n"),
        ("alone/alone.go", "package alone\n\nimport _ \"ex.org/lib/l\"\n"),
    ]);
    assert_eq!(project.changed_by_write("../lib/l/l.go", "package l\n// x\n"), ["alone"]);
    assert_eq!(project.changed_by_write("../lib/l/m.go", "package l\n"), ["alone"]);
    assert!(project.changed_by_write("../lib/other/o.go", "package other\n// x\n").is_empty());
    assert_eq!(
        project.changed_by_write("../lib/go.mod", "module ex.org/lib\n\ngo 1.20\n"),
        ["alone"]
    );
}

#[test]
fn vendored_packages_count_by_their_files() {
    let Some(mut project) = module() else { return };
    project.variable("GOFLAGS", "-mod=vendor");
    project.write_all(&[
        ("go.mod", "module ex.org/m\n\ngo 1.21\n\nrequire ex.org/lib v1.0.0\n"),
        ("vendor/modules.txt", "# ex.org/lib v1.0.0\n## explicit; go 1.20\nex.org/lib/l\n"),
        ("vendor/ex.org/lib/l/l.go", "package l\n"),
        ("alone/alone.go", "package alone\n\nimport _ \"ex.org/lib/l\"\n"),
    ]);
    let before = project.list();
    assert!(!names(&before).iter().any(|name| name.contains("lib")), "{:?}", names(&before));
    assert_eq!(
        project.changed_by_write("vendor/ex.org/lib/l/l.go", "package l\n// x\n"),
        ["alone"]
    );
    let other = "# ex.org/lib v1.0.0\n## explicit; go 1.21\nex.org/lib/l\n";
    assert_eq!(project.changed_by_write("vendor/modules.txt", other), ["alone"]);
}

#[test]
fn a_workspace_of_two_modules() {
    let Some(mut project) = Project::new(&[
        ("go.work", "go 1.21\n\nuse (\n\t./one\n\t./two\n)\n"),
        ("one/go.mod", "module ex.org/m/one\n\ngo 1.21\n"),
        ("one/a/a.go", "package a\n"),
        ("one/a/a_test.go", &test_of("a")),
        ("two/go.mod", "module ex.org/m/two\n\ngo 1.21\n"),
        ("two/b/b.go", "package b\n\nimport _ \"ex.org/m/one/a\"\n"),
        ("two/b/b_test.go", &test_of("b")),
        ("two/c/c_test.go", &test_of("c")),
    ]) else {
        return;
    };
    project.variable("GOFLAGS", "");
    let project = project.command("go test ./one/... ./two/...");
    assert_eq!(names(&project.list()), ["one/a", "two/b", "two/c"]);
    assert_eq!(project.changed_by_write("one/a/a.go", "package a\n// x\n"), ["one/a", "two/b"]);
    assert_eq!(project.changed_by_write("two/b/b.go", "package b\n"), ["two/b"]);
    assert_eq!(
        project.changed_by_write("two/go.mod", "module ex.org/m/two\n\ngo 1.20\n"),
        ["two/b", "two/c"]
    );
    let project = project.command("go test ex.org/m/...");
    assert_eq!(project.changed_by_write("one/new/n.go", "package n\n"), ["one/new"]);
    let before = project.list();
    project.write("go.work", "go 1.21\n\nuse ./one\n");
    assert!(project.refresh(&before).unwrap_err().contains("go.work changed"));
    assert_eq!(names(&project.list()), ["one/a", "one/new"]);
}

#[test]
fn a_workspace_that_appears_above() {
    let Some(mut project) = module() else { return };
    project.variable("GOFLAGS", "");
    let before = project.list();
    project.write("../go.work", "go 1.21\n\nuse ./p\n");
    assert!(project.refresh(&before).unwrap_err().contains("go.work"));
}

#[test]
fn a_module_that_appears_inside() {
    let Some(project) = module() else { return };
    let before = project.list();
    project.write("alone/go.mod", "module ex.org/other\n");
    assert!(project.refresh(&before).is_err());
    assert!(!names(&project.list()).contains(&"alone".to_owned()));
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
fn flags_and_settings() {
    let Some(mut project) = module() else { return };
    let plain = project.list();
    let fact_changed = |listing: &Listing, name: &str| listing.fact(name) != plain.fact(name);
    project.words = "go test -race ./...".into();
    let race = project.list();
    assert!(fact_changed(&race, "go build flags") && !fact_changed(&race, "go test flags"));
    project.words = "go test -run X ./...".into();
    let run = project.list();
    assert!(!fact_changed(&run, "go build flags") && fact_changed(&run, "go test flags"));
    assert!(project.refresh(&plain).unwrap_err().contains("another command"));
    project.words = "go test ./...".into();
    assert!(project.refresh(&plain).is_ok());
    project.variable("GOAMD64", "v2");
    assert!(project.refresh(&plain).unwrap_err().contains("GOAMD64"));
    if cfg!(target_arch = "x86_64") {
        assert!(fact_changed(&project.list(), "go toolchain"));
    }
    project.variable("GOOS", "plan9");
    assert!(matches!(project.try_list(), Err(GoError::Whole(_))));
}

#[test]
fn the_settings_file_of_go() {
    let Some(project) = module() else { return };
    let before = project.list();
    project.write("../home/.config/go/env", "CGO_ENABLED=0\n");
    assert!(project.refresh(&before).unwrap_err().contains("go/env changed"));
}

#[test]
fn patterns_that_match_nothing() {
    let Some(project) = module() else { return };
    let project = project.command("go test ./alone ./gone ./testdata/...");
    project.write("testdata/x", "");
    let listing = project.list();
    assert_eq!(names(&listing), ["alone", "./gone"]);
    assert!(listing.packages()[1].error.is_some());
    let all = listing.packages();
    assert_eq!(listing.arguments(all), ["ex.org/m/alone", "./gone", "./testdata/..."]);
    let project = project.command("go test ./testdata/...");
    assert!(matches!(project.try_list(), Err(GoError::Whole(_))));
    let project = project.command("go test fmt");
    assert!(matches!(project.try_list(), Err(GoError::Whole(_))));
}

#[test]
fn the_current_folder_and_another_one() {
    let Some(project) = module() else { return };
    let project = project.command("go test -C util -v");
    assert_eq!(names(&project.list()), ["util"]);
    assert!(project.changed_by_write("core/core.go", "package core\n").is_empty());
    assert_eq!(project.changed_by_write("util/util.go", "package util\n"), ["util"]);
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
    project.write("util/util.go", "package util\n// now\n");
    let listing = list(&project.test(), &project.at(), &fingerprinter()).unwrap();
    assert!(project.refresh(&listing).unwrap_err().contains("util"));
}
