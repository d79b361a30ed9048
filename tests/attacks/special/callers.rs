//! Callers that start belljar in an unusual state.

use super::request;
use crate::observers;
use crate::seam;
use crate::stage::{Stage, Start, Who};

/// A caller with capabilities that pass on by themselves.
pub fn capabilities(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let scene = stage.scene(Who::Root)?;
    let result = (|| {
        let request = request(
            &scene,
            "import sys\nprint('{\"ready\": true}', flush=True)\nsys.stdin.read()",
            &[],
            &[],
        )?;
        let caps = "+net_raw,+dac_override,+sys_ptrace,+sys_admin";
        let (inheritable, ambient) = (format!("--inh-caps={caps}"), format!("--ambient-caps={caps}"));
        let mut prefix = vec!["/usr/bin/setpriv"];
        if who == Who::User {
            // The folder belongs to root here, so the run's files must be open to this user.
            open_up(&scene.folder).map_err(|error| error.to_string())?;
            prefix.extend(["--reuid=12345", "--regid=12345", "--clear-groups"]);
        }
        prefix.extend([inheritable.as_str(), ambient.as_str()]);
        let mut live = seam::start(stage, Who::Root, &request, &prefix)?;
        if !live.read(&mut Vec::new())? {
            return Err(format!("the guest did not stay: {:?}", live.finish(stage)?));
        }
        let caller = crate::support::procfs::status(live.child.id(), live.child.id())
            .map_err(|error| error.to_string())?;
        let mut wrong = observers::observe("status", &live, &scene, Start::Cold)?;
        wrong.extend(observers::observe("ids", &live, &scene, Start::Cold)?);
        if caller
            .get("CapAmb")
            .is_none_or(|set| set.trim_matches('0').is_empty())
        {
            wrong.push("the caller has no ambient capabilities, so this proves nothing".into());
        }
        live.finish(stage)?;
        Ok(wrong)
    })();
    stage.clear(scene);
    result
}

fn open_up(folder: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777))
}

/// A caller that has closed descriptors 0, 1 and 2, and is its own warden.
pub fn closed_streams(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    for given in [&["own warden"][..], &[]] {
        let source = include_str!("streams.py");
        // The shell closes them at the last moment, so the guest's word comes in the outcome alone.
        let shell = ["/bin/sh", "-c", "exec \"$0\" \"$@\" 0<&- 1>&- 2>&-"];
        let run = super::solo(stage, who, source, (given, &[]), &shell, |_, _| Ok(()))?;
        let Some(outcome) = &run.report.outcome else {
            wrong.push(format!("{given:?}: {}", run.report.error.unwrap_or_default()));
            continue;
        };
        let text = String::from_utf8_lossy(&outcome.stdout.head).trim().to_owned();
        if text != "0 pipe, 1 pipe, 2 pipe, 3 socket" {
            wrong.push(format!(
                "{given:?}: the guest holds {text} {}",
                String::from_utf8_lossy(&outcome.stderr.head)
            ));
        }
    }
    Ok(wrong)
}

/// A caller of high rank that ignores the ends of its children, with everything open that a mask could close.
pub fn odd_state(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    for given in [&["own warden"][..], &[]] {
        let mut prefix = vec![
            "/bin/sh",
            "-c",
            "umask 0; trap '' CHLD; exec \"$0\" \"$@\"",
            "/usr/bin/setarch",
            "-R",
        ];
        if who == Who::Root {
            prefix.extend([
                "/usr/bin/nice",
                "-n",
                "-10",
                "/usr/bin/ionice",
                "-c1",
                "/usr/bin/chrt",
                "--fifo",
                "1",
            ]);
        }
        let run = super::solo(
            stage,
            who,
            include_str!("odd_state.py"),
            (given, &[]),
            &prefix,
            |_, _| Ok(()),
        )?;
        for (probe, wanted) in [
            ("scheduling", "0 0"),
            ("disk priority", "0"),
            ("personality", "00000000"),
            ("mask", "0022"),
            ("taken first when memory is out", "500"),
            ("blocked signals", "0000000000000000"),
            ("raise it again", "EPERM"),
        ] {
            wrong.extend(run.want(probe, wanted).map(|text| format!("{given:?}: {text}")));
        }
    }
    Ok(wrong)
}
