//! JDKs, compiled Java, jars.
//!
//! javac costs most of a second per start, so [`Sources::compile`] takes many files at once and
//! keeps the classes below the build's target folder, under a name made of everything that goes in:
//! the compiler, its options and the sources. A second test run starts no JVM at all.

use crate::needs::not_tried;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use tamis_core::Hash;

/// A JDK with a compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    pub home: PathBuf,
    pub release: u32,
}

impl Jdk {
    fn at(home: &Path) -> Option<Self> {
        let home = home.canonicalize().ok()?;
        if !home.join("bin/javac").is_file() {
            return None;
        }
        let release = tamis_jdk::Release::of(&home)?.feature()?;
        Some(Self { home, release })
    }

    pub fn tool(&self, name: &str) -> PathBuf {
        self.home.join("bin").join(name)
    }
}

/// All JDKs of this machine, oldest first: `JAVA_HOME`, the one on the `PATH`, the usual folder.
pub fn jdks() -> Vec<Jdk> {
    let mut homes = Vec::new();
    homes.extend(std::env::var_os("JAVA_HOME").map(PathBuf::from));
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        if let Ok(javac) = folder.join("javac").canonicalize() {
            homes.extend(javac.parent().and_then(Path::parent).map(Path::to_path_buf));
        }
    }
    if let Ok(entries) = std::fs::read_dir("/usr/lib/jvm") {
        homes.extend(entries.flatten().map(|e| e.path()));
    }
    let mut found: Vec<Jdk> = homes.iter().filter_map(|home| Jdk::at(home)).collect();
    found.sort_by(|a, b| (a.release, &a.home).cmp(&(b.release, &b.home)));
    found.dedup_by(|a, b| a.home == b.home);
    found
}

/// The oldest JDK from 17 on.
pub fn jdk() -> Jdk {
    jdks()
        .into_iter()
        .find(|jdk| jdk.release >= 17)
        .expect("these tests need a JDK 17 or newer: set JAVA_HOME or put javac on the PATH")
}

/// Java sources by file name (`a/B.java`).
#[derive(Debug, Clone, Default)]
pub struct Sources {
    files: BTreeMap<String, String>,
    options: Vec<String>,
    classpath: Vec<PathBuf>,
}

impl Sources {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn file(mut self, name: &str, text: &str) -> Self {
        self.files.insert(name.into(), text.into());
        self
    }

    #[must_use]
    pub fn files(self, files: &[(&str, &str)]) -> Self {
        files.iter().fold(self, |all, (name, text)| all.file(name, text))
    }

    #[must_use]
    pub fn option(mut self, option: &str) -> Self {
        self.options.push(option.into());
        self
    }

    #[must_use]
    pub fn classpath(mut self, entry: &Path) -> Self {
        self.classpath.push(entry.into());
        self
    }

    #[must_use]
    pub fn classpaths(mut self, entries: &[PathBuf]) -> Self {
        self.classpath.extend_from_slice(entries);
        self
    }

    /// For this release of Java.
    #[must_use]
    pub fn release(self, release: u32) -> Self {
        self.option("--release").option(&release.to_string())
    }

    /// The folder with the classes. Do not write into it: other tests share it.
    pub fn compile(&self, jdk: &Jdk) -> PathBuf {
        let key = format!("{jdk:?} {self:?}");
        let kept = scratch_folder().join(format!("{:032x}", Hash::of(key.as_bytes()).0));
        if kept.is_dir() {
            return kept;
        }
        let work = tempfile::tempdir_in(scratch_folder()).expect("a folder to compile in");
        let source = work.path().join("source");
        let classes = work.path().join("classes");
        std::fs::create_dir_all(&classes).expect("a folder for classes");
        let mut command = Command::new(jdk.tool("javac"));
        command.args(["-nowarn", "-proc:none", "-d"]).arg(&classes).args(&self.options);
        let path = std::env::join_paths(&self.classpath).expect("a classpath");
        command.arg("-cp").arg(if path.is_empty() { ".".into() } else { path });
        for (name, text) in &self.files {
            let file = source.join(name);
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("a source folder");
            std::fs::write(&file, text).expect("a source file");
            command.arg(file);
        }
        let output = command.current_dir(work.path()).output().expect("javac starts");
        assert!(output.status.success(), "javac: {}", String::from_utf8_lossy(&output.stderr));
        // Somebody else may have been faster; their classes are the same.
        if std::fs::rename(&classes, &kept).is_err() {
            assert!(kept.is_dir(), "the compiled classes could not be kept");
        }
        kept
    }
}

/// Below the target folder of this build.
fn scratch_folder() -> PathBuf {
    let exe = std::env::current_exe().expect("the path of this program");
    let target = exe
        .ancestors()
        .find(|a| a.join("CACHEDIR.TAG").is_file())
        .map_or_else(std::env::temp_dir, Path::to_path_buf);
    let folder = target.join("test-java");
    std::fs::create_dir_all(&folder).expect("a folder below target");
    folder
}

/// A jar from the user's Maven repositories, copied once; None where Maven or the network are
/// missing. `coordinates` are `group:artifact:version`.
pub fn artifact(coordinates: &str) -> Option<PathBuf> {
    let mut parts = coordinates.split(':').skip(1);
    let (name, version) = (parts.next()?, parts.next()?);
    let folder = scratch_folder().join("artifacts").join(coordinates.replace(':', "_"));
    let jar = folder.join(format!("{name}-{version}.jar"));
    if jar.is_file() {
        return Some(jar);
    }
    let status = Command::new("mvn")
        .args(["-q", "-B", "dependency:copy", "-Dmdep.useBaseVersion=true"])
        .arg(format!("-Dartifact={coordinates}"))
        .arg(format!("-DoutputDirectory={}", folder.display()))
        .current_dir(scratch_folder())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .ok()?;
    (status.success() && jar.is_file()).then_some(jar)
}

/// Several of them; the test is not tried where one cannot be had.
pub fn jars(coordinates: &[&str]) -> Option<Vec<PathBuf>> {
    let jars: Option<Vec<_>> = coordinates.iter().map(|c| artifact(c)).collect();
    if jars.is_none() {
        not_tried(&format!("{} (scripts/test fetches them)", coordinates.join(", ")));
    }
    jars
}

/// Compiled classes in front of jars.
pub fn classpath_of(classes: &Path, jars: &[PathBuf]) -> Vec<PathBuf> {
    std::iter::once(classes.to_path_buf()).chain(jars.iter().cloned()).collect()
}

/// Unpacks a jar with the JDK's own tool, once; the folder is shared.
pub fn unpacked(jar: &Path) -> PathBuf {
    let folder = jar.with_extension("unpacked");
    if folder.is_dir() {
        return folder;
    }
    let work = tempfile::tempdir_in(scratch_folder()).expect("a folder to unpack in");
    let status = Command::new(jdk().tool("jar"))
        .arg("xf")
        .arg(jar)
        .current_dir(work.path())
        .status()
        .expect("jar starts");
    assert!(status.success(), "jar could not unpack {}", jar.display());
    if std::fs::rename(work.path(), &folder).is_err() {
        assert!(folder.is_dir(), "the unpacked classes could not be kept");
    }
    folder
}

/// All class files below a folder, sorted, with their path below it.
pub fn class_files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    files(folder, ".class")
}

/// The sources of one of `fixtures/figures`: of its `project`, or of its `library`.
pub fn figure(number: u32, part: &str) -> Vec<(String, String)> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/figures");
    let sources = files(&all.join(number.to_string()).join(part), ".java").into_iter();
    sources.map(|(name, text)| (name, String::from_utf8(text).expect("text"))).collect()
}

fn files(folder: &Path, ending: &str) -> Vec<(String, Vec<u8>)> {
    fn walk(folder: &Path, prefix: &str, ending: &str, out: &mut Vec<(String, Vec<u8>)>) {
        for entry in std::fs::read_dir(folder).expect("a readable folder").flatten() {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                walk(&entry.path(), &format!("{name}/"), ending, out);
            } else if name.ends_with(ending) {
                out.push((name, std::fs::read(entry.path()).expect("a readable file")));
            }
        }
    }
    let mut out = Vec::new();
    walk(folder, "", ending, &mut out);
    out.sort();
    out
}
