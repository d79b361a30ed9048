//! Whom and what a jar is born as: chosen before its init is started.

use belljar_linux::process::Namespaces;
use belljar_linux::userns::IdMap;

use crate::error::Error;
use crate::plan::{Namespace, Plan};

/// A guest's user, and whether it is one of its own on the host.
#[derive(Clone, Copy)]
pub(crate) struct Ids {
    pub host: IdMap,
    pub own: bool,
}

/// The user of a jar, drawn anew for each.
pub(crate) fn ids(plan: &Plan) -> Result<Option<Ids>, Error> {
    let Some(wanted) = plan.ids() else {
        return Ok(None);
    };
    // 24 random bits above the base: jars that run at once are different users to the kernel's own accounting.
    let offset = if wanted.own { random()? >> 8 } else { 0 };
    let host = IdMap {
        uid: wanted.inside,
        gid: wanted.inside,
        host_uid: wanted.host_uid + offset,
        host_gid: wanted.host_gid + offset,
    };
    Ok(Some(Ids {
        host,
        own: wanted.own,
    }))
}

fn random() -> Result<u32, Error> {
    let mut bytes = [0; 4];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Error::setup("get random bytes", error))?;
    Ok(u32::from_le_bytes(bytes))
}

/// The namespaces that an init is born in.
pub(crate) fn namespaces(plan: &Plan) -> Namespaces {
    let mut all = Namespaces::NONE;
    for kind in plan.namespaces() {
        all = all.and(match kind {
            Namespace::User => Namespaces::USER,
            Namespace::Mount => Namespaces::MOUNT,
            Namespace::Pid => Namespaces::PID,
            Namespace::Ipc => Namespaces::IPC,
            Namespace::Uts => Namespaces::UTS,
            // Made in the jar: the network by the guest's process while init builds the root, the view of the cgroups by
            // init once it is in its own.
            Namespace::Network | Namespace::Cgroup => Namespaces::NONE,
        });
    }
    all
}
