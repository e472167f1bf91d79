//! Test files that pytest need not import after a change: whatever their import does for others is done as before.
//!
//! Each case is a project, and an edit that makes the last file run. With all files imported, by pytest alone, the same
//! tests have to end in the same way, with the same exit code; `out` is how many files are not imported.

use crate::pytest_kinds::{project, ways};
use std::process::Command;
use tamis_testkit::{Ended, Project};

/// A file with tests, which no other file needs.
const QUIET: &str = "import json\n\nimport pytest\n\nfrom shop import money\n\n\n@pytest.mark.parametrize('x', [1, 2])\ndef test_cents(x):\n    assert money.cents(x)\n\n\nclass TestMore:\n    def test_json(self):\n        assert json.dumps(1)\n";
const SHOP: [(&str, &str); 4] = [
    ("shop/__init__.py", ""),
    ("shop/money.py", "def cents(x):\n    return x * 100\n"),
    ("shop/registry.py", "FOUND = []\n\n\nclass Base:\n    pass\n"),
    ("tests/test_quiet.py", QUIET),
];

struct Case {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// File, what goes, and what comes; where nothing goes, the file is new.
    edits: &'static [(&'static str, &'static str, &'static str)],
    words: &'static [&'static str],
    out: usize,
}

const fn case(
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    edits: &'static [(&'static str, &'static str, &'static str)],
    out: usize,
) -> Case {
    Case { name, files, edits, words: &[], out }
}

/// The last file runs again by this.
const ONCE: (&str, &str, &str) = ("tests/test_z.py", "edit = 1", "edit = 2");
const AGAIN: &[(&str, &str, &str)] = &[ONCE];

/// What one file does at its import, and another one finds.
const EFFECTS: &[Case] = &[
    case(
        "nothing at all",
        &[("tests/test_z.py", "def test_z():\n    edit = 1\n    assert edit\n")],
        AGAIN,
        1,
    ),
    case(
        "registry",
        &[
            (
                "tests/test_a.py",
                "from shop import registry\n\nregistry.FOUND.append(1)\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "from shop import registry\n\n\ndef test_z():\n    edit = 1\n    assert registry.FOUND\n",
            ),
        ],
        AGAIN,
        1,
    ),
    case(
        "registry, before another import",
        &[
            ("shop/late.py", "from shop import registry\n\nSEEN = list(registry.FOUND)\n"),
            (
                "tests/test_a.py",
                "from shop import registry\n\nregistry.FOUND.append(1)\n\nfrom shop import late\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "from shop import late\n\n\ndef test_z():\n    edit = 1\n    assert late.SEEN\n",
            ),
        ],
        AGAIN,
        1,
    ),
    case(
        "registry of a class's decorator",
        &[
            (
                "shop/deco.py",
                "KNOWN = {}\n\n\ndef known(kind):\n    KNOWN[kind.__name__] = kind\n    return kind\n",
            ),
            (
                "tests/test_a.py",
                "from shop.deco import known\n\n\n@known\nclass Mine:\n    pass\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "from shop import deco\n\n\ndef test_z():\n    edit = 1\n    assert deco.KNOWN\n",
            ),
        ],
        AGAIN,
        1,
    ),
    case(
        "environment",
        &[
            (
                "tests/test_a.py",
                "import os\n\nos.environ['LEFT_AT_IMPORT'] = '1'\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "import os\n\n\ndef test_z():\n    edit = 1\n    assert os.environ['LEFT_AT_IMPORT']\n",
            ),
        ],
        AGAIN,
        1,
    ),
    case(
        "a library's name",
        &[
            (
                "tests/test_a.py",
                "import string\n\nstring.digits = 'x'\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "import string\n\n\ndef test_z():\n    edit = 1\n    assert string.digits == 'x'\n",
            ),
        ],
        AGAIN,
        1,
    ),
    case(
        "the path",
        &[
            (
                "tests/test_a.py",
                "import os\nimport sys\n\nsys.path.insert(0, os.path.abspath('more'))\n\n\ndef test_a():\n    pass\n",
            ),
            ("more/helper.py", ""),
            ("tests/test_z.py", "def test_z():\n    edit = 1\n    import helper\n"),
        ],
        AGAIN,
        1,
    ),
    case(
        "the numbers of random",
        &[
            ("tests/test_a.py", "import random\n\nrandom.seed(1)\n\n\ndef test_a():\n    pass\n"),
            (
                "tests/test_z.py",
                "import random\n\n\ndef test_z():\n    edit = 1\n    assert random.random() == random.Random(1).random()\n",
            ),
        ],
        AGAIN,
        1,
    ),
    case(
        "a logger",
        &[
            (
                "tests/test_a.py",
                "import logging\n\nlogging.getLogger('shop').setLevel(7)\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "import logging\n\n\ndef test_z():\n    edit = 1\n    assert logging.getLogger('shop').level == 7\n",
            ),
        ],
        AGAIN,
        1,
    ),
    case(
        "subclasses",
        &[
            (
                "tests/test_a.py",
                "from shop.registry import Base\n\n\nclass Mine(Base):\n    pass\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "from shop.registry import Base\n\n\ndef test_z():\n    edit = 1\n    assert Base.__subclasses__()\n",
            ),
        ],
        AGAIN,
        1,
    ),
    case(
        "a cache",
        &[
            (
                "shop/cached.py",
                "import functools\n\n\n@functools.lru_cache\ndef get(x):\n    return x\n",
            ),
            (
                "tests/test_a.py",
                "from shop.cached import get\n\nget(1)\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "from shop.cached import get\n\n\ndef test_z():\n    edit = 1\n    assert get.cache_info().currsize == 1\n",
            ),
        ],
        AGAIN,
        1,
    ),
    case(
        "plugins of a test file",
        &[
            ("extra.py", "import pytest\n\n\n@pytest.fixture\ndef extra():\n    return 1\n"),
            ("tests/test_a.py", "pytest_plugins = ['extra']\n\n\ndef test_a():\n    pass\n"),
            ("tests/test_z.py", "def test_z(extra):\n    edit = 1\n    assert extra\n"),
        ],
        AGAIN,
        1,
    ),
    case(
        "what pytest rewrites",
        &[
            ("helper.py", "def check(x):\n    assert x == 5\n"),
            (
                "tests/test_a.py",
                "import pytest\n\npytest.register_assert_rewrite('helper')\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "def test_z():\n    edit = 1\n    import helper\n    try:\n        helper.check(4)\n    except AssertionError as error:\n        assert '4 == 5' in str(error)\n",
            ),
        ],
        AGAIN,
        1,
    ),
    case(
        "a thread, and what is done at the end",
        &[
            (
                "tests/test_a.py",
                "import atexit\n\natexit.register(print, 'the end')\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_b.py",
                "import threading\n\nTHREAD = threading.Thread(target=threading.Event().wait, name='mine', daemon=True)\nTHREAD.start()\n\n\ndef test_b():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "import threading\n\n\ndef test_z():\n    edit = 1\n    assert 'mine' in [one.name for one in threading.enumerate()]\n",
            ),
        ],
        AGAIN,
        0,
    ),
    case(
        "a file that is written",
        &[
            (
                "tests/test_a.py",
                "with open('made.txt', 'w') as file:\n    file.write('1')\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "import os\n\n\ndef test_z():\n    edit = 1\n    assert os.path.exists('made.txt')\n",
            ),
        ],
        &[("made.txt", "1", ""), ONCE],
        1,
    ),
];

/// What is there by other ways: modules, names, folders.
const WAYS_TO_IT: &[Case] = &[
    case(
        "a module that only one imports",
        &[
            (
                "tests/test_a.py",
                "import shop.registry\n\n\ndef test_a():\n    assert shop.registry\n",
            ),
            (
                "tests/test_z.py",
                "import shop\n\n\ndef test_z():\n    edit = 1\n    assert shop.registry.FOUND == []\n",
            ),
        ],
        AGAIN,
        2,
    ),
    case(
        "a library that only one imports",
        &[
            (
                "tests/test_a.py",
                "import xml.dom.pulldom\n\n\ndef test_a():\n    assert xml.dom.pulldom\n",
            ),
            (
                "tests/test_z.py",
                "import sys\nimport xml.dom\n\n\ndef test_z():\n    edit = 1\n    assert xml.dom.pulldom and 'xml.dom.pulldom' in sys.modules\n",
            ),
        ],
        AGAIN,
        2,
    ),
    case(
        "a module whose import registers it",
        &[
            ("shop/plug.py", "from shop import registry\n\nregistry.FOUND.append('plug')\n"),
            ("tests/test_a.py", "import shop.plug\n\n\ndef test_a():\n    assert shop.plug\n"),
            (
                "tests/test_z.py",
                "from shop import registry\n\n\ndef test_z():\n    edit = 1\n    assert registry.FOUND == ['plug']\n",
            ),
        ],
        AGAIN,
        2,
    ),
    case(
        "the folder of another file",
        &[
            ("tests/a/helper.py", "VALUE = 1\n"),
            ("tests/a/test_a.py", "def test_a():\n    pass\n"),
            (
                "tests/test_z.py",
                "import helper\n\n\ndef test_z():\n    edit = 1\n    assert helper.VALUE\n",
            ),
        ],
        AGAIN,
        2,
    ),
    case(
        "among the modules, by name",
        &[
            ("tests/test_a.py", "VALUE = 1\n\n\ndef test_a():\n    pass\n"),
            (
                "tests/test_z.py",
                "import sys\n\n\ndef test_z():\n    edit = 1\n    assert sys.modules['test_a'].VALUE\n",
            ),
        ],
        AGAIN,
        1,
    ),
    case(
        "imported by a helper",
        &[
            ("tests/helper.py", "import sys\n\nVALUE = sys.modules['test_a'].VALUE\n"),
            ("tests/test_a.py", "VALUE = 1\n\n\ndef test_a():\n    pass\n"),
            (
                "tests/test_z.py",
                "import helper\n\n\ndef test_z():\n    edit = 1\n    assert helper.VALUE\n",
            ),
        ],
        AGAIN,
        1,
    ),
    case(
        "named by a fixture of a conftest",
        &[
            (
                "conftest.py",
                "import sys\n\nimport pytest\n\n\n@pytest.fixture\ndef value():\n    return sys.modules['test_a'].VALUE\n",
            ),
            ("tests/test_a.py", "VALUE = 1\n\n\ndef test_a():\n    pass\n"),
            ("tests/test_z.py", "def test_z(value):\n    edit = 1\n    assert value\n"),
        ],
        AGAIN,
        1,
    ),
    case(
        "named by a file before it",
        &[
            (
                "tests/test_a.py",
                "import sys\n\n\ndef test_a():\n    edit = 1\n    assert sys.modules['test_z'].VALUE\n",
            ),
            ("tests/test_z.py", "VALUE = 1\n\n\ndef test_z():\n    pass\n"),
        ],
        &[("tests/test_a.py", "edit = 1", "edit = 2")],
        1,
    ),
    case(
        "packages",
        &[
            ("tests/in/__init__.py", "from shop import registry\n\nregistry.FOUND.append('in')\n"),
            ("tests/in/test_a.py", "def test_a():\n    pass\n"),
            (
                "tests/test_z.py",
                "from shop import registry\n\n\ndef test_z():\n    edit = 1\n    assert registry.FOUND == ['in']\n",
            ),
        ],
        AGAIN,
        2,
    ),
    case(
        "unittest",
        &[
            (
                "tests/test_a.py",
                "import unittest\n\n\nclass TestA(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls):\n        cls.x = 1\n\n    def test_a(self):\n        self.assertTrue(self.x)\n\n    @unittest.skip('not now')\n    def test_b(self):\n        pass\n",
            ),
            ("tests/test_z.py", "def test_z():\n    edit = 1\n    assert edit\n"),
        ],
        AGAIN,
        2,
    ),
    Case {
        name: "another way of importing",
        files: &[
            ("tests/test_a.py", "def test_a():\n    pass\n"),
            ("tests/test_z.py", "def test_z():\n    edit = 1\n    assert edit\n"),
        ],
        edits: AGAIN,
        words: &["--import-mode=importlib"],
        out: 0,
    },
];

/// The state before a file's import hid what it does.
const HIDDEN: &[Case] = &[
    case(
        "by another file that is edited",
        &[
            (
                "tests/test_a.py",
                "import os\n\nos.environ['HIDDEN'] = '1'\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_b.py",
                "import os\n\nos.environ['HIDDEN'] = '1'\n\n\ndef test_b():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "import os\n\n\ndef test_z():\n    edit = 1\n    assert os.environ['HIDDEN']\n",
            ),
        ],
        &[("tests/test_a.py", "os.environ['HIDDEN'] = '1'\n", ""), ONCE],
        0,
    ),
    case(
        "by another folder's conftest",
        &[
            (
                "tests/a/conftest.py",
                "from shop import registry\n\nif 1 not in registry.FOUND:\n    registry.FOUND.append(1)\n",
            ),
            ("tests/a/test_a.py", "def test_a():\n    pass\n"),
            (
                "tests/test_b.py",
                "from shop import registry\n\nif 1 not in registry.FOUND:\n    registry.FOUND.append(1)\n\n\ndef test_b():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "from shop import registry\n\n\ndef test_z():\n    edit = 1\n    assert registry.FOUND\n",
            ),
        ],
        &[
            (
                "tests/a/conftest.py",
                "if 1 not in registry.FOUND:\n    registry.FOUND.append(1)\n",
                "",
            ),
            ONCE,
        ],
        0,
    ),
    case(
        "by a function that an import calls",
        &[
            ("shop/setup.py", "import os\n\n\ndef setup():\n    os.environ['HIDDEN'] = '1'\n"),
            ("shop/begin.py", "from shop.setup import setup\n\nsetup()\n"),
            ("tests/test_a.py", "import shop.begin\n\n\ndef test_a():\n    assert shop.begin\n"),
            (
                "tests/test_b.py",
                "import os\n\nos.environ['HIDDEN'] = '1'\n\n\ndef test_b():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "import os\n\n\ndef test_z():\n    edit = 1\n    assert os.environ['HIDDEN']\n",
            ),
        ],
        &[("shop/setup.py", "    os.environ['HIDDEN'] = '1'\n", "    pass\n"), ONCE],
        0,
    ),
];

/// What pytest and its plugins do with what they collected.
const COLLECTED: &[Case] = &[
    case(
        "a new conftest that counts the tests",
        &[
            ("tests/test_a.py", "def test_a():\n    pass\n"),
            ("tests/test_z.py", "def test_z():\n    edit = 1\n    assert edit\n"),
        ],
        &[
            (
                "tests/sub/conftest.py",
                "",
                "import pytest\n\n\ndef pytest_collection_modifyitems(items):\n    if len(items) < 5:\n        items[-1].add_marker(pytest.mark.skip)\n",
            ),
            ("tests/sub/test_new.py", "", "def test_new():\n    pass\n"),
            ONCE,
        ],
        0,
    ),
    case(
        "a conftest that turns them round",
        &[
            ("conftest.py", "def pytest_collection_modifyitems(items):\n    items.reverse()\n"),
            ("tests/test_a.py", "def test_a():\n    pass\n"),
            (
                "tests/test_z.py",
                "def test_z():\n    edit = 1\n    assert edit\n\n\ndef test_y():\n    edit = 1\n    assert edit\n",
            ),
        ],
        &[ONCE, ("tests/test_z.py", "edit = 1", "edit = 2")],
        0,
    ),
    case(
        "two files of one name",
        &[
            ("tests/a/test_x.py", "def test_a():\n    pass\n"),
            ("tests/test_z.py", "def test_z():\n    edit = 1\n    assert edit\n"),
        ],
        &[("tests/b/test_x.py", "", "def test_b():\n    pass\n")],
        2,
    ),
    case(
        "a file that cannot be imported",
        &[
            ("tests/test_a.py", "def test_a():\n    pass\n"),
            ("tests/test_b.py", "import not_there\n\n\ndef test_b():\n    pass\n"),
            ("tests/test_z.py", "def test_z():\n    edit = 1\n    assert edit\n"),
        ],
        AGAIN,
        0,
    ),
    case(
        "files that are skipped as a whole",
        &[
            (
                "tests/test_a.py",
                "import pytest\n\npytest.importorskip('not_there')\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_b.py",
                "import pytest\n\npytest.skip('not now', allow_module_level=True)\n\n\ndef test_b():\n    pass\n",
            ),
            (
                "tests/test_c.py",
                "import pytest\n\npytestmark = pytest.mark.skip\n\n\ndef test_c():\n    assert False\n",
            ),
            ("tests/test_z.py", "def test_z():\n    edit = 1\n    assert edit\n"),
        ],
        AGAIN,
        2,
    ),
    case(
        "warnings at the import",
        &[
            (
                "tests/test_a.py",
                "import warnings\n\nwarnings.warn('at the import')\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_b.py",
                "import pytest\n\n\n@pytest.mark.nobody_knows_this\ndef test_b():\n    pass\n",
            ),
            ("tests/test_z.py", "def test_z():\n    edit = 1\n    assert edit\n"),
        ],
        AGAIN,
        1,
    ),
    case(
        "parameters of the whole session",
        &[
            (
                "conftest.py",
                "import pytest\n\n\n@pytest.fixture(scope='session', params=['p', 'q'])\ndef each(request):\n    return request.param\n",
            ),
            ("tests/test_a.py", "def test_a(each):\n    pass\n"),
            (
                "tests/test_z.py",
                "def test_y():\n    edit = 0\n    assert not edit\n\n\ndef test_z(each):\n    edit = 1\n    assert edit\n",
            ),
        ],
        AGAIN,
        1,
    ),
    Case {
        name: "chosen by a word",
        files: &[
            ("tests/test_a.py", "def test_slow():\n    pass\n\n\ndef test_a():\n    pass\n"),
            ("tests/test_slow.py", "def test_one():\n    pass\n"),
            ("tests/test_z.py", "def test_z():\n    edit = 1\n    assert edit\n"),
        ],
        edits: AGAIN,
        words: &["-k", "not slow"],
        out: 2,
    },
    Case {
        name: "doctests of modules",
        files: &[
            (
                "tests/test_a.py",
                "def f():\n    \"\"\"\n    >>> f()\n    1\n    \"\"\"\n    return 1\n\n\ndef test_a():\n    pass\n",
            ),
            ("tests/test_z.py", "def test_z():\n    edit = 1\n    assert edit\n"),
        ],
        edits: AGAIN,
        words: &["--doctest-modules"],
        out: 0,
    },
];

/// What makes other tests of a file.
const TESTS: &[Case] = &[
    case(
        "a new test",
        &[
            ("tests/test_a.py", "def test_a():\n    pass\n"),
            ("tests/test_z.py", "def test_z():\n    edit = 1\n    assert edit\n"),
        ],
        &[("tests/test_a.py", "def test_a", "def test_new():\n    assert False\n\n\ndef test_a")],
        2,
    ),
    case(
        "parameters that a function makes",
        &[
            ("shop/cases.py", "def cases():\n    return [1, 2]\n"),
            (
                "tests/test_a.py",
                "import pytest\n\nfrom shop.cases import cases\n\n\n@pytest.mark.parametrize('x', cases())\ndef test_a(x):\n    assert x\n",
            ),
        ],
        &[("shop/cases.py", "[1, 2]", "[1, 0]")],
        1,
    ),
    case(
        "parameters from a file, by a hook",
        &[
            ("cases.txt", "1 2"),
            (
                "tests/conftest.py",
                "def pytest_generate_tests(metafunc):\n    if 'given' in metafunc.fixturenames:\n        with open('cases.txt') as file:\n            metafunc.parametrize('given', file.read().split())\n",
            ),
            ("tests/test_a.py", "def test_a(given):\n    assert int(given)\n"),
        ],
        &[("cases.txt", "2", "0")],
        1,
    ),
    case(
        "parameters from a registry that another file fills",
        &[
            (
                "tests/test_a.py",
                "from shop import registry\n\nregistry.FOUND.append(0)\n\n\ndef test_a():\n    pass\n",
            ),
            (
                "tests/test_z.py",
                "import pytest\n\nfrom shop import registry\n\n\n@pytest.mark.parametrize('x', registry.FOUND)\ndef test_z(x):\n    edit = 1\n    assert x == 0\n",
            ),
        ],
        AGAIN,
        1,
    ),
    case(
        "a file that is gone",
        &[
            ("tests/test_a.py", "def test_a():\n    pass\n"),
            (
                "tests/test_z.py",
                "from test_a import test_a\n\n\ndef test_z():\n    edit = 1\n    assert test_a\n",
            ),
        ],
        &[("tests/test_a.py", "def test_a():\n    pass\n", "")],
        1,
    ),
    case(
        "what a test leaves since its edit",
        &[
            (
                "tests/test_a.py",
                "import os\n\n\ndef test_a():\n    x = 1\n    if x == 2:\n        os.environ['LEFT_NOW'] = '1'\n",
            ),
            (
                "tests/test_z.py",
                "import os\n\n\ndef test_z():\n    assert 'LEFT_NOW' not in os.environ\n\n\ndef test_y():\n    pass\n",
            ),
        ],
        &[("tests/test_a.py", "x = 1", "x = 2")],
        2,
    ),
];

/// How each test ended, in the order in which they ran, by pytest's own lines.
fn outcomes(text: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        let outcome = rest.trim_start().split(' ').next()?;
        let is_one = name.contains(".py::") && outcome.chars().all(|c| c.is_ascii_uppercase());
        is_one.then(|| (name.to_owned(), outcome.to_owned()))
    };
    let tests = text.lines().take_while(|line| !line.contains("short test summary"));
    tests.filter_map(line).collect()
}

/// A number in pytest's last line.
fn count(text: &str, what: &str) -> usize {
    let last = text.lines().rev().find(|line| line.contains(" in ")).unwrap_or_default();
    let words: Vec<&str> = last.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|word| word.trim_end_matches('s') == what);
    at.and_then(|at| words.get(at.checked_sub(1)?)?.parse().ok()).unwrap_or(0)
}

fn edit(project: &Project, file: &str, from: &str, to: &str) {
    if from.is_empty() {
        return project.write(file, to);
    }
    let before = project.read(file);
    assert!(before.contains(from), "{from} in {file}");
    match before.replacen(from, to, 1) {
        empty if empty.is_empty() => project.remove(file),
        text => project.write(file, text),
    }
}

fn plain(python: &str, project: &Project, words: &[&str]) -> (i32, String) {
    let out = Command::new(python)
        .args(["-m", "pytest", "-v", "-p", "no:cacheprovider"])
        .args(words)
        .current_dir(project.path("."))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("pytest");
    (out.status.code().unwrap_or(-1), String::from_utf8_lossy(&out.stdout).into_owned())
}

/// How many files were not imported.
fn out_of(got: &Ended) -> usize {
    let line = got.stderr.lines().find(|line| line.contains("test files are not imported"));
    let number =
        line.and_then(|line| line.split("tamis: ").last()?.split(' ').next()?.parse().ok());
    number.unwrap_or(0)
}

/// Runs pytest with tamis, which is to end as pytest alone does; how many files were not imported, or what is different.
fn as_plain(python: &str, project: &Project, words: &[&str]) -> Result<usize, String> {
    let got = project.tamis(&[&[python, "-m", "pytest", "-v"], words].concat());
    let text = String::from_utf8_lossy(&got.stdout).into_owned();
    if project.path("made.txt").exists() {
        project.remove("made.txt");
    }
    let (code, all) = plain(python, project, words);
    let (ended, ran) = (outcomes(&all), outcomes(&text));
    let ends = |name: &str| ended.iter().find(|(one, _)| one == name).map(|(_, outcome)| outcome);
    let is_red = |outcome: &str| matches!(outcome, "FAILED" | "ERROR");
    let has_run = |name: &str| ran.iter().any(|(one, _)| one == name);
    let mut wrong = Vec::new();
    if got.code != code {
        wrong.push(format!("exit code {}, and not {code}", got.code));
    }
    let others = ran.iter().filter(|(name, outcome)| ends(name) != Some(outcome));
    wrong.extend(others.map(|(name, outcome)| format!("{name} {outcome}")));
    let missed = ended.iter().filter(|(name, outcome)| is_red(outcome) && !has_run(name));
    wrong.extend(missed.map(|(name, _)| format!("{name} is missed")));
    let place = |(name, _): &(String, String)| ended.iter().position(|(one, _)| one == name);
    if !ran.iter().map(place).is_sorted() {
        wrong.push("another order".to_owned());
    }
    // Where it collects with errors, pytest runs nothing.
    let deselected = count(&all, "deselected") + ended.len() - ran.len();
    if count(&all, "error") == 0 && count(&text, "deselected") != deselected {
        wrong.push(format!("{deselected} are deselected"));
    }
    for what in ["warning", "error"] {
        if count(&text, what) != count(&all, what) {
            wrong.push(format!("{what}s"));
        }
    }
    match wrong.is_empty() {
        true => Ok(out_of(&got)),
        false => Err(format!("{wrong:?}\n{text}{}\nplain: {all}", got.stderr)),
    }
}

/// A Python with pytest.
fn python() -> Option<String> {
    let way = ways(&["-n", "2"]).into_iter().find(|way| way.options().is_empty())?;
    Some(way.python().to_owned())
}

fn try_all(cases: &[Case]) {
    let Some(python) = python() else { return };
    let mut wrong = Vec::new();
    for case in cases {
        let project = project(&SHOP);
        case.files.iter().for_each(|(file, text)| project.write(file, text));
        let first = project.tamis(&[&[&python, "-m", "pytest", "-v"], case.words].concat());
        if out_of(&first) != 0 {
            wrong.push(format!("{}: the first run: {}", case.name, first.stderr));
        }
        case.edits.iter().for_each(|(file, from, to)| edit(&project, file, from, to));
        match as_plain(&python, &project, case.words) {
            Ok(out) if out == case.out => {}
            Ok(out) => {
                wrong.push(format!(
                    "{}: {out} files are not imported, expected {}",
                    case.name, case.out
                ));
            }
            Err(why) => wrong.push(format!("{}: {why}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_an_import_does_for_others_is_done() {
    try_all(EFFECTS);
}

#[test]
fn what_is_reached_without_an_import_is_there() {
    try_all(WAYS_TO_IT);
}

#[test]
fn what_was_hidden_by_others_is_done_when_they_change() {
    try_all(HIDDEN);
}

#[test]
fn plugins_and_pytest_see_what_they_always_see() {
    try_all(COLLECTED);
}

#[test]
fn other_tests_of_a_file_are_found() {
    try_all(TESTS);
}

/// A file has other tests on another branch: what is known of one is not taken for the other.
#[test]
fn versions_of_a_file_are_distinguished() {
    let Some(python) = python() else { return };
    let project = project(&SHOP);
    let two = "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n";
    let three = format!("{two}\n\ndef test_three():\n    assert False\n");
    for (round, text) in [two, three.as_str(), two, three.as_str(), two].iter().enumerate() {
        project.write("tests/test_a.py", text);
        let edited = format!("def test_z():\n    edit = {round}\n    assert edit >= 0\n");
        project.write("tests/test_z.py", edited);
        let out = as_plain(&python, &project, &[]);
        let expected = [0, 1, 2, 1, 2][round];
        assert_eq!(out, Ok(expected), "round {round}");
    }
}

/// Where tests are chosen in other ways, and in workers, all files are imported, and the rest is as ever.
#[test]
fn other_ways_to_choose_tests() {
    for way in ways(&["-n", "2"]) {
        let project = project(&SHOP);
        project.write("tests/test_a.py", "def test_a():\n    pass\n\n\ndef test_b():\n    pass\n");
        let run = |round: usize, words: &[&str]| {
            project.write(
                "tests/test_z.py",
                format!("def test_z():\n    edit = {round}\n    assert edit >= 0\n"),
            );
            let words = [&[way.python(), "-m", "pytest"], way.options(), words].concat();
            let got = project.tamis(&words);
            assert_eq!(
                got.code,
                0,
                "{words:?}: {}{}",
                String::from_utf8_lossy(&got.stdout),
                got.stderr
            );
            (out_of(&got), String::from_utf8_lossy(&got.stdout).into_owned())
        };
        assert_eq!(run(0, &[]).0, 0);
        assert_eq!(run(1, &["tests/test_a.py::test_b", "tests/test_z.py"]).0, 0);
        assert_eq!(run(2, &["--lf"]).0, 0);
        assert_eq!(run(3, &["--ff"]).0, 0);
        let (out, text) = run(4, &["--collect-only", "-q"]);
        assert!(out == 0 && text.contains("test_cents[2]"), "{way:?}: {text}");
        let out = run(5, &[]).0;
        assert_eq!(out, if way.options().is_empty() { 2 } else { 0 }, "{way:?}");
        assert_eq!(run(6, &["tests"]).0, out, "{way:?}: by a folder");
    }
}
