use super::*;

/// A project whose Maven is a script that leaves classpaths as the real one does.
struct Project {
    folder: tempfile::TempDir,
    words: Vec<String>,
}

const PARENT: &str =
    "<parent><groupId>g</groupId><artifactId>root</artifactId><version>1</version></parent>";

impl Project {
    /// Poms by their folder.
    fn new(poms: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Self { folder, words: Vec::new() };
        for (folder, content) in poms {
            let artifact = if *folder == "." { "root" } else { folder };
            let pom = format!(
                "<project><groupId>g</groupId><artifactId>{artifact}</artifactId><version>1</version>{content}</project>"
            );
            project.write(&format!("{folder}/pom.xml"), &pom);
        }
        project
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn folders(&self, names: &[&str]) {
        for name in names {
            std::fs::create_dir_all(self.folder.path().join(name)).unwrap();
        }
    }

    /// A Maven that builds these modules.
    fn maven(&self, modules: &[&str]) -> String {
        let script = format!(
            "echo called >> calls; echo \"$@\" > words\nfor m in {}; do mkdir -p $m/target; echo /lib/$m.jar > $m/target/tamis-classpath; done\n",
            modules.join(" ")
        );
        self.write("fake-maven", &script);
        let path = self.folder.path().join("fake-maven");
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    fn resolve(&self, mvn: &str) -> Result<Vec<TestModule>, String> {
        let top = self.folder.path();
        let build = MavenBuild { top, folder: top, home: Some(top), mvn, words: &self.words };
        resolve(&build, &top.join("cache"), &[]).map_err(|e| e.to_string())
    }

    fn names(&self, mvn: &str) -> Vec<String> {
        self.resolve(mvn).unwrap().into_iter().map(|m| m.name).collect()
    }
}

fn modules(names: &[&str]) -> String {
    let names: String = names.iter().map(|n| format!("<module>{n}</module>")).collect();
    format!("<packaging>pom</packaging><modules>{names}</modules>")
}

#[test]
fn modules_by_properties_and_inherited_folders_are_there() {
    let root = modules(&["a", "${second}", "d"])
        + "<properties><second>b</second></properties>
           <build><testOutputDirectory>${project.basedir}/out/tests</testOutputDirectory></build>";
    let project = Project::new(&[(".", &root), ("a", ""), ("b", ""), ("d", PARENT)]);
    project.folders(&["a/target/test-classes", "b/target/test-classes", "d/out/tests"]);
    let mvn = project.maven(&[".", "a", "b", "d"]);
    let found = project.resolve(&mvn).unwrap();
    let top = project.folder.path();
    let tests: Vec<&PathBuf> = found.iter().flat_map(|m| &m.test_classes).collect();
    assert_eq!(
        tests,
        [
            &top.join("a/target/test-classes"),
            &top.join("b/target/test-classes"),
            &top.join("d/out/tests")
        ]
    );
    assert_eq!(found[1].classpath, [Path::new("/lib/b.jar")]);
    assert!(found.iter().all(|m| m.configuration.declared.is_some()));
}

#[test]
fn maven_is_asked_once_and_again_when_a_pom_or_the_words_change() {
    let mut project = Project::new(&[(".", "")]);
    project.folders(&["target/classes"]);
    let mvn = project.maven(&["."]);
    let calls = |project: &Project| {
        std::fs::read_to_string(project.folder.path().join("calls")).unwrap().lines().count()
    };
    for _ in 0..2 {
        project.names(&mvn);
    }
    assert_eq!(calls(&project), 1);
    project.words = vec!["-Pci".into(), "-Dx=1".into()];
    project.names(&mvn);
    assert_eq!(calls(&project), 2);
    let words = std::fs::read_to_string(project.folder.path().join("words")).unwrap();
    assert!(words.starts_with("-Pci -Dx=1 "), "{words}");
    project.write(
        "pom.xml",
        "<project><groupId>g</groupId><artifactId>r</artifactId><version>2</version></project>",
    );
    project.names(&mvn);
    assert_eq!(calls(&project), 3);
}

#[test]
fn a_module_that_maven_left_no_classpath_for_is_an_error() {
    let root = modules(&["a", "b"]);
    let project = Project::new(&[(".", &root), ("a", ""), ("b", "")]);
    project.folders(&["a/target/classes", "b/target/test-classes"]);
    // An earlier run left one.
    project.write("b/target/tamis-classpath", "/old.jar");
    let error = project.resolve(&project.maven(&["a"])).unwrap_err();
    assert!(error.contains("b/pom.xml"), "{error}");
}

#[test]
fn a_module_without_classes_is_left_out_only_where_it_is_to_have_none() {
    let project = Project::new(&[(".", &modules(&["a"])), ("a", "")]);
    let mvn = project.maven(&[".", "a"]);
    assert!(project.names(&mvn).is_empty());
    project.write("a/src/test/java/ATest.java", "class ATest {}");
    let error = project.resolve(&mvn).unwrap_err();
    assert!(error.contains("a/src/test/java") && error.contains("compile first"), "{error}");
    project.folders(&["a/target/test-classes"]);
    assert_eq!(project.names(&mvn), ["a"]);
}

#[test]
fn several_modules_in_one_folder_have_names_and_classpaths_of_their_own() {
    let project = Project::new(&[(".", &modules(&["x/pom.xml", "x/other.xml"])), ("x", "")]);
    let other = "<project><groupId>g</groupId><artifactId>y</artifactId><version>1</version>
        <build><directory>out</directory></build></project>";
    project.write("x/other.xml", other);
    project.folders(&["x/target/test-classes", "x/out/test-classes"]);
    let script = "mkdir -p x/target; for m in x y; do echo /lib/$m.jar > x/target/tamis-classpath-$m; done\n";
    project.maven(&[]);
    project.write("fake-maven", script);
    let mvn = project.folder.path().join("fake-maven").display().to_string();
    let found = project.resolve(&mvn).unwrap();
    let names: Vec<&str> = found.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["x:x", "x:y"]);
    assert_eq!(found[1].classpath, [Path::new("/lib/y.jar")]);
    assert_ne!(found[0].key, found[1].key);
}

#[test]
fn a_module_that_is_named_and_not_there_is_an_error() {
    let project = Project::new(&[(".", &modules(&["gone"]))]);
    let error = project.resolve(&project.maven(&["."])).unwrap_err();
    assert!(error.contains("gone"), "{error}");
}

#[test]
fn a_parent_that_is_nowhere_is_an_error_after_maven_was_asked() {
    let parent =
        "<parent><groupId>far</groupId><artifactId>away</artifactId><version>3</version></parent>";
    let project = Project::new(&[(".", parent)]);
    project.folders(&["target/classes"]);
    let error = project.resolve(&project.maven(&["."])).unwrap_err();
    assert!(error.contains("far:away:3"), "{error}");
}

fn naming(plugins: &str) -> Naming {
    let content = format!("<build><plugins>{plugins}</plugins></build>");
    let project = Project::new(&[(".", &content)]);
    project.folders(&["target/classes"]);
    project.resolve(&project.maven(&["."])).unwrap().remove(0).naming
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
    assert_eq!(naming.excludes, [list(&["**/Old*", "%regex[.*(x,y).*]"], true), list(&[], false)]);
    assert_eq!(naming.failsafe, None);
}

#[test]
fn failsafe_and_merging_make_exclusion_less_certain() {
    let naming = naming(
        "<plugin><artifactId>maven-failsafe-plugin</artifactId><configuration>
           <includes><include>**/Late*</include></includes></configuration></plugin>
         <plugin><artifactId>maven-surefire-plugin</artifactId><configuration>
           <excludes><exclude>**/Late*</exclude></excludes></configuration><executions><execution>
           <configuration><excludes combine.children='append'/></configuration></execution></executions>
         </plugin>",
    );
    assert_eq!(naming.failsafe.as_deref(), Some(&["**/Late*".to_owned()][..]));
    assert_eq!(naming.excludes.len(), 3);
    assert!(naming.excludes[2].patterns.is_empty());
}

#[test]
fn a_maven_that_is_not_there_is_reported() {
    let project = Project::new(&[(".", "")]);
    let error = project.resolve("no-such-mvn").unwrap_err();
    assert!(error.contains("no-such-mvn could not be started"), "{error}");
}

#[test]
fn what_is_declared_for_a_module_is_the_same_by_itself_and_in_the_build() {
    let root = modules(&["a"]) + "<properties><argLine>-ea</argLine></properties>";
    let project = Project::new(&[(".", &root), ("a", PARENT)]);
    project.folders(&["a/target/classes"]);
    let in_build = project.resolve(&project.maven(&[".", "a"])).unwrap()[0].configuration.clone();
    let top = project.folder.path();
    let alone = |words: &[String]| declared(top, "a", Some(top), words);
    assert!(alone(&[]).is_some());
    assert_eq!(alone(&[]), in_build.declared);
    assert_ne!(alone(&["-Dx=1".into()]), in_build.declared);
    assert_eq!(alone(&["-Dtest=ATest".into()]), in_build.declared);
    assert_eq!(declared(top, "none", Some(top), &[]), None);
}
