//! Things that the host has planted where a guest can find them.

use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::PathBuf;
use std::process::Command;

use belljar::policy::{Access, Mount};
use rustix::fs::{CWD, FileType, Mode};

use super::solo;
use crate::stage::{Stage, Who};

/// A set-uid program of root, which on the host makes whoever runs it root.
pub fn set_uid(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let mut wrong = run_set_uid(stage, who, &["canary shown read-only"])?;
    wrong.extend(run_set_uid(
        stage,
        who,
        &["canary shown read-only", "parked worker"],
    )?);
    Ok(wrong)
}

fn run_set_uid(stage: &Stage, who: Who, given: &[&str]) -> Result<Vec<String>, String> {
    let mut planted = None;
    let source = include_str!("set_uid.py");
    let run = solo(stage, who, source, (given, &[]), &[], |scene, _| {
        let path = scene.folder.join("canary/id");
        plant(&path).map_err(|error| format!("plant a set-uid program: {error}"))?;
        // The control: on the host it works.
        let mut id = Command::new(&path);
        id.arg("-u");
        std::os::unix::process::CommandExt::uid(&mut id, 12_345);
        let output = id.output().map_err(|error| error.to_string())?;
        planted = Some(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        Ok(())
    })?;
    let mut wrong = Vec::new();
    wrong.extend(run.want("effective user of a set-uid program", "1000"));
    if planted.as_deref() != Some("0") {
        wrong.push(format!(
            "on the host the planted program runs as {planted:?}, so it proves nothing"
        ));
    }
    Ok(wrong)
}

fn plant(path: &PathBuf) -> std::io::Result<()> {
    std::fs::copy("/usr/bin/id", path)?;
    chown(path, Some(0), Some(0))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o6755))
}

/// A device file with mode 666 in a folder that is shown.
pub fn device(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    for (given, without, wanted) in [
        (&["canary shown read-only"][..], &[][..], ["EACCES", "ENOENT"]),
        (
            &["canary shown read-only", "parked worker"],
            &[],
            ["EACCES", "ENOENT"],
        ),
        (&[], &["no devices", "landlock"], ["ENOENT", "ok"]),
    ] {
        let run = solo(
            stage,
            who,
            include_str!("device.py"),
            (given, without),
            &[],
            |scene, _| {
                for path in [scene.folder.join("canary/device"), scene.folder.join("planted")] {
                    rustix::fs::mknodat(
                        CWD,
                        &path,
                        FileType::CharacterDevice,
                        Mode::from_raw_mode(0o666),
                        rustix::fs::makedev(1, 5),
                    )
                    .map_err(|error| format!("plant a device: {error}"))?;
                    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666))
                        .map_err(|error| error.to_string())?;
                }
                Ok(())
            },
        )?;
        wrong.extend(run.want("open a shown device", wanted[0]));
        wrong.extend(run.want("open a device of the plan", wanted[1]));
    }
    Ok(wrong)
}

/// The way into the runtime's own program that CVE-2019-5736 took.
pub fn own_program(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    for (without, runs) in [(&[][..], false), (&["landlock"][..], true)] {
        let run = solo(stage, who, "", (&["workdir"], without), &[], |scene, request| {
            let path = scene.folder.join("canary/script");
            std::fs::write(&path, "#!/proc/self/exe --version\n").map_err(|error| error.to_string())?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
                .map_err(|error| error.to_string())?;
            request.command = Some("/jar/script".into());
            Ok(())
        })?;
        let refused = run
            .report
            .error
            .as_deref()
            .is_some_and(|error| error.contains("Permission denied"));
        if refused == runs {
            wrong.push(format!("without {without:?}: {:?}", run.report));
        }
    }
    Ok(wrong)
}

/// Mounts that cannot be made.
pub fn bad_mounts(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    for (name, runs) in [
        ("missing", false),
        ("dangling", false),
        ("loop", false),
        ("good", true),
    ] {
        let run = solo(
            stage,
            who,
            "print('{\"probe\": \"ran\", \"saw\": \"yes\"}')",
            (&[], &[]),
            &[],
            |scene, request| {
                let path = scene.folder.join(name);
                match name {
                    "dangling" => symlink("/nowhere/at/all", &path),
                    "loop" => symlink(&path, &path),
                    "good" => std::fs::write(&path, ""),
                    _ => Ok(()),
                }
                .map_err(|error| error.to_string())?;
                request.policy.mounts.push(Mount {
                    source: path,
                    target: "/mnt/it".into(),
                    access: Access::ReadOnly,
                });
                Ok(())
            },
        )?;
        let error = run.report.error.as_deref().unwrap_or_default();
        if run.saw("ran").is_some() != runs || (!runs && !error.contains(name)) {
            wrong.push(format!(
                "a {name} mount: ran {:?}, error `{error}`",
                run.saw("ran")
            ));
        }
    }
    Ok(wrong)
}

/// A segment and queues that everyone on the host may open.
pub fn queues(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let _alone = QUEUES.lock().map_err(|_| "another test failed")?;
    let python = |code: &str| -> Result<(), String> {
        let status = Command::new("/usr/bin/python3")
            .args(["-c", code])
            .status()
            .map_err(|error| error.to_string())?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("prepare queues on the host: {status}"))
        }
    };
    python(include_str!("queues_on.py"))?;
    let look = |without: &[&str]| {
        solo(
            stage,
            who,
            include_str!("queues.py"),
            (&[], without),
            &[],
            |_, _| Ok(()),
        )
    };
    let (sealed, control) = (look(&[]), look(&["ipc namespace", "landlock"]));
    python(include_str!("queues_off.py"))?;
    let (sealed, control) = (sealed?, control?);
    let mut wrong = Vec::new();
    for probe in ["segment", "semaphore", "queue", "posix queue"] {
        wrong.extend(sealed.want(probe, "ENOENT"));
        wrong.extend(control.want(probe, "ok").map(|text| format!("control: {text}")));
    }
    Ok(wrong)
}

/// The keys are the same for root and user.
static QUEUES: std::sync::Mutex<()> = std::sync::Mutex::new(());
