//! Where the classes of each module are, and what a pom says about which of them are tests.
//!
//! For those who look at compiled classes without starting Maven. Unlike the graph, which lives with gaps, nothing
//! is left out here: a module that is named and not there, or a folder that depends on an expression which nothing
//! gives a value, is an error. Who would go on without that module would not see its tests.

use super::Surroundings;
use super::effective::{Effective, PomPlace, Poms};
use super::element::Element;
use super::merge::plugin_key;
use super::reactor::{self, Absent, discover, remember, unreadable};
use crate::BuildError;
use crate::files::Files;
use crate::model::{folder_of, join};
use std::rc::Rc;

/// A module as its effective pom describes it. Folders are below the top folder, or absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// `group:artifact`.
    pub name: String,
    pub artifact: String,
    pub folder: String,
    /// Its pom.
    pub definition: String,
    pub packaging: String,
    pub classes: String,
    pub test_classes: String,
    pub test_sources: String,
    /// Whether `maven.test.skip` keeps its tests from being compiled.
    pub tests_left_out: bool,
    /// All poms of the project that it is made of.
    pub definitions: Vec<String>,
    /// Parents that are neither in the project nor in the local repository.
    pub missing_parents: Vec<String>,
    /// What the poms say about which classes are tests.
    pub naming: Vec<TestNaming>,
    /// The configuration of the plugins that run tests, and all properties, as one text to compare.
    pub test_configuration: String,
}

/// The plugins that run tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestPlugin {
    Surefire,
    Failsafe,
}

/// One configuration of a plugin that runs tests, as far as names go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestNaming {
    pub plugin: TestPlugin,
    /// It stands in the plugin itself and not in one of its executions.
    pub for_all: bool,
    pub includes: Option<Vec<String>>,
    pub excludes: Option<Vec<String>>,
    /// `<test>`: a single test that the pom names.
    pub single: Option<String>,
    /// Includes stand in a file.
    pub includes_file: bool,
    /// It says how it is merged with others, which is not followed between a plugin and its executions.
    pub merges: bool,
}

/// The modules of the build that starts with this pom, in the order in which poms name them.
pub fn layouts(
    files: &dyn Files,
    root: &str,
    around: &Surroundings,
) -> Result<Vec<Layout>, BuildError> {
    let mut poms = Poms::new(files, around);
    let found = discover(&poms, files, root)?;
    if let Some(absent) = found.absent.first() {
        return Err(not_there(absent));
    }
    remember(&mut poms, &found.poms);
    let layout = |path: &String| {
        let effective = poms.effective(&PomPlace::Project(path.clone()));
        layout(path, &effective.ok_or_else(|| unreadable(&poms, path))?, around)
    };
    found.poms.iter().map(layout).collect()
}

/// One module by itself, without those that it names and without the build that it is part of: a parent is found by
/// its place or in the repository.
pub fn layout_of(
    files: &dyn Files,
    pom: &str,
    around: &Surroundings,
) -> Result<Layout, BuildError> {
    let poms = Poms::new(files, around);
    let effective = poms.effective(&PomPlace::Project(pom.to_owned()));
    layout(pom, &effective.ok_or_else(|| unreadable(&poms, pom))?, around)
}

fn not_there(absent: &Absent) -> BuildError {
    let Absent { pom, module } = absent;
    let next = match module.contains("${") {
        true => {
            "no pom, profile or property gives it a value: give it with -D NAME=VALUE, or switch its profile on with -P"
        }
        false => "which is not there: check it out, or take it out of the pom",
    };
    BuildError(format!("{pom} names the module {module}; {next}"))
}

fn layout(
    path: &str,
    effective: &Rc<Effective>,
    around: &Surroundings,
) -> Result<Layout, BuildError> {
    let folders = Folders { effective, around, pom: path };
    let plugins = plugins_of_tests(effective);
    Ok(Layout {
        name: format!("{}:{}", effective.group, effective.artifact),
        artifact: effective.artifact.clone(),
        folder: folder_of(path).to_owned(),
        definition: path.to_owned(),
        packaging: effective.packaging.clone(),
        classes: folders.real("outputDirectory", "${project.build.directory}/classes")?,
        test_classes: folders
            .real("testOutputDirectory", "${project.build.directory}/test-classes")?,
        test_sources: folders.real("testSourceDirectory", "src/test/java")?,
        tests_left_out: property(effective, around, "maven.test.skip").as_deref() == Some("true"),
        definitions: effective.assembled.lineage.clone(),
        missing_parents: effective
            .assembled
            .missing
            .iter()
            .map(|(n, v)| format!("{n}:{v}"))
            .collect(),
        naming: plugins.iter().flat_map(|(plugin, element)| naming(*plugin, element)).collect(),
        test_configuration: test_configuration(effective, &plugins, around),
    })
}

fn property(effective: &Effective, around: &Surroundings, name: &str) -> Option<String> {
    let own = || effective.model.child("properties")?.text_of(name).map(str::to_owned);
    around.user.get(name).cloned().or_else(own)
}

/// The folders of one pom.
struct Folders<'a> {
    effective: &'a Effective,
    around: &'a Surroundings,
    pom: &'a str,
}

impl Folders<'_> {
    /// A folder below the top one. What leads above it stays relative to it.
    fn real(&self, element: &str, usual: &str) -> Result<String, BuildError> {
        let text = self.text(element, usual);
        let below = text.trim_start_matches("${project.basedir}");
        if below.contains("${") {
            return Err(BuildError(format!(
                "{}: <{element}> is {text}, and nothing gives that a value: give it with -D NAME=VALUE, or give \
                 --classes and --test-classes",
                self.pom
            )));
        }
        if below.len() == text.len() && below.starts_with('/') {
            return Ok(below.to_owned());
        }
        let (module, below) = (folder_of(self.pom), below.trim_start_matches('/'));
        Ok(join(module, below).unwrap_or_else(|| format!("{module}/{below}")))
    }

    fn text(&self, element: &str, usual: &str) -> String {
        let build = self.effective.model.child("build");
        let named = |name: &str, usual: &str| {
            build.and_then(|build| build.text_of(name)).unwrap_or(usual).to_owned()
        };
        let classes = named("outputDirectory", "${project.build.directory}/classes");
        let text = named(element, usual)
            .replace("${project.build.outputDirectory}", &classes)
            .replace("${project.build.directory}", &named("directory", "target"));
        self.around.complete(&reactor::real(self.effective, &text))
    }
}

fn plugins_of_tests(effective: &Effective) -> Vec<(TestPlugin, &Element)> {
    let of = |element| match plugin_key(element).as_deref() {
        Some("org.apache.maven.plugins:maven-surefire-plugin") => Some(TestPlugin::Surefire),
        Some("org.apache.maven.plugins:maven-failsafe-plugin") => Some(TestPlugin::Failsafe),
        _ => None,
    };
    effective.plugins.iter().filter_map(|element| Some((of(element)?, element))).collect()
}

/// What a plugin says about names: its own configuration, even where it says nothing, and those of executions.
fn naming(plugin: TestPlugin, element: &Element) -> Vec<TestNaming> {
    let nothing = Element::default();
    let own = element.child("configuration").unwrap_or(&nothing);
    let executions = element.list("executions").iter().filter_map(|e| e.child("configuration"));
    let all = std::iter::once((own, true)).chain(executions.map(|c| (c, false)));
    all.map(|(configuration, for_all)| configured(plugin, configuration, for_all)).collect()
}

fn configured(plugin: TestPlugin, configuration: &Element, for_all: bool) -> TestNaming {
    let list = |name: &str| {
        let list = configuration.child(name)?;
        // `<includes>a,b</includes>` is one text, as a list is a text for each element.
        let own = Some(list.text.clone()).filter(|text| !text.is_empty());
        Some(list.children.iter().map(|c| c.text.clone()).chain(own).collect())
    };
    TestNaming {
        plugin,
        for_all,
        includes: list("includes"),
        excludes: list("excludes"),
        single: configuration.text_of("test").map(str::to_owned),
        includes_file: configuration.child("includesFile").is_some(),
        merges: !for_all && merges(configuration),
    }
}

fn merges(element: &Element) -> bool {
    element.attributes.iter().any(|(name, _)| name.starts_with("combine."))
        || element.children.iter().any(merges)
}

/// Properties of the user that only choose which tests run.
const CHOOSE: &[&str] = &["test", "it.test", "skipTests", "skipITs", "failIfNoTests"];

fn test_configuration(
    effective: &Effective,
    plugins: &[(TestPlugin, &Element)],
    around: &Surroundings,
) -> String {
    let mut text = String::new();
    for (plugin, element) in plugins {
        text += &format!("{plugin:?} {element:?}\n");
    }
    text += &format!("{:?}\n", effective.model.child("properties"));
    for (name, value) in around.user.iter().filter(|(name, _)| !CHOOSE.contains(&name.as_str())) {
        text += &format!("-D{name}={value}\n");
    }
    text
}

#[cfg(test)]
mod tests;
