//! What the caller keeps with a record, besides what the record itself says. It goes when the record goes.

use crate::error::Failure;
use rusqlite::{Connection, params};

/// What is kept with a record, and is dropped with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithRecord {
    /// The reports that a runner wrote about it.
    Reports,
    /// The code that it covered.
    Coverage,
    /// What it left in the process that it ran in.
    Left,
    /// What its file was when it was collected.
    Collected,
}

impl WithRecord {
    const ALL: [Self; 4] = [Self::Reports, Self::Coverage, Self::Left, Self::Collected];

    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Reports => "reports of record",
            Self::Coverage => "coverage of record",
            Self::Left => "left by record",
            Self::Collected => "collected for record",
        }
    }
}

/// A record goes, and with it what was kept with it.
pub(crate) fn drop_with(conn: &Connection, record: u32) -> Result<(), Failure> {
    let sql = "DELETE FROM kept WHERE kind = ?1 AND name = ?2";
    for what in WithRecord::ALL {
        conn.prepare_cached(sql)?.execute(params![what.kind(), record.to_string()])?;
    }
    Ok(())
}
