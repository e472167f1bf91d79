//! A push: one process of a store at a time, and how it went is remembered.

use anyhow::{Context as _, Result};
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use tamis_core::PathMap;
use tamis_remote::Remote;
use tamis_remote::keys::SecretKey;
use tamis_remote::place::Deadline;
use tamis_report::human::{bytes, counted};
use tamis_store::Store;

/// How long a push may take that no run waits for, or that was asked for by its name.
pub(crate) const LONG: Duration = Duration::from_secs(10 * 60);

/// How long a run with `push = "wait"` waits for it.
pub(crate) const WAIT: Duration = Duration::from_secs(60);

/// The turn of one process of a store to push; others wait.
#[derive(Debug)]
struct Turn(#[expect(dead_code, reason = "the lock ends with it")] File);

impl Turn {
    fn wait(store: &Path, until: Deadline) -> Result<Self> {
        let file = store.join("push.lock");
        let open = || File::options().read(true).write(true).open(&file);
        let lock = open().or_else(|_| {
            let _ = tamis_private::create_file(&file);
            open()
        });
        let lock = lock.with_context(|| file.display().to_string())?;
        loop {
            match rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self(lock)),
                Err(rustix::io::Errno::WOULDBLOCK) => {}
                Err(error) => return Err(error).with_context(|| file.display().to_string()),
            }
            until.check().context("another push is under way")?;
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Pushes, one process at a time, and remembers how it went.
pub(crate) fn push(
    paths: &PathMap,
    store: &Store,
    remote: &Remote,
    scope: &str,
    time: Duration,
) -> Result<String> {
    let until = Deadline::within(time);
    let _turn = Turn::wait(store.dir(), until)?;
    let key = SecretKey::of_this_machine()?;
    // With the key that has just been made, perhaps.
    let settings = &remote.settings;
    let remote = Remote::with_key(settings, paths, Some(key.public()))?;
    let result = remote.push(store, scope, &key, until);
    let text = match &result {
        Ok(pushed) if pushed.packs == 0 => format!("nothing new to push to {scope}"),
        Ok(pushed) => {
            let records = counted(pushed.records as u64, "record", "records");
            let mut text = format!("pushed {records} to {scope} ({})", bytes(pushed.bytes));
            if pushed.compacted > 0 {
                let _ = write!(text, "; put {} packs together", pushed.compacted);
            }
            text
        }
        Err(error) => format!("failed: {error}"),
    };
    let mut memory = remote.memory(store, scope);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    memory.last_push = Some((now.unwrap_or_default().as_millis() as u64, text.clone()));
    remote.remember(store, scope, &memory);
    result?;
    Ok(text)
}

/// The same, and no longer than that in any case: a folder on a dead server cannot be asked with a deadline.
pub(crate) fn push_within(
    paths: &PathMap,
    store: Store,
    remote: Remote,
    scope: &str,
    time: Duration,
) -> Result<String> {
    let (paths, scope) = (paths.clone(), scope.to_owned());
    within(time, "tamis-push", move || push(&paths, &store, &remote, &scope, time))
        .unwrap_or_else(|| Err(tamis_remote::RemoteError::Late(time).into()))
}

/// What a piece of work gives that keeps to the time by itself where it can; `None` where it did not.
pub(crate) fn within<T: Send + 'static>(
    time: Duration,
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (send, receive) = mpsc::channel();
    let worker = std::thread::Builder::new().name(name.into()).spawn(move || {
        let _ = send.send(work());
    });
    worker.ok().and_then(|_| receive.recv_timeout(time + Duration::from_millis(50)).ok())
}
