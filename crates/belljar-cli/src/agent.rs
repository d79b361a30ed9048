//! `belljar agent`: runs the jobs of one client process, many at once, over one socket (docs/agent.md).
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

use crate::args;
use crate::failure::Failure;

/// Serves the client behind a descriptor until it is gone; the exit code.
pub fn serve(args: &args::Agent) -> Result<i32, Failure> {
    let (socket, client) = start::start(args.fd)?;
    connection::serve(socket, client, args.jobs)
}
