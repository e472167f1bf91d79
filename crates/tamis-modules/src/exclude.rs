//! Files that change often and that no test looks at: documentation, the surroundings of a
//! repository. Such a file is set aside only where nothing speaks against it: not if it stands where
//! files of any kind end up in what is built or tested, and not if a test was seen reading it.

use crate::model::{BuildTool, Graph, inside};
use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// The surroundings of a repository: no build looks at them.
const SURROUNDINGS: &[&str] = &[
    "**/.gitignore",
    "**/.gitattributes",
    "**/.gitkeep",
    "**/.mailmap",
    "**/.editorconfig",
    ".github/**",
    ".gitlab/**",
    ".gitlab-ci.yml",
    ".travis.yml",
    ".circleci/**",
    "azure-pipelines.yml",
    "Jenkinsfile",
    ".idea/**",
    ".vscode/**",
    "**/{LICENSE,LICENCE,COPYING,NOTICE,AUTHORS,CODEOWNERS}",
    "**/{LICENSE,LICENCE,COPYING,NOTICE,AUTHORS}{.txt,.md,-*}",
];

/// Texts for people. Rust compiles such files into documentation tests, so not there.
const DOCUMENTS: &[&str] = &[
    "**/*.{md,markdown,rst,adoc,asciidoc,apt,txt}",
    "**/{README,CHANGES,CHANGELOG,CONTRIBUTING,HISTORY}",
    "**/src/site/**",
];

/// Folders whose content tests read, by the custom of one language or another.
const READ_BY_TESTS: &[&str] =
    &["testdata", "test", "tests", "__tests__", "fixtures", "__fixtures__", "resources", "spec"];

/// Which changed files do not count.
#[derive(Debug, Clone, Default)]
pub struct Exclusions {
    /// The built-in lists count.
    pub defaults: bool,
    own: Globs,
    include: Globs,
}

#[derive(Debug, Clone, Default)]
struct Globs {
    patterns: Vec<String>,
    set: GlobSet,
}

impl Globs {
    fn new(patterns: &[String]) -> Result<Self, String> {
        let mut builder = GlobSetBuilder::new();
        for pattern in patterns {
            builder.add(glob(pattern)?);
        }
        let set = builder.build().map_err(|e| e.to_string())?;
        Ok(Self { patterns: patterns.to_vec(), set })
    }

    fn matching(&self, file: &str) -> Option<&str> {
        self.set.matches(file).first().map(|&n| self.patterns[n].as_str())
    }
}

fn glob(pattern: &str) -> Result<Glob, String> {
    GlobBuilder::new(pattern).literal_separator(true).build().map_err(|e| e.to_string())
}

/// Whether any of the patterns matches the file; the first that does.
pub fn first_match<'p>(patterns: &'p [String], file: &str) -> Result<Option<&'p str>, String> {
    let globs = Globs::new(patterns)?;
    Ok(globs.set.matches(file).first().map(|&n| patterns[n].as_str()))
}

impl Exclusions {
    pub fn new(defaults: bool, own: &[String], include: &[String]) -> Result<Self, String> {
        Ok(Self { defaults, own: Globs::new(own)?, include: Globs::new(include)? })
    }

    /// The rule by which a changed file does not count, if one says so.
    pub fn rule(&self, file: &str, graph: &Graph) -> Option<String> {
        if let Some(pattern) = self.own.matching(file) {
            return Some(format!("exclude {pattern}"));
        }
        if !self.include.patterns.is_empty() && self.include.matching(file).is_none() {
            return Some("no include pattern matches it".to_owned());
        }
        if !self.defaults || graph.modules.iter().any(|m| is_resource(m, file)) {
            return None;
        }
        let listed = |list: &'static [&'static str]| {
            list.iter().find(|p| glob(p).is_ok_and(|g| g.compile_matcher().is_match(file))).copied()
        };
        if let Some(pattern) = listed(SURROUNDINGS) {
            return Some(format!("by default: {pattern}"));
        }
        if graph.kind == BuildTool::Cargo
            || file.split('/').any(|part| READ_BY_TESTS.contains(&part))
        {
            return None;
        }
        listed(DOCUMENTS).map(|pattern| format!("by default: {pattern}"))
    }
}

fn is_resource(module: &crate::model::Module, file: &str) -> bool {
    module.resource_folders.iter().any(|folder| inside(file, folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Module;

    fn graph(kind: BuildTool) -> Graph {
        let mut graph = Graph::new(kind);
        graph.modules.push(Module {
            name: "m".into(),
            folder: "m".into(),
            resource_folders: vec!["m/src/main".into(), "m/src/test".into(), "m/extra".into()],
            ..Module::default()
        });
        graph
    }

    #[test]
    fn documents_do_not_count_unless_they_are_resources() {
        let rules = Exclusions::new(true, &[], &[]).unwrap();
        let graph = graph(BuildTool::Maven);
        for file in [
            "README.md",
            "m/README",
            "m/notes.txt",
            ".gitignore",
            "m/.gitattributes",
            ".github/workflows/ci.yml",
            "LICENSE",
            "m/src/site/site.xml",
        ] {
            assert!(rules.rule(file, &graph).is_some(), "{file}");
        }
        for file in [
            "m/src/test/resources/words.txt",
            "m/src/main/java/README.md",
            "m/extra/x.txt",
            "m/pom.xml",
            "m/config.json",
            "m/testdata/x.txt",
            "it/resources/x.md",
            "checkstyle.xml",
            "Makefile",
        ] {
            assert_eq!(rules.rule(file, &graph), None, "{file}");
        }
    }

    #[test]
    fn rust_tests_its_documents() {
        let rules = Exclusions::new(true, &[], &[]).unwrap();
        assert_eq!(rules.rule("README.md", &graph(BuildTool::Cargo)), None);
        assert!(rules.rule(".gitignore", &graph(BuildTool::Cargo)).is_some());
    }

    #[test]
    fn a_project_can_say_otherwise() {
        let strings = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let rules = Exclusions::new(false, &strings(&["m/src/test/big/**"]), &[]).unwrap();
        let graph = graph(BuildTool::Maven);
        assert_eq!(rules.rule("README.md", &graph), None);
        assert_eq!(
            rules.rule("m/src/test/big/x", &graph).as_deref(),
            Some("exclude m/src/test/big/**")
        );
        // An exclusion wins over an inclusion, as in GIB.
        let rules = Exclusions::new(true, &strings(&["m/x"]), &strings(&["m/**"])).unwrap();
        assert!(rules.rule("m/x", &graph).is_some() && rules.rule("n/y", &graph).is_some());
        assert_eq!(rules.rule("m/y", &graph), None);
        assert!(Exclusions::new(true, &strings(&["a{"]), &[]).is_err());
    }
}
