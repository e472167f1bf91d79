//! `tamis pytest`: each test function by itself, with the real pytest.
//!
//! Edits that are aimed at what selection by coverage misses. After the first run each edit is asked about
//! (`tamis select`, which starts nothing) and taken back.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tamis_testkit::{Project, needs};

/// A Python that has pytest: the one that `TAMIS_TEST_PYTHON` names, or the usual one.
fn python() -> Option<&'static str> {
    static PYTHON: OnceLock<Option<String>> = OnceLock::new();
    let found = PYTHON.get_or_init(|| {
        let named = std::env::var("TAMIS_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
        let asks = "import pytest, sys; print(sys.executable)";
        let asked = Command::new(named).args(["-c", asks]).stdin(Stdio::null()).output().ok()?;
        let text = asked.status.success().then_some(asked.stdout)?;
        Some(String::from_utf8(text).ok()?.trim().to_owned())
    });
    if found.is_none() {
        needs::not_tried("pytest");
    }
    found.as_deref()
}

pub(crate) fn words() -> Option<[&'static str; 4]> {
    Some([python()?, "-m", "pytest", "-q"])
}

/// A project with these files, whose root is on the path.
pub(crate) fn project_with(files: &[(String, String)]) -> Option<Project> {
    python()?;
    let project = Project::new();
    project.write("pytest.ini", "[pytest]\npythonpath = .\n");
    for (file, text) in files {
        project.write(file, text);
    }
    Some(project)
}

fn names(decided: impl IntoIterator<Item = (String, tamis_testkit::Decided)>) -> BTreeSet<String> {
    let runs = decided.into_iter().filter(|(_, decided)| decided.runs);
    runs.map(|(name, _)| name).filter(|name| name.contains(".py::")).collect()
}

/// Runs pytest; the tests that ran.
pub(crate) fn runs_of(project: &Project) -> BTreeSet<String> {
    names(project.run(&words().expect("a Python")))
}

fn selected(project: &Project) -> BTreeSet<String> {
    names(project.select(&words().expect("a Python")))
}

/// The tests that an edit selects; it is taken back.
pub(crate) fn changed(project: &Project, file: &str, from: &str, to: &str) -> BTreeSet<String> {
    let before = project.read(file);
    assert!(before.contains(from), "{from} in {file}");
    project.write(file, before.replacen(from, to, 1));
    let found = selected(project);
    project.write(file, before);
    found
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const FILES: &[(&str, &str)] = &[
    ("README.md", "read me\n"),
    ("shop/__init__.py", "from shop.money import cents\n"),
    (
        "shop/money.py",
        "def cents(x):\n    return round(x * 100)\n\n\ndef euros(x):\n    return x / 100\n",
    ),
    ("shop/rates.py", "VAT = 19\n"),
    ("shop/colours.py", "import enum\n\n\nclass Colour(enum.Enum):\n    RED = 1\n"),
    (
        "shop/base.py",
        "class Base:\n    kind = 'base'\n\n    def name(self):\n        return 'base'\n",
    ),
    (
        "shop/derived.py",
        "from shop.base import Base\n\n\nclass Derived(Base):\n    def own(self):\n        return 1\n",
    ),
    (
        "shop/optional.py",
        "try:\n    import shop_extra as extra\nexcept ImportError:\n    extra = None\n\n\ndef has():\n    return extra is not None\n",
    ),
    ("shop/late.py", "LATE = 3\n\n\ndef late():\n    return LATE\n"),
    ("forking.py", "def in_child():\n    return 0\n"),
    ("shop/cases.py", "CASES = [1, 2]\n"),
    ("shop/text.py", "def shout(text):\n    \"\"\"Makes it loud.\"\"\"\n    return text.upper()\n"),
    ("tool.py", "print('tool')\n"),
    ("data/input.txt", "1\n"),
    ("data/cases/one.txt", "1\n"),
    (
        "tests/conftest.py",
        "import pytest\n\nfrom shop import money\n\n\n@pytest.fixture(scope='session')\ndef purse():\n    return [money.euros(200)]\n\n\n@pytest.fixture\ndef own():\n    return helper()\n\n\ndef helper():\n    return 1\n",
    ),
    (
        "tests/test_money.py",
        "from shop import money\n\n\ndef test_cents():\n    assert money.cents(1) == 100\n\n\ndef test_purse(purse):\n    assert purse\n\n\ndef test_purse_again(purse):\n    assert purse\n\n\ndef test_own(own):\n    assert own\n",
    ),
    ("tests/test_rates.py", "from shop import rates\n\n\ndef test_vat():\n    assert rates.VAT\n"),
    (
        "tests/test_colours.py",
        "from shop.colours import Colour\n\n\ndef test_red():\n    assert Colour.RED\n",
    ),
    (
        "tests/test_derived.py",
        "from shop.derived import Derived\n\n\ndef test_name():\n    assert Derived().name()\n\n\ndef test_own():\n    assert Derived().own()\n",
    ),
    (
        "tests/test_optional.py",
        "from shop import optional\n\n\ndef test_has():\n    assert optional.has() in (True, False)\n",
    ),
    (
        "tests/test_late.py",
        "def test_one():\n    from shop.late import late\n    assert late()\n\n\ndef test_two():\n    from shop.late import late\n    assert late()\n\n\ndef test_three():\n    pass\n",
    ),
    (
        "more/test_forks.py",
        "import os\n\nimport forking\n\n\ndef test_child():\n    pid = os.fork()\n    if pid == 0:\n        os._exit(forking.in_child())\n    assert os.waitpid(pid, 0)[1] == 0\n\n\ndef test_none():\n    pass\n",
    ),
    (
        "tests/test_cases.py",
        "import os\n\nimport pytest\n\nfrom shop.cases import CASES\n\n\n@pytest.mark.parametrize('case', CASES)\ndef test_case(case):\n    assert case\n",
    ),
    (
        "tests/test_listed.py",
        "import os\n\nimport pytest\n\n\n@pytest.mark.parametrize('name', sorted(os.listdir('data/cases')))\ndef test_name(name):\n    assert name\n",
    ),
    (
        "tests/test_files.py",
        "import subprocess\nimport sys\n\n\ndef test_data():\n    with open('data/input.txt') as file:\n        assert file.read()\n\n\ndef test_tool():\n    subprocess.run([sys.executable, 'tool.py'], check=True)\n\n\ndef test_neither():\n    pass\n",
    ),
    (
        "tests/test_text.py",
        "import unittest\n\nfrom shop import text\n\n\nclass TestText(unittest.TestCase):\n    def setUp(self):\n        self.x = text.shout('a')\n\n    def test_x(self):\n        with self.subTest('s'):\n            assert self.x == 'A'\n",
    ),
];

fn shop() -> Option<Project> {
    let files: Vec<(String, String)> =
        FILES.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    project_with(&files)
}

/// What each edit selects.
const EDITS: &[(&str, &str, &str, &[&str])] = &[
    ("README.md", "read", "write", &[]),
    ("shop/money.py", "def cents", "# a comment\ndef cents", &[]),
    ("shop/money.py", "x * 100", "(x  *\n        100)", &[]),
    ("shop/money.py", "x * 100", "x * 99", &["tests/test_money.py::test_cents"]),
    (
        "shop/money.py",
        "x / 100",
        "x / 10",
        &["tests/test_money.py::test_purse", "tests/test_money.py::test_purse_again"],
    ),
    (
        "tests/conftest.py",
        "[money.euros(200)]",
        "[1]",
        &["tests/test_money.py::test_purse", "tests/test_money.py::test_purse_again"],
    ),
    ("tests/conftest.py", "    return 1", "    return 2", &["tests/test_money.py::test_own"]),
    ("shop/rates.py", "19", "7", &["tests/test_rates.py::test_vat"]),
    ("shop/colours.py", "RED = 1", "RED = 2", &["tests/test_colours.py::test_red"]),
    (
        "shop/base.py",
        "'base'\n\n",
        "'other'\n\n",
        &["tests/test_derived.py::test_name", "tests/test_derived.py::test_own"],
    ),
    ("shop/base.py", "return 'base'", "return 'b'", &["tests/test_derived.py::test_name"]),
    (
        "shop/derived.py",
        "    def own",
        "    def name(self):\n        return ''\n\n    def own",
        &["tests/test_derived.py::test_name", "tests/test_derived.py::test_own"],
    ),
    ("shop/derived.py", "return 1", "return 2", &["tests/test_derived.py::test_own"]),
    (
        "shop/late.py",
        "LATE = 3",
        "LATE = 4",
        &["tests/test_late.py::test_one", "tests/test_late.py::test_two"],
    ),
    ("forking.py", "return 0", "return 1", &["more/test_forks.py::test_child"]),
    (
        "shop/cases.py",
        "[1, 2]",
        "[1, 0]",
        &["tests/test_cases.py::test_case[1]", "tests/test_cases.py::test_case[2]"],
    ),
    ("tool.py", "'tool'", "'t'", &["tests/test_files.py::test_tool"]),
    ("data/input.txt", "1", "2", &["tests/test_files.py::test_data"]),
    ("shop/text.py", "loud.", "louder.", &["tests/test_text.py::TestText::test_x"]),
    ("shop/text.py", "text.upper()", "'A'", &["tests/test_text.py::TestText::test_x"]),
    ("tests/test_money.py", "== 100", "== 101", &["tests/test_money.py::test_cents"]),
];

#[test]
fn an_edit_selects_the_tests_that_it_can_reach() {
    let Some(project) = shop() else { return };
    let all = runs_of(&project);
    assert_eq!(all.len(), 21, "{all:?}");
    assert!(runs_of(&project).is_empty(), "nothing changed");
    for (file, from, to, expected) in EDITS {
        assert_eq!(changed(&project, file, from, to), set(expected), "{file}: {from} -> {to}");
    }
    whole_files_and_one_command(&project);
    names_that_appear_or_go(&project, &all);
    what_changes_for_all(&project, &all);
    new_tests_run(&project, &all);
}

/// `--granularity file` keeps the tests of a file together; with `functions = false` pytest is one command.
fn whole_files_and_one_command(project: &Project) {
    let words = words().expect("a Python");
    let asked = |options: &[&str]| {
        let got = project.tamis(&[&["--json"], options, &["select", "--"], &words[..]].concat());
        got.decisions()
    };
    let before = project.read("shop/money.py");
    project.write("shop/money.py", before.replacen("x * 100", "x * 99", 1));
    let of_file = ["test_cents", "test_purse", "test_purse_again", "test_own"];
    let of_file = of_file.map(|test| format!("tests/test_money.py::{test}"));
    assert_eq!(names(asked(&["--granularity", "file"])), BTreeSet::from(of_file));
    let one = set(&["tests/test_money.py::test_cents"]);
    assert_eq!(names(asked(&["--granularity", "function"])), one);
    project.write("shop/money.py", before);
    assert!(names(asked(&["--granularity", "file"])).is_empty());
    project.write("tamis.toml", "[python]\nfunctions = false\n");
    let decided = asked(&[]);
    assert_eq!(decided.len(), 1, "{decided:?}");
    assert!(asked(&["--granularity", "function"]).len() > 1, "by the call alone");
    project.remove("tamis.toml");
}

/// What is looked for and not there, and what was there.
fn names_that_appear_or_go(project: &Project, all: &BTreeSet<String>) {
    let appears = |file: &str, text: &str| {
        project.write(file, text);
        let found = selected(project);
        project.remove(file);
        found
    };
    assert_eq!(appears("shop_extra.py", ""), set(&["tests/test_optional.py::test_has"]));
    assert_eq!(appears("unrelated.py", ""), set(&[]));
    assert_eq!(appears("notes/a.txt", ""), set(&[]));
    assert!(appears("data/cases/two.txt", "").contains("tests/test_listed.py::test_name[one.txt]"));
    assert_eq!(appears("conftest.py", ""), *all, "a conftest above all tests");
    let text = project.read("shop/late.py");
    project.remove("shop/late.py");
    let gone = set(&["tests/test_late.py::test_one", "tests/test_late.py::test_two"]);
    assert_eq!(selected(project), gone);
    project.write("shop/late.py", text);
    let shadowed = appears("tests/shop/__init__.py", "");
    assert!(shadowed.contains("tests/test_rates.py::test_vat"), "{shadowed:?}");
    std::fs::remove_dir(project.path("tests/shop")).expect("an empty folder");
}

fn what_changes_for_all(project: &Project, all: &BTreeSet<String>) {
    let ini = changed(project, "pytest.ini", "[pytest]\n", "[pytest]\nxfail_strict = true\n");
    assert_eq!(ini, *all);
    let fixture = "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef always():\n    pass\n";
    assert_eq!(changed(project, "tests/conftest.py", "import pytest\n", fixture), *all);
}

/// New tests, parameters and names; one that fails goes on failing.
fn new_tests_run(project: &Project, all: &BTreeSet<String>) {
    let file = "tests/test_new.py";
    project.write(file, "def test_new():\n    assert False\n");
    let fails = set(&["tests/test_new.py::test_new"]);
    let words = words().expect("a Python");
    for _ in 0..2 {
        let got = project.tamis(&[&["--json", "run", "--"], &words[..]].concat());
        assert_eq!((got.code, names(got.decisions())), (1, fails.clone()), "{}", got.stderr);
    }
    project.write(file, "def test_new():\n    pass\n\n\ndef test_more():\n    pass\n");
    let both = set(&["tests/test_new.py::test_new", "tests/test_new.py::test_more"]);
    assert_eq!(runs_of(project), both);
    project.write("shop/cases.py", "CASES = [1, 2, 3]\n");
    let cases = ["1", "2", "3"].map(|case| format!("tests/test_cases.py::test_case[{case}]"));
    assert_eq!(runs_of(project), BTreeSet::from(cases));
    assert!(runs_of(project).is_empty() && selected(project).is_empty());
    assert_eq!(all.len(), 21);
}

/// The summary says what failed, and so do reports.
#[test]
fn a_failed_test_shows_what_failed() {
    let text = "def f():\n    return 1\n\n\ndef test_f():\n    assert f() == 2\n\n\ndef test_g():\n    assert f()\n";
    let Some(project) = project_with(&[("test_a.py".into(), text.into())]) else { return };
    let words = words().expect("a Python");
    let got = project.tamis(&words);
    assert_eq!(got.code, 1, "{}", got.stderr);
    assert!(got.stderr.contains("assert 1 == 2"), "{}", got.stderr);
    let got = project.tamis(&[&["--junit", "out.xml"], words.as_slice()].concat());
    assert_eq!(got.code, 1, "{}", got.stderr);
    let written = project.read("out.xml");
    assert!(written.contains("assert 1 == 2") && written.contains("test_f"), "{written}");
}
