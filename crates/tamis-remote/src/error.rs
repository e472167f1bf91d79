//! What can go wrong with a shared store.

/// Nothing of this makes a run fail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// The place cannot be reached, or does not do what it is asked for.
    #[error("{0}")]
    Place(String),
    /// The time is up.
    #[error("no answer within {0:?}")]
    Late(std::time::Duration),
    /// Somebody is not believed, or bytes are not what they should be.
    #[error("{0}")]
    Refused(String),
    /// Others were faster, again and again.
    #[error("others replaced the head of {0} again and again; try later")]
    Crowded(String),
    #[error("{0}")]
    Store(String),
}

impl From<tamis_store::StoreError> for RemoteError {
    fn from(error: tamis_store::StoreError) -> Self {
        Self::Store(error.to_string())
    }
}
