//! What every engine must do, tried with real programs.

mod common;
mod engines;
mod hazards;
mod nested;
mod oracle;
mod patched;
mod programs;
