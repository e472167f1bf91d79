//! Runs that need not be, and reasons that say what is the matter: tools that write down what they do,
//! variables, several records, engines that come too late.

use std::fs;
use tamis_testkit::Project;

/// Files of tools below the home folder, and whether they count.
const STATE: [(&str, bool); 8] = [
    (".npm/_logs/1-debug-0.log", false),
    (".config/go/telemetry/local/go.count", false),
    (".cargo/.global-cache", false),
    (".cache/pip/selfcheck/abc", false),
    (".cache/ccache/0/1/stats", false),
    (".npmrc", true),
    (".cargo/config.toml", true),
    (".cache/ccache/ccache.conf", true),
];

fn put(project: &Project, file: &str, content: &str) {
    let path = project.beside("home").join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn the_state_of_tools_is_no_input_and_their_settings_are() {
    let reads: String = STATE.iter().map(|(file, _)| format!("cat ~/{file}\n")).collect();
    let script = format!("{reads}ls ~/.npm/_logs\necho x >> ~/.npm/_logs/own.log\n");
    let project = Project::with(&[("t.sh", &script)]);
    STATE.iter().for_each(|(file, _)| put(&project, file, "1"));
    let test = ["sh", "t.sh"];
    project.assert_ran(&test);
    project.assert_skipped(&test);
    put(&project, ".npm/_logs/2-debug-0.log", "another call of npm");
    for (n, (file, counts)) in STATE.iter().enumerate() {
        put(&project, file, &format!("changed {n}"));
        if *counts {
            let reason = project.assert_ran(&test);
            assert!(reason.contains(file), "{file}: {reason}");
        }
        project.assert_skipped(&test);
    }
    // Switched off, it counts; what others keep can be added.
    project.write("tamis.toml", "[tamis.tool-state]\nexcept = ['npm']\nignore = ['~/.npmrc']\n");
    project.assert_ran(&test);
    put(&project, ".npm/_logs/1-debug-0.log", "again");
    project.assert_ran(&test);
    put(&project, ".npmrc", "again");
    project.assert_skipped(&test);
}

#[test]
fn git_status_in_between_changes_nothing() {
    let project = Project::with(&[("a", "1"), ("t.sh", "git diff --cached --name-only\ncat a\n")]);
    project.commit();
    let test = ["sh", "t.sh"];
    project.assert_ran(&test);
    let index = || fs::read(project.path(".git/index")).unwrap();
    let before = index();
    // The same content with other times: git writes them down.
    let late = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(project.path("a")).unwrap().set_modified(late).unwrap();
    project.git(&["status"]);
    assert_ne!(index(), before, "git has refreshed its index");
    project.assert_skipped(&test);
    project.write("b", "new");
    project.git(&["add", "b"]);
    let reason = project.assert_ran(&test);
    assert!(reason.contains(".git/index"), "{reason}");
}

#[test]
fn a_variable_names_itself() {
    let mut project = Project::with(&[("t.sh", "true\n")]);
    let test = ["sh", "t.sh"];
    project.assert_ran(&test);
    project.set("FOO_TOKEN", "1");
    assert_eq!(project.assert_ran(&test), "variable FOO_TOKEN is new");
    project.assert_skipped(&test);
    project.set("FOO_TOKEN", "2");
    assert_eq!(project.select(&test)["sh t.sh"].reason, "variable FOO_TOKEN changed");
    let why = project.answer(&["why", "sh t.sh"]);
    assert!(why.contains("variable FOO_TOKEN changed"), "{why}");
    project.set("FOO_TOKEN", "1");
    project.set("BAR", "1");
    project.set("BAZ", "1");
    let why = project.answer(&["why", "sh t.sh"]);
    assert!(why.contains("variable BAR is new") && why.contains("variable BAZ is new"), "{why}");
    assert!(!why.contains("the set of environment variables"), "{why}");
    project.unset("BAR");
    project.unset("BAZ");
    project.write("tamis.toml", "[tamis.environment]\nonly = ['FOO_*', 'PATH']\n");
    project.assert_ran(&test);
    project.set("BAR", "2");
    project.assert_skipped(&test);
    project.unset("FOO_TOKEN");
    assert_eq!(project.assert_ran(&test), "variable FOO_TOKEN is gone");
}

#[test]
fn the_nearest_record_gives_the_reason() {
    let project = Project::with(&[("t.sh", "cat a b c d\n")]);
    let test = ["sh", "t.sh"];
    let write = |content: [&str; 4]| {
        for (name, content) in ["a", "b", "c", "d"].iter().zip(content) {
            project.write(name, content);
        }
    };
    write(["1", "1", "1", "1"]);
    project.assert_ran(&test);
    write(["2", "2", "2", "2"]);
    project.assert_ran(&test);
    // One difference from the older, three from the newer.
    write(["1", "1", "1", "2"]);
    assert_eq!(project.select(&test)["sh t.sh"].reason, "d changed");
    let why = project.answer(&["why", "sh t.sh"]);
    assert!(why.contains("record #1") && !why.contains("a changed"), "{why}");
    assert_eq!(project.assert_ran(&test), "d changed");
}

#[test]
fn a_failure_that_could_not_be_observed_hides_no_proof_of_another_state() {
    let script = "cat a\nif grep -q bad a; then exec 3<>pipe; exit 1; fi\n";
    let project = Project::with(&[("t.sh", script), ("a", "good")]);
    project.tool(&["mkfifo", "pipe"]);
    let test = ["sh", "t.sh"];
    project.assert_ran(&test);
    project.write("a", "bad");
    assert_eq!(project.tamis(&["sh", "t.sh"]).code, 1);
    let reason = project.assert_ran(&test);
    assert!(reason.contains("failed with exit code 1"), "in its own state it stays: {reason}");
    project.write("a", "good");
    project.assert_skipped(&test);
}

/// With the engine that tamis chooses: eBPF where that is possible, which comes too late here.
#[test]
fn a_test_that_was_too_quick_costs_one_run_for_each_change() {
    let project = Project::named("quick");
    project.write(
        "t.sh",
        "read x < src\nfor i in 1 2 3 4 5 6 7 8; do read y < data; echo $y > data; done\n",
    );
    project.write("src", "1\n");
    project.write("data", "1\n");
    let test = ["sh", "t.sh"];
    project.assert_ran(&test);
    // That it was too quick is known after the first run.
    project.run(&test);
    for round in 2..5 {
        project.write("src", format!("{round}\n"));
        assert_eq!(project.assert_ran(&test), "src changed");
        project.assert_skipped(&test);
    }
}
