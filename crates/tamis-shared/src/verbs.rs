//! The verbs of `tamis store`.

use crate::answer::{Answer, line};
use crate::pushing::{self, push};
use crate::words::{StoreArguments, StoreVerb};
use crate::{files, is_off};
use anyhow::{Context as _, Result, bail};
use std::fmt::Write as _;
use std::time::Duration;
use tamis_core::Notices;
use tamis_project::Project;
use tamis_remote::keys::{self, SecretKey};
use tamis_remote::place::Deadline;
use tamis_remote::pull::Wish;
use tamis_remote::{Remote, RemoteError};
use tamis_report::human::{bytes, counted};
use tamis_report::json::store::StoreLine;
use tamis_store::Store;

/// Other verbs that somebody waits for.
const VERB: Duration = Duration::from_secs(10 * 60);

/// Answers one verb.
pub fn answer(
    project: &Project,
    offline: bool,
    arguments: &StoreArguments,
    notices: &dyn Notices,
) -> Result<Answer> {
    match &arguments.verb {
        StoreVerb::Keys(arguments) => return keys(arguments.new),
        StoreVerb::Merge(merge) => return files::merge(project, &merge.stores, notices),
        StoreVerb::Export(export) => {
            return files::export(project, &export.file, export.redact, notices);
        }
        StoreVerb::Import(import) => {
            return files::merge(project, std::slice::from_ref(&import.file), notices);
        }
        _ => {}
    }
    let settings = project.settings.remote.as_ref();
    let settings = settings.context("tamis.toml has no [remote]; see docs/remote.md")?;
    if is_off(offline) {
        bail!("the shared store is turned off by --offline or TAMIS_REMOTE=off");
    }
    let store = project.open_store(notices).context("there is no store to work with")?;
    let remote = Remote::new(settings, &project.paths)?;
    match &arguments.verb {
        StoreVerb::Pull(pull) => {
            let wish = Wish { again: pull.again, accept_older: pull.accept_older };
            Ok(pulled(&remote, &store, wish))
        }
        StoreVerb::Push => {
            let scope = written(&remote)?;
            let text = push(&project.paths, &store, &remote, &scope, pushing::LONG)?;
            let line = StoreLine { scope: Some(scope), ..line("pushed") };
            Ok(Answer::of(text + "\n", line))
        }
        StoreVerb::Verify => verified(&remote, &store),
        StoreVerb::Gc => collected(&remote, &store),
        _ => status(&remote, &store),
    }
}

/// The scope that is written, or why there is none.
fn written(remote: &Remote) -> Result<String> {
    let template = remote.settings.write.as_ref();
    let template =
        template.context("`write` of [remote] names no scope: this machine only reads")?;
    remote.write_scope().with_context(|| {
        format!("`write` is {template}, and the branch is not known; TAMIS_BRANCH=NAME says it")
    })
}

fn pulled(remote: &Remote, store: &Store, wish: Wish) -> Answer {
    let pulled = remote.pull(store, wish, Deadline::within(VERB));
    let records = counted(pulled.records as u64, "new record", "new records");
    let packs = counted(pulled.packs as u64, "pack", "packs");
    let mut text = format!("took {records} from {packs}\n");
    if remote.read_scopes().is_empty() {
        text = "`read` of [remote] names no scope, or the branch is not known: nothing is read\n"
            .into();
    }
    if !remote.trust.trusts_others() {
        text += "trusted-keys is empty: only what this machine signed itself is believed\n";
    }
    for why in pulled.refused.iter().chain(&pulled.failed) {
        let _ = writeln!(text, "{why}");
    }
    let line = StoreLine {
        packs: Some(pulled.packs as u64),
        records: Some(pulled.records as u64),
        problems: pulled.refused.iter().chain(&pulled.failed).cloned().collect(),
        ..line("pulled")
    };
    let wrong = !pulled.refused.is_empty() || !pulled.failed.is_empty();
    Answer { text, lines: vec![line], wrong }
}

fn verified(remote: &Remote, store: &Store) -> Result<Answer> {
    let mut answer = Answer { text: String::new(), lines: Vec::new(), wrong: false };
    for scope in remote.read_scopes() {
        let verified = remote.verify(store, &scope, Deadline::within(VERB))?;
        let packs = counted(verified.packs as u64, "pack", "packs");
        let records = counted(verified.records, "record", "records");
        let _ = writeln!(
            answer.text,
            "{scope}: {packs} with {records} are right ({})",
            bytes(verified.bytes)
        );
        for (signer, count) in &verified.signers {
            let _ = writeln!(answer.text, "  {count} signed by {signer}");
        }
        for wrong in &verified.wrong {
            let _ = writeln!(answer.text, "  {wrong}");
        }
        answer.wrong |= !verified.wrong.is_empty();
        answer.lines.push(StoreLine {
            scope: Some(scope),
            packs: Some(verified.packs as u64),
            records: Some(verified.records),
            bytes: Some(verified.bytes),
            keys: verified.signers.into_keys().collect(),
            problems: verified.wrong,
            ..line("verified")
        });
    }
    Ok(answer)
}

fn collected(remote: &Remote, store: &Store) -> Result<Answer> {
    let scope = written(remote)?;
    let key = SecretKey::of_this_machine()?;
    let done = remote.collect(store, &scope, &key, Deadline::within(VERB))?;
    let mut text = format!(
        "{scope}: {} left its head, {} put together, {} removed ({})\n",
        counted(done.retired as u64, "pack", "packs"),
        counted(done.compacted as u64, "pack was", "packs were"),
        counted(done.removed as u64, "orphan was", "orphans were"),
        bytes(done.bytes)
    );
    if let Some(why) = &done.left {
        let _ = writeln!(text, "orphans were left alone: {why}");
    }
    let line = StoreLine {
        scope: Some(scope),
        packs: Some((done.retired + done.compacted) as u64),
        bytes: Some(done.bytes),
        ..line("collected")
    };
    Ok(Answer::of(text, line))
}

fn status(remote: &Remote, store: &Store) -> Result<Answer> {
    let mut text = format!("url       {}\nproject   {}\n", remote.settings.url, remote.project);
    let key = SecretKey::existing()?.map(|key| key.public().to_string());
    let _ = writeln!(
        text,
        "key       {}",
        key.clone().unwrap_or_else(|| "none yet; the first push makes one".into())
    );
    let mut answer = Answer { text, lines: Vec::new(), wrong: false };
    let until = Deadline::within(remote.settings.pull_timeout.max(Duration::from_secs(10)));
    for scope in remote.read_scopes() {
        let memory = remote.memory(store, &scope);
        let mut one = StoreLine { scope: Some(scope.clone()), ..line("read") };
        let shown = match remote.head(&scope, &memory, None, until) {
            Ok(Some(found)) if found.signer.is_none() => "nothing is there yet".to_owned(),
            Ok(Some(found)) => {
                let packs = &found.head.packs;
                let records: u64 = packs.iter().map(|pack| pack.records).sum();
                let size: u64 = packs.iter().map(|pack| pack.bytes).sum();
                let here = packs.iter().filter(|pack| memory.packs.contains(&pack.address)).count();
                (one.packs, one.records) = (Some(packs.len() as u64), Some(records));
                one.bytes = Some(size);
                one.keys = found.signer.iter().map(ToString::to_string).collect();
                let packs = counted(packs.len() as u64, "pack", "packs");
                format!(
                    "{packs} with {} ({}), {here} of them here",
                    counted(records, "record", "records"),
                    bytes(size)
                )
            }
            Ok(None) => "as before".to_owned(),
            Err(error) => {
                answer.wrong = true;
                one.problems.push(error.to_string());
                error.to_string()
            }
        };
        let _ = writeln!(answer.text, "read      {scope}: {shown}");
        answer.lines.push(one);
    }
    answer.lines.push(to_write(remote, store, &mut answer.text)?);
    if !remote.trust.trusts_others() {
        answer.text += "trusted-keys is empty: only what this machine signed itself is believed\n";
    }
    Ok(answer)
}

fn to_write(remote: &Remote, store: &Store, text: &mut String) -> Result<StoreLine, RemoteError> {
    let mut one = line("write");
    match (remote.write_scope(), &remote.settings.write) {
        (Some(scope), _) => {
            let memory = remote.memory(store, &scope);
            let waiting = remote.unpushed(store, &scope)?;
            let records = counted(waiting as u64, "record", "records");
            let _ = writeln!(text, "write     {scope}: {records} to push");
            if let Some((_, last)) = &memory.last_push {
                let _ = writeln!(text, "          the last push: {last}");
                one.last_push = Some(last.clone());
            }
            (one.scope, one.waiting) = (Some(scope), Some(waiting as u64));
        }
        (None, Some(template)) => {
            let _ =
                writeln!(text, "write     {template}: the branch is not known, nothing is written");
        }
        (None, None) => text.push_str("write     nothing: this machine only reads\n"),
    }
    Ok(one)
}

fn keys(new: bool) -> Result<Answer> {
    if new {
        let key = SecretKey::random().context("no random numbers")?;
        let text = format!(
            "trusted-keys = [\"{}\"]\n{}={}\n",
            key.public(),
            keys::VARIABLE,
            key.to_text()
        );
        let line = StoreLine {
            keys: vec![key.public().to_string()],
            secret: Some(key.to_text()),
            ..line("new-key")
        };
        return Ok(Answer::of(text, line));
    }
    let key = SecretKey::of_this_machine()?;
    let line = StoreLine { keys: vec![key.public().to_string()], ..line("key") };
    Ok(Answer::of(format!("{}\n", key.public()), line))
}
