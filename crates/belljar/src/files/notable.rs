//! Changed paths that tools on the host act on, and how: what to look at after a run.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::draft::Stamp;
use super::obeyed::{Obeyed, Walk, Walked};
use super::scan::{Entry, Listing};
use super::trust::{TrustClass, trust_class, trusted_names};
use super::{display, parse};
use crate::outcome::Changes;

/// Names that are looked at beyond the bound of a listing, and folders in which they are looked up if even that is too few.
const NAMES: usize = 1_000_000;
const FOLDERS: usize = 500;
/// Paths that are told.
const MOST: usize = 1_000;
/// How far the clock of a file system may be behind ours.
const BEHIND: Duration = Duration::from_secs(2);

/// Those among the created and modified paths of `folder`.
pub fn notable(changes: &Changes, folder: &Path, obeyed: &Obeyed) -> BTreeMap<String, String> {
    let paths = changes.created.iter().chain(&changes.modified);
    let reasons = paths.filter_map(|path| {
        let name = parse(path)?;
        Some((path.clone(), reason(&name, folder, obeyed)?))
    });
    reasons.collect()
}

fn reason(path: &[u8], folder: &Path, obeyed: &Obeyed) -> Option<String> {
    match trust_class(path) {
        TrustClass::Notable(reason) | TrustClass::Protected(reason) => Some(reason.into()),
        TrustClass::Plain => obeyed.reason_in(folder, path).map(str::to_owned),
    }
}

/// The same for names that did not fit into the listings of before and after: a flood of others must not hide them.
pub fn notable_beyond(
    before: &Listing,
    since: SystemTime,
    folder: &Path,
    obeyed: &Obeyed,
) -> BTreeMap<String, String> {
    let known: HashMap<Vec<u8>, &Entry> = before
        .indices()
        .zip(before.entries())
        .filter(|(_, entry)| trust_class(&entry.name) != TrustClass::Plain)
        .map(|(index, entry)| (before.path(index), entry))
        .collect();
    let since = since
        .checked_sub(BEHIND)
        .and_then(|since| since.duration_since(UNIX_EPOCH).ok());
    let since = since.unwrap_or_default().as_nanos() as i128;
    let mut found = BTreeMap::new();
    let mut look = |path: &Path| {
        let Ok(inside) = path.strip_prefix(folder) else {
            return;
        };
        let name = inside.as_os_str().as_bytes();
        let Some(reason) = reason(name, folder, obeyed) else {
            return;
        };
        let Ok(stat) = rustix::fs::lstat(path) else { return };
        let now = Stamp::new(&stat);
        let changed = match known.get(name).map(|entry| Stamp::of_entry(entry)) {
            // Its size and times follow what is in it.
            Some(then) if then.is_folder() => (then.mode, then.inode) != (now.mode, now.inode),
            Some(then) => then != now,
            None => !before.truncated || now.changed >= since,
        };
        if changed && found.len() < MOST {
            found.insert(display(name), reason);
        }
    };
    // By name first, at the top and in the folders that were there.
    let inside = before
        .indices()
        .zip(before.entries())
        .filter(|(_, entry)| entry.kind.is_folder());
    let mut folders: Vec<(u32, Vec<u8>)> = inside
        .map(|(index, entry)| (entry.depth, before.path(index)))
        .collect();
    folders.push((0, Vec::new()));
    folders.sort();
    for (_, inside) in folders.iter().take(FOLDERS) {
        let at = folder.join(std::ffi::OsStr::from_bytes(inside));
        trusted_names().for_each(|name| look(&at.join(name)));
    }
    let walk = Walk {
        skip: &[],
        names: &mut { NAMES },
    };
    walk.each(folder, |path, _| {
        if path
            .file_name()
            .is_some_and(|name| trust_class(name.as_bytes()) != TrustClass::Plain)
        {
            look(path);
        }
        Walked::Enter
    });
    found
}
