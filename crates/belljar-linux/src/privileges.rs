//! Privileges: capabilities, securebits, no_new_privs, ids, dumpability. All one-way.

use std::io;

use rustix::process::{Gid, Uid};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

/// Highest capability number that any kernel may know.
const LAST_CAPABILITY: u32 = 63;

/// Takes on a user and group of this namespace and keeps the capabilities over it.
///
/// Started as root, a process keeps host uid 0 inside a new user namespace until it does this.
pub fn become_id(uid: u32, gid: u32) -> io::Result<()> {
    rustix::thread::set_keep_capabilities(true)?;
    let gid = Gid::from_raw(gid);
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    let uid = Uid::from_raw(uid);
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    let held = rustix::thread::capabilities(None)?;
    let all = held.permitted;
    Ok(rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            effective: all,
            permitted: all,
            inheritable: CapabilitySet::empty(),
        },
    )?)
}

/// Drops the supplementary groups; needs SETGID.
pub fn drop_groups() -> io::Result<()> {
    Ok(rustix::thread::set_thread_groups(&[])?)
}

/// Empties all five capability sets, locks the securebits and sets no_new_privs.
pub fn drop_all() -> io::Result<()> {
    // The bounding set first: dropping from it needs a capability that goes next.
    for capability in 0..=LAST_CAPABILITY {
        // SAFETY: this prctl takes plain integers.
        let done = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(capability), 0, 0, 0) };
        if done < 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() == Some(libc::EINVAL) {
                break;
            }
            return Err(error);
        }
    }
    let locked = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(locked)?;
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )?;
    Ok(rustix::thread::set_no_new_privs(true)?)
}

/// Sets no_new_privs alone; for hosts where there is nothing else to drop.
pub fn no_new_privileges() -> io::Result<()> {
    Ok(rustix::thread::set_no_new_privs(true)?)
}

/// Hides this process's memory, descriptors and links in /proc from everything of the same user.
pub fn hide() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(
        rustix::process::DumpableBehavior::NotDumpable,
    )?)
}

/// Makes this process visible again to its user, as a freshly executed one is.
pub fn show() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(
        rustix::process::DumpableBehavior::Dumpable,
    )?)
}
