//! Measures answers from a warm stat cache, of the files alone and of a million entries, beside
//! plain `lstat` of the same paths. Makes its files in a temporary folder, or in the one that is given, where a second run
//! finds them again.
//!
//! `cargo run --release -p tamis-fs --example warm [FOLDER]`

use rayon::prelude::*;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tamis_core::Scheme;
use tamis_fs::{Fingerprinter, Options, identity};

const FOLDERS: usize = 500;
const FILES_PER_FOLDER: usize = 100;
/// Ways to write one path, each with its own entry: 50,000 files make a million entries.
const SPELLINGS: usize = 20;
/// A cache of nothing but the files, and one of a million entries.
const OWN: &str = "own";
const SHARED: &str = "shared";
const ROUNDS: usize = 15;

type Questions = Vec<(PathBuf, Scheme)>;

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [folder] => {
            let folder = Path::new(folder);
            if !folder.join("cache/shared").exists() {
                prepare(folder);
            }
            measure(folder);
        }
        [folder, count, cache] => {
            let count = count.to_str().and_then(|c| c.parse().ok()).expect("a number of files");
            one_process(Path::new(folder), count, cache.to_str().expect("a name"));
        }
        _ => {
            let folder = tempfile::tempdir().expect("a temporary folder");
            prepare(folder.path());
            measure(folder.path());
        }
    }
}

fn prepare(folder: &Path) {
    make_files(folder);
    // What changed less than two seconds ago is not remembered.
    std::thread::sleep(Duration::from_millis(2200));
    fill_cache(folder);
}

fn measure(folder: &Path) {
    let files = questions(folder, 0);
    let own = Fingerprinter::new(options(folder, OWN));
    let shared = Fingerprinter::new(options(folder, SHARED));
    let lstat = median(|| {
        files.par_iter().with_min_len(128).for_each(|(path, _)| {
            identity(path).expect("a file that was just made");
        });
    });
    let of_own = median(|| {
        own.answer_many(&files);
    });
    let of_shared = median(|| {
        shared.answer_many(&files);
    });
    for (what, (wall, cpu)) in [
        ("lstat of 50000", lstat),
        ("answer_many of 50000, cache of 50000", of_own),
        ("answer_many of 50000, cache of 1000000", of_shared),
    ] {
        let ratio = cpu.as_secs_f64() / lstat.1.as_secs_f64();
        println!("{what:<40} {wall:>10.2?} wall {cpu:>10.2?} cpu ({ratio:.2} x lstat)");
    }
    for (count, cache) in [(1_000, OWN), (1_000, SHARED), (50_000, OWN), (50_000, SHARED)] {
        in_new_processes(folder, count, cache);
    }
}

/// A process of its own for each measurement: opening the cache and starting threads included.
fn in_new_processes(folder: &Path, count: usize, cache: &str) {
    let program = std::env::current_exe().expect("our own program");
    let mut times: Vec<[f64; 2]> = (0..ROUNDS)
        .map(|_| {
            let output =
                Command::new(&program).arg(folder).arg(count.to_string()).arg(cache).output();
            let output = output.expect("our own program runs").stdout;
            let output = String::from_utf8_lossy(&output);
            let mut times = output.split_whitespace().filter_map(|word| word.parse().ok());
            [(); 2].map(|()| times.next().expect("two times in milliseconds"))
        })
        .collect();
    let mut median = |i: usize| {
        times.sort_by(|a, b| a[i].total_cmp(&b[i]));
        times[ROUNDS / 2][i]
    };
    let (wall, cpu) = (median(0), median(1));
    println!("new process, {cache} cache, {count} files: {wall:.2} ms wall {cpu:.2} ms cpu");
}

fn one_process(folder: &Path, count: usize, cache: &str) {
    let mut files = questions(folder, 0);
    files.truncate(count);
    let (start, cpu) = (Instant::now(), processor_time());
    Fingerprinter::new(options(folder, cache)).answer_many(&files);
    let (wall, cpu) = (start.elapsed(), processor_time() - cpu);
    println!("{:.3} {:.3}", wall.as_secs_f64() * 1e3, cpu.as_secs_f64() * 1e3);
}

fn options(folder: &Path, cache: &str) -> Options {
    Options { cache_file: Some(folder.join("cache").join(cache)), ..Options::default() }
}

fn questions(folder: &Path, spelling: usize) -> Questions {
    let detour = "./".repeat(spelling);
    (0..FOLDERS * FILES_PER_FOLDER)
        .map(|i| {
            let (folder_number, file) = (i % FOLDERS, i / FOLDERS);
            let name = format!("{detour}src/module{folder_number}/File{file}.java");
            (folder.join(name), Scheme::Raw)
        })
        .collect()
}

fn make_files(folder: &Path) {
    for i in 0..FOLDERS {
        fs::create_dir_all(folder.join(format!("src/module{i}"))).expect("a folder");
    }
    for (i, (path, _)) in questions(folder, 0).iter().enumerate() {
        fs::write(path, format!("class File{i} {{}}\n").repeat(50)).expect("a file");
    }
}

fn fill_cache(folder: &Path) {
    let own = Fingerprinter::new(options(folder, OWN));
    let start = Instant::now();
    own.answer_many(&questions(folder, 0));
    println!("first reading of 50000 files     {:>10.2?}", start.elapsed());
    let start = Instant::now();
    own.flush().expect("a folder that can be written");
    println!("flush of 50000 entries           {:>10.2?}", start.elapsed());
    let fingerprinter = Fingerprinter::new(options(folder, SHARED));
    for spelling in 0..SPELLINGS {
        fingerprinter.answer_many(&questions(folder, spelling));
    }
    let start = Instant::now();
    fingerprinter.flush().expect("a folder that can be written");
    let size = fs::metadata(folder.join("cache/shared")).expect("the cache file").len();
    println!("flush of {} entries         {:>10.2?}", SPELLINGS * 50_000, start.elapsed());
    println!("cache file of {} entries   {:>7.1} MB", SPELLINGS * 50_000, size as f64 / 1e6);
}

/// Wall and processor time; the median of each.
fn median(mut work: impl FnMut()) -> (Duration, Duration) {
    let (mut walls, mut cpus) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (start, cpu) = (Instant::now(), processor_time());
        work();
        walls.push(start.elapsed());
        cpus.push(processor_time() - cpu);
    }
    walls.sort_unstable();
    cpus.sort_unstable();
    (walls[ROUNDS / 2], cpus[ROUNDS / 2])
}

/// Of all threads of this process.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the call to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
