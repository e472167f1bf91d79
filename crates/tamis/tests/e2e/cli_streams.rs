//! The command stays the user's own: its output, input, exit code; and what tamis reports of it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use tamis_testkit::{Project, ended, ended_with_input, need};

#[test]
fn the_exit_code_is_the_command_s_own() {
    let project = Project::with(&[
        ("plain.txt", "no program"),
        (
            "tamis.toml",
            "[[suite]]\nname = \"s\"\neach = [\"0\", \"7\"]\nrun = \"sh -c 'exit {}'\"\n",
        ),
    ]);
    for code in [0, 1, 7, 124, 255] {
        let script = format!("exit {code}");
        assert_eq!(project.tamis(&["sh", "-c", &script]).code, code);
    }
    assert_eq!(project.tamis(&["sh", "-c", "kill -9 $$"]).code, 137);
    assert_eq!(project.tamis(&["sh", "-c", "kill -15 $$"]).code, 143);
    let got = project.tamis(&["no-such-command-of-tamis"]);
    assert_eq!(got.code, 127);
    assert!(got.stderr.contains("no such command"), "{}", got.stderr);
    assert_eq!(project.tamis(&["./absent.sh"]).code, 127);
    let got = project.tamis(&["./plain.txt"]);
    assert_eq!(got.code, 126);
    assert!(got.stderr.contains("chmod +x"), "{}", got.stderr);
    assert_eq!(project.tamis(&["./"]).code, 126);
    let got = project.tamis::<&str>(&[]);
    assert_eq!(got.code, 1);
    assert!(got.stderr.contains("failed with exit code 7"), "{}", got.stderr);
    assert_eq!(project.tamis(&["--only", "0"]).code, 0, "nothing selected is success");
}

const FAILS: &str =
    "#!/bin/sh\necho checking\necho 'FAIL: the answer is 41, expected 42' >&2\nexit 3\n";

#[test]
fn what_failed_is_shown_of_a_bare_command() {
    let project = Project::with(&[("t.sh", FAILS)]);
    let shown = "\n      FAIL: the answer is 41, expected 42\n";
    let got = project.tamis(&["--junit", "j.xml", "./t.sh"]);
    assert_eq!((got.code, got.stdout.as_slice()), (3, b"checking\n".as_slice()));
    assert!(got.stderr.starts_with("FAIL: the answer"), "the command's own first: {}", got.stderr);
    assert!(got.stderr.contains(shown), "{}", got.stderr);
    let junit = std::fs::read_to_string(project.path("j.xml")).unwrap();
    assert!(junit.contains("failed with exit code 3: FAIL: the answer is 41"), "{junit}");
    let got = project.tamis(&["--json", "./t.sh"]);
    assert_eq!(got.events("finished")[0]["failure"], "FAIL: the answer is 41, expected 42");
    // Of a file, what was added to it.
    let log = project.path("log");
    std::fs::write(&log, "error: of another time\n").unwrap();
    let file = File::options().append(true).open(&log).unwrap();
    let mut command = project.binary();
    let status = command.arg("./t.sh").stderr(file.try_clone().unwrap()).stdout(file).status();
    assert_eq!(status.unwrap().code(), Some(3));
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.contains(shown), "{text}");
}

#[test]
fn what_a_command_leaves_running_goes_on_printing() {
    let script = "#!/bin/sh\n(sleep 2; echo later) &\necho now\nexit 1\n";
    let project = Project::with(&[("t.sh", script)]);
    let got = project.tamis(&["./t.sh"]);
    assert_eq!(
        (got.code, got.stdout.as_slice()),
        (1, b"now\nlater\n".as_slice()),
        "{}",
        got.stderr
    );
}

#[test]
fn a_reader_that_goes_away_ends_the_command() {
    let project = Project::with(&[]);
    let tamis = project.binary();
    let line = format!("{} yes | head -n 1", tamis.get_program().display());
    let got = ended(project.command("timeout").args(["60", "sh", "-c", &line]));
    assert_eq!((got.code, got.stdout.as_slice()), (0, b"y\n".as_slice()), "{}", got.stderr);
}

/// What a terminal gets of a call in a window of 24 rows.
fn on_a_terminal(project: &Project, term: &str, words: &str) -> String {
    let binary = project.binary();
    let line = format!("stty rows 24 cols 80; exec {} {words}", binary.get_program().display());
    let mut command = project.command("script");
    command.env("TERM", term).args(["-qec", &line, "/dev/null"]);
    String::from_utf8_lossy(&ended(&mut command).stdout).into_owned()
}

#[test]
fn a_terminal_gets_the_reason_first_and_a_line_that_goes_away() {
    if !need("script") {
        return;
    }
    let project = Project::with(&[("slow.sh", "#!/bin/sh\necho begin\nsleep 4\necho end\n")]);
    let shown = on_a_terminal(&project, "xterm", "--all ./slow.sh");
    let at = |part: &str| shown.find(part).unwrap_or_else(|| panic!("no {part:?} in {shown:?}"));
    assert!(at(" running ./slow.sh as asked") < at("begin"), "{shown:?}");
    assert!(at("\u{1b}[1;23r") < at(" s: ./slow.sh") && at(" s: ./slow.sh") < at("\u{1b}[r"));
    assert!(at("end") < at("\u{1b}[r") && at("\u{1b}[r") < at(" ran ./slow.sh"), "{shown:?}");
    // A terminal that cannot move its cursor gets nothing of it, and neither does a pipe.
    let shown = on_a_terminal(&project, "dumb", "--all ./slow.sh");
    assert!(!shown.contains('\u{1b}') && !shown.contains("running ./slow.sh"), "{shown:?}");
    let got = project.tamis(&["--all", "./slow.sh"]);
    assert_eq!(got.text(), "begin\nend\n");
    assert!(!got.stderr.contains("running") && !got.stderr.contains('\u{1b}'), "{}", got.stderr);
}

#[test]
fn slips_are_answered_with_what_was_meant() {
    let project = Project::with(&[("check.sh", "#!/bin/sh\ntrue\n")]);
    let got = project.tamis(&["statsu"]);
    assert_eq!(got.code, 127);
    assert!(got.stderr.contains("did you mean `tamis status`?"), "{}", got.stderr);
    let got = project.tamis(&["mvn", "test", "--only", "X"]);
    assert_eq!(got.code, 125);
    assert!(got.stderr.contains("tamis --only X mvn test"), "{}", got.stderr);
    project.tamis(&["./check.sh"]);
    assert_eq!(project.tamis(&["why", "./check.sh", "--json"]).lines().len(), 1);
    let got = project.tamis(&["why", "./chekc.sh"]);
    assert!(got.stderr.contains("did you mean ./check.sh?"), "{}", got.stderr);
    // An option behind a command is the command's; the line about it comes once.
    let got = project.tamis(&["./check.sh", "--all"]);
    assert_eq!(got.code, 0);
    assert!(got.stderr.contains("write `tamis --all ./check.sh`"), "{}", got.stderr);
    assert!(!project.tamis(&["./check.sh", "--all"]).stderr.contains("write `tamis"));
}

#[test]
fn a_command_that_could_not_be_started_is_not_recorded() {
    let project = Project::new();
    assert_eq!(project.tamis(&["./late.sh"]).code, 127);
    project.write("late.sh", "#!/bin/sh\necho here\n");
    assert_eq!(project.tamis(&["./late.sh"]).text(), "here\n");
    project.remove("late.sh");
    assert_eq!(project.tamis(&["./late.sh"]).code, 127, "it is gone, not skipped");
    project.write("late.sh", "#!/no/such/interpreter\n");
    assert_ne!(project.tamis(&["./late.sh"]).code, 0);
}

#[test]
fn output_is_untouched_byte_for_byte() {
    let project = Project::new();
    let mut bytes: Vec<u8> = (0..=255).collect();
    bytes.extend(b"\x1b[31m\r\n\0\0\xff\xfe no newline at the end");
    let bytes = bytes.repeat(1000);
    project.write("bytes", &bytes);
    let got = project.tamis(&["cat", "bytes"]);
    assert_eq!(got.stdout, bytes);
    let got = project.tamis(&["--quiet", "sh", "-c", "cat bytes; echo problem >&2"]);
    assert_eq!(got.stdout, bytes);
    assert_eq!(got.stderr, "problem\n");
    // With --json standard output is for events; the test's own goes to standard error.
    let got = project.tamis(&["--json", "sh", "-c", "echo out; echo err >&2"]);
    assert_eq!(got.lines()[0]["event"], "start");
    assert!(got.stderr.contains("out\n") && got.stderr.contains("err\n"), "{}", got.stderr);
}

#[test]
fn a_pipe_on_standard_input_passes_through_and_is_never_skipped() {
    let project = Project::new();
    for text in ["first", "first", "second"] {
        let got = ended_with_input(project.binary().arg("cat"), text.as_bytes());
        assert_eq!(got.text(), text, "{}", got.stderr);
    }
    assert!(project.tamis(&["doctor"]).text().contains("standard input"));
    // Also under another name.
    for name in ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
        for text in ["first", "second"] {
            let got = ended_with_input(project.binary().args(["cat", name]), text.as_bytes());
            assert_eq!(got.text(), text, "{name}: {}", got.stderr);
        }
    }
    // A test that is given a pipe and does not look at it may be skipped.
    let words = ["sh", "-c", "echo done"];
    assert_eq!(ended_with_input(project.binary().args(words), b"x").text(), "done\n");
    assert_eq!(ended_with_input(project.binary().args(words), b"y").text(), "");
}

#[test]
fn a_file_on_standard_input_is_an_input() {
    let project = Project::with(&[("one", "1\n"), ("two", "2\n")]);
    let run = |name: &str| {
        let file = File::open(project.path(name)).expect("there");
        ended(project.binary().arg("cat").stdin(file)).text()
    };
    assert_eq!(run("one"), "1\n");
    assert_eq!(run("one"), "", "skipped");
    project.write("one", "3\n");
    assert_eq!(run("one"), "3\n");
    assert_eq!(run("two"), "2\n", "another file is another input");
    assert_eq!(run("two"), "");
    assert_eq!(run("one"), "", "proven before");
}

#[test]
fn another_kind_of_standard_input_is_another_input() {
    let project = Project::with(&[("one", "1\n")]);
    let nothing = || project.tamis(&["cat"]);
    assert_eq!(nothing().text(), "");
    assert!(nothing().stderr.contains("skipped"));
    let file = File::open(project.path("one")).expect("there");
    let got = ended(project.binary().arg("cat").stdin(file));
    assert_eq!(got.text(), "1\n", "{}", got.stderr);
    let got = ended_with_input(project.binary().arg("cat"), b"piped");
    assert_eq!(got.text(), "piped", "{}", got.stderr);
    let other_ways = [
        ["sh", "-c", "exec 3<&0 </dev/null; cat <&3"],
        ["sh", "-c", "cat /dev/stdin"],
        ["sh", "-c", "cat | cat"],
        ["sh", "-c", "while read x; do echo $x; done"],
    ];
    for words in other_ways {
        let file = File::open(project.path("one")).expect("there");
        assert_eq!(project.tamis(&words).text(), "");
        assert!(project.tamis(&words).stderr.contains("skipped"), "{words:?}");
        let got = ended(project.binary().args(words).stdin(file));
        assert_eq!(got.text(), "1\n", "{words:?} {}", got.stderr);
    }
    // Who does not read it is not bothered by another one.
    project.assert_ran(&["echo"]);
    assert_eq!(ended_with_input(project.binary().arg("echo"), b"x").text(), "");
}

#[test]
fn a_failing_test_stays_red() {
    let project = Project::with(&[
        ("tamis.toml", "[[suite]]\nname = \"s\"\neach = [\"good\", \"bad\"]\nrun = \"sh {}.sh\"\n"),
        ("good.sh", "true\n"),
        ("bad.sh", "cat data; exit 3\n"),
        ("data", "x"),
    ]);
    assert_eq!(project.tamis::<&str>(&[]).code, 1);
    for runs in ["recorded run", "2 recorded runs"] {
        let got = project.tamis::<&str>(&[]);
        assert_eq!(got.code, 1, "still red");
        let before = format!("failed with exit code 3 (as in the {runs} before)");
        assert!(got.stderr.contains(&before), "{}", got.stderr);
    }
    assert_eq!(project.selected(), ["bad"]);
    assert_eq!(project.select(&[])["bad"].cause, "did-not-pass");
    assert!(project.answer(&["why", "bad"]).contains("failed with exit code 3 last time"));
    project.write("bad.sh", "cat data\n");
    assert_eq!(project.tamis::<&str>(&[]).code, 0);
    assert!(project.ran().is_empty());
    // Back to the state in which it failed: it is not skipped there.
    project.write("bad.sh", "cat data; exit 3\n");
    assert_eq!(project.tamis::<&str>(&[]).code, 1);
    // A flaky one: the newest outcome of the same state counts.
    let flaky =
        Project::with(&[("flaky.sh", "#!/bin/sh\nexit $(cat /tmp/../proc/self/stat | wc -l)\n")]);
    assert_eq!(flaky.tamis(&["./flaky.sh"]).code, 1);
    flaky.assert_ran(&["./flaky.sh"]);
}

#[test]
fn a_junit_report_names_the_skipped_with_their_proof() {
    let project = Project::with(&[
        (
            "tamis.toml",
            "[[suite]]\nname = \"s\"\neach = [\"good\", \"bad\", \"a<b\"]\nrun = [\"sh\", \"run.sh\", \"{}\"]\n",
        ),
        (
            "run.sh",
            "case \"$1\" in bad) printf 'no <good> ]]> \\033[1m\\n'; cat bad; exit 2;; esac\n",
        ),
        ("bad", ""),
    ]);
    let file = project.beside("report.xml");
    let words = ["--junit", file.to_str().expect("text")];
    assert_eq!(project.tamis(&words).code, 1);
    let report = |failures: &str, skipped: usize| {
        let text = std::fs::read_to_string(&file).expect("a report");
        let document = roxmltree::Document::parse(&text).expect("well-formed XML");
        let named = |name: &str| document.descendants().filter(|n| n.has_tag_name(name)).count();
        assert_eq!(named("testcase"), 3, "{text}");
        assert_eq!(named("failure").to_string(), failures, "{text}");
        assert_eq!(named("skipped"), skipped, "{text}");
        let proof = document.descendants().find(|n| n.has_tag_name("skipped"));
        if let Some(proof) = proof {
            assert!(format!("{:?} {:?}", proof, proof.text()).contains("record"), "{text}");
        }
        text
    };
    let text = report("1", 0);
    assert!(text.contains("no &lt;good&gt;"), "the output of a failure: {text}");
    project.tamis(&words);
    report("1", 2);
    project.write("run.sh", "true\n");
    assert_eq!(project.tamis(&words).code, 0);
    report("0", 0);
    project.tamis(&words);
    report("0", 3);
    let got = project.tamis(&["--junit", "/no/such/folder/x.xml", "true"]);
    assert!(got.stderr.contains("/no/such/folder/x.xml"), "{}", got.stderr);
}

#[test]
fn the_step_summary_of_a_pipeline_is_filled() {
    let mut project = Project::with(&[(
        "tamis.toml",
        "[[suite]]\nname = \"s\"\neach = [\"a\", \"b|c\"]\nrun = \"echo {}\"\n",
    )]);
    let file = project.beside("summary.md");
    std::fs::write(&file, "before\n").expect("a file");
    project.set("GITHUB_STEP_SUMMARY", file.to_str().expect("text"));
    project.tamis::<&str>(&[]);
    let text = std::fs::read_to_string(&file).expect("there");
    assert!(text.starts_with("before\n") && text.len() > 20, "{text}");
    project.tamis::<&str>(&[]);
    let more = std::fs::read_to_string(&file).expect("there");
    assert!(more.starts_with(&text) && more.contains("skipped"), "{more}");
    project.set("GITHUB_STEP_SUMMARY", "/no/such/folder/x.md");
    assert_eq!(project.tamis::<&str>(&[]).code, 0, "no reason to fail");
}

#[test]
fn names_of_any_bytes() {
    let project = Project::new();
    let names: [&[u8]; 4] = [b"sp ace", b"new\nline", b"not-utf8-\xff\xfe", b"-dash 'quote\" $x"];
    for name in names {
        project.write(OsStr::from_bytes(name), "1\n");
        let words = [OsStr::new("cat"), OsStr::new("--"), OsStr::from_bytes(name)];
        let got = project.tamis(&words);
        assert_eq!(got.text(), "1\n", "{name:?}: {}", got.stderr);
        assert_eq!(project.tamis(&words).text(), "", "{name:?} is skipped");
        project.write(OsStr::from_bytes(name), "2\n");
        assert_eq!(project.tamis(&words).text(), "2\n", "{name:?} is seen");
    }
    // Two names that look alike when they are shown are still two commands.
    let two: [OsString; 2] = [b"x\xff", b"x\xfe"].map(|n| OsString::from_vec(n.to_vec()));
    for name in &two {
        project.write(name, "3\n");
        let got = project.tamis(&[OsStr::new("cat"), name]);
        assert_eq!(got.text(), "3\n", "{name:?}: {}", got.stderr);
    }
    let status = project.answer(&["status"]);
    assert!(status.lines().count() >= names.len(), "{status}");
}

#[test]
fn a_project_in_a_folder_of_strange_name() {
    let outer = Project::new();
    let folder = outer.beside("").join(OsStr::from_bytes(b"a \xff b\n'c'"));
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("check.sh"), "#!/bin/sh\ncat data\n").expect("a file");
    std::fs::write(folder.join("data"), "1\n").expect("a file");
    let run = || ended(outer.seen_from(&folder).args(["sh", "./check.sh"])).text();
    assert_eq!(run(), "1\n");
    assert_eq!(run(), "");
    std::fs::write(folder.join("data"), "2\n").expect("a file");
    assert_eq!(run(), "2\n");
}
