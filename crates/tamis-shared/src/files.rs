//! Records in files: export, import, and other stores of this machine.

use crate::answer::{Answer, line};
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use tamis_core::{Notices, Origin};
use tamis_project::Project;
use tamis_remote::keys::SecretKey;
use tamis_remote::trust::Trust;
use tamis_remote::{outbound, pack, remote, scope};
use tamis_report::human::{bytes, counted};
use tamis_report::json::store::StoreLine;
use tamis_settings::Remote as Settings;
use tamis_store::{Shipment, Store};

/// The scope that stands in files.
const SCOPE: &str = "export";

/// What of the settings counts for files: without [remote], the defaults.
fn settings(project: &Project) -> Settings {
    project.settings.remote.clone().unwrap_or_else(Settings::for_files)
}

fn name(project: &Project, settings: &Settings) -> String {
    settings.project.clone().unwrap_or_else(|| scope::project(project.root()))
}

pub(crate) fn export(
    project: &Project,
    file: &Path,
    redact: bool,
    notices: &dyn Notices,
) -> Result<Answer> {
    let store =
        project.existing_store(notices)?.context("nothing is recorded for this project yet")?;
    let settings = settings(project);
    let key = SecretKey::of_this_machine()?;
    let translate = |observed| outbound::translated(observed, &settings, &project.paths);
    let mut shipment = store.ship(&store.believed_records()?, &remote::KINDS, &translate)?;
    outbound::without_places(&mut shipment, &project.paths);
    let mut called = name(project, &settings);
    if redact {
        outbound::redact(&mut shipment);
        called = "redacted".into();
    }
    let packed = pack::write(&shipment, (&called, SCOPE), &key, redact)?;
    // A name alone is a file of this folder.
    let place = std::path::absolute(file).with_context(|| file.display().to_string())?;
    tamis_private::write(&place, &packed).with_context(|| file.display().to_string())?;
    let records = counted(shipment.records.len() as u64, "record", "records");
    let text = format!("wrote {records} to {} ({})\n", file.display(), bytes(packed.len() as u64));
    let line = StoreLine {
        records: Some(shipment.records.len() as u64),
        bytes: Some(packed.len() as u64),
        ..line("exported")
    };
    Ok(Answer::of(text, line))
}

/// Takes in stores and files, in their order.
pub(crate) fn merge(
    project: &Project,
    stores: &[PathBuf],
    notices: &dyn Notices,
) -> Result<Answer> {
    let store = project.open_store(notices).context("there is no store to work with")?;
    let (mut new, mut known) = (0, 0);
    for path in stores {
        let shipment = if path.is_dir() {
            let other = open_other(project, path)?;
            store
                .take_checks(&other)
                .context("what was checked by --shadow and --audit cannot be taken in")?;
            other.ship(&other.believed_records()?, &remote::KINDS, &Some)?
        } else {
            of_file(project, path)?
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let taken = store.take_in(&shipment, &Origin::Named(name.into_owned()))?;
        new += taken.records;
        known += taken.known;
    }
    let text = format!(
        "took {}; {} here already\n",
        counted(new as u64, "new record", "new records"),
        counted(known as u64, "was", "were")
    );
    let line = StoreLine { records: Some(new as u64), ..line("merged") };
    Ok(Answer::of(text, line))
}

/// A store of this user: as it is, since nothing leaves the machine.
fn open_other(project: &Project, folder: &Path) -> Result<Store> {
    let distrust = tamis_private::check_below(&folder.join("tamis.db"), project.root()).err();
    if let Some(distrust) = distrust {
        bail!(
            "{}: {} {}; {}",
            folder.display(),
            distrust.place.display(),
            distrust.why,
            distrust.remedy
        );
    }
    let opened = Store::open_existing(folder)?;
    let (store, _) = opened.with_context(|| format!("{} is no store", folder.display()))?;
    store.believe(project.believed.clone());
    Ok(store)
}

fn of_file(project: &Project, file: &Path) -> Result<Shipment> {
    let packed = std::fs::read(file).with_context(|| file.display().to_string())?;
    let settings = settings(project);
    let own = SecretKey::existing()?.map(|key| key.public());
    let trust = Trust::new(&settings.trusted, own);
    let project = name(project, &settings);
    let read = pack::read(&packed, &pack::address(&packed), (&project, SCOPE), &trust);
    let (_, mut shipment) = read.with_context(|| format!("{} is refused", file.display()))?;
    shipment.kept.retain(|kept| remote::KINDS.contains(&kept.kind.as_str()));
    Ok(shipment)
}
