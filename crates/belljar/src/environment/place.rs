//! An environment that is being made, for what is added to it once its packages are there.

use std::path::Path;

use super::limits::Clock;
use super::store::Store;
use crate::python::Interpreter;

/// Where something is added.
pub(super) struct Place<'a> {
    pub environment: &'a Path,
    /// The packages, in the environment.
    pub site: &'a Path,
    pub interpreter: &'a Interpreter,
    pub binary: &'a Path,
    pub store: &'a Store,
    pub clock: Clock,
}
