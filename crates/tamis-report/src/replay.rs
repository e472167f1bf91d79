//! A replay's result as text, Markdown and comma-separated values: the tables of the papers, with their headings.

use crate::checked::Miss;
use crate::checks::{miss_text, percent};
use crate::human;
use crate::json::Line;
use crate::json::replay::{
    Mutant, MutantState, ReplaySummaryLine, Replayed, RevisionLine, RevisionState, Selection,
};
use crate::style::{Role, Style};
use std::fmt::Write as _;
use std::time::Duration;

/// Headings of the table of strategies.
const STRATEGIES: [&str; 9] = [
    "strategy",
    "revisions",
    "selected %",
    "offline time %",
    "online time %",
    "safety violations",
    "precision violations",
    "first-run overhead %",
    "break-even",
];

/// Headings of the table of revisions.
const REVISIONS: [&str; 16] = [
    "revision",
    "state",
    "strategy",
    "all",
    "selected",
    "selected %",
    "time of all (s)",
    "offline (s)",
    "online (s)",
    "analyse (s)",
    "build (s)",
    "run (s)",
    "collect (s)",
    "failed",
    "missed",
    "needless",
];

/// For a terminal: the table of strategies, misses with their evidence, and what could not be run.
pub fn text(found: &Replayed, style: Style) -> String {
    let mut text = format!("{}\n", heading(found));
    let rows: Vec<Vec<String>> = found.summaries.iter().map(strategy_row).collect();
    text += &aligned(&STRATEGIES, &rows);
    for summary in &found.summaries {
        text += &every(summary).map(|line| format!("{line}\n")).unwrap_or_default();
        text += &mutants(summary).map(|line| format!("{line}\n")).unwrap_or_default();
    }
    for line in &found.revisions {
        if let Some(problem) = &line.problem {
            let state = state(line.state);
            let _ = writeln!(text, "{} {state}: {}", short(&line.commit), human::one_line(problem));
        }
    }
    for (line, one, miss) in misses(found) {
        let _ = writeln!(
            text,
            "{} {} (--select {}):",
            short(&line.commit),
            human::one_line(&line.subject),
            one.strategy
        );
        text += &miss_text(miss, style);
    }
    for (line, mutant, miss) in mutant_misses(found) {
        let _ = writeln!(text, "{} with {}:", short(&line.commit), fault(mutant));
        text += &miss_text(miss, style);
    }
    text + &style.paint(Role::Strong, &verdict(found)) + "\n"
}

/// `[3/20] 8f3a4b5c6d 2 of 40 selected, 0 missed; about 12 min left  subject`.
pub fn progress(line: &RevisionLine, n: usize, of: usize, left: Duration) -> String {
    let what = match &line.problem {
        Some(_) => state(line.state).to_owned(),
        None => {
            let parts = line.selections.iter().map(|one| {
                let missed = if one.missed.is_empty() {
                    String::new()
                } else {
                    format!(", {} MISSED", one.missed.len())
                };
                format!("{} {} of {}{missed}", one.strategy, one.selected, one.tests)
            });
            let mut parts: Vec<String> = parts.collect();
            parts.extend(mutants_of(line));
            parts.join("; ")
        }
    };
    let left =
        if n < of { format!(" (about {} left)", human::duration(left)) } else { String::new() };
    let subject = human::cut(&human::one_line(&line.subject), 60);
    format!("[{n}/{of}] {} {what}{left}  {subject}", short(&line.commit))
}

/// The lines of `--json`, whole.
pub fn json(found: &Replayed) -> std::io::Result<String> {
    let mut text = Line::Replay(found.replay.clone()).text()? + "\n";
    for line in &found.revisions {
        text += &(Line::Revision(line.clone()).text()? + "\n");
    }
    for line in &found.summaries {
        text += &(Line::ReplaySummary(line.clone()).text()? + "\n");
    }
    Ok(text)
}

/// What all of it says in one line.
pub fn verdict(found: &Replayed) -> String {
    let missed = missed(found);
    if found.replay.estimate {
        return "an estimate: only what was selected ran, so that misses could not be seen".into();
    }
    let ran = found.summaries.iter().map(|one| one.revisions).max().unwrap_or(0);
    match missed {
        0 if ran < 2 && found.replay.mutants == 0 => {
            "nothing could be compared: fewer than two revisions could be run".into()
        }
        0 => "0 missed".into(),
        n => format!("{} MISSED", human::number(n as u64)),
    }
}

/// Tests that were missed in revisions, and by faults that were put in.
pub fn missed(found: &Replayed) -> usize {
    let of = |one: &ReplaySummaryLine| one.missed + one.mutants.map_or(0, |m| m.mutants_missed);
    found.summaries.iter().map(of).sum()
}

/// `4 faults, 3 noticed, 0 missed`.
fn mutants_of(line: &RevisionLine) -> Option<String> {
    let all = line.mutants.len() as u64;
    let killed = line.mutants.iter().filter(|m| m.state == MutantState::Killed).count();
    let missed: usize = line.mutants.iter().map(|mutant| mutant.missed.len()).sum();
    let missed = if missed > 0 { format!(", {missed} MISSED") } else { String::new() };
    (all > 0)
        .then(|| format!("{}, {killed} noticed{missed}", human::counted(all, "fault", "faults")))
}

/// `faults: 40 put in, 31 noticed by 210 failed runs, of which 0 would have been skipped; 8.1% of tests selected for one`.
fn mutants(one: &ReplaySummaryLine) -> Option<String> {
    let sums = one.mutants?;
    let n = |number: usize| human::number(number as u64);
    let left_out = match sums.mutants_left_out {
        0 => String::new(),
        left_out => format!(" ({} of them say nothing)", n(left_out)),
    };
    Some(format!(
        "faults: {} put in{left_out}, {} noticed by {}, of which {} would have been skipped; {} of tests selected for one",
        n(sums.mutants),
        n(sums.mutants_killed),
        human::counted(sums.mutants_failed_runs as u64, "failed run", "failed runs"),
        n(sums.mutants_missed),
        percent(sums.mutants_selected_percent),
    ))
}

/// `condition negated in org.a.B.size (src/B.java:12)`.
fn fault(mutant: &Mutant) -> String {
    let line = if mutant.line > 0 { format!(":{}", mutant.line) } else { String::new() };
    human::one_line(&format!("{} in {} ({}{line})", mutant.fault, mutant.place, mutant.file))
}

fn mutant_misses(found: &Replayed) -> impl Iterator<Item = (&RevisionLine, &Mutant, &Miss)> {
    let mutants =
        found.revisions.iter().flat_map(|line| line.mutants.iter().map(move |m| (line, m)));
    mutants.flat_map(|(line, mutant)| mutant.missed.iter().map(move |miss| (line, mutant, miss)))
}

/// `20 revisions of 8f3a.. to 91bc.., mvn test`.
fn heading(found: &Replayed) -> String {
    let replay = &found.replay;
    let command =
        if replay.command.is_empty() { "the suites of tamis.toml" } else { &replay.command };
    let (done, all) = (found.revisions.len() as u64, replay.revisions.len() as u64);
    let of = if done < all { format!(" of {}", human::number(all)) } else { String::new() };
    let counted =
        format!("{}{of} {}", human::number(done), if all == 1 { "revision" } else { "revisions" });
    format!(
        "replay of {counted} ({}): {}",
        human::one_line(&replay.range),
        human::one_line(command)
    )
}

fn misses(found: &Replayed) -> impl Iterator<Item = (&RevisionLine, &Selection, &Miss)> {
    found.revisions.iter().flat_map(|line| {
        let of = move |one| std::iter::repeat(line).zip(std::iter::repeat(one));
        line.selections.iter().flat_map(move |one: &Selection| {
            of(one).zip(&one.missed).map(|((line, one), miss)| (line, one, miss))
        })
    })
}

fn strategy_row(one: &ReplaySummaryLine) -> Vec<String> {
    // The first revision is only what the others are compared with.
    let known = |text: String| if one.revisions > 1 { text } else { "-".into() };
    let mean = |value: f64| known(percent(value));
    let sum = |count: usize| known(count.to_string());
    vec![
        one.strategy.clone(),
        one.revisions.to_string(),
        mean(one.selected_percent),
        mean(one.offline_percent),
        mean(one.online_percent),
        sum(one.missed),
        sum(one.needless),
        one.first_run_overhead_percent.map_or_else(|| "-".into(), |p| format!("{p:.0}%")),
        one.break_even.map_or_else(|| "-".into(), |n| format!("{n} revisions")),
    ]
}

/// `saved if every 2nd run is recorded 61%, every 5th 40%`.
fn every(one: &ReplaySummaryLine) -> Option<String> {
    let first = one.every.first()?;
    let rest = one.every[1..].iter().map(|every| {
        format!(", every {} {:.0}%", human::ordinal(every.n as u64), every.saved_percent)
    });
    let rest: String = rest.collect();
    let n = human::ordinal(first.n as u64);
    Some(format!("saved if only every {n} run is recorded: {:.0}%{rest}", first.saved_percent))
}

fn state(state: RevisionState) -> &'static str {
    match state {
        RevisionState::Ran => "ran",
        RevisionState::NotCheckedOut => "could not be checked out",
        RevisionState::SetupFailed => "could not be set up",
        RevisionState::NotBuilt => "did not build",
    }
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// The rows of the table of revisions.
fn revision_rows(found: &Replayed) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for line in &found.revisions {
        if line.selections.is_empty() {
            let mut row = vec![short(&line.commit).to_owned(), state(line.state).to_owned()];
            row.resize(REVISIONS.len(), String::new());
            rows.push(row);
        }
        rows.extend(line.selections.iter().map(|one| revision_row(line, one)));
    }
    rows
}

fn revision_row(line: &RevisionLine, one: &Selection) -> Vec<String> {
    let seconds = |seconds: f64| format!("{seconds:.2}");
    let share = one.selected as f64 / one.tests.max(1) as f64 * 100.0;
    let phases = one.phases;
    vec![
        short(&line.commit).to_owned(),
        state(line.state).to_owned(),
        one.strategy.clone(),
        one.tests.to_string(),
        one.selected.to_string(),
        format!("{share:.1}"),
        seconds(one.all_seconds),
        seconds(one.offline_seconds),
        seconds(one.online_seconds),
        seconds(phases.analyse_seconds),
        seconds(phases.build_seconds),
        seconds(phases.run_seconds),
        seconds(phases.collect_seconds),
        line.failed.len().to_string(),
        one.missed.len().to_string(),
        one.needless.len().to_string(),
    ]
}

/// Columns below their headings.
fn aligned(headings: &[&str], rows: &[Vec<String>]) -> String {
    let width = |n: usize| {
        let cells = rows.iter().map(|row| row[n].chars().count());
        cells.chain([headings[n].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let head = line(&mut headings.iter().copied());
    rows.iter().fold(head, |text, row| text + &line(&mut row.iter().map(String::as_str)))
}

/// For a pull request, a job summary or a README.
pub fn markdown(found: &Replayed) -> String {
    let mut text = format!("### tamis {}\n\n**{}**\n\n", escape(&heading(found)), verdict(found));
    let table = |headings: &[&str], rows: Vec<Vec<String>>| {
        let rule = headings.iter().map(|_| "---").collect::<Vec<_>>().join(" | ");
        let head = format!("| {} |\n| {rule} |\n", headings.join(" | "));
        let row = |row: Vec<String>| {
            let cells: Vec<String> = row.iter().map(|cell| escape(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        rows.into_iter().fold(head, |text, one| text + &row(one)) + "\n"
    };
    text += &table(&STRATEGIES, found.summaries.iter().map(strategy_row).collect());
    for summary in &found.summaries {
        text += &every(summary).map(|line| format!("{line}\n\n")).unwrap_or_default();
        text += &mutants(summary).map(|line| format!("{line}\n\n")).unwrap_or_default();
        let seconds = summary.seconds;
        let saved = (seconds.all_seconds - seconds.online_seconds).max(0.0);
        let of = |seconds: f64| {
            human::duration(Duration::try_from_secs_f64(seconds).unwrap_or_default())
        };
        let _ = writeln!(
            text,
            "{}: {} of {} saved after the first revision\n",
            summary.strategy,
            of(saved),
            of(seconds.all_seconds)
        );
    }
    for (line, one, miss) in misses(found) {
        let _ = writeln!(text, "Missed in {} by {}:\n\n```text", short(&line.commit), one.strategy);
        text += &miss_text(miss, Style::plain()).replace("```", "'''");
        text += "```\n\n";
    }
    for (line, mutant, miss) in mutant_misses(found) {
        let with = escape(&fault(mutant));
        let _ = writeln!(text, "Missed in {} with {with}:\n\n```text", short(&line.commit));
        text += &miss_text(miss, Style::plain()).replace("```", "'''");
        text += "```\n\n";
    }
    text + &table(&REVISIONS, revision_rows(found))
}

fn escape(text: &str) -> String {
    human::one_line(text).replace('|', "\\|").replace('<', "&lt;")
}

/// For spreadsheets: the table of revisions, with the whole name and the subject of each.
pub fn csv(found: &Replayed) -> String {
    let cell = |text: &str| match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        cells.map(cell).collect::<Vec<_>>().join(",") + "\n"
    };
    let mut text = line(&mut REVISIONS.iter().copied().chain(["commit", "subject"]));
    let mut of = found
        .revisions
        .iter()
        .flat_map(|one| std::iter::repeat_n(one, one.selections.len().max(1)));
    for row in revision_rows(found) {
        let Some(revision) = of.next() else { break };
        let more = [revision.commit.as_str(), revision.subject.as_str()];
        text += &line(&mut row.iter().map(String::as_str).chain(more));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Version;
    use crate::json::replay::{MutantSums, ReplayLine, RevisionTimes};

    fn found() -> Replayed {
        let commit = |n: char| n.to_string().repeat(40);
        let revision = |n: char, state, selections| RevisionLine {
            version: Version,
            commit: commit(n),
            subject: "a \"b\", c | <d>".into(),
            committed_ms: 0,
            changed_files: 2,
            state,
            problem: (state != RevisionState::Ran).then(|| "no such file".into()),
            times: RevisionTimes { wall_seconds: 3.0, setup_seconds: None },
            selections,
            failed: Vec::new(),
            flaky: Vec::new(),
            mutants: Vec::new(),
        };
        let miss = Miss {
            test: "s::t".into(),
            outcome: "failed".into(),
            believed: "same".into(),
            ..Miss::default()
        };
        let one = Selection {
            strategy: "records".into(),
            tests: 8,
            selected: 2,
            all_seconds: 4.0,
            missed: vec![miss],
            ..Selection::default()
        };
        Replayed {
            replay: ReplayLine {
                version: Version,
                tamis: "0".into(),
                command: "mvn test".into(),
                folder: String::new(),
                range: "HEAD~2..HEAD".into(),
                strategies: vec!["records".into()],
                estimate: false,
                revisions: vec![commit('a'), commit('b')],
                mutants: 0,
                began_ms: 0,
                bare_seconds: None,
            },
            revisions: vec![
                revision('a', RevisionState::Ran, vec![one]),
                revision('b', RevisionState::NotBuilt, Vec::new()),
            ],
            summaries: vec![ReplaySummaryLine {
                strategy: "records".into(),
                revisions: 2,
                left_out: 1,
                selected_percent: 25.0,
                missed: 1,
                break_even: Some(3),
                ..ReplaySummaryLine::default()
            }],
        }
    }

    #[test]
    fn a_miss_is_loud_everywhere() {
        let found = found();
        let text = text(&found, Style::plain());
        for part in [
            "replay of 2 revisions (HEAD~2..HEAD): mvn test\n",
            "safety violations",
            "3 revisions",
            "bbbbbbbbbb did not build: no such file\n",
            "  MISS s::t failed and would have been skipped\n",
            "1 MISSED\n",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(markdown(&found).contains("**1 MISSED**"));
    }

    #[test]
    fn a_fault_that_is_missed_is_loud_too() {
        let mut found = found();
        found.revisions[0].selections[0].missed.clear();
        found.summaries[0].missed = 0;
        assert_eq!(verdict(&found), "0 missed");
        let miss = Miss { test: "s::u".into(), outcome: "failed".into(), ..Miss::default() };
        found.revisions[0].mutants = vec![Mutant {
            file: "src/B.java".into(),
            line: 12,
            place: "a.B.size".into(),
            fault: "condition negated".into(),
            touched: true,
            state: MutantState::Killed,
            tests: 8,
            selected: 2,
            failed: 1,
            missed: vec![miss],
        }];
        found.summaries[0].mutants = Some(MutantSums {
            mutants: 1,
            mutants_killed: 1,
            mutants_failed_runs: 1,
            mutants_missed: 1,
            mutants_selected_percent: 25.0,
            ..MutantSums::default()
        });
        let sums = "faults: 1 put in, 1 noticed by 1 failed run, of which 1 would have been skipped; 25% of tests selected for one";
        let place = "with condition negated in a.B.size (src/B.java:12):";
        let shown = text(&found, Style::plain());
        for part in [sums, place, "MISS s::u failed and would have been skipped", "1 MISSED\n"] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        let shown = markdown(&found);
        assert!(shown.contains(sums) && shown.contains(place) && shown.contains("**1 MISSED**"));
        let line = progress(&found.revisions[0], 1, 2, Duration::ZERO);
        assert!(line.contains("; 1 fault, 1 noticed, 1 MISSED"), "{line}");
    }

    #[test]
    fn cells_of_csv_are_whole() {
        let text = csv(&found());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("revision,state,strategy,all,selected,selected %,"));
        assert!(lines[1].starts_with("aaaaaaaaaa,ran,records,8,2,25.0,4.00,"), "{}", lines[1]);
        assert!(lines[1].ends_with(",\"a \"\"b\"\", c | <d>\""), "{}", lines[1]);
        assert_eq!(
            lines[0].matches(',').count(),
            lines[2].replace("\"a \"\"b\"\", c", "").matches(',').count()
        );
    }

    #[test]
    fn one_revision_is_no_comparison() {
        let mut found = found();
        found.revisions[0].selections[0].missed.clear();
        (found.summaries[0].missed, found.summaries[0].revisions) = (0, 1);
        assert!(verdict(&found).starts_with("nothing could be compared"));
        assert_eq!(strategy_row(&found.summaries[0])[2..7], ["-"; 5].map(str::to_owned));
        found.summaries[0].revisions = 2;
        assert_eq!(verdict(&found), "0 missed");
    }

    #[test]
    fn an_estimate_claims_no_safety() {
        let mut found = found();
        found.replay.estimate = true;
        assert!(verdict(&found).contains("misses could not be seen"));
    }

    #[test]
    fn a_result_is_read_again_and_a_cut_line_is_left_out() {
        use crate::json::replay::ReplayEntry;
        let found = found();
        let mut text =
            serde_json::to_string(&ReplayEntry::Replay(found.replay.clone())).unwrap() + "\n";
        for line in found.revisions.iter().rev() {
            text += &(serde_json::to_string(&ReplayEntry::Revision(line.clone())).unwrap() + "\n");
        }
        text += "{\"event\":\"revision\",\"comm";
        let again = Replayed::parse(&text).unwrap();
        assert_eq!(again.revisions, found.revisions);
        assert_eq!(Replayed::parse(""), None);
    }
}
