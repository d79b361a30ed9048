//! Processes as the host sees them. A guest can lie about itself; /proc of the host cannot.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The processes whose parent is `parent`.
pub fn children(parent: u32) -> Vec<u32> {
    let pids = all().into_iter();
    pids.filter(|pid| stat(*pid).is_some_and(|(_, found)| found == parent))
        .collect()
}

fn all() -> Vec<u32> {
    let Ok(folder) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    folder
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Every process below another.
pub fn descendants(ancestor: u32) -> Vec<u32> {
    family(ancestor).into_iter().map(|(pid, _)| pid).collect()
}

/// Every process below another, with its numbers, by one look at each: on a busy machine a worker does not live long
/// enough to be looked at twice.
pub fn family(ancestor: u32) -> Vec<(u32, Vec<u32>)> {
    let look = |pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let parent: u32 = line("PPid:")?.trim().parse().ok()?;
        let numbers = line("NSpid:")?.split_whitespace();
        Some((
            pid,
            parent,
            numbers.filter_map(|number| number.parse().ok()).collect(),
        ))
    };
    let mut others: Vec<(u32, u32, Vec<u32>)> = all().into_iter().filter_map(look).collect();
    let mut found: Vec<(u32, Vec<u32>)> = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        for (pid, _, numbers) in others.extract_if(.., |other| other.1 == parent) {
            parents.push(pid);
            found.push((pid, numbers));
        }
    }
    found
}

/// The numbers of a process, from our pid namespace to its own.
pub fn numbers(pid: u32) -> io::Result<Vec<u32>> {
    let status = status(pid, pid)?;
    let text = status.get("NSpid").map_or("", String::as_str);
    Ok(text.split(' ').filter_map(|number| number.parse().ok()).collect())
}

/// State letter and parent of a process.
pub fn stat(pid: u32) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Whether a process is there and not a zombie.
pub fn alive(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

/// When a process started: with its number, what tells it from a later one. Numbers come back within seconds where there are
/// 32,768 of them and somebody forks without end.
#[allow(dead_code)] // Not every test that has this file asks.
pub fn started(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// The first child of a process, once it has one.
pub fn first_child(parent: u32) -> Result<u32, String> {
    let since = Instant::now();
    loop {
        match children(parent).into_iter().min() {
            Some(child) => return Ok(child),
            None if since.elapsed() < Duration::from_secs(60) => std::thread::sleep(Duration::from_millis(2)),
            None => return Err(format!("process {parent} has no child")),
        }
    }
}

/// The threads of a process.
pub fn tasks(pid: u32) -> io::Result<Vec<u32>> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"))?;
    Ok(entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect())
}

/// The lines of a thread's `status`, by name.
pub fn status(pid: u32, task: u32) -> io::Result<BTreeMap<String, String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{task}/status"))?;
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    Ok(pairs
        .map(|(name, value)| {
            (
                name.into(),
                value.split_whitespace().collect::<Vec<_>>().join(" "),
            )
        })
        .collect())
}

/// Where each descriptor of a process leads.
pub fn descriptors(pid: u32) -> io::Result<BTreeMap<u32, PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let entry = entry?;
        if let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) {
            found.insert(number, fs::read_link(entry.path())?);
        }
    }
    Ok(found)
}

/// The namespaces of a process, such as `net` → `net:[4026531840]`.
pub fn namespaces(pid: u32) -> io::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(format!("/proc/{pid}/ns"))? {
        let entry = entry?;
        let target = fs::read_link(entry.path())?;
        found.insert(
            entry.file_name().to_string_lossy().into(),
            target.to_string_lossy().into(),
        );
    }
    Ok(found)
}

/// One line of a mountinfo.
#[derive(Debug)]
pub struct Mount {
    /// Which part of its file system is mounted.
    pub root: String,
    /// Where.
    pub target: String,
    /// Options of this mount.
    pub options: Vec<String>,
    /// File system.
    pub kind: String,
}

/// The mounts that a process sees.
pub fn mounts(pid: u32) -> io::Result<Vec<Mount>> {
    let text = fs::read_to_string(format!("/proc/{pid}/mountinfo"))?;
    let parse = |line: &str| {
        let (mount, source) = line.split_once(" - ")?;
        let fields: Vec<&str> = mount.split(' ').collect();
        Some(Mount {
            root: (*fields.get(3)?).into(),
            target: (*fields.get(4)?).into(),
            options: fields.get(5)?.split(',').map(str::to_owned).collect(),
            kind: source.split(' ').next()?.into(),
        })
    };
    Ok(text.lines().filter_map(parse).collect())
}
