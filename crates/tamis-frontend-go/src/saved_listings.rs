//! The listings of earlier runs, kept beside the records: with nothing moved, neither a decision nor an
//! explanation starts go. Losing one costs a `go list`.

use crate::command::{Claim, GoTest, claim};
use crate::environment::Surroundings;
use crate::list::list;
use crate::listing::Listing;
use crate::scope::GoScope;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};
use tamis_core::{Hash, PortablePath, Silent};
use tamis_project::Project;
use tamis_store::Store;

/// What listings are kept as, beside the records.
const KIND: &str = "go-listing";

const VERSION: u32 = 1;

/// Listings that are kept at most; each may be megabytes.
const MOST: usize = 20;

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    words: Vec<String>,
    folder: PortablePath,
    listing: String,
    /// When it was made, in milliseconds since 1970; listings of before have none.
    #[serde(default)]
    when_ms: u64,
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or_default()
}

fn name(test: &GoTest, folder: &PortablePath) -> String {
    let key = test.key().to_string();
    Hash::of_parts([key.as_bytes(), folder.as_bytes()]).to_string()
}

/// The packages as they are now: from the listing that is kept, where nothing moved, else by `go list`.
pub(crate) fn current(
    project: &Project,
    test: &GoTest,
    at: &Surroundings,
) -> Result<Listing, String> {
    let fs = &project.fingerprinter;
    let kept = load(project, test, at);
    if let Some(Ok(listing)) = kept.map(|kept| kept.refresh(test, at, fs)) {
        return Ok(listing);
    }
    let listing = list(test, at, fs).map_err(|error| error.to_string())?;
    save(project, test, at, &listing);
    Ok(listing)
}

/// Remembers a listing.
fn save(project: &Project, test: &GoTest, at: &Surroundings, listing: &Listing) {
    let folder = project.paths.to_portable(at.folder());
    let name = name(test, &folder);
    let saved = || {
        let listing = String::from_utf8(listing.save()?).ok()?;
        let (words, when_ms) = (test.words().to_vec(), now_ms());
        let saved = Saved { version: VERSION, words, folder, listing, when_ms };
        let store = project.existing_store(&Silent).ok()??;
        make_room(&store, &name);
        store.keep(KIND, &name, &serde_json::to_vec(&saved).ok()?).ok()
    };
    let _ = saved();
}

/// Drops the oldest listings, so that there is room for this one.
fn make_room(store: &Store, name: &str) {
    let mut kept: Vec<(u64, String)> = store
        .kept(KIND)
        .unwrap_or_default()
        .into_iter()
        .filter(|(known, _)| known != name)
        // What is not understood goes first.
        .map(|(known, bytes)| (read(&bytes).map_or(0, |saved| saved.when_ms), known))
        .collect();
    kept.sort();
    let too_many = (kept.len() + 1).saturating_sub(MOST);
    for (_, old) in kept.into_iter().take(too_many) {
        let _ = store.drop_kept(KIND, &old);
    }
}

/// The listing of the same command of before.
fn load(project: &Project, test: &GoTest, at: &Surroundings) -> Option<Listing> {
    let name = name(test, &project.paths.to_portable(at.folder()));
    let store = project.existing_store(&Silent).ok()??;
    let kept = store.kept(KIND).ok()?.into_iter().find(|(known, _)| *known == name)?;
    Listing::load(read(&kept.1)?.listing.as_bytes())
}

fn read(bytes: &[u8]) -> Option<Saved> {
    let saved: Saved = serde_json::from_slice(bytes).ok()?;
    (saved.version == VERSION).then_some(saved)
}

/// The scopes of all kept listings, as they are now.
pub(crate) fn restore(project: &Project, store: &Store) -> Vec<GoScope> {
    let kept = store.kept(KIND).unwrap_or_default().into_iter();
    kept.filter_map(|(_, bytes)| scope_of(project, &read(&bytes)?)).collect()
}

fn scope_of(project: &Project, saved: &Saved) -> Option<GoScope> {
    let folder = project.paths.to_absolute(&saved.folder);
    let at = Surroundings::new(&folder, std::env::vars_os());
    let words: Vec<OsString> = saved.words.iter().map(OsString::from).collect();
    let Claim::Packages(test) = claim(&words, &at) else { return None };
    let kept = Listing::load(saved.listing.as_bytes())?;
    let listing = match kept.refresh(&test, &at, &project.fingerprinter) {
        Ok(listing) => listing,
        // Only go knows what moved sources import.
        Err(_) => {
            let listing = list(&test, &at, &project.fingerprinter).ok()?;
            save(project, &test, &at, &listing);
            listing
        }
    };
    Some(GoScope::new(project, &test, at.folder(), listing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_listings_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        let add = |name: &str, when_ms: u64| {
            let saved = Saved {
                version: VERSION,
                words: Vec::new(),
                folder: PortablePath::from_stored("."),
                listing: String::new(),
                when_ms,
            };
            make_room(&store, name);
            store.keep(KIND, name, &serde_json::to_vec(&saved).unwrap()).unwrap();
        };
        // Their names are in another order than their times.
        for n in 0..MOST as u64 {
            add(&format!("n{:03}", 900 - n), n + 1);
        }
        store.keep(KIND, "n000", b"not a listing").unwrap();
        add("new", 1_000);
        let names = || -> Vec<String> {
            store.kept(KIND).unwrap().into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names().len(), MOST);
        assert!(names().contains(&"new".to_owned()) && !names().contains(&"n000".to_owned()));
        assert!(!names().contains(&"n900".to_owned()) && names().contains(&"n899".to_owned()));
        // One that is known takes its own place.
        add("new", 2_000);
        assert_eq!(names().len(), MOST);
        assert!(names().contains(&"n899".to_owned()));
    }
}
