//! Test methods: what each of them depends on, where they can be distinguished.
//!
//! What a class did outside of its methods (fields and blocks that are initialised once, set-up and
//! tear-down of the class, rules of the class, whatever its framework called in between) counts for each
//! of them. What a method did, its constructors and its own set-up and tear-down, counts for that one. The
//! methods of a class are to each other what test classes of one JVM are: what earlier ones left in static
//! state is found by the same rules, here in both directions, and so is what objects hold that the class
//! made outside of its methods.
//!
//! A class is **not divided** where methods may share more than that:
//! * its framework fixes their order, or gives them one object (by annotation, or because no constructor
//!   of the class ran for a method, unless the runner says that it made the objects before, as JUnit 3 does
//!   for each method and TestNG for all of them, whose object the agent looks at);
//! * a method names a static field of the test class, of those nested with it or above it, that can
//!   change;
//! * a method calls objects whose making does not count for it: neither it nor the class made them, and no
//!   static field which it can get at holds them. Something outside of the project keeps them, such as a
//!   container of a framework;
//! * what of the JVM itself is looked at ([`globals`](crate::globals)) is not the same before all of them;
//! * the class was changed on its way into the JVM, so that nothing of this is known.

use crate::answers::known_class_id;
use crate::jvm::Jvm;
use crate::seen::{Counted, Depends, Seen};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use tamis_classpath::names::{NameId, dotted};

/// Annotations that make methods depend on each other.
const TOGETHER: &[&str] = &[
    "org.junit.FixMethodOrder",
    "org.junit.jupiter.api.TestMethodOrder",
    "org.junit.jupiter.api.TestInstance",
];

/// One test method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodDepends {
    /// `a.FooTest#bar`
    pub method: String,
    /// The stretches in which it ran.
    pub stretches: Vec<u32>,
    pub depends: Depends,
}

impl Jvm {
    /// A stretch of a test class that is open began: one of its methods, or the time between.
    pub fn stretch_began(&mut self, of: u32, stretch: u32, method: Option<&str>) {
        self.tests.stretch_began(of, stretch, method);
    }

    pub fn stretch_ended(&mut self, of: u32, stretch: u32) {
        self.tests.stretch_ended(of, stretch);
    }

    /// What each method of a test class depends on, which is about to [end](Jvm::ended); or why they
    /// cannot be distinguished. Where their objects were made before, none may have been made during a method.
    pub fn methods_ended(
        &mut self,
        of: u32,
        made_before: bool,
    ) -> Result<Vec<MethodDepends>, String> {
        let Some(divided) = self.tests.divided.remove(&of) else {
            return Err("its methods were not reported".into());
        };
        if divided.open.is_some() {
            return Err("one of its methods did not end".into());
        }
        if let Some(what) = &divided.unsettled {
            return Err(format!("its methods change {what} for each other"));
        }
        let mut methods: BTreeMap<&str, (Vec<u32>, Seen)> = BTreeMap::new();
        for (stretch, method, seen) in &divided.done {
            let (stretches, all) = methods.entry(method).or_default();
            stretches.push(*stretch);
            all.absorb_all(seen);
        }
        let classes: BTreeSet<&str> = methods.keys().map(|method| class_of(method)).collect();
        self.check_annotations(&divided.shared.own_class, &classes)?;
        let mut made = self.made(&divided.shared);
        if made_before {
            self.kinds.update(&self.calls, &mut self.names);
            self.forget_own(&classes, &mut made);
        }
        // They are to each other what earlier tests are.
        let earlier = self.tests.ended.len();
        for (id, _, seen) in &divided.done {
            self.add_ended(*id, seen, seen.hits.clone());
        }
        let all = methods.into_iter().map(|(method, (stretches, own))| {
            let mut seen = divided.shared.clone();
            seen.absorb_all(&own);
            // Which methods there are follows from these.
            seen.classes.extend(classes.iter().map(|class| (*class).to_owned()));
            let counted = self.depends_on(&seen, &made);
            if !made_before {
                self.check_object(method, &own)?;
            }
            self.check_statics(method, &own, &divided.shared.own_class)?;
            self.check_strangers(method, &own, &counted)?;
            let method = method.to_owned();
            Ok(MethodDepends { method, stretches, depends: counted.depends })
        });
        let all = all.collect();
        self.tests.ended.truncate(earlier);
        all
    }

    fn check_annotations(&self, test: &str, classes: &BTreeSet<&str>) -> Result<(), String> {
        let mut todo: Vec<String> = classes.iter().map(|class| (*class).to_owned()).collect();
        todo.push(test.to_owned());
        let mut seen = BTreeSet::new();
        while let Some(name) = todo.pop() {
            if TOGETHER.contains(&name.as_str()) {
                let short = name.rsplit('.').next().unwrap_or(&name);
                return Err(format!("it has @{short}"));
            }
            if seen.insert(name.clone()) {
                todo.extend(self.index.header_names(&name));
            }
        }
        Ok(())
    }

    /// Classes of which objects were made.
    fn made(&self, seen: &Seen) -> FxHashSet<NameId> {
        let methods = seen.hits.iter().filter_map(|probe| self.calls.method(probe));
        methods.filter(|(_, method)| method.is_constructor).map(|(class, _)| class.name).collect()
    }

    /// What objects of the test class hold is not from one method to the next.
    fn forget_own(&self, classes: &BTreeSet<&str>, made: &mut FxHashSet<NameId>) {
        let ids = classes.iter().filter_map(|class| known_class_id(class, &self.names));
        let own: FxHashSet<NameId> =
            ids.flat_map(|id| self.calls.parents_of(&self.kinds, id).chain([id])).collect();
        let others = made.iter().filter(|class| !own.contains(class));
        let above_others: FxHashSet<NameId> =
            others.flat_map(|&class| self.calls.parents_of(&self.kinds, class)).collect();
        made.retain(|class| !own.contains(class) || above_others.contains(class));
    }

    /// A method that did anything must have had an object of its own.
    fn check_object(&self, method: &str, own: &Seen) -> Result<(), String> {
        let class = class_of(method);
        let Some(id) = known_class_id(class, &self.names) else {
            return Err(format!("class {class} was not seen"));
        };
        let Some(known) = self.calls.class(id) else {
            return Err(format!("class {class} was changed when it was loaded"));
        };
        let parents = self.calls.parents_of(&self.kinds, known.name);
        let family: FxHashSet<NameId> = parents.chain([id]).collect();
        let ran = own.hits.iter().filter_map(|probe| self.calls.method(probe));
        let mut of_family = ran.filter(|(c, m)| family.contains(&c.name) && !m.is_static);
        let constructed = self.calls.constructors(id).any(|probe| own.hits.contains(probe));
        if of_family.next().is_some() && !constructed {
            return Err(format!("{method} ran on an object that others use, too"));
        }
        Ok(())
    }

    /// Static state of the test class itself is there for its methods to share.
    fn check_statics(&self, method: &str, own: &Seen, test: &str) -> Result<(), String> {
        let Some(kept) = &self.statics.kept else { return Ok(()) };
        let (names, kinds) = (&self.names, &self.kinds);
        let id = |class: &str| known_class_id(class, names);
        let tests = [id(class_of(method)), id(test)];
        let family: FxHashSet<NameId> = tests
            .iter()
            .flatten()
            .flat_map(|&class| self.calls.parents_of(kinds, class))
            .map(|class| self.calls.nest(class))
            .collect();
        for (_, ran) in own.hits.iter().filter_map(|probe| self.calls.method(probe)) {
            if ran.is_initialiser {
                continue;
            }
            for &owner in &ran.statics {
                let declaring = self.calls.parents_of(kinds, owner);
                let nests = declaring.map(|class| self.calls.nest(class));
                if let Some(nest) =
                    nests.filter(|n| family.contains(n)).find(|n| kept.holds_state(*n))
                {
                    let nest = dotted(names.get(nest));
                    return Err(format!("{method} uses static state of {nest}"));
                }
            }
        }
        Ok(())
    }

    /// Objects that a method calls and of which it is not known who gave them to it.
    fn check_strangers(&self, method: &str, own: &Seen, counted: &Counted) -> Result<(), String> {
        if let Some(class) = counted.stranger {
            let class = dotted(self.names.get(class));
            return Err(format!("{method} uses objects of {class} that it did not make"));
        }
        for (class, ran) in own.hits.iter().filter_map(|probe| self.calls.method(probe)) {
            if ran.is_static || ran.is_constructor || counted.objects.contains(&class.name) {
                continue;
            }
            let mut constructors = self.calls.constructors(class.name).peekable();
            let is_made = constructors.peek().is_none()
                || constructors.any(|constructor| counted.hits.contains(constructor));
            if !is_made {
                let class = dotted(self.names.get(class.name));
                return Err(format!("{method} uses objects of {class} that it did not make"));
            }
        }
        Ok(())
    }
}

fn class_of(method: &str) -> &str {
    method.split('#').next().unwrap_or(method)
}
