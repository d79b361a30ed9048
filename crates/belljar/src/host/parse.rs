//! What files of /proc and /sys mean. Pure functions: `read` gives a file's text, so that tests give their own.

use super::Userns;

/// The first two numbers of a release such as `6.18.5-generic`; 0 where there is none.
pub(super) fn kernel(release: &str) -> (u32, u32) {
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Whether user namespaces can be had, by what the kernel says of itself.
pub(super) fn userns(privileged: bool, read: impl Fn(&str) -> Option<String>) -> Userns {
    let number = |path: &str| read(path)?.trim().parse::<i64>().ok();
    // The file is missing when the kernel was built without user namespaces, or when all of /proc/sys is hidden.
    let hidden = read("/proc/sys/kernel/osrelease").is_none();
    if number("/proc/sys/user/max_user_namespaces").map_or(!hidden, |most| most == 0) {
        return Userns::Off;
    }
    if privileged {
        return Userns::Works;
    }
    if number("/proc/sys/kernel/unprivileged_userns_clone") == Some(0) {
        return Userns::Sysctl;
    }
    if number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == Some(1) {
        // A profile of our own, by whatever name, is what the rule asks for; `unconfined` alone means there is none.
        let profile = read("/proc/self/attr/apparmor/current").or_else(|| read("/proc/self/attr/current"));
        if profile.is_none_or(|profile| profile.trim_end_matches(['\0', '\n']) == "unconfined") {
            return Userns::AppArmor;
        }
    }
    Userns::Works
}

/// Whether an id map has the ids up to nobody's, so that a guest can be given one that is not the caller's.
pub(super) fn maps_nobody(map: &str) -> bool {
    const NOBODY: u64 = 65_534;
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(inside)), Some(Ok(_)), Some(Ok(count))) => {
                inside <= 1 && inside.saturating_add(count) > NOBODY
            }
            _ => false,
        }
    })
}

/// The container that this process runs in. For hints alone: nothing is decided by it.
pub(super) fn container(
    read: impl Fn(&str) -> Option<String>,
    exists: impl Fn(&str) -> bool,
    variable: impl Fn(&str) -> bool,
) -> Option<String> {
    if variable("KUBERNETES_SERVICE_HOST") {
        return Some("kubernetes".into());
    }
    if exists("/run/.containerenv") {
        return Some("podman".into());
    }
    if exists("/.dockerenv") {
        return Some("docker".into());
    }
    if let Some(name) = read("/run/systemd/container")
        .map(|text| text.trim().to_owned())
        .filter(|name| !name.is_empty())
    {
        return Some(name);
    }
    let groups = read("/proc/1/cgroup")?;
    let hints = [
        ("kubepods", "kubernetes"),
        ("docker", "docker"),
        ("libpod", "podman"),
        ("lxc", "lxc"),
        ("containerd", "containerd"),
    ];
    hints
        .iter()
        .find(|(part, _)| groups.contains(part))
        .map(|(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<String> {
        move |path| {
            list.iter()
                .find(|(name, _)| *name == path)
                .map(|(_, text)| (*text).to_owned())
        }
    }

    const MOST: (&str, &str) = ("/proc/sys/user/max_user_namespaces", "63432\n");
    const CLONE: &str = "/proc/sys/kernel/unprivileged_userns_clone";
    const RESTRICT: (&str, &str) = ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");

    #[test]
    fn releases_are_read() {
        assert_eq!(kernel("6.18.5"), (6, 18));
        assert_eq!(kernel("5.15.153.1-microsoft-standard-WSL2"), (5, 15));
        assert_eq!(kernel("6.1-rc4"), (6, 1));
        assert_eq!(kernel(""), (0, 0));
        assert_eq!(kernel("99999999999.1"), (0, 1));
    }

    #[test]
    fn sysctls_decide_for_a_plain_user() {
        assert_eq!(userns(false, files(&[MOST])), Userns::Works);
        const BUILT_WITHOUT: &[(&str, &str)] = &[("/proc/sys/kernel/osrelease", "6.1.0\n")];
        assert_eq!(userns(false, files(BUILT_WITHOUT)), Userns::Off);
        // A unit with ProcSubset=pid sees nothing of /proc/sys.
        assert_eq!(userns(false, files(&[])), Userns::Works);
        assert_eq!(
            userns(true, files(&[("/proc/sys/user/max_user_namespaces", "0\n")])),
            Userns::Off
        );
        assert_eq!(userns(false, files(&[MOST, (CLONE, "0\n")])), Userns::Sysctl);
        assert_eq!(userns(false, files(&[MOST, (CLONE, "1\n")])), Userns::Works);
        assert_eq!(
            userns(true, files(&[MOST, (CLONE, "0\n"), RESTRICT])),
            Userns::Works,
            "root is not restricted"
        );
    }

    #[test]
    fn apparmor_rule_is_lifted_by_a_profile_of_our_own() {
        assert_eq!(userns(false, files(&[MOST, RESTRICT])), Userns::AppArmor);
        const CURRENT: &str = "/proc/self/attr/apparmor/current";
        assert_eq!(
            userns(false, files(&[MOST, RESTRICT, (CURRENT, "unconfined\n")])),
            Userns::AppArmor
        );
        assert_eq!(
            userns(
                false,
                files(&[MOST, RESTRICT, (CURRENT, "belljar (unconfined)\n")])
            ),
            Userns::Works
        );
        const OLD: &str = "/proc/self/attr/current";
        assert_eq!(
            userns(false, files(&[MOST, RESTRICT, (OLD, "belljar (enforce)\0")])),
            Userns::Works
        );
    }

    #[test]
    fn id_maps_with_one_id_give_nothing_to_a_guest() {
        assert!(maps_nobody("         0          0 4294967295\n"));
        assert!(maps_nobody("0 1000 1\n1 100000 65536\n"), "rootless podman");
        assert!(!maps_nobody("0 1000 1\n"));
        assert!(!maps_nobody(""));
        assert!(!maps_nobody("a b c\n0 1\n0 0 18446744073709551616\n"));
    }

    #[test]
    fn containers_are_told_apart() {
        let none = |_: &str| None;
        let no = |_: &str| false;
        assert_eq!(container(none, no, no), None);
        assert_eq!(
            container(none, |path| path == "/.dockerenv", no).as_deref(),
            Some("docker")
        );
        assert_eq!(
            container(none, |path| path == "/run/.containerenv", no).as_deref(),
            Some("podman")
        );
        assert_eq!(
            container(none, |path| path == "/.dockerenv", |_| true).as_deref(),
            Some("kubernetes")
        );
        let nspawn = files(&[("/run/systemd/container", "systemd-nspawn\n")]);
        assert_eq!(container(nspawn, no, no).as_deref(), Some("systemd-nspawn"));
        let pods = files(&[("/proc/1/cgroup", "0::/kubepods.slice/kubepods-burstable.slice\n")]);
        assert_eq!(container(pods, no, no).as_deref(), Some("kubernetes"));
        assert_eq!(
            container(files(&[("/proc/1/cgroup", "0::/init.scope\n")]), no, no),
            None
        );
    }
}
