//! Numbers, durations and foreign text as people read them.

use std::time::Duration;

/// `0.8 ms`, `42 ms`, `0.31 s`, `41.2 s`, `3 min 12 s`, `2 h 5 min`.
pub fn duration(duration: Duration) -> String {
    let micros = duration.as_micros();
    let (ms, s) = (micros as f64 / 1e3, micros as f64 / 1e6);
    // Borders are where a form would round up into the next one.
    match micros {
        0 => return "0 s".to_owned(),
        1..50 => return "0.1 ms".to_owned(),
        50..9_950 => return format!("{ms:.1} ms"),
        9_950..99_500 => return format!("{ms:.0} ms"),
        99_500..995_000 => return format!("{s:.2} s"),
        995_000..59_950_000 => return format!("{s:.1} s"),
        _ => {}
    }
    let seconds = (micros + 500_000) / 1_000_000;
    if seconds < 3600 {
        return format!("{} min {} s", seconds / 60, seconds % 60);
    }
    let minutes = (seconds + 30) / 60;
    format!("{} h {} min", minutes / 60, minutes % 60)
}

/// Whole seconds, for a clock that ticks: `3 s`, `3 min 12 s`.
pub fn elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 { format!("{seconds} s") } else { self::duration(Duration::from_secs(seconds)) }
}

/// `1,034`.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 input`, `1,034 inputs`.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

/// `1st`, `2nd`, `3rd`, `11th`.
pub fn ordinal(n: u64) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{}{ending}", number(n))
}

/// Foreign text on one line that cannot steer a terminal.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else if is_bidi_control(c) {
            line.extend(c.escape_unicode());
        } else {
            line.push(c);
        }
    }
    line
}

/// Characters that change the order in which a terminal shows others.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// How many columns a text takes at most: wide characters count two, so that an estimate never
/// lets a line wrap.
pub fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// The text, cut to a number of columns with `…` at its end if need be.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut short = String::new();
    // The ellipsis takes two columns by the same careful count.
    let mut left = columns.saturating_sub(char_width('…'));
    for c in text.chars() {
        let Some(rest) = left.checked_sub(char_width(c)) else { break };
        left = rest;
        short.push(c);
    }
    if columns > char_width('…') {
        short.push('…');
    }
    short
}

fn char_width(c: char) -> usize {
    if c < '\u{1100}' { 1 } else { 2 }
}

/// How long ago something was, in words; `started_ms` is in milliseconds since the Unix epoch.
pub fn ago(started_ms: u64) -> String {
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let ago = now.saturating_sub(Duration::from_millis(started_ms)).as_secs();
    match ago {
        0..60 => "just now".into(),
        60..3600 => format!("{} min ago", ago / 60),
        3600..86_400 => format!("{} h ago", ago / 3600),
        _ => counted(ago / 86_400, "day", "days") + " ago",
    }
}

/// `812 bytes`, `45 kB`, `12 MB`.
pub fn bytes(size: u64) -> String {
    match size {
        0..10_000 => counted(size, "byte", "bytes"),
        10_000..10_000_000 => format!("{} kB", number(size / 1000)),
        _ => format!("{} MB", number(size / 1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations() {
        for (micros, text) in [
            (0, "0 s"),
            (3, "0.1 ms"),
            (800, "0.8 ms"),
            (9_949, "9.9 ms"),
            (9_950, "10 ms"),
            (99_499, "99 ms"),
            (99_500, "0.10 s"),
            (310_000, "0.31 s"),
            (994_999, "0.99 s"),
            (995_000, "1.0 s"),
            (2_100_000, "2.1 s"),
            (41_200_000, "41.2 s"),
            (59_949_999, "59.9 s"),
            (59_950_000, "1 min 0 s"),
            (192_000_000, "3 min 12 s"),
            (3_599_500_000, "1 h 0 min"),
            (7_500_000_000, "2 h 5 min"),
        ] {
            assert_eq!(duration(Duration::from_micros(micros)), text, "{micros}");
        }
        assert_eq!(elapsed(Duration::from_millis(3_900)), "3 s");
        assert_eq!(elapsed(Duration::from_millis(61_999)), "1 min 1 s");
    }

    #[test]
    fn numbers() {
        assert_eq!(number(0), "0");
        assert_eq!(number(999), "999");
        assert_eq!(number(1_034), "1,034");
        assert_eq!(number(1_000_000), "1,000,000");
        assert_eq!(counted(1, "input", "inputs"), "1 input");
        assert_eq!(counted(0, "input", "inputs"), "0 inputs");
        let ordinals: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 112].map(ordinal).to_vec();
        let expected = ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th"];
        assert_eq!(ordinals, expected);
    }

    #[test]
    fn foreign_text() {
        assert_eq!(one_line("a\nb\x1b[31mc"), "a\\nb\\u{1b}[31mc");
        assert_eq!(one_line("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(one_line("é 日"), "é 日");
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcd…");
        assert_eq!(cut("日本語", 5), "日…");
        assert_eq!(cut("abc", 1), "");
    }

    proptest! {
        #[test]
        fn a_cut_text_fits(text in "\\PC{0,20}", columns in 0usize..30) {
            prop_assert!(width(&cut(&text, columns)) <= columns);
        }

        #[test]
        fn one_line_is_one_line(text in ".{0,30}") {
            prop_assert!(!one_line(&text).chars().any(char::is_control));
        }
    }
}
