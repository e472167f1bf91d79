//! The property above all: **no test is skipped whose output would differ**.
//!
//! A generated project of small shell tests is edited at random. In each round every test is really
//! run outside of tamis, in a fresh copy of the tree as it is now, leftovers included. A test that
//! tamis would skip must print exactly what the run printed whose record proves the skip, and end
//! with the same code, there or in that tree without what the test itself left behind.
//!
//! `TAMIS_PROPERTY_ROUNDS` and `TAMIS_SEED` make it longer or repeat a run. What the tests
//! do not look at, because tamis says that it does not count: times, owners, and permissions other
//! than "may be executed".

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tamis_testkit::{Ended, Project, Random, copy_tree, ended, for_each_seed, rounds};

const TESTS: usize = 12;

/// Names of files; some are there, some come later, some become folders.
const FILES: &[&str] = &[
    "data/a",
    "data/b",
    "data/c",
    "data/d",
    "data/sub/a",
    "data/sub/b",
    "data/sub/deep/a",
    "conf/x",
    "conf/y",
    "top",
    "maybe",
    "maybe/in",
    "maybe/in/deeper",
    "lib/one.sh",
    "lib/two.sh",
    "bin/one",
    "bin/two",
    "links/target",
    "sp ace",
    "data/new\nline",
];
const FOLDERS: &[&str] = &["data", "data/sub", "conf", "maybe", "links", "lib", ".", "empty"];
const LINKS: &[&str] = &["links/file", "links/folder", "data/link", "links/chain"];
const TARGETS: &[&str] = &[
    "../data/a",
    "../data/b",
    "../data/sub",
    "../conf",
    "file",
    "folder",
    "nowhere",
    "../top",
    "a",
];
const VARIABLES: &[&str] = &["FIRST", "SECOND"];

/// Lines of a test. `{f}` a file, `{d}` a folder, `{l}` a link, `{v}` a variable, `{t}` the test.
const LINES: &[&str] = &[
    "cat '{f}'",
    "cat '{f}' '{f}'",
    "wc -c < '{f}'",
    "while read -r line; do echo \"got $line\"; done < '{f}'",
    "for x in '{d}'/*; do echo \"$x\"; done",
    "ls -a '{d}'",
    "ls -F '{d}'",
    "find '{d}' -type f | sort",
    "find '{d}' -name 'a*' -exec cat '{}' ';' | sort",
    "[ -e '{f}' ] && echo there || echo missing",
    "[ -f '{f}' ] && echo file || echo none",
    "[ -d '{f}' ] && echo folder || echo none",
    "[ -x '{f}' ] && echo may run || echo may not",
    "[ -s '{f}' ] && echo full || echo empty",
    "[ -L '{l}' ] && echo link || echo none",
    "[ -d '{l}' ] && echo folder || echo none",
    "readlink '{l}'",
    "cat '{l}'",
    "cat '{l}/a'",
    "ls -a '{l}/'",
    "cp '{l}' /dev/stdout",
    "[ -f lib/one.sh ] && . ./lib/one.sh",
    "[ -f lib/two.sh ] && . lib/two.sh",
    "./bin/one",
    "PATH=bin:$PATH; two",
    "sh bin/two",
    "echo \"${{v}-unset}\"",
    "env | grep '^{v}='",
    "cmp -s '{f}' '{f}' && echo same || echo different",
    "(cd '{d}' && cat a)",
    "t=$(mktemp) && cat '{f}' > \"$t\"; cat \"$t\"; rm -f \"$t\"",
    "mkdir -p 'left/{t}' && cat '{f}' > 'left/{t}/copy'; cat 'left/{t}/copy'",
    "mkdir -p 'left/{t}/a/b' && echo x > 'left/{t}/a/b/c' && find 'left/{t}/a' | sort",
    "echo mine > 'made-{t}' && cat 'made-{t}'",
    "echo x > 'maybe/made-{t}' && echo wrote || echo no place",
    "echo x > 'empty/made-{t}' && echo wrote || echo no place",
    "mkdir 'maybe/folder-{t}' 2>/dev/null; [ -d 'maybe/folder-{t}' ] && echo made || echo no place",
    "mkdir -p 'left/{t}' && ln -sfn '../../{d}' 'left/{t}/link' && ls -a 'left/{t}/link/'",
    "mkdir -p 'left/{t}' && cp '{f}' 'left/{t}/moved' && mv -f 'left/{t}/moved' 'left/{t}/to'",
    "rm -rf 'left/{t}/tmp' && mkdir -p 'left/{t}/tmp' && cp '{f}' 'left/{t}/tmp'; ls 'left/{t}/tmp'",
    "echo x > 'left-{t}.tmp' && rm 'left-{t}.tmp'",
    "sh -c 'cat \"$1\" | tr a-z A-Z' sh '{f}'",
    "sort '{f}' '{f}' | uniq -c",
    "grep -rl content '{d}' | sort",
];

struct World {
    project: Project,
    random: Random,
    /// States of the tree that can come back.
    snapshots: Vec<PathBuf>,
    /// What was printed by the run behind each record.
    printed: HashMap<u64, Printed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Printed {
    code: i64,
    output: String,
}

impl World {
    fn new(seed: u64) -> Self {
        let project = Project::new();
        project.write(
            "tamis.toml",
            "[[suite]]\nname = \"s\"\neach = \"tests/*.sh\"\nrun = \"sh {}\"\njobs = 1\n",
        );
        let mut world = Self {
            project,
            random: Random::new(seed),
            snapshots: Vec::new(),
            printed: HashMap::new(),
        };
        fs::create_dir(world.project.path("empty")).expect("a folder");
        for _ in 0..25 {
            world.add_file();
        }
        for _ in 0..4 {
            world.swap_link();
        }
        for n in 0..TESTS {
            world.write_test(n);
        }
        world
    }

    fn write_test(&mut self, n: usize) {
        let mut text = String::from("exec 2>&1\n");
        for _ in 0..3 + self.random.below(4) {
            let mut line = self.random.one(LINES).to_owned();
            while line.contains("{f}") {
                line = line.replacen("{f}", self.random.one(FILES), 1);
            }
            while line.contains("{d}") {
                line = line.replacen("{d}", self.random.one(FOLDERS), 1);
            }
            line = line.replace("{l}", self.random.one(LINKS));
            line = line.replace("{v}", self.random.one(VARIABLES));
            line = line.replace("{t}", &n.to_string());
            let _ = writeln!(text, "{line}");
        }
        // A test that fails runs every time: that would prove little.
        let _ = writeln!(text, "exit {}", usize::from(self.random.below(12) == 0));
        self.project.write(format!("tests/{n:02}.sh"), text);
    }

    fn content(&mut self, file: &str) -> String {
        let n = self.random.below(6);
        match (file, self.random.below(3)) {
            ("bin/one" | "bin/two", 0) => format!("#!/bin/sh\necho run {n}\n"),
            ("bin/one" | "bin/two", 1) => {
                format!("#!/bin/sh\ncat '{}'\n", self.random.one(FILES))
            }
            ("bin/one" | "bin/two", _) => "#!/bin/sh\nls data\n".into(),
            ("lib/one.sh", 0) => "[ -f lib/two.sh ] && . ./lib/two.sh\n".into(),
            ("lib/one.sh" | "lib/two.sh", 1) => format!("cat '{}'\n", self.random.one(FILES)),
            ("lib/one.sh" | "lib/two.sh", _) => format!("echo content {n}\n"),
            // Often of the same length: a size alone must not be enough.
            (_, 0) => format!("content {n}\n"),
            (_, 1) => format!("other {n}\nlines {n}\n"),
            _ => "\n".repeat(n),
        }
    }

    /// Writes a file, where its folder can be made.
    fn add_file(&mut self) {
        let file = self.random.one(FILES);
        let content = self.content(file);
        let path = self.project.path(file);
        let _ = fs::create_dir_all(path.parent().expect("in a folder"));
        let executable = content.starts_with("#!");
        if fs::write(&path, content).is_ok() && executable {
            let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o755));
        }
    }

    fn swap_link(&mut self) {
        let link = self.project.path(self.random.one(LINKS));
        let _ = fs::create_dir_all(link.parent().expect("in a folder"));
        let _ = fs::remove_file(&link);
        let _ = symlink(self.random.one(TARGETS), link);
    }

    /// One random edit; in words. An edit that is not possible now is none.
    fn edit(&mut self) -> String {
        let file = self.random.one(FILES);
        let path = self.project.path(file);
        match self.random.below(14) {
            0..4 => {
                self.add_file();
                "write a file".into()
            }
            4 => {
                let _ = fs::remove_file(&path);
                format!("remove {file:?}")
            }
            5 => {
                let to = self.random.one(FILES);
                let _ = fs::rename(&path, self.project.path(to));
                format!("rename {file:?} to {to:?}")
            }
            6 => {
                let mode = if self.random.below(2) == 0 { 0o644 } else { 0o755 };
                if path.is_file() {
                    let _ = fs::set_permissions(&path, fs::Permissions::from_mode(mode));
                }
                format!("chmod {mode:o} {file:?}")
            }
            7 => {
                self.swap_link();
                "swap a link".into()
            }
            8 => {
                if let Ok(content) = fs::read(&path) {
                    let _ = fs::write(&path, content);
                }
                format!("touch {file:?}")
            }
            9 => {
                if path.is_file() {
                    self.project.remove(file);
                    self.project.write(path.join("in"), "content of a folder\n");
                }
                format!("a folder in the place of {file:?}")
            }
            10 => {
                let folder = self.random.one(FOLDERS);
                let whole = matches!(folder, "." | "lib");
                if !whole && self.project.path(folder).is_dir() {
                    self.project.remove(folder);
                    if self.random.below(2) == 0 {
                        self.project.write(folder, "a file in the place of a folder\n");
                    }
                }
                format!("remove the folder {folder:?}, or put a file there")
            }
            11 => {
                let name = self.random.one(VARIABLES);
                match self.random.below(3) {
                    0 => self.project.unset(name),
                    n => self.project.set(name, n.to_string()),
                }
                format!("variable {name}")
            }
            12 => {
                for name in ["left", "maybe/made-1", "made-2"] {
                    let path = self.project.path(name);
                    let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
                }
                "clean".into()
            }
            _ => self.edit_rarely(),
        }
    }

    fn edit_rarely(&mut self) -> String {
        match self.random.below(3) {
            0 => {
                let n = self.random.below(TESTS);
                self.write_test(n);
                format!("another test {n}")
            }
            1 => {
                let snapshot = self.project.beside(&format!("snapshot-{}", self.snapshots.len()));
                copy_tree(&self.project.path("."), &snapshot);
                self.snapshots.push(snapshot);
                "keep this state".into()
            }
            _ if self.snapshots.is_empty() => "nothing".into(),
            _ => {
                let n = self.random.below(self.snapshots.len());
                let root = self.project.path("");
                fs::remove_dir_all(&root).expect("a tree to replace");
                copy_tree(&self.snapshots[n], &root);
                format!("back to kept state {n}")
            }
        }
    }

    /// What every test prints if it is run now.
    fn truth(&self) -> BTreeMap<String, Printed> {
        let tests: Vec<String> = (0..TESTS).map(|n| format!("tests/{n:02}.sh")).collect();
        let run = |test: &String| {
            let copy = self.project.beside(&format!("copy-{}", test.replace('/', "-")));
            copy_tree(&self.project.path("."), &copy);
            let printed = self.printed_in(&copy, test);
            fs::remove_dir_all(&copy).expect("a copy to remove");
            (test.clone(), printed)
        };
        let (first, second) = tests.split_at(TESTS / 2);
        std::thread::scope(|scope| {
            let half = scope.spawn(|| first.iter().map(run).collect::<Vec<_>>());
            let rest: Vec<_> = second.iter().map(run).collect();
            half.join().expect("runs").into_iter().chain(rest).collect()
        })
    }

    /// What a test prints in a tree without what it left behind itself: that must not make it run.
    fn without_own_leftovers(&self, test: &str) -> Printed {
        let copy = self.project.beside("copy-without-leftovers");
        copy_tree(&self.project.path("."), &copy);
        let n: usize = test[6..8].parse().expect("a number");
        let made = ["left/@", "made-@", "maybe/made-@", "empty/made-@", "maybe/folder-@", "left"];
        for name in made.map(|name| copy.join(name.replace('@', &n.to_string()))) {
            if name.ends_with("left") {
                let _ = fs::remove_dir(&name);
            } else {
                let _ = fs::remove_dir_all(&name).or_else(|_| fs::remove_file(&name));
            }
        }
        let printed = self.printed_in(&copy, test);
        fs::remove_dir_all(&copy).expect("a copy to remove");
        printed
    }

    fn printed_in(&self, folder: &Path, test: &str) -> Printed {
        let got = ended(self.project.command("sh").arg(test).current_dir(folder));
        let output = String::from_utf8_lossy(&got.stdout).into_owned();
        Printed { code: i64::from(got.code), output }
    }

    /// Runs what is selected and remembers what it printed, by record.
    fn run(&mut self) -> Ended {
        let junit = self.project.beside("junit.xml");
        let junit = junit.to_str().expect("text");
        let got = self.project.tamis(&["--json", "--quiet", "--junit", junit]);
        let mut newest: HashMap<String, u64> = HashMap::new();
        for line in self.project.tamis(&["--json", "status"]).lines() {
            // The last line is what all calls saved together.
            let Some(name) = line["test"].as_str() else { continue };
            let name = name.trim_start_matches("s::").to_owned();
            newest.extend(line["last"]["record"].as_u64().map(|record| (name, record)));
        }
        for line in got.events("finished") {
            let name = line["name"].as_str().expect("a name");
            let output = line["output"].as_str().unwrap_or_default().to_owned();
            let code = line["exit_code"].as_i64().unwrap_or(0);
            self.printed.insert(newest[name], Printed { code, output });
        }
        got
    }

    /// The property, for the state of now.
    fn check(&self, seed: u64, history: &[String]) {
        let truth = self.truth();
        let got = self.project.tamis(&["--json", "select"]);
        let decisions = got.events("decision");
        assert_eq!(decisions.len(), TESTS, "{}", got.stderr);
        for line in decisions.iter().filter(|l| l["decision"] == "skip") {
            let name = line["name"].as_str().expect("a name");
            let record = line["record"].as_u64().expect("a record");
            let would = &truth[name];
            let did = self.printed.get(&record).unwrap_or_else(|| panic!("no record {record}"));
            if would == did || self.without_own_leftovers(name) == *did {
                continue;
            }
            let script = self.project.read(name);
            panic!(
                "seed {seed}: {name} would be skipped by record {record}, but its output differs\n\
                 --- test\n{script}--- then ({})\n{}--- now ({})\n{}--- edits\n{}",
                did.code,
                did.output,
                would.code,
                would.output,
                history.join("\n")
            );
        }
    }
}

/// Runs until nothing but failing and incompletely observed tests is selected; a test may be
/// selected again because a later one left a file in a folder that it lists.
fn settle(world: &mut World, seed: u64) {
    for _ in 0..5 {
        world.run();
        let selected = world.project.select(&[]);
        let changed = selected.values().filter(|d| d.runs && d.cause == "changed").count();
        if changed == 0 {
            return;
        }
    }
    let selected = world.project.select(&[]);
    let changed: Vec<_> = selected.iter().filter(|(_, d)| d.cause == "changed").collect();
    panic!("seed {seed}: the same state selects again and again: {changed:#?}");
}

#[test]
fn no_test_is_skipped_whose_output_would_differ() {
    // A new project from time to time: its tests decide what can be found at all.
    for_each_seed(0x7a31, rounds(30), 20, one_project);
}

fn one_project(seed: u64, rounds: u64) {
    let mut world = World::new(seed);
    let mut history = Vec::new();
    settle(&mut world, seed);
    for round in 0..rounds {
        for _ in 0..1 + world.random.below(3) {
            let edit = world.edit();
            history.push(format!("{round}: {edit}"));
        }
        world.check(seed, &history);
        if world.random.below(3) > 0 {
            settle(&mut world, seed);
            world.check(seed, &history);
        }
    }
    assert!(Path::new(&world.project.path("tamis.toml")).exists());
}
