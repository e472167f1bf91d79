//! The folder and the environment of a command, and the settings of Go in them.
//!
//! A setting is the variable, or if that is empty the line in the file of `go env -w`. The defaults of the
//! installation (`$GOROOT/go.env`) are not read here; distributions set proxies and the choice of the
//! toolchain in it, and [`list`](crate::list) asks go itself for those.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where and with which environment a command is started.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    folder: PathBuf,
    variables: BTreeMap<OsString, OsString>,
}

impl Surroundings {
    pub fn new(
        folder: impl Into<PathBuf>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        Self { folder: folder.into(), variables: variables.into_iter().collect() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.variables
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let value = self.variables.get(OsStr::new(name)).map(OsString::as_os_str);
        value.filter(|value| !value.is_empty())
    }

    /// The file of `go env -w`; `None` where there can be none.
    pub fn settings_file(&self) -> Option<PathBuf> {
        match self.variable("GOENV") {
            Some(off) if off == "off" => None,
            Some(file) => Some(PathBuf::from(file)),
            None => Some(self.config_folder()?.join("go/env")),
        }
    }

    pub(crate) fn config_folder(&self) -> Option<PathBuf> {
        self.folder_or("XDG_CONFIG_HOME", ".config")
    }

    pub(crate) fn cache_folder(&self) -> Option<PathBuf> {
        self.folder_or("XDG_CACHE_HOME", ".cache")
    }

    fn folder_or(&self, variable: &str, in_home: &str) -> Option<PathBuf> {
        let home = || Some(Path::new(self.variable("HOME")?).join(in_home));
        self.variable(variable).map(PathBuf::from).or_else(home)
    }

    /// A setting of Go; `None` where neither the variable nor the file sets it.
    pub fn setting(&self, name: &str) -> Option<String> {
        let own = self.variable(name).map(|value| value.to_string_lossy().into_owned());
        own.or_else(|| {
            let text = std::fs::read(self.settings_file()?).ok()?;
            last_setting(&String::from_utf8_lossy(&text), name)
        })
    }

    /// The program that a word names, as the shell and go look for it.
    pub(crate) fn program(&self, word: &str) -> Option<PathBuf> {
        if word.contains('/') {
            return Some(self.folder.join(word));
        }
        let path = self.variable("PATH")?;
        let folders = path.as_bytes().split(|byte| *byte == b':').map(OsStr::from_bytes);
        folders.map(|folder| self.folder.join(folder).join(word)).find(|file| is_program(file))
    }
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

fn last_setting(text: &str, name: &str) -> Option<String> {
    let mut pairs = text.lines().filter_map(|line| line.split_once('='));
    let value = pairs.rfind(|(key, _)| *key == name)?.1;
    Some(value.to_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(variables: &[(&str, &str)]) -> Surroundings {
        Surroundings::new("/p", variables.iter().map(|(n, v)| (n.into(), v.into())))
    }

    #[test]
    fn the_variable_comes_before_the_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("go")).unwrap();
        std::fs::write(folder.path().join("go/env"), "#x\nGOFLAGS=-race\nGOFLAGS=-v\n").unwrap();
        let config = folder.path().to_str().unwrap();
        let setting = |more: &[(&str, &str)]| {
            at(&[&[("XDG_CONFIG_HOME", config)], more].concat()).setting("GOFLAGS")
        };
        assert_eq!(setting(&[]).as_deref(), Some("-v"));
        assert_eq!(setting(&[("GOFLAGS", "")]).as_deref(), Some("-v"));
        assert_eq!(setting(&[("GOFLAGS", "-x")]).as_deref(), Some("-x"));
        assert_eq!(setting(&[("GOENV", "off")]), None);
        assert_eq!(setting(&[("GOENV", "/nowhere")]), None);
    }

    #[test]
    fn folders_of_the_user() {
        assert_eq!(at(&[("HOME", "/h")]).settings_file().unwrap(), Path::new("/h/.config/go/env"));
        assert_eq!(at(&[]).settings_file(), None);
        assert_eq!(at(&[("HOME", "/h")]).cache_folder().unwrap(), Path::new("/h/.cache"));
    }

    #[test]
    fn programs_of_the_path() {
        let at = at(&[("PATH", "/nowhere:/bin")]);
        assert_eq!(at.program("sh").unwrap(), Path::new("/bin/sh"));
        assert_eq!(at.program("no-such-program"), None);
        assert_eq!(at.program("./x").unwrap(), Path::new("/p/./x"));
    }
}
