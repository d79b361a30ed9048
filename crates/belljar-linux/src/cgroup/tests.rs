//! Tests that need no kernel: pretended hosts, and version 2 on a tree laid out in a temporary folder.

mod hosts;
mod scope;
mod tree;
