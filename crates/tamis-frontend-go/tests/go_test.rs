//! Real runs of `go test` through the shim, compared with `go test` alone. This program is its own shim:
//! `--shim LOG BINARY ARGUMENTS` runs a test binary and writes to LOG when it starts and ends.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tamis_frontend_go::{Claim, GoTest, Listing, Package, Surroundings, claim, list, shim};
use tamis_fs::{Fingerprinter, Options};

fn main() {
    // A runner in the background may have switched it off, and no shell can switch that on again.
    // SAFETY: the usual disposition, before any thread is there.
    unsafe { libc::signal(libc::SIGQUIT, libc::SIG_DFL) };
    let words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "--shim") {
        std::process::exit(as_shim(Path::new(&words[2]), &words[3..]));
    }
    if words.iter().any(|word| word == "--list") {
        return;
    }
    if Command::new("go").arg("version").output().is_err() {
        println!("not tried: go is missing");
        return;
    }
    let cases: [(&str, fn()); 7] = [
        ("output_and_exit_code_are_those_of_go", output_and_exit_code_are_those_of_go),
        ("only_the_selected_packages_run", only_the_selected_packages_run),
        ("the_package_of_the_current_folder", the_package_of_the_current_folder),
        ("a_binary_that_a_signal_ends", a_binary_that_a_signal_ends),
        ("a_signal_from_a_process_reaches_the_binary", a_signal_from_a_process_reaches_the_binary),
        ("a_killed_shim_takes_the_binary_along", a_killed_shim_takes_the_binary_along),
        ("what_cannot_start", what_cannot_start),
    ];
    for (name, case) in cases {
        case();
        println!("test {name} ... ok");
    }
}

fn as_shim(log: &Path, words: &[OsString]) -> i32 {
    let note = |text: String| {
        let mut file = OpenOptions::new().create(true).append(true).open(log)?;
        // In one call: several shims write at once.
        file.write_all(format!("{text}\n").as_bytes())
    };
    let cwd = std::env::current_dir().unwrap();
    let program = words[0].to_string_lossy().into_owned();
    let start = || note(format!("start {} {program}", cwd.display()));
    let before = || start().map(|()| tamis_session::Instead::default());
    let ended = shim(words, before, |ended| {
        note(format!("end {:?} {:?}", ended.code, ended.signal)).unwrap();
    });
    ended.unwrap_or_else(|error| {
        eprintln!("{error}");
        127
    })
}

struct Project {
    dir: tempfile::TempDir,
    top: PathBuf,
}

impl Project {
    /// a passes, bad fails, broken does not compile, killed kills itself, none has no tests.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("a project");
        let project = Self { dir, top };
        let test = |package: &str, imports: &str, body: &str| {
            format!(
                "package {package}\n\nimport (\n\t\"testing\"\n{imports})\n\nfunc TestIt(t *testing.T) {{ {body} }}\n"
            )
        };
        let kill = "syscall.Kill(syscall.Getpid(), syscall.SIGKILL)";
        project.write("go.mod", "module ex.org/m\n\ngo 1.21\n");
        project.write("a/a_test.go", &test("a", "", "println(\"hello\")"));
        project.write("bad/bad_test.go", &test("bad", "", "t.Fatal(\"no\")"));
        project.write("broken/broken_test.go", &test("broken", "", "undefined()"));
        project.write("killed/killed_test.go", &test("killed", "\t\"syscall\"\n", kill));
        project.write("none/none.go", "package none\n");
        project
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.top.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn at(&self, folder: &str) -> Surroundings {
        Surroundings::new(self.top.join(folder), self.variables())
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache");
        Vec::from([
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            ("HOME".into(), self.dir.path().into()),
            ("GOCACHE".into(), cache.into()),
            ("GOPROXY".into(), "off".into()),
            ("GOTOOLCHAIN".into(), "local".into()),
        ])
    }

    fn run(&self, folder: &str, words: &[OsString]) -> Output {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(self.top.join(folder)).stdin(Stdio::null());
        command.env_clear().envs(self.variables()).output().unwrap()
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("the log")
    }

    /// What the shim wrote since the last time.
    fn take_log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        let _ = std::fs::remove_file(self.log());
        text.lines().map(str::to_owned).collect()
    }

    /// This program at a place whose path has blanks and a quote.
    fn shim(&self) -> Vec<String> {
        let place = self.dir.path().join("it's here");
        if !place.exists() {
            std::fs::copy(std::env::current_exe().unwrap(), &place).unwrap();
        }
        [place, "--shim".into(), self.log()].map(|w| w.to_str().unwrap().to_owned()).to_vec()
    }
}

fn words(text: &str) -> Vec<OsString> {
    text.split(' ').map(OsString::from).collect()
}

fn listed(project: &Project, folder: &str, text: &str) -> (GoTest, Listing) {
    let at = project.at(folder);
    let Claim::Packages(test) = claim(&words(text), &at) else { panic!("{text}") };
    let listing = list(&test, &at, &Fingerprinter::new(Options::default())).unwrap();
    (test, listing)
}

fn selected(
    project: &Project,
    folder: &str,
    text: &str,
    which: impl Fn(&Package) -> bool,
) -> (Output, Vec<String>) {
    let (test, listing) = listed(project, folder, text);
    let packages = listing.arguments(listing.packages().iter().filter(|package| which(package)));
    let command = test.command(&packages, &project.shim()).unwrap();
    let output = project.run(folder, &command);
    let started = project.take_log();
    let started = started.iter().filter_map(|line| line.strip_prefix("start "));
    let of = |line: &str| {
        let (folder, program) = line.rsplit_once(' ').unwrap();
        listing.package_of(Path::new(folder), &[program.into()]).unwrap().import_path.clone()
    };
    let mut started: Vec<String> = started.map(of).collect();
    started.sort();
    (output, started)
}

/// Output without times.
fn shown(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let is_time =
        |word: &str| word.ends_with('s') && word.contains('.') && word[..1].parse::<u8>().is_ok();
    let line = |line: &str| {
        line.split('\t')
            .map(|word| if is_time(word) { "TIME" } else { word })
            .collect::<Vec<_>>()
            .join("\t")
    };
    text.lines().map(line).collect()
}

fn same(ours: &Output, theirs: &Output) {
    assert_eq!(shown(&ours.stdout), shown(&theirs.stdout));
    assert_eq!(shown(&ours.stderr), shown(&theirs.stderr));
    assert_eq!(ours.status, theirs.status);
}

fn output_and_exit_code_are_those_of_go() {
    let project = Project::new();
    for text in [
        "go test -count=1 ./...",
        "go test -count=1 -v ./a ./none",
        "go test -count=1 ./bad ./a ./gone",
    ] {
        let theirs = project.run("", &words(text));
        let (ours, started) = selected(&project, "", text, |_| true);
        same(&ours, &theirs);
        assert!(started.contains(&"ex.org/m/a".to_owned()), "{text}: {started:?}");
    }
}

fn only_the_selected_packages_run() {
    let project = Project::new();
    let (output, started) = selected(&project, "", "go test ./...", |package| {
        ["ex.org/m/a", "ex.org/m/none"].contains(&package.import_path.as_str())
    });
    assert_eq!(
        shown(&output.stdout),
        ["ok  \tex.org/m/a\tTIME", "?   \tex.org/m/none\t[no test files]"]
    );
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(started, ["ex.org/m/a"]);
}

fn the_package_of_the_current_folder() {
    let project = Project::new();
    for (folder, text) in [("a", "go test"), ("bad", "go test -short"), ("", "go -C a test")] {
        let theirs = project.run(folder, &words(text));
        let (ours, started) = selected(&project, folder, text, |_| true);
        same(&ours, &theirs);
        assert_eq!(started.len(), 1, "{text}");
    }
}

fn a_binary_that_a_signal_ends() {
    let project = Project::new();
    let theirs = project.run("", &words("go test -count=1 ./killed"));
    assert!(shown(&theirs.stdout).contains(&"signal: killed".to_owned()));
    let (ours, _) = selected(&project, "", "go test -count=1 ./killed", |_| true);
    same(&ours, &theirs);
}

fn started_shim(project: &Project, script: &str) -> std::process::Child {
    let shim = project.shim();
    let mut command = Command::new(&shim[0]);
    command.args(&shim[1..]).args(["/bin/sh", "-c", script]);
    command.stdout(Stdio::piped()).spawn().unwrap()
}

fn wait_for(what: impl Fn() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < Duration::from_secs(60), "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn send(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

fn a_signal_from_a_process_reaches_the_binary() {
    let project = Project::new();
    let ready = project.dir.path().join("ready");
    let script = format!(
        "trap 'echo got it; exit 7' QUIT; : > '{}'; while :; do sleep 0.01; done",
        ready.display()
    );
    let child = started_shim(&project, &script);
    wait_for(|| ready.exists());
    send("-QUIT", child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), shown(&output.stdout)), (Some(7), vec!["got it".to_owned()]));
    assert_eq!(project.take_log()[1], "end Some(7) None");
}

fn a_killed_shim_takes_the_binary_along() {
    let project = Project::new();
    let file = project.dir.path().join("pid");
    // `exec`, so that the process that must end is the shim's own child.
    let mut child =
        started_shim(&project, &format!("echo $$ > '{}'; exec sleep 1000", file.display()));
    let pid = || std::fs::read_to_string(&file).unwrap_or_default().trim().to_owned();
    wait_for(|| !pid().is_empty());
    let stat = PathBuf::from(format!("/proc/{}", pid()));
    assert!(stat.exists());
    send("-KILL", child.id());
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let gone = || {
        let text = std::fs::read_to_string(stat.join("stat")).unwrap_or_default();
        text.is_empty() || text.contains(") Z ")
    };
    wait_for(gone);
}

fn what_cannot_start() {
    let project = Project::new();
    let shim = project.shim();
    let output = Command::new(&shim[0]).args(&shim[1..]).arg("/no/such.test").output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(!output.stderr.is_empty());
}
