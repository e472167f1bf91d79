//! What comes to a file by another name than the one it is read by, or by another way than a path, and what a
//! path is besides a file.

use crate::cases::Answer::{Run, Skip, SkipIfSeen};
use crate::cases::{Case, case};

/// Names that the test itself moves, gives and takes.
#[rustfmt::skip]
pub(crate) const MOVES: &[Case] = &[
    case("move: read under the new name", ["echo A >f", "mv f g; cat g; mv g f", "echo B >f"], SkipIfSeen, Run),
    case("move: read in a folder of the test's own",
        ["echo A >f", "mkdir d; mv f d/g; cat d/g; mv d/g f; rmdir d", "echo B >f"], SkipIfSeen, Run),
    case("link: read under the second name in a folder of the test's own",
        ["echo A >f", "mkdir d; ln f d/g; cat d/g; rm -r d", "echo B >f"], SkipIfSeen, Run),
    case("link: two of the test's own files", ["", "echo A >f; ln f g; cat g; rm f g", ":"], Skip, Skip),
    case("exchange: read under the other name",
        ["echo A >f; echo B >g", "t exchange f g; cat g; t exchange f g", "echo C >f"], SkipIfSeen, Run),
    case("exchange: a file for one of the test's own",
        ["echo A >f", "echo B >g; t exchange f g; cat g; t exchange f g; rm g", "echo C >f"], SkipIfSeen, Run),
    case("copy: read in the copy", ["mkdir d; echo A >d/f", "cp -r d e; cat e/f; rm -r e", "echo B >d/f"], Skip, Run),
    case("copy: one more in the copied folder", ["mkdir d; echo A >d/f", "cp -r d e; rm -r e", "echo B >d/g"], Skip, Run),
    case("archive: unpacked elsewhere",
        ["mkdir d; echo A >d/f", "mkdir e; tar cf - d | tar xf - -C e; cat e/d/f; rm -r e", "echo B >d/f"], Skip, Run),
    case("a link is moved over another one",
        ["mkdir a b; echo A >a/f; echo A >b/f; ln -s a l",
         "cat l/f; ln -s b m; mv -T m l; cat l/f; ln -s a m; mv -T m l", "echo B >b/f"], SkipIfSeen, Run),
    case("links change places",
        ["mkdir a b; echo A >a/f; echo A >b/f; ln -s a l; ln -s b m",
         "cat l/f; t exchange l m; cat l/f; t exchange l m", "echo B >b/f"], SkipIfSeen, Run),
    case("folders of the test's own with links change places",
        ["mkdir a b; echo A >a/f; echo A >b/f",
         "mkdir d e; ln -s ../a d/l; ln -s ../b e/l; cat d/l/f; mv d x; mv e d; cat d/l/f; rm -r x d", "echo B >b/f"], SkipIfSeen, Run),
    case("a link is made where nothing was",
        ["mkdir b; echo A >b/f", "cat l/f || :; ln -s b l; cat l/f; rm l", "echo B >b/f"], SkipIfSeen, Run),
    case("a folder of the test's own becomes a link",
        ["mkdir b; echo A >b/f", "mkdir d; echo x >d/f; cat d/f; rm -r d; ln -s b d; cat d/f; rm d", "echo B >b/f"], SkipIfSeen, Run),
    case("a folder of the test's own becomes a link that stays",
        ["mkdir b; echo A >b/f", "rm -rf d; mkdir d; echo x >d/f; cat d/f; rm -r d; ln -s b d; cat d/f", "echo B >b/f"], SkipIfSeen, Run),
    case("somebody's folder becomes a link that stays",
        ["mkdir b d; echo A >b/f", "rm -rf d; mkdir d; echo x >d/f; rm -r d; ln -s b d; cat d/f", "echo B >b/f"], SkipIfSeen, Run),
    case("a folder that is written in becomes a link that is moved there",
        ["mkdir b d; echo A >b/f", "[ -L d ] || { echo x >d/f; rm -r d; ln -s b m; mv -T m d; }; cat d/f", "echo B >b/f"], SkipIfSeen, Run),
    case("a file that is written becomes a link that stays",
        ["echo A >b", "rm -f l; echo x >l; rm l; ln -s b l; cat l", "echo B >b"], SkipIfSeen, Run),
    case("a folder that is moved away becomes a link that stays",
        ["mkdir b d; echo A >b/f", "[ -L d ] || { echo x >d/f; mv d e; ln -s b d; }; cat d/f", "echo B >b/f"], Run, Run),
    case("a folder is renamed by the test", ["mkdir d; echo A >d/f", "mv d e; cat e/f; mv e d", "echo B >d/f"], Run, Run),
    case("replaced, and never read", ["echo A >f", "echo B >f; cat f", "echo C >f"], Skip, Skip),
    case("replaced by a move, which looks at it first",
        ["echo A >f", "echo B >g; mv g f; cat f", "echo C >f"], SkipIfSeen, Run),
    case("shortened by path, then read", ["echo AB >f", "t shortened f; cat f", "echo CD >f"], SkipIfSeen, Run),
    case("written to through a mapping, then read", ["echo AB >f", "t mapped_to_write f; cat f", "echo CD >f"], SkipIfSeen, Run),
    case("written to by dd, then read",
        ["echo AB >f", "printf X | dd of=f conv=notrunc 2>/dev/null; cat f", "echo CD >f"], SkipIfSeen, Run),
    case("edited by sed", ["echo A >f", "sed -i s/A/B/ f", "echo C >f"], SkipIfSeen, Run),
    case("its time is set, and looked at", ["echo A >f", "touch -d 2001-01-01 f; stat f", "echo B >f"], SkipIfSeen, Run),
    case("its mode is set, and looked at", ["echo A >f", "chmod 640 f; stat f", "echo B >f"], SkipIfSeen, Run),
    case("its attributes are set, and asked for",
        ["echo A >f", "t set_attribute f user.k 1; t attempt getxattr f user.k", ":"], SkipIfSeen, SkipIfSeen),
    case("its attributes are set, and others asked for",
        ["echo A >f", "t set_attribute f user.k 1; t attempt getxattr f user.j", "t set_attribute f user.j 2"], SkipIfSeen, Run),
    case("its rights are set, and its names asked for",
        ["mkdir d; : >d/a", "chmod 700 d; ls d; rm -r d; mkdir d; : >d/a", "mkdir d/b"], SkipIfSeen, Run),
    case("another name is taken away between two looks",
        ["echo A >f; ln f g", "t attempt mkdir f; rm g; cat f; ln f g", "echo B >f"], SkipIfSeen, Run),
    case("another name is taken away after the last look",
        ["echo A >f; ln f g", "cat f; rm g; ln f g", "echo B >f"], SkipIfSeen, Run),
    case("another name is written to, with its old time",
        ["echo A >f; ln f g; touch -d 2001-01-01 f", "[ -d f ] || :; echo B >g; touch -d 2001-01-01 g; rm g; ln f g", ":"], Run, Run),
    case("an unnamed file gets a name", ["", "t named_later f; cat f; rm f", "echo A >f"], SkipIfSeen, Run),
];

/// Where a process stands, and what it holds.
#[rustfmt::skip]
pub(crate) const PLACES: &[Case] = &[
    case("out of a folder that is gone", ["echo A >f", "mkdir d; cd d; rmdir ../d; cat ../f", "echo B >f"], Run, Run),
    case("out of somebody's folder that is gone",
        ["mkdir d; echo A >f", "cd d; rmdir ../d; cat ../f; mkdir \"$OLDPWD/d\"", "echo B >f"], Run, Run),
    case("out of an open folder that is gone",
        ["echo A >f", "mkdir d; t out_of_gone d ../f", "echo B >f"], Run, Run),
    case("the names in a folder that is gone", ["", "mkdir d; cd d; rmdir ../d; ls", ":"], Skip, Skip),
    case("the working folder in /proc", ["echo A >f", "cat /proc/self/cwd/f", "echo B >f"], Skip, Run),
    case("the working folder of a thread", ["echo A >f", "cat /proc/thread-self/cwd/f", "echo B >f"], Skip, Run),
    case("the working folder of another process of the test",
        ["echo A >f", "cat /proc/$$/cwd/f; :", "echo B >f"], SkipIfSeen, Run),
    case("the root in /proc", ["echo A >f", "cat \"/proc/self/root$PWD/f\"", "echo B >f"], Skip, Run),
    case("standard input by its name", ["echo A >f", "cat /dev/stdin <f", "echo B >f"], Skip, Run),
    case("a descriptor by its name", ["echo A >f", "exec 9<f; cat /dev/fd/9", "echo B >f"], Skip, Run),
    case("the shell's own pipe", ["echo A >f", "bash -c 'cat <(cat f)'", "echo B >f"], Skip, Run),
    case("back to an open folder", ["mkdir d; echo A >d/f", "t by_fchdir d f", "echo B >d/f"], Skip, Run),
    case("a file without a name of the test's own", ["echo A >f", "t in_memory f", "echo B >f"], Skip, Run),
    case("a program without a name", ["cp /bin/true p", "t run_in_memory p", "cp /bin/false p"], Skip, Run),
    case("a program by its descriptor", ["cp /bin/true p", "t run_descriptor p", "cp /bin/false p"], Skip, Run),
    case("a descriptor of another process", ["sleep 60 >/dev/null 2>&1 & echo $! >$AWAY/other; echo $! >>$AWAY/servers", "t foreign_descriptor", ":"], Run, Run),
    case("another root", ["echo A >f", "t attempt chroot . ; cat f", ":"], Run, Run),
];

/// What is at a path besides plain files, and what becomes of it.
#[rustfmt::skip]
pub(crate) const KINDS: &[Case] = &[
    case("a pipe, then a socket", ["mkfifo p", "[ -p p ]", "rm p; t wants unix p"], Skip, Run),
    case("a socket, then a pipe", ["t wants unix p", "[ -S p ]", "rm p; mkfifo p"], Skip, Run),
    case("a pipe, then a socket, in a listing", ["mkdir d; mkfifo d/p", "ls -F d", "rm d/p; t wants unix d/p"], Skip, Run),
    case("a pipe, then a file", ["mkfifo p", "[ -p p ]", "rm p; : >p"], Skip, Run),
    case("a file, then a link to an equal one", ["echo A >f; echo A >g", "cat f", "rm f; ln -s g f"], Skip, Run),
    case("a link to a file, then the file", ["echo A >g; ln -s g f", "cat f", "rm f; echo A >f"], Skip, Run),
    case("nothing, then a link to nothing", ["", "[ -e f ] || :", "ln -s nowhere f"], Skip, Run),
    case("a link to nothing, then to something", ["ln -s x l", "[ -e l ] || :", ": >x"], Skip, Run),
    case("a link to no folder, then to one", ["ln -s d l", "cat l/f || :", "mkdir d; echo A >d/f"], Skip, Run),
    case("a circle of links, then none", ["ln -s b a; ln -s a b", "cat a || :", "rm b; echo x >b"], Skip, Run),
    case("a folder on the way, then a file", ["mkdir d", "[ -e d/f ] || :", "rmdir d; : >d"], Skip, Run),
    case("a folder on the way, then none", ["mkdir d", "[ -e d/f ] || :", "rmdir d"], Skip, Skip),
    case("a folder, then a file", ["mkdir d", "[ -d d ]", "rmdir d; : >d"], Skip, Run),
    case("a folder that is entered, then a link to one",
        ["mkdir d e", "cd d && pwd -P", "rmdir d; ln -s e d"], Skip, Run),
    case("nothing, then an empty folder", ["", "[ -e d ] || :", "mkdir d"], Skip, Run),
    case("a longer name is absent", ["echo A >f", "cat f.orig || :", "echo A >f.orig"], Skip, Run),
];

/// Another process sees `b` in the place of `a`.
const OTHER_MOUNTS: &str = "mkdir a b; echo A >a/f; echo B >b/f
    unshare -rm sh -c 'mount --bind b a && : >$AWAY/there; exec sleep 60' >/dev/null 2>&1 &
    echo $! >$AWAY/other; echo $! >>$AWAY/servers
    while ! [ -e $AWAY/there ]; do sleep 0.02; kill -0 $! || exit 1; done";

#[rustfmt::skip]
pub(crate) const MOUNTS: &[Case] = &[
    case("read through the root of a process with other mounts",
        [OTHER_MOUNTS, "cat /proc/$(cat $AWAY/other)/root$PWD/a/f", ":"], Run, Run),
    case("read through the working folder of a process with other mounts",
        [OTHER_MOUNTS, "cat /proc/$(cat $AWAY/other)/cwd/a/f", ":"], Run, Run),
    case("read through a link to the root of a process with other mounts",
        [OTHER_MOUNTS, "ln -s /proc/$(cat $AWAY/other)/root l; cat l$PWD/a/f; rm l", ":"], Run, Run),
];
