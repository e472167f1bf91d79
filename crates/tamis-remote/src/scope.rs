//! Names: of the project, of the branch, of scopes, and how they become names of objects.

use std::path::Path;

/// The object in which the head of a scope is.
pub fn head_name(project: &str, scope: &str) -> String {
    format!("v1/{}/heads/{}", escaped(project), escaped(scope))
}

/// The folder of the packs of a project.
pub fn packs(project: &str) -> String {
    format!("v1/{}/packs", escaped(project))
}

pub fn pack_name(project: &str, address: &str) -> String {
    format!("{}/{address}", packs(project))
}

/// The folder of what machines agreed on.
pub fn plans(project: &str) -> String {
    format!("v1/{}/plans", escaped(project))
}

pub fn plan_name(project: &str, scope: &str, name: &str) -> String {
    format!("{}/{}-{}", plans(project), escaped(scope), escaped(name))
}

/// The folder of the heads of a project.
pub fn heads(project: &str) -> String {
    format!("v1/{}/heads", escaped(project))
}

/// Different names have different texts, which every store takes as a part of a path.
fn escaped(name: &str) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(name.len());
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => text.push(byte.into()),
            b'.' if at > 0 => text.push('.'),
            _ => drop(write!(text, "={byte:02x}")),
        }
    }
    text
}

/// A scope of the settings with the branch of now; `None` where it needs one and none is known.
pub fn resolved(template: &str, branch: Option<&str>) -> Option<String> {
    match (template.contains("{branch}"), branch) {
        (false, _) => Some(template.to_owned()),
        (true, Some(branch)) => Some(template.replace("{branch}", branch)),
        (true, None) => None,
    }
}

/// The branch of the work tree. CI checks out a commit, and says in a variable which branch it is of.
pub fn branch(root: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    const OF_CI: [&str; 8] = [
        "GITHUB_HEAD_REF",
        "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
        "CHANGE_BRANCH",
        "GITHUB_REF_NAME",
        "CI_COMMIT_REF_NAME",
        "BUILDKITE_BRANCH",
        "BRANCH_NAME",
        "CIRCLE_BRANCH",
    ];
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    set("TAMIS_BRANCH").or_else(|| checked_out(root)).or_else(|| OF_CI.into_iter().find_map(set))
}

/// By which number all machines of one run of CI know it; the same where a job of it is run again.
pub fn ci_run(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    const OF_CI: [&str; 6] = [
        "TAMIS_RUN",
        "GITHUB_RUN_ID",
        "CI_PIPELINE_ID",
        "BUILDKITE_BUILD_ID",
        "BUILD_TAG",
        "CIRCLE_WORKFLOW_ID",
    ];
    OF_CI.into_iter().find_map(|name| {
        let value = variable(name).filter(|value| !value.is_empty())?;
        Some(format!("{name}={value}"))
    })
}

/// What `.git/HEAD` says, without git.
fn checked_out(root: &Path) -> Option<String> {
    let git = git_folder(root)?;
    let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
    head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned)
}

fn git_folder(root: &Path) -> Option<std::path::PathBuf> {
    let tree = root.ancestors().find(|folder| folder.join(".git").exists())?;
    let git = tree.join(".git");
    match std::fs::read_to_string(&git) {
        Ok(text) => Some(tree.join(text.trim().strip_prefix("gitdir:")?.trim())),
        Err(_) => Some(git),
    }
}

/// By which name other machines know the project, where the settings name none: the last part of the address that its
/// repository was cloned from, and the place of the project in it. Without one, the name of its folder.
pub fn project(root: &Path) -> String {
    let tree = root.ancestors().find(|folder| folder.join(".git").exists());
    let folder_name = |folder: &Path| {
        folder
            .file_name()
            .map_or_else(|| "project".into(), |name| name.to_string_lossy().into_owned())
    };
    let Some(tree) = tree else { return folder_name(root) };
    let name = git_folder(root).and_then(|git| origin(&git)).unwrap_or_else(|| folder_name(tree));
    match root.strip_prefix(tree) {
        Ok(place) if !place.as_os_str().is_empty() => format!("{name}/{}", place.to_string_lossy()),
        _ => name,
    }
}

fn origin(git: &Path) -> Option<String> {
    let common = std::fs::read_to_string(git.join("commondir"));
    let common = common.map_or_else(|_| git.to_path_buf(), |text| git.join(text.trim()));
    let config = std::fs::read_to_string(common.join("config")).ok()?;
    let mut lines = config.lines().map(str::trim);
    lines.find(|line| *line == "[remote \"origin\"]")?;
    let url = lines.take_while(|line| !line.starts_with('[')).find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "url").then(|| value.trim().to_owned())
    })?;
    let last = url.trim_end_matches('/').rsplit(['/', ':']).next()?;
    let last = last.strip_suffix(".git").unwrap_or(last);
    (!last.is_empty()).then(|| last.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::fs;

    #[test]
    fn different_names_are_different_objects() {
        let names = ["a/b", "a=2fb", "a.b", "..", ".", "a", "A", "é", "a b", "a=b"];
        let all: HashSet<String> = names.iter().map(|name| head_name("p", name)).collect();
        assert_eq!(all.len(), names.len());
        for name in all {
            assert!(name.split('/').count() == 4 && !name.contains(".."), "{name}");
        }
    }

    #[test]
    fn the_branch_is_that_of_the_work_tree_or_what_ci_says() {
        let dir = tempfile::tempdir().unwrap();
        let none = |_: &str| None;
        assert_eq!(branch(dir.path(), &none), None);
        fs::create_dir(dir.path().join(".git")).unwrap();
        fs::write(dir.path().join(".git/HEAD"), "ref: refs/heads/feature/x\n").unwrap();
        let sub = dir.path().join("sub");
        assert_eq!(branch(&sub, &none).as_deref(), Some("feature/x"));
        fs::write(dir.path().join(".git/HEAD"), "0123456\n").unwrap();
        let ci = |name: &str| (name == "GITHUB_REF_NAME").then(|| "main".to_owned());
        assert_eq!(branch(&sub, &ci).as_deref(), Some("main"));
        assert_eq!(resolved("branch/{branch}", None), None);
        assert_eq!(resolved("branch/{branch}", Some("a")).as_deref(), Some("branch/a"));
        // A fork's branch of that name is no way into `main`.
        assert_ne!(resolved("branch/{branch}", Some("main")).as_deref(), Some("main"));
    }

    #[test]
    fn clones_agree_on_the_name_of_the_project() {
        let dir = tempfile::tempdir().unwrap();
        for (folder, url) in [("one", "git@host:team/shop.git"), ("two", "https://host/team/shop/")]
        {
            let root = dir.path().join(folder);
            fs::create_dir_all(root.join(".git")).unwrap();
            let config = format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {url}\n");
            fs::write(root.join(".git/config"), config).unwrap();
            assert_eq!(project(&root), "shop");
            assert_eq!(project(&root.join("web")), "shop/web");
        }
        assert_eq!(project(Path::new("/srv/plain")), "plain");
    }
}
