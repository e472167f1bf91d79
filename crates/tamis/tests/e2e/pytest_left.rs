//! A test that was edited leaves something that it did not leave before: who finds it runs, although its own record holds.
//!
//! Without tamis the second test of each pair fails after the edit. The first one sets in any case, at first to what is
//! there anyway: no earlier run has seen that it changes something.

use crate::pytest_kinds::{Way, project, set, ways};
use tamis_testkit::Project;

/// By name: the module, what the first test does with `below()`, what the second finds as long as that is 1.
const WAYS: [(&str, &str, &str, &str); 7] = [
    ("name", "value = 1\n", "m.value = below()", "m.value == 1"),
    ("attribute", "class K:\n    v = 1\nOBJECT = K()\n", "m.OBJECT.v = below()", "m.OBJECT.v == 1"),
    (
        "cell",
        "def make():\n    v = 1\n    def put(x):\n        nonlocal v\n        v = x\n    return put, lambda: v\nput, get = make()\n",
        "m.put(below())",
        "m.get() == 1",
    ),
    (
        "environment",
        "import os\n",
        "below() == 2 and m.os.environ.update(LEFT_NOW='2')",
        "'LEFT_NOW' not in m.os.environ",
    ),
    (
        "library",
        "import string\n",
        "setattr(m.string, 'digits', '0123456789' * below())",
        "len(m.string.digits) == 10",
    ),
    (
        "subclass",
        "class B:\n    pass\nKEEP = []\n",
        "below() == 2 and m.KEEP.append(type('C', (m.B,), {}))",
        "not m.B.__subclasses__()",
    ),
    ("fixture", "", "shared.append(1) if below() == 2 else None", "shared == []"),
];

fn pairs() -> Project {
    let project = project(&[(
        "tests/conftest.py",
        "import pytest\n\n\n@pytest.fixture(scope='session')\ndef shared():\n    return []\n",
    )]);
    for (name, module, leaves, finds) in WAYS {
        let given = if name == "fixture" { "shared" } else { "" };
        project.write(format!("left/{name}.py"), module);
        project.write(format!("below_{name}.py"), "def below():\n    return 1\n");
        let first = format!(
            "import left.{name} as m\nfrom below_{name} import below\n\n\ndef test_first({given}):\n    {leaves}\n"
        );
        project.write(format!("tests/test_a_{name}.py"), first);
        let second =
            format!("import left.{name} as m\n\n\ndef test_second({given}):\n    assert {finds}\n");
        project.write(format!("tests/test_b_{name}.py"), second);
    }
    // A cache that is filled by whoever comes first is nothing new.
    project.write(
        "left/cache.py",
        "MADE = []\n\n\ndef get():\n    MADE or MADE.append(0)\n    return MADE[0]\n",
    );
    for (name, calls) in
        [("a_cache", "get()"), ("c_cache", "get() or below()"), ("d_cache", "get()")]
    {
        let text = format!(
            "from left.cache import get\nfrom below_cache import below\n\n\ndef test_it():\n    {calls}\n"
        );
        project.write(format!("tests/test_{name}.py"), text);
    }
    project.write("below_cache.py", "def below():\n    return 1\n");
    project
}

/// The tests that run after an edit, which stays.
fn after(way: &Way, project: &Project, name: &str) -> std::collections::BTreeSet<String> {
    project.write(format!("below_{name}.py"), "def below():\n    return 2\n");
    way.run(project)
}

#[test]
fn who_finds_what_is_left_for_the_first_time_runs() {
    for way in ways(&["-n", "1"]).into_iter().filter(|way| way.options().is_empty()) {
        let project = pairs();
        assert_eq!(way.run(&project).len(), 2 * WAYS.len() + 3, "{way:?}");
        let of_cache = set(&["tests/test_c_cache.py::test_it"]);
        assert_eq!(after(&way, &project, "cache"), of_cache, "{way:?}: the cache");
        for (name, ..) in WAYS {
            let ran = after(&way, &project, name);
            let second = format!("tests/test_b_{name}.py::test_second");
            assert!(ran.contains(&second), "{way:?}: {name}: {ran:?}");
            let of_others =
                WAYS.iter().map(|(other, ..)| format!("tests/test_a_{other}.py::test_first"));
            let needless: Vec<_> =
                of_others.filter(|other| !other.contains(name) && ran.contains(other)).collect();
            // What is left for all runs all that come later, but no earlier one.
            assert!(name == "environment" || needless.is_empty(), "{way:?}: {name}: {needless:?}");
            project.write(format!("below_{name}.py"), "def below():\n    return 1\n");
            way.run(&project);
        }
    }
}

/// A module that a test loads from a temp folder goes when the test lets it go.
#[test]
fn what_a_test_lets_go_is_not_held() {
    let Some(way) = ways(&["-n", "1"]).into_iter().find(|way| way.options().is_empty()) else {
        return;
    };
    let text = "import gc\nimport importlib.util\nimport sys\nimport weakref\n\n\nclass Big:\n    pass\n\n\n\
        def test_it(tmp_path):\n    (tmp_path / 'loaded.py').write_text('import wave\\n')\n    \
        spec = importlib.util.spec_from_file_location('loaded', tmp_path / 'loaded.py')\n    \
        module = sys.modules['loaded'] = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(module)\n    \
        module.big = Big()\n    import mailbox\n    big = weakref.ref(module.big)\n    \
        del sys.modules['loaded'], module, spec\n    gc.collect()\n    assert big() is None\n";
    let project = project(&[("tests/test_it.py", text)]);
    let words = [way.python(), "-m", "pytest", "-q"];
    let got = project.tamis(&words);
    assert_eq!(got.code, 0, "{}{}", String::from_utf8_lossy(&got.stdout), got.stderr);
}
