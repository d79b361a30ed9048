//! From flags and the policy file that they name to a policy. Flags are one more document, laid over the file's, so
//! that both obey the same rules.

use std::path::PathBuf;

use belljar::Policy;
use belljar::policy::PolicyDocument;

use crate::args::PolicyFlags;
use crate::failure::Failure;
use crate::values::absolute;

/// The policy that the flags ask for.
pub fn policy(flags: &PolicyFlags) -> Result<Policy, Failure> {
    Ok(document(flags)?.resolve()?)
}

/// As [`policy`], with a timeout only where one is given: someone is at the keyboard.
pub fn interactive(flags: &PolicyFlags) -> Result<Policy, Failure> {
    let mut document = document(flags)?;
    document.limits.entry("timeout").or_insert(None);
    Ok(document.resolve()?)
}

fn document(flags: &PolicyFlags) -> Result<PolicyDocument, Failure> {
    let named = flags.base.policy.clone().or_else(|| {
        let named = std::env::var_os("BELLJAR_POLICY")?;
        (!named.is_empty()).then(|| PathBuf::from(named))
    });
    let mut document = match named {
        Some(file) => PolicyDocument::read(&file)?,
        None => PolicyDocument::default(),
    };
    if let Some(profile) = &flags.base.profile {
        document = document.profile(profile)?;
    }
    let mut typed = typed(flags)?;
    // What is typed takes the place of the file's at the same target, instead of clashing with it.
    document
        .mount
        .retain(|mount| typed.mount.iter().all(|other| other.target != mount.target));
    // A layer that the file requires stays required.
    if let Some(layers) = &mut typed.require_layers {
        layers.extend(document.require_layers.iter().flatten());
    }
    Ok(document.merge(typed))
}

/// The flags alone.
fn typed(flags: &PolicyFlags) -> Result<PolicyDocument, Failure> {
    let PolicyFlags {
        base,
        limits,
        folders,
        require,
        dependencies: _,
    } = flags;
    let python = match &base.python {
        Some(path) if path.contains('/') => {
            let path = absolute(path).map_err(|cause| Failure::new(format!("--python {cause}")))?;
            Some(path.to_string_lossy().into_owned())
        }
        version => version.clone(),
    };
    let venv = base.venv.as_ref().map(absolute).transpose();
    let layers = &require.require_layer;
    Ok(PolicyDocument {
        python,
        venv: venv.map_err(|cause| Failure::new(format!("--venv {cause}")))?,
        system: base.no_system.then_some(false),
        site_packages: base.site_packages.then_some(true),
        locks: base.no_locks.then_some(false),
        network: base.network,
        mount: folders.mount.clone(),
        workdir: folders.workdir.clone(),
        draft: folders.draft.then_some(true),
        // Someone who types --draft wants nothing written, whatever the file says.
        apply: (folders.apply || folders.draft).then_some(folders.apply),
        env: base.env.iter().cloned().collect(),
        limits: limits.0.clone(),
        require: require.require,
        require_layers: (!layers.is_empty()).then(|| layers.clone()),
        profiles: Default::default(),
    })
}
