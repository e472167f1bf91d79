//! Maven projects: modules and their folders from the poms, the classpath from Maven itself.
//!
//! Poms are read, never changed, and only for what stands in them literally: modules, output folders
//! and the naming that Surefire is told. The classpath is what `dependency:build-classpath` gives,
//! kept for as long as no pom, `.mvn` file or user setting of Maven changes.

use crate::naming::{self, Exclusion, Naming};
use crate::world::Module;
use roxmltree::{Document, Node};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use tamis_classpath::disk;
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
    /// What Surefire and Failsafe are told about the names of tests.
    pub naming: Naming,
}

/// The modules below a root pom, in the order in which the poms name them.
pub fn modules(root: &Path) -> Result<Vec<MavenModule>, MavenError> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    add_module(root, root, &Above::default(), &mut seen, &mut found)?;
    Ok(found)
}

fn add_module(
    root: &Path,
    pom_or_folder: &Path,
    above: &Above,
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
    let artifact = child(project, "artifactId").and_then(|a| a.text()).unwrap_or_default().trim();
    let parent = child(project, "parent").and_then(|p| child(p, "artifactId")?.text());
    let mut naming = above.naming.clone();
    if parent.map(str::trim) != Some(&above.artifact) {
        // Excludes of a pom that is not this one's parent do not apply; includes are harmless.
        naming.excludes.clear();
        naming.negated.clear();
    }
    add_naming(project, &mut naming);
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
        naming: naming.clone(),
    });
    let here = Above { artifact: artifact.to_owned(), naming };
    // Those of profiles too: which profiles are on is only known to the build.
    let profiles = child(project, "profiles").into_iter().flat_map(|p| p.children());
    for part in std::iter::once(project).chain(profiles) {
        for list in children(part, "modules").chain(children(part, "subprojects")) {
            for module in list.children().filter(Node::is_element) {
                let path = folder.join(module.text().unwrap_or_default().trim());
                if path.is_file() || path.join("pom.xml").is_file() {
                    add_module(root, &path, &here, seen, found)?;
                }
            }
        }
    }
    Ok(())
}

/// The pom that names a module, which most often is its parent too.
#[derive(Debug, Default)]
struct Above {
    artifact: String,
    naming: Naming,
}

/// What a pom tells Surefire and Failsafe about names, wherever in the pom it stands.
fn add_naming(project: Node<'_, '_>, naming: &mut Naming) {
    for plugin in project.descendants().filter(|n| n.has_tag_name_ignoring("plugin")) {
        let failsafe = match child(plugin, "artifactId").and_then(|a| a.text()).map(str::trim) {
            Some("maven-surefire-plugin") => false,
            Some("maven-failsafe-plugin") => true,
            _ => continue,
        };
        let in_profile = plugin.ancestors().any(|n| n.has_tag_name_ignoring("profile"));
        let own = child(plugin, "configuration");
        for configuration in
            plugin.descendants().filter(|n| n.has_tag_name_ignoring("configuration"))
        {
            let for_all = own == Some(configuration) && !in_profile;
            add_configuration(configuration, failsafe, for_all, naming);
        }
        if failsafe {
            naming.failsafe.get_or_insert_default();
        }
        // Rules of merging that are not followed here: another list may be in effect.
        if plugin.descendants().any(|n| n.attributes().any(|a| a.name().starts_with("combine."))) {
            naming.excludes.push(Exclusion::default());
            naming.negated.push(Exclusion::default());
        }
    }
}

fn add_configuration(
    configuration: Node<'_, '_>,
    failsafe: bool,
    for_all: bool,
    naming: &mut Naming,
) {
    let patterns = |list: Node<'_, '_>| -> Vec<String> {
        let elements = list.children().filter(Node::is_element);
        elements.filter_map(|n| n.text()).flat_map(naming::split).collect()
    };
    for list in children(configuration, "includes") {
        let (negated, plain): (Vec<String>, Vec<String>) =
            patterns(list).into_iter().partition(|p| p.starts_with('!'));
        if failsafe {
            naming.failsafe.get_or_insert_default().extend(plain.iter().cloned());
        } else {
            let patterns = negated.iter().map(|p| p.trim_start_matches('!').to_owned()).collect();
            naming.negated.push(Exclusion { patterns, for_all });
        }
        naming.includes.extend(plain);
    }
    // A single test that the pom names, and a list in a file, which we do not read.
    let single = child(configuration, "test").and_then(|t| t.text()).unwrap_or_default();
    let mut more: Vec<String> =
        naming::split(single).into_iter().filter(|p| !p.starts_with('!')).collect();
    more.extend(child(configuration, "includesFile").map(|_| "${includesFile}".to_owned()));
    if failsafe {
        naming.failsafe.get_or_insert_default().extend(more.iter().cloned());
    }
    naming.includes.extend(more);
    if !failsafe {
        for list in children(configuration, "excludes") {
            naming.excludes.push(Exclusion { patterns: patterns(list), for_all });
        }
    }
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
            naming: module.naming,
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
        assert_eq!(modules[1].naming.includes, ["**/*Check.java"]);
    }

    fn naming(plugins: &str) -> Naming {
        let folder = tempfile::tempdir().unwrap();
        let pom = format!("<project><build><plugins>{plugins}</plugins></build></project>");
        write(folder.path(), "pom.xml", &pom);
        modules(folder.path()).unwrap().remove(0).naming
    }

    #[test]
    fn excludes_and_negated_includes_of_surefire() {
        let naming = naming(
            "<plugin><artifactId>maven-surefire-plugin</artifactId><configuration>
               <includes><include>**/*Test.java, !**/Slow*</include></includes>
               <excludes><exclude>**/Old*</exclude><exclude>%regex[.*(x,y).*]</exclude></excludes>
             </configuration><executions><execution><configuration><excludes/></configuration>
             </execution></executions></plugin>",
        );
        assert_eq!(naming.includes, ["**/*Test.java"]);
        let list = |patterns: &[&str], for_all| Exclusion {
            patterns: patterns.iter().map(|p| (*p).to_owned()).collect(),
            for_all,
        };
        assert_eq!(naming.negated, [list(&["**/Slow*"], true)]);
        assert_eq!(
            naming.excludes,
            [list(&["**/Old*", "%regex[.*(x,y).*]"], true), list(&[], false)]
        );
        assert_eq!(naming.failsafe, None);
    }

    #[test]
    fn failsafe_and_merging_make_exclusion_less_certain() {
        let naming = naming(
            "<plugin><artifactId>maven-failsafe-plugin</artifactId><configuration>
               <includes><include>**/Late*</include></includes></configuration></plugin>
             <plugin><artifactId>maven-surefire-plugin</artifactId><configuration combine.self='override'>
               <excludes><exclude>**/Late*</exclude></excludes></configuration></plugin>",
        );
        assert_eq!(naming.failsafe.as_deref(), Some(&["**/Late*".to_owned()][..]));
        assert_eq!(naming.excludes.len(), 2);
        assert!(naming.excludes[1].patterns.is_empty());
    }

    #[test]
    fn excludes_come_only_from_a_parent() {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            "pom.xml",
            "<project><artifactId>top</artifactId><modules><module>a</module><module>b</module></modules><build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId>
            <configuration><excludes><exclude>**/Old*</exclude></excludes></configuration></plugin></plugins></build></project>",
        );
        let child = |parent: &str| {
            format!("<project><parent><artifactId>{parent}</artifactId></parent></project>")
        };
        write(folder.path(), "a/pom.xml", &child("top"));
        write(folder.path(), "b/pom.xml", &child("elsewhere"));
        let modules = modules(folder.path()).unwrap();
        assert_eq!(modules[1].naming.excludes.len(), 1);
        assert!(modules[2].naming.excludes.is_empty());
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
