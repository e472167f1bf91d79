//! The eBPF engine on small real programs. Where it cannot work, each test says why and passes.

#[path = "ebpf/calls.rs"]
mod calls;
#[path = "ebpf/paths.rs"]
mod paths;
#[path = "ebpf/runs.rs"]
mod runs;
#[path = "ebpf/trees.rs"]
mod trees;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use tamis_testkit::{not_here, not_tried};
use tamis_trace::ebpf::{self, Ebpf};
use tamis_trace::{Action, Command, Engine, Event, Finish, Peer, Timing};

/// The engine that all tests share, as all runs of one tamis do; `None` (reported once) where there is
/// none.
fn engine() -> Option<&'static Ebpf> {
    static ENGINE: OnceLock<Option<Ebpf>> = OnceLock::new();
    ENGINE
        .get_or_init(|| match ebpf::available() {
            Ok(()) => Some(Ebpf::default()),
            Err(why) => {
                not_here(&why.to_string());
                None
            }
        })
        .as_ref()
}

/// What a test looks at of an event: kind and path in words, and the result.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    thread: u32,
    what: &'static str,
    path: Vec<u8>,
    /// The second path of a call, or the text of a blind spot.
    other: Vec<u8>,
    flag: bool,
    result: i64,
}

fn seen(event: &Event<'_>) -> Seen {
    let Timing::After { time_ns, result } = event.timing else { panic!("no result: {event:?}") };
    assert!(time_ns > 1_600_000_000_000_000_000, "not a time of today: {time_ns}");
    let none = Vec::new;
    let (what, path, other, flag) = match &event.action {
        Action::Open { path, how } if how.write => ("write", path.to_vec(), none(), how.create),
        Action::Open { path, how } => ("open", path.to_vec(), none(), how.path_only),
        Action::Stat { path, follow } => ("stat", path.to_vec(), none(), *follow),
        Action::ReadLink { path } => ("readlink", path.to_vec(), none(), false),
        Action::Execute { path } => ("execute", path.to_vec(), none(), false),
        Action::Remove { path } => ("remove", path.to_vec(), none(), false),
        Action::MakeDirectory { path } => ("mkdir", path.to_vec(), none(), false),
        Action::MakeNode { path } => ("node", path.to_vec(), none(), false),
        Action::LinkTo { path, target } => ("leads", path.to_vec(), target.to_vec(), false),
        Action::Rename { from, to, exchange, .. } => {
            ("rename", from.to_vec(), to.to_vec(), *exchange)
        }
        Action::Link { from, to, follow } => ("link", from.to_vec(), to.to_vec(), *follow),
        Action::Truncate { path } => ("truncate", path.to_vec(), none(), false),
        Action::ChangeMode { path, follow } => ("chmod", path.to_vec(), none(), *follow),
        Action::Connect { peer: Peer::Inet(address), .. } => {
            ("connect", address.to_string().into_bytes(), none(), false)
        }
        Action::Connect { peer: Peer::Unix(path), .. } => ("unix", path.clone(), none(), false),
        Action::Connect { peer: Peer::Abstract(name), .. } => {
            ("abstract", name.clone(), none(), false)
        }
        Action::Inspect { path, facet, .. } => {
            ("inspect", path.to_vec(), format!("{facet:?}").into_bytes(), false)
        }
        Action::Bind { peer, socket } => {
            ("bind", format!("{peer:?}").into_bytes(), none(), socket.inode != 0)
        }
        Action::Stream { number, facet } => {
            ("stream", number.to_string().into_bytes(), format!("{facet:?}").into_bytes(), false)
        }
        Action::Listen { socket } => {
            ("listen", format!("{:?}", socket.local).into_bytes(), none(), socket.inode != 0)
        }
        Action::Blind(blind) => ("blind", none(), format!("{blind:?}").into_bytes(), false),
    };
    Seen { thread: event.thread, what, path, other, flag, result }
}

/// All events of one run.
#[derive(Debug)]
struct Trace {
    finish: Finish,
    events: Vec<Seen>,
}

impl Trace {
    fn all(&self, what: &str, path: impl AsRef<OsStr>) -> Vec<&Seen> {
        let path = path.as_ref().as_bytes();
        self.events.iter().filter(|e| e.what == what && e.path == path).collect()
    }

    /// The one event of this kind on this path.
    #[track_caller]
    fn one(&self, what: &str, path: impl AsRef<OsStr>) -> &Seen {
        let found = self.all(what, &path);
        assert_eq!(
            found.len(),
            1,
            "{what} {:?}: {found:?} in {:#?}",
            path.as_ref(),
            self.listing()
        );
        found[0]
    }

    #[track_caller]
    fn has(&self, what: &str, path: impl AsRef<OsStr>) {
        assert!(
            !self.all(what, &path).is_empty(),
            "no {what} of {:?} in {:#?}",
            path.as_ref(),
            self.listing()
        );
    }

    fn blind(&self) -> Vec<String> {
        let text = |e: &Seen| String::from_utf8_lossy(&e.other).into_owned();
        self.events.iter().filter(|e| e.what == "blind").map(text).collect()
    }

    #[track_caller]
    fn is_complete(&self) {
        assert_eq!(self.blind(), Vec::<String>::new());
    }

    fn listing(&self) -> Vec<String> {
        let line = |e: &Seen| {
            let (path, other) =
                (String::from_utf8_lossy(&e.path), String::from_utf8_lossy(&e.other));
            format!("{} {} {path} {other} = {}", e.thread, e.what, e.result)
        };
        self.events.iter().map(line).collect()
    }
}

/// A folder for one test.
struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // As the kernel names it.
        let path = fs::canonicalize(folder.path()).unwrap();
        Self { _folder: folder, path }
    }

    fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    fn write(&self, name: impl AsRef<Path>, content: &str) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Compiles a C program whose `main` has this body; what stands before a line `main:` is outside
    /// of it. `None` where there is no C compiler.
    fn compile(&self, text: &str, options: &[&str]) -> Option<PathBuf> {
        let (functions, body) = text.split_once("main:").unwrap_or(("", text));
        let main = "int main(int argc, char **argv) {";
        let source = format!("{C_HEAD}\n{functions}\n{main}\n{body}\nreturn 0; }}\n");
        let source = self.write("program.c", &source);
        let program = self.join("program");
        let status = std::process::Command::new("cc")
            .args(["-w", "-D_GNU_SOURCE", "-pthread", "-o"])
            .args([&program, &source])
            .args(options)
            .status();
        match status {
            Ok(status) if status.success() => Some(program),
            Ok(_) if !options.is_empty() => {
                not_here(&format!("cc cannot build with {options:?}"));
                None
            }
            Ok(status) => panic!("cc failed: {status}"),
            Err(_) => {
                not_tried("cc");
                None
            }
        }
    }

    fn command<S: AsRef<OsStr>>(&self, words: &[S]) -> Command {
        Command {
            words: words.iter().map(OsString::from).collect(),
            folder: self.path.clone(),
            environment: std::env::vars_os().filter(|(name, _)| name == "PATH").collect(),
            stdin: Some(File::open("/dev/null").unwrap().into()),
            stdout: None,
            stderr: None,
            timeout: None,
            stand_for_ours: [false; 3],
            watch_stdin: false,
        }
    }

    fn run<S: AsRef<OsStr>>(&self, engine: &Ebpf, words: &[S]) -> Trace {
        run(engine, self.command(words))
    }

    fn shell(&self, engine: &Ebpf, script: &str) -> Trace {
        self.run(engine, &["sh", "-c", script])
    }

    /// Runs a C program in this folder.
    fn c(&self, engine: &Ebpf, body: &str) -> Option<Trace> {
        Some(self.run(engine, &[self.compile(body, &[])?]))
    }
}

const C_HEAD: &str = r#"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
"#;

fn run(engine: &Ebpf, command: Command) -> Trace {
    let mut events = Vec::new();
    let mut sink = |event: Event<'_>| events.push(seen(&event));
    let finish = engine.run(command, &mut sink, &AtomicBool::new(false)).unwrap();
    Trace { finish, events }
}
