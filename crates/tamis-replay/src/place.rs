//! The folder of a project's replays, beside its store: results, the work tree, and stores of its own.

use anyhow::{Context as _, Result, bail};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tamis_report::json::replay::{ReplayEntry, Replayed};

/// Less than this on the disk ends a replay between two revisions, before something breaks in the middle of one.
const LEAST_SPACE: u64 = 64 << 20;

#[derive(Debug, Clone)]
pub(crate) struct Place {
    folder: PathBuf,
}

impl Place {
    /// Beside the store, so that a store that travels does not take a work tree along; but outside of tamis's own
    /// cache, in which nothing is an input of a test.
    pub(crate) fn of(store: &Path, cache: Option<&Path>) -> Self {
        let name = store.file_name().unwrap_or_default();
        if let Some(cache) = cache.filter(|cache| store.starts_with(cache)) {
            return Self { folder: cache.with_file_name("tamis-replay").join(name) };
        }
        let mut name = name.to_os_string();
        name.push(".replay");
        Self { folder: store.with_file_name(name) }
    }

    pub(crate) fn make(&self) -> Result<()> {
        tamis_private::make_folder(&self.results())
            .with_context(|| format!("the folder {} cannot be made", self.folder.display()))
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    fn results(&self) -> PathBuf {
        self.folder.join("results")
    }

    pub(crate) fn store(&self, strategy: &str) -> PathBuf {
        self.folder.join("stores").join(strategy)
    }

    fn before(&self) -> PathBuf {
        self.folder.join("stores.before")
    }

    /// What a revision printed.
    pub(crate) fn log(&self, commit: &str) -> PathBuf {
        self.folder.join("logs").join(format!("{}.log", &commit[..commit.len().min(12)]))
    }

    /// What is left of an earlier replay, but its result.
    pub(crate) fn clear(&self) {
        for name in ["stores", "stores.before", "store.fault", "logs"] {
            let _ = fs::remove_dir_all(self.folder.join(name));
        }
    }

    /// A new result's file.
    pub(crate) fn new_result(&self, began_ms: u64) -> PathBuf {
        self.results().join(format!("{began_ms:015}.jsonl"))
    }

    /// The newest result, and its file.
    pub(crate) fn last(&self) -> Result<(PathBuf, Replayed)> {
        let entries = fs::read_dir(self.results()).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|ending| ending == "jsonl"));
        files.sort();
        let Some(file) = files.pop() else {
            bail!("this project has no replay yet; `tamis replay --last 20 -- COMMAND` makes one");
        };
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let Some(found) = Replayed::parse(&text) else {
            bail!("{} is no result of a replay that this tamis can read", file.display());
        };
        Ok((file, found))
    }

    /// Adds a line, so that it is on the disk.
    pub(crate) fn append(file: &Path, entry: &ReplayEntry) -> Result<()> {
        append_line(file, &serde_json::to_string(entry)?)
    }

    /// What each test did in each revision, beside the result.
    pub(crate) fn details(result: &Path) -> PathBuf {
        result.with_extension("tests")
    }

    /// The stores as they are now, to come back to.
    pub(crate) fn save_stores(&self) -> Result<()> {
        let (from, to) = (self.folder.join("stores"), self.before());
        let _ = fs::remove_dir_all(&to);
        tamis_private::make_folder(&from).and_then(|()| copy(&from, &to)).with_context(|| {
            format!(
                "the records cannot be copied to {}; `tamis replay --resume` goes on",
                to.display()
            )
        })
    }

    /// The stores as they were before a revision that did not come to its end.
    pub(crate) fn restore_stores(&self) -> Result<()> {
        if !self.before().is_dir() {
            return Ok(());
        }
        let to = self.folder.join("stores");
        let _ = fs::remove_dir_all(&to);
        copy(&self.before(), &to).with_context(|| format!("{} cannot be written", to.display()))
    }

    /// A copy of the records for a run with a fault, which leaves none of its own.
    pub(crate) fn copy_for_mutant(&self) -> Result<PathBuf> {
        let to = self.mutant();
        let _ = fs::remove_dir_all(&to);
        copy(&self.store("records"), &to)
            .with_context(|| format!("{} cannot be written", to.display()))?;
        Ok(to)
    }

    pub(crate) fn forget_mutant(&self) {
        let _ = fs::remove_dir_all(self.mutant());
    }

    fn mutant(&self) -> PathBuf {
        self.folder.join("store.fault")
    }

    /// Two replays of one project would share the work tree.
    pub(crate) fn lock(&self) -> Result<File> {
        self.make()?;
        let path = self.folder.join("lock");
        let cannot = || format!("{} cannot be written", path.display());
        let mut options = File::options();
        let file =
            options.write(true).create(true).truncate(false).open(&path).with_context(cannot)?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                bail!("another replay of this project is running; wait until it has ended")
            }
            Err(error) => Err(error).with_context(cannot),
        }
    }

    /// Ends a replay while there is still room for what it has.
    pub(crate) fn check_space(&self) -> Result<()> {
        let Ok(found) = rustix::fs::statvfs(&self.folder) else { return Ok(()) };
        if found.f_bavail.saturating_mul(found.f_frsize) < LEAST_SPACE {
            bail!(
                "the disk of {} is almost full; make room, then `tamis replay --resume` goes on",
                self.folder.display()
            );
        }
        Ok(())
    }
}

pub(crate) fn append_line(file: &Path, line: &str) -> Result<()> {
    let mut options = fs::File::options();
    let opened = options.append(true).create(true).open(file);
    let written = opened.and_then(|mut open| {
        open.write_all(format!("{line}\n").as_bytes())?;
        open.sync_data()
    });
    written.with_context(|| {
        format!(
            "{} cannot be written; what is in it is kept, `tamis replay --resume` goes on",
            file.display()
        )
    })
}

/// A folder with all that is in it.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    tamis_private::make_folder(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&source, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_tree_is_never_in_our_own_cache() {
        let cache = Path::new("/h/.cache/tamis");
        let folder = |store: &str| Place::of(Path::new(store), Some(cache)).folder;
        assert_eq!(folder("/h/.cache/tamis/projects/p-1"), Path::new("/h/.cache/tamis-replay/p-1"));
        assert_eq!(folder("/s/mine"), Path::new("/s/mine.replay"));
        assert_eq!(Place::of(Path::new("/s/mine"), None).folder, Path::new("/s/mine.replay"));
    }
}
