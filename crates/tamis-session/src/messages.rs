//! What tests printed or reported when they did not pass, kept with them in the store, so that later reports
//! can show it. Losing one costs a message and nothing else.

use tamis_core::TestKey;
use tamis_report::TestReport;
use tamis_report::excerpt::excerpt;
use tamis_store::Store;

/// Remembers the message of a test with a record: what shows the failure, in some kilobytes.
pub fn save(store: Option<&Store>, key: &TestKey, text: &[u8]) {
    let text = excerpt(text);
    // Without it a later report is poorer, nothing else.
    let _ = store.map(|store| store.set_message(key, Some(text.as_bytes())));
}

/// Keeps the message of a test if it did not pass; drops the one from before.
pub fn keep(store: Option<&Store>, report: &TestReport) {
    match &report.output {
        Some(text) if report.failed() && !text.is_empty() => save(store, &report.key, text),
        _ => drop(store.map(|store| store.set_message(&report.key, None))),
    }
}

/// The message from when a test did not pass.
pub fn load(store: &Store, key: &TestKey) -> Option<String> {
    let text = store.message(key).ok()??;
    Some(String::from_utf8_lossy(&text).into_owned())
}
