//! JVMs that tests start.
//!
//! Such a JVM has the agent; all that it does belongs to the test that started it. What it loaded from the
//! project's folders is known by its methods, if it told everything, and ended before its test did; else
//! its class files count as any program's files do. The class files of jars always do: its jars may be
//! others than those of the tests.
//!
//! The tracer tells at the end of a test which JVMs it started. What those said may still be on its way by
//! then, so what the tracer tells of a host waits in order until it is known.

use super::launched::holds_classes;
use super::{Collector, writing};
use crate::jvm::goal::GoalFacts;
use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use tamis_core::record::Observed;
use tamis_core::{Question, Value};
use tamis_dynamic::{Depends, Fact, FactKind as Kind, Jvm};
use tamis_observe::{ChildSeen, Observations, PartEnded};
use tamis_wire::{FromJvm, Hello, VERSION};

/// A child has one stretch, which is all of it.
const ALL: u32 = 0;

pub(super) struct Child {
    goal: usize,
    said_bye: bool,
    state: State,
}

enum State {
    Runs(Box<Jvm>),
    /// What it did; `None` if not all of it is known.
    Ended(Option<Depends>),
}

impl Collector<'_> {
    /// Whether the host is known.
    pub(super) fn child_connected(&mut self, host: u32, hello: &Hello) -> bool {
        let Some(goal) = self.hosts.get(&host).map(|host| host.goal) else { return false };
        let facts = &self.goals[goal].facts;
        let mut jvm = Jvm::new(Arc::clone(&facts.index), &facts.scope);
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
        self.children.insert(hello.pid, Child { goal, said_bye: false, state });
        true
    }

    /// Gives the message back if a child did not say it.
    pub(super) fn said_by_child(&mut self, pid: u32, message: FromJvm) -> Option<FromJvm> {
        let Some(child) = self.children.get_mut(&pid) else { return Some(message) };
        let State::Runs(jvm) = &mut child.state else { return Some(message) };
        match message {
            FromJvm::Class(class) => jvm.class(&class),
            FromJvm::Window(mut window) => {
                window.open = vec![ALL];
                jvm.window(&window);
            }
            FromJvm::Initialised { probe, hits } => jvm.initialised(probe, &hits),
            FromJvm::Trouble(why) => jvm.trouble(&why),
            FromJvm::Bye => child.said_bye = true,
            _ => {}
        }
        None
    }

    pub(super) fn child_gone(&mut self, pid: u32) {
        let Some(child) = self.children.get_mut(&pid) else { return };
        if let State::Runs(jvm) = &mut child.state {
            let depends = Some(jvm.ended(ALL)).filter(|d| child.said_bye && d.incomplete.is_none());
            child.state = State::Ended(depends);
        }
        let hosts: Vec<u32> = self.parts.keys().copied().collect();
        for host in hosts {
            self.take_parts(host, false);
        }
    }

    /// What the tracer tells of a host, in order.
    pub(super) fn part_ended(&mut self, part: PartEnded) {
        let (PartEnded::Outside { host, .. } | PartEnded::Test { host, .. }) = part;
        self.parts.entry(host).or_default().push_back(part);
        self.take_parts(host, false);
    }

    /// Takes what is known by now; at the end, all.
    pub(super) fn take_parts(&mut self, host: u32, all: bool) {
        while let Some(part) = self.parts.get(&host).and_then(|parts| parts.front()) {
            if !all && !self.is_known(part) {
                return;
            }
            let Some(part) = self.parts.get_mut(&host).and_then(VecDeque::pop_front) else {
                return;
            };
            match part {
                PartEnded::Outside { host, observations, class_like } => {
                    self.outside.entry(host).or_default().push(Arc::new(observations));
                    self.class_like.entry(host).or_default().push(class_like);
                }
                PartEnded::Test { host, test, mut observations, class_files, children } => {
                    for child in children {
                        self.add_child(&mut observations, child);
                    }
                    self.files_seen((host, test), observations, class_files);
                }
            }
        }
        self.parts.remove(&host);
    }

    fn is_known(&self, part: &PartEnded) -> bool {
        let PartEnded::Test { children, .. } = part else { return true };
        children.iter().all(|child| {
            let other = self.builds.contains_key(&child.pid)
                || self.strangers.contains_key(&child.pid)
                || self.launched.contains_key(&child.pid);
            let known = self.children.get(&child.pid);
            child.outlives || other || known.is_some_and(|c| matches!(c.state, State::Ended(_)))
        })
    }

    fn add_child(&self, observations: &mut Observations, seen: ChildSeen) {
        let known = self.children.get(&seen.pid).filter(|_| !seen.outlives);
        let told = known.and_then(|child| match &child.state {
            State::Ended(Some(depends)) => Some((&self.goals[child.goal].facts, depends)),
            _ => None,
        });
        let Some((facts, depends)) = told else {
            observations.observed.extend(seen.class_like.observed);
            observations.taints.extend(seen.class_like.taints);
            return;
        };
        let told = depends.facts.iter();
        let told =
            told.map(|fact| writing::given(Question::Fact(Arc::clone(&fact.text)), fact.value));
        observations.observed.extend(told);
        let mut as_files: HashSet<&[u8]> = HashSet::new();
        for (path, &times) in seen.class_files.iter().filter(|&(_, &times)| times > 0) {
            match facts.index.class_at(path) {
                Some(class) if times == 1 && depends.loaded.contains(&class) => {}
                // Who looks at a class file without loading it depends on all of it.
                Some(class) => observations.observed.push(whole(facts, class)),
                None => drop(as_files.insert(path)),
            }
        }
        let is_file = |observed: &Observed| {
            let path = observed.question.path().map(|path| self.project.paths.to_absolute(path));
            path.is_none_or(|path| {
                !holds_classes(&facts.index, &path)
                    || as_files.contains(path.as_os_str().as_encoded_bytes())
            })
        };
        observations.observed.extend(seen.class_like.observed.into_iter().filter(is_file));
        observations.taints.extend(seen.class_like.taints);
    }
}

fn whole(facts: &GoalFacts, class: String) -> Observed {
    let fact = Fact { scope: facts.scope.clone(), kind: Kind::Whole(class) };
    let value = facts.answer(&fact).unwrap_or(Value::Absent);
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
