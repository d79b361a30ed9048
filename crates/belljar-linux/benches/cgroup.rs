//! What each step in the life of a cgroup costs: `cargo bench -p belljar-linux --bench cgroup`.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use belljar_linux::cgroup::{Group, Hierarchy, Limits, Owner, detect};

fn main() {
    let hierarchy = detect();
    if let Hierarchy::None { reason } = &hierarchy {
        eprintln!("no cgroup can be made here: {reason}");
        return;
    }
    let owner = Owner::current().unwrap();
    let limits = Limits {
        memory: Some(64 << 20),
        pids: Some(16),
        cpus: Some(1.0),
        ..Limits::default()
    };
    let mut rows: [(&str, Vec<u128>); 8] = [
        "detect",
        "create",
        "procs_fds",
        "oom_event",
        "enter",
        "kill",
        "stats",
        "remove",
    ]
    .map(|what| (what, Vec::new()));
    for number in 0..200 {
        let name = owner.name(number);
        let mut child = Command::new("/bin/sh")
            .args(["-c", "read line"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        // A pause: moves in quick succession share one grace period and look cheap.
        std::thread::sleep(Duration::from_millis(30));
        // The first look after a pause finds cold caches; a caller is busy by then.
        detect();
        let mut last = Instant::now();
        let mut next = rows.iter_mut();
        let mut lap = || {
            next.next().unwrap().1.push(last.elapsed().as_nanos());
            last = Instant::now();
        };
        detect();
        lap();
        let group = Group::create(&hierarchy, &name, &limits).unwrap();
        lap();
        let fds = group.procs_fds().unwrap();
        lap();
        let event = group.oom_event().unwrap();
        lap();
        group.enter(child.id()).unwrap();
        lap();
        group.kill().unwrap();
        lap();
        group.stats();
        lap();
        group.remove().unwrap();
        lap();
        drop((fds, event));
        child.wait().unwrap();
    }
    for (what, row) in &mut rows {
        row.sort_unstable();
        let at = |part: usize| row[row.len() * part / 100] as f64 / 1000.0;
        eprintln!(
            "{what:>10}: median {:8.1} µs  p10 {:8.1}  p90 {:8.1}  p99 {:8.1}",
            at(50),
            at(10),
            at(90),
            at(99)
        );
    }
}
