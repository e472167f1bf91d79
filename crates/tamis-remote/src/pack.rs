//! A pack: the records of some runs, signed, as bytes that never change.
//!
//! ```text
//! "TAMISPACK", version (1)
//! length (4), header: project, scope, who signed, signature over the BLAKE3 of the body, length of the body
//! body: a shipment, packed and deflated
//! ```
//!
//! Its address is the BLAKE3 of all its bytes. Nothing of the body is read before address and signature are right and the
//! signer is believed; a length that is not true reserves no memory. Foreign bytes never panic.

use crate::error::RemoteError;
use crate::keys::{About, Kind, PublicKey, SecretKey};
use crate::trust::Trust;
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use serde::{Deserialize, Serialize};
use tamis_store::Shipment;

const MAGIC: &[u8; 9] = b"TAMISPACK";
const VERSION: u8 = 1;
/// No body is longer when it is expanded.
const LONGEST: u64 = 1 << 30;
const LONGEST_HEADER: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub project: String,
    pub scope: String,
    pub signer: PublicKey,
    pub signature: Vec<u8>,
    /// Names in it were replaced: it shows, and proves nothing.
    pub redacted: bool,
    length: u64,
}

/// The name of bytes.
pub fn address(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// What is signed of a body.
fn digest(body: &[u8], redacted: bool, length: u64) -> Vec<u8> {
    let mut digest = blake3::hash(body).as_bytes().to_vec();
    digest.push(u8::from(redacted));
    digest.extend_from_slice(&length.to_le_bytes());
    digest
}

/// Packs and signs a shipment.
pub fn write(
    shipment: &Shipment,
    (project, scope): (&str, &str),
    key: &SecretKey,
    redacted: bool,
) -> Result<Vec<u8>, RemoteError> {
    let failed =
        |e: &dyn std::fmt::Display| RemoteError::Store(format!("records cannot be packed: {e}"));
    let plain = postcard::to_allocvec(shipment).map_err(|e| failed(&e))?;
    if plain.len() as u64 > LONGEST {
        return Err(failed(&"they are too many for one pack"));
    }
    let level = CompressionLvl::new(7).map_err(|_| failed(&"no such level"))?;
    let mut compressor = Compressor::new(level);
    let mut body = vec![0; compressor.deflate_compress_bound(plain.len())];
    let written = compressor.deflate_compress(&plain, &mut body).map_err(|e| failed(&e))?;
    body.truncate(written);
    let length = plain.len() as u64;
    let about = About { kind: Kind::Pack, project, scope };
    let header = Header {
        project: project.to_owned(),
        scope: scope.to_owned(),
        signer: key.public(),
        signature: key.sign(about, &digest(&body, redacted, length)),
        redacted,
        length,
    };
    let header = postcard::to_allocvec(&header).map_err(|e| failed(&e))?;
    let mut bytes = MAGIC.to_vec();
    bytes.push(VERSION);
    bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

fn refused(why: &str) -> RemoteError {
    RemoteError::Refused(why.to_owned())
}

/// Header and body, not verified.
fn split(bytes: &[u8]) -> Result<(Header, &[u8]), RemoteError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| refused("it is no pack of tamis"))?;
    let (&version, rest) = rest.split_first().ok_or_else(|| refused("it is cut"))?;
    if version != VERSION {
        return Err(refused("it is of another version of tamis"));
    }
    let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(|| refused("it is cut"))?;
    let length = u32::from_le_bytes(*length) as usize;
    let (header, body) = rest
        .split_at_checked(length)
        .filter(|_| length <= LONGEST_HEADER)
        .ok_or_else(|| refused("it is cut"))?;
    let (header, left) = postcard::take_from_bytes::<Header>(header)
        .map_err(|_| refused("its header cannot be read"))?;
    if !left.is_empty() {
        return Err(refused("its header cannot be read"));
    }
    Ok((header, body))
}

/// The header of a pack that is what it says to be: the right project and scope, signed by whoever it says. Whether that
/// one is believed is another question.
pub fn genuine<'b>(
    bytes: &'b [u8],
    (project, scope): (&str, Option<&str>),
) -> Result<(Header, &'b [u8]), RemoteError> {
    let (header, body) = split(bytes)?;
    if header.project != project {
        return Err(refused("it belongs to another project"));
    }
    if scope.is_some_and(|scope| header.scope != scope) {
        return Err(refused("it belongs to another scope"));
    }
    let about = About { kind: Kind::Pack, project: &header.project, scope: &header.scope };
    let digest = digest(body, header.redacted, header.length);
    header.signer.verify(about, &digest, &header.signature)?;
    Ok((header, body))
}

/// The records of a pack, if its signer is believed. `address` is what it was asked for by.
pub fn read(
    bytes: &[u8],
    asked: &str,
    (project, scope): (&str, &str),
    trust: &Trust,
) -> Result<(Header, Shipment), RemoteError> {
    if address(bytes) != asked {
        return Err(refused("its bytes are not those of its name"));
    }
    let (header, body) = genuine(bytes, (project, Some(scope)))?;
    trust.check(&header.signer, scope)?;
    if header.redacted {
        return Err(refused("its names were taken out: it can be shown, and proves nothing"));
    }
    let shipment = expand(&header, body)?;
    Ok((header, shipment))
}

/// The records of a body, without a question about who signed.
pub fn expand(header: &Header, body: &[u8]) -> Result<Shipment, RemoteError> {
    let possible = (body.len() as u64).saturating_mul(1_100).saturating_add(64);
    if header.length > LONGEST || header.length > possible {
        return Err(refused("its length is not true"));
    }
    let length = usize::try_from(header.length).map_err(|_| refused("its length is not true"))?;
    let mut plain = vec![0; length];
    let written = Decompressor::new().deflate_decompress(body, &mut plain);
    if written.ok() != Some(length) {
        return Err(refused("it cannot be expanded"));
    }
    postcard::from_bytes(&plain).map_err(|_| refused("its records cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::Trust;
    use proptest::prelude::*;

    fn key() -> SecretKey {
        SecretKey::from_bytes(&[1; 32])
    }

    fn packed() -> Vec<u8> {
        write(&Shipment::default(), ("shop", "main"), &key(), false).unwrap()
    }

    fn read_back(bytes: &[u8], place: (&str, &str)) -> Result<(Header, Shipment), RemoteError> {
        read(bytes, &address(bytes), place, &Trust::only([key().public()]))
    }

    #[test]
    fn a_pack_comes_back() {
        let (header, shipment) = read_back(&packed(), ("shop", "main")).unwrap();
        assert_eq!((header.signer, shipment), (key().public(), Shipment::default()));
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let whole = packed();
        for at in 0..whole.len() {
            let mut forged = whole.clone();
            forged[at] ^= 0x20;
            assert!(read_back(&forged, ("shop", "main")).is_err(), "byte {at}");
            assert!(read(&forged, &address(&whole), ("shop", "main"), &Trust::anyone()).is_err());
            assert!(read_back(&whole[..at], ("shop", "main")).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_replay_from_another_project_or_scope_is_refused() {
        for (place, why) in [(("other", "main"), "project"), (("shop", "branch/x"), "scope")] {
            let error = read_back(&packed(), place).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_stranger_is_refused_by_name() {
        let stranger = SecretKey::from_bytes(&[2; 32]);
        let bytes = write(&Shipment::default(), ("shop", "main"), &stranger, false).unwrap();
        let error = read_back(&bytes, ("shop", "main")).unwrap_err().to_string();
        assert!(error.contains(&stranger.public().to_string()), "{error}");
    }

    #[test]
    fn what_is_redacted_proves_nothing() {
        let bytes = write(&Shipment::default(), ("shop", "main"), &key(), true).unwrap();
        assert!(read_back(&bytes, ("shop", "main")).is_err());
    }

    proptest! {
        #[test]
        fn foreign_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut framed = packed()[..14].to_vec();
            framed.extend_from_slice(&bytes);
            for bytes in [bytes, framed] {
                let _ = read_back(&bytes, ("shop", "main"));
                let _ = postcard::from_bytes::<Shipment>(&bytes);
            }
        }
    }
}
