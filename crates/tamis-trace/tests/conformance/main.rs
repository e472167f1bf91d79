//! What every engine must do, tried with real programs.

mod common;
mod endings;
mod engines;
mod hazards;
mod nested;
mod oracle;
mod patched;
mod programs;
