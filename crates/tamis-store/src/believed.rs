//! Which records from elsewhere count. The store keeps what it once took in; whether that counts is asked at each decision,
//! by the settings of that moment: a scope that is not read any more (another branch is checked out), a key that is not
//! trusted any more, another `url` in tamis.toml, and its records are as if they were not there.
//!
//! What ran here, and what the user named (`tamis store import`, `merge`), always counts.

use std::collections::HashMap;
use tamis_core::{Hash, Origin};

/// Which scopes of which shared store count, and whose word in each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Believed {
    /// The shared store and the project in it; without one, nothing that was pulled counts.
    pub place: Option<Hash>,
    pub scopes: HashMap<String, Signers>,
}

/// Whose word counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signers {
    Anyone,
    These(Vec<String>),
}

impl Believed {
    pub fn believes(&self, origin: &Origin) -> bool {
        match origin {
            Origin::Here | Origin::Named(_) => true,
            Origin::Shared { place, scope, signer } => {
                self.place == Some(*place)
                    && self.scopes.get(scope).is_some_and(|signers| match signers {
                        Signers::Anyone => true,
                        Signers::These(keys) => keys.contains(signer),
                    })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_scope_and_signer_must_all_be_believed() {
        let place = Hash::of(b"here");
        let these = Signers::These(vec!["ci".into()]);
        let scopes = [("main".to_owned(), these), ("open".to_owned(), Signers::Anyone)];
        let believed = Believed { place: Some(place), scopes: scopes.into() };
        let shared = |place, scope: &str, signer: &str| Origin::Shared {
            place,
            scope: scope.into(),
            signer: signer.into(),
        };
        assert!(believed.believes(&shared(place, "main", "ci")));
        assert!(believed.believes(&shared(place, "open", "eve")));
        assert!(!believed.believes(&shared(place, "main", "eve")));
        assert!(!believed.believes(&shared(place, "branch/x", "ci")));
        assert!(!believed.believes(&shared(Hash::of(b"there"), "main", "ci")));
        assert!(!Believed::default().believes(&shared(place, "main", "ci")));
        assert!(Believed::default().believes(&Origin::Here));
        assert!(Believed::default().believes(&Origin::Named("a.pack".into())));
    }
}
