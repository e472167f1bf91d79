//! What an analysis is asked for.

use crate::ids::{ClassId, MethodId};

/// How receivers of calls are found, from the coarsest to the finest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// Class hierarchy analysis: any class below the declared type.
    Cha,
    /// Rapid type analysis: any class below it that is made somewhere.
    Rta,
    /// One set of classes per variable and field.
    ZeroCfa,
    /// The same with objects distinguished by where they are made.
    ZeroOneCfa,
}

impl Algorithm {
    pub const ALL: [Self; 4] = [Self::Cha, Self::Rta, Self::ZeroCfa, Self::ZeroOneCfa];

    pub fn name(self) -> &'static str {
        match self {
            Self::Cha => "cha",
            Self::Rta => "rta",
            Self::ZeroCfa => "0-cfa",
            Self::ZeroOneCfa => "0-1-cfa",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnalysisOptions {
    pub algorithm: Algorithm,
    /// Class literals with `newInstance`, and `Class.forName` of constants, make objects.
    pub reflection: bool,
    pub assumptions: Assumptions,
}

impl AnalysisOptions {
    /// Without reflection, and with what selection assumes of code that is not read.
    pub fn new(algorithm: Algorithm) -> Self {
        Self { algorithm, reflection: false, assumptions: Assumptions::default() }
    }
}

/// What is assumed of code that is not read. Selection uses the default, which is the study's; with the others
/// a difference to another analysis is explained by trying whether it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Assumptions {
    /// Calls on types of libraries that are left out go to the project's own objects, instead of nowhere.
    pub follow_library_types: bool,
    /// Nothing comes out of code that is not read, nor through a cast to a type that is not, instead of any
    /// object that fits. **Not safe**: misses what is done with those objects.
    pub nothing_from_outside: bool,
}

/// A method that somebody outside calls, on an object of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Root {
    pub method: MethodId,
    pub class: ClassId,
}
