//! `tamis mvn test` with real Maven: what must be selected is, and nothing else.
//!
//! Many features of the language and of the frameworks stand in one project, so that one build records
//! them all, and each round edits many independent things at once.

mod affected;
mod again;
mod asked;
mod by_graph;
mod children;
mod choices;
mod coverage;
mod generated;
mod generated_methods;
mod isolation;
mod kinds;
mod methods;
mod modules;
mod property;
mod property_methods;
mod semantics;
mod surroundings;
