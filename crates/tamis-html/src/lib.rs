//! The report that people open: one HTML file that needs nothing beside it, and Markdown for job pages and pull
//! requests.
//!
//! ```text
//! model, sets  the values between
//! gather     store, kept runs and decisions of now -> Report: plain values
//!   inputs   what each test looked at, and what an edit of it runs
//! page       Report -> HTML: a template, and the data in columns, compressed (payload)
//! words      the sentences about a run
//! markdown   Report -> the same headline figures in Markdown
//! folder     the files of `tamis report`, and where they will be found
//! replay     the result of a replay -> the same HTML
//! ```
//!
//! Model: everything that is shown stands in the store, or is a decision of now. Foreign text (names, messages) goes
//! into the page in two ways only: escaped by the template, or as compressed data that the page's script puts in as text
//! nodes. The page may open no connection: its policy forbids it. Of the machine it knows the name of the project's
//! folder, and what the records say.
//!
//! Not seen: runs of other stores, and calls before this version kept runs; what these saved is known.

mod folder;
mod gather;
mod inputs;
pub mod markdown;
mod model;
mod page;
mod payload;
mod replay;
mod sets;
mod words;

pub use folder::{Written, link_of, now_ms, write_folder};
pub use gather::gather;
pub use model::{Known, Now, Report, Sources};
pub use page::write;
pub use replay::write_replay;
pub use sets::{Costs, Edited, Inputs, InputsOfTest};
