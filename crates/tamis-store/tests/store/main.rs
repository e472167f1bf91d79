//! The store from outside, through its public interface.

mod collecting;
mod common;
mod damage;
mod earlier;
mod processes;
mod records;
mod states;
