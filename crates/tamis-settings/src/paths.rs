//! Which paths are an input, and under which scheme their fingerprint is taken.
//!
//! For one path and the program that looks at it, the first of these that matches decides:
//!
//! 1. tamis's own store: ignored;
//! 2. the user's `[[rule]]`s, in their order;
//! 3. the user's `ignore` patterns;
//! 4. the state of everyday tools (`[tamis.tool-state]`, see [`crate::tools`]): ignored;
//! 5. the default filter (`default-ignore`): `/proc`, `/sys`, `/dev`, temp folders;
//! 6. the built-in rules (`default-rules`): Python byte code in `__pycache__`, git's index.
//!
//! So a rule with `as = "raw"` brings back what a filter would drop. A temp folder around the
//! project does not swallow it: of the temp folders, the root and the home folder, the innermost
//! one that holds a path decides. Entries of folders between a temp folder and the root count
//! as well, because tools look for their settings in every folder above a project.
//!
//! A pattern of `ignore` (and of a rule with `as = "ignore"`) that matches a folder takes in
//! everything below it. Globs are compiled once; project paths are matched relative to the root,
//! where most patterns need no regular expression.

use crate::condition::{Condition, Looked};
use crate::glob::{self, NameGlobs};
use crate::settings::{Settings, Treatment};
use crate::tools::{self, ToolLook};
use globset::{Candidate, Glob, GlobSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tamis_core::path::below;
use tamis_core::{PathMap, Scheme};

/// Where things are on this machine. All paths absolute and canonical.
#[derive(Debug, Clone)]
pub struct Places {
    pub map: PathMap,
    /// The folder of the store.
    pub store: Option<PathBuf>,
    /// Folders whose content comes and goes.
    pub temp: Vec<PathBuf>,
    /// The patterns of tools' state ([`tools::ToolSettings`]) that hold here.
    tools: Vec<String>,
}

impl Places {
    /// With the usual temp folders and the one that `TMPDIR` (its value given) names.
    pub fn new(map: PathMap, store: Option<PathBuf>, tmpdir: Option<&Path>) -> Self {
        let mut temp: Vec<PathBuf> =
            ["/tmp", "/var/tmp", "/run/user", "/dev/shm"].map(PathBuf::from).to_vec();
        if let Some(folder) = tmpdir {
            let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
            // `TMPDIR=/` would make everything temporary.
            if folder.is_absolute() && folder.parent().is_some() && !temp.contains(&folder) {
                temp.push(folder);
            }
        }
        Self { map, store, temp, tools: Vec::new() }
    }

    /// With the places where tools keep their state, by the variables that name them.
    #[must_use]
    pub fn with_tools(
        mut self,
        settings: &Settings,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let patterns = settings.tools.patterns();
        let expanded = patterns.iter().filter_map(|p| tools::expand(p, self.map.home(), variable));
        self.tools = expanded.collect();
        self
    }
}

/// Why a path is no input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ignored {
    /// By `ignore` or by a rule of the settings.
    User,
    /// Pseudo files of the system and devices.
    System,
    /// In a temp folder.
    Temp,
    /// tamis's own store.
    Store,
    /// Made by a runtime from other inputs: the folder `__pycache__`.
    Derived,
    /// What an everyday tool writes down for itself.
    Tool,
}

/// What the rules say about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleAnswer {
    Ignore(Ignored),
    As(Scheme),
    /// No rule: what fits the access (raw bytes, listing, kind).
    Default,
}

/// One `[[rule]]`, compiled.
#[derive(Debug)]
struct CompiledRule {
    program: Option<NameGlobs>,
    condition: Option<Condition>,
    treatment: Treatment,
}

impl CompiledRule {
    fn holds(&self, looked: Looked<'_>) -> bool {
        self.program.as_ref().is_none_or(|globs| globs.matches(looked.program))
            && self.condition.as_ref().is_none_or(|condition| condition.holds(looked))
    }

    /// Whether it depends on who looks.
    fn asks_for_program(&self) -> bool {
        self.program.is_some() || self.condition.as_ref().is_some_and(Condition::asks_for_program)
    }
}

/// Patterns with the index of the rule they belong to.
#[derive(Debug, Default)]
struct Patterns {
    set: GlobSet,
    rule_of: Vec<usize>,
    /// What a path must start with, one of them, to match at all.
    starts: Vec<String>,
}

impl Patterns {
    fn new(globs: Vec<(Glob, usize)>) -> Result<Self, String> {
        let rule_of = globs.iter().map(|(_, rule)| *rule).collect();
        let mut starts: Vec<String> =
            globs.iter().map(|(glob, _)| glob::plain_start(glob.glob()).to_owned()).collect();
        starts.sort();
        starts.dedup();
        let set = glob::set(globs.into_iter().map(|(glob, _)| glob))?;
        Ok(Self { set, rule_of, starts })
    }

    fn can_match(&self, path: &[u8]) -> bool {
        self.starts.iter().any(|start| path.starts_with(start.as_bytes()))
    }

    fn rules_for(&self, path: &[u8], into: &mut Vec<usize>) {
        if !self.can_match(path) {
            return;
        }
        let candidate = Candidate::new(Path::new(OsStr::from_bytes(path)));
        if self.set.is_match_candidate(&candidate) {
            into.extend(self.set.matches_candidate(&candidate).iter().map(|&n| self.rule_of[n]));
        }
    }
}

/// Where one tool keeps its state. There are fifty such places, most of them without any pattern,
/// and a test looks at few of them: each is compiled when a path comes that may be there.
#[derive(Debug)]
struct ToolPlace {
    globs: Vec<String>,
    /// What every path there starts with.
    start: String,
    is_plain: bool,
    set: OnceLock<GlobSet>,
}

impl ToolPlace {
    fn all(places: &Places) -> Vec<Self> {
        let globs = places.tools.iter().map(|pattern| anchored(pattern, &places.map, true).1);
        globs.filter_map(Self::new).collect()
    }

    fn new(globs: Vec<String>) -> Option<Self> {
        let first = globs.first()?;
        let start = glob::plain_start(first).to_owned();
        let is_plain = !glob::is_pattern(first);
        Some(Self { globs, start, is_plain, set: OnceLock::new() })
    }

    fn holds(&self, path: &[u8]) -> bool {
        let Some(rest) = path.strip_prefix(self.start.as_bytes()) else { return false };
        if self.is_plain {
            return rest.is_empty() || rest.starts_with(b"/");
        }
        // What is too much for the matcher holds nothing: then the path counts.
        let compiled = || {
            let globs: Result<Vec<Glob>, String> =
                self.globs.iter().map(|text| glob::compile(text)).collect();
            globs.and_then(glob::set).unwrap_or_default()
        };
        self.set.get_or_init(compiled).is_match(Path::new(OsStr::from_bytes(path)))
    }
}

/// The rules of one project on this machine, ready to be asked.
#[derive(Debug)]
pub struct PathRules {
    root: PathBuf,
    home: Option<PathBuf>,
    store: Option<PathBuf>,
    temp: Vec<PathBuf>,
    default_ignore: bool,
    default_rules: bool,
    rules: Vec<CompiledRule>,
    /// Matched against paths relative to the root. The index after the last rule is `ignore`.
    relative: Patterns,
    /// Matched against absolute paths.
    absolute: Patterns,
    /// The state of everyday tools.
    tools: Vec<ToolPlace>,
    looks: Vec<&'static ToolLook>,
}

impl PathRules {
    /// Every pattern was checked when the settings were read; together they can still be too much
    /// for the matcher, and then there are no rules rather than a part of them.
    pub fn new(settings: &Settings, places: &Places) -> Result<Self, String> {
        let mut relative = Vec::new();
        let mut absolute = Vec::new();
        let mut add = |pattern: &str, rule: usize, below: bool| -> Result<(), String> {
            let (is_relative, texts) = anchored(pattern, &places.map, below);
            for text in texts {
                let glob = glob::compile(&text).map_err(|error| format!("`{pattern}` {error}"))?;
                if is_relative { &mut relative } else { &mut absolute }.push((glob, rule));
            }
            Ok(())
        };
        let mut rules = Vec::new();
        for (n, rule) in settings.rules.iter().enumerate() {
            add(&rule.path, n, rule.treatment == Treatment::Ignore)?;
            let program = rule.program.clone().map(|program| NameGlobs::new(vec![program]));
            let program = program.transpose()?;
            let condition = rule.condition.clone();
            rules.push(CompiledRule { program, condition, treatment: rule.treatment.clone() });
        }
        for pattern in &settings.ignore {
            add(pattern, rules.len(), true)?;
        }
        Ok(Self {
            root: places.map.root().to_path_buf(),
            home: places.map.home().map(Path::to_path_buf),
            store: places.store.clone(),
            temp: places.temp.clone(),
            default_ignore: settings.built_in.ignore,
            default_rules: settings.built_in.rules,
            rules,
            relative: Patterns::new(relative)?,
            absolute: Patterns::new(absolute)?,
            tools: ToolPlace::all(places),
            looks: settings.tools.looks(),
        })
    }

    /// What to do with an absolute, canonical path that `program` (its path) looked at.
    pub fn scheme(&self, path: &Path, program: &Path) -> RuleAnswer {
        if self.in_store(path) {
            return RuleAnswer::Ignore(Ignored::Store);
        }
        for n in self.matching(path) {
            let Some(rule) = self.rules.get(n) else {
                tracing::debug!(?path, "rule: `ignore` of tamis.toml");
                return RuleAnswer::Ignore(Ignored::User);
            };
            if !rule.holds(self.looked(path, program.as_os_str().as_bytes())) {
                continue;
            }
            tracing::debug!(?path, number = n + 1, treatment = ?rule.treatment, "rule: `[[rule]]` of tamis.toml");
            return match rule.treatment.scheme() {
                None => RuleAnswer::Ignore(Ignored::User),
                Some(scheme) => RuleAnswer::As(scheme),
            };
        }
        if self.is_state_of_a_tool(path) {
            tracing::debug!(?path, "rule: `tool-state`");
            return RuleAnswer::Ignore(Ignored::Tool);
        }
        if let Some(ignored) = self.default_filter(path) {
            tracing::debug!(?path, class = ?ignored, "rule: `default-ignore`");
            return RuleAnswer::Ignore(ignored);
        }
        if self.default_rules {
            if is_cached_bytecode(path) {
                return RuleAnswer::As(Scheme::Bytecode);
            }
            if is_cache_folder(path) {
                return RuleAnswer::Ignore(Ignored::Derived);
            }
            if is_git_index(path) {
                return RuleAnswer::As(Scheme::GitIndex);
            }
            if path.file_name() == Some(OsStr::new("pyvenv.cfg")) {
                return RuleAnswer::As(Scheme::Venv);
            }
        }
        RuleAnswer::Default
    }

    /// Whether the name of this entry is left out of its folder's listing. The program that lists
    /// is not known here: a rule for one program drops nothing, and keeps what it would count.
    pub fn ignored_in_listing(&self, entry: &Path) -> bool {
        if self.in_store(entry) {
            return true;
        }
        for n in self.matching(entry) {
            let Some(rule) = self.rules.get(n) else { return true };
            match rule.treatment {
                Treatment::Ignore if rule.asks_for_program() => {}
                _ if rule.asks_for_program() => return false,
                _ if !rule.holds(self.looked(entry, b"")) => {}
                _ => return rule.treatment == Treatment::Ignore,
            }
        }
        self.is_state_of_a_tool(entry)
            || self.default_filter(entry).is_some()
            || self.default_rules && is_cache_folder(entry)
    }

    /// Whether an everyday tool wrote this down for itself. A project that lies inside such a place
    /// counts.
    fn is_state_of_a_tool(&self, path: &Path) -> bool {
        let matches = |path: &Path| {
            let path = path.as_os_str().as_bytes();
            self.tools.iter().any(|place| place.holds(path))
        };
        matches(path) && !(below(path, &self.root).is_some() && matches(&self.root))
    }

    /// Whether this program looks at this path (`lstat`) only to know what kind of thing it is.
    pub fn only_lists(&self, path: &Path, program: &Path) -> bool {
        self.looks.iter().any(|look| look.takes(path, program))
    }

    /// The words of the command behind a scheme, `{}` stands for the path.
    pub fn command(&self, scheme: Scheme) -> Option<&[String]> {
        let rule = self.rules.iter().find(|rule| rule.treatment.scheme() == Some(scheme))?;
        rule.treatment.command()
    }

    /// The path as conditions know it: relative to the root inside the project.
    fn looked<'a>(&self, path: &'a Path, program: &'a [u8]) -> Looked<'a> {
        let path = below(path, &self.root).unwrap_or(path.as_os_str().as_bytes());
        Looked { path, program }
    }

    /// The indexes of all rules whose pattern matches, first rule first.
    fn matching(&self, path: &Path) -> Vec<usize> {
        let mut rules = Vec::new();
        if let Some(rest) = below(path, &self.root) {
            self.relative.rules_for(rest, &mut rules);
        }
        self.absolute.rules_for(path.as_os_str().as_bytes(), &mut rules);
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    fn in_store(&self, path: &Path) -> bool {
        self.store.as_deref().is_some_and(|store| below(path, store).is_some())
    }

    fn default_filter(&self, path: &Path) -> Option<Ignored> {
        if !self.default_ignore {
            return None;
        }
        let length = |base: &Path| below(path, base).is_some().then_some(base.as_os_str().len());
        let temp = self.temp.iter().filter_map(|folder| length(folder)).max();
        let system = ["/proc", "/sys", "/dev"].into_iter().find_map(|f| length(Path::new(f)));
        let (filtered, class) = match (temp, system) {
            (Some(temp), _) => (temp, Ignored::Temp),
            (None, Some(system)) => (system, Ignored::System),
            (None, None) => return None,
        };
        let kept = [Some(self.root.as_path()), self.home.as_deref()];
        let kept = kept.into_iter().flatten().filter_map(length).max().unwrap_or(0);
        let counts =
            kept >= filtered || class == Ignored::Temp && self.above_the_root(path, filtered);
        (!counts).then_some(class)
    }

    /// Whether the path is an entry of a folder above the root that lies below the temp folder
    /// whose path has this length.
    fn above_the_root(&self, path: &Path, temp: usize) -> bool {
        path.parent().is_some_and(|parent| {
            parent.as_os_str().len() > temp && below(&self.root, parent).is_some()
        })
    }
}

fn is_cached_bytecode(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b".pyc") && path.parent().is_some_and(is_cache_folder)
}

fn is_cache_folder(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b"/__pycache__")
}

/// The index of a work tree, of a further one, or of a submodule.
fn is_git_index(path: &Path) -> bool {
    let Some(folder) = path.as_os_str().as_bytes().strip_suffix(b"/index") else { return false };
    let folder = Path::new(OsStr::from_bytes(folder));
    let mut above = folder.ancestors().filter_map(Path::file_name).map(OsStr::as_bytes);
    let Some(depth) = above.position(|name| name == b".git") else { return false };
    let first = folder.components().rev().nth(depth.wrapping_sub(1));
    depth == 0
        || first.is_some_and(|part| {
            let name = part.as_os_str().as_bytes();
            name == b"worktrees" && depth == 2 || name == b"modules" && depth > 1
        })
}

/// The globs of one pattern, and whether they are relative to the root. None for a pattern that
/// cannot match here (`~/` without a home folder).
pub(crate) fn anchored(pattern: &str, map: &PathMap, below: bool) -> (bool, Vec<String>) {
    let trimmed = pattern.trim_end_matches('/');
    let as_pattern = |folder: &Path| glob::escape(folder.to_string_lossy().trim_end_matches('/'));
    let (is_relative, text) = if trimmed.starts_with('/') {
        (false, trimmed.to_owned())
    } else if let Some(rest) = trimmed.strip_prefix("~/") {
        let Some(home) = map.home() else {
            return (false, Vec::new());
        };
        (false, format!("{}/{rest}", as_pattern(home)))
    } else if trimmed == ".." || trimmed.starts_with("../") {
        let mut folder = map.root();
        let mut rest = trimmed;
        while let Some(tail) = rest.strip_prefix("..") {
            if !(tail.is_empty() || tail.starts_with('/')) {
                break;
            }
            folder = folder.parent().unwrap_or(folder);
            rest = tail.trim_start_matches('/');
        }
        let base = as_pattern(folder);
        (false, if rest.is_empty() { base } else { format!("{base}/{rest}") })
    } else {
        (true, trimmed.trim_start_matches("./").to_owned())
    };
    // A pattern that ends in a slash means the folder and what is in it.
    let below = below || pattern.ends_with('/');
    let mut texts = vec![text.clone()];
    if below && !text.ends_with("/**") && text != "**" {
        texts.push(format!("{text}/**"));
    }
    (is_relative, texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rules_at(root: &str, home: Option<&str>, tmpdir: Option<&str>, toml: &str) -> PathRules {
        let settings = crate::parse(toml.as_bytes(), Path::new("tamis.toml")).unwrap();
        let map = PathMap::new(root.into(), home.map(PathBuf::from));
        let store = Some(Path::new(root).join(".tamis"));
        PathRules::new(&settings, &Places::new(map, store, tmpdir.map(Path::new))).unwrap()
    }

    fn rules(toml: &str) -> PathRules {
        rules_at("/home/ann/app", Some("/home/ann"), None, toml)
    }

    fn ask(rules: &PathRules, path: &str) -> RuleAnswer {
        rules.scheme(Path::new(path), Path::new("/usr/bin/cat"))
    }

    const USER: RuleAnswer = RuleAnswer::Ignore(Ignored::User);
    const TEMP: RuleAnswer = RuleAnswer::Ignore(Ignored::Temp);
    const SYSTEM: RuleAnswer = RuleAnswer::Ignore(Ignored::System);
    const COUNTS: RuleAnswer = RuleAnswer::Default;

    #[test]
    fn defaults() {
        let rules = rules("");
        for (path, answer) in [
            ("/home/ann/app/src/a.c", COUNTS),
            ("/home/ann/app", COUNTS),
            ("/usr/lib/libc.so.6", COUNTS),
            ("/proc/self/maps", SYSTEM),
            ("/proc", SYSTEM),
            ("/process/x", COUNTS),
            ("/dev/null", SYSTEM),
            ("/dev/shm/x", TEMP),
            ("/tmp/x", TEMP),
            ("/tmp", TEMP),
            ("/tmpfoo", COUNTS),
            ("/var/tmp/x/y", TEMP),
            ("/run/user/1000/bus", TEMP),
            ("/run/foo.sock", COUNTS),
            ("/home/ann/app/.tamis/db", RuleAnswer::Ignore(Ignored::Store)),
            ("/home/ann/app/.tamisx", COUNTS),
            ("/home/ann/app/tmp/x", COUNTS),
        ] {
            assert_eq!(ask(&rules, path), answer, "{path}");
            let listed = rules.ignored_in_listing(Path::new(path));
            assert_eq!(listed, answer != COUNTS, "{path} in a listing");
        }
    }

    #[test]
    fn a_project_inside_a_temp_folder_counts() {
        let rules = rules_at("/tmp/w/x/app", Some("/tmp/w/home"), Some("/tmp/w/x/app/t"), "");
        assert_eq!(ask(&rules, "/tmp/w/x/app/a"), COUNTS);
        assert_eq!(ask(&rules, "/tmp/w/x/app"), COUNTS);
        assert_eq!(ask(&rules, "/tmp/w/home/.npmrc"), COUNTS);
        assert_eq!(ask(&rules, "/tmp/w/x/app/t/scratch"), TEMP);
        // Look-ups in the folders above the project, but not in the temp folder itself.
        assert_eq!(ask(&rules, "/tmp/w/package.json"), COUNTS);
        assert_eq!(ask(&rules, "/tmp/w/x/package.json"), COUNTS);
        assert_eq!(ask(&rules, "/tmp/package.json"), TEMP);
        assert_eq!(ask(&rules, "/tmp/w/other/file"), TEMP);
        assert_eq!(ask(&rules, "/tmp/w/x/apple/file"), TEMP);
    }

    #[test]
    fn odd_places() {
        // The whole file system is the project.
        let all = rules_at("/", Some("/root"), Some("/"), "");
        assert_eq!(ask(&all, "/etc/passwd"), COUNTS);
        assert_eq!(ask(&all, "/tmp/x"), TEMP);
        assert_eq!(ask(&all, "/proc/1"), SYSTEM);
        // The temp folder is the project, or the home folder: it counts.
        let temp = rules_at("/tmp", None, Some("/tmp"), "");
        assert_eq!(ask(&temp, "/tmp/x"), COUNTS);
        let home = rules_at("/srv/app", Some("/tmp"), None, "");
        assert_eq!(ask(&home, "/tmp/x"), COUNTS);
        let off = rules("[tamis]\ndefault-ignore = false");
        assert_eq!(ask(&off, "/proc/1"), COUNTS);
        assert_eq!(ask(&off, "/tmp/x"), COUNTS);
        assert_eq!(ask(&off, "/home/ann/app/.tamis"), RuleAnswer::Ignore(Ignored::Store));
    }

    #[test]
    fn ignore_patterns_and_their_anchors() {
        let rules = rules(
            "[tamis]\nignore = ['**/*.log', 'docs/**', 'build', './out/', '/opt/x/*', '~/.cache', '../sib/*.txt', 'a[b]c']",
        );
        for (path, answer) in [
            ("/home/ann/app/x.log", USER),
            ("/home/ann/app/a/b/x.log", USER),
            ("/home/ann/app/a/x.log/inside", USER),
            ("/var/x.log", COUNTS),
            ("/home/ann/app/docs/a/b", USER),
            ("/home/ann/app/docs", COUNTS),
            ("/home/ann/app/build", USER),
            ("/home/ann/app/build/x/y", USER),
            ("/home/ann/app/src/build", COUNTS),
            ("/home/ann/app/out/x", USER),
            ("/opt/x/a", USER),
            ("/opt/x", COUNTS),
            ("/home/ann/.cache/z", USER),
            ("/home/ann/sib/a.txt", USER),
            ("/home/ann/sib/a.c", COUNTS),
            ("/home/ann/app/abc", USER),
        ] {
            assert_eq!(ask(&rules, path), answer, "{path}");
            assert_eq!(rules.ignored_in_listing(Path::new(path)), answer != COUNTS, "{path}");
        }
    }

    #[test]
    fn pattern_characters_in_folder_names_are_plain() {
        let rules =
            rules_at("/srv/a[1]/app", Some("/h*me"), None, "[tamis]\nignore=['../x', '~/y', 'z']");
        assert_eq!(ask(&rules, "/srv/a[1]/x"), USER);
        assert_eq!(ask(&rules, "/srv/a1/x"), COUNTS);
        assert_eq!(ask(&rules, "/h*me/y"), USER);
        assert_eq!(ask(&rules, "/hoome/y"), COUNTS);
        assert_eq!(ask(&rules, "/srv/a[1]/app/z"), USER);
        let homeless = rules_at("/srv/app", None, None, "[tamis]\nignore=['~/y']");
        assert_eq!(ask(&homeless, "/srv/app/y"), COUNTS);
    }

    #[test]
    fn the_first_rule_wins_and_rules_come_before_filters() {
        let rules = rules(
            "[tamis]\nignore = ['conf/**']\n\
             [[rule]]\npath='conf/keep.xml'\nas='raw'\n\
             [[rule]]\npath='**/*.xml'\nprogram='xmllint'\nas='xml'\n\
             [[rule]]\npath='**/*.xml'\nprogram='/opt/*/bin/tool'\nas='text'\n\
             [[rule]]\npath='/tmp/counts'\nas='raw'\n\
             [[rule]]\npath='gen'\nas='ignore'\n\
             [[rule]]\npath='data/*'\nas={command=['./fp', '{}']}",
        );
        let by = |path: &str, program: &str| rules.scheme(Path::new(path), Path::new(program));
        let (lint, tool) = ("/usr/bin/xmllint", "/opt/v1/bin/tool");
        assert_eq!(by("/home/ann/app/conf/keep.xml", lint), RuleAnswer::As(Scheme::Raw));
        assert_eq!(by("/home/ann/app/a.xml", lint), RuleAnswer::As(Scheme::Xml));
        assert_eq!(by("/home/ann/app/a.xml", tool), RuleAnswer::As(Scheme::Text));
        assert_eq!(by("/home/ann/app/a.xml", "/usr/bin/cat"), COUNTS);
        assert_eq!(by("/home/ann/app/conf/b.xml", "/usr/bin/cat"), USER);
        assert_eq!(by("/tmp/counts", "/usr/bin/cat"), RuleAnswer::As(Scheme::Raw));
        assert_eq!(by("/home/ann/app/gen/x", "/usr/bin/cat"), USER);
        let RuleAnswer::As(scheme @ Scheme::Command(_)) = by("/home/ann/app/data/1", lint) else {
            panic!("no command scheme");
        };
        assert_eq!(rules.command(scheme), Some(["./fp".to_owned(), "{}".to_owned()].as_slice()));
        assert_eq!(rules.command(Scheme::Raw), None);
        let listed = |path: &str| rules.ignored_in_listing(Path::new(path));
        assert!(!listed("/home/ann/app/conf/keep.xml"));
        assert!(listed("/home/ann/app/conf/b.txt"));
        assert!(!listed("/home/ann/app/conf/b.xml"), "some program counts it");
        assert!(!listed("/tmp/counts"));
        assert!(listed("/home/ann/app/gen"));
    }

    #[test]
    fn a_rule_that_ignores_for_one_program_keeps_the_name_in_listings() {
        let rules = rules("[[rule]]\npath='a'\nprogram='p'\nas='ignore'");
        let a = Path::new("/home/ann/app/a");
        assert_eq!(rules.scheme(a, Path::new("/bin/p")), USER);
        assert_eq!(rules.scheme(a, Path::new("/bin/q")), COUNTS);
        assert!(!rules.ignored_in_listing(a));
    }

    #[test]
    fn python_byte_code() {
        let pyc = "/usr/lib/python3/__pycache__/os.cpython-312.pyc";
        let cache = "/usr/lib/python3/__pycache__";
        let on = rules("");
        assert_eq!(ask(&on, pyc), RuleAnswer::As(Scheme::Bytecode));
        assert_eq!(ask(&on, cache), RuleAnswer::Ignore(Ignored::Derived));
        assert!(on.ignored_in_listing(Path::new(cache)));
        assert_eq!(ask(&on, "/x/__pycache__/data.txt"), COUNTS);
        assert_eq!(ask(&on, "/x/legacy.pyc"), COUNTS);
        let off = rules("[tamis]\ndefault-rules = false");
        assert_eq!(ask(&off, pyc), COUNTS);
        assert!(!off.ignored_in_listing(Path::new(cache)));
        let own = rules("[[rule]]\npath='/usr/**/*.pyc'\nas='raw'");
        assert_eq!(ask(&own, pyc), RuleAnswer::As(Scheme::Raw));
    }

    #[test]
    fn the_index_of_git() {
        let on = rules("");
        for (path, is) in [
            ("/home/ann/app/.git/index", true),
            ("/home/ann/app/.git/worktrees/w/index", true),
            ("/home/ann/app/.git/modules/a/b/index", true),
            ("/home/ann/app/.git/modules/index", false),
            ("/home/ann/app/.git/worktrees/w/logs/index", false),
            ("/home/ann/app/.git/refs/heads/index", false),
            ("/home/ann/app/.git/index.lock", false),
            ("/home/ann/app/git/index", false),
            ("/home/ann/app/index", false),
        ] {
            let answer = if is { RuleAnswer::As(Scheme::GitIndex) } else { COUNTS };
            assert_eq!(ask(&on, path), answer, "{path}");
        }
        let off = rules("[tamis]\ndefault-rules = false");
        assert_eq!(ask(&off, "/home/ann/app/.git/index"), COUNTS);
    }

    #[test]
    fn what_makes_a_folder_a_virtual_environment() {
        let (on, off) = (rules(""), rules("[tamis]\ndefault-rules = false"));
        for path in ["/home/ann/app/.venv/pyvenv.cfg", "/opt/tools/pyvenv.cfg"] {
            assert_eq!(ask(&on, path), RuleAnswer::As(Scheme::Venv));
            assert_eq!(ask(&off, path), COUNTS);
        }
        assert_eq!(ask(&on, "/home/ann/app/pyvenv.cfg.old"), COUNTS);
        let own = rules("[[rule]]\npath='**/pyvenv.cfg'\nas='raw'");
        assert_eq!(ask(&own, "/home/ann/app/.venv/pyvenv.cfg"), RuleAnswer::As(Scheme::Raw));
    }

    #[test]
    fn names_that_are_not_utf8() {
        let rules = rules("[tamis]\nignore = ['**/*.log']");
        let path = Path::new(OsStr::from_bytes(b"/home/ann/app/\xff.log"));
        let program = Path::new(OsStr::from_bytes(b"/bin/\xfe"));
        assert_eq!(rules.scheme(path, program), USER);
    }

    #[test]
    fn conditions_narrow_a_rule() {
        let rules = rules(
            "[[rule]]\npath='**'\nif=\"name ends-with '.log' and not folder = 'keep'\"\nas='ignore'\n\
             [[rule]]\npath='**'\nif=\"program = 'lint' and extension = 'cfg'\"\nas='ignore'\n\
             [[rule]]\npath='gen/**'\nas={ignore-if=['grep', '-q', 'x', '{}']}",
        );
        let by = |path: &str, program: &str| {
            rules.scheme(&Path::new("/home/ann/app").join(path), Path::new(program))
        };
        assert_eq!(by("a/x.log", "/bin/cat"), USER);
        assert_eq!(by("keep/x.log", "/bin/cat"), COUNTS);
        assert_eq!(by("/var/x.log", "/bin/cat"), COUNTS, "a relative path glob is of the project");
        assert_eq!(by("a.cfg", "/bin/lint"), USER);
        assert_eq!(by("a.cfg", "/bin/cat"), COUNTS);
        assert!(matches!(by("gen/a", "/bin/cat"), RuleAnswer::As(Scheme::Filter(_))));
        let listed = |path: &str| rules.ignored_in_listing(&Path::new("/home/ann/app").join(path));
        assert!(listed("a/x.log") && !listed("keep/x.log"));
        assert!(!listed("a.cfg"), "who lists is not known");
        assert!(!listed("gen/a"), "a command is not asked for names");
    }

    proptest! {
        /// A name leaves a listing only if every program's look at it is ignored.
        #[test]
        fn listings_drop_only_what_does_not_count(
            parts in prop::collection::vec("(a|b|tmp|docs|gen|x\\.log|__pycache__|proc|app)", 1..5),
        ) {
            let rules = rules_at("/tmp/app", Some("/tmp/a"), None,
                "[tamis]\nignore=['docs', '**/*.log']\n\
                 [[rule]]\npath='a/**'\nprogram='p'\nas='raw'\n\
                 [[rule]]\npath='b/**'\nprogram='p'\nas='ignore'\n\
                 [[rule]]\npath='**/gen'\nas='ignore'");
            let path = PathBuf::from(format!("/{}", parts.join("/")));
            if rules.ignored_in_listing(&path) {
                for program in ["/bin/p", "/bin/q"] {
                    let answer = rules.scheme(&path, Path::new(program));
                    prop_assert!(matches!(answer, RuleAnswer::Ignore(_)), "{:?} {:?}", path, answer);
                }
            }
        }
    }
}
