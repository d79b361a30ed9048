//! Fail closed: when any step of building the jar fails, no guest code runs, the error names the step, nothing is left.

use std::collections::BTreeSet;
use std::path::Path;

use belljar::policy::{Access, Mount, Network, Workdir, WorkdirMode};
use belljar::{Error, Host, Plan, Policy, Sandbox};
use tempfile::TempDir;

use crate::glass::{code, expect, has_cgroup, plan};

const EPERM: i32 = 1;

/// A guest that leaves a mark on the host as its first act.
const CANARY: &str = "open('/canary/ran', 'w').close()";

fn with_canary(folder: &Path, change: impl FnOnce(&mut Policy)) -> Plan {
    plan(|policy| {
        policy.mounts.push(Mount {
            source: folder.into(),
            target: "/canary".into(),
            access: Access::ReadWrite,
        });
        change(policy);
    })
}

/// Makes each step of this plan fail in turn; gives the names of the steps.
fn fail_each(change: impl Fn(&mut Policy)) -> BTreeSet<&'static str> {
    let folder = TempDir::new().expect("a folder");
    let mark = folder.path().join("ran");
    let whole = with_canary(folder.path(), &change);
    // The positive control: without a fault the guest runs and leaves its mark.
    let outcome = Sandbox::from_plan(whole.clone())
        .and_then(|jar| jar.run_job(code(CANARY)))
        .expect("an outcome");
    expect(&outcome, belljar::outcome::Status::Returned);
    assert!(mark.exists());
    std::fs::remove_file(&mark).expect("to take the mark away");
    let names: BTreeSet<&'static str> = whole.steps().iter().map(|step| step.name()).collect();
    for name in &names {
        for errno in [EPERM, 38, 12] {
            let mut plan = whole.clone();
            plan.fail_at(name, errno);
            match Sandbox::from_plan(plan).and_then(|jar| jar.run_job(code(CANARY))) {
                Err(Error::Setup { step, source, .. }) => {
                    assert_eq!(source.raw_os_error(), Some(errno), "{name}: {step}: {source}");
                    let what = step
                        .strip_prefix("set up ")
                        .unwrap_or_else(|| panic!("{name}: {step}"));
                    let named = whole
                        .steps()
                        .iter()
                        .any(|it| it.name() == *name && it.to_string() == what);
                    assert!(named || what == *name, "{name} failed and the error is of {step}");
                }
                other => panic!("{name} failed with {errno} and the run went on: {other:?}"),
            }
            assert!(!mark.exists(), "{name} failed and guest code ran");
        }
    }
    names
}

both! {
    fn no_step_may_fail(_who) {
        let names = fail_each(|policy| policy.network = Network::Loopback);
        let mut wanted = vec!["namespaces", "ids", "hostname", "loopback", "root", "bind", "symlink", "text", "device", "proc", "mask", "scratch", "pivot", "privileges", "rlimits", "descriptors", "seccomp", "deadline"];
        if has_cgroup() {
            wanted.push("cgroup");
        }
        if !Host::probe().system.packages.is_empty() {
            wanted.push("hide");
        }
        for name in wanted {
            assert!(names.contains(name), "{name} is not a step here: {names:?}");
        }
    }

    fn no_step_of_a_draft_or_of_a_shared_folder_may_fail(_who) {
        for mode in [WorkdirMode::Draft, WorkdirMode::Write] {
            let folder = TempDir::new().expect("a folder");
            std::fs::create_dir(folder.path().join(".git")).expect("a folder");
            let names = fail_each(|policy| policy.workdir = Some(Workdir { source: folder.path().into(), target: "/jar".into(), mode }));
            assert!(names.contains(if mode == WorkdirMode::Draft { "overlay" } else { "protect" }), "{names:?}");
        }
    }

    fn what_really_fails_is_told_as_it_is(_who) {
        // A folder that goes away between the plan and the run.
        let folder = TempDir::new().expect("a folder");
        let gone = folder.path().join("gone");
        std::fs::create_dir(&gone).expect("a folder");
        let whole = plan(|policy| policy.mounts.push(Mount { source: gone.clone(), target: "/data".into(), access: Access::ReadOnly }));
        std::fs::remove_dir(&gone).expect("to remove it");
        match Sandbox::from_plan(whole).and_then(|jar| jar.run_job(code("print('ran')"))) {
            Err(Error::Setup { step, source, .. }) => {
                assert!(step.contains("gone"), "{step}");
                assert_eq!(source.raw_os_error(), Some(2));
            }
            other => panic!("{other:?}"),
        }
        // A working directory that is not in the jar.
        let mut job = code("print('ran')");
        job.current_dir = Some("/no/such/folder".into());
        let error = crate::glass::jar(|_| {}).run_job(job).expect_err("no folder");
        assert!(matches!(&error, Error::Setup { step, .. } if step.contains("/no/such/folder")), "{error}");
    }

    fn policy_that_makes_no_sense_is_refused_before_anything_starts(_who) {
        for (name, change) in [
            ("source", (|policy: &mut Policy| policy.mounts.push(Mount { source: "/no/such".into(), target: "/x".into(), access: Access::ReadOnly })) as fn(&mut Policy)),
            ("relative", |policy| policy.mounts.push(Mount { source: "etc".into(), target: "/x".into(), access: Access::ReadOnly })),
            ("target", |policy| policy.mounts.push(Mount { source: "/etc".into(), target: "/proc/x".into(), access: Access::ReadOnly })),
            ("reserved", |policy| policy.mounts.push(Mount { source: "/etc".into(), target: "/etc/passwd".into(), access: Access::ReadOnly })),
            ("env", |policy| drop(policy.env.insert("LD_PRELOAD".into(), "/x.so".into()))),
            ("python", |policy| policy.python = Some("3.1".into())),
        ] {
            let mut policy = Policy::default();
            change(&mut policy);
            let error = Sandbox::new(policy).expect_err(name).to_string();
            assert!(!error.is_empty() && !error.ends_with('.'), "{name}: {error}");
        }
    }
}
