//! Poms become one: a child with its parent, a pom with its profiles, a plugin with what is managed.

use super::element::Element;

/// Parts of a pom that a child does not get, or that change nothing about what is built.
const NOT_INHERITED: &[&str] = &[
    "modelVersion",
    "parent",
    "artifactId",
    "packaging",
    "modules",
    "subprojects",
    "profiles",
    "name",
    "description",
    "url",
    "inceptionYear",
    "organization",
    "licenses",
    "developers",
    "contributors",
    "mailingLists",
    "prerequisites",
    "scm",
    "issueManagement",
    "ciManagement",
    "distributionManagement",
    "reporting",
    "reports",
];

/// The child with what it inherits.
pub(crate) fn inherit(child: &mut Element, parent: &Element) {
    for part in &parent.children {
        match part.name.as_ref() {
            name if NOT_INHERITED.contains(&name) => {}
            "build" => inherit_build(child.make("build"), part),
            "properties" => fill(child.make("properties"), part),
            "dependencies" => fill_list(child.make("dependencies"), part, &dependency_key),
            "dependencyManagement" => {
                let managed = child.make("dependencyManagement").make("dependencies");
                for list in part.children.iter().filter(|c| c.name == "dependencies") {
                    fill_list(managed, list, &dependency_key);
                }
            }
            "repositories" | "pluginRepositories" => {
                fill_list(child.make(&part.name), part, &|e| e.text_of("id").map(str::to_owned));
            }
            name if child.child(name).is_none() => child.children.push(part.clone()),
            _ => {}
        }
    }
}

fn inherit_build(child: &mut Element, parent: &Element) {
    for part in &parent.children {
        match part.name.as_ref() {
            "plugins" => inherit_plugins(child.make("plugins"), part),
            "pluginManagement" => {
                let managed = child.make("pluginManagement").make("plugins");
                for list in part.children.iter().filter(|c| c.name == "plugins") {
                    inherit_plugins(managed, list);
                }
            }
            "extensions" => fill_list(child.make("extensions"), part, &artifact_key),
            name if child.child(name).is_none() => child.children.push(part.clone()),
            _ => {}
        }
    }
}

fn inherit_plugins(own: &mut Element, parent: &Element) {
    for plugin in parent.children.iter().filter(|p| p.text_of("inherited") != Some("false")) {
        let mut plugin = plugin.clone();
        if let Some(executions) = plugin.child_mut("executions") {
            executions.children.retain(|e| e.text_of("inherited") != Some("false"));
        }
        match position(own, &plugin_key(&plugin), &plugin_key) {
            Some(at) => merge_plugin(&mut own.children[at], &plugin),
            None => own.children.push(plugin),
        }
    }
}

/// A plugin takes over what another mention of it says besides.
pub(crate) fn merge_plugin(dominant: &mut Element, recessive: &Element) {
    for part in &recessive.children {
        match part.name.as_ref() {
            "executions" => {
                let own = dominant.make("executions");
                for execution in &part.children {
                    match position(own, &execution_key(execution), &execution_key) {
                        Some(at) => merge_execution(&mut own.children[at], execution),
                        None => own.children.push(execution.clone()),
                    }
                }
            }
            "dependencies" => fill_list(dominant.make("dependencies"), part, &dependency_key),
            "configuration" => dominant.make("configuration").take_over(part),
            name if dominant.child(name).is_none() => dominant.children.push(part.clone()),
            _ => {}
        }
    }
}

fn merge_execution(dominant: &mut Element, recessive: &Element) {
    for part in &recessive.children {
        match part.name.as_ref() {
            "configuration" => dominant.make("configuration").take_over(part),
            "goals" => {
                let goals = dominant.make("goals");
                for goal in &part.children {
                    if !goals.children.iter().any(|g| g.text == goal.text) {
                        goals.children.push(goal.clone());
                    }
                }
            }
            name if dominant.child(name).is_none() => dominant.children.push(part.clone()),
            _ => {}
        }
    }
}

/// Puts a profile into its pom; the profile wins.
pub(crate) fn inject(model: &mut Element, profile: &Element) {
    for part in &profile.children {
        match part.name.as_ref() {
            "id" | "activation" => {}
            "properties" => {
                let own = model.make("properties");
                for property in &part.children {
                    own.remove(&property.name);
                    own.children.push(property.clone());
                }
            }
            "dependencies" => replace_list(model.make("dependencies"), part, &dependency_key),
            "dependencyManagement" => {
                let managed = model.make("dependencyManagement").make("dependencies");
                for list in part.children.iter().filter(|c| c.name == "dependencies") {
                    replace_list(managed, list, &dependency_key);
                }
            }
            "modules" | "subprojects" => {
                let own = model.make(&part.name);
                own.children.extend(part.children.iter().cloned());
            }
            "build" => inject_build(model.make("build"), part),
            _ => {
                model.remove(&part.name);
                model.children.push(part.clone());
            }
        }
    }
}

fn inject_build(build: &mut Element, profile: &Element) {
    for part in &profile.children {
        match part.name.as_ref() {
            "plugins" => inject_plugins(build.make("plugins"), part),
            "pluginManagement" => {
                let managed = build.make("pluginManagement").make("plugins");
                for list in part.children.iter().filter(|c| c.name == "plugins") {
                    inject_plugins(managed, list);
                }
            }
            _ => {
                build.remove(&part.name);
                build.children.push(part.clone());
            }
        }
    }
}

fn inject_plugins(own: &mut Element, profile: &Element) {
    for plugin in &profile.children {
        match position(own, &plugin_key(plugin), &plugin_key) {
            Some(at) => {
                let mut merged = plugin.clone();
                merge_plugin(&mut merged, &own.children[at]);
                own.children[at] = merged;
            }
            None => own.children.push(plugin.clone()),
        }
    }
}

/// What identifies a dependency.
pub(crate) fn dependency_key(dependency: &Element) -> Option<String> {
    let group = dependency.text_of("groupId")?;
    let artifact = dependency.text_of("artifactId")?;
    let mut key = format!("{group}:{artifact}");
    let classifier = dependency.text_of("classifier");
    match (dependency.text_of("type").filter(|t| *t != "jar"), classifier) {
        (None, None) => {}
        (kind, None) => key.push_str(&format!(":{}", kind.unwrap_or("jar"))),
        (kind, Some(classifier)) => {
            key.push_str(&format!(":{}:{classifier}", kind.unwrap_or("jar")));
        }
    }
    Some(key)
}

/// `group:artifact`, with the usual group of plugins.
pub(crate) fn plugin_key(plugin: &Element) -> Option<String> {
    let group = plugin.text_of("groupId").unwrap_or("org.apache.maven.plugins");
    Some(format!("{group}:{}", plugin.text_of("artifactId")?))
}

pub(crate) fn execution_key(execution: &Element) -> Option<String> {
    Some(execution.text_of("id").unwrap_or("default").to_owned())
}

fn artifact_key(element: &Element) -> Option<String> {
    Some(format!("{}:{}", element.text_of("groupId")?, element.text_of("artifactId")?))
}

type Key<'k> = &'k dyn Fn(&Element) -> Option<String>;

fn position(list: &Element, key: &Option<String>, of: Key<'_>) -> Option<usize> {
    key.as_ref()?;
    list.children.iter().position(|c| of(c) == *key)
}

/// Properties that are not there yet.
fn fill(own: &mut Element, other: &Element) {
    for child in &other.children {
        if own.child(&child.name).is_none() {
            own.children.push(child.clone());
        }
    }
}

fn fill_list(own: &mut Element, other: &Element, of: Key<'_>) {
    let known: std::collections::HashSet<_> = own.children.iter().filter_map(of).collect();
    let more = other.children.iter().filter(|c| of(c).is_none_or(|key| !known.contains(&key)));
    let more: Vec<Element> = more.cloned().collect();
    own.children.extend(more);
}

fn replace_list(own: &mut Element, other: &Element, of: Key<'_>) {
    for child in &other.children {
        match position(own, &of(child), of) {
            Some(at) => own.children[at] = child.clone(),
            None => own.children.push(child.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Element {
        Element::parse(text.as_bytes()).unwrap()
    }

    fn inherited(child: &str, parent: &str) -> Element {
        let mut child = parse(child);
        inherit(&mut child, &parse(parent));
        child
    }

    #[test]
    fn what_a_child_inherits() {
        let model = inherited(
            "<project><artifactId>c</artifactId><properties><a>1</a></properties>
             <dependencies><dependency><groupId>g</groupId><artifactId>x</artifactId><version>2</version></dependency></dependencies></project>",
            "<project><groupId>g</groupId><version>1</version><artifactId>p</artifactId><packaging>pom</packaging>
             <name>no</name><modules><module>c</module></modules><properties><a>0</a><b>2</b></properties>
             <dependencies><dependency><groupId>g</groupId><artifactId>x</artifactId><version>1</version></dependency>
             <dependency><groupId>g</groupId><artifactId>x</artifactId><type>test-jar</type></dependency></dependencies></project>",
        );
        assert_eq!((model.text_of("groupId"), model.text_of("version")), (Some("g"), Some("1")));
        assert_eq!((model.text_of("artifactId"), model.text_of("packaging")), (Some("c"), None));
        assert!(model.child("modules").is_none() && model.child("name").is_none());
        let properties = model.child("properties").unwrap();
        assert_eq!((properties.text_of("a"), properties.text_of("b")), (Some("1"), Some("2")));
        let keys: Vec<_> = model.list("dependencies").iter().filter_map(dependency_key).collect();
        assert_eq!(keys, ["g:x", "g:x:test-jar"]);
        assert_eq!(model.list("dependencies")[0].text_of("version"), Some("2"));
    }

    #[test]
    fn plugins_are_inherited_piece_by_piece() {
        let model = inherited(
            "<project><build><plugins><plugin><artifactId>p</artifactId>
             <executions><execution><id>e</id><goals><goal>b</goal></goals></execution></executions>
             <configuration><x>1</x></configuration></plugin></plugins></build></project>",
            "<project><build><plugins><plugin><groupId>org.apache.maven.plugins</groupId><artifactId>p</artifactId><version>3</version>
             <executions><execution><id>e</id><phase>test</phase><goals><goal>a</goal></goals></execution>
             <execution><id>own</id><inherited>false</inherited></execution></executions>
             <configuration><x>0</x><y>2</y></configuration></plugin>
             <plugin><artifactId>q</artifactId><inherited>false</inherited></plugin></plugins></build></project>",
        );
        let plugins = model.at(&["build", "plugins"]).unwrap();
        assert_eq!(plugins.children.len(), 1);
        let plugin = &plugins.children[0];
        assert_eq!(plugin.text_of("version"), Some("3"));
        assert_eq!(plugin.list("executions").len(), 1);
        assert_eq!(plugin.list("executions")[0].list("goals").len(), 2);
        let configuration = plugin.child("configuration").unwrap();
        assert_eq!(
            (configuration.text_of("x"), configuration.text_of("y")),
            (Some("1"), Some("2"))
        );
    }

    #[test]
    fn a_profile_wins() {
        let mut model = parse(
            "<project><properties><a>1</a></properties><modules><module>m</module></modules><build><finalName>f</finalName></build>
             <dependencies><dependency><groupId>g</groupId><artifactId>x</artifactId><version>1</version></dependency></dependencies></project>",
        );
        inject(&mut model, &parse(
            "<profile><id>p</id><properties><a>2</a></properties><modules><module>n</module></modules><build><finalName>h</finalName></build>
             <dependencies><dependency><groupId>g</groupId><artifactId>x</artifactId><version>2</version></dependency></dependencies></profile>",
        ));
        assert_eq!(model.at(&["properties", "a"]).unwrap().text, "2");
        assert_eq!(model.list("modules").len(), 2);
        assert_eq!(model.at(&["build", "finalName"]).unwrap().text, "h");
        assert_eq!(model.list("dependencies").len(), 1);
        assert_eq!(model.list("dependencies")[0].text_of("version"), Some("2"));
    }

    #[test]
    fn keys() {
        let key = |text: &str| {
            dependency_key(&parse(&format!(
                "<d><groupId>g</groupId><artifactId>a</artifactId>{text}</d>"
            )))
        };
        assert_eq!(key("").as_deref(), Some("g:a"));
        assert_eq!(key("<type>jar</type>").as_deref(), Some("g:a"));
        assert_eq!(key("<type>pom</type>").as_deref(), Some("g:a:pom"));
        assert_eq!(key("<classifier>tests</classifier>").as_deref(), Some("g:a:jar:tests"));
        assert_eq!(dependency_key(&parse("<d><groupId>g</groupId></d>")), None);
    }
}
