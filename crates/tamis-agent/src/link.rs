//! The connection to tamis.
//!
//! Messages are gathered and leave at boundaries, so that a loaded class costs no system call;
//! whatever is still here when the JVM is killed belongs to tests that did not end. Once the
//! connection is broken everything is dropped in silence and the program runs on.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use tamis_jvm_wire::{FromJvm, ToJvm};

/// Sent at the latest when so much is waiting.
const FULL: usize = 64 << 10;

/// A tamis that reads nothing for this long is taken for gone.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(crate) struct Link {
    stream: Option<UnixStream>,
    waiting: Vec<u8>,
}

impl Link {
    pub(crate) fn connect(socket: &Path) -> io::Result<Self> {
        Ok(Self::over(UnixStream::connect(socket)?))
    }

    pub(crate) fn over(stream: UnixStream) -> Self {
        let _ = stream.set_write_timeout(Some(PATIENCE));
        Self { stream: Some(stream), waiting: Vec::new() }
    }

    pub(crate) fn tell(&mut self, message: &FromJvm) {
        if self.stream.is_none() {
            return;
        }
        let written = message.to_process().and_then(|m| tamis_wire::write(&mut self.waiting, &m));
        if written.is_err() {
            // A message that cannot be written is one that tamis would miss.
            self.stream = None;
        } else if self.waiting.len() >= FULL {
            self.flush();
        }
    }

    pub(crate) fn flush(&mut self) {
        let Some(stream) = &self.stream else { return };
        if Sender(stream).write_all(&self.waiting).is_err() {
            self.stream = None;
        }
        self.waiting.clear();
    }

    /// Sends a question and waits for its answer, however long tamis thinks about it.
    pub(crate) fn ask(&mut self, question: &FromJvm) -> Option<ToJvm> {
        self.tell(question);
        self.flush();
        let stream = self.stream.as_ref()?;
        let answer = tamis_wire::read(&mut Receiver(stream)).ok().flatten();
        if answer.is_none() {
            self.stream = None;
        }
        answer
    }

    /// Nothing leaves from here on.
    pub(crate) fn close(&mut self) {
        self.flush();
        self.stream = None;
    }
}

/// Writes without the signal that a closed connection raises otherwise: it belongs to the program.
struct Sender<'s>(&'s UnixStream);

impl Write for Sender<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: an open socket, and as many bytes as given.
        let sent = unsafe {
            libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL)
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Receiver<'s>(&'s UnixStream);

impl Read for Receiver<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.0;
        stream.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_wait_until_they_are_flushed() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut link = Link::over(ours);
        link.tell(&FromJvm::Trouble("one".into()));
        theirs.set_nonblocking(true).unwrap();
        assert!(theirs.read(&mut [0]).is_err());
        link.close();
        theirs.set_nonblocking(false).unwrap();
        let message = tamis_jvm_wire::read(&mut theirs).unwrap();
        assert_eq!(message, Some(FromJvm::Trouble("one".into())));
        assert_eq!(tamis_jvm_wire::read(&mut theirs).unwrap(), None);
    }

    #[test]
    fn a_tamis_that_went_away_is_no_error() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let mut link = Link::over(ours);
        for _ in 0..3 {
            link.tell(&FromJvm::Bye);
            link.flush();
        }
        assert_eq!(link.ask(&FromJvm::Bye), None);
    }
}
