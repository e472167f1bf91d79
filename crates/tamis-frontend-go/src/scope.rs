//! A listing as a scope that the plan asks about.
//!
//! A scope is where go works and with which flags: `go test -race` is another run than `go test`. Its
//! facts are those of its listing, with the scope before their names.

use crate::command::GoTest;

use crate::listing::{Listing, Package};
use std::path::Path;
use std::sync::Arc;
use tamis_core::decide::Demand;
use tamis_core::{Hash, Module, Tool, ToolScope, Unit, Value};
use tamis_project::{Project, ScopeFacts};
use tamis_session::KnownScope;
use tamis_settings::Settings;

/// The tool whose scopes these are.
pub const GO: Tool = Tool::new("go");

#[derive(Debug, Clone)]
pub(crate) struct GoScope {
    scope: ToolScope,
    folder: String,
    /// How its facts begin.
    id: String,
    /// The fact that stands for the list of packages.
    packages: String,
    pub(crate) listing: Arc<Listing>,
}

impl GoScope {
    pub(crate) fn new(project: &Project, test: &GoTest, current: &Path, listing: Listing) -> Self {
        let folder = test.folder(current);
        let folder = folder.canonicalize().unwrap_or(folder);
        let folder = project.paths.to_portable(&folder).to_string();
        let execution = test.flags().join(" ");
        let scope = ToolScope { tool: GO, module: Module::Folder(folder.clone()), execution };
        let id = scope.id();
        let packages = format!("{id}: packages of {}", test.packages().join(" "));
        Self { scope, folder, id, packages, listing: Arc::new(listing) }
    }

    /// The facts of a package, with their values.
    pub(crate) fn facts(&self, package: &Package) -> Vec<(Arc<str>, Value)> {
        let named = |name: &str| -> Arc<str> { format!("{}: {name}", self.id).into() };
        self.listing.inputs(package).map(|input| (named(input.name), input.value)).collect()
    }

    /// Which packages there are, as one fact.
    pub(crate) fn package_list(&self) -> (Arc<str>, Value) {
        (self.packages.as_str().into(), self.list_value())
    }

    fn list_value(&self) -> Value {
        let names = self.listing.packages().iter().map(|package| package.import_path.as_bytes());
        Value::Text(Hash::of_parts(names))
    }

    pub(crate) fn unit(package: &Package) -> Unit {
        Unit::Package(package.import_path.clone())
    }
}

impl ScopeFacts for GoScope {
    fn answer(&self, fact: &str) -> Option<Value> {
        if fact == self.packages {
            return Some(self.list_value());
        }
        let name = fact.strip_prefix(&self.id)?.strip_prefix(": ")?;
        // Another listing of the same scope may know it.
        Some(self.listing.fact(name)).filter(|value| *value != Value::Absent)
    }
}

impl KnownScope for GoScope {
    fn scope(&self) -> &ToolScope {
        &self.scope
    }

    fn folder(&self) -> &str {
        &self.folder
    }

    fn demand(&self, _: &Settings, unit: &Unit) -> Demand {
        let package = self.listing.package(&unit.name());
        let why = package.and_then(|p| p.must_run.clone().or_else(|| p.error.clone()));
        why.map_or(Demand::None, Demand::Effect)
    }
}
