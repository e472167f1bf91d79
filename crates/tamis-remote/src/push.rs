//! Brings the records of this machine into the scope that it writes.
//!
//! Packs first, then the head that names them, by compare-and-swap: who was overtaken reads the new head and tries again.
//! What is not known to be there is sent again next time; it is the same pack, or its records are known.

use crate::error::RemoteError;
use crate::head::{Head, PackEntry};
use crate::keys::SecretKey;
use crate::memory::Memory;
use crate::outbound;
use crate::pack;
use crate::place::Deadline;
use crate::remote::{FoundHead, KINDS, Remote, now_ms};
use crate::scope;
use std::time::Duration;
use tamis_core::record::RecordId;
use tamis_store::{Kept, Shipment, Store};

/// Records of one pack.
const MOST: usize = 20_000;

/// Swaps that are tried; each one that fails is somebody else's success.
const TRIES: u32 = 2_000;

/// What came of a push.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pushed {
    pub packs: usize,
    pub records: usize,
    pub bytes: u64,
    /// How many heads of others came between.
    pub overtaken: u32,
    /// Packs that were put together.
    pub compacted: usize,
}

impl Remote {
    /// How many records a push would take along.
    pub fn unpushed(&self, store: &Store, scope: &str) -> Result<usize, RemoteError> {
        Ok(store.own_records_after(self.memory(store, scope).pushed)?.len())
    }

    /// Pushes all records of this machine that are not there yet.
    pub fn push(
        &self,
        store: &Store,
        scope: &str,
        key: &SecretKey,
        until: Deadline,
    ) -> Result<Pushed, RemoteError> {
        let mut pushed = Pushed::default();
        let mut memory = self.memory(store, scope);
        let records = store.own_records_after(memory.pushed)?;
        for some in records.chunks(MOST) {
            let mut shipment = self.shipment(store, some)?;
            let kept: Vec<String> = shipment.kept.iter().map(kept_address).collect();
            shipment.kept.retain(|kept| !memory.sent.contains(&kept_address(kept)));
            let entries = self.send(scope, &shipment, key, &mut pushed, until)?;
            if !entries.is_empty() {
                self.add_to_head(store, scope, &entries, key, until, &mut pushed)?;
            }
            memory = self.memory(store, scope);
            memory.pushed = some.last().map_or(memory.pushed, |last| last.0);
            if !entries.is_empty() {
                memory.sent = kept.into_iter().collect();
            }
            self.remember(store, scope, &memory);
        }
        if pushed.packs > 0 {
            // What is not put together now is put together by the next one.
            pushed.compacted = self.compact(store, scope, key, until).unwrap_or_default();
        }
        Ok(pushed)
    }

    /// Sends a pack of records, where there are any.
    fn send(
        &self,
        scope: &str,
        shipment: &Shipment,
        key: &SecretKey,
        pushed: &mut Pushed,
        until: Deadline,
    ) -> Result<Vec<PackEntry>, RemoteError> {
        if shipment.records.is_empty() {
            return Ok(Vec::new());
        }
        let entry = self.upload(scope, shipment, key, until)?;
        pushed.packs += 1;
        pushed.records += shipment.records.len();
        pushed.bytes += entry.bytes;
        Ok(vec![entry])
    }

    /// These records in the form in which they leave the machine.
    pub fn shipment(&self, store: &Store, records: &[RecordId]) -> Result<Shipment, RemoteError> {
        let outbound = |observed| outbound::translated(observed, &self.settings, &self.paths);
        let mut shipment = store.ship(records, &KINDS, &outbound)?;
        outbound::without_places(&mut shipment, &self.paths);
        Ok(shipment)
    }

    pub(crate) fn upload(
        &self,
        scope: &str,
        shipment: &Shipment,
        key: &SecretKey,
        until: Deadline,
    ) -> Result<PackEntry, RemoteError> {
        let bytes = pack::write(shipment, (&self.project, scope), key, false)?;
        let address = pack::address(&bytes);
        self.place().put(&scope::pack_name(&self.project, &address), &bytes, until)?;
        let newest = shipment.records.iter().map(|record| record.run.started_ms).max();
        Ok(PackEntry {
            address,
            bytes: bytes.len() as u64,
            records: shipment.records.len() as u64,
            newest_ms: newest.unwrap_or_default(),
        })
    }

    fn add_to_head(
        &self,
        store: &Store,
        scope: &str,
        entries: &[PackEntry],
        key: &SecretKey,
        until: Deadline,
        pushed: &mut Pushed,
    ) -> Result<(), RemoteError> {
        let add = |head: &mut Head| head.add(entries);
        pushed.overtaken += self.change_head(store, scope, key, until, &add)?;
        let mut memory = self.memory(store, scope);
        // What was sent from here need not be pulled.
        memory.packs.extend(entries.iter().map(|entry| entry.address.clone()));
        self.remember(store, scope, &memory);
        Ok(())
    }

    /// Changes the head until no other writer comes between; `change` says whether there is anything to change. Gives how often
    /// one did.
    pub(crate) fn change_head(
        &self,
        store: &Store,
        scope: &str,
        key: &SecretKey,
        until: Deadline,
        change: &dyn Fn(&mut Head) -> bool,
    ) -> Result<u32, RemoteError> {
        let name = scope::head_name(&self.project, scope);
        for tried in 0..TRIES {
            until.check()?;
            let mut memory = self.memory(store, scope);
            let found = self.head_to_change(scope, &memory, key, until)?;
            let mut head = found.head;
            if !change(&mut head) {
                return Ok(tried);
            }
            head.counter = head.next_counter(now_ms(), memory.counter);
            let bytes = head.write(key)?;
            if self.place().replace(&name, &bytes, found.version.as_ref(), until)? {
                self.saw(&mut memory, &head, &bytes);
                self.remember(store, scope, &memory);
                return Ok(tried);
            }
            std::thread::sleep(pause(tried).min(until.left()));
        }
        Err(RemoteError::Crowded(scope.to_owned()))
    }

    fn saw(&self, memory: &mut Memory, head: &Head, bytes: &[u8]) {
        (memory.counter, memory.head) = (head.counter, pack::address(bytes));
        // It may name packs of others that are not here yet.
        memory.tag = String::new();
    }

    /// The head, for whoever wants to replace it. Who is trusted for the scope replaces also one that is not believed.
    fn head_to_change(
        &self,
        scope: &str,
        memory: &Memory,
        key: &SecretKey,
        until: Deadline,
    ) -> Result<FoundHead, RemoteError> {
        let trusted = self.trust.is_trusted(&key.public(), scope);
        match self.head(scope, memory, None, until) {
            Ok(Some(found)) => {
                let others = found.signer.as_ref().is_some_and(|signer| *signer != key.public());
                if others && !trusted {
                    return Err(RemoteError::Refused(format!(
                        "{scope} belongs to others: the key of this machine ({}) is not among the trusted-keys for it",
                        key.public()
                    )));
                }
                Ok(found)
            }
            Ok(None) => Err(RemoteError::Place(format!("no answer about the head of {scope}"))),
            Err(RemoteError::Refused(why)) if trusted => {
                tracing::warn!(scope, why, "a head is replaced");
                let name = scope::head_name(&self.project, scope);
                let version = match self.place().get(&name, None, until)? {
                    crate::place::Found::Bytes(_, version) => Some(version),
                    _ => None,
                };
                let head = Head::new(&self.project, scope);
                Ok(FoundHead { head, signer: None, version, address: String::new() })
            }
            Err(error) => Err(error),
        }
    }
}

fn kept_address(kept: &Kept) -> String {
    let name = format!("{}\n{}\n", kept.kind, kept.name);
    pack::address(&[name.as_bytes(), &kept.bytes].concat())
}

/// Writers that met once should not meet again: longer with each try, and never the same.
fn pause(tried: u32) -> Duration {
    let most = 20 << tried.min(5);
    let mut bytes = [0; 4];
    let random = std::fs::File::open("/dev/urandom")
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes));
    let part = if random.is_ok() { u32::from_le_bytes(bytes) } else { std::process::id() };
    Duration::from_millis(u64::from(part) % most + 1)
}
