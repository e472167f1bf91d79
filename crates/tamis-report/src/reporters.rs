//! The reporters for people, programs and CI systems.

use crate::event::{Event, Reporter, Shape};
use crate::progress::Progress;
use crate::style::Style;
use crate::{json, junit, markdown, text};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::time::Instant;
use tamis_core::Weight;

type Sink = Box<dyn Write + Send>;

/// For people: messages and progress on one stream, the tests' own output on another.
pub struct TerminalReporter {
    pub messages: Sink,
    pub outputs: Sink,
    pub style: Style,
    /// The width of the terminal behind the messages; `None` where it is none.
    pub columns: Option<usize>,
    /// Only warnings and the tests' own output.
    pub quiet: bool,
    pub progress: Option<Progress>,
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

    fn begin(&mut self, tests: usize, shape: Shape, collected: bool) {
        if shape == Shape::Suites && !self.quiet {
            self.progress = Some(match self.columns {
                Some(columns) if collected => Progress::terminal(tests, columns, self.style),
                _ => Progress::lines(tests, self.style),
            });
        }
    }
}

impl Reporter for TerminalReporter {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Running { tests, shape, collected } => {
                self.begin(*tests, *shape, *collected);
                Ok(())
            }
            Event::Started { key } => self.draw(|p, out| p.started(key, Instant::now(), out)),
            Event::Tick => self.draw(|p, out| p.tick(Instant::now(), out)),
            Event::Output { bytes } => {
                self.draw(Progress::erase)?;
                self.outputs.write_all(bytes)?;
                self.outputs.flush()
            }
            Event::Finished { test, .. } => {
                self.draw(|p, out| p.finished(test, Instant::now(), out))
            }
            Event::Noticed(notice) if notice.weight > Weight::Remark || !self.quiet => {
                self.draw(Progress::erase)?;
                writeln!(self.messages, "tamis: {}", notice.text)
            }
            Event::Stopped => {
                self.draw(Progress::erase)?;
                self.progress = None;
                Ok(())
            }
            Event::Summary { report, shape } if !self.quiet => {
                let (style, out) = (self.style, &mut self.messages);
                match (shape, report.tests.first()) {
                    (Shape::Command, Some(test)) => {
                        text::single(test, report.counts().saved, style, out)
                            .and_then(|()| text::still_failing(report, style, out))
                    }
                    _ => text::summary(report, style, out),
                }
            }
            Event::Planned { .. } | Event::Noticed(_) | Event::Summary { .. } => Ok(()),
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
