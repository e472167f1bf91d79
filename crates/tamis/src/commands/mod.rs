//! One module per verb.

pub(crate) mod clean;
pub(crate) mod deps;
pub(crate) mod doctor;
mod doctor_jvm;
pub(crate) mod help;
pub(crate) mod init;
pub(crate) mod modules;
pub(crate) mod run;
pub(crate) mod select;
pub(crate) mod static_verb;
pub(crate) mod status;
pub(crate) mod why;
