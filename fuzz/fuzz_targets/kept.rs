//! Any bytes behind a right checksum as a file that tamis kept: nothing, or something that can be
//! looked at, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use tamis_core::Hash;
use tamis_select_static::block::List;
use tamis_select_static::state::State;
use tamis_select_static::{Caches, JarCache, Module, World};

fn write(path: &Path, body: &[u8]) {
    let sum = Hash::of(body).0.to_le_bytes();
    std::fs::write(path, [&sum[..], body].concat()).expect("a file can be written");
}

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let state = State::new(folder.path(), ".");
    std::fs::create_dir_all(state.folder()).expect("a folder can be made");
    write(&state.folder().join("proofs"), bytes);
    write(&state.folder().join(format!("snapshot-{:032x}", 1)), bytes);
    drop(state.proofs());
    if let Some(mut snapshot) = state.snapshot(Hash(1)) {
        snapshot.names.prepare();
        for node in &snapshot.nodes {
            drop(snapshot.names.display(node.name));
        }
    }

    // The version that stands in front of a block is right, so that the rest is looked at.
    let content = Hash(7);
    let mut block = vec![tamis_select_static::block::BLOCK_VERSION as u8];
    block.extend_from_slice(bytes);
    write(&folder.path().join(format!("jar-{:032x}", content.0)), &block);
    let jars = JarCache::new(Some(folder.path().to_path_buf()));
    if let Ok(block) = jars.block(content, None) {
        for class in &block.classes {
            drop(class.bodies());
            for list in [List::Inherits, List::Uses, List::Texts] {
                class.list(list).iter().for_each(|&id| drop(block.names.display(id)));
            }
        }
    }
    let module = Module { name: ".".into(), ..Module::default() };
    let caches = Caches { folders: None, jars };
    let world = World::load(&module, folder.path(), &caches);
    assert_eq!(world.nodes().count(), 0);
});
