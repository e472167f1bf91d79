//! A third language: everything that one needs, in one small file, and nothing of the other two.
//!
//! `toy FILE...` runs tests: a file passes unless a line says `fail`; a line `read PATH` reads a file. Lines
//! that begin with `#` are comments, which change nothing. This program is three: the tests, tamis with the
//! one front end (`--tamis`), and the runner (called `toy`).

use anyhow::Result;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tamis_core::{Hash, Module, TestKey, Tool, ToolScope, Unit, Value};
use tamis_observe::{Cover, CoveredPaths};
use tamis_project::{Project, ScopeFacts};
use tamis_report::Reporters;
use tamis_report::reporters::JsonReporter;
use tamis_runner::{Call, EngineName, RunOptions};
use tamis_session::{
    Claim, Confirmed, Frontend, Frontends, Invocation, KnownScope, Language, Model, Process,
    ProcessModel, Services, Session, SessionOptions, Start, UnitEvidence, Units, UsualModel,
};
use tamis_store::Store;
use tamis_wire::{Began, Ended, FromProcess, Hello, Mark, Payload, Verdict};

const TOY: Tool = Tool::new("toy");

/// How the runner finds the session: the file that makes it a host, the socket, the token.
const SESSION: &str = "TOY_SESSION";

/// The scope of all toy files of a project, with the facts of now.
#[derive(Debug, Clone)]
struct ToyScope(ToolScope, PathBuf);

impl ToyScope {
    fn of(project: &Project) -> Arc<Self> {
        let module = Module::Folder(".".into());
        let scope = ToolScope { tool: TOY, module, execution: String::new() };
        Arc::new(Self(scope, project.root().to_path_buf()))
    }
}

impl ScopeFacts for ToyScope {
    fn answer(&self, fact: &str) -> Option<Value> {
        let text = std::fs::read_to_string(self.1.join(fact.strip_prefix("toy: ")?));
        let Ok(text) = text else { return Some(Value::Absent) };
        let code = text.lines().filter(|line| !line.starts_with('#')).map(str::as_bytes);
        Some(Value::Text(Hash::of_parts(code)))
    }
}

impl KnownScope for ToyScope {
    fn scope(&self) -> &ToolScope {
        &self.0
    }
    fn folder(&self) -> &str {
        "."
    }
}

#[derive(Debug)]
struct ToyFrontend;

impl Frontend for ToyFrontend {
    fn tools(&self) -> &'static [Tool] {
        const TOOLS: &[Tool] = &[TOY];
        TOOLS
    }
    fn claim(&self, invocation: &Invocation) -> Option<Box<dyn Claim>> {
        (invocation.words.first()? == "toy").then(|| -> Box<dyn Claim> { Box::new(ToyCommand) })
    }
    fn restore(&self, project: &Project, _: &Store) -> Vec<Arc<dyn KnownScope>> {
        vec![ToyScope::of(project)]
    }
    fn may_exist(&self, project: &Project, key: &TestKey) -> bool {
        project.root().join(&*key.unit.name()).exists()
    }
}

#[derive(Debug)]
struct ToyCommand;

impl Claim for ToyCommand {
    fn tools(&self) -> Vec<Tool> {
        vec![TOY]
    }
    fn library(&self, folder: &Path) -> Result<PathBuf> {
        std::fs::write(folder.join("host"), "")?;
        Ok(folder.join("host"))
    }
    fn model(&self, _: &Session, _: &SessionOptions) -> Box<dyn Model> {
        Box::new(UsualModel::new(ToyLanguage(None)))
    }
}

/// What a unit is made of is read when it is decided about.
struct ToyLanguage(Option<ToyProcess>);

#[derive(Clone)]
struct ToyProcess(Arc<ToyScope>, BTreeMap<String, Value>);

impl ToyProcess {
    fn new(scope: Arc<ToyScope>, names: &[String]) -> Self {
        let fact =
            |name: &String| Some((format!("toy: {name}"), scope.answer(&format!("toy: {name}"))?));
        let facts = names.iter().filter_map(fact).collect();
        Self(scope, facts)
    }
}

impl Language for ToyLanguage {
    fn engine(&self) -> &'static str {
        "toy"
    }
    fn prepare(
        &mut self,
        services: &mut Services<'_, '_>,
        units: &mut Units,
        invocation: &mut Invocation,
    ) -> Result<Start> {
        let scope = ToyScope::of(services.ledger.project());
        let names: Vec<String> =
            invocation.words[1..].iter().map(|word| word.to_string_lossy().into_owned()).collect();
        self.0 = Some(ToyProcess::new(Arc::clone(&scope), &names));
        let all: Vec<Unit> = names.into_iter().map(Unit::Item).collect();
        let known: Arc<dyn KnownScope> = scope;
        let run = units.decide(services.ledger, &known, &all)?;
        services.ledger.collected.scopes += 1;
        let mut run = std::iter::once(true).chain(run);
        invocation.words.retain(|_| run.next() == Some(true));
        let session = services.session;
        let place = [session.library().to_path_buf(), session.socket(), session.token().into()];
        invocation.environment.push((SESSION.into(), std::env::join_paths(place)?));
        Ok(if invocation.words.len() == 1 { Start::NothingToRun } else { Start::Run })
    }
    fn covered(&self) -> Arc<dyn CoveredPaths + Send + Sync> {
        Arc::new(ToyFiles)
    }
    fn process(&mut self, _: &Hello) -> Result<Process, String> {
        let process = self.0.clone().ok_or("nothing was prepared")?;
        Ok(Process { scope: Arc::clone(&process.0) as _, model: Box::new(process) })
    }
    fn confirm(&mut self, _: &Project, _: bool) -> Option<Confirmed> {
        let ToyProcess(scope, facts) = self.0.as_ref()?;
        let moved = |(fact, was): &(&String, &Value)| scope.answer(fact).as_ref() != Some(*was);
        let unit = |(fact, _): (&String, &Value)| Unit::Item(fact["toy: ".len()..].to_owned());
        let changed: HashSet<Unit> = facts.iter().filter(moved).map(unit).collect();
        Some(Confirmed { changed })
    }
}

impl ProcessModel for ToyProcess {
    fn unit(&self, name: &str) -> Unit {
        Unit::Item(name.to_owned())
    }
    fn ended(&mut self, _: u32, unit: &Unit) -> UnitEvidence {
        let fact = format!("toy: {}", unit.name());
        let value = self.1.get(&fact).cloned();
        let incomplete = value.is_none().then(|| "it was not asked for".to_owned());
        UnitEvidence { facts: value.map(|v| (fact.into(), v)).into_iter().collect(), incomplete }
    }
}

/// Facts say more of a toy file than the tracer.
struct ToyFiles;

impl CoveredPaths for ToyFiles {
    fn cover(&self, path: &[u8]) -> Cover {
        if path.ends_with(b".toy") { Cover::Covered } else { Cover::None }
    }
}

/// The runner; gives the exit code.
fn toy(files: &[String]) -> Result<i32> {
    let session = std::env::var_os(SESSION).unwrap_or_default();
    let session: Vec<PathBuf> = std::env::split_paths(&session).collect();
    let token = session[2].to_string_lossy();
    drop(std::fs::File::open(&session[0])?);
    let mut link = UnixStream::connect(&session[1])?;
    let pid = std::process::id();
    tamis_wire::write(&mut link, &FromProcess::Hello(Hello { pid, payload: Payload::default() }))?;
    let mut code = 0;
    for (test, name) in (1..).zip(files) {
        let mark = |begins| drop(std::fs::metadata(Mark { pid, test, begins }.path(&token)));
        mark(true);
        let began = Began { test, name: name.clone(), payload: Payload::default() };
        tamis_wire::write(&mut link, &FromProcess::Began(began))?;
        let text = std::fs::read_to_string(name)?;
        for path in text.lines().filter_map(|line| line.strip_prefix("read ")) {
            let _ = std::fs::read(path);
        }
        let failed = text.lines().any(|line| line == "fail");
        code |= i32::from(failed);
        eprintln!("ran: {name}");
        mark(false);
        let verdict = if failed { Verdict::Failed } else { Verdict::Passed };
        tamis_wire::write(&mut link, &FromProcess::Ended(Ended { test, verdict, wall_us: 1 }))?;
    }
    tamis_wire::write(&mut link, &FromProcess::Bye)?;
    // A gate after the tests.
    Ok(if Path::new("gate").exists() { 3 } else { code })
}

/// tamis with one front end.
fn tamis(words: &[OsString]) -> Result<i32> {
    let json = JsonReporter { out: Box::new(std::io::stdout()) };
    let options = RunOptions { engine: Some(EngineName::Notify), ..RunOptions::default() };
    let call = Call {
        project: &Project::find(None)?,
        frontends: &Frontends::new(vec![Box::new(ToyFrontend)]),
        options: &options,
        reporters: &Reporters::new(vec![Box::new(json)]),
        times: &tamis_report::phases::Timeline::new(),
        check: None,
    };
    match words.split_first() {
        Some((verb, name)) if verb == "forget" => tamis_runner::forget(call, name).map(|_| 0),
        _ => tamis_runner::command(call, words),
    }
}

fn main() -> Result<()> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    if Path::new(&words[0]).ends_with("toy") {
        std::process::exit(toy(&words[1..].iter().map(text).collect::<Vec<_>>())?);
    }
    if words.get(1).is_some_and(|word| word == "--tamis") {
        std::process::exit(tamis(&words[2..])?);
    }
    if !words.iter().any(|word| word == "--list") {
        a_language_of_its_own();
        println!("test a_language_of_its_own ... ok");
    }
    Ok(())
}

fn a_language_of_its_own() {
    let mut project = tamis_testkit::Project::with(&[
        ("a.toy", "# first\n"),
        ("b.toy", "read data\n"),
        ("c.toy", "\n"),
        ("data", "1\n"),
        ("../bin/there", ""),
    ]);
    let own = std::env::current_exe().expect("this program");
    std::os::unix::fs::symlink(&own, project.beside("bin/toy")).expect("a link");
    let path = std::env::var("PATH").expect("a PATH");
    project.set("PATH", format!("{}:{path}", project.beside("bin").display()));
    let run = |what: &str, code: i32, expected: &[&str]| {
        let words = ["--tamis", "toy", "a.toy", "b.toy", "c.toy"];
        let got = tamis_testkit::Call::read(
            &tamis_testkit::ended(project.command(&own).args(words)),
            "toy ",
        );
        got.assert_code(code);
        let ran: Vec<&str> = got.ran.keys().map(String::as_str).collect();
        assert_eq!(ran, expected, "{what}: {:?}\n{}", got.ran, got.stderr);
        assert_eq!(got.said, expected, "{what}: what the runner says");
    };
    run("first", 0, &["a.toy", "b.toy", "c.toy"]);
    run("nothing changed", 0, &[]);
    project.write("a.toy", "# another\n");
    run("a comment is no fact", 0, &[]);
    project.write("data", "2\n");
    run("a file that the tracer saw", 0, &["b.toy"]);
    project.write("c.toy", "fail\n");
    run("an edit", 1, &["c.toy"]);
    run("what failed runs again", 1, &["c.toy"]);
    project.write("c.toy", "# mended\nread data\n");
    run("mended", 0, &["c.toy"]);
    run("nothing left", 0, &[]);
    let forget = |name: &str| {
        let words = ["--tamis", "forget", name];
        assert_eq!(tamis_testkit::ended(project.command(&own).args(words)).code, 0, "{name}");
    };
    forget("a.toy");
    run("forgotten", 0, &["a.toy"]);
    run("nothing left of that", 0, &[]);
    forget("toy a.toy b.toy c.toy");
    run("a command is forgotten with its tests", 0, &["a.toy", "b.toy", "c.toy"]);
    forget("[ab].toy");
    run("forgotten by a glob", 0, &["a.toy", "b.toy"]);
    let summary = |words: &[&str]| {
        let words = ["--tamis", "toy"].iter().chain(words);
        let got = tamis_testkit::ended(project.command(&own).args(words));
        (got.code, got.events("still-failing").len(), got.events("summary").remove(0))
    };
    project.write("gate", "");
    project.write("data", "3\n");
    let (code, _, counts) = summary(&["a.toy", "b.toy", "c.toy"]);
    assert_eq!((code, &counts["failed"], &counts["passed"]), (3, &1.into(), &2.into()), "{counts}");
    project.remove("gate");
    project.write("c.toy", "fail\n");
    assert_eq!(summary(&["a.toy", "b.toy", "c.toy"]).0, 1);
    assert_eq!(summary(&["a.toy"]).1, 1, "a failure that this call leaves alone");
    project.write("c.toy", "# mended\nread data\n");
    assert_eq!(summary(&["a.toy"]).1, 0, "a record proves that it would pass now");
    run("taken back", 0, &[]);
}
