//! Kinds of edits that selection by coverage misses, and the exact tests that each selects; the same with
//! pytest-xdist, and on every Python that `TAMIS_TEST_PYTHONS` names (separated by `:`).
//!
//! `pytest.rs` has the kinds about functions and modules of a plain project; here are those about what comes
//! into a test from elsewhere: other modules, libraries, plugins, native code, children, the environment.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tamis_testkit::{Decided, Project, needs};

/// One Python, and the options that all its runs have.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    python: String,
    options: Vec<&'static str>,
}

impl Way {
    pub(crate) fn python(&self) -> &str {
        &self.python
    }

    pub(crate) fn options(&self) -> &[&'static str] {
        &self.options
    }

    fn words<'w>(&'w self, more: &[&'w str]) -> Vec<&'w str> {
        let words = [self.python.as_str(), "-m", "pytest", "-q"];
        [&words[..], &self.options, more].concat()
    }

    /// Runs pytest; the tests that ran.
    pub(crate) fn run(&self, project: &Project) -> BTreeSet<String> {
        tests(project.run(&self.words(&[])))
    }

    /// The tests that would run.
    pub(crate) fn select(&self, project: &Project) -> BTreeSet<String> {
        tests(project.select(&self.words(&[])))
    }

    /// The tests that an edit selects; it is taken back.
    pub(crate) fn edit(
        &self,
        project: &Project,
        file: &str,
        from: &str,
        to: &str,
    ) -> BTreeSet<String> {
        let before = std::fs::read(project.path(file)).expect("a file");
        let text = String::from_utf8_lossy(&before).into_owned();
        assert!(text.contains(from), "{from} in {file}");
        project.write(file, text.replacen(from, to, 1));
        let found = self.select(project);
        project.write(file, before);
        found
    }
}

/// The tests of pytest that ran, or would.
pub(crate) fn tests(decided: impl IntoIterator<Item = (String, Decided)>) -> BTreeSet<String> {
    let runs = decided.into_iter().filter(|(_, decided)| decided.runs);
    runs.map(|(name, _)| name).filter(|name| name.contains(".py::")).collect()
}

pub(crate) fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Each Python that has pytest, without and with these options of xdist.
pub(crate) fn ways(spread: &'static [&'static str]) -> Vec<Way> {
    let several = std::env::var("TAMIS_TEST_PYTHONS").ok().filter(|names| !names.is_empty());
    let one = || std::env::var("TAMIS_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let names = several.unwrap_or_else(one);
    let mut found = Vec::new();
    for name in names.split(':') {
        let Some(python) = python_with(name, "pytest") else {
            needs::not_tried("pytest");
            continue;
        };
        found.push(Way { python: python.clone(), options: Vec::new() });
        match python_with(name, "xdist") {
            Some(_) => found.push(Way { python, options: spread.to_vec() }),
            None => needs::not_tried("pytest-xdist"),
        }
    }
    found
}

fn python_with(name: &str, module: &str) -> Option<String> {
    let asks = format!("import {module}, sys; print(sys.executable)");
    let asked = Command::new(name).args(["-c", &asks]).stdin(Stdio::null()).output().ok()?;
    let text = asked.status.success().then_some(asked.stdout)?;
    Some(String::from_utf8(text).ok()?.trim().to_owned())
}

/// A project whose root and a folder of libraries are on the path.
pub(crate) fn project(files: &[(&str, &str)]) -> Project {
    let project = Project::new();
    project.write("pytest.ini", "[pytest]\npythonpath = . lib/site-packages\n");
    for (file, text) in files {
        project.write(file, text);
    }
    project
}

const FILES: &[(&str, &str)] = &[
    // A Python that a test starts lists the root: a folder that pytest makes at its end would be a new name.
    (".pytest_cache/CACHEDIR.TAG", ""),
    ("core/__init__.py", "from core.first import one\n"),
    ("core/first.py", "def one():\n    return 1\n\n\ndef two():\n    return 2\n"),
    ("core/stars.py", "from core.first import *\n"),
    (
        "core/lazy.py",
        "def __getattr__(name):\n    if name == 'late':\n        return found()\n    raise AttributeError(name)\n\n\ndef found():\n    return 3\n",
    ),
    (
        "core/meta.py",
        "class Meta(type):\n    def __new__(mcs, name, bases, space):\n        space['made'] = mark()\n        return super().__new__(mcs, name, bases, space)\n\n\ndef mark():\n    return 4\n",
    ),
    ("core/made.py", "from core.meta import Meta\n\n\nclass Made(metaclass=Meta):\n    pass\n"),
    (
        "core/deco.py",
        "def twice(function):\n    def inner():\n        return function() * 2\n\n    return inner\n",
    ),
    ("core/decorated.py", "from core.deco import twice\n\n\n@twice\ndef five():\n    return 5\n"),
    (
        "core/data.py",
        "import dataclasses\n\n\n@dataclasses.dataclass\nclass Point:\n    x: int = 6\n",
    ),
    ("core/async_part.py", "async def eight():\n    return 8\n\n\ndef steps():\n    yield 9\n"),
    ("script.py", "import child\n\nprint(child.value())\n"),
    ("child.py", "def value():\n    return 10\n"),
    ("spawned.py", "def work(x):\n    return x + 11\n"),
    ("core/threads.py", "def work():\n    return 12\n"),
    ("core/loaded.py", "VALUE = 13\n"),
    ("core/as_text.py", "14\n"),
    ("core/package_data.txt", "15\n"),
    ("core/run_as.py", "RESULT = 16\n"),
    (
        "plugged.py",
        "import pytest\n\n\n@pytest.fixture\ndef plugged():\n    return value()\n\n\ndef value():\n    return 17\n",
    ),
    ("lib/site-packages/demo/__init__.py", "VERSION = 18\n"),
    (
        "lib/site-packages/demo-1.0.0.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: demo\nVersion: 1.0.0\n",
    ),
    ("conftest.py", "pytest_plugins = ['plugged']\n"),
    (
        "tests/test_exports.py",
        "import core\nfrom core import stars\n\n\ndef test_re_export():\n    assert core.one()\n\n\ndef test_star():\n    assert stars.two()\n",
    ),
    (
        "tests/test_lazy.py",
        "from core import lazy\n\n\ndef test_late():\n    assert lazy.late\n\n\ndef test_none():\n    pass\n",
    ),
    (
        "tests/test_made.py",
        "from core.made import Made\n\n\ndef test_made():\n    assert Made.made\n",
    ),
    (
        "tests/test_decorated.py",
        "from core.decorated import five\n\n\ndef test_five():\n    assert five()\n\n\ndef test_none():\n    pass\n",
    ),
    (
        "tests/test_data.py",
        "from core.data import Point\n\n\ndef test_point():\n    assert Point().x\n",
    ),
    (
        "tests/test_async.py",
        "import asyncio\n\nfrom core import async_part\n\n\ndef test_eight():\n    loop = asyncio.new_event_loop()\n    assert loop.run_until_complete(async_part.eight())\n    loop.close()\n\n\ndef test_steps():\n    assert list(async_part.steps())\n",
    ),
    (
        "tests/test_children.py",
        "import subprocess\nimport sys\n\n\ndef run():\n    subprocess.run([sys.executable, '-m', 'script'], check=True)\n\n\ndef test_child():\n    run()\n\n\ndef test_child_again():\n    run()\n\n\ndef test_none():\n    pass\n",
    ),
    (
        "tests/test_spawned.py",
        "import multiprocessing\n\nimport spawned\n\n\ndef test_spawned():\n    process = multiprocessing.get_context('spawn').Process(target=spawned.work, args=(1,))\n    process.start()\n    process.join()\n    assert process.exitcode == 0\n",
    ),
    (
        "tests/test_threads.py",
        "import threading\n\nfrom core import threads\n\n\ndef test_thread():\n    found = []\n    thread = threading.Thread(target=lambda: found.append(threads.work()))\n    thread.start()\n    thread.join()\n    assert found[0]\n\n\ndef test_none():\n    pass\n",
    ),
    (
        "tests/test_loaded.py",
        "import importlib.util\nimport runpy\n\n\ndef test_by_file():\n    spec = importlib.util.spec_from_file_location('some_name', 'core/loaded.py')\n    module = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(module)\n    assert module.VALUE\n\n\ndef test_run_path():\n    assert runpy.run_path('core/run_as.py')['RESULT']\n\n\ndef test_as_text():\n    with open('core/as_text.py') as file:\n        assert eval(file.read())\n\n\ndef test_as_bytes():\n    with open(b'core/as_text.py', 'rb') as file:\n        assert file.read()\n\n\ndef test_none():\n    pass\n",
    ),
    (
        "tests/test_resources.py",
        "import importlib.resources\n\n\ndef test_data():\n    import core\n\n    assert importlib.resources.files(core).joinpath('package_data.txt').read_text()\n\n\ndef test_none():\n    pass\n",
    ),
    (
        "tests/test_plugged.py",
        "def test_plugged(plugged):\n    assert plugged\n\n\ndef test_none():\n    pass\n",
    ),
    (
        "tests/test_native.py",
        "import ctypes\n\n\ndef test_native():\n    assert ctypes.CDLL('./native.so')\n\n\ndef test_none():\n    pass\n",
    ),
    (
        "tests/test_variable.py",
        "import os\n\n\ndef test_variable():\n    assert os.environ.get('KIND_OF_EDIT', 'x')\n",
    ),
    (
        "tests/test_zz_library.py",
        "def test_library():\n    import demo\n\n    assert demo.VERSION\n",
    ),
    (
        "tests/test_module_scope.py",
        "import pytest\n\nfrom core import first\n\n\n@pytest.fixture(scope='module')\ndef held():\n    yield 1\n    first.two()\n\n\ndef test_holds(held):\n    assert held\n\n\ndef test_between():\n    pass\n\n\ndef test_last():\n    pass\n",
    ),
];

/// What each edit selects.
const EDITS: &[(&str, &str, &str, &[&str])] = &[
    ("core/first.py", "return 1", "return 7", &["tests/test_exports.py::test_re_export"]),
    (
        "core/first.py",
        "return 2",
        "return 7",
        &[
            "tests/test_exports.py::test_star",
            "tests/test_module_scope.py::test_holds",
            "tests/test_module_scope.py::test_last",
        ],
    ),
    (
        "core/stars.py",
        "*",
        "two",
        &["tests/test_exports.py::test_re_export", "tests/test_exports.py::test_star"],
    ),
    ("core/lazy.py", "return 3", "return 7", &["tests/test_lazy.py::test_late"]),
    ("core/meta.py", "return 4", "return 7", &["tests/test_made.py::test_made"]),
    (
        // The wrapper belongs to the decorator, which ran when the module was imported.
        "core/deco.py",
        "* 2",
        "* 3",
        &["tests/test_decorated.py::test_five", "tests/test_decorated.py::test_none"],
    ),
    ("core/decorated.py", "return 5", "return 7", &["tests/test_decorated.py::test_five"]),
    ("core/data.py", "= 6", "= 7", &["tests/test_data.py::test_point"]),
    ("core/async_part.py", "return 8", "return 7", &["tests/test_async.py::test_eight"]),
    ("core/async_part.py", "yield 9", "yield 7", &["tests/test_async.py::test_steps"]),
    (
        "child.py",
        "return 10",
        "return 7",
        &["tests/test_children.py::test_child", "tests/test_children.py::test_child_again"],
    ),
    ("spawned.py", "+ 11", "+ 7", &["tests/test_spawned.py::test_spawned"]),
    ("core/threads.py", "return 12", "return 7", &["tests/test_threads.py::test_thread"]),
    ("core/loaded.py", "13", "7", &["tests/test_loaded.py::test_by_file"]),
    ("core/run_as.py", "16", "7", &["tests/test_loaded.py::test_run_path"]),
    (
        "core/as_text.py",
        "14",
        "7",
        &["tests/test_loaded.py::test_as_bytes", "tests/test_loaded.py::test_as_text"],
    ),
    ("core/package_data.txt", "15", "7", &["tests/test_resources.py::test_data"]),
    ("plugged.py", "return 17", "return 7", &["tests/test_plugged.py::test_plugged"]),
    ("lib/site-packages/demo/__init__.py", "18", "7", &["tests/test_zz_library.py::test_library"]),
];

#[test]
fn each_kind_of_edit_selects_what_it_can_reach() {
    for way in ways(&["-n", "2", "--dist", "loadfile"]) {
        let mut project = project(FILES);
        std::fs::copy(libm(), project.path("native.so")).expect("a library");
        let all = way.run(&project);
        assert_eq!(all.len(), 32, "{way:?}: {all:?}");
        assert!(way.run(&project).is_empty(), "{way:?}: nothing changed");
        let mut wrong = Vec::new();
        for (file, from, to, expected) in EDITS {
            let selected = way.edit(&project, file, from, to);
            if selected != set(expected) {
                wrong.push((file, to, selected));
            }
        }
        assert!(wrong.is_empty(), "{way:?}: {wrong:#?}");
        from_elsewhere(&way, &mut project, &all);
    }
}

fn libm() -> PathBuf {
    let places = ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/libm.so.6", "/usr/lib/libm.so.6"];
    places.iter().map(PathBuf::from).find(|place| place.exists()).expect("the C library")
}

/// Native code, distributions, plugins and the environment.
fn from_elsewhere(way: &Way, project: &mut Project, all: &BTreeSet<String>) {
    let native = std::fs::read(project.path("native.so")).expect("the library");
    project.write("native.so", [native.as_slice(), b"\0"].concat());
    assert_eq!(way.select(project), set(&["tests/test_native.py::test_native"]), "{way:?}");
    project.write("native.so", native);
    project.set("KIND_OF_EDIT", "1");
    assert_eq!(way.select(project), *all, "{way:?}: a variable counts for who has the environment");
    project.unset("KIND_OF_EDIT");
    let (old, new) = ("demo-1.0.0.dist-info", "demo-1.0.1.dist-info");
    let place = |name: &str| project.path(format!("lib/site-packages/{name}"));
    std::fs::rename(place(old), place(new)).expect("another version");
    assert_eq!(way.select(project), *all, "{way:?}: another distribution");
    std::fs::rename(place(new), place(old)).expect("the first version");
    let plugin = "pytest_plugins = ['plugged', 'other']\n";
    project.write("other.py", "");
    assert_eq!(way.edit(project, "conftest.py", "pytest_plugins = ['plugged']\n", plugin), *all);
    project.remove("other.py");
    assert!(way.select(project).is_empty(), "{way:?}: all is as it was");
}
