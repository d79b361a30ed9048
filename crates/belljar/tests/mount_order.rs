//! A mount below a folder that the jar fills itself must come after it, or the guest sees an empty place.

use std::path::Path;

use belljar::host::Userns;
use belljar::plan::{Plan, Step};
use belljar::policy::{Mount, Policy};
use belljar::{Host, python};

#[test]
fn what_lies_below_scratch_folders_is_mounted_after_them() {
    let host = Host {
        userns: Userns::Works,
        landlock: 7,
        seccomp: true,
        mount_api: true,
        ..Host::probe()
    };
    let targets = ["/data", "/jar/data", "/tmp/data"];
    let mounts = targets.map(|target| Mount::parse(&format!("/var:{target}"), None).unwrap());
    let policy = Policy {
        mounts: mounts.to_vec(),
        ..Policy::default()
    };
    policy.check().unwrap();
    let plan = Plan::resolve(&policy, &host, &python::for_policy(&policy).unwrap()).unwrap();
    let position = |wanted: &dyn Fn(&Step) -> bool| plan.steps().iter().position(wanted).unwrap();
    let scratch = position(&|step| matches!(step, Step::Scratch { .. }));
    let bind =
        |path: &str| position(&|step| matches!(step, Step::Bind { target, .. } if target == Path::new(path)));
    assert!(
        bind("/data") < scratch,
        "elsewhere the order does not matter and stays"
    );
    assert!(bind("/jar/data") > scratch);
    assert!(bind("/tmp/data") > scratch);
}
