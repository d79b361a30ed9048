//! Whoever owns a checkout does not own its jar.

use std::path::Path;
use std::process::{Command, Output};

use crate::stage::{Stage, Who};

/// Everything that a tool might read by itself, asking for all that can be had.
const WISHES: [(&str, &str); 7] = [
    (
        "belljar.toml",
        "network = \"host\"\nsystem = true\nmemory = \"64G\"\ntimeout = \"9h\"\n",
    ),
    (".belljar.toml", "network = \"host\"\n"),
    (
        "pyproject.toml",
        "[tool.belljar]\nnetwork = \"host\"\npids = 100000\n",
    ),
    (".belljar/policy.toml", "network = \"host\"\n"),
    (".python-version", "/tmp/evil\n"),
    (
        "pyvenv.cfg",
        "home = /tmp/evil\ninclude-system-site-packages = true\n",
    ),
    (".env", "BELLJAR_POLICY=belljar.toml\n"),
];

/// Plans in and of a checkout, with and without the wishes in it.
pub fn checkout(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let scene = stage.scene(who)?;
    let result = (|| {
        let folder = scene.folder.join("canary");
        let plans = || -> Result<Vec<Vec<u8>>, String> {
            let workdir = folder.display().to_string();
            let ways = [
                &["plan", "--json"][..],
                &["plan", "--json", "--workdir", &workdir],
            ];
            ways.iter()
                .map(|args| Ok(checked(belljar(stage, who, &folder, args)?)?.stdout))
                .collect()
        };
        let before = plans()?;
        for (name, text) in WISHES {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(&folder)).map_err(|error| error.to_string())?;
            std::fs::write(path, text).map_err(|error| error.to_string())?;
        }
        let after = plans()?;
        let mut wrong = Vec::new();
        for (before, after) in before.iter().zip(&after) {
            if before != after {
                wrong.push("a file in the checkout changes the plan".into());
            }
        }
        // The control: the same wish, named by the caller, is granted.
        let named = checked(belljar(
            stage,
            who,
            &folder,
            &["plan", "--json", "--policy", "pyproject.toml"],
        )?)?
        .stdout;
        if named == before[0] {
            wrong.push("the wishes change nothing even when they are named, so this proves nothing".into());
        }
        Ok(wrong)
    })();
    stage.clear(scene);
    result
}

/// Names that the loader, the interpreter or a shell acts on.
pub fn variables(stage: &Stage, who: Who) -> Result<Vec<String>, String> {
    let scene = stage.scene(who)?;
    let result = (|| {
        let mut wrong = Vec::new();
        let refused = [
            "LD_PRELOAD=/jar/x.so",
            "LD_AUDIT=/jar/x.so",
            "LD_LIBRARY_PATH=/jar",
            "GLIBC_TUNABLES=a=b",
            "PYTHONSTARTUP=/jar/x.py",
            "PYTHONHOME=/jar",
            "PYTHONINSPECT=1",
            "BASH_ENV=/jar/x",
            "ENV=/jar/x",
            "ld_preload=/jar/x.so",
            "A=1\nB=2",
            "A=\u{1b}[2J",
            "=x",
            "A B=1",
        ];
        for variable in refused {
            let output = belljar(
                stage,
                who,
                &scene.folder,
                &["run", "--env", variable, "-c", "print('ran')"],
            )?;
            let ran = String::from_utf8_lossy(&output.stdout).contains("ran");
            if ran || output.status.code() != Some(125) && output.status.code() != Some(2) {
                wrong.push(format!(
                    "--env {variable:?} gave {:?}, ran: {ran}",
                    output.status.code()
                ));
            }
        }
        let output = belljar(
            stage,
            who,
            &scene.folder,
            &[
                "run",
                "--env",
                "GREETING=hello",
                "-c",
                "import os; print(os.environ['GREETING'])",
            ],
        )?;
        if output.stdout != b"hello\n" {
            wrong.push(format!(
                "an ordinary variable is not passed: {}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        Ok(wrong)
    })();
    stage.clear(scene);
    result
}

/// The command itself, as a user has it.
fn belljar(stage: &Stage, who: Who, folder: &Path, args: &[&str]) -> Result<Output, String> {
    let mut command = Command::new(&stage.belljar);
    command
        .args(args)
        .current_dir(folder)
        .env_remove("BELLJAR_POLICY");
    if let Some(id) = who.id() {
        std::os::unix::process::CommandExt::uid(&mut command, id);
        std::os::unix::process::CommandExt::gid(&mut command, id);
        command
            .env("HOME", "/nonexistent")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin");
    }
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let child = stage.spawn(&mut command)?;
    let pid = child.id();
    let output = child.wait_with_output().map_err(|error| error.to_string());
    stage.ended(pid);
    output
}

fn checked(output: Output) -> Result<Output, String> {
    if output.status.success() {
        return Ok(output);
    }
    Err(format!(
        "belljar failed: {}",
        String::from_utf8_lossy(&output.stderr)
    ))
}
