//! The store from outside, through its public interface.

mod collecting;
mod common;
mod damage;
mod processes;
mod records;
mod states;
