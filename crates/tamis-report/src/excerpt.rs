//! What failed, out of all that a test printed.
//!
//! Test frameworks print much, and what failed stands somewhere in it: an exception, an assertion, the last
//! command of a traced script. [`excerpt`] begins where the failure does, [`headline`] is the one line that says
//! most. Both go by the forms that common frameworks and run-time systems have (the table of the tests); where
//! none is found, the end of the output counts, by whole lines. Text is without colours, on lines that end, and
//! never cut inside a character.

/// Bytes of an excerpt.
const LONGEST: usize = 8 << 10;
/// Characters of one line.
const LONGEST_LINE: usize = 1_000;
/// Characters of a headline.
const LONGEST_HEADLINE: usize = 240;
/// Lines between the beginning of a failure and the line that names it.
const FURTHEST_BEGINNING: usize = 80;

/// Foreign output as text: without colours and other commands to a terminal, each line as it looked in the end.
pub fn clean(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_command(&mut chars),
            '\u{9b}' => skip_parameters(&mut chars),
            '\r' if chars.peek() == Some(&'\n') => {}
            // A line that was written over, as progress bars do.
            '\r' => plain.truncate(plain.rfind('\n').map_or(0, |end| end + 1)),
            '\u{8}' if !plain.ends_with('\n') => drop(plain.pop()),
            c => plain.push(c),
        }
    }
    plain
}

/// What follows an escape character.
fn skip_command(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => skip_parameters(chars),
        // A title, or a link: up to BEL or ESC \.
        Some(']' | 'P' | '_' | '^') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' || c == '\u{1b}' && chars.next_if_eq(&'\\').is_some() {
                    return;
                }
                if chars.peek() == Some(&'\n') {
                    return;
                }
            }
        }
        Some('(' | ')' | '#' | '%') => drop(chars.next()),
        _ => {}
    }
}

fn skip_parameters(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(c) = chars.next_if(|c| (' '..='~').contains(c)) {
        if ('@'..='~').contains(&c) {
            return;
        }
    }
}

/// The part of the output that shows the failure, from its beginning.
pub fn excerpt(output: &[u8]) -> String {
    let text = clean(output);
    let lines: Vec<&str> = text.lines().collect();
    let from = match found(&lines) {
        Some(at) => beginning(&lines, at),
        None => tail(&lines),
    };
    let mut part = String::new();
    for line in &lines[from..] {
        let line = shortened(line, LONGEST_LINE);
        if part.len() + line.len() + 1 > LONGEST {
            part.push_str("...\n");
            break;
        }
        part.push_str(&line);
        part.push('\n');
    }
    part
}

/// The line that says most about the failure; `None` where nothing was printed.
pub fn headline(output: &[u8]) -> Option<String> {
    let text = clean(output);
    let lines: Vec<&str> = text.lines().collect();
    let line = match found(&lines) {
        Some(at) => with_message(&lines, at),
        None => last(&lines)?.to_owned(),
    };
    // Columns mean nothing in a line by itself.
    Some(shortened(&line.trim().replace('\t', " "), LONGEST_HEADLINE).into_owned())
}

fn shortened(line: &str, most: usize) -> std::borrow::Cow<'_, str> {
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &line[..at]).into(),
        None => line.into(),
    }
}

/// How much a line says about a failure; more is better, and of equals the first one, except for hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// A word that scripts use; of these the last one counts.
    Hints,
    /// That something failed.
    Names,
    /// A message of a tool.
    Complains,
    /// What failed.
    Tells,
}

/// The line that tells most.
fn found(lines: &[&str]) -> Option<usize> {
    let mut best: Option<(Weight, usize)> = None;
    for at in 0..lines.len() {
        let Some(weight) = weight(lines, at) else { continue };
        let later = weight == Weight::Hints;
        if best.is_none_or(|(known, _)| weight > known || later && weight == known) {
            best = Some((weight, at));
        }
        if weight == Weight::Tells {
            break;
        }
    }
    best.map(|(_, at)| at)
}

fn weight(lines: &[&str], at: usize) -> Option<Weight> {
    let line = lines[at].trim_end();
    let text = line.trim_start();
    let tells = is_pytest(line)
        || is_exception(text)
        || is_c_assertion(text)
        || is_panic(text)
        || is_go_message(lines, at)
        || text.contains("ERROR: AddressSanitizer")
        || text.contains("runtime error: ")
        || text.starts_with("fatal error: all goroutines")
        || text.starts_with("expect(received)");
    let complains = is_compiler_error(text)
        || text.starts_with("error: ")
        || text.starts_with("Error: ")
        || text.starts_with("fatal: ")
        || text.starts_with("[ERROR] ")
        || text.contains("Segmentation fault")
        || text.starts_with("SIG") && text.contains(": ");
    let names = text.starts_with("not ok ")
        || text.starts_with("FAIL: ")
        || text.starts_with("ERROR: ")
        || text.starts_with("--- FAIL: ")
        || text.starts_with("FAILED ")
        || text.contains("***Failed")
        || text.contains("***Exception");
    match (tells, complains, names) {
        (true, ..) => Some(Weight::Tells),
        (_, true, _) => Some(Weight::Complains),
        (.., true) => Some(Weight::Names),
        // A traced command is not what it prints.
        _ => (!text.starts_with('+') && hints(text)).then_some(Weight::Hints),
    }
}

fn hints(text: &str) -> bool {
    const WORDS: [&str; 7] =
        ["expected ", "expected: ", "mismatch", "not equal", "no such file", "denied", "cannot "];
    let text = text.to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// `E       assert 1 == 2`.
fn is_pytest(line: &str) -> bool {
    line.strip_prefix("E  ").is_some_and(|rest| !rest.trim().is_empty())
}

/// `AssertionError: 1 != 2`, `org.opentest4j.AssertionFailedError: ...`, `half: java.lang.Error`,
/// `AssertionError [ERR_ASSERTION]: ...`, `Uncaught TypeError: ...`.
fn is_exception(text: &str) -> bool {
    // Frames of a stack, and text about errors.
    if text.starts_with("at ") || text.starts_with("...") {
        return false;
    }
    let mut rest = text;
    loop {
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        if is_exception_name(word) {
            let behind = behind
                .strip_prefix(" [")
                .map_or(behind, |code| code.find(']').map_or(behind, |end| &code[end + 1..]));
            return behind.is_empty() || behind.starts_with(':') || behind.starts_with(" (");
        }
        // Only the name of a test, or one word, may stand before it.
        let Some(next) = behind.strip_prefix(": ").or_else(|| behind.strip_prefix("(): ")) else {
            return match behind.strip_prefix(' ') {
                Some(next) if matches!(word, "Uncaught" | "Error" | "Failed" | "Caused") => {
                    is_exception(next.strip_prefix("by: ").unwrap_or(next))
                }
                _ => false,
            };
        };
        rest = next;
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '$')
}

/// A type of exceptions by its name: `AssertionError`, `java.io.IOException`, `AssertionFailedError`.
fn is_exception_name(word: &str) -> bool {
    let simple = word.rsplit(['.', '$']).next().unwrap_or(word);
    let ends = ["Error", "Exception", "Failure", "Failed", "ExceptionInInitializerError"];
    let is_type = simple.starts_with(|c: char| c.is_ascii_uppercase());
    is_type && ends.iter().any(|end| simple.ends_with(end) && simple.len() > end.len())
}

/// `t: t.c:7: main: Assertion `x == 2' failed.`
fn is_c_assertion(text: &str) -> bool {
    text.contains(": Assertion `") && text.contains("failed")
        || text.starts_with("Assertion failed: ")
}

/// `panic: boom`, `thread 'main' panicked at src/a.rs:3:5:`.
fn is_panic(text: &str) -> bool {
    text.starts_with("panic: ") || text.starts_with("thread '") && text.contains(" panicked at ")
}

/// `    a_test.go:7: got 1`, below the name of a failed test.
fn is_go_message(lines: &[&str], at: usize) -> bool {
    let text = lines[at].trim_start();
    let Some((place, rest)) = text.split_once(": ") else { return false };
    let Some((file, line)) = place.rsplit_once(':') else { return false };
    let is_place = file.ends_with(".go") && line.parse::<u32>().is_ok() && !rest.is_empty();
    is_place && lines[at].starts_with(' ')
}

/// `a.c:3:5: error: ...`, `./a.go:3:5: undefined: x`, `error[E0425]: ...`, `[ERROR] /a/B.java:[3,5] ...`.
fn is_compiler_error(text: &str) -> bool {
    if text.starts_with("error[") || text.contains(": error: ") || text.contains(": fatal error: ")
    {
        return true;
    }
    let mut parts = text.splitn(4, ':');
    let (Some(file), Some(line), Some(column), Some(_)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    file.ends_with(".go") && line.parse::<u32>().is_ok() && column.parse::<u32>().is_ok()
}

/// Where the failure begins that a line names: the traceback before an exception of Python, the name of the
/// test before a message of Go.
fn beginning(lines: &[&str], at: usize) -> usize {
    let is_beginning = |line: &&str| {
        line.trim_start().starts_with("Traceback (most recent call last)")
            || line.trim_start().starts_with("--- FAIL: ")
    };
    let from = at.saturating_sub(FURTHEST_BEGINNING);
    let of_python = lines[at].starts_with(|c: char| !c.is_whitespace()) || is_pytest(lines[at]);
    let looks_back = is_go_message(lines, at) || of_python && !is_pytest(lines[at]);
    let found = lines[from..at].iter().rposition(is_beginning);
    found.filter(|_| looks_back).map_or(at, |back| from + back)
}

/// The line itself, with the next one where that is the message, or goes on with it.
fn with_message(lines: &[&str], at: usize) -> String {
    let line = lines[at].trim();
    let mut below = lines[at + 1..].iter().take(3).map(|next| next.trim());
    let mut next = || below.find(|next| !next.is_empty());
    // Rust has the message on a line of its own.
    if line.starts_with("thread '") {
        return next().map_or(line.to_owned(), |message| format!("{message} ({line})"));
    }
    let text = match is_pytest(lines[at]) {
        true => line.trim_start_matches('E').trim(),
        // A block of YAML, as in TAP.
        false if line.ends_with(": |-") || line.ends_with(": |") || line.ends_with(": >-") => {
            next().unwrap_or(line)
        }
        false => line,
    };
    match text.ends_with(':').then(next).flatten() {
        Some(more) => format!("{text} {more}"),
        None => text.to_owned(),
    }
}

/// The last line that says something: of a traced script the command that failed.
fn last<'t>(lines: &[&'t str]) -> Option<&'t str> {
    let mut lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).rev();
    let last = lines.next()?;
    let leaves = |line: &str| {
        let words = line.trim_start_matches('+').trim_start();
        words.starts_with("exit ") || words.starts_with("return ") || words == "exit"
    };
    if !(last.starts_with("+ ") && leaves(last)) {
        return Some(last);
    }
    Some(lines.next().unwrap_or(last))
}

/// Where the last lines begin that fit.
fn tail(lines: &[&str]) -> usize {
    let mut left = LONGEST;
    let mut from = lines.len();
    while from > 0 {
        let length = lines[from - 1].len().min(LONGEST_LINE * 4) + 1;
        let Some(rest) = left.checked_sub(length) else { break };
        left = rest;
        from -= 1;
    }
    from
}

#[cfg(test)]
mod tests;
