//! State that stays in the process between tests: who only finds what an earlier test made depends on it.
//!
//! One module for each way to keep something. `use` comes to what `below` says, but only the first time; the
//! second test, in another file, finds it kept. `other` has nothing to do with it. An edit of `below` selects
//! the two tests that use it, and no other.

use crate::pytest::{changed, project_with, runs_of};
use std::collections::BTreeSet;

const BELOW: &str = "def below():\n    return 1\n\n\ndef other():\n    return 5\n\n\n";

/// Ways to keep something, by name.
const WAYS: [(&str, &str); 38] = [
    (
        "defaults_of_a_function",
        "def kept(v=None):\n    return v\ndef use():\n    if kept() is None:\n        kept.__defaults__ = (below(),)\n    return kept()\n",
    ),
    (
        "defaults_by_name",
        "def kept(*, v=None):\n    return v\ndef use():\n    if kept() is None:\n        kept.__kwdefaults__ = {'v': below()}\n    return kept()\n",
    ),
    (
        "function_called_often",
        "def kept(v=None):\n    return v\nfor _ in range(1000):\n    kept()\ndef use():\n    if kept() is None:\n        kept.__defaults__ = (below(),)\n    return kept()\n",
    ),
    (
        "cell_from_outside",
        "def make():\n    v = None\n    def kept():\n        return v\n    return kept\nkept = make()\ndef use():\n    if kept() is None:\n        kept.__closure__[0].cell_contents = below()\n    return kept()\n",
    ),
    ("cached_function", "import functools\n@functools.lru_cache\ndef use():\n    return below()\n"),
    (
        "cached_with_keys",
        "import functools\n@functools.cache\ndef _u(x):\n    return below()\ndef use():\n    return _u(3)\n",
    ),
    (
        "dictionary",
        "MEMO = {}\ndef use():\n    if 'x' not in MEMO:\n        MEMO['x'] = below()\n    return MEMO['x']\n",
    ),
    (
        "global_name",
        "_seen = None\ndef use():\n    global _seen\n    if _seen is None:\n        _seen = below()\n    return _seen\n",
    ),
    (
        "list_of_one",
        "ALL = []\ndef use():\n    if not ALL:\n        ALL.append(below())\n    return ALL[0]\n",
    ),
    (
        "set_of_names",
        "DONE = set()\ndef use():\n    if not DONE:\n        DONE.add(below())\n    return min(DONE)\n",
    ),
    (
        "queue",
        "import collections\nQ = collections.deque()\ndef use():\n    if not Q:\n        Q.append(below())\n    return Q[0]\n",
    ),
    (
        "class_attribute",
        "class K:\n    value = None\n    @classmethod\n    def get(cls):\n        if cls.value is None:\n            cls.value = below()\n        return cls.value\ndef use():\n    return K.get()\n",
    ),
    (
        "singleton",
        "class S:\n    _one = None\n    def __new__(cls):\n        if cls._one is None:\n            cls._one = super().__new__(cls)\n            cls._one.v = below()\n        return cls._one\ndef use():\n    return S().v\n",
    ),
    (
        "cached_property",
        "import functools\nclass P:\n    @functools.cached_property\n    def v(self):\n        return below()\nTHE = P()\ndef use():\n    return THE.v\n",
    ),
    (
        "slots",
        "class P:\n    __slots__ = ('v',)\nTHE = P()\ndef use():\n    if not hasattr(THE, 'v'):\n        THE.v = below()\n    return THE.v\n",
    ),
    (
        "closure",
        "def memo(f):\n    kept = []\n    def g():\n        if not kept:\n            kept.append(f())\n        return kept[0]\n    return g\n@memo\ndef use():\n    return below()\n",
    ),
    (
        "nonlocal_name",
        "def memo(f):\n    kept = None\n    def g():\n        nonlocal kept\n        if kept is None:\n            kept = f()\n        return kept\n    return g\n@memo\ndef use():\n    return below()\n",
    ),
    (
        "function_attribute",
        "def use():\n    if not hasattr(use, 'kept'):\n        use.kept = below()\n    return use.kept\n",
    ),
    (
        "default_argument",
        "def use(kept=[]):\n    if not kept:\n        kept.append(below())\n    return kept[0]\n",
    ),
    (
        "default_by_name",
        "def use(*, kept={}):\n    if not kept:\n        kept[1] = below()\n    return kept[1]\n",
    ),
    (
        "generator",
        "def _g():\n    v = below()\n    while True:\n        yield v\nG = _g()\ndef use():\n    return next(G)\n",
    ),
    (
        "counter",
        "import itertools\nC = itertools.count()\nKEPT = {}\ndef use():\n    if next(C) == 0:\n        KEPT[1] = below()\n    return KEPT[1]\n",
    ),
    (
        "bytes_of_a_buffer",
        "B = bytearray(1)\ndef use():\n    if not B[0]:\n        B[0] = below()\n    return B[0]\n",
    ),
    (
        "text_stream",
        "import io\nS = io.StringIO()\ndef use():\n    if not S.getvalue():\n        S.write(str(below()))\n    return int(S.getvalue())\n",
    ),
    (
        "array",
        "import array\nA = array.array('i', [0])\ndef use():\n    if not A[0]:\n        A[0] = below()\n    return A[0]\n",
    ),
    (
        "weak_dictionary",
        "import weakref\nclass K:\n    pass\nKEY = K()\nW = weakref.WeakKeyDictionary()\ndef use():\n    if KEY not in W:\n        W[KEY] = below()\n    return W[KEY]\n",
    ),
    (
        "local_of_threads",
        "import threading\nL = threading.local()\ndef use():\n    if not hasattr(L, 'v'):\n        L.v = below()\n    return L.v\n",
    ),
    (
        "memo_of_a_memo",
        "import functools\nM = {}\n@functools.cache\ndef inner():\n    return below()\ndef use():\n    if 1 not in M:\n        M[1] = inner()\n    return M[1]\n",
    ),
    (
        "namespace",
        "import types\nN = types.SimpleNamespace(v=0)\ndef use():\n    if not N.v:\n        N.v = below()\n    return N.v\n",
    ),
    (
        "nested_objects",
        "class A:\n    pass\nT = A()\nT.a = A()\nT.a.d = {'k': []}\ndef use():\n    if not T.a.d['k']:\n        T.a.d['k'].append(below())\n    return T.a.d['k'][0]\n",
    ),
    (
        "decimal_context",
        "import decimal\nC = decimal.Context(prec=28)\ndef use():\n    if C.prec == 28:\n        C.prec = below()\n    return C.prec\n",
    ),
    (
        "syntax_tree",
        "import ast\nN = ast.Constant(0)\ndef use():\n    if not N.value:\n        N.value = below()\n    return N.value\n",
    ),
    (
        "module_without_import",
        "import types\nM = types.ModuleType('made_here')\ndef use():\n    if not hasattr(M, 'v'):\n        M.v = below()\n    return M.v\n",
    ),
    (
        "method_of_a_list",
        "put = [].append\ndef use():\n    if not put.__self__:\n        put(below())\n    return put.__self__[0]\n",
    ),
    (
        "handler_of_a_library",
        "import logging.handlers\nH = logging.handlers.MemoryHandler(5)\ndef use():\n    if not H.buffer:\n        H.buffer.append(below())\n    return H.buffer[0]\n",
    ),
    (
        "thread_of_its_own_kind",
        "import threading\nclass T(threading.Thread):\n    pass\nONE = T()\ndef use():\n    if not hasattr(ONE, 'v'):\n        ONE.v = below()\n    return ONE.v\n",
    ),
    (
        "attribute_of_a_logger",
        "import logging\nL = logging.getLogger('with_attribute')\ndef use():\n    if not hasattr(L, 'v'):\n        L.v = below()\n    return L.v\n",
    ),
    (
        "environment",
        "import os\ndef use():\n    if 'KEPT_BY_TEST' not in os.environ:\n        os.environ['KEPT_BY_TEST'] = str(below())\n    return int(os.environ['KEPT_BY_TEST'])\n",
    ),
];

#[test]
fn what_an_earlier_test_left_counts_for_who_finds_it() {
    // The environment is everybody's: it has a project of its own.
    let (shared, own) = WAYS.split_at(WAYS.len() - 1);
    only_those_that_use_it(shared, true);
    only_those_that_use_it(own, false);
}

/// What functions of libraries keep: who sets it counts for all later tests, which may ask for it by any way.
const IN_LIBRARIES: &[(&str, &str)] = &[
    (
        "handler_of_the_project",
        "import logging\nclass Keeps(logging.Handler):\n    kept = None\n    def emit(self, record):\n        self.kept = self.kept or below()\nH = Keeps()\nlogging.getLogger('kept').addHandler(H)\ndef use():\n    logging.getLogger('kept').error('x') if H.kept is None else None\n    return H.kept\n",
    ),
    (
        "attribute_of_a_class",
        "import json\ndef use():\n    E = json.JSONEncoder\n    if len(E.item_separator) > 2 or E.item_separator == ', ':\n        E.item_separator = 'x' * below()\n    return len(json.dumps([1, 1])) - 4\n",
    ),
    (
        "name_of_a_level",
        "import logging\ndef use():\n    if logging.getLevelName(55) == 'Level 55':\n        logging.addLevelName(55, 'x' * below())\n    return len(logging.getLevelName(55))\n",
    ),
    (
        "dialect",
        "import csv\ndef use():\n    if 'kept' not in csv.list_dialects():\n        csv.register_dialect('kept', delimiter=chr(below() + 64))\n    return ord(csv.get_dialect('kept').delimiter) - 64\n",
    ),
    (
        "kind_of_a_file",
        "import mimetypes\ndef use():\n    if not mimetypes.guess_type('a.kept')[0]:\n        mimetypes.add_type('x/' + 'y' * below(), '.kept')\n    return len(mimetypes.guess_type('a.kept')[0]) - 2\n",
    ),
    (
        "prefix_of_a_namespace",
        "import xml.etree.ElementTree as ET\ndef use():\n    if 'urn:kept' not in ET._namespace_map:\n        ET.register_namespace('k' * below(), 'urn:kept')\n    return len(ET._namespace_map['urn:kept'])\n",
    ),
    (
        "private_name",
        "import urllib.request as r\ndef use():\n    if r._opener is None:\n        o = r.OpenerDirector()\n        o.v = below()\n        r.install_opener(o)\n    return r._opener.v\n",
    ),
    (
        "collector",
        "import gc\ndef use():\n    if gc.get_threshold()[1] > 2:\n        gc.set_threshold(700, below())\n    return gc.get_threshold()[1]\n",
    ),
    (
        "handler_of_a_logger",
        "import logging\nlogging.getLogger('kept').addHandler(logging.NullHandler())\ndef use():\n    h = logging.getLogger('kept').handlers[0]\n    if not hasattr(h, 'v'):\n        h.v = below()\n    return h.v\n",
    ),
];

#[test]
fn what_an_earlier_test_left_in_a_library_counts_for_later_ones() {
    for way in IN_LIBRARIES {
        only_those_that_use_it(&[*way], false);
    }
}

fn only_those_that_use_it(ways: &[(&str, &str)], exact: bool) {
    let mut files = vec![("kept/__init__.py".to_owned(), String::new())];
    for (name, source) in ways {
        files.push((format!("kept/{name}.py"), format!("{BELOW}{source}")));
        let test = |test: &str| {
            format!(
                "from kept import {name} as m\n\n\ndef {test}():\n    assert m.use() in (1, 2)\n\n\ndef test_other():\n    assert m.other() == 5\n"
            )
        };
        files.push((format!("tests/test_a_{name}.py"), test("test_first")));
        files.push((format!("tests/test_b_{name}.py"), test("test_second")));
    }
    let Some(project) = project_with(&files) else { return };
    let all = runs_of(&project);
    assert_eq!(all.len(), ways.len() * 4, "all run at first: {all:?}");
    for (name, _) in ways {
        let file = format!("kept/{name}.py");
        let selected = changed(&project, &file, "return 1", "return 2");
        let first = format!("tests/test_a_{name}.py::test_first");
        let second = format!("tests/test_b_{name}.py::test_second");
        assert!(selected.contains(&first) && selected.contains(&second), "{name}: {selected:?}");
        assert!(!exact || selected.len() == 2, "{name}: {selected:?}");
    }
}

/// What is no state of the project: what the plugin holds, although a module has a function of it by its name; a file that is
/// touched, although code says that it is from there.
#[test]
fn what_is_not_of_the_project_counts_for_nobody() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let page = "import os\n\n\ndef page():\n    path = os.path.abspath('page.txt')\n    with open(path) as file:\n        text = file.read()\n    names = {}\n    exec(compile('def show():\\n    return %r' % text, path, 'exec'), names)\n    return names['show']()\n";
    let files = [
        file("page.txt", "one"),
        file("pages.py", page),
        file(
            "loads.py",
            "from importlib import import_module\n\n\ndef load():\n    return import_module('json')\n",
        ),
        file("other.py", "def other():\n    return 1\n"),
        file(
            "test_a.py",
            "import loads\nimport other\n\n\ndef test_other():\n    assert other.other()\n",
        ),
        file("test_b.py", "import loads\n\n\ndef test_load():\n    assert loads.load()\n"),
        file(
            "test_c.py",
            "import os\n\nimport pages\n\n\ndef test_page():\n    assert pages.page()\n    os.utime('page.txt')\n",
        ),
    ];
    let Some(project) = project_with(&files) else { return };
    assert_eq!(runs_of(&project).len(), 3);
    assert_eq!(runs_of(&project), BTreeSet::new(), "a file was touched, and is what it was");
    let one = |name: &str| BTreeSet::from([name.to_owned()]);
    assert_eq!(changed(&project, "other.py", "1", "2"), one("test_a.py::test_other"));
    assert_eq!(changed(&project, "loads.py", "'json'", "'re'"), one("test_b.py::test_load"));
    assert_eq!(changed(&project, "page.txt", "one", "two"), one("test_c.py::test_page"));
}

/// What counts for all tests of a file is kept from one to the next: what one of them imports late counts for those after
/// it that use it.
#[test]
fn what_a_test_imports_late_counts_for_the_tests_of_its_file_that_use_it() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let tests = "def test_before():\n    pass\n\n\ndef test_late():\n    import late\n    assert late.value()\n\n\ndef test_between():\n    pass\n\n\ndef test_after():\n    import deep\n    assert deep.ALL[0]\n";
    let files = [
        file("late.py", "import deep\n\n\ndef value():\n    return deep.ALL[0]\n"),
        file("deep.py", "ALL = []\n\n\ndef fill():\n    return 1\n\n\nALL.append(fill())\n"),
        file("test_a.py", tests),
    ];
    let Some(project) = project_with(&files) else { return };
    assert_eq!(runs_of(&project).len(), 4);
    let selected = changed(&project, "deep.py", "return 1", "return 2");
    let expected = ["test_a.py::test_after", "test_a.py::test_late"].map(str::to_owned);
    assert_eq!(selected, BTreeSet::from(expected));
}

/// Comments and blank lines count for no test but those that ask where code stands.
#[test]
fn who_asks_for_lines_runs_when_code_moves() {
    let test = |name: &str, body: &str| {
        (
            name.to_owned(),
            format!(
                "import moved\n\n\ndef test_it():\n    try:\n        moved.fails()\n    except ValueError as error:\n        {body}\n"
            ),
        )
    };
    let files = [
        ("moved.py".to_owned(), "# above\ndef fails():\n    raise ValueError\n".to_owned()),
        test("test_line.py", "assert error.__traceback__.tb_next.tb_lineno in (3, 4)"),
        test("test_code.py", "assert moved.fails.__code__.co_firstlineno in (2, 3) or error"),
        test("test_none.py", "assert error"),
    ];
    let Some(project) = project_with(&files) else { return };
    assert_eq!(runs_of(&project).len(), 3);
    let both = ["test_code.py::test_it", "test_line.py::test_it"].map(str::to_owned);
    assert_eq!(changed(&project, "moved.py", "# above", "# above\n"), BTreeSet::from(both));
}

/// The body of a function can be looked at without being run.
#[test]
fn who_looks_at_code_runs_when_a_body_changes() {
    let looks = [
        ("consts", "assert 1 in body.value.__code__.co_consts"),
        ("equal", "assert hash(body.value.__code__)"),
        ("dis", "import dis\n    assert list(dis.get_instructions(body.value))"),
        ("marshal", "import marshal\n    assert marshal.dumps(body.value.__code__)"),
        ("closure", "import inspect\n    assert not inspect.getclosurevars(body.value).globals"),
        ("parameters", "assert body.value.__code__.co_argcount == 0"),
        ("name", "assert body.value.__name__ == 'value'"),
    ];
    let mut files = vec![("body.py".to_owned(), "def value():\n    return 1\n".to_owned())];
    for (name, look) in looks {
        let text = format!("import body\n\n\ndef test_it():\n    {look}\n");
        files.push((format!("test_{name}.py"), text));
    }
    let Some(project) = project_with(&files) else { return };
    assert_eq!(runs_of(&project).len(), looks.len());
    let expected = ["consts", "equal", "dis", "marshal", "closure"];
    let expected = expected.map(|name| format!("test_{name}.py::test_it"));
    assert_eq!(changed(&project, "body.py", "return 1", "return 2"), BTreeSet::from(expected));
    assert!(changed(&project, "body.py", "return 1", "return 1  # as ever").is_empty());
}
