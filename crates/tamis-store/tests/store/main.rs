//! The store from outside, through its public interface.

mod common;
mod records;
