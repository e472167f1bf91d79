//! A replay from its command line to its result.

use crate::call::Caller;
use crate::details::Details;
use crate::git::{Git, Wanted};
use crate::mutants;
use crate::place::{Place, append_line};
use crate::revision::{Done, Stage};
use crate::setting::Setting;
use crate::sums;
use crate::words::ReplayArguments;
use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tamis_mutants::Language;
use tamis_report::human;
use tamis_report::json::Version;
use tamis_report::json::replay::{ReplayEntry, ReplayLine, Replayed, RevisionLine, RevisionState};

/// What happens, as it happens.
#[derive(Debug)]
pub enum Progress<'a> {
    /// What is going to be replayed.
    Begins { replay: &'a ReplayLine, done: usize },
    /// Something worth knowing.
    Remark(String),
    /// A revision has ended: the how-manieth of how many, and how long the others will take.
    Ended { line: &'a RevisionLine, n: usize, of: usize, left: Duration },
}

/// What `--resume` needs besides the result.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    words: Vec<String>,
    setup: Option<String>,
    clean: bool,
    granularity: Option<String>,
    jobs: Option<usize>,
    has_units: bool,
    /// The language of the faults that are put in.
    faults: Option<Language>,
}

/// The newest result of a project.
pub fn last_result(setting: &Setting) -> Result<Replayed> {
    let place = Place::of(&setting.store, setting.cache.as_deref());
    let (file, mut found) = place.last()?;
    // Of a replay that was ended early.
    if found.summaries.is_empty() {
        found.summaries = sums::summaries(&found, &details(&file));
    }
    Ok(found)
}

/// Replays, or goes on; gives the whole result.
pub fn replay(
    setting: &Setting,
    arguments: &ReplayArguments,
    tell: &dyn Fn(&Progress<'_>),
) -> Result<Replayed> {
    let git = Git::find(&setting.folder)?;
    let place = Place::of(&setting.store, setting.cache.as_deref());
    let _lock = place.lock()?;
    let (file, mut found, kept) =
        if arguments.resume { resumed(&place)? } else { begun(setting, arguments, &git, &place)? };
    let words: Vec<OsString> = kept.words.iter().map(OsString::from).collect();
    let caller = Caller {
        tamis: setting.tamis.clone(),
        folder: place.tree().join(&found.replay.folder),
        words,
        options: options(arguments, &kept),
    };
    let Some(first) = found.replay.revisions.first() else { bail!("there is no revision") };
    git.remove_tree(&place.tree());
    git.make_tree(&place.tree(), first)?;
    tell(&Progress::Begins { replay: &found.replay, done: found.revisions.len() });
    let ended = all(setting, &git, &place, (&caller, &kept), (&file, &mut found), tell);
    git.remove_tree(&place.tree());
    ended?;
    found.summaries = sums::summaries(&found, &details(&file));
    for line in &found.summaries {
        Place::append(&file, &ReplayEntry::ReplaySummary(line.clone()))?;
    }
    if !found.revisions.iter().any(|line| line.state == RevisionState::Ran) {
        let why = found.revisions.first().and_then(|line| line.problem.clone()).unwrap_or_default();
        let all = human::counted(found.revisions.len() as u64, "revision", "revisions");
        bail!("none of {all} could be run; the first: {why}");
    }
    Ok(found)
}

/// A new replay: its revisions and its first line.
fn begun(
    setting: &Setting,
    arguments: &ReplayArguments,
    git: &Git,
    place: &Place,
) -> Result<(PathBuf, Replayed, Kept)> {
    let strategies = arguments.strategies()?;
    let which = &arguments.revisions;
    if which.range.is_none() && which.last.is_none() {
        bail!("say which revisions: --last 20, or a range such as v1.2..main");
    }
    let wanted = Wanted {
        range: which.range.as_deref(),
        last: which.last.map(std::num::NonZeroUsize::get),
        every: which.every.map_or(1, std::num::NonZeroUsize::get),
        only_changed: &which.only_changed,
        all_parents: which.all_parents,
    };
    let revisions = git.revisions(&wanted)?;
    let words: Vec<String> =
        arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let command = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default();
    let range = match (&which.range, which.last) {
        (Some(range), _) => range.clone(),
        (None, last) => format!("the last {}", last.map_or(0, std::num::NonZeroUsize::get)),
    };
    if strategies.iter().any(|name| name != "records") && !setting.has_units {
        bail!(
            "--select static, modules and hybrid need a command whose tests are distinguished, such as mvn test"
        );
    }
    let mutants = arguments.mutants.map_or(0, std::num::NonZeroUsize::get);
    if mutants > 0 && setting.faults.is_none() {
        bail!(
            "--mutants puts faults into class files (mvn, ant, gradle, java) and Python sources (pytest) alone"
        );
    }
    if mutants > 0 && !strategies.iter().any(|name| name == "records") {
        bail!("--mutants judges what the records select: name them in --select");
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let replay = ReplayLine {
        version: Version,
        tamis: env!("CARGO_PKG_VERSION").into(),
        command,
        folder: git.prefix.clone(),
        range,
        strategies,
        estimate: arguments.estimate,
        revisions,
        mutants,
        began_ms: now.as_millis() as u64,
        bare_seconds: None,
    };
    place.clear();
    let file = place.new_result(replay.began_ms);
    Place::append(&file, &ReplayEntry::Replay(replay.clone()))?;
    let kept = Kept {
        words,
        setup: arguments.setup.clone(),
        clean: arguments.clean,
        granularity: arguments.granularity.clone(),
        jobs: arguments.jobs.map(std::num::NonZeroUsize::get),
        has_units: setting.has_units,
        faults: setting.faults,
    };
    append_line(&kept_file(&file), &serde_json::to_string(&kept)?)?;
    let found = Replayed { replay, revisions: Vec::new(), summaries: Vec::new() };
    Ok((file, found, kept))
}

fn kept_file(result: &Path) -> PathBuf {
    result.with_extension("call")
}

/// The last replay, where it ended.
fn resumed(place: &Place) -> Result<(PathBuf, Replayed, Kept)> {
    let (file, found) = place.last()?;
    if found.revisions.len() >= found.replay.revisions.len() {
        bail!("the last replay is complete; `tamis replay --report FILE` shows it");
    }
    let kept = std::fs::read_to_string(kept_file(&file)).unwrap_or_default();
    let Ok(kept) = serde_json::from_str(&kept) else {
        bail!("{} cannot be read; begin a new replay", kept_file(&file).display());
    };
    place.restore_stores()?;
    Ok((file, found, kept))
}

fn options(arguments: &ReplayArguments, kept: &Kept) -> Vec<OsString> {
    let mut options: Vec<OsString> = Vec::new();
    if let Some(jobs) = arguments.jobs.map(std::num::NonZeroUsize::get).or(kept.jobs) {
        options.extend(["--jobs".into(), jobs.to_string().into()]);
    }
    if let Some(unit) = &kept.granularity {
        options.extend(["--granularity".into(), unit.into()]);
    }
    options
}

/// The revisions that are left.
fn all(
    setting: &Setting,
    git: &Git,
    place: &Place,
    (caller, kept): (&Caller, &Kept),
    (file, found): (&Path, &mut Replayed),
    tell: &dyn Fn(&Progress<'_>),
) -> Result<()> {
    let mut before = details(file).pop();
    let mut peculiar = Peculiar::default();
    let revisions = found.replay.revisions.clone();
    let (began, mut ran) = (Instant::now(), 0_u32);
    for (n, commit) in revisions.iter().enumerate() {
        if found.revisions.iter().any(|line| line.commit == *commit) {
            continue;
        }
        place.check_space()?;
        place.save_stores()?;
        let stage = Stage {
            git,
            place,
            setting,
            replay: &found.replay,
            caller: caller.clone(),
            setup: kept.setup.clone(),
            clean: kept.clean,
            has_units: kept.has_units,
            faults: kept
                .faults
                .filter(|_| found.replay.mutants > 0)
                .map(|language| mutants::Wanted { many: found.replay.mutants, language }),
        };
        let Done { line, details, bare_seconds } = stage.run(commit, before.as_ref())?;
        peculiar.tell(git, &place.tree(), commit, tell);
        if let Some(details) = &details {
            append_line(&Place::details(file), &serde_json::to_string(details)?)?;
        } else {
            // What a revision that is in no sum left in the records counts for no other.
            place.restore_stores()?;
        }
        if details.is_some() && bare_seconds.is_some() {
            found.replay.bare_seconds = bare_seconds;
            Place::append(file, &ReplayEntry::Replay(found.replay.clone()))?;
        }
        Place::append(file, &ReplayEntry::Revision(line.clone()))?;
        ran += 1;
        let rest = (revisions.len() - n - 1) as u32;
        let left = began.elapsed() / ran * rest;
        tell(&Progress::Ended { line: &line, n: n + 1, of: revisions.len(), left });
        found.revisions.push(line);
        before = details.or(before);
    }
    Ok(())
}

/// What is in some revisions that git does not keep itself, reported at the first of them.
#[derive(Debug, Default)]
struct Peculiar {
    lfs: bool,
    submodules: bool,
}

impl Peculiar {
    fn tell(&mut self, git: &Git, tree: &Path, commit: &str, tell: &dyn Fn(&Progress<'_>)) {
        let short = &commit[..commit.len().min(10)];
        if !self.lfs && git.lacks_lfs(tree, commit) {
            self.lfs = true;
            tell(&Progress::Remark(format!(
                "from {short} on, files in Git LFS are checked out as pointers: git-lfs is not installed"
            )));
        }
        if !self.submodules && git.has(commit, ".gitmodules") {
            self.submodules = true;
            tell(&Progress::Remark(format!(
                "from {short} on, submodules are checked out with each revision"
            )));
        }
    }
}

/// What tests did in the revisions that ran, in their order.
fn details(result: &Path) -> Vec<Details> {
    let text = std::fs::read_to_string(Place::details(result)).unwrap_or_default();
    let mut all: Vec<Details> = Vec::new();
    for line in text.lines() {
        let Ok(one) = serde_json::from_str::<Details>(line) else { continue };
        // Written before the line of a revision that was then run again.
        all.retain(|known| known.commit != one.commit);
        all.push(one);
    }
    all
}
