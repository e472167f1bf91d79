use super::*;

fn paths(folder: &Folder) -> Vec<String> {
    let name = |id| String::from_utf8_lossy(folder.block.names.get(id)).into_owned();
    folder.block.resources.iter().map(|r| name(r.path)).collect()
}

struct Work {
    work: tempfile::TempDir,
    caches: Caches,
}

impl Work {
    /// A folder with these files and their own names as content.
    fn new(names: &[&str]) -> Self {
        let work = tempfile::tempdir().unwrap();
        let caches = Caches { folders: Some(work.path().join("cache")), ..Caches::none() };
        let this = Self { work, caches };
        names.iter().for_each(|name| this.write(name, name));
        this
    }

    fn folder(&self) -> PathBuf {
        self.work.path().join("classes")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn scan(&self) -> Folder {
        scan(&self.folder(), &self.caches, Keep::Plain)
    }
}

fn contents(folder: &Folder) -> Vec<Hash> {
    folder.block.resources.iter().map(|r| r.content).collect()
}

#[test]
fn only_changed_files_are_analysed_again() {
    let work = Work::new(&["a.txt", "b/x.txt", "b/y.txt", "z.txt"]);
    assert_eq!([work.scan().read, work.scan().read], [4, 0]);
    work.write("b/x.txt", "X.TXT");
    std::fs::remove_file(work.folder().join("a.txt")).unwrap();
    work.write("c.txt", "new");
    let next = work.scan();
    assert_eq!(next.read, 2);
    assert_eq!(paths(&next), ["b/x.txt", "b/y.txt", "c.txt", "z.txt"]);
    let whole = scan(&work.folder(), &Caches::none(), Keep::Plain);
    assert_eq!(whole.read, 4);
    assert_eq!(contents(&next), contents(&whole));
    let again = work.scan();
    assert_eq!((again.read, contents(&again)), (0, contents(&whole)));
    assert_eq!((again.newest_ns, next.newest_ns), (whole.newest_ns, whole.newest_ns));
}

#[test]
fn a_change_of_the_same_size_in_the_same_moment_is_seen() {
    let work = Work::new(&["a.txt"]);
    let first = contents(&work.scan());
    for text in ["b.txt", "c.txt", "d.txt"] {
        work.write("a.txt", text);
        assert_ne!(contents(&work.scan()), first);
        assert_eq!(contents(&work.scan()), [Hash::of(text.as_bytes())]);
    }
}

#[test]
fn links_are_followed_and_what_is_behind_them_is_not_remembered_by_the_link() {
    let work = Work::new(&["a.txt"]);
    let behind = work.work.path().join("behind");
    std::fs::write(&behind, "one").unwrap();
    std::os::unix::fs::symlink(&behind, work.folder().join("link.txt")).unwrap();
    std::os::unix::fs::symlink("nowhere", work.folder().join("dangling.txt")).unwrap();
    assert_eq!(paths(&work.scan()), ["a.txt", "link.txt"]);
    std::fs::write(&behind, "two").unwrap();
    assert_eq!(contents(&work.scan())[1], Hash::of(b"two"));
    std::fs::remove_file(&behind).unwrap();
    assert_eq!(paths(&work.scan()), ["a.txt"]);
}

#[test]
fn a_deflated_cache_is_as_good_and_few_files_have_none() {
    let name = |n| format!("a-name-of-some-length-as-classes-have-{n:03}.txt");
    let names: Vec<String> = (0..200).map(name).collect();
    let work = Work::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let cache = work.work.path().join("cache");
    let keep = |fewest| scan(&work.folder(), &work.caches, Keep::Deflated { fewest });
    assert_eq!([keep(201).read, keep(201).read], [200, 200]);
    assert!(!cache.exists());
    assert_eq!([keep(200).read, keep(200).read], [200, 0]);
    assert_eq!(paths(&keep(200)), paths(&scan(&work.folder(), &Caches::none(), Keep::Plain)));
    work.scan();
    let sizes = |name: &str| {
        let files = std::fs::read_dir(&cache).unwrap().flatten();
        let named = files.filter(|f| f.file_name().to_string_lossy().starts_with(name));
        named.map(|f| f.metadata().unwrap().len()).sum::<u64>()
    };
    let (deflated, plain) = (sizes("deflated-"), sizes("folder-"));
    assert!(deflated < plain, "{deflated} to {plain}");
}

#[test]
fn a_folder_that_is_not_there_is_empty_and_a_file_is_not_a_folder() {
    let work = Work::new(&["file"]);
    let missing = scan(&work.folder().join("missing"), &work.caches, Keep::Plain);
    assert!(missing.blind.is_empty() && missing.block.classes.is_empty());
    let file = scan(&work.folder().join("file"), &work.caches, Keep::Plain);
    assert_eq!(file.blind.len(), 1);
}

#[test]
fn a_damaged_cache_is_no_cache() {
    let work = Work::new(&["a.txt"]);
    work.scan();
    for entry in std::fs::read_dir(work.work.path().join("cache")).unwrap().flatten() {
        std::fs::write(entry.path(), "garbage that is long enough").unwrap();
    }
    assert_eq!(work.scan().read, 1);
}
