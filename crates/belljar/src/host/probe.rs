//! Asks this machine. [`Host::probe`] reads and asks alone, so that every start can afford it, and believes what the
//! kernel says of itself; [`Host::probe_deep`] tries.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use belljar_linux::cgroup::detect;
use belljar_linux::probe::{self, Trial, Tried};
use rustix::io::Errno;
use rustix::thread::CapabilitySet;

use super::{Host, Userns, own, parse};

impl Host {
    /// What this machine says it can enforce. Starts nothing; where something outside forbids what the kernel has, a
    /// jar fails to build and [`Host::probe_deep`] tells why.
    pub fn probe() -> Self {
        let name = rustix::system::uname();
        let kernel = parse::kernel(&name.release().to_string_lossy());
        let privileged = privileged();
        let mount_api = probe::mount_setattr();
        Self {
            kernel,
            arch: name.machine().to_string_lossy().into_owned(),
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            groups: rustix::process::getgroups()
                .unwrap_or_default()
                .into_iter()
                .map(|group| group.as_raw())
                .collect(),
            privileged,
            userns: parse::userns(privileged, read),
            landlock: probe::landlock_abi(),
            seccomp: probe::seccomp_filters(),
            cgroup: own::with_reason(detect()),
            // A tmpfs keeps the user.* attributes that an unprivileged overlay writes from 6.6 on.
            overlay: kernel >= (6, 6),
            mount_api,
            idmap: mount_api && privileged,
            container: parse::container(
                read,
                |path| Path::new(path).exists(),
                |name| std::env::var_os(name).is_some(),
            ),
            cpus: rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count()),
            system: super::System::probe(),
        }
    }

    /// What this machine lets us enforce: tries the namespaces and mounts of a jar in a child that is gone afterwards.
    pub fn probe_deep() -> Self {
        let mut host = Self::probe();
        if let Ok(trial) = probe::trial(host.privileged) {
            host.apply(&trial);
        }
        host
    }

    /// Corrects what was believed by what was tried.
    fn apply(&mut self, trial: &Trial) {
        if let Some(userns) = verdict(trial, &self.userns) {
            self.userns = userns;
        }
        // Both: before 6.6 an overlay can be mounted, but its upper layer cannot remember what was removed.
        self.overlay = self.overlay && trial.overlay == Tried::Works;
        self.idmap = trial.idmap == Tried::Works;
    }
}

/// What a trial says of user namespaces; `None` leaves the reason that was read.
fn verdict(trial: &Trial, believed: &Userns) -> Option<Userns> {
    let reason = |otherwise: Userns| {
        Some(if *believed == Userns::Works {
            otherwise
        } else {
            believed.clone()
        })
    };
    match trial {
        // ENOSPC is a count of namespaces that is used up, mostly one of 0; EINVAL and ENOSYS a kernel without them.
        Trial {
            namespaces: Tried::Failed(errno),
            ..
        } if matches!(errno_of(*errno), Some(Errno::NOSPC | Errno::INVAL | Errno::NOSYS)) => {
            reason(Userns::Off)
        }
        Trial {
            namespaces: Tried::Works,
            maps: Tried::Works,
            private: Tried::Works,
            calls: Tried::Works,
            proc,
            tmpfs,
            ..
        } => match (proc, tmpfs) {
            (Tried::Works, Tried::Works) => Some(Userns::Works),
            (Tried::Failed(_), Tried::Works) => Some(Userns::ProcMasked),
            _ => reason(Userns::Denied),
        },
        _ => reason(Userns::Denied),
    }
}

fn errno_of(raw: i32) -> Option<Errno> {
    (raw > 0).then(|| Errno::from_raw_os_error(raw))
}

/// The start of a file; no file that is read here is longer.
fn read(path: &str) -> Option<String> {
    let mut buffer = [0; 4096];
    let count = File::open(path).ok()?.read(&mut buffer).ok()?;
    Some(String::from_utf8_lossy(&buffer[..count]).into_owned())
}

/// Whether this process can do what real root can, and has more ids than its own to give to a guest.
fn privileged() -> bool {
    let needed = CapabilitySet::SYS_ADMIN
        | CapabilitySet::SETUID
        | CapabilitySet::SETGID
        | CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::SETPCAP;
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
        && ["/proc/self/uid_map", "/proc/self/gid_map"]
            .iter()
            .all(|map| read(map).is_some_and(|text| parse::maps_nobody(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Trial = Trial {
        namespaces: Tried::Works,
        maps: Tried::Works,
        private: Tried::Works,
        calls: Tried::Works,
        proc: Tried::Works,
        tmpfs: Tried::Works,
        overlay: Tried::Works,
        idmap: Tried::Works,
    };

    fn failed(errno: Errno) -> Tried {
        Tried::Failed(errno.raw_os_error())
    }

    #[test]
    fn trial_decides_what_user_namespaces_are_worth() {
        let believed = Userns::Works;
        assert_eq!(verdict(&ALL, &believed), Some(Userns::Works));
        let docker = Trial {
            namespaces: failed(Errno::PERM),
            ..ALL
        };
        assert_eq!(verdict(&docker, &believed), Some(Userns::Denied));
        let full = Trial {
            namespaces: failed(Errno::NOSPC),
            ..ALL
        };
        assert_eq!(verdict(&full, &believed), Some(Userns::Off));
        let masked = Trial {
            proc: failed(Errno::PERM),
            ..ALL
        };
        assert_eq!(verdict(&masked, &believed), Some(Userns::ProcMasked));
        let hostname = Trial {
            calls: failed(Errno::PERM),
            ..ALL
        };
        assert_eq!(verdict(&hostname, &believed), Some(Userns::Denied));
        let maps = Trial {
            maps: failed(Errno::ACCESS),
            ..ALL
        };
        assert_eq!(verdict(&maps, &believed), Some(Userns::Denied));
    }

    #[test]
    fn reason_that_was_read_is_kept_when_the_trial_fails() {
        let trial = Trial {
            private: failed(Errno::ACCESS),
            ..ALL
        };
        assert_eq!(verdict(&trial, &Userns::AppArmor), Some(Userns::AppArmor));
        assert_eq!(
            verdict(&ALL, &Userns::AppArmor),
            Some(Userns::Works),
            "and forgotten when it works"
        );
    }

    #[test]
    fn this_machine_makes_sense() {
        let host = Host::probe();
        assert!(host.kernel >= (5, 0), "{host:?}");
        assert_eq!(host.arch, std::env::consts::ARCH);
        assert!(host.cpus >= 1);
        assert_eq!(host.uid, rustix::process::getuid().as_raw());
        // Each version of Landlock came with a kernel; a later kernel may have less, never an earlier one more.
        let oldest = [
            (5, 0),
            (5, 13),
            (5, 19),
            (6, 2),
            (6, 7),
            (6, 10),
            (6, 12),
            (6, 15),
        ];
        let abi = usize::try_from(host.landlock).unwrap();
        assert!(
            oldest.get(abi).is_none_or(|kernel| host.kernel >= *kernel),
            "{host:?}"
        );
        assert!(!host.idmap || host.privileged);
    }

    #[test]
    fn trying_leaves_what_cannot_be_tried_as_it_was() {
        let (cheap, deep) = (Host::probe(), Host::probe_deep());
        let same = Host {
            userns: cheap.userns.clone(),
            overlay: cheap.overlay,
            idmap: cheap.idmap,
            ..deep.clone()
        };
        assert_eq!(same, cheap);
        // A jar that works has an overlay exactly where the kernel is new enough.
        if deep.userns == Userns::Works && deep.kernel < (6, 6) {
            assert!(!deep.overlay, "{deep:?}");
        }
    }
}
