//! Observations get their ids: those that the store knows the ids that they have, new ones the next.
//!
//! All observations of an append are sorted by question and held against every block, which is
//! sorted as well: one pass over both, without an index. New ones are numbered in that order, so
//! that neighbours in the project are neighbours in the sets.
//!
//! Within one write transaction: no other process can add or remove any meanwhile.

use crate::block::{Answer, Block, Draft, GroupHead};
use crate::blocks::{self, Details};
use crate::codec::QuestionColumns;
use crate::error::Failure;
use rusqlite::Connection;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::sync::Arc;
use tamis_core::Value;
use tamis_core::record::{Detail, Observed};
use xxhash_rust::xxh3::xxh3_128;

/// The observations of some runs, with their ids.
pub(crate) struct Interned<'r> {
    /// Each once, in the order of their questions.
    distinct: Vec<Distinct<'r>>,
    /// Of each run and what it observed: before and, where it is set, after, as places in `distinct`.
    runs: Vec<Vec<(u32, Option<u32>)>>,
    /// From an id to its place.
    places: FxHashMap<u32, u32>,
}

struct Distinct<'r> {
    question: QuestionColumns<'r>,
    value: Value,
    detail: &'r Detail,
    /// Who looked at it first, and how, as far as the store knows.
    program: Arc<str>,
    access: u8,
    id: Option<u32>,
    /// Whether the store knows details about the value.
    detailed: bool,
}

impl<'r> Interned<'r> {
    /// The observations of some runs, or of one list that these have in common.
    pub(crate) fn of<L: Iterator<Item = &'r Observed>>(
        conn: &Connection,
        runs: impl Iterator<Item = L>,
    ) -> Result<Self, Failure> {
        let mut interned = Self::gather(runs);
        if interned.distinct.is_empty() {
            return Ok(interned);
        }
        let mut blocks = Vec::new();
        for id in blocks::block_ids(conn)? {
            let block = blocks::read(conn, id)?;
            blocks.push(block.filter(|block| interned.find_in(block).is_some()));
        }
        interned.number_new(conn, blocks)?;
        let ids = interned.distinct.iter().enumerate();
        interned.places = ids.filter_map(|(at, o)| Some((o.id?, at as u32))).collect();
        Ok(interned)
    }

    /// The observations of the run at this position: before and, where it is set, after.
    pub(crate) fn observations(&self, run: usize) -> Vec<(u32, Option<u32>)> {
        // Every one has an id by now.
        let id = |place: u32| self.distinct[place as usize].id.unwrap_or(0);
        self.runs[run].iter().map(|&(was, left)| (id(was), left.map(id))).collect()
    }

    /// What the block of an observation says about who looked at it.
    pub(crate) fn usual_look(&self, id: u32) -> (&str, u8) {
        self.places.get(&id).map_or(("", 0), |&place| {
            let known = &self.distinct[place as usize];
            (&known.program, known.access)
        })
    }

    fn gather<L: Iterator<Item = &'r Observed>>(runs: impl Iterator<Item = L>) -> Self {
        let mut gathering =
            Gathering { distinct: Vec::new(), places: FxHashMap::default(), bytes: Vec::new() };
        let mut places: Vec<Vec<(u32, Option<u32>)>> = runs
            .map(|observed| {
                let both = |o: &'r Observed| {
                    let was = gathering.add(o, o.before, &o.detail);
                    (was, o.after.map(|left| gathering.add(o, left, &Detail::None)))
                };
                observed.map(both).collect()
            })
            .collect();

        let mut order: Vec<(u32, Distinct<'r>)> = (0..).zip(gathering.distinct).collect();
        order.sort_by(|(_, a), (_, b)| a.question.cmp(&b.question));
        let mut sorted_at = vec![0; order.len()];
        for (new, (old, _)) in order.iter().enumerate() {
            sorted_at[*old as usize] = new as u32;
        }
        for (was, left) in places.iter_mut().flatten() {
            *was = sorted_at[*was as usize];
            *left = left.map(|left| sorted_at[left as usize]);
        }
        let distinct = order.into_iter().map(|(_, distinct)| distinct).collect();
        Self { distinct, runs: places, places: FxHashMap::default() }
    }

    /// Takes the ids of those that are in this block; `None`, and none taken, where it cannot be
    /// read to its end.
    fn find_in(&mut self, block: &Block) -> Option<()> {
        let mut found: Vec<(usize, Answer)> = Vec::new();
        // The first of ours that is not behind what was read.
        let next = Cell::new(0);
        let step_to = |question: QuestionColumns<'_>| {
            let behind = |o: &Distinct<'_>| o.question < question;
            while self.distinct.get(next.get()).is_some_and(behind) {
                next.set(next.get() + 1);
            }
        };
        let has_any = |head: GroupHead<'_>| {
            step_to(head.first);
            let first = self.distinct.get(next.get());
            first.is_some_and(|o| head.next.is_none_or(|next| o.question < next))
        };
        block.walk_some(has_any, |question, answers| {
            step_to(question);
            let at = next.get();
            let same = self.distinct[at..].iter().take_while(|o| o.question == question);
            for (at, wanted) in (at..).zip(same) {
                let answer = answers.iter().find(|answer| answer.value == wanted.value);
                found.extend(answer.map(|&answer| (at, answer)));
            }
        })?;
        if found.is_empty() {
            return Some(());
        }
        let looks = block.looks()?;
        for (at, answer) in found {
            let known = &mut self.distinct[at];
            let (program, access) = looks.by[answer.at as usize];
            known.program = looks.programs.get(program as usize).cloned().unwrap_or_default();
            known.access = access;
            known.id = Some(answer.id);
            known.detailed |= answer.detailed;
        }
        Some(())
    }

    /// Numbers those that no block has, and writes them, with the details that are new.
    fn number_new(&mut self, conn: &Connection, blocks: Vec<Option<Block>>) -> Result<(), Failure> {
        let mut elsewhere: Vec<u32> =
            blocks.iter().flatten().flat_map(|b| b.detailed_elsewhere.iter().copied()).collect();
        elsewhere.sort_unstable();
        let mut blocks = Some(blocks);
        let mut write = |last, draft, details| match blocks.take() {
            Some(blocks) => blocks::write_merged(conn, last, draft, details, blocks),
            None => blocks::write(conn, last, draft, &details, &[]),
        };
        let mut next = blocks::next_observation(conn)?;
        let (mut draft, mut details) = (Draft::default(), Details::new());
        for new in &mut self.distinct {
            let brings_detail = *new.detail != Detail::None;
            let id = match new.id {
                None => {
                    let id = next;
                    next = next.checked_add(1).ok_or_else(Failure::used_up)?;
                    new.id = Some(id);
                    let look = (&*new.program, new.access);
                    draft.push(new.question, (id, new.value, brings_detail), look);
                    id
                }
                // An answer that was left behind comes without detail; a later run may bring it.
                Some(id) if brings_detail && !new.detailed && !known(&elsewhere, id) => {
                    draft.detail_elsewhere(id);
                    id
                }
                Some(_) => continue,
            };
            if brings_detail {
                details.insert(id, new.detail.clone());
            }
            if draft.observations() >= blocks::most(next) {
                write(next - 1, std::mem::take(&mut draft), std::mem::take(&mut details))?;
            }
        }
        if draft.is_empty() {
            return Ok(());
        }
        // Details alone take a number as well: a block needs one of its own.
        let last = if draft.observations() == 0 { next } else { next - 1 };
        write(last, draft, details)
    }
}

fn known(sorted: &[u32], id: u32) -> bool {
    sorted.binary_search(&id).is_ok()
}

/// Observations on their way to be distinct ones.
struct Gathering<'r> {
    distinct: Vec<Distinct<'r>>,
    places: FxHashMap<u128, u32>,
    bytes: Vec<u8>,
}

impl<'r> Gathering<'r> {
    fn add(&mut self, observed: &'r Observed, value: Value, detail: &'r Detail) -> u32 {
        let question = QuestionColumns::of(&observed.question);
        let (tag, hash) = value.to_raw();
        self.bytes.clear();
        question.write_to(&mut self.bytes);
        self.bytes.push(tag);
        self.bytes.extend_from_slice(&hash.to_le_bytes());
        let place = *self.places.entry(xxh3_128(&self.bytes)).or_insert_with(|| {
            self.distinct.push(Distinct {
                question,
                value,
                detail: &Detail::None,
                program: Arc::clone(&observed.program),
                access: observed.access.0,
                id: None,
                detailed: false,
            });
            self.distinct.len() as u32 - 1
        });
        let known = &mut self.distinct[place as usize];
        if *known.detail == Detail::None {
            known.detail = detail;
        }
        place
    }
}
