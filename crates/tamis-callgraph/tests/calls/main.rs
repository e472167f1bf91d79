//! Call graphs of programs that javac compiled.

mod changes;
mod figures;
mod kinds;
mod order;
mod support;
