//! Finds the cgroup that this process may make groups below. Looks only: nothing is made or moved.

use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::Hierarchy;
use super::folder::slurp;

/// Controllers that a jar can be limited by.
const WANTED: [&str; 3] = ["memory", "pids", "cpu"];
/// One more, that a jar can be kept on some processors by.
pub(super) const CPUSET: &str = "cpuset";

/// The leaf that belljar moves processes to on version 2; a process found there belongs to the folder above.
pub(super) const SUPERVISOR: &str = "supervisor";

/// How files are read: the kernel's, or those of a pretended host.
pub(super) type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

const OWN: &str = "/proc/self/cgroup";
const MOUNTS: &str = "/proc/self/mountinfo";

/// Reads a file of the kernel.
pub(super) fn read(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    slurp(&rustix::fs::open(path, flags, Mode::empty()).ok()?).ok()
}

/// This process's cgroup of version 2.
pub(super) fn own_group(read: Read<'_>) -> Option<String> {
    let groups = read(OWN.as_ref())?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
    own.map(str::to_owned)
}

/// Where a cgroup of version 2 shows.
pub(super) fn locate(group: &str, read: Read<'_>) -> Option<PathBuf> {
    let mounts = read(MOUNTS.as_ref())?;
    let mut mounts = mounts.lines().filter_map(Mount::parse);
    mounts.find_map(|mount| mount.locate(group).filter(|_| mount.v2))
}

/// Whether all controllers are on version 2.
pub(super) fn is_unified(read: Read<'_>) -> bool {
    let mounts = read(MOUNTS.as_ref()).unwrap_or_default();
    let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(Mount::parse).collect();
    mounts.iter().any(|mount| mount.v2) && !mounts.iter().any(Mount::has_wanted)
}

/// Finds a cgroup that this process may make groups below.
pub fn detect() -> Hierarchy {
    detect_from(OWN.as_ref())
}

/// The same for another process of this user.
pub(super) fn detect_of(pid: u32) -> Hierarchy {
    detect_from(format!("/proc/{pid}/cgroup").as_ref())
}

fn detect_from(groups: &Path) -> Hierarchy {
    let (Some(groups), Some(mounts)) = (read(groups), read(MOUNTS.as_ref())) else {
        return none("/proc/self/cgroup or /proc/self/mountinfo cannot be read");
    };
    let writable = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    detect_in(&groups, &mounts, &writable, &read, &marked)
}

/// Whether systemd marked the folder as delegated. `trusted.` is for root's eyes and older than `user.`.
fn marked(path: &Path) -> bool {
    ["user.delegate", "trusted.delegate"].iter().any(|name| {
        let mut value = [0u8; 8];
        matches!(rustix::fs::getxattr(path, *name, &mut value), Ok(1)) && value[0] == b'1'
    })
}

/// The same from given contents of `/proc/self/cgroup` and `/proc/self/mountinfo`, so that tests can pretend other hosts.
///
/// `marked` tells whether a folder carries systemd's mark of delegation.
pub fn detect_in(
    proc_self_cgroup: &str,
    mountinfo: &str,
    writable: &dyn Fn(&Path) -> bool,
    read: &dyn Fn(&Path) -> Option<String>,
    marked: &dyn Fn(&Path) -> bool,
) -> Hierarchy {
    let mounts: Vec<Mount<'_>> = mountinfo.lines().filter_map(Mount::parse).collect();
    if mounts.is_empty() {
        return none("no cgroup file system is mounted");
    }
    let sight = Sight {
        groups: proc_self_cgroup,
        mounts: &mounts,
        writable,
        read,
        marked,
    };
    let v1 = sight.v1();
    // A controller lives on one side only: with all of them on version 1 there are none on version 2.
    if let Ok(all) = &v1
        && reach(all) == WANTED.len()
    {
        return all.clone();
    }
    match (v1, sight.v2()) {
        (Ok(one), Ok(two)) => {
            // A hybrid host may have some controllers on each side; the side with more of them wins.
            if reach(&one) > reach(&two) { one } else { two }
        }
        (Ok(found), Err(_)) | (Err(_), Ok(found)) => found,
        // Version 2 without controllers is beside the point on a host that keeps them on version 1.
        (Err(one), Err(two)) => none(if mounts.iter().any(Mount::has_wanted) {
            &one
        } else {
            &two
        }),
    }
}

fn none(reason: &str) -> Hierarchy {
    Hierarchy::None {
        reason: reason.to_owned(),
    }
}

/// How many of the wanted controllers a hierarchy can enforce.
fn reach(hierarchy: &Hierarchy) -> usize {
    match hierarchy {
        Hierarchy::None { .. } => 0,
        Hierarchy::V1 {
            memory, pids, cpu, ..
        } => [memory, pids, cpu].iter().filter(|path| path.is_some()).count(),
        Hierarchy::V2 { controllers, .. } | Hierarchy::Scope { controllers } => controllers
            .iter()
            .filter(|name| WANTED.contains(&name.as_str()))
            .count(),
    }
}

/// One cgroup mount of mountinfo.
struct Mount<'a> {
    root: String,
    point: PathBuf,
    read_only: bool,
    v2: bool,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let v2 = match right.next()? {
            "cgroup" => false,
            "cgroup2" => true,
            _ => return None,
        };
        let options = right.nth(1)?;
        let mut left = left.split(' ').skip(3);
        let root = unescape(left.next()?);
        let point = PathBuf::from(unescape(left.next()?));
        let flags = left.next()?;
        let read_only = [flags, options]
            .iter()
            .any(|list| list.split(',').any(|word| word == "ro"));
        Some(Mount {
            root,
            point,
            read_only,
            v2,
            options,
        })
    }

    fn holds(&self, controller: &str) -> bool {
        !self.v2 && self.options.split(',').any(|word| word == controller)
    }

    fn has_wanted(&self) -> bool {
        WANTED.iter().any(|controller| self.holds(controller))
    }

    /// Where a cgroup path shows below this mount, which may show only a part of the tree.
    fn locate(&self, group: &str) -> Option<PathBuf> {
        // A path with `..` lies outside of this process's cgroup namespace.
        if group.split('/').any(|part| part == "..") {
            return None;
        }
        let below = group.strip_prefix(self.root.trim_end_matches('/'))?;
        if !below.is_empty() && !below.starts_with('/') {
            return None;
        }
        let below = below.trim_matches('/');
        Some(if below.is_empty() {
            self.point.clone()
        } else {
            self.point.join(below)
        })
    }
}

/// Undoes the octal escapes (`\040`) of mountinfo.
fn unescape(field: &str) -> String {
    if !field.contains('\\') {
        return field.to_owned();
    }
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = tail
            .get(..3)
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match (first, code) {
            (b'\\', Some(byte)) => {
                out.push(byte);
                rest = &tail[3..];
            }
            _ => {
                out.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// All that detection looks at.
struct Sight<'a> {
    groups: &'a str,
    mounts: &'a [Mount<'a>],
    writable: &'a dyn Fn(&Path) -> bool,
    read: &'a dyn Fn(&Path) -> Option<String>,
    marked: &'a dyn Fn(&Path) -> bool,
}

impl Sight<'_> {
    /// This process's path in the hierarchy that `matches` its list of controllers.
    fn own(&self, matches: impl Fn(&str) -> bool) -> Option<&str> {
        self.groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            matches(controllers).then_some(path)
        })
    }

    fn v1(&self) -> Result<Hierarchy, String> {
        let mut refused = None;
        let mut find = |controller: &str| -> Option<PathBuf> {
            let own = self.own(|list| list.split(',').any(|word| word == controller))?;
            for mount in self.mounts.iter().filter(|mount| mount.holds(controller)) {
                let Some(folder) = mount.locate(own) else { continue };
                if !mount.read_only && (self.writable)(&folder) {
                    return Some(folder);
                }
                let why = if mount.read_only {
                    "is mounted read-only"
                } else {
                    "is not writable"
                };
                refused.get_or_insert_with(|| {
                    format!(
                        "{} (cgroup version 1) {why}; run as root or have it handed to this user",
                        folder.display()
                    )
                });
            }
            None
        };
        let (memory, pids, cpu) = (find("memory"), find("pids"), find("cpu"));
        let shared = self
            .mounts
            .iter()
            .any(|mount| mount.holds("cpu") && mount.holds("cpuacct"));
        let cpuacct = if shared { cpu.clone() } else { find("cpuacct") };
        let cpuset = find(CPUSET);
        if memory.is_none() && pids.is_none() && cpu.is_none() {
            return Err(
                refused.unwrap_or_else(|| "no version 1 controller shows this process's cgroup".to_owned())
            );
        }
        Ok(Hierarchy::V1 {
            memory,
            pids,
            cpu,
            cpuacct,
            cpuset,
        })
    }

    fn v2(&self) -> Result<Hierarchy, String> {
        let own = self
            .own(str::is_empty)
            .ok_or("this process is in no version 2 cgroup")?;
        // The folder of the jars is above the leaf that an earlier belljar moved us to.
        let above = own
            .strip_suffix(SUPERVISOR)
            .and_then(|path| path.strip_suffix('/'));
        let above = above.map(|path| self.base(if path.is_empty() { "/" } else { path }));
        let (base, controllers) = match above {
            Some(Ok(found)) => found,
            _ => self.base(own)?,
        };
        Ok(Hierarchy::V2 { base, controllers })
    }

    fn base(&self, group: &str) -> Result<(PathBuf, Vec<String>), String> {
        let mut found = self.mounts.iter().filter(|mount| mount.v2);
        let (mount, base) = found
            .find_map(|mount| Some((mount, mount.locate(group)?)))
            .ok_or_else(|| format!("no mounted cgroup2 shows {group}, the cgroup of this process"))?;
        let shown = base.display();
        if mount.read_only {
            return Err(format!(
                "{shown} (cgroup2) is mounted read-only; start the container with a private and writable cgroup"
            ));
        }
        if !["", "cgroup.procs", "cgroup.subtree_control"]
            .iter()
            .all(|file| (self.writable)(&base.join(file)))
        {
            return Err(match unit(group) {
                Some(_) => format!("{shown} is not delegated to this user"),
                None => format!("{shown} (cgroup2) is not writable; have it handed to this user"),
            });
        }
        if !self.delegated(mount, group, &base) {
            return Err(format!("{shown} belongs to systemd and is not delegated"));
        }
        let listed = (self.read)(&base.join("cgroup.controllers")).unwrap_or_default();
        let controllers: Vec<String> = listed
            .split_whitespace()
            .filter(|name| WANTED.contains(name) || *name == CPUSET)
            .map(str::to_owned)
            .collect();
        if !controllers.iter().any(|name| WANTED.contains(&name.as_str())) {
            return Err(format!(
                "{shown} (cgroup2) has none of the controllers memory, pids and cpu"
            ));
        }
        Ok((base, controllers))
    }

    /// Writable is not delegated where systemd made the folder. The system manager marks what it delegates, and hands a
    /// plain user nothing else; root may write everything; and a user's own manager makes every unit as that user and marks
    /// none, so that of its units only those are ours that belljar asked for.
    fn delegated(&self, mount: &Mount<'_>, group: &str, base: &Path) -> bool {
        let Some(unit) = unit(group) else { return true };
        if is_own(unit) || (self.marked)(base) {
            return true;
        }
        let by_user = group.split('/').any(is_user_manager);
        !by_user && !(self.writable)(&mount.point.join("cgroup.procs"))
    }
}

/// Whether a scope is one that belljar asked for.
fn is_own(unit: &str) -> bool {
    unit.starts_with("belljar-") && unit.ends_with(".scope")
}

/// The unit that systemd made this very folder for.
fn unit(group: &str) -> Option<&str> {
    let last = group.rsplit('/').next()?;
    [".scope", ".service", ".slice"]
        .iter()
        .any(|end| last.ends_with(end))
        .then_some(last)
}

fn is_user_manager(part: &str) -> bool {
    part.starts_with("user@") && part.ends_with(".service")
}
