//! A folder in which the test itself plays the engine: it says what the tree does, and when it is heard
//! of.

use std::path::Path;
use tamis_core::PathMap;
use tamis_fs::{Fingerprinter, Options};
use tamis_observe::{Context, Judgement, Observations, Observer, Rules, Services};
use tamis_trace::{Action, OpenHow};

struct Everything;

impl Rules for Everything {
    fn judge(&self, _: &Path, _: &str) -> Judgement {
        Judgement::Default
    }
}

pub(crate) fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

/// Opening to read; of a folder that is listing it.
pub(crate) fn open<'a>(path: &Path) -> Action<'a> {
    let how = OpenHow { read: true, ..OpenHow::default() };
    Action::Open { path: bytes(path).into(), how }
}

/// What is observed of `play` in a folder that `prepare` has filled before.
pub(crate) fn observed(
    prepare: impl FnOnce(&Path),
    play: impl FnOnce(&mut Observer<'_>, &Path),
) -> Observations {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    prepare(&root);
    let paths = PathMap::new(root.clone(), None);
    let fingerprinter = Fingerprinter::new(Options::default());
    let services = Services::default();
    let mut observer = Observer::new(Context {
        paths: &paths,
        rules: &Everything,
        fingerprinter: &fingerprinter,
        services: &services,
    });
    play(&mut observer, &root);
    observer.finish(false)
}
