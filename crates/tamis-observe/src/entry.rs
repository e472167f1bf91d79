//! What is known of one path: its state before the tree changed it, and what was asked about it.

use std::collections::HashMap;
use tamis_core::Scheme;
use tamis_core::record::Access;
use tamis_fs::{Answer, FileKind, Identity};

/// The state before the tree changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    Absent,
    There(Identity),
    /// Something of this kind was there; the tree changed it before our look (only engines that
    /// report afterwards).
    Changed(FileKind),
    /// Not known at all, for the same reason.
    Unknown,
}

impl Before {
    pub(crate) fn kind(&self) -> Option<FileKind> {
        match self {
            Self::There(identity) => Some(identity.kind()),
            Self::Changed(kind) => Some(*kind),
            Self::Absent | Self::Unknown => None,
        }
    }
}

/// What the tree did to the path; later ones include what earlier ones mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    None,
    /// Written to or given another mode: what was there before can still be seen in it.
    Edited,
    /// Created, replaced, truncated or removed: what was there before cannot be seen any more.
    Replaced,
}

/// The answer from before the tree changed anything.
#[derive(Debug, Clone)]
pub(crate) enum Taken {
    NotYet,
    Answer(Answer),
    /// It was changed before it could be taken.
    Lost,
}

/// One question about the path.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) scheme: Scheme,
    pub(crate) taken: Taken,
    pub(crate) access: Access,
    pub(crate) program: usize,
    pub(crate) late: Option<Late>,
}

/// Names in a directory that had changed before they could be looked at (only engines that report
/// afterwards). They are found at the end, from what is known of the tree's own changes by then.
#[derive(Debug, Clone)]
pub(crate) struct Late {
    /// When the tree looked at them.
    pub(crate) time_ns: u64,
    /// Those found when we looked.
    pub(crate) names: Vec<(Vec<u8>, u8)>,
}

impl Asked {
    pub(crate) fn is_lost(&self) -> bool {
        match &self.taken {
            Taken::Lost => true,
            Taken::Answer(answer) => answer.error.is_some(),
            Taken::NotYet => false,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) before: Before,
    pub(crate) change: Change,
    pub(crate) asked: Vec<Asked>,
    /// The content from before an edit, kept in case the tree reads the file later.
    pub(crate) kept: Option<Answer>,
    /// The tree itself changed its rights, times or attributes, by a call that we saw before it was made.
    pub(crate) restamped: bool,
    /// For a directory: entries that the tree created or removed, as they were before.
    pub(crate) touched: HashMap<Vec<u8>, Name>,
}

/// How a name stood in a directory before the tree touched it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Absent,
    /// It was there; the letter of its kind in a listing.
    There(u8),
    Unknown,
}

impl Entry {
    pub(crate) fn new(before: Before) -> Self {
        Self {
            before,
            change: Change::None,
            asked: Vec::new(),
            kept: None,
            restamped: false,
            touched: HashMap::new(),
        }
    }

    pub(crate) fn question(&self, scheme: Scheme) -> Option<&Asked> {
        self.asked.iter().find(|a| a.scheme == scheme)
    }

    pub(crate) fn question_mut(&mut self, scheme: Scheme) -> Option<&mut Asked> {
        self.asked.iter_mut().find(|a| a.scheme == scheme)
    }

    /// How the name of this path stood in its directory before.
    pub(crate) fn name_before(&self) -> Name {
        match (self.before, self.before.kind()) {
            (Before::Absent, _) => Name::Absent,
            (_, Some(kind)) => Name::There(kind.letter()),
            _ => Name::Unknown,
        }
    }
}
