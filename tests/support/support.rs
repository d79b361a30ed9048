//! What tests on the real kernel share: looking at processes from the host, canaries, and what a run left behind.

pub mod canary;
pub mod leaks;
pub mod procfs;
