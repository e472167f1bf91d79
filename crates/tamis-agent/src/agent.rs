//! The one agent of this JVM: its state, and what it does at boundaries.
//!
//! One lock, the [`Desk`], orders everything that is sent. While it is held nothing is called that
//! loads a class, and no Java code runs but what reads the probes.

use crate::classes::Classes;
use crate::jdk::Jdk;
use crate::jvm::{Jni, Jvmti, Object};
use crate::late::Late;
use crate::link::Link;
use crate::lookups;
use crate::open_tests::{Boundary, MethodBegins, Tests};
use crate::prepared::Prepared;
use crate::probes::Probes;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tamis_jvm_wire::Mark;
use tamis_jvm_wire::{
    ClassSeen, Covered, FromJvm, Hits, Lookup, Lookups, Options, Role, StaticState, ToJvm, Window,
};

/// Deeper stacks are not looked at to their end.
const DEEPEST: i32 = 2000;
const STACKS: &str = "the stacks of threads could not be read";

static AGENT: OnceLock<Agent> = OnceLock::new();

#[derive(Debug)]
pub(crate) struct Agent {
    /// The environment that sees classes as their loaders give them.
    pub(crate) jvmti: Jvmti,
    pub(crate) options: Options,
    pub(crate) probes: Probes,
    pub(crate) classes: Classes,
    pub(crate) lookups: lookups::Lookups,
    pub(crate) prepared: Prepared,
    pub(crate) late: Late,
    /// JaCoCo measures coverage in this JVM.
    pub(crate) measures: AtomicBool,
    /// Not in a build tool.
    pub(crate) jdk: Option<Jdk>,
    /// A global reference; set before the program's first class is loaded.
    pub(crate) platform_loader: OnceLock<Object>,
    desk: Mutex<Desk>,
}

#[derive(Debug)]
struct Desk {
    link: Link,
    tests: Tests,
    /// Static initialisers that run.
    initialisers: Vec<Initialiser>,
    /// What has to wait for the greeting; `None` after it.
    early: Option<Vec<FromJvm>>,
}

#[derive(Debug)]
struct Initialiser {
    probe: u32,
    /// What was passed since it began.
    hits: BTreeSet<u32>,
    /// What was asked for by name.
    lookups: BTreeSet<Lookup>,
    /// The threads that there were by then.
    threads: Vec<i32>,
}

/// Runs an entry from the JVM: a panic becomes trouble and `otherwise`.
pub(crate) fn guarded<R>(otherwise: R, entry: impl FnOnce(&'static Agent) -> R) -> R {
    let Some(agent) = AGENT.get() else { return otherwise };
    catch_unwind(AssertUnwindSafe(|| entry(agent))).unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<String>().map(String::as_str);
        let what = what.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let _ = catch_unwind(AssertUnwindSafe(|| agent.trouble(&format!("panic: {what}"))));
        otherwise
    })
}

impl Agent {
    /// Makes the agent known; there is one per JVM.
    pub(crate) fn install(
        jvmti: Jvmti,
        jdk: Option<Jdk>,
        options: Options,
        link: Link,
    ) -> Option<&'static Self> {
        let tests = Tests::new(options.methods, options.role == Role::Tests);
        let agent = Self {
            jvmti,
            options,
            probes: Probes::default(),
            classes: Classes::default(),
            lookups: lookups::Lookups::default(),
            prepared: Prepared::default(),
            late: Late::default(),
            measures: AtomicBool::new(false),
            jdk,
            platform_loader: OnceLock::new(),
            desk: Mutex::new(Desk {
                link,
                tests,
                initialisers: Vec::new(),
                early: Some(Vec::new()),
            }),
        };
        AGENT.set(agent).ok()?;
        AGENT.get()
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first message, then everything that waited for it.
    pub(crate) fn greet(&self, hello: tamis_jvm_wire::Hello) {
        let mut desk = self.desk();
        let early = desk.early.take().unwrap_or_default();
        desk.link.tell(&FromJvm::Hello(hello));
        for message in early {
            desk.link.tell(&message);
        }
        desk.link.flush();
    }

    pub(crate) fn class_seen(&self, class: ClassSeen) {
        self.desk().tell(FromJvm::Class(class));
    }

    pub(crate) fn trouble(&self, what: &str) {
        let mut desk = self.desk();
        desk.tell(FromJvm::Trouble(what.to_owned()));
        desk.link.flush();
    }

    pub(crate) fn ask(&self, question: &FromJvm) -> Option<ToJvm> {
        self.desk().link.ask(question)
    }

    pub(crate) fn tell_now(&self, message: &FromJvm) {
        let mut desk = self.desk();
        desk.link.tell(message);
        desk.link.flush();
    }

    pub(crate) fn test_begins(&self, jni: Jni, framework: &str, class: &str) -> u32 {
        self.tell_covered(jni);
        let mut desk = self.desk();
        let (test, boundaries) = desk.tests.begin(framework, class);
        self.pass_begin(jni, &mut desk, boundaries);
        test
    }

    /// Tests begin, if any do, beside what threads are in.
    fn pass_begin(&self, jni: Jni, desk: &mut Desk, boundaries: Vec<Boundary>) {
        if boundaries.is_empty() {
            return;
        }
        self.pass(jni, desk, boundaries);
        match self.running(jni) {
            Some(running) => desk.still_running(running),
            None => desk.link.tell(&FromJvm::Trouble(STACKS.to_owned())),
        }
    }

    /// The probes of the methods that threads are in. Those were passed when they were entered, perhaps
    /// long ago: a server that an earlier test started.
    fn running(&self, jni: Jni) -> Option<Vec<u32>> {
        if !self.watches_code() || self.probes.used() == 0 {
            return Some(Vec::new());
        }
        let methods = self.jvmti.methods_on_stacks(jni, DEEPEST)?;
        let named = methods.into_iter().filter_map(|id| self.jvmti.method(jni, id));
        let ids = named.flat_map(|(class, signature)| self.classes.ids_of(&class, &signature));
        let ids: BTreeSet<u32> = ids.collect();
        Some(ids.into_iter().collect())
    }

    pub(crate) fn is_outermost(&self, class: &str) -> bool {
        self.desk().tests.is_outermost(class)
    }

    pub(crate) fn method_begins(&self, jni: Jni, key: &str) -> u32 {
        let mut desk = self.desk();
        let MethodBegins { id, boundaries, message } = desk.tests.method_begins(key);
        message.into_iter().for_each(|message| desk.link.tell(&message));
        self.pass(jni, &mut desk, boundaries);
        id
    }

    pub(crate) fn method_ends(&self, jni: Jni, method: u32, failed: bool) {
        let mut desk = self.desk();
        let boundaries = desk.tests.method_ends(method, failed);
        self.pass(jni, &mut desk, boundaries);
    }

    pub(crate) fn test_ends(&self, jni: Jni, test: u32, failed: bool) {
        self.tell_covered(jni);
        let mut desk = self.desk();
        let boundaries = desk.tests.end(test, failed);
        self.pass(jni, &mut desk, boundaries);
    }

    pub(crate) fn class_ends(&self, jni: Jni, class: &str, failed: bool) {
        self.tell_covered(jni);
        let mut desk = self.desk();
        let boundaries = desk.tests.end_class(class, failed);
        self.pass(jni, &mut desk, boundaries);
    }

    /// Whether this is a JVM in which each method has a probe.
    pub(crate) fn watches_code(&self) -> bool {
        matches!(self.options.role, Role::Tests | Role::Launched | Role::Child(_))
    }

    /// The static initialiser with this probe begins. Others that run now are around it, or on other
    /// threads and cannot be distinguished.
    pub(crate) fn initialiser_begins(&self, jni: Jni, probe: u32) {
        self.tell_covered(jni);
        let Some(threads) = self.jvmti.threads(jni) else { return };
        let mut desk = self.desk();
        let open = desk.tests.open();
        self.send_window(jni, &mut desk, open);
        let (hits, lookups) = (BTreeSet::new(), BTreeSet::new());
        desk.initialisers.push(Initialiser { probe, hits, lookups, threads });
    }

    pub(crate) fn initialiser_ends(&self, jni: Jni, probe: u32) {
        self.tell_covered(jni);
        let now = self.jvmti.threads(jni);
        let mut desk = self.desk();
        let open = desk.tests.open();
        self.send_window(jni, &mut desk, open);
        let Some(at) = desk.initialisers.iter().rposition(|other| other.probe == probe) else {
            return;
        };
        let Initialiser { hits, lookups, threads, .. } = desk.initialisers.remove(at);
        // What a new thread does for it may come later.
        if now.is_none_or(|now| now.iter().any(|thread| !threads.contains(thread))) {
            return;
        }
        let hits = Hits::from_sorted(hits);
        let lookups = lookups.into_iter().collect();
        desk.link.tell(&FromJvm::Initialised { probe, hits, lookups });
    }

    /// What static fields hold; reported before a test begins.
    pub(crate) fn state_now(&self, watched: Vec<String>, changed: Option<Vec<(String, String)>>) {
        let state = StaticState { watched, waiting: self.prepared.waiting(), changed };
        self.desk().link.tell(&FromJvm::State(state));
    }

    /// What of the JVM itself is not as at first; reported before a test or one of its methods begins. What ran
    /// until now ran before that.
    pub(crate) fn globals_now(&self, globals: Vec<(String, i64)>) {
        self.desk().link.tell(&FromJvm::Globals(globals));
    }

    /// Whether a test of this class that begins now is the only one.
    pub(crate) fn is_idle_for(&self, jni: Jni, class: &str) -> bool {
        self.tell_covered(jni);
        let mut desk = self.desk();
        let boundaries = desk.tests.settle(class);
        self.pass(jni, &mut desk, boundaries);
        self.watches_code() && desk.tests.open().is_empty()
    }

    pub(crate) fn open_tests(&self) -> usize {
        self.desk().tests.open().len()
    }

    /// What the tracer saw outside of tests until now is nothing to the tests to come.
    pub(crate) fn outside_anew(&self) {
        look_at(&Mark::outside_anew(std::process::id()).path(&self.options.token));
    }

    pub(crate) fn test_failed(&self) {
        self.desk().tests.failed();
    }

    pub(crate) fn test_failed_in(&self, class: &str) {
        self.desk().tests.failed_in(class);
    }

    pub(crate) fn group_begins(&self, framework: &str) {
        self.desk().tests.group_begin(framework);
    }

    pub(crate) fn group_member(&self, jni: Jni, framework: &str, class: &str) {
        self.tell_covered(jni);
        let mut desk = self.desk();
        let boundaries = desk.tests.group_member(framework, class);
        self.pass_begin(jni, &mut desk, boundaries);
    }

    pub(crate) fn group_ends(&self, jni: Jni, framework: &str, failed: bool) {
        self.tell_covered(jni);
        let mut desk = self.desk();
        desk.tests.group_end(framework, failed);
        loop {
            let boundaries = desk.tests.next_orphan();
            if boundaries.is_empty() {
                break;
            }
            self.pass(jni, &mut desk, boundaries);
        }
    }

    /// Sends what happened up to a boundary, then the boundary, then lets a tracer see it.
    fn pass(&self, jni: Jni, desk: &mut Desk, boundaries: impl IntoIterator<Item = Boundary>) {
        for boundary in boundaries {
            self.send_window(jni, desk, boundary.open);
            // One that is still running belongs to no test alone: what it uses is not known.
            desk.initialisers.clear();
            desk.link.tell(&boundary.message);
            desk.link.flush();
            let pid = std::process::id();
            let mark = Mark { pid, test: boundary.test, begins: boundary.begins };
            look_at(&mark.path(&self.options.token));
        }
    }

    /// What JaCoCo counted since the last boundary. Asked for before the desk is taken: Java code runs for it.
    fn tell_covered(&self, jni: Jni) {
        if !self.measures.load(Ordering::Relaxed) {
            return;
        }
        let drained = || {
            let class = jni.find_class(c"java/lang/TamisCoverage")?;
            let bytes = jni.call_static(class, c"drain", c"()[B", &[])?;
            jni.bytes(bytes)
        };
        let data = drained();
        if data.as_ref().is_none_or(|data| !data.is_empty()) {
            let mut desk = self.desk();
            let open = desk.tests.open();
            let initialisers = desk.initialisers.iter().map(|open| open.probe).collect();
            desk.link.tell(&FromJvm::Covered(Covered { open, initialisers, data }));
        }
    }

    /// What happened since the last boundary, while these tests were open.
    fn send_window(&self, jni: Jni, desk: &mut Desk, open: Vec<u32>) {
        let hits = self.probes.drain(jni).unwrap_or_else(|| {
            desk.link.tell(&FromJvm::Trouble("the probes could not be read".to_owned()));
            Hits::default()
        });
        for initialiser in &mut desk.initialisers {
            initialiser.hits.extend(hits.iter());
        }
        let lookups = self.lookups.end_window(jni).unwrap_or_else(|| {
            desk.link.tell(&FromJvm::Trouble("the look-ups could not be read".to_owned()));
            Lookups::default()
        });
        for initialiser in &mut desk.initialisers {
            initialiser.lookups.extend(lookups.iter());
        }
        let window = Window { open, hits, lookups, still_running: false };
        if !window.hits.is_empty() || !window.lookups.is_empty() {
            desk.link.tell(&FromJvm::Window(window));
        }
    }

    /// The JVM ends. Tests that are still open stay without an end.
    pub(crate) fn farewell(&self, jni: Jni) {
        self.tell_covered(jni);
        let mut desk = self.desk();
        let boundaries = desk.tests.settle("");
        self.pass(jni, &mut desk, boundaries);
        let open = desk.tests.open();
        self.send_window(jni, &mut desk, open);
        desk.link.tell(&FromJvm::Bye);
        desk.link.close();
    }
}

impl Desk {
    /// These methods go on in the tests that are open now.
    fn still_running(&mut self, ids: Vec<u32>) {
        if !ids.is_empty() {
            let hits = Hits::from_sorted(ids);
            let open = self.tests.open();
            let lookups = Lookups::default();
            let window = Window { open, hits, lookups, still_running: true };
            self.link.tell(&FromJvm::Window(window));
        }
    }

    fn tell(&mut self, message: FromJvm) {
        match &mut self.early {
            Some(early) => early.push(message),
            None => self.link.tell(&message),
        }
    }
}

/// Asks for a path that does not exist, so that a tracer sees it among the program's own accesses.
fn look_at(path: &str) {
    if let Ok(path) = CString::new(path) {
        // SAFETY: a text that ends with NUL.
        unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::F_OK, 0) };
    }
}
