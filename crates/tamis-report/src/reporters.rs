//! The reporters for people, programs and CI systems.

use crate::bottom::Size;
use crate::event::{Event, Reporter, Shape};
use crate::model::TestReport;
use crate::progress::Progress;
use crate::style::{Role, Style};
use crate::watch::Watch;
use crate::{human, json, junit, markdown, text};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tamis_core::{Step, Weight};

type Sink = Box<dyn Write + Send>;

/// For people: messages and progress on one stream, the tests' own output on another.
pub struct TerminalReporter {
    pub messages: Sink,
    pub outputs: Sink,
    pub style: Style,
    /// Columns and rows of the terminal behind the messages; `None` where it is none.
    pub size: fn() -> Option<Size>,
    /// Only warnings and the tests' own output.
    pub quiet: bool,
    pub progress: Option<Progress>,
    /// Reasons of tests that have to run and were not shown yet.
    reasons: Vec<TestReport>,
    watch: Option<Watch>,
}

impl std::fmt::Debug for TerminalReporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TerminalReporter").field("quiet", &self.quiet).finish_non_exhaustive()
    }
}

impl TerminalReporter {
    fn draw(
        &mut self,
        draw: impl FnOnce(&mut Progress, &mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        match &mut self.progress {
            Some(progress) => draw(progress, &mut self.messages),
            None => Ok(()),
        }
    }

    /// Messages and progress go to one place, the tests' output to another.
    pub fn new(messages: Sink, outputs: Sink, style: Style, size: fn() -> Option<Size>) -> Self {
        let (reasons, quiet) = (Vec::new(), false);
        Self { messages, outputs, style, size, quiet, progress: None, reasons, watch: None }
    }

    fn begin(
        &mut self,
        tests: usize,
        shape: Shape,
        collected: bool,
        expected: Option<Duration>,
    ) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        let size = (self.size)();
        let reasons = std::mem::take(&mut self.reasons);
        if shape == Shape::Suites {
            self.progress = Some(match size {
                Some((columns, _)) if collected => {
                    Progress::terminal(tests, columns, self.style).expecting(expected)
                }
                _ => Progress::lines(tests, self.style),
            });
        }
        if size.is_none() {
            return Ok(());
        }
        match (shape, reasons.as_slice()) {
            (Shape::Command, [one]) => {
                let name = human::one_line(&one.key.to_string());
                self.watch = Some(Watch::new(name, Instant::now(), expected));
                text::beginning(one, self.style, &mut self.messages)
            }
            _ => {
                let tests = human::counted(tests as u64, "test", "tests");
                let tamis = self.style.paint(Role::Strong, "tamis:");
                writeln!(self.messages, "{tamis} running {tests}")?;
                text::reasons(reasons, &mut self.messages)
            }
        }
    }

    /// What is decided about a test inside a command, or that it ended.
    fn inside(&mut self, step: Step<'_>) {
        if self.quiet || (self.size)().is_none() {
            return;
        }
        if let Step::Decided(planned) = step
            && planned.decision.is_run()
        {
            self.reasons.push(TestReport::of(planned));
        }
        if let Some(watch) = &mut self.watch {
            watch.step(step);
        }
    }

    /// A remark or warning; after it, the reasons of what was decided before it.
    fn noticed(&mut self, text: &str) -> io::Result<()> {
        self.draw(Progress::erase)?;
        writeln!(self.messages, "tamis: {text}")?;
        if self.watch.is_some() {
            let reasons = std::mem::take(&mut self.reasons);
            text::reasons(reasons, &mut self.messages)?;
        }
        Ok(())
    }

    fn tick(&mut self) -> io::Result<()> {
        let (now, size) = (Instant::now(), (self.size)());
        if let Some((columns, _)) = size {
            self.progress.iter_mut().for_each(|progress| progress.resize(columns));
        }
        if let Some(watch) = &mut self.watch {
            watch.tick(now, size, &mut self.messages)?;
        }
        self.draw(|progress, out| progress.tick(now, out))
    }

    fn stop(&mut self) -> io::Result<()> {
        if let Some(mut watch) = self.watch.take() {
            watch.end(&mut self.messages)?;
        }
        self.draw(Progress::erase)?;
        self.progress = None;
        Ok(())
    }
}

impl Drop for TerminalReporter {
    /// Also where tamis fails, the terminal is as it was before.
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

impl Reporter for TerminalReporter {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Planned { tests, .. } => {
                self.reasons =
                    tests.iter().filter(|test| test.decision.is_run()).cloned().collect();
                Ok(())
            }
            Event::Running { tests, shape, collected, expected } => {
                self.begin(*tests, *shape, *collected, *expected)
            }
            Event::Inside(step) => {
                self.inside(*step);
                Ok(())
            }
            Event::Started { key } => self.draw(|p, out| p.started(key, Instant::now(), out)),
            Event::Tick => self.tick(),
            Event::Output { bytes } => {
                self.draw(Progress::erase)?;
                self.outputs.write_all(bytes)?;
                self.outputs.flush()
            }
            Event::Finished { test, .. } => {
                self.draw(|p, out| p.finished(test, Instant::now(), out))
            }
            Event::Noticed(notice) if notice.weight > Weight::Remark || !self.quiet => {
                self.noticed(&notice.text)
            }
            Event::Stopped => self.stop(),
            Event::Summary { report, shape } if !self.quiet => {
                let (style, out) = (self.style, &mut self.messages);
                if report.interrupted && (self.size)().is_some() {
                    // The terminal shows ^C where the cursor was.
                    writeln!(out)?;
                }
                match (shape, report.tests.first()) {
                    (Shape::Command, Some(test)) => {
                        text::single(test, report.counts().saved, style, out)
                            .and_then(|()| text::still_failing(report, style, out))
                            .and_then(|()| text::after(report, style, out))
                    }
                    _ => text::summary(report, style, out),
                }
            }
            Event::Noticed(_) | Event::Summary { .. } => Ok(()),
        }
    }
}

/// For programs: JSON lines.
pub struct JsonReporter {
    pub out: Sink,
}

impl std::fmt::Debug for JsonReporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JsonReporter")
    }
}

impl Reporter for JsonReporter {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let out = &mut self.out;
        match event {
            Event::Planned { tests, mode } => {
                json::start(tests.len(), *mode, out)?;
                tests.iter().try_for_each(|test| json::decision(test, out))
            }
            Event::Finished { test, inside } => {
                json::finished(test, out)?;
                inside.iter().try_for_each(|test| {
                    json::decision(test, out)?;
                    if test.outcome.is_some() { json::finished(test, out) } else { Ok(()) }
                })
            }
            Event::Summary { report, .. } => {
                for failure in &report.still_failing {
                    json::still_failing(failure, out)?;
                }
                json::summary(report, out)?;
                out.flush()
            }
            _ => Ok(()),
        }
    }
}

/// For CI systems: JUnit XML in a file.
#[derive(Debug)]
pub struct JunitReporter {
    pub file: PathBuf,
}

impl Reporter for JunitReporter {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let Event::Summary { report, .. } = event else { return Ok(()) };
        let written = std::fs::File::create(&self.file).map(BufWriter::new).and_then(|mut out| {
            junit::write(report, &mut out)?;
            out.flush()
        });
        written.map_err(|error| cannot_write(&self.file, &error))
    }

    fn is_required(&self) -> bool {
        true
    }
}

/// For the job summary of GitHub Actions: Markdown at the end of a file.
#[derive(Debug)]
pub struct MarkdownReporter {
    pub file: PathBuf,
}

impl Reporter for MarkdownReporter {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let Event::Summary { report, .. } = event else { return Ok(()) };
        let opened = std::fs::File::options().append(true).create(true).open(&self.file);
        let written = opened.and_then(|mut file| markdown::write(report, &mut file));
        written.map_err(|error| cannot_write(&self.file, &error))
    }
}

fn cannot_write(file: &std::path::Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("the report {} cannot be written: {error}", file.display()))
}
