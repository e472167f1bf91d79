//! Reads a scope to its last byte and says what is right and what is not.

use crate::error::RemoteError;
use crate::pack;
use crate::place::{Deadline, Found};
use crate::remote::Remote;
use crate::scope;
use std::collections::BTreeMap;
use tamis_store::Store;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    pub packs: usize,
    pub records: u64,
    pub bytes: u64,
    /// How many packs each key signed.
    pub signers: BTreeMap<String, usize>,
    pub wrong: Vec<String>,
}

impl Remote {
    pub fn verify(
        &self,
        store: &Store,
        scope: &str,
        until: Deadline,
    ) -> Result<Verified, RemoteError> {
        let mut verified = Verified::default();
        let found = match self.head(scope, &self.memory(store, scope), None, until) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(verified),
            Err(RemoteError::Refused(why)) => {
                verified.wrong.push(why);
                return Ok(verified);
            }
            Err(error) => return Err(error),
        };
        for entry in &found.head.packs {
            let name = scope::pack_name(&self.project, &entry.address);
            let read = match self.place().get(&name, None, until)? {
                Found::Bytes(bytes, _) => {
                    verified.bytes += bytes.len() as u64;
                    pack::read(&bytes, &entry.address, (&self.project, scope), &self.trust)
                }
                _ => Err(RemoteError::Refused("it is not there".into())),
            };
            match read {
                Ok((header, shipment)) => {
                    verified.packs += 1;
                    verified.records += shipment.records.len() as u64;
                    *verified.signers.entry(header.signer.to_string()).or_default() += 1;
                }
                Err(error) => {
                    verified.wrong.push(format!("pack {}: {error}", &entry.address[..12]));
                }
            }
        }
        Ok(verified)
    }
}
