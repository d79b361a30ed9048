//! Environments: the dependencies of a guest, built once and never trusted.
//!
//! A **wish** (requirements and an interpreter) leads to a **lock** (versions with hashes), and the lock to an
//! **environment**: a virtualenv in the cache folder, shown to guests read-only at [`INSIDE`]. The same wish finds its
//! environment again by reading two files. Everything that touches a package happens in a jar: uv resolves and unpacks
//! in one that has the network, and no code of a package runs there unless builds are allowed; bytecode and caches are
//! made in others that have none.

mod about;
mod baked;
mod build;
mod bytecode;
mod checking;
mod digest;
mod error;
mod leftovers;
mod limits;
mod lock;
mod manifest;
mod metadata;
mod parts;
mod place;
mod progress;
mod prune;
mod reason;
mod room;
mod settings;
mod skeleton;
mod store;
mod tree;
mod uv;
mod wish;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use about::{About, Package};
pub use checking::Checking;
pub use error::EnvironmentError;
pub use progress::Progress;
pub use prune::{Entry, Pruned, Pruning};
pub use wish::Wish;

use crate::client::find_binary;
use crate::python::Interpreter;
use limits::{Clock, Limits};
use settings::IndexSettings;
use store::{Opened, Store};
use uv::Uv;

/// Where a guest sees its environment: the same path for all of them, so that nothing in one tells where it is kept.
pub const INSIDE: &str = "/env";

/// An environment that is ready. As long as a value of it lives, it is in use and is not pruned.
#[derive(Debug, Clone)]
pub struct Environment {
    inner: Arc<Ready>,
}

#[derive(Debug)]
struct Ready {
    folder: PathBuf,
    about: About,
    interpreter: Interpreter,
    /// Locked, so that nobody prunes it.
    _used: Arc<File>,
}

impl Environment {
    /// What it is known by.
    pub fn key(&self) -> &str {
        &self.inner.about.key
    }

    /// What is in it.
    pub fn about(&self) -> &About {
        &self.inner.about
    }

    /// The folder on the host.
    pub fn folder(&self) -> &Path {
        &self.inner.folder
    }

    /// The interpreter that it was made for.
    pub(crate) fn interpreter(&self) -> &Interpreter {
        &self.inner.interpreter
    }

    /// Links that a run has to caches that are made already.
    pub(crate) fn links(&self) -> Vec<crate::python::Link> {
        baked::links(&self.inner.about.caches)
    }

    /// Modules that what was asked for is imported by, as far as its metadata tells.
    pub fn modules(&self) -> Vec<String> {
        self.inner.about.modules()
    }
}

/// All environments of a user.
#[derive(Debug, Clone)]
pub struct Environments {
    store: Store,
    binary: PathBuf,
    limits: Limits,
    variables: Variables,
}

/// Variables that say where environments are, where uv is and where packages come from: this process's own, or a client's.
pub type Variables = BTreeMap<String, String>;

impl Environments {
    /// Those in the cache folder: `BELLJAR_CACHE_DIR`, or `belljar` in the user's own. The binary becomes the warden of
    /// builds; without one it is looked for.
    pub fn of_this_user(binary: Option<&Path>) -> Result<Self, EnvironmentError> {
        let variables = std::env::vars_os();
        let text =
            variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self::of(text.collect(), binary)
    }

    /// As [`of_this_user`](Self::of_this_user), with all variables given.
    pub fn of(mut variables: Variables, binary: Option<&Path>) -> Result<Self, EnvironmentError> {
        variables.retain(|_, value| !value.is_empty());
        Ok(Self {
            store: Store::open(store::folder(&variables)?)?,
            binary: find_binary(binary)?,
            limits: Limits::of(&variables)?,
            variables,
        })
    }

    /// The environment for a wish: the one that is there, or a new one.
    pub fn get(&self, wish: &Wish, tell: &mut dyn FnMut(Progress)) -> Result<Environment, EnvironmentError> {
        let got = self.find_or_build(wish, tell);
        if got.is_err() {
            self.store.drop_unpacked();
        }
        got
    }

    fn find_or_build(
        &self,
        wish: &Wish,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Environment, EnvironmentError> {
        wish.check()?;
        let settings = IndexSettings::of(&self.variables)?;
        let request = digest::request(wish, &settings)?;
        if !wish.refresh
            && let Some(found) = self.look_up(&request, wish)?
        {
            return Ok(found);
        }
        // One builds, the others wait for it and find what it built.
        let turn = self.store.turn(&request, tell)?;
        if !wish.refresh
            && let Some(found) = self.look_up(&request, wish)?
        {
            return Ok(found);
        }
        let builder = build::Builder::new(
            &self.store,
            Uv::find(&self.variables, &self.binary)?,
            &self.binary,
            wish,
            &settings,
            Clock::start(self.limits.time),
        )?;
        let lock = match self.store.remembered(&request) {
            Some(remembered) if !wish.refresh => remembered.lock,
            _ => builder.resolve(tell)?,
        };
        let key = digest::environment(wish, &lock, builder.tool())?;
        let turns = (turn, self.store.turn(&key, tell)?);
        let ready = match self.store.open_environment(&key, wish)? {
            Opened::Ready(ready) => ready,
            found => {
                if let Opened::Changed(paths) = found {
                    self.store.purge(&key, &paths);
                }
                builder.build(&key, &lock, tell)?;
                let built = self.store.open_environment(&key, wish)?.ready();
                built.ok_or_else(|| EnvironmentError::Vanished { key: key.clone() })?
            }
        };
        self.store.remember(&request, &key, &lock, wish)?;
        // What nobody has a link to is dropped only while nobody builds.
        drop((builder, turns));
        self.enforce_cap(&key);
        Ok(ready)
    }

    /// As [`get`](Self::get), but one that is there need not be compared with its manifest yet: then that is still to be done,
    /// while an interpreter starts in it, and before anything of its packages is used.
    pub fn start(
        &self,
        wish: &Wish,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<(Environment, Option<Checking>), EnvironmentError> {
        wish.check()?;
        let request = digest::request(wish, &IndexSettings::of(&self.variables)?)?;
        let remembered = self.store.remembered(&request).filter(|_| !wish.refresh);
        if let Some(remembered) = remembered
            && let Some(found) = self.store.find_environment(&remembered.key)?
            && found.check_front()
        {
            return Ok((found.ready(&wish.interpreter), Some(Checking(found))));
        }
        Ok((self.get(wish, tell)?, None))
    }

    /// The environment for a wish, if it is there already; reads files and asks nobody.
    pub fn find(&self, wish: &Wish) -> Result<Option<Environment>, EnvironmentError> {
        wish.check()?;
        self.look_up(
            &digest::request(wish, &IndexSettings::of(&self.variables)?)?,
            wish,
        )
    }

    fn look_up(&self, request: &str, wish: &Wish) -> Result<Option<Environment>, EnvironmentError> {
        match self.store.remembered(request) {
            Some(remembered) => Ok(self.store.open_environment(&remembered.key, wish)?.ready()),
            None => Ok(None),
        }
    }
}
