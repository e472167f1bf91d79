//! All engines see the same set of accesses as strace, on programs of many kinds.
//!
//! Compared are *sets* of (what was done, absolute path), failed attempts included: order and
//! number differ from run to run by scheduling and address layout. Each run starts in a fresh folder
//! of the same name. Differences that are no fault, and are evened out by [`normalise`]:
//! - process numbers in paths below /proc and in temporary names;
//! - the random part of compilers' temporary names;
//! - `//` and `/./`, which the kernel skips.

use crate::common::{self, available, compile, found, run};
use crate::oracle;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use tamis_trace::{Action, Command, Ending, OpenHow};

/// A program of the corpus.
struct Case {
    /// Holds the built programs, and the folder in which they run.
    place: tempfile::TempDir,
    words: Vec<String>,
    environment: Vec<(&'static str, String)>,
    prepare: fn(&Path),
}

impl Case {
    fn new(prepare: fn(&Path)) -> Self {
        let environment = vec![
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
        ];
        Self { place: tempfile::tempdir().unwrap(), words: Vec::new(), environment, prepare }
    }

    fn words<S: Into<String>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.words = words.into_iter().map(Into::into).collect();
        self
    }

    fn variable(mut self, name: &'static str, value: &str) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }

    /// An empty folder, prepared.
    fn folder(&self) -> PathBuf {
        let folder = self.place.path().canonicalize().unwrap().join("work");
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir(&folder).unwrap();
        (self.prepare)(&folder);
        folder
    }

    /// Runs under strace and under every engine; all must have seen the same.
    fn conforms(&self) {
        let Some(_) = found("strace") else { return };
        let folder = self.folder();
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let environment: Vec<(&str, &str)> =
            self.environment.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let expected = seen(&oracle::watch(&words, &folder, &environment));
        for engine in available() {
            let command = Command {
                words: words.iter().map(OsString::from).collect(),
                folder: self.folder(),
                environment: environment.iter().map(|(n, v)| (n.into(), v.into())).collect(),
                stdin: Some(File::open("/dev/null").unwrap().into()),
                stdout: Some(File::create("/dev/null").unwrap().into()),
                stderr: None,
                timeout: None,
                stand_for_ours: [false; 3],
                watch_stdin: false,
            };
            let (finish, actions) = run(engine.as_ref(), command);
            assert_eq!(finish.ending, Ending::Exited(0), "{words:?} under {}", engine.name());
            assert_eq!(finish.left_running, Vec::<String>::new());
            let got = seen(&actions);
            let list = |set: BTreeSet<&String>| -> String {
                set.into_iter().map(|s| format!("\n  {s}")).collect()
            };
            let missed = list(expected.difference(&got).collect());
            let invented = list(got.difference(&expected).collect());
            assert!(
                missed.is_empty() && invented.is_empty(),
                "{words:?} under {}\nonly strace saw:{missed}\nonly the engine saw:{invented}",
                engine.name()
            );
        }
    }
}

/// What was seen, in comparable form. Anything blind shows up by its own name. Addresses are not
/// compared: strace's class of file calls has none.
fn seen(actions: &[Action<'_>]) -> BTreeSet<String> {
    let one = |what: &str, path: &[u8]| format!("{what} {}", normalise(path));
    let two = |what: &str, from: &[u8], to: &[u8]| {
        format!("{what} {} -> {}", normalise(from), normalise(to))
    };
    let written = |action: &Action<'_>| {
        Some(match action {
            Action::Open { path, how } => {
                let how = OpenHow { length: None, ..*how };
                one(&format!("open {how:?}"), path)
            }
            Action::Stat { path, follow: true } => one("stat", path),
            Action::Stat { path, follow: false } => one("lstat", path),
            Action::ReadLink { path } => one("readlink", path),
            Action::Execute { path } => one("execute", path),
            Action::Remove { path } => one("remove", path),
            Action::MakeDirectory { path } => one("mkdir", path),
            Action::MakeNode { path } => one("make", path),
            Action::Rename { from, to, exchange, keep } => {
                two(&format!("rename {exchange} {keep}"), from, to)
            }
            Action::Link { from, to, follow } => two(&format!("link {follow}"), from, to),
            Action::Truncate { path } => one("truncate", path),
            Action::ChangeMode { path, follow } => one(&format!("change {follow}"), path),
            Action::Blind(blind) => format!("blind {blind:?}"),
            // Not all engines can tell what `access` asks for.
            Action::Connect { .. }
            | Action::LinkTo { .. }
            | Action::Bind { .. }
            | Action::Listen { .. }
            | Action::Inspect { .. }
            | Action::Stream { .. } => return None,
        })
    };
    actions.iter().filter_map(written).collect()
}

fn normalise(path: &[u8]) -> String {
    let text: String = path.escape_ascii().to_string();
    let in_proc = text.starts_with("/proc/");
    let words = text.split('/').filter(|w| !w.is_empty() && *w != ".").map(|word| {
        let number = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
        match word.strip_prefix("cc") {
            _ if number && in_proc => "N".to_owned(),
            _ if word.starts_with(".java_pid") => ".java_pidN".to_owned(),
            // gcc's temporary files.
            Some(rest)
                if rest.len() >= 6
                    && rest.bytes().take(6).all(|b| b.is_ascii_alphanumeric())
                    && text.starts_with("/tmp/cc") =>
            {
                format!("ccXXXXXX{}", &rest[6..])
            }
            _ => word.to_owned(),
        }
    });
    words.map(|word| format!("/{word}")).collect()
}

fn nothing(_: &Path) {}

/// Some files to read, list and miss.
fn small_tree(folder: &Path) {
    fs::create_dir(folder.join("folder")).unwrap();
    for name in ["data.txt", "folder/one", "folder/two", "folder/three four"] {
        fs::write(folder.join(name), "text\n").unwrap();
    }
}

/// Builds a C program of the corpus, runs it in an empty folder and compares.
fn c_program(name: &str) {
    let case = Case::new(nothing);
    let Some(program) = compile(name, &[], case.place.path()) else { return };
    case.words([program.display().to_string()]).conforms();
}

#[test]
fn c_names() {
    c_program("names.c");
}

#[test]
fn c_relative() {
    c_program("relative.c");
}

#[test]
fn c_odd() {
    c_program("odd.c");
}

#[test]
fn c_processes() {
    c_program("processes.c");
}

#[test]
fn c_unnamed() {
    c_program("unnamed.c");
}

#[test]
fn c_signals() {
    c_program("signals.c");
}

#[test]
fn c_static() {
    let case = Case::new(nothing);
    let Some(program) = compile("names.c", &["-static"], case.place.path()) else { return };
    case.words([program.display().to_string()]).conforms();
}

#[test]
fn shell() {
    let script = "cat data.txt | sort | uniq -c > counted
        for f in folder/*; do test -d \"$f\" || wc -l < \"$f\"; done | tail -1
        cd folder && (cd .. && cat data.txt) && cat one
        cat ../absent 2>/dev/null || true
        { cat two & cat 'three four'; wait; } | md5sum
        x=$(cat ../data.txt); test -x /bin/ls && mv one moved && ln -s moved linked && cat linked
        (sleep 0.05; cat moved) & wait
        printf 'a\\nb\\n' > 'a
b' && rm 'a
b'";
    Case::new(small_tree).words(["/bin/sh", "-c", script]).conforms();
}

#[test]
fn shell_without_environment() {
    let script = "/usr/bin/env -i /bin/sh -c 'cat data.txt; cat absent 2>/dev/null; true'";
    Case::new(small_tree).words(["/bin/sh", "-c", script]).conforms();
}

#[test]
fn find() {
    let Some(find) = found("find") else { return };
    Case::new(small_tree).words([&find, ".", "-type", "f", "-size", "-4", "-print"]).conforms();
}

#[test]
fn python() {
    // Not the one in PATH, which may be a script that looks for the real one.
    let Some(python) = found("python3") else { return };
    let real = std::process::Command::new(python)
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .unwrap();
    let python = String::from_utf8(real.stdout).unwrap().trim().to_owned();
    let prepare = |folder: &Path| {
        small_tree(folder);
        fs::write(folder.join("helper.py"), "import decimal\n").unwrap();
        fs::copy(common::corpus("run.py"), folder.join("run.py")).unwrap();
    };
    // Without it, the names of half-written byte code are random.
    Case::new(prepare)
        .words([python.as_str(), "run.py"])
        .variable("PYTHONDONTWRITEBYTECODE", "1")
        .conforms();
}

#[test]
fn go_static() {
    let Some(go) = found("go") else { return };
    let case = Case::new(small_tree);
    let program = case.place.path().join("walk");
    let built = std::process::Command::new(go)
        .args(["build", "-o"])
        .args([program.as_os_str(), common::corpus("walk.go").as_os_str()])
        .env("CGO_ENABLED", "0")
        .status()
        .unwrap();
    assert!(built.success());
    case.words([program.display().to_string()]).conforms();
}

#[test]
fn jvm() {
    let (Some(java), Some(javac)) = (found("java"), found("javac")) else { return };
    let case = Case::new(small_tree);
    let classes = case.place.path().join("classes");
    let built = std::process::Command::new(javac)
        .arg("-d")
        .args([classes.as_os_str(), common::corpus("Read.java").as_os_str()])
        .status()
        .unwrap();
    assert!(built.success());
    // Two files of the virtual machine carry its process number; leave them out.
    let options = ["-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp"];
    let mut words = vec![java];
    words.extend(options.map(str::to_owned));
    words.extend([classes.display().to_string(), "Read".to_owned()]);
    case.words(words).conforms();
}

#[test]
fn gcc_and_its_children() {
    let Some(gcc) = found("gcc") else { return };
    let prepare = |folder: &Path| {
        fs::write(folder.join("lib.h"), "#include <stdio.h>\nint f(void);\n").unwrap();
        fs::write(folder.join("lib.c"), "#include \"lib.h\"\nint f(void) { return 0; }\n").unwrap();
        fs::write(folder.join("main.c"), "#include \"lib.h\"\nint main(void) { return f(); }\n")
            .unwrap();
    };
    Case::new(prepare).words([&gcc, "-I", "absent", "-o", "program", "main.c", "lib.c"]).conforms();
}

#[test]
fn git() {
    let Some(git) = found("git") else { return };
    let prepare = |folder: &Path| {
        small_tree(folder);
        let script = "git init -q . && git add data.txt folder && \
            git -c user.name=n -c user.email=e@e commit -qm one && echo more >> data.txt && \
            touch -d '2001-01-01' data.txt folder/* && git update-index -q --refresh; true";
        let mut sh = std::process::Command::new("sh");
        sh.args(["-c", script]).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
        // The date is a part of the commit's name.
        let date = "2001-01-01T00:00:00Z";
        sh.env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date);
        assert!(sh.status().unwrap().success());
    };
    let script = format!("{git} status --short && {git} log --stat && {git} grep -q text");
    Case::new(prepare)
        .words(["/bin/sh", "-c", &script])
        .variable("GIT_OPTIONAL_LOCKS", "0")
        .variable("GIT_PAGER", "cat")
        .conforms();
}
