//! Keys and signatures of somebody else: nothing but the right one passes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tamis_remote::keys::{About, Kind, PublicKey, SecretKey};

fuzz_target!(|data: &[u8]| {
    let about = About { kind: Kind::Pack, project: "p", scope: "s" };
    let key = SecretKey::from_bytes(&[1; 32]);
    let right = key.sign(about, b"body");
    let passes = key.public().verify(about, b"body", data).is_ok();
    assert_eq!(passes, data == right);
    if let Ok(stranger) = postcard::from_bytes::<PublicKey>(data) {
        let passes = stranger.verify(about, b"body", &right).is_ok();
        assert_eq!(passes, stranger == key.public());
    }
    let text = String::from_utf8_lossy(data);
    let _ = (PublicKey::parse(&text), SecretKey::parse(&text));
});
