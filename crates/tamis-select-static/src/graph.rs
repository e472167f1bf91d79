//! Directed graphs in compressed rows, and the reachability questions of selection.
//!
//! An edge goes from a type to what it depends on. The firewall of some changed nodes is all that
//! can reach them: a breadth-first walk over the reversed edges, which also gives the shortest way
//! back for explanations. For "which tests reach each type" all tests are walked at once: strongly
//! connected nodes are joined and bit sets of tests flow along the remaining, circle-free edges.

/// Why one type depends on another. Smaller numbers explain better and win among parallel edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum EdgeKind {
    Inherits,
    Uses,
    /// A constant of the other class was copied by the compiler.
    Inlined,
    /// A string is exactly the other class's name.
    NamedInString,
    /// The class asks for classes by name, and one of its strings is part of the other's name.
    NameParts,
    /// A provider in `META-INF/services` or a module descriptor.
    Service,
    /// A string names the file.
    Resource,
    /// Annotations of the package.
    Package,
    /// Seen by everything that runs: a module descriptor, a resource that no class names.
    Everywhere,
}

impl EdgeKind {
    pub const ALL: [EdgeKind; 9] = [
        Self::Inherits,
        Self::Uses,
        Self::Inlined,
        Self::NamedInString,
        Self::NameParts,
        Self::Service,
        Self::Resource,
        Self::Package,
        Self::Everywhere,
    ];

    /// The name in settings and in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inherits => "inherits",
            Self::Uses => "uses",
            Self::Inlined => "inlined",
            Self::NamedInString => "string",
            Self::NameParts => "name-parts",
            Self::Service => "service",
            Self::Resource => "resource",
            Self::Package => "package",
            Self::Everywhere => "everywhere",
        }
    }

    fn from_byte(byte: u8) -> Self {
        Self::ALL.get(usize::from(byte)).copied().unwrap_or(Self::Everywhere)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    pub kind: EdgeKind,
}

/// A graph whose edges are stored row by row.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    starts: Vec<u32>,
    targets: Vec<u32>,
    kinds: Vec<u8>,
}

const NONE: u32 = u32::MAX;

impl Graph {
    /// Builds a graph of `nodes` nodes; edges to themselves and parallel edges are dropped.
    pub fn new(nodes: usize, edges: &[Edge]) -> Self {
        Self::from_parts(nodes, &[edges])
    }

    /// As [`Graph::new`], from several lists.
    pub fn from_parts<E: AsRef<[Edge]>>(nodes: usize, parts: &[E]) -> Self {
        let edges = || parts.iter().flat_map(AsRef::as_ref);
        let mut starts = vec![0_u32; nodes + 1];
        for edge in edges() {
            starts[edge.from as usize + 1] += 1;
        }
        for i in 0..nodes {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        // Target and kind in one number, so that a row is sorted fast.
        let mut rows = vec![0_u64; starts[nodes] as usize];
        for edge in edges() {
            let place = &mut next[edge.from as usize];
            rows[*place as usize] = u64::from(edge.to) << 8 | edge.kind as u64;
            *place += 1;
        }
        let mut graph = Self {
            starts: Vec::with_capacity(nodes + 1),
            targets: Vec::with_capacity(rows.len()),
            kinds: Vec::with_capacity(rows.len()),
        };
        graph.starts.push(0);
        for node in 0..nodes {
            let row = &mut rows[starts[node] as usize..starts[node + 1] as usize];
            row.sort_unstable();
            let mut last = node as u32;
            for &edge in row.iter() {
                let to = (edge >> 8) as u32;
                if to != last && to != node as u32 {
                    graph.targets.push(to);
                    graph.kinds.push(edge as u8);
                    last = to;
                }
            }
            graph.starts.push(graph.targets.len() as u32);
        }
        graph
    }

    pub fn nodes(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub fn edges(&self) -> usize {
        self.targets.len()
    }

    fn row(&self, node: u32) -> std::ops::Range<usize> {
        self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize
    }

    /// What a node depends on.
    pub fn targets(&self, node: u32) -> impl Iterator<Item = (u32, EdgeKind)> + '_ {
        self.row(node).map(|i| (self.targets[i], EdgeKind::from_byte(self.kinds[i])))
    }

    pub fn kind(&self, from: u32, to: u32) -> Option<EdgeKind> {
        let row = self.row(from);
        let place = self.targets[row.clone()].binary_search(&to).ok()?;
        Some(EdgeKind::from_byte(self.kinds[row.start + place]))
    }

    /// The same edges the other way round, without kinds.
    fn reversed(&self) -> (Vec<u32>, Vec<u32>) {
        let nodes = self.nodes();
        let mut starts = vec![0_u32; nodes + 1];
        for &to in &self.targets {
            starts[to as usize + 1] += 1;
        }
        for i in 0..nodes {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut sources = vec![0_u32; self.targets.len()];
        for node in 0..nodes as u32 {
            for i in self.row(node) {
                let place = &mut next[self.targets[i] as usize];
                sources[*place as usize] = node;
                *place += 1;
            }
        }
        (starts, sources)
    }

    /// Everything that can reach one of `changed`, with the shortest way there.
    pub fn firewall(&self, changed: impl IntoIterator<Item = u32>) -> Firewall {
        let (starts, sources) = self.reversed();
        let mut toward = vec![NONE; self.nodes()];
        let mut queue = Vec::new();
        for node in changed {
            if toward[node as usize] == NONE {
                toward[node as usize] = node;
                queue.push(node);
            }
        }
        let mut at = 0;
        while let Some(&node) = queue.get(at) {
            at += 1;
            let row = starts[node as usize] as usize..starts[node as usize + 1] as usize;
            for &source in &sources[row] {
                if toward[source as usize] == NONE {
                    toward[source as usize] = node;
                    queue.push(source);
                }
            }
        }
        Firewall { toward, members: queue }
    }

    /// For every node the set of `roots` that reach it (a root reaches itself).
    pub fn reached_by(&self, roots: &[u32]) -> Reached {
        let (component, count) = self.components();
        let words = roots.len().div_ceil(64).max(1);
        let mut sets = vec![0_u64; count * words];
        for (i, &root) in roots.iter().enumerate() {
            sets[component[root as usize] as usize * words + i / 64] |= 1 << (i % 64);
        }
        // Components are numbered so that edges go from higher to lower numbers.
        let mut order: Vec<u32> = (0..self.nodes() as u32).collect();
        let mut starts = vec![0_u32; count + 1];
        for &c in &component {
            starts[c as usize + 1] += 1;
        }
        for i in 0..count {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        for node in 0..self.nodes() as u32 {
            let place = &mut next[component[node as usize] as usize];
            order[*place as usize] = node;
            *place += 1;
        }
        for c in (0..count).rev() {
            let (below, own) = sets.split_at_mut(c * words);
            let own = &own[..words];
            if own.iter().all(|&w| w == 0) {
                continue;
            }
            for &node in &order[starts[c] as usize..starts[c + 1] as usize] {
                for i in self.row(node) {
                    let to = component[self.targets[i] as usize] as usize;
                    if to < c {
                        for (target, &word) in below[to * words..].iter_mut().zip(own) {
                            *target |= word;
                        }
                    }
                }
            }
        }
        Reached { component, words, sets }
    }

    /// Strongly connected components (Tarjan, without recursion). A component gets its number after
    /// all that it reaches.
    fn components(&self) -> (Vec<u32>, usize) {
        let nodes = self.nodes();
        let mut component = vec![NONE; nodes];
        let mut number = vec![NONE; nodes];
        let mut low = vec![0_u32; nodes];
        let mut stack = Vec::new();
        let mut calls: Vec<(u32, u32)> = Vec::new();
        let (mut counter, mut count) = (0_u32, 0_u32);
        for start in 0..nodes as u32 {
            if number[start as usize] != NONE {
                continue;
            }
            calls.push((start, self.starts[start as usize]));
            while let Some((node, edge)) = calls.pop() {
                let n = node as usize;
                if number[n] == NONE {
                    number[n] = counter;
                    low[n] = counter;
                    counter += 1;
                    stack.push(node);
                }
                let mut edge = edge;
                let end = self.starts[n + 1];
                let mut deeper = false;
                while edge < end {
                    let to = self.targets[edge as usize] as usize;
                    edge += 1;
                    if number[to] == NONE {
                        // Comes back to this very edge, to take over what was found below.
                        calls.push((node, edge - 1));
                        calls.push((to as u32, self.starts[to]));
                        deeper = true;
                        break;
                    }
                    if component[to] == NONE {
                        low[n] = low[n].min(low[to]);
                    }
                }
                if deeper {
                    continue;
                }
                if low[n] == number[n] {
                    while let Some(member) = stack.pop() {
                        component[member as usize] = count;
                        if member == node {
                            break;
                        }
                    }
                    count += 1;
                }
            }
        }
        (component, count as usize)
    }
}

/// The nodes that can reach a change.
#[derive(Debug, Clone)]
pub struct Firewall {
    /// The next node on the shortest way to a change; itself where it changed.
    toward: Vec<u32>,
    /// Members, changed ones first, then by distance.
    pub members: Vec<u32>,
}

impl Firewall {
    pub fn contains(&self, node: u32) -> bool {
        self.toward.get(node as usize).is_some_and(|&t| t != NONE)
    }

    /// From a member to the change, both included.
    pub fn path(&self, from: u32) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = from;
        while let Some(&next) = self.toward.get(at as usize)
            && next != NONE
        {
            path.push(at);
            if next == at {
                break;
            }
            at = next;
        }
        path
    }
}

/// Which roots reach which nodes.
#[derive(Debug, Clone)]
pub struct Reached {
    component: Vec<u32>,
    words: usize,
    sets: Vec<u64>,
}

impl Reached {
    fn set(&self, node: u32) -> &[u64] {
        let start = self.component[node as usize] as usize * self.words;
        &self.sets[start..start + self.words]
    }

    /// The positions of the roots that reach a node.
    pub fn roots(&self, node: u32) -> impl Iterator<Item = usize> + '_ {
        self.set(node).iter().enumerate().flat_map(|(w, &word)| {
            (0..64).filter(move |b| word >> b & 1 == 1).map(move |b| w * 64 + b)
        })
    }

    pub fn is_reached(&self, node: u32) -> bool {
        self.set(node).iter().any(|&w| w != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graph(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        let edges: Vec<Edge> =
            edges.iter().map(|&(from, to)| Edge { from, to, kind: EdgeKind::Uses }).collect();
        Graph::new(nodes, &edges)
    }

    #[test]
    fn the_strongest_of_parallel_edges_stays() {
        let edges = [
            Edge { from: 0, to: 1, kind: EdgeKind::NamedInString },
            Edge { from: 0, to: 1, kind: EdgeKind::Inherits },
            Edge { from: 0, to: 0, kind: EdgeKind::Uses },
        ];
        let graph = Graph::new(2, &edges);
        assert_eq!(graph.edges(), 1);
        assert_eq!(graph.kind(0, 1), Some(EdgeKind::Inherits));
        assert_eq!(graph.kind(1, 0), None);
    }

    #[test]
    fn paths_are_the_shortest() {
        let firewall = graph(5, &[(0, 1), (1, 2), (2, 3), (0, 2), (4, 4)]).firewall([3]);
        assert_eq!(firewall.path(0), [0, 2, 3]);
        assert_eq!(firewall.path(3), [3]);
        assert!(firewall.path(4).is_empty());
        assert!(!firewall.contains(4));
    }

    fn reaches(nodes: usize, edges: &[(u32, u32)], from: u32) -> Vec<bool> {
        let mut seen = vec![false; nodes];
        let mut todo = vec![from];
        while let Some(node) = todo.pop() {
            if !std::mem::replace(&mut seen[node as usize], true) {
                todo.extend(edges.iter().filter(|e| e.0 == node).map(|e| e.1));
            }
        }
        seen
    }

    proptest! {
        #[test]
        fn both_ways_of_reaching_agree_with_a_plain_search(
            edges in prop::collection::vec((0_u32..24, 0_u32..24), 0..70),
            roots in prop::collection::vec(0_u32..24, 0..70),
        ) {
            let graph = graph(24, &edges);
            let reached = graph.reached_by(&roots);
            for node in 0..24 {
                let firewall = graph.firewall([node]);
                let by: Vec<usize> = reached.roots(node).collect();
                let expected: Vec<usize> = (0..roots.len())
                    .filter(|&i| reaches(24, &edges, roots[i])[node as usize])
                    .collect();
                prop_assert_eq!(&by, &expected);
                for other in 0..24 {
                    let there = reaches(24, &edges, other)[node as usize];
                    prop_assert_eq!(firewall.contains(other), there);
                    let path = firewall.path(other);
                    prop_assert_eq!(path.is_empty(), !there);
                    prop_assert!(path.windows(2).all(|w| edges.contains(&(w[0], w[1]))));
                }
            }
        }
    }
}
