//! A policy as a TOML document: every key optional, nothing else allowed. It is read only when it is named: a checkout
//! that is not trusted must not loosen its own jar.

mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{
    Amount, EnvProblem, Key, Layer, Mount, Network, Policy, PolicyError, Tier, Workdir, WorkdirMode, builtin,
    check,
};

/// No policy is larger.
const LARGEST: u64 = 1 << 20;

/// Every key of a policy, each optional. The command line makes one of its flags and lays it over the file's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PolicyDocument {
    /// See [`Policy::python`].
    pub python: Option<String>,
    /// See [`Policy::venv`].
    pub venv: Option<PathBuf>,
    /// See [`Policy::system`].
    pub system: Option<bool>,
    /// See [`Policy::site_packages`].
    pub site_packages: Option<bool>,
    /// See [`Policy::locks`].
    pub locks: Option<bool>,
    /// See [`Policy::network`].
    pub network: Option<Network>,
    /// See [`Policy::mounts`]; those of a document laid over this one are added.
    pub mount: Vec<Mount>,
    /// See [`Policy::workdir`].
    pub workdir: Option<Workdir>,
    /// Changes to the workdir are listed and dropped.
    pub draft: Option<bool>,
    /// Changes to the workdir are written after a clean exit.
    pub apply: Option<bool>,
    /// See [`Policy::env`]; `None` takes the value from the caller's environment.
    pub env: BTreeMap<String, Option<String>>,
    /// See [`Policy::limits`], each by the name of its key; `None` is no limit.
    pub limits: BTreeMap<&'static str, Option<Amount>>,
    /// The least tier.
    pub require: Option<Tier>,
    /// Layers that must be enforced in full.
    pub require_layers: Option<Vec<Layer>>,
    /// Tables that `--profile NAME` lays over the rest.
    pub profiles: BTreeMap<String, PolicyDocument>,
}

impl PolicyDocument {
    /// Reads a document's text. `origin` is the file's name for messages; a `pyproject.toml` is read at `[tool.belljar]`.
    pub fn parse(text: &str, origin: &Path) -> Result<Self, PolicyError> {
        read::parse(text, origin)
    }

    /// Reads a document that was named.
    pub fn read(path: &Path) -> Result<Self, PolicyError> {
        let failed = |cause| PolicyError::Read {
            file: path.to_path_buf(),
            cause,
        };
        let file = File::open(path).map_err(failed)?;
        let mut text = String::new();
        let bytes = file.take(LARGEST + 1).read_to_string(&mut text).map_err(failed)?;
        if bytes as u64 > LARGEST {
            return Err(PolicyError::TooLarge {
                file: path.to_path_buf(),
            });
        }
        Self::parse(&text, path)
    }

    /// A profile that belljar brings along.
    pub fn builtin(name: &str) -> Result<Self, PolicyError> {
        Self::default().profile(name)
    }

    /// This document with one profile laid over it: its own `[profile.NAME]`, or else a built-in one.
    pub fn profile(mut self, name: &str) -> Result<Self, PolicyError> {
        let over = match self.profiles.remove(name) {
            Some(profile) => profile,
            None => match builtin::text(name) {
                Some(text) => read::parse(text, Path::new(name))?,
                None => {
                    let known = builtin::names()
                        .map(str::to_owned)
                        .chain(self.profiles.into_keys());
                    return Err(PolicyError::NoProfile {
                        name: name.to_owned(),
                        known: known.collect(),
                    });
                }
            },
        };
        Ok(self.merge(over))
    }

    /// This document with another laid over it: a key there wins, mounts are added, variables are added by name.
    pub fn merge(mut self, over: Self) -> Self {
        self.mount.extend(over.mount);
        self.env.extend(over.env);
        self.limits.extend(over.limits);
        self.profiles.extend(over.profiles);
        Self {
            python: over.python.or(self.python),
            venv: over.venv.or(self.venv),
            system: over.system.or(self.system),
            site_packages: over.site_packages.or(self.site_packages),
            locks: over.locks.or(self.locks),
            network: over.network.or(self.network),
            mount: self.mount,
            workdir: over.workdir.or(self.workdir),
            draft: over.draft.or(self.draft),
            apply: over.apply.or(self.apply),
            env: self.env,
            limits: self.limits,
            require: over.require.or(self.require),
            require_layers: over.require_layers.or(self.require_layers),
            profiles: self.profiles,
        }
    }

    /// The policy that this document stands for, checked. Names without a value are taken from the environment.
    pub fn resolve(self) -> Result<Policy, PolicyError> {
        self.resolve_with(|name| std::env::var(name).ok())
    }

    /// As [`PolicyDocument::resolve`], with the caller's environment given.
    pub fn resolve_with(self, caller: impl Fn(&str) -> Option<String>) -> Result<Policy, PolicyError> {
        let mut policy = Policy::default();
        policy.python = self.python;
        policy.venv = self.venv;
        policy.system = self.system.unwrap_or(policy.system);
        policy.site_packages = self.site_packages.unwrap_or(policy.site_packages);
        policy.locks = self.locks.unwrap_or(policy.locks);
        policy.network = self.network.unwrap_or(policy.network);
        policy.mounts = self.mount;
        policy.workdir = workdir(self.workdir, self.draft, self.apply)?;
        for (name, value) in self.env {
            // The name is checked first: PATH is refused because it is PATH, not because of what it holds here.
            check::variable_name(&name)?;
            let value = value.or_else(|| caller(&name)).ok_or_else(|| PolicyError::Env {
                name: name.clone(),
                problem: EnvProblem::Unset,
            })?;
            policy.env.insert(name, value);
        }
        for (name, amount) in self.limits {
            if let Some(limit) = Key::of(name).and_then(Key::limit) {
                limit.set(&mut policy.limits, amount);
            }
        }
        policy.require.tier = self.require.unwrap_or(policy.require.tier);
        policy.require.layers = self.require_layers.unwrap_or_default();
        policy.settled()
    }
}

/// Lays `draft` and `apply` over the workdir's own mode; without a workdir they would be promises about nothing.
fn workdir(
    workdir: Option<Workdir>,
    draft: Option<bool>,
    apply: Option<bool>,
) -> Result<Option<Workdir>, PolicyError> {
    let (key, mode) = match (draft, apply) {
        (_, Some(true)) => ("apply", WorkdirMode::Apply),
        (Some(true), _) => ("draft", WorkdirMode::Draft),
        _ => return Ok(workdir),
    };
    match workdir {
        Some(workdir) => Ok(Some(Workdir { mode, ..workdir })),
        None => Err(PolicyError::NoWorkdir { key }),
    }
}
