//! Runs a user's command about a file: one that prints its fingerprint, or one that says by its exit code
//! whether the file is an input at all.
//!
//! Nothing of it is remembered: what it read besides the file (a helper, a configuration, the environment)
//! is not known, so that no value can be trusted to be that of now.

use crate::read::hash_to_end;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tamis_core::Hash;

/// The hash by which [`Scheme::Command`](tamis_core::Scheme::Command) names a command.
pub fn command_id(words: &[String]) -> Hash {
    Hash::of_parts(words.iter().map(String::as_bytes))
}

/// Of what a failing command says, this much is kept.
const MAX_COMPLAINT: u64 = 400;

/// A command, and where it runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runner<'a> {
    /// Each `{}` in them stands for the path.
    pub(crate) words: &'a [String],
    pub(crate) folder: &'a Path,
    pub(crate) timeout: Duration,
}

/// How it ended.
struct Ran {
    program: String,
    status: ExitStatus,
    output: Printed,
    complaint: String,
}

/// What it printed, and whether that was more than blanks.
type Printed = io::Result<(Hash, bool)>;

impl Runner<'_> {
    /// Hash of what the command prints about the file; `None` if it prints nothing.
    pub(crate) fn fingerprint(&self, path: &Path) -> Result<Option<Hash>, String> {
        let ran = self.run(path, "fingerprint")?;
        if !ran.status.success() {
            return Err(self.failed(&ran, path, "fingerprint"));
        }
        match ran.output {
            Ok((hash, something)) => Ok(something.then_some(hash)),
            Err(error) => Err(format!(
                "the output of the fingerprint command {} for {} could not be read: {error}",
                ran.program,
                self.shown(path)
            )),
        }
    }

    /// Whether the command says that the file is no input: exit code 0 does, 1 does not, as with grep.
    pub(crate) fn ignores(&self, path: &Path) -> Result<bool, String> {
        let ran = self.run(path, "ignore-if")?;
        match ran.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(self.failed(&ran, path, "ignore-if")),
        }
    }

    fn failed(&self, ran: &Ran, path: &Path, kind: &str) -> String {
        let complaint = ran.complaint.split_whitespace().collect::<Vec<_>>().join(" ");
        let complaint = if complaint.is_empty() { complaint } else { format!(": {complaint}") };
        let (program, status) = (&ran.program, ran.status);
        format!(
            "the {kind} command {program} failed for {} ({status}){complaint}",
            self.shown(path)
        )
    }

    /// The path as users know it.
    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(self.folder).unwrap_or(path).display().to_string()
    }

    fn run(&self, path: &Path, kind: &str) -> Result<Ran, String> {
        let mut words = self.words.iter().map(|word| with_path(word, path));
        let program = words.next().ok_or("the fingerprint command is empty; give it a program")?;
        let shown = program.to_string_lossy().into_owned();
        let mut child = Command::new(program)
            .args(words)
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("the {kind} command {shown} did not start: {error}"))?;
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let output = thread::spawn(move || stdout.map_or(Ok((Hash::of(b""), false)), printed));
        let complaint = thread::spawn(move || stderr.map(beginning).unwrap_or_default());
        let status = wait(&mut child, self.timeout);
        let lost = |_| Err(io::Error::other("its reader was lost"));
        let output = output.join().unwrap_or_else(lost);
        let complaint = complaint.join().unwrap_or_default();
        match status {
            Ok(Some(status)) => Ok(Ran { program: shown, status, output, complaint }),
            Ok(None) => Err(format!(
                "the {kind} command {shown} took longer than {} s for {} and was ended",
                self.timeout.as_secs_f64(),
                self.shown(path)
            )),
            Err(error) => Err(format!("the {kind} command {shown} was lost: {error}")),
        }
    }
}

fn printed(stdout: ChildStdout) -> Printed {
    let mut watched = Watched { inner: stdout, something: false };
    let hash = hash_to_end(&mut watched)?;
    Ok((hash, watched.something))
}

/// Notices whether anything but blanks comes through.
struct Watched<R> {
    inner: R,
    something: bool,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.something |= buffer[..got].iter().any(|byte| !byte.is_ascii_whitespace());
        Ok(got)
    }
}

fn with_path(word: &str, path: &Path) -> OsString {
    let pieces: Vec<&[u8]> = word.split("{}").map(str::as_bytes).collect();
    OsString::from_vec(pieces.join(OsStr::as_bytes(path.as_os_str())))
}

fn beginning(mut source: impl Read) -> String {
    let mut kept = Vec::new();
    // What cannot be read cannot be shown; and the rest must be drained or the command would wait.
    let _unshown = (&mut source).take(MAX_COMPLAINT).read_to_end(&mut kept);
    let _drained = io::copy(&mut source, &mut io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}

/// Waits for the end of the command and ends whatever it left running, which would keep its output
/// open. `None` when the time is over.
fn wait(child: &mut Child, timeout: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + timeout;
    let mut pause = Duration::from_micros(200);
    let in_time = loop {
        if has_ended(child)? {
            break true;
        }
        if Instant::now() >= deadline {
            break false;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    // SAFETY: sends a signal. The group was made for this child, which has not been reaped yet, so
    // that its number cannot belong to anybody else.
    unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
    let status = child.wait()?;
    Ok(in_time.then_some(status))
}

/// Whether the child has ended; it stays to be reaped.
fn has_ended(child: &Child) -> io::Result<bool> {
    // SAFETY: all-zero is a valid value of this plain C structure.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is valid for the call to write to.
    if unsafe { libc::waitid(libc::P_PID, child.id(), &raw mut info, flags) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: after a successful call the field is set, or still zero when nothing has ended.
    Ok(unsafe { info.si_pid() } != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script, "sh", "{}"].map(str::to_owned).to_vec()
    }

    /// What a command says about a path, with `/` as the project's folder.
    fn fingerprint(words: &[String], path: &Path) -> Result<Option<Hash>, String> {
        Runner { words, folder: Path::new("/"), timeout: LONG }.fingerprint(path)
    }

    fn ignores(script: &str) -> Result<bool, String> {
        let words = shell(script);
        Runner { words: &words, folder: Path::new("/"), timeout: LONG }.ignores(Path::new("/a/f"))
    }

    #[test]
    fn the_output_is_the_fingerprint() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(OsStr::from_bytes(b"a b\xff"));
        std::fs::write(&path, "content\n").unwrap();
        let words = shell("echo noise >&2; cat \"$1\"; pwd");
        let runner = Runner { words: &words, folder: dir.path(), timeout: LONG };
        let expected = format!("content\n{}\n", dir.path().canonicalize().unwrap().display());
        assert_eq!(runner.fingerprint(&path), Ok(Some(Hash::of(expected.as_bytes()))));
        assert_eq!(with_path("--of={}:{}", Path::new("/x")), "--of=/x:/x");
    }

    #[test]
    fn every_failure_is_reported() {
        let file = Path::new("/a/f");
        let error = fingerprint(&shell("echo broken >&2; echo x; exit 3"), file).unwrap_err();
        assert_eq!(error, "the fingerprint command sh failed for a/f (exit status: 3): broken");
        let missing = vec!["no-such-program-of-tamis".to_owned()];
        assert!(fingerprint(&missing, file).unwrap_err().contains("did not start"));
        let not_executable = vec!["/dev/null".to_owned()];
        assert!(fingerprint(&not_executable, file).unwrap_err().contains("did not start"));
        assert!(fingerprint(&[], file).unwrap_err().contains("empty"));
        let killed = fingerprint(&shell("echo x; kill -9 $$"), file).unwrap_err();
        assert!(killed.contains("signal"), "{killed}");
    }

    #[test]
    fn blanks_are_no_fingerprint() {
        let file = Path::new("/a/f");
        for script in ["true", "echo", "printf ' \n\t'", "echo noise >&2"] {
            assert_eq!(fingerprint(&shell(script), file), Ok(None), "{script}");
        }
        assert!(matches!(fingerprint(&shell("echo 0"), file), Ok(Some(_))));
    }

    #[test]
    fn a_filter_answers_by_its_exit_code() {
        assert_eq!(ignores("exit 0"), Ok(true));
        assert_eq!(ignores("echo yes; exit 1"), Ok(false));
        assert!(ignores("exit 2").unwrap_err().contains("the ignore-if command sh failed"));
        assert!(ignores("kill -9 $$").is_err());
        let words = vec!["no-such-program-of-tamis".to_owned()];
        let missing = Runner { words: &words, folder: Path::new("/"), timeout: LONG };
        assert!(missing.ignores(Path::new("/a/f")).is_err());
    }

    #[test]
    fn a_command_that_does_not_end_is_ended_with_its_children() {
        let file = Path::new("/a/f");
        let words = shell("sleep 100");
        let hasty = Runner { words: &words, folder: Path::new("/"), timeout: LONG / 1000 };
        let error = hasty.fingerprint(file).unwrap_err();
        assert!(error.contains("took longer") && error.contains("a/f"), "{error}");
        assert!(hasty.ignores(file).unwrap_err().contains("took longer"));
        // The child holds the output open after the shell is gone.
        assert!(fingerprint(&shell("sleep 100 & echo x"), file).is_ok());
    }

    #[test]
    fn much_output_on_both_sides_does_not_block() {
        let script = "yes | head -c 300000 >&2; yes | head -c 300000";
        let expected = Hash::of("y\n".repeat(150_000).as_bytes());
        assert_eq!(fingerprint(&shell(script), Path::new("/f")), Ok(Some(expected)));
    }
}
