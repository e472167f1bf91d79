//! Test methods inside a JVM: which of them are left out, and what is recorded of the others.
//!
//! The runner lists the methods of a class when the class begins. If the records know exactly these, those
//! that need not run are left out. At its end the class is recorded as a whole, unless something was left
//! out and it passed, and each method that ran by itself, unless they could not be distinguished: then
//! only the class counts, and that is remarked.

use super::state::MethodBeside;
use super::{ClassReport, Division, Host, JvmModel, MethodReport, MethodReports, Unit, writing};
use crate::methods;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::SystemTime;
use tamis_core::record::Access;
use tamis_core::{PortablePath, Question, Scheme};
use tamis_dynamic::FactKind;
use tamis_jvm_wire::{Ended, Methods, Stretch, ToJvm, Verdict};
use tamis_observe::Observations;
use tamis_report::TestReport;
use tamis_session::{Ledger, PartsPlan, Seen, Services, proof_of};

/// A stretch of a test class.
#[derive(Debug)]
pub(super) struct StretchSeen {
    pub(super) of: u32,
    pub(super) method: Option<String>,
    pub(super) began: SystemTime,
}

impl Host {
    pub(super) fn stretch_began(&mut self, test: u32, stretch: Stretch) {
        if self.units.contains_key(&stretch.of) {
            self.jvm.stretch_began(stretch.of, test, stretch.method.as_deref());
            let Stretch { of, method } = stretch;
            self.stretches.insert(test, StretchSeen { of, method, began: SystemTime::now() });
        }
    }

    /// Whether it was one.
    pub(super) fn stretch_ended(&mut self, ended: &Ended) -> bool {
        let Some(stretch) = self.stretches.remove(&ended.test) else { return false };
        self.jvm.stretch_ended(stretch.of, ended.test);
        if let Some(unit) = self.units.get_mut(&stretch.of) {
            match stretch.method {
                None => unit.division.between.push(ended.test),
                Some(method) => {
                    let known = unit.division.ran.entry(method).or_insert((
                        stretch.began,
                        Verdict::Passed,
                        0,
                    ));
                    if ended.verdict == Verdict::Failed {
                        known.1 = Verdict::Failed;
                    }
                    known.2 += ended.wall_us;
                }
            }
        }
        true
    }

    /// The methods of a class, or of all that are open, cannot be distinguished.
    pub(super) fn undivided(&mut self, class: Option<&str>, why: &str) {
        let is_it = |unit: &Unit| class.is_some_and(|class| unit.class == class);
        let known = self.units.values().any(is_it);
        for unit in self.units.values_mut().filter(|unit| !known || is_it(unit)) {
            unit.division.undivided.get_or_insert_with(|| why.to_owned());
        }
    }
}

impl JvmModel {
    /// A runner lists the methods of a class that it begins with.
    pub(super) fn methods_listed(
        &mut self,
        services: &mut Services<'_, '_>,
        pid: u32,
        listed: &Methods,
    ) {
        let skipped = self.choose_methods(services, pid, listed);
        let host = self.jvms.hosts.get_mut(&pid).map(|host| &mut host.answers);
        if let Some(answers) = host.or_else(|| self.jvms.unclaimed.get_mut(&pid)) {
            // A JVM that has gone away needs no answer.
            let _ = tamis_wire::write(answers, &ToJvm::Chosen { skipped });
        }
    }

    /// Whether a test is a class of the project, not something that a framework calls a test.
    pub(super) fn is_class(&self, goal: usize, name: &str) -> bool {
        self.goals[goal].facts.index.find_dotted(name).is_some()
    }

    fn choose_methods(
        &mut self,
        services: &mut Services<'_, '_>,
        pid: u32,
        listed: &Methods,
    ) -> Vec<Option<String>> {
        let mut answers = vec![None; listed.methods.len()];
        let Some(host) = self.jvms.hosts.get_mut(&pid) else { return answers };
        let goal = &mut self.goals[host.goal];
        let alone = host.units.len() == 1;
        let Some(unit) = host.units.values_mut().find(|unit| unit.class == listed.class) else {
            return answers;
        };
        let first = unit.division.listed.is_none();
        if !alone || !first || !goal.methods.listed.insert(listed.class.clone()) {
            let why = "it runs more than once, or beside others";
            unit.division.undivided.get_or_insert_with(|| why.to_owned());
            return answers;
        }
        let units: BTreeSet<_> = listed.methods.iter().map(|name| methods::unit(name)).collect();
        let plan = goal.methods.plans.remove(&listed.class).filter(|plan| plan.is_of(&units));
        unit.division.made_before = listed.made_before;
        unit.division.listed = Some(listed.methods.iter().cloned().collect());
        let Some(PartsPlan { mut parts }) = plan else { return answers };
        let mut proofs = Vec::new();
        for (answer, name) in answers.iter_mut().zip(&listed.methods) {
            let Some(planned) = parts.remove(&methods::unit(name)) else { continue };
            let report = TestReport::of(&planned);
            let Some(proof) = proof_of(&planned) else {
                goal.methods.reports.insert(name.clone(), report);
                continue;
            };
            let by = report.proof.as_deref().unwrap_or_default();
            *answer = Some(format!("{} ({by})", report.reason));
            proofs.push(proof);
            unit.division.left_out.insert(name.clone());
            services.ledger.add_report(report);
        }
        services.ledger.rely_on(proofs, super::deciding::is_no_class_fact);
        answers
    }

    /// What is to be recorded of the methods of a test class that ended; its last window was reported.
    pub(super) fn method_reports(
        &mut self,
        pid: u32,
        test: u32,
        division: &mut Division,
    ) -> Result<Vec<MethodReport>, String> {
        let Some(host) = self.jvms.hosts.get_mut(&pid) else { return Ok(Vec::new()) };
        let depends = host.jvm.methods_ended(test, division.made_before);
        if let Some(why) = division.undivided.take() {
            return Err(why);
        }
        let Some(listed) = &division.listed else {
            return Err("its runner did not list its methods".into());
        };
        let ran = division.ran.keys().chain(&division.left_out);
        if ran.cloned().collect::<BTreeSet<String>>() != *listed {
            return Err("other methods ran than its runner listed".into());
        }
        let mut reports = Vec::new();
        for method in depends? {
            let Some((began, verdict, wall_us)) = division.ran.remove(&method.method) else {
                return Err(format!("{} was not listed", method.method));
            };
            reports.push(MethodReport {
                name: method.method,
                depends: method.depends,
                own: method.stretches,
                began,
                verdict,
                wall_us,
            });
        }
        Ok(reports)
    }

    /// Writes the records of the methods of a class whose files are all known.
    pub(super) fn write_methods(
        &mut self,
        ledger: &mut Ledger<'_>,
        pid: u32,
        class: &ClassReport,
        MethodReports { methods, between, listed, .. }: MethodReports,
    ) {
        let mut pieces: HashMap<u32, Seen> = HashMap::new();
        let stretches = methods.iter().flat_map(|m| &m.own).chain(&between);
        for &stretch in stretches {
            match self.joiner.take_seen(pid, stretch) {
                Some(seen) => drop(pieces.insert(stretch, seen)),
                None => {
                    let why = "the tracer did not see where its methods began and ended";
                    return self.not_divided(class.goal, &class.class, why.into());
                }
            }
        }
        let facts = &self.goals[class.goal].facts;
        let is_tools = |path: &PortablePath| self.is_tools_own(ledger.project(), facts, path);
        if let Some(why) = shared_file(&methods, &pieces, is_tools) {
            return self.not_divided(class.goal, &class.class, why);
        }
        let failed_by_itself = class.verdict == Verdict::Failed
            && methods.iter().all(|method| method.verdict == Verdict::Passed);
        let beside = |name: String| {
            let (fact, value) = facts.fact(FactKind::Beside(name.clone()));
            let given = writing::given(Question::Fact(fact.to_string().into()), value);
            (name, ledger.pool().number(given))
        };
        let all: Arc<[(String, u32)]> = listed.into_iter().map(beside).collect();
        // Once for all methods: there can be as many pieces of it as methods.
        let around: Vec<&Seen> = between.iter().filter_map(|s| pieces.get(s)).collect();
        let around = writing::joined(&around);
        for method in methods {
            let own = method.own.iter().filter_map(|s| pieces.get(s));
            let seen: Vec<&Seen> = std::iter::once(&around).chain(own).collect();
            let report = ClassReport {
                goal: class.goal,
                class: class.class.clone(),
                method: Some(MethodBeside { name: method.name, all: Arc::clone(&all) }),
                began: method.began,
                depends: method.depends,
                verdict: method.verdict,
                wall_us: method.wall_us,
                blind: class.blind,
            };
            self.write(ledger, pid, report, &seen, None);
        }
        if failed_by_itself && let Some(&at) = self.goals[class.goal].units.get(&class.class) {
            ledger.show_whole(at);
        }
    }

    pub(super) fn not_divided(&mut self, goal: usize, class: &str, why: String) {
        self.goals[goal].methods.undivided.insert(class.to_owned(), why);
    }

    /// Remarks which test classes are known as a whole only.
    pub(super) fn remark_undivided(&self, ledger: &Ledger<'_>) {
        const SHOWN: usize = 3;
        for goal in self.goals.iter().filter(|goal| !goal.methods.undivided.is_empty()) {
            let undivided = &goal.methods.undivided;
            let all = undivided.len();
            let some: Vec<String> =
                undivided.iter().take(SHOWN).map(|(c, why)| format!("{c} ({why})")).collect();
            let more = if all > SHOWN { ", ..." } else { "" };
            let scope = &goal.facts.scope;
            ledger.remark(format!(
                "{scope}: {all} test {} known as a whole only: {}{more}",
                if all == 1 { "class is" } else { "classes are" },
                some.join(", ")
            ));
        }
    }
}

/// A file that one method looks at and another one wrote: they depend on each other. Unless it is one by which
/// tools talk to each other.
fn shared_file(
    methods: &[MethodReport],
    pieces: &HashMap<u32, Seen>,
    is_tools: impl Fn(&PortablePath) -> bool,
) -> Option<String> {
    let files = |method: &MethodReport| -> Vec<&Observations> {
        let seen = method.own.iter().filter_map(|stretch| pieces.get(stretch));
        seen.map(|seen| &*seen.observations).collect()
    };
    let mut written: BTreeMap<Vec<u8>, BTreeSet<&str>> = BTreeMap::new();
    for method in methods {
        for files in files(method) {
            let changed = files.observed.iter().filter(|o| o.access.contains(Access::WRITE));
            let changed = changed.filter_map(|o| o.question.path());
            for path in changed.chain(&files.left_behind).filter(|path| !is_tools(path)) {
                written.entry(path.as_bytes().to_vec()).or_default().insert(&method.name);
                // Who lists the folder sees it.
                let folder = parent(path);
                written.entry(folder).or_default().insert(&method.name);
            }
        }
    }
    if written.is_empty() {
        return None;
    }
    for method in methods {
        for observed in files(method).iter().flat_map(|files| &files.observed) {
            let Question::Path(path, scheme) = &observed.question else { continue };
            let Some(writers) = written.get(path.as_bytes()) else { continue };
            let is_folder_only = *scheme != Scheme::Listing
                && matches!(observed.before, tamis_core::Value::Directory);
            let other = writers.iter().find(|writer| **writer != method.name);
            if let Some(other) = other.filter(|_| !is_folder_only) {
                return Some(format!("{} looks at {path}, which {other} changed", method.name));
            }
        }
    }
    None
}

fn parent(path: &PortablePath) -> Vec<u8> {
    let bytes = path.as_bytes();
    let end = bytes.iter().rposition(|&b| b == b'/').unwrap_or(0);
    bytes[..end].to_vec()
}
