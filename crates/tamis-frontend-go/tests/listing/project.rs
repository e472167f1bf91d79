//! A project in a temporary folder, and what changes in its listing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tamis_frontend_go::{Claim, GoError, GoTest, Listing, Surroundings, claim, list};
use tamis_fs::{Fingerprinter, Options};

pub(crate) struct Project {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) top: PathBuf,
    pub(crate) words: String,
    pub(crate) more: Vec<(OsString, OsString)>,
}

/// A test file with one passing test.
pub(crate) const TEST: &str = "import \"testing\"\n\nfunc TestIt(t *testing.T) {}\n";

impl Project {
    /// `None` where go is missing.
    pub(crate) fn new(files: &[(&str, &str)]) -> Option<Self> {
        if Command::new("go").arg("version").output().is_err() {
            eprintln!("not tried: go is missing");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("p");
        let project = Self { dir, top, words: "go test ./...".into(), more: Vec::new() };
        project.write_all(files);
        Some(project)
    }

    pub(crate) fn command(mut self, words: &str) -> Self {
        self.words = words.into();
        self
    }

    pub(crate) fn variable(&mut self, name: &str, value: &str) {
        self.more.push((name.into(), value.into()));
    }

    pub(crate) fn write_all(&self, files: &[(&str, &str)]) {
        files.iter().for_each(|(path, text)| self.write(path, text));
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let file = self.top.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.top.join(path)).unwrap();
    }

    pub(crate) fn at(&self) -> Surroundings {
        let mut variables: Vec<(OsString, OsString)> = Vec::from([
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            ("HOME".into(), self.dir.path().join("home").into()),
            ("GOCACHE".into(), Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache").into()),
        ]);
        let fixed = [("GOPROXY", "off"), ("GOTOOLCHAIN", "local"), ("GOFLAGS", "-mod=mod")];
        variables.extend(fixed.map(|(name, value)| (name.into(), value.into())));
        variables.extend(self.more.iter().cloned());
        Surroundings::new(&self.top, variables)
    }

    pub(crate) fn test(&self) -> GoTest {
        let words: Vec<OsString> = self.words.split(' ').map(OsString::from).collect();
        match claim(&words, &self.at()) {
            Claim::Packages(test) => test,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn try_list(&self) -> Result<Listing, GoError> {
        // What was written in the last tick would make the listing unsettled.
        std::thread::sleep(Duration::from_millis(40));
        list(&self.test(), &self.at(), &fingerprinter())
    }

    pub(crate) fn list(&self) -> Listing {
        self.try_list().unwrap()
    }

    pub(crate) fn refresh(&self, listing: &Listing) -> Result<Listing, String> {
        let kept = Listing::load(&listing.save().unwrap()).unwrap();
        let refreshed = kept.refresh(&self.test(), &self.at(), &fingerprinter());
        refreshed.map_err(|moved| moved.to_string())
    }

    /// The packages whose inputs an edit changes. In passing: a listing that holds by itself says the same
    /// as go does.
    pub(crate) fn changed(&self, edit: impl FnOnce(&Self)) -> Vec<String> {
        let before = self.list();
        assert!(self.refresh(&before).is_ok_and(|same| same == before), "it holds without an edit");
        edit(self);
        let after = self.list();
        if let Ok(refreshed) = self.refresh(&before) {
            let different: Vec<&str> = refreshed.changed(&after).collect();
            assert!(different.is_empty(), "kept listing is wrong about {different:?}");
        }
        short(after.changed(&before))
    }

    pub(crate) fn changed_by_write(&self, path: &str, text: &str) -> Vec<String> {
        self.changed(|project| project.write(path, text))
    }
}

pub(crate) fn fingerprinter() -> Fingerprinter {
    Fingerprinter::new(Options::default())
}

/// Without the module's path.
pub(crate) fn short<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.map(|name| name.strip_prefix("ex.org/m/").unwrap_or(name).to_owned()).collect()
}

pub(crate) fn test_of(package: &str) -> String {
    format!("package {package}\n\n{TEST}")
}

pub(crate) fn names(listing: &Listing) -> Vec<String> {
    short(listing.packages().iter().map(|package| package.import_path.as_str()))
}

/// util <- core <- app; app's external tests use helper, which uses core; alone has nothing to do with them;
/// notests imports util.
pub(crate) fn module() -> Option<Project> {
    let external = format!("package app_test\n\nimport _ \"ex.org/m/helper\"\n{TEST}");
    Project::new(&[
        ("go.mod", "module ex.org/m\n\ngo 1.21\n"),
        ("util/util.go", "package util\n\nfunc U() int { return 1 }\n"),
        ("util/util_test.go", &test_of("util")),
        ("core/core.go", "package core\n\nimport _ \"ex.org/m/util\"\n"),
        ("core/core_test.go", &test_of("core")),
        ("app/app.go", "package app\n\nimport _ \"ex.org/m/core\"\n"),
        ("app/app_test.go", &external),
        ("helper/helper.go", "package helper\n\nimport _ \"ex.org/m/core\"\n"),
        ("alone/alone.go", "package alone\n"),
        ("alone/alone_test.go", &test_of("alone")),
        ("notests/notests.go", "package notests\n\nimport _ \"ex.org/m/util\"\n"),
    ])
}
