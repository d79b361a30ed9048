//! Runs the jobs of one client process, many at once, over one socket (docs/reference/agent.md).
//!
//! Threads: one reads, and runs the job that it has read while another reads on; one writes what does not go out at once; one
//! watches the client.
//! The agent must never outlive its client, read a value, or hold more than a fixed amount for a client that does not read.

mod answer;
mod connection;
mod crew;
mod inbox;
mod jobs;
mod outbox;
mod rooms;
mod start;
mod stream;
mod warm;
mod work;

use std::os::fd::RawFd;

pub use start::StartError;

/// Serves the client behind a descriptor until it is gone, at most `jobs` of its jobs at once; gives the exit code.
pub fn serve(descriptor: RawFd, jobs: usize) -> Result<i32, StartError> {
    let (socket, client) = start::start(descriptor)?;
    connection::serve(socket, client, jobs)
}
