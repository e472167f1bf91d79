//! What was seen of tests, and what follows for them.

use crate::answers::Facts;
use crate::asked_names::AskedNames;
use crate::globals::Changed;
use crate::shelves::Shelves;
use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::Arc;
use tamis_classpath::names::NameId;

/// What one test depends on, as far as classes go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Depends {
    pub facts: Facts,
    /// Earlier tests of this JVM that ran code which this test relies on: their files count.
    pub relies_on: BTreeSet<u32>,
    /// Earlier tests that ran code which can leave something where this one meets it, other than in static
    /// initialisers: without them it may have run other code.
    pub left_by: BTreeSet<u32>,
    /// The static initialisers, by their probes, that ran before it and would have run in it otherwise.
    pub initialisers: BTreeSet<u32>,
    /// Classes that were loaded meanwhile.
    pub loaded: BTreeSet<String>,
    /// It may use resource bundles, which the JDK keeps: those that earlier tests of this JVM read
    /// count for it.
    pub uses_bundles: bool,
    /// Variables and system properties that it, or anybody before it, asked for; `None` if that is not known.
    pub asked: Option<AskedNames>,
    /// Nothing of the project ran outside of tests before it began, but for finding tests.
    pub found_only: bool,
    /// Of methods that only others ran: through what they count, in words.
    pub because: Because,
    /// Why the set is not complete.
    pub incomplete: Option<String>,
}

/// Facts, by their texts, to words.
pub type Because = FxHashMap<Arc<str>, Arc<str>>;

/// What is known to hold nothing of earlier tests when a test begins.
#[derive(Debug, Default, Clone)]
pub(crate) struct Untouched {
    /// Static fields that hold something else than at first.
    pub(crate) changed: Arc<FxHashSet<(NameId, NameId)>>,
    /// Classes that were not used yet.
    pub(crate) waiting: Arc<FxHashSet<NameId>>,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Seen {
    /// The test class.
    pub(crate) own_class: String,
    pub(crate) found_only: bool,
    pub(crate) loaded: BTreeSet<String>,
    /// `None` where it was not looked at, or other tests ran at the same time.
    pub(crate) untouched: Option<Untouched>,
    pub(crate) hits: RoaringBitmap,
    pub(crate) classes: BTreeSet<String>,
    /// Resources and the like, as facts.
    pub(crate) others: RoaringBitmap,
    /// Classes whose files in jars were asked for.
    pub(crate) class_entries: BTreeSet<String>,
    /// Methods that threads were in when it began.
    pub(crate) running: RoaringBitmap,
    /// System properties that it asked for; an empty name stands for all.
    pub(crate) properties: BTreeSet<String>,
    /// It asked for numbers of lines.
    pub(crate) lines: bool,
    /// What of the JVM was not as at first while it was open, and who made it so.
    pub(crate) changed: Changed,
}

impl Seen {
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.hits |= &other.hits;
        self.classes.extend(other.classes.iter().cloned());
        self.others |= &other.others;
        self.class_entries.extend(other.class_entries.iter().cloned());
        self.running |= &other.running;
        self.properties.extend(other.properties.iter().cloned());
        self.lines |= other.lines;
    }

    /// With what was loaded meanwhile.
    pub(crate) fn absorb_all(&mut self, other: &Self) {
        self.absorb(other);
        self.loaded.extend(other.loaded.iter().cloned());
    }
}

/// What a test did that has ended. There are many of them, and each one that comes is held against all:
/// names are numbers here.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) test: u32,
    pub(crate) hits: RoaringBitmap,
    /// All that counted for it, what ran for others included.
    pub(crate) counted: RoaringBitmap,
    /// Classes that it asked for by name, but for its own.
    pub(crate) classes: RoaringBitmap,
    /// Resources and class files, as facts.
    pub(crate) others: RoaringBitmap,
    /// Where it put something for others.
    pub(crate) sets: Shelves,
}

/// What counts for a test.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) depends: Depends,
    /// All methods that do, those that ran for others included.
    pub(crate) hits: RoaringBitmap,
    /// Classes whose objects a static field that it can get at can hold.
    pub(crate) objects: FxHashSet<NameId>,
    /// A class of which it uses objects that only others made.
    pub(crate) stranger: Option<NameId>,
}

#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) name: String,
    pub(crate) id: NameId,
    pub(crate) first: u32,
    pub(crate) probes: u32,
    pub(crate) place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A class of the project whose bytes are those of its file.
    Project,
    /// A class of the project that somebody changed on the way: which probe is which method is not
    /// known.
    Changed,
    Library(u32),
    /// Not on the classpath: made at run time by what ran, or a file that the tracer sees.
    Elsewhere,
}
