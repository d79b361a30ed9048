//! Files of the repository, whatever folder the tool was started in.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The top folder.
pub fn top() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A file's text.
pub fn read(path: impl AsRef<Path>) -> anyhow::Result<String> {
    let path = path.as_ref();
    std::fs::read_to_string(top().join(path)).with_context(|| format!("cannot read {}", path.display()))
}

/// Every file that git keeps and whose name ends so.
pub fn tracked(suffix: &str) -> anyhow::Result<Vec<PathBuf>> {
    let output = std::process::Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(top())
        .output()
        .context("cannot start git")?;
    anyhow::ensure!(output.status.success(), "git ls-files failed");
    let names = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let files = names.split('\0').filter(|name| name.ends_with(suffix));
    Ok(files
        .map(PathBuf::from)
        .filter(|path| top().join(path).exists())
        .collect())
}
