//! Coverage of partial runs: after each edit the report of `tamis pytest --cov`, which leaves tests out, and the one of
//! plain pytest in a copy of the project, which runs all, say the same, line by line and branch by branch.
//!
//! `bench/python/coverage` does the same on every Python that it is given, and with the other ways to measure.

use crate::pytest_kinds::{Way, ways};
use std::process::Command;
use tamis_testkit::{Project, needs};

const FILES: &[(&str, &str)] = &[
    ("pytest.ini", "[pytest]\npythonpath = .\n"),
    (".coveragerc", "[run]\nsource = shop\n"),
    ("shop/__init__.py", ""),
    (
        "shop/calc.py",
        "def add(a, b):\n    return a + b\n\n\ndef sign(a):\n    if a < 0:\n        return -1\n    if a > 0:\n        return 1\n    return 0\n\n\ndef unused():\n    return 'unused'\n",
    ),
    (
        // A cache: who comes first runs other code than who comes later.
        "shop/memo.py",
        "KNOWN = {}\n\n\ndef parse(text):\n    if text in KNOWN:\n        return KNOWN[text]\n    value = work(text)\n    KNOWN[text] = value\n    return value\n\n\ndef work(text):\n    return int(text)\n",
    ),
    (
        "shop/late.py",
        "import sys\n\nif sys.version_info > (3,):\n    LATE = 1\nelse:\n    LATE = 0\n\n\ndef late():\n    return LATE\n",
    ),
    (
        "shop/shapes.py",
        "class Shape:\n    kind = 'shape'\n\n    @property\n    def area(self):\n        return sum(\n            side\n            for side in self.sides()\n        )\n\n    def sides(self):\n        return []\n\n\nclass Square(Shape):\n    def sides(self):\n        for side in (1, 2):\n            yield side\n",
    ),
    (
        "shop/db.py",
        "class Db:\n    def __init__(self):\n        self.open = True\n\n    def get(self, name):\n        if name == 'none':\n            return None\n        return name\n\n    def close(self):\n        self.open = False\n",
    ),
    (
        "tests/conftest.py",
        "import pytest\n\nfrom shop.db import Db\n\n\n@pytest.fixture(scope='session')\ndef db():\n    db = Db()\n    yield db\n    db.close()\n",
    ),
    (
        "tests/test_calc.py",
        "import pytest\n\nfrom shop import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n\n\n@pytest.mark.parametrize('a', [-1, 1])\ndef test_sign(a):\n    assert calc.sign(a) == a\n",
    ),
    (
        "tests/test_memo.py",
        "from shop import memo\n\n\ndef test_first():\n    assert memo.parse('7') == 7\n\n\ndef test_second():\n    assert memo.parse('7') == 7\n",
    ),
    (
        "tests/test_late.py",
        "def test_late():\n    from shop.late import late\n    assert late()\n\n\ndef test_again():\n    from shop.late import LATE\n    assert LATE\n",
    ),
    (
        "tests/test_shapes.py",
        "import unittest\n\nfrom shop.shapes import Shape, Square\n\n\nclass TestShapes(unittest.TestCase):\n    def setUp(self):\n        self.square = Square()\n\n    def test_square(self):\n        assert self.square.area == 3\n\n    def test_kind(self):\n        assert Shape.kind == 'shape'\n",
    ),
    (
        "tests/test_db.py",
        "def test_get(db):\n    assert db.get('a') == 'a'\n\n\ndef test_none(db):\n    assert db.get('none') is None\n\n\ndef test_open(db):\n    assert db.open\n",
    ),
];

/// What is edited, one upon the other: file, from, to; how many of the tests then run at most.
const EDITS: &[(&str, &str, &str, usize)] = &[
    ("README.md", "", "read me\n", 0),
    ("shop/calc.py", "return a + b", "total = a + b\n    return total", 7),
    ("shop/calc.py", "def add", "# A line more.\n\ndef add", 0),
    ("shop/calc.py", "    if a > 0", "    # And one inside.\n    if a > 0", 0),
    ("shop/shapes.py", "return sum(\n            side\n", "return sum(\n            side + 0\n", 7),
    ("tests/test_memo.py", "assert memo.parse('7') == 7\n\n\n", "assert 7 == 7\n\n\n", 7),
    ("shop/late.py", "return LATE", "return LATE + 0", 7),
    ("tests/test_calc.py", "[-1, 1]", "[1, 0]", 7),
    ("shop/db.py", "        self.open = False", "        # Over.\n        self.open = None", 7),
    ("tests/test_db.py", "def test_open(db):\n    assert db.open\n", "", 7),
    ("tests/test_new.py", "", "from shop import calc\n\n\ndef test_new():\n    calc.unused()\n", 7),
    ("shop/shapes.py", "        return sum(\n", "        return sum(  # all of them\n", 7),
];

/// The Pythons that have pytest-cov.
fn measuring() -> Vec<Way> {
    let has = |way: &Way| {
        let asked = Command::new(way.python()).args(["-c", "import pytest_cov"]).output();
        asked.is_ok_and(|asked| asked.status.success())
    };
    let (found, without): (Vec<Way>, Vec<Way>) =
        ways(&["-n", "2", "--dist", "loadfile"]).into_iter().partition(has);
    if !without.is_empty() || found.is_empty() {
        needs::not_tried("pytest-cov");
    }
    found
}

struct Pair {
    tamis: Project,
    plain: Project,
    words: Vec<String>,
}

impl Pair {
    fn new(way: &Way, options: &[&str]) -> Self {
        let (tamis, plain) = (Project::new(), Project::new());
        for project in [&tamis, &plain] {
            FILES.iter().for_each(|(file, text)| project.write(file, text));
        }
        let mut words: Vec<String> =
            [way.python(), "-m", "pytest", "-q", "--cov", "--cov-report=json"]
                .map(Into::into)
                .into();
        words.extend(way.options().iter().chain(options).map(|word| (*word).to_owned()));
        Self { tamis, plain, words }
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        for project in [&self.tamis, &self.plain] {
            let before = if from.is_empty() { String::new() } else { project.read(file) };
            assert!(before.contains(from), "{from} in {file}");
            project.write(
                file,
                if from.is_empty() { to.into() } else { before.replacen(from, to, 1) },
            );
        }
    }

    /// Runs both; what tamis printed, how many tests ran, and what is different.
    fn run(&self) -> (String, usize, Vec<String>) {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let got = self.tamis.tamis(&[&["--json", "run", "--"], &words[..]].concat());
        let mut plain = self.plain.command(words[0]);
        let plain =
            plain.args(&words[1..]).env("PYTHONDONTWRITEBYTECODE", "1").output().expect("pytest");
        let ran = got.decisions().values().filter(|decided| decided.runs).count();
        let mut different = Vec::new();
        if Some(got.code) != plain.status.code() {
            different.push(format!("{} instead of {:?}", got.code, plain.status.code()));
        }
        let (here, there) = (report(&self.tamis), report(&self.plain));
        for (name, expected) in there["files"].as_object().expect("files") {
            if here["files"][name] != *expected {
                different.push(format!("{name}: {} instead of {expected}", here["files"][name]));
            }
        }
        if here["totals"] != there["totals"] {
            different.push(format!("{} instead of {}", here["totals"], there["totals"]));
        }
        (got.stderr, ran, different)
    }
}

fn report(project: &Project) -> serde_json::Value {
    serde_json::from_str(&project.read("coverage.json")).expect("a report")
}

fn same_after_each_edit(way: &Way, options: &[&str]) {
    let pair = Pair::new(way, options);
    let (printed, ran, different) = pair.run();
    assert!(different.is_empty(), "{way:?} {options:?}: the first run: {different:#?}\n{printed}");
    assert!(ran >= 12, "{ran}: {printed}");
    let mut total = 0;
    for (file, from, to, most) in EDITS {
        pair.edit(file, from, to);
        let (printed, ran, different) = pair.run();
        assert!(
            different.is_empty(),
            "{way:?} {options:?}: {file}: {from} -> {to}: {different:#?}\n{printed}"
        );
        // One more: the command itself.
        assert!(
            ran <= most + 1,
            "{way:?} {options:?}: {file}: {from} -> {to}: {ran} ran\n{printed}"
        );
        total += ran;
    }
    assert!(total < 70, "{total} ran in all");
}

#[test]
fn a_report_after_an_edit_is_that_of_a_full_run() {
    for way in measuring() {
        // With and without xdist.
        same_after_each_edit(&way, &["--cov-branch"]);
    }
}
