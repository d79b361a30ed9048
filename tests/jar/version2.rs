//! A jar in a cgroup of version 2. Where the machine's version 2 tree has no controllers, nothing is limited there; that
//! the jar is born in its group, is seen there, and takes the group away with it is tried all the same.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use belljar::Sandbox;
use belljar::host::Cgroup;
use belljar::plan::Step;

use crate::glass::{code, no_cgroup, plan};
use crate::murder::init_of;

/// Where a version 2 tree is mounted, if groups can be made there.
fn tree() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let base = mounts.lines().find_map(|line| {
        let (front, back) = line.split_once(" - ")?;
        (back.split(' ').next() == Some("cgroup2")).then(|| front.split(' ').nth(4).map(PathBuf::from))?
    });
    base.filter(|base| rustix::fs::access(base, rustix::fs::Access::WRITE_OK).is_ok())
}

both! {
    fn jar_is_born_in_its_group(_who) {
        let Some(base) = tree() else { return no_cgroup("jar_is_born_in_its_group") };
        let mut plan = plan(|_| {});
        plan.steps_mut().retain(|step| !matches!(step, Step::Cgroup { .. }));
        let hierarchy = Cgroup::V2 { base: base.clone(), controllers: Vec::new() };
        plan.steps_mut().insert(0, Step::Cgroup { hierarchy, memory: 1 << 30, pids: 64, cpus: 1.0 });
        let running = Sandbox::from_plan(plan).and_then(|jar| jar.spawn_job(code("import time; time.sleep(30)")));
        let running = running.expect("a jar");
        let since = Instant::now();
        let init = loop {
            if let Some(init) = init_of(running.warden_pid()) {
                break init;
            }
            assert!(since.elapsed() < Duration::from_secs(120), "no init");
            std::thread::sleep(Duration::from_millis(1));
        };
        let groups = std::fs::read_to_string(format!("/proc/{init}/cgroup")).expect("the groups of init");
        let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).expect("a version 2 group");
        let folder = base.join(own);
        assert!(own.contains("belljar-"), "{own}");
        assert!(folder.is_dir());
        running.kill();
        running.wait().expect("an outcome");
        assert!(!folder.exists(), "{folder:?} is left");
    }
}
