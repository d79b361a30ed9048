//! Commands that give a host what it lacks, with the real paths of this one, ready to paste.

use std::path::{Path, PathBuf};

use belljar::host::{Cgroup, Host};

/// What a fix depends on and the host does not tell.
#[derive(Debug)]
pub struct Here {
    /// This binary, every link resolved: AppArmor attaches profiles by path.
    pub binary: PathBuf,
    /// Whether systemd runs this host.
    pub systemd: bool,
    /// Settings of the kernel that allow no namespace of some kind.
    pub none_of: Vec<String>,
}

impl Here {
    /// Looks around.
    pub fn look() -> Self {
        Self {
            binary: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/usr/local/bin/belljar")),
            systemd: Path::new("/run/systemd/system").is_dir(),
            none_of: none_of(),
        }
    }
}

/// The kinds of namespaces that a jar needs and of which there may be none.
fn none_of() -> Vec<String> {
    let kinds = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"];
    let zero = |kind: &&str| {
        let path = format!("/proc/sys/user/max_{kind}_namespaces");
        std::fs::read_to_string(path).is_ok_and(|most| most.trim() == "0")
    };
    let kinds = kinds.iter().filter(|kind| zero(kind));
    kinds.map(|kind| format!("user.max_{kind}_namespaces")).collect()
}

/// Sets a sysctl now and at every boot.
pub fn sysctl(setting: &str) -> Vec<String> {
    vec![
        format!("sudo sysctl -w {setting}"),
        format!("echo {setting} | sudo tee /etc/sysctl.d/60-belljar.conf"),
    ]
}

/// A profile that gives this binary, and it alone, user namespaces back.
pub fn apparmor(binary: &Path) -> Vec<String> {
    // One for each place that belljar is installed at: a second install must not take the first one's away.
    let mut name = String::from("belljar");
    for part in binary.parent().into_iter().flat_map(Path::iter).skip(1) {
        name.push('.');
        name.extend(
            part.to_string_lossy()
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }),
        );
    }
    // Quoted, because AppArmor reads a space or a comma in a path otherwise.
    let path = binary.display().to_string().replace('"', "\\\"");
    let profile = [
        "abi <abi/4.0>,".to_owned(),
        "include <tunables/global>".to_owned(),
        format!("profile {name} \"{path}\" flags=(unconfined) {{"),
        "  userns,".to_owned(),
        format!("  include if exists <local/{name}>"),
        "}".to_owned(),
    ];
    // Not a here-document: its end would not be found in lines that are pasted with their indentation.
    let lines: Vec<String> = profile.iter().map(|line| quote(line)).collect();
    vec![
        format!(
            "printf '%s\\n' {} | sudo tee /etc/apparmor.d/{name}",
            lines.join(" ")
        ),
        format!("sudo apparmor_parser -r /etc/apparmor.d/{name}"),
    ]
}

/// A word for a shell.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Flags that let a container make namespaces of its own.
pub fn container() -> Vec<String> {
    [
        "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined IMAGE",
        "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL IMAGE",
        "# Kubernetes: hostUsers: false, procMount: Unmasked, seccompProfile and appArmorProfile: Unconfined",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// What confines a process that is in no container.
pub fn confined() -> Vec<String> {
    [
        "# in the unit that starts belljar: without RestrictNamespaces=, ProtectHostname=, ProtectKernelTunables=, ProtectKernelLogs= and ProcSubset=,",
        "# and with SystemCallFilter=@system-service @mount @sandbox sethostname",
        "# under an AppArmor profile: with the rules `userns,`, `mount,` and `capability,`",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Inside a container the same has to be done on the host that runs it.
pub fn in_container(host: &Host, mut lines: Vec<String>) -> Vec<String> {
    if let Some(name) = &host.container {
        lines.insert(0, format!("# on the host that runs this {name} container:"));
    }
    lines
}

/// How Landlock is switched on.
pub fn landlock() -> Vec<String> {
    vec![
        "# use kernel 5.13 or later (6.12 for all of it) with CONFIG_SECURITY_LANDLOCK, and see that".into(),
        "# the lsm= list on the kernel's command line, if there is one, names landlock".into(),
    ]
}

/// How a writable cgroup is had, where asking the service manager gave none.
pub fn delegation(host: &Host, here: &Here) -> Vec<String> {
    if host.container.is_some() {
        return vec!["docker run --cgroupns=host -v /sys/fs/cgroup:/sys/fs/cgroup:rw IMAGE".into()];
    }
    if matches!(host.cgroup, Cgroup::V2 { .. }) {
        return vec![
            "# once, then log in again:".into(),
            "sudo mkdir -p /etc/systemd/system/user@.service.d".into(),
            "printf '[Service]\\nDelegate=cpu cpuset io memory pids\\n' | sudo tee /etc/systemd/system/user@.service.d/delegate.conf".into(),
            "sudo systemctl daemon-reload".into(),
        ];
    }
    let service = "# in a service: the line Delegate=yes in the [Service] section of its unit";
    match (here.systemd, host.privileged) {
        (true, true) => vec![service.into()],
        (true, false) => vec![
            "# so that this user has a service manager at all times, and not only while logged in:".into(),
            format!("sudo loginctl enable-linger {}", host.uid),
            service.into(),
        ],
        (false, true) => vec!["mount -t cgroup2 none /sys/fs/cgroup".into()],
        (false, false) => vec![
            "# root hands a group of version 2 over, with this shell in it:".into(),
            "sudo mkdir -p /sys/fs/cgroup/belljar/shell".into(),
            "echo +memory +pids +cpu | sudo tee /sys/fs/cgroup/cgroup.subtree_control".into(),
            format!("sudo chown -R {} /sys/fs/cgroup/belljar", host.uid),
            "echo $$ | sudo tee /sys/fs/cgroup/belljar/shell/cgroup.procs".into(),
        ],
    }
}
