//! A goal as a scope that the plan asks about.

use crate::always_run::always_run;
use crate::coverage;
use crate::goal::GoalFacts;
use crate::kept_coverage;
use crate::methods;
use crate::static_strategy;
use anyhow::Result;
use tamis_core::decide::Demand;
use tamis_core::{Planned, PortablePath, Question, TestKey, ToolScope, Unit, Value};
use tamis_dynamic::Fact;
use tamis_project::{Project, ScopeFacts};
use tamis_session::{GraphDecision, KnownScope};
use tamis_settings::Settings;
use tamis_store::Store;

impl ScopeFacts for GoalFacts {
    fn answer(&self, fact: &str) -> Option<Value> {
        Self::answer(self, &Fact::parse(fact)?)
    }

    fn became(&self, fact: &str, was: Value) -> Option<String> {
        Self::became(self, &Fact::parse(fact)?, was)
    }

    fn is_unbuilt(&self, path: &PortablePath) -> bool {
        self.unbuilt.file(path).is_some()
    }
}

impl KnownScope for GoalFacts {
    fn scope(&self) -> &ToolScope {
        &self.scope
    }

    fn folder(&self) -> &str {
        &self.folder
    }

    fn module_name(&self) -> Option<&str> {
        self.artifact.as_deref()
    }

    fn demand(&self, settings: &Settings, unit: &Unit) -> Demand {
        if let Some(pattern) = always_run(&settings.jvm, unit, &self.index) {
            return Demand::AlwaysRun(pattern);
        }
        let measured = self.measured.as_ref().filter(|measured| !measured.keeps);
        measured.map_or(Demand::None, |measured| Demand::Effect(coverage::reason(&measured.by)))
    }

    fn decides_together(&self) -> bool {
        self.measured.is_some() || tamis_dynamic::needs_others(&self.index).is_some()
    }

    fn wanted_besides(&self, store: Option<&Store>, planned: &[Planned]) -> Vec<(usize, String)> {
        let measured = self.measured.as_ref().filter(|measured| measured.keeps);
        let by_coverage = measured.map(|m| kept_coverage::wanted(self, &m.by, store, planned));
        let mut wanted = by_coverage.unwrap_or_default();
        if planned.iter().all(Planned::skips) && wanted.is_empty() {
            return wanted;
        }
        if let Some(class) = tamis_dynamic::needs_others(&self.index) {
            let others = planned.iter().enumerate().filter(|(_, planned)| planned.skips());
            let others = others.filter(|(at, _)| wanted.iter().all(|(known, _)| known != at));
            let why = format!("{class} needs tests of other classes to run before it");
            let others: Vec<_> = others.map(|(at, _)| (at, why.clone())).collect();
            wanted.extend(others);
        }
        wanted
    }

    fn may_divide(&self) -> bool {
        // What a method covers is not known.
        self.measured.is_none()
    }

    fn wholes_of(&self, part: &Unit) -> Vec<Unit> {
        methods::classes_of(part)
    }

    fn sibling(&self, question: &Question) -> Option<Unit> {
        methods::beside(question)
    }

    fn unbuilt(&self, question: &Question) -> Option<String> {
        match question {
            Question::Fact(name) => self.not_built(&Fact::parse(name)?.kind),
            Question::Path(path, _) => self.unbuilt.file(path),
            _ => None,
        }
    }

    fn upper_bound(&self) -> Option<String> {
        self.unbuilt.remark()
    }

    fn by_graph(
        &self,
        project: &Project,
        units: &[TestKey],
        calls: bool,
    ) -> Option<Result<GraphDecision>> {
        // Only a build tool says which classes are tests.
        self.test_classes.as_ref()?;
        Some(static_strategy::decide(project, self, units, calls))
    }
}
