//! State that is left in the process in other ways than in a module's own names (`pytest_kept.rs` has those):
//! a test that finds it is selected by an edit of what left it.
//!
//! One module for each way, two tests in files of their own: the first leaves something that `below` decides
//! about, the second finds it. Much of it belongs to the whole process, and counts for all later tests: so it
//! is only asked that both are selected. `kept by nothing` is the counter-proof.

use crate::pytest_kinds::{Way, project, ways};
use std::collections::BTreeSet;
use tamis_testkit::Project;

/// By name: the module without `below`, what the first test does, what the second does.
const TRAPS: &[(&str, &str, &str, &str)] = &[
    (
        "abstract",
        "import abc\nclass A(abc.ABC):\n    pass\n",
        "below() and m.A.register(int)",
        "isinstance(3, m.A)",
    ),
    ("arguments", "import sys\n", "m.sys.argv.append(str(below()))", "m.sys.argv"),
    ("chance", "import random\n", "m.random.seed(below())", "m.random.random()"),
    (
        "dispatch",
        "import functools\n@functools.singledispatch\ndef d(x):\n    return 0\n",
        "m.d.register(int, lambda x, v=below(): v)",
        "m.d(3)",
    ),
    (
        "subclasses",
        "class B:\n    pass\nKEEP = []\n",
        "m.KEEP.append(type('C', (m.B,), {'v': below()}))",
        "m.B.__subclasses__()",
    ),
    ("iterator", "I = iter([1, 2, 3])\n", "[next(m.I) for _ in range(below())]", "next(m.I)"),
    (
        "cycle",
        "import itertools\nI = itertools.cycle([1, 2])\n",
        "[next(m.I) for _ in range(below())]",
        "next(m.I)",
    ),
    (
        "pairs",
        "I = zip([1, 2, 3], [1, 2, 3])\n",
        "[next(m.I) for _ in range(below())]",
        "next(m.I)",
    ),
    ("position", "H = open(__file__)\n", "m.H.read(below())", "m.H.tell()"),
    (
        "database",
        "import sqlite3\nD = sqlite3.connect(':memory:')\n",
        "m.D.execute('create table t%d(x)' % below())",
        "m.D.execute('select 1')",
    ),
    (
        "small_cache",
        "import functools\n@functools.lru_cache(maxsize=1)\ndef c(x):\n    return x\n",
        "m.c(below())",
        "m.c.cache_info()",
    ),
    (
        "folder",
        "import os\nos.makedirs('f1', exist_ok=True)\nos.makedirs('f2', exist_ok=True)\nHERE = os.getcwd()\n",
        "m.os.chdir('f%d' % below())",
        "m.os.chdir(m.HERE) or m.os.getcwd()",
    ),
    ("path", "import sys\n", "m.sys.path.append('p%d' % below())", "m.sys.path"),
    (
        "variable",
        "import os\n",
        "m.os.environ.update(LEFT_BY_TEST=str(below()))",
        "m.os.environ.get('LEFT_BY_TEST')",
    ),
    (
        "logging",
        "import logging\n",
        "m.logging.getLogger('traps').setLevel(below())",
        "m.logging.getLogger('traps').level",
    ),
    (
        "context",
        "import contextvars\nV = contextvars.ContextVar('V', default=0)\n",
        "m.V.set(below())",
        "m.V.get()",
    ),
    (
        "decimal",
        "import decimal\n",
        "setattr(m.decimal.getcontext(), 'prec', 20 + below())",
        "m.decimal.Decimal(1) / 3",
    ),
    (
        "recursion",
        "import sys\n",
        "m.sys.setrecursionlimit(2000 + below())",
        "m.sys.getrecursionlimit()",
    ),
    (
        "builtin",
        "import builtins\n",
        "setattr(m.builtins, 'left_by_test', below())",
        "getattr(m.builtins, 'left_by_test', 1)",
    ),
    (
        "library",
        "import json\n",
        "setattr(m.json, 'dumps', lambda x, v=below(): v)",
        "m.json.dumps(1)",
    ),
    ("other_module", "import traps.holder as h\n", "setattr(m.h, 'value', below())", "m.h.value"),
    (
        "class_of_other",
        "import traps.holder as h\n",
        "setattr(m.h.Holder, 'value', below())",
        "m.h.Holder.value",
    ),
    (
        "by_method",
        "class K:\n    def v(self):\n        return 0\n",
        "setattr(m.K, 'v', lambda self, v=below(): v)",
        "m.K().v()",
    ),
    (
        "module_put_in",
        "import sys, types\n",
        "m.sys.modules.update(put_in=m.types.SimpleNamespace(v=below()))",
        "m.sys.modules.get('put_in')",
    ),
    (
        "hook",
        "import sys\n",
        "below() and setattr(m.sys, 'excepthook', lambda *a: None)",
        "m.sys.excepthook",
    ),
    (
        "timeout",
        "import socket\n",
        "m.socket.setdefaulttimeout(below())",
        "m.socket.getdefaulttimeout() or 1",
    ),
    (
        "file",
        "import pathlib\nP = pathlib.Path('left.txt')\n",
        "m.P.write_text(str(below()))",
        "m.P.read_text()",
    ),
    (
        "import_of_test",
        "import traps.holder as h\n",
        "below() and __import__('traps.registers')",
        "m.h.ALL",
    ),
    (
        "weak",
        "import weakref\nclass K:\n    pass\nKEY = K()\nW = weakref.WeakValueDictionary()\n",
        "m.W.update({below(): m.KEY})",
        "len(m.W)",
    ),
    (
        "user_dictionary",
        "import collections\nU = collections.UserDict()\n",
        "m.U.update({1: below()})",
        "len(m.U)",
    ),
    (
        "chain",
        "import collections\nC = collections.ChainMap({})\n",
        "m.C.update({1: below()})",
        "len(m.C)",
    ),
    (
        "variable_of_the_process",
        "import os, subprocess\n",
        "m.os.putenv('LEFT_BELOW_PYTHON', str(below()))",
        "m.subprocess.run(['sh', '-c', 'exit ${LEFT_BELOW_PYTHON:-0}']).returncode",
    ),
    (
        "digits",
        "import sys\n",
        "m.sys.set_int_max_str_digits(5000 + below())",
        "m.sys.get_int_max_str_digits()",
    ),
    (
        "blocked_signals",
        "import signal\n",
        "m.signal.pthread_sigmask(m.signal.SIG_BLOCK, [m.signal.SIGUSR2] * below())",
        "m.signal.pthread_sigmask(m.signal.SIG_BLOCK, [])",
    ),
    (
        "errors_of_codecs",
        "import codecs\n",
        "m.codecs.register_error('left', lambda error, v=str(below()): (v, error.end))",
        "'\u{e9}'.encode('ascii', 'left')",
    ),
    (
        "fields",
        "import csv\n",
        "m.csv.field_size_limit(1000 + below())",
        "m.csv.field_size_limit()",
    ),
    (
        "library_that_it_imports",
        "",
        "__import__('wave').__dict__.update(left=below())",
        "__import__('wave').left",
    ),
    (
        "file_without_a_name",
        "import tempfile\nF = tempfile.TemporaryFile('w+')\n",
        "(m.F.write('a' * below()), m.F.flush())",
        "m.F.tell()",
    ),
];

fn trap_project() -> Project {
    let project = project(&[
        ("traps/__init__.py", ""),
        ("traps/holder.py", "value = 0\nALL = []\n\n\nclass Holder:\n    value = 0\n"),
        ("traps/registers.py", "from traps import holder\n\nholder.ALL.append(1)\n"),
        ("traps/nothing.py", "def below():\n    return 1\n"),
        (
            "tests/test_a_nothing.py",
            "from traps.nothing import below\n\n\ndef test_first():\n    below()\n",
        ),
        (
            "tests/test_b_nothing.py",
            "from traps import nothing\n\n\ndef test_second():\n    assert nothing\n",
        ),
    ]);
    for (name, module, leaves, finds) in TRAPS {
        let module = format!("{module}\n\ndef below():\n    return 1\n");
        project.write(format!("traps/{name}.py"), module);
        let first = format!(
            "import traps.{name} as m\nfrom traps.{name} import below\n\n\ndef test_first():\n    {leaves}\n"
        );
        let second = format!(
            "import traps.{name} as m\n\n\ndef test_second():\n    assert ({finds}) is not below\n\n\nbelow = None\n"
        );
        project.write(format!("tests/test_a_{name}.py"), first);
        project.write(format!("tests/test_b_{name}.py"), second);
    }
    project
}

#[test]
fn what_is_left_in_the_process_counts_for_who_finds_it() {
    for way in ways(&["-n", "1"]) {
        let project = trap_project();
        let all = way.run(&project);
        assert_eq!(all.len(), 2 * (TRAPS.len() + 1), "{way:?}: {all:?}");
        let missed: Vec<&str> = TRAPS
            .iter()
            .map(|(name, ..)| *name)
            .filter(|name| !both(name).is_subset(&edited(&way, &project, name)))
            .collect();
        assert!(missed.is_empty(), "{way:?}: {missed:?}");
        let none = edited(&way, &project, "nothing");
        assert!(!none.contains("tests/test_b_nothing.py::test_second"), "{way:?}: {none:?}");
    }
}

/// Modules that a test cannot reach by imports are compared behind the last test of its file, or where a later one
/// reaches them after all. Which of the tests since the look before changed something is not known then: all of them
/// count, and no other one.
#[test]
fn what_a_test_changes_in_a_module_that_it_does_not_import_counts() {
    let first = "import sys\nfrom traps.writes import changed\n\n\ndef test_before():\n    return None\n\n\n\
                 def test_changes():\n    sys.modules['traps.kept'].VALUE = changed()\n\n\n\
                 def test_finds():\n    from traps.kept import VALUE\n    assert VALUE\n\n\n\
                 def test_beside():\n    assert changed\n";
    let other = "import sys\n\n\ndef test_registers():\n    sys.modules['traps.register'].ALL.append(added())\n\n\n\
                 def added():\n    return 1\n";
    let files = [
        ("traps/__init__.py", ""),
        ("traps/kept.py", "VALUE = 0\n"),
        ("traps/register.py", "ALL = []\n"),
        ("traps/writes.py", "def changed():\n    return 1\n"),
        ("tests/test_a.py", first),
        ("tests/test_b.py", other),
        ("tests/test_c.py", "import traps.kept as m\n\n\ndef test_value():\n    assert m.VALUE\n"),
        (
            "tests/test_d.py",
            "from traps import register\n\n\ndef test_all():\n    assert register.ALL\n",
        ),
        ("tests/test_e.py", "import traps\n\n\ndef test_none():\n    assert traps\n"),
    ];
    for way in ways(&["-n", "1"]) {
        let project = project(&files);
        assert_eq!(way.run(&project).len(), 8, "{way:?}");
        let named = |names: &[&str]| -> BTreeSet<String> {
            names.iter().map(|name| format!("tests/test_{name}")).collect()
        };
        let changed = way.edit(&project, "traps/writes.py", "return 1", "return 2");
        let expected = ["a.py::test_changes", "a.py::test_finds", "c.py::test_value"];
        assert_eq!(changed, named(&expected), "{way:?}");
        let added = way.edit(&project, "tests/test_b.py", "return 1", "return 2");
        assert_eq!(added, named(&["b.py::test_registers", "d.py::test_all"]), "{way:?}");
        let beside = way.edit(&project, "tests/test_a.py", "assert changed", "assert changed, 1");
        assert_eq!(beside, named(&["a.py::test_beside"]), "{way:?}");
    }
}

fn both(name: &str) -> BTreeSet<String> {
    let test = |part: &str| format!("tests/test_{}_{name}.py::test_{part}", &part[..1]);
    BTreeSet::from([
        test("first").replace("test_f_", "test_a_"),
        test("second").replace("test_s_", "test_b_"),
    ])
}

fn edited(way: &Way, project: &Project, name: &str) -> BTreeSet<String> {
    way.edit(project, &format!("traps/{name}.py"), "return 1", "return 2")
}
