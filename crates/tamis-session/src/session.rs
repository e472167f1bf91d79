//! One run of a command: its folder, its token, and the sockets that its processes connect to.

use anyhow::{Context as _, Result};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use tamis_observe::{CoveredPaths, Marks};
use tamis_private::TempFolder;

/// What is made before the command starts.
#[derive(Debug)]
pub struct Session {
    /// A folder of this run alone; removed at its end, or after a kill by the next one.
    folder: TempFolder,
    library: PathBuf,
    token: String,
    /// Made first: where there can be no socket, the command is observed as a whole.
    pub(crate) first: Mutex<Option<UnixListener>>,
    pub(crate) over: AtomicBool,
    sockets: Mutex<Vec<PathBuf>>,
}

impl Session {
    /// `library` gives the file whose opening makes a process a host, from the session's folder.
    pub fn new(library: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<Self> {
        let folder = socket_folder().context("no temp folder for the session's socket")?;
        let first = bind(&folder.path().join(FIRST))?;
        let library = library(folder.path())?;
        let token = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self {
            folder,
            library,
            token,
            first: Mutex::new(Some(first)),
            over: AtomicBool::new(false),
            sockets: Mutex::default(),
        })
    }

    /// The folder of this run.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file whose opening makes a process a host.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Stands in every mark of this run.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The socket that is there from the beginning.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(FIRST)
    }

    /// How the tracer recognises hosts.
    pub fn marks<'s>(&'s self, covered: &'s dyn CoveredPaths) -> Marks<'s> {
        Marks {
            token: &self.token,
            library: self.library.as_os_str().as_encoded_bytes(),
            folder: self.folder.path().as_os_str().as_encoded_bytes(),
            covered,
        }
    }

    /// Makes one more socket in the session's folder.
    pub(crate) fn bind(&self, name: &str) -> Result<(UnixListener, PathBuf)> {
        let socket = self.folder.path().join(name);
        Ok((bind(&socket)?, socket))
    }

    /// Remembers a socket whose listener has to be woken at the end.
    pub(crate) fn remember(&self, socket: &Path) {
        let mut sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        sockets.push(socket.to_path_buf());
    }

    /// The command has ended: wakes those who wait for connections, so that they end.
    pub fn close(&self) {
        self.over.store(true, Ordering::Release);
        for socket in &*self.sockets.lock().unwrap_or_else(PoisonError::into_inner) {
            drop(UnixStream::connect(socket));
        }
    }
}

/// The name of the socket that is there from the beginning.
const FIRST: &str = "first";

/// The path of a socket has room for about a hundred bytes.
const LONGEST_FOLDER: usize = 80;

/// A folder whose path is short enough for sockets.
pub fn socket_folder() -> std::io::Result<TempFolder> {
    let usual = std::env::temp_dir();
    let folder = match usual.as_os_str().len() > LONGEST_FOLDER {
        true => Path::new("/tmp"),
        false => &usual,
    };
    TempFolder::new_in(folder)
}

fn bind(socket: &Path) -> Result<UnixListener> {
    let cannot = || format!("the socket {} cannot be made", socket.display());
    let listener = UnixListener::bind(socket).with_context(cannot)?;
    std::fs::set_permissions(socket, Permissions::from_mode(0o600)).with_context(cannot)?;
    Ok(listener)
}
