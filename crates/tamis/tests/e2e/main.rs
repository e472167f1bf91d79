//! The `tamis` binary as a user calls it. One program for all of these tests: they share the
//! support code, and linking once is cheaper than linking five times.

mod adversary;
mod again;
mod cli_json;
mod cli_settings;
mod cli_store;
mod cli_streams;
mod cli_verbs;
mod everyday;
mod go;
mod left;
mod logged;
mod machine;
mod modules;
mod paper_cases;
mod property;
mod pytest;
mod pytest_collect;
mod pytest_coverage;
mod pytest_kept;
mod pytest_kinds;
mod pytest_launchers;
mod pytest_left;
mod pytest_property;
mod pytest_traps;
mod remote;
mod replay;
mod report;
mod shadow;
mod shards;
mod static_select;
mod truth;
