//! A Maven project in a folder of its own, and `tamis mvn test` in it as a user would call it.
//!
//! Only Maven's repository is the user's, and Maven is offline: `scripts/test` fetches what the
//! fixtures need.

use crate::call::Call;
use crate::ended::{Ended, ended};
use crate::java::Jdk;
use crate::needs::{need, not_tried};
use crate::project::Project;
use crate::tools::copy_tree;
use std::fmt::Write as _;
use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Maven(Project);

impl Deref for Maven {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.0
    }
}

impl DerefMut for Maven {
    fn deref_mut(&mut self) -> &mut Project {
        &mut self.0
    }
}

impl Maven {
    /// A copy of a fixture; `None` where Maven is not here.
    pub fn copy_of(fixture: &str, jdk: &Jdk, name: &str) -> Option<Self> {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(fixture);
        let maven = Self::empty(jdk, name)?;
        copy_tree(&from, &maven.path(""));
        Some(maven)
    }

    pub fn empty(jdk: &Jdk, name: &str) -> Option<Self> {
        if !need("mvn") {
            return None;
        }
        let mut project = Project::named(name);
        project.jdk = Some(jdk.clone());
        project.set("JAVA_HOME", &jdk.home);
        project.set("MAVEN_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
        Some(Self(project))
    }

    fn log(&self) -> PathBuf {
        self.beside("maven.log")
    }

    /// The words of a Maven command.
    pub fn words(&self, more: &[&str]) -> Vec<String> {
        let mut words = vec!["mvn".to_owned(), "-o".into(), "-B".into(), "-l".into()];
        words.push(self.log().display().to_string());
        words.push(format!("-Dmaven.repo.local={}", repository().display()));
        words.extend(more.iter().map(|w| (*w).to_owned()));
        words
    }

    /// `tamis mvn test`.
    pub fn test(&self) -> Call {
        self.build(&[], &["test"])
    }

    /// `tamis OPTIONS mvn MORE`.
    pub fn build(&self, options: &[&str], more: &[&str]) -> Call {
        let _ = fs::remove_file(self.log());
        let words = self.words(more);
        let mut all = vec!["--json"];
        all.extend(options);
        all.extend(words.iter().map(String::as_str));
        self.read_call(&self.tamis(&all))
    }

    /// What a finished call says.
    pub fn read_call(&self, got: &Ended) -> Call {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        Call { log, ..Call::read(got, "mvn ") }
    }

    /// Runs test classes of JUnit 4 outside of tamis and Maven, from the classes that Maven compiled.
    pub fn run_junit4(&self, property: &str, classes: &[String]) {
        let jars = [
            "junit/junit/4.13.2/junit-4.13.2.jar",
            "org/hamcrest/hamcrest-core/1.3/hamcrest-core-1.3.jar",
        ];
        let mut class_path = vec!["target/test-classes".into(), "target/classes".into()];
        class_path.extend(jars.map(|jar| repository().join(jar)));
        let mut command = self.command(self.jdk().tool("java"));
        command.arg(property).arg("-XX:TieredStopAtLevel=1").arg("-cp");
        command.arg(std::env::join_paths(class_path).expect("a class path"));
        let got = ended(command.arg("org.junit.runner.JUnitCore").args(classes));
        assert!(got.code <= 1, "{got:?}");
    }
}

/// What a test needs that lacks some.
pub const LACKS: &str = "artifacts that Maven's repository lacks (scripts/test fetches them)";

/// Whether a log of Maven says that it could not get something.
pub fn is_unresolved(log: &str) -> bool {
    let missing = ["could not be resolved", "Cannot access", "Could not transfer", "offline mode"];
    missing.iter().any(|m| log.contains(m))
}

/// Whether Maven has what the fixture needs, as its first build shows; the test is not tried where not.
#[must_use = "a test that cannot be tried must return"]
pub fn is_resolved(build: &Call) -> bool {
    let resolved = build.code == 0 || !is_unresolved(&build.log);
    if !resolved {
        not_tried(LACKS);
    }
    resolved
}

/// Whether Maven's repository has these folders (`junit/junit/4.13.2`); the test is not tried where not.
#[must_use = "a test that cannot be tried must return"]
pub fn has_artifacts(folders: &[&str]) -> bool {
    let all = folders.iter().all(|folder| repository().join(folder).is_dir());
    if !all {
        not_tried(LACKS);
    }
    all
}

/// The user's Maven repository, or another one.
pub fn repository() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let given = std::env::var_os("TAMIS_TEST_MAVEN_REPOSITORY");
    given.map_or_else(|| home().join(".m2/repository"), PathBuf::from)
}

/// A pom with the versions that `scripts/test` fetches.
#[derive(Debug, Clone)]
pub struct Pom {
    artifact: String,
    release: u32,
    dependencies: String,
    surefire: (String, String),
}

impl Pom {
    /// `group:artifact`, for this release of Java.
    pub fn new(artifact: &str, release: u32) -> Self {
        let surefire = ("2.22.2".to_owned(), "<runOrder>alphabetical</runOrder>".to_owned());
        Self { artifact: artifact.into(), release, dependencies: String::new(), surefire }
    }

    /// `group:artifact:version`, and what else stands in the element.
    #[must_use]
    pub fn dependency(mut self, coordinates: &str, more: &str) -> Self {
        let [group, artifact, version] = parts(coordinates);
        let _ = writeln!(
            self.dependencies,
            "    <dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>\
             <version>{version}</version>{more}</dependency>"
        );
        self
    }

    /// Another version of Surefire, and its configuration.
    #[must_use]
    pub fn surefire(mut self, version: &str, configuration: &str) -> Self {
        self.surefire = (version.into(), configuration.into());
        self
    }

    pub fn text(&self) -> String {
        let [group, artifact] = parts(&self.artifact);
        let Self { release, dependencies, surefire: (surefire, configuration), .. } = self;
        format!(
            "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>1</version>
  <properties>
    <maven.compiler.release>{release}</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
{dependencies}  </dependencies>
  <build><plugins>
    <plugin><artifactId>maven-resources-plugin</artifactId><version>3.2.0</version></plugin>
    <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.10.1</version></plugin>
    <plugin><artifactId>maven-surefire-plugin</artifactId><version>{surefire}</version>
      <configuration>{configuration}</configuration></plugin>
  </plugins></build>
</project>
"
        )
    }
}

fn parts<const N: usize>(coordinates: &str) -> [&str; N] {
    let parts: Vec<&str> = coordinates.split(':').collect();
    parts.try_into().unwrap_or_else(|_| panic!("{N} names in {coordinates}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pom_has_its_dependencies_and_versions() {
        let pom = Pom::new("g:a", 8)
            .dependency("junit:junit:4.13.2", "<scope>test</scope>")
            .surefire("3.2.5", "<argLine>-Dx=y</argLine>");
        let text = pom.text();
        for part in [
            "<groupId>g</groupId><artifactId>a</artifactId><version>1</version>",
            "<artifactId>junit</artifactId><version>4.13.2</version><scope>test</scope></dependency>",
            "<version>3.2.5</version>\n      <configuration><argLine>-Dx=y</argLine>",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn what_maven_cannot_get_is_known_by_its_words() {
        assert!(is_unresolved("[ERROR] Cannot access central in offline mode"));
        assert!(!is_unresolved("[ERROR] There are test failures."));
    }
}
