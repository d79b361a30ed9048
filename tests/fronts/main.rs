//! What users see: the built command, started as they start it, as root and as a plain user.

mod each;
mod errors;
mod examples;
mod files;
mod harness;
mod help;
mod host;
mod json;
mod limits;
mod programs;
mod schema;
mod streams;
mod terminal;
