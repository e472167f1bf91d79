//! One line at the bottom of a terminal while a command writes to the same terminal above it.
//!
//! The command's streams are the user's own, so tamis does not see when it writes. The last row is
//! therefore taken out of the part that scrolls (DECSTBM, as `apt` does it), and is drawn with the cursor
//! saved and restored: what the command prints is never torn, and its colours and its half lines stay.
//! Each drawing is one write, which a terminal takes as a whole.
//!
//! Not seen: a command that uses the whole screen (an editor) draws over the line and sets the part that
//! scrolls itself. A tamis that is ended by SIGKILL leaves it set; `reset` mends that.

use crate::human;
use std::io::{self, Write};

/// Columns and rows of a terminal.
pub type Size = (usize, usize);

/// A terminal with fewer rows has no room for it.
const FEWEST_ROWS: usize = 5;

/// The line, and for how many rows room was made.
#[derive(Debug, Default)]
pub(crate) struct Bottom {
    rows: Option<usize>,
}

impl Bottom {
    /// Draws the line; makes room for it where there is none yet.
    pub(crate) fn draw(&mut self, text: &str, size: Size, out: &mut dyn Write) -> io::Result<()> {
        let (columns, rows) = size;
        if rows < FEWEST_ROWS {
            return self.end(out);
        }
        let mut bytes = String::new();
        if self.rows != Some(rows) {
            if self.rows.is_some() {
                bytes += "\x1b7\x1b[r\x1b8";
            }
            // Down one row, which scrolls if need be and keeps the column; then back up.
            bytes += &format!("\x0b\x1b7\x1b[1;{}r\x1b8\x1b[A", rows - 1);
            self.rows = Some(rows);
        }
        let text = human::cut(&human::one_line(text), columns.saturating_sub(1));
        bytes += &format!("\x1b7\x1b[{rows};1H\x1b[2K\x1b[m{text}\x1b8");
        out.write_all(bytes.as_bytes())?;
        out.flush()
    }

    /// Gives the row back.
    pub(crate) fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Some(rows) = self.rows.take() else { return Ok(()) };
        let bytes = format!("\x1b7\x1b[{rows};1H\x1b[2K\x1b[r\x1b8");
        out.write_all(bytes.as_bytes())?;
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = (30, 6);

    /// A terminal as a user sees it.
    struct Screen(vt100::Parser, Bottom);

    impl Screen {
        fn new() -> Self {
            Self(vt100::Parser::new(6, 30, 100), Bottom::default())
        }

        /// The command writes, by way of the terminal's driver.
        fn command(&mut self, text: &str) {
            self.0.process(text.replace('\n', "\r\n").as_bytes());
        }

        fn draw(&mut self, text: &str) {
            let mut out = Vec::new();
            self.1.draw(text, SIZE, &mut out).unwrap();
            self.0.process(&out);
        }

        fn end(&mut self) {
            let mut out = Vec::new();
            self.1.end(&mut out).unwrap();
            self.0.process(&out);
        }

        fn rows(&self) -> Vec<String> {
            self.0.screen().rows(0, 30).map(|row| row.trim_end().to_owned()).collect()
        }
    }

    #[test]
    fn the_commands_lines_stay_whole_wherever_the_cursor_is() {
        let mut screen = Screen::new();
        for n in 0..20 {
            screen.command(&format!("begin {n} "));
            screen.draw(&format!("status {n}, a line that is too long for it"));
            screen.command(&format!("end {n}\n"));
            assert!(screen.rows()[5].starts_with(&format!("status {n}, ")), "{:?}", screen.rows());
        }
        let expected = ["begin 16 end 16", "begin 17 end 17", "begin 18 end 18", "begin 19 end 19"];
        assert_eq!(screen.rows()[..4], expected);
        screen.end();
        screen.command("after\n");
        let rows = screen.rows();
        assert_eq!(rows[3..], ["begin 19 end 19", "after", ""]);
        assert!(!rows.iter().any(|row| row.contains("status")), "{rows:?}");
    }

    #[test]
    fn a_terminal_that_is_full_from_the_beginning_loses_nothing() {
        let mut screen = Screen::new();
        screen.command("1\n2\n3\n4\n5\n6");
        screen.draw("status");
        assert_eq!(screen.rows(), ["2", "3", "4", "5", "6", "status"]);
        screen.command(" more\n7\n");
        assert_eq!(screen.rows(), ["4", "5", "6 more", "7", "", "status"]);
    }

    #[test]
    fn colours_of_the_command_go_on() {
        let mut screen = Screen::new();
        screen.command("\x1b[31mred ");
        screen.draw("status");
        screen.command("still");
        let cell = screen.0.screen().cell(0, 5).unwrap();
        assert_eq!((cell.contents(), cell.fgcolor()), ("t", vt100::Color::Idx(1)));
        let cell = screen.0.screen().cell(5, 0).unwrap();
        assert_eq!(cell.fgcolor(), vt100::Color::Default);
    }

    #[test]
    fn nothing_in_a_terminal_without_room() {
        let mut out = Vec::new();
        Bottom::default().draw("status", (30, 4), &mut out).unwrap();
        assert!(out.is_empty());
    }
}
