//! Garbage collection of the scope that this machine writes: by age, by size, and packs that no head names.
//!
//! A pack whose newest run is too old leaves its head; of what is too large, the oldest packs. Both stay for a day, like packs
//! that were put into others. Packs that no head of the project names are the work of a push that did not come to
//! its end; they are removed when they are older than a day. What machines of one run agreed on goes after a month.

use crate::compact::GRACE;
use crate::error::RemoteError;
use crate::head::{Head, Retired};
use crate::keys::SecretKey;
use crate::place::{Deadline, Found};
use crate::remote::{Remote, now_ms};
use crate::scope;
use std::collections::BTreeSet;
use std::time::Duration;
use tamis_store::Store;

/// How long machines of one run can come after the first.
const PLANS_STAY: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Collected {
    /// Packs that left the head.
    pub retired: usize,
    /// Packs that were put together.
    pub compacted: usize,
    /// Objects that were removed, and their bytes.
    pub removed: usize,
    pub bytes: u64,
    /// Why orphans were left alone.
    pub left: Option<String>,
}

impl Remote {
    pub fn collect(
        &self,
        store: &Store,
        scope: &str,
        key: &SecretKey,
        until: Deadline,
    ) -> Result<Collected, RemoteError> {
        let mut done = Collected::default();
        let oldest = now_ms().saturating_sub(self.settings.max_age.as_millis() as u64);
        let most = self.settings.max_size;
        let count = std::cell::Cell::new(0);
        let change = |head: &mut Head| {
            let before = head.packs.len();
            retire(head, oldest, most);
            count.set(before - head.packs.len());
            count.get() > 0
        };
        self.change_head(store, scope, key, until, &change)?;
        done.retired = count.get();
        done.compacted = self.compact(store, scope, key, until)?;
        match self.named(until)? {
            Ok(named) => {
                for object in self.place().list(&scope::packs(&self.project), until)? {
                    let address = object.name.rsplit('/').next().unwrap_or_default();
                    if !named.contains(address) && object.age > GRACE {
                        self.place().remove(&object.name, until)?;
                        done.removed += 1;
                        done.bytes += object.bytes;
                    }
                }
            }
            Err(why) => done.left = Some(why),
        }
        for object in self.place().list(&scope::plans(&self.project), until)? {
            if object.age > PLANS_STAY {
                self.place().remove(&object.name, until)?;
            }
        }
        Ok(done)
    }

    /// All packs that any head of the project names; in words why that is not known.
    fn named(&self, until: Deadline) -> Result<Result<BTreeSet<String>, String>, RemoteError> {
        let mut named = BTreeSet::new();
        for object in self.place().list(&scope::heads(&self.project), until)? {
            let Found::Bytes(bytes, _) = self.place().get(&object.name, None, until)? else {
                continue;
            };
            match Head::unverified(&bytes) {
                Some(head) => {
                    named.extend(head.packs.into_iter().map(|pack| pack.address));
                    named.extend(head.retired.into_iter().map(|old| old.address));
                }
                None => return Ok(Err(format!("{} cannot be read", object.name))),
            }
        }
        Ok(Ok(named))
    }
}

fn retire(head: &mut Head, oldest_ms: u64, most: u64) {
    let mut packs = std::mem::take(&mut head.packs);
    packs.sort_by_key(|pack| std::cmp::Reverse(pack.newest_ms));
    let (mut size, since_ms) = (0_u64, now_ms());
    for pack in packs {
        size = size.saturating_add(pack.bytes);
        if pack.newest_ms < oldest_ms || size > most {
            head.retired.push(Retired { address: pack.address, since_ms });
        } else {
            head.packs.push(pack);
        }
    }
    head.packs.sort();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::PackEntry;

    #[test]
    fn the_oldest_packs_go_first_and_are_remembered() {
        let pack =
            |n: u64| PackEntry { address: format!("{n:064}"), bytes: 10, records: 1, newest_ms: n };
        let mut head = Head { packs: (1..=5).map(pack).collect(), ..Head::new("p", "s") };
        retire(&mut head, 2, 30);
        let left: Vec<u64> = head.packs.iter().map(|pack| pack.newest_ms).collect();
        assert_eq!((left, head.retired.len()), (vec![3, 4, 5], 2));
    }
}
