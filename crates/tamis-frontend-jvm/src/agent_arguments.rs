//! How the agent comes into a JVM: its file, and the argument that names it.

use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};
use tamis_jvm_wire::{Options, Role};
use tamis_project::cache_folder;
use tamis_session::{Choice, Session};

/// The agent's library, written where it is not there yet. Arguments of JVMs are split at blanks: a path
/// with one gets another name in the session's folder.
pub(crate) fn library(folder: &Path) -> Result<PathBuf> {
    let place = cache_folder().map_or_else(|| folder.into(), |c| c.join("agent"));
    let library = tamis_agent_file::install(&place)
        .or_else(|_| tamis_agent_file::install(folder))
        .context("the agent for the JVM could not be written")?;
    if options(Path::new("/s"), "t", Role::Build, false).argument(&library).is_some() {
        return Ok(library);
    }
    let link = folder.join("agent.so");
    std::os::unix::fs::symlink(&library, &link)
        .context("the agent for the JVM could not be linked")?;
    Ok(link)
}

/// The arguments of one session.
#[derive(Debug, Clone)]
pub(crate) struct AgentArguments {
    library: PathBuf,
    token: String,
    /// The socket of JVMs that no goal has one for.
    first: PathBuf,
    /// Agents distinguish the methods of test classes.
    methods: bool,
}

impl AgentArguments {
    pub(crate) fn new(session: &Session, methods: bool) -> Self {
        Self {
            library: session.library().to_path_buf(),
            token: session.token().to_owned(),
            first: session.socket(),
            methods,
        }
    }

    /// The argument for a JVM that connects to the first socket.
    pub(crate) fn first(&self, role: Role) -> Option<String> {
        self.on(&self.first, role)
    }

    /// The argument for a JVM that connects to this socket.
    pub(crate) fn on(&self, socket: &Path, role: Role) -> Option<String> {
        options(socket, &self.token, role, self.methods).argument(&self.library)
    }
}

fn options(socket: &Path, token: &str, role: Role, methods: bool) -> Options {
    Options { socket: socket.to_path_buf(), token: token.to_owned(), role, methods }
}

/// A file with the properties of modules, for the agent in Maven; `None` where there are none, an error
/// where it cannot be given.
pub(crate) fn module_properties(folder: &Path, choice: &Choice) -> Result<Option<String>, ()> {
    let lines = choice.properties.iter();
    let text: String = lines.map(|(m, name, value)| format!("{m}\t{name}\t{value}\n")).collect();
    if text.is_empty() {
        return Ok(None);
    }
    let file = folder.join("module-properties");
    let name = file.to_str().filter(|name| !name.contains(char::is_whitespace)).ok_or(())?;
    std::fs::write(&file, text).map_err(drop)?;
    Ok(Some(name.to_owned()))
}
