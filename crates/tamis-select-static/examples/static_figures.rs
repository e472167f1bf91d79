//! Times for the figures of bench/static: one figure per call, in milliseconds, best of the runs
//! that were asked for. `cargo run --release -p tamis-select-static --example static_figures -- graph DIR 5`.

use std::path::{Path, PathBuf};
use std::time::Instant;
use tamis_classpath::Caches;
use tamis_select_static::graph::{Edge, EdgeKind, Graph};
use tamis_select_static::{EdgeKinds, Libraries, Session, StaticSettings, TestModule};

fn best(runs: usize, mut work: impl FnMut() -> String) {
    let mut times = Vec::new();
    let mut result = String::new();
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        result = work();
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "best {:.2} ms, median {:.2} ms of {}: {result}",
        times[0],
        times[times.len() / 2],
        times.len()
    );
}

/// Reads, fingerprints and graphs all classes of a folder, without any cache.
fn graph(folder: &Path, runs: usize) {
    let settings = StaticSettings {
        root: folder.into(),
        state: PathBuf::from("/nonexistent"),
        caches: Caches::none(),
        kinds: EdgeKinds::ALL,
        libraries: Libraries::Auto,
        offline: false,
        watched: tamis_core::Hash(0),
    };
    let module =
        TestModule { name: ".".into(), classes: vec![folder.into()], ..TestModule::default() };
    best(runs, || {
        let session = Session::open(&module, &settings);
        let graph = session.graph([]);
        format!(
            "{} files, {} nodes, {} edges",
            session.definitions.files_read,
            session.definitions.nodes().count(),
            graph.graph.edges()
        )
    });
}

/// A random graph with a heavy head, as type graphs have, and the closure of all tests at once.
fn closure(nodes: u32, edges: usize, tests: u32, runs: usize) {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: u32| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as u32 % below
    };
    let mut list = Vec::with_capacity(edges);
    while list.len() < edges {
        let from = random(nodes);
        let to = if random(4) == 0 { random(200) } else { random(nodes) };
        if from != to {
            list.push(Edge { from, to, kind: EdgeKind::Uses });
        }
    }
    list.sort_unstable();
    list.dedup();
    let graph = Graph::new(nodes as usize, &list);
    let roots: Vec<u32> = (0..tests).map(|_| random(nodes)).collect();
    best(runs, || {
        let reached = graph.reached_by(&roots);
        let pairs: usize = (0..nodes).map(|n| reached.roots(n).count()).sum();
        format!("{} nodes, {} edges, {tests} tests, {pairs} pairs", graph.nodes(), graph.edges())
    });
    let changed = random(nodes);
    best(runs, || {
        format!("firewall of one change: {} nodes", graph.firewall([changed]).members.len())
    });
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runs = arguments.last().and_then(|r| r.parse().ok()).unwrap_or(5);
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["graph", folder, _] => graph(Path::new(folder), runs),
        ["closure", _] => closure(41_960, 509_946, 110, runs),
        _ => eprintln!("usage: static_figures graph FOLDER RUNS | closure RUNS"),
    }
}
