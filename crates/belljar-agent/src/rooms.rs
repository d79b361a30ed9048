//! Sandboxes that the client has opened. A job may name one that is still being opened: it waits, so that a client need
//! not.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use belljar::agent::{Dependencies, Fault, Open};
use belljar::client::own_binary;
use belljar::environment::Wish;
use belljar::requirement::{Allow, Requirements};
use belljar::tree::Tree;
use belljar::{Environment, Environments, Error, Policy, Sandbox};

use crate::answer::{fault, of_error};

/// Sandboxes that can be open at once.
const MOST: usize = 256;

/// One sandbox, once it is there.
#[derive(Default)]
pub struct Room {
    ready: Mutex<Option<Result<Sandbox, Fault>>>,
    known: Condvar,
}

impl Room {
    /// Opens it and tells everyone who waits.
    pub fn open(&self, open: &Open, tree: Option<Tree>) -> Result<Sandbox, Fault> {
        let opened = sandbox(open, tree);
        *self.ready.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened.clone());
        self.known.notify_all();
        opened
    }

    /// The sandbox, or why there is none, if that is known yet.
    pub fn known(&self) -> Option<Result<Sandbox, Fault>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The sandbox, or why there is none.
    pub fn wait(&self) -> Result<Sandbox, Fault> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*ready {
                Some(found) => return found.clone(),
                None => ready = self.known.wait(ready).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

fn sandbox(open: &Open, tree: Option<Tree>) -> Result<Sandbox, Fault> {
    let mut policy = belljar::agent::policy(open).map_err(|error| of_error(error.into()))?;
    let mut builder = Sandbox::builder().binary(own_binary());
    let environment = environment(&open.dependencies, &mut policy).map_err(of_error)?;
    if let Some(environment) = &environment {
        builder = builder.environment(environment.clone());
    }
    if let Some(preload) = &open.preload {
        builder = builder.preload(preload);
    }
    if let Some(tree) = tree {
        builder = builder.tree(tree, &open.own);
    }
    let sandbox = builder.policy(policy.clone()).build().map_err(of_error)?;
    if let Some(preload) = &open.preload {
        // A template would only leave it out, and whoever mistyped it would never know.
        let lacking = belljar::python::lacking(&policy, environment.as_ref(), &open.own, preload);
        if let Some((name, near)) = lacking.map_err(|error| of_error(error.into()))? {
            let name = name.to_owned();
            return Err(of_error(Error::NoModule { name, near }));
        }
    }
    Ok(sandbox)
}

/// The environment with the dependencies, built where it is not there yet: jobs wait for it as for the sandbox.
fn environment(needs: &Dependencies, policy: &mut Policy) -> Result<Option<Environment>, Error> {
    let allow = Allow {
        builds: needs.allow_builds,
        urls: needs.allow_urls,
    };
    let mut requirements = Requirements::from_list(&needs.requirements, allow)?;
    if let Some(header) = &needs.script
        && let Some(found) = Requirements::script(header, allow)?
    {
        requirements = requirements.merge(found);
    }
    let Some(wish) = Wish::for_policy(requirements, allow, needs.refresh, policy)? else {
        return Ok(None);
    };
    let environments = Environments::of(needs.variables.clone(), Some(&own_binary()))?;
    Ok(Some(environments.get(&wish, &mut |_| {})?))
}

/// All of them.
#[derive(Default)]
pub struct Rooms {
    map: Mutex<HashMap<u64, Arc<Room>>>,
}

impl Rooms {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Room>>> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an id is taken.
    pub fn has(&self, id: u64) -> bool {
        self.lock().contains_key(&id)
    }

    /// A place for a sandbox.
    pub fn add(&self, id: u64) -> Result<Arc<Room>, Fault> {
        let mut map = self.lock();
        if map.len() >= MOST {
            return Err(fault(
                "busy",
                format!("{MOST} sandboxes are open, which is the most"),
                Some("close one"),
            ));
        }
        Ok(map.entry(id).or_default().clone())
    }

    /// The sandbox with this id.
    pub fn get(&self, id: u64) -> Result<Arc<Room>, Fault> {
        self.lock()
            .get(&id)
            .cloned()
            .ok_or_else(|| fault("unknown", format!("no sandbox {id} is open"), None))
    }

    /// Gives a sandbox back; jobs that run in it go on.
    pub fn remove(&self, id: u64) -> Option<Arc<Room>> {
        self.lock().remove(&id)
    }

    /// Whether one that is open builds the same jars.
    pub fn any(&self, sandbox: &Sandbox) -> bool {
        let rooms: Vec<Arc<Room>> = self.lock().values().cloned().collect();
        let same = |room: &Arc<Room>| matches!(room.known(), Some(Ok(other)) if other.is_same(sandbox));
        rooms.iter().any(same)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lock().len()
    }
}
