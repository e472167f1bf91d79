//! The shim as a process of a session: tamis itself, started by go between itself and a test binary.
//!
//! It opens the file that makes it a host, connects, says in which folder it runs what, and marks where
//! the test binary begins and ends. Where tamis cannot be reached any more the binary runs all the same.

use crate::shim::{Ended, shim};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use tamis_session::{Printed, to_ours};
use tamis_wire::{Began, FromProcess, Hello, Mark, Payload, Verdict};

/// The first word of the shim's own command line.
pub const SHIM_VERB: &str = "__go-shim";

/// The one unit of a shim.
const UNIT: u32 = 1;

/// What a shim says of itself: its folder and its command line.
pub(crate) type Introduction = (Vec<u8>, Vec<Vec<u8>>);

/// Runs as the shim; `words` are the library, the socket and the token of the session, then the test
/// binary and its arguments. Gives the exit code.
pub fn shim_process(words: &[OsString]) -> i32 {
    let [library, socket, token, test @ ..] = words else { return 2 };
    let token = token.to_string_lossy();
    let link = RefCell::new(None);
    let passage = RefCell::new(None);
    let before = || {
        let streams = to_ours().map(|(printed, instead)| {
            *passage.borrow_mut() = Some(printed);
            instead
        });
        *link.borrow_mut() = connect(Path::new(library), Path::new(socket), test);
        look_at(&mark(true).path(&token));
        // Without it the test prints where it would, and nothing of that is known.
        Ok(streams.unwrap_or_default())
    };
    let after = |ended: &Ended| {
        let text = passage.borrow_mut().take().map(Printed::text).unwrap_or_default();
        look_at(&mark(false).path(&token));
        if let Some(link) = link.borrow_mut().take() {
            say_goodbye(link, ended, text);
        }
    };
    shim(test, before, after).unwrap_or_else(|error| {
        // As go itself says of a test that it cannot start.
        let _ = writeln!(std::io::stderr(), "{error}");
        1
    })
}

fn mark(begins: bool) -> Mark {
    Mark { pid: std::process::id(), test: UNIT, begins }
}

/// Says where this is and what begins; nothing where tamis cannot be reached.
fn connect(library: &Path, socket: &Path, test: &[OsString]) -> Option<UnixStream> {
    drop(std::fs::File::open(library));
    let mut link = UnixStream::connect(socket).ok()?;
    let folder = std::env::current_dir().unwrap_or_default().into_os_string().into_vec();
    let words = test.iter().map(|word| word.as_bytes().to_vec()).collect();
    let introduction: Introduction = (folder, words);
    let payload = Payload::of(&introduction).ok()?;
    let hello = FromProcess::Hello(Hello { pid: std::process::id(), payload });
    let (name, payload) = (String::new(), Payload::default());
    let began = FromProcess::Began(Began { test: UNIT, name, payload });
    tamis_wire::write(&mut link, &hello).ok()?;
    tamis_wire::write(&mut link, &began).ok()?;
    Some(link)
}

fn say_goodbye(mut link: UnixStream, ended: &Ended, text: Vec<u8>) {
    let verdict = if ended.code == Some(0) { Verdict::Passed } else { Verdict::Failed };
    if verdict == Verdict::Failed {
        let _ = tamis_wire::write(&mut link, &FromProcess::Payload(Payload(text)));
    }
    let wall_us = u64::try_from(ended.wall.as_micros()).unwrap_or(u64::MAX);
    let ended = FromProcess::Ended(tamis_wire::Ended { test: UNIT, verdict, wall_us });
    // A tamis that went away needs no report.
    let sent = tamis_wire::write(&mut link, &ended);
    let _ = sent.and_then(|()| tamis_wire::write(&mut link, &FromProcess::Bye));
}

/// Asks for a path that does not exist, so that the tracer sees it among our other accesses.
fn look_at(path: &str) {
    let _ = std::fs::metadata(path);
}
