//! `always-run` of `[tamis]`: tests that are never skipped, whoever starts them.
//!
//! A pattern is held against the whole name of a test and its short one: a command as it is typed, an item
//! of a suite with and without the suite, a test class with and without its package, a package of Go. One
//! that names a method (`FooTest#bar`) means its class.

use tamis_core::decide::Demand;
use tamis_core::{TestKey, Unit};
use tamis_settings::{NameGlobs, Settings};

/// What the settings want of a test.
pub(crate) fn demand(settings: &Settings, key: &TestKey) -> Demand {
    pattern(&settings.always_run, key).map_or(Demand::None, Demand::AlwaysRun)
}

/// What they want of a command that has tests inside: any of these could be meant.
pub(crate) fn demand_of_whole(settings: &Settings) -> Demand {
    match settings.always_run.patterns().first() {
        Some(first) => Demand::AlwaysRun(format!("of [tamis], {first}")),
        None => Demand::None,
    }
}

fn pattern(globs: &NameGlobs, key: &TestKey) -> Option<String> {
    if globs.patterns().is_empty() {
        return None;
    }
    let mut names = vec![key.unit.name().into_owned(), key.to_string()];
    if let Unit::Class(class) | Unit::Method { class, .. } = &key.unit {
        // Nested classes are a part of the one around them.
        let outer = class.split('$').next().unwrap_or(class);
        names.extend([class, outer].map(|name| name.to_owned()));
        names.extend([class, outer].map(|name| simple(name).to_owned()));
        let methods = globs.patterns().iter().filter_map(|p| Some((p, p.split_once('#')?.0)));
        for (whole, class) in methods {
            let glob = NameGlobs::new(vec![class.to_owned()]).ok()?;
            if names.iter().any(|name| glob.matches(name.as_bytes())) {
                return Some(whole.clone());
            }
        }
    }
    names.iter().find_map(|name| globs.matching(name.as_bytes())).map(str::to_owned)
}

fn simple(class: &str) -> &str {
    class.rsplit('.').next().unwrap_or(class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::{Module, Scope, Tool, ToolScope};

    fn meant(pattern: &str, key: &TestKey) -> bool {
        let globs = NameGlobs::new(vec![pattern.to_owned()]).unwrap();
        super::pattern(&globs, key).is_some()
    }

    #[test]
    fn commands_and_items() {
        let command = TestKey::command("./check.sh --all", ".");
        assert!(meant("./check.sh*", &command) && meant("check.sh --all", &command));
        assert!(!meant("check.sh", &command));
        let item = TestKey::item("shell", "tests/net_a.sh", ".");
        assert!(meant("net_*", &item) && meant("tests/*", &item) && meant("shell::tests/*", &item));
        assert!(!meant("shell", &item));
    }

    #[test]
    fn tests_inside_of_commands() {
        let (tool, module) = (Tool::new("mvn"), Module::Folder("core".into()));
        let scope = Scope::Tool(ToolScope { tool, module, execution: String::new() });
        let key = |unit| TestKey { scope: scope.clone(), unit, folder: ".".into() };
        let class = key(Unit::Class("a.b.FooTest".into()));
        let nested = key(Unit::Class("a.b.FooTest$Inner".into()));
        let method =
            |name: &str| key(Unit::Method { class: "a.b.FooTest".into(), method: name.into() });
        for pattern in ["a.b.FooTest", "FooTest", "a.b.*", "*Test", "FooTest#bar", "Foo*#*"] {
            assert!(meant(pattern, &class), "{pattern}");
            assert!(meant(pattern, &nested), "{pattern}");
            assert!(meant(pattern, &method("bar")) && meant(pattern, &method("x")), "{pattern}");
        }
        assert!(!meant("b.FooTest", &class) && !meant("Foo", &class));
        let package = key(Unit::Package("example.com/x/db".into()));
        assert!(meant("db", &package) && meant("example.com/**", &package));
        assert!(!meant("x", &package));
    }
}
