//! Takes in what is new in the scopes that are read.
//!
//! One request for each head, which is answered in a few bytes where nothing is new, and one for each pack that
//! this machine has not. What was taken in is remembered pack by pack, so that a pull that ran out of time goes on
//! where it stopped. A pack that is refused is named at each pull.

use crate::error::RemoteError;
use crate::head::PackEntry;
use crate::keys::PublicKey;
use crate::memory::Memory;
use crate::pack;
use crate::place::{Deadline, Found};
use crate::remote::{FoundHead, Remote, now_ms};
use crate::scope;
use std::collections::BTreeSet;
use tamis_store::{Shipment, Store, TakenIn};

/// What came of a pull.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pulled {
    /// Packs that were taken in.
    pub packs: usize,
    pub records: usize,
    /// Packs that are left for the next time.
    pub left: usize,
    /// What was refused, and why.
    pub refused: Vec<String>,
    /// Why scopes could not be read.
    pub failed: Vec<String>,
}

/// What to do beyond the usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wish {
    /// Take in packs that were taken in before.
    pub again: bool,
    /// Forget that there was a newer head.
    pub accept_older: bool,
}

impl Remote {
    /// Pulls all scopes that are read.
    pub fn pull(&self, store: &Store, wish: Wish, until: Deadline) -> Pulled {
        let mut pulled = Pulled::default();
        store.believe(self.believed());
        for scope in self.read_scopes() {
            if let Err(error) = self.pull_scope(store, &scope, wish, until, &mut pulled) {
                match error {
                    RemoteError::Refused(why) => pulled.refused.push(why),
                    other => {
                        pulled.failed.push(format!("{scope}: {other}"));
                        if until.left().is_zero() {
                            break;
                        }
                    }
                }
            }
        }
        pulled
    }

    fn pull_scope(
        &self,
        store: &Store,
        scope: &str,
        wish: Wish,
        until: Deadline,
        pulled: &mut Pulled,
    ) -> Result<(), RemoteError> {
        let mut memory = self.memory(store, scope);
        if wish.accept_older {
            (memory.counter, memory.head) = (0, String::new());
        }
        if wish.again {
            memory.packs.clear();
        }
        let anew = wish.again || wish.accept_older || memory.tag.is_empty();
        let tag = if anew { None } else { Some(memory.tag.clone()) };
        let Some(found) = self.head(scope, &memory, tag.as_ref(), until)? else {
            return Ok(());
        };
        if wish.accept_older {
            self.remember(store, scope, &memory);
        }
        if found.signer.is_none() {
            return Ok(());
        }
        self.take_packs(store, scope, (&mut memory, &found), until, pulled)
    }

    /// Takes the packs that a head names, and remembers it when all are there.
    fn take_packs(
        &self,
        store: &Store,
        scope: &str,
        (memory, found): (&mut Memory, &FoundHead),
        until: Deadline,
        pulled: &mut Pulled,
    ) -> Result<(), RemoteError> {
        let named: BTreeSet<&String> = found.head.packs.iter().map(|pack| &pack.address).collect();
        memory.packs.retain(|address| named.contains(address));
        // A head that was seen is seen, whatever becomes of its packs.
        (memory.counter, memory.head) = (found.head.counter, found.address.clone());
        memory.last_pull_ms = now_ms();
        // Until all is there, the head is asked for as a whole.
        memory.tag = String::new();
        self.remember(store, scope, memory);
        let mut new: Vec<&PackEntry> =
            found.head.packs.iter().filter(|pack| !memory.packs.contains(&pack.address)).collect();
        // The newest first: that is what the project is like now.
        new.sort_by_key(|pack| std::cmp::Reverse(pack.newest_ms));
        let refused = pulled.refused.len();
        for (at, entry) in new.iter().enumerate() {
            let taken = match self.take_pack(store, scope, entry, until) {
                Ok(taken) => taken,
                Err(RemoteError::Refused(why)) => {
                    let short = &entry.address[..12];
                    pulled.refused.push(format!("pack {short} of {scope} is refused: {why}"));
                    continue;
                }
                Err(error) => {
                    pulled.left += new.len() - at;
                    return Err(error);
                }
            };
            pulled.packs += 1;
            pulled.records += taken.records;
            memory.packs.insert(entry.address.clone());
            self.remember(store, scope, memory);
        }
        // What is refused now may be believed under other settings: then it is asked for again.
        if pulled.refused.len() == refused {
            memory.tag = found.version.clone().unwrap_or_default();
        }
        self.remember(store, scope, memory);
        Ok(())
    }

    fn take_pack(
        &self,
        store: &Store,
        scope: &str,
        entry: &PackEntry,
        until: Deadline,
    ) -> Result<TakenIn, RemoteError> {
        let (signer, shipment) = self.read_pack(scope, &entry.address, until)?;
        until.check()?;
        Ok(store.take_in(&shipment, &self.origin(scope, &signer))?)
    }

    /// The records of a pack that is believed, and who signed it.
    pub(crate) fn read_pack(
        &self,
        scope: &str,
        address: &str,
        until: Deadline,
    ) -> Result<(PublicKey, Shipment), RemoteError> {
        let name = scope::pack_name(&self.project, address);
        let Found::Bytes(bytes, _) = self.place().get(&name, None, until)? else {
            return Err(RemoteError::Refused("it is not there".into()));
        };
        let (header, mut shipment) =
            pack::read(&bytes, address, (&self.project, scope), &self.trust)?;
        shipment.kept.retain(|kept| crate::remote::KINDS.contains(&kept.kind.as_str()));
        Ok((header.signer, shipment))
    }
}
