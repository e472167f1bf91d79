//! The shared store against a folder and against a real S3 server on this machine (versitygw, which scripts/test
//! installs): writers that race, servers that fail, and people who forge.

mod crowd;
mod faults;
mod forgery;
mod proxy;
mod support;
mod travel;
