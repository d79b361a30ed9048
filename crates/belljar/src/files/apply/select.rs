//! Which changes of a draft may be applied at all.

use std::collections::{BTreeMap, HashSet};

use super::*;

/// The changes to apply; the others go to `skipped` with the reason.
pub(super) fn select<'a>(
    changes: &'a [DraftChange],
    options: &ApplyOptions,
    skipped: &mut BTreeMap<String, String>,
) -> Vec<&'a DraftChange> {
    let mut left: HashSet<&[u8]> = HashSet::new();
    let mut taken: Vec<&DraftChange> = Vec::with_capacity(changes.len());
    for change in changes {
        match refusal(change, options) {
            Some(reason) => {
                skipped.insert(display(&change.path), reason);
                left.insert(&change.path);
            }
            None => taken.push(change),
        }
    }
    // What was to be replaced by something left out stays, and so does the folder around what stays.
    let keeps: HashSet<&[u8]> = left.iter().flat_map(|path| ancestors(path)).collect();
    let mut stay: HashSet<&[u8]> = HashSet::new();
    taken.retain(|change| {
        let beneath = || ancestors(&change.path).any(|folder| left.contains(folder));
        let stays = change.action == Action::Delete
            && (left.contains(&change.path[..]) || keeps.contains(&change.path[..]) || beneath());
        if stays {
            stay.insert(&change.path);
            skipped
                .entry(display(&change.path))
                .or_insert_with(|| "not deleted: something in it or its place is left out".into());
        }
        !stays
    });
    // Nor can there be another thing in the place of what stays.
    taken.retain(|change| {
        let taken_up = change.action == Action::Create && stay.contains(&change.path[..]);
        if taken_up {
            skipped.insert(
                display(&change.path),
                "not made: the folder in its place stays, because a path in it is left out".into(),
            );
        }
        !taken_up
    });
    taken
}

/// The folders that a path lies in.
fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'/')
        .map(|(at, _)| &path[..at])
}

fn refusal(change: &DraftChange, options: &ApplyOptions) -> Option<String> {
    if let TrustClass::Protected(reason) = trust_class(&change.path)
        && !is_allowed(&change.path, options)
    {
        return Some(format!(
            "protected: {reason}; --apply leaves it out, and a run with --workdir alone can make a new one"
        ));
    }
    if let Some(reason) = options.obeyed.reason_in(&options.folder, &change.path)
        && !is_allowed(&change.path, options)
    {
        return Some(format!("protected: {reason}; --apply leaves it out"));
    }
    match (&change.action, &change.kind) {
        (Action::Delete, _) | (_, Kind::File | Kind::Folder { .. }) => None,
        (_, Kind::Link { target: Some(target) }) if stays_inside(&change.path, target) => None,
        (_, Kind::Link { target }) => {
            let target = target.as_deref().map_or("an unread target".into(), display);
            Some(format!(
                "symbolic link to {target}, which may lead out of the folder"
            ))
        }
        (_, other) => Some(format!("{} is not applied", other.word())),
    }
}

fn is_allowed(path: &[u8], options: &ApplyOptions) -> bool {
    options.allow.iter().any(|allowed| {
        let allowed = allowed.as_os_str().as_bytes();
        let allowed = allowed.strip_suffix(b"/").unwrap_or(allowed);
        path == allowed || ancestors(path).any(|folder| folder == allowed)
    })
}

/// Whether a link at `path` can only lead to somewhere in the same folder tree.
///
/// Upward steps count only at the front, where they start from the real folder of the link: after a name that is
/// itself a link they would start from elsewhere.
pub(super) fn stays_inside(path: &[u8], target: &[u8]) -> bool {
    if target.is_empty() || target[0] == b'/' {
        return false;
    }
    let depth = ancestors(path).count();
    let names: Vec<&[u8]> = target
        .split(|&byte| byte == b'/')
        .filter(|name| !name.is_empty() && *name != b".")
        .collect();
    let up = names.iter().take_while(|name| **name == b"..").count();
    up <= depth && !names[up..].contains(&&b".."[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_may_climb_only_within_the_folder() {
        for (path, target) in [
            ("l", "a"),
            ("l", "./a/b"),
            ("d/l", "../a"),
            ("d/e/l", "../../a"),
            ("d/l", ".."),
        ] {
            assert!(
                stays_inside(path.as_bytes(), target.as_bytes()),
                "{path} -> {target}"
            );
        }
        for (path, target) in [
            ("l", "/etc/passwd"),
            ("l", ".."),
            ("l", "../a"),
            ("d/l", "../../a"),
            ("d/l", ".././../a"),
            ("l", "a/../../b"),
            // Lexically inside, but `x` may be a link to a folder that is not as deep.
            ("l", "deep/er/x/../.."),
            ("l", ""),
        ] {
            assert!(
                !stays_inside(path.as_bytes(), target.as_bytes()),
                "{path} -> {target}"
            );
        }
    }
}
