//! What one call of tamis works with.

use crate::checker::Checker;
use crate::options::RunOptions;
use anyhow::Result;
use tamis_core::Notices;
use tamis_project::{Project, World};
use tamis_report::Reporters;
use tamis_report::phases::Timeline;
use tamis_session::Frontends;
use tamis_store::Store;

#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub project: &'a Project,
    pub frontends: &'a Frontends,
    pub options: &'a RunOptions,
    pub reporters: &'a Reporters,
    /// What the time of the call is spent on.
    pub times: &'a Timeline,
    /// Chooses what runs although it could be skipped; only in runs.
    pub check: Option<&'a Checker>,
}

impl<'a> Call<'a> {
    pub fn notices(self) -> &'a dyn Notices {
        self.reporters
    }

    pub fn remark(self, text: impl Into<String>) {
        self.reporters.remark(text.into());
    }

    /// Opens the store for writing; without one everything runs.
    pub fn open_store(self) -> Option<Store> {
        self.project.open_store(self.reporters)
    }

    /// Opens the store if there is one; makes no file.
    pub fn existing_store(self) -> Result<Option<Store>> {
        self.project.existing_store(self.reporters)
    }

    /// The world, without what is known of single tests.
    pub fn world(self) -> World<'a> {
        World::new(self.project, self.frontends)
    }
}
