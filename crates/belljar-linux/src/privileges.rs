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

/// What a template keeps: walking into namespaces (SYS_ADMIN, and SYS_CHROOT for mount namespaces), and SETPCAP to
/// drop all three in its children.
pub const TEMPLATE: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::SETPCAP);

/// Root is nobody special, ids change no capabilities, nothing becomes ambient; and none of it can be undone.
const LOCKED: CapabilitiesSecureBits = CapabilitiesSecureBits::NO_ROOT
    .union(CapabilitiesSecureBits::NO_ROOT_LOCKED)
    .union(CapabilitiesSecureBits::NO_SETUID_FIXUP)
    .union(CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED)
    .union(CapabilitiesSecureBits::KEEP_CAPS_LOCKED)
    .union(CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE)
    .union(CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED);

/// Empties all five capability sets, locks the securebits and sets no_new_privs.
pub fn drop_all() -> io::Result<()> {
    unbound()?;
    drop_held()
}

/// Empties the bounding set. The first half of [`drop_all`]: it needs a capability that the other half takes away.
pub fn unbound() -> io::Result<()> {
    bound(CapabilitySet::empty())
}

/// Empties the other four capability sets, locks the securebits and sets no_new_privs. The second half of [`drop_all`].
pub fn drop_held() -> io::Result<()> {
    rustix::thread::set_capabilities_secure_bits(LOCKED)?;
    rustix::thread::clear_ambient_capability_set()?;
    hold(CapabilitySet::empty())?;
    no_new_privileges()
}

/// Cuts all five capability sets to exactly [`TEMPLATE`], which the next exec keeps, locks the securebits and sets
/// no_new_privs.
///
/// For a uid other than 0 in a user namespace that holds at least those; a later exec of a set-id program would lose
/// them, and there is none under no_new_privs.
pub fn keep_for_template() -> io::Result<()> {
    bound(TEMPLATE)?;
    hold(TEMPLATE)?;
    rustix::thread::clear_ambient_capability_set()?;
    for capability in TEMPLATE.iter() {
        rustix::thread::configure_capability_in_ambient_set(capability, true)?;
    }
    // After raising, which these bits forbid.
    rustix::thread::set_capabilities_secure_bits(LOCKED)?;
    no_new_privileges()
}

/// Drops everything else from the bounding set; needs SETPCAP.
fn bound(kept: CapabilitySet) -> io::Result<()> {
    for capability in 0..=LAST_CAPABILITY {
        if kept.bits() & (1 << capability) != 0 {
            continue;
        }
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
    Ok(())
}

/// Makes the permitted, effective and inheritable sets exactly `set`.
fn hold(set: CapabilitySet) -> io::Result<()> {
    Ok(rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            effective: set,
            permitted: set,
            inheritable: set,
        },
    )?)
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
