//! The result of a replay, made up, in the browser.

use crate::driver::Browser;
use serde_json::{Value, json};
use std::path::Path;

const STRATEGIES: [&str; 2] = ["records", "static"];

fn commit(n: usize) -> String {
    format!("{:040x}", 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834_u128.wrapping_mul(n as u128 + 1))
        .chars()
        .rev()
        .collect()
}

fn selection(n: usize, strategy: &str) -> Value {
    let selected = (n * 37 + strategy.len() * 11) % 200;
    let missed = json!([{
        "test": "mvn:.::a.ReflectiveTest", "outcome": "failed with exit code 1",
        "believed": "no change can be reached from it", "changed": ["src/main/java/a/Plugin.java"],
    }]);
    json!({
        "strategy": strategy, "tests": 230, "selected": selected,
        "all_seconds": 40.0, "selected_seconds": selected as f64 * 0.17,
        "offline_seconds": 0.5 + selected as f64 * 0.17, "online_seconds": 1.0 + selected as f64 * 0.2,
        "phases": {}, "missed": if n == 7 && strategy == "static" { missed } else { json!([]) },
        "needless": vec!["a"; n % 5],
    })
}

fn revision(n: usize) -> Value {
    let built = n != 12;
    let all: Vec<Value> = STRATEGIES.iter().map(|strategy| selection(n, strategy)).collect();
    let mut line = json!({
        "event": "revision", "version": 1, "commit": commit(n),
        "subject": format!("change {n}: <b>bold</b> & \"quoted\""), "committed_ms": crate::sample::NOW,
        "changed_files": 3, "state": if built { "ran" } else { "not-built" }, "wall_seconds": 50.0,
        "selections": if built { all } else { Vec::new() }, "failed": [], "flaky": [],
    });
    if !built {
        line["problem"] = json!("javac: 3 errors");
    }
    line
}

/// The lines of a replay of thirty revisions, of which one is still to come; the last line was cut off.
fn lines() -> String {
    let summary = |strategy: &&str| {
        json!({
            "event": "replay-summary", "version": 1, "strategy": strategy, "revisions": 28, "left_out": 1,
            "tests": 6_440, "selected": 2_650, "selected_percent": 41.2, "offline_percent": 44.0,
            "online_percent": 51.5, "all_seconds": 1120.0, "offline_seconds": 500.0, "online_seconds": 577.0,
            "missed": usize::from(*strategy == "static"), "needless": 60, "failed": 0, "flaky": 0,
            "first_run_overhead_percent": 35.0, "break_even": 2, "every": [{ "n": 5, "saved_percent": 38.0 }],
            "mutants": 0, "mutants_killed": 0, "mutants_missed": 0,
        })
    };
    let replay = json!({
        "event": "replay", "version": 1, "tamis": "0.1.0", "command": "mvn -q test", "folder": ".",
        "range": "v1.2..main", "strategies": STRATEGIES, "estimate": false,
        "revisions": (0..30).map(commit).collect::<Vec<_>>(), "began_ms": crate::sample::NOW,
    });
    let mut lines = vec![replay, revision(3)];
    lines.extend((0..29).rev().map(revision));
    lines.extend(STRATEGIES.iter().map(summary));
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    lines.join("\n") + "\n{\"event\":\"revision\",\"comm"
}

pub(crate) fn shown(browser: &Browser, folder: &Path) {
    assert!(tamis_html::write_replay("{}", "teapot", &mut Vec::new()).is_err());
    let file = folder.join("replay.html");
    let mut out = std::fs::File::create(&file).unwrap();
    tamis_html::write_replay(&lines(), "teapot", &mut out).unwrap();
    crate::open(browser, &file, "");
    browser.picture("replay");
    let text = browser.text("return document.querySelector('main').innerText;");
    for part in [
        "28 revisions replayed: 1 test was missed",
        "1 revision could not be run · 1 revision still to come",
        "Safety violations",
        "Precision violations",
        "Missed (1)",
        "a.ReflectiveTest",
        "no change can be reached from it",
        "did not build: javac: 3 errors",
        "recording every Nth run saves 38% (N = 5)",
        "change 3: <b>bold</b> & \"quoted\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // One mark for each revision that ran, with its commit, oldest first.
    let marks = "return document.querySelector('svg').querySelectorAll('.mark').length;";
    assert_eq!(browser.number(marks), 28.0);
    let label =
        browser.text("return document.querySelector('svg .mark').getAttribute('aria-label');");
    assert!(label.starts_with(&commit(0)[..10]), "{label}");
    assert!(label.contains("records: ") && label.contains("static: "), "{label}");
    assert_eq!(
        browser.number("return document.querySelectorAll('#revisions tbody tr').length;"),
        57.0
    );
    browser.size(360, 740);
    crate::open(browser, &file, "");
    let wide = "return [document.documentElement.scrollWidth, innerWidth].join();";
    assert_eq!(browser.text(wide), "360,360");
    browser.picture("replay-phone");
}
