//! Test classes that the settings never let be skipped: `[jvm]` in tamis.toml.

use crate::jvm::goal::GoalFacts;
use crate::project::Project;
use tamis_core::decide::Demand;
use tamis_settings::Jvm;

#[derive(Debug, Clone, Copy)]
pub(crate) struct AlwaysRun<'p> {
    settings: &'p Jvm,
}

impl<'p> AlwaysRun<'p> {
    pub(crate) fn new(project: &'p Project) -> Self {
        Self { settings: &project.settings.jvm }
    }

    /// Whether any test class could be meant: a build then is never skipped as a whole.
    pub(crate) fn is_set(self) -> bool {
        !(self.settings.always_run.patterns().is_empty()
            && self.settings.always_run_tags.is_empty())
    }

    /// What is wanted of a test class: the user's wish, else the settings'.
    pub(crate) fn or(self, wish: &Demand, class: &str, facts: &GoalFacts) -> Demand {
        if *wish != Demand::None {
            return wish.clone();
        }
        let simple = class.rsplit('.').next().unwrap_or(class);
        let names = [class, simple];
        let by_name = names.iter().find_map(|n| self.settings.always_run.matching(n.as_bytes()));
        if let Some(pattern) = by_name {
            return Demand::AlwaysRun(pattern.to_owned());
        }
        if self.settings.always_run_tags.is_empty() {
            return Demand::None;
        }
        let tags = tamis_dynamic::tags(&facts.index, class);
        let tag = self.settings.always_run_tags.iter().find(|tag| tags.contains(*tag));
        tag.map_or(Demand::None, |tag| Demand::AlwaysRun(format!("tag {tag}")))
    }
}
