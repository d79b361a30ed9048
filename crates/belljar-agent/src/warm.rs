//! Workers that are asked for ahead. Imports take seconds and an environment may have to be built first, so each such request
//! waits on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use belljar::agent::{Fault, Warm};

use crate::answer::{error, fault, of_error, warmed};
use crate::connection::{Agent, read};
use crate::crew::STACK;
use crate::outbox::Letter;
use crate::work::cancelled;

/// Requests that can wait at once.
const MOST: usize = 64;

/// How many requests wait.
#[derive(Debug, Default)]
pub struct Warming(AtomicUsize);

impl Warming {
    fn begin(&self) -> Result<(), Fault> {
        if self.0.fetch_add(1, Ordering::Relaxed) < MOST {
            return Ok(());
        }
        self.end();
        Err(fault(
            "busy",
            format!("{MOST} requests wait for warm workers, which is the most"),
            Some("try again when some have ended"),
        ))
    }

    fn end(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Agent {
    /// Has workers ready, and tells which modules they have.
    pub fn warm(self: &Arc<Self>, id: u64, header: &[u8]) -> Result<(), Fault> {
        let wish: Warm = read(header)?;
        // Named now, so that it is refused at once when there is no such sandbox.
        self.rooms.get(wish.sandbox)?;
        self.warming.begin()?;
        let agent = self.clone();
        let warming = move || {
            let letter = agent
                .warm_now(id, &wish)
                .unwrap_or_else(|fault| error(id, &fault));
            agent.warming.end();
            agent.outbox.send(letter);
        };
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(warming);
        thread.map(drop).map_err(|cause| {
            self.warming.end();
            fault("busy", format!("cannot start a thread: {cause}"), None)
        })
    }

    fn warm_now(&self, id: u64, wish: &Warm) -> Result<Letter, Fault> {
        let sandbox = self.rooms.get(wish.sandbox)?.wait()?;
        let pool = self.pool().ok_or_else(cancelled)?;
        warmed(id, &pool.warm(&sandbox, wish.workers).map_err(of_error)?)
    }
}
