//! Virtualenvs, as the standard library, virtualenv and uv make them.

use std::path::{Path, PathBuf};

use super::prefix::{Install, install, mounts};
use super::walk::{in_system, settle, walk};
use super::{Interpreter, InterpreterError, Version};
use super::{look, packages};

/// What `pyvenv.cfg` says of the interpreter below.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) home: Option<PathBuf>,
    pub(super) executable: Option<PathBuf>,
    pub(super) version: Option<(u32, u32)>,
    pub(super) implementation: Option<String>,
    pub(super) shares_packages: bool,
}

/// Reads `pyvenv.cfg`: lines of `key = value`, keys in any case, everything else passed over, as CPython does.
pub(super) fn parse(text: &str) -> Config {
    let mut config = Config::default();
    for line in text.lines() {
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let value = value.trim();
        match key.trim().to_ascii_lowercase().as_str() {
            "home" => config.home = Some(PathBuf::from(value)),
            // virtualenv writes `base-executable`, the standard library `executable`; both mean the real one.
            "base-executable" | "executable" => config.executable = Some(PathBuf::from(value)),
            "version" | "version_info" => config.version = config.version.or_else(|| minor(value)),
            "implementation" => config.implementation = Some(value.to_owned()),
            "include-system-site-packages" => config.shares_packages = value.eq_ignore_ascii_case("true"),
            _ => {}
        }
    }
    config
}

/// The 3 and 12 of `3.12.1`, `3.12.1.final.0` or `3.12.1+`.
fn minor(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.');
    let mut number = || parts.next()?.parse().ok();
    Some((number()?, number()?))
}

/// The virtualenv that an executable belongs to: CPython looks beside it and one folder up.
pub(super) fn around(executable: &Path) -> Option<&Path> {
    executable
        .ancestors()
        .skip(1)
        .take(2)
        .find(|folder| folder.join("pyvenv.cfg").is_file())
}

/// Opens a virtualenv with the interpreter below it.
pub(super) fn open(path: &Path) -> Result<Interpreter, InterpreterError> {
    let mut links = Vec::new();
    let venv = walk(path, &mut links).map_err(|cause| InterpreterError::UnreadableVenv {
        path: path.to_path_buf(),
        cause,
    })?;
    let broken = |cause: String| InterpreterError::BrokenVenv {
        venv: path.display().to_string(),
        cause,
    };
    let text = match look::text(&venv.join("pyvenv.cfg"), 64 << 10) {
        Ok(text) => text,
        Err(cause) if cause.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(InterpreterError::UnreadableVenv {
                path: path.to_path_buf(),
                cause,
            });
        }
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            return Err(InterpreterError::NotVenv(path.to_path_buf()));
        }
        Err(cause) => return Err(broken(format!("pyvenv.cfg: {cause}"))),
    };
    let config = parse(&text);
    if let Some(name) = config
        .implementation
        .filter(|name| !name.eq_ignore_ascii_case("cpython"))
    {
        return Err(InterpreterError::NotCpython {
            path: path.to_path_buf(),
            name,
        });
    }
    let executable = ["python", "python3"]
        .map(|name| venv.join("bin").join(name))
        .into_iter()
        .find(|path| path.symlink_metadata().is_ok())
        .ok_or_else(|| broken("it has no bin/python".into()))?;

    let gone = |below: &Path| broken(format!("the interpreter below it, {}, is gone", below.display()));
    let real = walk(&executable, &mut links)
        .map_err(|_| gone(&std::fs::read_link(&executable).unwrap_or_else(|_| executable.clone())))?;
    // A copy instead of a link lies in the virtualenv itself: there `home` and `executable` tell what it is a copy of.
    let below = if real.starts_with(&venv) {
        let home = config
            .home
            .as_deref()
            .ok_or_else(|| broken("pyvenv.cfg has no `home`".into()))?;
        let names = config
            .version
            .map(|(major, minor)| format!("python{major}.{minor}"));
        let names = names
            .into_iter()
            .chain(["python3".into(), "python".into()])
            .map(|name| home.join(name));
        let named = config.executable.iter().cloned();
        named
            .chain(names)
            .find(|path| path.is_absolute() && path.is_file())
            .ok_or_else(|| gone(home))?
    } else {
        // Python starts its search for the standard library at `home`, so the way there counts as well.
        if let Some(home) = config.home.as_deref().filter(|home| home.is_absolute()) {
            walk(&home.join(real.file_name().unwrap_or_default()), &mut links).ok();
        }
        real
    };
    let install = install(&below, &mut links)?;
    agree(config.version, &install, broken)?;

    let mut mounts = mounts(&install);
    if !in_system(&venv) {
        mounts.push(venv.clone());
    }
    links.retain(|link| !in_system(&link.path));
    settle(&mut mounts, &mut links);
    Ok(Interpreter {
        packages: packages::of_install(&install),
        shares_packages: config.shares_packages,
        executable,
        base_executable: install.executable,
        version: install.version,
        base_prefix: install.prefix,
        prefix: venv.clone(),
        stdlib: install.stdlib,
        venv: Some(venv),
        mounts,
        links,
        environment: None,
    })
}

/// A base that was upgraded to another minor version leaves the virtualenv without its packages: say so instead.
fn agree(
    made_for: Option<(u32, u32)>,
    install: &Install,
    broken: impl Fn(String) -> InterpreterError,
) -> Result<(), InterpreterError> {
    let Version { major, minor, .. } = install.version;
    match made_for {
        Some(made_for) if made_for != (major, minor) => Err(broken(format!(
            "it was made for Python {}.{}, and {} is now {}",
            made_for.0,
            made_for.1,
            install.executable.display(),
            install.version
        ))),
        _ => Ok(()),
    }
}
