//! What an analysis has found so far: methods that can run, and who calls whom.

use crate::graph::CallGraph;
use crate::ids::MethodId;

#[derive(Debug, Default)]
pub(crate) struct Reached {
    methods: Vec<bool>,
    /// Reached, and not looked at yet.
    todo: Vec<MethodId>,
    edges: Vec<(u32, u32)>,
    unreadable: Vec<MethodId>,
}

impl Reached {
    /// A method of `all` of them can run; whether that is new.
    pub(crate) fn reach(&mut self, method: MethodId, all: usize) -> bool {
        if self.methods.len() <= method as usize {
            self.methods.resize(all.max(method as usize + 1), false);
        }
        let is_new = !std::mem::replace(&mut self.methods[method as usize], true);
        if is_new {
            self.todo.push(method);
        }
        is_new
    }

    pub(crate) fn next(&mut self) -> Option<MethodId> {
        self.todo.pop()
    }

    /// From and to a method or a hub.
    pub(crate) fn edge(&mut self, from: u32, to: u32) {
        self.edges.push((from, to));
    }

    /// The code of this method could not be read.
    pub(crate) fn not_read(&mut self, method: MethodId) {
        self.unreadable.push(method);
    }

    /// The graph over `all` methods.
    pub(crate) fn into_graph(mut self, all: usize, hubs: usize) -> CallGraph {
        self.methods.resize(all, false);
        CallGraph::new(self.edges, self.methods, hubs as u32, self.unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_looked_at_once() {
        let mut reached = Reached::default();
        assert!(reached.reach(3, 2));
        assert!(!reached.reach(3, 9));
        assert!(reached.reach(1, 9));
        assert_eq!([reached.next(), reached.next(), reached.next()], [Some(1), Some(3), None]);
        let graph = reached.into_graph(9, 0);
        assert_eq!(graph.reached().collect::<Vec<_>>(), [1, 3]);
    }
}
