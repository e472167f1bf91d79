//! What the plugin sends: one JSON text per payload.

use serde::Deserialize;

/// A message of the plugin.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Message {
    Ask(Ask),
    Test(Box<TestEnded>),
    Window(WindowClosed),
    Deselected {
        #[allow(dead_code)]
        deselected: bool,
    },
}

/// All tests that pytest would run: which of them need to?
#[derive(Debug, Deserialize)]
pub(crate) struct Ask {
    pub(crate) ask: Vec<String>,
    /// In which way they run.
    pub(crate) scope: String,
    /// Where the tests' ids begin, relative to the root.
    pub(crate) folder: String,
    /// Why all of them have to run.
    pub(crate) everything: Option<String>,
    /// Which run of pytest asks: all workers of one have the same.
    pub(crate) run: String,
}

/// What ran in a window of the process.
#[derive(Debug, Deserialize)]
pub(crate) struct WindowClosed {
    pub(crate) window: u32,
    /// File and qualified name of each code object.
    pub(crate) bodies: Vec<(String, String)>,
    /// Sources that were read as data.
    #[serde(default)]
    pub(crate) read: Vec<String>,
    /// Folders that were listed only to find installed distributions and conftests.
    #[serde(default)]
    pub(crate) lists: Vec<String>,
}

/// A test ended: what it used.
#[derive(Debug, Deserialize)]
pub(crate) struct TestEnded {
    pub(crate) test: String,
    pub(crate) passed: bool,
    /// Microseconds.
    pub(crate) wall: u64,
    /// In the order in which they opened.
    pub(crate) windows: Vec<u32>,
    /// Modules that it can reach.
    pub(crate) modules: Vec<String>,
    /// Files that would count if they were there.
    pub(crate) looks: Vec<String>,
    /// Functions were not watched: modules count as a whole.
    pub(crate) whole: bool,
    pub(crate) incomplete: Option<String>,
    /// It forked: any function of these may have run in the copy.
    #[serde(default)]
    pub(crate) all: Vec<String>,
}

impl Message {
    pub(crate) fn read(payload: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(payload).map_err(|e| format!("a message was not understood: {e}"))
    }
}
