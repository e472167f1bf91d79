//! Circles in a graph of modules.

use crate::imports::Graph;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The modules that are in a circle, each with a shortest way back to itself.
pub(crate) fn circles(graph: &Graph) -> BTreeMap<String, Vec<String>> {
    graph.keys().filter_map(|start| Some((start.clone(), way_back(graph, start)?))).collect()
}

/// Breadth first: graphs of modules are small.
fn way_back(graph: &Graph, start: &str) -> Option<Vec<String>> {
    let mut ways: VecDeque<Vec<String>> = VecDeque::from([vec![start.to_owned()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in graph.get(way.last()?).into_iter().flatten() {
            let longer = [way.as_slice(), std::slice::from_ref(next)].concat();
            if next == start {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                ways.push_back(longer);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(lines: &[(&str, &str)]) -> Graph {
        let uses = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        lines.iter().map(|(name, text)| ((*name).to_owned(), uses(text))).collect()
    }

    #[test]
    fn every_module_of_a_circle_is_named_with_a_shortest_way() {
        let found = circles(&graph(&[("a", "b c"), ("b", "c"), ("c", "a d"), ("d", "")]));
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(found["a"].join(" "), "a c a");
        assert_eq!(found["b"].join(" "), "b c a b");
    }

    #[test]
    fn a_diamond_is_no_circle() {
        assert!(circles(&graph(&[("a", "b c"), ("b", "d"), ("c", "d"), ("d", "")])).is_empty());
    }
}
