//! The cases, each in shell: what is there before, what the test does, what somebody changes then.
//!
//! `t` starts a program of tools.py, `serve` a server that stays. `$PORT` and `$OTHER` are free ports,
//! `$HERE` is an address of this machine that is not of the loopback.

use crate::stage::LATE;

/// What tamis says about a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Skip,
    Run,
    /// Skip, with an engine that stops the process at each call; the others cannot know, and run.
    SkipIfStopped,
    /// Skip; an engine that reports afterwards may come too late to see what was there, and runs.
    SkipIfSeen,
    /// Run, unless the user is root, to whom permissions mean nothing.
    RunUnlessRoot,
    /// Run, unless the system forbids io_uring, where a try does nothing.
    RunIfRing,
}

impl Answer {
    /// What this engine is to say.
    pub(crate) fn of(self, engine: &str) -> Self {
        match self {
            Self::SkipIfStopped if matches!(engine, "ebpf" | "patch") => Run,
            Self::SkipIfStopped | Self::SkipIfSeen => Skip,
            // SAFETY: has no precondition.
            Self::RunUnlessRoot if unsafe { libc::geteuid() } == 0 => Skip,
            Self::RunUnlessRoot => Run,
            Self::RunIfRing if has_ring() => Run,
            Self::RunIfRing => Skip,
            plain => plain,
        }
    }
}

impl Answer {
    /// Whether this engine may say that.
    pub(crate) fn allows(self, engine: &str, given: Self) -> bool {
        match engine {
            // It is right if nothing is skipped that is to run.
            LATE => self.of("ebpf") != Run || given == Run,
            "ebpf" if self == Self::SkipIfSeen => true,
            _ => self.of(engine) == given,
        }
    }
}

/// Whether io_uring works here.
fn has_ring() -> bool {
    let mut parameters = [0u64; 32];
    // SAFETY: the kernel writes into memory that is large enough.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) };
    // SAFETY: closes what was just made, or nothing.
    unsafe { libc::close(ring as i32) };
    ring >= 0
}

use Answer::{Run, RunUnlessRoot, Skip, SkipIfStopped};

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) before: &'static str,
    pub(crate) test: &'static str,
    pub(crate) change: &'static str,
    /// Where nothing was changed, and after the change.
    pub(crate) again: Answer,
    pub(crate) changed: Answer,
}

pub(crate) const fn case(
    name: &'static str,
    [before, test, change]: [&'static str; 3],
    again: Answer,
    changed: Answer,
) -> Case {
    Case { name, before, test, change, again, changed }
}

/// A place to connect to, and what is there.
#[rustfmt::skip]
pub(crate) const CONNECTIONS: &[Case] = &[
    case("tcp: refused, then somebody listens",
        ["", "t dial tcp 127.0.0.1:$PORT", "serve tcp 127.0.0.1:$PORT"], Skip, Run),
    case("tcp: refused, then somebody listens at all addresses",
        ["", "t dial tcp 127.0.0.1:$PORT", "serve tcp 0.0.0.0:$PORT"], Skip, Run),
    case("tcp: refused, then somebody listens at all addresses of both families",
        ["", "t dial tcp 127.0.0.1:$PORT", "serve tcp :::$PORT"], Skip, Run),
    case("tcp: refused, then somebody listens at another port",
        ["", "t dial tcp 127.0.0.1:$PORT", "serve tcp 127.0.0.1:$OTHER"], Skip, Skip),
    case("tcp: refused, then somebody listens at the port for datagrams",
        ["", "t dial tcp 127.0.0.1:$PORT", "serve udp 127.0.0.1:$PORT"], Skip, Skip),
    case("tcp: refused by the other family only",
        ["", "t dial tcp ::1:$PORT", "serve tcp 127.0.0.1:$PORT"], Skip, Skip),
    case("tcp: refused at ::1, then somebody listens",
        ["", "t dial tcp ::1:$PORT", "serve tcp ::1:$PORT"], Skip, Run),
    case("tcp: refused at another address of the loopback",
        ["", "t dial tcp 127.0.0.9:$PORT", "serve tcp 127.0.0.9:$PORT"], Skip, Run),
    case("tcp: refused at the machine's own address",
        ["", "t dial tcp $HERE:$PORT", "serve tcp $HERE:$PORT"], Skip, Run),
    case("tcp: refused without waiting, then somebody listens",
        ["", "t dial_without_waiting tcp 127.0.0.1:$PORT", "serve tcp 127.0.0.1:$PORT"], Skip, Run),
    case("tcp: refused many times",
        ["", "t dial tcp 127.0.0.1:$PORT; t dial tcp 127.0.0.1:$PORT", "serve tcp 127.0.0.1:$PORT"], Skip, Run),
    case("tcp: refused by a shell",
        ["", "bash -c 'exec 3<>/dev/tcp/127.0.0.1/$PORT' || :", "serve tcp 127.0.0.1:$PORT"], Skip, Run),
    case("tcp: a service",
        ["serve tcp 127.0.0.1:$PORT", "t dial tcp 127.0.0.1:$PORT", ":"], Run, Run),
    case("tcp: a service, without waiting",
        ["serve tcp 127.0.0.1:$PORT", "t dial_without_waiting tcp 127.0.0.1:$PORT", ":"], Run, Run),
    case("tcp: a service at the machine's own address",
        ["serve tcp 0.0.0.0:$PORT", "t dial tcp $HERE:$PORT", ":"], Run, Run),
    case("tcp: a service that is gone after one answer",
        ["serve tcp 127.0.0.1:$PORT once", "t dial tcp 127.0.0.1:$PORT", ":"], Run, Run),
    case("tcp: a service that is gone after one answer, without waiting",
        ["serve tcp 127.0.0.1:$PORT once", "t dial_without_waiting tcp 127.0.0.1:$PORT", ":"], Run, Run),
    case("tcp: a service that comes while the test waits for it",
        ["(sleep 0.4; t serve tcp 127.0.0.1:$PORT $AWAY/late once) >/dev/null 2>&1 &",
         "t wait_for tcp 127.0.0.1:$PORT", ":"], Run, Run),
    case("tcp: refused at the address of none", ["", "t dial tcp 0.0.0.0:$PORT", "serve tcp 127.0.0.1:$PORT"], Skip, Run),
    case("tcp: refused at the address of none of the other family",
        ["", "t dial tcp :::$PORT", "serve tcp ::1:$PORT"], Skip, Run),
    case("tcp: refused at a mapped address",
        ["", "t dial tcp ::ffff:127.0.0.1:$PORT", "serve tcp 127.0.0.1:$PORT"], Skip, Run),
    case("tcp: refused at a name", ["", "t dial tcp localhost:$PORT", "serve tcp 127.0.0.1:$PORT"], Skip, Run),
    case("tcp: refused to a first message", ["", "t send_first 127.0.0.1:$PORT", "serve tcp 127.0.0.1:$PORT"], Skip, Run),
    case("tcp: a service, with a first message", ["serve tcp 127.0.0.1:$PORT", "t send_first 127.0.0.1:$PORT", ":"], Run, Run),
    case("mptcp: refused, then somebody listens",
        ["", "t dial mptcp 127.0.0.1:$PORT", "serve tcp 127.0.0.1:$PORT"], Skip, Run),
    case("mptcp: a service", ["serve mptcp 127.0.0.1:$PORT", "t dial mptcp 127.0.0.1:$PORT", ":"], Run, Run),
    case("udp: connected to nobody, then to somebody",
        ["", "t connected udp 127.0.0.1:$PORT", "serve udp 127.0.0.1:$PORT"], Skip, Run),
    case("udp: a message to nobody, then to somebody",
        ["", "t message udp 127.0.0.1:$PORT", "serve udp 127.0.0.1:$PORT"], Skip, Run),
    case("udp: many messages to nobody, then to somebody",
        ["", "t messages 127.0.0.1:$OTHER 127.0.0.1:$PORT", "serve udp 127.0.0.1:$PORT"], Skip, Run),
    case("udp: many messages to a service",
        ["serve udp 127.0.0.1:$PORT", "t messages 127.0.0.1:$OTHER 127.0.0.1:$PORT", ":"], Run, Run),
    case("unix: packets, nothing there, then somebody listens",
        ["", "t dial unixpacket sock", "serve unixpacket sock"], Skip, Run),
    case("unix: packets, a service", ["serve unixpacket sock", "t dial unixpacket sock", ":"], Run, Run),
    case("unix: a message to nobody, then to somebody",
        ["", "t message unixgram sock", "serve unixgram sock"], Skip, Run),
    case("unix: a service behind a link",
        ["serve unix real; ln -s real sock", "t dial unix sock", ":"], Run, Run),
    case("unix: a link to nothing, then somebody listens there",
        ["ln -s real sock", "t dial unix sock", "serve unix real"], Skip, Run),
    case("unix: out of another folder", ["mkdir d", "cd d; t dial unix ../sock", "serve unix sock"], Skip, Run),
    case("unix: the name is taken, then free", ["t wants unix sock", "t wants unix sock", "rm sock"], Skip, Run),
    case("abstract: datagrams to nobody, then to somebody",
        ["", "t dial abstractgram tamis-$PORT", "serve abstractgram tamis-$PORT"], Skip, Run),
    case("a port of all addresses is free, then taken at one",
        ["", "t wants tcp 0.0.0.0:$PORT", "serve tcp 127.0.0.1:$PORT"], Skip, Run),
    case("a port of one address is free, then taken at all",
        ["", "t wants tcp 127.0.0.1:$PORT", "serve tcp 0.0.0.0:$PORT"], Skip, Run),
    case("udp: nobody there, then somebody",
        ["", "t dial udp 127.0.0.1:$PORT", "serve udp 127.0.0.1:$PORT"], Skip, Run),
    case("udp: a service",
        ["serve udp 127.0.0.1:$PORT", "t dial udp 127.0.0.1:$PORT", ":"], Run, Run),
    case("unix: nothing there, then somebody listens",
        ["", "t dial unix sock", "serve unix sock"], Skip, Run),
    case("unix: the socket of somebody who is gone, then somebody listens",
        ["t wants unix sock", "t dial unix sock", "rm sock; serve unix sock"], Skip, Run),
    case("unix: a service",
        ["serve unix sock", "t dial unix sock", ":"], Run, Run),
    case("unix: a service that goes",
        ["serve unix sock", "t dial unix sock", "stop"], Run, Run),
    case("unix: datagrams to nobody, then to somebody",
        ["", "t dial unixgram sock", "serve unixgram sock"], Skip, Run),
    case("unix: nothing in a temp folder, then somebody listens",
        ["", "t dial unix $AWAY/sock", "serve unix $AWAY/sock"], Skip, Run),
    case("abstract: refused, then somebody listens",
        ["", "t dial abstract tamis-$PORT", "serve abstract tamis-$PORT"], Skip, Run),
    case("abstract: refused, then somebody listens at a longer name",
        ["", "t dial abstract tamis-$PORT", "serve abstract tamis-$PORT-x"], Skip, Skip),
    case("abstract: a service",
        ["serve abstract tamis-$PORT", "t dial abstract tamis-$PORT", ":"], Run, Run),
    case("a port is free, then taken",
        ["", "t wants tcp 127.0.0.1:$PORT", "serve tcp 127.0.0.1:$PORT"], Skip, Run),
    case("a port is taken, then free",
        ["serve tcp 127.0.0.1:$PORT", "t wants tcp 127.0.0.1:$PORT", "stop"], Skip, Run),
    case("a port for datagrams is taken, then free",
        ["serve udp 127.0.0.1:$PORT", "t wants udp 127.0.0.1:$PORT", "stop"], Skip, Run),
    case("an abstract name is taken, then free",
        ["serve abstract tamis-$PORT", "t wants abstract tamis-$PORT", "stop"], Skip, Run),
];

/// Servers of the test itself.
#[rustfmt::skip]
pub(crate) const OWN_SERVERS: &[Case] = &[
    case("own: tcp", ["", "t own", ":"], Skip, Skip),
    case("own: a hundred, one after the other", ["", "t own_many 100", ":"], Skip, Skip),
    case("own: twenty at once", ["", "t own_parallel 20", ":"], Skip, Skip),
    case("own: at ::1", ["", "t own tcp ::1:0", ":"], Skip, Skip),
    case("own: at all addresses", ["", "t own tcp 0.0.0.0:0 127.0.0.1", ":"], Skip, Skip),
    case("own: of both families, by the other one", ["", "t own tcp :::0 127.0.0.1", ":"], Skip, Skip),
    case("own: by the machine's own address", ["", "t own tcp 0.0.0.0:0 $HERE", ":"], Skip, Skip),
    case("own: unix", ["", "t own unix sock; rm sock", ":"], Skip, Skip),
    case("own: unix in a temp folder", ["", "t own unix $AWAY/own; rm $AWAY/own", ":"], Skip, Skip),
    case("own: abstract", ["", "t own_abstract", ":"], Skip, Skip),
    case("own: udp, and an answer to a port that was not asked for", ["", "t own_udp", ":"], Skip, Skip),
    case("own: of a forked child", ["", "t own_forked", ":"], Skip, Skip),
    case("own: handed to another program", ["", "t own_inherited", ":"], Skip, Skip),
    case("own: listens without bind", ["", "t own_without_bind", ":"], Skip, Skip),
    case("own: a child asks before it listens", ["", "t own_polled_given", ":"], Skip, Skip),
    case("own: a child asks before it is there at a port of its choice",
        ["", "t own_polled 127.0.0.1:$PORT", "serve tcp 127.0.0.1:$PORT"], Skip, Run),
    case("own: at a port of its choice, which is then taken",
        ["", "t own tcp 127.0.0.1:$PORT", "serve tcp 127.0.0.1:$PORT"], Skip, Run),
];

/// Files: what is seen of them without reading them.
#[rustfmt::skip]
pub(crate) const FILES: &[Case] = &[
    case("append: the file is longer",
        ["echo A >log", "t tell log a", "head -c 500 /dev/zero >log"], Skip, Run),
    case("append: another content of the same length",
        ["echo A >log", "t tell log a", "echo B >log"], Skip, Skip),
    case("append: absent, then there", ["", "t tell log a; rm log", "echo A >log"], Skip, Run),
    case("append: absent, then empty", ["", "t tell log a; rm log", ": >log"], Skip, Skip),
    case("append: what the test itself left", ["echo A >log", "echo B >>log", ":"], Skip, Skip),
    case("write in place: the file is longer",
        ["echo A >log", "t seek_end log", "echo AB >log"], Skip, Run),
    case("write in place: the file is gone", ["echo A >log", "t seek_end log", "rm log"], Skip, Run),
    case("write from the start: the file is longer",
        ["echo A >log", "t tell log w; echo A >log", "echo AB >log"], Skip, Skip),
    case("link: the name is taken, then free",
        ["touch a b", "t attempt link a b", "rm b"], Skip, Run),
    case("link: the name is free, then taken",
        ["touch a", "t attempt link a b; rm b", "touch b"], Skip, Run),
    case("symlink: the name is taken, then free",
        ["touch b", "t attempt symlink a b", "rm b"], Skip, Run),
    case("mkdir: the name is taken, then free",
        ["touch b", "t attempt mkdir b", "rm b"], Skip, Run),
    case("mkfifo: the name is taken, then free",
        ["touch b", "t attempt mkfifo b", "rm b"], Skip, Run),
    case("O_EXCL: the name is taken, then free",
        ["touch b", "t open_with b O_CREAT O_EXCL O_WRONLY", "rm b"], Skip, Run),
    case("rename that keeps: the name is taken, then free",
        ["touch a b", "t rename_keeping a b", "rm b"], Skip, Run),
    case("rename that keeps: the name is taken, by something else then",
        ["touch a b", "t rename_keeping a b", "echo x >b"], Skip, Skip),
    case("rmdir: not empty, then empty",
        ["mkdir d; touch d/a", "t attempt rmdir d", "rm d/a"], Skip, Run),
    case("unlink: nothing there, then something",
        ["", "t attempt unlink a", "touch a"], Skip, Run),
    case("pipe: read what waits in it",
        ["mkfifo p; (exec 8<>p; echo good >&8; touch $AWAY/full; sleep 2) & while ! [ -e $AWAY/full ]; do sleep 0.02; done",
         "read x <p", ":"], Run, Run),
    case("pipe: write to nobody", ["mkfifo p", "t open_with p O_WRONLY O_NONBLOCK", ":"], Run, Run),
    case("pipe: read nothing", ["mkfifo p", "t open_with p O_RDONLY O_NONBLOCK", ":"], Run, Run),
    case("pipe: over which make hands out its tokens",
        ["mkfifo GMfifo7", "t open_with GMfifo7 O_RDONLY O_NONBLOCK", ":"], Skip, Skip),
    case("pipe: only looked at", ["mkfifo p", "[ -p p ]", "rm p"], Skip, Run),
    case("pipe: the test's own", ["", "mkfifo p; (echo x >p) & read x <p; rm p", ":"], Skip, Skip),
    case("attributes: another value",
        ["touch a; t set_attribute a user.k 1", "t attempt getxattr a user.k", "t set_attribute a user.k 2"], Skip, Run),
    case("attributes: none, then one",
        ["touch a", "t attempt getxattr a user.k", "t set_attribute a user.k 2"], Skip, Run),
    case("attributes: another name",
        ["touch a", "t attempt listxattr a", "t set_attribute a user.j 2"], Skip, Run),
    case("attributes: of an open file",
        ["touch a", "t attributes_of_open a", "t set_attribute a user.k 2"], Skip, Run),
    case("attributes: of a folder",
        ["mkdir d", "t attempt getxattr d user.k", "t set_attribute d user.k 2"], Skip, Run),
    case("attributes: nobody asks",
        ["echo x >a", "cat a", "t set_attribute a user.k 2"], Skip, Skip),
    case("rights: to execute", ["touch a", "t allowed a X_OK", "chmod +x a"], Skip, Run),
    case("rights: to enter a folder", ["mkdir d", "t allowed d W_OK", "rmdir d"], Skip, Run),
    case("rights: to write a file",
        ["touch a", "t allowed a W_OK", "chmod 444 a"], Skip, RunUnlessRoot),
    case("rights: to make a file in a folder",
        ["mkdir d", "echo x >d/a; rm d/a", "chmod 555 d"], Skip, RunUnlessRoot),
    case("rights: to make a folder in a folder",
        ["mkdir d", "mkdir d/a; rmdir d/a", "chmod 555 d"], Skip, RunUnlessRoot),
    case("rights: to make a new file in a folder",
        ["mkdir d", "t open_with d/a O_CREAT O_EXCL O_WRONLY; rm d/a", "chmod 555 d"], Skip, RunUnlessRoot),
    case("rights: to remove something from a folder",
        ["mkdir d", "t attempt unlink d/a", "chmod 444 d"], Skip, RunUnlessRoot),
    case("rights: to rename into a folder",
        ["mkdir d", "touch a; t rename_keeping a d/a; rm d/a", "chmod 555 d"], Skip, RunUnlessRoot),
    case("rights: to append to a file",
        ["touch a", ": >>a", "chmod 444 a"], Skip, RunUnlessRoot),
    case("rights: of others, which this user does not need",
        ["printf '#!/bin/sh\\n' >a; chmod 755 a", "./a", "chmod 744 a"], Skip, Skip),
    case("rights: a program loses all rights to execute it",
        ["printf '#!/bin/sh\\n' >a; chmod 755 a", "./a || :", "chmod 644 a"], Skip, Run),
    case("the same file, then a copy",
        ["echo A >a; ln a b", "[ a -ef b ]", "cp a c; mv c b"], Skip, Run),
    case("two names, then one", ["echo A >a; ln a b", "stat a", "rm b"], Skip, Run),
    case("two names, then three", ["echo A >a; ln a b", "stat a", "ln a c"], Skip, Skip),
    case("a link to the working folder of the process",
        ["mkdir d; echo A >d/f; ln -s /proc/self/cwd l", "cd d && cat ../l/f", "echo B >d/f"], SkipIfStopped, Run),
    case("a link to an open folder of the process",
        ["mkdir d; echo A >d/f; ln -s /dev/fd/9 l", "exec 9<d; cat l/f", "echo B >d/f"], SkipIfStopped, Run),
];
