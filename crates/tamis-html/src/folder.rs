//! The files of `tamis report`, and where the page will be found.

use crate::model::Report;
use crate::{markdown, page};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The files of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub html: PathBuf,
    pub summary: PathBuf,
    pub comment: PathBuf,
}

/// Writes the page and the Markdown. A folder that is made for them is none of the repository.
pub fn write_folder(report: &Report, folder: &Path, link: &str) -> io::Result<Written> {
    if !folder.exists() {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join(".gitignore"), "*\n")?;
    }
    let place = |name: &str| folder.join(name);
    let files = Written {
        html: place("index.html"),
        summary: place("summary.md"),
        comment: place("comment.md"),
    };
    replace(&files.html, |out| page::write(report, out))?;
    replace(&files.summary, |out| out.write_all(markdown::summary(report, link).as_bytes()))?;
    replace(&files.comment, |out| out.write_all(markdown::comment(report, link).as_bytes()))?;
    Ok(files)
}

/// Who reads the file meanwhile sees the old one or the new one.
fn replace(
    file: &Path,
    write: impl FnOnce(&mut BufWriter<std::fs::File>) -> io::Result<()>,
) -> io::Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let draft = file.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = std::fs::File::create(&draft).map(BufWriter::new).and_then(|mut out| {
        write(&mut out)?;
        out.flush()
    });
    written.and_then(|()| std::fs::rename(&draft, file)).inspect_err(|_| {
        let _ = std::fs::remove_file(&draft);
    })
}

/// Where readers of the Markdown find the page: what the CI system says of its job, else the file beside it.
pub fn link_of(folder: &Path, root: &Path, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let get = |name: &str| variable(name).filter(|value| !value.is_empty());
    let github = || {
        let (server, repository) = (get("GITHUB_SERVER_URL")?, get("GITHUB_REPOSITORY")?);
        Some(format!("{server}/{repository}/actions/runs/{}#artifacts", get("GITHUB_RUN_ID")?))
    };
    let gitlab = || {
        let job = get("CI_JOB_URL")?;
        let top = get("CI_PROJECT_DIR").map_or_else(|| root.to_path_buf(), PathBuf::from);
        let folder = folder
            .canonicalize()
            .unwrap_or_else(|_| std::env::current_dir().unwrap_or_default().join(folder));
        let top = top.canonicalize().unwrap_or(top);
        let below = folder.strip_prefix(top).ok()?.to_string_lossy().into_owned();
        Some(format!("{job}/artifacts/file/{below}/index.html"))
    };
    github().or_else(gitlab).unwrap_or_else(|| "index.html".to_owned())
}

/// The time of now, in milliseconds since 1970.
pub fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(variables: &[(&str, &str)], folder: &Path, root: &Path) -> String {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        link_of(folder, root, &get)
    }

    #[test]
    fn links_by_ci_system() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("out/report");
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(link(&[], &folder, root.path()), "index.html");
        let github = [
            ("GITHUB_SERVER_URL", "https://github.example"),
            ("GITHUB_REPOSITORY", "a/b"),
            ("GITHUB_RUN_ID", "7"),
        ];
        let expected = "https://github.example/a/b/actions/runs/7#artifacts";
        assert_eq!(link(&github, &folder, root.path()), expected);
        assert_eq!(link(&github[..2], &folder, root.path()), "index.html");
        let gitlab = [("CI_JOB_URL", "https://gitlab.example/a/b/-/jobs/3")];
        let expected = "https://gitlab.example/a/b/-/jobs/3/artifacts/file/out/report/index.html";
        assert_eq!(link(&gitlab, &folder, root.path()), expected);
        // A folder that is no artifact of the job has no address there.
        let elsewhere = tempfile::tempdir().unwrap();
        assert_eq!(link(&gitlab, elsewhere.path(), root.path()), "index.html");
    }

    #[test]
    fn files_are_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a/b");
        let report = Report { project: "p".into(), ..Report::default() };
        let files = write_folder(&report, &place, "index.html").unwrap();
        assert_eq!(std::fs::read_to_string(place.join(".gitignore")).unwrap(), "*\n");
        let first = std::fs::read(&files.html).unwrap();
        write_folder(&report, &place, "index.html").unwrap();
        assert_eq!(std::fs::read(&files.html).unwrap(), first);
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 4);
        // A folder that was there before keeps what is in it, and gets no .gitignore.
        let theirs = folder.path().join("theirs");
        std::fs::create_dir(&theirs).unwrap();
        write_folder(&report, &theirs, "index.html").unwrap();
        assert!(!theirs.join(".gitignore").exists());
        assert!(write_folder(&report, &files.html, "x").is_err());
    }
}
