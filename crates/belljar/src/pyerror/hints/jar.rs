//! What the jar does not let a guest have: network, files, memory, processes, disk.

use std::path::Path;

use super::{HintContext, between, bytes};
use crate::hint::{Hint, Setting};
use crate::policy::{Network, can_be_shown};
use crate::pyerror::PythonError;

const EPERM: i32 = 1;
const EAGAIN: i32 = 11;
const ENOMEM: i32 = 12;
const EACCES: i32 = 13;
const EMFILE: i32 = 24;
const EFBIG: i32 = 27;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;

/// What failing to reach a peer looks like, in any of the libraries that wrap it.
const UNREACHABLE: &[&str] = &[
    "Name or service not known",
    "Temporary failure in name resolution",
    "No address associated with hostname",
    "nodename nor servname",
    "Network is unreachable",
    "No route to host",
    "Address family not supported by protocol",
    "Cannot assign requested address",
    "Failed to establish a new connection",
    "NameResolutionError",
    "All connection attempts failed",
    "Connection refused",
    "gaierror",
];

pub(super) fn hint(error: &PythonError, context: &HintContext) -> Option<Hint> {
    limit(error, context)
        .or_else(|| network(error, context))
        .or_else(|| files(error, context))
}

fn limit(error: &PythonError, context: &HintContext) -> Option<Hint> {
    let message = error.message.as_str();
    let class = error.class();
    let memory = error.is("MemoryError")
        || message.contains("Cannot allocate memory")
        || message.contains("Unable to allocate");
    if (memory || error.errno == Some(ENOMEM)) && !error.is_own() {
        let limit = bytes(context.memory);
        let hint = Hint::code(format!("the memory limit is {limit}; work on smaller pieces"));
        return Some(hint.say(", or raise it with ").set(Setting::Memory));
    }
    if message.contains("can't start new thread")
        || class == "BlockingIOError"
            && error.errno == Some(EAGAIN)
            && message.contains("Resource temporarily unavailable")
    {
        let hint = Hint::code(format!(
            "the limit is {} processes and threads; use fewer workers",
            context.pids
        ));
        return Some(hint.say(", or raise it with ").set(Setting::Pids));
    }
    match error.errno? {
        ENOSPC => {
            let hint = Hint::code(format!(
                "the disk of the jar is {}; write less",
                bytes(context.disk)
            ));
            Some(hint.say(", or raise it with ").set(Setting::Disk))
        }
        EMFILE => Some(Hint::code(format!(
            "the limit is {} open files; close files when done, best with a `with` block",
            context.open_files
        ))),
        EFBIG => Some(
            Hint::code("the file grew past the limit on the size of one file; write less")
                .say(", or raise it with ")
                .set(Setting::FileSize),
        ),
        _ => None,
    }
}

fn network(error: &PythonError, context: &HintContext) -> Option<Hint> {
    let texts = || {
        std::iter::once(&error.message)
            .chain(&error.causes)
            .chain([&error.type_name])
    };
    let found = UNREACHABLE
        .iter()
        .find(|mark| texts().any(|text| text.contains(**mark)))?;
    let refused = *found == "Connection refused" || texts().any(|text| text.contains("Connection refused"));
    match context.network {
        Network::None => Some(
            Hint::code("the network is off in this jar, so work with the data that is here")
                .say("; ")
                .set_to(Setting::Network, ["loopback"])
                .say(" allows connections inside the jar, ")
                .set_to(Setting::Network, ["host"])
                .say(" shares the host's network"),
        ),
        Network::Loopback if refused => Some(Hint::code(
            "nothing listens on that port inside the jar; start the server in the same run first",
        )),
        Network::Loopback => Some(
            Hint::code("only the jar's own loopback is reachable (127.0.0.1)")
                .say("; ")
                .set_to(Setting::Network, ["host"])
                .say(" shares the host's network"),
        ),
        Network::Host if refused => Some(Hint::code("nothing listens on that address and port")),
        Network::Host => None,
    }
}

fn files(error: &PythonError, context: &HintContext) -> Option<Hint> {
    let path = error.filename.as_deref().or_else(|| quoted(&error.message));
    let errno = error.errno.or_else(|| by_class(error.class()));
    match errno? {
        EROFS | EACCES | EPERM => {
            let what = path.map_or("that place".to_owned(), |path| format!("{path:?}"));
            let own = path.is_some_and(|path| {
                path.starts_with("/jar") || path.starts_with("/tmp") || !path.starts_with('/')
            });
            if own && errno != Some(EROFS) {
                return Some(Hint::code(format!(
                    "{what} does not allow this; check its mode and owner"
                )));
            }
            let hint = Hint::code(format!(
                "{what} cannot be changed in a jar; write to /jar (the working directory) or /tmp"
            ));
            Some(hint.say(", or pass ").set_to(Setting::Mount, ["SRC:DST:rw"]))
        }
        2 => missing(error, path?, context),
        _ => None,
    }
}

fn missing(error: &PythonError, path: &str, context: &HintContext) -> Option<Hint> {
    let spawned = error
        .frames
        .iter()
        .any(|frame| frame.file.ends_with("/subprocess.py"));
    if spawned && !path.contains('/') {
        let hint = Hint::code(format!(
            "there is no program {path:?} on the jar's PATH; use a Python module instead"
        ));
        return Some(hint.say(", or ").set(Setting::Mount).say(" it"));
    }
    if path.starts_with("/jar") || path.starts_with("/tmp") || !path.starts_with('/') {
        return Some(if context.workdir {
            Hint::code(format!(
                "{path:?} is not in the working directory; list it with os.listdir() and check the name"
            ))
        } else {
            Hint::code(format!("/jar starts empty, so {path:?} is not there"))
                .say("; pass ")
                .set_to(Setting::Workdir, ["DIR"])
                .say(" to show the folder that has it, or ")
                .set_to(Setting::Mount, ["SRC:DST"])
        });
    }
    if !can_be_shown(Path::new(path)) {
        let hint = Hint::code(format!(
            "files of the host are not visible in a jar, and {path} is belljar's own place there"
        ));
        return Some(
            hint.say("; show a file under another name with ")
                .set_to(Setting::Mount, ["SRC:/data"]),
        );
    }
    Some(
        Hint::code("files of the host are not visible in a jar")
            .say("; pass ")
            .set_to(Setting::Mount, [path])
            .say(", or ")
            .set(Setting::Workdir)
            .say(" for a whole folder"),
    )
}

fn by_class(class: &str) -> Option<i32> {
    match class {
        "FileNotFoundError" => Some(2),
        "PermissionError" => Some(EACCES),
        _ => None,
    }
}

/// The file at the end of `[Errno 2] No such file or directory: 'x'`.
fn quoted(message: &str) -> Option<&str> {
    between(message, ": '", "'")
}
