//! The listings of earlier runs, kept beside the records: with nothing moved, neither a decision nor an
//! explanation starts go. Losing one costs a `go list`.

use crate::command::{Claim, GoTest, claim};
use crate::environment::Surroundings;
use crate::list::list;
use crate::listing::Listing;
use crate::scope::GoScope;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
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
        let saved = Saved { version: VERSION, words: test.words().to_vec(), folder, listing };
        let store = project.existing_store(&Silent).ok()??;
        let kept = store.kept(KIND).ok()?;
        if kept.len() >= MOST && !kept.iter().any(|(known, _)| *known == name) {
            return None;
        }
        store.keep(KIND, &name, &serde_json::to_vec(&saved).ok()?).ok()
    };
    let _ = saved();
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
