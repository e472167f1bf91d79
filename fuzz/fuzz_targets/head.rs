//! A head of somebody else: its frame, and what a trusted key signed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tamis_remote::head::Head;
use tamis_remote::keys::SecretKey;
use tamis_remote::trust::Trust;

fuzz_target!(|data: &[u8]| {
    let _ = Head::read(data, ("p", "s"), &Trust::anyone());
    if let Ok(head) = postcard::from_bytes::<Head>(data) {
        let key = SecretKey::from_bytes(&[1; 32]);
        let bytes = head.write(&key).expect("bytes");
        let _ = Head::read(&bytes, (&head.project, &head.scope), &Trust::only([key.public()]));
    }
});
