//! Variables and system properties that were asked for.
//!
//! What was read from one of them can be kept anywhere: in static state, by a library, in a thread. So what anybody
//! asked for so far in a JVM counts for every test that ends from then on, who ever asked. Native code and child processes read
//! the environment unseen: from the first on, all variables count.

use std::collections::BTreeSet;
use tamis_jvm_wire::Lookup;

/// Names that were asked for in a JVM since it began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskedNames {
    pub variables: BTreeSet<String>,
    /// The environment was listed, or handed to somebody who cannot be watched.
    pub all_variables: bool,
    pub properties: BTreeSet<String>,
    /// System properties were listed, or the object that has them was asked for.
    pub all_properties: bool,
}

impl AskedNames {
    pub(crate) fn add(&mut self, lookup: &Lookup) {
        match lookup {
            Lookup::Variable(name) => drop(self.variables.insert(name.clone())),
            Lookup::AllVariables => self.all_variables = true,
            Lookup::Property(name) if name.is_empty() => self.all_properties = true,
            Lookup::Property(name) => drop(self.properties.insert(name.clone())),
            _ => {}
        }
    }
}
