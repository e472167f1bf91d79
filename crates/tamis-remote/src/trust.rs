//! Who is believed: the keys that the settings trust for a scope, and the key of this machine itself.

use crate::error::RemoteError;
use crate::keys::PublicKey;
use tamis_settings::{NameGlobs, TrustedKey};
use tamis_store::Signers;

#[derive(Debug, Clone, Default)]
pub struct Trust {
    trusted: Vec<(Option<PublicKey>, NameGlobs)>,
    own: Option<PublicKey>,
}

impl Trust {
    /// What the settings say, and the key of this machine.
    pub fn new(trusted: &[TrustedKey], own: Option<PublicKey>) -> Self {
        let one = |entry: &TrustedKey| match &entry.key {
            None => Some((None, entry.scopes.clone())),
            // The settings have checked how it is written.
            Some(text) => Some((Some(PublicKey::parse(text)?), entry.scopes.clone())),
        };
        Self { trusted: trusted.iter().filter_map(one).collect(), own }
    }

    /// These keys, for every scope.
    pub fn only(keys: impl IntoIterator<Item = PublicKey>) -> Self {
        let all = || NameGlobs::new(vec!["**".into()]).unwrap_or_default();
        Self { trusted: keys.into_iter().map(|key| (Some(key), all())).collect(), own: None }
    }

    /// Whoever can write there.
    pub fn anyone() -> Self {
        let all = NameGlobs::new(vec!["**".into()]).unwrap_or_default();
        Self { trusted: vec![(None, all)], own: None }
    }

    /// Whether the settings trust a key for a scope. A glob must match the whole name: who may write
    /// `main` may not write `branch/main`.
    pub fn is_trusted(&self, key: &PublicKey, scope: &str) -> bool {
        self.trusted.iter().any(|(known, scopes)| {
            known.as_ref().is_none_or(|known| known == key)
                && scopes.matches_whole(scope.as_bytes())
        })
    }

    /// An error where what this key signed is not believed in a scope.
    pub fn check(&self, key: &PublicKey, scope: &str) -> Result<(), RemoteError> {
        if self.own.as_ref() == Some(key) || self.is_trusted(key, scope) {
            return Ok(());
        }
        Err(RemoteError::Refused(format!(
            "it is signed by {key}, which is not among the trusted-keys for {scope}"
        )))
    }

    /// Whose word counts in a scope.
    pub fn signers(&self, scope: &str) -> Signers {
        let mut these: Vec<String> = self.own.iter().map(ToString::to_string).collect();
        for (key, scopes) in &self.trusted {
            match key {
                _ if !scopes.matches_whole(scope.as_bytes()) => {}
                None => return Signers::Anyone,
                Some(key) => these.push(key.to_string()),
            }
        }
        Signers::These(these)
    }

    /// The key of this machine.
    pub fn own(&self) -> Option<&PublicKey> {
        self.own.as_ref()
    }

    /// Whether anybody but this machine can be believed.
    pub fn trusts_others(&self) -> bool {
        !self.trusted.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::SecretKey;

    fn key(n: u8) -> PublicKey {
        SecretKey::from_bytes(&[n; 32]).public()
    }

    fn trusted(key: Option<&PublicKey>, scopes: &[&str]) -> TrustedKey {
        let scopes = scopes.iter().map(|s| (*s).to_owned()).collect();
        TrustedKey { key: key.map(ToString::to_string), scopes: NameGlobs::new(scopes).unwrap() }
    }

    #[test]
    fn a_key_is_believed_where_it_is_trusted_and_nowhere_else() {
        let list = [trusted(Some(&key(1)), &["main"]), trusted(Some(&key(2)), &["branch/**"])];
        let trust = Trust::new(&list, Some(key(3)));
        assert!(trust.check(&key(1), "main").is_ok());
        assert!(trust.check(&key(2), "branch/a/b").is_ok());
        // A name that ends alike is another scope.
        assert!(trust.check(&key(1), "branch/main").is_err());
        assert!(trust.check(&key(1), "x/main").is_err());
        assert!(trust.check(&key(2), "main").is_err());
        assert!(trust.check(&key(4), "main").is_err());
        // What this machine signed itself.
        assert!(trust.check(&key(3), "main").is_ok());
        assert!(!trust.is_trusted(&key(3), "main"));
    }

    #[test]
    fn without_trusted_keys_only_this_machine_is_believed() {
        let trust = Trust::new(&[], Some(key(3)));
        assert!(trust.check(&key(1), "main").is_err() && trust.check(&key(3), "main").is_ok());
        assert!(Trust::new(&[trusted(None, &["**"])], None).check(&key(9), "main").is_ok());
    }
}
