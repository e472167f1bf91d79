//! State that stays in the process between tests: who only finds what an earlier test made depends on it.
//!
//! One module for each way to keep something. `use` comes to what `below` says, but only the first time; the
//! second test, in another file, finds it kept. `other` has nothing to do with it. An edit of `below` selects
//! the two tests that use it, and no other.

use crate::pytest::{changed, project_with, runs_of};

const BELOW: &str = "def below():\n    return 1\n\n\ndef other():\n    return 5\n\n\n";

/// Ways to keep something, by name.
const WAYS: [(&str, &str); 27] = [
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
