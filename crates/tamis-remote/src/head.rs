//! The head of a scope: which packs belong to it.
//!
//! ```text
//! "TAMISHEAD", version (1)
//! length (4), header: who signed, signature over the body
//! body: project, scope, counter, packs, packs that were put together into others
//! ```
//!
//! Each head has a higher counter than the one that it replaces (the time, or one more where clocks differ), so that an
//! older one that somebody puts back is noticed by all who saw a newer one.

use crate::error::RemoteError;
use crate::keys::{About, Kind, PublicKey, SecretKey};
use crate::trust::Trust;
use serde::{Deserialize, Serialize};

const MAGIC: &[u8; 9] = b"TAMISHEAD";
const VERSION: u8 = 1;
const LONGEST_HEADER: usize = 4096;
/// A head with more was not written by us.
const MOST_PACKS: usize = 100_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub project: String,
    pub scope: String,
    pub counter: u64,
    /// By address, ascending.
    pub packs: Vec<PackEntry>,
    /// Packs whose records are in others now, and since when. They stay for a day.
    pub retired: Vec<Retired>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PackEntry {
    pub address: String,
    pub bytes: u64,
    pub records: u64,
    /// When the newest of its runs began, in milliseconds since 1970.
    pub newest_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Retired {
    pub address: String,
    pub since_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Signed {
    signer: PublicKey,
    signature: Vec<u8>,
}

impl Head {
    pub fn new(project: &str, scope: &str) -> Self {
        Self {
            project: project.to_owned(),
            scope: scope.to_owned(),
            counter: 0,
            packs: Vec::new(),
            retired: Vec::new(),
        }
    }

    /// Adds packs; those that are there, or were put into others, stay as they are. Whether anything is new.
    pub fn add(&mut self, new: &[PackEntry]) -> bool {
        let mut changed = false;
        for entry in new {
            let known = self.packs.iter().any(|pack| pack.address == entry.address)
                || self.retired.iter().any(|old| old.address == entry.address);
            if !known {
                self.packs.push(entry.clone());
                changed = true;
            }
        }
        self.packs.sort();
        changed
    }

    /// The counter of what comes after this head.
    pub fn next_counter(&self, now_ms: u64, remembered: u64) -> u64 {
        now_ms.max(self.counter.saturating_add(1)).max(remembered.saturating_add(1))
    }

    pub fn write(&self, key: &SecretKey) -> Result<Vec<u8>, RemoteError> {
        let failed =
            |e: postcard::Error| RemoteError::Store(format!("a head cannot be packed: {e}"));
        let body = postcard::to_allocvec(self).map_err(failed)?;
        let about = About { kind: Kind::Head, project: &self.project, scope: &self.scope };
        let signed = Signed { signer: key.public(), signature: key.sign(about, &body) };
        let header = postcard::to_allocvec(&signed).map_err(failed)?;
        let mut bytes = MAGIC.to_vec();
        bytes.push(VERSION);
        bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }

    /// What bytes say that look like a head, whoever signed them: only to know what is not to be removed.
    pub(crate) fn unverified(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(&[VERSION])?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (_, body) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        postcard::from_bytes(body).ok()
    }

    /// The head in these bytes, if it is of this project and scope and its signer is believed.
    pub fn read(
        bytes: &[u8],
        (project, scope): (&str, &str),
        trust: &Trust,
    ) -> Result<(Self, PublicKey), RemoteError> {
        let refused = |why: &str| RemoteError::Refused(why.to_owned());
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| refused("it is no head of tamis"))?;
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
        let signed: Signed =
            postcard::from_bytes(header).map_err(|_| refused("its header cannot be read"))?;
        let about = About { kind: Kind::Head, project, scope };
        signed.signer.verify(about, body, &signed.signature)?;
        trust.check(&signed.signer, scope)?;
        let head: Self = postcard::from_bytes(body).map_err(|_| refused("it cannot be read"))?;
        // The signature covers both names; they are in the body for people.
        if head.project != project || head.scope != scope || head.packs.len() > MOST_PACKS {
            return Err(refused("it cannot be read"));
        }
        let address =
            |address: &str| address.len() == 64 && address.bytes().all(|b| b.is_ascii_hexdigit());
        let addresses = head.packs.iter().map(|p| &p.address);
        if !addresses.chain(head.retired.iter().map(|r| &r.address)).all(|a| address(a)) {
            return Err(refused("it names something that is no pack"));
        }
        Ok((head, signed.signer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> SecretKey {
        SecretKey::from_bytes(&[1; 32])
    }

    fn entry(digit: char) -> PackEntry {
        PackEntry { address: digit.to_string().repeat(64), bytes: 1, records: 1, newest_ms: 1 }
    }

    fn head() -> Head {
        let mut head = Head { counter: 7, ..Head::new("shop", "main") };
        head.add(&[entry('a'), entry('b')]);
        head
    }

    fn trust() -> Trust {
        Trust::only([key().public()])
    }

    #[test]
    fn a_head_comes_back_and_no_byte_can_be_changed() {
        let bytes = head().write(&key()).unwrap();
        assert_eq!(Head::read(&bytes, ("shop", "main"), &trust()), Ok((head(), key().public())));
        for at in 0..bytes.len() {
            let mut forged = bytes.clone();
            forged[at] ^= 1;
            assert!(Head::read(&forged, ("shop", "main"), &trust()).is_err(), "byte {at}");
        }
        for place in [("shop", "branch/x"), ("other", "main")] {
            assert!(Head::read(&bytes, place, &trust()).is_err());
        }
        let stranger = SecretKey::from_bytes(&[2; 32]);
        let forged = head().write(&stranger).unwrap();
        let error = Head::read(&forged, ("shop", "main"), &trust()).unwrap_err().to_string();
        assert!(error.contains(&stranger.public().to_string()), "{error}");
    }

    #[test]
    fn what_is_no_address_is_not_asked_for() {
        let mut evil = head();
        evil.packs[0].address = "../../../etc/passwd".into();
        assert!(Head::read(&evil.write(&key()).unwrap(), ("shop", "main"), &trust()).is_err());
    }

    #[test]
    fn adding_is_a_union_and_what_is_retired_does_not_come_back() {
        let mut one = head();
        assert!(!one.add(&[entry('a')]));
        assert!(one.add(&[entry('c'), entry('a')]));
        assert_eq!(one.packs.len(), 3);
        one.packs.retain(|pack| pack.address != entry('a').address);
        one.retired.push(Retired { address: entry('a').address, since_ms: 1 });
        assert!(!one.add(&[entry('a')]));
    }

    #[test]
    fn counters_only_grow() {
        assert_eq!(head().next_counter(100, 0), 100);
        assert_eq!(head().next_counter(3, 0), 8);
        assert_eq!(head().next_counter(3, 200), 201);
    }

    proptest! {
        #[test]
        fn foreign_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut framed = head().write(&key()).unwrap()[..14].to_vec();
            framed.extend_from_slice(&bytes);
            let _ = Head::read(&bytes, ("shop", "main"), &Trust::anyone());
            let _ = Head::read(&framed, ("shop", "main"), &Trust::anyone());
        }
    }
}
