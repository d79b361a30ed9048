//! Jars on the real kernel, driven through the library: outcomes, limits, hostile frames, files, failures, and what must
//! simply work. Each test runs as root and as a plain user, in a process of its own that leaves nothing behind.

// Skips and failures are for people.
#![allow(clippy::print_stdout)]

#[macro_use]
mod twice;

#[path = "../support/alone.rs"]
mod alone;
mod compatibility;
mod control;
mod draft;
#[path = "../support/ending.rs"]
mod ending;
mod ends;
mod failures;
mod glass;
mod harvest;
mod hosts;
mod leaks;
mod limits;
mod memory;
mod mounts;
mod murder;
mod obeyed;
mod output;
mod packages;
mod site_packages;
mod skips;
mod starved;
mod stdin;
#[path = "../support/support.rs"]
#[allow(dead_code)] // Shared; no one test uses all of it.
mod support;
mod teardown;
mod version2;
mod warm;
mod warm_crowd;
mod warm_first;
mod warm_murder;
mod warm_neighbours;
mod warm_pairs;
mod warm_preload;
mod warm_storm;
