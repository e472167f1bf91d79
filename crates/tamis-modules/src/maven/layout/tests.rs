use super::*;
use crate::files::Held;

struct Build {
    files: Held,
    around: Surroundings,
}

impl Build {
    fn new(poms: &[(&str, &str)]) -> Self {
        let pom = |(path, content): &(&str, &str)| {
            let artifact = match folder_of(path) {
                "." => "root".to_owned(),
                folder => folder.replace('/', "-"),
            };
            let text = format!(
                "<project><groupId>g</groupId><artifactId>{artifact}</artifactId><version>1</version>{content}</project>"
            );
            ((*path).to_owned(), text.into_bytes())
        };
        let around = Surroundings { repository: "/nowhere".into(), ..Surroundings::default() };
        Self { files: Held(poms.iter().map(pom).collect()), around }
    }

    fn user(mut self, name: &str, value: &str) -> Self {
        self.around.user.insert(name.into(), value.into());
        self
    }

    fn on(mut self, profile: &str) -> Self {
        self.around.profiles_on.push(profile.into());
        self
    }

    fn read(&self) -> Result<Vec<Layout>, BuildError> {
        layouts(&self.files, "pom.xml", &self.around)
    }

    fn folders(&self) -> Vec<String> {
        self.read().unwrap().into_iter().map(|layout| layout.folder).collect()
    }

    fn error(&self) -> String {
        self.read().unwrap_err().to_string()
    }
}

const PARENT: &str =
    "<parent><groupId>g</groupId><artifactId>root</artifactId><version>1</version></parent>";

fn modules(names: &[&str]) -> String {
    let names: String = names.iter().map(|n| format!("<module>{n}</module>")).collect();
    format!("<packaging>pom</packaging><modules>{names}</modules>")
}

#[test]
fn modules_named_in_every_way() {
    let root = modules(&["a", "${second}", "c/pom.xml", "./d/", "e/../f", "a"])
        + "<properties><second>b</second></properties>";
    let poms = ["a/pom.xml", "b/pom.xml", "c/pom.xml", "d/pom.xml", "f/pom.xml"].map(|p| (p, ""));
    let build = Build::new(&[&[("pom.xml", root.as_str())], &poms[..]].concat());
    assert_eq!(build.folders(), [".", "a", "b", "c", "d", "f"], "one that is named twice is one");
}

#[test]
fn properties_for_modules_come_from_the_command_the_parent_and_the_machine() {
    let root = modules(&["${which}"]);
    let build = Build::new(&[("pom.xml", &root), ("x/pom.xml", "")]);
    assert!(build.error().contains("-D"), "{}", build.error());
    assert_eq!(build.user("which", "x").folders(), [".", "x"]);

    let middle = modules(&["${which}"])
        + "<parent><groupId>g</groupId><artifactId>above</artifactId><version>1</version>
           <relativePath>above</relativePath></parent>";
    let above = "<properties><which>x</which></properties>";
    let inherited =
        Build::new(&[("pom.xml", &middle), ("above/pom.xml", above), ("x/pom.xml", "")]);
    assert_eq!(inherited.folders(), [".", "x"]);

    let root = modules(&["on-${os.name}"]);
    let mut build = Build::new(&[("pom.xml", &root), ("on-linux/pom.xml", "")]);
    build.around.os_name = "linux".into();
    assert_eq!(build.folders(), [".", "on-linux"]);
}

#[test]
fn modules_of_profiles_count_where_the_profile_is_on() {
    let root = "<packaging>pom</packaging><profiles>
        <profile><id>p</id><modules><module>p</module></modules></profile>
        <profile><id>q</id><activation><activeByDefault>true</activeByDefault></activation>
          <modules><module>q</module></modules></profile>
        <profile><id>r</id><activation><property><name>r</name></property></activation>
          <modules><module>r</module></modules></profile></profiles>";
    let build = || {
        Build::new(&[("pom.xml", root), ("p/pom.xml", ""), ("q/pom.xml", ""), ("r/pom.xml", "")])
    };
    assert_eq!(build().folders(), [".", "q"]);
    assert_eq!(build().on("p").folders(), [".", "p"]);
    assert_eq!(build().user("r", "true").folders(), [".", "r"]);
}

#[test]
fn what_is_named_and_not_there_is_an_error_that_names_it() {
    let root = modules(&["a", "gone"]);
    let missing = Build::new(&[("pom.xml", &root), ("a/pom.xml", "")]).error();
    assert!(missing.contains("pom.xml names the module gone"), "{missing}");
    let root = modules(&["../outside"]);
    assert!(Build::new(&[("pom.xml", &root)]).error().contains("../outside"));
    let root = modules(&["a"]);
    let mut broken = Build::new(&[("pom.xml", &root)]);
    broken.files.0.insert("a/pom.xml".into(), b"<project>".to_vec());
    assert!(broken.error().contains("a/pom.xml"));
}

#[test]
fn folders_are_inherited_and_expressions_replaced() {
    let root = modules(&["plain", "inherits", "own"])
        + "<properties><out>out</out></properties><build><directory>${out}</directory>
           <testOutputDirectory>${project.basedir}/${out}/tests</testOutputDirectory>
           <testSourceDirectory>tests</testSourceDirectory></build>";
    let own = format!(
        "{PARENT}<build><directory>/elsewhere/${{project.artifactId}}-${{project.version}}</directory>
         <testOutputDirectory>${{project.build.outputDirectory}}/../t</testOutputDirectory></build>"
    );
    let build = Build::new(&[
        ("pom.xml", &root),
        ("plain/pom.xml", ""),
        ("inherits/pom.xml", PARENT),
        ("own/pom.xml", &own),
    ]);
    let places: Vec<[String; 3]> = build
        .read()
        .unwrap()
        .into_iter()
        .map(|l| [l.classes, l.test_classes, l.test_sources])
        .collect();
    assert_eq!(places[0], ["out/classes", "out/tests", "tests"]);
    assert_eq!(
        places[1],
        ["plain/target/classes", "plain/target/test-classes", "plain/src/test/java"]
    );
    assert_eq!(places[2], ["inherits/out/classes", "inherits/out/tests", "inherits/tests"]);
    let own = ["/elsewhere/own-1/classes", "/elsewhere/own-1/classes/../t", "own/tests"];
    assert_eq!(places[3], own);
}

#[test]
fn a_folder_that_nothing_gives_a_value_is_an_error() {
    let build = |name: &str| {
        let content = format!("<build><{name}>${{project.basedir}}/${{x}}</{name}></build>");
        Build::new(&[("pom.xml", &content)])
    };
    for name in ["outputDirectory", "testOutputDirectory"] {
        let error = build(name).error();
        assert!(error.contains(name) && error.contains("${x}"), "{error}");
        assert_eq!(build(name).user("x", "y").read().unwrap().len(), 1);
    }
}

#[test]
fn parents_that_are_nowhere_are_named() {
    let build = Build::new(&[(
        "pom.xml",
        "<parent><groupId>far</groupId><artifactId>away</artifactId><version>3</version></parent>",
    )]);
    assert_eq!(build.read().unwrap()[0].missing_parents, ["far:away:3"]);
}

fn surefire(content: &str) -> String {
    format!("<plugin><artifactId>maven-surefire-plugin</artifactId>{content}</plugin>")
}

#[test]
fn naming_is_that_of_the_effective_plugin() {
    let plugins = surefire(
        "<configuration><includes><include>**/*Check.java</include></includes></configuration>
         <executions><execution><id>x</id><configuration><excludes><exclude>A</exclude></excludes>
         </configuration></execution></executions>",
    );
    let root = modules(&["a", "b"]) + &format!("<build><plugins>{plugins}</plugins></build>");
    let build = Build::new(&[("pom.xml", &root), ("a/pom.xml", PARENT), ("b/pom.xml", "")]);
    let layouts = build.read().unwrap();
    let texts = |text: &str| Some(vec![text.to_owned()]);
    let a = &layouts[1].naming;
    assert_eq!((a[0].for_all, &a[0].includes), (true, &texts("**/*Check.java")));
    assert_eq!((a[1].for_all, &a[1].excludes), (false, &texts("A")));
    assert!(layouts[2].naming.is_empty(), "it does not inherit from the pom that names it");
}

#[test]
fn the_configuration_of_tests_differs_where_that_of_their_run_can() {
    let pom = |argument: &str, more: &str| {
        let plugin =
            surefire(&format!("<configuration><argLine>{argument}</argLine></configuration>"));
        format!("<build><plugins>{plugin}</plugins></build>{more}")
    };
    let text =
        |pom: &str| Build::new(&[("pom.xml", pom)]).read().unwrap()[0].test_configuration.clone();
    let plain = text(&pom("-ea", ""));
    assert_eq!(plain, text(&pom("-ea", "<description>other words</description>")));
    assert_ne!(plain, text(&pom("-da", "")));
    assert_ne!(
        plain,
        text(&pom("-ea", "<properties><surefire.timeout>1</surefire.timeout></properties>"))
    );
    let pom = pom("-ea", "");
    let given = |name: &str| {
        let build = Build::new(&[("pom.xml", &pom)]).user(name, "1");
        build.read().unwrap()[0].test_configuration.clone()
    };
    assert_ne!(plain, given("anything"));
    assert_eq!(plain, given("test"), "it only chooses");
}
