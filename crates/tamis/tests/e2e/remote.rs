//! A team's day with a shared store: CI pushes, a developer in another folder with another home pulls and skips, edits, and
//! pushes to a branch; somebody from outside forges.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tamis_testkit::{Ended, Project, ended, need, wait_for};

const SUITE: &str = "[[suite]]\nname = 's'\neach = 'tests/*.sh'\nrun = 'sh {}'\n";

/// Each test reads the source and a file of its own; one of them the home folder, another who the user is.
fn sources(project: &Project) {
    project.write("src/lib.txt", "lib");
    for name in ["a", "b", "c", "d"] {
        project.write(format!("src/{name}.txt"), name);
        let more = match name {
            "c" => "cat ~/.settings 2>/dev/null; echo $USER >/dev/null\n",
            _ => "",
        };
        project
            .write(format!("tests/{name}.sh"), format!("cat src/lib.txt src/{name}.txt\n{more}"));
    }
}

fn remote(shared: &Path, more: &str) -> String {
    let url = format!("file://{}", shared.display());
    format!("[remote]\nurl = '{url}'\nproject = 'shop'\npush = 'wait'\n{more}\n{SUITE}")
}

struct Team {
    shared: tempfile::TempDir,
    ci_key: (String, String),
}

impl Team {
    fn new() -> Self {
        let shared = tempfile::tempdir().unwrap();
        let line = Project::new().tamis(&["store", "keys", "--new", "--json"]).lines().remove(0);
        let public = line["keys"][0].as_str().unwrap().to_owned();
        let secret = line["secret"].as_str().unwrap().to_owned();
        Self { shared, ci_key: (public, secret) }
    }

    fn machine(&self, more: &str) -> Project {
        let project = Project::new();
        sources(&project);
        let trusted = format!("trusted-keys = ['{}']\n{more}", self.ci_key.0);
        project.write("tamis.toml", remote(self.shared.path(), &trusted));
        project
    }

    fn ci(&self) -> Project {
        let mut ci = self.machine("read = ['main']\nwrite = 'main'\n");
        ci.set("TAMIS_SIGNING_KEY", &self.ci_key.1);
        ci.set("USER", "ci");
        ci.set("GITHUB_TOKEN", "ghs_abc");
        ci
    }

    fn developer(&self) -> Project {
        let mut dev =
            self.machine("read = ['main', 'branch/{branch}']\nwrite = 'branch/{branch}'\n");
        dev.set("USER", "ann");
        dev.set("TAMIS_BRANCH", "feature");
        dev
    }
}

fn printed(got: &Ended) -> String {
    format!("{}{}", got.stderr, got.text())
}

#[test]
fn a_day_of_a_team() {
    let team = Team::new();
    let ci = team.ci();
    let got = ci.tamis(&["run"]);
    assert_eq!(got.code, 0, "{}", printed(&got));
    assert!(got.stderr.contains("pushed 4 records to main"), "{}", got.stderr);

    // Another folder, another home, another user: nothing runs, and tamis reports on whose word.
    let dev = team.developer();
    let got = dev.tamis(&["run"]);
    assert_eq!(got.code, 0, "{}", printed(&got));
    assert!(got.stderr.contains("took 4 records from the shared store"), "{}", got.stderr);
    assert_eq!(dev.ran(), Vec::<String>::new());
    assert!(dev.answer(&["select"]).contains("from main"), "{}", dev.answer(&["select"]));

    // An edit: what it affects runs, and goes to the developer's own scope.
    dev.write("src/a.txt", "edited");
    let got = dev.tamis(&["run"]);
    assert!(got.stderr.contains("pushed 1 record to branch/feature"), "{}", got.stderr);
    let head = |scope: &str| team.shared.path().join("v1/shop/heads").join(scope);
    assert!(head("branch=2ffeature").is_dir() && head("main").is_dir());

    // CI does not read that scope, and would not believe it.
    ci.write("src/a.txt", "edited");
    assert_eq!(ci.ran(), ["tests/a.sh"]);

    // A colleague without any right: reads, and writes nothing.
    let guest = team.machine("read = ['main']\n");
    assert_eq!(guest.ran(), Vec::<String>::new());
    let got = guest.tamis(&["store", "push"]);
    assert!(got.code == 125 && got.stderr.contains("only reads"), "{}", printed(&got));
}

/// An S3 server with a bucket called `cache`; ended with the test.
struct Bucket {
    child: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Bucket {
    /// `None` where there is no server to start, which is reported.
    fn start() -> Option<Self> {
        if !need("versitygw") {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("cache")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(tamis_testkit::found("versitygw")?);
        command.env_clear().args(["--access", "tamis", "--secret", "tamis-secret", "--port"]);
        command.arg(format!("127.0.0.1:{port}")).arg("posix").arg(folder.path());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for("the S3 server", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(Self { child, folder, port })
    }

    /// Where the server keeps the head of a scope.
    fn head(&self, scope: &str) -> PathBuf {
        self.folder.path().join("cache/tamis/v1/shop/heads").join(scope)
    }

    /// A machine in a folder and with a home of its own. Three of its eight tests read `src/calc.txt`.
    fn machine(&self, user: &str, more: &str) -> Project {
        let mut project = Project::new();
        project.write("src/calc.txt", "right");
        for n in 0..8 {
            project.write(format!("src/{n}.txt"), n.to_string());
            let more = if n < 3 { "! grep broken src/calc.txt\n" } else { "" };
            project.write(format!("tests/{n}.sh"), format!("cat src/{n}.txt\n{more}"));
        }
        let url = "url = 's3://cache/tamis'\nproject = 'shop'\npush = 'wait'";
        project.write("tamis.toml", format!("[remote]\n{url}\n{more}\n{SUITE}"));
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        for (name, value) in [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ACCESS_KEY_ID", "tamis"),
            ("AWS_SECRET_ACCESS_KEY", "tamis-secret"),
            ("USER", user),
        ] {
            project.set(name, value);
        }
        project
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All of it in one go, by way of a real server: the night's CI, a developer's morning, an edit, and somebody from outside.
#[test]
fn the_day_of_a_user() {
    let Some(bucket) = Bucket::start() else { return };
    let line = Project::new().tamis(&["store", "keys", "--new", "--json"]).lines().remove(0);
    let trusted = format!("trusted-keys = ['{}']\n", line["keys"][0].as_str().unwrap());
    let own = "read = ['main', 'branch/{branch}']\nwrite = 'branch/{branch}'\n";

    let mut ci = bucket.machine("ci", &format!("read = ['main']\nwrite = 'main'\n{trusted}"));
    ci.set("TAMIS_SIGNING_KEY", line["secret"].as_str().unwrap());
    let got = ci.tamis(&["run"]);
    assert!(got.code == 0 && got.stderr.contains("pushed 8 records to main"), "{}", printed(&got));

    let mut dev = bucket.machine("ann", &format!("{own}{trusted}"));
    dev.set("TAMIS_BRANCH", "feature");
    let got = dev.tamis(&["run"]);
    assert!(got.stderr.contains("took 8 records from the shared store"), "{}", printed(&got));
    assert!(got.stderr.contains("8 skipped") && !got.stderr.contains(" ran "), "{}", got.stderr);

    dev.write("src/calc.txt", "edited");
    let got = dev.tamis(&["run"]);
    assert!(
        got.code == 0 && got.stderr.contains("3 ran (3 passed), 5 skipped"),
        "{}",
        printed(&got)
    );
    assert!(got.stderr.contains("pushed 3 records to branch/feature"), "{}", got.stderr);
    assert!(bucket.head("branch=2ffeature").exists());
    assert_eq!(dev.ran(), Vec::<String>::new());

    // A fork breaks what the three tests look at, and wants it to pass: by its word, and by force.
    let mut fork = bucket.machine("eve", "read = []\nwrite = 'main'\n");
    for n in 0..3 {
        fork.write(format!("tests/{n}.sh"), format!("cat src/{n}.txt src/calc.txt\n"));
    }
    fork.write("src/calc.txt", "broken");
    let got = fork.tamis(&["run"]);
    assert!(
        got.code == 0 && got.stderr.contains("could not be pushed to main"),
        "{}",
        printed(&got)
    );
    fs::remove_file(bucket.head("main")).unwrap();
    fork.set("TAMIS_BRANCH", "feature");
    assert_eq!(fork.tamis(&["store", "push"]).code, 0);
    // The developer has the fork's sources now, of which the fork's records say that they pass.
    for n in 0..3 {
        dev.write(format!("tests/{n}.sh"), fork.read(format!("tests/{n}.sh")));
    }
    dev.write("src/calc.txt", "broken");
    let got = dev.tamis(&["run"]);
    assert!(
        got.stderr.contains("in the shared store, ") && got.stderr.contains("refused"),
        "{got:?}"
    );
    assert!(got.stderr.contains("3 ran (3 passed), 5 skipped"), "{}", got.stderr);
}

#[test]
fn a_forged_record_is_refused_and_the_test_runs() {
    let team = Team::new();
    team.ci().tamis(&["run"]);
    // Somebody from outside with write access lets a broken test pass, in a scope that he calls main.
    let mut fork = team.machine("read = []\nwrite = 'main'\n");
    fork.write("src/a.txt", "broken");
    fork.set("USER", "eve");
    let got = fork.tamis(&["run"]);
    assert!(got.stderr.contains("belongs to others"), "{}", printed(&got));
    // He takes the head over by force.
    fs::remove_dir_all(team.shared.path().join("v1/shop/heads")).unwrap();
    let got = fork.tamis(&["store", "push"]);
    assert_eq!(got.code, 0, "{}", printed(&got));
    let dev = team.developer();
    dev.write("src/a.txt", "broken");
    let got = dev.tamis(&["run"]);
    assert!(
        got.stderr.contains("refused") && got.stderr.contains("trusted-keys"),
        "{}",
        got.stderr
    );
    assert!(!got.stderr.contains("from the shared store"), "{}", got.stderr);
    assert!(got.stderr.contains("4 ran"), "{}", got.stderr);
    let got = dev.tamis(&["store", "verify"]);
    assert!(got.code == 1 && printed(&got).contains("refused"), "{}", printed(&got));
}

/// What was pulled stays in the local store, and lets a test be skipped only where the settings of now read its scope in
/// that store and believe its signer.
#[test]
fn what_was_pulled_counts_only_while_it_is_believed() {
    let team = Team::new();
    let ci = team.ci();
    ci.write("tamis.toml", ci.read("tamis.toml").replace("'main'", "'branch/x'"));
    assert_eq!(ci.tamis(&["run"]).code, 0);
    let mut dev = team.developer();
    dev.set("TAMIS_BRANCH", "x");
    assert_eq!(dev.selected(), Vec::<String>::new());
    // Another branch does not read that scope.
    dev.set("TAMIS_BRANCH", "y");
    assert_eq!(dev.selected().len(), 4);
    dev.set("TAMIS_BRANCH", "x");
    let settings = dev.read("tamis.toml");
    for (was, is) in [
        // A key that is not trusted any more, or not for this scope; another project, another place, none.
        (team.ci_key.0.clone(), "ed25519:".to_owned() + &"ab".repeat(32)),
        (team.ci_key.0.clone(), format!("{} main", team.ci_key.0)),
        ("'shop'".into(), "'other'".into()),
        (team.shared.path().display().to_string(), "/nowhere/at/all".into()),
        ("[remote]".into(), "[remote]\npull-timeout = '1s'\n".to_owned()),
    ] {
        dev.write("tamis.toml", settings.replace(&was, &is));
        let expected = if was == "[remote]" { 0 } else { 4 };
        assert_eq!(dev.selected().len(), expected, "{was} -> {is}");
    }
    dev.write("tamis.toml", SUITE);
    assert_eq!(dev.selected().len(), 4);
    // Nor is it handed on as one's own.
    let file = dev.beside("all.pack").display().to_string();
    let got = dev.tamis(&["store", "export", &file]);
    assert!(printed(&got).contains("wrote 0 records"), "{}", printed(&got));
    dev.write("tamis.toml", settings);
    assert_eq!(dev.tamis(&["--offline", "select"]).code, 0);
    assert_eq!(dev.selected(), Vec::<String>::new());
}

#[test]
fn a_failure_here_is_not_hidden_by_a_pass_elsewhere() {
    let team = Team::new();
    let dev = team.developer();
    dev.write("tests/a.sh", "cat src/a.txt\ntest -e ~/.passes\n");
    assert_eq!(dev.tamis(&["run"]).code, 1);
    let ci = team.ci();
    ci.write("tests/a.sh", "cat src/a.txt\ntest -e ~/.passes\n");
    fs::write(ci.beside("home/.passes"), "").unwrap();
    assert_eq!(ci.tamis(&["run"]).code, 0);
    // Not the same state: what CI has at home is not here.
    assert_eq!(dev.ran(), ["tests/a.sh"]);
}

#[test]
fn without_the_shared_store_everything_goes_on() {
    let team = Team::new();
    team.ci().tamis(&["run"]);
    let mut dev = team.developer();
    let got = dev.tamis(&["--offline", "run"]);
    assert!(got.code == 0 && !got.stderr.contains("shared store"), "{}", got.stderr);
    dev.set("TAMIS_REMOTE", "off");
    dev.write("src/lib.txt", "other");
    let got = dev.tamis(&["run"]);
    assert!(got.code == 0 && !got.stderr.contains("shared store"), "{}", got.stderr);
    dev.unset("TAMIS_REMOTE");
    // Nothing was lost by that: it waits.
    let status = dev.answer(&["store", "status"]);
    assert!(status.contains("8 records to push"), "{status}");
    // A place that is not there, and cannot be made.
    let gone = format!("trusted-keys = ['{}']\nread = ['main']\nwrite = 'main'\n", team.ci_key.0);
    dev.write("tamis.toml", remote(Path::new("/proc/nowhere"), &gone));
    let got = dev.tamis(&["run"]);
    assert_eq!(got.code, 0, "{}", printed(&got));
}

#[test]
fn a_push_in_the_background_outlives_the_call() {
    let team = Team::new();
    let ci = team.ci();
    let text = ci.read("tamis.toml").replace("push = 'wait'\n", "");
    ci.write("tamis.toml", text);
    let got = ci.tamis(&["run"]);
    assert!(got.stderr.contains("pushed in the background"), "{}", got.stderr);
    wait_for("the push", || {
        ci.answer(&["store", "status"]).contains("the last push: pushed 4 records to main")
    });
    assert!(ci.answer(&["store", "status"]).contains("0 records to push"));
}

#[test]
fn records_travel_in_files() {
    let team = Team::new();
    let ci = team.ci();
    ci.tamis(&["run"]);
    let file = ci.beside("records.pack");
    let words =
        |verb: &str, file: &Path| ["store".to_owned(), verb.to_owned(), file.display().to_string()];
    assert_eq!(ci.tamis(&words("export", &file)).code, 0);
    let dev = team.developer();
    let got = dev.tamis(&[&["--offline".to_owned()], words("import", &file).as_slice()].concat());
    assert!(printed(&got).contains("took 4 new records"), "{}", printed(&got));
    let got = ended(dev.binary().args(["--offline", "select", "--quiet"]));
    assert_eq!(got.code, 0, "{}", printed(&got));
    // Redacted: no name is left in it, and it proves nothing.
    let shown = ci.beside("shown.pack");
    let got = ci.tamis(&["store", "export", "--redact", &shown.display().to_string()]);
    assert_eq!(got.code, 0, "{}", printed(&got));
    let got = dev.tamis(&words("import", &shown));
    assert!(got.code == 125 && got.stderr.contains("refused"), "{}", printed(&got));
    // A name without a folder is a file of this folder.
    assert_eq!(ci.tamis(&["store", "export", "here.pack"]).code, 0);
    assert!(ci.path("here.pack").is_file());
    // A stranger's file is refused by the name of its key.
    let stranger = team.developer();
    stranger.tamis(&["run", "--all"]);
    let forged = stranger.beside("forged.pack");
    stranger.tamis(&words("export", &forged));
    let got = ci.tamis(&words("import", &forged));
    assert!(
        got.code == 125 && got.stderr.contains("not among the trusted-keys"),
        "{}",
        printed(&got)
    );
    // Another store of this machine.
    let other = Project::new();
    sources(&other);
    other.write("tamis.toml", remote(team.shared.path(), ""));
    let folder = fs::read_dir(ci.beside("home/.cache/tamis/projects")).unwrap();
    let folder = folder.flatten().next().unwrap().path();
    let got = other.tamis(&words("merge", &folder));
    assert!(printed(&got).contains("took 4 new records"), "{}", printed(&got));
}
