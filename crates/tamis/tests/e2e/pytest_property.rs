//! Projects that are made up, edits at random, and everything run beside it: no test whose outcome is another one
//! after an edit is left out.
//!
//! Functions call each other, keep what they got in dictionaries of their module, in caches and on classes, read names of
//! other modules, and are used by fixtures of all scopes. A test compares a value with what it was at first, so that every
//! edit of a value that reaches it makes it fail. `bench/python/mutations` does the same with real projects.

use crate::pytest_kinds::{Way, project, ways};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use tamis_testkit::Project;

const MODULES: usize = 4;
const FUNCTIONS: usize = 4;
const TESTS: usize = 12;

/// How a function comes to its value.
#[derive(Debug, Clone, Copy)]
enum How {
    Plain,
    Cached,
    Memo,
    OnClass,
    Lazy,
    Default,
}

#[derive(Debug, Clone)]
struct Function {
    how: How,
    /// Functions of earlier modules, by number, that it calls.
    calls: Vec<usize>,
}

/// Which functions a test uses, and through which fixture.
#[derive(Debug, Clone)]
struct Test {
    uses: Vec<usize>,
    fixture: Option<usize>,
}

#[derive(Debug, Clone)]
struct World {
    functions: Vec<Function>,
    /// The function that each fixture (function, module, session) calls.
    fixtures: [usize; 3],
    tests: Vec<Test>,
    /// What is edited: the value of a function, or the constant of a module.
    edits: Vec<(bool, usize)>,
}

fn world() -> impl Strategy<Value = World> {
    let all = MODULES * FUNCTIONS;
    let how = prop_oneof![
        Just(How::Plain),
        Just(How::Cached),
        Just(How::Memo),
        Just(How::OnClass),
        Just(How::Lazy),
        Just(How::Default)
    ];
    let function = (how, prop::collection::vec(0..all, 0..3));
    let test = (prop::collection::vec(0..all, 1..4), prop::option::of(0..3_usize));
    (
        prop::collection::vec(function, all),
        [0..all, 0..all, 0..all],
        prop::collection::vec(test, TESTS),
        prop::collection::vec((any::<bool>(), 0..all), 6),
    )
        .prop_map(|(functions, fixtures, tests, edits)| World {
            functions: functions
                .into_iter()
                .enumerate()
                .map(|(n, (how, calls))| {
                    let before = n / FUNCTIONS * FUNCTIONS;
                    Function { how, calls: calls.into_iter().filter(|c| *c < before).collect() }
                })
                .collect(),
            fixtures,
            tests: tests.into_iter().map(|(uses, fixture)| Test { uses, fixture }).collect(),
            edits,
        })
}

fn name(function: usize) -> String {
    format!("m{}.f{function}", function / FUNCTIONS)
}

fn source_of(world: &World, n: usize) -> String {
    let Function { how, calls } = &world.functions[n];
    let called = calls.iter().fold(String::new(), |mut text, call| {
        let _ = write!(text, " + {}()", name(*call));
        text
    });
    let module = n / FUNCTIONS;
    let value = format!("K{module} + {}{called}", 100 + n);
    match how {
        How::Plain => format!("def f{n}():\n    return {value}\n"),
        How::Cached => format!("@functools.lru_cache\ndef f{n}():\n    return {value}\n"),
        How::Memo => format!(
            "def f{n}():\n    if {n} not in MEMO:\n        MEMO[{n}] = {value}\n    return MEMO[{n}]\n"
        ),
        How::OnClass => format!(
            "class C{n}:\n    kept = None\n\n\ndef f{n}():\n    if C{n}.kept is None:\n        C{n}.kept = {value}\n    return C{n}.kept\n"
        ),
        How::Lazy => format!("def f{n}():\n    import late\n\n    return late.late() + {value}\n"),
        How::Default => format!(
            "def f{n}(kept=[]):\n    if not kept:\n        kept.append({value})\n    return kept[0]\n"
        ),
    }
}

fn written(world: &World) -> Project {
    let project = project(&[("late.py", "def late():\n    return 7\n")]);
    for module in 0..MODULES {
        let mut text = String::from("import functools\n\n");
        (0..module).for_each(|other| {
            let _ = writeln!(text, "import m{other}");
        });
        let _ = writeln!(text, "\nK{module} = {module}\nMEMO = {{}}\n");
        for n in module * FUNCTIONS..(module + 1) * FUNCTIONS {
            let _ = writeln!(text, "\n{}", source_of(world, n));
        }
        project.write(format!("m{module}.py"), text);
    }
    let mut conftest = String::from("import pytest\n");
    (0..MODULES).for_each(|module| {
        let _ = writeln!(conftest, "import m{module}");
    });
    for (n, scope) in ["function", "module", "session"].into_iter().enumerate() {
        let called = name(world.fixtures[n]);
        let _ = write!(
            conftest,
            "\n\n@pytest.fixture(scope='{scope}')\ndef x{n}():\n    return {called}()\n"
        );
    }
    project.write("conftest.py", conftest);
    for (n, test) in world.tests.iter().enumerate() {
        let parameter = test.fixture.map_or(String::new(), |n| format!("x{n}"));
        let mut value = test.uses.iter().map(|n| name(*n) + "()").collect::<Vec<_>>().join(" + ");
        if !parameter.is_empty() {
            value = format!("{value} + {parameter}");
        }
        let imports: BTreeSet<usize> = test.uses.iter().map(|n| n / FUNCTIONS).collect();
        let imports: String = imports.iter().map(|module| format!("import m{module}\n")).collect();
        // Two tests in each file; the values are filled in by the first run.
        let file = format!("tests/test_{}.py", n / 2);
        let before = if n % 2 == 1 { project.read(&file) } else { String::new() };
        let text = format!(
            "{imports}\n\ndef test_{n}({parameter}):\n    with open('values/{n}') as file:\n        expected = file.read()\n    assert str({value}) == expected\n"
        );
        project.write(&file, if n % 2 == 1 { format!("{text}\n\n{before}") } else { text });
    }
    fill_in(&project, world);
    project
}

/// What each test expects: the value that it has now.
fn fill_in(project: &Project, world: &World) {
    fn value(world: &World, n: usize) -> usize {
        let lazy = if matches!(world.functions[n].how, How::Lazy) { 7 } else { 0 };
        let called: usize = world.functions[n].calls.iter().map(|call| value(world, *call)).sum();
        n / FUNCTIONS + 100 + n + lazy + called
    }
    for (n, test) in world.tests.iter().enumerate() {
        let mut sum: usize = test.uses.iter().map(|n| value(world, *n)).sum();
        sum += test.fixture.map_or(0, |fixture| value(world, world.fixtures[fixture]));
        project.write(format!("values/{n}"), sum.to_string());
    }
}

/// The tests that fail without tamis.
fn failing(project: &Project, way: &Way) -> BTreeSet<String> {
    let words = [way.python(), "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider"];
    let mut command = project.command(words[0]);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.args(&words[1..]).output().expect("pytest");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let failed = text.lines().filter_map(|line| line.strip_prefix("FAILED "));
    failed.filter_map(|line| Some(line.split(" - ").next()?.to_owned())).collect()
}

fn edit(world: &World, edit: (bool, usize)) -> (String, String, String) {
    let (is_constant, n) = edit;
    let module = n / FUNCTIONS;
    let file = format!("m{module}.py");
    match is_constant {
        true => (file, format!("K{module} = {module}\n"), format!("K{module} = 50\n")),
        false => {
            let from = source_of(world, n);
            let to = from.replacen(&format!(" + {}", 100 + n), " + 5000", 1);
            (file, from, to)
        }
    }
}

#[test]
fn no_test_with_another_outcome_is_left_out() {
    let found = ways(&["-n", "2"]);
    for (seed, way) in found.iter().enumerate() {
        // The same worlds each time: an error can be looked at.
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed as u8 + 1; 32]);
        let config = Config { cases: 2, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, rng);
        let tried = runner.run(&world(), |world| {
            let project = written(&world);
            let ran = way.run(&project);
            prop_assert_eq!(ran.len(), TESTS, "{:?}", ran);
            prop_assert!(way.select(&project).is_empty(), "nothing changed");
            for one in &world.edits {
                let (file, from, to) = edit(&world, *one);
                let before = project.read(&file);
                prop_assert!(before.contains(&from), "{} in {}", from, file);
                project.write(&file, before.replacen(&from, &to, 1));
                let (selected, failing) = (way.select(&project), failing(&project, way));
                project.write(&file, before);
                prop_assert!(
                    failing.is_subset(&selected),
                    "{:?}: {} -> {}: {:?} fail, {:?} are selected",
                    way,
                    from,
                    to,
                    failing,
                    selected
                );
            }
            Ok(())
        });
        assert!(tried.is_ok(), "{tried:?}");
    }
}
