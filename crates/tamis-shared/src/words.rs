//! The words of `tamis store`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct StoreArguments {
    #[command(subcommand)]
    pub verb: StoreVerb,
}

#[derive(Debug, Subcommand)]
pub enum StoreVerb {
    /// Bring the records of this machine into the scope that `write` of [remote] names
    Push,
    /// Take in what is new in the scopes that `read` of [remote] names
    Pull(PullArguments),
    /// What is in the shared store, what of it is here, and what is still to be pushed
    Status,
    /// Read every pack of the scopes that are read, and check its address, signature and signer
    Verify,
    /// Drop what is too old or too large from the scope that is written, and unfinished pushes
    Gc,
    /// Show the key of this machine, for `trusted-keys`; one is made if there is none
    Keys(KeysArguments),
    /// Take in the records of other stores: folders of stores, or files that `export` wrote
    Merge(MergeArguments),
    /// Write all records of this project to a file, signed by the key of this machine
    Export(ExportArguments),
    /// Take in a file that `export` wrote, if its signer is among the trusted-keys
    Import(ImportArguments),
}

#[derive(Debug, Args)]
pub struct PullArguments {
    /// Take in all packs, also those that were taken in before
    #[arg(long)]
    pub again: bool,
    /// Take a head that is older than one that was there before, for instance after a restored copy
    #[arg(long)]
    pub accept_older: bool,
}

#[derive(Debug, Args)]
pub struct KeysArguments {
    /// Print a new pair of keys for CI, and change nothing; the secret one is for TAMIS_SIGNING_KEY
    #[arg(long)]
    pub new: bool,
}

#[derive(Debug, Args)]
pub struct MergeArguments {
    /// Folders with a tamis.db, or files of `tamis store export`
    #[arg(value_name = "STORE", required = true)]
    pub stores: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ExportArguments {
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Replace all names (tests, paths, variables, programs, addresses) by numbers: to show it to others. Such a file proves
    /// nothing and cannot be imported
    #[arg(long)]
    pub redact: bool,
}

#[derive(Debug, Args)]
pub struct ImportArguments {
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// What the help of `tamis store` says besides its verbs.
pub const TEACH: &str = "\
  tamis store keys              the key of this machine, for trusted-keys
  tamis store status            what is there, what is here, what waits
  tamis store pull | push       runs do that by themselves
  tamis store export FILE       all records in one file; import takes it in

[remote] in tamis.toml says where it is (docs/remote.md, docs/security.md).";
