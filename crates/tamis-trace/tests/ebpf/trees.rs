//! Processes: threads, vfork, exec in all its forms.

use super::*;
use tamis_trace::Ending;

#[test]
fn children_and_pipes() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let file = place.write("f", "x\n");
    let trace =
        place.shell(engine, "cat f | (sh -c 'cat; cat none' | wc -c) >/dev/null 2>&1; true");
    trace.has("open", &file);
    trace.has("open", place.join("none"));
    assert!(trace.events.iter().any(|e| e.what == "execute" && e.path.ends_with(b"/wc")));
    trace.is_complete();
}

#[test]
fn threads_keep_their_own_order() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let Some(trace) = place.c(
        engine,
        r#"
        void *work(void *n) {
            char name[64];
            for (int i = 0; i < 200; i++) { sprintf(name, "/t/%ld/%d", (long)n, i); access(name, R_OK); }
            return 0;
        }
        main:
        pthread_t threads[8];
        for (long n = 0; n < 8; n++) pthread_create(&threads[n], 0, work, (void *)n);
        for (int n = 0; n < 8; n++) pthread_join(threads[n], 0);
        "#,
    ) else {
        return;
    };
    for n in 0..8 {
        let prefix = format!("/t/{n}/");
        let of_thread: Vec<&Seen> =
            trace.events.iter().filter(|e| e.path.starts_with(prefix.as_bytes())).collect();
        let paths: Vec<Vec<u8>> = of_thread.iter().map(|e| e.path.clone()).collect();
        let expected: Vec<Vec<u8>> =
            (0..200).map(|i| format!("{prefix}{i}").into_bytes()).collect();
        assert!(paths == expected, "thread {n}: {} of 200", paths.len());
        assert!(of_thread.iter().all(|e| e.thread == of_thread[0].thread));
    }
    trace.is_complete();
}

#[test]
fn a_thread_that_executes() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let file = place.write("f", "");
    let Some(trace) = place.c(
        engine,
        r#"
        void *work(void *p) { execl("/bin/cat", "cat", "f", (char *)0); return 0; }
        main:
        pthread_t thread;
        pthread_create(&thread, 0, work, 0);
        for (;;) pause();
        "#,
    ) else {
        return;
    };
    assert_eq!(trace.finish.ending, Ending::Exited(0));
    trace.one("execute", "/bin/cat");
    trace.one("open", &file);
    trace.is_complete();
}

#[test]
fn vfork_and_failed_executions() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    place.write("not-a-program", "x");
    let Some(trace) = place.c(
        engine,
        r#"
        if (!vfork()) {
            char *none[] = { "x", 0 };
            execve("missing/a", none, none); execve("./not-a-program", none, none);
            execve("/bin/true", none, none); _exit(9);
        }
        int status; wait(&status); return status ? 1 : 0;
        "#,
    ) else {
        return;
    };
    assert_eq!(trace.finish.ending, Ending::Exited(0));
    assert_eq!(trace.one("execute", place.join("missing/a")).result, -i64::from(libc::ENOENT));
    let refused = trace.one("execute", place.join("./not-a-program")).result;
    assert_eq!(refused, -i64::from(libc::EACCES));
    assert_eq!(trace.one("execute", "/bin/true").result, 0);
    trace.is_complete();
}

#[test]
fn the_search_along_path_is_seen() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let mut command = place.command(&["tamis-no-such-program"]);
    command.environment = vec![("PATH".into(), "/tamis-a:rel::/tamis-b".into())];
    let trace = run(engine, command);
    assert_eq!(trace.finish.ending, Ending::NotStarted(libc::ENOENT));
    for folder in ["/tamis-a", "/tamis-b"] {
        let looked = trace.one("execute", format!("{folder}/tamis-no-such-program"));
        assert_eq!(looked.result, -i64::from(libc::ENOENT));
    }
    trace.one("execute", place.join("rel/tamis-no-such-program"));
    trace.one("execute", place.join("./tamis-no-such-program"));
    trace.is_complete();
}

#[test]
fn scripts_and_relative_programs() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let script = place.write("run.sh", "#!/bin/sh\nread x <data\n");
    place.write("data", "");
    std::process::Command::new("chmod").arg("+x").arg(&script).status().unwrap();
    let trace = place.run(engine, &["./run.sh"]);
    trace.one("execute", place.join("./run.sh"));
    trace.one("open", place.join("data"));
    trace.is_complete();
}

#[test]
fn programs_by_descriptor() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    fs::copy("/bin/true", place.join("tool")).unwrap();
    let Some(trace) = place.c(
        engine,
        r#"
        char *words[] = { "tool", 0 };
        int flags[] = { O_CLOEXEC, 0 };
        for (int i = 0; i < 2; i++) {
            int tool = open("tool", O_PATH | flags[i]), here = open(".", O_RDONLY | O_DIRECTORY | flags[i]);
            if (!fork()) { syscall(SYS_execveat, tool, "", words, words, AT_EMPTY_PATH); _exit(1); }
            wait(0);
            if (!fork()) { syscall(SYS_execveat, here, "tool", words, words, 0); _exit(1); }
            wait(0);
            if (!fork()) { syscall(SYS_execveat, here, "none", words, words, 0); _exit(1); }
            wait(0);
        }
        "#,
    ) else {
        return;
    };
    let results = |name: &str| {
        trace.all("execute", place.join(name)).iter().map(|e| e.result).collect::<Vec<_>>()
    };
    assert_eq!(results("tool"), [0; 4]);
    assert_eq!(results("none"), [-i64::from(libc::ENOENT); 2]);
    trace.is_complete();
}

#[test]
fn static_programs() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let file = place.write("f", "");
    let Some(program) = place.compile(r#"open("f", O_RDONLY);"#, &["-static"]) else { return };
    let trace = place.run(engine, &[program]);
    trace.one("open", file);
    trace.is_complete();
}

#[test]
fn an_orphan_belongs_to_the_tree() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let file = place.write("f", "");
    let trace = place.shell(engine, "(sh -c 'sleep 0.3; cat f' &) ; exit 3");
    assert_eq!(trace.finish.ending, Ending::Exited(3));
    trace.one("open", &file);
    trace.is_complete();
}
