//! Changed files and files of the past, from the `git` program of the user.
//!
//! git itself is asked, so that work trees, shallow and sparse clones, submodules, line endings and
//! whatever is configured mean what they mean to the user. A submodule is one changed path, a folder:
//! everything below it counts as changed.

use crate::files::Files;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What is missing to know the changed files. The texts name the next step.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git cannot be started ({0}); install it, or put it on the PATH")]
    NoGit(std::io::Error),
    #[error("{0} is in no git repository; run `git init`, or call tamis inside a clone")]
    NoRepository(String),
    #[error("the repository has no commit yet; there is nothing to compare with")]
    NoCommit,
    #[error(
        "there is no revision {0} here; fetch it (`git fetch origin`), or name another one with --since"
    )]
    NoRevision(String),
    #[error(
        "the history of this clone is too short to know {0}; get more of it with \
         `git fetch --unshallow` (in CI: a fetch depth of 0)"
    )]
    Shallow(String),
    #[error(
        "{0} and {1} have no commit in common; compare with the revision itself (merge-base = false)"
    )]
    NothingInCommon(String, String),
    #[error("git {0}: {1}")]
    Failed(String, String),
}

/// A repository, by the folder of its work tree.
#[derive(Debug, Clone)]
pub struct Git {
    top: PathBuf,
}

/// What to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since {
    /// The state of before: a branch, tag or commit.
    pub reference: String,
    /// The commits of now, where they are not those of `HEAD`. What is not committed counts besides.
    pub base: Option<String>,
    /// Compare with the commit where both parted, and not with the reference itself.
    pub merge_base: bool,
    pub uncommitted: bool,
    pub untracked: bool,
    /// Fetch the reference first, where it is a branch of a remote.
    pub fetch: bool,
}

impl Since {
    pub fn new(reference: impl Into<String>) -> Self {
        Self {
            reference: reference.into(),
            base: None,
            merge_base: true,
            uncommitted: true,
            untracked: true,
            fetch: false,
        }
    }
}

/// What changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The commit that was compared with.
    pub commit: String,
    pub files: BTreeSet<String>,
    /// Submodules and repositories inside this one: all below them may have changed.
    pub folders: BTreeSet<String>,
}

impl Git {
    /// The repository that a folder belongs to.
    pub fn find(folder: &Path) -> Result<Self, GitError> {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(["rev-parse", "--show-toplevel"]);
        let output = command.stdin(Stdio::null()).output().map_err(GitError::NoGit)?;
        let top = text(&output.stdout);
        if !output.status.success() || top.is_empty() {
            let why = text(&output.stderr);
            // A repository of somebody else is refused by git until it is configured to take it.
            return Err(match why.contains("dubious ownership") {
                true => GitError::Failed("rev-parse".into(), why),
                false => GitError::NoRepository(folder.display().to_string()),
            });
        }
        let top = PathBuf::from(top);
        Ok(Self { top: top.canonicalize().unwrap_or(top) })
    }

    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The branch that is checked out; `None` where none is.
    pub fn branch(&self) -> Option<String> {
        self.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]).ok()
    }

    /// The branch that the remote calls its main one, where it is known here.
    pub fn default_reference(&self) -> Option<String> {
        let configured =
            self.ask(&["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"]).ok();
        configured.or_else(|| {
            let names = ["origin/main", "origin/master"];
            names.iter().find(|n| self.commit(n).is_ok()).map(|n| (*n).to_owned())
        })
    }

    /// The changed files.
    pub fn changes(&self, since: &Since) -> Result<Changes, GitError> {
        // It walks through all folders, so it goes on while the rest is asked.
        let untracked = match since.untracked {
            true => Some(self.start(&UNTRACKED)?),
            false => None,
        };
        let changed = self.tracked_changes(since);
        let untracked = untracked.map(|child| finish(child, &UNTRACKED)).transpose();
        let mut changes = changed?;
        for path in fields(&untracked?.unwrap_or_default()) {
            match path.strip_suffix('/') {
                Some(folder) => changes.folders.insert(folder.to_owned()),
                None => changes.files.insert(path),
            };
        }
        Ok(changes)
    }

    fn tracked_changes(&self, since: &Since) -> Result<Changes, GitError> {
        if since.fetch {
            self.fetch(&since.reference)?;
            since.base.as_deref().map_or(Ok(()), |base| self.fetch(base))?;
        }
        let now = since.base.as_deref().unwrap_or("HEAD");
        let commit = match since.merge_base {
            true => self.merge_base(&since.reference, now)?,
            false => {
                self.commit("HEAD").map_err(|_| GitError::NoCommit)?;
                self.commit(&since.reference)?
            }
        };
        let mut changes = Changes { commit: commit.clone(), ..Changes::default() };
        let mut words = DIFF.to_vec();
        words.push(commit.as_str());
        let work_tree = since.base.is_none() && since.uncommitted;
        if !work_tree {
            words.push(now);
        }
        words.push("--");
        add_raw(&self.run(&words)?, &mut changes);
        if since.base.is_some() && since.uncommitted {
            words.truncate(DIFF.len());
            words.extend(["HEAD", "--"]);
            add_raw(&self.run(&words)?, &mut changes);
        }
        Ok(changes)
    }

    fn fetch(&self, reference: &str) -> Result<(), GitError> {
        let reference = reference.strip_prefix("refs/remotes/").unwrap_or(reference);
        let remotes = self.ask(&["remote"])?;
        let branch = remotes.lines().find_map(|remote| {
            let branch = reference.strip_prefix(remote)?.strip_prefix('/')?;
            Some((remote, format!("+refs/heads/{branch}:refs/remotes/{remote}/{branch}")))
        });
        if let Some((remote, refspec)) = branch {
            self.run(&["fetch", "--quiet", remote, &refspec])?;
        }
        Ok(())
    }

    /// The commit that a name stands for.
    fn commit(&self, name: &str) -> Result<String, GitError> {
        if name.starts_with('-') {
            return Err(GitError::NoRevision(name.to_owned()));
        }
        self.ask(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")]).map_err(
            |error| match error {
                GitError::NoGit(_) => error,
                _ if self.is_shallow() => GitError::Shallow(name.to_owned()),
                _ => GitError::NoRevision(name.to_owned()),
            },
        )
    }

    /// The commit where both parted. What is wrong is found out only where something is.
    fn merge_base(&self, name: &str, now: &str) -> Result<String, GitError> {
        if !name.starts_with('-')
            && let Ok(commit) = self.ask(&["merge-base", name, now])
        {
            return Ok(commit);
        }
        self.commit("HEAD").map_err(|error| match error {
            GitError::NoGit(_) => error,
            _ => GitError::NoCommit,
        })?;
        self.commit(name)?;
        self.commit(now)?;
        Err(match self.is_shallow() {
            true => GitError::Shallow(format!("where {name} and {now} parted")),
            false => GitError::NothingInCommon(name.to_owned(), now.to_owned()),
        })
    }

    fn is_shallow(&self) -> bool {
        self.ask(&["rev-parse", "--is-shallow-repository"]).is_ok_and(|answer| answer == "true")
    }

    /// The files of a commit.
    pub fn revision(&self, commit: &str) -> Result<Revision, GitError> {
        let listed =
            self.run(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--"])?;
        let mut child = self
            .command(&["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(GitError::NoGit)?;
        let pipes = child
            .stdin
            .take()
            .zip(child.stdout.take())
            .map(|(words, answers)| Pipes { words, answers: BufReader::new(answers) });
        Ok(Revision {
            commit: commit.to_owned(),
            names: fields(&listed).into_iter().map(|name| (name, ())).collect(),
            child,
            pipes: RefCell::new(pipes),
        })
    }

    fn ask(&self, words: &[&str]) -> Result<String, GitError> {
        self.run(words).map(|bytes| text(&bytes))
    }

    fn run(&self, words: &[&str]) -> Result<Vec<u8>, GitError> {
        finish(self.start(words)?, words)
    }

    /// Starts git; what it says is taken by [`finish`].
    fn start(&self, words: &[&str]) -> Result<std::thread::JoinHandle<Answer>, GitError> {
        let mut command = self.command(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(GitError::NoGit)?;
        Ok(std::thread::spawn(move || child.wait_with_output()))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("git");
        // Looking must not wait for, or take, locks of the user's own git.
        command.arg("-C").arg(&self.top).args(words).env("GIT_OPTIONAL_LOCKS", "0");
        command
    }
}

const DIFF: [&str; 6] =
    ["diff", "--raw", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=none"];

/// All files that git does not track and does not ignore.
const UNTRACKED: [&str; 6] = ["ls-files", "--others", "--exclude-standard", "-z", "--", "."];

type Answer = std::io::Result<std::process::Output>;

fn finish(child: std::thread::JoinHandle<Answer>, words: &[&str]) -> Result<Vec<u8>, GitError> {
    let output = child.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let output = output.map_err(GitError::NoGit)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let why = text(&output.stderr);
    let why = if why.is_empty() { output.status.to_string() } else { why };
    Err(GitError::Failed(words.first().copied().unwrap_or_default().to_owned(), why))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn fields(bytes: &[u8]) -> Vec<String> {
    let fields = bytes.split(|&b| b == 0).filter(|f| !f.is_empty());
    fields.map(|f| String::from_utf8_lossy(f).into_owned()).collect()
}

/// Reads `git diff --raw -z`: a line of modes, ids and status, then the path.
fn add_raw(bytes: &[u8], changes: &mut Changes) {
    let fields = fields(bytes);
    for pair in fields.chunks_exact(2) {
        let is_repository = pair[0].split(' ').take(2).any(|mode| mode.ends_with("160000"));
        let place = if is_repository { &mut changes.folders } else { &mut changes.files };
        place.insert(pair[1].clone());
    }
}

/// The files of one commit.
#[derive(Debug)]
pub struct Revision {
    commit: String,
    names: BTreeMap<String, ()>,
    child: Child,
    pipes: RefCell<Option<Pipes>>,
}

#[derive(Debug)]
struct Pipes {
    words: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Pipes {
    fn read(&mut self, name: &str) -> std::io::Result<Option<Vec<u8>>> {
        writeln!(self.words, "{name}")?;
        self.words.flush()?;
        let mut head = String::new();
        self.answers.read_line(&mut head)?;
        let mut words = head.trim_end().rsplit(' ');
        let (size, kind) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let Ok(size) = size.parse::<usize>() else { return Ok(None) };
        let mut content = vec![0; size];
        self.answers.read_exact(&mut content)?;
        self.answers.read_exact(&mut [0])?;
        Ok((kind == "blob").then_some(content))
    }
}

impl Drop for Revision {
    fn drop(&mut self) {
        // Its input is closed: it ends by itself.
        self.pipes.replace(None);
        let _ = self.child.wait();
    }
}

impl Files for Revision {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        if !self.is_file(path) || path.contains('\n') {
            return None;
        }
        let name = format!("{}:{path}", self.commit);
        self.pipes.borrow_mut().as_mut()?.read(&name).ok().flatten()
    }

    fn is_file(&self, path: &str) -> bool {
        self.names.contains_key(path)
    }

    fn is_folder(&self, path: &str) -> bool {
        let prefix = format!("{path}/");
        let first = self.names.range(prefix.clone()..).next();
        path == "." || first.is_some_and(|(name, ())| name.starts_with(&prefix))
    }

    fn folders(&self, path: &str) -> Vec<String> {
        let prefix = if path == "." { String::new() } else { format!("{path}/") };
        let below = self.names.range(prefix.clone()..).take_while(|(p, ())| p.starts_with(&prefix));
        let mut names: Vec<String> = below
            .filter_map(|(p, ())| p[prefix.len()..].split_once('/').map(|(n, _)| n.to_owned()))
            .collect();
        names.dedup();
        names
    }

    fn files(&self, path: &str) -> Vec<String> {
        crate::files::direct(self.below(path), path)
    }

    fn below(&self, path: &str) -> Vec<String> {
        crate::files::below(&self.names, path)
    }
}

#[cfg(test)]
mod tests;
