//! Building an environment: the steps, in their order.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::limits::Clock;
use super::manifest::Manifest;
use super::place::Place;
use super::progress::Progress;
use super::room::{Ran, UvRoom};
use super::settings::IndexSettings;
use super::skeleton::Skeleton;
use super::store::{self, Store};
use super::uv::Uv;
use super::{
    About, EnvironmentError, INSIDE, Wish, baked, bytecode, checking, digest, metadata, reason, tree,
};
use crate::requirement::Requirements;

/// Builds environments for one wish.
pub(super) struct Builder<'a> {
    store: &'a Store,
    binary: &'a Path,
    wish: &'a Wish,
    settings: &'a IndexSettings,
    uv: Uv,
    clock: Clock,
    skeleton: Skeleton,
    tool: String,
    /// The folder with uv's cache and what is being built.
    cache: PathBuf,
    /// Whether nobody else uses that folder, and it goes with us.
    private: bool,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        store: &'a Store,
        uv: Uv,
        binary: &'a Path,
        wish: &'a Wish,
        settings: &'a IndexSettings,
        clock: Clock,
    ) -> Result<Self, EnvironmentError> {
        store.sweep();
        // Code of packages that runs in a build could put into uv's cache what others would install.
        let private = wish.allow.builds;
        let cache = match private {
            true => store.part("builds")?.join(digest::request(wish, settings)?),
            false => store.part("uv")?,
        };
        for part in ["wheels", "building"] {
            let path = cache.join(part);
            fs::create_dir_all(&path).map_err(EnvironmentError::io("make the folder", &path))?;
        }
        Ok(Self {
            tool: format!("belljar {}, {}", env!("CARGO_PKG_VERSION"), uv.version),
            store,
            binary,
            wish,
            settings,
            uv,
            clock,
            skeleton: Skeleton::of(&wish.interpreter),
            cache,
            private,
        })
    }

    /// What builds, with versions.
    pub(super) fn tool(&self) -> &str {
        &self.tool
    }

    /// Chooses versions, and pins each by its hashes.
    pub(super) fn resolve(&self, tell: &mut dyn FnMut(Progress)) -> Result<String, EnvironmentError> {
        tell(Progress::Resolving {
            requirements: self.wish.requirements.iter().count(),
        });
        let python = self.wish.interpreter.base_executable.to_string_lossy();
        let mut args = vec![
            "pip",
            "compile",
            "--python",
            &python,
            "--generate-hashes",
            "--no-header",
            "--no-annotate",
        ];
        args.extend(self.builds());
        if self.wish.refresh {
            args.push("--refresh");
        }
        args.push("/jar/requirements.in");
        let ran = self.run(
            None,
            &args,
            ("requirements.in", &self.wish.requirements.to_string()),
            tell,
        )?;
        // uv writes down the hashes that the index gives now; where some were asked for, only those count.
        let lock = Requirements::requirements_txt(&ran.stdout, self.wish.allow)?;
        Ok(self.wish.requirements.narrow(lock)?.to_string())
    }

    /// Builds what a lock says, and puts it into its place.
    pub(super) fn build(
        &self,
        key: &str,
        lock: &str,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<(), EnvironmentError> {
        let staging = self.cache.join("building").join(key);
        let new = self.store.part("environments")?.join(format!(".new-{key}"));
        let built = self.build_in(&staging, &new, key, lock, tell);
        // Whatever became of it, nothing of it stays but what is in its place.
        let _ = tree::remove(&staging);
        let _ = tree::remove(&new);
        built
    }

    fn build_in(
        &self,
        staging: &Path,
        new: &Path,
        key: &str,
        lock: &str,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<(), EnvironmentError> {
        for path in [staging, new] {
            tree::remove(path).map_err(EnvironmentError::io("remove", path))?;
            fs::create_dir(path).map_err(EnvironmentError::io("make the folder", path))?;
        }
        let made = self.skeleton.make(&staging.join("env"));
        made.map_err(EnvironmentError::io("make a virtualenv in", staging))?;
        self.install(key, lock, tell)?;
        // From here on no jar can reach it: it is moved to where none has been, and looked at there.
        let environment = new.join("env");
        fs::rename(staging.join("env"), &environment).map_err(EnvironmentError::io("move", staging))?;
        if let Some(path) = self.skeleton.changed(&environment) {
            return Err(EnvironmentError::Meddled {
                path: path.to_path_buf(),
            });
        }
        let io = |step| EnvironmentError::io(step, &environment);
        let place = Place {
            environment: &environment,
            site: self.skeleton.site(),
            interpreter: &self.wish.interpreter,
            binary: self.binary,
            store: self.store,
            clock: self.clock,
        };
        bytecode::add(&place, tell)?;
        baked::add(&place, tell)?;
        tell(Progress::Finishing);
        let folders = tree::walk(&environment).map_err(io("read"))?;
        tree::make_read_only(&environment, &folders).map_err(io("make read-only"))?;
        let manifest = Manifest::take(&environment, &folders).map_err(io("read"))?;
        let about = self.about(key, &environment, &manifest);
        store::write(
            &new.join("about.json"),
            &serde_json::to_vec_pretty(&about).unwrap_or_default(),
        )?;
        checking::write(&manifest, new)?;
        store::write(&new.join("used"), b"")?;
        self.store.place(new, key)
    }

    fn install(&self, key: &str, lock: &str, tell: &mut dyn FnMut(Progress)) -> Result<(), EnvironmentError> {
        tell(Progress::Installing {
            packages: lock
                .lines()
                .filter(|line| line.contains("==") && !line.starts_with([' ', '#']))
                .count(),
        });
        let python = format!("{INSIDE}/bin/python");
        let mut args = vec![
            "pip",
            "sync",
            "--python",
            &python,
            "--link-mode",
            "hardlink",
            "--allow-empty-requirements",
        ];
        args.extend(self.builds());
        // What was built here has no hash that anybody could know before.
        if !self.wish.allow.builds && !self.wish.allow.urls {
            args.push("--require-hashes");
        }
        args.push("/jar/lock.txt");
        let lock = ("lock.txt", lock);
        if !self.private {
            // Where everything is here already, the index need not be asked again: that takes longer than all the rest.
            args.push("--offline");
            match self.run(Some(key), &args, lock, tell) {
                Err(EnvironmentError::Refused { .. }) => args.pop(),
                ended => return ended.map(drop),
            };
        }
        self.run(Some(key), &args, lock, tell).map(drop)
    }

    /// Wheels only, unless told: the code of a source would run.
    fn builds(&self) -> Option<&'static str> {
        (!self.wish.allow.builds).then_some("--no-build")
    }

    fn run(
        &self,
        building: Option<&str>,
        args: &[&str],
        input: (&str, &str),
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Ran, EnvironmentError> {
        let room = UvRoom {
            binary: self.binary,
            uv: &self.uv.path,
            interpreter: &self.wish.interpreter,
            settings: self.settings,
            cache: &self.cache,
            clock: self.clock,
            building,
        };
        let ran = room.run(args, input, &mut |line| {
            if let Some(what) = line.trim_start().strip_prefix("Downloading ") {
                tell(Progress::Downloading(what.to_owned()));
            }
        })?;
        match ran.outcome.success() && !ran.full {
            true => Ok(ran),
            false => Err(reason::of(&ran, self.clock)),
        }
    }

    fn about(&self, key: &str, environment: &Path, manifest: &Manifest) -> About {
        let asked: BTreeSet<String> = self
            .wish
            .requirements
            .iter()
            .map(|one| one.name().to_owned())
            .collect();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (size, files) = manifest.size();
        About {
            key: key.to_owned(),
            requirements: self.wish.requirements.iter().map(ToString::to_string).collect(),
            python: self.wish.interpreter.version.to_string(),
            packages: metadata::packages(&environment.join(self.skeleton.site()), &asked),
            caches: baked::names(environment),
            size,
            files,
            built: now.as_secs(),
            tool: self.tool.clone(),
            recipe: digest::RECIPE,
        }
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        if self.private {
            let _ = tree::remove(&self.cache);
        }
    }
}
