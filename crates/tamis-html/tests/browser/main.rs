//! The report in a real browser: Debian's chromium, headless. `TAMIS_PICTURES=DIR` keeps pictures.

mod driver;
mod replayed;
mod sample;

use driver::Browser;
use std::path::Path;
use tamis_testkit::need;

const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";
const DOWN: &str = "\u{e015}";
const END: &str = "\u{e010}";
const RIGHT: &str = "\u{e014}";

fn can_browse() -> bool {
    need("chromedriver") && need("chromium")
}

fn open(browser: &Browser, file: &Path, part: &str) {
    // Another page first: a change of the part behind # alone opens nothing.
    browser.open("about:blank");
    browser.open(&format!("file://{}{part}", file.display()));
    browser.until("return document.documentElement.dataset.ready === 'yes';");
}

/// The sentence above the list of tests.
fn count(browser: &Browser) -> String {
    browser.text("return document.querySelector('.count').textContent;")
}

#[test]
fn the_report_of_a_project() {
    if !can_browse() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let report = sample::report(&folder.path().join("store"));
    let files =
        tamis_html::write_folder(&report, &folder.path().join("out"), "index.html").unwrap();
    let browser = Browser::start();
    browser.size(1280, 900);
    browser.media("light", "screen");
    open(&browser, &files.html, "");
    the_first_look(&browser);
    browser.picture("run-light");
    search_and_filters(&browser);
    one_test(&browser, &files.html);
    foreign_text(&browser);
    over_time(&browser);
    inputs(&browser);
    another_call(&browser);
    browser.click("#tab-inputs");
    themes(&browser);
    on_a_phone(&browser, &files.html);
    on_paper(&browser);
    let resources = "return performance.getEntriesByType('resource').length;";
    assert_eq!(browser.number(resources), 0.0, "the page asked for something else");
    assert_eq!(browser.complaints(), [""; 0]);
}

fn the_first_look(browser: &Browser) {
    let verdict = browser.text("return document.querySelector('h1').textContent;");
    assert!(
        verdict.starts_with(
            "2 of 15 tests that ran failed; 1 flaky test; 1 test did not end; 1 still failing"
        ),
        "{verdict}"
    );
    assert_eq!(
        browser.text("return document.querySelector('.brand span').textContent;"),
        "teapot <&>"
    );
    let tiles = browser.text("return document.querySelector('.tiles').innerText;");
    for part in
        ["ran of 61 tests", "failed, and 1 flaky", "did not end", "skipped, each with a proof"]
    {
        assert!(tiles.contains(part), "{tiles}");
    }
    let took = browser.text("return document.querySelector('.tiles').lastElementChild.innerText;");
    assert!(took.contains("took in all") && !took.starts_with("0 s"), "{took}");
    let failures = browser.text("return document.querySelector('.failures').innerText;");
    assert!(failures.contains("expected <3> & got \"4\""), "{failures}");
    assert!(failures.contains("2 runs before failed too"), "{failures}");
    assert_eq!(count(browser), "67 tests");
    let still = "return [...document.querySelectorAll('h2')].some((h) => h.textContent.startsWith('Still failing'));";
    assert_eq!(browser.ask(still), true);
}

fn search_and_filters(browser: &Browser) {
    browser.keys("/");
    browser.keys("t4");
    assert_eq!(browser.text("return document.activeElement.id;"), "search");
    browser.until("return document.querySelector('.count').textContent === '11 of 67 tests';");
    browser.ask("const s = document.getElementById('search'); s.value = 'LEXER unit'; s.dispatchEvent(new Event('input'));");
    let found = count(browser);
    assert!(found.ends_with(" of 67 tests") && !found.starts_with("0 "), "{found}");
    let rows = "return [...document.querySelectorAll('.row')].every((r) => r.textContent.includes('lexer.c changed') && r.textContent.includes('unit'));";
    assert_eq!(browser.ask(rows), true);
    browser.click(".filters button");
    browser.click("#chips button[data-states='4']");
    assert_eq!(count(browser), "45 of 67 tests");
    browser.ask("const s = document.getElementById('suite'); s.value = [...s.options].find((o) => o.text === 'api').value; s.dispatchEvent(new Event('change'));");
    let skipped = count(browser);
    assert!(skipped.ends_with("of 67 tests") && skipped != "45 of 67 tests", "{skipped}");
    browser.click(".filters button");
    browser.ask("const s = document.getElementById('why'); s.value = [...s.options].find((o) => o.text.startsWith('never run before')).value; s.dispatchEvent(new Event('change'));");
    assert_eq!(count(browser), "2 of 67 tests");
    browser.click(".filters button");
    // A tile filters, too; the results are sorted with failures first.
    browser.click(".tile.failed");
    assert_eq!(count(browser), "3 of 67 tests");
    browser.click(".filters button");
    browser.click(".list .head .time");
    let sorted = "const t = [...document.querySelectorAll('.row .time')].map((n) => n.textContent); return t[0];";
    assert!(browser.text(sorted).ends_with(" s"));
    browser.click(".list .head .state");
}

fn one_test(browser: &Browser, file: &Path) {
    browser.ask("document.querySelector('.window').focus();");
    browser.keys(DOWN);
    browser.keys(ENTER);
    browser.until("return document.getElementById('test').dataset.ready !== undefined;");
    let text = browser.text("return document.getElementById('test').innerText;");
    for part in ["Ran because", "History (", "Inputs in the project (", "Elsewhere (", "tamis why"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    browser.keys(ESCAPE);
    browser.until("return !document.getElementById('test').open;");
    assert_eq!(browser.text("return document.activeElement.className;"), "window");
    // A failure, by its link: with its message as it was printed, its inputs, and what changed since.
    open(browser, file, "#test=api%3A%3Atests%2Ft4.sh");
    browser.until("return document.getElementById('test').dataset.ready === 'api::tests/t4.sh';");
    browser.picture("test-light");
    let output = browser.text("return document.querySelector('#test pre').textContent;");
    assert!(output.contains("in </script> block"), "{output}");
    let text = browser.text("return document.getElementById('test').innerText;");
    for part in [
        "src/parse/lexer.c changed",
        "src/util/strings.h",
        "config/local.toml (not there)",
        "environment variables 1",
        "same inputs as the run before",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("/usr/lib/libc.so.6"), "inputs elsewhere are counted: {text}");
    browser.click("#test .bar button");
}

fn foreign_text(browser: &Browser) {
    assert_eq!(browser.ask("return window.hacked === undefined;"), true);
    browser.ask("const s = document.getElementById('search'); s.value = 'script'; s.dispatchEvent(new Event('input'));");
    assert_eq!(count(browser), "1 of 67 tests");
    let name = browser.text("return document.querySelector('.row .name').firstChild.textContent;");
    assert_eq!(name, sample::HOSTILE[0]);
    browser.click(".row");
    browser.until("return document.getElementById('test').dataset.ready !== undefined;");
    let name = browser.text("return document.getElementById('test-name').textContent;");
    assert_eq!(name, format!("unit::{}", sample::HOSTILE[0]));
    browser.click("#test .bar button");
    browser.click(".filters button");
    assert_eq!(
        browser.ask("return window.hacked === undefined && !document.querySelector('img');"),
        true
    );
    // The longest name is in one row and does not widen the page.
    assert_eq!(browser.ask("return document.documentElement.scrollWidth <= innerWidth;"), true);
}

fn over_time(browser: &Browser) {
    browser.ask("document.getElementById('tab-run').focus();");
    browser.keys(RIGHT);
    assert_eq!(browser.text("return document.activeElement.id;"), "tab-time");
    browser.picture("time-light");
    let text = browser.text("return document.getElementById('view').innerText;");
    for part in [
        "Saved: ",
        "Selected share per run",
        "all would have taken",
        "Flaky tests (1)",
        "Tests that run every time (1)",
        "127.0.0.1:5432",
        "Tests that ran needlessly (",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let bars = browser.number("return document.querySelectorAll('svg .saved').length;");
    assert!(bars > 10.0, "{bars}");
    browser.ask("document.querySelector('svg [tabindex=\"0\"]').focus();");
    let tip = browser.text("return document.getElementById('tip').textContent;");
    assert!(tip.contains("saved") && tip.contains("since the first record"), "{tip}");
    browser.ask("document.querySelector('.link').click();");
    browser.until("return document.getElementById('test').dataset.ready !== undefined;");
    browser.click("#test .bar button");
}

fn inputs(browser: &Browser) {
    browser.click("#tab-inputs");
    browser.picture("inputs-light");
    let text = browser.text("return document.getElementById('view').innerText;");
    assert!(text.contains("Editing src/util/strings.h runs up to 66 tests"), "{text}");
    let boxes = "return document.querySelectorAll('.map .mark:not(.inner)').length;";
    assert_eq!(browser.number(boxes), 3.0);
    assert!(browser.number("return document.querySelectorAll('.map .inner').length;") > 4.0);
    // Into src, and out again by the crumb.
    browser.ask("const m = [...document.querySelectorAll('.map .mark:not(.inner)')].find((n) => n.getAttribute('aria-label').startsWith('src/')); m.focus();");
    browser.keys(ENTER);
    assert_eq!(browser.number(boxes), 4.0);
    assert!(browser.text("return document.querySelector('.crumbs').textContent;").ends_with("src"));
    browser.click(".crumbs button");
    assert_eq!(browser.number(boxes), 3.0);
}

/// The last runs of other calls can be chosen, and what stands at the top is about the one that is shown.
fn another_call(browser: &Browser) {
    browser.click("#tab-run");
    browser.ask("const s = document.getElementById('run'); s.value = '1'; s.dispatchEvent(new Event('change'));");
    let verdict = "return document.querySelector('h1').textContent;";
    assert_eq!(browser.text(verdict), "1 test would have been missed");
    assert_eq!(
        browser.text("return document.querySelector('.called').textContent;"),
        "./check.sh --all"
    );
    let view = browser.text("return document.getElementById('view').innerText;");
    for part in ["Time by phase: run 3.0 s", "shadow: would have skipped 1 of 1", "MISS ./check.sh"]
    {
        assert!(view.contains(part), "{part}: {view}");
    }
    let ran = browser.text("return document.querySelector('.reasons').innerText;");
    assert!(ran.contains("asked for by --all"), "{ran}");
    assert_eq!(
        browser.ask("return document.getElementById('verdict').classList.contains('bad');"),
        true
    );
    browser.ask("const s = document.getElementById('run'); s.value = '0'; s.dispatchEvent(new Event('change'));");
    assert!(browser.text(verdict).starts_with("2 of 15"));
}

fn themes(browser: &Browser) {
    let ground = "return getComputedStyle(document.body).backgroundColor;";
    let light = browser.text(ground);
    browser.media("dark", "screen");
    let dark = browser.text(ground);
    assert_ne!(light, dark);
    // The button comes before the system.
    browser.click("#theme");
    assert_eq!(browser.text(ground), light);
    browser.click("#theme");
    browser.media("light", "screen");
    assert_eq!(browser.text(ground), dark);
    browser.picture("inputs-dark");
    browser.click("#tab-time");
    browser.picture("time-dark");
    browser.click("#tab-run");
    browser.picture("run-dark");
    readable(browser);
    browser.click("#theme");
    assert_eq!(browser.text(ground), light);
    readable(browser);
}

/// Text stands out from its ground by at least 4.5 to 1, as WCAG asks for.
fn readable(browser: &Browser) {
    let worst = browser.text(
        "const lum = (c) => { const v = c.match(/[\\d.]+/g).slice(0, 3).map((n) => { n /= 255; return n <= 0.03928 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4; }); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
         const ground = (n) => { for (; n; n = n.parentElement) { const c = getComputedStyle(n).backgroundColor; if (!/, 0\\)$|transparent/.test(c)) return c; } return 'rgb(255,255,255)'; };
         const bad = [];
         for (const n of document.querySelectorAll('h1, h2, p, span, small, button, option, a, b')) {
           if (!n.textContent.trim() || n.closest('[hidden], .printed, .skip')) continue;
           const a = lum(getComputedStyle(n).color), b = lum(ground(n));
           const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
           if (ratio < 4.5) bad.push(n.className + ' ' + n.textContent.slice(0, 30) + ' ' + ratio.toFixed(2));
         }
         return bad.slice(0, 5).join('; ');",
    );
    assert_eq!(worst, "");
}

fn on_a_phone(browser: &Browser, file: &Path) {
    browser.size(360, 740);
    open(browser, file, "#run");
    browser.picture("run-phone");
    for tab in ["run", "time", "inputs"] {
        browser.click(&format!("#tab-{tab}"));
        let wide = "return [document.documentElement.scrollWidth, innerWidth].join();";
        assert_eq!(browser.text(wide), "360,360", "{tab} scrolls sideways");
    }
    browser.picture("inputs-phone");
    browser.click("#tab-run");
    browser.ask("document.querySelector('.window').focus();");
    browser.keys(END);
    let last =
        browser.text("return document.querySelector('.row.active').getAttribute('aria-posinset');");
    assert_eq!(last, "67");
    browser.picture("list-phone");
    browser.size(1280, 900);
}

fn on_paper(browser: &Browser) {
    browser.media("light", "print");
    browser.ask("dispatchEvent(new Event('beforeprint'));");
    let rows = browser.number("return document.querySelectorAll('.printed tbody tr').length;");
    assert_eq!(rows, 67.0);
    let shown = "return getComputedStyle(document.querySelector('.list')).display + getComputedStyle(document.querySelector('.printed')).display;";
    assert_eq!(browser.text(shown), "noneblock");
    browser.picture("print");
    browser.media("light", "screen");
}

#[test]
fn a_store_without_runs_and_a_replay() {
    if !can_browse() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = tamis_store::Store::open(&folder.path().join("store")).unwrap();
    let sources = tamis_html::Sources {
        store: &store,
        planned: &[],
        ask: &|questions| vec![tamis_core::Value::Absent; questions.len()],
        source_of: &|_| None,
        project: "empty".into(),
        now_ms: sample::NOW,
    };
    let report = tamis_html::gather(&sources).unwrap();
    let files = tamis_html::write_folder(&report, &folder.path().join("out"), "x").unwrap();
    let browser = Browser::start();
    browser.size(1280, 900);
    open(&browser, &files.html, "");
    assert_eq!(
        browser.text("return document.querySelector('h1').textContent;"),
        "No run is known yet"
    );
    for tab in ["time", "inputs", "run"] {
        browser.click(&format!("#tab-{tab}"));
    }
    replayed::shown(&browser, folder.path());
    assert_eq!(browser.complaints(), [""; 0]);
}
