//! `tamis java ...`, `tamis ant ...`, `tamis gradle ...` with real runners of tests: what must run does, what is left out is reported by the
//! runner, and nothing is left out wrongly.

mod ant;
mod asked;
mod entity;
mod figures;
mod gradle;
mod headers;
mod junit4;
mod kept_state;
mod methods;
mod others;
mod platform;
mod soundness;
mod strange;
mod testng;
