//! The HTML file: the template with the headline figures as plain text, the styles, the script, and the data.
//!
//! What matters in the first seconds is in the HTML itself, so that it is there without JavaScript, on paper and
//! for a screen reader before the data is unpacked.

use crate::model::Report;
use crate::payload::{self, Payload};
use crate::words::{line, mood, verdict};
use askama::Template;
use std::io::{self, Write};
use tamis_report::excerpt;

/// Failures that stand in the HTML itself.
const MOST_FAILURES: usize = 50;

/// The parts of the script, in their order.
const SCRIPT: [&str; 9] = [
    include_str!("../assets/base.js"),
    include_str!("../assets/data.js"),
    include_str!("../assets/list.js"),
    include_str!("../assets/test.js"),
    include_str!("../assets/run.js"),
    include_str!("../assets/chart.js"),
    include_str!("../assets/time.js"),
    include_str!("../assets/replay.js"),
    include_str!("../assets/main.js"),
];

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    shown: &'a Shown<'a>,
    style: &'static str,
    script: String,
    version: &'static str,
}

/// What a page is made of.
pub(crate) struct Shown<'a> {
    pub(crate) project: &'a str,
    pub(crate) title: &'a str,
    pub(crate) headline: &'a Headline,
    pub(crate) payload: &'a Payload,
}

/// What stands at the top.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Headline {
    pub(crate) verdict: String,
    /// The class of the box: good, bad or warn.
    pub(crate) mood: &'static str,
    pub(crate) called: String,
    pub(crate) line: String,
    /// Name and message.
    pub(crate) failures: Vec<(String, String)>,
    pub(crate) more_failures: usize,
}

/// Writes the page of a report.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let headline = headline(report);
    let payload = payload::of(report);
    let project = &report.project;
    render(&Shown { project, title: "tests", headline: &headline, payload: &payload }, out)
}

pub(crate) fn render(shown: &Shown<'_>, out: &mut dyn Write) -> io::Result<()> {
    let style = include_str!("../assets/report.css");
    let page = Page { shown, style, script: SCRIPT.concat(), version: env!("CARGO_PKG_VERSION") };
    out.write_all(page.render().map_err(io::Error::other)?.as_bytes())
}

fn headline(report: &Report) -> Headline {
    let Some(run) = report.last() else {
        return Headline {
            verdict: "No run is known yet".into(),
            line: "run tests with tamis, then make this report again".into(),
            ..Headline::default()
        };
    };
    let failed = run.tests.iter().filter(|test| test.failed());
    let failures = failed.clone().take(MOST_FAILURES).map(|test| {
        let output = test.more.as_ref().and_then(|more| more.output.as_deref());
        let message = output.and_then(|text| excerpt::headline(text.as_bytes()));
        let how = test.outcome.map(|outcome| outcome.to_string()).unwrap_or_default();
        (test.key.to_string(), message.unwrap_or(how))
    });
    Headline {
        verdict: verdict(run),
        mood: mood(run),
        called: run.called.name.clone(),
        line: line(&run.figures),
        failures: failures.collect(),
        more_failures: failed.count().saturating_sub(MOST_FAILURES),
    }
}
