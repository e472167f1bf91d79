//! JVMs that tests start.
//!
//! Such a JVM has the agent; all that it does belongs to the test that started it. What it loaded from the
//! project's folders is known by its methods, if it reported everything, and ended before its test did;
//! else its class files count as any program's files do. The class files of jars always do: its jars may
//! be others than those of the tests.
//!
//! The tracer knows at the end of a test which JVMs it started. What those reported may still be on its way
//! by then, so the windows of a host wait in order until it is known.

use super::runner_scope::holds_classes;
use super::{JvmModel, writing};
use crate::goal::GoalFacts;
use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use tamis_core::Question;
use tamis_core::record::Observed;
use tamis_dynamic::{Depends, FactKind as Kind, Jvm};
use tamis_jvm_wire::{FromJvm, Hello, VERSION};
use tamis_observe::{ChildSeen, Observations, WindowEnded};
use tamis_project::Project;
use tamis_session::Services;

/// A child has one stretch, which is all of it.
const ALL: u32 = 0;

pub(super) struct Child {
    goal: usize,
    ended_well: bool,
    state: State,
}

enum State {
    Runs(Box<Jvm>),
    /// What it did; `None` if not all of it is known.
    Ended(Option<Box<Depends>>),
}

impl JvmModel {
    /// Whether the host is known.
    pub(super) fn child_connected(&mut self, host: u32, hello: &Hello) -> bool {
        let Some(goal) = self.jvms.hosts.get(&host).map(|host| host.goal) else { return false };
        let facts = &self.goals[goal].facts;
        let mut jvm = Jvm::new(Arc::clone(&facts.index), &facts.id).of_jdk(&hello.java_home);
        if hello.version != VERSION {
            jvm.trouble("the agent is of another version");
        }
        if !hello.blind.is_empty() {
            jvm.trouble("the agent cannot see everything in this JDK");
        }
        if !has_folders_of(facts, &hello.class_path) {
            // Then a class that comes to be could be found by one and not by the other.
            jvm.trouble("its classpath has other folders than the tests have");
        }
        jvm.began(ALL, "");
        let state = State::Runs(Box::new(jvm));
        self.jvms.children.insert(hello.pid, Child { goal, ended_well: false, state });
        true
    }

    /// Gives the message back if it is not of a child.
    pub(super) fn reported_by_child(&mut self, pid: u32, message: FromJvm) -> Option<FromJvm> {
        let Some(child) = self.jvms.children.get_mut(&pid) else { return Some(message) };
        let State::Runs(jvm) = &mut child.state else { return Some(message) };
        match message {
            FromJvm::Class(class) => jvm.class(&class),
            FromJvm::Window(mut window) => {
                window.open = vec![ALL];
                jvm.window(&window);
            }
            FromJvm::Initialised { probe, hits, lookups } => {
                jvm.initialised(probe, &hits, &lookups);
            }
            FromJvm::Trouble(why) => jvm.trouble(&why),
            FromJvm::Bye => child.ended_well = true,
            _ => {}
        }
        None
    }

    pub(super) fn child_gone(&mut self, services: &mut Services<'_, '_>, pid: u32) {
        let Some(child) = self.jvms.children.get_mut(&pid) else { return };
        if let State::Runs(jvm) = &mut child.state {
            let depends =
                Some(jvm.ended(ALL)).filter(|d| child.ended_well && d.incomplete.is_none());
            child.state = State::Ended(depends.map(Box::new));
        }
        let hosts: Vec<u32> = self.windows.keys().copied().collect();
        for host in hosts {
            self.take_windows(services, host, false);
        }
    }

    /// What the tracer saw of a host, in order.
    pub(super) fn window_ended(&mut self, services: &mut Services<'_, '_>, window: WindowEnded) {
        let (WindowEnded::Outside { host, .. } | WindowEnded::Unit { host, .. }) = window;
        self.windows.entry(host).or_default().push_back(window);
        self.take_windows(services, host, false);
    }

    /// Takes what is known by now; at the end, all.
    pub(super) fn take_windows(&mut self, services: &mut Services<'_, '_>, host: u32, all: bool) {
        while let Some(window) = self.windows.get(&host).and_then(|windows| windows.front()) {
            if !all && !self.is_known(window) {
                return;
            }
            let Some(window) = self.windows.get_mut(&host).and_then(VecDeque::pop_front) else {
                return;
            };
            match window {
                WindowEnded::Outside { host, observations, undecided } => {
                    self.joiner.add_outside(host, observations);
                    self.undecided.entry(host).or_default().push(Arc::new(undecided));
                }
                WindowEnded::Unit { host, test, mut observations, openings, children } => {
                    for child in children {
                        self.add_child(services.ledger.project(), &mut observations, child);
                    }
                    if let Some((reports, seen)) =
                        self.joiner.seen(host, test, observations, openings)
                    {
                        self.both_known(services, host, reports, seen);
                    }
                }
            }
        }
        self.windows.remove(&host);
    }

    fn is_known(&self, window: &WindowEnded) -> bool {
        let WindowEnded::Unit { children, .. } = window else { return true };
        children.iter().all(|child| {
            let other = self.jvms.builds.contains_key(&child.pid)
                || self.jvms.unclaimed.contains_key(&child.pid)
                || self.jvms.asking.contains_key(&child.pid);
            let known = self.jvms.children.get(&child.pid);
            child.outlives || other || known.is_some_and(|c| matches!(c.state, State::Ended(_)))
        })
    }

    fn add_child(&self, project: &Project, observations: &mut Observations, seen: ChildSeen) {
        let known = self.jvms.children.get(&seen.pid).filter(|_| !seen.outlives);
        let reported = known.and_then(|child| match &child.state {
            State::Ended(Some(depends)) => Some((&self.goals[child.goal].facts, depends)),
            _ => None,
        });
        let Some((facts, depends)) = reported else {
            observations.observed.extend(seen.undecided.observed);
            observations.taints.extend(seen.undecided.taints);
            return;
        };
        let used = depends.facts.iter();
        let used =
            used.map(|fact| writing::given(Question::Fact(Arc::clone(&fact.text)), fact.value));
        observations.observed.extend(used);
        let mut as_files: HashSet<&[u8]> = HashSet::new();
        for (path, &times) in seen.openings.iter().filter(|&(_, &times)| times > 0) {
            match facts.index.class_at(path) {
                Some(class) if times == 1 && depends.loaded.contains(&class) => {}
                // Who looks at a class file without loading it depends on all of it.
                Some(class) => observations.observed.push(whole(facts, class)),
                None => drop(as_files.insert(path)),
            }
        }
        let is_file = |observed: &Observed| {
            let path = observed.question.path().map(|path| project.paths.to_absolute(path));
            path.is_none_or(|path| {
                !holds_classes(&facts.index, &path)
                    || as_files.contains(path.as_os_str().as_encoded_bytes())
            })
        };
        observations.observed.extend(seen.undecided.observed.into_iter().filter(is_file));
        observations.taints.extend(seen.undecided.taints);
    }
}

fn whole(facts: &GoalFacts, class: String) -> Observed {
    let (fact, value) = facts.fact(Kind::Whole(class));
    writing::given(Question::Fact(fact.to_string().into()), value)
}

/// Whether a class path has the folders of the tests' own in the same order: then classes are found in
/// the same places.
fn has_folders_of(facts: &GoalFacts, class_path: &str) -> bool {
    let folders: Vec<&Path> =
        facts.index.paths().filter(|(_, is_folder)| *is_folder).map(|(path, _)| path).collect();
    let theirs = class_path.split(':').map(Path::new).filter(|path| folders.contains(path));
    theirs.eq(folders.iter().copied())
}
