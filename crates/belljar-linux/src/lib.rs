//! Kernel mechanisms, one file each. The only unsafe code of belljar lives here, and nothing here knows of Python
//! or of policy: a caller says what to do, this crate does it and reports the operation, the object and the errno.

pub mod beneath;
pub mod cgroup;
pub mod seccomp;
pub mod probe;
