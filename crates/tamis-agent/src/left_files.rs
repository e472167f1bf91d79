//! Files that a build would have if nothing had been skipped: reports, coverage.
//!
//! They are written by the build's own process, not by tamis beside it: so they are among what the build wrote,
//! and it is started again where they are gone.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use tamis_jvm_wire::{LeftFile, Mode};

/// Writes one of them. Where it has to replace another one, no reader sees half of it.
pub(crate) fn write(file: &LeftFile) -> io::Result<()> {
    let path = Path::new(&file.path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match file.mode {
        Mode::Replace => {
            let mut beside = path.as_os_str().to_owned();
            beside.push(".tamis-new");
            fs::write(&beside, &file.bytes)?;
            fs::rename(&beside, path)
        }
        Mode::Append => {
            OpenOptions::new().create(true).append(true).open(path)?.write_all(&file.bytes)
        }
    }
}
