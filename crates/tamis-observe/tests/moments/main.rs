//! What the observer makes of when it hears of a call: before it, in a log, or after it.

mod late;
mod logged;
mod races;
mod stage;
