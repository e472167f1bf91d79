//! The shared store as one call sees it: a place, a project, and who is believed.

use crate::error::RemoteError;
use crate::head::Head;
use crate::keys::{PublicKey, SecretKey};
use crate::memory::Memory;
use crate::pack;
use crate::place::{Deadline, Found, Place, Version};
use crate::scope;
use crate::trust::Trust;
use crate::url;
use std::time::{SystemTime, UNIX_EPOCH};
use tamis_core::{Hash, Origin, PathMap};
use tamis_settings::Remote as Settings;
use tamis_store::{Believed, Store};

/// What front ends keep that helps on another machine.
pub const KINDS: [&str; 2] = ["goal", "go-listing"];

#[derive(Debug)]
pub struct Remote {
    pub settings: Settings,
    pub project: String,
    pub branch: Option<String>,
    pub paths: PathMap,
    pub trust: Trust,
    place: Box<dyn Place>,
}

/// The head of a scope, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundHead {
    pub head: Head,
    pub signer: Option<PublicKey>,
    pub version: Option<Version>,
    pub address: String,
}

impl Remote {
    /// Opens nothing yet: no request is made.
    pub fn new(settings: &Settings, paths: &PathMap) -> Result<Self, RemoteError> {
        let own = SecretKey::existing()?.map(|key| key.public());
        Self::with_key(settings, paths, own)
    }

    /// The same for whoever has this key.
    pub fn with_key(
        settings: &Settings,
        paths: &PathMap,
        own: Option<PublicKey>,
    ) -> Result<Self, RemoteError> {
        let variable = |name: &str| std::env::var(name).ok();
        Ok(Self {
            project: project_of(settings, paths),
            branch: scope::branch(paths.root(), &variable),
            paths: paths.clone(),
            trust: Trust::new(&settings.trusted, own),
            place: url::open(&settings.url)?,
            settings: settings.clone(),
        })
    }

    pub fn place(&self) -> &dyn Place {
        self.place.as_ref()
    }

    /// The scopes that are read, those with a branch only where it is known.
    pub fn read_scopes(&self) -> Vec<String> {
        read_scopes(&self.settings, self.branch.as_deref())
    }

    /// Which records that were pulled count now.
    pub fn believed(&self) -> Believed {
        let scopes = self.read_scopes();
        believed_in(&scopes, (&self.settings.url, &self.project), &self.trust)
    }

    /// Where records of a pack come from.
    pub(crate) fn origin(&self, scope: &str, signer: &PublicKey) -> Origin {
        Origin::Shared {
            place: place_id(&self.settings.url, &self.project),
            scope: scope.to_owned(),
            signer: signer.to_string(),
        }
    }

    /// The scope that is written to.
    pub fn write_scope(&self) -> Option<String> {
        scope::resolved(self.settings.write.as_deref()?, self.branch.as_deref())
    }

    fn memory_name<'a>(&'a self, scope: &'a str) -> (&'a str, &'a str, &'a str) {
        (&self.settings.url, &self.project, scope)
    }

    pub fn memory(&self, store: &Store, scope: &str) -> Memory {
        Memory::load(store, self.memory_name(scope))
    }

    pub fn remember(&self, store: &Store, scope: &str, memory: &Memory) {
        memory.save(store, self.memory_name(scope));
    }

    /// The head of a scope; `None` where it is the one that is known by this tag. A head that is not believed, or older
    /// than one that this machine saw, is an error.
    pub fn head(
        &self,
        scope: &str,
        memory: &Memory,
        tag: Option<&Version>,
        until: Deadline,
    ) -> Result<Option<FoundHead>, RemoteError> {
        let name = scope::head_name(&self.project, scope);
        let (bytes, version) = match self.place.get(&name, tag, until)? {
            Found::Same => return Ok(None),
            Found::Nothing => return self.no_head(scope, memory).map(Some),
            Found::Bytes(bytes, version) => (bytes, version),
        };
        let refused = |error: RemoteError| match error {
            RemoteError::Refused(why) => {
                RemoteError::Refused(format!("the head of {scope} is refused: {why}"))
            }
            other => other,
        };
        let (head, signer) =
            Head::read(&bytes, (&self.project, scope), &self.trust).map_err(refused)?;
        let address = pack::address(&bytes);
        let older = head.counter < memory.counter;
        if older || head.counter == memory.counter && address != memory.head {
            return Err(RemoteError::Refused(format!(
                "the head of {scope} is refused: it is older than one that was there before (somebody put it back, or \
                 the place was restored from a copy; `tamis store pull --accept-older` takes it)"
            )));
        }
        Ok(Some(FoundHead { head, signer: Some(signer), version: Some(version), address }))
    }

    fn no_head(&self, scope: &str, memory: &Memory) -> Result<FoundHead, RemoteError> {
        if memory.counter > 0 {
            return Err(RemoteError::Refused(format!(
                "the head of {scope} is gone, and there was one (`tamis store pull --accept-older` forgets that)"
            )));
        }
        let head = Head::new(&self.project, scope);
        Ok(FoundHead { head, signer: None, version: None, address: String::new() })
    }
}

/// Which records that were pulled count now, without opening the shared store.
pub fn believed(settings: &Settings, paths: &PathMap) -> Result<Believed, RemoteError> {
    let own = SecretKey::existing()?.map(|key| key.public());
    let branch = scope::branch(paths.root(), &|name| std::env::var(name).ok());
    let project = project_of(settings, paths);
    let scopes = read_scopes(settings, branch.as_deref());
    Ok(believed_in(&scopes, (&settings.url, &project), &Trust::new(&settings.trusted, own)))
}

fn believed_in(scopes: &[String], (url, project): (&str, &str), trust: &Trust) -> Believed {
    Believed {
        place: Some(place_id(url, project)),
        scopes: scopes.iter().map(|scope| (scope.clone(), trust.signers(scope))).collect(),
    }
}

fn project_of(settings: &Settings, paths: &PathMap) -> String {
    settings.project.clone().unwrap_or_else(|| scope::project(paths.root()))
}

fn read_scopes(settings: &Settings, branch: Option<&str>) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for template in &settings.read {
        let resolved = scope::resolved(template, branch);
        scopes.extend(resolved.filter(|scope| !scopes.contains(scope)));
    }
    scopes
}

/// A shared store and a project in it.
fn place_id(url: &str, project: &str) -> Hash {
    Hash::of_parts([url.trim_end_matches('/').as_bytes(), project.as_bytes()])
}

pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or_default()
}
