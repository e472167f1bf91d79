//! `[modules]`: what a project says about changed and affected modules.

use crate::reader::{Found, Section, as_text, type_name};
use toml::de::{DeTable, DeValue};

/// `[modules]`. The default is what holds without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleSettings {
    /// `since`: the revision to compare with, where the command line names none.
    pub since: Option<String>,
    /// `base`: the commits of now, where they are not those that are checked out.
    pub base: Option<String>,
    /// `merge-base`: compare with the commit where both parted. Default: true.
    pub merge_base: bool,
    /// `fetch`: fetch the revision first, where it is a branch of a remote. Default: false.
    pub fetch: bool,
    /// `uncommitted`, `untracked`: such files count. Default: true.
    pub uncommitted: bool,
    pub untracked: bool,
    /// `exclude`: globs of changed files that do not count.
    pub exclude: Vec<String>,
    /// `default-exclude`: documentation and the like does not count. Default: true.
    pub default_exclude: bool,
    /// `include`: only changed files that match one of these globs count.
    pub include: Vec<String>,
    /// `everything-if`: globs; a changed file that matches one makes everything count.
    pub everything_if: Vec<String>,
    /// `everything-if-unchanged`: run everything where nothing changed. Default: false.
    pub everything_if_unchanged: bool,
    /// `disable-if-branch`, `disable-if-since`: globs on the branch that is checked out, and on the
    /// revision to compare with: everything counts there.
    pub disable_if_branch: Vec<String>,
    pub disable_if_since: Vec<String>,
    /// `downstream`: what uses a changed module is affected. Default: always.
    pub downstream: When,
    /// `upstream`: what an affected module needs is built with it. Default: always.
    pub upstream: When,
    /// `upstream-of`: build what these need. Default: affected modules.
    pub upstream_of: UpstreamOf,
    /// `upstream-tests`: tests of modules that are only built because others need them run, too.
    pub upstream_tests: bool,
    /// `upstream-args`: properties for modules that others only need.
    pub upstream_args: Vec<(String, String)>,
    /// `downstream-args`: properties for modules that are affected and did not change themselves.
    pub downstream_args: Vec<(String, String)>,
    /// `force`: modules that are always affected, or when others changed.
    pub force: Vec<Forced>,
    /// `leave-out-packaging`: modules packaged so are left out where they did not change themselves.
    pub leave_out_packaging: Vec<String>,
    /// `affected-file`: where a run writes the folders of affected modules, one a line.
    pub affected_file: Option<String>,
    /// `without-git`: what a run does where git cannot say what changed. Default: everything.
    pub without_git: WithoutGit,
}

impl Default for ModuleSettings {
    fn default() -> Self {
        Self {
            since: None,
            base: None,
            merge_base: true,
            fetch: false,
            uncommitted: true,
            untracked: true,
            exclude: Vec::new(),
            default_exclude: true,
            include: Vec::new(),
            everything_if: Vec::new(),
            everything_if_unchanged: false,
            disable_if_branch: Vec::new(),
            disable_if_since: Vec::new(),
            downstream: When::Always,
            upstream: When::Always,
            upstream_of: UpstreamOf::Affected,
            upstream_tests: false,
            upstream_args: Vec::new(),
            downstream_args: Vec::new(),
            force: Vec::new(),
            leave_out_packaging: Vec::new(),
            affected_file: None,
            without_git: WithoutGit::Everything,
        }
    }
}

/// Whether other modules are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Always,
    /// Where the command says so (Maven: `-am`, `-amd`).
    AsTold,
    Never,
}

/// Whose needs are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamOf {
    Affected,
    Changed,
}

/// What happens where git cannot say what changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutGit {
    /// Everything counts.
    Everything,
    /// It is an error.
    Fail,
}

/// One entry of `force`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forced {
    /// A glob on modules; the entry counts only where one of them changed.
    pub when: Option<String>,
    pub modules: Vec<String>,
}

pub(crate) const MODULES: &str = "[modules]";

pub(crate) fn read<'t>(
    table: &'t DeTable<'t>,
    span: std::ops::Range<usize>,
    found: &'t Found,
) -> ModuleSettings {
    let mut section = Section::new(MODULES, table, span, found);
    let usual = ModuleSettings::default();
    let whens = [("always", When::Always), ("as-told", When::AsTold), ("never", When::Never)];
    let of = [("affected", UpstreamOf::Affected), ("changed", UpstreamOf::Changed)];
    let without = [("everything", WithoutGit::Everything), ("fail", WithoutGit::Fail)];
    let text = |section: &mut Section<'t>, key: &'static str, example: &str| {
        let text = section.string(key, example)?;
        if text.text.is_empty() {
            section.problem(text.span(), format!("`{key}` is empty; for example: {example}"));
            return None;
        }
        Some(text.text.to_owned())
    };
    let settings = ModuleSettings {
        since: text(&mut section, "since", "since = \"origin/main\""),
        base: text(&mut section, "base", "base = \"feature\""),
        merge_base: section.boolean("merge-base").unwrap_or(usual.merge_base),
        fetch: section.boolean("fetch").unwrap_or(usual.fetch),
        uncommitted: section.boolean("uncommitted").unwrap_or(usual.uncommitted),
        untracked: section.boolean("untracked").unwrap_or(usual.untracked),
        exclude: section.globs("exclude", "exclude = [\"**/*.scss\"]"),
        default_exclude: section.boolean("default-exclude").unwrap_or(usual.default_exclude),
        include: section.globs("include", "include = [\"backend/**\"]"),
        everything_if: section.globs("everything-if", "everything-if = [\"build/**\"]"),
        everything_if_unchanged: section.boolean("everything-if-unchanged").unwrap_or_default(),
        disable_if_branch: section.globs("disable-if-branch", "disable-if-branch = [\"main\"]"),
        disable_if_since: section.globs("disable-if-since", "disable-if-since = [\"origin/x\"]"),
        downstream: section.choice("downstream", &whens).unwrap_or(usual.downstream),
        upstream: section.choice("upstream", &whens).unwrap_or(usual.upstream),
        upstream_of: section.choice("upstream-of", &of).unwrap_or(usual.upstream_of),
        upstream_tests: section.boolean("upstream-tests").unwrap_or_default(),
        upstream_args: properties(&mut section, "upstream-args"),
        downstream_args: properties(&mut section, "downstream-args"),
        force: read_force(&mut section, found),
        leave_out_packaging: section
            .strings("leave-out-packaging", "leave-out-packaging = [\"war\"]")
            .iter()
            .map(|t| t.text.to_owned())
            .collect(),
        affected_file: text(&mut section, "affected-file", "affected-file = \"target/affected\""),
        without_git: section.choice("without-git", &without).unwrap_or(usual.without_git),
    };
    section.finish(|_| None);
    settings
}

/// Properties for some modules alone, as Maven's command line has them: `-Dname=value`, `-Dname`.
fn properties(section: &mut Section<'_>, key: &'static str) -> Vec<(String, String)> {
    let example = format!("{key} = [\"-Denforcer.skip\", \"-Dx=y\"]");
    let mut found = Vec::new();
    for word in section.strings(key, &example) {
        let given = word.text.strip_prefix("-D").unwrap_or_default();
        let (name, value) = given.split_once('=').unwrap_or((given, "true"));
        if name.is_empty() || given.contains(['\n', '\t']) {
            let message = format!("`{key}` takes properties of one line; for example: {example}");
            section.problem(word.span(), message);
        } else {
            found.push((name.to_owned(), value.to_owned()));
        }
    }
    found
}

fn read_force<'t>(section: &mut Section<'t>, found: &'t Found) -> Vec<Forced> {
    let example = "force = [\"smoke-tests\", { when = \"api\", modules = [\"docs\"] }]";
    let Some(value) = section.value("force") else { return Vec::new() };
    let DeValue::Array(items) = value.get_ref() else {
        let is = type_name(value.get_ref());
        section.problem(
            value.span(),
            format!("`force` must be a list, not {is}; for example: {example}"),
        );
        return Vec::new();
    };
    let mut forced = Vec::new();
    for item in items {
        if let Some(text) = as_text(item) {
            forced.extend(
                section.glob("force", text).map(|m| Forced { when: None, modules: vec![m] }),
            );
            continue;
        }
        let DeValue::Table(table) = item.get_ref() else {
            let is = type_name(item.get_ref());
            section
                .problem(item.span(), format!("`force` cannot hold {is}; for example: {example}"));
            continue;
        };
        let mut inner = Section::new("`force`", table, item.span(), found);
        let when = inner.string("when", "when = \"api\"");
        let when = when.and_then(|text| inner.glob("when", text));
        let modules = inner.globs("modules", "modules = [\"docs\"]");
        if modules.is_empty() || when.is_none() {
            inner.missing(format!("`force` needs `when` and `modules`; for example: {example}"));
        }
        inner.finish(|_| None);
        forced.push(Forced { when, modules });
    }
    forced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> ModuleSettings {
        crate::parse(text.as_bytes(), std::path::Path::new("tamis.toml")).unwrap().modules
    }

    fn problems(text: &str) -> String {
        let file = std::path::Path::new("tamis.toml");
        crate::parse(text.as_bytes(), file).unwrap_err().to_string()
    }

    #[test]
    fn nothing_set_and_everything_set() {
        assert_eq!(parse(""), ModuleSettings::default());
        assert_eq!(parse("[modules]"), ModuleSettings::default());
        let all = parse(
            "[modules]\nsince='origin/main'\nbase='f'\nmerge-base=false\nfetch=true\nuncommitted=false\n\
             untracked=false\nexclude=['a']\ndefault-exclude=false\ninclude=['b']\n\
             everything-if=['c']\neverything-if-unchanged=true\ndisable-if-branch=['d']\n\
             disable-if-since=['e']\ndownstream='never'\nupstream='as-told'\nupstream-of='changed'\n\
             upstream-tests=true\nupstream-args=['-Da']\ndownstream-args=['-Db=c=d']\nforce=['x', {when='y', modules=['z']}]\n\
             leave-out-packaging=['war']\naffected-file='f'\nwithout-git='fail'\n",
        );
        let one = |text: &str| vec![text.to_owned()];
        let expected = ModuleSettings {
            since: Some("origin/main".into()),
            base: Some("f".into()),
            merge_base: false,
            fetch: true,
            uncommitted: false,
            untracked: false,
            exclude: one("a"),
            default_exclude: false,
            include: one("b"),
            everything_if: one("c"),
            everything_if_unchanged: true,
            disable_if_branch: one("d"),
            disable_if_since: one("e"),
            downstream: When::Never,
            upstream: When::AsTold,
            upstream_of: UpstreamOf::Changed,
            upstream_tests: true,
            upstream_args: vec![("a".into(), "true".into())],
            downstream_args: vec![("b".into(), "c=d".into())],
            force: vec![
                Forced { when: None, modules: one("x") },
                Forced { when: Some("y".into()), modules: one("z") },
            ],
            leave_out_packaging: one("war"),
            affected_file: Some("f".into()),
            without_git: WithoutGit::Fail,
        };
        assert_eq!(all, expected);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("[modules]\nsinse='x'", "did you mean `since`?"),
            ("[modules]\nupstream='maybe'", "one of: always, as-told, never"),
            ("[modules]\nforce='x'", "must be a list"),
            ("[modules]\nforce=[1]", "cannot hold a whole number"),
            ("[modules]\nforce=[{when='a'}]", "needs `when` and `modules`"),
            ("[modules]\nexclude=['a{']", "no valid glob"),
            ("[modules]\nsince=''", "is empty"),
            ("[modules]\nupstream-args=['x']", "takes properties"),
            ("modules=1", "must be a table [modules]"),
        ] {
            let got = problems(text);
            assert!(got.contains(expected), "{text}: {got}");
        }
    }
}
