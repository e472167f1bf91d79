//! A goal as a scope that the plan asks about.

use crate::always_run::always_run;
use crate::coverage;
use crate::goal::GoalFacts;
use crate::methods;
use crate::static_strategy;
use anyhow::Result;
use tamis_core::decide::Demand;
use tamis_core::{PortablePath, Question, TestKey, ToolScope, Unit, Value};
use tamis_dynamic::Fact;
use tamis_project::{Project, ScopeFacts};
use tamis_session::{GraphDecision, KnownScope};
use tamis_settings::Settings;

impl ScopeFacts for GoalFacts {
    fn answer(&self, fact: &str) -> Option<Value> {
        Self::answer(self, &Fact::parse(fact)?)
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
        let measured = self.measured_by.as_deref().map(coverage::reason);
        measured.map_or(Demand::None, Demand::Effect)
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
