//! Finding uv, the tool that resolves and installs. It is a program of the user's own, and runs in the build's jar.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{EnvironmentError, Variables};

/// uv, and which.
#[derive(Debug)]
pub(super) struct Uv {
    pub path: PathBuf,
    /// As it tells it, such as `uv 0.13.7`.
    pub version: String,
}

impl Uv {
    /// The one that `BELLJAR_UV` names, beside belljar, on PATH, or where its installers put it.
    pub(super) fn find(variables: &Variables, binary: &Path) -> Result<Self, EnvironmentError> {
        if let Some(named) = variables.get("BELLJAR_UV") {
            let path = PathBuf::from(named);
            return match program(&path) {
                Some(real) => Self::ask(real),
                None => Err(EnvironmentError::NotUv {
                    path,
                    problem: "it is missing, or no program but a script".into(),
                }),
            };
        }
        let mut looked = Vec::new();
        for folder in folders(variables, binary) {
            let path = folder.join("uv");
            if let Some(real) = program(&path) {
                return Self::ask(real);
            }
            looked.push(path.display().to_string());
        }
        looked.dedup();
        Err(EnvironmentError::NoUv { looked })
    }

    fn ask(path: PathBuf) -> Result<Self, EnvironmentError> {
        let not = |problem: String| EnvironmentError::NotUv {
            path: path.clone(),
            problem,
        };
        let mut command = Command::new(&path);
        command
            .arg("--version")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null());
        let output = command.output().map_err(|error| not(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut words = text.split_whitespace();
        match (words.next(), words.next()) {
            (Some("uv"), Some(version)) if version.len() < 32 => Ok(Self {
                version: format!("uv {version}"),
                path,
            }),
            _ => Err(not("it does not tell a version".into())),
        }
    }
}

fn folders(variables: &Variables, binary: &Path) -> Vec<PathBuf> {
    let home = variables.get("HOME").map(PathBuf::from);
    let path = variables.get("PATH").cloned().unwrap_or_default();
    // The wheel of uv puts it where the wheel of belljar puts its own binary.
    let beside = binary.parent().map(Path::to_path_buf);
    let of_home = home
        .into_iter()
        .flat_map(|home| [home.join(".local/bin"), home.join(".cargo/bin")]);
    let folders = beside
        .into_iter()
        .chain(std::env::split_paths(&path))
        .chain(of_home);
    let mut unique: Vec<PathBuf> = Vec::new();
    for folder in folders.filter(|folder| folder.is_absolute()) {
        if !unique.contains(&folder) {
            unique.push(folder);
        }
    }
    unique
}

/// The file that a path leads to, if it is a program and no script: a shim would look for others where there are none.
fn program(path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    let mut magic = [0; 4];
    File::open(&real).ok()?.read_exact(&mut magic).ok()?;
    (magic == *b"\x7fELF").then_some(real)
}
