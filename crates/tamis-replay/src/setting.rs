//! What a replay has to know of the call around it.

use std::path::PathBuf;
use tamis_mutants::Language;

/// The project, and tamis itself.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The program that is called in the work tree: tamis itself.
    pub tamis: PathBuf,
    /// The folder that the user is in.
    pub folder: PathBuf,
    /// The store of the project; the folder of its replays stands beside it.
    pub store: PathBuf,
    /// The folder in which tamis keeps things for itself: no place for a work tree.
    pub cache: Option<PathBuf>,
    /// The settings of the project as they are now, with their place.
    pub settings: Option<(PathBuf, Vec<u8>)>,
    /// Whether tests inside the command that is named are distinguished; of `--resume`, that of the first call counts.
    pub has_units: bool,
    /// The language that faults can be put into, for `--mutants`.
    pub faults: Option<Language>,
}
