//! A minimal bundle for the engines that take one: the same /usr, the same links, nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Value, json};

use super::contender::{CODE, Stage};

/// Links of a merged /usr.
pub const LINKS: [(&str, &str); 4] = [
    ("/bin", "usr/bin"),
    ("/lib", "usr/lib"),
    ("/lib64", "usr/lib64"),
    ("/sbin", "usr/sbin"),
];

/// Makes the bundle; its folder.
pub fn bundle(stage: &Stage) -> anyhow::Result<PathBuf> {
    let bundle = stage.room("bundle")?;
    let root = bundle.join("rootfs");
    for folder in ["usr", "proc", "dev", "sys", "tmp", "jar", "etc", "run", "root"] {
        fs::create_dir_all(root.join(folder)).context("cannot make the root of a bundle")?;
    }
    for (link, target) in LINKS {
        symlink(target, root.join(&link[1..])).context("cannot make the root of a bundle")?;
    }
    let text = serde_json::to_string_pretty(&config(stage))?;
    fs::write(bundle.join("config.json"), text).context("cannot write config.json")?;
    Ok(bundle)
}

fn config(stage: &Stage) -> Value {
    let env: Vec<String> = stage
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let namespaces = ["pid", "network", "ipc", "uts", "mount"].map(|kind| json!({ "type": kind }));
    json!({
        "ociVersion": "1.0.2",
        "process": {
            "terminal": false,
            "user": { "uid": 1000, "gid": 1000 },
            "args": [stage.python, "-c", CODE],
            "env": env,
            "cwd": "/jar",
            "capabilities": { "bounding": [], "effective": [], "inheritable": [], "permitted": [], "ambient": [] },
            "noNewPrivileges": true,
        },
        "root": { "path": "rootfs", "readonly": true },
        "hostname": "belljar",
        "mounts": [
            { "destination": "/proc", "type": "proc", "source": "proc" },
            { "destination": "/dev", "type": "tmpfs", "source": "tmpfs",
              "options": ["nosuid", "strictatime", "mode=755", "size=65536k"] },
            { "destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"] },
            { "destination": "/jar", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"] },
            { "destination": "/usr", "type": "none", "source": "/usr", "options": ["rbind", "ro", "nosuid", "nodev"] },
        ],
        "linux": { "namespaces": namespaces },
    })
}
