//! Runs a user's command that prints the fingerprint of a file.

use crate::read::hash_to_end;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tamis_core::Hash;

/// The hash by which [`Scheme::Command`](tamis_core::Scheme::Command) names a command.
pub fn command_id(words: &[String]) -> Hash {
    Hash::of_parts(words.iter().map(String::as_bytes))
}

/// Of what a failing command says, this much is kept.
const MAX_COMPLAINT: u64 = 400;

/// Hash of what the command prints about the file; each `{}` in its words stands for the path.
pub(crate) fn run(
    words: &[String],
    path: &Path,
    folder: &Path,
    timeout: Duration,
) -> Result<Hash, String> {
    let mut words = words.iter().map(|word| with_path(word, path));
    let program = words.next().ok_or("the fingerprint command is empty; give it a program")?;
    let shown = program.to_string_lossy().into_owned();
    let mut child = Command::new(program)
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("the fingerprint command {shown} did not start: {error}"))?;
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let output = thread::spawn(move || stdout.map(hash_to_end));
    let complaint = thread::spawn(move || stderr.map(beginning).unwrap_or_default());
    let status = wait(&mut child, timeout);
    let output = output.join();
    let complaint = complaint.join().unwrap_or_default();
    match status {
        Ok(Some(status)) if status.success() => match output {
            Ok(Some(Ok(hash))) => Ok(hash),
            _ => Err(format!("the output of the fingerprint command {shown} could not be read")),
        },
        Ok(Some(status)) => {
            Err(format!("the fingerprint command {shown} failed ({status}) {}", complaint.trim())
                .trim_end()
                .to_owned())
        }
        Ok(None) => Err(format!(
            "the fingerprint command {shown} took longer than {} s and was ended",
            timeout.as_secs_f64()
        )),
        Err(error) => Err(format!("the fingerprint command {shown} was lost: {error}")),
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

    #[test]
    fn the_output_is_the_fingerprint() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(OsStr::from_bytes(b"a b\xff"));
        std::fs::write(&path, "content\n").unwrap();
        let found = run(&shell("cat \"$1\"; pwd"), &path, dir.path(), LONG).unwrap();
        let expected = format!("content\n{}\n", dir.path().canonicalize().unwrap().display());
        assert_eq!(found, Hash::of(expected.as_bytes()));
        assert_eq!(with_path("--of={}:{}", Path::new("/x")), "--of=/x:/x");
    }

    #[test]
    fn every_failure_is_told() {
        let here = Path::new("/");
        let error = run(&shell("echo broken >&2; exit 3"), here, here, LONG).unwrap_err();
        assert!(error.contains("exit status: 3") && error.contains("broken"), "{error}");
        let missing = vec!["no-such-program-of-tamis".to_owned()];
        assert!(run(&missing, here, here, LONG).unwrap_err().contains("did not start"));
        assert!(run(&[], here, here, LONG).unwrap_err().contains("empty"));
        assert!(run(&shell("kill -9 $$"), here, here, LONG).unwrap_err().contains("signal"));
    }

    #[test]
    fn a_command_that_does_not_end_is_ended_with_its_children() {
        let here = Path::new("/");
        let error = run(&shell("sleep 100"), here, here, Duration::from_millis(50)).unwrap_err();
        assert!(error.contains("took longer"), "{error}");
        // The child holds the output open after the shell is gone.
        assert!(run(&shell("sleep 100 & echo x"), here, here, LONG).is_ok());
    }

    #[test]
    fn much_output_on_both_sides_does_not_block() {
        let here = Path::new("/");
        let script = "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero";
        assert_eq!(run(&shell(script), here, here, LONG), Ok(Hash::of(&[0; 300_000])));
    }
}
