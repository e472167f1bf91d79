//! The modules of a project: from folders that the user names, else from its Maven build.

use crate::definitions::{Configuration, TestModule};
use crate::maven::{self, MavenBuild, MavenError};
use crate::run_surroundings;
use crate::test_naming::Naming;
use std::path::{Path, PathBuf};

/// Where classes are, as the user says it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    pub classes: Vec<PathBuf>,
    pub test_classes: Vec<PathBuf>,
    pub classpath: Vec<PathBuf>,
    /// The Maven to ask for classpaths; `./mvnw`, else `mvn`, where it is not given.
    pub mvn: Option<String>,
    /// Profiles and properties, as Maven takes them.
    pub maven_words: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error("{} is not a folder; compile first, or name another one", .0.display())]
    NotAFolder(PathBuf),
    #[error(
        "no pom.xml here: give --test-classes DIR, --classes DIR and --classpath PATHS, or change to the folder of a \
         Maven project"
    )]
    NoPom,
    #[error(transparent)]
    Maven(#[from] MavenError),
}

/// Who asks: the project's root, the folder that the user is in, the user's own folder.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub root: &'a Path,
    pub folder: &'a Path,
    pub home: Option<&'a Path>,
}

impl Places {
    /// The modules; `cache` is a folder for what Maven answers.
    pub fn modules(&self, asked: Asked<'_>, cache: &Path) -> Result<Vec<TestModule>, PlaceError> {
        if self.classes.is_empty() && self.test_classes.is_empty() {
            return self.of_maven(asked, cache);
        }
        self.as_given(asked).map(|module| vec![module])
    }

    /// One module. Nothing is known of how its tests are run.
    fn as_given(&self, asked: Asked<'_>) -> Result<TestModule, PlaceError> {
        let mut folders = self.classes.iter().chain(&self.test_classes);
        if let Some(folder) = folders.find(|folder| !folder.is_dir()) {
            return Err(PlaceError::NotAFolder(folder.clone()));
        }
        let name = asked.folder.strip_prefix(asked.root).unwrap_or(asked.folder);
        let name = if name.as_os_str().is_empty() { Path::new(".") } else { name };
        Ok(TestModule {
            name: name.to_string_lossy().into_owned(),
            key: TestModule::key_of(asked.root, &self.test_classes),
            test_classes: self.test_classes.clone(),
            classes: self.classes.clone(),
            classpath: self.classpath.clone(),
            environment: run_surroundings::environment(),
            naming: Naming::default(),
            configuration: Configuration::default(),
        })
    }

    fn of_maven(&self, asked: Asked<'_>, cache: &Path) -> Result<Vec<TestModule>, PlaceError> {
        let mut folders = [asked.folder, asked.root].into_iter();
        let folder = folders.find(|f| f.join("pom.xml").is_file()).ok_or(PlaceError::NoPom)?;
        let wrapper = folder.join("mvnw");
        let mvn = match &self.mvn {
            Some(mvn) => mvn.clone(),
            None if wrapper.is_file() => wrapper.display().to_string(),
            None => "mvn".to_owned(),
        };
        let Asked { root: top, home, .. } = asked;
        let build = MavenBuild { top, folder, home, mvn: &mvn, words: &self.maven_words };
        Ok(maven::resolve(&build, cache, &run_surroundings::environment())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_are_named_are_one_module() {
        let work = tempfile::tempdir().unwrap();
        let root = work.path().canonicalize().unwrap();
        let folder = root.join("core");
        std::fs::create_dir_all(folder.join("out")).unwrap();
        let asked = Asked { root: &root, folder: &folder, home: None };
        let given = Places { test_classes: vec![folder.join("out")], ..Places::default() };
        let modules = given.modules(asked, &root).unwrap();
        assert_eq!((modules[0].name.as_str(), modules[0].key.as_str()), ("core", "core/out"));
        assert_eq!(modules[0].configuration, Configuration::default());
        let missing = Places { classes: vec![folder.join("none")], ..Places::default() };
        assert!(matches!(missing.modules(asked, &root), Err(PlaceError::NotAFolder(_))));
        let nothing = Places::default().modules(asked, &root);
        assert!(nothing.unwrap_err().to_string().contains("no pom.xml here"));
    }
}
