//! Holds the source against the rules of the house; `scripts/check-house` calls it.
//!
//! | rule | in the baseline |
//! | --- | --- |
//! | no circle between the top-level modules of a crate | `circle CRATE` modules that are in one |
//! | no function over 100 lines, in tests neither | `function NAME` lines |
//! | no struct with more than 12 fields | `fields NAME` fields, with a reason where it only holds data |
//! | nothing prints but the binary's terminal and commands | `prints all` calls |
//! | the binary crate has at most 4,000 lines | `lines tamis` lines |
//!
//! `tamis-check ROOT` prints the graph of modules of each crate, and what is wrong; it ends with 1
//! where something is worse, or better, than `scripts/house-baseline.txt` says. `--write` writes
//! back what became better. Names are without their place, so that moving code changes nothing.

mod baseline;
mod circles;
mod imports;
mod measures;
mod tree;

use anyhow::{Context, Result};
use baseline::{Baseline, Numbers};
use measures::Found;
use std::path::{Path, PathBuf};

const FUNCTION_LINES: usize = 100;
const FIELDS: usize = 12;
const BINARY: &str = "tamis";
const BINARY_LINES: usize = 4_000;

/// Crates for developers: they print, and run only when a developer calls them.
const FOR_DEVELOPERS: [&str; 2] = ["tamis-check", "tamis-testkit"];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let write = words.iter().any(|word| word == "--write");
    let root = words.iter().find(|word| !word.starts_with('-')).map_or(".", String::as_str);
    let root = Path::new(root);
    let file = root.join("scripts/house-baseline.txt");
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let baseline = Baseline::parse(&text)?;
    let now = look(root)?;
    if write {
        std::fs::write(&file, baseline.improved(&now))?;
        std::process::exit(i32::from(report("worse than it may be", &baseline.worse(&now))));
    }
    let worse = report("worse than it may be", &baseline.worse(&now));
    let better = report(
        "better than scripts/house-baseline.txt says; `scripts/check-house --write` writes it back",
        &baseline.better(&now),
    );
    std::process::exit(i32::from(worse || better));
}

/// Prints a list with its head; whether there was anything in it.
fn report(head: &str, lines: &[String]) -> bool {
    if !lines.is_empty() {
        println!("{head}:");
        lines.iter().for_each(|line| println!("  {line}"));
    }
    !lines.is_empty()
}

/// Everything that is counted; prints the graphs and the places on the way.
fn look(root: &Path) -> Result<Numbers> {
    let mut numbers = Numbers::new();
    for folder in crates(root)? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let modules = tree::modules(&folder).with_context(|| name.clone())?;
        let graph = imports::graph(&modules);
        let circles = circles::circles(&graph);
        print_graph(&name, &graph, &circles);
        add(&mut numbers, "circle", &name, circles.len());
        note(&mut numbers, "fields", &measures::large_structs(&modules, FIELDS));
        if !FOR_DEVELOPERS.contains(&name.as_str()) {
            for found in measures::prints(&modules).iter().filter(|found| !may_print(&found.file)) {
                println!("  prints: {} times in {}", found.count, found.file.display());
                add(&mut numbers, "prints", "all", found.count);
            }
        }
        if name == BINARY {
            let lines = measures::lines(&measures::rust_files(&folder.join("src")))?;
            let over = if lines > BINARY_LINES { lines } else { 0 };
            add(&mut numbers, "lines", &name, over);
        }
        let files = measures::rust_files(&folder);
        note(&mut numbers, "function", &measures::long_functions(&files, FUNCTION_LINES)?);
    }
    Ok(numbers)
}

/// The folders of all crates, sorted.
fn crates(root: &Path) -> Result<Vec<PathBuf>> {
    let folder = root.join("crates");
    let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    all.retain(|path| path.join("Cargo.toml").is_file());
    all.sort();
    Ok(all)
}

/// The binary's terminal and its commands.
fn may_print(file: &Path) -> bool {
    let text = file.to_string_lossy();
    ["terminal", "commands"]
        .iter()
        .any(|part| text.contains(&format!("crates/{BINARY}/src/{part}")))
}

fn add(numbers: &mut Numbers, rule: &str, name: &str, count: usize) {
    if count > 0 {
        *numbers.entry((rule.to_owned(), name.to_owned())).or_default() += count;
    }
}

/// The largest of one name counts.
fn note(numbers: &mut Numbers, rule: &str, all: &[Found]) {
    for found in all {
        println!("  {rule}: {} {} in {}", found.name, found.count, found.file.display());
        let most = numbers.entry((rule.to_owned(), found.name.clone())).or_default();
        *most = found.count.max(*most);
    }
}

fn print_graph(
    name: &str,
    graph: &imports::Graph,
    circles: &std::collections::BTreeMap<String, Vec<String>>,
) {
    println!("{name}");
    for (module, uses) in graph {
        let uses: Vec<&str> = uses.iter().map(String::as_str).collect();
        println!("  {module} -> {}", uses.join(", "));
    }
    for (module, way) in circles {
        println!("  circle: {module} by {}", way.join(" -> "));
    }
}
