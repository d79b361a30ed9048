//! From flags and the policy file that they name to a policy.

use std::path::PathBuf;

use belljar::Policy;
use belljar::policy::{Mount, Workdir, WorkdirMode};

use crate::args::{Base, Folders, Limits, PolicyFlags};
use crate::failure::Failure;
use crate::values::absolute;

/// The policy that the flags ask for. A flag outranks the file.
pub fn policy(flags: &PolicyFlags) -> Result<Policy, Failure> {
    let mut policy = from_file(&flags.base)?;
    base(&mut policy, &flags.base)?;
    limits(&mut policy, &flags.limits);
    folders(&mut policy, &flags.folders)?;
    if let Some(tier) = flags.require.require {
        policy.require.tier = tier;
    }
    for layer in &flags.require.require_layer {
        if !policy.require.layers.contains(layer) {
            policy.require.layers.push(*layer);
        }
    }
    crate::engine::check(&policy)?;
    Ok(policy)
}

/// As [`policy`], without the default timeout: someone is at the keyboard.
pub fn policy_without_timeout(flags: &PolicyFlags) -> Result<Policy, Failure> {
    let mut policy = policy(flags)?;
    if flags.limits.timeout.is_none() {
        policy.limits.timeout = None;
    }
    Ok(policy)
}

fn from_file(base: &Base) -> Result<Policy, Failure> {
    let named = base.policy.clone().or_else(|| {
        let named = std::env::var_os("BELLJAR_POLICY")?;
        (!named.is_empty()).then(|| PathBuf::from(named))
    });
    crate::engine::policy(named.as_deref(), base.profile.as_deref())
}

fn base(policy: &mut Policy, flags: &Base) -> Result<(), Failure> {
    if let Some(python) = &flags.python {
        let path = python.contains('/').then(|| absolute(python)).transpose();
        let path = path.map_err(|cause| Failure::new(format!("--python {cause}")))?;
        policy.python = Some(path.map_or_else(|| python.clone(), |path| path.to_string_lossy().into_owned()));
    }
    if let Some(venv) = &flags.venv {
        let venv = absolute(venv).map_err(|cause| Failure::new(format!("--venv {cause}")))?;
        policy.venv = Some(venv);
    }
    if let Some(network) = flags.network {
        policy.network = network;
    }
    policy.env.extend(flags.env.iter().cloned());
    policy.system &= !flags.no_system;
    Ok(())
}

fn limits(policy: &mut Policy, flags: &Limits) {
    let limits = &mut policy.limits;
    if let Some(timeout) = flags.timeout {
        limits.timeout = timeout.0;
    }
    limits.memory = flags.memory.unwrap_or(limits.memory);
    limits.cpus = flags.cpus.unwrap_or(limits.cpus);
    limits.cpu_seconds = flags
        .cpu_seconds
        .map(|time| time.as_secs_f64())
        .or(limits.cpu_seconds);
    limits.pids = flags.pids.unwrap_or(limits.pids);
    limits.disk = flags.disk.unwrap_or(limits.disk);
    limits.inodes = flags.inodes.unwrap_or(limits.inodes);
    limits.open_files = flags.open_files.unwrap_or(limits.open_files);
    limits.file_size = flags.file_size.or(limits.file_size);
    limits.output = flags.output.unwrap_or(limits.output);
}

fn folders(policy: &mut Policy, flags: &Folders) -> Result<(), Failure> {
    for mount in &flags.mount {
        // A mount that is typed takes the place of the file's at the same target.
        policy.mounts.retain(|other| other.target != mount.target);
        policy.mounts.push(Mount {
            source: mount.source.clone(),
            target: mount.target.clone(),
            access: mount.access,
        });
    }
    if let Some(typed) = &flags.workdir {
        policy.workdir = Some(Workdir {
            source: typed.source.clone(),
            target: typed.target.clone().unwrap_or_else(|| PathBuf::from("/jar")),
            mode: WorkdirMode::Write,
        });
    }
    let mode = match (flags.apply, flags.draft) {
        (true, _) => WorkdirMode::Apply,
        (false, true) => WorkdirMode::Draft,
        (false, false) => return Ok(()),
    };
    let Some(workdir) = &mut policy.workdir else {
        let flag = if flags.apply { "--apply" } else { "--draft" };
        return Err(Failure::with_hint(
            format!("{flag} needs a folder to change"),
            "name it with --workdir DIR",
        ));
    };
    workdir.mode = mode;
    Ok(())
}
