//! Maven projects: modules and their folders from the poms, the classpath from Maven itself.
//!
//! Poms are read, never changed, and only for what stands in them literally: modules, output folders
//! and the naming that Surefire is told. The classpath is what `dependency:build-classpath` gives,
//! kept for as long as no pom, `.mvn` file or user setting of Maven changes.

use crate::disk;
use crate::world::Module;
use roxmltree::{Document, Node};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use tamis_core::Hash;

/// Where each module's classpath is left by Maven; below `target`, so a clean removes it.
const CLASSPATH_FILE: &str = "target/tamis-classpath";

#[derive(Debug, thiserror::Error)]
pub enum MavenError {
    #[error("{path}: {what}")]
    Pom { path: String, what: String },
    #[error(
        "the classpath is not known: {0}; build the project once, or give --classes, --test-classes and --classpath"
    )]
    Classpath(String),
}

/// A module of a Maven build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MavenModule {
    /// Folder below the root, `.` for the root itself.
    pub name: String,
    pub folder: PathBuf,
    pub classes: PathBuf,
    pub test_classes: PathBuf,
    /// Patterns of test classes that Surefire or Failsafe are told.
    pub includes: Vec<String>,
}

/// The modules below a root pom, in the order in which the poms name them.
pub fn modules(root: &Path) -> Result<Vec<MavenModule>, MavenError> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    add_module(root, root, &[], &mut seen, &mut found)?;
    Ok(found)
}

fn add_module(
    root: &Path,
    pom_or_folder: &Path,
    inherited: &[String],
    seen: &mut BTreeSet<PathBuf>,
    found: &mut Vec<MavenModule>,
) -> Result<(), MavenError> {
    let pom = match pom_or_folder.is_dir() {
        true => pom_or_folder.join("pom.xml"),
        false => pom_or_folder.to_path_buf(),
    };
    if !seen.insert(pom.clone()) {
        return Ok(());
    }
    let fail = |what: String| MavenError::Pom { path: pom.display().to_string(), what };
    let text = std::fs::read_to_string(&pom).map_err(|e| fail(e.to_string()))?;
    let document = Document::parse(&text).map_err(|e| fail(e.to_string()))?;
    let project = document.root_element();
    let folder = pom.parent().unwrap_or(root).to_path_buf();
    let build = child(project, "build");
    let output = |name: &str, usual: &str| -> Result<PathBuf, MavenError> {
        let text = build.and_then(|b| child(b, name)).and_then(|n| n.text()).map(str::trim);
        let text = text.map(|t| {
            t.trim_start_matches("${project.basedir}/")
                .trim_start_matches("${basedir}/")
                .replace("${project.build.directory}", "target")
        });
        match text {
            Some(t) if t.contains("${") => Err(fail(format!(
                "<{name}> depends on a property; give --classes and --test-classes"
            ))),
            Some(t) => Ok(folder.join(t)),
            None => Ok(folder.join(usual)),
        }
    };
    let target = output("directory", "target")?;
    let mut includes = inherited.to_vec();
    includes.extend(test_patterns(project));
    let name = match folder.strip_prefix(root) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Ok(rest) => rest.to_string_lossy().into_owned(),
        Err(_) => folder.to_string_lossy().into_owned(),
    };
    found.push(MavenModule {
        name,
        classes: output("outputDirectory", &target.join("classes").to_string_lossy())?,
        test_classes: output(
            "testOutputDirectory",
            &target.join("test-classes").to_string_lossy(),
        )?,
        folder: folder.clone(),
        includes: includes.clone(),
    });
    // Those of profiles too: which profiles are on is only known to the build.
    let profiles = child(project, "profiles").into_iter().flat_map(|p| p.children());
    for part in std::iter::once(project).chain(profiles) {
        for list in children(part, "modules").chain(children(part, "subprojects")) {
            for module in list.children().filter(Node::is_element) {
                let path = folder.join(module.text().unwrap_or_default().trim());
                if path.is_file() || path.join("pom.xml").is_file() {
                    add_module(root, &path, &includes, seen, found)?;
                }
            }
        }
    }
    Ok(())
}

/// Surefire's and Failsafe's `<include>` patterns, wherever in the pom they stand.
fn test_patterns(project: Node<'_, '_>) -> Vec<String> {
    project
        .descendants()
        .filter(|n| n.has_tag_name_ignoring("plugin"))
        .filter(|plugin| {
            child(*plugin, "artifactId").and_then(|a| a.text()).is_some_and(|a| {
                matches!(a.trim(), "maven-surefire-plugin" | "maven-failsafe-plugin")
            })
        })
        .flat_map(|plugin| plugin.descendants())
        .filter(|n| n.has_tag_name_ignoring("include"))
        .filter_map(|n| n.text())
        .flat_map(|t| t.split(','))
        .map(|t| t.trim().to_owned())
        .filter(|t| !t.is_empty())
        .collect()
}

/// Poms come with and without a namespace.
trait AnyNamespace {
    fn has_tag_name_ignoring(&self, name: &str) -> bool;
}

impl AnyNamespace for Node<'_, '_> {
    fn has_tag_name_ignoring(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

fn children<'a, 'i>(node: Node<'a, 'i>, name: &str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |n| n.has_tag_name_ignoring(name))
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    children(node, name).next()
}

/// Everything that decides about the classpath, apart from what repositories offer.
fn build_digest(root: &Path, modules: &[MavenModule]) -> Hash {
    let mut files: Vec<PathBuf> = modules.iter().map(|m| m.folder.join("pom.xml")).collect();
    // Parents above the root that are found by their place.
    files.extend(root.ancestors().skip(1).take(4).map(|a| a.join("pom.xml")));
    for name in [".mvn/maven.config", ".mvn/jvm.config", ".mvn/extensions.xml", ".mvn/settings.xml"]
    {
        files.push(root.join(name));
    }
    if let Some(home) = std::env::var_os("HOME") {
        files.push(Path::new(&home).join(".m2/settings.xml"));
    }
    let parts: Vec<Vec<u8>> = files.iter().map(|f| std::fs::read(f).unwrap_or_default()).collect();
    Hash::of_parts(parts.iter().map(Vec::as_slice))
}

/// The modules with classpaths, as the selection wants them. Asks Maven (`mvn`) only when something
/// that decides about the classpath changed.
pub fn resolve(
    root: &Path,
    cache: &Path,
    mvn: &str,
    environment: &[String],
) -> Result<Vec<Module>, MavenError> {
    let modules = modules(root)?;
    let digest = build_digest(root, &modules);
    let file = cache.join("maven-classpath");
    let kept: Option<(Hash, Vec<Option<String>>)> = disk::load(&file);
    let classpaths = match kept {
        Some((known, paths)) if known == digest && paths.len() == modules.len() => paths,
        _ => {
            let paths = ask_maven(root, mvn, &modules)?;
            // Only a cache.
            disk::save(&file, &(digest, &paths)).ok();
            paths
        }
    };
    Ok(modules
        .into_iter()
        .zip(classpaths)
        .filter(|(module, _)| module.test_classes.is_dir() || module.classes.is_dir())
        .map(|(module, path)| Module {
            name: module.name,
            test_classes: vec![module.test_classes],
            classes: vec![module.classes],
            classpath: std::env::split_paths(&path.unwrap_or_default())
                .filter(|p| !p.as_os_str().is_empty())
                .collect(),
            environment: environment.to_vec(),
            test_patterns: module.includes,
        })
        .collect())
}

/// One Maven run for all modules. Up to `test-compile`, because only then do modules of the same
/// build see each other's folders.
fn ask_maven(
    root: &Path,
    mvn: &str,
    modules: &[MavenModule],
) -> Result<Vec<Option<String>>, MavenError> {
    let output = Command::new(mvn)
        .args(["-q", "-B", "test-compile", "dependency:build-classpath", "-DincludeScope=test"])
        .arg(format!("-Dmdep.outputFile={CLASSPATH_FILE}"))
        .current_dir(root)
        .output()
        .map_err(|e| MavenError::Classpath(format!("{mvn} could not be started: {e}")))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find(|l| l.contains("ERROR")).unwrap_or("no message").trim();
        return Err(MavenError::Classpath(format!("{mvn} failed: {line}")));
    }
    // Modules of inactive profiles leave no file: their classes have not been built by this run.
    Ok(modules
        .iter()
        .map(|m| std::fs::read_to_string(m.folder.join(CLASSPATH_FILE)).ok())
        .map(|text| text.map(|t| t.trim().to_owned()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn modules_folders_and_naming() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "pom.xml", "<project xmlns='http://maven.apache.org/POM/4.0.0'><modules><module>core</module><module>gone</module></modules>
            <build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><configuration><includes><include>**/*Check.java</include></includes></configuration></plugin></plugins></build>
            <profiles><profile><modules><module>extra/pom.xml</module></modules></profile></profiles></project>");
        write(
            root,
            "core/pom.xml",
            "<project><build><directory>out</directory><testOutputDirectory>${project.basedir}/tests</testOutputDirectory></build></project>",
        );
        write(root, "extra/pom.xml", "<project/>");
        let modules = modules(root).unwrap();
        let names: Vec<&str> = modules.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, [".", "core", "extra"]);
        assert_eq!(modules[0].classes, root.join("target/classes"));
        assert_eq!(modules[1].classes, root.join("core/out/classes"));
        assert_eq!(modules[1].test_classes, root.join("core/tests"));
        assert_eq!(modules[1].includes, ["**/*Check.java"]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let message = |e: MavenError| e.to_string();
        assert!(message(modules(folder.path()).unwrap_err()).contains("pom.xml"));
        write(folder.path(), "pom.xml", "<project><build>");
        assert!(modules(folder.path()).is_err());
        write(
            folder.path(),
            "pom.xml",
            "<project><build><outputDirectory>${x}</outputDirectory></build></project>",
        );
        assert!(message(modules(folder.path()).unwrap_err()).contains("outputDirectory"));
    }

    #[test]
    fn a_maven_that_is_not_there_is_told() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "pom.xml", "<project/>");
        let error = resolve(folder.path(), &folder.path().join("cache"), "no-such-mvn", &[]);
        assert!(error.unwrap_err().to_string().contains("no-such-mvn could not be started"));
    }
}
