//! What an adversary thinks of: strange names, ways through /proc, deep folders, files that somebody
//! else changes while the test runs, and calls that few programs make.

use crate::cases::Answer::{Run, Skip, SkipIfSeen, SkipIfStopped};
use crate::cases::{Case, case};

/// Names that mean something to a shell, to tamis's own paths, or nothing at all.
#[rustfmt::skip]
pub(crate) const NAMES: &[Case] = &[
    case("name: the word that stands for the home folder",
        ["mkdir '{home}'; echo A >'{home}/f'", "cat '{home}/f'", "echo B >'{home}/f'"], Skip, Run),
    case("name: the word that stands for the project",
        ["mkdir '{root}'; echo A >'{root}/f'", "cat '{root}/f'", "echo B >'{root}/f'"], Skip, Run),
    case("name: a tilde", ["mkdir '~'; echo A >'~/f'", "cat './~/f'", "echo B >'~/f'"], Skip, Run),
    case("name: no text in any encoding",
        ["echo A >\"$(printf 'a\\377b')\"", "cat a*", "echo B >\"$(printf 'a\\377b')\""], Skip, Run),
    case("name: another one that is no text", ["", "[ -e \"$(printf 'a\\377')\" ] || :", ": >\"$(printf 'a\\376')\""], Skip, Skip),
    case("name: as long as names can be", ["t long_name A", "t long_name", "t long_name B"], Skip, Run),
    case("name: longer than names can be", ["", "t too_long_name", ":"], SkipIfSeen, SkipIfSeen),
    case("name: in another case", ["echo A >f", "[ -e F ] || :; cat f", ": >F"], Skip, Run),
    case("name: three dots", ["mkdir ...; echo A >.../f", "cat .../f", "echo B >.../f"], Skip, Run),
    case("name: with a sign of the shell", ["echo A >'a*'", "cat 'a*'", ": >ab; echo B >'a*'"], Skip, Run),
    case("name: with a backslash", ["echo A >'a\\b'", "cat 'a\\b'", "echo B >'a\\b'"], Skip, Run),
    case("name: ends like that of a file that is gone",
        ["echo A >'f (deleted)'", "exec 9<'f (deleted)'; cat /dev/fd/9", "echo B >'f (deleted)'"], Skip, Run),
    case("deep: below 300 folders", ["t deep 300 d A", "t deep 300 d", "t deep 300 d B"], SkipIfSeen, Run),
    case("deep: a path that is longer than paths can be",
        ["t deep 30 long A", "t deep 30 long", "t deep 30 long B"], Run, Run),
    case("slashes: many", ["mkdir d; echo A >d/f", "cat .//d///f", "echo B >d/f"], Skip, Run),
    case("slashes: one behind a file", ["echo A >f", "cat f/ || :", "rm f; mkdir f"], SkipIfSeen, Run),
];

/// Ways to a file through what /proc shows of processes.
#[rustfmt::skip]
pub(crate) const PROC: &[Case] = &[
    case("proc: the working folder of a thread of another process",
        ["mkdir d; echo A >d/f; (cd d; exec sleep 60) >/dev/null 2>&1 & echo $! >$AWAY/other; echo $! >>$AWAY/servers; sleep 0.2",
         "P=$(cat $AWAY/other); cat /proc/$P/task/$P/cwd/f", "echo B >d/f"], SkipIfSeen, Run),
    case("proc: an open file of another process",
        ["echo A >f; sleep 60 <f >/dev/null 2>&1 & echo $! >$AWAY/other; echo $! >>$AWAY/servers; sleep 0.2",
         "cat /proc/$(cat $AWAY/other)/fd/0", "echo B >f"], SkipIfSeen, Run),
    case("proc: what another process has open, without a name",
        ["echo A >f; sleep 60 <f >/dev/null 2>&1 & echo $! >$AWAY/other; echo $! >>$AWAY/servers; sleep 0.2; rm f",
         "cat /proc/$(cat $AWAY/other)/fd/0", ":"], Run, Run),
    case("proc: memory with a name of another process",
        ["python3 $AWAY/tools.py holds_memory >/dev/null 2>&1 & echo $! >$AWAY/other; echo $! >>$AWAY/servers; while ! [ -e $AWAY/holds ]; do sleep 0.02; done",
         "cat /proc/$(cat $AWAY/other)/fd/$(cat $AWAY/holds)", ":"], Run, Run),
    case("proc: a file without a name that another process of the test has",
        ["echo A >f", "cp f g; exec 9<g; rm g; sh -c 'cat /proc/$PPID/fd/9'; :", "echo B >f"], SkipIfSeen, Run),
    case("proc: a pipe of another process",
        ["mkfifo $AWAY/p; (echo good; exec sleep 60) 2>/dev/null >$AWAY/p & echo $! >>$AWAY/servers
          sleep 60 <$AWAY/p >/dev/null 2>&1 & echo $! >$AWAY/other; echo $! >>$AWAY/servers; sleep 0.2",
         "read x </proc/$(cat $AWAY/other)/fd/0; echo $x", ":"], Run, Run),
    case("proc: the program of another process",
        ["cp \"$(command -v sleep)\" p; ./p 60 >/dev/null 2>&1 & echo $! >$AWAY/other; echo $! >>$AWAY/servers; sleep 0.2",
         "cksum /proc/$(cat $AWAY/other)/exe", "kill $(cat $AWAY/other); sleep 0.2; rm p; cp /bin/true p"], SkipIfSeen, Run),
    case("proc: back out of an open folder",
        ["mkdir d; echo A >f", "exec 9<d; cat /proc/self/fd/9/../f", "echo B >f"], Skip, Run),
    case("proc: a file that is mapped", ["echo A >f", "t by_map_files f", "echo B >f"], SkipIfSeen, Run),
    case("proc: the name of an open file", ["echo A >f", "exec 9<f; readlink /proc/self/fd/9; cat <&9", "echo B >f"], Skip, Run),
    case("proc: a descriptor that is opened again to write", ["echo AB >f", "t reopened_to_write f", "echo CDE >f"], SkipIfSeen, Run),
    case("proc: a link to a link of a process", ["echo A >f; ln -s /proc/self/fd/9 a; ln -s a b", "exec 9<f; cat b", "echo B >f"], SkipIfStopped, Run),
    case("proc: a name for an unnamed file, by the number", ["", "t named_by_number f; cat f; rm f", "echo A >f"], SkipIfSeen, Run),
    case("proc: a socket behind an open folder",
        ["mkdir d", "t dial_in_folder d", "cd d; serve unix s"], SkipIfSeen, Run),
];

/// What somebody else changes while the test runs: when it says so, and it waits until that is done.
#[rustfmt::skip]
pub(crate) const MEANWHILE: &[Case] = &[
    case("meanwhile: a file comes that the test waits for",
        ["meanwhile ': >ready'", "[ -e ready ] || :; now; [ -e ready ]", ":"], Run, Run),
    case("meanwhile: a file goes", ["echo A >f; meanwhile 'rm f'", "[ -e f ]; now; [ -e f ] || :", ":"], Run, Run),
    case("meanwhile: a file that was read is replaced",
        ["echo A >f; meanwhile 'echo B >g; mv g f'", "cat f; now", ":"], Run, Run),
    case("meanwhile: a file that was read is written to",
        ["echo A >f; meanwhile 'echo B >>f'", "cat f; now", ":"], Run, Run),
    case("meanwhile: a name comes into a folder that was listed",
        ["mkdir d; meanwhile ': >d/x'", "ls d; now", ":"], Run, Run),
    case("meanwhile: a folder that was listed is replaced",
        ["mkdir d; : >d/a; meanwhile 'mv d e; mkdir d; : >d/b'", "ls d; now", ":"], Run, Run),
    case("meanwhile: a link is turned",
        ["echo A >a; echo B >b; ln -s a l; meanwhile 'ln -sfn b l'", "cat l; now", ":"], Run, Run),
    case("meanwhile: a file is changed, read, and changed back",
        ["echo A >f; meanwhile 'echo B >f' 'echo A >f'", "cat f; now; cat f; now", ":"], Run, Run),
    case("meanwhile: a file that the test does not ask for changes",
        ["echo A >f; echo A >g; meanwhile 'echo B >g'", "cat f; now", ":"], Skip, Skip),
];

/// A program that is known to look at the entries of a folder only to know what they are.
#[rustfmt::skip]
pub(crate) const WALKS: &[Case] = &[
    case("walk: another content", ["echo A >listed.md", "t attempt lstat listed.md", "echo B >listed.md"], Skip, SkipIfStopped),
    case("walk: it is gone", ["echo A >listed.md", "t attempt lstat listed.md", "rm listed.md"], Skip, Run),
    case("walk: it comes", ["", "t attempt lstat listed.md", ": >listed.md"], Skip, Run),
    case("walk: a folder now", ["echo A >listed.md", "t attempt lstat listed.md", "rm listed.md; mkdir listed.md"], Skip, Run),
    case("walk: a link now", ["echo A >listed.md; echo A >g", "t attempt lstat listed.md", "ln -sf g listed.md"], Skip, Run),
    case("walk: it can be executed now", ["echo A >listed.md", "t attempt lstat listed.md", "chmod +x listed.md"], Skip, Run),
    case("walk: and links are followed", ["echo A >listed.md", "t attempt lstat listed.md; t attempt stat listed.md", "echo B >listed.md"], Skip, Run),
    case("walk: and it is read", ["echo A >listed.md", "t attempt lstat listed.md; cat listed.md", "echo B >listed.md"], Skip, Run),
];

/// Calls that few programs make.
#[rustfmt::skip]
pub(crate) const RARE: &[Case] = &[
    case("rare: opened to write, read by a second descriptor", ["echo AB >f", "t open_with f O_RDWR O_CREAT; cat f", "echo CD >f"], SkipIfSeen, Run),
    case("rare: opened to read, and made if it is not there",
        ["", "t open_with f O_RDONLY O_CREAT; cat f; rm f", "echo A >f"], Skip, Run),
    case("rare: opened to read and shortened", ["echo A >f", "t open_with f O_RDONLY O_TRUNC; cat f; echo A >f", "rm f"], SkipIfSeen, Run),
    case("rare: a folder is opened to write", ["mkdir d", "t open_with d O_WRONLY", "rmdir d"], Skip, Run),
    case("rare: a link is not followed", ["echo A >g; ln -s g f", "t open_with f O_RDONLY O_NOFOLLOW", "rm f; echo A >f"], Skip, Run),
    case("rare: only a folder is wanted", ["echo A >f", "t open_with f O_RDONLY O_DIRECTORY", "rm f; mkdir f"], SkipIfSeen, Run),
    case("rare: a lock file that only one can make",
        [": >lock", "t open_with lock O_CREAT O_EXCL O_RDWR", "rm lock"], Skip, Run),
    case("rare: only within this folder", ["mkdir d; echo A >d/f", "cd d; t openat2 f 0x08", "echo B >f"], Skip, Skip),
    case("rare: a link that leads out is refused",
        ["mkdir d; echo A >f; ln -s ../f d/l", "cd d; t openat2 l 0x08", "rm d/l; echo A >d/l"], Skip, Run),
    case("rare: only what is in memory already", ["echo A >f", "t openat2 f 0x20; cat f", "echo B >f"], Skip, Run),
    case("rare: the program of a folder of its own by its descriptor",
        ["mkdir d; printf '#!/bin/sh\\n' >d/p; chmod +x d/p", "t run_at d p || :", "printf '#!/bin/false\\n' >d/p"], Skip, Run),
    case("rare: a program without a first line", ["echo 'echo hi' >p; chmod +x p", "./p", "echo 'exit 1' >p"], Skip, Run),
    case("rare: an interpreter with an argument", ["echo A >f; printf '#!/bin/cat f\\n' >p; chmod +x p", "./p", "echo B >f"], Skip, Run),
    case("rare: an empty program", [": >p; chmod +x p", "./p || :", "echo 'exit 1' >p"], Skip, Run),
    case("rare: as another root of names of users", ["echo A >f", "t in_users f", "echo B >f"], Skip, Run),
    case("rare: under rules of its own (landlock)", ["echo A >f", "t landlocked f", "echo B >f"], SkipIfSeen, Run),
    case("rare: memory of another process of the test", ["echo A >f", "t from_memory_of_child f", "echo B >f"], Skip, Run),
    case("rare: copied by the file system", ["echo A >f", "cp --reflink=auto f $AWAY/copy; cat $AWAY/copy", "echo B >f"], Skip, Run),
    case("rare: a sparse file grows", ["truncate -s 1M f", "stat -c %s f", "truncate -s 2M f"], Skip, Run),
    case("rare: a sparse file is filled", ["truncate -s 4K f", "cat f", "printf x | dd of=f conv=notrunc 2>/dev/null"], Skip, Run),
    case("rare: the end of a file that is only written in the middle",
        ["echo ABCDEF >f", "t write_here f; tail -c 3 f", "echo ABCXYZ >f"], SkipIfSeen, Run),
    case("rare: a list of folders is walked with a descriptor",
        ["mkdir -p d/e; echo A >d/e/f", "t walked d", "echo A >d/e/g"], Skip, Run),
    case("rare: all names of a folder by a link", ["mkdir d; ln -s d l", "ls l/", ": >d/x"], Skip, Run),
    case("rare: a wait for changes in a folder (fanotify)", ["mkdir d", "t marked d", "rmdir d"], Skip, Run),
    case("rare: a datagram to many, and somebody here takes part",
        ["", "t to_many 239.255.77.1:$PORT", "t join_many 239.255.77.1:$PORT $AWAY/ready >/dev/null 2>&1 & echo $! >>$AWAY/servers; while ! [ -e $AWAY/ready ]; do sleep 0.02; done"], Skip, Run),
    case("rare: a datagram to many, among whom is a service here",
        ["t join_many 239.255.77.1:$PORT $AWAY/ready >/dev/null 2>&1 & echo $! >>$AWAY/servers; while ! [ -e $AWAY/ready ]; do sleep 0.02; done",
         "t to_many 239.255.77.1:$PORT", ":"], Run, Run),
    case("rare: a datagram to the test's own many", ["", "t own_many_take_part 239.255.77.1", ":"], Skip, Skip),
    case("rare: a socket of a child that is gone", ["", "t dial_after_child 127.0.0.1:$PORT", "serve tcp 127.0.0.1:$PORT"], Skip, Run),
    case("rare: the working tree of git, one more name",
        ["git init -q .; echo A >f; git add f; git -c user.name=x -c user.email=x@x commit -qm x",
         "git status --porcelain", ": >g"], SkipIfSeen, Run),
    case("rare: the working tree of git, another branch",
        ["git init -q .; git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x",
         "git describe --always --all", "git checkout -qb other"], Skip, Run),
    case("rare: another working tree of git",
        ["git init -q m; cd m; git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x; git worktree add -q ../w -b w",
         "cd w; git log --oneline", "cd m; git -c user.name=x -c user.email=x@x commit -q --allow-empty -m y; git update-ref refs/heads/w HEAD"], Skip, Run),
    case("rare: references of git are packed",
        ["git init -q .; git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x; git tag a; git pack-refs --all",
         "git tag -l", "git tag b; git pack-refs --all"], Skip, Run),
];
