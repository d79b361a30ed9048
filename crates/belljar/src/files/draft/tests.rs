use std::os::unix::fs::{MetadataExt, symlink};

use super::super::testing::{Overlay, open, plant};
use super::*;

#[test]
fn what_this_kernel_records() {
    let overlay = Overlay::new(
        |lower| plant(lower, &["gone", "rep/old"]),
        "rm gone && rm -r rep && mkdir rep && echo > rep/new && ! mknod forged c 0 0",
    );
    let gone = std::fs::symlink_metadata(overlay.upper.join("gone")).unwrap();
    assert_eq!(
        (gone.mode() & 0o170000, gone.rdev()),
        (0o020000, 0),
        "a deletion is a character device 0/0"
    );
    let rep = open(&overlay.upper.join("rep"));
    let rep = super::super::Folder::jar(rep.as_fd()).open_root().unwrap();
    assert_eq!(attribute(rep.as_fd(), c"user.overlay.opaque"), Some(b'y'));
    assert!(!overlay.upper.join("forged").exists());
}

#[test]
fn every_kind_of_change_is_read() {
    let overlay = Overlay::new(
        |lower| {
            plant(
                lower,
                &[
                    "keep",
                    "edit",
                    "touched",
                    "mode",
                    "gone",
                    "tree/a",
                    "tree/sub/b",
                    "d/in",
                    "becomes-folder",
                ],
            );
            plant(lower, &["becomes-file/x", "becomes-link", "moved"]);
            symlink("keep", lower.join("link")).unwrap();
            symlink("keep", lower.join("same-link")).unwrap();
        },
        "echo more >> edit && : >> touched && chmod 755 mode && rm gone && rm -r tree && echo > d/new && mkdir e e/f \
         && rm becomes-folder && mkdir becomes-folder && echo > becomes-folder/y \
         && rm -r becomes-file && echo > becomes-file && rm becomes-link && ln -s keep becomes-link \
         && ln -sfn edit link && rm same-link && ln -s keep same-link && mv moved moved-to && mkfifo pipe && rm d/in && echo d/in | tr -d '\\n' > d/in",
    );
    let draft = overlay.draft();
    let told = draft.summary();
    assert_eq!(
        told.created,
        ["becomes-folder/y", "d/new", "e", "e/f", "moved-to"]
    );
    assert_eq!(
        told.modified,
        ["becomes-file", "becomes-folder", "becomes-link", "edit", "link"]
    );
    assert_eq!(
        told.deleted,
        [
            "becomes-file/x",
            "gone",
            "moved",
            "tree",
            "tree/a",
            "tree/sub",
            "tree/sub/b"
        ]
    );
    assert_eq!(told.skipped.keys().collect::<Vec<_>>(), ["mode", "pipe"]);
    assert!(!told.truncated);
}

/// A folder that was removed and made again hides what was in it, at every depth.
#[test]
fn a_replaced_folder_deletes_what_it_lacks() {
    let overlay = Overlay::new(
        |lower| {
            plant(
                lower,
                &[
                    "r/same",
                    "r/other",
                    "r/gone",
                    "r/sub/same",
                    "r/sub/gone",
                    "r/sub/deep/gone",
                    "r/lost/x",
                ],
            )
        },
        "rm -r r && mkdir -p r/sub && printf r/same > r/same && echo other > r/other && printf r/sub/same > r/sub/same \
         && echo > r/new",
    );
    let told = overlay.draft().summary();
    assert_eq!(told.created, ["r/new"]);
    assert_eq!(told.modified, ["r/other"]);
    let gone = [
        "r/gone",
        "r/lost",
        "r/lost/x",
        "r/sub/deep",
        "r/sub/deep/gone",
        "r/sub/gone",
    ];
    assert_eq!(told.deleted, gone);
}

#[test]
fn an_untouched_draft_is_empty() {
    let overlay = Overlay::new(
        |lower| plant(lower, &["a", "d/b"]),
        "cat a d/b > /dev/null && ls -R > /dev/null",
    );
    assert_eq!(overlay.draft(), DraftChanges::default());
}

#[test]
fn a_deletion_of_what_is_not_there_is_nothing() {
    let overlay = Overlay::new(|lower| plant(lower, &["a"]), "rm a");
    std::fs::remove_file(overlay.lower.join("a")).unwrap();
    assert_eq!(overlay.draft(), DraftChanges::default());
}

#[test]
fn a_draft_over_its_bounds_says_so() {
    let overlay = Overlay::new(
        |lower| plant(lower, &["a"]),
        "truncate -s 1T giant; truncate -s 1M small",
    );
    let draft = overlay.draft();
    assert!(draft.truncated);
    assert_eq!(draft.summary().created, ["small"]);
    assert!(draft.skipped["giant"].contains("over the cap"));
}
