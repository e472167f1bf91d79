//! What a test is: where it belongs ([`Scope`]), what is run ([`Unit`]), and in which folder.
//!
//! Identity is typed. Whether something is a suite's item, a test class or a method is never found out
//! by looking for a sign in its name: a suite may be called `java:unit`, an item `t#1`, a folder `a/b`.
//!
//! Keys have three texts. [`fmt::Display`] is for people, and two keys may look alike in it.
//! `to_stored` is for the store: different keys have different texts. [`ToolScope::id`] stands in facts,
//! which people read and which are compared: different scopes have different ids.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};

/// The unit that is selected. Never holds an absolute path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TestKey {
    pub scope: Scope,
    pub unit: Unit,
    /// The folder it runs in, relative to the project's root, `.` for the root.
    pub folder: String,
}

/// Where a test belongs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// A bare command is a test by itself.
    Command,
    /// A suite of `tamis.toml`, by its name.
    Suite(String),
    /// Tests that a tool runs inside one of its commands.
    Tool(ToolScope),
}

/// A part of what a tool tests: two modules, folders or executions are never the same scope.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolScope {
    pub tool: Tool,
    pub module: Module,
    /// Where a tool tests one module in several ways; empty for the usual one.
    pub execution: String,
}

/// A tool whose tests are distinguished, by the name of its front end's scopes: `mvn`, `go`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tool(std::borrow::Cow<'static, str>);

impl Tool {
    pub const fn new(name: &'static str) -> Self {
        Self(std::borrow::Cow::Borrowed(name))
    }

    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a tool calls a module, by its place in the project.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Module {
    /// In the root folder, where the folder's name says nothing: by a name that the tool has for it.
    Root(String),
    /// By its folder relative to the root.
    Folder(String),
}

impl Module {
    /// The module of a folder; `name` is for the root.
    pub fn of(folder: &str, name: &str) -> Self {
        match folder {
            "." => Self::Root(name.to_owned()),
            _ => Self::Folder(folder.to_owned()),
        }
    }
}

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Unit {
    /// The words of a bare command as one would type them.
    Command(String),
    /// An item of a suite.
    Item(String),
    /// A test class by its binary name, or what a runner runs as one.
    Class(String),
    /// A test method, by the class that it runs in.
    Method { class: String, method: String },
    /// A package with its tests.
    Package(String),
}

impl Unit {
    /// The name by which the tool or the user knows it.
    pub fn name(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Command(name) | Self::Item(name) | Self::Class(name) | Self::Package(name) => {
                name.into()
            }
            Self::Method { class, method } => format!("{class}#{method}").into(),
        }
    }

    /// A name that people use for short: the last part of a dotted class.
    pub fn short_name(&self) -> std::borrow::Cow<'_, str> {
        let last = |class: &str| class.rsplit('.').next().unwrap_or_default().to_owned();
        match self {
            Self::Class(class) => last(class).into(),
            Self::Method { class, method } => format!("{}#{method}", last(class)).into(),
            other => other.name(),
        }
    }

    pub fn is_method(&self) -> bool {
        matches!(self, Self::Method { .. })
    }

    /// As the store keeps it; different units have different texts.
    pub fn to_stored(&self) -> String {
        match self {
            Self::Command(name) => format!("!{name}"),
            Self::Item(name) => format!("i{name}"),
            Self::Class(name) => format!("c{name}"),
            Self::Method { class, method } => fields('m', &[class, method]),
            Self::Package(name) => format!("p{name}"),
        }
    }

    /// `None` for what no version of tamis writes.
    pub fn from_stored(text: &str) -> Option<Self> {
        let mut rest = text.chars();
        let kind = rest.next()?;
        let name = || rest.as_str().to_owned();
        Some(match kind {
            '!' => Self::Command(name()),
            'i' => Self::Item(name()),
            'c' => Self::Class(name()),
            'p' => Self::Package(name()),
            'm' => {
                let [class, method] = read_fields(rest.as_str())?;
                Self::Method { class, method }
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl Scope {
    /// The tool whose tests these are.
    pub fn tool(&self) -> Option<&Tool> {
        match self {
            Self::Tool(scope) => Some(&scope.tool),
            Self::Command | Self::Suite(_) => None,
        }
    }

    /// As the store keeps it; different scopes have different texts.
    pub fn to_stored(&self) -> String {
        match self {
            Self::Command => String::new(),
            Self::Suite(name) => format!("s{name}"),
            Self::Tool(ToolScope { tool, module, execution }) => match module {
                Module::Root(name) => fields('r', &[tool.name(), name, execution]),
                Module::Folder(folder) => fields('t', &[tool.name(), folder, execution]),
            },
        }
    }

    /// `None` for what no version of tamis writes.
    pub fn from_stored(text: &str) -> Option<Self> {
        let mut rest = text.chars();
        let Some(kind) = rest.next() else { return Some(Self::Command) };
        let rest = rest.as_str();
        if kind == 's' {
            return Some(Self::Suite(rest.to_owned()));
        }
        let [tool, module, execution] = read_fields(rest)?;
        let module = match kind {
            'r' => Module::Root(module),
            't' => Module::Folder(module),
            _ => return None,
        };
        Some(Self::Tool(ToolScope { tool: Tool(tool.into()), module, execution }))
    }
}

impl ToolScope {
    /// How facts about this scope begin; different scopes have different ids.
    pub fn id(&self) -> String {
        let mut id = format!("{}:", self.tool);
        match &self.module {
            // No folder of a project begins so.
            Module::Root(name) => id += &format!("./{}", escaped(name)),
            Module::Folder(folder) => id += &escaped(folder),
        }
        if !self.execution.is_empty() {
            id += &format!("@{}", escaped(&self.execution));
        }
        id
    }
}

impl From<ToolScope> for Scope {
    fn from(scope: ToolScope) -> Self {
        Self::Tool(scope)
    }
}

/// Without the signs that separate the parts of an id and the parts of a fact.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '@' | ':' | '%' => drop(write!(escaped, "%{:02x}", u32::from(c))),
            c if c.is_control() => drop(write!(escaped, "%{:02x}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    // A folder of this name would look like a root.
    match escaped.strip_prefix("./") {
        Some(rest) => format!("%2e/{rest}"),
        None => escaped,
    }
}

/// Texts with their lengths before them: no text can look like two.
fn fields(kind: char, texts: &[&str]) -> String {
    let mut stored = String::from(kind);
    for text in texts {
        let _ = write!(stored, "{}:{text}", text.len());
    }
    stored
}

fn read_fields<const N: usize>(mut rest: &str) -> Option<[String; N]> {
    let mut found = Vec::with_capacity(N);
    for _ in 0..N {
        let (length, behind) = rest.split_once(':')?;
        let length: usize = length.parse().ok()?;
        found.push(behind.get(..length)?.to_owned());
        rest = behind.get(length..)?;
    }
    rest.is_empty().then_some(())?;
    found.try_into().ok()
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command => Ok(()),
            Self::Suite(name) => f.write_str(name),
            Self::Tool(scope) => scope.fmt(f),
        }
    }
}

impl fmt::Display for ToolScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Module::Root(module) | Module::Folder(module)) = &self.module;
        write!(f, "{}:{module}", self.tool)?;
        if !self.execution.is_empty() {
            write!(f, "@{}", self.execution)?;
        }
        Ok(())
    }
}

impl fmt::Display for TestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            Scope::Command if self.folder == "." => write!(f, "{}", self.unit),
            Scope::Command => write!(f, "{} (in {})", self.unit, self.folder),
            scope => write!(f, "{scope}::{}", self.unit),
        }
    }
}

impl TestKey {
    /// An item of a suite.
    pub fn item(suite: impl Into<String>, item: impl Into<String>, folder: &str) -> Self {
        Self {
            scope: Scope::Suite(suite.into()),
            unit: Unit::Item(item.into()),
            folder: folder.to_owned(),
        }
    }

    /// A bare command by its words.
    pub fn command(words: impl Into<String>, folder: impl Into<String>) -> Self {
        Self { scope: Scope::Command, unit: Unit::Command(words.into()), folder: folder.into() }
    }

    pub fn is_command(&self) -> bool {
        self.scope == Scope::Command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn tool(module: Module, execution: &str) -> ToolScope {
        ToolScope { tool: Tool::new("mvn"), module, execution: execution.into() }
    }

    fn folder(path: &str) -> Module {
        Module::Folder(path.into())
    }

    /// Scopes that texts without types would take for one another.
    fn alike() -> Vec<Scope> {
        let root = |name: &str| Module::Root(name.into());
        let mut scopes: Vec<Scope> = [
            tool(folder("a"), "b"),
            tool(folder("a/b"), ""),
            tool(folder("a@b"), ""),
            tool(folder("a"), ""),
            tool(root("a"), ""),
            tool(root("a"), "b"),
            tool(root("a/b"), ""),
            tool(folder("./a"), ""),
            tool(folder("a: class x"), ""),
            tool(folder("a%40b"), ""),
            tool(folder(""), "a"),
            ToolScope { tool: Tool::new("mvn:a"), module: folder(""), execution: "".into() },
        ]
        .map(Scope::Tool)
        .into();
        scopes.extend(["mvn:a", "mvn:a@b", "", "t3:mvn1:a0:"].map(|s| Scope::Suite(s.into())));
        scopes.push(Scope::Command);
        scopes
    }

    #[test]
    fn different_scopes_have_different_stored_texts_which_come_back() {
        let scopes = alike();
        let stored: HashSet<String> = scopes.iter().map(Scope::to_stored).collect();
        assert_eq!(stored.len(), scopes.len());
        for scope in scopes {
            assert_eq!(Scope::from_stored(&scope.to_stored()), Some(scope));
        }
    }

    #[test]
    fn different_tool_scopes_have_different_ids() {
        let tools: Vec<ToolScope> = alike()
            .into_iter()
            .filter_map(|scope| match scope {
                Scope::Tool(scope) => Some(scope),
                _ => None,
            })
            .filter(|scope| scope.tool.name() == "mvn")
            .collect();
        let ids: HashSet<String> = tools.iter().map(ToolScope::id).collect();
        assert_eq!(ids.len(), tools.len(), "{ids:?}");
        // A fact is `ID: rest`.
        assert!(ids.iter().all(|id| !id.contains(": ")));
    }

    #[test]
    fn different_units_have_different_stored_texts_which_come_back() {
        let method =
            |class: &str, method: &str| Unit::Method { class: class.into(), method: method.into() };
        let units = [
            Unit::Command("t#1".into()),
            Unit::Item("t#1".into()),
            Unit::Class("t#1".into()),
            Unit::Package("t#1".into()),
            method("t", "1"),
            method("t#1", ""),
            method("", "t#1"),
            Unit::Item(String::new()),
        ];
        let stored: HashSet<String> = units.iter().map(Unit::to_stored).collect();
        assert_eq!(stored.len(), units.len());
        for unit in units {
            assert_eq!(Unit::from_stored(&unit.to_stored()), Some(unit));
        }
    }

    #[test]
    fn damaged_texts_are_nothing() {
        for text in ["x", "t3:mvn", "t9:mvn1:a0:", "t3:mvn1:a0:more", "m1:a", "t3:mvné1:"] {
            assert_eq!(Scope::from_stored(text), None, "{text}");
        }
        for text in ["", "x", "m1:a", "m1:a1:bc"] {
            assert_eq!(Unit::from_stored(text), None, "{text}");
        }
    }

    #[test]
    fn people_see_short_names() {
        let key = |scope: Scope, unit: Unit, folder: &str| {
            TestKey { scope, unit, folder: folder.into() }.to_string()
        };
        let class = Unit::Class("a.FooTest".into());
        assert_eq!(
            key(tool(folder("core"), "").into(), class.clone(), "core"),
            "mvn:core::a.FooTest"
        );
        let root = Module::Root("app".into());
        assert_eq!(key(tool(root, "it").into(), class, "."), "mvn:app@it::a.FooTest");
        assert_eq!(TestKey::command("make check", "sub").to_string(), "make check (in sub)");
        assert_eq!(TestKey::item("shell", "a.sh", ".").to_string(), "shell::a.sh");
        let method = Unit::Method { class: "a.FooTest".into(), method: "bar".into() };
        assert_eq!(
            (method.to_string(), method.short_name().into_owned()),
            ("a.FooTest#bar".into(), "FooTest#bar".into())
        );
    }
}
