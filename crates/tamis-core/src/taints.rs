//! Taints of one kind in one line: a thousand connections are one reason, not a thousand.

use crate::record::Taint;
use std::fmt::Display;
use std::net::SocketAddr;

/// Taints of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaintGroup<'t> {
    /// In the order in which they were given; never empty.
    taints: Vec<&'t Taint>,
}

/// So many examples are named.
const EXAMPLES: usize = 3;

/// The taints by kind, in the order in which the kinds come first.
pub fn by_kind(taints: &[Taint]) -> Vec<TaintGroup<'_>> {
    let mut groups: Vec<TaintGroup<'_>> = Vec::new();
    for taint in taints {
        match groups.iter_mut().find(|group| is_same_kind(group.first(), taint)) {
            Some(group) => group.taints.push(taint),
            None => groups.push(TaintGroup { taints: vec![taint] }),
        }
    }
    groups
}

/// One line for each kind.
pub fn lines(taints: &[Taint]) -> Vec<String> {
    by_kind(taints).iter().map(TaintGroup::text).collect()
}

fn is_same_kind(a: &Taint, b: &Taint) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b) && is_loopback(a) == is_loopback(b)
}

fn is_loopback(taint: &Taint) -> bool {
    let Taint::RunningService(name) = taint else { return false };
    name.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback())
}

impl TaintGroup<'_> {
    pub fn first(&self) -> &Taint {
        self.taints[0]
    }

    /// What happened, how often, and to what.
    pub fn text(&self) -> String {
        let [_, _, ..] = self.taints.as_slice() else { return self.first().to_string() };
        let n = thousands(self.taints.len());
        match self.first() {
            Taint::Unstable(_) => {
                let what = self.examples(|t| match t {
                    Taint::Unstable(path) => Some(path.clone()),
                    _ => None,
                });
                format!("{n} paths changed while the test ran, and not by the test: {what}")
            }
            Taint::ChangedBeforeSeen(_) => {
                let what = self.examples(|t| match t {
                    Taint::ChangedBeforeSeen(path) => Some(path.clone()),
                    _ => None,
                });
                format!("the test changed {n} paths before they could be fingerprinted: {what}")
            }
            Taint::ForeignPipe(_) => {
                let what = self.examples(|t| match t {
                    Taint::ForeignPipe(path) => Some(path.clone()),
                    _ => None,
                });
                format!("opened {n} pipes that the test did not make: {what}")
            }
            first => match sentence(first, &n) {
                Some(sentence) => {
                    let remedy = match first {
                        Taint::RunningService(_) => " (allow-services in tamis.toml accepts them)",
                        _ => "",
                    };
                    format!("{sentence}: {}{remedy}", self.examples(subject))
                }
                None => {
                    format!("{first}, and {} more of this kind", thousands(self.taints.len() - 1))
                }
            },
        }
    }

    fn examples<T: Display>(&self, what: impl Fn(&Taint) -> Option<T>) -> String {
        let named: Vec<String> = self
            .taints
            .iter()
            .take(EXAMPLES)
            .filter_map(|t| what(t))
            .map(|t| t.to_string())
            .collect();
        match self.taints.len().saturating_sub(named.len()) {
            0 => named.join(", "),
            more => format!("{} and {} more", named.join(", "), thousands(more)),
        }
    }
}

/// Who or what a taint is about, where that is a text.
fn subject(taint: &Taint) -> Option<String> {
    match taint {
        Taint::IoUring(text)
        | Taint::ForeignArchitecture(text)
        | Taint::FileHandle(text)
        | Taint::Unresolved(text)
        | Taint::LeftRunning(text)
        | Taint::RunningService(text)
        | Taint::SecondTracer(text) => Some(text.clone()),
        _ => None,
    }
}

/// The sentence about several of a kind; `None` where each says something of its own.
fn sentence(first: &Taint, n: &str) -> Option<String> {
    Some(match first {
        Taint::IoUring(_) => format!("{n} programs used io_uring, which cannot be observed"),
        Taint::ForeignArchitecture(_) => {
            format!("{n} programs are of a foreign architecture and cannot be observed")
        }
        Taint::FileHandle(_) => format!("{n} programs opened a file by handle"),
        Taint::Unresolved(_) => format!("{n} paths could not be resolved"),
        Taint::LeftRunning(_) => format!("left {n} processes running"),
        Taint::RunningService(_) if is_loopback(first) => {
            format!("{n} loopback connections to processes that were already running")
        }
        Taint::RunningService(_) => format!("talked to {n} processes that were already running"),
        Taint::SecondTracer(_) => format!("{n} programs trace or filter system calls themselves"),
        _ => return None,
    })
}

fn thousands(n: usize) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::PortablePath;

    #[test]
    fn one_of_a_kind_reads_as_before() {
        let taints = [Taint::StandardInput, Taint::RunningService("127.0.0.1:5432".into())];
        let texts: Vec<String> = taints.iter().map(ToString::to_string).collect();
        assert_eq!(lines(&taints), texts);
        assert!(lines(&[]).is_empty());
    }

    #[test]
    fn many_of_a_kind_are_one_line() {
        let service = |n: u32| Taint::RunningService(format!("127.0.0.1:{n}"));
        let mut taints: Vec<Taint> = (30_000..31_098).map(service).collect();
        taints.push(Taint::RunningService("/run/docker.sock".into()));
        taints.push(Taint::StandardInput);
        assert_eq!(
            lines(&taints),
            [
                "1,098 loopback connections to processes that were already running: \
                 127.0.0.1:30000, 127.0.0.1:30001, 127.0.0.1:30002 and 1,095 more \
                 (allow-services in tamis.toml accepts them)",
                &taints[1_098].to_string(),
                "read its standard input, which cannot be compared",
            ]
        );
    }

    #[test]
    fn two_are_both_named() {
        let path = |text: &str| Taint::ChangedBeforeSeen(PortablePath::from_stored(text));
        assert_eq!(
            lines(&[path("a"), path("b")]),
            ["the test changed 2 paths before they could be fingerprinted: a, b"]
        );
    }

    #[test]
    fn each_kind_has_a_line_for_several() {
        let path = |n: u32| PortablePath::from_stored(format!("p{n}"));
        let text = |n: u32| format!("t{n}");
        let kinds: [&dyn Fn(u32) -> Taint; 14] = [
            &|n| Taint::Unstable(path(n)),
            &|n| Taint::ChangedBeforeSeen(path(n)),
            &|n| Taint::IoUring(text(n)),
            &|n| Taint::ForeignArchitecture(text(n)),
            &|n| Taint::FileHandle(text(n)),
            &|n| Taint::Namespace(text(n)),
            &|n| Taint::Unresolved(text(n)),
            &|n| Taint::LeftRunning(text(n)),
            &|n| Taint::RunningService(text(n)),
            &|n| Taint::LostEvents(n.into()),
            &|n| Taint::SecondTracer(text(n)),
            &|n| Taint::Engine(text(n)),
            &|n| Taint::Unobserved(text(n)),
            &|n| Taint::ForeignPipe(path(n)),
        ];
        for kind in kinds {
            let taints: Vec<Taint> = (1..=5).map(kind).collect();
            let lines = lines(&taints);
            assert_eq!(lines.len(), 1, "{lines:?}");
            let counts = lines[0].contains('5') || lines[0].ends_with("and 4 more of this kind");
            assert!(counts, "{lines:?}");
        }
    }
}
