//! The history: which revisions are replayed, what changed between them, and a work tree of our own.

use anyhow::{Context as _, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tamis_mutants::{Lines, Touched};

/// A repository, seen from the folder that the user is in.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    folder: PathBuf,
    shallow: bool,
    /// Where the user is, from the top of the repository; empty in the top and in a bare repository.
    pub(crate) prefix: String,
}

/// A commit, as far as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) subject: String,
    pub(crate) committed_ms: u64,
}

/// Which revisions are asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted<'a> {
    pub(crate) range: Option<&'a str>,
    pub(crate) last: Option<usize>,
    pub(crate) every: usize,
    pub(crate) only_changed: &'a [String],
    pub(crate) all_parents: bool,
}

impl Git {
    pub(crate) fn find(folder: &Path) -> Result<Self> {
        let mut git = Self { folder: folder.to_path_buf(), shallow: false, prefix: String::new() };
        let found = git.run(["rev-parse", "--is-shallow-repository"]);
        let found = found.context("git cannot be started; a replay needs it")?;
        if !found.status.success() {
            bail!(
                "{} is in no git repository ({}); a replay needs a history",
                folder.display(),
                complaint(&found)
            );
        }
        git.shallow = text(&found) == "true";
        git.prefix = git.asked(["rev-parse", "--show-prefix"])?.trim_end_matches('/').to_owned();
        Ok(git)
    }

    fn run<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> std::io::Result<Output> {
        // What git hands to its hooks would point it at the user's own work tree.
        let mut command = Command::new("git");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
            command.env_remove(name);
        }
        // What the user's hooks do at a checkout is for the user's own work tree.
        command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false"]);
        let command = command.args(words).current_dir(&self.folder).stdin(Stdio::null());
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").output()
    }

    /// What git answers; its own words where it does not.
    fn asked<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Result<String> {
        let output = self.run(words).context("git cannot be started")?;
        if !output.status.success() {
            bail!("{}{}", complaint(&output), self.deepen());
        }
        Ok(text(&output))
    }

    /// What to do where commits may be missing only because the clone is shallow.
    fn deepen(&self) -> &'static str {
        match self.shallow {
            true => {
                "; this clone is shallow: `git fetch --unshallow` (or --deepen=50) brings what is missing"
            }
            false => "",
        }
    }

    /// The revisions, oldest first.
    pub(crate) fn revisions(&self, wanted: &Wanted<'_>) -> Result<Vec<String>> {
        let range = wanted.range.unwrap_or("HEAD");
        let head = self.run(["rev-parse", "--quiet", "--verify", "HEAD"]);
        if wanted.range.is_none() && !head.context("git cannot be started")?.status.success() {
            bail!("this repository has no commit yet; a replay needs a history");
        }
        let mut words = vec!["rev-list".to_owned(), "--topo-order".into(), "--reverse".into()];
        if !wanted.all_parents {
            words.push("--first-parent".into());
        }
        if let Some(last) = wanted.last {
            words.push(format!("--max-count={last}"));
        }
        words.extend([range.to_owned(), "--".into()]);
        words.extend(wanted.only_changed.iter().map(|glob| format!(":(top,glob){glob}")));
        let mut found: Vec<String> = self.asked(words)?.lines().map(str::to_owned).collect();
        let few = wanted.last.filter(|last| found.len() < *last && wanted.only_changed.is_empty());
        if let Some(last) = few.filter(|_| self.shallow) {
            bail!("{last} commits are asked for and {} are here{}", found.len(), self.deepen());
        }
        if found.is_empty() {
            let globs =
                if wanted.only_changed.is_empty() { "" } else { " that changes such a file" };
            bail!("there is no commit in {range}{globs}{}", self.deepen());
        }
        if let Some((from, _)) = wanted.range.and_then(|range| range.split_once("..")) {
            // What the first one is compared with.
            let from = if from.is_empty() { "HEAD" } else { from };
            found.insert(0, self.asked(["rev-parse", "--verify", &format!("{from}^{{commit}}")])?);
        }
        Ok(thinned(found, wanted.every))
    }

    pub(crate) fn commit(&self, commit: &str) -> Result<Commit> {
        let answer = self.asked(["show", "-s", "--format=%ct%x09%s", commit])?;
        let (seconds, subject) = answer.split_once('\t').unwrap_or(("0", &answer));
        let committed_ms = seconds.parse::<u64>().unwrap_or(0) * 1_000;
        Ok(Commit { subject: subject.to_owned(), committed_ms })
    }

    /// The files that differ between two commits.
    pub(crate) fn changed(&self, from: &str, to: &str) -> Result<Vec<String>> {
        let answer = self.asked(["diff", "--name-only", "-z", "--no-renames", from, to, "--"])?;
        Ok(names(&answer))
    }

    /// The lines of each file that are new or others in the second of two commits.
    pub(crate) fn touched(&self, from: &str, to: &str) -> Result<Touched> {
        let words =
            ["diff", "--unified=0", "--no-renames", "--no-color", "--no-ext-diff", from, to, "--"];
        Ok(touched_lines(&self.asked(words)?))
    }

    /// The files of a work tree that are in git.
    pub(crate) fn tracked(tree: &Path) -> Result<Vec<String>> {
        let git = Self { folder: tree.to_path_buf(), shallow: false, prefix: String::new() };
        Ok(names(&git.asked(["ls-files", "-z"])?))
    }

    /// Whether a revision has a file at this path.
    pub(crate) fn has(&self, commit: &str, path: &str) -> bool {
        self.asked(["cat-file", "-e", &format!("{commit}:{path}")]).is_ok()
    }

    /// A work tree of our own, at any commit.
    pub(crate) fn make_tree(&self, tree: &Path, commit: &str) -> Result<()> {
        let _ = self.run(["worktree", "prune"]);
        let made = self.run([
            OsStr::new("worktree"),
            OsStr::new("add"),
            OsStr::new("--detach"),
            OsStr::new("--force"),
            // Each revision says by itself why it cannot be checked out.
            OsStr::new("--no-checkout"),
            tree.as_os_str(),
            OsStr::new(commit),
        ])?;
        if !made.status.success() {
            bail!("the work tree {} cannot be made: {}", tree.display(), complaint(&made));
        }
        Ok(())
    }

    /// Removes it.
    pub(crate) fn remove_tree(&self, tree: &Path) {
        let words = [OsStr::new("worktree"), OsStr::new("remove"), OsStr::new("--force")];
        let _ = self.run(words.into_iter().chain([tree.as_os_str()]));
        let _ = std::fs::remove_dir_all(tree);
        let _ = self.run(["worktree", "prune"]);
    }

    /// The work tree at a commit, as a fresh checkout has it; what git ignores stays, unless `all`.
    pub(crate) fn check_out(tree: &Path, commit: &str, all: bool) -> Result<()> {
        let git = Self { folder: tree.to_path_buf(), shallow: false, prefix: String::new() };
        let checked_out = git.asked(["checkout", "--quiet", "--force", "--detach", commit]);
        if checked_out.is_err() && git.lacks_lfs(tree, commit) {
            return checked_out
                .map(drop)
                .context("it has files in Git LFS, and git-lfs is not installed");
        }
        checked_out?;
        git.asked(["clean", "-ffdq", if all { "-x" } else { "-q" }])?;
        if tree.join(".gitmodules").is_file() {
            let words = ["submodule", "--quiet", "update", "--init", "--recursive", "--force"];
            git.asked(words).context("its submodules cannot be fetched")?;
        }
        Ok(())
    }

    /// Whether files are kept by Git LFS and git has no `lfs` here, so that only pointers are checked out.
    pub(crate) fn lacks_lfs(&self, tree: &Path, commit: &str) -> bool {
        let git = Self { folder: tree.to_path_buf(), shallow: false, prefix: String::new() };
        // In whichever folder it says so.
        let words = ["grep", "-q", "filter=lfs", commit, "--", ":(top,glob)**/.gitattributes"];
        let kept = git.run(words).is_ok_and(|answer| answer.status.success());
        kept && self.asked(["lfs", "version"]).is_err()
    }
}

fn names(answer: &str) -> Vec<String> {
    answer.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Reads `+++ b/file` and `@@ -1,2 +3,4 @@`. Where lines only went, the ones around that place count.
fn touched_lines(diff: &str) -> Touched {
    let mut found = Touched::default();
    let mut file: Option<String> = None;
    for line in diff.lines() {
        if let Some(name) = line.strip_prefix("+++ ") {
            // Git quotes names with signs that are not for people; those have no lines here.
            file = name.strip_prefix("b/").map(|name| name.trim_end_matches('\t').to_owned());
        } else if let Some(rest) = line.strip_prefix("@@ -") {
            let now = rest.split_once('+').and_then(|(_, now)| now.split_once(' '));
            let Some((now, file)) = now.map(|(now, _)| now).zip(file.as_ref()) else { continue };
            let (first, many) = now.split_once(',').unwrap_or((now, "1"));
            let (Ok(first), Ok(many)) = (first.parse::<u32>(), many.parse::<u32>()) else {
                continue;
            };
            let lines = match many {
                0 => Lines { first, last: first + 1 },
                _ => Lines { first, last: first + many - 1 },
            };
            found.0.entry(file.clone()).or_default().push(lines);
        }
    }
    found
}

/// Every Nth, with the first and the last.
fn thinned(all: Vec<String>, every: usize) -> Vec<String> {
    let last = all.len().saturating_sub(1);
    let kept = all.into_iter().enumerate().filter(|(n, _)| n % every.max(1) == 0 || *n == last);
    kept.map(|(_, commit)| commit).collect()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// What git says about a failure: its last line that says something.
fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:"));
    let line = line.or_else(|| text.lines().last()).unwrap_or("it says nothing");
    format!("git: {}", line.trim_start_matches("fatal: ").trim_start_matches("error: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_a_change_touched() {
        let diff = "diff --git a/x y.py b/x y.py\n--- a/x y.py\n+++ b/x y.py\t\n@@ -1 +1,2 @@ def f\n-a\n+b\n+c\n@@ -9,2 +10,0 @@\n-d\n-e\n\
                    --- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
        let found = touched_lines(diff).0;
        assert_eq!(found.len(), 1);
        assert_eq!(found["x y.py"], [Lines { first: 1, last: 2 }, Lines { first: 10, last: 11 }]);
    }

    #[test]
    fn every_nth_with_both_ends() {
        let all: Vec<String> = (0..8).map(|n| n.to_string()).collect();
        assert_eq!(thinned(all.clone(), 3), ["0", "3", "6", "7"]);
        assert_eq!(thinned(all.clone(), 1), all);
        assert_eq!(thinned(Vec::new(), 2), Vec::<String>::new());
    }
}
