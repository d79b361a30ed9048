//! What the host sees of a waiting guest and of the jar's init. Each gives what is wrong; in a control something must be.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use crate::judge::Way;
use crate::seam::Live;
use crate::stage::{SECRET, Scene, Start};
use crate::support::procfs;

/// What walking into a jar takes: SYS_CHROOT, SYS_ADMIN, SETPCAP.
const TEMPLATE_CAPABILITIES: &str = "0000000000240100";

/// The processes of one run.
pub struct Room {
    pub init: u32,
    pub guest: u32,
    /// Of a cabinet: its builder, its keeper, its template.
    pub cabinet: Vec<(&'static str, u32)>,
}

impl Room {
    /// Finds them below the process that was started: perhaps a warden, then init, then the guest.
    pub fn find(live: &Live, start: Start) -> Result<Self, String> {
        if start == Start::Warm {
            return Self::find_warm(live.child.id());
        }
        let first = procfs::first_child(live.child.id())?;
        let second = procfs::first_child(first)?;
        let is_warden =
            std::fs::read(format!("/proc/{first}/cmdline")).is_ok_and(|line| line.ends_with(b"\0warden\0"));
        let (init, guest) = if is_warden {
            // Init is a copy of the warden; only its parent tells them apart.
            (second, procfs::first_child(second)?)
        } else {
            (first, second)
        };
        Ok(Self {
            init,
            guest,
            cabinet: Vec::new(),
        })
    }

    /// Everyone of a cabinet is told by how deep its pid namespace is, and by being the first in it or not.
    fn find_warm(caller: u32) -> Result<Self, String> {
        let since = Instant::now();
        loop {
            match Self::look_warm(caller) {
                // The jar of the job before may not be gone yet.
                Err(_) if since.elapsed() < Duration::from_secs(60) => {
                    std::thread::sleep(Duration::from_millis(5))
                }
                found => return found,
            }
        }
    }

    fn look_warm(caller: u32) -> Result<Self, String> {
        let outer = procfs::numbers(caller).map_err(|error| error.to_string())?.len();
        let family = procfs::descendants(caller);
        let only = |depth: usize, first: bool| -> Result<u32, String> {
            let fits = |pid: &&u32| {
                procfs::numbers(**pid).is_ok_and(|numbers| {
                    numbers.len() == outer + depth && (numbers.last() == Some(&1)) == first
                })
            };
            match family.iter().filter(fits).collect::<Vec<_>>()[..] {
                [pid] => Ok(*pid),
                ref found => Err(format!(
                    "{} processes at depth {depth}, first {first}",
                    found.len()
                )),
            }
        };
        Ok(Self {
            init: only(3, true)?,
            guest: only(3, false)?,
            cabinet: vec![
                ("builder", only(1, true)?),
                ("keeper", only(2, true)?),
                ("template", only(2, false)?),
            ],
        })
    }

    /// A worker keeps its template's filter below its own.
    fn filters(&self) -> &'static str {
        if self.cabinet.is_empty() { "1" } else { "2" }
    }

    fn all(&self) -> Vec<(&'static str, u32)> {
        let mut all = vec![("init", self.init), ("guest", self.guest)];
        all.extend(&self.cabinet);
        all
    }
}

/// Why an observer saw nothing.
pub enum Blind {
    /// Only root is let in.
    Denied(String),
    Failed(String),
}

impl From<Blind> for String {
    fn from(blind: Blind) -> Self {
        let (Blind::Denied(text) | Blind::Failed(text)) = blind;
        text
    }
}

/// Looks, and says what is not as it should be.
pub fn observe(name: &str, live: &Live, scene: &Scene, start: Start) -> Result<Vec<String>, Blind> {
    let room = Room::find(live, start).map_err(Blind::Failed)?;
    let found = match name {
        "status" => status(&room),
        "namespaces" => namespaces(&room),
        "ids" => ids(&room),
        "descriptors" => descriptors(&room, live.child.id()),
        "mounts" => mounts(&room),
        "environment" => environment(&room),
        "session" => session(&room),
        "template" => template(&room),
        "locks" => locks(&room),
        "warden descriptors" => return warden(live, start).map_err(Blind::Failed),
        _ => return Err(Blind::Failed("no such observer".into())),
    };
    let _ = scene;
    found.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => Blind::Denied(error.to_string()),
        _ => Blind::Failed(error.to_string()),
    })
}

/// In a whole jar nothing may be wrong; in a control something must be, or the observer is blind.
pub fn judge(name: &str, found: Vec<String>, way: Way) -> Vec<String> {
    match way {
        Way::Sealed => found,
        Way::Control if found.is_empty() => vec![format!(
            "the observer of {name} saw nothing wrong in a jar that lacks it"
        )],
        Way::Control => Vec::new(),
    }
}

/// Every task of the jar, init's included: filtered, no privileges to gain, none to use.
fn status(room: &Room) -> io::Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (name, pid, filters) in [("init", room.init, "1"), ("guest", room.guest, room.filters())] {
        for task in procfs::tasks(pid)? {
            let status = procfs::status(pid, task)?;
            let mut want = |field: &str, wanted: &str| {
                let found = status.get(field).map_or("nothing", String::as_str);
                if found != wanted {
                    wrong.push(format!("{name}, task {task}: {field} is {found}, not {wanted}"));
                }
            };
            want("Seccomp", "2");
            want("Seccomp_filters", filters);
            want("NoNewPrivs", "1");
            for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
                want(set, "0000000000000000");
            }
        }
    }
    Ok(wrong)
}

fn namespaces(room: &Room) -> io::Result<Vec<String>> {
    let host = procfs::namespaces(std::process::id())?;
    let mut wrong = Vec::new();
    for (name, pid) in room.all() {
        let own = procfs::namespaces(pid)?;
        for kind in ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"] {
            // A view of the cgroups is made once they are entered, and nobody but the builder has to look at them before.
            if name != "builder" && own.get(kind).is_none_or(|found| Some(found) == host.get(kind)) {
                wrong.push(format!("{name} is in the host's {kind} namespace"));
            }
        }
    }
    // What the template has is not what its worker is in.
    let guest = procfs::namespaces(room.guest)?;
    for (name, pid) in &room.cabinet {
        let theirs = procfs::namespaces(*pid)?;
        for kind in ["mnt", "pid", "net", "ipc", "uts"] {
            if guest.get(kind) == theirs.get(kind) {
                wrong.push(format!("the worker is in the {kind} namespace of the {name}"));
            }
        }
    }
    Ok(wrong)
}

/// One user and one group, which are nobody of importance on the host.
fn ids(room: &Room) -> io::Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (name, pid) in room.all() {
        for file in ["uid_map", "gid_map"] {
            let map = std::fs::read_to_string(format!("/proc/{pid}/{file}"))?;
            let fields: Vec<&str> = map.split_whitespace().collect();
            if fields.len() != 3 || fields[2] != "1" || fields[1] == "0" {
                wrong.push(format!("{name}: {file} is `{}`", map.trim()));
            }
        }
        let status = procfs::status(pid, pid)?;
        for field in ["Uid", "Gid"] {
            if status
                .get(field)
                .is_none_or(|ids| ids.split(' ').any(|id| id == "0"))
            {
                wrong.push(format!("{name}: {field} on the host is {:?}", status.get(field)));
            }
        }
        if status.get("Groups").is_none_or(|groups| !groups.is_empty()) {
            wrong.push(format!("{name}: supplementary groups {:?}", status.get("Groups")));
        }
    }
    Ok(wrong)
}

/// The guest has its streams and its control socket; init has the way to the warden.
fn descriptors(room: &Room, caller: u32) -> io::Result<Vec<String>> {
    let kinds = |pid: u32| -> io::Result<BTreeMap<u32, String>> {
        let found = procfs::descriptors(pid)?.into_iter();
        let kind = |path: &std::path::Path| {
            path.to_string_lossy()
                .split(':')
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        Ok(found.map(|(number, path)| (number, kind(&path))).collect())
    };
    let wanted = |list: &[(u32, &str)]| -> BTreeMap<u32, String> {
        list.iter()
            .map(|(number, kind)| (*number, (*kind).to_owned()))
            .collect()
    };
    // Its way to the warden or keeper, and what it answers those from who want locks: the kernel's list, where it hears that its child
    // has ended, and the filter's listener.
    let init = if room.cabinet.is_empty() {
        wanted(&[
            (0, "socket"),
            (1, "/proc/locks"),
            (3, "anon_inode"),
            (4, "anon_inode"),
        ])
    } else {
        wanted(&[(0, "socket"), (1, "/proc/locks"), (2, "anon_inode")])
    };
    let mut wrong = Vec::new();
    let guest = wanted(&[(0, "pipe"), (1, "pipe"), (2, "pipe"), (3, "socket")]);
    for (name, pid, wanted) in [("guest", room.guest, guest), ("init", room.init, init)] {
        let found = kinds(pid)?;
        if found != wanted {
            wrong.push(format!("{name} holds {:?}", procfs::descriptors(pid)?));
        }
    }
    // The control: there was something to inherit.
    if !procfs::descriptors(caller)?
        .values()
        .any(|path| path.ends_with("secret/key"))
    {
        wrong.push("the caller left nothing open, so this proves nothing".into());
    }
    Ok(wrong)
}

/// Every mount without set-id programs and devices, every part of the host read-only, and nothing that is not ours.
fn mounts(room: &Room) -> io::Result<Vec<String>> {
    let mut wrong = Vec::new();
    for mount in procfs::mounts(room.guest)? {
        let has = |option: &str| mount.options.iter().any(|found| found == option);
        let is_device = ["null", "zero", "full", "random", "urandom"]
            .iter()
            .any(|name| mount.target == format!("/dev/{name}"));
        let own = ["/jar", "/tmp", "/dev/shm"].contains(&mount.target.as_str());
        let mut want = |holds: bool, what: &str| {
            if !holds {
                wrong.push(format!("{} ({}): {what}", mount.target, mount.kind));
            }
        };
        want(has("nosuid"), "set-id programs count");
        want(has("nodev") || is_device, "devices can be opened");
        want(
            has("ro") || own || is_device || mount.target.starts_with("/proc"),
            "can be written",
        );
        want(
            mount.target != "/dev/shm" || has("noexec"),
            "shared memory can be executed",
        );
        want(!own || mount.kind == "tmpfs", "is not a fresh tmpfs");
        want(
            ![
                "cgroup",
                "cgroup2",
                "sysfs",
                "debugfs",
                "tracefs",
                "securityfs",
                "bpf",
            ]
            .contains(&mount.kind.as_str()),
            "is there",
        );
        // The host's root itself, under any name.
        want(
            mount.kind == "tmpfs"
                || mount.kind == "proc"
                || mount.root != "/"
                || mount.target.starts_with("/mnt"),
            "is a whole file system of the host",
        );
    }
    Ok(wrong)
}

/// Neither the guest nor init has a variable of the caller.
fn environment(room: &Room) -> io::Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (name, pid) in room.all() {
        let text = std::fs::read(format!("/proc/{pid}/environ"))?;
        for unwanted in [SECRET, "SSH_AUTH_SOCK", "BELLJAR_BIN"] {
            if text
                .windows(unwanted.len())
                .any(|part| part == unwanted.as_bytes())
            {
                wrong.push(format!("{name} has {unwanted} in its environment"));
            }
        }
    }
    Ok(wrong)
}

/// The guest leads a session of its own, without a terminal.
fn session(room: &Room) -> io::Result<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", room.guest))?;
    let fields: Vec<&str> = text
        .rsplit_once(')')
        .map_or("", |parts| parts.1)
        .split_whitespace()
        .collect();
    let mut wrong = Vec::new();
    if fields.get(3) != Some(&room.guest.to_string().as_str()) {
        wrong.push(format!("the guest is in session {:?}", fields.get(3)));
    }
    if fields.get(4) != Some(&"0") {
        wrong.push("the guest has a controlling terminal".into());
    }
    Ok(wrong)
}

/// The guest has no more file locks than a jar may have.
fn locks(room: &Room) -> io::Result<Vec<String>> {
    // Of each open file: /proc/locks is read in parts, and what others lock meanwhile moves its lines.
    let mut count = 0;
    for entry in std::fs::read_dir(format!("/proc/{}/fdinfo", room.guest))? {
        // The guest waits and closes nothing; one that is gone was never counted.
        let text = std::fs::read_to_string(entry?.path()).unwrap_or_default();
        count += text.lines().filter(|line| line.starts_with("lock:")).count();
    }
    let wrong = !(1..=128).contains(&count);
    Ok(wrong
        .then(|| format!("the guest has {count} locks"))
        .into_iter()
        .collect())
}

/// A template has three capabilities over its cabinet and no others, one thread, a filter, and five descriptors.
fn template(room: &Room) -> io::Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (name, pid) in &room.cabinet {
        let status = procfs::status(*pid, *pid)?;
        let mut want = |field: &str, wanted: &str| {
            let found = status.get(field).map_or("nothing", String::as_str);
            if found != wanted {
                wrong.push(format!("{name}: {field} is {found}, not {wanted}"));
            }
        };
        want("Threads", "1");
        if *name == "keeper" {
            continue;
        }
        want("NoNewPrivs", "1");
        want("Seccomp_filters", "1");
        let capabilities = if *name == "template" {
            TEMPLATE_CAPABILITIES
        } else {
            "0000000000000000"
        };
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            want(set, capabilities);
        }
    }
    let held = room.cabinet.iter().filter(|(name, _)| *name == "template");
    for (_, pid) in held {
        let kinds: Vec<String> = procfs::descriptors(*pid)?
            .values()
            .map(|path| {
                let path = path.to_string_lossy();
                let kind = path.strip_prefix("anon_inode:").unwrap_or(&path);
                kind.split(':').next().unwrap_or_default().to_owned()
            })
            .collect();
        if kinds != ["pipe", "pipe", "pipe", "socket", "pid", "[signalfd]"] {
            wrong.push(format!("the template holds {kinds:?}"));
        }
    }
    Ok(wrong)
}

/// What a guest pushes through its control socket must not pile up in whoever watches it.
fn warden(live: &Live, start: Start) -> Result<Vec<String>, String> {
    let (watcher, most) = match start {
        // As root there is a cgroup to hold, too.
        Start::Cold => (procfs::first_child(live.child.id())?, 32),
        // A pool holds more for itself: its threads, its cabinet, the worker's eleven.
        Start::Warm => (live.child.id(), 64),
    };
    // A thread that nobody waits for closes them, so those of the last message may still be there; what piles up stays.
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let held = procfs::descriptors(watcher).map_err(|error| error.to_string())?;
        if held.len() <= most {
            return Ok(Vec::new());
        }
        if Instant::now() >= until {
            return Ok(vec![format!("the watcher holds {} descriptors", held.len())]);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
