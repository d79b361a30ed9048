//! What differs between two listings of one folder.

use std::collections::HashMap;

use super::TextBudget;
use super::scan::{Entry, Kind, Listing};
use crate::outcome::Changes;

/// Compares a folder before and after a run, by kind, size, mode, inode and times; the time of access does not count.
///
/// Where a bound cut a listing short, nothing is claimed of names that were not read.
pub fn changes(before: &Listing, after: &Listing) -> Changes {
    let mut old: Names<'_> = HashMap::with_capacity(before.entries().len());
    for (index, entry) in before.indices().zip(before.entries()) {
        old.insert((entry.parent, &entry.name), index);
    }
    let mut report = Report {
        changes: Changes::default(),
        text: TextBudget::new(),
    };
    // For every entry after: what was at its path. For every entry before: where it was met again.
    let mut was: Vec<Was> = Vec::with_capacity(after.entries().len());
    let mut met: Vec<Option<u32>> = vec![None; before.entries().len()];
    for (index, entry) in after.indices().zip(after.entries()) {
        let found = match entry.parent.map_or(Was::Root, |parent| was[parent as usize]) {
            Was::Root => look_up(before, &old, None, entry),
            Was::Entry(parent) => look_up(before, &old, Some(parent), entry),
            // What is in a new folder is new, what is in an unknown one unknown.
            inherited => inherited,
        };
        was.push(found);
        match found {
            Was::Entry(same) => {
                met[same as usize] = Some(index);
                if differs(before.entry(same), entry) {
                    report.add(after, index, |changes| &mut changes.modified);
                }
            }
            Was::Nothing => report.add(after, index, |changes| &mut changes.created),
            Was::Root | Was::Unknown => report.changes.truncated = true,
        }
    }
    let mut gone: Vec<bool> = vec![false; before.entries().len()];
    for (index, entry) in before.indices().zip(before.entries()) {
        if met[index as usize].is_some() {
            continue;
        }
        let sure = match entry.parent {
            None => after.is_complete(None),
            Some(parent) => match met[parent as usize] {
                Some(now) => after.is_complete(Some(now)) || !after.entry(now).kind.is_folder(),
                None => gone[parent as usize],
            },
        };
        gone[index as usize] = sure;
        if sure {
            report.add(before, index, |changes| &mut changes.deleted);
        }
    }
    report.finish(before, after)
}

type Names<'a> = HashMap<(Option<u32>, &'a [u8]), u32>;

/// A name is new only if all names that its folder had before are known.
fn look_up(before: &Listing, old: &Names<'_>, parent: Option<u32>, entry: &Entry) -> Was {
    let known =
        |parent| before.is_complete(parent) || parent.is_some_and(|at| !before.entry(at).kind.is_folder());
    match old.get(&(parent, &entry.name[..])) {
        Some(&index) => Was::Entry(index),
        None if known(parent) => Was::Nothing,
        None => Was::Unknown,
    }
}

/// What a path was before.
#[derive(Debug, Clone, Copy)]
enum Was {
    Root,
    Entry(u32),
    Nothing,
    Unknown,
}

fn differs(before: &Entry, after: &Entry) -> bool {
    match (&before.kind, &after.kind) {
        // A folder's size and times follow what is in it, which is reported itself.
        (Kind::Folder { .. }, Kind::Folder { .. }) => before.mode != after.mode,
        (old, new) => {
            old != new
                || before.size != after.size
                || before.mode != after.mode
                || before.inode != after.inode
                || before.modified != after.modified
                // A guest sets the time of modification as it likes; this one it cannot set.
                || before.changed != after.changed
        }
    }
}

struct Report {
    changes: Changes,
    text: TextBudget,
}

impl Report {
    fn add(&mut self, listing: &Listing, index: u32, list: impl FnOnce(&mut Changes) -> &mut Vec<String>) {
        // Measured before the path is put together: a million deep ones would not fit.
        if self.text.left == 0 || !self.text.take(listing.path_length(index)) {
            self.changes.truncated = true;
            return;
        }
        list(&mut self.changes).push(listing.display(index));
    }

    fn finish(mut self, before: &Listing, after: &Listing) -> Changes {
        self.changes.truncated |= before.truncated || after.truncated;
        self.changes.skipped.extend(after.skipped.clone());
        self.changes.created.sort_unstable();
        self.changes.modified.sort_unstable();
        self.changes.deleted.sort_unstable();
        self.changes
    }
}

#[cfg(test)]
mod tests;
