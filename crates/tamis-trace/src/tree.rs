//! Looks at the processes of a tree, through /proc.

/// Signals every process below this one, again and again until no new one appears.
pub(crate) fn signal_all(signal: libc::c_int) {
    // SAFETY: getpid has no precondition.
    let me = unsafe { libc::getpid() } as u32;
    let mut seen = std::collections::HashSet::new();
    loop {
        let new: Vec<libc::pid_t> =
            descendants(me).into_iter().filter(|&pid| seen.insert(pid)).collect();
        if new.is_empty() {
            return;
        }
        for pid in new {
            // SAFETY: signals a process of our own tree.
            unsafe { libc::kill(pid, signal) };
        }
    }
}

/// All processes below `ancestor` that are not zombies.
pub(crate) fn descendants(ancestor: u32) -> Vec<libc::pid_t> {
    let mut parents = Vec::new();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|s| s.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { continue };
        // "pid (name) state ppid ...", where the name may hold anything.
        let Some(end) = stat.iter().rposition(|&b| b == b')') else { continue };
        let rest = String::from_utf8_lossy(&stat[end + 1..]).into_owned();
        let mut fields = rest.split_ascii_whitespace();
        let (state, parent) = (fields.next(), fields.next().and_then(|p| p.parse::<u32>().ok()));
        if let Some(parent) = parent {
            parents.push((pid, parent, state == Some("Z")));
        }
    }
    let mut found = vec![ancestor];
    let mut at = 0;
    while at < found.len() {
        let above = found[at];
        found.extend(parents.iter().filter(|p| p.1 == above).map(|p| p.0));
        at += 1;
    }
    found
        .into_iter()
        .skip(1)
        .filter(|pid| parents.iter().any(|p| p.0 == *pid && !p.2))
        .map(|pid| pid as libc::pid_t)
        .collect()
}

/// The file name of a process's program, or its short name.
pub(crate) fn program_name(pid: u32) -> String {
    std::fs::read_link(format!("/proc/{pid}/exe"))
        .ok()
        .and_then(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()))
        .or_else(|| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|s| s.trim().to_owned())
        })
        .unwrap_or_else(|| format!("process {pid}"))
}
