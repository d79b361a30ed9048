//! A guest with a terminal: its own, not the caller's.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};

use super::request;
use crate::seam::Report;
use crate::stage::{Stage, Who};

pub fn play(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    // Debian's kernels refuse it to everyone, with an error of their own.
    let refused =
        std::fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti").is_ok_and(|text| text.trim() == "0");
    let control = if refused { "EIO" } else { "ok" };
    for (without, wanted) in [(&[][..], "EPERM"), (&["seccomp"][..], control)] {
        let seen = on_terminal(stage, who, without)?;
        let mut want = |probe: &str, wanted: &str| {
            let saw = seen
                .iter()
                .find(|(name, _)| name == probe)
                .map_or("nothing", |(_, saw)| saw.as_str());
            if saw != wanted {
                wrong.push(format!(
                    "without {without:?}, {probe}: saw `{saw}`, not `{wanted}`"
                ));
            }
        };
        want("terminal", "/dev/pts/0");
        want("terminals", "0 ptmx");
        want("TIOCSTI", wanted);
        want("a few terminals of its own", "ok");
        want("hundreds of terminals", "ENOSPC");
        if without.is_empty() {
            want("TIOCSCTTY", "EPERM");
            want("TIOCLINUX", "EPERM");
            want("TIOCCONS", "EPERM");
            want("TIOCSETD", "EPERM");
            want("line editing", "ok");
        }
    }
    Ok(wrong)
}

fn on_terminal(stage: &Stage, who: Who, without: &[&str]) -> Result<Vec<(String, String)>, String> {
    let scene = stage.scene(who)?;
    let result = (|| {
        let mut request = request(&scene, include_str!("terminal.py"), &["own warden"], without)?;
        request.terminal = true;
        let (master, slave) = pair().map_err(|error| format!("make a terminal: {error}"))?;
        let file = scene.folder.join("request");
        std::fs::write(&file, serde_json::to_vec(&request).expect("a request"))
            .map_err(|error| error.to_string())?;
        let mut command = Command::new(&stage.program);
        command
            .arg("--seam")
            .arg(&file)
            .env_clear()
            .env("PATH", "/usr/bin:/bin");
        command.stdin(slave).stdout(Stdio::null());
        if let Some(id) = who.id() {
            command.uid(id).gid(id);
        }
        let mut child = stage.spawn(&mut command)?;
        // The command holds the caller's end; the terminal ends when the run does.
        drop(command);
        let mut seen = Vec::new();
        for line in BufReader::new(std::fs::File::from(master))
            .lines()
            .map_while(Result::ok)
        {
            let Ok(value) = serde_json::from_str::<serde_json::Value>(line.trim()) else {
                continue;
            };
            if let (Some(probe), Some(saw)) = (value["probe"].as_str(), value["saw"].as_str()) {
                seen.push((probe.to_owned(), saw.to_owned()));
            }
        }
        child.wait().map_err(|error| error.to_string())?;
        stage.ended(child.id());
        if seen.is_empty() {
            let text = std::fs::read(scene.folder.join("report")).unwrap_or_default();
            let report: Report = serde_json::from_slice(&text).unwrap_or_default();
            return Err(format!("the guest told nothing: {report:?}"));
        }
        Ok(seen)
    })();
    stage.clear(scene);
    result
}

fn pair() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    Ok((master, slave))
}
