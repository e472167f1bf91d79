//! `--shard 3/8`: of what has to run now, each of several machines takes a part.
//!
//! A *split* says for every test whose it is, also for tests that it does not name: those go by a hash of their name. So
//! whatever split the machines have in common, each test is exactly one machine's, and their union is the selection. A
//! machine that finds newer records than another one skips what these prove, and runs the rest of its own part.
//!
//! The named ones are placed longest first, each to the machine that has least so far. That is a function of the decisions
//! and recorded times alone: machines with the same files and the same records make the same split, without a word to each
//! other. Where records can differ (one starts later, a job is run again), the split has to be fixed:
//!
//! - by a file that `tamis shards --plan N --write FILE` made;
//! - by the first one, through the shared store ([`Fix`]), under a name that all machines of the run know;
//! - without either, in the store of this machine under the number of CI's run, so that a job that is run again with its
//!   store has the same part.
//!
//! What has a split of its own is a *group*: all suites together, or one scope of units inside a command, because a build
//! reaches its modules one after the other. Where a split should be fixed and is not known (no answer of the shared store, a
//! file that cannot be read), the whole selection runs here: too much, and never too little.
//!
//! What this does not see: that the machines were given different commands, or files.

use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use tamis_core::{Hash, Notices, Planned, TestKey};
use tamis_store::Store;

/// More machines than this are a mistake.
const MOST: u32 = 10_000;

/// What the store keeps splits under.
const KIND: &str = "split";

/// How many splits the store keeps.
const KEPT: usize = 64;

/// One of several machines: `3/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    pub number: u32,
    pub of: u32,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once('/').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) && of <= MOST => {
                Ok(Self { number, of })
            }
            _ => Err(format!("\"{text}\" is no shard: write 3/8 for the third of eight machines")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Whose each test is. Total: what it does not name goes by a hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    version: u32,
    of: u32,
    /// From the hash of a test's name to its machine, from 1.
    tests: BTreeMap<String, u32>,
}

const VERSION: u32 = 1;

impl Split {
    /// The longest first, each to whoever has least; `group` decides where equal ones begin, so that builds with many
    /// small modules do not load the first machine.
    pub fn of(planned: &[&Planned], machines: u32, group: &str) -> Self {
        let mut tests: Vec<(u64, String)> = with_times(planned)
            .into_iter()
            .map(|(planned, time)| (time, name(&planned.key)))
            .collect();
        tests.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let first = (Hash::of(group.as_bytes()).0 % u128::from(machines)) as u32;
        // Least loaded first, of equals the next one.
        let mut machines_by_load: BinaryHeap<Reverse<(u64, u32)>> =
            (0..machines).map(|place| Reverse((0, place))).collect();
        let mut placed = BTreeMap::new();
        for (time, test) in tests {
            let Some(Reverse((load, place))) = machines_by_load.pop() else { break };
            placed.insert(test, (first + place) % machines + 1);
            machines_by_load.push(Reverse((load.saturating_add(time.max(1)), place)));
        }
        Self { version: VERSION, of: machines, tests: placed }
    }

    /// How long the longest part takes, in microseconds.
    fn longest(planned: &[&Planned], machines: u32) -> u64 {
        let split = Self::of(planned, machines, "");
        let mut loads = vec![0_u64; machines as usize + 1];
        for (planned, time) in with_times(planned) {
            loads[split.machine(&planned.key) as usize] += time;
        }
        loads.into_iter().max().unwrap_or(0)
    }

    /// Whose a test is.
    pub fn machine(&self, key: &TestKey) -> u32 {
        let name = name(key);
        let named = self.tests.get(&name).copied().filter(|at| (1..=self.of).contains(at));
        named.unwrap_or_else(|| (Hash::of(name.as_bytes()).0 % u128::from(self.of)) as u32 + 1)
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// A split for so many machines; in words why it is none.
    fn read(bytes: &[u8], of: u32) -> Result<Self, String> {
        let split: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        match split {
            Self { version, .. } if version != VERSION => {
                Err("it is of another version of tamis".into())
            }
            Self { of: other, .. } if other != of => {
                Err(format!("it is for {other} machines, not for {of}"))
            }
            split => Ok(split),
        }
    }
}

/// A test in a split: no two have the same name.
fn name(key: &TestKey) -> String {
    let parts = [key.scope.to_stored(), key.unit.to_stored(), key.folder.clone()];
    hex(Hash::of_parts(parts.iter().map(String::as_bytes)))
}

/// The tests with how long each took last; of one that never ran the mean of the others.
fn with_times<'p>(planned: &[&'p Planned]) -> Vec<(&'p Planned, u64)> {
    let time = |planned: &Planned| planned.evidence.newest.as_ref().map(|record| record.wall_us);
    let known: Vec<u64> = planned.iter().filter_map(|planned| time(planned)).collect();
    let mean = known.iter().sum::<u64>().checked_div(known.len() as u64).unwrap_or(1_000_000);
    planned.iter().map(|planned| (*planned, time(planned).unwrap_or(mean))).collect()
}

/// Fixes a split under a name: gives the one that is fixed there, which is the proposal where there was none. In words
/// why that is not known.
pub type Fix = dyn Fn(&str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync;

/// The part of this machine.
pub struct Sharding {
    pub shard: Shard,
    /// What all machines of this run know it by.
    run: Option<String>,
    by: FixedBy,
    splits: Mutex<HashMap<String, Arc<Known>>>,
}

/// How the machines come to the same split.
pub enum FixedBy {
    /// The split of `--plan FILE`, for all groups.
    File(Split),
    Shared(Box<Fix>),
    /// Each makes it of its own records.
    Records,
}

impl fmt::Debug for FixedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File(_) => "File",
            Self::Shared(_) => "Shared",
            Self::Records => "Records",
        })
    }
}

#[derive(Debug)]
enum Known {
    Split(Split),
    /// It should be fixed and is not known.
    Nothing,
}

impl fmt::Debug for Sharding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharding")
            .field("shard", &self.shard)
            .field("by", &self.by)
            .finish_non_exhaustive()
    }
}

impl Sharding {
    pub fn new(shard: Shard, run: Option<String>, by: FixedBy) -> Self {
        Self { shard, run, by, splits: Mutex::default() }
    }

    /// The split of a file for this shard.
    pub fn file(path: &Path, shard: Shard) -> Result<FixedBy, String> {
        let bytes = std::fs::read(path).map_err(|error| error.to_string());
        let split = bytes.and_then(|bytes| Split::read(&bytes, shard.of));
        split.map(FixedBy::File).map_err(|why| format!("--plan {}: {why}", path.display()))
    }

    /// Whether each of these tests of a group is for this machine; those that need not run are.
    pub(crate) fn mine(
        &self,
        group: &str,
        planned: &[&Planned],
        store: Option<&Store>,
        notices: &dyn Notices,
    ) -> Vec<bool> {
        let known = self.known(group, planned, store, notices);
        let is_mine = |planned: &&Planned| match known.as_ref() {
            _ if !planned.decision.is_run() => true,
            Known::Nothing => true,
            Known::Split(split) => split.machine(&planned.key) == self.shard.number,
        };
        planned.iter().map(is_mine).collect()
    }

    /// The split of a group: the same one however often it is asked for.
    fn known(
        &self,
        group: &str,
        planned: &[&Planned],
        store: Option<&Store>,
        notices: &dyn Notices,
    ) -> Arc<Known> {
        let mut splits = self.splits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = splits.get(group) {
            return Arc::clone(known);
        }
        let known = Arc::new(match self.find(group, planned, store) {
            Ok(split) => Known::Split(split),
            Err(why) => {
                notices.warn(format!(
                    "how {group} is split among {} machines is not known, so all of it runs here: {why}",
                    self.shard.of
                ));
                Known::Nothing
            }
        });
        splits.insert(group.to_owned(), Arc::clone(&known));
        known
    }

    fn find(
        &self,
        group: &str,
        planned: &[&Planned],
        store: Option<&Store>,
    ) -> Result<Split, String> {
        if let FixedBy::File(split) = &self.by {
            return Ok(split.clone());
        }
        let of = self.shard.of;
        let run: Vec<&Planned> = planned.iter().copied().filter(|p| p.decision.is_run()).collect();
        let fresh = || Split::of(&run, of, group);
        let Some(id) = &self.run else { return Ok(fresh()) };
        let name = hex(Hash::of_parts([id.as_bytes(), group.as_bytes(), &of.to_le_bytes()]));
        if let FixedBy::Shared(fix) = &self.by {
            return Split::read(&fix(&name, &fresh().to_bytes())?, of);
        }
        if let Some(split) = store.and_then(|store| kept(store, &name, of)) {
            return Ok(split);
        }
        let split = fresh();
        if let Some(store) = store.filter(|store| store.read_only().is_none()) {
            keep(store, &name, &split);
        }
        Ok(split)
    }

    /// How this machine and the others come to the same split, in words.
    pub(crate) fn how(&self) -> String {
        let how = match (&self.by, &self.run) {
            (FixedBy::File(_), _) => "the file of --plan says which tests that are",
            (FixedBy::Shared(_), Some(_)) => {
                "the first machine says which, through the shared store"
            }
            (FixedBy::Shared(_) | FixedBy::Records, _) => {
                "which tests that are follows from the records here: all machines need the same ones"
            }
        };
        format!("shard {} of {} of what has to run; {how}", self.shard.number, self.shard.of)
    }
}

fn hex(hash: Hash) -> String {
    format!("{:032x}", hash.0)
}

fn kept(store: &Store, name: &str, of: u32) -> Option<Split> {
    let kept = store.kept(KIND).ok()?;
    let (_, bytes) = kept.into_iter().find(|(known, _)| known.rsplit(' ').next() == Some(name))?;
    Split::read(&bytes, of).ok()
}

/// Keeps a split for a job that is run again. Losing it is what the shared store and `--plan` are for.
fn keep(store: &Store, name: &str, split: &Split) {
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut names: Vec<String> =
        store.kept(KIND).unwrap_or_default().into_iter().map(|(name, _)| name).collect();
    names.sort();
    let many = names.len().saturating_sub(KEPT - 1);
    names.iter().take(many).for_each(|old| drop(store.drop_kept(KIND, old)));
    let _ = store.keep(KIND, &format!("{:020} {name}", now.as_millis()), &split.to_bytes());
}

/// What `tamis shards --plan N` answers.
#[derive(Debug, PartialEq, Eq)]
pub struct ShardPlan {
    pub split: Split,
    /// How many tests have to run, and how long each machine is expected to take; none where nothing has to run.
    pub tests: usize,
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Part {
    pub tests: usize,
    /// How long its tests took when they last ran, in microseconds; `None` where one of them never did.
    pub wall_us: Option<u64>,
}

/// More machines than needed are not worth their start: so much longer may the longest part be, in microseconds.
const WORTH_IT: u64 = 5_000_000;

/// Splits what has to run among at most `most` machines: fewer where more would end hardly earlier.
///
/// `whole` is a command that has to run, with tests inside; what is not known of these goes by hashes, so that it needs at
/// least one machine, and all where nothing is known.
pub fn plan(tests: &[&Planned], whole: bool, most: u32) -> ShardPlan {
    let known = tests.iter().all(|planned| planned.evidence.newest.is_some());
    let machines = match tests.len() {
        0 if whole => most,
        0 => 0,
        count => {
            let most = most.min(u32::try_from(count).unwrap_or(u32::MAX));
            let best = Split::longest(tests, most);
            let is_enough = |machines: &u32| {
                let longest = Split::longest(tests, *machines);
                longest <= best + WORTH_IT || longest <= best + best / 10
            };
            if known { (1..most).find(is_enough).unwrap_or(most) } else { most }
        }
    };
    let split = Split::of(tests, machines.max(1), "");
    let mut parts = vec![Part { tests: 0, wall_us: Some(0) }; machines as usize];
    for planned in tests {
        let part = &mut parts[split.machine(&planned.key) as usize - 1];
        part.tests += 1;
        let time = planned.evidence.newest.as_ref().map(|record| record.wall_us);
        part.wall_us = part.wall_us.zip(time).map(|(sum, time)| sum + time);
    }
    ShardPlan { split, tests: tests.len(), parts }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use tamis_core::{Cause, Decision, Evidence, Origin, Outcome, RecordId, RecordSummary};

    fn record(wall_us: u64) -> RecordSummary {
        RecordSummary {
            id: RecordId(1),
            outcome: Outcome::Passed,
            started_ms: 0,
            wall_us,
            cpu_us: 0,
            engine: String::new(),
            inputs: 1,
            taints: Vec::new(),
            notes: Vec::new(),
            origin: Origin::Here,
        }
    }

    fn test(name: &str, wall_us: Option<u64>) -> Planned {
        let evidence = Evidence { newest: wall_us.map(record), ..Evidence::default() };
        let key = TestKey::item("s", name, ".");
        Planned { key, decision: Decision::Run(Cause::New), evidence }
    }

    fn tests(times: &[Option<u64>]) -> Vec<Planned> {
        times.iter().enumerate().map(|(n, time)| test(&format!("t{n}"), *time)).collect()
    }

    #[test]
    fn a_shard_is_two_numbers() {
        assert_eq!("3/8".parse(), Ok(Shard { number: 3, of: 8 }));
        for wrong in ["", "3", "0/8", "9/8", "a/b", "3/0", "1/99999", "-1/8", "1/8/2", "1 /8"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_longest_first() {
        let all = tests(
            &[Some(10), Some(9), Some(8), Some(2), Some(1)].map(|t| t.map(|t: u64| t * 1_000_000)),
        );
        let all: Vec<&Planned> = all.iter().collect();
        assert_eq!(Split::longest(&all, 3), 10_000_000);
        assert_eq!(Split::longest(&all, 1), 30_000_000);
    }

    #[test]
    fn few_machines_where_little_has_to_run() {
        let seconds =
            |times: &[u64]| tests(&times.iter().map(|t| Some(t * 1_000_000)).collect::<Vec<_>>());
        let machines =
            |all: &[Planned], whole| plan(&all.iter().collect::<Vec<_>>(), whole, 8).parts.len();
        assert_eq!(machines(&[], false), 0);
        assert_eq!(machines(&[], true), 8);
        assert_eq!(machines(&seconds(&[1, 1, 1]), true), 1);
        assert_eq!(machines(&seconds(&[600, 1, 1, 1]), false), 1);
        assert_eq!(machines(&seconds(&[600; 4]), false), 4);
        assert_eq!(machines(&seconds(&[60; 64]), false), 8);
        assert_eq!(machines(&tests(&[None; 3]), false), 3);
    }

    #[test]
    fn a_file_for_other_numbers_is_refused() {
        let split = Split::of(&[], 4, "");
        assert_eq!(Split::read(&split.to_bytes(), 4), Ok(split.clone()));
        assert!(Split::read(&split.to_bytes(), 8).unwrap_err().contains("4 machines"));
        assert!(Split::read(b"{}", 4).is_err());
    }

    /// A number that is no machine's must not leave a test to no machine.
    #[test]
    fn a_wrong_number_leaves_no_test_out() {
        let all = tests(&[Some(1); 20]);
        let text = String::from_utf8(Split::of(&all.iter().collect::<Vec<_>>(), 3, "").to_bytes())
            .unwrap();
        for wrong in [text.replace(":1", ":0"), text.replace(":2", ":9")] {
            let Ok(split) =
                Split::read(wrong.replace("\"version\":0", "\"version\":1").as_bytes(), 3)
            else {
                continue;
            };
            assert!(all.iter().all(|t| (1..=3).contains(&split.machine(&t.key))));
        }
    }

    proptest! {
        /// Every test, named or not, is exactly one machine's, and each machine comes to the same split.
        #[test]
        fn the_union_is_the_selection(
            times in proptest::collection::vec(proptest::option::of(0_u64..1_000_000), 0..60),
            machines in 1_u32..9,
            new in 0_usize..10,
        ) {
            let all = tests(&times);
            let forwards: Vec<&Planned> = all.iter().collect();
            let backwards: Vec<&Planned> = all.iter().rev().collect();
            let split = Split::of(&forwards, machines, "group");
            prop_assert_eq!(&split, &Split::of(&backwards, machines, "group"));
            let unseen: Vec<Planned> = (0..new).map(|n| test(&format!("new{n}"), None)).collect();
            let mut seen = BTreeSet::new();
            for number in 1..=machines {
                let shard = Shard { number, of: machines };
                let sharding = Sharding::new(shard, None, FixedBy::File(split.clone()));
                let asked: Vec<&Planned> = all.iter().chain(&unseen).collect();
                let mine = sharding.mine("group", &asked, None, &tamis_core::Silent);
                for (planned, _) in asked.iter().zip(mine).filter(|(_, mine)| *mine) {
                    prop_assert!(seen.insert(planned.key.to_string()), "{} twice", planned.key);
                }
            }
            prop_assert_eq!(seen.len(), all.len() + unseen.len());
        }

        /// No part is longer than it has to be: at most the mean and one test more.
        #[test]
        fn parts_are_even(times in proptest::collection::vec(1_u64..1_000, 1..60), machines in 1_u32..9) {
            let all = tests(&times.iter().map(|t| Some(*t)).collect::<Vec<_>>());
            let all: Vec<&Planned> = all.iter().collect();
            let mean = times.iter().sum::<u64>() / u64::from(machines);
            let most = times.iter().max().copied().unwrap_or(0);
            prop_assert!(Split::longest(&all, machines) <= mean + most);
        }
    }

    /// One that starts later and finds that less has to run keeps to the split of the first.
    #[test]
    fn a_later_machine_keeps_to_the_fixed_split() {
        let all = tests(&[Some(30), Some(20), Some(10), Some(5), Some(1)]);
        let fixed: Arc<Mutex<HashMap<String, Vec<u8>>>> = Arc::default();
        let machine = |number| {
            let fixed = Arc::clone(&fixed);
            let fix = move |name: &str, proposal: &[u8]| {
                let mut fixed = fixed.lock().unwrap();
                Ok(fixed.entry(name.to_owned()).or_insert_with(|| proposal.to_vec()).clone())
            };
            Sharding::new(
                Shard { number, of: 2 },
                Some("run".into()),
                FixedBy::Shared(Box::new(fix)),
            )
        };
        let asked: Vec<&Planned> = all.iter().collect();
        let of = |number, asked: &[&Planned]| {
            let mine = machine(number).mine("g", asked, None, &tamis_core::Silent);
            let mine = asked.iter().zip(mine).filter(|(_, mine)| *mine);
            mine.map(|(planned, _)| planned.key.to_string()).collect::<BTreeSet<_>>()
        };
        let first = of(1, &asked);
        // What the first one has run is proven meanwhile.
        let left: Vec<&Planned> =
            asked.iter().copied().filter(|p| !first.contains(&p.key.to_string())).collect();
        let second = of(2, &left);
        assert_eq!(first.len() + second.len(), 5);
        // Run again with newer records, the first one has still all of its own.
        assert_eq!(of(1, &asked), first);
    }

    #[test]
    fn without_an_answer_all_of_it_runs() {
        let all = tests(&[Some(1); 9]);
        let asked: Vec<&Planned> = all.iter().collect();
        for answer in [Err("no answer".to_owned()), Ok(b"junk".to_vec())] {
            let fix = move |_: &str, _: &[u8]| answer.clone();
            let by = FixedBy::Shared(Box::new(fix));
            let sharding = Sharding::new(Shard { number: 1, of: 3 }, Some("r".into()), by);
            assert_eq!(sharding.mine("g", &asked, None, &tamis_core::Silent), vec![true; 9]);
        }
    }

    #[test]
    fn a_job_that_is_run_again_with_its_store_has_the_same_part() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        let all = tests(&[Some(30), Some(20), Some(10), Some(5), Some(1)]);
        let asked: Vec<&Planned> = all.iter().collect();
        let part = |asked: &[&Planned], run: &str| {
            let shard = Shard { number: 1, of: 2 };
            let sharding = Sharding::new(shard, Some(run.into()), FixedBy::Records);
            sharding.mine("g", asked, Some(&store), &tamis_core::Silent)
        };
        let first = part(&asked, "run 1");
        for n in 0..asked.len() {
            assert_eq!(part(&asked[n..=n], "run 1"), first[n..=n]);
        }
        for n in 0..2 * KEPT {
            part(&asked, &format!("other {n}"));
        }
        assert!(store.kept(KIND).unwrap().len() <= KEPT);
    }
}
