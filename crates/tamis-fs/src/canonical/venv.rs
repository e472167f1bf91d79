//! `pyvenv.cfg`, by which Python knows that it is in a virtual environment.
//!
//! Left out is the line `command`, in which `python -m venv` writes down how it was called, with the folder of this machine, so
//! that no two environments would be alike. Nothing of Python reads it. Every other line counts, in its order and by its bytes
//! (Python cares about neither, but what else there is may), and so does a second `command`, which is none of `venv`'s.

use tamis_core::{Hash, Hasher};

/// `None` for what is no such file.
pub(super) fn hash(bytes: &[u8]) -> Option<Hash> {
    let text = std::str::from_utf8(bytes).ok()?;
    let key = |line: &str| line.split_once('=').map(|(key, _)| key.trim().to_ascii_lowercase());
    // Python takes the file for one only if it says where Python is.
    text.lines().find(|line| key(line).as_deref() == Some("home"))?;
    let mut commands = 0;
    let mut hasher = Hasher::new();
    for line in text.lines() {
        if key(line).as_deref() == Some("command") {
            commands += 1;
            // That there is one says which tool made the environment.
            hasher.update(b"command =\n");
            continue;
        }
        hasher.update(line.as_bytes());
        hasher.update(b"\n");
    }
    (commands <= 1).then(|| hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE: &str = "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.2\nexecutable = /usr/bin/python3.11\n";

    fn made(more: &str) -> Option<Hash> {
        hash(format!("{MADE}{more}").as_bytes())
    }

    #[test]
    fn how_it_was_made_does_not_count() {
        let one = made("command = /usr/bin/python3 -m venv /home/ann/app/.venv\n");
        assert_eq!(one, made("command = /usr/bin/python3 -m venv /srv/ci/app/.venv\n"));
        assert!(one.is_some() && one != made(""));
    }

    #[test]
    fn everything_else_does() {
        let command = "command = x\n";
        let one = made(command);
        for more in ["prompt = 'app'\n", "command = y\n", "uv = 0.4.1\n", "commands = x\n"] {
            assert_ne!(one, made(&format!("{command}{more}")), "{more}");
        }
        let other =
            |from: &str, to: &str| hash(format!("{MADE}{command}").replace(from, to).as_bytes());
        assert_ne!(one, other("= false", "= true"));
        assert_ne!(one, other("home = /usr/bin", "home = /opt/python/bin"));
        assert_ne!(one, other("3.11.2", "3.11.3"));
        assert_eq!(other("home", "house"), None);
        assert_eq!(hash(b"home = \xff\n"), None);
    }
}
