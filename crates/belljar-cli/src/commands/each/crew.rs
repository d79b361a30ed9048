//! The threads that run scripts: each takes the next one, gives it to a worker of the pool and waits for its outcome.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use belljar::pool::{Cancel, PoolStats, Warmed};
use belljar::{Job, Pool, Sandbox};

use super::Ended;
use crate::failure::Failure;
use crate::values::plain;

/// Scripts that may be ahead of the one whose turn it is to be printed: what they print is kept until then.
const AHEAD: usize = 256;

/// What the threads share.
pub struct Crew {
    pool: Pool,
    sandbox: Sandbox,
    board: Mutex<Board>,
    /// Something has changed for those who wait for their turn.
    turn: Condvar,
    results: Sender<(usize, Ended)>,
    /// Rung when one has ended, for someone who polls.
    bell: UnixStream,
}

struct Board {
    waiting: VecDeque<(usize, Job)>,
    running: BTreeMap<usize, Cancel>,
    printed: usize,
}

/// Where ends are heard of.
pub struct Ends {
    results: Receiver<(usize, Ended)>,
    bell: UnixStream,
}

impl Ends {
    /// Those that have ended since the last look.
    pub fn take(&mut self) -> Vec<(usize, Ended)> {
        // The bell first: one that rings after this is heard of at the next look.
        while matches!(self.bell.read(&mut [0; 256]), Ok(1..)) {}
        self.results.try_iter().collect()
    }
}

impl AsFd for Ends {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Crew {
    /// A crew for these jobs, and the way to hear from it.
    pub fn new(pool: Pool, sandbox: Sandbox, jobs: Vec<Job>) -> Result<(Self, Ends), Failure> {
        let pair = UnixStream::pair().and_then(|(bell, heard)| {
            bell.set_nonblocking(true)?;
            heard.set_nonblocking(true)?;
            Ok((bell, heard))
        });
        let (bell, heard) =
            pair.map_err(|error| Failure::new(format!("cannot make a socket pair: {}", plain(&error))))?;
        let (sender, results) = channel();
        let board = Board {
            waiting: jobs.into_iter().enumerate().collect(),
            running: BTreeMap::new(),
            printed: 0,
        };
        let crew = Self {
            pool,
            sandbox,
            board: Mutex::new(board),
            turn: Condvar::new(),
            results: sender,
            bell,
        };
        Ok((crew, Ends { results, bell: heard }))
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The life of a thread.
    pub fn work(&self) {
        while let Some((index, job, cancel)) = self.next() {
            let ended = cancel.and_then(|cancel| self.pool.run_until(&self.sandbox, job, &cancel));
            self.board().running.remove(&index);
            let ended = match ended {
                Ok(outcome) => Ended::Ran(Box::new(outcome)),
                Err(error) => Ended::Failed(error.into()),
            };
            self.tell(index, ended);
        }
    }

    fn tell(&self, index: usize, ended: Ended) {
        // Nobody listens any more only when everything has been told.
        let _ = self.results.send((index, ended));
        // One that is full has been rung enough.
        let _ = (&self.bell).write(b"!");
    }

    /// The next script, once it may run. Known to whoever cancels from the moment that it is taken.
    fn next(&self) -> Option<(usize, Job, Result<Cancel, belljar::Error>)> {
        let mut board = self.board();
        loop {
            let (index, _) = board.waiting.front()?;
            if *index < board.printed + AHEAD {
                break;
            }
            board = self.turn.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
        let (index, job) = board.waiting.pop_front()?;
        let cancel = Cancel::new();
        if let Ok(cancel) = &cancel {
            board.running.insert(index, cancel.clone());
        }
        Some((index, job, cancel))
    }

    /// Ends those that run, and begins no other.
    pub fn cancel(&self) {
        let mut board = self.board();
        for (index, _) in std::mem::take(&mut board.waiting) {
            self.tell(index, Ended::NotBegun);
        }
        board.running.values().for_each(Cancel::kill);
        drop(board);
        self.turn.notify_all();
    }

    /// So many are printed, and need not be kept any more.
    pub fn printed(&self, count: usize) {
        self.board().printed = count;
        self.turn.notify_all();
    }

    /// The script that runs for longest.
    pub fn oldest(&self) -> Option<usize> {
        self.board().running.keys().next().copied()
    }

    /// How the template's imports went. To be asked after a script has run warm: then it is known.
    pub fn warmed(&self) -> Result<Warmed, Failure> {
        Ok(self.pool.warm(&self.sandbox, 0)?)
    }

    /// What the pool has done.
    pub fn stats(&self) -> PoolStats {
        self.pool.stats()
    }
}
