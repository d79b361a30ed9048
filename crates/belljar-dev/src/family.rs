//! This process and all below it.

use std::fs;

/// Their pids, this process first.
pub fn family() -> Vec<u32> {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent(pid)?)))
        .collect();
    let mut family = vec![std::process::id()];
    let mut next = 0;
    while next < family.len() {
        let head = family[next];
        let children = parents.iter().filter(|(_, parent)| *parent == head);
        family.extend(children.map(|(pid, _)| *pid));
        next += 1;
    }
    family
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
