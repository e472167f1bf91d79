//! `TAMIS_LOG`: what tamis sees and decides, line by line on standard error (docs/debugging.md).
//!
//! Without the variable nothing is set up, and an event costs a look at one number.

use anyhow::{Result, anyhow};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Begins to write what the filter in `TAMIS_LOG` asks for (`debug`, `tamis_observe=trace,info`).
pub(crate) fn start() -> Result<()> {
    let Some(filter) = std::env::var_os("TAMIS_LOG").filter(|text| !text.is_empty()) else {
        return Ok(());
    };
    let text = filter.to_string_lossy();
    let filter = EnvFilter::try_new(&text).map_err(|error| anyhow!("TAMIS_LOG={text}: {error}"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .without_time()
        .init();
    Ok(())
}
