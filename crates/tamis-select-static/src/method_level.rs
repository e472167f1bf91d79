//! Selection at method level: a test is selected when the call graph leads from one of its methods to a
//! changed one.
//!
//! This is the technique MethSRTS of Legunsen and others (FSE 2016), and it **can miss tests**: it does not
//! see reflection, nor callbacks from libraries that are left out. It is never the default.
//!
//! * The graph is that of the revision in which a test last finished. For that the class files of the
//!   project are kept with the state ([`keep`]); a test whose revision was not kept runs.
//! * Proofs are not carried from one revision to the next: a skipped test keeps the proof that it has, so
//!   a miss is not made certain, and selections at class level rely on nothing that was decided here.
//! * What is no class of the project (resources, libraries, files) is followed in the graph of types, as
//!   at class level. A class that is new is not in the old graph; who uses it must have changed itself.
//! * A test whose own class, superclasses or nested classes changed always runs.

use crate::definitions::{Origin, TestModule};
use crate::diff::Change;
use crate::select::{Reason, Session, Step, TestDecision};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use tamis_callgraph::{
    Algorithm, AnalysisOptions, Author, CallGraph, Callers, Changes, MethodId, Program, Root,
    Universe,
};
use tamis_classpath::disk;
use tamis_classpath::names::NameId;
use tamis_core::Hash;

/// How the call graph is made and changes are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodLevel {
    pub algorithm: Algorithm,
    /// Read the jars of the classpath and the JDK as well.
    pub libraries: bool,
    /// Reflection with constants makes objects.
    pub reflection: bool,
    pub changes: Changes,
}

impl Default for MethodLevel {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::ZeroCfa,
            libraries: false,
            reflection: false,
            changes: Changes::Class,
        }
    }
}

/// What is reported whenever tests are skipped at this level.
pub const WARNING: &str = "method level can miss tests: it does not see reflection, nor callbacks from \
    libraries that are left out";

/// Services of the project with their providers, by internal names.
type Services = BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>;

/// Names and contents.
type ClassFiles<'f> = Vec<(&'f [u8], &'f [u8])>;

fn kept_file(session: &Session, digest: Hash) -> PathBuf {
    session.state_folder().join(format!("classes-{:032x}", digest.0))
}

/// The folders and jars of a module: those of the project, and libraries.
fn entries<'m>(module: &'m TestModule, session: &Session) -> (Vec<&'m Path>, Vec<&'m Path>) {
    let libraries: BTreeSet<&Path> =
        session.definitions.libraries.iter().map(|(path, _)| path).collect();
    let all = module.test_classes.iter().chain(&module.classes).chain(&module.classpath);
    all.map(PathBuf::as_path).partition(|path| !libraries.contains(path))
}

fn release() -> u32 {
    let release = tamis_jdk::home().and_then(|home| tamis_jdk::Release::of(&home));
    release.and_then(|release| release.feature()).unwrap_or(17)
}

/// Keeps the class files of the state that a session sees, for the graphs of later selections. False where
/// the files are not those that the session saw.
pub fn keep(session: &Session, module: &TestModule) -> io::Result<bool> {
    let file = kept_file(session, session.digest());
    if file.exists() {
        return Ok(true);
    }
    let mut universe = Universe::new();
    universe.add_entries(&entries(module, session).0, Author::Project, release());
    if !universe.problems.is_empty() {
        return Ok(false);
    }
    let mut classes: Vec<(&[u8], &[u8])> = Vec::new();
    for name in universe.own_names() {
        let Some((bytes, _)) = universe.find(name) else { return Ok(false) };
        let seen =
            session.definitions.names.find(name).and_then(|id| session.definitions.class(id));
        match seen {
            // Several versions of one class in a jar are one for the session.
            Some(class) if class.facts.raw != Hash::of(bytes) && !is_in_jar(session, module) => {
                return Ok(false);
            }
            Some(_) => classes.push((name, bytes)),
            None => return Ok(false),
        }
    }
    let plain = postcard::to_allocvec(&(universe.services(), classes)).map_err(io::Error::other)?;
    disk::save_deflated(&file, &plain)?;
    Ok(true)
}

fn is_in_jar(session: &Session, module: &TestModule) -> bool {
    entries(module, session).0.iter().any(|path| path.is_file())
}

/// The class files of an earlier state.
fn kept(session: &Session, digest: Hash) -> Option<Universe> {
    let plain = disk::load_deflated(&kept_file(session, digest))?;
    let (services, classes): (Services, ClassFiles<'_>) = postcard::from_bytes(&plain).ok()?;
    let mut universe = Universe::new();
    for (service, providers) in &services {
        let lines: Vec<&[u8]> = providers.iter().map(Vec::as_slice).collect();
        universe.add_service(service, &lines.join(&b'\n'));
    }
    for (name, bytes) in classes {
        universe.add_class(name, bytes.to_vec(), Author::Project);
    }
    Some(universe)
}

fn add_libraries(universe: &mut Universe, session: &Session, module: &TestModule) {
    universe.add_entries(&entries(module, session).1, Author::Library, release());
    match tamis_jdk::home() {
        Some(home) => universe.add_jdk(&home),
        None => universe.problems.push("no JDK is found; set JAVA_HOME".into()),
    }
}

/// The classes of now, for graphs that are looked at.
pub fn universe_of_now(session: &Session, module: &TestModule, level: &MethodLevel) -> Universe {
    let mut universe = Universe::new();
    universe.add_entries(&entries(module, session).0, Author::Project, release());
    if level.libraries {
        add_libraries(&mut universe, session, module);
    }
    universe
}

/// A call graph with the roots of the tests that it was made for.
#[derive(Debug)]
pub struct Calls<'u> {
    pub program: Program<'u>,
    pub graph: CallGraph,
    /// By binary name (`com.acme.ThingTest`).
    pub roots: BTreeMap<String, Vec<Root>>,
}

impl<'u> Calls<'u> {
    /// The graph from these classes (`com.acme.ThingTest`).
    pub fn build(universe: &'u Universe, tests: &[String], level: &MethodLevel) -> Self {
        let mut program = Program::new(universe);
        let mut roots = BTreeMap::new();
        for test in tests {
            let found = program.roots_of(&internal(test));
            roots.insert(test.clone(), found);
        }
        let all: Vec<Root> = roots.values().flatten().copied().collect();
        let options = AnalysisOptions {
            reflection: level.reflection,
            ..AnalysisOptions::new(level.algorithm)
        };
        let graph = tamis_callgraph::build(&mut program, &all, options);
        Self { program, graph, roots }
    }
}

fn external(name: &[u8]) -> String {
    tamis_classfile::mutf8::decode(name).replace('/', ".")
}

fn internal(name: &str) -> Vec<u8> {
    tamis_classfile::mutf8::encode(&name.replace('.', "/")).into_owned()
}

/// The changes since a state, and what the graph of that state says about them.
struct Judged {
    /// Tests by name with the reason why they run.
    run: BTreeMap<String, Reason>,
    /// Methods of the project that can reach a changed one.
    impacted: Vec<String>,
}

/// Decides about every test.
pub fn select(
    session: &mut Session,
    module: &TestModule,
    level: &MethodLevel,
) -> Vec<TestDecision> {
    let names = session.test_names();
    if let Some(why) = session.definitions.blind.first().cloned() {
        let run = Some(Reason::Unknown { why });
        return names.into_iter().map(|name| TestDecision { name, run: run.clone() }).collect();
    }
    let mut judged: FxHashMap<Hash, Result<Judged, Reason>> = FxHashMap::default();
    for (digest, tests) in session.snapshots_of(&names) {
        judged.insert(digest, judge(session, module, level, digest, &tests));
    }
    let decide = |name: &String| -> Option<Reason> {
        let proofs = match session.proofs_of(name) {
            Ok(proofs) => proofs,
            Err(reason) => return Some(reason),
        };
        proofs.iter().find_map(|(_, proof)| match judged.get(&proof.snapshot) {
            None => None,
            Some(Err(reason)) => Some(reason.clone()),
            Some(Ok(judged)) => judged.run.get(name).cloned(),
        })
    };
    let decided: Vec<Option<Reason>> = names.iter().map(decide).collect();
    names.into_iter().zip(decided).map(|(name, run)| TestDecision { name, run }).collect()
}

/// The methods of the project that can reach a change since the last update. `None` where that is not
/// known: then all may.
pub fn impacted(
    session: &mut Session,
    module: &TestModule,
    level: &MethodLevel,
) -> Option<Vec<String>> {
    let latest = session.proofs.latest?;
    let tests = session.test_names();
    judge(session, module, level, latest, &tests).ok().map(|judged| judged.impacted)
}

fn judge(
    session: &mut Session,
    module: &TestModule,
    level: &MethodLevel,
    digest: Hash,
    tests: &[String],
) -> Result<Judged, Reason> {
    let unknown = |why: String| Reason::Unknown { why };
    let changes = session.changes(digest)?;
    let (classes, others) = split(session, digest, changes);
    let mut universe = kept(session, digest).ok_or_else(|| {
        unknown(
            "the classes of its last run were not kept; record with --granularity method".into(),
        )
    })?;
    if level.libraries {
        if session.libraries_differ(digest) {
            return Err(unknown("libraries changed, and the graph of the old ones is gone".into()));
        }
        add_libraries(&mut universe, session, module);
    }
    if let Some(problem) = universe.problems.first() {
        return Err(unknown(problem.clone()));
    }
    let mut run = others_reached(session, &others, tests);
    if classes.is_empty() {
        return Ok(Judged { run, impacted: Vec::new() });
    }
    let mut now = Universe::new();
    now.add_entries(&entries(module, session).0, Author::Project, release());
    let mut calls = Calls::build(&universe, tests, level);
    if let Some(broken) = calls.program.problems.iter().find(|p| p.starts_with("class ")) {
        return Err(unknown(broken.clone()));
    }
    // What could not be read may call anything.
    let mut changed: Vec<MethodId> = calls.graph.unreadable.clone();
    let mut differing = Vec::new();
    for name in classes.keys() {
        let new = now.find(name).map(|(bytes, _)| bytes);
        changed.extend(calls.program.changed_by(name, new, level.changes));
        differing.extend(calls.program.changed_by(name, new, Changes::Method));
    }
    let callers = calls.graph.callers(&changed);
    let to_differing = calls.graph.callers(&differing);
    for test in tests {
        if run.contains_key(test) {
            continue;
        }
        let roots = calls.roots.get(test).map(Vec::as_slice).unwrap_or_default();
        let reason = if roots.is_empty() {
            Some(unknown("the old revision has no class of this name".into()))
        } else if let Some(reason) = own_change(&calls.program, test, &classes) {
            Some(reason)
        } else {
            // Rather the way to a method that differs than to another one of its class.
            let path = shortest(&callers, roots, &calls.graph)
                .map(|any| shortest(&to_differing, roots, &calls.graph).unwrap_or(any));
            path.map(|path| reaches(&calls, &path, &classes))
        };
        run.extend(reason.map(|reason| (test.clone(), reason)));
    }
    let mut impacted: Vec<String> = calls
        .graph
        .reached()
        .filter(|&m| calls.program.is_own(m) && calls.program.is_in_file(m) && callers.contains(m))
        .map(|m| calls.program.method_display(m))
        .collect();
    impacted.sort();
    Ok(Judged { run, impacted })
}

/// Changed classes of the project by internal name, and everything else that changed.
type Split = (BTreeMap<Vec<u8>, Change>, BTreeMap<NameId, Change>);

fn split(session: &Session, digest: Hash, changes: BTreeMap<NameId, Change>) -> Split {
    let (mut classes, mut others) = (BTreeMap::new(), BTreeMap::new());
    let then = session.own_names_then(digest);
    for (id, change) in changes {
        let name = session.definitions.names.get(id);
        let library = match session.definitions.origin(id) {
            Some(origin) => origin == Origin::Library,
            None => !then.contains(id),
        };
        let understood = matches!(
            change,
            Change::Added | Change::Removed | Change::Header(_) | Change::Methods(_)
        );
        if understood && !library && !name.starts_with(b"/") {
            classes.insert(name.to_vec(), change);
        } else {
            others.insert(id, change);
        }
    }
    (classes, others)
}

/// Tests that reach a change of something else than a class of the project, by the graph of types.
fn others_reached(
    session: &Session,
    others: &BTreeMap<NameId, Change>,
    tests: &[String],
) -> BTreeMap<String, Reason> {
    if others.is_empty() {
        return BTreeMap::new();
    }
    let graph = session.graph(others.keys());
    let firewall = graph.graph.firewall(others.keys().copied());
    tests
        .iter()
        .filter_map(|test| {
            let id = session.definitions.names.find(&internal(test))?;
            Some((test.clone(), session.reason(id, &graph, &firewall, others)?))
        })
        .collect()
}

/// Why a test runs whose own class, one above it, or one nested in it changed.
fn own_change(
    program: &Program<'_>,
    test: &str,
    classes: &BTreeMap<Vec<u8>, Change>,
) -> Option<Reason> {
    let name = internal(test);
    let start = |by| Step { name: test.to_owned(), by };
    if let Some(change) = classes.get(&name) {
        return Some(Reason::Reaches { path: vec![start(None)], change: change.clone() });
    }
    let nested = |other: &[u8]| {
        other.strip_prefix(&name[..]).is_some_and(|rest| rest.first() == Some(&b'$'))
    };
    let above = program.supertypes_of(&name);
    classes.iter().find_map(|(changed, change)| {
        let by = match nested(changed) {
            true => "nests",
            false if above.contains(&changed.as_slice()) => "inherits",
            false => return None,
        };
        let end = Step { name: external(changed), by: None };
        Some(Reason::Reaches { path: vec![start(Some(by)), end], change: change.clone() })
    })
}

/// The shortest way from one of these roots.
fn shortest(callers: &Callers, roots: &[Root], graph: &CallGraph) -> Option<Vec<MethodId>> {
    let reaching = roots.iter().filter(|root| callers.contains(root.method));
    reaching.map(|root| callers.path(root.method, graph)).min_by_key(Vec::len)
}

fn reaches(calls: &Calls<'_>, path: &[MethodId], classes: &BTreeMap<Vec<u8>, Change>) -> Reason {
    let program = &calls.program;
    let shown: Vec<MethodId> = path.iter().copied().filter(|&m| program.is_in_file(m)).collect();
    let steps: Vec<Step> = shown
        .iter()
        .enumerate()
        .map(|(at, &m)| Step {
            name: program.method_display(m),
            by: (at + 1 < shown.len()).then_some("calls"),
        })
        .collect();
    let last = shown.last().copied();
    let of_class = last.and_then(|m| classes.get(program.class_name_of(m)));
    let own_name = steps.last().and_then(|step| step.name.split_once('#')).map(|(_, own)| own);
    let change = match of_class {
        // Of several methods that changed, the one that is reached.
        Some(Change::Methods(list)) => match list.iter().find(|m| Some(m.as_str()) == own_name) {
            Some(method) => Change::Methods(vec![method.clone()]),
            None => Change::Methods(list.clone()),
        },
        Some(change) => change.clone(),
        None if last.is_some_and(|m| calls.graph.unreadable.contains(&m)) => {
            Change::Unreadable("its code is not understood".into())
        }
        // A method that was found before an added one is of another class than the change.
        None => Change::Overridden,
    };
    Reason::Reaches { path: steps, change }
}
