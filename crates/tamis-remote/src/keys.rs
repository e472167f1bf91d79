//! Keys and signatures: ed25519, and nothing else.
//!
//! A signature says *what* is signed, of which project and scope: one of a pack is none of a head, and what was signed
//! for one scope is not for another. The secret key of a machine is in `TAMIS_SIGNING_KEY` (CI) or in a file of
//! the user's alone, which is made when it is first needed.

use crate::error::RemoteError;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Where CI hands over its key.
pub const VARIABLE: &str = "TAMIS_SIGNING_KEY";

const PUBLIC: &str = "ed25519:";
const SECRET: &str = "ed25519-secret:";

/// The only algorithm that is known.
const ED25519: u8 = 1;

/// Who signed. What it is called by an algorithm that is not known is not understood, and so not believed.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PublicKey {
    algorithm: u8,
    bytes: Vec<u8>,
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.algorithm {
            ED25519 => write!(f, "{PUBLIC}{}", hex(&self.bytes)),
            other => write!(f, "unknown-{other}:{}", hex(&self.bytes)),
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What a signature is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About<'a> {
    pub kind: Kind,
    pub project: &'a str,
    pub scope: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Pack,
    Head,
    Plan,
}

impl About<'_> {
    /// The bytes that are signed: no two statements have the same.
    fn statement(&self, body: &[u8]) -> Vec<u8> {
        let mut hasher = blake3::Hasher::new_derive_key("tamis 2026 signed statement v1");
        let kind: &[u8] = match self.kind {
            Kind::Pack => b"pack",
            Kind::Head => b"head",
            Kind::Plan => b"plan",
        };
        for part in [kind, self.project.as_bytes(), self.scope.as_bytes(), body] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize().as_bytes().to_vec()
    }
}

impl PublicKey {
    /// From `ed25519:` and its digits.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = unhex(text.strip_prefix(PUBLIC)?)?;
        (bytes.len() == 32).then_some(Self { algorithm: ED25519, bytes })
    }

    /// Whether this key signed the body, about just that.
    pub fn verify(
        &self,
        about: About<'_>,
        body: &[u8],
        signature: &[u8],
    ) -> Result<(), RemoteError> {
        let refused = |why: &str| Err(RemoteError::Refused(why.to_owned()));
        if self.algorithm != ED25519 {
            return refused("it is signed by an algorithm that this tamis does not know");
        }
        let key = <[u8; 32]>::try_from(self.bytes.as_slice()).ok();
        let key = key.and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        let signature = Signature::from_slice(signature).ok();
        let (Some(key), Some(signature)) = (key, signature) else {
            return refused("its signature cannot be read");
        };
        match key.verify_strict(&about.statement(body), &signature) {
            Ok(()) => Ok(()),
            Err(_) => refused("its signature does not fit what it says"),
        }
    }
}

/// A key that signs.
pub struct SecretKey(SigningKey);

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey of {}", self.public())
    }
}

impl SecretKey {
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(bytes))
    }

    /// A new one.
    pub fn random() -> std::io::Result<Self> {
        let mut bytes = [0; 32];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self::from_bytes(&bytes))
    }

    pub fn public(&self) -> PublicKey {
        PublicKey { algorithm: ED25519, bytes: self.0.verifying_key().as_bytes().to_vec() }
    }

    pub fn sign(&self, about: About<'_>, body: &[u8]) -> Vec<u8> {
        self.0.sign(&about.statement(body)).to_bytes().to_vec()
    }

    /// As it is handed to CI.
    pub fn to_text(&self) -> String {
        format!("{SECRET}{}", hex(self.0.as_bytes()))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let bytes = unhex(text.trim().strip_prefix(SECRET)?)?;
        Some(Self::from_bytes(&<[u8; 32]>::try_from(bytes.as_slice()).ok()?))
    }

    /// The key of this machine, if it has one; nothing is made.
    pub fn existing() -> Result<Option<Self>, RemoteError> {
        if let Some(text) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) {
            let key = text.to_str().and_then(Self::parse);
            let wrong = || {
                RemoteError::Refused(format!(
                    "{VARIABLE} holds no key; `tamis store keys --new` prints one"
                ))
            };
            return key.ok_or_else(wrong).map(Some);
        }
        let Some(file) = key_file() else { return Ok(None) };
        match std::fs::read_to_string(&file) {
            Ok(text) => {
                private(&file)?;
                let wrong = || {
                    RemoteError::Refused(format!(
                        "{} holds no key; remove it, and a new one is made",
                        file.display()
                    ))
                };
                Self::parse(&text).ok_or_else(wrong).map(Some)
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(RemoteError::Refused(format!("{}: {e}", file.display()))),
        }
    }

    /// The key of this machine; made where there is none.
    pub fn of_this_machine() -> Result<Self, RemoteError> {
        if let Some(key) = Self::existing()? {
            return Ok(key);
        }
        let refused =
            |e: &dyn fmt::Display| RemoteError::Refused(format!("no key could be made: {e}"));
        let file = key_file().ok_or_else(|| refused(&"neither XDG_CONFIG_HOME nor HOME is set"))?;
        let key = Self::random().map_err(|e| refused(&e))?;
        let folder = file.parent().unwrap_or(&file);
        tamis_private::make_folder(folder).map_err(|e| refused(&e))?;
        tamis_private::write(&file, key.to_text().as_bytes()).map_err(|e| refused(&e))?;
        // Two calls at once: what stands there now is the one.
        Ok(Self::existing()?.unwrap_or(key))
    }
}

/// A key that others could have put there, or read, is none.
fn private(file: &Path) -> Result<(), RemoteError> {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(file).map_err(|e| RemoteError::Refused(e.to_string()))?;
    let trusted = tamis_private::check(file);
    if let Err(why) = trusted {
        return Err(RemoteError::Refused(format!(
            "{}: {} {}",
            file.display(),
            why.why,
            why.remedy
        )));
    }
    match meta.mode() & 0o077 {
        0 => Ok(()),
        _ => {
            Err(RemoteError::Refused(format!("others can read {0}; chmod 600 {0}", file.display())))
        }
    }
}

/// Where the key of a user is.
pub fn key_file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    Some(config?.join("tamis/signing-key"))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: About<'_> = About { kind: Kind::Pack, project: "shop", scope: "main" };

    #[test]
    fn a_signature_is_of_one_kind_project_scope_and_body() {
        let key = SecretKey::from_bytes(&[7; 32]);
        let signature = key.sign(ABOUT, b"body");
        assert_eq!(key.public().verify(ABOUT, b"body", &signature), Ok(()));
        for about in [
            About { kind: Kind::Head, ..ABOUT },
            About { project: "other", ..ABOUT },
            About { scope: "branch/x", ..ABOUT },
            About { project: "shopm", scope: "ain", ..ABOUT },
        ] {
            assert!(key.public().verify(about, b"body", &signature).is_err(), "{about:?}");
        }
        assert!(key.public().verify(ABOUT, b"bodY", &signature).is_err());
        assert!(
            SecretKey::from_bytes(&[8; 32]).public().verify(ABOUT, b"body", &signature).is_err()
        );
        for at in 0..signature.len() {
            let mut forged = signature.clone();
            forged[at] ^= 1;
            assert!(key.public().verify(ABOUT, b"body", &forged).is_err(), "byte {at}");
        }
        assert!(key.public().verify(ABOUT, b"body", &signature[..63]).is_err());
    }

    #[test]
    fn an_algorithm_that_is_not_known_is_refused() {
        let key = SecretKey::from_bytes(&[7; 32]);
        let signature = key.sign(ABOUT, b"body");
        for algorithm in (0..=u8::MAX).filter(|a| *a != ED25519) {
            let stranger = PublicKey { algorithm, bytes: key.public().bytes };
            let error = stranger.verify(ABOUT, b"body", &signature).unwrap_err().to_string();
            assert!(error.contains("does not know"), "{error}");
        }
    }

    #[test]
    fn keys_survive_their_texts() {
        let key = SecretKey::from_bytes(&[9; 32]);
        assert_eq!(SecretKey::parse(&key.to_text()).unwrap().public(), key.public());
        assert_eq!(PublicKey::parse(&key.public().to_string()), Some(key.public()));
        for wrong in ["", "ed25519:", "ed25519:00", "rsa:00", "ed25519:zz", "ed25519:é0"] {
            assert_eq!(PublicKey::parse(wrong), None, "{wrong}");
            assert!(SecretKey::parse(wrong).is_none());
        }
        assert!(!format!("{key:?}").contains(&hex(&[9; 32])), "a secret is not shown");
    }
}
