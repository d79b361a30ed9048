//! A corner of the machine for one program. Containers, USB sticks and other people's jars come and go while tests run: in
//! namespaces of our own, whatever is new was made by us.

use std::path::Path;
use std::process::Command;

/// Mounts are shared within the corner, as on most hosts: a jar that hands mounts on is seen.
const ENTER: &str = "mount --make-rshared / && \"$@\"; exit $?";

/// Starts `program` with mounts, processes and System V objects of its own, as another user if one is named. Takes root.
pub fn command(program: &Path, user: Option<u32>) -> Command {
    let mut command = Command::new("unshare");
    command
        .args([
            "--mount",
            "--propagation",
            "private",
            "--ipc",
            "--pid",
            "--mount-proc",
        ])
        .args(["--fork", "--kill-child", "sh", "-c", ENTER, "sh"]);
    if let Some(user) = user {
        command.args(["setpriv", "--clear-groups"]);
        command.args([format!("--reuid={user}"), format!("--regid={user}")]);
    }
    command.arg(program);
    command
}

/// Of the mounts that were there, those whose place still is: when somebody on the host removes a folder, the kernel takes what was
/// mounted on it out of every mount namespace, this one too.
pub fn still_there(mounts: &str) -> String {
    let has_place = |line: &&str| {
        line.split(' ')
            .nth(4)
            .is_some_and(|place| Path::new(place).exists())
    };
    mounts.split_inclusive('\n').filter(has_place).collect()
}
