//! A small Java project that is compiled here and run by a runner of tests under tamis.
//!
//! Jars come from the user's Maven repository, where `scripts/test` puts them. Which test classes ran
//! is reported twice: by tamis's decisions, and by the program itself, which writes a line for each
//! test that runs ([`LOG`]).

use crate::call::Call;
use crate::java::{Jdk, jars, jdk};
use crate::project::Project;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The jars of JUnit 4.
pub const JUNIT4: [&str; 2] = ["junit:junit:4.13.2", "org.hamcrest:hamcrest-core:1.3"];

/// What a test calls to say that it runs.
const LOG: &str = "package a; public class Log {
    public static void ran(String what) {
        System.err.println(\"ran: \" + what);
    } }";

impl Project {
    /// With sources below `src` and classes in `classes`; `None` where the jars cannot be had.
    pub fn java(artifacts: &[&str]) -> Option<Self> {
        let jars = jars(artifacts)?;
        let jdk = jdk();
        let mut path = OsString::from(jdk.home.join("bin"));
        path.push(":/usr/bin:/bin");
        let mut project = Self::named("a project");
        project.set("PATH", path);
        project.set("JAVA_HOME", &jdk.home);
        (project.jdk, project.jars) = (Some(jdk), jars);
        for folder in [".git", "classes"] {
            fs::create_dir_all(project.path(folder)).expect("a folder");
        }
        project.write("src/a/Log.java", LOG);
        Some(project)
    }

    pub fn jdk(&self) -> &Jdk {
        self.jdk.as_ref().expect("a project with Java")
    }

    pub fn jars(&self) -> String {
        let texts: Vec<String> = self.jars.iter().map(|jar| jar.display().to_string()).collect();
        texts.join(":")
    }

    pub fn jar(&self, n: usize) -> String {
        self.jars[n].display().to_string()
    }

    /// Compiles all sources, as a build without any cleverness does.
    pub fn compile(&self) -> &Self {
        self.compile_folder("src", "classes");
        self
    }

    fn compile_folder(&self, from: &str, to: &str) {
        let mut sources = Vec::new();
        java_files(&self.path(from), &mut sources);
        let output = self
            .command(self.jdk().tool("javac"))
            .args(["-nowarn", "-proc:none", "-parameters", "-d", to, "-cp"])
            .arg(self.jars())
            .args(&sources)
            .output()
            .expect("javac starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Makes a jar of the sources in a folder and adds it to the classpath.
    pub fn add_library(&mut self, sources: &str) {
        // Outside of the project: a jar inside counts as a part of it.
        let (classes, jar) = (format!("{sources}-classes"), self.beside("library.jar"));
        self.compile_folder(sources, &classes);
        let mut pack = self.command(self.jdk().tool("jar"));
        let output = pack.arg("cf").arg(&jar).args(["-C", &classes, "."]).output();
        assert!(output.expect("jar starts").status.success(), "a jar of {sources}");
        self.jars.push(jar);
    }

    /// The command as a user calls it; nothing changed means that it is not started.
    pub fn call(&self, words: &[&str]) -> Call {
        self.call_with(&[], words)
    }

    /// The same with the command started in any case.
    pub fn inside(&self, words: &[&str]) -> Call {
        self.call_with(&["--no-command-skip"], words)
    }

    /// The same with these options.
    pub fn call_with(&self, options: &[&str], words: &[&str]) -> Call {
        let all = [&["--json"], options, words].concat();
        let command = words.join(" ");
        let program = command.split(' ').next().unwrap_or_default();
        Call { tests_say: true, ..Call::read(&self.tamis(&all), program) }
    }
}

/// A class of JUnit 4 with one test, which expects a number of a method of `a.Thing`.
pub fn junit4_test(class: &str, method: &str, expected: u32) -> String {
    format!(
        "package a; public class {class} {{ @org.junit.Test public void it() {{
        Log.ran(\"{class}\"); org.junit.Assert.assertEquals({expected}, new Thing().{method}()); }} }}"
    )
}

fn java_files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            java_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "java") {
            out.push(path);
        }
    }
    out.sort();
}
