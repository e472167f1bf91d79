//! Durations (`90d`, `1h30m`, `500ms`) and sizes (`1GiB`, `500 MB`) as people write them.

use std::time::Duration;

const DURATION_UNITS: [(&str, u64); 6] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
    ("w", 604_800_000),
];

/// Numbers with units, largest first or not, blanks between them or not.
pub fn duration(text: &str) -> Result<Duration, String> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    if rest.is_empty() {
        return Err("is empty".into());
    }
    while !rest.is_empty() {
        let (number, after) = number(rest)?;
        let unit_end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, tail) = after.split_at(unit_end);
        let Some((_, factor)) = DURATION_UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(match unit {
                "" => format!("has no unit after {number} (ms, s, m, h, d, w)"),
                _ => format!("has the unknown unit `{unit}` (known: ms, s, m, h, d, w)"),
            });
        };
        total = number
            .checked_mul(*factor)
            .and_then(|part| total.checked_add(part))
            .ok_or("is too large")?;
        rest = tail.trim_start();
    }
    Ok(Duration::from_millis(total))
}

const SIZE_UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// A number of bytes; upper and lower case of the unit do not count.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (number, after) = number(text.trim())?;
    let unit = after.trim_start();
    if unit.is_empty() {
        return Err(format!("has no unit after {number} (B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)"));
    }
    let Some((_, factor)) = SIZE_UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))
    else {
        return Err(format!(
            "has the unknown unit `{unit}` (known: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)"
        ));
    };
    number.checked_mul(*factor).ok_or_else(|| "is too large".into())
}

fn number(text: &str) -> Result<(u64, &str), String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() {
        return Err("does not start with a whole number".into());
    }
    if rest.starts_with('.') {
        return Err("has a fraction; use a smaller unit instead".into());
    }
    Ok((digits.parse().map_err(|_| "is too large")?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations() {
        for (text, ms) in [
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("500ms", 500),
            ("2 d", 0),
            ("1h 5s", 3_605_000),
        ] {
            let got = duration(text).map(|d| d.as_millis() as u64);
            if text == "2 d" {
                assert_eq!(got, Err("has no unit after 2 (ms, s, m, h, d, w)".into()));
            } else {
                assert_eq!(got, Ok(ms), "{text}");
            }
        }
        assert_eq!(
            duration("5min").unwrap_err(),
            "has the unknown unit `min` (known: ms, s, m, h, d, w)"
        );
        assert_eq!(duration("1.5h").unwrap_err(), "has a fraction; use a smaller unit instead");
        assert_eq!(duration("soon").unwrap_err(), "does not start with a whole number");
        assert_eq!(duration("").unwrap_err(), "is empty");
        assert_eq!(duration("99999999999999999w").unwrap_err(), "is too large");
    }

    #[test]
    fn sizes() {
        assert_eq!(size("1GiB"), Ok(1 << 30));
        assert_eq!(size("500 mb"), Ok(500_000_000));
        assert_eq!(
            size("7").unwrap_err(),
            "has no unit after 7 (B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)"
        );
        assert!(size("7 lots").is_err());
        assert_eq!(size("99999999999 TiB").unwrap_err(), "is too large");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,12}") {
            let _ = (duration(&text), size(&text));
        }

        #[test]
        fn parts_add_up(h in 0u64..1000, m in 0u64..1000, s in 0u64..1000) {
            let got = duration(&format!("{h}h{m}m{s}s")).unwrap();
            prop_assert_eq!(got, Duration::from_secs(h * 3600 + m * 60 + s));
        }
    }
}
