use super::*;
use std::fs;
use tempfile::TempDir;

struct Repository {
    dir: TempDir,
}

impl Repository {
    fn new() -> Self {
        let repository = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(repository.path("main")).unwrap();
        repository.git("main", &["init", "-q", "-b", "main"]);
        repository
    }

    /// With one commit, tagged `first`.
    fn with_commit() -> Self {
        let repository = Self::new();
        repository.write("main/a.txt", "a");
        repository.write("main/sub/b.txt", "b");
        repository.commit("main", "first");
        repository.git("main", &["tag", "first"]);
        repository
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    fn git(&self, folder: &str, words: &[&str]) -> String {
        let output = Command::new("git")
            .arg("-C")
            .arg(self.path(folder))
            .args(["-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always"])
            .args(words)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        text(&output.stdout)
    }

    fn commit(&self, folder: &str, message: &str) {
        self.git(folder, &["add", "-A"]);
        self.git(folder, &["commit", "-q", "--allow-empty", "-m", message]);
    }

    fn open(&self, folder: &str) -> Git {
        Git::find(&self.path(folder)).unwrap()
    }

    fn files(&self, folder: &str, since: &Since) -> Vec<String> {
        self.open(folder).changes(since).unwrap().files.into_iter().collect()
    }
}

#[test]
fn commits_uncommitted_and_untracked_files() {
    let r = Repository::with_commit();
    r.write("main/a.txt", "committed");
    r.commit("main", "second");
    r.write("main/sub/b.txt", "not committed");
    r.write("main/new.txt", "not tracked");
    let since = Since::new("first");
    assert_eq!(r.files("main", &since), ["a.txt", "new.txt", "sub/b.txt"]);
    let tracked = Since { untracked: false, ..since.clone() };
    assert_eq!(r.files("main", &tracked), ["a.txt", "sub/b.txt"]);
    let committed = Since { uncommitted: false, untracked: false, ..since.clone() };
    assert_eq!(r.files("main", &committed), ["a.txt"]);
    let untracked = Since { uncommitted: false, ..since };
    assert_eq!(r.files("main", &untracked), ["a.txt", "new.txt"]);
}

#[test]
fn staged_removed_renamed_and_ignored_files() {
    let r = Repository::with_commit();
    r.write("main/.gitignore", "*.log\n");
    r.commit("main", "ignore");
    r.write("main/x.log", "no");
    r.git("main", &["mv", "a.txt", "c.txt"]);
    fs::remove_file(r.path("main/sub/b.txt")).unwrap();
    assert_eq!(r.files("main", &Since::new("HEAD")), ["a.txt", "c.txt", "sub/b.txt"]);
}

#[test]
fn a_file_that_was_only_touched_has_not_changed() {
    let r = Repository::with_commit();
    r.write("main/a.txt", "other");
    r.write("main/a.txt", "a");
    assert!(r.files("main", &Since::new("HEAD")).is_empty());
}

#[test]
fn names_with_blanks_newlines_and_umlauts() {
    let r = Repository::with_commit();
    for name in ["with blank", "ümlaut", "new\nline", "quo\"te"] {
        r.write(&format!("main/{name}"), "x");
    }
    r.git("main", &["add", "with blank", "ümlaut"]);
    let files = r.files("main", &Since::new("first"));
    assert_eq!(files, ["new\nline", "quo\"te", "with blank", "ümlaut"]);
}

#[test]
fn the_merge_base_leaves_out_what_others_did_since() {
    let r = Repository::with_commit();
    r.git("main", &["checkout", "-q", "-b", "feature"]);
    r.write("main/mine.txt", "x");
    r.commit("main", "mine");
    r.git("main", &["checkout", "-q", "main"]);
    r.write("main/theirs.txt", "x");
    r.commit("main", "theirs");
    r.git("main", &["checkout", "-q", "feature"]);
    assert_eq!(r.files("main", &Since::new("main")), ["mine.txt"]);
    let direct = Since { merge_base: false, ..Since::new("main") };
    assert_eq!(r.files("main", &direct), ["mine.txt", "theirs.txt"]);
    // Another state of now than the work tree.
    r.write("main/untracked", "x");
    let other = Since { base: Some("main".into()), ..Since::new("feature") };
    assert_eq!(r.files("main", &other), ["theirs.txt", "untracked"]);
}

#[test]
fn branch_tag_commit_and_remote_branch() {
    let r = Repository::with_commit();
    r.git(".", &["clone", "-q", "main", "clone"]);
    r.write("clone/x", "x");
    let id = r.git("main", &["rev-parse", "HEAD"]);
    for reference in ["first", "main", "origin/main", "refs/remotes/origin/main", "HEAD", &id] {
        assert_eq!(r.files("clone", &Since::new(reference)), ["x"], "{reference}");
    }
    assert_eq!(r.open("clone").default_reference().as_deref(), Some("origin/main"));
    assert_eq!(r.open("clone").branch().as_deref(), Some("main"));
    r.git("clone", &["checkout", "-q", "--detach"]);
    assert_eq!(r.open("clone").branch(), None);
    assert_eq!(r.files("clone", &Since::new("origin/main")), ["x"], "detached");
}

#[test]
fn the_reference_is_fetched_where_asked_for() {
    let r = Repository::with_commit();
    r.git(".", &["clone", "-q", "main", "clone"]);
    r.write("main/later", "x");
    r.commit("main", "later");
    let since = Since { merge_base: false, fetch: true, ..Since::new("origin/main") };
    assert!(r.files("clone", &Since { fetch: false, ..since.clone() }).is_empty());
    assert_eq!(r.files("clone", &since), ["later"]);
    // A tag or a commit has nothing to fetch.
    assert!(r.files("clone", &Since { fetch: true, ..Since::new("HEAD") }).is_empty());
}

#[test]
fn a_work_tree_beside_the_repository() {
    let r = Repository::with_commit();
    r.git("main", &["worktree", "add", "-q", "../tree"]);
    r.write("tree/sub/new", "x");
    assert_eq!(r.files("tree", &Since::new("main")), ["sub/new"]);
    assert_eq!(r.files("tree/sub", &Since::new("main")), ["sub/new"], "from a folder below");
    assert!(r.files("main", &Since::new("main")).is_empty());
}

#[test]
fn a_submodule_is_a_folder_that_changed() {
    let r = Repository::with_commit();
    fs::create_dir(r.path("lib")).unwrap();
    r.git("lib", &["init", "-q", "-b", "main"]);
    r.write("lib/l.txt", "l");
    r.commit("lib", "lib");
    let url = r.path("lib").display().to_string();
    r.git("main", &["submodule", "--quiet", "add", &url, "lib"]);
    r.commit("main", "with lib");
    let git = r.open("main");
    assert_eq!(git.changes(&Since::new("HEAD")).unwrap().folders, BTreeSet::new());
    r.write("main/lib/l.txt", "edited");
    let changes = git.changes(&Since::new("HEAD")).unwrap();
    assert_eq!(changes.folders, BTreeSet::from(["lib".to_owned()]));
    assert!(changes.files.is_empty(), "{changes:?}");
    // Inside the submodule it is a repository of its own.
    assert_eq!(r.files("main/lib", &Since::new("HEAD")), ["l.txt"]);
}

#[test]
fn sparse_checkouts_miss_nothing_and_invent_nothing() {
    let r = Repository::with_commit();
    r.git("main", &["sparse-checkout", "set", "sub"]);
    r.write("main/sub/b.txt", "edited");
    assert_eq!(r.files("main", &Since::new("HEAD")), ["sub/b.txt"]);
}

#[test]
fn what_is_missing_is_reported_with_the_next_step() {
    let r = Repository::new();
    let why = |git: &Git, since: &Since| git.changes(since).unwrap_err().to_string();
    assert!(why(&r.open("main"), &Since::new("main")).contains("no commit yet"));
    let r = Repository::with_commit();
    let git = r.open("main");
    let text = why(&git, &Since::new("origin/develop"));
    assert!(text.contains("origin/develop") && text.contains("git fetch"), "{text}");
    assert!(why(&git, &Since::new("--output=x")).contains("no revision"));
    r.git("main", &["checkout", "-q", "--orphan", "other"]);
    r.commit("main", "other");
    assert!(why(&git, &Since::new("main")).contains("merge-base = false"));
    assert!(git.changes(&Since { merge_base: false, ..Since::new("main") }).is_ok());
    let alone = tempfile::tempdir().unwrap();
    let error = Git::find(alone.path()).unwrap_err();
    assert!(matches!(error, GitError::NoRepository(_)), "{error}");
}

#[test]
fn a_shallow_clone_says_how_to_get_more() {
    let r = Repository::with_commit();
    r.git("main", &["checkout", "-q", "-b", "feature"]);
    r.write("main/mine", "x");
    r.commit("main", "mine");
    r.git("main", &["checkout", "-q", "main"]);
    r.write("main/theirs", "x");
    r.commit("main", "theirs");
    let url = format!("file://{}", r.path("main").display());
    r.git(".", &["clone", "-q", "--depth", "1", "--no-single-branch", "-b", "feature", &url, "c"]);
    let git = r.open("c");
    for reference in ["origin/main", "HEAD~1", "first~5"] {
        let error = git.changes(&Since::new(reference)).unwrap_err();
        assert!(matches!(error, GitError::Shallow(_)), "{reference}: {error}");
        assert!(error.to_string().contains("--unshallow"), "{error}");
    }
    // The revision itself is there.
    let direct = Since { merge_base: false, ..Since::new("origin/main") };
    assert_eq!(r.files("c", &direct), ["mine", "theirs"]);
}

#[test]
fn files_of_the_past() {
    let r = Repository::with_commit();
    r.write("main/a.txt", "now");
    r.write("main/sub/deep/c", "c");
    r.commit("main", "second");
    fs::remove_file(r.path("main/sub/b.txt")).unwrap();
    let revision = r.open("main").revision("first").unwrap();
    assert_eq!(revision.read("a.txt").as_deref(), Some(b"a".as_slice()));
    assert_eq!(revision.read("sub/b.txt").as_deref(), Some(b"b".as_slice()));
    assert_eq!((revision.read("sub/deep/c"), revision.read("sub")), (None, None));
    assert!(revision.is_folder("sub") && !revision.is_folder("sub/deep"));
    assert_eq!(revision.folders("."), ["sub"]);
    // One after the other over the same pipe.
    assert_eq!(revision.read("a.txt").as_deref(), Some(b"a".as_slice()));
}
