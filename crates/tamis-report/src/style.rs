//! Colours, only where asked for.

use anstyle::{AnsiColor, Color};

/// How text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    colours: bool,
}

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Good,
    Bad,
    Warning,
    /// A name or a heading.
    Strong,
    /// Less important.
    Faint,
}

impl Style {
    pub fn plain() -> Self {
        Self { colours: false }
    }

    pub fn coloured() -> Self {
        Self { colours: true }
    }

    pub fn paint(self, role: Role, text: &str) -> String {
        if !self.colours || text.is_empty() {
            return text.to_owned();
        }
        let colour = |colour: AnsiColor| anstyle::Style::new().fg_color(Some(Color::Ansi(colour)));
        let style = match role {
            Role::Good => colour(AnsiColor::Green),
            Role::Bad => colour(AnsiColor::Red).bold(),
            Role::Warning => colour(AnsiColor::Yellow),
            Role::Strong => anstyle::Style::new().bold(),
            Role::Faint => anstyle::Style::new().dimmed(),
        };
        format!("{}{text}{}", style.render(), style.render_reset())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_has_no_escapes() {
        assert_eq!(Style::plain().paint(Role::Bad, "x"), "x");
        assert_eq!(Style::coloured().paint(Role::Good, "x"), "\u{1b}[32mx\u{1b}[0m");
        assert_eq!(Style::coloured().paint(Role::Good, ""), "");
    }
}
