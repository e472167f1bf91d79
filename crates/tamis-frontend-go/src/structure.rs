//! What a listing rests on, and the facts that can be taken anew while it holds.

use crate::c_sources;
use crate::command::GoTest;
use crate::contents::Contents;
use crate::environment::Surroundings;
use crate::folders::{self, Folder};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tamis_core::{Hash, Value};
use tamis_fs::Fingerprinter;

/// More files below a folder of headers than this are not looked at; the fact then never holds.
const MAX_TREE: usize = 5000;

/// Why a listing does not hold any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Moved(pub(crate) String);

/// The state of the world that the answers of go belong to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Structure {
    pub(crate) command: Option<Hash>,
    pub(crate) folder: PathBuf,
    pub(crate) variables: BTreeMap<String, String>,
    /// Programs as they were found on the PATH, by the word that names them.
    pub(crate) programs: BTreeMap<String, Option<PathBuf>>,
    pub(crate) files: BTreeMap<PathBuf, Value>,
    pub(crate) folders: BTreeSet<Folder>,
    /// Why go must be asked again next time.
    pub(crate) unsettled: Option<String>,
    /// Facts that go answered: they hold as long as the structure.
    pub(crate) fixed: BTreeMap<String, Hash>,
    pub(crate) sources: Vec<Sources>,
}

/// A fact that is in files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sources {
    pub(crate) fact: String,
    /// What else belongs to the value.
    pub(crate) with: Hash,
    /// Names count as seen from here.
    pub(crate) folder: PathBuf,
    pub(crate) files: Vec<PathBuf>,
    /// Those that may include others.
    pub(crate) c_files: Vec<PathBuf>,
    /// Folders of headers and libraries, and single ones.
    pub(crate) trees: BTreeSet<PathBuf>,
    /// A program whose output belongs to the value.
    pub(crate) output_of: Vec<String>,
}

impl Sources {
    pub(crate) fn new(fact: String, folder: &Path, files: Vec<PathBuf>) -> Self {
        Self {
            fact,
            with: Hash::of(b""),
            folder: folder.to_owned(),
            files,
            c_files: Vec::new(),
            trees: BTreeSet::new(),
            output_of: Vec::new(),
        }
    }

    /// All files, and whether these are really all.
    fn all_files(&self) -> (BTreeSet<PathBuf>, bool) {
        let mut files: BTreeSet<PathBuf> = self.files.iter().cloned().collect();
        files.extend(c_sources::included(&self.c_files));
        let (trees, single): (Vec<&PathBuf>, _) = self.trees.iter().partition(|t| t.is_dir());
        files.extend(single.into_iter().cloned());
        let mut below = BTreeSet::new();
        let complete = trees
            .iter()
            .all(|tree| folders::tree(tree, MAX_TREE, &mut BTreeSet::new(), &mut below));
        files.extend(below);
        (files, complete)
    }

    fn output(&self, at: &Surroundings) -> Vec<u8> {
        let Some((program, words)) = self.output_of.split_first() else { return Vec::new() };
        let Some(program) = at.program(program) else { return b"missing".to_vec() };
        let mut command = Command::new(program);
        command.args(words).current_dir(at.folder()).env_clear().envs(at.variables());
        let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
        output.map_or_else(|error| error.to_string().into_bytes(), |output| output.stdout)
    }
}

impl Structure {
    /// Whether the answers of go are still right, as far as it shows without reading files.
    pub(crate) fn check(&self, test: &GoTest, at: &Surroundings) -> Result<(), Moved> {
        let moved = |what: String| Err(Moved(what));
        if let Some(why) = &self.unsettled {
            return moved(why.clone());
        }
        if self.command != Some(test.key()) || self.folder != at.folder() {
            return moved("it is another command".into());
        }
        if let Some(name) = difference(&self.variables, &counting(at)) {
            return moved(format!("variable {name} changed"));
        }
        if let Some((word, _)) =
            self.programs.iter().find(|(word, path)| at.program(word) != **path)
        {
            return moved(format!("{word} is another program"));
        }
        match self.folders.iter().find(|folder| !folder.holds()) {
            Some(folder) => moved(format!("the names in {} changed", folder.path.display())),
            None => Ok(()),
        }
    }

    /// Reads all files, each once.
    pub(crate) fn look(&self, fs: &Fingerprinter) -> Seen<'_> {
        let files: Vec<_> = self.sources.iter().map(Sources::all_files).collect();
        let all = files.iter().flat_map(|(files, _)| files.iter()).chain(self.files.keys());
        let contents = Contents::of(fs, &all.cloned().collect());
        Seen { structure: self, files, contents }
    }
}

/// A structure with what is in the files now.
pub(crate) struct Seen<'a> {
    structure: &'a Structure,
    /// The files of each source, and whether these are all.
    files: Vec<(BTreeSet<PathBuf>, bool)>,
    contents: Contents,
}

impl Seen<'_> {
    /// Whether the files that go has read are the same.
    pub(crate) fn check(&self) -> Result<(), Moved> {
        let mut files = self.structure.files.iter();
        match files.find(|(path, value)| self.contents.get(path) != **value) {
            Some((path, _)) => Err(Moved(format!("{} changed", path.display()))),
            None => Ok(()),
        }
    }

    /// The values of all facts.
    pub(crate) fn facts(&self, at: &Surroundings) -> BTreeMap<String, Hash> {
        let mut facts = self.structure.fixed.clone();
        for (source, (files, complete)) in self.structure.sources.iter().zip(&self.files) {
            let content = self.contents.hash(&source.folder, files.iter());
            let once = if *complete { Vec::new() } else { never_again() };
            let parts = [&source.with.0.to_le_bytes()[..], &content.0.to_le_bytes()];
            let output = source.output(at);
            let hash = Hash::of_parts(parts.into_iter().chain([output.as_slice(), &once]));
            facts.insert(source.fact.clone(), hash);
        }
        facts
    }
}

/// Bytes that make a value equal to no other.
fn never_again() -> Vec<u8> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    [now.to_le_bytes().as_slice(), &std::process::id().to_le_bytes()].concat()
}

/// Variables that only the running program reads, or that only say where go keeps its own things.
const NOT_COUNTING: [&str; 10] = [
    "GOMAXPROCS",
    "GOGC",
    "GOMEMLIMIT",
    "GOTRACEBACK",
    "GORACE",
    "GOCOVERDIR",
    "GOCACHE",
    "GOTMPDIR",
    "GOTELEMETRY",
    "GOTELEMETRYDIR",
];

/// Variables beside those that begin with `GO` and `CGO_`.
const COUNTING: [&str; 15] = [
    "CC",
    "CXX",
    "AR",
    "FC",
    "GCCGO",
    "PKG_CONFIG",
    "PKG_CONFIG_PATH",
    "PKG_CONFIG_LIBDIR",
    "PKG_CONFIG_SYSROOT_DIR",
    "HOME",
    "XDG_CONFIG_HOME",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
];

/// The variables that decide what go builds.
pub(crate) fn counting(at: &Surroundings) -> BTreeMap<String, String> {
    let text = |value: &OsStr| value.to_string_lossy().into_owned();
    let pairs = at.variables().iter().map(|(name, value)| (text(name), text(value)));
    let counts = |name: &str| {
        let of_go = name.starts_with("GO") || name.starts_with("CGO_");
        (of_go && !NOT_COUNTING.contains(&name)) || COUNTING.contains(&name)
    };
    pairs.filter(|(name, _)| counts(name)).collect()
}

fn difference<'a>(
    before: &'a BTreeMap<String, String>,
    now: &'a BTreeMap<String, String>,
) -> Option<&'a String> {
    let names = before.keys().chain(now.keys());
    names.into_iter().find(|name| before.get(*name) != now.get(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(variables: &[(&str, &str)]) -> Surroundings {
        Surroundings::new("/p", variables.iter().map(|(n, v)| (n.into(), v.into())))
    }

    fn facts(sources: Sources) -> Hash {
        let structure = Structure { sources: vec![sources], ..Structure::default() };
        let fs = Fingerprinter::new(tamis_fs::Options::default());
        structure.look(&fs).facts(&at(&[("PATH", "/bin:/usr/bin")]))["x"]
    }

    #[test]
    fn variables_of_the_running_program_do_not_count() {
        let plain = counting(&at(&[("CC", "gcc"), ("GOFLAGS", "-race")]));
        let more =
            [("CC", "gcc"), ("GOFLAGS", "-race"), ("GOGC", "5"), ("GOCACHE", "/c"), ("LANG", "C")];
        assert_eq!(difference(&plain, &counting(&at(&more))), None);
        let other = counting(&at(&[("CC", "clang"), ("GOFLAGS", "-race")]));
        assert_eq!(difference(&plain, &other).unwrap(), "CC");
        let missing = counting(&at(&[("CC", "gcc")]));
        assert_eq!(difference(&plain, &missing).unwrap(), "GOFLAGS");
    }

    #[test]
    fn files_of_folders_with_headers_count() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("inc")).unwrap();
        let mut sources = Sources::new("x".into(), dir.path(), Vec::new());
        sources.trees.insert(dir.path().join("inc"));
        let before = facts(sources.clone());
        assert_eq!(facts(sources.clone()), before);
        std::fs::write(dir.path().join("inc/x.h"), "1").unwrap();
        assert_ne!(facts(sources), before);
    }

    #[test]
    fn the_output_of_a_program_counts() {
        let mut sources = Sources::new("x".into(), Path::new("/p"), Vec::new());
        let before = facts(sources.clone());
        sources.output_of = vec!["echo".into(), "1".into()];
        // The folder of the command does not exist, so the program cannot be started there.
        let failed = facts(sources.clone());
        assert_ne!(failed, before);
        sources.output_of = vec!["no-such-program".into()];
        assert_ne!(facts(sources), before);
    }

    #[test]
    fn another_command_or_an_unsettled_listing_does_not_hold() {
        let structure =
            Structure { unsettled: Some("a.go was being written".into()), ..Structure::default() };
        let test = GoTest::default();
        let why = structure.check(&test, &at(&[])).unwrap_err();
        assert_eq!(why.to_string(), "a.go was being written");
        let structure =
            Structure { command: Some(test.key()), folder: "/p".into(), ..Structure::default() };
        assert_eq!(structure.check(&test, &at(&[])), Ok(()));
        assert!(structure.check(&test, &at(&[("GOOS", "js")])).is_err());
        let elsewhere = Surroundings::new("/q", []);
        assert!(structure.check(&test, &elsewhere).is_err());
    }
}
