use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use super::super::testing::{Overlay, list, paths, plant};
use super::*;

fn applied(overlay: &Overlay) -> Applied {
    overlay.apply(&overlay.draft(), &ApplyOptions::default()).unwrap()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_folder_becomes_what_the_run_saw() {
    let script = "echo more >> edit && rm gone && rm -r tree && mkdir -p e/f && echo new > e/f/new && chmod 4755 e/f/new \
         && rm swap && mkdir swap && echo > swap/y && rm -r back && echo back > back && ln -s ../edit e/link \
         && rm -r r && mkdir r && echo > r/new && find . | sort > /dev/null";
    let overlay = Overlay::new(
        |lower| {
            plant(
                lower,
                &[
                    "keep",
                    "edit",
                    "gone",
                    "tree/a",
                    "tree/sub/b",
                    "swap",
                    "back/x",
                    "r/old",
                    "r/sub/old",
                ],
            );
            std::fs::set_permissions(lower.join("edit"), PermissionsExt::from_mode(0o640)).unwrap();
        },
        script,
    );
    let draft = overlay.draft();
    assert_eq!(
        text(&overlay.lower.join("edit")),
        "edit",
        "nothing before it is applied"
    );
    let applied = overlay
        .apply(
            &draft,
            &ApplyOptions {
                sync: true,
                ..Default::default()
            },
        )
        .unwrap();
    assert_eq!(
        paths(&list(&overlay.lower)),
        [
            "back", "e", "e/f", "e/f/new", "e/link", "edit", "keep", "r", "r/new", "swap", "swap/y"
        ]
    );
    assert_eq!(text(&overlay.lower.join("edit")), "editmore\n");
    let mode = |name| std::fs::metadata(overlay.lower.join(name)).unwrap().mode() & 0o7777;
    assert_eq!(mode("edit"), 0o640, "the old mode stays");
    assert_eq!(mode("e/f/new") & 0o7100, 0o100, "executable, not setuid");
    assert_eq!(applied.modified, ["edit"]);
    assert!(applied.skipped.is_empty(), "{:?}", applied.skipped);
    assert_eq!(
        overlay.draft(),
        DraftChanges::default(),
        "nothing is left to apply"
    );
}

/// HV-07: what tools on the host run by themselves is not applied unless it is named.
#[test]
fn protected_paths_stay_and_notable_ones_are_pointed_out() {
    let script = "mkdir -p .git/hooks .vscode && echo evil > .git/hooks/pre-commit && echo evil > .git/config \
         && rm .git/HEAD && echo evil > .vscode/tasks.json && echo evil > .envrc && echo evil > Makefile && echo ok > a \
         && rm -r sub";
    let prepare = |lower: &Path| plant(lower, &[".git/config", ".git/HEAD", "sub/.git/config", "sub/x"]);
    let overlay = Overlay::new(prepare, script);
    let told = applied(&overlay);
    assert_eq!(told.created, ["Makefile", "a"]);
    assert_eq!(told.notable.keys().collect::<Vec<_>>(), ["Makefile"]);
    assert_eq!(told.deleted, ["sub/x"]);
    assert_eq!(text(&overlay.lower.join(".git/config")), ".git/config");
    assert!(overlay.lower.join(".git/HEAD").exists() && overlay.lower.join("sub/.git/config").exists());
    assert!(!overlay.lower.join(".vscode").exists() && !overlay.lower.join(".envrc").exists());
    assert!(told.skipped[".git/hooks/pre-commit"].starts_with("protected"));
    let options = ApplyOptions {
        allow: vec![".git".into(), ".envrc".into()],
        ..Default::default()
    };
    let named = overlay.apply(&overlay.draft(), &options).unwrap();
    assert!(
        named.created.contains(&".git/hooks/pre-commit".to_owned()),
        "control: {named:?}"
    );
    assert_eq!(text(&overlay.lower.join(".git/config")), "evil\n");
    assert!(overlay.lower.join(".envrc").exists() && !overlay.lower.join(".vscode").exists());
}

#[test]
fn links_that_lead_out_are_left_and_what_they_replace_stays() {
    let script = "ln -s /etc/passwd abs && ln -s ../x up && ln -s a ok && rm file && ln -s /etc/shadow file \
         && rm -r d && ln -s / d && mkdir e && ln -s ../a e/in && ln -s ok/../../x trick";
    let overlay = Overlay::new(|lower| plant(lower, &["a", "file", "d/inner"]), script);
    let told = applied(&overlay);
    assert_eq!(told.created, ["e", "e/in", "ok"]);
    assert_eq!(
        std::fs::read_link(overlay.lower.join("ok")).unwrap(),
        Path::new("a")
    );
    assert_eq!(text(&overlay.lower.join("file")), "file");
    assert_eq!(text(&overlay.lower.join("d/inner")), "d/inner");
    for name in ["abs", "up", "trick"] {
        assert!(told.skipped[name].contains("lead out"), "{:?}", told.skipped);
        assert!(std::fs::symlink_metadata(overlay.lower.join(name)).is_err());
    }
}

/// A link that stands in the host's folder, whoever made it, is never written through.
#[test]
fn nothing_is_written_through_a_link_of_the_host() {
    let outside = tempfile::tempdir().unwrap();
    plant(outside.path(), &["target", "folder/x"]);
    let prepare = |lower: &Path| plant(lower, &["file", "dir/f"]);
    let overlay = Overlay::new(
        prepare,
        "echo evil > file && echo evil > dir/f && echo evil > dir/new",
    );
    let draft = overlay.draft();
    std::fs::remove_file(overlay.lower.join("file")).unwrap();
    symlink(outside.path().join("target"), overlay.lower.join("file")).unwrap();
    std::fs::remove_dir_all(overlay.lower.join("dir")).unwrap();
    symlink(outside.path().join("folder"), overlay.lower.join("dir")).unwrap();
    assert!(matches!(
        overlay.apply(&draft, &ApplyOptions::default()),
        Err(ApplyError::Conflict { .. })
    ));
    let forced = overlay.apply(
        &draft,
        &ApplyOptions {
            force: true,
            ..Default::default()
        },
    );
    assert!(matches!(forced, Err(ApplyError::Incomplete { .. })), "{forced:?}");
    assert_eq!(text(&outside.path().join("target")), "target");
    assert_eq!(paths(&list(outside.path())), ["folder", "folder/x", "target"]);
}

#[test]
fn what_somebody_else_changed_is_refused_as_a_whole() {
    let prepare = |lower: &Path| plant(lower, &["edit", "gone", "tree/x"]);
    let script = "echo guest > edit && rm gone && rm -r tree && echo guest > new";
    type Meddle = fn(&Path);
    let cases: [(&str, Meddle); 4] = [
        ("edit", |lower| {
            std::fs::write(lower.join("edit"), "host!").unwrap()
        }),
        ("gone", |lower| {
            std::fs::write(lower.join("gone"), "host!").unwrap()
        }),
        ("new", |lower| std::fs::write(lower.join("new"), "host!").unwrap()),
        ("tree/x", |lower| {
            std::fs::remove_file(lower.join("tree/x")).unwrap()
        }),
    ];
    for (path, meddle) in cases {
        let overlay = Overlay::new(prepare, script);
        let draft = overlay.draft();
        meddle(&overlay.lower);
        let before = list(&overlay.lower);
        match overlay.apply(&draft, &ApplyOptions::default()) {
            Err(ApplyError::Conflict { paths }) => assert_eq!(paths, [path]),
            other => panic!("{path}: {other:?}"),
        }
        assert_eq!(
            super::super::changes(&before, &list(&overlay.lower)),
            Default::default(),
            "nothing was written"
        );
        overlay
            .apply(
                &draft,
                &ApplyOptions {
                    force: true,
                    ..Default::default()
                },
            )
            .unwrap();
        assert_eq!(text(&overlay.lower.join("edit")), "guest\n");
        assert_eq!(text(&overlay.lower.join("new")), "guest\n");
        assert!(!overlay.lower.join("gone").exists() && !overlay.lower.join("tree").exists());
    }
}

/// A change on the host during the run is older than the draft, but not than the run.
#[test]
fn a_change_during_the_run_is_noticed() {
    let overlay = Overlay::new(|lower| plant(lower, &["edit"]), "echo guest > edit");
    let draft = overlay.draft();
    let changed = std::fs::metadata(overlay.lower.join("edit")).unwrap();
    let changed = UNIX_EPOCH + std::time::Duration::new(changed.ctime() as u64, changed.ctime_nsec() as u32);
    let second = std::time::Duration::from_secs(1);
    let with = |since| {
        overlay.apply(
            &draft,
            &ApplyOptions {
                since: Some(since),
                ..Default::default()
            },
        )
    };
    assert!(matches!(with(changed - second), Err(ApplyError::Conflict { .. })));
    assert_eq!(with(changed + second).unwrap().modified, ["edit"]);
}

#[test]
fn hard_links_are_deleted_and_replaced_one_by_one() {
    let prepare = |lower: &Path| {
        plant(lower, &["a", "m"]);
        for (one, other) in [("a", "b"), ("a", "c"), ("m", "n")] {
            std::fs::hard_link(lower.join(one), lower.join(other)).unwrap();
        }
    };
    let overlay = Overlay::new(prepare, "rm a b && echo 1 > m && echo 2 > n");
    let told = applied(&overlay);
    assert_eq!(
        (told.deleted, told.modified),
        (vec!["b".to_owned(), "a".into()], vec!["m".to_owned(), "n".into()])
    );
    assert_eq!(text(&overlay.lower.join("c")), "a");
}

#[test]
fn a_failure_midway_names_what_was_and_was_not_written() {
    let overlay = Overlay::new(
        |lower| plant(lower, &["gone"]),
        "rm gone && echo 1 > a && echo 2 > b && echo 3 > c",
    );
    let draft = overlay.draft();
    // The draft loses a file that it had listed, as a failing disk would.
    std::fs::remove_file(overlay.upper.join("b")).unwrap();
    match overlay.apply(&draft, &ApplyOptions::default()) {
        Err(ApplyError::Incomplete {
            written, remaining, ..
        }) => {
            assert_eq!(
                (written.deleted, written.created),
                (vec!["gone".to_owned()], vec!["a".to_owned()])
            );
            assert_eq!(remaining, ["b", "c"]);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(
        paths(&list(&overlay.lower)),
        ["a"],
        "and no temporary name is left"
    );
}

#[test]
fn a_draft_that_was_not_read_in_full_is_refused() {
    let overlay = Overlay::new(|lower| plant(lower, &["a"]), "truncate -s 1T giant; echo x > a");
    assert!(matches!(
        overlay.apply(&overlay.draft(), &ApplyOptions::default()),
        Err(ApplyError::NotWhole)
    ));
    assert_eq!(text(&overlay.lower.join("a")), "a");
}

/// Root only: a plain user's files are its own anyway.
#[test]
fn a_replaced_file_keeps_its_owner() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let overlay = Overlay::new(|lower| plant(lower, &["mine"]), "echo new > mine");
    std::os::unix::fs::chown(overlay.lower.join("mine"), Some(4321), Some(1234)).unwrap();
    applied(&overlay);
    let meta = std::fs::metadata(overlay.lower.join("mine")).unwrap();
    assert_eq!((meta.uid(), meta.gid()), (4321, 1234));
    assert_eq!(text(&overlay.lower.join("mine")), "new\n");
}

#[test]
fn steps_are_what_applying_does_and_say_what_it_leaves_out() {
    let overlay = Overlay::new(
        |lower| plant(lower, &["edit", "gone/a", ".envrc"]),
        "echo more >> edit && rm -r gone && mkdir -p empty/deep && echo > run && chmod +x run && ln -s edit in && ln -s /etc out \
         && echo evil > .envrc && mkdir .git && echo > .git/config",
    );
    let draft = overlay.draft();
    let steps = steps(&draft, &ApplyOptions::default());
    let file = |executable| Step::File { executable };
    let done: Vec<(&str, &Step)> = steps
        .iter()
        .filter(|step| step.refused.is_none())
        .map(|step| (step.path.as_str(), &step.step))
        .collect();
    assert_eq!(
        done,
        [
            ("gone/a", &Step::Delete),
            ("gone", &Step::Delete),
            ("empty", &Step::Folder),
            ("empty/deep", &Step::Folder),
            ("edit", &file(false)),
            (
                "in",
                &Step::Link {
                    target: b"edit".into()
                }
            ),
            ("run", &file(true)),
        ]
    );
    let refused: BTreeMap<String, String> = steps
        .iter()
        .filter_map(|step| Some((step.path.clone(), step.refused.clone()?)))
        .collect();
    assert_eq!(
        refused,
        overlay.apply(&draft, &ApplyOptions::default()).unwrap().skipped
    );
    assert_eq!(
        refused.keys().collect::<Vec<_>>(),
        [".envrc", ".git", ".git/config", "out"]
    );
}
