//! How much time a call saved: the one place that says what the word means (docs/cli.md, "What is saved").
//!
//! A skipped test saves the wall time that its proving run took. Tests that ran at the same time save that time
//! once: what counts is how long at least one of the skipped tests ran, when the runs that prove them were
//! recorded. A command that is skipped as a whole saves what it took, and what the tests that were
//! left out of that run would have taken.
//!
//! Nothing is saved where deciding took longer than that, and by a call that was interrupted.

use std::time::Duration;

/// When something ran, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// In milliseconds since 1970; zero where it is not known.
    pub began_ms: u64,
    pub length: Duration,
}

/// How long at least one of them ran; what has no place in time is added.
pub fn covered(spans: impl IntoIterator<Item = Span>) -> Duration {
    let (placed, others): (Vec<Span>, Vec<Span>) =
        spans.into_iter().partition(|span| span.began_ms > 0);
    let mut spans: Vec<(Duration, Duration)> = placed
        .into_iter()
        .map(|span| (Duration::from_millis(span.began_ms), span.length))
        .map(|(began, length)| (began, began.saturating_add(length)))
        .collect();
    spans.sort_unstable();
    let others = others.into_iter().map(|span| span.length);
    let mut sum = others.fold(Duration::ZERO, Duration::saturating_add);
    let mut end = Duration::ZERO;
    for (began, ended) in spans {
        sum = sum.saturating_add(ended.saturating_sub(began.max(end)));
        end = end.max(ended);
    }
    sum
}

/// The wall time of some tests, each with its place in time and what it takes: what overlaps counts once, and
/// what is known without its place is added.
pub fn wall(tests: impl IntoIterator<Item = (Span, Duration)> + Clone) -> Duration {
    let rest = tests.clone().into_iter().map(|(span, all)| all.saturating_sub(span.length));
    let rest = rest.fold(Duration::ZERO, Duration::saturating_add);
    covered(tests.into_iter().map(|(span, _)| span)).saturating_add(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(began_ms: u64, ms: u64) -> Span {
        Span { began_ms, length: Duration::from_millis(ms) }
    }

    #[test]
    fn what_overlaps_counts_once() {
        assert_eq!(covered([]), Duration::ZERO);
        let spans = [span(5_000, 100), span(1_000, 500), span(1_200, 100), span(1_400, 200)];
        assert_eq!(covered(spans), Duration::from_millis(700));
    }

    #[test]
    fn what_has_no_place_is_added() {
        let of = Duration::from_millis;
        assert_eq!(wall([(span(0, 0), of(7)), (span(0, 0), of(5))]), of(12));
        assert_eq!(wall([(span(9, 10), of(15)), (span(9, 10), of(10))]), of(15));
        assert_eq!(covered([span(0, 3), span(0, 4), span(1, 2)]), of(9));
    }
}
