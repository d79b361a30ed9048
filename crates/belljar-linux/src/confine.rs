//! Landlock: file rules repeated as a second wall, TCP ports, scopes for signals and abstract sockets.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope,
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
    /// The kernel refused the rule for a path.
    #[error("cannot make a Landlock rule for {path}: {source}")]
    Rule {
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
        // What 7 and later add (logging, threads) is not about what a guest may do; see `quiet`.
        _ => ABI::V6,
    }
}

/// The ABI that this kernel speaks; 0 when it has no Landlock or it is switched off.
pub fn kernel_abi() -> u32 {
    // SAFETY: a null attribute with size 0 and the VERSION flag asks for the version alone.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, 1) };
    u32::try_from(version).unwrap_or(0)
}

/// Builds the ruleset and applies it to nobody: for a process that shall have it later, through the descriptor.
///
/// Path rules bind to the inodes that the caller sees now, so it belongs into the mount namespace that the rules are for.
pub fn prepare(rules: &Rules) -> Result<OwnedFd, ConfineError> {
    Option::<OwnedFd>::from(create(rules)?).ok_or(ConfineError::Partial)
}

/// What the rules of many rulesets have in common: the paths that lead to the same inodes everywhere, opened once.
#[derive(Debug)]
pub struct Prepared {
    rules: Rules,
    places: Vec<Place>,
}

/// One path, and what may be done below it.
#[derive(Debug)]
struct Place {
    /// None for one that each ruleset opens anew.
    fd: Option<OwnedFd>,
    access: u64,
}

impl Prepared {
    /// Opens all paths but those of which `differs` says that they are something else for each ruleset; whether they are
    /// folders is the same.
    pub fn new(rules: &Rules, differs: impl Fn(&Path) -> bool) -> Result<Self, ConfineError> {
        let place = |rule: &Rule| {
            let (fd, is_folder) = open_for(rule)?;
            let access = access(rule, is_folder, abi(rules.abi)).bits();
            let fd = (!differs(&rule.path)).then_some(fd);
            Ok(Place { fd, access })
        };
        let places = rules
            .paths
            .iter()
            .map(place)
            .collect::<Result<_, ConfineError>>()?;
        let rules = rules.clone();
        Ok(Self { rules, places })
    }

    /// The descriptors that it needs to be open.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.places
            .iter()
            .filter_map(|place| Some(place.fd.as_ref()?.as_fd()))
    }

    /// Builds one ruleset, as [`prepare`] does.
    pub fn ruleset(&self) -> Result<OwnedFd, ConfineError> {
        let empty = empty(&self.rules)?;
        let ruleset = Option::<OwnedFd>::from(empty).ok_or(ConfineError::Partial)?;
        for (rule, place) in self.rules.paths.iter().zip(&self.places) {
            let opened;
            let fd = match &place.fd {
                Some(fd) => fd.as_fd(),
                None => {
                    opened = open_for(rule)?.0;
                    opened.as_fd()
                }
            };
            let beneath = PathBeneathAttr {
                allowed_access: place.access,
                parent_fd: fd.as_raw_fd(),
            };
            // SAFETY: the kernel reads the attribute, which lives until the call is over.
            let added = unsafe {
                libc::syscall(
                    libc::SYS_landlock_add_rule,
                    ruleset.as_raw_fd(),
                    RULE_PATH_BENEATH,
                    &raw const beneath,
                    0,
                )
            };
            if added < 0 {
                return Err(ConfineError::Rule {
                    path: rule.path.clone(),
                    source: std::io::Error::last_os_error(),
                });
            }
        }
        Ok(ruleset)
    }
}

/// The kernel's `struct landlock_path_beneath_attr`, which is packed.
#[repr(C, packed)]
struct PathBeneathAttr {
    allowed_access: u64,
    parent_fd: i32,
}

/// `LANDLOCK_RULE_PATH_BENEATH`.
const RULE_PATH_BENEATH: u32 = 1;

/// `LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF`: nothing of this process is logged. After an exec nothing is anyway.
const LOG_SAME_EXEC_OFF: u32 = 1;
/// `LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF`: nor of rulesets that a guest makes itself.
const LOG_SUBDOMAINS_OFF: u32 = 4;

/// The flags that keep denials out of the host's audit log: a guest that is denied a million times must not fill it.
/// Kernels log from ABI 7 on, and refuse the flags before.
pub fn quiet(abi: u32) -> u32 {
    match abi {
        0..7 => 0,
        _ => LOG_SAME_EXEC_OFF | LOG_SUBDOMAINS_OFF,
    }
}

/// Applies a prepared ruleset to this thread and everything it starts, with no word in the host's log. Needs no_new_privs.
/// `abi` is what the kernel speaks.
pub fn apply(ruleset: BorrowedFd<'_>, abi: u32) -> Result<(), ConfineError> {
    // SAFETY: a descriptor and flags, no memory.
    let applied = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), quiet(abi)) };
    if applied < 0 {
        return Err(ConfineError::Apply(std::io::Error::last_os_error()));
    }
    Ok(())
}

/// A ruleset that denies everything that the rules are about.
fn empty(rules: &Rules) -> Result<RulesetCreated, ConfineError> {
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
    Ok(ruleset.create()?.no_new_privs(false))
}

fn create(rules: &Rules) -> Result<RulesetCreated, ConfineError> {
    let mut created = empty(rules)?;
    for rule in &rules.paths {
        let (fd, is_folder) = open_for(rule)?;
        let access = access(rule, is_folder, abi(rules.abi));
        created = created.add_rule(PathBeneath::new(fd, access))?;
    }
    Ok(created)
}

fn access(rule: &Rule, is_folder: bool, abi: ABI) -> BitFlags<AccessFs> {
    let access = match rule.allow {
        Allow::List => AccessFs::ReadDir.into(),
        Allow::Read => AccessFs::from_read(abi),
        Allow::Write => AccessFs::from_all(abi),
    };
    if is_folder {
        access
    } else {
        access & AccessFs::from_file(abi)
    }
}

fn open_for(rule: &Rule) -> Result<(OwnedFd, bool), ConfineError> {
    open(&rule.path).map_err(|source| ConfineError::Path {
        path: rule.path.clone(),
        source,
    })
}

/// One look at each path: there are a dozen, and every start waits for them.
fn open(path: &Path) -> std::io::Result<(OwnedFd, bool)> {
    use rustix::fs::{FileType, Mode, OFlags};
    let fd = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode);
    Ok((fd, kind == FileType::Directory))
}
