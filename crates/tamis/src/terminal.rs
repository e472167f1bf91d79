//! What the user's terminal can show.

use crate::args::{Color, Options};
use anyhow::Result;
use std::io::{IsTerminal, Write as _};
use tamis_core::{Notice, Notices};
use tamis_report::Style;
use tamis_report::json::Line;

/// One line of tamis's own on standard error, unless the user wants none.
pub(crate) fn say(options: &Options, what: &str) {
    if !options.common.quiet {
        note(what);
    }
}

/// Shows remarks and warnings of verbs that run no tests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Messages;

impl Notices for Messages {
    fn notice(&self, notice: Notice) {
        note(&notice.text);
    }
}

/// One line of tamis's own on standard error. A closed one is no error.
pub(crate) fn note(text: &str) {
    note_block(&format!("tamis: {text}\n"));
}

/// Lines of tamis's own on standard error, as they are.
pub(crate) fn note_block(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// An answer on standard output; a reader that has seen enough (`| head`) is no error.
pub(crate) fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// One line of JSON on standard output.
pub(crate) fn json(line: &Line) -> Result<()> {
    print(&(line.text()? + "\n"));
    Ok(())
}

/// Colours for messages on standard error.
pub(crate) fn style(options: &Options) -> Style {
    chosen(options, std::io::stderr().is_terminal())
}

/// Colours for answers on standard output.
pub(crate) fn output_style(options: &Options) -> Style {
    chosen(options, std::io::stdout().is_terminal())
}

fn chosen(options: &Options, terminal: bool) -> Style {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let coloured = match options.common.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
        }
    };
    if coloured { Style::coloured() } else { Style::plain() }
}

/// Columns and rows of the terminal behind standard error; `None` where there is none, it cannot move the
/// cursor, or tamis runs in the background.
pub(crate) fn size() -> Option<tamis_report::Size> {
    let stderr = std::io::stderr();
    let moves = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    if !moves || !stderr.is_terminal() {
        return None;
    }
    let foreground = rustix::termios::tcgetpgrp(&stderr);
    if foreground.is_ok_and(|group| group != rustix::process::getpgrp()) {
        return None;
    }
    let size = terminal_size::terminal_size_of(&stderr);
    Some(size.map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0))))
}
