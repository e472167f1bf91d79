//! Sets that flow along edges until nothing changes.
//!
//! Each node has a set of objects. A copy edge passes everything on, a filtered edge what is in the
//! filter's set as well. A node passes on only what is new since it last did (difference propagation).
//! Nodes on a circle of copy edges have equal sets in the end, so circles are looked for now and then and
//! become one node.

use crate::sets::Set;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

pub(crate) type Node = u32;

/// The object of which nothing is known but that it exists.
pub(crate) const OUTSIDE: u32 = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filtered {
    pub(crate) to: Node,
    /// Holds what may pass.
    pub(crate) filter: Node,
    /// Whether what is unknown may pass as such.
    pub(crate) open: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Solver {
    parent: Vec<Node>,
    held: Vec<Set>,
    new: Vec<Set>,
    copies: Vec<Vec<Node>>,
    filtered: Vec<Vec<Filtered>>,
    known_edges: FxHashSet<u64>,
    queued: Vec<bool>,
    queue: VecDeque<Node>,
    /// Work since circles were last looked for, and edges then.
    steps: usize,
    edges_then: usize,
}

/// What is new at a node.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) node: Node,
    pub(crate) new: Set,
}

impl Solver {
    pub(crate) fn node(&mut self) -> Node {
        self.nodes(1)
    }

    /// Several nodes with numbers in a row; the first of them.
    pub(crate) fn nodes(&mut self, count: u32) -> Node {
        let first = self.parent.len() as Node;
        let len = self.parent.len() + count as usize;
        self.parent.extend(first..first + count);
        self.held.resize_with(len, Set::default);
        self.new.resize_with(len, Set::default);
        self.copies.resize_with(len, Vec::new);
        self.filtered.resize_with(len, Vec::new);
        self.queued.resize(len, false);
        first
    }

    pub(crate) fn len(&self) -> usize {
        self.parent.len()
    }

    /// The node that stands for this one.
    pub(crate) fn find(&mut self, mut node: Node) -> Node {
        while self.parent[node as usize] != node {
            let above = self.parent[self.parent[node as usize] as usize];
            self.parent[node as usize] = above;
            node = above;
        }
        node
    }

    pub(crate) fn held(&mut self, node: Node) -> &Set {
        let node = self.find(node);
        &self.held[node as usize]
    }

    fn queue(&mut self, node: Node) {
        if !std::mem::replace(&mut self.queued[node as usize], true) {
            self.queue.push_back(node);
        }
    }

    pub(crate) fn add(&mut self, node: Node, object: u32) {
        let node = self.find(node);
        if self.held[node as usize].insert(object) {
            self.new[node as usize].insert(object);
            self.queue(node);
        }
    }

    pub(crate) fn add_all(&mut self, node: Node, objects: &Set) {
        let node = self.find(node);
        let missing = self.held[node as usize].missing_of(objects);
        if !missing.is_empty() {
            self.held[node as usize].add(&missing);
            self.new[node as usize].add(&missing);
            self.queue(node);
        }
    }

    pub(crate) fn copy(&mut self, from: Node, to: Node) {
        let (from, to) = (self.find(from), self.find(to));
        if from == to || !self.known_edges.insert(u64::from(from) << 32 | u64::from(to)) {
            return;
        }
        self.copies[from as usize].push(to);
        let held = std::mem::take(&mut self.held[from as usize]);
        self.add_all(to, &held);
        self.held[from as usize] = held;
    }

    pub(crate) fn filter(&mut self, from: Node, edge: Filtered) {
        let from = self.find(from);
        self.filtered[from as usize].push(edge);
        let held = self.held[from as usize].clone();
        self.pass(&held, edge);
    }

    fn pass(&mut self, objects: &Set, edge: Filtered) {
        let filter = self.find(edge.filter);
        let passing = objects.and(&self.held[filter as usize]);
        self.add_all(edge.to, &passing);
        if objects.contains(OUTSIDE) {
            self.copy(edge.filter, edge.to);
            if edge.open {
                self.add(edge.to, OUTSIDE);
            }
        }
    }

    /// Moves what is new at one node along its edges; `None` when nothing is new anywhere. `merged` is
    /// called for nodes that became one: (the one that stays, the one that goes).
    pub(crate) fn step(&mut self, merged: &mut Vec<(Node, Node)>) -> Option<Step> {
        let edges = self.known_edges.len();
        if self.steps > self.parent.len() && edges > self.edges_then + self.edges_then / 8 {
            self.collapse(merged);
            self.steps = 0;
            self.edges_then = edges;
        }
        loop {
            let node = self.queue.pop_front()?;
            self.queued[node as usize] = false;
            if self.parent[node as usize] != node {
                continue;
            }
            let new = std::mem::take(&mut self.new[node as usize]);
            if new.is_empty() {
                continue;
            }
            self.steps += 1;
            for at in 0..self.copies[node as usize].len() {
                let to = self.copies[node as usize][at];
                self.add_all(to, &new);
            }
            for at in 0..self.filtered[node as usize].len() {
                let edge = self.filtered[node as usize][at];
                self.pass(&new, edge);
            }
            return Some(Step { node, new });
        }
    }

    /// Makes one node of each circle of copy edges.
    fn collapse(&mut self, merged: &mut Vec<(Node, Node)>) {
        for circle in self.circles() {
            let Some((&stays, others)) = circle.split_first() else { continue };
            for &goes in others {
                self.parent[goes as usize] = stays;
                let held = std::mem::take(&mut self.held[goes as usize]);
                self.held[stays as usize].add(&held);
                self.new[goes as usize] = Set::default();
                let copies = std::mem::take(&mut self.copies[goes as usize]);
                self.copies[stays as usize].extend(copies);
                let filtered = std::mem::take(&mut self.filtered[goes as usize]);
                self.filtered[stays as usize].extend(filtered);
                merged.push((stays, goes));
            }
            let mut copies = std::mem::take(&mut self.copies[stays as usize]);
            copies.iter_mut().for_each(|to| *to = self.find(*to));
            copies.sort_unstable();
            copies.dedup();
            copies.retain(|&to| to != stays);
            for &to in &copies {
                self.known_edges.insert(u64::from(stays) << 32 | u64::from(to));
            }
            self.copies[stays as usize] = copies;
            // Where the others led, not all was passed on to.
            self.new[stays as usize] = self.held[stays as usize].clone();
            self.queue(stays);
        }
    }

    /// Tarjan's strongly connected components of more than one node, without recursion.
    fn circles(&mut self) -> Vec<Vec<Node>> {
        const UNSEEN: u32 = u32::MAX;
        let count = self.parent.len();
        let mut index = vec![UNSEEN; count];
        let mut low = vec![0; count];
        let mut on_stack = vec![false; count];
        let (mut next, mut stack, mut found) = (0, Vec::new(), Vec::new());
        let mut way: Vec<(Node, usize)> = Vec::new();
        for start in 0..count as Node {
            if index[start as usize] != UNSEEN || self.parent[start as usize] != start {
                continue;
            }
            way.push((start, 0));
            while let Some(&(node, at)) = way.last() {
                let here = node as usize;
                if at == 0 {
                    (index[here], low[here]) = (next, next);
                    next += 1;
                    stack.push(node);
                    on_stack[here] = true;
                }
                if let Some(&to) = self.copies[here].get(at) {
                    if let Some(last) = way.last_mut() {
                        last.1 += 1;
                    }
                    let to = self.find(to) as usize;
                    if index[to] == UNSEEN {
                        way.push((to as Node, 0));
                    } else if on_stack[to] {
                        low[here] = low[here].min(index[to]);
                    }
                    continue;
                }
                way.pop();
                if let Some(&(above, _)) = way.last() {
                    low[above as usize] = low[above as usize].min(low[here]);
                }
                if low[here] == index[here] {
                    let from = stack.iter().rposition(|&n| n == node).unwrap_or(0);
                    let circle = stack.split_off(from);
                    circle.iter().for_each(|&n| on_stack[n as usize] = false);
                    if circle.len() > 1 {
                        found.push(circle);
                    }
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(solver: &mut Solver) {
        let mut merged = Vec::new();
        while solver.step(&mut merged).is_some() {}
    }

    #[test]
    fn a_filter_lets_through_what_it_holds() {
        let mut solver = Solver::default();
        let (from, to, mask) = (solver.node(), solver.node(), solver.node());
        solver.add(mask, 5);
        solver.filter(from, Filtered { to, filter: mask, open: false });
        solver.add(from, 5);
        solver.add(from, 6);
        run(&mut solver);
        assert_eq!(solver.held(to).iter().collect::<Vec<_>>(), [5]);
        // The unknown is anything that the filter holds, also later on.
        solver.add(from, OUTSIDE);
        run(&mut solver);
        solver.add(mask, 9);
        run(&mut solver);
        assert_eq!(solver.held(to).iter().collect::<Vec<_>>(), [5, 9]);
    }

    proptest! {
        /// Circles or not, every node holds what can flow to it.
        #[test]
        fn everything_that_can_flow_does(
            edges in proptest::collection::vec((0u32..20, 0u32..20), 0..80),
            starts in proptest::collection::vec((0u32..20, 1u32..50), 0..20),
            collapse_at in 0usize..80,
        ) {
            let mut solver = Solver::default();
            solver.nodes(20);
            for (i, &(from, to)) in edges.iter().enumerate() {
                solver.copy(from, to);
                if i == collapse_at {
                    run(&mut solver);
                    solver.collapse(&mut Vec::new());
                }
                if let Some(&(node, object)) = starts.get(i) {
                    solver.add(node, object);
                }
            }
            let added = &starts[..starts.len().min(edges.len())];
            run(&mut solver);
            for node in 0..20 {
                let mut expected: Vec<u32> = Vec::new();
                for &(start, object) in added {
                    let (mut seen, mut todo) = (vec![false; 20], vec![start]);
                    while let Some(next) = todo.pop() {
                        if !std::mem::replace(&mut seen[next as usize], true) {
                            todo.extend(edges.iter().filter(|e| e.0 == next).map(|e| e.1));
                        }
                    }
                    if seen[node as usize] {
                        expected.push(object);
                    }
                }
                expected.sort_unstable();
                expected.dedup();
                prop_assert_eq!(solver.held(node).iter().collect::<Vec<_>>(), expected);
            }
        }
    }
}
