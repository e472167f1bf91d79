//! `[remote]`: the store that a team shares.
//!
//! Which variables and files do not count between machines stands here as well, since it is the same for whoever sends a
//! record and whoever receives it: the names of a person (user, shell), names that look like secrets, what the
//! project adds, and files like `/etc/passwd`. They count on one machine as ever.

use crate::glob::NameGlobs;
use crate::reader::{Found, Section, Text};
use std::time::Duration;
use tamis_core::{Hash, PortablePath};

pub(crate) const REMOTE: &str = "[remote]";

/// The fact that stands for the set of all names of variables in records that travel.
pub const NAMES_FACT: &str = "the set of environment variables, between machines";

const DAY: u64 = 24 * 60 * 60;

/// `[remote]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// `url`: `s3://`, `gs://`, `az://` or `file://`.
    pub url: String,
    /// `project`: by which name the machines know the project. Default: that of its repository.
    pub project: Option<String>,
    /// `read`: scopes whose records may let a test be skipped; `{branch}` is the branch of now.
    pub read: Vec<String>,
    /// `write`: the scope where the records of this machine go. Default: none, nothing is written.
    pub write: Option<String>,
    /// `trusted-keys`: who is believed.
    pub trusted: Vec<TrustedKey>,
    /// `pull-timeout`: how long a run waits for the server before it decides. Default: 3 s.
    pub pull_timeout: Duration,
    /// `push`: what happens after a run. Default: background.
    pub push: Push,
    /// `ignore-variables`: more variables that do not count between machines.
    pub ignore_variables: NameGlobs,
    /// `ignore-files`: more files that do not count between machines.
    pub ignore_files: NameGlobs,
    /// `secrets`: more names of variables of which nothing leaves the machine.
    pub secrets: NameGlobs,
    /// `max-age`: records of runs that began longer ago are dropped. Default: 90 days.
    pub max_age: Duration,
    /// `max-size`: bytes of the packs of one scope. Default: 10 GiB.
    pub max_size: u64,
}

/// A key whose records are believed, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    /// `ed25519:` and 64 hexadecimal digits; `None` for `anyone`: whoever can write there.
    pub key: Option<String>,
    /// Globs on the names of scopes.
    pub scopes: NameGlobs,
}

/// What happens to new records after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Push {
    /// A process of its own takes them away.
    Background,
    /// tamis ends when they are there, or after a minute.
    Wait,
    /// Only `tamis store push` does.
    No,
}

/// Variables of a person: they differ between any two machines, and hardly a test looks at them.
const PERSONAL: &[&str] =
    &["USER", "LOGNAME", "USERNAME", "MAIL", "SHELL", "EDITOR", "VISUAL", "PAGER", "BROWSER"];

/// Files that say who the user is, what the machine is called and whom it asks for names: they differ between any two
/// machines, every JVM reads the first one when it starts, and containers get the others anew each time.
const OF_A_MACHINE: &[&str] = &[
    "/etc/passwd",
    "/etc/group",
    "/etc/hostname",
    "/etc/machine-id",
    "/etc/hosts",
    "/etc/resolv.conf",
];

/// Parts of names of which nothing leaves the machine.
const SECRET: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "PRIVATEKEY"];

/// Whole words of names of which nothing leaves the machine.
const SECRET_WORDS: &[&str] = &["KEY", "KEYS", "PASS", "PWD", "AUTH", "PAT", "DSN"];

impl Remote {
    /// What holds for records in files where there is no `[remote]`: only this machine is believed.
    pub fn for_files() -> Self {
        Self {
            url: String::new(),
            project: None,
            read: Vec::new(),
            write: None,
            trusted: Vec::new(),
            pull_timeout: Duration::from_secs(3),
            push: Push::No,
            ignore_variables: NameGlobs::default(),
            ignore_files: NameGlobs::default(),
            secrets: NameGlobs::default(),
            max_age: Duration::from_secs(90 * DAY),
            max_size: 10 << 30,
        }
    }

    /// Whether a variable counts for machines other than the one it is set on.
    pub fn counts_between_machines(&self, name: &[u8]) -> bool {
        let personal = PERSONAL.iter().any(|known| known.as_bytes() == name);
        !personal && !self.is_secret(name) && !self.ignore_variables.matches(name)
    }

    /// Whether a path counts for machines other than the one it is on.
    pub fn path_counts_between_machines(&self, path: &PortablePath) -> bool {
        let of_a_machine = OF_A_MACHINE.iter().any(|known| known.as_bytes() == path.as_bytes());
        !of_a_machine && !self.ignore_files.matches_whole(path.as_bytes())
    }

    /// Whether nothing of a variable may leave the machine, not even a hash.
    pub fn is_secret(&self, name: &[u8]) -> bool {
        let upper = String::from_utf8_lossy(name).to_ascii_uppercase();
        let words = || upper.split(|c: char| !c.is_ascii_alphanumeric());
        SECRET.iter().any(|part| upper.replace(['_', '-'], "").contains(part))
            || words().any(|word| SECRET_WORDS.contains(&word))
            || self.secrets.matches(name)
    }

    /// The names that count between machines, in one value. Another list of what does not count is another value:
    /// a record that leaves out more than this machine would proves nothing here.
    pub fn names_between_machines<'n>(&self, names: impl Iterator<Item = &'n [u8]>) -> Hash {
        let mut lists: Vec<Vec<u8>> =
            vec![format!("{PERSONAL:?}{OF_A_MACHINE:?}{SECRET:?}{SECRET_WORDS:?}").into()];
        for globs in [&self.ignore_variables, &self.ignore_files, &self.secrets] {
            let mut patterns = globs.patterns().to_vec();
            patterns.sort();
            lists.push(format!("{patterns:?}").into());
        }
        let mut counted: Vec<&[u8]> =
            names.filter(|name| self.counts_between_machines(name)).collect();
        counted.sort_unstable();
        counted.dedup();
        Hash::of_parts(lists.iter().map(Vec::as_slice).chain(counted))
    }
}

pub(crate) fn read<'t>(mut section: Section<'t>, _: &'t Found) -> Option<Remote> {
    const URL: &str = "url = \"s3://ci-cache/tamis\"";
    let url = section.string("url", URL);
    if url.is_none() && !section.has("url") {
        section.missing(format!("{REMOTE} needs a `url`; for example: {URL}"));
    }
    let url = url.filter(|url| is_place(&section, *url)).map(|url| url.text.to_owned());
    let project = section.string("project", "project = \"acme-shop\"");
    let project = project.and_then(|name| named(&section, "project", name));
    let read = section.strings("read", "read = [\"main\", \"branch/{branch}\"]");
    let read = read.into_iter().filter_map(|scope| named(&section, "read", scope)).collect();
    let write = section.string("write", "write = \"branch/{branch}\"");
    let write = write.and_then(|scope| named(&section, "write", scope));
    let keys = section.strings("trusted-keys", "trusted-keys = [\"ed25519:...\"]");
    let trusted = keys.into_iter().filter_map(|key| trusted_key(&section, key)).collect();
    let ways = [("background", Push::Background), ("wait", Push::Wait), ("no", Push::No)];
    let globs = |section: &mut Section<'t>, key, example| {
        NameGlobs::new(section.globs(key, example)).unwrap_or_default()
    };
    let pull_timeout = section.duration("pull-timeout", "pull-timeout = \"3s\"");
    let remote = Remote {
        url: url.clone().unwrap_or_default(),
        project,
        read,
        write,
        trusted,
        pull_timeout: pull_timeout.unwrap_or(Duration::from_secs(3)),
        push: section.choice("push", &ways).unwrap_or(Push::Background),
        ignore_variables: globs(&mut section, "ignore-variables", "ignore-variables = [\"CI\"]"),
        ignore_files: globs(&mut section, "ignore-files", "ignore-files = [\"/etc/localtime\"]"),
        secrets: globs(&mut section, "secrets", "secrets = [\"ACME_LICENCE*\"]"),
        max_age: section
            .duration("max-age", "max-age = \"90d\"")
            .unwrap_or(Duration::from_secs(90 * DAY)),
        max_size: section.size("max-size", "max-size = \"10GiB\"").unwrap_or(10 << 30),
    };
    section.finish(|_| None);
    url.map(|_| remote)
}

/// Whether the url is one of the kinds that are known.
fn is_place(section: &Section<'_>, url: Text<'_>) -> bool {
    const KINDS: [&str; 5] = ["s3://", "gs://", "az://", "abfss://", "file:///"];
    let known = KINDS.iter().any(|kind| url.text.strip_prefix(kind).is_some_and(|r| !r.is_empty()));
    if !known {
        let message = format!(
            "`url` cannot be \"{}\": it begins with s3://, gs://, az:// or file:///",
            url.text
        );
        section.problem(url.span(), message);
    }
    known
}

/// The name of a scope or a project: words between slashes.
fn named(section: &Section<'_>, key: &str, name: Text<'_>) -> Option<String> {
    let text = name.text;
    let sign = |c: char| c.is_ascii_alphanumeric() || "-_.{}".contains(c);
    let word = |word: &str| !word.is_empty() && word.chars().all(sign) && !word.starts_with('.');
    let plain = text.replace("{branch}", "x");
    let good = text.len() <= 200 && plain.split('/').all(word) && !plain.contains(['{', '}']);
    if !good {
        let message = format!(
            "`{key}` cannot be \"{text}\": letters, digits, - _ . between slashes, and {{branch}}; for example: \
             \"main\", \"branch/{{branch}}\""
        );
        section.problem(name.span(), message);
    }
    good.then(|| text.to_owned())
}

fn trusted_key(section: &Section<'_>, text: Text<'_>) -> Option<TrustedKey> {
    let mut words = text.text.split_whitespace();
    let key = words.next().unwrap_or_default();
    let digits = key.strip_prefix("ed25519:");
    let is_key = digits.is_some_and(|d| d.len() == 64 && d.bytes().all(|b| b.is_ascii_hexdigit()));
    if !is_key && key != "anyone" {
        let message = format!(
            "`trusted-keys` has \"{key}\", which is no key: ed25519: and 64 hexadecimal digits, as `tamis store keys` shows it, and \
             behind it the scopes for which it is trusted (all where none is named)"
        );
        section.problem(text.span(), message);
        return None;
    }
    let scopes: Vec<String> = words.map(str::to_owned).collect();
    let scopes = if scopes.is_empty() { vec!["**".to_owned()] } else { scopes };
    match NameGlobs::new(scopes) {
        Ok(scopes) => Some(TrustedKey { key: is_key.then(|| key.to_ascii_lowercase()), scopes }),
        Err(error) => {
            section.problem(text.span(), format!("`trusted-keys`: {error}"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn read(text: &str) -> Result<Remote, Vec<String>> {
        let text = format!("[remote]\n{text}");
        match crate::parse(text.as_bytes(), Path::new("tamis.toml")) {
            Ok(settings) => Ok(settings.remote.expect("it is there")),
            Err(problems) => Err(problems.to_string().lines().map(str::to_owned).collect()),
        }
    }

    #[test]
    fn little_is_needed() {
        let remote = read("url = 's3://bucket/x'").unwrap();
        assert_eq!((remote.read.len(), remote.write, remote.trusted.len()), (0, None, 0));
        assert_eq!((remote.pull_timeout, remote.push), (Duration::from_secs(3), Push::Background));
    }

    #[test]
    fn mistakes_are_named() {
        let key = "ed25519:".to_owned() + &"ab".repeat(32);
        for (text, why) in [
            ("read = []", "needs a `url`"),
            ("url = 'http://x'", "begins with s3://"),
            ("url = 's3://'", "begins with s3://"),
            ("url = 's3://b'\nwrite = '../x'", "`write` cannot be"),
            ("url = 's3://b'\nread = ['a//b']", "`read` cannot be"),
            ("url = 's3://b'\nread = ['{user}']", "`read` cannot be"),
            ("url = 's3://b'\ntrusted-keys = ['rsa:00']", "is no key"),
            ("url = 's3://b'\ntrusted-keys = ['ed25519:00']", "is no key"),
            ("url = 's3://b'\nreed = ['main']", "did you mean `read`?"),
            ("url = 's3://b'\npush = 'later'", "one of: background, wait, no"),
        ] {
            let problems = read(text).unwrap_err().join("\n");
            assert!(problems.contains(why), "{text}: {problems}");
        }
        let remote =
            read(&format!("url = 's3://b'\ntrusted-keys = ['{key} main', 'anyone']")).unwrap();
        assert_eq!(remote.trusted[0].key, Some(key));
        assert_eq!(remote.trusted[0].scopes.patterns(), ["main"]);
        assert_eq!(
            (&remote.trusted[1].key, remote.trusted[1].scopes.patterns()),
            (&None, &["**".to_owned()][..])
        );
    }

    #[test]
    fn other_lists_are_another_set_of_names() {
        let names =
            |remote: &Remote| remote.names_between_machines([b"LANG".as_slice()].into_iter());
        let plain = read("url = 's3://b'").unwrap();
        let more = read("url = 's3://b'\nignore-variables = ['CI']").unwrap();
        assert_ne!(names(&plain), names(&more));
        assert!(plain.counts_between_machines(b"CI") && !more.counts_between_machines(b"CI"));
        assert_eq!(names(&plain), names(&Remote::for_files()));
    }
}
