//! Outputs as the frameworks print them, each with its headline.

use super::*;
use proptest::prelude::*;

const CASES: &[(&str, &str, &str)] = &[
    (
        "pytest",
        "============ FAILURES ============\n____ test_a ____\n\n    def test_a():\n>       assert f(1) == 3\nE       assert 2 == 3\nE        +  where 2 = f(1)\n\ntest_a.py:5: AssertionError\n==== short test summary info ====\nFAILED test_a.py::test_a - assert 2 == 3\n",
        "assert 2 == 3",
    ),
    (
        "unittest",
        "F\n======\nFAIL: test_x (t.T.test_x)\n------\nTraceback (most recent call last):\n  File \"t.py\", line 4, in test_x\n    self.assertEqual(1, 2)\nAssertionError: 1 != 2\n\nRan 1 test in 0.000s\nFAILED (failures=1)\n",
        "AssertionError: 1 != 2",
    ),
    (
        "python",
        "hello\nTraceback (most recent call last):\n  File \"t.py\", line 1, in <module>\nModuleNotFoundError: No module named 'x'\n",
        "ModuleNotFoundError: No module named 'x'",
    ),
    (
        "bare assert of python",
        "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    assert 1 == 2\nAssertionError\n",
        "AssertionError",
    ),
    (
        "JUnit 5 in a report",
        "half(): org.opentest4j.AssertionFailedError: expected: <1> but was: <2>\n\tat org.junit.Assertions.fail(A.java:1)\n",
        "half(): org.opentest4j.AssertionFailedError: expected: <1> but was: <2>",
    ),
    (
        "JUnit 4 on a console",
        "JUnit version 4.13\n.E\nTime: 0\nThere was 1 failure:\n1) half(a.HalfTest)\njava.lang.AssertionError: expected:<1> but was:<2>\n\tat org.junit.Assert.fail(Assert.java:89)\n",
        "java.lang.AssertionError: expected:<1> but was:<2>",
    ),
    (
        "TestNG",
        "FAILED: half\njava.lang.AssertionError: expected [2] but found [1]\n\tat org.testng.Assert.fail(Assert.java:110)\n",
        "java.lang.AssertionError: expected [2] but found [1]",
    ),
    (
        "go test",
        "=== RUN   TestA\n    a_test.go:7: got 1, want 2\n--- FAIL: TestA (0.00s)\nFAIL\nexit status 1\n",
        "a_test.go:7: got 1, want 2",
    ),
    (
        "go panic",
        "--- FAIL: TestA (0.00s)\npanic: boom [recovered]\n\tpanic: boom\n\ngoroutine 6 [running]:\n",
        "panic: boom [recovered]",
    ),
    (
        "go build",
        "# example.com/m\n./a.go:3:9: undefined: x\nFAIL\texample.com/m [build failed]\n",
        "./a.go:3:9: undefined: x",
    ),
    (
        "cargo test",
        "running 1 test\ntest a ... FAILED\n\nfailures:\n\n---- a stdout ----\n\nthread 'a' (12) panicked at src/lib.rs:3:15:\nassertion `left == right` failed\n  left: 1\n right: 2\n",
        "assertion `left == right` failed (thread 'a' (12) panicked at src/lib.rs:3:15:)",
    ),
    (
        "node --test",
        "✖ adds (1.2ms)\n  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n  \n  1 !== 2\n",
        "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 1 !== 2",
    ),
    (
        "mocha",
        "  0 passing (3ms)\n  1 failing\n\n  1) adds:\n\n      AssertionError [ERR_ASSERTION]: 1 == 2\n      + expected - actual\n",
        "AssertionError [ERR_ASSERTION]: 1 == 2",
    ),
    (
        "jest",
        "FAIL ./a.test.js\n  ✕ adds (2 ms)\n\n  ● adds\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 2\n    Received: 1\n",
        "expect(received).toBe(expected) // Object.is equality",
    ),
    (
        "vitest",
        " FAIL  a.test.js > adds\nAssertionError: expected 1 to be 2 // Object.is equality\n\n- Expected\n+ Received\n",
        "AssertionError: expected 1 to be 2 // Object.is equality",
    ),
    (
        "ctest",
        "1/1 Test #1: unit .............***Failed    0.00 sec\nt: t.c:7: main: Assertion `x == 2' failed.\n\n0% tests passed\n",
        "t: t.c:7: main: Assertion `x == 2' failed.",
    ),
    (
        "TAP of node",
        "not ok 1 - adds\n  ---\n  failureType: 'testCodeFailure'\n  error: |-\n    Expected values to be strictly equal:\n    \n    1 !== 2\n    \n  code: 'ERR_ASSERTION'\n",
        "Expected values to be strictly equal: 1 !== 2",
    ),
    ("TAP", "1..2\nok 1 - fine\nnot ok 2 - adds\n# done\n", "not ok 2 - adds"),
    ("set -x", "+ n=1\n+ test 1 = 2\n", "+ test 1 = 2"),
    ("set -x and exit", "+ n=1\n+ '[' 1 = 2 ']'\n+ exit 1\n", "+ '[' 1 = 2 ']'"),
    (
        "a script that explains",
        "checking\nthe answer is 41, not 42\n\n",
        "the answer is 41, not 42",
    ),
    (
        "a script that compares",
        "all cases\n3 expected results\ncase 7: expected 1\ngot 2\ndone\n",
        "case 7: expected 1",
    ),
    (
        "a tool that complains",
        "cp: cannot stat 'x': No such file or directory\nstop\n",
        "cp: cannot stat 'x': No such file or directory",
    ),
    (
        "segfault",
        "start\nSegmentation fault (core dumped)\nbye\n",
        "Segmentation fault (core dumped)",
    ),
    (
        "gcc",
        "a.c: In function 'f':\na.c:3:5: error: 'x' undeclared\nmake: *** [a.o] Error 1\n",
        "a.c:3:5: error: 'x' undeclared",
    ),
    (
        "maven",
        "[INFO] x\n[ERROR] COMPILATION ERROR : \n[ERROR] /p/A.java:[3,5] cannot find symbol\n",
        "[ERROR] COMPILATION ERROR : [ERROR] /p/A.java:[3,5] cannot find symbol",
    ),
    (
        "AddressSanitizer",
        "=====\n==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n",
        "==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x1",
    ),
];

#[test]
fn headlines() {
    for (name, output, expected) in CASES {
        assert_eq!(headline(output.as_bytes()).as_deref(), Some(*expected), "{name}");
    }
}

#[test]
fn the_headline_of_an_excerpt_is_that_of_the_output() {
    let noise = "noise of a test that runs long\n".repeat(2_000);
    for (name, output, expected) in CASES {
        let long = format!("{noise}{output}");
        let excerpt = excerpt(long.as_bytes());
        assert!(excerpt.len() <= LONGEST + 4, "{name}");
        assert_eq!(headline(excerpt.as_bytes()).as_deref(), Some(*expected), "{name}: {excerpt}");
    }
}

#[test]
fn an_excerpt_begins_where_the_failure_does() {
    let begins = |output: &str| excerpt(output.as_bytes()).lines().next().unwrap().to_owned();
    let of = |name: &str| CASES.iter().find(|case| case.0 == name).unwrap().1;
    assert_eq!(begins(of("pytest")), "E       assert 2 == 3");
    assert_eq!(begins(of("unittest")), "Traceback (most recent call last):");
    assert_eq!(begins(of("TestNG")), "java.lang.AssertionError: expected [2] but found [1]");
    assert_eq!(begins(of("cargo test")), "thread 'a' (12) panicked at src/lib.rs:3:15:");
    let go = "--- FAIL: TestA (0.00s)\n    a_test.go:7: got 1\n";
    assert_eq!(begins(go), "--- FAIL: TestA (0.00s)");
}

#[test]
fn text_about_errors_is_no_failure() {
    for line in [
        "AssertionError is what this prints",
        "no errors, 3 warnings",
        "testing NullPointerException handling",
        "at java.lang.Error.x(Y.java:3)",
        "Error",
        "0 Exceptions",
        "http://host:80: fine",
        "a.go:x: y",
    ] {
        assert_eq!(found(&[line]), None, "{line}");
    }
}

#[test]
fn colours_and_progress_are_removed() {
    assert_eq!(clean(b"\x1b[31mred\x1b[0m\r\n10%\r50%\rdone\n"), "red\ndone\n");
    assert_eq!(clean(b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b(B\n"), "alink\n");
    assert_eq!(clean(b"ab\x08c\n\x08d"), "ac\n\u{8}d");
    assert_eq!(clean(b"\x1b[38;5;1mx"), "x");
    assert_eq!(clean("é日\u{fffd}".as_bytes()), "é日\u{fffd}");
    assert_eq!(clean(b"open \x1b]0;never ended\nnext"), "open \nnext");
}

#[test]
fn long_lines_are_cut_at_characters() {
    let line = "é".repeat(LONGEST_LINE + 5);
    let short = excerpt(line.as_bytes());
    assert_eq!(short.chars().count(), LONGEST_LINE + 2);
    assert!(short.ends_with("é…\n"));
    let title = headline(line.as_bytes()).unwrap();
    assert_eq!(title.chars().count(), LONGEST_HEADLINE + 1);
}

#[test]
fn the_end_counts_where_nothing_is_recognised() {
    let lines: String = (0..5_000).map(|n| format!("line {n}\n")).collect();
    let end = excerpt(lines.as_bytes());
    assert!(end.ends_with("line 4999\n") && end.len() <= LONGEST);
    assert!(end.starts_with("line "), "{}", &end[..20]);
    assert_eq!(headline(b""), None);
    assert_eq!(headline(b" \n\n"), None);
    assert_eq!(excerpt(b""), "");
}

proptest! {
    #[test]
    fn any_output_has_an_excerpt(output in prop::collection::vec(any::<u8>(), 0..400)) {
        let part = excerpt(&output);
        prop_assert!(part.len() <= LONGEST + 4);
        let is_plain = !part.contains('\u{1b}');
        prop_assert!(is_plain);
        let _ = headline(&output);
    }
}
