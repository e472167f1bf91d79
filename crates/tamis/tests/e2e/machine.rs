//! What a test asks of the machine, and not of a file: who listens, what its streams are.

use std::net::TcpListener;
use tamis_testkit::{Project, ended, ended_with_input, python};

const DIAL: &str = "import socket, sys
try: socket.create_connection(('127.0.0.1', int(sys.argv[1])))
except ConnectionRefusedError: print('nobody there')
else: sys.exit('somebody there')
";

#[test]
fn a_service_that_appears_makes_the_test_run() {
    let Some(python) = python() else { return };
    let project = Project::with(&[("dial.py", DIAL)]);
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    drop(server);
    let port = address.port().to_string();
    let words = [python, "dial.py", &port];
    project.assert_ran(&words);
    project.assert_skipped(&words);
    let server = TcpListener::bind(address).unwrap();
    let got = project.tamis(&words);
    assert_eq!(got.code, 1, "{}", got.stderr);
    let reason = format!("whether something listens at tcp {address} changed");
    assert!(got.stderr.contains(&reason), "{}", got.stderr);
    assert!(got.stderr.contains("already running"), "and then it talked to it: {}", got.stderr);
    drop(server);
    project.assert_ran(&words);
    project.assert_skipped(&words);
}

#[test]
fn what_standard_input_is_counts_where_a_test_asks() {
    let project = Project::new();
    let asks = ["sh", "-c", "if [ -p /dev/stdin ]; then echo a pipe; else echo no pipe; fi"];
    let plain = ["sh", "-c", "echo I do not ask"];
    for words in [asks, plain] {
        project.assert_ran(&words);
        project.assert_skipped(&words);
    }
    let got = ended_with_input(project.binary().args(asks), b"");
    assert_eq!(got.text(), "a pipe\n", "{}", got.stderr);
    let got = ended_with_input(project.binary().args(plain), b"");
    assert_eq!(got.text(), "", "it need not run: {}", got.stderr);
}

#[test]
fn a_name_that_is_in_the_environment_twice_counts_with_both_values() {
    let Some(python) = python() else { return };
    let project = Project::new();
    let twice = "import ctypes, os, sys
values = [b'A=' + v.encode() for v in sys.argv[2:4]]
rest = [k + b'=' + v for k, v in os.environb.items()]
environment = (ctypes.c_char_p * (len(rest) + 3))(*values, *rest, None)
words = [w.encode() for w in [sys.argv[1], 'true']]
ctypes.CDLL(None).execve(words[0], (ctypes.c_char_p * 3)(*words, None), environment)
";
    let run = |first: &str, second: &str| {
        let mut command = project.command(python);
        command.args(["-c", twice, env!("CARGO_BIN_EXE_tamis"), first, second]);
        ended(&mut command).stderr
    };
    assert!(run("1", "2").contains("for the first time"));
    assert!(run("1", "2").contains("skipped"));
    assert!(run("3", "2").contains("variable A changed"), "the first");
    assert!(run("1", "3").contains("variable A changed"), "the last");
}
