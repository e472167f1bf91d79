//! On which way a method came to count for a test that did not run it.
//!
//! Each method that is found is kept with the rule that found it and the method, class or static field that it
//! was found by. So a chain leads from it to the state that was left: `TAMIS_LOG=tamis_dynamic=debug` writes it,
//! and `why` shows where it ends.

use crate::calls::Calls;
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use std::fmt;
use tamis_classfile::mutf8;
use tamis_classpath::names::{NameId, Names, dotted};

/// How something is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Rule {
    /// A static initialiser of a class that is touched.
    Initialiser,
    /// Makes objects that a static field can hold.
    Maker,
    /// Belongs to objects or classes that hold state, or gets something from such a method.
    Concerned,
    /// Names a static field in which something can have been left, or gave what was written there.
    Writer,
    /// Handed to code that is not the project's by a nest with state.
    Handed,
    /// Called back by a library or a framework.
    CalledBack,
    Called,
    /// As a lambda, by the name of its interface.
    CalledAsLambda,
    /// Of an object that code which is not seen can call.
    OfObject,
    /// Ran together with code that calls by reflection.
    Reflection,
    Running,
    /// Left where any code can get it, such as a store of JUnit.
    Shelf,
    /// Made objects that the test uses and did not make.
    Stranger,
    /// Set a system property, the default locale or the like.
    Globals,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum From {
    Method(u32),
    Class(NameId),
    Field(NameId, NameId),
    Nothing,
}

/// Longer ways are cut off.
const LONGEST: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Trail {
    /// What the test ran itself.
    own: RoaringBitmap,
    steps: FxHashMap<u32, (Rule, From)>,
    /// Of methods that the test ran itself, why they are concerned.
    concerned: FxHashMap<u32, From>,
}

impl Trail {
    pub(crate) fn of(own: &RoaringBitmap) -> Self {
        Self { own: own.clone(), ..Self::default() }
    }

    pub(crate) fn step(&mut self, probe: u32, rule: Rule, from: From) {
        self.steps.entry(probe).or_insert((rule, from));
    }

    pub(crate) fn steps(&mut self, probes: impl IntoIterator<Item = u32>, rule: Rule, from: From) {
        probes.into_iter().for_each(|probe| self.step(probe, rule, from));
    }

    pub(crate) fn concerned(&mut self, probe: u32, from: From) {
        self.concerned.entry(probe).or_insert(from);
    }

    /// The way to a method, its end first.
    pub(crate) fn chain(&self, probe: u32) -> Vec<(u32, Rule, From)> {
        let mut chain = Vec::new();
        let mut at = probe;
        while chain.len() < LONGEST {
            let concerned = self.concerned.get(&at).map(|&from| (Rule::Concerned, from));
            let step = self.steps.get(&at).copied();
            // What others ran counted before it could meet anything.
            let way = if self.own.contains(at) { concerned.or(step) } else { step.or(concerned) };
            let Some((rule, from)) = way else { break };
            chain.push((at, rule, from));
            match from {
                From::Method(next) if next != at => at = next,
                _ => break,
            }
        }
        chain
    }

    /// Where the way to a method ends.
    pub(crate) fn end(&self, probe: u32) -> (Rule, From) {
        let end = self.chain(probe).last().map(|&(_, rule, from)| (rule, from));
        end.unwrap_or((Rule::Called, From::Nothing))
    }

    /// What was left, in words, where the way ends like this.
    pub(crate) fn left(end: (Rule, From), names: &Names) -> String {
        match end {
            (_, From::Field(class, field)) => {
                let field = mutf8::decode(names.get(field));
                format!("what earlier tests can have left in {}.{field}", dotted(names.get(class)))
            }
            (Rule::Shelf, From::Class(class)) => {
                let class = dotted(names.get(class));
                format!("what earlier tests left for any code to get, such as {class}")
            }
            (Rule::Stranger, From::Class(class)) => {
                format!("objects of {} that it did not make", dotted(names.get(class)))
            }
            (Rule::Initialiser, _) => "a static initialiser that ran before".to_owned(),
            (Rule::Maker, _) => "objects that static fields can hold".to_owned(),
            (Rule::CalledBack, _) => "what a library or a framework can keep".to_owned(),
            (Rule::Running, _) => "a thread that ran when it began".to_owned(),
            (Rule::Shelf, _) => "what earlier tests left for any code to get".to_owned(),
            (Rule::Globals, _) => "what earlier tests changed of the JVM".to_owned(),
            _ => "what earlier tests can have left".to_owned(),
        }
    }

    /// The same in words: what was found, how, and by what.
    pub(crate) fn text(&self, probe: u32, calls: &Calls, names: &Names) -> String {
        let mut text = method_name(probe, calls, names);
        for (_, rule, from) in self.chain(probe) {
            let from = match from {
                From::Method(probe) => method_name(probe, calls, names),
                From::Class(class) => dotted(names.get(class)),
                From::Field(class, field) => {
                    let field = mutf8::decode(names.get(field));
                    format!("the static field {}.{field}", dotted(names.get(class)))
                }
                From::Nothing => String::new(),
            };
            text += &format!(" <- {rule} {from}");
        }
        text
    }
}

fn method_name(probe: u32, calls: &Calls, names: &Names) -> String {
    calls.method(probe).map_or_else(
        || format!("a method of a class that is not known ({probe})"),
        |(class, method)| {
            let signature = mutf8::decode(names.get(method.signature)).into_owned();
            let name = signature.split('(').next().unwrap_or_default();
            format!("{}#{name}", dotted(names.get(class.name)))
        },
    )
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Initialiser => "ran in a static initialiser of a class that the test touches:",
            Self::Maker => "makes objects that a static field can hold",
            Self::Concerned => "can meet what was left in",
            Self::Writer => "can have left something in",
            Self::Handed => "is handed to other code by a class with state",
            Self::CalledBack => "can be called back by a library that the test uses",
            Self::Called => "can be called by",
            Self::CalledAsLambda => "can be called as a lambda by",
            Self::OfObject => "belongs to an object that is made by",
            Self::Reflection => "ran together with code that calls by reflection:",
            Self::Running => "ran when the test began",
            Self::Shelf => "ran in a test that left something where any code can get it, as does",
            Self::Stranger => "ran in a test that made objects which this one uses, of",
            Self::Globals => "ran in a test that changed something of the JVM",
        })
    }
}
