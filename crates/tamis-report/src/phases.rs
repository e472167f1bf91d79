//! The times of a run by phase: the one place that says what the words mean (docs/times.md).
//!
//! Every moment between the start and the end of a call belongs to exactly one phase, so that they add up to the
//! wall time. Where several things happen at once, the first of these counts:
//!
//! 1. *run*: a test runs: a bare command, an item of a suite, or a unit inside a command.
//! 2. *analyse*: tamis finds out what has to run.
//! 3. *collect*: tamis makes records of what it saw, and writes them.
//! 4. *build*: a command whose units are distinguished runs, and none of its units does: its tool starts, compiles,
//!    waits, reports.
//! 5. *overhead*: everything else.
//!
//! What is not seen: by how much a test is slower because it is observed. That is in *run*.

use crate::savings::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What a moment was spent on, those first that count first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Run,
    Analyse,
    Collect,
    Build,
}

/// The wall time of one or more runs, by phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PhaseTimes {
    pub analyse: Duration,
    pub build: Duration,
    pub run: Duration,
    pub collect: Duration,
    pub overhead: Duration,
}

impl PhaseTimes {
    /// Each by its name, in the order in which they are shown.
    pub fn named(&self) -> [(&'static str, Duration); 5] {
        [
            ("analyse", self.analyse),
            ("build", self.build),
            ("run", self.run),
            ("collect", self.collect),
            ("overhead", self.overhead),
        ]
    }

    /// All of them: the wall time.
    pub fn total(&self) -> Duration {
        self.named().into_iter().fold(Duration::ZERO, |sum, (_, time)| sum.saturating_add(time))
    }

    /// Both together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            analyse: self.analyse.saturating_add(other.analyse),
            build: self.build.saturating_add(other.build),
            run: self.run.saturating_add(other.run),
            collect: self.collect.saturating_add(other.collect),
            overhead: self.overhead.saturating_add(other.overhead),
        }
    }

    /// `analyse 12 ms, run 2.1 s, overhead 9 ms`; what took no time is left out. The command around its tests is
    /// called that: many do not build.
    pub fn text(&self) -> String {
        let shown = self.named().into_iter().filter(|(_, time)| time.as_millis() > 0);
        let shown = shown.map(|(name, time)| match name {
            "build" => ("around tests", time),
            name => (name, time),
        });
        let shown: Vec<String> =
            shown.map(|(name, time)| format!("{name} {}", crate::human::duration(time))).collect();
        shown.join(", ")
    }
}

/// Times by phase, in seconds (docs/times.md).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PhaseSeconds")]
pub struct PhaseSeconds {
    /// Finding out what has to run.
    pub analyse_seconds: f64,
    /// Commands around tests, while none of their tests ran.
    pub build_seconds: f64,
    /// Tests, by the clock.
    pub run_seconds: f64,
    /// Making and writing records.
    pub collect_seconds: f64,
    /// Everything else.
    pub overhead_seconds: f64,
}

impl From<PhaseTimes> for PhaseSeconds {
    fn from(times: PhaseTimes) -> Self {
        let of = |time: Duration| time.as_micros() as f64 / 1e6;
        Self {
            analyse_seconds: of(times.analyse),
            build_seconds: of(times.build),
            run_seconds: of(times.run),
            collect_seconds: of(times.collect),
            overhead_seconds: of(times.overhead),
        }
    }
}

impl From<PhaseSeconds> for PhaseTimes {
    fn from(seconds: PhaseSeconds) -> Self {
        let of = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        Self {
            analyse: of(seconds.analyse_seconds),
            build: of(seconds.build_seconds),
            run: of(seconds.run_seconds),
            collect: of(seconds.collect_seconds),
            overhead: of(seconds.overhead_seconds),
        }
    }
}

/// Takes down what happens when, from any thread.
#[derive(Debug)]
pub struct Timeline {
    began: Instant,
    began_at: SystemTime,
    /// From and to, since the beginning.
    spans: Mutex<Vec<(Phase, Duration, Duration)>>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self::new()
    }
}

impl Timeline {
    /// Begins now.
    pub fn new() -> Self {
        Self { began: Instant::now(), began_at: SystemTime::now(), spans: Mutex::default() }
    }

    /// How long ago it began.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// From then until now.
    pub fn add(&self, phase: Phase, since: Instant) {
        let (from, to) = (since.saturating_duration_since(self.began), self.began.elapsed());
        self.push(phase, from, to);
    }

    /// Something that knows the time of day when it happened.
    pub fn add_span(&self, phase: Phase, span: Span) {
        let at = UNIX_EPOCH + Duration::from_millis(span.began_ms);
        let Ok(from) = at.duration_since(self.began_at) else {
            // Times of day are whole milliseconds: what begins with the call seems to begin before it.
            return self.push(phase, Duration::ZERO, span.length);
        };
        self.push(phase, from, from.saturating_add(span.length));
    }

    /// What a closure takes.
    pub fn measure<T>(&self, phase: Phase, does: impl FnOnce() -> T) -> T {
        let since = Instant::now();
        let result = does();
        self.add(phase, since);
        result
    }

    fn push(&self, phase: Phase, from: Duration, to: Duration) {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner).push((phase, from, to));
    }

    /// The phases of the wall time so far.
    pub fn times(&self) -> PhaseTimes {
        let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        divided(&spans, self.began.elapsed())
    }
}

/// Divides a wall time among phases.
fn divided(spans: &[(Phase, Duration, Duration)], wall: Duration) -> PhaseTimes {
    let mut events: Vec<(Duration, Phase, i32)> = Vec::new();
    for (phase, from, to) in spans {
        let (from, to) = ((*from).min(wall), (*to).min(wall));
        if from < to {
            events.extend([(from, *phase, 1), (to, *phase, -1)]);
        }
    }
    events.sort_unstable();
    let mut times = PhaseTimes::default();
    let mut open = [0_i32; 4];
    let mut last = Duration::ZERO;
    for (at, phase, step) in events.into_iter().chain([(wall, Phase::Run, 0)]) {
        let length = at - last;
        match open.iter().position(|n| *n > 0) {
            Some(0) => times.run += length,
            Some(1) => times.analyse += length,
            Some(2) => times.collect += length,
            Some(_) => times.build += length,
            None => times.overhead += length,
        }
        last = at;
        open[phase as usize] += step;
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn every_moment_belongs_to_one_phase() {
        let spans = [
            (Phase::Analyse, ms(0), ms(10)),
            (Phase::Build, ms(20), ms(100)),
            (Phase::Analyse, ms(40), ms(50)),
            (Phase::Run, ms(60), ms(80)),
            (Phase::Run, ms(70), ms(90)),
            // While a test still runs, another one is recorded.
            (Phase::Collect, ms(85), ms(110)),
        ];
        let times = divided(&spans, ms(120));
        let expected = PhaseTimes {
            analyse: ms(20),
            build: ms(20 + 10),
            run: ms(30),
            collect: ms(20),
            overhead: ms(10 + 10),
        };
        assert_eq!(times, expected);
        assert_eq!(
            times.text(),
            "analyse 20 ms, around tests 30 ms, run 30 ms, collect 20 ms, overhead 20 ms"
        );
    }

    #[test]
    fn what_goes_beyond_the_end_is_cut() {
        let times = divided(&[(Phase::Run, ms(5), ms(500))], ms(10));
        assert_eq!((times.run, times.overhead), (ms(5), ms(5)));
        assert_eq!(divided(&[], ms(7)).overhead, ms(7));
    }

    proptest! {
        #[test]
        fn they_add_up_to_the_wall_time(
            spans in prop::collection::vec((0_u8..4, 0_u64..200, 0_u64..200), 0..20),
            wall in 0_u64..150,
        ) {
            let phase = |n| [Phase::Run, Phase::Analyse, Phase::Collect, Phase::Build][usize::from(n)];
            let spans: Vec<_> =
                spans.into_iter().map(|(n, from, long)| (phase(n), ms(from), ms(from + long))).collect();
            prop_assert_eq!(divided(&spans, ms(wall)).total(), ms(wall));
        }
    }
}
