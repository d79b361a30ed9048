//! Where attacks are played: copies of our programs that any user may start, a folder for each run, decoys.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use belljar::policy::{Access, Mount, Network};
use belljar::{Policy, policy};
use serde_json::{Value, json};

use crate::preloads;
use crate::seam::Request;
use crate::support::canary::Listeners;
use crate::support::leaks;

/// What must not be seen in a jar.
pub const SECRET: &str = "canary-7f3a-secret";
/// A user whom no distribution has.
const USER: u32 = 12_345;

/// Who starts the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Root,
    User,
}

impl Who {
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::User => "user",
        }
    }

    /// Whom the run must change to; `None` when it is the caller already.
    pub fn id(self) -> Option<u32> {
        (self == Self::User && rustix::process::getuid().is_root()).then_some(USER)
    }
}

/// How the guest comes to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// In a jar of its own, by exec.
    Cold,
    /// As a parked worker of a pool.
    Warm,
}

impl Start {
    pub fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
        }
    }
}

/// What all runs share.
pub struct Stage {
    folder: tempfile::TempDir,
    /// This program, where every user may start it.
    pub program: PathBuf,
    /// The `belljar` binary, likewise.
    pub belljar: PathBuf,
    next: AtomicUsize,
    running: Mutex<BTreeSet<u32>>,
}

/// What one run has on the host.
pub struct Scene {
    pub folder: PathBuf,
    pub listeners: Listeners,
    /// A process of the same user, which must survive.
    pub decoy: Child,
}

impl Stage {
    pub fn new() -> std::io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("belljar-attacks-")
            .tempdir_in(place())?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        let copy = |from: &Path, name: &str| -> std::io::Result<PathBuf> {
            let to = folder.path().join(name);
            fs::copy(from, &to)?;
            fs::set_permissions(&to, fs::Permissions::from_mode(0o755))?;
            Ok(to)
        };
        let program = copy(&std::env::current_exe()?, "attacks")?;
        // `make attack-release` tries the binary that people get, which is linked with another libc.
        let built = std::env::var_os("BELLJAR_ATTACKED").map(PathBuf::from);
        let built = built.unwrap_or_else(|| env!("CARGO_BIN_EXE_belljar").into());
        let belljar = copy(&built, "belljar")?;
        Ok(Self {
            folder,
            program,
            belljar,
            next: AtomicUsize::new(0),
            running: Mutex::default(),
        })
    }

    /// Starts a process that is known to the search for strays.
    pub fn spawn(&self, command: &mut Command) -> Result<Child, String> {
        let mut running = self.running.lock().expect("no panic while held");
        let child = command
            .spawn()
            .map_err(|error| format!("start {command:?}: {error}"))?;
        running.insert(child.id());
        Ok(child)
    }

    pub fn ended(&self, pid: u32) {
        self.running.lock().expect("no panic while held").remove(&pid);
    }

    /// Processes of ours that should be gone.
    pub fn strays(&self) -> Vec<String> {
        leaks::strays(&|| self.running.lock().expect("no panic while held").clone())
    }

    /// A folder with canaries for one run: `secret/` is not shown, `canary/` is shown where an attack asks for it.
    pub fn scene(&self, who: Who) -> Result<Scene, String> {
        self.make_scene(who)
            .map_err(|error| format!("set the scene: {error}"))
    }

    fn make_scene(&self, who: Who) -> std::io::Result<Scene> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.path().join(format!("run{number}"));
        for name in ["", "secret", "canary", "canary/inner"] {
            fs::create_dir(folder.join(name))?;
        }
        fs::write(folder.join("secret/key"), SECRET)?;
        fs::write(folder.join("canary/file"), "as it was\n")?;
        fs::write(folder.join("canary/other"), "as it was\n")?;
        // Names of sockets are one space for all suites of this machine, and the folder's is taken.
        let suite = self.folder.path().file_name().unwrap_or_default();
        let listeners = Listeners::open(&folder, &format!("{}-{number}", suite.display()))?;
        if let Some(id) = who.id() {
            for name in [
                "",
                "secret",
                "secret/key",
                "canary",
                "canary/inner",
                "canary/file",
                "canary/other",
            ] {
                chown(folder.join(name), Some(id), Some(id))?;
            }
        }
        let mut decoy = Command::new("/usr/bin/sleep");
        decoy.arg("600").stdin(Stdio::null());
        if let Some(id) = who.id() {
            std::os::unix::process::CommandExt::uid(&mut decoy, id);
        }
        let decoy = self.spawn(&mut decoy).map_err(std::io::Error::other)?;
        Ok(Scene {
            folder,
            listeners,
            decoy,
        })
    }

    /// Takes a scene down again.
    pub fn clear(&self, mut scene: Scene) {
        let _ = scene.decoy.kill();
        let _ = scene.decoy.wait();
        self.ended(scene.decoy.id());
        let _ = fs::remove_dir_all(&scene.folder);
    }
}

/// The run that an attack's `given` lines describe.
pub fn request(scene: &Scene, source: &str, given: &[String], without: &[String]) -> Result<Request, String> {
    let mut policy = Policy::default();
    let (mut knobs, mut own_warden, mut leak, mut warm, mut preload) =
        (Vec::new(), false, false, false, None);
    for item in given {
        let mut mount = |source: PathBuf, target: &str, access| {
            policy.mounts.push(Mount {
                source,
                target: target.into(),
                access,
            });
        };
        match item.as_str() {
            "canary shown read-only" => mount(scene.folder.join("canary"), "/canary", Access::ReadOnly),
            // No policy may show /dev, so it is put into the plan.
            "host /dev shown read-only" => knobs.push("a shown /dev".into()),
            "workdir" | "draft" => {
                let mode = if item == "draft" {
                    policy::WorkdirMode::Draft
                } else {
                    policy::WorkdirMode::Write
                };
                let source = scene.folder.join("canary");
                policy.workdir = Some(policy::Workdir {
                    source,
                    target: "/jar".into(),
                    mode,
                });
            }
            "loopback" => policy.network = Network::Loopback,
            "host network" => policy.network = Network::Host,
            "own warden" => own_warden = true,
            "leaky caller" => leak = true,
            "parked worker" => warm = true,
            "little memory" => policy.limits.memory = 64 << 20,
            "preload" => {
                let venv = preloads::venv(scene, source, &facts(scene), without)
                    .map_err(|error| error.to_string())?;
                policy.venv = Some(venv);
                preload = Some(preloads::NAME.to_owned());
            }
            other => match other.strip_prefix("without ") {
                Some(knob) => knobs.push(knob.to_owned()),
                None => return Err(format!("nothing is given by `{other}`")),
            },
        }
    }
    knobs.extend(without.iter().cloned());
    Ok(Request {
        policy,
        knobs,
        source: if preload.is_some() {
            preloads::job(without)
        } else {
            source.to_owned()
        },
        command: None,
        facts: facts(scene),
        folder: scene.folder.clone(),
        own_warden,
        leak,
        terminal: false,
        warm: warm || preload.is_some(),
        preload,
    })
}

/// What a guest is told of the host, so that a failure is not for want of a name.
fn facts(scene: &Scene) -> BTreeMap<String, Value> {
    let listeners = &scene.listeners;
    BTreeMap::from([
        ("secret".into(), json!(scene.folder.join("secret/key"))),
        ("planted".into(), json!(scene.folder.join("planted"))),
        ("tcp".into(), json!(listeners.tcp_port)),
        ("tcp6".into(), json!(listeners.tcp6_port)),
        ("udp".into(), json!(listeners.udp_port)),
        ("abstract".into(), json!(listeners.name)),
        ("socket".into(), json!(listeners.path)),
        ("decoy".into(), json!(scene.decoy.id())),
    ])
}

/// Where what is planted works: on Debian 13 /tmp is a tmpfs without set-uid programs and devices.
fn place() -> PathBuf {
    use rustix::fs::StatVfsMountFlags as Flags;
    let usual = std::env::temp_dir();
    let flags = rustix::fs::statvfs(&usual).map_or(Flags::empty(), |found| found.f_flag);
    if flags.intersects(Flags::NOSUID | Flags::NODEV) {
        return PathBuf::from("/var/tmp");
    }
    usual
}
