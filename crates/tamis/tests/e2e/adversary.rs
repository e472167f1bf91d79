//! Attempts to make tamis skip a test whose outcome would be another one.

use std::os::unix::fs::symlink;
use std::path::Path;
use tamis_testkit::{Project, ended, need, not_here, python};

/// A script is run, must be skipped, then the edit must make it run.
fn an_edit_is_seen(what: &str, files: &[(&str, &str)], script: &str, edit: impl FnOnce(&Project)) {
    let project = Project::with(files);
    project.write("check.sh", format!("#!/bin/sh\n{script}\n"));
    let check = ["./check.sh"];
    let first = project.tamis(&["--json", "./check.sh"]).events("finished");
    // An engine that reports afterwards cannot always tell what was there before a change: then
    // the test runs again by itself.
    if first[0]["complete"] == true {
        project.assert_skipped(&check);
    }
    edit(&project);
    let second = project.tamis(&["--json", "select", "./check.sh"]).decisions();
    assert!(second["./check.sh"].runs, "{what}: would be skipped after the edit\n{script}");
}

#[test]
fn places_to_write_to() {
    let script = "echo x > out/f && echo wrote || echo refused";
    an_edit_is_seen("the folder goes", &[("out/keep", "")], script, |p| p.remove("out"));
    an_edit_is_seen("the folder comes", &[], script, |p| p.write("out/keep", ""));
    an_edit_is_seen("the folder becomes a file", &[("out/keep", "")], script, |p| {
        p.remove("out");
        p.write("out", "");
    });
    an_edit_is_seen("a folder in the place of the file", &[("out/keep", "")], script, |p| {
        p.remove("out/f");
        p.write("out/f/x", "");
    });
    let append = "echo x >> log && echo wrote || echo refused";
    an_edit_is_seen("a folder in the place of a log", &[("log", "1\n")], append, |p| {
        p.remove("log");
        p.write("log/x", "");
    });
    let script =
        "mkdir out/new 2>/dev/null && echo made || echo refused; rmdir out/new 2>/dev/null";
    an_edit_is_seen("no folder to make one in", &[("out/keep", "")], script, |p| p.remove("out"));
    let script = "ln -s x out/link && echo made || echo refused; rm -f out/link";
    an_edit_is_seen("no folder for a link", &[("out/keep", "")], script, |p| p.remove("out"));
    let script =
        "echo x > tmp-x; mv tmp-x out/f 2>/dev/null && echo moved || echo refused; rm -f tmp-x";
    an_edit_is_seen("no folder to move to", &[("out/keep", "")], script, |p| p.remove("out"));
    let script = "f=$(mktemp out/XXXXXX) && echo made || echo refused; rm -f \"$f\"";
    an_edit_is_seen("no folder for a temp file", &[("out/keep", "")], script, |p| p.remove("out"));
}

#[test]
fn removing_and_renaming() {
    let script = "rmdir d 2>/dev/null && { echo removed; mkdir d; } || echo full";
    let project = Project::with(&[("check.sh", &format!("#!/bin/sh\n{script}\n"))]);
    std::fs::create_dir(project.path("d")).expect("a folder");
    project.assert_ran(&["./check.sh"]);
    project.write("d/x", "");
    project.assert_ran(&["./check.sh"]);
    let script = "mkdir n; mv -T n d 2>/dev/null && echo moved || { echo full; rmdir n; }";
    let project = Project::with(&[("check.sh", &format!("#!/bin/sh\n{script}\n"))]);
    std::fs::create_dir(project.path("d")).expect("a folder");
    project.assert_ran(&["./check.sh"]);
    project.write("d/x", "");
    project.assert_ran(&["./check.sh"]);
    an_edit_is_seen("a file to move", &[("a", "1")], "mv a b; cat b; mv b a", |p| {
        p.write("a", "2")
    });
    an_edit_is_seen(
        "a file to remove comes",
        &[],
        "rm a 2>/dev/null && echo removed || echo none",
        |p| {
            p.write("a", "");
        },
    );
    an_edit_is_seen("links to a file", &[("a", "1")], "ln a b; cat b; rm b", |p| p.write("a", "2"));
    an_edit_is_seen("copies", &[("d/a", "1")], "cp -r d e; cat e/a; rm -r e", |p| {
        p.write("d/a", "2")
    });
    an_edit_is_seen("copies of more", &[("d/a", "1")], "cp -r d e; ls e; rm -r e", |p| {
        p.write("d/b", "2");
    });
}

#[test]
fn what_was_read_before_it_was_changed() {
    let append = "cat log; echo more >> log";
    let project = Project::with(&[("log", "1\n"), ("check.sh", &format!("#!/bin/sh\n{append}\n"))]);
    project.assert_ran(&["./check.sh"]);
    project.write("log", "2\n");
    project.assert_ran(&["./check.sh"]);
    let later = "echo more >> log; cat log";
    let project = Project::with(&[("log", "1\n"), ("check.sh", &format!("#!/bin/sh\n{later}\n"))]);
    project.assert_ran(&["./check.sh"]);
    project.write("log", "2\n");
    project.assert_ran(&["./check.sh"]);
    let replaced = "cat f; echo new > f.tmp; mv f.tmp f";
    let project = Project::with(&[("f", "1\n"), ("check.sh", &format!("#!/bin/sh\n{replaced}\n"))]);
    project.assert_ran(&["./check.sh"]);
    project.write("f", "2\n");
    project.assert_ran(&["./check.sh"]);
    // Overwritten before it is read: no input.
    let own = "echo new > f; cat f";
    let project = Project::with(&[("f", "1\n"), ("check.sh", &format!("#!/bin/sh\n{own}\n"))]);
    project.assert_ran(&["./check.sh"]);
    project.write("f", "2\n");
    project.assert_skipped(&["./check.sh"]);
}

#[test]
fn links_everywhere() {
    let with_links = |script: &str| {
        let project = Project::with(&[("one/f", "1"), ("two/f", "1"), ("three", "1")]);
        symlink("one", project.path("now")).expect("a link");
        symlink("now", project.path("chain")).expect("a link");
        symlink("nowhere", project.path("dangling")).expect("a link");
        symlink("loop", project.path("loop")).expect("a link");
        project.write("check.sh", format!("#!/bin/sh\n{script}\n"));
        project.assert_ran(&["./check.sh"]);
        project.assert_skipped(&["./check.sh"]);
        project
    };
    let swap = |project: &Project, link: &str, target: &str| {
        let _ = std::fs::remove_file(project.path(link));
        symlink(target, project.path(link)).expect("a link");
        project.assert_ran(&["./check.sh"]);
    };
    swap(&with_links("cat now/f"), "now", "two");
    swap(&with_links("cat chain/f"), "now", "two");
    swap(&with_links("readlink -f chain"), "chain", "one");
    swap(&with_links("cat dangling 2>/dev/null; true"), "dangling", "three");
    swap(&with_links("cat loop 2>/dev/null; true"), "loop", "three");
    swap(&with_links("cd chain && cat ../three"), "now", "two");
    swap(&with_links("[ -e dangling ] && echo yes; true"), "nowhere", "three");
    let project = with_links("cat dangling 2>/dev/null; true");
    project.write("nowhere", "here now");
    project.assert_ran(&["./check.sh"]);
    let project = with_links("ls -F .");
    project.remove("now");
    std::fs::create_dir(project.path("now")).expect("a folder");
    project.assert_ran(&["./check.sh"]);
    // The project itself is reached through a link.
    let project = Project::with(&[("check.sh", "#!/bin/sh\ncat \"$PWD/data\"\n"), ("data", "1\n")]);
    let link = project.beside("link");
    symlink(project.path("."), &link).expect("a link");
    let run = || ended(project.seen_from(&link).env("PWD", &link).arg("./check.sh")).text();
    assert_eq!((run().as_str(), run().as_str()), ("1\n", ""));
    project.write("data", "2\n");
    assert_eq!(run(), "2\n");
}

#[test]
fn kinds_and_modes() {
    an_edit_is_seen(
        "may not run any more",
        &[("tool", "#!/bin/sh\necho x\n")],
        "./tool; true",
        |p| {
            p.mode("tool", 0o644);
        },
    );
    an_edit_is_seen("[ -x ]", &[("f", "x")], "[ -x f ] && echo yes || echo no", |p| {
        p.mode("f", 0o755)
    });
    an_edit_is_seen("[ -s ]", &[("f", "")], "[ -s f ] && echo full || echo empty", |p| {
        p.write("f", "x")
    });
    an_edit_is_seen(
        "a folder for a file",
        &[("f", "x")],
        "[ -f f ] && echo file || echo other",
        |p| {
            p.remove("f");
            p.write("f/x", "");
        },
    );
    an_edit_is_seen("a file above an absent one", &[], "cat a/b/c 2>&1; true", |p| {
        p.write("a", "")
    });
    an_edit_is_seen(
        "a file above an absent one, in the middle",
        &[("a/x", "")],
        "cat a/b/c 2>&1; true",
        |p| {
            p.write("a/b", "");
        },
    );
}

#[test]
fn programs_and_interpreters() {
    an_edit_is_seen(
        "an earlier program on PATH",
        &[("early/x", ""), ("late/tool", "#!/bin/sh\necho 1\n")],
        "PATH=$PWD/early:$PWD/late:$PATH tool",
        |p| p.write("early/tool", "#!/bin/sh\necho 2\n"),
    );
    an_edit_is_seen(
        "a relative interpreter's script",
        &[("run/sh2", "#!/bin/sh\nexec sh \"$@\"\n"), ("s", "echo 1\n")],
        "run/sh2 s",
        |p| p.write("s", "echo 2\n"),
    );
    an_edit_is_seen(
        "a sourced file",
        &[("lib.sh", ". ./deep.sh\n"), ("deep.sh", "x=1\n")],
        ". ./lib.sh; echo $x",
        |p| p.write("deep.sh", "x=2\n"),
    );
    an_edit_is_seen("background children", &[("f", "1")], "cat f & wait", |p| p.write("f", "2"));
    an_edit_is_seen("pipes", &[("f", "1")], "cat < f | cat | cat", |p| p.write("f", "2"));
    an_edit_is_seen("substitution", &[("f", "1")], "echo \"$(cat f)\"", |p| p.write("f", "2"));
    an_edit_is_seen(
        "descriptors of a shell",
        &[("f", "1\n")],
        "exec 5< f; read x <&5; echo $x",
        |p| p.write("f", "2\n"),
    );
    an_edit_is_seen("/proc/self/cwd", &[("f", "1")], "cat /proc/self/cwd/f", |p| p.write("f", "2"));
    an_edit_is_seen("/dev/fd", &[("f", "1")], "cat /dev/fd/5 5< f", |p| p.write("f", "2"));
    an_edit_is_seen("an absolute path", &[("f", "1")], "cat \"$PWD/./f\"", |p| p.write("f", "2"));
    an_edit_is_seen("dots", &[("d/e/f", "1")], "cat d/e/../e/f", |p| p.write("d/e/f", "2"));
    an_edit_is_seen("a folder that was left", &[("d/f", "1")], "cd d; cat f; cd ..", |p| {
        p.write("d/f", "2")
    });
    let project = Project::with(&[("tool", "#!./interp\n"), ("interp", "#!/bin/sh\necho 1\n")]);
    assert_eq!(project.tamis(&["./tool"]).text(), "1\n");
    project.write("interp", "#!/bin/sh\necho 2\n");
    assert_eq!(project.tamis(&["./tool"]).text(), "2\n");
}

#[test]
fn folders_that_are_walked() {
    let deep = [("d/a/x", "1"), ("d/b/y", "2")];
    an_edit_is_seen("find", &deep, "find d -type f | sort", |p| p.write("d/b/z", ""));
    an_edit_is_seen("grep -r", &deep, "grep -rl 1 d | sort", |p| p.write("d/b/y", "1"));
    an_edit_is_seen("tar", &deep, "tar cf - d | cksum", |p| p.write("d/a/x", "2"));
    an_edit_is_seen("du of names", &deep, "ls -R d", |p| p.remove("d/a/x"));
    an_edit_is_seen("a glob in the middle", &deep, "cat d/*/x", |p| p.write("d/c/x", "3"));
    an_edit_is_seen(
        "an empty folder",
        &[("d/x", "")],
        "rm -f d/none; ls d/e 2>/dev/null; true",
        |p| {
            std::fs::create_dir_all(p.path("d/e")).expect("a folder");
        },
    );
    // What the test adds to a folder and removes again must not hide what others add.
    an_edit_is_seen(
        "own names beside foreign ones",
        &deep,
        "ls d; touch d/own; ls d; rm d/own",
        |p| {
            p.write("d/foreign", "");
        },
    );
    an_edit_is_seen("own names left beside foreign ones", &deep, "touch d/own; ls d", |p| {
        p.write("d/foreign", "");
    });
}

#[test]
fn in_python() {
    let Some(python) = python() else { return };
    let seen = |what: &str, code: &str, edit: &dyn Fn(&Project)| {
        let project = Project::with(&[("f", "1\n"), ("d/x", ""), ("tests/a.py", "x = 1\n")]);
        project.write("check.py", code);
        let check = [python, "check.py"];
        let run = || project.run(&check).into_values().next().expect("one decision");
        assert!(run().runs);
        let again = run();
        assert!(!again.runs || again.cause == "incomplete", "{what}: {}", again.reason);
        edit(&project);
        assert!(run().runs, "{what}: skipped after the edit");
    };
    let change = |p: &Project| p.write("f", "2\n");
    seen("mmap", "import mmap\nf=open('f','r+b')\nprint(mmap.mmap(f.fileno(),0)[:])", &change);
    seen(
        "dir_fd",
        "import os\nd=os.open('.',os.O_PATH)\nprint(os.read(os.open('f',0,dir_fd=d),9))",
        &change,
    );
    seen(
        "threads",
        "import threading\nt=threading.Thread(target=lambda: print(open('f').read()))\nt.start(); t.join()",
        &change,
    );
    seen(
        "fork",
        "import os\np=os.fork()\nif p==0:\n  print(open('f').read()); os._exit(0)\nos.waitpid(p,0)",
        &change,
    );
    seen("fchdir", "import os\nos.fchdir(os.open('d',0)); print(open('../f').read())", &change);
    seen(
        "rename and read",
        "import os\nos.rename('f','g'); print(open('g').read()); os.rename('g','f')",
        &change,
    );
    seen("scandir", "import os\nprint([e.name for e in os.scandir('d')])", &|p| p.write("d/y", ""));
    seen(
        "a module found first",
        "import sys\nsys.path.insert(0,'d'); sys.path.append('tests')\nimport a\nprint(a.x)",
        &|p| p.write("d/a.py", "x = 2\n"),
    );
    seen("exec bit", "import os\nprint(os.access('f', os.X_OK))", &|p| p.mode("f", 0o755));
    seen("link count by name", "import os\nprint(os.path.islink('f'))", &|p| {
        p.remove("f");
        symlink("d/x", p.path("f")).expect("a link");
    });
    seen(
        "exclusive creation",
        "import os\ntry:\n  os.close(os.open('new',os.O_CREAT|os.O_EXCL)); os.remove('new'); print('made')\nexcept FileExistsError: print('there')",
        &|p| p.write("new", ""),
    );
    seen(
        "truncation without creation",
        "import os\ntry: os.open('none', os.O_WRONLY|os.O_TRUNC); print('there')\nexcept FileNotFoundError: print('none')",
        &|p| p.write("none", ""),
    );
    seen(
        "truncate by path",
        "import os\ntry: os.truncate('none', 0); print('there')\nexcept FileNotFoundError: print('none')",
        &|p| p.write("none", ""),
    );
}

#[test]
fn a_process_that_outlives_its_test_is_no_proof() {
    let project = Project::with(&[(
        "check.sh",
        "#!/bin/sh\n(sleep 3; cat late) >/dev/null 2>&1 &\necho started\n",
    )]);
    let got = project.tamis(&["./check.sh"]);
    assert_eq!(got.text(), "started\n");
    project.assert_ran(&["./check.sh"]);
}

#[test]
fn all_engines_see_the_same() {
    if !need("gcc") {
        return;
    }
    for engine in ["ebpf", "patch", "notify", "ptrace"] {
        let project = Project::with(&[
            ("main.c", "#include \"value.h\"\nint main(void) { return VALUE; }\n"),
            ("value.h", "#define VALUE 0\n"),
            ("check.sh", "#!/bin/sh\ngcc -o main main.c && ./main && ls . >/dev/null\n"),
        ]);
        let run = || project.tamis(&["--engine", engine, "./check.sh"]);
        let first = run();
        if first.stderr.contains("does not work here") {
            not_here(&format!("the {engine} engine: {}", first.stderr));
            continue;
        }
        assert_eq!(first.code, 0, "{engine}: {}", first.stderr);
        assert!(run().stderr.contains("skipped"), "{engine}");
        project.write("value.h", "#define VALUE 3\n");
        assert_eq!(run().code, 3, "{engine}");
        project.write("value.h", "#define VALUE 0\n");
        project.write("new", "");
        assert!(!run().stderr.contains("skipped"), "{engine}");
    }
}

#[test]
fn an_input_that_changes_during_the_run_is_no_proof() {
    let project = Project::with(&[
        ("data", "1\n"),
        (
            "check.sh",
            "#!/bin/sh\ncat data\ntouch reading\nwhile [ -e reading ]; do sleep 0.02; done\n",
        ),
    ]);
    let mut child = project.binary().arg("./check.sh").spawn().expect("tamis starts");
    let reading = project.path("reading");
    tamis_testkit::wait_for("the test", || Path::new(&reading).exists());
    project.write("data", "2\n");
    project.remove("reading");
    assert!(child.wait().expect("an end").success());
    let decided = project.select(&["./check.sh"]);
    assert!(decided["./check.sh"].runs, "it saw the old content: {decided:?}");
}

/// What was made just before a run is not made by it, however quickly the one follows the other.
#[test]
fn a_file_that_is_only_just_there() {
    let project = Project::with(&[
        (
            "tamis.toml",
            "[[suite]]\nname = \"s\"\neach = [\"1-make\", \"2-append\"]\nrun = \"sh {}.sh\"\njobs = 1\n",
        ),
        ("1-make.sh", "cat value > shared\n"),
        ("2-append.sh", "echo more >> shared\ncat shared\n"),
        ("value", "1\n"),
    ]);
    project.tamis(&["-j1"]);
    project.write("value", "2\n");
    project.tamis(&["-j1", "--only", "1-*"]);
    assert_eq!(project.selected(), ["2-append"]);
}

/// The state that a test left proves a skip only while no other one added to it.
#[test]
fn others_in_a_folder_that_the_test_made() {
    let walk = "find . -name 'f*' | sort; mkdir -p out; touch out/own";
    an_edit_is_seen("a walk", &[], walk, |p| p.write("out/foreign", ""));
    let list = "ls out 2>/dev/null; mkdir -p out/deep";
    an_edit_is_seen("a listing", &[], list, |p| p.write("out/foreign", ""));
    an_edit_is_seen("a walk, deeper", &[], "find .; mkdir -p out/a/b", |p| {
        p.write("out/a/b/x", "")
    });
    // Who never looks for names there is not bothered by the others.
    let project = Project::with(&[("check.sh", "#!/bin/sh\nmkdir -p out; echo x > out/own\n")]);
    project.assert_ran(&["./check.sh"]);
    project.write("out/foreign", "");
    project.assert_skipped(&["./check.sh"]);
}
