//! `belljar agent` on the real kernel, driven as a client drives it: versions, jobs in any number, streams, cancelling, large
//! bodies, garbage, slow readers, and every way in which a client can go. Each test runs as root and as a plain user, in a
//! process of its own that leaves nothing behind.

// Skips and failures are for people.
#![allow(clippy::print_stdout)]

#[macro_use]
#[path = "../jar/twice.rs"]
mod twice;
#[path = "../support/alone.rs"]
mod alone;
#[path = "../support/ending.rs"]
mod ending;
#[path = "../jar/leaks.rs"]
mod leaks;
#[path = "../jar/skips.rs"]
mod skips;

mod bodies;
mod cancel;
mod client;
mod ends;
mod garbage;
mod hello;
mod invoke;
mod items;
mod jobs;
mod own;
mod parse;
mod slow;
mod warm;
