//! People who forge. Each test is a line of docs/security.md.

use crate::support::{Machine, key, minute, run, settings, trusting};
use std::fs;
use std::path::PathBuf;
use tamis_core::Outcome;
use tamis_remote::head::{Head, PackEntry};
use tamis_remote::place::Place as _;
use tamis_remote::pull::Wish;
use tamis_remote::{folder::Folder, pack};
use tempfile::TempDir;

struct Scene {
    folder: TempDir,
    settings: tamis_settings::Remote,
    ci: Machine,
    dev: Machine,
}

fn scene() -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(&format!("file://{}", folder.path().display()), &trusting(&[&key(1)]));
    let (ci, dev) = (Machine::new(&settings, key(1)), Machine::new(&settings, key(2)));
    ci.store.append(&run("honest", 1, Outcome::Passed)).unwrap();
    ci.push().unwrap();
    Scene { folder, settings, ci, dev }
}

impl Scene {
    fn place(&self) -> Folder {
        Folder::new(self.folder.path().to_path_buf())
    }

    fn head_file(&self) -> PathBuf {
        let heads = self.folder.path().join("v1/shop/heads/main");
        let names = fs::read_dir(&heads).unwrap().flatten();
        let newest = names.filter_map(|e| e.file_name().to_str()?.parse::<u64>().ok()).max();
        heads.join(newest.unwrap().to_string())
    }

    fn pack_file(&self) -> PathBuf {
        let packs = fs::read_dir(self.folder.path().join("v1/shop/packs")).unwrap();
        packs.flatten().next().unwrap().path()
    }

    /// Puts a head there as somebody would who can write to the place.
    fn put_head(&self, bytes: &[u8]) {
        let last: u64 = self.head_file().file_name().unwrap().to_str().unwrap().parse().unwrap();
        let head = "v1/shop/heads/main";
        assert!(self.place().replace(head, bytes, Some(&last.to_string()), minute()).unwrap());
    }

    /// A pack of a stranger with a record that says that a test passed.
    fn forged_pack(&self, signer: u8, place: (&str, &str)) -> (Vec<u8>, PackEntry) {
        let stranger = Machine::new(&self.settings, key(signer));
        stranger.store.append(&run("forged", 99, Outcome::Passed)).unwrap();
        let all = stranger.store.believed_records().unwrap();
        let shipment = stranger.remote.shipment(&stranger.store, &all).unwrap();
        let bytes = pack::write(&shipment, place, &key(signer), false).unwrap();
        let entry = PackEntry {
            address: pack::address(&bytes),
            bytes: bytes.len() as u64,
            records: 1,
            newest_ms: 99,
        };
        self.place().put(&format!("v1/shop/packs/{}", entry.address), &bytes, minute()).unwrap();
        (bytes, entry)
    }

    /// A head of CI's own making that names this pack: whoever wrote the head, the pack is looked at by itself.
    fn name(&self, entry: PackEntry) {
        let mut head = Head { counter: u64::MAX / 2, ..Head::new("shop", "main") };
        head.add(&[entry]);
        self.put_head(&head.write(&key(1)).unwrap());
    }

    /// A pull that must refuse, for this reason, and take nothing forged.
    fn refused(&self, why: &str) {
        let pulled = self.dev.pull();
        assert!(pulled.refused.iter().any(|text| text.contains(why)), "{why}: {pulled:?}");
        assert!(!self.dev.tests().iter().any(|test| test.contains("forged")));
        assert!(pulled.failed.is_empty(), "{pulled:?}");
    }
}

#[test]
fn the_pack_of_a_stranger_is_refused() {
    let scene = scene();
    let (_, entry) = scene.forged_pack(9, ("shop", "main"));
    scene.name(entry);
    scene.refused("not among the trusted-keys for main");
}

#[test]
fn a_pack_that_was_changed_by_one_byte_is_refused() {
    let scene = scene();
    let file = scene.pack_file();
    let whole = fs::read(&file).unwrap();
    for at in [0, 9, 20, whole.len() / 2, whole.len() - 1] {
        let mut forged = whole.clone();
        forged[at] ^= 1;
        fs::write(&file, &forged).unwrap();
        let dev = Machine::new(&scene.settings, key(2));
        let pulled = dev.pull();
        assert_eq!((pulled.records, pulled.refused.len()), (0, 1), "byte {at}: {pulled:?}");
        assert!(dev.tests().is_empty());
    }
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    scene.refused("its bytes are not those of its name");
}

#[test]
fn a_pack_from_another_project_or_scope_is_refused() {
    for (place, why) in
        [(("other", "main"), "another project"), (("shop", "branch/x"), "another scope")]
    {
        let scene = scene();
        // Signed by the trusted key, for something else.
        let (_, entry) = scene.forged_pack(1, place);
        scene.name(entry);
        scene.refused(why);
    }
}

#[test]
fn the_head_of_a_stranger_is_refused() {
    let scene = scene();
    let (_, entry) = scene.forged_pack(9, ("shop", "main"));
    let mut head = Head { counter: u64::MAX / 2, ..Head::new("shop", "main") };
    head.add(&[entry]);
    scene.put_head(&head.write(&key(9)).unwrap());
    scene.refused("not among the trusted-keys for main");
    // Who is trusted repairs it, and the stranger's counter counts for nothing.
    scene.ci.store.append(&run("after", 2, Outcome::Passed)).unwrap();
    scene.ci.push().unwrap();
    assert_eq!(scene.dev.pull().refused, Vec::<String>::new());
    assert!(scene.dev.tests().iter().any(|test| test.contains("after")));
}

#[test]
fn a_head_from_another_scope_is_refused() {
    let scene = scene();
    let head = Head { counter: u64::MAX / 2, ..Head::new("shop", "branch/x") };
    scene.put_head(&head.write(&key(1)).unwrap());
    scene.refused("does not fit");
}

#[test]
fn a_head_that_was_put_back_is_refused() {
    let scene = scene();
    let old = fs::read(scene.head_file()).unwrap();
    scene.ci.store.append(&run("later", 2, Outcome::Failed(1))).unwrap();
    scene.ci.push().unwrap();
    assert_eq!(scene.dev.pull().records, 2);
    scene.put_head(&old);
    scene.refused("older than one that was there before");
    // Gone altogether, as well.
    fs::remove_dir_all(scene.folder.path().join("v1/shop/heads")).unwrap();
    scene.refused("is gone");
    // The user can say that it is meant.
    let wish = Wish { again: false, accept_older: true };
    assert!(scene.dev.remote.pull(&scene.dev.store, wish, minute()).refused.is_empty());
}

#[test]
fn a_writer_without_a_trusted_key_cannot_write_where_others_do() {
    let scene = scene();
    scene.dev.store.append(&run("forged", 5, Outcome::Passed)).unwrap();
    let before = fs::read(scene.head_file()).unwrap();
    let error = scene.dev.push().unwrap_err().to_string();
    assert!(error.contains("belongs to others"), "{error}");
    assert_eq!(fs::read(scene.head_file()).unwrap(), before);
    // Nothing is lost: the record waits here.
    assert_eq!(scene.dev.remote.unpushed(&scene.dev.store, "main"), Ok(1));
}

#[test]
fn a_newer_version_of_the_formats_is_refused() {
    let scene = scene();
    let mut head = fs::read(scene.head_file()).unwrap();
    head[9] = 2;
    scene.put_head(&head);
    scene.refused("another version");
}

#[test]
fn what_is_pulled_cannot_touch_what_is_kept_for_other_purposes() {
    let scene = scene();
    let evil = Machine::new(&scene.settings, key(1));
    evil.store.append(&run("x", 7, Outcome::Passed)).unwrap();
    let all = evil.store.believed_records().unwrap();
    let mut shipment = evil.remote.shipment(&evil.store, &all).unwrap();
    let kept =
        |kind: &str| tamis_store::Kept { kind: kind.into(), name: "n".into(), bytes: vec![1] };
    shipment.kept = vec![kept("remote"), kept("forgotten"), kept("goal")];
    let bytes = pack::write(&shipment, ("shop", "main"), &key(1), false).unwrap();
    let address = pack::address(&bytes);
    scene.place().put(&format!("v1/shop/packs/{address}"), &bytes, minute()).unwrap();
    scene.name(PackEntry { address, bytes: 1, records: 1, newest_ms: 7 });
    assert_eq!(scene.dev.pull().records, 1);
    assert!(scene.dev.store.kept("forgotten").unwrap().is_empty());
    assert!(scene.dev.store.kept("remote").unwrap().iter().all(|(name, _)| name != "n"));
    assert_eq!(scene.dev.store.kept("goal").unwrap().len(), 1);
}
