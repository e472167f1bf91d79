//! Whether our agent works with the JDKs in use: `java` of the `PATH` and of `JAVA_HOME`.
//!
//! Each gets one class to run under the agent, and works if its method was seen.

use std::collections::BTreeMap;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tamis_agent_file::CHECK;
use tamis_jvm_wire::{FromJvm, Hello, Options, Role};
use tamis_report::json::doctor::CheckLine;
use tamis_session::socket_folder;

/// A JVM that takes longer for nothing is not one that tests can run in.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether the agent works with all JDKs that are in use.
pub fn check() -> Vec<CheckLine> {
    let found = javas();
    if found.is_empty() {
        let none = "none on the PATH or in JAVA_HOME: nothing to check";
        return vec![CheckLine::well("java", none)];
    }
    let mut checks = Vec::new();
    for (java, places) in found {
        let (shown, places) = (java.display(), places.join(", "));
        checks.push(match try_agent(&java) {
            Ok(hello) => {
                let blind = match hello.blind.as_slice() {
                    [] => String::new(),
                    blind => format!(
                        ", but cannot watch {}: all jars of the classpath count for each test",
                        blind.join(", ")
                    ),
                };
                let version = hello.java_version;
                CheckLine::well(
                    "java",
                    format!("{version} ({places}: {shown}): the agent works{blind}"),
                )
            }
            Err(why) => CheckLine::problem(
                "java",
                format!(
                    "{shown} ({places}): the agent does not work: {why}; tests of this JDK run each time"
                ),
            ),
        });
    }
    checks
}

/// Programs by their real path, with where they were found.
fn javas() -> BTreeMap<PathBuf, Vec<&'static str>> {
    let mut found: BTreeMap<PathBuf, Vec<&'static str>> = BTreeMap::new();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("java"));
    let on_path = on_path.filter(|java| java.is_file()).take(1).map(|java| (java, "PATH"));
    let home = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
    let home = home.map(|home| (Path::new(&home).join("bin/java"), "JAVA_HOME"));
    for (java, place) in on_path.chain(home) {
        found.entry(java.canonicalize().unwrap_or(java)).or_default().push(place);
    }
    found
}

fn try_agent(java: &Path) -> Result<Hello, String> {
    let folder = socket_folder().map_err(|e| format!("no temp folder: {e}"))?;
    let library = tamis_agent_file::install(folder.path())
        .map_err(|e| format!("its library could not be written: {e}"))?;
    std::fs::write(folder.path().join("TamisCheck.class"), CHECK)
        .map_err(|e| format!("the class to run could not be written: {e}"))?;
    let socket = folder.path().join("s");
    let listener = UnixListener::bind(&socket).map_err(|e| format!("no socket: {e}"))?;
    let options = Options { socket, token: "doctor".into(), role: Role::Launched, methods: false };
    let argument = options
        .argument(&library)
        .ok_or("the temp folder has a name that a JVM does not take; set TMPDIR")?;
    let mut child = Command::new(java)
        .arg(argument)
        .args(["-XX:TieredStopAtLevel=1", "-cp"])
        .arg(folder.path())
        .arg("TamisCheck")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("it cannot be started: {e}"))?;
    let messages = listen(&listener, &mut child);
    let _ = child.kill();
    let _ = child.wait();
    judge(&messages?)
}

/// Everything that the JVM reports until it ends.
fn listen(listener: &UnixListener, child: &mut Child) -> Result<Vec<FromJvm>, String> {
    let began = Instant::now();
    let late = || format!("the agent reported nothing within {} s", PATIENCE.as_secs());
    listener.set_nonblocking(true).map_err(|e| e.to_string())?;
    let mut stream: UnixStream = loop {
        if let Ok((stream, _)) = listener.accept() {
            break stream;
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("it ended with {status} before the agent reported anything"));
        }
        if began.elapsed() > PATIENCE {
            return Err(late());
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let prepared = stream.set_nonblocking(false).and(stream.set_read_timeout(Some(PATIENCE)));
    prepared.map_err(|e| e.to_string())?;
    let mut messages = Vec::new();
    while let Some(message) = tamis_jvm_wire::read(&mut stream).map_err(|_| late())? {
        messages.push(message);
    }
    Ok(messages)
}

/// What it reported first, if everything was seen that has to be.
fn judge(messages: &[FromJvm]) -> Result<Hello, String> {
    let Some(FromJvm::Hello(hello)) = messages.first() else {
        return Err("it did not report which JVM it is in".into());
    };
    for message in messages {
        if let FromJvm::Trouble(why) = message {
            return Err(why.clone());
        }
    }
    let class = messages.iter().find_map(|message| match message {
        FromJvm::Class(class) if class.name == b"TamisCheck" => Some(class),
        _ => None,
    });
    let class = class.ok_or("a class was loaded that it did not see")?;
    if let Some(problem) = &class.problem {
        return Err(format!("a class could not be observed: {problem}"));
    }
    let mut ran = messages.iter().filter_map(|message| match message {
        FromJvm::Window(window) => Some(&window.hits),
        _ => None,
    });
    // The constructor is the first method; `main` the second.
    if !ran.any(|hits| hits.iter().any(|hit| hit == class.first_probe + 1)) {
        return Err("a method ran that it did not see".into());
    }
    match messages.last() {
        Some(FromJvm::Bye) => Ok(hello.clone()),
        _ => Err("it did not report the end of the JVM".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_jvm_wire::{ClassSeen, Hits, Window};

    fn hello() -> FromJvm {
        FromJvm::Hello(Hello {
            version: tamis_jvm_wire::VERSION,
            pid: 1,
            role: Role::Launched,
            java_home: "/jdk".into(),
            java_version: "17".into(),
            command: "TamisCheck".into(),
            vm_arguments: Vec::new(),
            class_path: String::new(),
            blind: Vec::new(),
        })
    }

    fn class(problem: Option<&str>) -> FromJvm {
        FromJvm::Class(ClassSeen {
            name: b"TamisCheck".to_vec(),
            hash: 0,
            size: 0,
            first_probe: 4,
            probes: 2,
            problem: problem.map(str::to_owned),
        })
    }

    fn ran(hits: &[u32]) -> FromJvm {
        let hits = Hits::from_sorted(hits.iter().copied());
        FromJvm::Window(Window { hits, ..Window::default() })
    }

    #[test]
    fn works_only_if_everything_was_seen() {
        let well = [hello(), class(None), ran(&[5]), FromJvm::Bye];
        assert!(judge(&well).is_ok());
        for missing in 0..well.len() {
            let mut messages = well.to_vec();
            messages.remove(missing);
            assert!(judge(&messages).is_err(), "{missing}");
        }
        assert!(judge(&[hello(), class(None), ran(&[4]), FromJvm::Bye]).is_err());
        assert!(judge(&[hello(), class(Some("x")), ran(&[5]), FromJvm::Bye]).is_err());
        let trouble = FromJvm::Trouble("no room".into());
        let why = judge(&[hello(), trouble, class(None), ran(&[5]), FromJvm::Bye]);
        assert_eq!(why.unwrap_err(), "no room");
    }
}
