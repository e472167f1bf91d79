//! Gradle: the projects of a build and how they use each other, as Gradle itself reports them.
//!
//! Build scripts are programs, so Gradle is asked: an init script writes down projects, folders, tasks and
//! project dependencies after all projects are configured. That takes seconds, so the answer is kept, under
//! a key made of everything in the build that looks like build logic ([`fingerprint`]).
//!
//! Definitions are not judged: a change of a build script concerns its project and those below it, a change
//! of settings, properties or the wrapper concerns all. `buildSrc` and included builds are modules that all
//! projects are built with. What is not seen: build logic that decides by anything else than these files
//! (variables of the environment, the machine, files of other kinds).

use crate::BuildError;
use crate::files::Files;
use crate::model::{BuildTool, EdgeKind, Graph, Module, folder_of, join};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What Gradle runs besides the user's own scripts.
const INIT: &str = include_str!("gradle/init.gradle");

const SETTINGS: [&str; 2] = ["settings.gradle", "settings.gradle.kts"];

/// Files in the root folder that concern all projects.
const GLOBAL: &[&str] = &[
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "gradle/libs.versions.toml",
    "gradle/wrapper/gradle-wrapper.jar",
    "gradle/wrapper/gradle-wrapper.properties",
    "gradlew",
];

/// The module that stands for build logic in the build itself.
const BUILD_LOGIC: &str = "buildSrc";

/// The settings file of the build that a folder belongs to; without one, the nearest build script.
pub fn root_of(files: &dyn Files, folder: &str) -> Option<String> {
    let above = || std::iter::successors(Some(folder), |f| (*f != ".").then(|| folder_of(f)));
    let found = |names: [&str; 2]| {
        above()
            .find_map(|f| names.iter().filter_map(|n| join(f, n)).find(|path| files.is_file(path)))
    };
    found(SETTINGS).or_else(|| found(["build.gradle", "build.gradle.kts"]))
}

/// The projects of the build; `program` is the Gradle that the user calls, if any.
pub fn read(
    files: &dyn Files,
    top: &Path,
    root: &str,
    program: Option<&Path>,
    cache: Option<&Path>,
) -> Result<Graph, BuildError> {
    let folder = folder_of(root);
    let program = program.map_or_else(|| find_program(files, top, folder), Path::to_path_buf);
    let kept = cache
        .map(|cache| cache.join(format!("{:016x}", fingerprint(files, top, folder, &program))));
    let known = kept.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
    let answer = match known.filter(|answer| answer.ends_with(END)) {
        Some(known) => known,
        None => {
            let answer = ask(&top.join(folder), &program)?;
            if let Some(file) = &kept {
                // Without it the next call asks again.
                let _ = tamis_private::write(file, answer.as_bytes());
            }
            answer
        }
    };
    graph(&answer, files, top, folder)
}

/// The last line of an answer: what has none was cut off.
const END: &str = "end\n";

/// The build's own wrapper, else the one that is installed.
fn find_program(files: &dyn Files, top: &Path, folder: &str) -> PathBuf {
    match join(folder, "gradlew").filter(|path| files.is_file(path)) {
        Some(wrapper) => top.join(wrapper),
        None => PathBuf::from("gradle"),
    }
}

/// A number that changes with the build logic: scripts, settings, properties, version lists, the files
/// of `buildSrc` and `gradle`, and the folders of the upper levels, by which settings may choose projects.
pub fn fingerprint(files: &dyn Files, top: &Path, folder: &str, program: &Path) -> u64 {
    let mut parts: Vec<Vec<u8>> = vec![INIT.as_bytes().to_vec()];
    parts.push(program.as_os_str().as_encoded_bytes().to_vec());
    parts.push(top.as_os_str().as_encoded_bytes().to_vec());
    for name in ["JAVA_HOME", "GRADLE_OPTS", "GRADLE_USER_HOME"] {
        parts.push(std::env::var_os(name).unwrap_or_default().into_encoded_bytes());
    }
    let mut open = vec![(folder.to_owned(), 0_usize, false)];
    while let Some((here, depth, logic)) = open.pop() {
        for name in files.folders(&here) {
            // Outputs and what is not the project's own.
            if name.starts_with('.') || matches!(name.as_str(), "build" | "node_modules" | "out") {
                continue;
            }
            let Some(path) = join(&here, &name) else { continue };
            if depth < FOLDERS_THAT_COUNT {
                parts.push(path.clone().into_bytes());
            }
            // Sources hold no build logic, unless they are those of build logic.
            let logic = logic || (here == folder && matches!(name.as_str(), "buildSrc" | "gradle"));
            if logic || name != "src" {
                open.push((path, depth + 1, logic));
            }
        }
        for file in files.files(&here) {
            let name = file.rsplit('/').next().unwrap_or(&file);
            let counts = logic
                || name.ends_with(".gradle")
                || name.ends_with(".gradle.kts")
                || matches!(name, "gradle.properties" | "libs.versions.toml" | "gradlew");
            if counts {
                parts.push(files.read(&file).unwrap_or_default());
                parts.push(file.into_bytes());
            }
        }
    }
    hash(&parts)
}

/// Levels of folders below the root by whose names settings may choose projects.
const FOLDERS_THAT_COUNT: usize = 3;

/// FNV-1a over the parts with their lengths.
fn hash(parts: &[Vec<u8>]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    for part in parts {
        part.len().to_le_bytes().into_iter().chain(part.iter().copied()).for_each(&mut add);
    }
    hash
}

/// Asks Gradle.
fn ask(folder: &Path, program: &Path) -> Result<String, BuildError> {
    let failed =
        |what: String| BuildError(format!("Gradle could not be asked for its projects: {what}"));
    let place =
        tamis_private::TempFolder::new().map_err(|e| failed(format!("no temp folder: {e}")))?;
    let (script, answer) = (place.path().join("init.gradle"), place.path().join("answer"));
    let output = std::fs::write(&script, INIT).and_then(|()| {
        let mut property = std::ffi::OsString::from("-Dtamis.modules.answer=");
        property.push(&answer);
        Command::new(program)
            .args(["-q", "--no-daemon", "--offline", "-Dorg.gradle.configureondemand=false", "-I"])
            .arg(&script)
            .arg(property)
            .arg("help")
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
    });
    let text = std::fs::read_to_string(&answer).unwrap_or_default();
    let output = output.map_err(|e| {
        failed(format!(
            "{} cannot be started ({e}); install it, or add a wrapper",
            program.display()
        ))
    })?;
    if !output.status.success() || !text.ends_with(END) {
        let why = String::from_utf8_lossy(&output.stderr);
        let first = why.lines().map(str::trim).filter(|l| !l.is_empty()).take(4);
        let why = first.collect::<Vec<_>>().join(" ");
        return Err(failed(format!("{} ({})", why, output.status)));
    }
    Ok(text)
}

/// What Gradle wrote, as a graph.
fn graph(answer: &str, files: &dyn Files, top: &Path, folder: &str) -> Result<Graph, BuildError> {
    let mut graph = Graph::new(BuildTool::Gradle);
    let place = |path: &str| -> Option<String> {
        join(".", Path::new(path).strip_prefix(top).ok()?.to_str()?)
    };
    let lines: Vec<Vec<&str>> = answer.lines().map(|line| line.split('\t').collect()).collect();
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for line in &lines {
        match line[..] {
            ["project", path, dir, script] => {
                let Some(folder) = place(dir) else {
                    graph.notes.push(format!("{path} is in {dir}, outside of the repository"));
                    continue;
                };
                numbers.insert(path, graph.modules.len());
                graph.modules.push(Module {
                    name: path.to_owned(),
                    definition: place(script).unwrap_or_default(),
                    packaging: "project".into(),
                    folder,
                    ..Module::default()
                });
            }
            ["included", name, dir] => match place(dir) {
                Some(folder) => add_logic(&mut graph, name, folder),
                None => graph.notes.push(format!(
                    "the included build {name} is outside of the repository; its changes are not seen"
                )),
            },
            _ => {}
        }
    }
    if graph.modules.is_empty() {
        return Err(BuildError("Gradle named no project in this repository".into()));
    }
    if let Some(logic) = join(folder, BUILD_LOGIC).filter(|path| files.is_folder(path)) {
        add_logic(&mut graph, BUILD_LOGIC, logic);
    }
    for line in &lines {
        match line[..] {
            ["tasks", path, names] => {
                if let Some(&n) = numbers.get(path) {
                    graph.modules[n].tasks = names.split(' ').map(str::to_owned).collect();
                }
            }
            ["uses", from, configuration, to, target] => {
                if let (Some(&from), Some(&to)) = (numbers.get(from), numbers.get(to)) {
                    graph.add_edge(from, to, edge_kind(configuration, target));
                }
            }
            ["sources", path, set, dir] => {
                if let (Some(&n), Some(dir)) = (numbers.get(path), place(dir)) {
                    let module = &mut graph.modules[n];
                    module.resource_folders.push(dir.clone());
                    if set == "test" {
                        module.test_folders.push(dir);
                    }
                }
            }
            _ => {}
        }
    }
    for module in &mut graph.modules {
        // A folder that is also compiled or packed is not for tests alone.
        let all = &module.resource_folders;
        let only = |f: &String| all.iter().filter(|other| *other == f).count() == 1;
        module.test_folders.retain(only);
    }
    add_structure(&mut graph, &numbers);
    graph.global.extend(GLOBAL.iter().filter_map(|file| join(folder, file)));
    Ok(graph)
}

fn add_logic(graph: &mut Graph, name: &str, folder: String) {
    graph.modules.push(Module {
        name: name.to_owned(),
        definition: folder.clone(),
        packaging: "build logic".into(),
        folder,
        ..Module::default()
    });
}

/// Projects inherit from those above them, and all are built with the build logic.
fn add_structure(graph: &mut Graph, numbers: &BTreeMap<&str, usize>) {
    let logic: Vec<usize> =
        (0..graph.modules.len()).filter(|&n| graph.modules[n].packaging == "build logic").collect();
    for (path, &from) in numbers {
        let above = match path.rsplit_once(':') {
            Some(("", "")) | None => None,
            Some(("", _)) => Some(":"),
            Some((above, _)) => Some(above),
        };
        if let Some(&to) = above.and_then(|above| numbers.get(above)) {
            graph.add_edge(from, to, EdgeKind::Parent);
        }
        for &to in &logic {
            graph.add_edge(from, to, EdgeKind::BuildsWith);
        }
    }
}

/// By the names of the configurations: `testImplementation` is for tests, and so is what takes a
/// configuration of tests from the other project.
fn edge_kind(configuration: &str, target: &str) -> EdgeKind {
    let of_tests = |name: &str| name.starts_with("test") && !name.starts_with("testFixtures");
    match (of_tests(target), of_tests(configuration)) {
        (true, true) => EdgeKind::UsesTestsInTests,
        (true, false) => EdgeKind::UsesTests,
        (false, true) => EdgeKind::UsesInTests,
        (false, false) => EdgeKind::Uses,
    }
}

#[cfg(test)]
mod tests;
