//! Records that travel: what arrives, in which order it counts, and what stays at home.

use crate::support::{ALONE, Machine, Server, key, minute, now, run, settings, trusting};
use tamis_core::decide::{Cause, Decision, Demand};
use tamis_core::{Outcome, PortablePath, Question, Scheme, TestKey, Value};
use tamis_remote::pull::Wish;
use tamis_settings::remote::NAMES_FACT;

/// A world in which everything is as the runs of [`run`] saw it.
fn same(questions: &[Question], settings: &tamis_settings::Remote) -> Vec<Value> {
    let names = [b"API_TOKEN".as_slice(), b"LANG", b"USER"];
    let answer = |question: &Question| match question {
        Question::Path(path, _) => match path.to_string().strip_prefix("tests/") {
            Some(name) => Value::text(name.as_bytes()),
            None => Value::text(b"common"),
        },
        Question::Variable(_) => Value::text(b"C"),
        Question::Fact(name) if **name == *NAMES_FACT => {
            Value::Text(settings.names_between_machines(names.into_iter()))
        }
        _ => Value::Absent,
    };
    questions.iter().map(answer).collect()
}

fn decided(machine: &Machine, name: &str, settings: &tamis_settings::Remote) -> Decision {
    let tests = [TestKey::item("suite", name, ".")];
    let ask = |questions: &[Question]| same(questions, settings);
    let evidence = machine.store.evidence(&tests, &|_| true, &ask).unwrap();
    evidence.decide(0, &Demand::None)
}

fn shared(url: &str) {
    let ci = key(1);
    let settings = settings(url, &trusting(&[&ci]));
    let (ci, dev) = (Machine::new(&settings, ci), Machine::new(&settings, key(2)));
    let names = ["a", "b", "c"];
    let runs: Vec<_> = names.iter().map(|name| run(name, 1_000, Outcome::Passed)).collect();
    ci.store.append_many(&runs).unwrap();
    let pushed = ci.push().unwrap();
    assert_eq!((pushed.packs, pushed.records), (1, 3));
    let pulled = dev.pull();
    assert_eq!((pulled.packs, pulled.records, &pulled.refused), (1, 3, &Vec::new()), "{pulled:?}");
    for name in names {
        assert!(matches!(decided(&dev, name, &settings), Decision::Skip { .. }), "{name}");
    }
    // Nothing new: one request, nothing taken.
    let before = dev.remote.place().requests();
    assert_eq!(dev.pull().packs, 0);
    assert_eq!(dev.remote.place().requests() - before, 1);
    // What was sent does not come back as new, and is not sent twice.
    assert_eq!(ci.pull().records, 0);
    assert_eq!(ci.push().unwrap().packs, 0);
    // What a machine saw itself comes first, however new the records of others are.
    dev.store.append(&run("a", 500, Outcome::Failed(1))).unwrap();
    assert!(matches!(decided(&dev, "b", &settings), Decision::Skip { .. }));
    ci.store.append(&run("b", 2_000, Outcome::Failed(1))).unwrap();
    ci.push().unwrap();
    assert_eq!(dev.pull().records, 1);
    assert!(matches!(decided(&dev, "b", &settings), Decision::Run(Cause::DidNotPass(..))));
    let failed: Vec<String> =
        dev.store.not_passed().unwrap().into_iter().map(|test| test.key.unit.to_string()).collect();
    assert_eq!(failed, ["a", "b"]);
    // What is forgotten here stays forgotten, also if all is pulled again.
    let forgotten = TestKey::item("suite", "c", ".");
    dev.store.forget(&forgotten).unwrap();
    let mark = tamis_store::Forgotten { key: forgotten.clone(), inside: None };
    dev.store.mark_forgotten(&[mark]).unwrap();
    dev.remote.pull(&dev.store, Wish { again: true, accept_older: false }, minute());
    assert!(dev.store.history(&forgotten).unwrap().is_empty());
}

#[test]
fn what_ci_saw_counts_elsewhere_by_way_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    shared(&format!("file://{}", folder.path().display()));
}

#[test]
fn what_ci_saw_counts_elsewhere_by_way_of_s3() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(server) = Server::start() else { return };
    Server::environment(server.port());
    shared("s3://cache/tamis");
}

#[test]
fn a_secret_leaves_neither_name_nor_hash() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(&format!("file://{}", folder.path().display()), "");
    let machine = Machine::new(&settings, key(1));
    machine.store.append(&run("a", 1, Outcome::Passed)).unwrap();
    let all = machine.store.believed_records().unwrap();
    let shipment = machine.remote.shipment(&machine.store, &all).unwrap();
    let key = key(1);
    let bytes = tamis_remote::pack::write(&shipment, ("shop", "main"), &key, false).unwrap();
    let (header, body) = tamis_remote::pack::genuine(&bytes, ("shop", None)).unwrap();
    assert_eq!(tamis_remote::pack::expand(&header, body).unwrap(), shipment);
    let asks = |name: &[u8]| {
        let variable = Question::Variable(name.to_vec());
        shipment.observations.iter().any(|o| o.question == variable)
    };
    assert!(asks(b"LANG") && !asks(b"API_TOKEN"));
    assert!(shipment.observations.iter().all(|o| o.detail == tamis_core::record::Detail::None));
    let secret = Value::text(b"secret");
    assert!(shipment.observations.iter().all(|o| o.before != secret));
    // The set of names is another question between machines, which a secret does not change.
    assert!(!shipment.observations.iter().any(|o| o.question == Question::VariableNames));
    let names = |names: &[&'static [u8]]| settings.names_between_machines(names.iter().copied());
    assert_eq!(names(&[b"LANG", b"GH_TOKEN"]), names(&[b"LANG", b"USER"]));
    assert_ne!(names(&[b"LANG"]), names(&[b"LANG", b"CI"]));
}

/// Who the user is and what the machine is called does not count elsewhere; what else is in /etc does.
#[test]
fn files_of_a_machine_do_not_travel() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(&format!("file://{}", folder.path().display()), "");
    let machine = Machine::new(&settings, key(1));
    let mut run = run("a", now(), Outcome::Passed);
    for name in ["passwd", "hosts", "localtime", "passwd-"] {
        let mut one = run.observed[0].clone();
        let path = PortablePath::from_stored(format!("/etc/{name}"));
        one.question = Question::Path(path, Scheme::Raw);
        run.observed.push(one);
    }
    machine.store.append(&run).unwrap();
    let all = machine.store.believed_records().unwrap();
    let shipment = machine.remote.shipment(&machine.store, &all).unwrap();
    let travels = |name: &str| {
        let path = PortablePath::from_stored(format!("/etc/{name}"));
        let question = Question::Path(path, Scheme::Raw);
        shipment.observations.iter().any(|observed| observed.question == question)
    };
    assert!(travels("localtime") && travels("passwd-"));
    assert!(!travels("passwd") && !travels("hosts"));
}

#[test]
fn names_that_look_like_secrets() {
    let remote = settings("file:///x", "secrets = ['ACME_LICENCE']\n");
    for name in [
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD",
        "API_KEY",
        "APIKEY",
        "api_key",
        "KEY",
        "GOOGLE_CREDENTIALS",
        "SSH_PRIVATE_KEY",
        "DATABASE_DSN",
        "BASIC_AUTH",
        "ACME_LICENCE",
    ] {
        assert!(remote.is_secret(name.as_bytes()), "{name}");
        assert!(!remote.counts_between_machines(name.as_bytes()), "{name}");
    }
    for name in ["LANG", "PATH", "KEYBOARD", "MONKEY", "JAVA_HOME", "CI", "AUTHOR"] {
        assert!(remote.counts_between_machines(name.as_bytes()), "{name}");
    }
    for name in ["USER", "LOGNAME", "SHELL"] {
        assert!(
            !remote.counts_between_machines(name.as_bytes()) && !remote.is_secret(name.as_bytes())
        );
    }
}

#[test]
fn packs_are_put_together_and_old_ones_stay_for_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let ci = key(1);
    let settings = settings(&format!("file://{}", folder.path().display()), &trusting(&[&ci]));
    let ci = Machine::new(&settings, ci);
    let began = crate::support::now();
    let mut compacted = 0;
    for n in 0..40 {
        ci.store.append(&run(&format!("t{n}"), began + n, Outcome::Passed)).unwrap();
        compacted += ci.push().unwrap().compacted;
    }
    assert!(compacted >= 32, "{compacted}");
    let memory = tamis_remote::memory::Memory::default();
    let found = ci.remote.head("main", &memory, None, minute()).unwrap().unwrap();
    assert!(found.head.packs.len() < 20, "{}", found.head.packs.len());
    let packs = ci.remote.place().list("v1/shop/packs", minute()).unwrap();
    assert!(packs.len() >= 40, "readers of an older head still find what it names");
    // Whoever comes new gets all of it, in few requests.
    let dev = Machine::new(&settings, key(2));
    let pulled = dev.pull();
    assert_eq!((pulled.records, dev.tests().len()), (40, 40), "{pulled:?}");
    assert!(dev.remote.place().requests() < 20);
    let verified = dev.remote.verify(&dev.store, "main", minute()).unwrap();
    assert_eq!((verified.records, verified.wrong.len()), (40, 0));
    // Collecting removes nothing that is younger than a day.
    let done = ci.remote.collect(&ci.store, "main", &ci.key, minute()).unwrap();
    assert_eq!((done.retired, done.removed), (0, 0));
}
