//! What each scheme answers for each kind of thing.

use super::plain;
use crate::{Answer, Fingerprinter, Ignored, MAX_NAMES, Options, command_id, identity};
use std::collections::HashSet;
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tamis_core::record::Detail;
use tamis_core::{Hash, Scheme, Value};

const ALL: [Scheme; 9] = [
    Scheme::Kind,
    Scheme::Raw,
    Scheme::Listing,
    Scheme::Xml,
    Scheme::Json,
    Scheme::Toml,
    Scheme::Text,
    Scheme::Bytecode,
    Scheme::Command(Hash(7)),
];

fn content(bytes: &[u8]) -> Value {
    Value::Content { hash: Hash::of(bytes), executable: false }
}

fn write(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_link_is_a_link_under_every_scheme() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("l");
    symlink("target", &link).unwrap();
    for scheme in ALL {
        assert_eq!(
            plain().answer(&link, scheme).value,
            Value::Link(Hash::of(b"target")),
            "{scheme}"
        );
    }
}

#[test]
fn nothing_is_absent_under_every_scheme_but_bytecode() {
    let dir = tempfile::tempdir().unwrap();
    for scheme in ALL {
        let expected = if scheme == Scheme::Bytecode { Value::Derived } else { Value::Absent };
        let answer = plain().answer(&dir.path().join("none"), scheme);
        assert_eq!((answer.value, answer.identity, answer.error), (expected, None, None));
    }
}

#[test]
fn a_place_to_write_to() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| plain().answer(&dir.path().join(name), Scheme::Place).value;
    assert_eq!(at("f"), Value::File);
    write(dir.path(), "f", b"content");
    assert_eq!(at("f"), Value::File);
    assert_eq!(at("f/below"), Value::Barred);
    assert_eq!(at("none/f"), Value::Absent);
    assert_eq!(at(""), Value::Directory);
}

#[test]
fn a_file_where_a_folder_would_have_to_be_is_more_than_absence() {
    let dir = tempfile::tempdir().unwrap();
    let below = write(dir.path(), "file", b"").join("below");
    for scheme in ALL {
        let expected = if scheme == Scheme::Bytecode { Value::Derived } else { Value::Barred };
        assert_eq!(plain().answer(&below, scheme).value, expected, "{scheme}");
    }
    let names = plain().answer_many(&[(below.clone(), Scheme::Raw)]);
    assert_eq!(names[0].value, Value::Barred);
}

#[test]
fn a_directory_is_a_directory_unless_its_names_are_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    for scheme in ALL {
        let value = plain().answer(dir.path(), scheme).value;
        if scheme == Scheme::Listing {
            assert!(matches!(value, Value::Listing(_)));
        } else {
            assert_eq!(value, Value::Directory, "{scheme}");
        }
    }
}

#[test]
fn pipes_sockets_and_devices_are_never_opened() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    let name = CString::new(pipe.as_os_str().as_bytes()).unwrap();
    // SAFETY: the name is a valid C string.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let socket = dir.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let null = plain().answer(Path::new("/dev/null"), Scheme::Kind).value;
    let zero = plain().answer(Path::new("/dev/zero"), Scheme::Kind).value;
    assert!(matches!(null, Value::Device(_)) && null != zero, "{null} and {zero}");
    let expected =
        [(pipe.as_path(), Value::Pipe), (&socket, Value::Socket), (Path::new("/dev/null"), null)];
    for (path, expected) in expected {
        for scheme in ALL {
            assert_eq!(plain().answer(path, scheme).value, expected);
        }
    }
    let names = plain().names(dir.path()).unwrap();
    assert_eq!(names, [(b"pipe".to_vec(), b'p'), (b"socket".to_vec(), b's')]);
}

#[test]
fn raw_is_bytes_and_executable_bit() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "f", b"hello");
    let answer = plain().answer(&path, Scheme::Raw);
    assert_eq!(answer.value, content(b"hello"));
    assert_eq!(answer.detail, Detail::Size(5));
    assert_eq!(answer.identity, identity(&path).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    let executable = Value::Content { hash: Hash::of(b"hello"), executable: true };
    assert_eq!(plain().answer(&path, Scheme::Raw).value, executable);
    assert_eq!(plain().answer(&path, Scheme::Kind).value, Value::File);
    assert_eq!(plain().answer(&path, Scheme::Listing).value, Value::File);
}

#[test]
fn a_large_file_is_hashed_in_pieces() {
    let dir = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..3_000_000u32).flat_map(u32::to_le_bytes).collect();
    let path = write(dir.path(), "big", &bytes);
    assert_eq!(plain().answer(&path, Scheme::Raw).value, content(&bytes));
}

#[test]
fn meaning_keeps_the_executable_bit() {
    let dir = tempfile::tempdir().unwrap();
    let a = write(dir.path(), "a", b"{\"x\": 1}");
    let b = write(dir.path(), "b", b"{\"x\":1}\n");
    let c = write(dir.path(), "c", b"{\"x\":1}\n");
    fs::set_permissions(&c, fs::Permissions::from_mode(0o755)).unwrap();
    let of = |path: &Path| plain().answer(path, Scheme::Json).value;
    assert_eq!(of(&a), of(&b));
    assert_ne!(of(&a), of(&c));
}

#[test]
fn names_are_given_up_to_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "b", b"");
    write(dir.path(), "a", b"");
    let answer = plain().answer(dir.path(), Scheme::Listing);
    assert_eq!(answer.detail, Detail::Names(vec![b"a".to_vec(), b"b".to_vec()]));
    for i in 0..MAX_NAMES {
        write(dir.path(), &i.to_string(), b"");
    }
    let answer = plain().answer(dir.path(), Scheme::Listing);
    assert_eq!(answer.detail, Detail::None);
    assert!(matches!(answer.value, Value::Listing(_)));
}

#[test]
fn ignored_names_do_not_count() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "kept", b"");
    let options = Options {
        ignored: Some(Ignored {
            predicate: Arc::new(|path| path.extension().is_some_and(|e| e == "tmp")),
            digest: Hash::of(b"*.tmp"),
        }),
        ..Options::default()
    };
    let filtered = Fingerprinter::new(options);
    let before = filtered.answer(dir.path(), Scheme::Listing);
    write(dir.path(), "x.tmp", b"");
    let after = filtered.answer(dir.path(), Scheme::Listing);
    assert_eq!((before.value, before.detail), (after.value, after.detail));
    assert_ne!(plain().answer(dir.path(), Scheme::Listing).value, after.value);
}

#[test]
fn bytecode_carries_information_only_if_python_does_not_check_it() {
    let dir = tempfile::tempdir().unwrap();
    let of =
        |bytes: &[u8]| plain().answer(&write(dir.path(), "m.pyc", bytes), Scheme::Bytecode).value;
    let file = |flags: u8| [b"\xf3\x0d\r\n".as_slice(), &[flags, 0, 0, 0], &[9; 20]].concat();
    assert_eq!(of(&file(0)), Value::Derived);
    assert_eq!(of(&file(3)), Value::Derived);
    for flags in [1, 2, 4, 255] {
        assert_eq!(of(&file(flags)), content(&file(flags)));
    }
    for other in
        [b"".as_slice(), b"\xf3\x0d\r\n\0\0\0\0short", b"\xf3\x0dxx\0\0\0\0\0\0\0\0\0\0\0\0"]
    {
        assert_eq!(of(other), content(other));
    }
}

fn with_command(script: &str, root: &Path) -> (Fingerprinter, Scheme) {
    let words: Vec<String> = ["sh", "-c", script, "sh", "{}"].map(str::to_owned).to_vec();
    let id = command_id(&words);
    let options =
        Options { commands: [(id, words)].into(), root: root.to_path_buf(), ..Options::default() };
    (Fingerprinter::new(options), Scheme::Command(id))
}

#[test]
fn a_command_prints_the_fingerprint() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "f", b"one\ntwo\n");
    let (fingerprinter, scheme) = with_command("head -n 1 \"$1\"", dir.path());
    assert_eq!(fingerprinter.answer(&path, scheme).value, content(b"one\n"));
}

#[test]
fn a_state_that_cannot_be_found_out_equals_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "f", b"x");
    let (fingerprinter, scheme) = with_command("echo same; exit 1", dir.path());
    let unknown = Scheme::Command(Hash(1));
    let mut answers: Vec<Answer> = Vec::new();
    for _ in 0..3 {
        answers.push(fingerprinter.answer(&path, scheme));
        answers.push(fingerprinter.answer(&path, unknown));
    }
    assert!(answers.iter().all(|a| a.error.is_some()));
    let values: HashSet<Value> = answers.iter().map(|a| a.value).collect();
    assert_eq!(values.len(), answers.len());
}

#[test]
fn a_file_that_changes_under_the_command_has_no_state() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "f", b"x");
    let (fingerprinter, scheme) = with_command("echo more >> \"$1\"; echo x", dir.path());
    let answer = fingerprinter.answer(&path, scheme);
    assert!(answer.error.unwrap().contains("changes all the time"));
    let seen = identity(&path).unwrap().unwrap();
    assert_eq!(fingerprinter.answer_as_seen(&path, scheme, &seen), None);
}

#[test]
fn as_seen_only_answers_for_what_was_seen() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "f", b"one");
    let seen = identity(&path).unwrap().unwrap();
    let answer = plain().answer_as_seen(&path, Scheme::Raw, &seen).unwrap();
    assert_eq!(answer.value, content(b"one"));
    fs::write(&path, b"longer").unwrap();
    assert_eq!(plain().answer_as_seen(&path, Scheme::Raw, &seen), None);
    assert_eq!(plain().answer_as_seen(&path, Scheme::Kind, &seen), None);
    fs::remove_file(&path).unwrap();
    assert_eq!(plain().answer_as_seen(&path, Scheme::Raw, &seen), None);
}

/// Runs `look` on a thread that has no more rights than an ordinary user.
fn as_ordinary_user<T: Send>(look: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: changes the user for file access of this thread alone, which ends here. For
            // somebody who is not root it does nothing.
            unsafe { libc::setfsuid(65534) };
            look()
        });
        thread.join().unwrap()
    })
}

#[test]
fn what_may_not_be_read_is_opaque() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = write(dir.path(), "f", b"one");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
    let folder = dir.path().join("d");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o0)).unwrap();
    let fingerprinter = plain();
    as_ordinary_user(|| {
        let before = fingerprinter.answer(&path, Scheme::Raw);
        assert!(matches!(before.value, Value::Opaque(_)), "{before:?}");
        assert_eq!(before, fingerprinter.answer(&path, Scheme::Raw));
        assert!(matches!(fingerprinter.answer(&folder, Scheme::Listing).value, Value::Opaque(_)));
        assert_eq!(fingerprinter.answer(&folder, Scheme::Raw).value, Value::Directory);
        // What this user cannot reach is not there for the user's tests either.
        assert_eq!(fingerprinter.answer(&folder.join("x"), Scheme::Raw).value, Value::Barred);
    });
    let before = as_ordinary_user(|| fingerprinter.answer(&path, Scheme::Raw).value);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o200)).unwrap();
    fs::write(&path, b"other").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
    assert_ne!(as_ordinary_user(|| fingerprinter.answer(&path, Scheme::Raw).value), before);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn many_answers_come_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let questions: Vec<(PathBuf, Scheme)> = (0..1000)
        .map(|i| match i % 3 {
            0 => (write(dir.path(), &i.to_string(), i.to_string().as_bytes()), Scheme::Raw),
            1 => (dir.path().join(format!("none{i}")), Scheme::Raw),
            _ => (dir.path().to_path_buf(), Scheme::Kind),
        })
        .collect();
    for (i, answer) in plain().answer_many(&questions).into_iter().enumerate() {
        let expected = match i % 3 {
            0 => content(i.to_string().as_bytes()),
            1 => Value::Absent,
            _ => Value::Directory,
        };
        assert_eq!(answer.value, expected);
    }
}

#[test]
fn files_that_the_kernel_makes_up_are_read_each_time() {
    let path = Path::new("/proc/self/status");
    let fingerprinter = Fingerprinter::with_clock(Options::default(), super::in_an_hour);
    let first = fingerprinter.answer(path, Scheme::Raw);
    assert!(matches!(first.value, Value::Content { hash, .. } if hash != Hash::of(b"")));
}
