//! Paths: bases, odd names, lengths.

use super::*;

#[test]
fn relative_paths_follow_the_working_directory() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    place.write("one/two/f", "");
    std::os::unix::fs::symlink("one", place.join("link")).unwrap();
    let trace = place.shell(engine, "cd link; cd two; read x <f; cd ../..; read x <none; true");
    trace.one("stat", place.join("link"));
    // The shell keeps its own idea of where it is and names the link again.
    trace.one("stat", place.join("link/two"));
    trace.has("open", place.join("one/two/f"));
    assert_eq!(trace.one("open", place.join("none")).result, -i64::from(libc::ENOENT));
    trace.is_complete();
}

#[test]
fn chdir_by_a_relative_path_starts_from_the_old_directory() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    place.write("a/b/f", "");
    let Some(trace) =
        place.c(engine, r#"chdir("a"); chdir("b"); chdir("../.."); chdir("nowhere");"#)
    else {
        return;
    };
    trace.one("stat", place.join("a"));
    trace.one("stat", place.join("a/b"));
    trace.one("stat", place.join("a/b/../.."));
    assert_eq!(trace.one("stat", place.join("nowhere")).result, -i64::from(libc::ENOENT));
    trace.is_complete();
}

#[test]
fn odd_names_come_through_byte_by_byte() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let folder = place.join(OsStr::from_bytes(b"new\nline \xff\xfe"));
    fs::create_dir(&folder).unwrap();
    let file = folder.join(OsStr::from_bytes(b"\x01 tab\t\xc3\x28"));
    fs::write(&file, "").unwrap();
    let mut command = place.command(&[OsStr::new("cat"), file.file_name().unwrap()]);
    command.folder = folder;
    let trace = run(engine, command);
    trace.one("open", &file);
    trace.is_complete();
}

#[test]
fn a_name_that_is_a_mount_point_and_names_across_mounts() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    // /dev/shm, /proc and /sys are mounts of their own nearly everywhere.
    let trace =
        place.shell(engine, "cd /proc/sys/kernel && read x <ostype; cd /dev && read x <null; true");
    trace.one("open", "/proc/sys/kernel/ostype");
    trace.one("open", "/dev/null");
    trace.is_complete();
}

#[test]
fn deep_directories() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let make = |depth: usize, name: &str| {
        let folder = (0..depth).fold(place.path.clone(), |at, _| at.join(name));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("f"), "").unwrap();
        let mut command = place.command(&["sh", "-c", "read x <f; true"]);
        command.folder = folder.clone();
        (run(engine, command), folder)
    };
    let (trace, folder) = make(40, "d");
    trace.one("open", folder.join("f"));
    trace.is_complete();
    let (trace, _) = make(100, "d");
    assert!(!trace.blind().is_empty() && trace.blind().iter().all(|b| b.contains("too deep")));
    let long = "n".repeat(200);
    let (trace, folder) = make(15, &long);
    trace.one("open", folder.join("f"));
    trace.is_complete();
}

#[test]
fn long_paths() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let Some(trace) = place.c(
        engine,
        r#"
        static char path[5000];
        memset(path, '/', 4000); strcpy(path + 4000, "etc");
        open(path, O_RDONLY);
        memset(path, '/', 4999);
        open(path, O_RDONLY);
        rename(path, "x");
        "#,
    ) else {
        return;
    };
    trace.one("open", format!("{}etc", "/".repeat(4000)));
    assert!(!trace.events.iter().any(|e| e.path.len() > 4095));
    trace.is_complete();
}

#[test]
fn the_longest_paths_and_bases_fit_together() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    // Two bases of nearly the greatest length, two paths of the greatest.
    let Some(trace) = place.c(
        engine,
        r#"
        char name[201]; memset(name, 'n', 200); name[200] = 0;
        for (int i = 0; i < 18; i++) { mkdir(name, 0700); chdir(name); }
        int deep = open(".", O_RDONLY | O_DIRECTORY);
        static char from[4200], to[4200];
        for (int i = 0; i < 4090; i += 2) { strcpy(from + i, "./"); strcpy(to + i, "./"); }
        strcat(from, "a"); strcat(to, "b");
        close(creat("a", 0600));
        if (renameat(deep, from, deep, to)) return 1;
        "#,
    ) else {
        return;
    };
    assert_eq!(trace.finish.ending, tamis_trace::Ending::Exited(0));
    let base = (0..18).fold(place.path.clone(), |at, _| at.join("n".repeat(200)));
    let renamed: Vec<&Seen> = trace.events.iter().filter(|e| e.what == "rename").collect();
    assert_eq!(renamed.len(), 1, "{:?}", trace.blind());
    let expected = |last: &str| {
        let mut path = base.as_os_str().as_bytes().to_vec();
        path.push(b'/');
        path.extend(b"./".repeat(2045));
        path.extend(last.as_bytes());
        path
    };
    assert!(renamed[0].path == expected("a") && renamed[0].other == expected("b"));
    trace.is_complete();
}

#[test]
fn a_deleted_directory() {
    let Some(engine) = engine() else { return };
    let place = Place::new();
    let Some(trace) = place.c(
        engine,
        r#"
        mkdir("gone", 0700); chdir("gone"); rmdir("../gone");
        open("f", O_RDONLY); open(".", O_RDONLY);
        open("../x", O_RDONLY);
        "#,
    ) else {
        return;
    };
    assert!(trace.all("open", place.join("gone/f")).is_empty());
    let blind = trace.blind();
    // `rmdir` itself, and the path that leads out.
    assert!(!blind.is_empty() && blind.iter().all(|b| b.contains("deleted")), "{blind:?}");
}
