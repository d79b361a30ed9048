//! From a process that inherited everything of its client to one that has a socket and nothing else.

use std::fs::OpenOptions;
use std::os::fd::{AsFd, IntoRawFd, RawFd};
use std::os::unix::net::UnixStream;

use belljar::{Hint, Hinted};
use belljar_linux::caller::{self, Peer};
use belljar_linux::{descriptors, rlimits, signals};

/// All that is needed of the client's environment: the log, the cache, where interpreters are found, and whether this is a
/// pod. docs/reference/agent.md lists them.
pub(crate) const KEPT: [&str; 10] = [
    "BELLJAR_CACHE_DIR",
    "BELLJAR_LOG",
    "HOME",
    "KUBERNETES_SERVICE_HOST",
    "PATH",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "UV_PYTHON_INSTALL_DIR",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
];

/// Why this process cannot be an agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// It was not started as one.
    #[error(
        "agent: descriptor {descriptor} is not one end of a socket pair: {cause}{}",
        next_step(self)
    )]
    Socket {
        /// Its number.
        descriptor: RawFd,
        /// Why.
        cause: std::io::Error,
    },
    /// Its pool cannot be had.
    #[error(transparent)]
    Pool(#[from] belljar::Error),
    /// The system would not let it.
    #[error("agent: cannot {step}: {cause}")]
    Step {
        /// What it did.
        step: &'static str,
        /// Why.
        cause: std::io::Error,
    },
}

impl Hinted for StartError {
    fn hint(&self) -> Option<Hint> {
        match self {
            Self::Socket { .. } => {
                Some("it is started by a client such as the Python package, never by hand".into())
            }
            Self::Pool(error) => error.hint(),
            Self::Step { .. } => None,
        }
    }
}

fn next_step(error: &StartError) -> String {
    error.hint().map(|hint| format!("; {hint}")).unwrap_or_default()
}

/// Makes this process an agent: its socket, and the client behind it.
pub fn start(descriptor: RawFd) -> Result<(UnixStream, Peer), StartError> {
    let cannot = |step: &'static str| move |cause: std::io::Error| StartError::Step { step, cause };
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(cannot("open /dev/null"))?
        .into_raw_fd();
    // Standard error stays until everything that can fail here is done.
    let mut kept = descriptors::set_table(&[null, null, 2], &[descriptor])
        .map_err(|cause| StartError::Socket { descriptor, cause })?;
    let socket = UnixStream::from(kept.remove(0));
    let client = caller::peer(socket.as_fd()).map_err(|cause| StartError::Socket { descriptor, cause })?;
    // A Ctrl-C at the client's terminal is the client's to pass on. Fails for one that leads a session already.
    let _ = rustix::process::setsid();
    signals::keep_children();
    caller::keep_variables(&KEPT, b"belljar agent").map_err(cannot("forget the client's environment"))?;
    std::env::set_current_dir("/").map_err(cannot("leave the client's folder"))?;
    rlimits::most_files().map_err(cannot("raise the limit on open files"))?;
    socket
        .set_nonblocking(false)
        .map_err(cannot("prepare the socket"))?;
    // This process, never its client's. Without one, jars say that their memory is limited process by process.
    let _ = belljar::host::own_cgroup();
    if std::env::var_os("BELLJAR_LOG").is_none() {
        let null = OpenOptions::new()
            .write(true)
            .open("/dev/null")
            .map_err(cannot("open /dev/null"))?;
        rustix::stdio::dup2_stderr(null).map_err(|error| cannot("close standard error")(error.into()))?;
    }
    Ok((socket, client))
}
