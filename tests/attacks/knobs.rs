//! Protections that can be taken out of a plan, by the names that attacks use. Nothing but these tests can do so.

use belljar::Plan;
use belljar::plan::{Namespace, Step};
use belljar::policy::Access;

use crate::seam::Request;

/// Takes one protection out.
pub fn turn(plan: &mut Plan, knob: &str, request: &Request) -> Result<(), String> {
    match knob {
        // The filter of system calls, the second wall, hidden parts of /proc, limits of each process and of the jar.
        "seccomp" | "landlock" | "mask" | "rlimits" | "hostname" | "cgroup" => remove(plan, knob),
        // Capabilities over the jar's own namespaces, which a program keeps only as their uid 0.
        "privileges" => {
            remove(plan, knob);
            for step in plan.steps_mut() {
                if let Step::Ids { inside, .. } = step {
                    *inside = 0;
                }
            }
        }
        // A user of its own: the guest is the host's root instead.
        "own user" => {
            for step in plan.steps_mut() {
                if let Step::Ids {
                    host_uid,
                    host_gid,
                    own,
                    ..
                } = step
                {
                    (*host_uid, *host_gid, *own) = (0, 0, false);
                }
            }
        }
        // What the policy shows read-only can be written.
        "read-only" => {
            for step in plan.steps_mut() {
                if let Step::Bind { target, access, .. } = step
                    && (target.starts_with("/canary") || target.starts_with("/mnt"))
                {
                    *access = Access::ReadWrite;
                }
            }
        }
        "network namespace" => {
            namespace(plan, Namespace::Network);
            remove(plan, "loopback");
        }
        "ipc namespace" => namespace(plan, Namespace::Ipc),
        "uts namespace" => {
            namespace(plan, Namespace::Uts);
            remove(plan, "hostname");
        }
        "cgroup namespace" => namespace(plan, Namespace::Cgroup),
        // The host's processes, and with them the host's /proc.
        "pid namespace" => {
            namespace(plan, Namespace::Pid);
            remove(plan, "mask");
            for step in plan.steps_mut() {
                if matches!(step, Step::Proc) {
                    *step = show("/proc", "/proc");
                }
            }
        }
        // The filter's part against internet sockets, and the second wall's against TCP and abstract sockets.
        "socket filter" => {
            for step in plan.steps_mut() {
                if let Step::Seccomp { internet, .. } = step {
                    *internet = true;
                }
            }
        }
        // What a private root keeps out: the host's folders at their own places.
        "root" => {
            let folder = request.folder.join("secret");
            let folder = folder.to_str().ok_or("a temporary folder that is not text")?;
            let socket = request.folder.join("socket");
            let socket = socket.to_str().ok_or("a temporary folder that is not text")?;
            for (source, target) in [
                ("/etc/shadow", "/etc/shadow"),
                ("/root", "/root"),
                ("/home", "/home"),
                ("/boot", "/boot"),
                ("/var/log", "/var/log"),
                ("/sys", "/sys"),
                ("/dev", "/dev"),
                (folder, folder),
                (socket, "/run/docker.sock"),
            ] {
                insert(plan, show(source, target));
            }
        }
        // Not a protection but a thing to attack: a tree of the host with mounts below it.
        "a shown /dev" => insert(plan, show("/dev", "/mnt/dev")),
        // The host's shared memory in place of the jar's own.
        "own shm" => insert(
            plan,
            Step::Bind {
                source: "/dev/shm".into(),
                target: "/dev/shm".into(),
                access: Access::ReadWrite,
                own: false,
                named: false,
            },
        ),
        "synthetic etc" => {
            for step in plan.steps_mut() {
                if let Step::Text { path, .. } = step
                    && path.exists()
                {
                    *step = Step::Bind {
                        source: path.clone(),
                        target: path.clone(),
                        access: Access::ReadOnly,
                        own: false,
                        named: false,
                    };
                }
            }
        }
        "no devices" => insert(
            plan,
            Step::Device {
                path: request.folder.join("planted"),
            },
        ),
        // Not of the plan: preloads.rs has the job played in the template itself, or twice in one process.
        "own jar" | "own process" => {}
        "environment" => plan.env_mut().extend(std::env::vars()),
        _ => return Err(format!("no protection is called `{knob}`")),
    }
    Ok(())
}

fn remove(plan: &mut Plan, name: &str) {
    plan.steps_mut().retain(|step| step.name() != name);
}

fn namespace(plan: &mut Plan, unwanted: Namespace) {
    for step in plan.steps_mut() {
        if let Step::Namespaces { kinds } = step {
            kinds.retain(|kind| *kind != unwanted);
        }
    }
}

fn show(source: &str, target: &str) -> Step {
    Step::Bind {
        source: source.into(),
        target: target.into(),
        access: Access::ReadOnly,
        own: false,
        named: false,
    }
}

/// Adds a step after everything else of the root, so that nothing covers it.
fn insert(plan: &mut Plan, step: Step) {
    let steps = plan.steps_mut();
    let end = steps
        .iter()
        .position(|step| matches!(step, Step::Pivot))
        .unwrap_or(steps.len());
    steps.insert(end, step);
}
