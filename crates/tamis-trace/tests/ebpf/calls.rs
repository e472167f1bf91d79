//! Each family of calls.

use super::*;

#[test]
fn the_open_family() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    place.write("a", "");
    let Some(trace) = place.c(
        engine,
        r#"
        int here = open(".", O_RDONLY | O_DIRECTORY);
        syscall(SYS_openat, AT_FDCWD, "a", O_RDONLY);
        syscall(SYS_openat, here, "none", O_RDONLY);
        syscall(SYS_openat, here, "new", O_WRONLY | O_CREAT | O_EXCL, 0600);
        syscall(SYS_openat, here, "a", O_PATH);
        struct { unsigned long flags, mode, resolve; } how = { O_RDONLY | O_NOFOLLOW };
        syscall(437, here, "by2", &how, sizeof how);
        how.resolve = 0x10;
        syscall(437, here, "/a", &how, sizeof how);
    #ifdef SYS_open
        syscall(SYS_open, "legacy", O_RDONLY);
        syscall(SYS_creat, "created", 0600);
    #endif
        "#,
    ) else {
        return;
    };
    assert_eq!(trace.all("open", place.join("a")).len(), 2);
    assert!(trace.all("open", place.join("a"))[1].flag, "O_PATH is reported");
    assert_eq!(trace.one("open", place.join("none")).result, -i64::from(libc::ENOENT));
    assert!(trace.one("write", place.join("new")).flag);
    assert!(trace.one("write", place.join("new")).result >= 0);
    trace.one("open", place.join("by2"));
    trace.one("open", place.join("."));
    #[cfg(target_arch = "x86_64")]
    {
        trace.one("open", place.join("legacy"));
        trace.one("write", place.join("created"));
    }
    assert_eq!(trace.blind(), [r#"Unresolved("openat2 took a directory for the root")"#]);
}

#[test]
fn the_stat_family() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    for n in 0..9 {
        place.write(format!("f{n}"), "");
    }
    let Some(trace) = place.c(
        engine,
        r#"
        struct stat st; char buffer[512];
        int here = open(".", O_RDONLY | O_DIRECTORY);
        syscall(SYS_newfstatat, here, "f0", &st, 0);
        syscall(SYS_newfstatat, here, "f1", &st, AT_SYMLINK_NOFOLLOW);
        syscall(SYS_statx, here, "f2", 0, 0x7ff, buffer);
        syscall(SYS_faccessat, here, "f3", R_OK);
        syscall(439, here, "f4", R_OK, AT_SYMLINK_NOFOLLOW);
        getxattr("f5", "user.x", buffer, sizeof buffer);
        lgetxattr("f5", "user.x", buffer, sizeof buffer);
        listxattr("f6", buffer, sizeof buffer);
        inotify_add_watch(inotify_init(), "f7", IN_MODIFY);
        chdir("f8");
        // Nothing to report: the descriptor itself.
        syscall(SYS_newfstatat, here, "", &st, AT_EMPTY_PATH);
        syscall(SYS_statx, here, "", AT_EMPTY_PATH, 0x7ff, buffer);
    #ifdef SYS_stat
        syscall(SYS_stat, "f0", &st);
        syscall(SYS_lstat, "f1", &st);
        syscall(SYS_access, "f0", R_OK);
    #endif
        "#,
    ) else {
        return;
    };
    let legacy = usize::from(cfg!(target_arch = "x86_64"));
    assert_eq!(trace.all("stat", place.join("f0")).len(), 1 + 2 * legacy);
    let followed =
        |name: &str| trace.all("stat", place.join(name)).iter().map(|e| e.flag).collect::<Vec<_>>();
    assert_eq!(followed("f1"), vec![false; 1 + legacy]);
    assert_eq!(followed("f2"), [true]);
    assert_eq!(followed("f3"), [true]);
    assert_eq!(followed("f4"), [false]);
    assert_eq!(followed("f5"), [true, false]);
    assert_eq!(followed("f6"), [true]);
    assert_eq!(followed("f7"), [true]);
    assert_eq!(trace.one("stat", place.join("f8")).result, -i64::from(libc::ENOTDIR));
    assert!(trace.all("stat", &place.path).is_empty());
    trace.is_complete();
}

#[test]
fn changes_of_names() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    place.write("old", "");
    place.write("sub/old", "");
    let Some(trace) = place.c(
        engine,
        r#"
        int here = open(".", O_RDONLY | O_DIRECTORY), sub = open("sub", O_RDONLY | O_DIRECTORY);
        mkdir("d", 0700); mkdirat(sub, "d", 0700);
        mknod("p", S_IFIFO | 0600, 0); mknodat(sub, "p", S_IFIFO | 0600, 0);
        symlink("nowhere", "s"); symlinkat("nowhere", sub, "s");
        rename("old", "new"); renameat(sub, "old", here, "moved");
        syscall(SYS_renameat2, here, "new", sub, "d", 2 /* exchange */);
        link("moved", "l"); linkat(here, "moved", sub, "l", AT_SYMLINK_FOLLOW);
        int l = open("moved", O_RDONLY);
        linkat(l, "", sub, "l2", AT_EMPTY_PATH);
        unlink("l"); unlinkat(sub, "s", 0); rmdir("d");
        truncate("moved", 3);
        chmod("moved", 0600); fchmodat(sub, "l", 0600, 0); fchmod(l, 0644);
        setxattr("moved", "user.t", "1", 1, 0);
        char text[64]; readlink("s", text, 64); readlinkat(here, "s", text, 64);
        struct timespec times[2] = {}; utimensat(here, "moved", times, 0); futimens(l, times);
        "#,
    ) else {
        return;
    };
    let sub = |name: &str| place.join("sub").join(name);
    for what in ["mkdir", "node"] {
        let name = if what == "mkdir" { "d" } else { "p" };
        trace.one(what, place.join(name));
        trace.one(what, sub(name));
    }
    trace.one("node", place.join("s"));
    trace.one("node", sub("s"));
    let second = |event: &Seen| PathBuf::from(OsStr::from_bytes(&event.other));
    assert_eq!(second(trace.one("rename", place.join("old"))), place.join("new"));
    assert_eq!(second(trace.one("rename", sub("old"))), place.join("moved"));
    let exchange = trace.one("rename", place.join("new"));
    assert!(exchange.flag && second(exchange) == sub("d"));
    let links = trace.all("link", place.join("moved"));
    assert_eq!(
        links.iter().map(|e| second(e)).collect::<Vec<_>>(),
        [place.join("l"), sub("l"), sub("l2")]
    );
    assert_eq!(links.iter().map(|e| e.flag).collect::<Vec<_>>(), [false, true, false]);
    trace.one("remove", place.join("l"));
    trace.one("remove", sub("s"));
    trace.one("remove", place.join("d"));
    trace.one("truncate", place.join("moved"));
    // chmod, fchmod, setxattr, utimensat, futimens.
    assert_eq!(trace.all("chmod", place.join("moved")).len(), 5);
    trace.one("chmod", sub("l"));
    assert_eq!(trace.all("readlink", place.join("s")).len(), 2);
    trace.is_complete();
}

#[test]
fn addresses() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let Some(trace) = place.c(
        engine,
        r#"
        struct sockaddr_un un = { AF_UNIX, "sock" };
        int server = socket(AF_UNIX, SOCK_DGRAM, 0), s = socket(AF_UNIX, SOCK_DGRAM, 0);
        bind(server, (void *)&un, sizeof un);
        connect(s, (void *)&un, sizeof un);
        struct sockaddr_un hidden = { AF_UNIX, "\0tamis" };
        connect(s, (void *)&hidden, offsetof(struct sockaddr_un, sun_path) + 6);
        struct sockaddr_in in = { AF_INET, htons(9), { htonl(INADDR_LOOPBACK) } };
        int u = socket(AF_INET, SOCK_DGRAM, 0);
        sendto(u, "x", 1, 0, (void *)&in, sizeof in);
        struct iovec part = { "x", 1 };
        in.sin_port = htons(10);
        struct msghdr message = { &in, sizeof in, &part, 1 };
        sendmsg(u, &message, 0);
        struct sockaddr_in more = in; more.sin_port = htons(11);
        struct mmsghdr both[2] = { { { &in, sizeof in, &part, 1 } }, { { &more, sizeof in, &part, 1 } } };
        sendmmsg(u, both, 2, 0);
        send(s, "x", 1, 0);
        struct sockaddr_in6 six = { AF_INET6, htons(12), 0, IN6ADDR_LOOPBACK_INIT };
        connect(socket(AF_INET6, SOCK_DGRAM, 0), (void *)&six, sizeof six);
        "#,
    ) else {
        return;
    };
    trace.one("node", place.join("sock"));
    trace.one("unix", place.join("sock"));
    trace.one("abstract", "tamis");
    trace.one("connect", "127.0.0.1:9");
    assert_eq!(trace.all("connect", "127.0.0.1:10").len(), 2);
    trace.one("connect", "127.0.0.1:11");
    trace.one("connect", "[::1]:12");
    trace.is_complete();
}

#[test]
fn what_cannot_be_followed_is_reported() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let blind_after = |body: &str| place.c(engine, body).map(|trace| trace.blind());
    let Some(ring) =
        blind_after(r#"char p[256] = {}; if (syscall(SYS_io_uring_setup, 4, p) < 0) _exit(9);"#)
    else {
        return;
    };
    // Some systems forbid io_uring; a call that failed hid nothing.
    assert!(ring.is_empty() || ring == ["IoUring"], "{ring:?}");
    let unshared = blind_after("unshare(CLONE_NEWNS); chroot(\".\");").unwrap();
    assert_eq!(unshared, [r#"Namespace("a new mount name space")"#, r#"Namespace("chroot")"#]);
    let failed = blind_after(r#"mount("x", "/nonexistent", "x", 0, 0); setns(-1, 0);"#).unwrap();
    assert!(failed.is_empty(), "{failed:?}");
    let cloned = blind_after(
        r#"unsigned long args[11] = { CLONE_NEWNS, 0, 0, 0, SIGCHLD };
        if (!syscall(435, args, 88)) _exit(0);
        wait(0);"#,
    );
    assert_eq!(cloned.unwrap(), [r#"Namespace("a new mount name space")"#]);
    let traced = blind_after(
        r#"int child = fork();
        if (!child) { ptrace(PTRACE_TRACEME); raise(SIGSTOP); _exit(0); }
        waitpid(child, 0, 0); ptrace(PTRACE_CONT, child, 0, 0); waitpid(child, 0, 0);"#,
    );
    assert!(traced.unwrap().is_empty(), "a tracer hides nothing");
}

#[test]
fn calls_of_another_architecture_are_reported() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    if cfg!(not(target_arch = "x86_64")) {
        return;
    }
    // getpid by the 32-bit entry, from a 64-bit program.
    let Some(trace) = place.c(
        engine,
        r#"long answer; for (int i = 0; i < 3; i++) asm volatile("int $0x80" : "=a"(answer) : "a"(20) : "memory", "r8", "r9", "r10", "r11");"#,
    ) else {
        return;
    };
    if trace.finish.ending != tamis_trace::Ending::Exited(0) {
        eprintln!("skipped: this kernel has no 32-bit calls");
        return;
    }
    assert_eq!(trace.blind(), ["ForeignArchitecture"]);
}

#[test]
fn bad_pointers_are_no_event() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let Some(trace) = place.c(
        engine,
        r#"
        struct stat st;
        syscall(SYS_openat, AT_FDCWD, (char *)8, O_RDONLY);
        syscall(SYS_newfstatat, AT_FDCWD, (char *)8, &st, 0);
        syscall(SYS_execve, (char *)8, 0, 0);
        syscall(SYS_renameat, AT_FDCWD, "a", AT_FDCWD, (char *)8);
        syscall(SYS_openat, 999, "x", O_RDONLY);
        syscall(SYS_openat, AT_FDCWD, "", O_RDONLY);
        "#,
    ) else {
        return;
    };
    trace.is_complete();
    assert!(!trace.events.iter().any(|e| e.result == -i64::from(libc::EFAULT)));
}

#[test]
fn a_path_that_the_answer_overwrote_is_reported() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    std::os::unix::fs::symlink("target", place.join("link")).unwrap();
    let Some(trace) = place
        .c(engine, r#"char both[64] = "link"; syscall(SYS_readlinkat, AT_FDCWD, both, both, 64);"#)
    else {
        return;
    };
    assert_eq!(trace.blind().len(), 1);
    assert!(trace.blind()[0].contains("readlinkat wrote its answer"), "{:?}", trace.blind());
}
