//! Caches that a package would make again in every run, made once with the environment. A run finds a link to each where the
//! package looks for it, in a folder of its own that it may write.

use std::fs;
use std::path::{Path, PathBuf};

use super::place::Place;
use super::{EnvironmentError, INSIDE, Progress, room, tree};
use crate::plan::MATPLOTLIB;
use crate::python::Link;

/// Where they are kept, in the environment.
const KEPT: &str = "share/belljar/matplotlib";
/// matplotlib lists every font of the machine, which takes a second or more.
const FONTS: &str = include_str!("baked/fonts.py");
/// A machine with thousands of fonts has a list of some megabytes.
const LARGEST: u64 = 16 << 20;
/// One for each version of matplotlib's list.
const MOST: usize = 4;

/// Makes the caches that packages of this environment have, in a jar without a network. Their code runs there as it would in a
/// guest, and what comes out is for guests that import them.
pub(super) fn add(place: &Place<'_>, tell: &mut dyn FnMut(Progress)) -> Result<(), EnvironmentError> {
    let package = place
        .environment
        .join(place.site)
        .join("matplotlib/font_manager.py");
    if !package.is_file() {
        return Ok(());
    }
    tell(Progress::Caching);
    // Beside the environment, so that it goes with what a build that was killed has left.
    let made = place.environment.with_file_name("made");
    fs::create_dir(&made).map_err(EnvironmentError::io("make the folder", &made))?;
    let ran = room::packages(place.binary, place.interpreter, place.environment, &made, FONTS);
    let taken = ran.and_then(|ran| {
        if !ran.outcome.success() {
            // The first plot of each run is slower, nothing worse.
            tracing::warn!(status = ?ran.outcome.status, stderr = %ran.stderr, "no list of fonts could be made");
        }
        let kept = tree::make_anew(place.environment, Path::new(KEPT));
        kept.and_then(|kept| take(&made, &kept)).map_err(EnvironmentError::io("keep a list of fonts in", &made))
    });
    let _ = tree::remove(&made);
    taken
}

/// Takes the lists that the jar made, and nothing else of what it left.
fn take(made: &Path, kept: &Path) -> std::io::Result<()> {
    let mut names: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(made)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let fits = metadata.is_file() && metadata.len() <= LARGEST;
        if fits && is_list(entry.file_name().to_str().unwrap_or_default()) {
            names.push(entry.file_name().into());
        }
    }
    names.sort_unstable();
    names.truncate(MOST);
    for name in names {
        fs::copy(made.join(&name), kept.join(&name))?;
    }
    Ok(())
}

/// Whether matplotlib gives this name to its list of fonts, such as `fontlist-v390.json`.
fn is_list(name: &str) -> bool {
    let middle = name
        .strip_prefix("fontlist-v")
        .and_then(|name| name.strip_suffix(".json"));
    middle.is_some_and(|middle| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
        !middle.is_empty() && middle.len() < 64 && middle.bytes().all(plain)
    })
}

/// Names of the caches in an environment that was just built.
pub(super) fn names(environment: &Path) -> Vec<String> {
    let folders = Path::new(KEPT).ancestors();
    let real =
        |path: &Path| fs::symlink_metadata(environment.join(path)).is_ok_and(|metadata| metadata.is_dir());
    // A build may have left a link there, and what a folder of the host holds is nobody's business.
    if !folders.into_iter().all(real) {
        return Vec::new();
    }
    let entries = fs::read_dir(environment.join(KEPT))
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_list(name))
        .take(MOST)
        .collect();
    names.sort_unstable();
    names
}

/// What a run finds of them.
pub(super) fn links(names: &[String]) -> Vec<Link> {
    let known = names.iter().filter(|name| is_list(name));
    known
        .map(|name| Link {
            path: Path::new(MATPLOTLIB).join(name),
            target: Path::new(INSIDE).join(KEPT).join(name),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lists_of_fonts_are_taken_out_of_the_jar() {
        let folder = tempfile::tempdir().unwrap();
        let (made, kept) = (folder.path().join("made"), folder.path().join("kept"));
        fs::create_dir_all(made.join("fontlist-v7.json")).unwrap();
        fs::write(made.join("fontlist-v390.json"), "{}").unwrap();
        fs::write(made.join("other.json"), "{}").unwrap();
        fs::write(folder.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink("../secret", made.join("fontlist-v391.json")).unwrap();
        fs::create_dir(&kept).unwrap();
        take(&made, &kept).unwrap();
        let names: Vec<_> = fs::read_dir(&kept)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["fontlist-v390.json"]);
    }

    #[test]
    fn a_link_leads_from_where_matplotlib_looks_into_the_environment() {
        let names = [
            "fontlist-v390.json",
            "../x",
            "fontlist-v../../x.json",
            "fontlist-v.json",
        ]
        .map(str::to_owned);
        let [link] = &links(&names)[..] else {
            panic!("one name of four is a list's");
        };
        assert_eq!(
            link.path,
            Path::new("/tmp/home/.config/matplotlib/fontlist-v390.json")
        );
        assert_eq!(
            link.target,
            Path::new("/env/share/belljar/matplotlib/fontlist-v390.json")
        );
    }
}
