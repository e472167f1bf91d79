//! Modules, workspaces, patterns and settings.

use crate::project::{Project, module, names, short, test_of};
use std::path::Path;
use tamis_frontend_go::{GoError, Listing};

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
fn a_replacement_without_a_package_in_the_build() {
    let Some(project) = module() else { return };
    let go_mod =
        "module ex.org/m\n\ngo 1.16\n\nrequire ex.org/lib v1.0.0\n\nreplace ex.org/lib => ../lib\n";
    project.write_all(&[("go.mod", go_mod), ("../lib/go.mod", "module ex.org/lib\n\ngo 1.16\n")]);
    let before = project.list();
    project.write("../lib/go.mod", "module ex.org/lib\n\ngo 1.15\n");
    assert!(project.refresh(&before).unwrap_err().contains("lib/go.mod changed"));
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
