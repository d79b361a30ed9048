//! Landlock: file rules repeated as a second wall, TCP ports, scopes for signals and abstract sockets.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use serde::{Deserialize, Serialize};

/// What may be done below one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// A file or folder, as it is seen when the rules are applied.
    pub path: PathBuf,
    /// How much.
    pub allow: Allow,
}

/// How much may be done below a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allow {
    /// See names.
    List,
    /// Also read and run.
    Read,
    /// Also change.
    Write,
}

/// Everything a ruleset says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The ABI to speak; what a newer one adds is not asked for.
    pub abi: u32,
    /// Allowed paths; all others are denied.
    pub paths: Vec<Rule>,
    /// Whether TCP may be used at all (ABI 4).
    pub tcp: bool,
    /// Whether signals and abstract sockets stay among processes of this ruleset (ABI 6).
    pub scoped: bool,
}

/// Why a ruleset could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// A path of the rules cannot be opened.
    #[error("cannot open {path} for a Landlock rule: {source}")]
    Path {
        /// The path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The kernel refused the ruleset.
    #[error("the kernel refused the Landlock ruleset: {0}")]
    Ruleset(#[from] landlock::RulesetError),
    /// A prepared ruleset could not be applied.
    #[error("cannot apply a prepared Landlock ruleset: {0}")]
    Apply(std::io::Error),
    /// Less was enforced than was asked for.
    #[error("the kernel enforced only a part of the Landlock ruleset")]
    Partial,
}

fn abi(number: u32) -> ABI {
    match number {
        0 => ABI::Unsupported,
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        // What 7 and later add (logging, threads) is not about what a guest may do.
        _ => ABI::V6,
    }
}

/// The ABI that this kernel speaks; 0 when it has no Landlock or it is switched off.
pub fn kernel_abi() -> u32 {
    // SAFETY: a null attribute with size 0 and the VERSION flag asks for the version alone.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, 1) };
    u32::try_from(version).unwrap_or(0)
}

/// Applies the rules to this thread and everything it starts. Needs no_new_privs.
pub fn confine(rules: &Rules) -> Result<(), ConfineError> {
    match create(rules)?.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        _ => Err(ConfineError::Partial),
    }
}

/// Builds the ruleset and applies it to nobody: for a process that shall have it later, through the descriptor.
///
/// Path rules bind to the inodes that the caller sees now, so it belongs into the mount namespace that the rules are for.
pub fn prepare(rules: &Rules) -> Result<OwnedFd, ConfineError> {
    Option::<OwnedFd>::from(create(rules)?).ok_or(ConfineError::Partial)
}

/// Applies a prepared ruleset to this thread and everything it starts. Needs no_new_privs.
pub fn apply(ruleset: BorrowedFd<'_>) -> Result<(), ConfineError> {
    // SAFETY: a descriptor and no flags.
    if unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) } < 0 {
        return Err(ConfineError::Apply(std::io::Error::last_os_error()));
    }
    Ok(())
}

fn create(rules: &Rules) -> Result<RulesetCreated, ConfineError> {
    let abi = abi(rules.abi);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    if !rules.tcp && rules.abi >= 4 {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    if rules.scoped && rules.abi >= 6 {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    let mut created = ruleset.create()?.no_new_privs(false);
    for rule in &rules.paths {
        let (fd, is_folder) = open(&rule.path).map_err(|source| ConfineError::Path {
            path: rule.path.clone(),
            source,
        })?;
        let mut access = match rule.allow {
            Allow::List => AccessFs::ReadDir.into(),
            Allow::Read => AccessFs::from_read(abi),
            Allow::Write => AccessFs::from_all(abi),
        };
        if !is_folder {
            access &= AccessFs::from_file(abi);
        }
        created = created.add_rule(PathBeneath::new(fd, access))?;
    }
    Ok(created)
}

/// One look at each path: there are a dozen, and every start waits for them.
fn open(path: &Path) -> std::io::Result<(OwnedFd, bool)> {
    use rustix::fs::{FileType, Mode, OFlags};
    let fd = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode);
    Ok((fd, kind == FileType::Directory))
}
