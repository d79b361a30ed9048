//! What of the host the jar's root shows, in the order in which it is mounted.

use std::path::{Path, PathBuf};

use super::Step;
use super::resolve::RESOLVER;
use crate::environment::INSIDE;
use crate::host::Host;
use crate::policy::{Access, Policy, Resolver, WorkdirMode};
use crate::python::Interpreter;

/// Folders before what lies in them, whoever names them first: else a folder would cover what is shown below it, and a
/// part of it that shall be read-only could be written.
pub(super) fn steps(policy: &Policy, host: &Host, python: &Interpreter) -> Vec<Step> {
    let mut steps = system(policy, host);
    let ours = steps.len();
    for path in &python.mounts {
        steps.push(bind(path, path, true));
    }
    if let Some(folder) = &python.environment {
        // Everybody may read it, so as root it need not look as if the guest owned it.
        steps.push(bind(folder, Path::new(INSIDE), false));
    }
    for mount in &policy.mounts {
        named(&mut steps, &mount.source, &mount.target, mount.access);
    }
    if let Some(workdir) = &policy.workdir {
        match workdir.mode {
            WorkdirMode::Read => named(&mut steps, &workdir.source, &workdir.target, Access::ReadOnly),
            WorkdirMode::Write => named(&mut steps, &workdir.source, &workdir.target, Access::ReadWrite),
            WorkdirMode::Draft | WorkdirMode::Apply => steps.push(Step::Overlay {
                source: workdir.source.clone(),
                target: workdir.target.clone(),
            }),
        }
    }
    let kept = kept(&steps[ours..], policy);
    steps.extend(kept.into_iter().map(|target| Step::Keep { target }));
    let hidden = hidden(&steps, policy, host, python);
    steps.extend(hidden.into_iter().map(|target| Step::Hide { target }));
    steps.sort_by_key(|step| step.target().map_or(0, |target| target.components().count()));
    steps
}

fn system(policy: &Policy, host: &Host) -> Vec<Step> {
    let mut steps = Vec::new();
    if policy.system {
        steps.push(bind(Path::new("/usr"), Path::new("/usr"), false));
        for path in host.system.folders.iter().chain(&host.system.shared) {
            steps.push(bind(path, path, false));
        }
    }
    match policy.network.resolver() {
        // The host's network without its resolver would be of little use.
        Resolver::Host => steps.push(bind(Path::new(RESOLVER), Path::new(RESOLVER), false)),
        // An empty file in its place is among those of our own making.
        Resolver::Nobody => {}
    }
    steps
}

fn bind(source: &Path, target: &Path, own: bool) -> Step {
    Step::Bind {
        source: source.into(),
        target: target.into(),
        access: Access::ReadOnly,
        own,
        named: false,
    }
}

fn named(steps: &mut Vec<Step>, source: &Path, target: &Path, access: Access) {
    steps.push(Step::Bind {
        source: source.into(),
        target: target.into(),
        access,
        own: true,
        named: true,
    });
    if access == Access::ReadWrite {
        steps.push(Step::Protect {
            source: source.into(),
            target: target.into(),
        });
    }
}

/// Where a guest could write what it is shown read-only elsewhere: a virtualenv in the working directory, a mount of a
/// part of another mount. A draft is nobody's but the guest's, unless it is applied unseen.
fn kept(shown: &[Step], policy: &Policy) -> Vec<PathBuf> {
    let applied = policy
        .workdir
        .as_ref()
        .is_some_and(|workdir| workdir.mode == WorkdirMode::Apply);
    let writable = shown.iter().filter_map(|step| match step {
        Step::Bind {
            source,
            target,
            access: Access::ReadWrite,
            ..
        } => Some((source, target)),
        Step::Overlay { source, target } if applied => Some((source, target)),
        _ => None,
    });
    let mut kept = Vec::new();
    for (folder, seen) in writable {
        for step in shown {
            let Step::Bind {
                source,
                access: Access::ReadOnly,
                ..
            } = step
            else {
                continue;
            };
            let Some(rest) = source
                .strip_prefix(folder)
                .ok()
                .filter(|rest| !rest.as_os_str().is_empty())
            else {
                continue;
            };
            let place = seen.join(rest);
            // What is shown there, or above it in the folder, takes the place of the folder's own.
            let covered = shown
                .iter()
                .filter_map(Step::target)
                .any(|other| place.starts_with(other) && other.starts_with(seen) && other != seen);
            if !covered && !kept.contains(&place) {
                kept.push(place);
            }
        }
    }
    kept
}

/// Folders of packages that the steps show and nobody asked for: the policy does not, nor does it name a folder that holds
/// them, nor does the virtualenv.
fn hidden(shown: &[Step], policy: &Policy, host: &Host, python: &Interpreter) -> Vec<PathBuf> {
    if policy.site_packages {
        return Vec::new();
    }
    let kept: &[PathBuf] = if python.shares_packages {
        &python.packages
    } else {
        &[]
    };
    let wanted = |folder: &Path| {
        let around = |step: &&Step| step.target().is_some_and(|target| folder.starts_with(target));
        let mut named = shown.iter().filter(around).peekable();
        named.peek().is_none()
            || named.any(|step| matches!(step, Step::Bind { named: true, .. } | Step::Overlay { .. }))
            || python.venv.as_ref().is_some_and(|venv| folder.starts_with(venv))
    };
    let mut folders: Vec<&PathBuf> = host.system.packages.iter().chain(&python.packages).collect();
    folders.sort();
    folders.dedup();
    folders.retain(|folder| !kept.contains(folder) && !wanted(folder));
    folders.into_iter().cloned().collect()
}
