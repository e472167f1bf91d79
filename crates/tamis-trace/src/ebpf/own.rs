//! Paths through the links of /proc that mean something else to each process: `/proc/self/fd/3`,
//! `/proc/7/cwd`, `/dev/stdin`.
//!
//! Where they led is known to the process alone and only at that moment, so the kernel side sends the
//! target of the first one of a path along. What it did not send cannot be known afterwards.

/// The first such link on a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link<'a> {
    pub(super) target: Target,
    /// What follows behind it.
    pub(super) rest: &'a [u8],
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) enum Target {
    /// The working directory.
    Directory,
    /// The root directory, which is ours: a run that changes it is marked.
    Root,
    /// The program, what is behind a descriptor, or the root directory of another process.
    File,
}

/// Finds the first link of a process's own on an absolute path.
pub(super) fn find(path: &[u8]) -> Option<Link<'_>> {
    let mut place: Vec<&[u8]> = Vec::new();
    let mut rest = path;
    if !path.starts_with(b"/dev/") && !path.windows(4).any(|w| w == b"proc") {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.iter().position(|&b| b == b'/').unwrap_or(rest.len());
        let name = &rest[..end];
        rest = rest[end..].strip_prefix(b"/").unwrap_or_default();
        match name {
            b"" | b"." => continue,
            b".." => drop(place.pop()),
            _ => place.push(name),
        }
        let target = match place.as_slice() {
            [b"proc", whose, b"task", thread] if is_process(whose) && is_number(thread) => {
                place = vec![b"proc", thread];
                continue;
            }
            [b"dev", b"fd"] => {
                place = vec![b"proc", b"self", b"fd"];
                continue;
            }
            [b"dev", b"stdin" | b"stdout" | b"stderr"] => Target::File,
            [b"proc", whose, b"cwd"] if is_process(whose) => Target::Directory,
            [b"proc", b"self" | b"thread-self", b"root"] => Target::Root,
            [b"proc", whose, b"root"] if is_process(whose) => Target::File,
            [b"proc", whose, b"exe"] if is_process(whose) => Target::File,
            [b"proc", whose, b"fd", n] if is_process(whose) && is_number(n) => Target::File,
            _ => continue,
        };
        return Some(Link { target, rest });
    }
    None
}

fn is_number(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(u8::is_ascii_digit)
}

fn is_process(name: &[u8]) -> bool {
    name == b"self" || name == b"thread-self" || is_number(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found() {
        for (path, target, rest) in [
            ("/proc/self/fd/3", Target::File, ""),
            ("/proc/17/cwd/a/b", Target::Directory, "a/b"),
            ("/dev/fd/3/x", Target::File, "x"),
            ("/dev/stdin", Target::File, ""),
            ("//proc/./self/../self/exe", Target::File, ""),
            ("/proc/self/task/9/cwd", Target::Directory, ""),
            ("/proc/thread-self/root/etc", Target::Root, "etc"),
            ("/proc/17/root/etc", Target::File, "etc"),
        ] {
            let found = find(path.as_bytes());
            assert_eq!(found, Some(Link { target, rest: rest.as_bytes() }), "{path}");
        }
    }

    #[test]
    fn other_paths_are_left_alone() {
        for path in [
            "/proc/self/maps",
            "/proc/self/fd",
            "/proc/sys/cwd",
            "/dev/null",
            "/a/proc/self/cwd",
            "/",
        ] {
            assert_eq!(find(path.as_bytes()), None, "{path}");
        }
    }
}
