//! Plays one case with one engine, in a project of its own.

use crate::Cell;
use crate::cases::{Answer, Case};
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tamis_core::record::Observed;
use tamis_core::{PathMap, Question, Value};
use tamis_fs::{Fingerprinter, Options};
use tamis_observe::{Context, Judgement, Observations, Observer, Rules, Services, answer_fact};
use tamis_trace::{Command, Ending, Event, Sink};

const TOOLS: &str = include_str!("tools.py");

/// The eBPF engine on a machine so busy that it hears of nothing before all is over.
pub(crate) const LATE: &str = "late";

/// Tells [`LATE`] that the script is over.
const AT_THE_END: &str = r#"trap ': >"$AWAY/over"' EXIT"#;

/// Before each script: how programs and servers are started, and what others do `meanwhile`.
const PRELUDE: &str = r#"
t() { python3 "$AWAY/tools.py" "$@"; }
serve() {
    rm -f "$AWAY/ready"
    python3 "$AWAY/tools.py" serve "$1" "$2" "$AWAY/ready" $3 >/dev/null 2>&1 &
    echo $! >>"$AWAY/servers"
    while ! [ -e "$AWAY/ready" ]; do sleep 0.02; kill -0 $! || exit 1; done
}
meanwhile() {
    (for change; do
        until [ -e "$AWAY/now" ]; do sleep 0.02; done
        eval "$change"; rm "$AWAY/now"
    done) >/dev/null 2>&1 &
    echo $! >>"$AWAY/servers"
}
now() { : >"$AWAY/now"; while [ -e "$AWAY/now" ]; do sleep 0.02; done; }
stop() { kill $(cat "$AWAY/servers"); while kill -0 $(cat "$AWAY/servers") 2>/dev/null; do sleep 0.02; done; }
"#;

struct Stage {
    _folder: tempfile::TempDir,
    /// The project; only what is in it counts.
    root: PathBuf,
    /// What the cases start and leave; a temp folder to the rules.
    away: PathBuf,
    ports: (u16, u16),
}

/// Where the standard streams of a test come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streams {
    Given,
    Inherited,
}

struct Filter<'s>(&'s Stage);

impl Rules for Filter<'_> {
    fn judge(&self, path: &Path, _: &str) -> Judgement {
        if path.starts_with(&self.0.root) {
            Judgement::Default
        } else if path.starts_with(&self.0.away) && !path.ends_with("tools.py") {
            Judgement::IgnoreTemp
        } else {
            Judgement::Ignore
        }
    }

    /// Any program, in the cases of tools that walk.
    fn only_lists(&self, path: &Path, _: &str) -> bool {
        path.ends_with("listed.md")
    }
}

impl Stage {
    fn new() -> Self {
        // Not every file system that is used for temporary files has attributes.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (root, away) = (top.join("project"), top.join("away"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&away).unwrap();
        fs::write(away.join("tools.py"), TOOLS).unwrap();
        let free = || TcpListener::bind("127.0.0.1:0").unwrap();
        let (one, other) = (free(), free());
        let port = |server: &TcpListener| server.local_addr().unwrap().port();
        let ports = (port(&one), port(&other));
        Self { _folder: folder, root, away, ports }
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        all.push(("AWAY".into(), self.away.clone().into()));
        all.push(("PORT".into(), self.ports.0.to_string().into()));
        all.push(("OTHER".into(), self.ports.1.to_string().into()));
        all.push(("HERE".into(), own_address().into()));
        all
    }

    fn shell(&self, script: &str) {
        let done = std::process::Command::new("sh")
            .args(["-c", &format!("{PRELUDE}{script}")])
            .current_dir(&self.root)
            .envs(self.environment())
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(done.success(), "{script}: {done}");
    }

    /// What an engine sees of the test.
    fn observe(&self, engine: &str, script: &str) -> Observations {
        self.observe_with(engine, script, Streams::Given)
    }

    fn observe_with(&self, engine: &str, script: &str, streams: Streams) -> Observations {
        let paths = PathMap::new(self.root.clone(), None);
        let fingerprinter = Fingerprinter::new(Options::default());
        let (rules, services) = (Filter(self), Services::default());
        let mut observer = Observer::new(Context {
            paths: &paths,
            rules: &rules,
            fingerprinter: &fingerprinter,
            services: &services,
        });
        let null =
            || Some(File::options().read(true).write(true).open("/dev/null").unwrap().into());
        let null = || if streams == Streams::Given { null() } else { None };
        let command = Command {
            words: ["sh", "-c", &format!("{AT_THE_END}{PRELUDE}{script}")]
                .map(OsString::from)
                .to_vec(),
            folder: self.root.clone(),
            environment: self.environment(),
            stdin: null(),
            stdout: null(),
            stderr: null(),
            timeout: Some(Duration::from_secs(60)),
            stand_for_ours: [false; 3],
            watch_stdin: false,
        };
        let over = AtomicBool::new(false);
        let finish = match engine {
            LATE => {
                let engine = tamis_trace::choose::choose("ebpf").unwrap();
                let mut late = |event: Event<'_>| {
                    self.wait_for_the_end();
                    observer.event(event);
                };
                engine.run(command, &mut late, &over).unwrap()
            }
            name => tamis_trace::choose::choose(name)
                .unwrap()
                .run(command, &mut observer, &over)
                .unwrap(),
        };
        assert!(matches!(finish.ending, Ending::Exited(_)), "{script}: {:?}", finish.ending);
        observer.finish(finish.no_new_privileges)
    }

    fn wait_for_the_end(&self) {
        let (over, began) = (self.away.join("over"), Instant::now());
        while !over.exists() && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// What the record says now, and why.
    fn decide(&self, seen: &Observations) -> (Answer, String) {
        if let Some(taint) = seen.taints.first() {
            return (Answer::Run, taint.to_string());
        }
        let paths = PathMap::new(self.root.clone(), None);
        let fingerprinter = Fingerprinter::new(Options::default());
        let now = |question: &Question| match question {
            Question::Path(path, scheme) => {
                fingerprinter.answer(&paths.to_absolute(path), *scheme).value
            }
            Question::Fact(name) => answer_fact(name, &paths).unwrap_or(Value::Derived),
            other => panic!("not asked by an observer: {other}"),
        };
        let found: Vec<Value> = seen.observed.iter().map(|o| now(&o.question)).collect();
        let differs = |was: &dyn Fn(&Observed) -> Value| {
            let mut all = seen.observed.iter().zip(&found);
            all.find(|(o, is)| was(o) != **is).map(|(o, is)| format!("{} is {is}", o.question))
        };
        match (differs(&|o| o.before), differs(&|o| o.after.unwrap_or(o.before))) {
            (Some(why), Some(_)) => (Answer::Run, why),
            _ => (Answer::Skip, "nothing changed".into()),
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let servers = fs::read_to_string(self.away.join("servers")).unwrap_or_default();
        for server in servers.lines().filter_map(|line| line.parse::<i32>().ok()) {
            // SAFETY: ends a process that this stage started.
            unsafe { libc::kill(server, libc::SIGKILL) };
        }
    }
}

/// An address of this machine that others see; where there is none, the loopback's.
fn own_address() -> String {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // Asks for the route; nothing is sent.
    let routed = socket.connect("198.51.100.1:9").and_then(|()| socket.local_addr());
    routed.map_or_else(|_| "127.0.0.1".into(), |address| address.ip().to_string())
}

/// The questions that a test puts and that are not about paths.
pub(crate) fn facts(engine: &str, script: &str, streams: Streams) -> Vec<String> {
    let seen = Stage::new().observe_with(engine, script, streams);
    let facts = seen.observed.iter().filter_map(|o| match &o.question {
        Question::Fact(name) => Some(name.to_string()),
        _ => None,
    });
    facts.collect()
}

pub(crate) fn play(engine: &str, case: &Case) -> Cell {
    let stage = Stage::new();
    stage.shell(case.before);
    // Engines that report afterwards tell by the time stamps what was there before.
    std::thread::sleep(Duration::from_millis(60));
    let seen = stage.observe(engine, case.test);
    let (again, why_again) = stage.decide(&seen);
    stage.shell(case.change);
    let (changed, why_changed) = stage.decide(&seen);
    Cell { again, changed, why: format!("{why_again}; after the change: {why_changed}") }
}
