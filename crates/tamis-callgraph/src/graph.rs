//! The result: which method can call which.
//!
//! Besides methods there are *hubs*: all calls of one method on receivers of unknown origin go to one
//! hub, and the hub goes to every method that they can run. That says the same with far fewer edges; hubs
//! appear in no answer.

use crate::program::{MethodId, Program};
use rustc_hash::FxHashMap;

/// A method, or from [`CallGraph::hub`] on a hub.
pub(crate) type Node = u32;

/// Marks the number of a hub while the graph grows.
pub(crate) const HUB: u32 = 1 << 31;

#[derive(Debug, Clone, Default)]
pub struct CallGraph {
    /// Where the edges of each node start in `to`.
    starts: Vec<u32>,
    to: Vec<Node>,
    /// Number of methods; nodes from here on are hubs.
    methods: u32,
    reached: Vec<bool>,
    /// Methods whose code could not be understood. What they call is unknown.
    pub unreadable: Vec<MethodId>,
}

/// The same edges, turned around, from which the ways to some methods are found.
#[derive(Debug, Clone)]
pub struct Callers {
    /// The next step towards the nearest wanted method; the method itself where it is wanted.
    next: Vec<u32>,
    /// Number of methods of the graph; what follows in `next` are hubs.
    methods: u32,
}

const NOWHERE: u32 = u32::MAX;

impl CallGraph {
    pub(crate) fn new(
        mut edges: Vec<(u32, u32)>,
        reached: Vec<bool>,
        hubs: u32,
        unreadable: Vec<MethodId>,
    ) -> Self {
        let methods = reached.len() as u32;
        let node = |number: u32| {
            if number & HUB != 0 { methods + (number & !HUB) } else { number }
        };
        for edge in &mut edges {
            *edge = (node(edge.0), node(edge.1));
        }
        edges.sort_unstable();
        edges.dedup();
        let nodes = (methods + hubs) as usize;
        let mut starts = vec![0_u32; nodes + 1];
        for &(from, _) in &edges {
            starts[from as usize + 1] += 1;
        }
        for at in 0..nodes {
            starts[at + 1] += starts[at];
        }
        let to = edges.into_iter().map(|(_, to)| to).collect();
        Self { starts, to, methods, reached, unreadable }
    }

    fn targets(&self, node: Node) -> &[Node] {
        let (start, end) = (self.starts[node as usize], self.starts[node as usize + 1]);
        &self.to[start as usize..end as usize]
    }

    fn nodes(&self) -> u32 {
        self.starts.len().saturating_sub(1) as u32
    }

    /// Whether the analysis found a way to this method from the roots.
    pub fn is_reached(&self, method: MethodId) -> bool {
        self.reached.get(method as usize).copied().unwrap_or(false)
    }

    /// All methods that can run.
    pub fn reached(&self) -> impl Iterator<Item = MethodId> + '_ {
        (0..self.methods).filter(|&m| self.reached[m as usize])
    }

    /// The methods that a method can call directly.
    pub fn callees(&self, method: MethodId) -> Vec<MethodId> {
        let mut out = Vec::new();
        if method >= self.methods {
            return out;
        }
        for &to in self.targets(method) {
            if to < self.methods {
                out.push(to);
            } else {
                out.extend(self.targets(to).iter().filter(|&&t| t < self.methods));
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// All edges by name, for looking at: a hub has the name of its number (`hub 7`).
    pub fn named_edges(&self, program: &Program<'_>) -> Vec<(String, String)> {
        let name = |node: Node| match node.checked_sub(self.methods) {
            Some(hub) => format!("hub {hub}"),
            None => program.method_display(node),
        };
        let from =
            (0..self.nodes()).flat_map(|node| self.targets(node).iter().map(move |&to| (node, to)));
        from.map(|(node, to)| (name(node), name(to))).collect()
    }

    /// Number of edges between methods, hubs counted as one step.
    pub fn edge_count(&self) -> usize {
        self.to.len()
    }

    /// All methods that can run when these are called, they themselves included.
    pub fn reachable(&self, from: &[MethodId]) -> Vec<MethodId> {
        let mut seen = vec![false; self.nodes() as usize];
        let mut todo: Vec<Node> = from.iter().copied().filter(|&m| m < self.methods).collect();
        todo.iter().for_each(|&m| seen[m as usize] = true);
        while let Some(next) = todo.pop() {
            for &to in self.targets(next) {
                if !std::mem::replace(&mut seen[to as usize], true) {
                    todo.push(to);
                }
            }
        }
        (0..self.methods).filter(|&m| seen[m as usize]).collect()
    }

    /// Who can reach one of these methods, and on which way.
    pub fn callers(&self, wanted: &[MethodId]) -> Callers {
        let nodes = self.nodes() as usize;
        let mut starts = vec![0_u32; nodes + 1];
        for &to in &self.to {
            starts[to as usize + 1] += 1;
        }
        for at in 0..nodes {
            starts[at + 1] += starts[at];
        }
        let mut from = vec![0; self.to.len()];
        let mut place = starts.clone();
        for node in 0..nodes as u32 {
            for &to in self.targets(node) {
                from[place[to as usize] as usize] = node;
                place[to as usize] += 1;
            }
        }
        let mut next = vec![NOWHERE; nodes];
        let mut todo = std::collections::VecDeque::new();
        for &method in wanted {
            // A class that was read after the graph was made has methods that the graph does not know.
            if method < self.methods && next[method as usize] == NOWHERE {
                next[method as usize] = method;
                todo.push_back(method);
            }
        }
        while let Some(node) = todo.pop_front() {
            let (start, end) = (starts[node as usize], starts[node as usize + 1]);
            for &caller in &from[start as usize..end as usize] {
                if next[caller as usize] == NOWHERE {
                    next[caller as usize] = node;
                    todo.push_back(caller);
                }
            }
        }
        Callers { next, methods: self.methods }
    }

    /// The names of all methods that can run, sorted; methods made up for lambdas are left out.
    pub fn reached_names(&self, program: &Program<'_>) -> Vec<String> {
        let mut names: Vec<String> = self
            .reached()
            .filter(|&m| program.is_in_file(m))
            .map(|m| program.method_display(m))
            .collect();
        names.sort();
        names
    }

    /// How many methods of each class can run, for listings.
    pub fn reached_by_class(&self, program: &Program<'_>) -> FxHashMap<u32, u32> {
        let mut out = FxHashMap::default();
        for method in self.reached().filter(|&m| program.is_in_file(m)) {
            *out.entry(program.class_of_method(method)).or_insert(0) += 1;
        }
        out
    }
}

impl Callers {
    /// Whether a method can reach one that was asked for.
    pub fn contains(&self, method: MethodId) -> bool {
        method < self.methods && self.next[method as usize] != NOWHERE
    }

    /// A shortest way from a method to one that was asked for, both included.
    pub fn path(&self, from: MethodId, graph: &CallGraph) -> Vec<MethodId> {
        let mut path = Vec::new();
        let mut at = from;
        while let Some(&next) = self.next.get(at as usize) {
            if next == NOWHERE {
                break;
            }
            if at < graph.methods {
                path.push(at);
            }
            if next == at {
                break;
            }
            at = next;
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 -> hub 0 -> 1, 2; 2 -> 3; 4 is alone.
    fn small() -> CallGraph {
        let edges = vec![(0, HUB), (HUB, 2), (HUB, 1), (2, 3), (2, 3)];
        CallGraph::new(edges, vec![true; 5], 1, Vec::new())
    }

    #[test]
    fn hubs_are_not_seen() {
        let graph = small();
        assert_eq!(graph.callees(0), [1, 2]);
        assert_eq!(graph.reachable(&[0]), [0, 1, 2, 3]);
        assert_eq!(graph.reachable(&[4]), [4]);
        assert_eq!(graph.edge_count(), 4);
    }

    #[test]
    fn a_method_that_the_graph_does_not_know_is_no_hub() {
        let graph = small();
        assert!(!graph.callers(&[5]).contains(0) && !graph.callers(&[1]).contains(5));
        assert!(graph.reachable(&[5]).is_empty());
    }

    #[test]
    fn ways_to_a_method() {
        let graph = small();
        let callers = graph.callers(&[3]);
        assert_eq!(callers.path(0, &graph), [0, 2, 3]);
        assert_eq!(callers.path(3, &graph), [3]);
        assert!(!callers.contains(1) && !callers.contains(4));
        assert!(callers.path(4, &graph).is_empty());
    }
}
