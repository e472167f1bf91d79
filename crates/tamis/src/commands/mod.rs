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
mod static_json;
pub(crate) mod static_methods;
mod static_offline;
pub(crate) mod static_select;
mod static_starts;
pub(crate) mod status;
pub(crate) mod why;
