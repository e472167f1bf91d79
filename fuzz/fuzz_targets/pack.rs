//! A pack of somebody else: its frame, and the records in it on their way into a store.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tamis_core::record::Origin;
use tamis_remote::pack;
use tamis_remote::trust::Trust;
use tamis_store::{Shipment, Store};

fuzz_target!(|data: &[u8]| {
    let _ = pack::read(data, &pack::address(data), ("p", "s"), &Trust::anyone());
    // What a trusted key signed is read, too.
    if let Ok(shipment) = postcard::from_bytes::<Shipment>(data) {
        let folder = tempfile::tempdir().expect("a folder");
        let (store, _) = Store::open(folder.path()).expect("a store");
        let _ = store.take_in(&shipment, &Origin::Named("fuzz".into()));
        let _ = store.tests();
    }
});
