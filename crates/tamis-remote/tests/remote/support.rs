//! Stores with records that are easy to count, machines with keys, and a server.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tamis_core::record::{Access, Detail, Observed, Outcome, Run};
use tamis_core::{PathMap, PortablePath, Question, Scheme, TestKey, Value};
use tamis_remote::Remote;
use tamis_remote::keys::SecretKey;
use tamis_remote::place::Deadline;
use tamis_remote::pull::{Pulled, Wish};
use tamis_remote::push::Pushed;
use tamis_settings::Settings;
use tamis_store::Store;
use tempfile::TempDir;

/// Runs of long ago are dropped when packs are put together.
pub(crate) fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.as_millis() as u64
}

pub(crate) fn minute() -> Deadline {
    Deadline::within(Duration::from_secs(120))
}

pub(crate) fn key(n: u8) -> SecretKey {
    SecretKey::from_bytes(&[n; 32])
}

/// The settings with this `[remote]`.
pub(crate) fn settings(url: &str, more: &str) -> tamis_settings::Remote {
    let text = format!(
        "[remote]\nurl = '{url}'\nproject = 'shop'\nread = ['main']\nwrite = 'main'\n{more}"
    );
    let settings: Settings =
        tamis_settings::parse(text.as_bytes(), Path::new("tamis.toml")).unwrap();
    settings.remote.unwrap()
}

pub(crate) fn trusting(keys: &[&SecretKey]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("'{}'", key.public())).collect();
    format!("trusted-keys = [{}]\n", keys.join(", "))
}

/// A machine: a store of its own, and a key.
pub(crate) struct Machine {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
    pub(crate) remote: Remote,
    pub(crate) key: SecretKey,
}

impl Machine {
    pub(crate) fn new(settings: &tamis_settings::Remote, key: SecretKey) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(&folder.path().join("store")).unwrap();
        let paths = PathMap::new(folder.path().join("project"), Some(folder.path().join("home")));
        let remote = Remote::with_key(settings, &paths, Some(key.public())).unwrap();
        Self { folder, store, remote, key }
    }

    pub(crate) fn push(&self) -> Result<Pushed, tamis_remote::RemoteError> {
        self.remote.push(&self.store, "main", &self.key, minute())
    }

    pub(crate) fn pull(&self) -> Pulled {
        self.remote.pull(&self.store, Wish::default(), minute())
    }

    pub(crate) fn tests(&self) -> Vec<String> {
        self.store.tests().unwrap().into_iter().map(|test| test.key.to_string()).collect()
    }
}

/// A run of a test that looked at two files and a variable.
pub(crate) fn run(name: &str, started_ms: u64, outcome: Outcome) -> Run {
    let observed = |question, value: &[u8]| Observed {
        question,
        before: Value::text(value),
        after: None,
        access: Access::READ,
        program: "/usr/bin/sh".into(),
        detail: Detail::None,
    };
    let path = |path: &str| Question::Path(PortablePath::from_stored(path), Scheme::Raw);
    Run {
        test: TestKey::item("suite", name, "."),
        outcome,
        started_ms,
        wall_us: 1_000 + started_ms,
        cpu_us: 900,
        engine: "notify".into(),
        observed: vec![
            observed(path("src/common.c"), b"common"),
            observed(path(&format!("tests/{name}")), name.as_bytes()),
            observed(Question::Variable(b"API_TOKEN".to_vec()), b"secret"),
            observed(Question::Variable(b"LANG".to_vec()), b"C"),
            Observed {
                detail: Detail::Names(vec![b"API_TOKEN".to_vec(), b"LANG".to_vec()]),
                ..observed(Question::VariableNames, b"names")
            },
        ],
        taints: Vec::new(),
        notes: Vec::new(),
        left_behind: Vec::new(),
    }
}

/// An S3 server with a bucket called `cache`; ended with the test.
pub(crate) struct Server {
    child: Option<Child>,
    folder: TempDir,
    port: u16,
    program: PathBuf,
}

impl Server {
    /// `None` where there is no server to start, which is reported.
    pub(crate) fn start() -> Option<Self> {
        if !tamis_testkit::need("versitygw") {
            return None;
        }
        let program = tamis_testkit::found("versitygw")?;
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("data/cache")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Self { child: None, folder, port, program };
        server.up();
        Some(server)
    }

    pub(crate) fn up(&mut self) {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .args(["--access", "tamis", "--secret", "tamis-secret", "--port"])
            .arg(format!("127.0.0.1:{}", self.port))
            .arg("posix")
            .arg(self.folder.path().join("data"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.child = Some(command.spawn().unwrap());
        tamis_testkit::wait_for("the S3 server", || {
            std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        });
    }

    pub(crate) fn down(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Has to be called before anything is opened: settings of S3 come from the environment.
    pub(crate) fn environment(port: u16) {
        let endpoint = format!("http://127.0.0.1:{port}");
        // SAFETY: the tests that use a server run one after the other, see `ALONE`.
        unsafe {
            std::env::set_var("AWS_ENDPOINT_URL", endpoint);
            std::env::set_var("AWS_ACCESS_KEY_ID", "tamis");
            std::env::set_var("AWS_SECRET_ACCESS_KEY", "tamis-secret");
            std::env::set_var("AWS_REGION", "us-east-1");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.down();
    }
}

/// Tests that change the environment take turns.
pub(crate) static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
