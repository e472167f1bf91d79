//! Puts a fault into its file, and the file back as it was.

use crate::fault::Fault;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// A file with a fault in it. It is put back when this goes.
#[derive(Debug)]
pub struct Injected {
    file: PathBuf,
    original: Vec<u8>,
    modified: SystemTime,
    with_fault: Vec<u8>,
}

impl Injected {
    /// Puts the fault in. A class file keeps its time, so that a compiler does not take it for out of date. A
    /// source gets one of its own for each `n`: Python knows by time and size whether it has compiled a source.
    pub fn new(fault: &Fault, n: u32) -> io::Result<Self> {
        let original = fs::read(&fault.file)?;
        let modified = fs::metadata(&fault.file)?.modified()?;
        let with_fault = fault.applied(&original);
        let later = match fault.file.extension().is_some_and(|ending| ending == "class") {
            true => Duration::ZERO,
            false => Duration::from_secs(2) * (n + 1),
        };
        let this = Self { file: fault.file.clone(), original, modified, with_fault };
        this.write(&this.with_fault, modified + later)?;
        Ok(this)
    }

    /// Whether the fault is still there: a build may have compiled the file again.
    pub fn is_there(&self) -> bool {
        fs::read(&self.file).is_ok_and(|now| now == self.with_fault)
    }

    /// Puts the file back.
    pub fn restore(self) -> io::Result<()> {
        self.write(&self.original, self.modified)
    }

    fn write(&self, bytes: &[u8], modified: SystemTime) -> io::Result<()> {
        fs::write(&self.file, bytes)?;
        File::options().append(true).open(&self.file)?.set_modified(modified)
    }
}

impl Drop for Injected {
    fn drop(&mut self) {
        // After `restore` this changes nothing.
        let _ = self.write(&self.original, self.modified);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Kind, Lines};

    #[test]
    fn the_file_comes_back_with_its_time() {
        let folder = tempfile::tempdir().unwrap();
        for (name, keeps) in [("A.class", true), ("a.py", false)] {
            let file = folder.path().join(name);
            fs::write(&file, "abc").unwrap();
            let before = fs::metadata(&file).unwrap().modified().unwrap();
            let fault = Fault {
                kind: Kind::CallRemoved,
                place: String::new(),
                line: 1,
                around: Lines::default(),
                at: 1..2,
                bytes: b"XY".to_vec(),
                file: file.clone(),
                source: String::new(),
            };
            let injected = Injected::new(&fault, 3).unwrap();
            assert_eq!(fs::read(&file).unwrap(), b"aXYc");
            assert!(injected.is_there());
            let during = fs::metadata(&file).unwrap().modified().unwrap();
            assert_eq!(during == before, keeps);
            fs::write(&file, "other").unwrap();
            assert!(!injected.is_there());
            injected.restore().unwrap();
            assert_eq!(fs::read(&file).unwrap(), b"abc");
            assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
        }
    }
}
