//! The project that a command line is about: its root, settings, store and rules.

use crate::places::{self, cache_folder};
use anyhow::Result;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tamis_core::{Hash, Notices, PathMap, Scheme};
use tamis_fs::Fingerprinter;
use tamis_observe::{Judgement, Rules, Services};
use tamis_settings::{Contact, FileGlob, Ignored, PathRules, Places, RuleAnswer, Settings};
use tamis_store::{Believed, Store};

/// Everything that is settled before the first question is asked.
#[derive(Debug)]
pub struct Project {
    /// The folder that the user is in, canonical.
    pub folder: PathBuf,
    pub paths: PathMap,
    pub settings_file: Option<PathBuf>,
    pub settings: Settings,
    /// The folder of the records, or why there is none: also where somebody else could write there.
    pub store_folder: Result<PathBuf, String>,
    pub rules: Arc<PathRules>,
    pub fingerprinter: Arc<Fingerprinter>,
    pub services: Services,
    /// Which records of other machines count; none until somebody says so.
    pub believed: Believed,
    commands: FingerprintCommands,
    /// Of the settings' rules of observation, taken once.
    pub(crate) rules_digest: Hash,
    /// What is wrong with the store has been reported.
    reported: AtomicBool,
}

/// The current folder. It may be gone, or closed to this user.
pub fn current_folder() -> Result<PathBuf> {
    let found = std::env::current_dir().and_then(|folder| folder.canonicalize());
    found.map_err(|why| match why.kind() {
        std::io::ErrorKind::NotFound => {
            anyhow::anyhow!("the current folder is gone; change to another one")
        }
        _ => anyhow::anyhow!("the current folder cannot be entered by this user: {why}"),
    })
}

impl Project {
    /// The project of the current folder; `store` is where the user wants the records.
    pub fn find(store: Option<&Path>) -> Result<Self> {
        let folder = current_folder()?;
        let settings_file = tamis_settings::find(&folder);
        let settings = match &settings_file {
            Some(file) => tamis_settings::load(file)?,
            None => Settings::default(),
        };
        let root = match &settings_file {
            Some(file) => file.parent().unwrap_or(&folder).to_path_buf(),
            None => git_work_tree(&folder).unwrap_or_else(|| folder.clone()),
        };
        let home = std::env::var_os("HOME").map(PathBuf::from).and_then(|h| h.canonicalize().ok());
        let paths = PathMap::new(root, home);
        let store_folder = store_folder(store, &settings, &paths, &folder)
            .and_then(|folder| places::trusted_store(folder, paths.root()));
        if let Ok(folder) = &store_folder {
            Store::refuse_newer(folder)?;
        }
        let tmpdir = std::env::var_os("TMPDIR").map(PathBuf::from);
        let places = Places::new(paths.clone(), store_folder.clone().ok(), tmpdir.as_deref())
            .with_tools(&settings, &|name| std::env::var(name).ok());
        let rules = PathRules::new(&settings, &places).map_err(anyhow::Error::msg)?;
        let rules = Arc::new(rules);
        let commands = FingerprintCommands::new(&settings, paths.root());
        let rules_digest = settings.observation_digest();
        let fingerprinter = Arc::new(fingerprinter(rules_digest, &paths, &rules, &commands));
        let services = Services {
            ignore_all: settings.services == Contact::Ignore,
            warn_only: settings.services == Contact::Warn,
            allowed: settings.allow_services.clone(),
        };
        Ok(Self {
            folder,
            paths,
            settings_file,
            settings,
            store_folder,
            rules,
            fingerprinter,
            services,
            believed: Believed::default(),
            commands,
            rules_digest,
            reported: AtomicBool::new(false),
        })
    }

    /// The rules as the observer asks for them.
    pub fn observer_rules(&self) -> ObserverRules<'_> {
        // What tamis keeps for itself is no input; the files of a project that stands there are.
        let is_around = |cache: &PathBuf| {
            let real = cache.canonicalize();
            self.root().starts_with(cache) || real.is_ok_and(|real| self.root().starts_with(real))
        };
        let cache = cache_folder().filter(|cache| !is_around(cache));
        ObserverRules { rules: &self.rules, commands: &self.commands, cache }
    }

    /// What users' commands failed at, each command once.
    pub fn notice_troubles(&self, notices: &dyn Notices) {
        self.fingerprinter.take_troubles().into_iter().for_each(|trouble| notices.warn(trouble));
    }

    /// The files that a glob of `run-all-on` means now, sorted.
    pub fn files_meant(&self, glob: &FileGlob) -> Vec<PathBuf> {
        let walk = ignore::WalkBuilder::new(glob.start())
            .standard_filters(false)
            .filter_entry(is_searched)
            .build();
        let is_file = |entry: &ignore::DirEntry| entry.file_type().is_some_and(|t| !t.is_dir());
        let files = walk.flatten().filter(is_file).map(ignore::DirEntry::into_path);
        let mut found: Vec<PathBuf> = files.filter(|file| glob.matches(file)).collect();
        found.sort_unstable();
        found
    }

    pub fn root(&self) -> &Path {
        self.paths.root()
    }

    /// The user's folder relative to the root, `.` for the root.
    pub fn relative_folder(&self) -> String {
        self.paths.to_portable(&self.folder).to_string()
    }

    /// Opens the store for writing; a store that cannot be opened is no reason not to run tests.
    pub fn open_store(&self, notices: &dyn Notices) -> Option<Store> {
        let opened = self
            .store_folder
            .clone()
            .and_then(|folder| Store::open(&folder).map_err(|error| error.to_string()));
        let problem = match &opened {
            Ok((store, _)) => store.read_only().map(|why| {
                let folder = store.dir().display();
                format!("the store in {folder} can only be read ({why}): it is used for skipping, and nothing is recorded")
            }),
            Err(error) => Some(format!("{error}; until then everything runs and nothing is recorded")),
        };
        self.report_once(notices, problem);
        opened.ok().map(|(store, set_aside)| {
            notice_set_aside(notices, set_aside);
            store.set_keep_per_test(self.settings.keep.records);
            store.believe(self.believed.clone());
            store
        })
    }

    /// Reports what is wrong with the store, or else with the cache, at the first call.
    fn report_once(&self, notices: &dyn Notices, problem: Option<String>) {
        if let Some(problem) = problem.or_else(places::cache_problem)
            && !self.reported.swap(true, Ordering::Relaxed)
        {
            notices.warn(problem);
        }
    }

    /// Opens the store if there is one; makes no file.
    pub fn existing_store(&self, notices: &dyn Notices) -> Result<Option<Store>> {
        let folder = self.store_folder.as_ref().map_err(|why| anyhow::anyhow!(why.clone()))?;
        let opened = Store::open_existing(folder)?;
        Ok(opened.map(|(store, set_aside)| {
            notice_set_aside(notices, set_aside);
            store.believe(self.believed.clone());
            store
        }))
    }
}

/// The folders in which nothing that counts is looked for.
fn is_searched(entry: &ignore::DirEntry) -> bool {
    entry.file_name() != ".git"
}

/// Says that a store was set aside, where it was.
pub fn notice_set_aside(notices: &dyn Notices, set_aside: Option<tamis_store::SetAside>) {
    if let Some(aside) = set_aside {
        notices.warn(format!(
            "the records could not be used ({}); they were set aside as {} and everything runs again",
            aside.why,
            aside.moved_to.display()
        ));
    }
}

/// The user's fingerprint commands and filters. A command is known by its words *and* by the content of the
/// files among them: with another script, the fingerprints that it gave before say nothing. What the script
/// reads in its turn is not known here; a command is asked anew each time.
#[derive(Debug, Default)]
struct FingerprintCommands {
    words: HashMap<Hash, Vec<String>>,
    /// From the hash of the words to the one that also knows the files.
    by_words: HashMap<Hash, Hash>,
}

impl FingerprintCommands {
    fn new(settings: &Settings, root: &Path) -> Self {
        let mut commands = Self::default();
        for rule in &settings.rules {
            let by_words = rule.treatment.scheme().and_then(Scheme::command);
            let (Some(words), Some(by_words)) = (rule.treatment.command(), by_words) else {
                continue;
            };
            let mut parts = vec![by_words.0.to_le_bytes().to_vec()];
            parts.extend(words.iter().map(|w| std::fs::read(root.join(w)).unwrap_or_default()));
            parts.push(words.first().map(|program| script_in_path(program)).unwrap_or_default());
            let id = Hash::of_parts(parts.iter().map(Vec::as_slice));
            commands.words.insert(id, words.to_vec());
            commands.by_words.insert(by_words, id);
        }
        commands
    }

    /// The scheme that knows the command's files.
    fn known(&self, scheme: Scheme) -> Scheme {
        let id = |by_words: Hash| self.by_words.get(&by_words).copied().unwrap_or(by_words);
        match scheme {
            Scheme::Command(by_words) => Scheme::Command(id(by_words)),
            Scheme::Filter(by_words) => Scheme::Filter(id(by_words)),
            other => other,
        }
    }
}

/// The content of a script that a shell would find by this name; other programs are not read.
fn script_in_path(program: &str) -> Vec<u8> {
    const LARGEST: u64 = 1 << 20;
    if program.contains('/') {
        return Vec::new();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join(program));
    let found = files.find(|file| file.is_file());
    let small = found.filter(|f| f.metadata().is_ok_and(|m| m.len() <= LARGEST));
    let content = small.and_then(|file| std::fs::read(file).ok()).unwrap_or_default();
    if content.starts_with(b"#!") { content } else { Vec::new() }
}

fn fingerprinter(
    rules_digest: Hash,
    paths: &PathMap,
    rules: &Arc<PathRules>,
    commands: &FingerprintCommands,
) -> Fingerprinter {
    let listing_rules = Arc::clone(rules);
    let digest = Hash::of_parts([
        rules_digest.0.to_le_bytes().as_slice(),
        paths.root().as_os_str().as_encoded_bytes(),
    ]);
    Fingerprinter::new(tamis_fs::Options {
        cache_file: cache_folder().map(|c| c.join("fingerprints")),
        ignored: Some(tamis_fs::Ignored {
            predicate: Arc::new(move |entry| listing_rules.ignored_in_listing(entry)),
            digest,
        }),
        commands: commands.words.clone(),
        root: paths.root().to_path_buf(),
        ..tamis_fs::Options::default()
    })
}

/// The settings' rules as the observer asks for them.
#[derive(Debug)]
pub struct ObserverRules<'a> {
    rules: &'a PathRules,
    commands: &'a FingerprintCommands,
    cache: Option<PathBuf>,
}

impl Rules for ObserverRules<'_> {
    fn judge(&self, path: &Path, program: &str) -> Judgement {
        // Also for a tamis that a test starts: its records and caches are no input.
        if self.cache.as_ref().is_some_and(|cache| path.starts_with(cache)) {
            return Judgement::Ignore;
        }
        match self.rules.scheme(path, Path::new(program)) {
            RuleAnswer::Default => Judgement::Default,
            RuleAnswer::As(scheme) => Judgement::As(self.commands.known(scheme)),
            RuleAnswer::Ignore(Ignored::Temp) => Judgement::IgnoreTemp,
            RuleAnswer::Ignore(_) => Judgement::Ignore,
        }
    }

    fn only_lists(&self, path: &Path, program: &str) -> bool {
        self.rules.only_lists(path, Path::new(program))
    }
}

fn store_folder(
    store: Option<&Path>,
    settings: &Settings,
    paths: &PathMap,
    folder: &Path,
) -> Result<PathBuf, String> {
    if let Some(store) = store {
        return Ok(folder.join(store));
    }
    if let Some(store) = settings.store_folder(paths.root(), paths.home()) {
        return Ok(store);
    }
    let cache = places::named_cache().ok_or(
        "no cache folder for the records: neither XDG_CACHE_HOME nor HOME is set; \
         name a folder with --store DIR",
    )?;
    let name = shown_name(paths.root());
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    Ok(cache.join("projects").join(format!("{name}-{}", identity(paths.root()))))
}

/// A name for people who look into the cache. The same for all work trees of a repository: it is a
/// part of the place where their records are.
fn shown_name(root: &Path) -> String {
    let mut folder = root.to_path_buf();
    if git_work_tree(root).as_deref() == Some(root) {
        folder = git_common_folder(root);
        if folder.ends_with(".git") {
            folder.pop();
        }
    }
    folder.file_name().map_or("root".into(), |n| n.to_string_lossy().into_owned())
}

/// What makes this project itself: the repository, so that its work trees share their records, and
/// the place in it. Without git the folder.
fn identity(root: &Path) -> Hash {
    let Some(work_tree) = git_work_tree(root) else {
        return Hash::of(root.as_os_str().as_encoded_bytes());
    };
    let repository = git_common_folder(&work_tree);
    let place = root.strip_prefix(&work_tree).unwrap_or(root);
    Hash::of_parts([
        repository.as_os_str().as_encoded_bytes(),
        place.as_os_str().as_encoded_bytes(),
    ])
}

/// The nearest folder, going up, that holds a `.git`.
fn git_work_tree(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|f| f.join(".git").exists()).map(Path::to_path_buf)
}

/// The folder that all work trees of a repository share. Read from git's own files: it must work
/// where git is not installed.
fn git_common_folder(work_tree: &Path) -> PathBuf {
    let dot_git = work_tree.join(".git");
    let git = match std::fs::read_to_string(&dot_git) {
        Ok(text) => match text.trim().strip_prefix("gitdir:") {
            Some(target) => work_tree.join(target.trim()),
            None => dot_git,
        },
        Err(_) => dot_git,
    };
    let common = match std::fs::read_to_string(git.join("commondir")) {
        Ok(target) => git.join(target.trim()),
        Err(_) => git,
    };
    common.canonicalize().unwrap_or(common)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn work_trees_share_their_identity_and_places_in_them_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("main");
        let tree = dir.path().join("tree");
        fs::create_dir_all(main.join(".git/worktrees/tree")).unwrap();
        fs::create_dir_all(tree.join("sub")).unwrap();
        fs::create_dir_all(main.join("sub")).unwrap();
        fs::write(main.join(".git/worktrees/tree/commondir"), "../..\n").unwrap();
        let target = main.join(".git/worktrees/tree");
        fs::write(tree.join(".git"), format!("gitdir: {}\n", target.display())).unwrap();
        assert_eq!(identity(&main), identity(&tree));
        assert_eq!((shown_name(&main), shown_name(&tree)), ("main".into(), "main".into()));
        assert_eq!(shown_name(&tree.join("sub")), "sub");
        assert_eq!(identity(&main.join("sub")), identity(&tree.join("sub")));
        assert_ne!(identity(&main), identity(&main.join("sub")));
    }
}
