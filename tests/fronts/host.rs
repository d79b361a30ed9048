//! `plan` and `doctor`: what would be built, and what this host can enforce.

use serde_json::Value;

use crate::harness::{Place, everyone, finish};

#[test]
fn a_plan_is_a_tree_with_the_defaults_in_it() {
    for who in everyone() {
        let place = Place::new(*who);
        let ran = place.run(&["plan"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "as {who:?}");
        let first = ran.stdout.lines().next().expect("a line");
        assert!(first.starts_with("Sealed jar for /usr/bin/python3"), "{first}");
        for part in [
            "├── namespaces: ",
            "├── seccomp: ",
            "│   ├── /usr read-only",
            "256 MiB",
            "└── clock: 30 s",
        ] {
            assert!(ran.stdout.contains(part), "{part} as {who:?}: {}", ran.stdout);
        }
    }
}

#[test]
fn a_plan_takes_what_run_takes_and_runs_nothing() {
    for who in everyone() {
        let place = Place::new(*who);
        place.write("data/x", "");
        let flags = [
            "--mount",
            "data:/data:rw",
            "--network",
            "host",
            "--timeout",
            "90s",
        ];
        let touch = "open('/data/ran', 'w')";
        let ran = place.run(&[&["plan"], &flags[..], &["-c", touch]].concat());
        assert_eq!(ran.code, 0, "as {who:?}: {}", ran.stderr);
        assert!(
            place
                .plain(&ran.stdout)
                .contains("/data READ-WRITE, from [folder]/data"),
            "{}",
            ran.stdout
        );
        assert!(
            ran.stdout.contains("THE HOST'S") && ran.stdout.contains("90 s"),
            "{}",
            ran.stdout
        );
        assert!(!place.path().join("data/ran").exists());
        let real = place.run(&[&["run"], &flags[..], &["-c", touch]].concat());
        assert_eq!(real.code, 0, "{}", real.stderr);
        assert!(
            place.path().join("data/ran").exists(),
            "run does what plan only tells"
        );
        assert!(
            real.stderr.starts_with("belljar: THE NETWORK IS SHARED"),
            "{}",
            real.stderr
        );
    }
}

#[test]
fn a_plan_as_data() {
    for who in everyone() {
        let ran = Place::new(*who).run(&["plan", "--json", "--memory", "512M"]);
        let plan: Value = serde_json::from_str(&ran.stdout).expect("an object");
        assert_eq!(plan["limits"]["memory"], 512 << 20);
        assert_eq!(plan["isolation"]["tier"], "sealed");
        assert!(
            plan["steps"].as_array().is_some_and(|steps| steps.len() > 20),
            "{plan}"
        );
    }
}

#[test]
fn doctor_tells_each_user_the_truth() {
    for who in everyone() {
        let place = Place::new(*who);
        let ran = place.run(&["doctor"]);
        // The rest of these tests run jars, so a host that cannot is a failure here too.
        assert_eq!(
            (ran.code, ran.stderr.as_str()),
            (0, ""),
            "as {who:?}: {}",
            ran.stdout
        );
        assert!(ran.stdout.starts_with("kernel "), "{}", ran.stdout);
        for name in [
            "namespaces",
            "mounts",
            "seccomp",
            "landlock",
            "cgroup",
            "groups",
            "draft",
            "python",
        ] {
            assert!(
                ran.stdout.contains(&format!(" {name}: ")),
                "{name}: {}",
                ran.stdout
            );
        }
        assert!(ran.stdout.ends_with("= sealed: works here\n"), "{}", ran.stdout);
        let report: Value =
            serde_json::from_str(&place.run(&["doctor", "--json"]).stdout).expect("an object");
        assert_eq!(report["sealed"], true);
        assert_eq!(report["checks"].as_array().map(Vec::len), Some(8));
        assert_eq!(place.run(&["doctor", "--quiet"]).stdout, "");
    }
}

#[test]
fn doctor_sees_a_host_without_user_namespaces() {
    // A namespace of our own, in which no further ones may be made: what a plain user sees on such a host.
    let place = Place::new(everyone()[0]);
    let inside = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" doctor";
    let mut unshare = std::process::Command::new("unshare");
    unshare
        .args(["--user", "--map-root-user", "sh", "-c", inside])
        .arg(crate::harness::binary());
    let ran = finish(unshare.current_dir(place.path()), "");
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("✗ namespaces: "), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("sudo sysctl -w user.max_user_namespaces="),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.ends_with("= sealed: does not work here\n"),
        "{}",
        ran.stdout
    );
}
