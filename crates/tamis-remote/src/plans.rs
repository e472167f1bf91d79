//! Small things that several machines have to agree on: whoever comes first fixes one under a name, and the others find it
//! there. How tests are split among machines (`--shard`) is one.
//!
//! ```text
//! "TAMISPLAN", version (1)
//! length (4), header: who signed, signature over the body
//! body: what was fixed
//! ```
//!
//! The signature covers project, scope and name, so that one cannot be put in the place of another. What is not believed is
//! an error: whoever asks must then do without, and not take its own for what the others have.

use crate::error::RemoteError;
use crate::keys::{About, Kind, PublicKey, SecretKey};
use crate::place::{Deadline, Found};
use crate::remote::Remote;
use crate::scope;
use serde::{Deserialize, Serialize};

const MAGIC: &[u8; 9] = b"TAMISPLAN";
const VERSION: u8 = 1;
const LONGEST_HEADER: usize = 4096;

#[derive(Serialize, Deserialize)]
struct Signed {
    signer: PublicKey,
    signature: Vec<u8>,
}

/// What a signature of a plan is about, beside the project.
fn place(scope: &str, name: &str) -> String {
    format!("{scope}\n{name}")
}

impl Remote {
    /// What is fixed under a name in a scope: this proposal, where nothing was.
    pub fn fix(
        &self,
        (scope, name): (&str, &str),
        proposal: &[u8],
        key: &SecretKey,
        until: Deadline,
    ) -> Result<Vec<u8>, RemoteError> {
        let object = scope::plan_name(&self.project, scope, name);
        let known = self.place().get(&object, None, until)?;
        let known = match known {
            Found::Bytes(bytes, _) => bytes,
            Found::Same | Found::Nothing => {
                let bytes = self.write_plan((scope, name), proposal, key)?;
                if self.place().replace(&object, &bytes, None, until)? {
                    return Ok(proposal.to_vec());
                }
                match self.place().get(&object, None, until)? {
                    Found::Bytes(bytes, _) => bytes,
                    _ => return Err(RemoteError::Place(format!("no answer about {object}"))),
                }
            }
        };
        self.read_plan(&known, (scope, name))
    }

    fn write_plan(
        &self,
        (scope, name): (&str, &str),
        body: &[u8],
        key: &SecretKey,
    ) -> Result<Vec<u8>, RemoteError> {
        let place = place(scope, name);
        let about = About { kind: Kind::Plan, project: &self.project, scope: &place };
        let signed = Signed { signer: key.public(), signature: key.sign(about, body) };
        let header = postcard::to_allocvec(&signed)
            .map_err(|e| RemoteError::Store(format!("a plan cannot be packed: {e}")))?;
        let mut bytes = MAGIC.to_vec();
        bytes.push(VERSION);
        bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(body);
        Ok(bytes)
    }

    /// The body of a plan, if its signer is believed in the scope.
    fn read_plan(&self, bytes: &[u8], (scope, name): (&str, &str)) -> Result<Vec<u8>, RemoteError> {
        let refused = |why: &str| RemoteError::Refused(format!("the plan there is refused: {why}"));
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| refused("it is no plan of tamis"))?;
        let rest =
            rest.strip_prefix(&[VERSION]).ok_or_else(|| refused("it is of another version"))?;
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(|| refused("it is cut"))?;
        let length = u32::from_le_bytes(*length) as usize;
        let (header, body) = rest
            .split_at_checked(length)
            .filter(|_| length <= LONGEST_HEADER)
            .ok_or_else(|| refused("it is cut"))?;
        let signed: Signed =
            postcard::from_bytes(header).map_err(|_| refused("its header cannot be read"))?;
        let place = place(scope, name);
        let about = About { kind: Kind::Plan, project: &self.project, scope: &place };
        let verified = signed.signer.verify(about, body, &signed.signature);
        verified
            .and_then(|()| self.trust.check(&signed.signer, scope))
            .map_err(|error| refused(&error.to_string()))?;
        Ok(body.to_vec())
    }
}
