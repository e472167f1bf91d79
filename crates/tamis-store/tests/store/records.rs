//! What goes into the store comes out of it, and decides as it should.

use crate::common::{World, content, evidence, file, key, open, runs, tainted};
use std::num::NonZeroUsize;
use tamis_core::RecordSummary;
use tamis_core::decide::{Cause, Decision};
use tamis_core::record::{Access, Detail, Note, Numbers, Observed, Run};
use tamis_core::{
    Module, Outcome, PortablePath, Question, Scheme, TestKey, Tool, ToolScope, Unit, Value,
};
use tamis_store::{Store, WithRecord};

#[test]
fn a_test_is_skipped_while_nothing_changed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1"), ("b", "1")]);
    let id = store.append(&world.run("t", &["a", "b", "missing"])).unwrap();

    let proof = store.record(id).unwrap().unwrap().proofs[0];
    let got = evidence(&store, &["t"], &world).decide(0, &Default::default());
    assert_eq!(got, Decision::Skip { record: id, proof });
    assert!(runs(&store, "t", &world.with("a", "2")));
    assert!(runs(&store, "t", &world.with("missing", "now there")));
    assert!(!runs(&store, "t", &world.with("unrelated", "x")));
    assert!(runs(&store, "other", &world));
}

#[test]
fn records_outlive_the_handle() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(&[("a", "1")]);
    let id = open(dir.path()).append(&world.run("t", &["a"])).unwrap();
    let store = open(dir.path());
    assert_eq!(store.history(&key("t")).unwrap()[0].id, id);
    assert!(!runs(&store, "t", &world));
}

#[test]
fn nothing_is_made_where_there_is_no_store() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("none");
    assert!(Store::open_existing(&folder).unwrap().is_none());
    assert!(Store::open_existing(dir.path()).unwrap().is_none());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    open(&folder);
    assert!(Store::open_existing(&folder).unwrap().is_some());
}

#[test]
fn everything_of_a_run_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1"), ("out", "old")]);
    let mut run = world.run("t", &["a", "out"]);
    run.outcome = Outcome::Failed(3);
    run.observed[0].detail = Detail::Size(17);
    run.observed[1].after = Some(content("new"));
    run.observed[1].access = Access::READ.with(Access::WRITE);
    run.observed[1].program = "tee".into();
    let odd = PortablePath::from_stored(b"dir/\xff\n ".as_slice());
    run.observed.push(Observed {
        question: Question::Path(odd.clone(), Scheme::Listing),
        before: Value::Listing(tamis_core::Hash(9)),
        after: None,
        access: Access::LIST,
        program: "ls".into(),
        detail: Detail::Names(vec![b"x".to_vec(), b"\xfe".to_vec()]),
    });
    for question in [
        Question::Variable(b"HOME".to_vec()),
        Question::VariableNames,
        Question::Glob("**/*.rs".into()),
        Question::Rules,
        Question::Fact("java".into()),
        Question::Path(odd, Scheme::Command(tamis_core::Hash(u128::MAX))),
    ] {
        let mut one = world.observed("a");
        one.question = question;
        one.before = Value::text(b"v");
        run.observed.push(one);
    }
    run.notes.push(Note::TalksTo("host:80".into()));
    run.left_behind.push(PortablePath::from_stored("out"));
    let run = tainted(run);

    let id = store.append(&run).unwrap();
    let stored = store.record(id).unwrap().unwrap();
    assert_eq!(stored.proofs.len(), 2);
    assert_eq!(stored.unreadable, 0);
    assert_eq!(sorted(stored.run), sorted(run));
}

fn sorted(mut run: tamis_core::record::Run) -> tamis_core::record::Run {
    run.observed.sort_by(|a, b| a.question.cmp(&b.question));
    run
}

/// Runs by numbers in a list that they have in common are as good as runs with lists of their own.
#[test]
fn what_runs_have_in_common_is_theirs() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1"), ("b", "1"), ("cache", "")]);
    let mut all: Vec<Observed> =
        ["b", "a", "cache", "a", "cache", "missing"].map(|path| world.observed(path)).into();
    all[1].detail = Detail::Size(1);
    all[3].access = Access::STAT;
    all[3].program = "ls".into();
    all[4].after = Some(content("filled"));
    let run =
        |name: &str, numbers: &[u32]| (world.run(name, &[]), numbers.iter().copied().collect());
    let runs_of = [
        vec![run("own", &[0, 1]), run("other", &[0, 3]), run("writes", &[0, 1, 4])],
        vec![run("later", &[1, 2, 5]), run("nothing", &[]), run("writes", &[0, 1, 4])],
    ];
    let with_list = |(run, numbers): &(Run, Numbers)| {
        let observed = numbers.iter().map(|number| all[number as usize].clone());
        Run { observed: observed.collect(), ..run.clone() }
    };
    for runs_of in &runs_of {
        let ids = store.append_shared(&all, runs_of).unwrap();
        for (id, one) in ids.iter().zip(runs_of) {
            let stored = store.record(*id).unwrap().unwrap();
            assert_eq!(stored.proofs.len(), if one.1.contains(4) { 2 } else { 1 });
            let mut wanted = with_list(one);
            // Details are those of a value, whoever brought them.
            let is_a = |one: &&mut Observed| one.question == file("a");
            let of_a = wanted.observed.iter_mut().filter(is_a);
            of_a.for_each(|one| one.detail = Detail::Size(1));
            assert_eq!(sorted(stored.run), sorted(wanted));
        }
    }
    assert!(!runs(&store, "other", &world) && !runs(&store, "later", &world));
    assert!(runs(&store, "other", &world.with("a", "2")));
    assert!(runs(&store, "later", &world.with("missing", "now there")));
    assert!(!runs(&store, "other", &world.with("missing", "now there")));
    assert!(!runs(&store, "writes", &world.with("cache", "filled")));
    assert!(runs(&store, "later", &world.with("cache", "filled")));
    // A run with a list of its own meets the same observations.
    let id = store.append(&with_list(&runs_of[0][1])).unwrap();
    assert_eq!(store.history(&key("other")).unwrap().len(), 2);
    assert_eq!(sorted(store.record(id).unwrap().unwrap().run).observed[0].program.as_ref(), "ls");
}

#[test]
fn both_states_of_a_test_that_changes_its_input_hold() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let clean = World::new(&[("a", "1")]);
    let mut run = clean.run("t", &["a", "cache"]);
    run.observed[1].after = Some(content("filled"));
    store.append(&run).unwrap();
    assert!(!runs(&store, "t", &clean));
    assert!(!runs(&store, "t", &clean.with("cache", "filled")));
    assert!(runs(&store, "t", &clean.with("cache", "by somebody else")));
    assert!(runs(&store, "t", &clean.with("cache", "filled").with("a", "2")));
}

#[test]
fn two_branches_are_both_remembered() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let main = World::new(&[("a", "main"), ("b", "1")]);
    let topic = main.with("a", "topic");
    store.append(&main.run("t", &["a", "b"])).unwrap();
    store.append(&topic.run("t", &["a", "b"])).unwrap();
    for _ in 0..2 {
        assert!(!runs(&store, "t", &main));
        assert!(!runs(&store, "t", &topic));
    }
    assert!(runs(&store, "t", &main.with("a", "third")));
}

#[test]
fn a_tainted_record_never_lets_a_test_be_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1")]);
    let id = store.append(&tainted(world.run("t", &["a"]))).unwrap();
    let found = evidence(&store, &["t"], &world);
    assert_eq!(found.decide(0, &Default::default()), Decision::Run(Cause::Incomplete(id)));
    assert_eq!(found.questions_asked(), 0);
    // Not even when the caller says so.
    let found = store.evidence(&[key("t")], &|_| true, &|q| world.answers(q)).unwrap();
    assert!(found.decide(0, &Default::default()).is_run());
}

#[test]
fn settings_can_only_be_stricter() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1")]);
    let mut run = world.run("t", &["a"]);
    run.notes.push(Note::TalksTo("host:80".into()));
    store.append(&run).unwrap();
    assert!(!runs(&store, "t", &world));
    let strict = |r: &RecordSummary| r.is_complete() && r.notes.is_empty();
    let found = store.evidence(&[key("t")], &strict, &|q| world.answers(q)).unwrap();
    assert!(found.decide(0, &Default::default()).is_run());
}

#[test]
fn a_run_that_looked_at_nothing_proves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::default();
    store.append(&world.run("t", &[])).unwrap();
    assert!(runs(&store, "t", &world));
}

#[test]
fn missing_answers_do_not_hold() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1"), ("b", "1")]);
    store.append(&world.run("t", &["a", "b"])).unwrap();
    let complete = &RecordSummary::is_complete;
    let short = |q: &[Question]| world.answers(&q[..1]);
    let found = store.evidence(&[key("t")], complete, &short).unwrap();
    assert!(found.decide(0, &Default::default()).is_run());
}

#[test]
fn the_newest_records_of_a_test_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.set_keep_per_test(NonZeroUsize::new(3).unwrap());
    let world = |n: u32| World::new(&[("a", &n.to_string())]);
    let ids: Vec<_> = (0..6).map(|n| store.append(&world(n).run("t", &["a"])).unwrap()).collect();
    let kept: Vec<_> = store.history(&key("t")).unwrap().iter().map(|r| r.id).collect();
    assert_eq!(kept, [ids[5], ids[4], ids[3]]);
    assert!(runs(&store, "t", &world(2)));
    assert!(!runs(&store, "t", &world(3)));
    assert_eq!(store.record(ids[0]).unwrap(), None);
}

#[test]
fn running_again_in_one_state_does_not_push_out_another() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.set_keep_per_test(NonZeroUsize::new(2).unwrap());
    let (main, topic) = (World::new(&[("a", "main")]), World::new(&[("a", "topic")]));
    store.append(&main.run("t", &["a"])).unwrap();
    for _ in 0..5 {
        store.append(&topic.run("t", &["a"])).unwrap();
    }
    assert_eq!(store.history(&key("t")).unwrap().len(), 2);
    assert!(!runs(&store, "t", &main));
    assert!(!runs(&store, "t", &topic));
}

#[test]
fn tests_are_listed_with_their_newest_record_and_can_be_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1")]);
    store.append(&world.run("two", &["a"])).unwrap();
    store.append(&world.run("one", &["a"])).unwrap();
    let mut last = world.run("one", &["a"]);
    last.outcome = Outcome::TimedOut;
    last.wall_us = u64::MAX;
    store.append(&last).unwrap();

    let tests = store.tests().unwrap();
    let names: Vec<_> = tests.iter().map(|t| (t.key.unit.name().into_owned(), t.records)).collect();
    assert_eq!(names, [("one".to_owned(), 2), ("two".to_owned(), 1)]);
    assert_eq!((tests[0].last.outcome, tests[0].last.wall_us), (Outcome::TimedOut, u64::MAX));

    assert_eq!(store.forget(&key("one")).unwrap(), 2);
    assert_eq!(store.forget(&key("one")).unwrap(), 0);
    assert_eq!(store.tests().unwrap().len(), 1);
    assert!(runs(&store, "one", &world));
    assert!(!runs(&store, "two", &world));
}

#[test]
fn proofs_are_forgotten_and_a_last_failure_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1")]);
    let mut failed = world.run("red", &["a"]);
    failed.outcome = Outcome::Failed(1);
    store.append(&world.run("red", &["a"])).unwrap();
    store.append(&failed).unwrap();
    assert_eq!(store.forget_proofs(&key("red")).unwrap(), 1);
    assert_eq!(store.history(&key("red")).unwrap()[0].outcome, Outcome::Failed(1));
    // A failure that is older than a run that passed would become the newest record.
    failed.test = key("green");
    store.append(&failed).unwrap();
    store.append(&world.run("green", &["a", "b"])).unwrap();
    assert_eq!(store.forget_proofs(&key("green")).unwrap(), 2);
    assert!(store.history(&key("green")).unwrap().is_empty());
    assert_eq!(store.forget_proofs(&key("none")).unwrap(), 0);
}

#[test]
fn a_test_is_forgotten_until_it_has_a_record() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1")]);
    let mark = |name: &str| tamis_store::Forgotten { key: key(name), inside: None };
    store.mark_forgotten(&[mark("one"), mark("two")]).unwrap();
    store.append(&world.run("one", &["a"])).unwrap();
    assert_eq!(store.forgotten().unwrap(), [mark("two")]);
}

#[test]
fn tests_that_did_not_pass_last_are_the_same_in_both_lists() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let outcomes = [Outcome::Passed, Outcome::Failed(1), Outcome::Killed(9), Outcome::TimedOut];
    for (n, before) in outcomes.into_iter().enumerate() {
        for (m, last) in outcomes.into_iter().enumerate() {
            for (version, outcome) in [("1", before), ("2", last)] {
                let world = World::new(&[("a", version)]);
                let mut run = world.run(&format!("t{n}{m}"), &["a"]);
                run.outcome = outcome;
                store.append(&run).unwrap();
            }
        }
    }
    let mut expected = store.tests().unwrap();
    expected.retain(|test| !test.last.outcome.passed());
    assert_eq!(expected.len(), 12);
    assert_eq!(store.not_passed().unwrap(), expected);
}

#[test]
fn keys_differ_in_each_part() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1")]);
    let mut run = world.run("t", &["a"]);
    run.test = TestKey::command("t", "sub");
    store.append(&run).unwrap();
    assert!(runs(&store, "t", &world));
    assert_eq!(store.history(&run.test).unwrap().len(), 1);
}

#[test]
fn a_test_may_be_asked_about_twice() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1")]);
    store.append(&world.run("t", &["a"])).unwrap();
    let found = evidence(&store, &["t", "new", "t"], &world);
    assert_eq!(found.candidates(0), found.candidates(2));
    assert_eq!(found.records(0).len(), 1);
    assert_eq!(found.candidates(1), []);
}

#[test]
fn every_distinct_question_is_asked_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1"), ("b", "1")]);
    store.append(&world.run("t", &["a", "b"])).unwrap();
    store.append(&world.with("a", "2").run("t", &["a", "b"])).unwrap();
    store.append(&world.run("u", &["a", "c"])).unwrap();
    let asked = std::sync::Mutex::new(Vec::new());
    let ask = |q: &[Question]| {
        asked.lock().unwrap().extend(q.to_vec());
        world.answers(q)
    };
    let complete = &RecordSummary::is_complete;
    store.evidence(&[key("t"), key("u")], complete, &ask).unwrap();
    let mut asked = asked.into_inner().unwrap();
    asked.sort();
    assert_eq!(asked, [file("a"), file("b"), file("c")]);
}

#[test]
fn differences_name_what_changed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("/etc/x", "1"), ("a", "1"), ("b", "1")]);
    let mut run = world.run("t", &["/etc/x", "a", "b"]);
    run.observed[1].detail = Detail::Size(1);
    let id = store.append(&run).unwrap();
    let mut other = world.with("a", "2").run("other", &["a"]);
    other.observed[0].detail = Detail::Size(2);
    store.append(&other).unwrap();

    let ask = |w: World| move |q: &[Question]| w.answers(q);
    assert_eq!(store.differences(id, &ask(world.clone())).unwrap(), []);
    let now = world.with("a", "2").with("/etc/x", "2");
    let got = store.differences(id, &ask(now.clone())).unwrap();
    assert_eq!(got.len(), 2);
    let a = got.iter().find(|d| d.observed.question == file("a")).unwrap();
    assert_eq!((a.was, a.is), (content("1"), content("2")));
    assert_eq!((&a.observed.detail, &a.is_detail), (&Detail::Size(1), &Detail::Size(2)));

    // The project's own file is the better explanation.
    let found = evidence(&store, &["t"], &now);
    let first = found.first_difference(id).unwrap();
    assert_eq!(first, Some((file("a"), content("1"), content("2"))));
    assert_eq!(evidence(&store, &["t"], &world).first_difference(id).unwrap(), None);
}

#[test]
fn differences_are_taken_from_the_closest_state() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1")]);
    let mut run = world.run("t", &["a", "cache"]);
    run.observed[1].after = Some(content("filled"));
    let id = store.append(&run).unwrap();
    let now = world.with("cache", "filled").with("a", "2");
    let got = store.differences(id, &|q| now.answers(q)).unwrap();
    let questions: Vec<_> = got.iter().map(|d| d.observed.question.clone()).collect();
    assert_eq!(questions, [file("a")]);
    let first = evidence(&store, &["t"], &now).first_difference(id).unwrap();
    assert_eq!(first, Some((file("a"), content("1"), content("2"))));
}

#[test]
fn leftovers_and_their_readers_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1")]);
    let mut writer = world.run("writer", &["a", "out"]);
    writer.left_behind.push(PortablePath::from_stored("out"));
    store.append(&writer).unwrap();
    store.append(&world.run("reader", &["a", "out"])).unwrap();
    store.append(&world.run("neutral", &["a"])).unwrap();

    let out = PortablePath::from_stored("out");
    assert_eq!(store.left_behind().unwrap(), [(key("writer"), vec![out.clone()])]);
    let readers = store.readers_of_leftovers().unwrap();
    let named: Vec<_> = readers.iter().map(|r| (&r.reader, &r.path, &r.writer)).collect();
    assert_eq!(named, [(&key("reader"), &out, &key("writer"))]);

    // Only the newest run counts.
    store.append(&world.run("writer", &["a"])).unwrap();
    assert_eq!(store.left_behind().unwrap(), []);
    assert_eq!(store.readers_of_leftovers().unwrap(), []);
}

#[test]
fn what_a_build_made_for_its_own_tests_is_no_leftover_of_others() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[]);
    let scope = ToolScope {
        tool: Tool::new("mvn"),
        module: Module::Root("a".into()),
        execution: String::new(),
    };
    let unit = |unit| TestKey { scope: scope.clone().into(), unit, folder: ".".into() };
    let [one, two] = ["p.OneTest", "p.TwoTest"].map(|class| unit(Unit::Class(class.into())));
    let of_one = unit(Unit::Method { class: "p.OneTest$In".into(), method: "m".into() });
    let add = |key: &TestKey, path: &str, leaves: bool| {
        let mut run = Run { test: key.clone(), ..world.run("t", &[path]) };
        run.left_behind.extend(leaves.then(|| PortablePath::from_stored(path)));
        store.append(&run).unwrap();
    };
    for command in ["./mvnw -B test", "/opt/bin/mvn verify"] {
        add(&TestKey::command(command, "."), "target", true);
    }
    add(&two, "target", false);
    assert_eq!(store.readers_of_leftovers().unwrap(), []);
    // Another command is not around it, and another test class is not, either.
    add(&TestKey::command("./generate.sh", "."), "target", true);
    add(&one, "out", true);
    add(&of_one, "out", false);
    let readers = || store.readers_of_leftovers().unwrap();
    let of_two: Vec<String> =
        readers().iter().filter(|r| r.reader == two).map(|r| r.writer.to_string()).collect();
    assert_eq!(of_two, ["./generate.sh"]);
    assert!(readers().iter().all(|r| r.reader != of_one));
    add(&two, "out", false);
    assert_eq!(readers().iter().filter(|r| r.reader == two && r.writer == one).count(), 1);
    // What a test leaves is there when the next call of the build around it begins.
    let build = TestKey::command("./mvnw -B test", ".");
    add(&build, "out", false);
    assert!(readers().iter().all(|r| r.reader != build));
}

#[test]
fn what_is_kept_with_a_record_goes_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1")]);
    let [one, two] = ["one", "two"].map(|test| store.append(&world.run(test, &["a"])).unwrap());
    let kept = [(one, b"of one".to_vec()), (two, b"of two".to_vec())];
    store.keep_with(WithRecord::Coverage, &kept).unwrap();
    let coverage = |record| store.kept_with(WithRecord::Coverage, record).unwrap();
    assert_eq!(coverage(one).as_deref(), Some(&b"of one"[..]));
    assert_eq!(store.kept_with(WithRecord::Reports, one).unwrap(), None);
    store.forget(&key("one")).unwrap();
    assert_eq!((coverage(one), coverage(two).is_some()), (None, true));
    // For a record that is gone nothing is kept any more.
    store.keep_with(WithRecord::Coverage, &kept[..1]).unwrap();
    assert_eq!(coverage(one), None);
}

#[test]
fn readers_of_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1"), ("words.txt", "1")]);
    store.append(&world.run("reader", &["a", "words.txt"])).unwrap();
    store.append(&world.run("other", &["a", "gone.txt"])).unwrap();
    let path = |text: &str| PortablePath::from_stored(text);
    let paths = [path("words.txt"), path("gone.txt"), path("README.md")];
    let readers = store.readers_of(&paths).unwrap();
    assert_eq!(readers.len(), 2);
    assert_eq!(readers[&path("words.txt")], key("reader"));
    assert_eq!(readers[&path("gone.txt")], key("other"), "it was looked for");

    // Only the newest run counts.
    store.append(&world.run("reader", &["a"])).unwrap();
    assert_eq!(store.readers_of(&paths[..1]).unwrap().len(), 0);
}

#[test]
fn many_at_once_are_as_good_as_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1"), ("b", "1")]);
    let runs_in: Vec<_> = (0..50).map(|n| world.run(&format!("t{n}"), &["a", "b"])).collect();
    let ids = store.append_many(&runs_in).unwrap();
    assert_eq!(ids.len(), 50);
    assert!((0..50).all(|n| !runs(&store, &format!("t{n}"), &world)));
    assert_eq!(store.append_many(&[]).unwrap(), []);
}

#[test]
fn the_message_of_a_test_goes_with_the_test() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1")]);
    // Without a record there is nothing to say about it.
    store.set_message(&key("t"), Some(b"too early")).unwrap();
    assert_eq!(store.message(&key("t")).unwrap(), None);
    store.append(&world.run("t", &["a"])).unwrap();
    store.append(&world.run("u", &["a"])).unwrap();
    let long = b"expected 1 but was 2\n".repeat(300);
    store.set_message(&key("t"), Some(&long)).unwrap();
    store.append(&world.run("t", &["a"])).unwrap();
    assert_eq!(store.message(&key("t")).unwrap(), Some(long.clone()));
    assert_eq!(store.message(&key("u")).unwrap(), None);
    store.set_message(&key("u"), Some(&long)).unwrap();
    store.set_message(&key("u"), None).unwrap();
    assert_eq!(store.message(&key("u")).unwrap(), None);
    store.forget(&key("t")).unwrap();
    store.append(&world.run("t", &["a"])).unwrap();
    assert_eq!(store.message(&key("t")).unwrap(), None);
}

#[test]
fn things_are_kept_by_kind_and_name() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.keep("goal", "b", b"1").unwrap();
    store.keep("goal", "a", b"2").unwrap();
    store.keep("goal", "b", b"3").unwrap();
    store.keep("other", "c", b"4").unwrap();
    let kept = |kind| open(dir.path()).kept(kind).unwrap();
    assert_eq!(kept("goal"), [("a".into(), b"2".to_vec()), ("b".into(), b"3".to_vec())]);
    assert_eq!(kept("none"), []);
}

#[test]
fn details_that_come_later_are_known_and_stay() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1")]);
    let left = world.with("out", "x");
    // What is left behind comes without detail.
    let mut writer = world.run("writer", &["a", "out"]);
    writer.observed[1].after = Some(content("x"));
    store.append(&writer).unwrap();
    let mut reader = left.run("reader", &["a", "out"]);
    reader.observed[0].detail = Detail::Size(1);
    reader.observed[1].detail = Detail::Size(7);
    reader.observed[1].program = "another".into();
    store.append(&reader).unwrap();
    let details = |store: &Store| {
        let id = store.history(&key("reader")).unwrap()[0].id;
        let run = store.record(id).unwrap().unwrap().run;
        run.observed.into_iter().map(|o| (o.detail, o.program)).collect::<Vec<_>>()
    };
    let expected = [(Detail::Size(1), "cat".into()), (Detail::Size(7), "another".into())];
    assert_eq!(details(&store), expected);
    for n in 0..40 {
        store.append(&left.run(&format!("t{n}"), &["a", "out", &format!("f{n}")])).unwrap();
        store.append(&reader).unwrap();
    }
    assert_eq!(details(&store), expected);
    store.collect_garbage(&Default::default()).unwrap();
    assert_eq!(details(&open(dir.path())), expected);
}
